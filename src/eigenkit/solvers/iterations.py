"""Stage one by iterations: products with Z are all they need, and no Gram matrix is formed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from eigenkit.data import Data
from eigenkit.numerics.linalg import Array
from eigenkit.pencil import Pencil, damped
from eigenkit.solvers.coordinates import one_number
from eigenkit.solvers.krylov import ROUND, Run, block_cg, block_cg_mixed, block_lsqr
from eigenkit.solvers.regression import Dual, Regression


def cg(problems: Sequence[Pencil], tol: float, max_iter: int) -> list[Regression | None]:
    """Block conjugate gradients on the smaller of Z Z' and Z'Z; one run for all ridges.

    In float32 with corrections in float64 where Z offers that; not for a grid that must be
    solved to more digits than float32 has, as corrections are made for one ridge at a time.
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
