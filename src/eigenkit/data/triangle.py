"""The triangle R of [Z H] over blocks of rows, as accurate as the rows, at the speed of products.

The Cholesky factor of a Gram matrix is R where that is well conditioned. Otherwise it is good
enough to make the columns nearly orthonormal, and the Gram matrix of those is well conditioned
(Cholesky-QR twice: one more pass). Where even that is not certain, blocks are factored by
Householder's QR and stacked, which takes several times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import linalg as sla

from eigenkit.data.matrices import as_dense, row_slices
from eigenkit.data.passes import Passes
from eigenkit.numerics.linalg import Array, Cholesky, add_gram, fill_upper, triangular_factor
from eigenkit.numerics.tolerances import REPAIRABLE, TWELVE_DIGITS

# How far Q'Q may be from I for its own factor to be exact to rounding.
NEARLY = 0.1
# Rows are factored in blocks of this many times their number of columns.
TALL = 4


def triangle(passes: Passes, frame: Any, H: Any, live: np.ndarray) -> Array:
    """[R T] with as many rows as it takes, and the products of [Z H] with itself.

    ``live`` says which columns of Z are not zero. H may have dependent columns: only Z must have
    none for the fast way.
    """
    if live.any() and (found := _by_products(passes, frame, H, live)) is not None:
        return found
    return np.asarray(passes.run(_stacked, frame, H, len(live) + H.shape[1]).R)


def _by_products(passes: Passes, frame: Any, H: Any, live: np.ndarray) -> Array | None:
    """The same from Gram matrices; None where these are too ill-conditioned."""
    k = H.shape[1]
    G = fill_upper(passes.run(_gram, frame, H, live, None))
    first = Cholesky.of(G[:-k, :-k].copy() if k else G.copy())
    if first is not None and first.rcond > REPAIRABLE:
        R = np.tril(first.L).T * first.scale
        if first.rcond > TWELVE_DIGITS:
            return _assembled(R, G, live)
        G = fill_upper(passes.run(_gram, frame, H, live, R))
        Q = G[: len(R), : len(R)]
        if np.abs(Q - np.eye(len(R))).max() < NEARLY:
            return _assembled(R, G, live, np.asarray(sla.cholesky(Q)))
    return None


def _assembled(R: Array, G: Array, live: np.ndarray, again: Array | None = None) -> Array:
    """[R T; 0 S] from the Gram matrix of [Q H], Q = Z R^-1 (or of [Z H], without ``again``)."""
    r, k = len(R), len(G) - len(R)
    T = sla.solve_triangular(R if again is None else again, G[:r, r:], trans="T")
    values, vectors = sla.eigh(G[r:, r:] - T.T @ T)
    out = np.zeros((r + k, len(live) + k))
    out[:r, np.flatnonzero(live)] = R if again is None else again @ R
    out[:r, len(live) :] = T
    out[r:, len(live) :] = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return out


def _joint(blocks: Iterable[Any], frame: Any, H: Any) -> Iterator[Array]:
    """Dense rows of [Z H]."""
    for P, Y, r in frame.pieces(blocks):
        for rows in row_slices(P.shape, 2**25):
            joint = np.hstack([as_dense(P[rows]) - frame.delta, H.of(Y[rows])])
            yield joint if r is None else joint * r[rows, None]


def _gram(blocks: Iterable[Any], frame: Any, H: Any, live: np.ndarray, R: Array | None) -> Array:
    """The lower half of the Gram matrix of [Z H], or [Z R^-1 H], without zero columns of Z."""
    keep = np.append(live, np.ones(H.shape[1], dtype=bool))
    G = np.zeros((int(keep.sum()),) * 2)
    for A in _joint(blocks, frame, H):
        A = A if keep.all() else A[:, keep]
        if R is not None:
            Q = sla.solve_triangular(R, A[:, : len(R)].T, trans="T", check_finite=False).T
            A = np.hstack([Q, A[:, len(R) :]])
        add_gram(G, A)
    return G


class _Stack:
    """A triangle to which others are added."""

    def __init__(self, R: Array) -> None:
        self.R = R

    def merge(self, other: _Stack) -> _Stack:
        return _Stack(triangular_factor(np.vstack([self.R, other.R])))


def _stacked(blocks: Iterable[Any], frame: Any, H: Any, width: int) -> _Stack:
    R = np.zeros((0, width))
    held, rows = [], 0
    for A in _joint(blocks, frame, H):
        held.append(A)
        rows += len(A)
        if rows >= TALL * width:
            R, held, rows = triangular_factor(np.vstack([R, *held])), [], 0
    return _Stack(triangular_factor(np.vstack([R, *held])))
