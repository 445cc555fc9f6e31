"""Stage one: W1 = argmin ||Z W - H||^2 + ridge ||W||^2, of least norm, for a grid of ridges.

Five methods, one signature; those by factorization stand here. What does not depend on the ridge
(a Gram matrix, a singular value decomposition, a Krylov space) is computed once for the whole grid.
A method that finds the problem too ill-conditioned for it answers None, and the next one is tried.

Which method is chosen by predicted cost, never by accuracy:

========================================  ===================================================
candidate                                 when it may be used
========================================  ===================================================
``cholesky`` (Z'Z + ridge, d x d)         d x d fits (GRAM_LIMIT_BYTES)
``dual_cholesky`` (Z Z' + ridge, n x n)   n x n fits, one ridge for all columns
``cg`` (block conjugate gradients)        every alpha > 0, one ridge for all columns, and a
                                          factorization would take longer than a moment; where
                                          rounding keeps it from tol only if nothing else is left
``lsqr`` (block LSQR)                     always; chosen only when nothing else may be used
``svd``                                   never chosen: taken over to when a Gram matrix turns
                                          out too ill-conditioned, or on demand
========================================  ===================================================

The cheapest candidate wins. Costs are in seconds of a two-core machine; only their ratios
matter. All candidates reach the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from eigenkit.data import Data
from eigenkit.numerics.costs import DENSE_RATE, GRAM_LIMIT_BYTES, READ_RATE, fits
from eigenkit.numerics.linalg import Array, Cholesky, eigenpairs, first_triplets, fixed_start
from eigenkit.numerics.tolerances import (
    EPS,
    RANK_TOL,
    REPAIRABLE,
    TINY,
    TOLD_APART,
    TWELVE_DIGITS,
)
from eigenkit.pencil import Pencil, damped
from eigenkit.solvers.coordinates import reductions
from eigenkit.solvers.directions import Directions, Span

# Conjugate gradients hardly ever take fewer iterations than this.
FEW = 8
# A factorization this short (seconds) is taken: it is exact to rounding.
SHORT = 0.1

# Where a mixture of at least this many columns lacks no more than this (relative), their residuals
# are not computed: that is twelve digits, measured where the condition number only warns.
MIXED = 8
ENOUGH = 1e-12
# The part of Z'A (relative) that may be lost to cancellation in the dual.
CANCELLATION = 1e-11

# Where refinement no longer converges, W is found if the last step was smaller than this.
STALLED = 1e-6

# Directions, and the eigenvalues and basis that belong to them.
Solved = tuple[Span, Array, Array]


@dataclass(frozen=True)
class Regression:
    """W1 (d x k) of a problem, which ``find`` gives, how it came about, and 1/cond(B).

    Enter ``threads`` while working with it.
    """

    problem: Pencil
    find: Callable[[], Array]
    n_iter: int = 0
    converged: bool = True
    rcond: float = float("nan")
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
        values, basis = eigenpairs(self.cross)
        keep = np.flatnonzero(values > RANK_TOL * values.max(initial=0.0))[:count]
        values, basis = values[keep], basis[:, keep]
        return self.settle(basis / np.sqrt(values)), values, basis


# Solves problems that differ only in their ridge, with tol and max_iter; an entry is None where
# the method gives up.
Method = Callable[[Sequence[Pencil], float, int], list[Regression | None]]


# -- which method ------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """The method of stage one, the reason in a sentence, and the predicted costs in seconds."""

    regression: str
    reason: str
    costs: dict[str, float]

    def __str__(self) -> str:
        return f"{self.regression} ({self.reason})"


def choose(Z: Data, n_targets: int, alphas: Sequence[float], tol: float) -> Choice:
    """The cheapest way to regress ``n_targets`` targets on Z for all ``alphas``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.data import Centered
    >>> rng = np.random.default_rng(0)
    >>> choose(Centered(rng.normal(size=(500, 20))), 3, [1.0], 1e-8).regression
    'cholesky'
    >>> choose(Centered(rng.normal(size=(20, 500))), 3, [1.0], 1e-8).regression
    'dual_cholesky'
    """
    n_targets = min(n_targets, Z.shape[1])  # more of them are narrowed first
    costs = _factorization_costs(Z, len(alphas))
    one_ridge = np.ndim(Z.ridge(max(alphas))) == 0
    if not one_ridge:
        costs.pop("dual_cholesky", None)
    exact = min(costs.values(), default=np.inf)
    possible = exact > SHORT and one_ridge and (min(alphas) > 0 or not Z.has_rows)
    iteration = _iteration_cost(Z, n_targets, len(alphas)) if possible else np.inf
    if exact > FEW * iteration:
        condition = 1 + Z.spectral_norm_squared() / max(float(np.min(Z.ridge(min(alphas)))), TINY)
        # Where rounding keeps it from reaching tol, it would only run to max_iter: factor instead.
        if not costs or EPS * condition < tol:
            costs["cg"] = iteration * _iterations(Z, n_targets, condition, tol)
    if not costs:
        (n, d), limit = Z.shape, GRAM_LIMIT_BYTES / 2**30
        why = "alpha is 0" if min(alphas) == 0 else "the columns have units of their own"
        reason = f"neither {d} x {d} nor {n} x {n} numbers fit in {limit:g} GB and {why}"
        return Choice("lsqr", reason, {})
    best = min(costs, key=costs.__getitem__)
    others = ", ".join(f"{name} {costs[name]:.2g} s" for name in costs if name != best)
    reason = f"{best} is predicted to take {costs[best]:.2g} s"
    return Choice(best, reason + (f" ({others})" if others else ""), costs)


def _factorization_costs(Z: Data, n_alphas: int) -> dict[str, float]:
    costs = {}
    forming = {"dual_cholesky": Z.seconds_for_outer, "cholesky": Z.seconds_for_gram}
    for (name, seconds), side in zip(forming.items(), Z.shape, strict=True):
        if fits(side) and np.isfinite(work := seconds()):
            memory_passes = 40 * side**2 / READ_RATE
            factorizations = n_alphas * (side**3 / 6 / DENSE_RATE + memory_passes)
            costs[name] = work + factorizations
    return costs


def _iteration_cost(Z: Data, k: int, n_alphas: int) -> float:
    """One product with Z, one with Z', and the work on the blocks of vectors."""
    side = min(Z.shape)
    blocks = (6 + 2 * n_alphas) * side * k * (k / DENSE_RATE + 2 / READ_RATE)
    return Z.seconds_for_passes(k) + blocks


