"""Block Krylov methods, and stage one by them: products with Z are all they need.

All right-hand sides share one space, and all ridges too. The block Lanczos process on a symmetric
operator G with start block Q_1 gives

    G Q_j = Q_{j+1} b_{j+1} + Q_j a_j + Q_{j-1} b_j'

whatever multiple of the identity is added to G: the ridge only shifts a_j. So one pass over
the data serves every ridge of a grid; per ridge there is one more update of two n x k
blocks, the block LDL' factorization of the shifted tridiagonal matrix carried forward
(for one right-hand side that is the conjugate gradient method).

For eigenvalues the basis V (n x m, orthonormal) is kept, and grows by blocks: G Q is
orthogonalized against all of V, twice, and what is left becomes the next block, so that

    G V = V T + Q_next b E',    T = V'G V

When V is full, the best Ritz vectors V S and the newest block take its place (thick restarts); the
coupling between the two fills in T by itself when the newest block is multiplied. The residual of a
Ritz pair (theta, V s) is ||b s_last||, known without another product. The start block is
drawn from a generator of its own with a fixed seed: equal inputs give equal outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg as sla

from eigenkit.data import Data
from eigenkit.numerics.linalg import Array, eigenpairs, orthonormalize, plus_product, power_of_two
from eigenkit.numerics.tolerances import EPS
from eigenkit.pencil import Pencil, damped, one_number
from eigenkit.solvers.regression import Dual, Regression

Product = Callable[[np.ndarray], np.ndarray]

# Columns multiplied at once: sparse products gain from blocks, convergence from small ones.
BLOCK = 8

# By how much a round in float32 reduces the residual.
ROUND = 1e-5


class Run(NamedTuple):
    """X, the number of block iterations and whether they converged; G X where that is known."""

    X: np.ndarray
    n_iter: int
    converged: bool
    image: np.ndarray | None = None


@dataclass
class _Shifted:
    """The solution of (G + shift) X = B as the Lanczos process goes on."""

    shift: float
    X: np.ndarray
    P: np.ndarray
    pivot: Array
    rest: Array
    n_iter: int = 0
    done: bool = False

    def step(self, a: Array) -> None:
        """Take the newest block of the space into the solution."""
        self.pivot += a + self.shift * np.eye(len(a))
        self.X = plus_product(self.X, self.P, np.linalg.solve(self.pivot, self.rest))
        self.n_iter += 1

    def extend(self, Q: np.ndarray, b: Array) -> None:
        """Carry the factorization over to the next block."""
        multiplier = np.linalg.solve(self.pivot.T, b.T).T
        self.pivot = -multiplier @ b.T
        self.rest = -multiplier @ self.rest
        self.P = plus_product(Q.copy(), self.P, -multiplier.T)


def block_cg(
    product: Product,
    B: np.ndarray,
    shifts: Sequence[float],
    tol: float,
    max_iter: int,
    floors: tuple[float, float] = (0.0, 0.0),
) -> list[Run]:
    """Solve (G + shift) X = B for every shift; G X is ``product(X)``, G symmetric PSD.

    It has converged where ||residual|| fell below tol * ||B||, or as far as the precision of B
    allows. ``floors`` are lengths up to which directions are rounding: in B, and in products
    relative to the root of the largest eigenvalue of G.
    """
    eps = float(np.finfo(B.dtype).eps)
    Q, b = orthonormalize(B, floors[0])
    runs = [_Shifted(s, np.zeros_like(B), Q, np.zeros((len(b),) * 2), b) for s in shifts]
    if len(b) == 0:
        return [Run(run.X, 0, True) for run in runs]
    start, size = float(np.linalg.norm(b)), 0.0
    previous, coupling = np.zeros_like(Q), np.zeros((len(b),) * 2)
    for _ in range(max_iter):
        W = plus_product(product(Q), previous, -coupling.T)
        small = Q.T @ W
        W = plus_product(W, Q, -small)
        a = small.astype(np.float64)
        size = max(size, float(np.abs(a).max()))
        active = [run for run in runs if not run.done]
        for run in active:
            run.step(a)
        floor = max(eps * size, floors[1] * size**0.5)
        previous, (Q, coupling) = Q, orthonormalize(W, floor)
        for run in active:
            run.extend(Q, coupling)
            attainable = eps * (size + run.shift) / run.shift if run.shift > 0 else 0.0
            run.done = bool(np.linalg.norm(run.rest) <= max(tol, attainable) * start)
        if all(run.done for run in runs) or len(coupling) == 0:
            break
    return [Run(run.X, run.n_iter, run.done) for run in runs]


def block_cg_mixed(
    product: Product, B: Array, shifts: Sequence[float], tol: float, max_iter: int
) -> list[Run]:
    """:func:`block_cg` in float32, with residuals in float64 that are solved for in turn.

    Such products take half the time or less. The first round serves all shifts; each further one
    gains the digits that float32 has, for one shift.
    """
    first = block_cg(product, B.astype(np.float32), shifts, max(tol, ROUND), max_iter)
    return [
        _polish(product, B, shift, run.X.astype(np.float64), run.n_iter, tol, max_iter)
        for shift, run in zip(shifts, first, strict=True)
    ]


def _polish(
    product: Product, B: Array, shift: float, X: Array, n_iter: int, tol: float, max_iter: int
) -> Run:
    """Add to X what its residual asks for, until that is below tol or no longer shrinks."""
    goal, last, stalled = tol * float(np.linalg.norm(B)), np.inf, False
    while True:
        image = product(X)
        R = B - image - shift * X
        size = float(np.linalg.norm(R))
        if size <= goal or n_iter >= max_iter or stalled:
            return Run(X, n_iter, size <= goal, image)
        stalled = size > 0.5 * last
        scale = float(power_of_two(size))
        rhs = R / scale if stalled else (R / scale).astype(np.float32)
        need = max(goal / size / 2, EPS if stalled else ROUND)
        (step,) = block_cg(product, rhs, [shift], need, max_iter - n_iter)
        X, n_iter, last = X + scale * step.X.astype(np.float64), n_iter + step.n_iter, size


def block_lsqr(
    forward: Product, backward: Product, B: Array, tol: float, max_iter: int, floor: float = 0.0
) -> Run:
    """The least squares solution of least norm of Z X = B.

    Golub-Kahan bidiagonalization, with Z V ``forward`` and Z'U ``backward``: twice the vectors of
    :func:`block_cg`, but the condition number of Z and not its square. It has converged where
    ||Z'(B - Z X)|| fell below tol * ||Z'B||. Singular values up to ``floor`` are rounding.
    """
    U, phi = orthonormalize(B)
    V, alpha = orthonormalize(backward(U), floor)
    rho, W = alpha.T, V
    X = np.zeros((V.shape[0], B.shape[1]))
    first = float(np.linalg.norm(rho.T @ phi))
    for n_iter in range(1, max_iter + 1):
        if V.shape[1] == 0 or first == 0.0:
            return Run(X, n_iter - 1, True)
        U, beta = orthonormalize(forward(V) - U @ alpha.T, floor)
        column = np.vstack([rho, beta])
        rotation, triangle = sla.qr(column)
        r = V.shape[1]
        turned = rotation.T[:, : len(rho)] @ phi
        step, phi = turned[:r], turned[r:]
        X += W @ _solve_triangle(triangle[:r], step)
        V_next, alpha = orthonormalize(backward(U) - V @ beta.T, floor)
        coupling = rotation.T[:, len(rho) :] @ alpha.T
        theta, rho = coupling[:r], coupling[r:]
        W = V_next - W @ _solve_triangle(triangle[:r], theta)
        V = V_next
        if np.linalg.norm(rho.T @ phi) <= tol * first:
            return Run(X, n_iter, True)
    return Run(X, max_iter, False)


def _solve_triangle(R: Array, b: Array) -> Array:
    """R^-1 b, where a pivot that is rounding means a direction already solved for."""
    size = np.abs(np.diag(R))
    if size.min(initial=np.inf) > EPS * size.max(initial=0.0):
        return np.asarray(sla.solve_triangular(R, b, check_finite=False))
    return np.asarray(sla.lstsq(R, b, cond=EPS)[0])


# -- eigenvalues ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues (decreasing), eigenvectors in columns, block products taken, and success."""

    values: Array
    vectors: Array
    n_iter: int
    converged: bool


