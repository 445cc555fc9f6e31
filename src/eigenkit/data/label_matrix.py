"""A centred target that stays sparse: labels of which each sample has only a few."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data.columns import constant_columns, scaled
from eigenkit.data.sparse_rows import BLOCK_BYTES, SparseRows, row_slices
from eigenkit.linalg import Array
from eigenkit.threads import thread_map

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