def _iterations(Z: Data, k: int, condition: float, tol: float) -> float:
    """About a third of the classical bound is what blocks take on text.

    Blocks of k span the whole space after min(n, d) / k iterations. Without rounding that would be
    the end; with it the number grows on, if only as the root of the bound. On text of 7484 and of
    3000 documents with 26 and 101 labels, ridges from 1e-4 to 1e-2 and tolerances of 1e-4 and 1e-8,
    this is within a factor of about two of what was counted.
    """
    bound = 0.2 * np.log(2 / max(tol, EPS)) * np.sqrt(condition)
    return float(3 + min(bound, 0.75 * np.sqrt(bound * min(Z.shape) / k)))


# -- by factorization --------------------------------------------------------------------


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
    """(G + ridge) W = Z'H with a factor L L' of the matrix, M = L^-1 Z'H, and data to check it.

    In terms of M the pencil is M M', and needs no W1.
    """

    G: Array
    factor: Cholesky
    M: Array

    def settle(self, T: Array) -> Span:
        return self.settled(self.W1 @ T, T) or super().settle(T)

    def components(self, count: int | None) -> Solved:
        U, s, V = first_triplets(self.M, count)
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
        mix = np.sign(fixed_start(W.shape[1]))[:, None]
        mix /= np.linalg.norm(W, axis=0)[:, None]
        V = W @ mix
        slope, _ = self.problem.Z.gradient(V, self.problem.H @ (T @ mix))
        step = self.factor.solve(-slope - damped(self.problem.ridge, V))
        return float(np.linalg.norm(step) / np.linalg.norm(V))

    def refined(self, W: Array, T: Array) -> Directions | None:
        """W with the digits that the Gram matrix has lost, by residuals for the targets H T.

        B W and W'B W come from the pass over the data that gave the last residual; what the last
        step adds to them is so small that the Gram matrix is good enough for it, and its square
        is rounding.
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
    """Iterative refinement with residuals from the data, where the Gram matrix has lost digits.

    Every step shrinks the error by about the same factor, which the first one shows: W starts
    with the relative error by which the factor is off.
    """
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
    return [
        _Reduced(
            problem,
            partial(np.matmul, F, M),
            rcond=float(s[-1] / s[0]) ** 2 if len(s) else np.nan,
            F=F,
            M=M,
        )
        for problem, (F, M, s) in zip(problems, found, strict=True)
    ]


@dataclass(frozen=True, kw_only=True)
class _Reduced(Regression):
    """In coordinates F where the pencil is M M' and B is I."""

    F: Array
    M: Array

    def components(self, count: int | None) -> Solved:
        """All components: those of small eigenvalues would be lost in M M', but not in M."""
        U, s, V = first_triplets(self.M, None)
        return Directions(self.problem, self.F @ U), s**2, V
