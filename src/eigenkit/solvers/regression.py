"""Stage one: W1 = argmin ||Z W - H||^2 + ridge ||W||^2, of least norm, for a grid of ridges.

Five methods, one signature; those by factorization stand here. What does not depend on the ridge
(a Gram matrix, a singular value decomposition, a Krylov space) is computed once for the whole grid.
A method that finds the problem too ill-conditioned for it answers None, and the next one is tried.

An iteration may find only the coefficients A of directions W = Z'A, one for each sample where these
are fewer than features (:class:`Dual`). With the scores S = Z W = Z Z'A

    W'C = S'H        W'B W = S'S + ridge A'S        B W = Z'(S + ridge A)

so that W itself, which has a row for every feature, is made once it is known which W is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import linalg as sla

from eigenkit.data import Data
from eigenkit.numerics import linalg
from eigenkit.numerics.linalg import Array, Cholesky
from eigenkit.numerics.threads import blas_threads
from eigenkit.numerics.tolerances import EPS, RANK_TOL, REPAIRABLE, TINY, TOLD_APART, TWELVE_DIGITS
from eigenkit.pencil import Pencil, damped, one_number

# Where a mixture of at least this many columns lacks no more than this (relative), their residuals
# are not computed: that is twelve digits, measured where the condition number only warns.
MIXED = 8
ENOUGH = 1e-12
# The part of Z'A (relative) that may be lost to cancellation in the dual.
CANCELLATION = 1e-11

# Where refinement no longer converges, W is found if the last step was smaller than this.
STALLED = 1e-6


@dataclass(frozen=True)
class Directions:
    """W of a pencil in the units of Z, and B W and W'B W where those are known."""

    problem: Pencil
    W: Array
    BW: Array | None = None
    square: Array | None = None

    @property
    def cross(self) -> Array:
        """W'C."""
        return self.problem.Z.inner(self.W, self.problem.C)

    def turned(self, T: Array) -> Directions:
        """W T."""
        return Directions(self.problem, self.W @ T, None if self.BW is None else self.BW @ T)

    def some(self, keep: Any) -> Directions:
        """Some of the columns of W."""
        BW = None if self.BW is None else self.BW[:, keep]
        return Directions(self.problem, self.W[:, keep], BW)

    def errors(self, values: Array) -> tuple[float, float]:
        """||A W - B W Lambda|| relative to its parts, and the largest entry of W'B W - I; B W is
        overwritten."""
        Z, C = self.problem.Z, self.problem.C
        BW = self.problem.forms(self.W)[0] if self.BW is None else self.BW
        orthogonality = float(np.abs(Z.inner(self.W, BW) - np.eye(len(values))).max(initial=0.0))
        # In place from here on: these are as large as W, which may be the largest thing there is.
        gap = C @ Z.inner(C, self.W)
        BW *= values
        scale = Z.norm(gap) + Z.norm(BW)
        gap -= BW
        return (Z.norm(gap) / scale if scale else 0.0), orthogonality


@dataclass(frozen=True)
class Dual:
    """:class:`Directions` by coefficients A and scores S (n x l both), for one ridge."""

    problem: Pencil
    H: Array
    A: Array
    S: Array
    ridge: float

    def turned(self, T: Array) -> Dual:
        return replace(self, A=self.A @ T, S=self.S @ T)

    def some(self, keep: Any) -> Dual:
        return replace(self, A=self.A[:, keep], S=self.S[:, keep])

    @cached_property
    def W(self) -> Array:
        """The directions themselves."""
        return np.asarray(self.problem.Z.rmatmat(self.A))

    @property
    def cross(self) -> Array:
        return self.S.T @ self.H

    @property
    def square(self) -> Array:
        return self.S.T @ self._image

    @property
    def _image(self) -> Array:
        """The coefficients of B W."""
        return self.S + self.ridge * self.A

    def errors(self, values: Array) -> tuple[float, float]:
        Z, image, cross = self.problem.Z, self._image, self.cross
        orthogonality = float(np.abs(self.S.T @ image - np.eye(len(values))).max(initial=0.0))
        gap = Z.rmatmat(self.H @ cross.T - image * values)
        part = self.problem.C @ cross.T
        scale = Z.norm(part)
        part -= gap
        scale += Z.norm(part)
        return (Z.norm(gap) / scale if scale else 0.0), orthogonality


