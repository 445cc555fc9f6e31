"""Products with a CSR matrix, in threads: scipy releases the interpreter while it multiplies."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

try:  # adds to what is there: a product of its own would be as large as the whole result
    from scipy.sparse._sparsetools import csc_matvecs
except ImportError:  # pragma: no cover - a name that scipy does not promise
    csc_matvecs = None

from eigenkit.data.columns import BLOCK_BYTES, row_slices
from eigenkit.numerics import compiled
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import WORTH_THREADS, available, thread_map


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
        few = self.X.nnz * V.shape[1] < WORTH_THREADS
        return sparse_product(self.X, V, None if few else self._blocks)

    def product(self, other: sparse.csr_array) -> Array:
        """``X @ other`` for sparse ``other``, as a dense matrix, block by block."""
        out = np.empty((self.shape[0], other.shape[1]))

        def fill(rows: slice) -> None:
            (self.X[rows] @ other).toarray(out=out[rows])

        # Twice the room: the product is there as sparse and as dense numbers.
        blocks = row_slices((len(out), 2 * out.shape[1]), BLOCK_BYTES)
        thread_map(fill, blocks, float(self.X.nnz) * other.nnz / max(1, other.shape[0]))
        return out


def _row_slice(X: sparse.csr_array, rows: slice) -> sparse.csr_array:
    """Some rows, sharing memory with X: scipy's constructor would copy a small part of an array."""
    indptr = X.indptr[rows.start : rows.stop + 1]
    stored = slice(indptr[0], indptr[-1])
    part = sparse.csr_array((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    part.data, part.indices, part.indptr = X.data[stored], X.indices[stored], indptr - indptr[0]
    return part


def sparse_product(X: sparse.csr_array, V: Array, blocks: list[slice] | None = None) -> Array:
    """``X @ V``, in threads where blocks of rows are given."""
    V = np.ascontiguousarray(V)
    out = np.empty((X.shape[0], V.shape[1]), dtype=V.dtype)

    def by_scipy(rows: slice) -> None:
        out[rows] = _row_slice(X, rows) @ V

    fill = compiled.rows_product(X, V, out) or by_scipy
    if blocks is None:
        fill(slice(0, X.shape[0]))
    else:
        thread_map(fill, blocks)
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
