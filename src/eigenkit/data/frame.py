"""Blocks of rows as solvers see them: shifted, in one unit, while they are in the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data.columns import scaled, shifted
from eigenkit.data.sparse_rows import BLOCK_BYTES, row_slices
from eigenkit.linalg import Array

# A block as it is passed over: X, the encoded y, and the weights or None.
Block = tuple[Any, Array, Array | None]


@dataclass(frozen=True)
class Frame:
    """How rows of X become rows of Z = P - r delta', P = diag(r) (X - 1 shift') diag(m)."""

    shift: Array | None
    m: Array | None
    delta: Array

    def pieces(self, blocks: Iterable[Block]) -> Iterator[tuple[Any, Array, Array | None]]:
        """Unweighted rows of P in float64, with their Y and r, while they are in the cache."""
        for X, Y, weight in blocks:
            r = None if weight is None else np.sqrt(weight)
            if sparse.issparse(X):
                yield self._sparse(X), Y, r
                continue
            for rows in row_slices(*X.shape, BLOCK_BYTES):
                yield self._dense(X[rows]), Y[rows], None if r is None else r[rows]

    def _dense(self, X: Any) -> Array:
        if self.shift is None and self.m is None:
            return np.asarray(X, dtype=np.float64)
        P = np.array(X, dtype=np.float64)
        if self.shift is not None:
            P -= self.shift
        if self.m is not None:
            P *= self.m
        return P

    def _sparse(self, X: Any) -> sparse.csr_array:
        P = sparse.csr_array(X, dtype=np.float64) if X.dtype != np.float64 else X
        if self.shift is not None:
            P = shifted(P, self.shift)
        return P if self.m is None else scaled(P, columns=self.m)