Span = Directions | Dual

# Directions, and the eigenvalues and basis that belong to them.
Solved = tuple[Span, Array, Array]


@dataclass(frozen=True)
class Regression:
    """W1 (d x k) of a problem, and how it came about."""

    problem: Pencil
    find: Callable[[], Array]  # W1, when it is asked for
    n_iter: int = 0
    converged: bool = True
    rcond: float = float("nan")  # 1/cond(B)
    # To be entered while working with it:
    threads: AbstractContextManager[Any] = field(default_factory=nullcontext)

    @cached_property
    def W1(self) -> Array:
        """The regression itself, when it is asked for."""
        return self.find()

    @property
    def cross(self) -> Array:
        """C'W1."""
        return self.problem.Z.inner(self.problem.C, self.W1)

    def settle(self, T: Array) -> Span:
        """W1 T."""
        W = self.W1 @ T
        return Directions(self.problem, W, *self.problem.forms(W))

    def components(self, count: int | None) -> Solved:
        """The first components, or all for None."""
        values, basis = linalg.eigenpairs(self.cross)
        keep = np.flatnonzero(values > RANK_TOL * values.max(initial=0.0))[:count]
        values, basis = values[keep], basis[:, keep]
        return self.settle(basis / np.sqrt(values)), values, basis


# -- by factorization --------------------------------------------------------------------
# A method solves problems that differ only in their ridge, with tol and max_iter; an entry is None
# where it gives up.


def cholesky(problems: Sequence[Pencil], tol: float, max_iter: int) -> list[Regression | None]:
    """(Z'Z + ridge) W1 = Z'H by Cholesky factorization (d x d)."""
    G = problems[0].Z.gram()
    return [_primal(problem, G) for problem in problems]


def _primal(problem: Pencil, G: Array) -> Regression | None:
    B = G.copy()
    B.flat[:: len(B) + 1] += problem.ridge
    constant = problem.Z.constant
    B[constant, constant] += 1.0  # their rows and columns are zero, and so is their part of Z'H
    factor = Cholesky.of(B)
    if factor is None or factor.rcond < REPAIRABLE:
        return None
    if factor.smallest < np.max(problem.Z.grain(G.diagonal()) / factor.scale) ** 2:
        return None  # some direction may be rounding, and only singular vectors tell
    M, rcond = factor.half(problem.C), factor.rcond
    W1 = partial(factor.back, M)
    normal = _NormalEquations(problem, W1, rcond=rcond, G=G, factor=factor, M=M)
    if rcond > TOLD_APART:
        return normal
    found = normal.refined(normal.W1, np.eye(M.shape[1]))
    return None if found is None else Regression(problem, lambda: found.W, rcond=rcond)