def largest_eigenpairs(product: Product, n: int, k: int, tol: float, max_iter: int) -> Eigenpairs:
    """The k largest eigenpairs of the PSD operator G (n x n) that ``product`` applies to blocks.

    A pair counts as found when ||G v - theta v|| <= tol * theta_max. Fewer than k come back
    where G has a smaller rank. At most ``max_iter`` blocks are multiplied.

    >>> G = np.diag(np.arange(100.0))
    >>> largest_eigenpairs(lambda V: G @ V, 100, 2, 1e-10, 200).values.round(6)
    array([99., 98.])
    """
    width = min(n, 2 * k + 6 * BLOCK)
    V = np.zeros((n, width + BLOCK), order="F")
    T = np.zeros((width + BLOCK, width + BLOCK))
    rng = np.random.default_rng(0)
    Q, _ = orthonormalize(rng.standard_normal((n, min(BLOCK, n))))
    m, n_iter, size = 0, 0, 0.0
    while True:
        end = m + Q.shape[1]
        V[:, m:end] = Q
        W = product(Q)
        h = V[:, :end].T @ W
        T[:end, m:end], T[m:end, :end] = h, h.T
        W = _orthogonal(V[:, :end], W - V[:, :end] @ h)  # once more: rounding has left some
        n_iter += 1
        size = max(size, float(np.abs(h).max(initial=0.0)))
        last, m = slice(m, end), end
        Q, b = orthonormalize(W, floor=10 * EPS * size)
        if np.linalg.norm(b, axis=1).min(initial=np.inf) < np.sqrt(EPS) * size:
            # Some directions are mostly rounding: they are made orthogonal to the basis once more.
            Q, _ = orthonormalize(_orthogonal(V[:, :end], Q))
            b = Q.T @ W
        if Q.shape[1] == 0 and m < min(k, n):
            # An eigenvalue tied more often than a block is wide: look beside the space found.
            fresh = rng.standard_normal((n, min(BLOCK, n - m)))
            Q, _ = orthonormalize(_orthogonal(V[:, :m], _orthogonal(V[:, :m], fresh)))
        out_of_room = m + Q.shape[1] > width
        if Q.shape[1] and not out_of_room and n_iter < max_iter:
            continue
        values, S = eigenpairs(T[:m, :m])
        residual = np.linalg.norm(b @ S[last, :k], axis=0)
        done = bool(np.all(residual <= tol * max(float(values[0]), 0.0)))
        if done or Q.shape[1] == 0 or n_iter >= max_iter:
            found = values[:k] > EPS * n * max(float(values[0]), 0.0)
            vectors = V[:, :m] @ S[:, :k][:, found]
            return Eigenpairs(values[:k][found], vectors, n_iter, done or Q.shape[1] == 0)
        m = _restart(V, T, values, S, m, k, width)


