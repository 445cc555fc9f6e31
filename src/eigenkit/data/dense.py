"""Dense data: read in blocks of rows that are centred while they are in the cache.

Products with few columns are compiled ones where they are available: BLAS copies the rows into
panels first, which for few columns takes as long as the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from eigenkit.data import matrices
from eigenkit.data.centered import Centered
from eigenkit.data.matrices import BLOCK_BYTES, moved
from eigenkit.numerics import compiled
from eigenkit.numerics.costs import DENSE_RATE, READ_RATE
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import parts_of, thread_map, tree_sum
from eigenkit.numerics.tolerances import ROUNDING

# Blocks of rows, or sums of them, that stay in the cache of one core.
CACHE_BYTES = 2**20

# Reading a number from memory takes as long as this many multiplications.
READING = 8


class SideBySide:
    """Views with the same rows as if they were copied into one table, of whose rows blocks are
    arrays."""

    def __init__(self, views: list[np.ndarray]) -> None:
        self.views = views
        self.dtype = np.result_type(*views)
        self.shape = len(views[0]), sum(view.shape[1] for view in views)
        self.nbytes = self.dtype.itemsize * self.shape[0] * self.shape[1]

    def __getitem__(self, place: Any) -> np.ndarray:
        if isinstance(place, tuple):
            return np.asarray(self)[place]
        return np.hstack([view[place] for view in self.views])

    def write(self, rows: slice, out: np.ndarray) -> None:
        """Put some rows into ``out``."""
        np.concatenate([view[rows] for view in self.views], axis=1, out=out)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self[:].astype(dtype or self.dtype, copy=False)


class Dense(Centered):
    """An array, or several side by side; not copied, not changed."""

    X: np.ndarray | SideBySide
    takes = (np.ndarray, SideBySide)
    decomposable = True

    # -- what the data look like -------------------------------------------------------

    def _mean(self) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            total, self._squares = self._summed(self._sums, READING, BLOCK_BYTES)
            return np.asarray(total / self.total)

    def _sums(self, rows: slice, P: Array) -> tuple[Array, Array]:
        """Sums (weighted) and squares (not) of the columns, infinite where they overflow."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if compiled.takes_dense(P):
                total, squares = compiled.dense_sums(P)
            else:
                # Sums of sums, added in pairs: one long sum would lose digits of a far mean.
                parts = [np.ones(len(part)) @ part for part in np.array_split(P, len(P) // 64 + 1)]
                total = np.ascontiguousarray(np.transpose(parts)).sum(axis=1)
                squares = matrices.sum_of_squares(P)
            return total if self.weight is None else self.weight[rows] @ P, squares

    def _within(self, low: float, high: float) -> bool:
        return bool(np.all((self._squares > low**2) & (self._squares < high**2)))

    @cached_property
    def _squares(self) -> Array:
        """sum(x^2) of every column of P without weights, infinite where it overflows."""
        with np.errstate(over="ignore", under="ignore"):
            return matrices.sum_of_squares(np.asarray(self.X))

    def _weighted_squares(self) -> Array:
        blocks = self._blocks(weighted=True)
        return sum((matrices.sum_of_squares(P) for _, P in blocks), np.zeros(1))

    def _column_sizes(self) -> Array:
        size = np.zeros(self.shape[1])
        for _, P in self._blocks():
            np.maximum(size, np.abs(P).max(axis=0), out=size)
        return size

    def _tame_offset(self) -> None:
        squares = self._squares if self.weight is None else self._weighted_squares()
        mean = self.to_X(self.mean)
        if np.all(self.total * mean * mean < matrices.FULL * squares):
            return
        self.shift = self.mean
        # The shift is a rounded sum, so what is constant shows in differences, not in sizes.
        high, low = np.full((2, self.shape[1]), [[-np.inf], [np.inf]])
        drift = np.zeros(self.shape[1])
        for rows, P in self._blocks():
            np.maximum(high, P.max(axis=0), out=high)
            np.minimum(low, P.min(axis=0), out=low)
            drift += P.sum(axis=0) if self.weight is None else self.weight[rows] @ P
        noise = ROUNDING * np.abs(self.to_X(self.shift))
        self.drift = drift / self.total / (1.0 if self.m is None else self.m)
        self.mean = self.shift + self.drift
        self.constant = high - low <= noise

    # -- P, block by block -------------------------------------------------------------

    def _blocks(
        self, part: slice | None = None, size: int | None = None, weighted: bool = False
    ) -> Iterator[tuple[slice, Array]]:
        """Row slices and blocks of P among a part of the rows, in float64.

        One, where P is X and no ``size`` (in bytes) is asked for. Otherwise all blocks share one
        piece of memory: a block is gone when the next one comes.
        """
        first, last = (0, self.shape[0]) if part is None else (part.start, part.stop)
        X = self.X
        # If neither rows nor columns of X are contiguous, BLAS would copy all of it.
        plain = isinstance(X, np.ndarray) and X.dtype == np.float64 and X.itemsize in X.strides
        changed = self.shift is not None or self.m is not None or not plain
        changed |= weighted and self.r is not None
        size = size or (BLOCK_BYTES if changed else X.nbytes)
        step = max(1, size // (8 * max(1, self.shape[1])))
        memory = np.empty((min(step, last - first), self.shape[1])) if changed else None
        for start in range(first, max(last, first + 1), step):
            rows = slice(start, min(start + step, last))
            room = None if memory is None else memory[: rows.stop - rows.start]
            yield rows, X[rows] if room is None else self._changed(rows, weighted, room)

    def _changed(self, rows: slice, weighted: bool, P: Array) -> Array:
        """Some rows of P, where it is not X, written into this memory."""
        if isinstance(self.X, SideBySide):
            self.X.write(rows, P)
        else:
            P[:] = self.X[rows]
        moved(P, self.shift, self.m)
        if weighted and self.r is not None:
            P *= self.r[rows, None]
        return P

    def _summed(
        self,
        function: Callable[[slice, Array], Any],
        width: int,
        size: int | None = None,
        weighted: bool = False,
    ) -> Any:
        """The sum of ``function(rows, P)`` over blocks, and parts in threads."""

        def of_part(part: slice) -> Any:
            return tree_sum(function(*block) for block in self._blocks(part, size, weighted))

        return tree_sum(thread_map(of_part, parts_of(*self.shape, width)))

    # -- the products ------------------------------------------------------------------

    def matmat(self, V: Array) -> Array:
        """Z V = diag(r) (P V - 1 delta'V)."""
        out, offset = np.empty((self.shape[0], V.shape[1])), self.delta @ V

        def product(part: slice) -> None:
            for rows, P in self._blocks(part):
                if compiled.takes_dense(P, V.shape[1]):
                    out[rows] = compiled.dense_gradient(P, V, offset[None, :], slope=False)[0]
                else:
                    np.matmul(P, V, out=out[rows])
                    out[rows] -= offset

        thread_map(product, parts_of(*self.shape, V.shape[1]))
        return self.weighted(out)

    def rmatmat(self, U: Array) -> Array:
        """Z'U = P'U - delta (r'U)."""
        U = self.weighted(U)
        found: Array = self._summed(lambda rows, P: _cross(P, U[rows]), U.shape[1])
        found -= np.outer(self.delta, U.sum(axis=0))
        return found

    def _sparse_cross(self, H: Any) -> Array:
        """From rows without their means: sums of rows of one class cancel nothing then."""
        S, d = H.counted(), self.shape[1]
        k = S.shape[1]

        def row_by_row(part: slice) -> Array:
            product = np.zeros((k, d))
            for rows, P in self._blocks(part, CACHE_BYTES):
                matrices.add_transposed(product, S, P - self.delta, rows)
            return product

        if 8 * k * d <= CACHE_BYTES:
            return np.asarray(tree_sum(thread_map(row_by_row, parts_of(*self.shape, k)))).T
        product = np.zeros((k, d))
        for rows, P in self._blocks(size=BLOCK_BYTES):
            product += matrices.SparseRows(S[rows].T.tocsr()) @ (P - self.delta)
        return product.T

    def gradient(self, V: Array, H: Array | None = None) -> tuple[Array, Array]:
        """Z'(Z V - H) and (Z V)'(Z V), reading the data once."""
        offset = self.delta @ V

        def sums(rows: slice, P: Array) -> tuple[Array, Array, Array]:
            """P'r gap, (r Z V)'(r Z V) and r'gap of some rows, with gap = r Z V - H."""
            own = None if H is None else H[rows]
            if self.r is None and compiled.takes_dense(P, V.shape[1]):
                ZV, slope = compiled.dense_gradient(P, V, offset[None, :], own)
                drift = ZV.sum(axis=0) - (0.0 if own is None else own.sum(axis=0))
                return slope, ZV.T @ ZV, drift
            r = 1.0 if self.r is None else self.r[rows, None]
            ZV = P @ V
            ZV -= offset
            ZV *= r
            gap = (ZV if own is None else ZV - own) * r
            return _cross(P, gap), ZV.T @ ZV, gap.sum(axis=0)

        slope, square, drift = self._summed(sums, max(READING, V.shape[1]), BLOCK_BYTES)
        slope -= np.outer(self.delta, drift)
        return slope, square

    def _plain_gram(self) -> Array:
        return np.asarray(self._summed(lambda _, P: P.T @ P, self.shape[1], weighted=True))

    def _plain_outer(self) -> tuple[Array, Array]:
        n, d = self.shape
        K, q = np.zeros((n, n)), np.zeros(n)
        for columns in matrices.row_slices((d, n), 4 * BLOCK_BYTES):
            P = moved(np.array(self.X[:, columns], dtype=np.float64), self.shift, self.m, columns)
            P = self.weighted(P)
            K += P @ P.T
            q += P @ self.delta[columns]
        return K, q

    def column_squares(self) -> Array:
        plain = self.shift is None and self.m is None and self.r is None
        sums = self._squares if plain else self._weighted_squares()
        return np.maximum(sums - self.total * self.delta**2, 0.0)

    def toarray(self) -> Array:
        out = np.empty(self.shape)
        for rows, P in self._blocks(weighted=True):
            out[rows] = P
        out -= self.delta if self.r is None else np.outer(self.r, self.delta)
        return out

    def seconds_for_passes(self, k: int) -> float:
        """A pass reads all numbers once, or is limited by the multiplications."""
        n, d = self.shape
        return 2 * n * d * max(1 / READ_RATE, k / DENSE_RATE)

    def seconds_for_gram(self) -> float:
        n, d = self.shape
        return float(n) * d * d / DENSE_RATE

    def seconds_for_outer(self) -> float:
        n, d = self.shape
        return float(n) * n * d / DENSE_RATE


def _cross(P: Array, U: Array) -> Array:
    """P'U."""
    if compiled.takes_dense(P, U.shape[1]):
        return compiled.dense_gradient(P, None, None, U)[1]
    return np.asarray((U.T @ P).T)
