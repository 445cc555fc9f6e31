"""Centred data as an operator: the one home of centring, row weights and column scale.

A data matrix X (n x d, dense or sparse) with row weights w stands for

    Z = diag(r) (X - 1 mean') diag(m),        r = sqrt(w),  mean = w'X / sum(w)

so that Z'Z is the weighted scatter matrix. m is 1 except where a column is constant (0) or
the numbers are so large or small that their squares would leave the range of floating
point (a power of two). Z itself is never formed for sparse X. Dense X is read in row blocks
that are centred while they are in the cache; where the means are no larger than the spread,
the products are made from X as it is and the rank-one term of the means is subtracted
(sparse X: in Z V and Z'U as the projection I - r r'/sum(w) on their n x k side). A column of
sparse X whose mean dwarfs its spread has hardly any zeros; they are then stored too, and the
mean is subtracted from all that is stored:

    P = diag(r) (X - 1 shift') diag(m),   Z = P - r delta',   delta = (mean - shift) m
    Z V  = P V - r (delta'V)
    Z'U  = P'U - delta (r'U)
    Z'Z  = P'P - sum(w) delta delta'
    Z Z' = P P' - r q' - q r' + (delta'delta) r r',   q = P delta
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from eigenkit.data.matrices import SAFE_RANGE, as_dense, centered_columns, check_finite
from eigenkit.data.protocol import Data, one_sample
from eigenkit.data.targets import SparseTarget
from eigenkit.numerics.linalg import Array, ratio
from eigenkit.numerics.tolerances import grain, precision


class Centered(Data):
    """The centred, weighted data matrix Z of the module's docstring.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Not copied, not changed. NaN and infinity show in the means, and are refused.
    weight : ndarray of shape (n,), optional
        Positive row weights.
    center : bool
        False takes X as centred already (a factor of a scatter matrix).
    one_unit : bool
        Whether one factor must serve all columns, as where their units matter (PCA). So it is
        anyway with fewer samples than features.
    n_samples : int, optional
        The number of samples that such a factor stands for: what is rounding in it follows from
        that, not from its number of rows (see :meth:`behind` for the other things that count).

    Examples
    --------
    >>> import numpy as np
    >>> Z = Centered(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> Z.toarray()
    array([[-1.,  0.],
           [ 1.,  0.]])
    >>> Z.constant
    array([False,  True])
    """

    X: Any

    # What a kind says:
    takes: ClassVar[tuple[type, ...]]  # what X may be
    keeps: ClassVar[type | None] = None  # the precision that products need; None for any
    _mean: Callable[[], Array]  # w'X diag(m) / sum(w)
    _column_sizes: Callable[[], Array]  # the largest number of each, in absolute value
    _within: Callable[[float, float], bool]  # whether all sizes certainly are; False means: check
    _tame_offset: Callable[[], None]  # sets shift where means dwarf the spread, finds constants
    _sparse_cross: Callable[[Any], Array]  # Z'H
    _plain_gram: Callable[[], Array]  # P'P
    _plain_outer: Callable[[], tuple[Array, Array]]  # P P' and P delta

    def __new__(cls, X: Any, *args: Any, **settings: Any) -> Self:
        """Of the kind that takes X."""
        kinds = cls.__subclasses__() or [cls]
        return object.__new__(next(kind for kind in kinds if isinstance(X, kind.takes)))

    def __init__(
        self,
        X: Any,
        weight: Array | None = None,
        *,
        center: bool = True,
        one_unit: bool = False,
        n_samples: int | None = None,
    ) -> None:
        self.shape = X.shape
        self.n_samples = X.shape[0] if n_samples is None else n_samples
        self.center = center
        self.weight, self.r = weight, None if weight is None else np.sqrt(weight)
        self.one = 1.0 if weight is None else one_sample(weight)
        self.total = float(X.shape[0] if weight is None else weight.sum())
        self.eps = precision(X)
        self._grain: Array | None = None
        self.X = X if self.keeps is None else X.astype(self.keeps, copy=False)
        self.shift: Array | None = None
        self.drift = np.zeros(X.shape[1])  # mean - shift, kept apart as the shift is rounded
        self.constant = np.zeros(X.shape[1], dtype=bool)
        self.mean = self._mean() if center else np.zeros(X.shape[1])
        if not np.all(np.isfinite(self.mean)):
            check_finite("X", self.X)
        one_unit = one_unit or X.shape[0] <= X.shape[1]
        safe = self._within(*SAFE_RANGE)
        if not safe and self._find_unit(self._column_sizes(), one_unit) and center:
            self.mean = self._mean() / self.units  # sums of X as it is may have overflown
        if center:
            self._tame_offset()
            if self.shift is not None or self.mean[self.constant].any():
                self.m = np.where(self.constant, 0.0, 1.0 if self.m is None else self.m)
        else:
            self.constant = self._column_sizes() == 0.0
        self.delta = self.to_X(self.mean if self.shift is None else self.drift)

    @classmethod
    def behind(
        cls, R: Array, mean: Array, total: float, one: float, n_samples: int, eps: float
    ) -> Centered:
        """A factor of centred rows, of which the means, weights and precision are known."""
        Z = cls(R, center=False, n_samples=n_samples)
        Z.mean, Z.total, Z.one, Z.eps = mean, total, one, eps
        return Z

    def grain(self, squares: Array | None = None) -> Array:
        """The lengths of columns of Z that rounding of the input alone can produce."""
        if self._grain is None:
            squares = self.column_squares() if squares is None else squares
            given = squares + self.total * self.to_X(self.mean) ** 2
            found = grain(np.where(self.constant, 0.0, given), self.n_samples, self.eps)
            self._grain = np.asarray(found)
        return self._grain

    # -- units and weights -------------------------------------------------------------

    def in_one_unit(self) -> Centered:
        """The same data with one factor for all columns, for where their units matter."""
        return self if np.ndim(self.unit) == 0 else self._again(self.X, self.mean, one_unit=True)

    def original(self) -> tuple[Any, bool]:
        """X in float64 as it was given, and whether to centre it: for other libraries."""
        return self.X.astype(np.float64, copy=False), self.center

    def rows(self, X: Any) -> Array:
        """Other rows of X as unweighted rows of Z, as a dense matrix."""
        dense = as_dense(X) - self.mean
        return np.asarray(dense if self.m is None else dense * self.m)

    def columns(self, index: np.ndarray) -> Centered:
        """Some of the columns, as data of their own."""
        return self._again(self.X[:, index], self.mean[index])

    def _again(self, X: Any, mean: Array, one_unit: bool = False) -> Centered:
        """The same, with other columns or units: X may be shifted, and in other precision."""
        how = {"center": self.center, "one_unit": one_unit, "n_samples": self.n_samples}
        Z = type(self)(X, self.weight, **how)  # type: ignore[arg-type]
        Z.mean, Z.total, Z.one, Z.eps = mean, self.total, self.one, self.eps
        return Z

    # -- the centring algebra ----------------------------------------------------------

    def cross(self, H: Any) -> Array:
        """Z'H; of a sparse target H = diag(r) (S - 1 mean') that is Z'diag(r) S, as Z'r = 0."""
        return self._sparse_cross(H) if isinstance(H, SparseTarget) else self.rmatmat(H)

    def gram(self) -> Array:
        """Z'Z = P'P - sum(w) delta delta'."""
        G = self._plain_gram()
        G -= np.outer(self.total * self.delta, self.delta)
        return G

    def outer(self) -> Array:
        """Z Z' = P P' - r q' - q r' + (delta'delta) r r', q = P delta."""
        K, q = self._plain_outer()
        r = np.ones(self.shape[0]) if self.r is None else self.r
        K -= np.outer(r, q)
        K -= np.outer(q, r)
        K += np.outer((self.delta @ self.delta) * r, r)
        return K


def correlations(X: Any, T: Array, weight: Array | None = None) -> Array:
    """(Weighted) correlations of the columns of X with those of T; 0 where one does not vary."""
    Z = Centered(X, weight)
    squares = Z.column_squares()
    size = np.sqrt(squares)
    size[size <= Z.grain(squares)] = 0.0
    U = Z.weighted(centered_columns(T, weight)[1])
    return ratio(Z.rmatmat(U), np.outer(size, np.linalg.norm(U, axis=0)))
