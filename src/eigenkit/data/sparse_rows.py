"""Sparse matrices: their products, in threads, and centred targets that stay sparse.

scipy releases the interpreter while it multiplies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

try:  # adds to what is there: a product of its own would be as large as the whole result
    from scipy.sparse._sparsetools import csc_matvecs
except ImportError:  # pragma: no cover - a name that scipy does not promise
    csc_matvecs = None

from eigenkit import compiled
from eigenkit.data.columns import BLOCK_BYTES, constant_columns, row_slices, scaled
from eigenkit.linalg import Array
from eigenkit.threads import WORTH_THREADS, available, thread_map


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


# -- centred targets: labels of which each sample has only a few --------------------------

# A matrix of labels with a smaller share of non-zeros, and at least this many columns, is worth
# taking as a sparse one.
SPARSE_SHARE = 0.1
MANY_COLUMNS = 64


class SparseTarget:
    """H = diag(r) (S - 1 mean') for sparse S (n x k) and weights r^2, with mean the weighted mean.

    H is never formed, unless by ``np.asarray``. A column of S without variance is left out, as
    :func:`centered_columns` does it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> H = SparseTarget(sparse.csr_array(np.array([[1.0, 0.0], [0.0, 0.0]])))
    >>> H @ np.eye(2)
    array([[ 0.5,  0. ],
           [-0.5,  0. ]])
    """

    __array_ufunc__ = None  # products with arrays are made here

    def __init__(self, S: sparse.csr_array, weight: Array | None = None) -> None:
        constant = constant_columns(S)
        if constant.any():
            S = scaled(S, columns=np.where(constant, 0.0, 1.0))
        self.S, self.weight = S, weight
        self.shape: tuple[int, int] = S.shape
        self.total = float(S.shape[0] if weight is None else weight.sum())
        self.mean = self.sums / self.total

    @cached_property
    def _rows(self) -> SparseRows:
        """S for products; its transpose is made once, not for each of them."""
        return SparseRows(self.S)

    def counted(self) -> sparse.csr_array:
        """diag(r^2) S: what sums over the samples are made of."""
        return scaled(self.S, rows=self.weight)

    @property
    def sums(self) -> Array:
        """The weighted sums of the columns of S."""
        counted = self.counted()
        return np.asarray(np.bincount(counted.indices, counted.data, self.shape[1]), np.float64)

    def any(self, axis: None = None, out: None = None) -> bool:
        """Whether any column varies."""
        return bool(np.any(self.S.data))

    def __matmul__(self, T: Array) -> Array:
        product = self._rows @ T
        product -= self.mean @ T
        return self._weighted(product)

    @property
    def T(self) -> _Transposed:
        """H', for products."""
        return _Transposed(self)

    def gram(self) -> Array:
        """H'H (k x k)."""
        G = (self.S.T @ self.counted()).toarray()
        G -= np.outer(self.total * self.mean, self.mean)
        return np.asarray(G)

    def squares(self) -> float:
        """The sum of all squares of H."""
        return float(self.column_squares().sum())

    def column_squares(self) -> Array:
        """The sums of squares of the columns of H."""
        squares = np.bincount(self.S.indices, self.counted().data * self.S.data, self.shape[1])
        return np.asarray(squares - self.total * self.mean**2)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self._weighted(self.S.toarray() - self.mean)

    def _weighted(self, U: Array) -> Array:
        return U if self.weight is None else U * np.sqrt(self.weight)[:, None]


class _Transposed:
    """H' = (S - 1 mean')' diag(r)."""

    __array_ufunc__ = None

    def __init__(self, H: SparseTarget) -> None:
        self.H = H

    def __matmul__(self, U: Array) -> Array:
        U = self.H._weighted(U)
        product = self.H._rows.T @ U
        product -= np.outer(self.H.mean, U.sum(axis=0))
        return product


def sparse_labels(Y: Array) -> sparse.csr_array | None:
    """A dense matrix of labels as a sparse one; None where that is not worth it.

    Block by block: what is compared stays in the cache, and where too many numbers are not zero
    the rest is not looked at.
    """
    n, k = Y.shape
    if k < MANY_COLUMNS:
        return None
    most, counts = SPARSE_SHARE * Y.size, [0]

    def places(rows: slice) -> np.ndarray:
        found = np.flatnonzero(Y[rows if sum(counts) <= most else slice(0)] != 0)
        counts.append(len(found))
        return np.asarray(found + rows.start * k)

    place = np.concatenate(thread_map(places, row_slices(Y.shape, BLOCK_BYTES)))
    if sum(counts) > most:
        return None
    rows, columns = np.divmod(place, k)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return sparse.csr_array((Y[rows, columns], columns, ends), shape=Y.shape)
