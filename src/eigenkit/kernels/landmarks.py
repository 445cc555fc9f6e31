"""Landmarks: few samples whose features stand for those of all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eigenkit.kernels.checks import refuse_negative
from eigenkit.linalg import Array, eigenpairs
from eigenkit.tolerances import DEPENDENT, RANK_TOL, SYMMETRY_TOL, above_rounding


def pivots(
    columns: Callable[[np.ndarray], Array],
    diagonal: Array,
    rank: int,
    *,
    tol: float = RANK_TOL,
    block: int = 32,
    name: str = "kernel",
) -> np.ndarray:
    """Pivots of the Cholesky factorization of K: samples that stand for all of them.

    Takes samples whose features are badly approximated by those before, until all residuals
    are below ``tol`` times the largest diagonal entry. ``columns(index)`` evaluates columns of
    K, a block of candidates at a time; a candidate is taken while its residual is at least
    half of the largest there is, so with ``block=1`` every pivot is the worst approximated one.
    Of samples with equal residuals one is a candidate, so that copies of samples leave the
    pivots as they are.

    Examples
    --------
    >>> import numpy as np
    >>> K = np.array([[4.0, 4.0, 0.0], [4.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    >>> pivots(lambda index: K[:, index], K.diagonal(), 3)
    array([0, 2])
    """
    residual = np.array(diagonal, dtype=np.float64)
    floor = tol * residual.max(initial=0.0)
    G = np.empty((len(residual), rank), order="F")
    chosen: list[int] = []
    while len(chosen) < rank:
        candidates = _distinct(residual, DEPENDENT * np.max(diagonal))[:block]
        if residual[candidates[0]] <= floor:
            break
        done = G[:, : len(chosen)]
        C = columns(candidates) - done @ done[candidates].T
        chosen += _pivots_in_block(G, C, candidates, residual, len(chosen), floor)
    if residual.min(initial=0.0) < -SYMMETRY_TOL * np.max(diagonal):
        raise ValueError(
            f"{name} is not positive semidefinite: some samples are longer in the span of others "
            "than they are; use another kernel or parameters."
        )
    return np.array(chosen, dtype=np.intp)


def _distinct(residual: Array, close: float) -> np.ndarray:
    """The samples by decreasing residuals, of those that are close only the first."""
    order = np.argsort(-residual, kind="stable")
    steps = -np.diff(residual[order], prepend=np.inf)
    return np.asarray(order[steps > close])


def _pivots_in_block(
    G: Array, C: Array, candidates: np.ndarray, residual: Array, j: int, floor: float
) -> list[int]:
    """Factor columns G[:, j:] from the residual columns C; updates ``residual`` too."""
    taken: list[int] = []
    while j < G.shape[1]:
        best = int(np.argmax(residual[candidates]))
        p = int(candidates[best])
        if residual[p] <= floor or residual[p] < 0.5 * residual.max():
            break
        g = C[:, best] / np.sqrt(residual[p])
        C -= np.outer(g, g[candidates])
        residual -= g * g
        residual[p] = 0.0
        G[:, j] = g
        taken.append(p)
        j += 1
    return taken


def landmark_map(K: Array, name: str = "kernel", least: float = 0.0) -> Array:
    """N such that the rows ``k(x, L) @ N`` are features of x, for the kernel K of landmarks L.

    N N' is the pseudoinverse of K: inner products with landmarks are exact. Eigenvalues up to
    ``least`` are rounding of the landmarks.
    """
    values, V = eigenpairs(K)
    refuse_negative(values[-1], values[0], name)
    keep = above_rounding(values, len(values)) & (values > least)
    return np.asarray(V[:, keep] / np.sqrt(values[keep]))
