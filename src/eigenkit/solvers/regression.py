"""Stage one: W1 = argmin ||Z W - H||^2 + ridge ||W||^2, of least norm, for a grid of ridges.

Five methods, one signature. What does not depend on the ridge (a Gram matrix, a singular
value decomposition, a Krylov space) is computed once for the whole grid. A method that finds
the problem too ill-conditioned for it answers None, and the next one is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenkit.data import Data
from eigenkit.data.protocol import fits
from eigenkit.linalg import Array, Cholesky, first_triplets, fixed_start
from eigenkit.pencil import Pencil, damped
from eigenkit.solvers.coordinates import one_number, reduction
from eigenkit.solvers.krylov import ROUND, Dual, block_cg, block_cg_mixed, block_lsqr
from eigenkit.tolerances import EPS, REPAIRABLE, TINY, TOLD_APART, TWELVE_DIGITS

# Where a mixture of at least this many columns lacks no more than this (relative), their residuals
# are not computed: that is twelve digits, measured where the condition number only warns.
MIXED = 8
ENOUGH = 1e-12
# The part of Z'A (relative) that may be lost to cancellation in the dual.
CANCELLATION = 1e-11


# W, B W and W'B W
Settled = tuple[Array, Array, Array]
# W, eigenvalues and basis
Components = tuple[Array, Array, Array]
# The same for a factored B: W, B W, W'B W, eigenvalues and basis
Factored = tuple[Array, Array, Array, Array, Array]

# Where refinement no longer converges, W is found if the last step was smaller than this.
STALLED = 1e-6


@dataclass(frozen=True)
class Regression:
    """W1 (d x k), given or by its dual coefficients, how it came about, and 1/cond(B).

    ``settle(T)`` gives W = W1 T, B W and W'B W where the method has a better way to them than the
    two products: from a Gram matrix, or together with digits that W1 still lacks. A method that
    has the components themselves gives them; one that has factored B gives the first ones, or all
    for None, by ``factored(count)``.
    """

    given: Array | None
    n_iter: int = 0
    converged: bool = True
    rcond: float = float("nan")
    settle: Callable[[Array], Settled | None] = lambda T: None
    components: Components | None = None
    factored: Callable[[int | None], Factored | None] = lambda count: None
    dual: Dual | None = None

    @cached_property
    def W1(self) -> Array:
        """The regression itself."""
        if self.given is not None:
            return self.given
        assert self.dual is not None
        return self.dual.W


Method = Callable[[Pencil, Sequence[float], float, int], list[Regression | None]]


def cholesky(
    pencil: Pencil, alphas: Sequence[float], tol: float, max_iter: int
) -> list[Regression | None]:
    """(Z'Z + ridge) W1 = Z'H by Cholesky factorization (d x d)."""
    G = pencil.Z.gram()
    return [_primal(pencil, G, pencil.Z.ridge(alpha)) for alpha in alphas]


def _primal(pencil: Pencil, G: Array, ridge: float | Array) -> Regression | None:
    B = G.copy()
    B.flat[:: len(B) + 1] += ridge
    constant = pencil.Z.constant
    B[constant, constant] += 1.0  # their rows and columns are zero, and so is their part of Z'H
    factor = Cholesky.of(B)
    if factor is None or factor.rcond < REPAIRABLE:
        return None
    if factor.smallest < np.max(pencil.Z.grain(G.diagonal()) / factor.scale) ** 2:
        return None  # some direction may be rounding, and only singular vectors tell
    normal = _NormalEquations(pencil, G, ridge, factor)
    M = factor.half(pencil.C)
    W1 = factor.back(M)
    if factor.rcond > TOLD_APART:
        settle = normal.forms if factor.rcond > TWELVE_DIGITS else normal.settled
        return Regression(
            W1,
            rcond=factor.rcond,
            settle=lambda T: settle(W1 @ T, T),
            factored=lambda count: normal.components(M, count, settle),
        )
    found = normal.refined(W1, np.eye(W1.shape[1]))
    return None if found is None else Regression(found[0], rcond=factor.rcond)


@dataclass(frozen=True)
class _NormalEquations:
    """(G + ridge) W = Z'H with a factor of the matrix, and the data to check it against."""

    pencil: Pencil
    G: Array
    ridge: float | Array
    factor: Cholesky

    def components(
        self, M: Array, count: int | None, settle: Callable[[Array, Array], Settled | None]
    ) -> Factored | None:
        """From M = L^-1 Z'H with B = L L', in terms of which the pencil is M M'."""
        U, s, V = first_triplets(M, count)
        found = settle(self.factor.back(U), V / s)
        return None if found is None else (*found, s**2, V)

    def forms(self, W: Array, T: Array) -> Settled:
        """W = W1 T as it is."""
        BW = self.G @ W + damped(self.ridge, W)
        return W, BW, W.T @ BW

    def settled(self, W: Array, T: Array) -> Settled | None:
        """W as it is where that is good enough, which one pass with one column tells."""
        if W.shape[1] >= MIXED and self.error(W, T) < ENOUGH:
            return self.forms(W, T)
        return self.refined(W, T)

    def error(self, W: Array, T: Array) -> float:
        """The first step of refinement, relative to W, for a mixture of its columns."""
        mix = np.sign(fixed_start(W.shape[1]))[:, None]
        mix /= np.linalg.norm(W, axis=0)[:, None]
        V = W @ mix
        slope, _ = self.pencil.Z.gradient(V, self.pencil.H @ (T @ mix))
        step = self.factor.solve(-slope - damped(self.ridge, V))
        return float(np.linalg.norm(step) / np.linalg.norm(V))

    def refined(self, W: Array, T: Array) -> Settled | None:
        """W with the digits that the Gram matrix has lost, by residuals for the targets H T.

        B W and W'B W come from the pass over the data that gave the last residual; what the last
        step adds to them is so small that the Gram matrix is good enough for it, and its square
        is rounding.
        """
        HT, CT = self.pencil.H @ T, self.pencil.C @ T
        passed: list[Array] = []

        def residual(V: Array) -> Array:
            slope, square = self.pencil.Z.gradient(V, HT)
            passed[:] = V, slope, square
            return np.asarray(-slope - damped(self.ridge, V))

        refined = _refined(self.factor, W, residual)
        if refined is None:
            return None
        V, slope, square = passed
        step = refined - V
        damped_V, B_step = damped(self.ridge, V), self.G @ step + damped(self.ridge, step)
        across = V.T @ B_step
        inner = square + V.T @ damped_V + across + across.T
        return refined, CT + slope + damped_V + B_step, inner


def dual_cholesky(
    pencil: Pencil, alphas: Sequence[float], tol: float, max_iter: int
) -> list[Regression | None]:
    """(Z Z' + ridge) A = H by Cholesky factorization (n x n), W1 = Z'A."""
    K = pencil.Z.outer()
    return [_dual(pencil, K, pencil.Z.ridge(alpha)) for alpha in alphas]


def _dual(pencil: Pencil, K: Array, ridge: float | Array) -> Regression | None:
    """From A of (K + ridge) A = H; None where too little of A is certain."""
    Z, H = pencil.Z, np.asarray(pencil.H)
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
    if factor.smallest * factor.scale.min() ** 2 < max(np.max(Z.grain()) ** 2, Z.noise(0.0)):
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
    return Regression(Z.rmatmat(A), rcond=factor.rcond)


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


def svd(
    pencil: Pencil, alphas: Sequence[float], tol: float, max_iter: int
) -> list[Regression | None]:
    """The pseudoinverse: a singular value decomposition of Z (after QR, if it is tall)."""
    reduce = reduction(pencil.compressed())
    answers: list[Regression | None] = []
    for alpha in alphas:
        F, M, rcond = reduce(pencil.Z.ridge(alpha))
        answers.append(Regression(F @ M, rcond=rcond**2, components=components(F, M)))
    return answers


def components(F: Array, M: Array) -> Components:
    """W, eigenvalues and basis of the pencil in coordinates where it is M M' and B is I.

    The singular values of M and not the eigenvalues of M M': those of small components would
    be lost in the rounding of the large ones.
    """
    U, s, V = first_triplets(M, None)
    return F @ U, s**2, V


def cg(
    pencil: Pencil, alphas: Sequence[float], tol: float, max_iter: int
) -> list[Regression | None]:
    """Block conjugate gradients on the smaller of Z Z' and Z'Z; one run for all ridges.

    In float32 with corrections in float64 where Z offers that; not for a grid that must be
    solved to more digits than float32 has, as corrections are made for one ridge at a time.
    """
    Z = pencil.Z
    ridges = [one_number(Z.ridge(alpha)) for alpha in alphas]
    grain = _grain(pencil, min(ridges))
    if grain > 0 and _hidden(Z):
        return [None for _ in alphas]
    ridged = min(ridges) > 0 and grain == 0
    single = Z.fast_in_single and ridged and (len(ridges) == 1 or tol >= ROUND)
    solve = block_cg_mixed if single else block_cg
    with Z.own_threads():
        if Z.has_rows and Z.shape[0] <= Z.shape[1] and ridged:
            H = np.asarray(pencil.H)
            runs = solve(Z.dual_normal, H, ridges, tol, max_iter)
            return [
                Regression(None, run.n_iter, run.converged, dual=Dual.of(pencil, H, run, ridge))
                for run, ridge in zip(runs, ridges, strict=True)
            ]
        if grain == 0:
            runs = solve(Z.normal, pencil.C, ridges, tol, max_iter)
        else:
            floors = grain * np.sqrt(Z.squares_of(pencil.H)), grain
            runs = block_cg(Z.normal, pencil.C, ridges, tol, max_iter, floors)
        return [Regression(run.X, run.n_iter, run.converged) for run in runs]


def _grain(pencil: Pencil, ridge: float) -> float:
    """The length, of the worst column, up to which directions are rounding; 0 below a ridge."""
    grain = float(np.max(pencil.Z.grain()))
    return grain if ridge <= grain**2 else 0.0


def _hidden(Z: Data) -> bool:
    """Whether the worst column has more rounding than others have spread, which an SVD can tell."""
    squares = np.asarray(Z.column_squares())
    least = np.min(squares[squares > 0], initial=np.inf)
    possible = Z.may_be_dense or (not Z.has_rows and fits(Z.shape[1]))
    return bool(least < np.max(Z.grain()) ** 2) and possible


def lsqr(
    pencil: Pencil, alphas: Sequence[float], tol: float, max_iter: int
) -> list[Regression | None]:
    """Block LSQR on Z, stacked on the root of the ridge: slow but sure where alpha is 0."""
    small = pencil.compressed()
    with small.Z.own_threads():
        return [_lsqr(small, pencil.Z.ridge(alpha), tol, max_iter) for alpha in alphas]


def _lsqr(pencil: Pencil, ridge: float | Array, tol: float, max_iter: int) -> Regression | None:
    Z, H = pencil.Z, np.asarray(pencil.H)
    n, d = Z.shape
    floor, ridged = _grain(pencil, float(np.min(ridge))), bool(np.any(ridge))
    if floor > 0 and Z.may_be_dense and (ridged or _hidden(Z)):
        return None  # rounding hides columns, or a ridge is too small to hold it down
    if not ridged:
        return Regression(*block_lsqr(Z.matmat, Z.rmatmat, H, tol, max_iter, floor))
    root = np.sqrt(ridge)

    def forward(V: Array) -> Array:
        return np.vstack([Z.matmat(V), damped(root, V)])

    def backward(U: Array) -> Array:
        return np.asarray(Z.rmatmat(U[:n]) + damped(root, U[n:]))

    stacked = np.vstack([H, np.zeros((d, H.shape[1]))])
    return Regression(*block_lsqr(forward, backward, stacked, tol, max_iter))


REGRESSIONS: dict[str, Method] = {
    "cholesky": cholesky,
    "dual_cholesky": dual_cholesky,
    "svd": svd,
    "cg": cg,
    "lsqr": lsqr,
}
