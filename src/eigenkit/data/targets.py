"""Targets that are no arrays: sparse labels, and rows that pass by in blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data.matrices import SparseRows, constant_columns, scaled
from eigenkit.numerics.linalg import Array


@dataclass(frozen=True)
class Targets:
    """The target H (n x k), whose rows are made from those of Y when they pass by.

    ``rows(Y)`` gives unweighted rows, ``turn`` what they are multiplied with, ``varies`` whether
    they differ at all.
    """

    rows: Callable[[Array], Array]
    shape: tuple[int, int]
    varies: bool = True
    turn: Array | None = None

    def __matmul__(self, T: Array) -> Targets:
        turn = T if self.turn is None else self.turn @ T
        return replace(self, shape=(self.shape[0], T.shape[1]), turn=turn)

    def any(self, axis: None = None, out: None = None) -> bool:
        """Whether H, centred, is not zero."""
        return self.varies

    def of(self, Y: Array) -> Array:
        H = self.rows(Y)
        return H if self.turn is None else H @ self.turn


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

    def column_squares(self) -> Array:
        """The sums of squares of the columns of H."""
        squares = np.bincount(self.S.indices, self.counted().data * self.S.data, self.shape[1])
        return np.asarray(squares - self.total * self.mean**2)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self._weighted(self.S.toarray() - self.mean)

    def _weighted(self, U: Array) -> Array:
        return U if self.weight is None else U * np.sqrt(self.weight)[:, None]


@dataclass(eq=False)
class _Transposed:
    """H' = (S - 1 mean')' diag(r)."""

    H: SparseTarget
    __array_ufunc__ = None

    def __matmul__(self, U: Any) -> Array:
        if U is self.H:
            G = (U.S.T @ U.counted()).toarray()
            return np.asarray(G - np.outer(U.total * U.mean, U.mean))
        U = self.H._weighted(U)
        product = self.H._rows.T @ U
        return np.asarray(product - np.outer(self.H.mean, U.sum(axis=0)))
