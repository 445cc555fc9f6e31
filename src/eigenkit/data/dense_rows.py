"""Products of dense rows with few columns: compiled ones where they are available, BLAS otherwise.

BLAS copies the rows into panels first, which for few columns takes as long as the sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenkit import compiled
from eigenkit.data.columns import sum_of_squares
from eigenkit.linalg import Array


def cross(P: Array, U: Array) -> Array:
    """P'U."""
    k = U.shape[1]
    if _narrow(P, k):
        return compiled.dense_gradient(P, None, None, _wide(U))[1][:, :k]
    return np.asarray((U.T @ P).T)


def project(P: Array, V: Array, offset: Array, out: Array) -> None:
    """``out = P V - 1 offset'``."""
    k = V.shape[1]
    if _narrow(P, k):
        out[:] = compiled.dense_gradient(P, _wide(V), _wide(offset[None, :]), slope=False)[0][:, :k]
    else:
        np.matmul(P, V, out=out)
        out -= offset


def gradient(P: Array, V: Array, offset: Array, H: Any = None) -> tuple[Array, Array]:
    """Z = P V - 1 offset' and P'(Z - H)."""
    k = V.shape[1]
    if _narrow(P, k):
        wide = _wide(V), _wide(offset[None, :]), None if H is None else _wide(H)
        Z, slope = compiled.dense_gradient(P, *wide)
        return Z[:, :k], slope[:, :k]
    Z = P @ V
    Z -= offset
    gap = Z if H is None else Z - H
    return Z, np.asarray((gap.T @ P).T)


def sums(P: Array) -> tuple[Array, Array]:
    """Sums and sums of squares of the columns, infinite where they overflow."""
    if compiled.takes_dense(P):
        return compiled.dense_sums(P)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # Sums of sums, added in pairs: one long sum would lose digits of a mean far from zero.
        parts = [np.ones(len(rows)) @ rows for rows in np.array_split(P, len(P) // 64 + 1)]
        return np.ascontiguousarray(np.transpose(parts)).sum(axis=1), sum_of_squares(P)


def _narrow(P: Array, k: int) -> bool:
    """Whether the compiled products are the faster ones; with one column BLAS copies nothing."""
    return k > 1 and compiled.takes_dense(P, _padded(k))


def _padded(k: int) -> int:
    return -(-k // 4) * 4


def _wide(A: Array) -> Array:
    """A with columns of zeros up to a multiple of four, in the order of rows."""
    n, k = A.shape
    if k % 4 == 0:
        return np.ascontiguousarray(A, dtype=np.float64)
    wide = np.zeros((n, _padded(k)))
    wide[:, :k] = A
    return wide
