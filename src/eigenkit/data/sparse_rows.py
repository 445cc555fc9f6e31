"""Products with sparse matrices in threads: scipy releases the interpreter meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

try:  # adds to what is there: a product of its own would be as large as the whole result
    from scipy.sparse._sparsetools import csc_matvecs
except ImportError:  # pragma: no cover - a name that scipy does not promise
    csc_matvecs = None

from eigenkit import compiled
from eigenkit.linalg import Array
from eigenkit.threads import WORTH_THREADS, available, thread_map

# Blocks of rows: large enough for fast products, small enough for the cache.
BLOCK_BYTES = 2**23


def row_slices(shape: tuple[int, ...], size: int) -> list[slice]:
    """Consecutive rows of a float64 matrix of this shape, each slice of about ``size`` bytes."""
    step = max(1, size // (8 * max(1, shape[1])))
    return [slice(start, start + step) for start in range(0, shape[0], step)]


class SparseRows:
    """Products with a CSR matrix and with its transpose, in threads over blocks of rows.

    Every row of a product is computed by one thread in one order, so the number of threads
    does not change a bit of the result. The transpose is kept as CSR too once it is used:
    that is as fast as the matrix itself, for one more copy of the non-zeros. Products with
    float32 blocks are made in float32, from a copy of the numbers in that precision.
    """

    def __init__(self, X: sparse.csr_array) -> None:
        self.X = X
        self.shape: tuple[int, int] = X.shape

    @cached_property
    def _blocks(self) -> list[slice]:
        """Consecutive row slices with about equal numbers of non-zeros."""
        X = self.X
        cuts = np.searchsorted(X.indptr, np.linspace(0, X.nnz, 4 * available() + 1)[1:-1])
        edges = np.unique(np.concatenate([[0], cuts, [X.shape[0]]]))
        return [slice(int(a), int(b)) for a, b in pairwise(edges)]

    @cached_property
    def T(self) -> SparseRows:
        return SparseRows(self.X.T.tocsr())

    @cached_property
    def _single(self) -> SparseRows:
        data = self.X.data.astype(np.float32)
        return SparseRows(sparse.csr_array((data, self.X.indices, self.X.indptr), self.shape))

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        if V.dtype == np.float32 and self.X.dtype != np.float32:
            return self._single @ V
        V = np.ascontiguousarray(V)
        if self.X.nnz * V.shape[1] < WORTH_THREADS:
            return product(self.X, V)
        out = np.empty((self.shape[0], V.shape[1]), dtype=V.dtype)
        thread_map(_filling(self.X, V, out), self._blocks)
        return out

    def product(self, other: sparse.csr_array, work: float) -> Array:
        """``X @ other`` for sparse ``other``, as a dense matrix, block by block."""
        out = np.empty((self.shape[0], other.shape[1]))

        def fill(rows: slice) -> None:
            (self.X[rows] @ other).toarray(out=out[rows])

        # Twice the room: the product is there as sparse and as dense numbers.
        thread_map(fill, row_slices((len(out), 2 * out.shape[1]), BLOCK_BYTES), work)
        return out


def _row_slice(X: sparse.csr_array, rows: slice) -> sparse.csr_array:
    """Some rows, sharing memory with X: scipy's constructor would copy a small part of an array."""
    indptr = X.indptr[rows.start : rows.stop + 1]
    stored = slice(indptr[0], indptr[-1])
    part = sparse.csr_array((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    part.data, part.indices, part.indptr = X.data[stored], X.indices[stored], indptr - indptr[0]
    return part


def _filling(X: sparse.csr_array, V: Array, out: Array) -> Callable[[slice], None]:
    """What does ``out[rows] = X[rows] @ V``."""

    def by_scipy(rows: slice) -> None:
        out[rows] = _row_slice(X, rows) @ V

    return compiled.rows_product(X, V, out) or by_scipy


def product(X: sparse.csr_array, V: Array) -> Array:
    """``X @ V`` in this thread."""
    V = np.ascontiguousarray(V)
    out = np.empty((X.shape[0], V.shape[1]), dtype=V.dtype)
    _filling(X, V, out)(slice(0, X.shape[0]))
    return out


def add_transposed(out: Array, X: sparse.csr_array, U: Array, rows: slice = slice(None)) -> None:
    """``out += X[rows].T @ U`` in this thread, where ``out`` is C-contiguous and large."""
    one_kind = X.dtype == U.dtype == out.dtype and X.indices.dtype == X.indptr.dtype
    if csc_matvecs is None or not one_kind:
        out += X[rows].T @ U
        return
    U = np.ascontiguousarray(U)
    first, last, _ = rows.indices(X.shape[0])
    indptr, (d, k) = X.indptr[first : last + 1], out.shape
    csc_matvecs(d, last - first, k, indptr, X.indices, X.data, U.ravel(), out.reshape(-1))