def _restart(V: Array, T: Array, values: Array, S: Array, m: int, k: int, width: int) -> int:
    """Keep the best Ritz vectors, more than are wanted, with room for some blocks beside."""
    kept = min(m, max(k, min(k + k // 2 + BLOCK, width - 4 * BLOCK)))
    V[:, :kept] = V[:, :m] @ S[:, :kept]
    T[:] = 0.0
    T[:kept, :kept] = np.diag(values[:kept])
    return kept


def _orthogonal(V: Array, W: Array) -> Array:
    """W without its part in the span of V."""
    return W - V @ (V.T @ W)


# -- stage one ----------------------------------------------------------------------------


def cg(problems: Sequence[Pencil], tol: float, max_iter: int) -> list[Regression | None]:
    """Block conjugate gradients on the smaller of Z Z' and Z'Z; one run for all ridges.

    In float32 with corrections in float64 where Z offers that; corrections are made for one ridge
    at a time, so not for a grid that must be solved to more digits than float32 has.
    """
    pencil, ridges = problems[0], [one_number(problem.ridge) for problem in problems]
    Z, grain = pencil.Z, _grain(pencil, min(ridges))
    if grain > 0 and _hidden(Z):
        return [None for _ in problems]
    ridged = min(ridges) > 0 and grain == 0
    single = Z.fast_in_single and ridged and (len(ridges) == 1 or tol >= ROUND)
    floors = (grain * np.sqrt(Z.squares_of(pencil.H)), grain) if grain > 0 else (0.0, 0.0)
    solve = block_cg_mixed if single else partial(block_cg, floors=floors)
    dual = ridged and not Z.primal
    product, B = (Z.dual_normal, np.asarray(pencil.H)) if dual else (Z.normal, pencil.C)
    with Z.threads:
        runs = solve(product, B, ridges, tol, max_iter)
        found = zip(problems, runs, strict=True)
        return [(_by_dual if dual else _found)(problem, run) for problem, run in found]


def _found(problem: Pencil, run: Run) -> Regression:
    return Regression(problem, lambda: run.X, run.n_iter, run.converged)


def _by_dual(problem: Pencil, run: Run) -> Regression:
    Z, H, ridge = problem.Z, np.asarray(problem.H), one_number(problem.ridge)
    dual = Dual(problem, H, run.X, Z.dual_normal(run.X) if run.image is None else run.image, ridge)
    how = run.n_iter, run.converged
    return _ByDual(problem, partial(Z.rmatmat, run.X), *how, threads=Z.threads, dual=dual)


@dataclass(frozen=True, kw_only=True)
class _ByDual(Regression):
    """W1 by its dual coefficients."""

    dual: Dual

    @property
    def cross(self) -> Array:
        return self.dual.cross

    def settle(self, T: Array) -> Dual:
        return self.dual.turned(T)


def _grain(pencil: Pencil, ridge: float) -> float:
    """The length that rounding can produce in the worst column; 0 if the ridge is larger."""
    grain = float(np.max(pencil.Z.grain()))
    return grain if ridge <= grain**2 else 0.0


def _hidden(Z: Data) -> bool:
    """Whether the worst column has more rounding than others have spread, which an SVD can tell."""
    squares = np.asarray(Z.column_squares())
    least = np.min(squares[squares > 0], initial=np.inf)
    return bool(least < np.max(Z.grain()) ** 2) and Z.decomposable


def lsqr(problems: Sequence[Pencil], tol: float, max_iter: int) -> list[Regression | None]:
    """Block LSQR on Z, stacked on the root of the ridge: slow but sure where alpha is 0."""
    small = problems[0].compressed()
    with small.Z.threads:
        return [_lsqr(problem, small, tol, max_iter) for problem in problems]


def _lsqr(problem: Pencil, small: Pencil, tol: float, max_iter: int) -> Regression | None:
    Z, H, ridge = small.Z, np.asarray(small.H), problem.ridge
    n, d = Z.shape
    floor, ridged = _grain(small, float(np.min(ridge))), bool(np.any(ridge))
    if floor > 0 and Z.decomposable and (ridged or _hidden(Z)):
        return None  # rounding hides columns, or a ridge is too small to hold it down
    if not ridged:
        return _found(problem, block_lsqr(Z.matmat, Z.rmatmat, H, tol, max_iter, floor))
    root = np.sqrt(ridge)

    def forward(V: Array) -> Array:
        return np.vstack([Z.matmat(V), damped(root, V)])

    def backward(U: Array) -> Array:
        return np.asarray(Z.rmatmat(U[:n]) + damped(root, U[n:]))

    stacked = np.vstack([H, np.zeros((d, H.shape[1]))])
    return _found(problem, block_lsqr(forward, backward, stacked, tol, max_iter))
