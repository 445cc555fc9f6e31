"""Dense data: read in blocks of rows that are centred while they are in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data.centered import Centered
from eigenkit.data.columns import FULL, SAFE_RANGE, sum_of_squares
from eigenkit.data.costs import DENSE_RATE, READ_RATE
from eigenkit.data.sparse_rows import BLOCK_BYTES, SparseRows
from eigenkit.linalg import Array
from eigenkit.tolerances import ROUNDING


class Dense(Centered):
    """An array; not copied, not changed."""

    X: np.ndarray

    @classmethod
    def takes(cls, X: Any) -> bool:
        """Arrays."""
        return isinstance(X, np.ndarray)

    def _take(self, X: Any) -> None:
        self.X = X

    @property
    def _stored(self) -> np.ndarray:
        return self.X

    # -- what the data look like -------------------------------------------------------

    def _mean(self) -> Array:
        weight = np.ones(self.shape[0]) if self.weight is None else self.weight
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.zeros(self.shape[1])
            for rows, P in self._blocks():
                total += weight[rows] @ P
            return total / self.total

    def _rescale_mean(self) -> None:
        self.mean = self._mean() / np.broadcast_to(self.unit, self.shape[1:])

    def _is_safe(self) -> bool:
        low, high = SAFE_RANGE[0] ** 2, SAFE_RANGE[1] ** 2
        return bool(np.all((self._squares > low) & (self._squares < high)))

    @cached_property
    def _squares(self) -> Array:
        """sum(x^2) of every column of X as it is, infinite where it overflows."""
        with np.errstate(over="ignore", under="ignore"):
            return sum_of_squares(self.X)

    def _column_sizes(self) -> Array:
        size = np.zeros(self.shape[1])
        for _, P in self._blocks():
            np.maximum(size, np.abs(P).max(axis=0), out=size)
        return size

    def _tame_offset(self) -> None:
        squares = self._squares
        if self.m is not None or self.weight is not None:
            squares = sum((sum_of_squares(P) for _, P in self._blocks(weighted=True)), np.zeros(1))
        mean = self._scaled(self.mean)
        if np.all(self.total * mean * mean < FULL * squares):
            return
        self.shift = self.mean
        # The shift is a rounded sum, so what is constant shows in differences, not in sizes.
        high, low = np.full((2, self.shape[1]), [[-np.inf], [np.inf]])
        drift = np.zeros(self.shape[1])
        for rows, P in self._blocks():
            np.maximum(high, P.max(axis=0), out=high)
            np.minimum(low, P.min(axis=0), out=low)
            drift += P.sum(axis=0) if self.weight is None else self.weight[rows] @ P
        noise = ROUNDING * np.abs(self._scaled(self.shift))
        self.mean = self.shift + drift / self.total / (1.0 if self.m is None else self.m)
        self._drop_constant(high - low <= noise)

    # -- P, block by block -------------------------------------------------------------

    def _blocks(self, weighted: bool = False) -> Iterator[tuple[slice, Array]]:
        """Row slices and blocks of P, in float64; the whole of X at once when P is X."""
        as_is = self.shift is None and self.m is None and not (weighted and self.r is not None)
        if as_is and self.X.dtype == np.float64:
            yield slice(None), self.X
            return
        step = max(1, BLOCK_BYTES // (8 * self.shape[1]))
        for start in range(0, self.shape[0], step):
            rows = slice(start, min(start + step, self.shape[0]))
            P = self.X[rows].astype(np.float64)
            if self.shift is not None:
                P -= self.shift
            if self.m is not None:
                P *= self.m
            if weighted and self.r is not None:
                P *= self.r[rows, None]
            yield rows, P

    def _cached_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of P that stay in the cache while they are used twice."""
        step = max(1, BLOCK_BYTES // (8 * self.shape[1]))
        for rows, P in self._blocks():
            if rows != slice(None):
                yield rows, P
                continue
            for start in range(0, self.shape[0], step):
                part = slice(start, min(start + step, self.shape[0]))
                yield part, P[part]

    # -- the products ------------------------------------------------------------------

    def matmat(self, V: Array) -> Array:
        """Z V = diag(r) (P V - 1 delta'V)."""
        out = np.empty((self.shape[0], V.shape[1]))
        for rows, P in self._blocks():
            np.matmul(P, V, out=out[rows])
        out -= self.delta @ V
        return self.weighted(out)

    def rmatmat(self, U: Array) -> Array:
        """Z'U = P'U - delta (r'U)."""
        U = self.weighted(U)
        product = np.outer(U.sum(axis=0), -self.delta)
        for rows, P in self._blocks():
            product += U[rows].T @ P
        return product.T

    def _plain_cross(self, S: sparse.csr_array) -> Array:
        product = np.zeros((S.shape[1], self.shape[1]))
        for rows, P in self._cached_blocks():
            product += SparseRows(S[rows].T.tocsr()) @ P
        return product.T

    def gradient(self, V: Array, H: Array | None = None) -> tuple[Array, Array]:
        """Z'(Z V - H) and (Z V)'(Z V), reading the data once.

        Each block is used for both products while it is in the cache.
        """
        slope, drift, square = np.zeros(V.shape[::-1]), 0.0, np.zeros((V.shape[1],) * 2)
        offset = self.delta @ V
        for rows, P in self._cached_blocks():
            ZV = P @ V
            ZV -= offset
            if self.r is not None:
                ZV *= self.r[rows, None]
            square += ZV.T @ ZV
            gap = ZV if H is None else ZV - H[rows]
            if self.r is not None:
                gap = gap * self.r[rows, None]
            slope += gap.T @ P
            drift = drift + gap.sum(axis=0)
        slope -= np.outer(drift, self.delta)
        return slope.T, square

    def _plain_gram(self) -> Array:
        G = np.zeros((1, 1))
        for _, P in self._blocks(weighted=True):
            G = G + P.T @ P if G.shape == (1, 1) else np.add(G, P.T @ P, out=G)
        return G

    def _plain_outer(self) -> tuple[Array, Array]:
        n, d = self.shape
        K = np.zeros((n, n))
        q = np.zeros(n)
        step = max(1, 4 * BLOCK_BYTES // (8 * n))
        for start in range(0, d, step):
            columns = slice(start, start + step)
            P = self._some_columns(columns)
            K += P @ P.T
            q += P @ self.delta[columns]
        return K, q

    def _some_columns(self, columns: slice) -> Array:
        P = np.array(self.X[:, columns], dtype=np.float64)
        if self.shift is not None:
            P -= self.shift[columns]
        if self.m is not None:
            P *= self.m[columns]
        return P if self.r is None else P * self.r[:, None]

    def column_squares(self) -> Array:
        """The diagonal of Z'Z."""
        sums = np.zeros(self.shape[1])
        for _, P in self._blocks(weighted=True):
            sums += np.einsum("ij,ij->j", P, P)
        return np.maximum(sums - self.total * self.delta**2, 0.0)

    def toarray(self) -> Array:
        """Z; the caller has checked that it fits."""
        out = np.empty(self.shape)
        for rows, P in self._blocks(weighted=True):
            out[rows] = P
        out -= np.outer(self._r(), self.delta)
        return out

    # -- costs -------------------------------------------------------------------------

    def seconds_for_passes(self, k: int) -> float:
        """A pass reads all numbers once, or is limited by the multiplications."""
        n, d = self.shape
        return 2 * n * d * max(1 / READ_RATE, k / DENSE_RATE)

    def seconds_for_gram(self) -> float:
        """n d^2 multiplications."""
        n, d = self.shape
        return float(n) * d * d / DENSE_RATE

    def seconds_for_outer(self) -> float:
        """n^2 d multiplications."""
        n, d = self.shape
        return float(n) * n * d / DENSE_RATE