@dataclass(frozen=True, kw_only=True)
class _NormalEquations(Regression):
    """(G + ridge) W = Z'H, and data to check it: the pencil is M M', and needs no W1."""

    G: Array
    factor: Cholesky  # L L' of the matrix
    M: Array  # L^-1 Z'H

    def settle(self, T: Array) -> Span:
        return self.settled(self.W1 @ T, T) or super().settle(T)

    def components(self, count: int | None) -> Solved:
        U, s, V = linalg.first_triplets(self.M, count)
        found = self.settled(self.factor.back(U), V / s)
        return super().components(count) if found is None else (found, s**2, V)

    def settled(self, W: Array, T: Array) -> Directions | None:
        """W = W1 T as it is if that is good enough, checked with one column and one pass."""
        if self.rcond > TWELVE_DIGITS or (W.shape[1] >= MIXED and self.error(W, T) < ENOUGH):
            BW = self.G @ W + damped(self.problem.ridge, W)
            return Directions(self.problem, W, BW, W.T @ BW)
        return self.refined(W, T)

    def error(self, W: Array, T: Array) -> float:
        """The first step of refinement, relative to W, for a mixture of its columns."""
        mix = np.sign(linalg.fixed_start(W.shape[1]))[:, None]
        mix /= np.linalg.norm(W, axis=0)[:, None]
        V = W @ mix
        slope, _ = self.problem.Z.gradient(V, self.problem.H @ (T @ mix))
        step = self.factor.solve(-slope - damped(self.problem.ridge, V))
        return float(np.linalg.norm(step) / np.linalg.norm(V))

    def refined(self, W: Array, T: Array) -> Directions | None:
        """W with the digits that the Gram matrix has lost, by residuals for the targets H T.

        B W and W'B W come from the pass over the data that gave the last residual; for what the
        last step adds the Gram matrix is good enough, and its square is rounding.
        """
        HT, CT = self.problem.H @ T, self.problem.C @ T
        passed: list[Array] = []

        def residual(V: Array) -> Array:
            slope, square = self.problem.Z.gradient(V, HT)
            passed[:] = V, slope, square
            return np.asarray(-slope - damped(self.problem.ridge, V))

        refined = _refined(self.factor, W, residual)
        if refined is None:
            return None
        V, slope, square = passed
        step = refined - V
        damped_V, damped_step = (damped(self.problem.ridge, A) for A in (V, step))
        B_step = self.G @ step + damped_step
        across = V.T @ B_step
        inner = square + V.T @ damped_V + across + across.T
        return Directions(self.problem, refined, CT + slope + damped_V + B_step, inner)


def dual_cholesky(problems: Sequence[Pencil], tol: float, max_iter: int) -> list[Regression | None]:
    """(Z Z' + ridge) A = H by Cholesky factorization (n x n), W1 = Z'A."""
    K = problems[0].Z.outer()
    return [_dual(problem, K) for problem in problems]


def _dual(problem: Pencil, K: Array) -> Regression | None:
    """From A of (K + ridge) A = H; None where too little of A is certain."""
    Z, H, ridge = problem.Z, np.asarray(problem.H), problem.ridge
    B = K.copy()
    B.flat[:: len(B) + 1] += ridge
    if np.all(ridge == 0):
        # Centring makes the vector of (root) weights a null vector of K, orthogonal to H:
        # giving it an eigenvalue of its own leaves the solution as it is.
        u = Z.weighted(np.ones((len(K), 1)))[:, 0]
        B += np.outer(u * (np.trace(K) / len(K) / (u @ u)), u)
    factor = Cholesky.of(B)
    if factor is None or factor.rcond < REPAIRABLE:
        return None
    if factor.smallest * factor.scale.min() ** 2 < Z.worst_rounding():
        return None

    def residual(A: Array) -> Array:
        return np.asarray(H - Z.dual_normal(A) - damped(ridge, A))

    first = factor.solve(H)
    A = first if factor.rcond > TWELVE_DIGITS else _refined(factor, first, residual)
    if A is None:
        return None
    # The part of A outside the range of Z is large for a small ridge, and must cancel in Z'A.
    cancelled = EPS * np.sqrt(np.trace(K)) * np.linalg.norm(A)
    size = np.sqrt(max(0.0, float(np.sum(A * (K @ A)))))  # the norm of Z'A
    if cancelled > CANCELLATION * size:
        return None
    return Regression(problem, partial(Z.rmatmat, A), rcond=factor.rcond)


def _refined(factor: Cholesky, W: Array, residual: Callable[[Array], Array]) -> Array | None:
    """W refined in steps with residuals from the data, where the Gram matrix has lost digits: it
    starts with the relative error of the factor, and every step shrinks that by about as much."""
    last = 1.0
    for _ in range(20):
        step = factor.solve(residual(W))
        change = float(np.linalg.norm(step)) / max(float(np.linalg.norm(W)), TINY)
        if change > 0.5 * last:
            return W if change < STALLED else None
        W = W + step
        if change * (change / last) < EPS:
            break
        last = change
    return W


def svd(problems: Sequence[Pencil], tol: float, max_iter: int) -> list[Regression | None]:
    """The pseudoinverse: a singular value decomposition of Z (after QR, if it is tall)."""
    found = reductions(problems[0].compressed(), [problem.ridge for problem in problems])
    answers: list[Regression | None] = []
    for problem, (F, M, s) in zip(problems, found, strict=True):
        rcond = float(s[-1] / s[0]) ** 2 if len(s) else np.nan
        answers.append(_Reduced(problem, partial(np.matmul, F, M), rcond=rcond, F=F, M=M))
    return answers


@dataclass(frozen=True, kw_only=True)
class _Reduced(Regression):
    """In coordinates F where the pencil is M M' and B is I."""

    F: Array
    M: Array

    def components(self, count: int | None) -> Solved:
        """All components: those of small eigenvalues would be lost in M M', but not in M."""
        U, s, V = linalg.first_triplets(self.M, None)
        return Directions(self.problem, self.F @ U), s**2, V


# F (d x r), M = F'Z'H (r x k), and the singular values of B^(1/2) on that space, decreasing.
Reduced = tuple[Array, Array, Array]


def reductions(pencil: Pencil, ridges: Sequence[float | Array]) -> list[Reduced]:
    """Coordinates F with F'B F = I on the row space of Z, where the pencil is M M', by ridge."""
    Z, H = pencil.Z, np.asarray(pencil.H)
    with blas_threads(min(Z.shape)):
        if Z.shape[0] > Z.shape[1] and Z.decomposable:
            # From there on only d x (d + k) numbers count.
            joint = sla.qr(np.hstack([Z.toarray(), H]), mode="r", overwrite_a=True)[0]
            R, T = np.split(joint[: Z.shape[1]], [Z.shape[1]], axis=1)
            return [_of_triangle(R, T, Z, ridge) for ridge in ridges]
        U, s, V = Z.triplets()
        UtH = U.T @ H
        return [_of_triplets(s, V, UtH, ridge) for ridge in ridges]


def _of_triplets(s: Array, V: Array, UtH: Array, ridge: float | Array) -> Reduced:
    root = np.hypot(s, np.sqrt(one_number(ridge)))
    return V / root, (s / root)[:, None] * UtH, root


def _of_triangle(R: Array, T: Array, Z: Data, ridge: float | Array) -> Reduced:
    """From R'R = Z'Z and R'T = Z'H."""
    if np.all(ridge == 0):
        return _whitened_triangle(R, T, Z)
    if np.ndim(ridge) == 0:
        U, s, V = linalg.truncated_svd(R, Z.n_samples, Z.grain())
        return _of_triplets(s, V, U.T @ T, ridge)
    d = len(R)
    below = np.hstack([np.diag(np.sqrt(np.broadcast_to(ridge, d))), np.zeros_like(T)])
    stacked = sla.qr(np.vstack([np.hstack([R, T]), below]), mode="r")[0]
    return _whitened_triangle(stacked[:d, :d], stacked[:d, d:], Z)


def _whitened_triangle(R: Array, T: Array, Z: Data) -> Reduced:
    """F and M from R'R = B and R'T = Z'H; columns on one scale: units decide no rank."""
    size = np.sqrt(np.einsum("ij,ij->j", R, R))
    scale = linalg.power_of_two(size)
    U, s, V = linalg.truncated_svd(R / scale, Z.n_samples, Z.grain() / scale)
    F = np.where(size[:, None] > 0, V / s / scale[:, None], 0.0)
    if 0 < len(s) < len(scale):
        # Least norm in the units of the data: the part of F in the row space of R.
        basis = sla.qr(np.where(size > 0, scale, 0.0)[:, None] * V, mode="economic")[0]
        F = basis @ (basis.T @ F)
    return F, U.T @ T, s
