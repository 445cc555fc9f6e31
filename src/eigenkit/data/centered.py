"""Centred data as an operator: the one home of centring.

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
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from eigenkit.data import matrices
from eigenkit.data.protocol import Data, SparseTarget
from eigenkit.numerics import compiled
from eigenkit.numerics.costs import BLOCK_RATE, SPARSE_RATE, may_be_dense
from eigenkit.numerics.linalg import Array, ratio
from eigenkit.numerics.threads import one_blas_thread
from eigenkit.numerics.tolerances import ROUNDING, grain, precision

# Numbers between this and its inverse, and their products, are well inside the range of float32.
SMALLEST_SINGLE = 1e-9


class Centered(Data):
    """The centred, weighted data matrix Z of the module's docstring.

    X is neither copied nor changed; NaN and infinity show in the means, and are refused. Weights
    are positive. ``center=False`` takes X as centred already: a factor of a scatter matrix, for
    which :meth:`behind` says what is known of the rows. ``n_samples`` of them stand behind it: what
    is rounding follows from that. ``one_unit`` is for where the units of columns matter (PCA), so
    that one factor must serve all; so it is anyway with fewer samples than features.

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
        kinds = cls.__subclasses__() if cls is Centered else [cls]
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
        self.one = 1.0 if weight is None else matrices.one_sample(weight)
        self.total = float(X.shape[0] if weight is None else weight.sum())
        self.eps = precision(X)
        self._grain: Array | None = None
        self.X = X if self.keeps is None else X.astype(self.keeps, copy=False)
        self.shift: Array | None = None
        self.drift = np.zeros(X.shape[1])  # mean - shift, kept apart as the shift is rounded
        self.constant = np.zeros(X.shape[1], dtype=bool)
        self.mean = self._mean() if center else np.zeros(X.shape[1])
        if not np.all(np.isfinite(self.mean)):
            matrices.check_finite("X", self.X)
        one_unit = one_unit or X.shape[0] <= X.shape[1]
        safe = self._within(*matrices.SAFE_RANGE)
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
        if self._grain is None:
            squares = self.column_squares() if squares is None else squares
            mean = self.to_X(np.where(self.constant, 0.0, self.mean))
            given = np.where(self.constant, 0.0, squares) + self.total * mean**2
            self._grain = np.asarray(grain(given, self.n_samples, self.eps))
        return self._grain

    # -- units and weights -------------------------------------------------------------

    def in_one_unit(self) -> Centered:
        return self if np.ndim(self.unit) == 0 else self._again(self.X, self.mean, one_unit=True)

    def original(self) -> tuple[Any, bool]:
        return self.X.astype(np.float64, copy=False), self.center

    def rows(self, X: Any) -> Array:
        """Other rows of X as unweighted rows of Z, as a dense matrix."""
        dense = matrices.as_dense(X) - self.mean
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


class Sparse(Centered):
    """A CSR matrix. Centring is the projection I - r r'/sum(w) on the n x k side of products."""

    X: sparse.csr_array
    takes = (sparse.sparray, sparse.spmatrix)
    names_constant = False
    keeps = np.float64
    # While products run in our threads, BLAS keeps to one thread: its idle threads busy-wait, and
    # would take the cores from ours.
    threads = one_blas_thread

    @cached_property
    def _rows(self) -> matrices.SparseRows:
        return matrices.SparseRows(self.X)

    def original(self) -> tuple[Any, bool]:
        """X with 32-bit indices, which is all that foreign solvers take."""
        X = self.X
        if X.indices.dtype != np.int32:
            if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
                raise ValueError(
                    f"X stores {X.nnz} numbers, more than 2^31, which coordinate descent cannot "
                    "take: set l1_ratio=0, or fit fewer rows."
                )
            index = X.indices.astype(np.int32), X.indptr.astype(np.int32)
            X = sparse.csr_array((X.data, *index), shape=X.shape)
        return X, self.center

    # -- what the data look like -------------------------------------------------------

    def _mean(self) -> Array:
        X = matrices.scaled(self.X, columns=self.m)
        return matrices.column_sums(X, self.weight) / self.total

    def _within(self, low: float, high: float) -> bool:
        sizes = np.abs(self.X.data)
        fine = sizes.max(initial=0.0) < high and sizes.min(initial=1.0, where=sizes > 0) > low
        return bool(fine)

    def _column_sizes(self) -> Array:
        return matrices.as_dense(abs(self.X).max(axis=0)).ravel()

    def _tame_offset(self) -> None:
        X, d = self.X, self.shape[1]
        w = None if self.weight is None else np.repeat(self.weight, np.diff(X.indptr))
        count = np.bincount(X.indices, minlength=d)
        share = (count if w is None else np.bincount(X.indices, w, d)) / self.total
        far = np.flatnonzero(share > matrices.FULL)
        if len(far):  # of these, those with means that dwarf their spread
            mean = self.to_X(self.mean)
            squares = matrices.scaled(X, columns=self.m).data ** 2
            squares = np.bincount(X.indices, squares if w is None else squares * w, d)
            far = far[(self.total * mean * mean >= matrices.FULL * squares)[far]]
        self.constant = count == 0
        if len(far):
            self.shift = np.zeros(d)
            self.shift[far] = self.mean[far]
            self.X = matrices.shifted(X, self.shift)
            left = self.X[:, far]
            self.drift = self.mean.copy()
            self.drift[far] = matrices.column_sums(left, self.weight) / self.total
            self.mean[far] += self.drift[far]
            spread = matrices.as_dense(left.max(axis=0) - left.min(axis=0)).ravel()
            self.constant[far] = spread <= ROUNDING * np.abs(self.shift[far])

    # -- the products ------------------------------------------------------------------

    def matmat(self, V: Array) -> Array:
        U = self.weighted(self._rows @ self.to_X(V))
        return self._project(U, out=U)

    def rmatmat(self, U: Array) -> Array:
        return self.to_X(self._rows.T @ self.weighted(self._project(U)))

    def _sparse_cross(self, H: Any) -> Array:
        S, Xt = H.counted(), self._rows.T
        per_row = S.nnz / max(1, S.shape[0])
        narrow = S.shape[1] * SPARSE_RATE < per_row * BLOCK_RATE
        C = Xt @ S.toarray() if narrow else Xt.product(S)
        C = self.to_X(C)
        C -= np.outer(self.delta, H.sums)
        return C

    def _project(self, U: Array, out: Array | None = None) -> Array:
        """U - r r'U / sum(w): centring where only n x k numbers are touched."""
        if not self.center:
            return U
        r = np.ones(len(U), U.dtype) if self.r is None else self.r.astype(U.dtype)
        means = (r @ U) / U.dtype.type(self.total)
        return np.subtract(U, means if self.r is None else np.outer(r, means), out=out)

    def _plain_gram(self) -> Array:
        P = self._weighted_rows()
        return P.T.product(P.X)

    def _plain_outer(self) -> tuple[Array, Array]:
        P = self._weighted_rows()
        return P.product(P.T.X), P.X @ self.delta

    def _weighted_rows(self) -> matrices.SparseRows:
        """P."""
        if self.weight is None and self.m is None:
            return self._rows
        return matrices.SparseRows(matrices.scaled(self.X, self.r, self.m))

    def column_squares(self) -> Array:
        sums = matrices.sum_of_squares(self._weighted_rows().X)
        return np.maximum(sums - self.total * self.delta**2, 0.0)

    def toarray(self) -> Array:
        dense = self.X.toarray() - (self.mean if self.shift is None else self.drift)
        return self.weighted(dense if self.m is None else dense * self.m)

    @property
    def fast_in_single(self) -> bool:  # type: ignore[override]
        """Whether the numbers, which no unit has changed then, are well inside of float32."""
        return self._within(SMALLEST_SINGLE, 1 / SMALLEST_SINGLE)

    @property
    def products(self) -> str:  # type: ignore[override]
        """Whether there is a compiled product, and it takes indices of this type."""
        return "compiled" if compiled.product_of(self.X) else "scipy"

    @property
    def decomposable(self) -> bool:  # type: ignore[override]
        """Only what is small, as it is made dense."""
        return may_be_dense(self.shape)

    def seconds_for_passes(self, k: int) -> float:
        """Every stored number counts."""
        return 2 * int(self.X.nnz) * k / BLOCK_RATE

    def seconds_for_gram(self) -> float:
        """Squares of what is stored in the rows."""
        rows = np.diff(self.X.indptr).astype(np.float64)
        return float(rows @ rows) / SPARSE_RATE

    def seconds_for_outer(self) -> float:
        """Squares of what is stored in the columns."""
        columns = np.bincount(self.X.indices, minlength=self.shape[1]).astype(np.float64)
        return float(columns @ columns) / SPARSE_RATE


def correlations(X: Any, T: Array, weight: Array | None = None) -> Array:
    """(Weighted) correlations of the columns of X with those of T; 0 where one does not vary."""
    Z = Centered(X, weight)
    squares = Z.column_squares()
    size = np.sqrt(squares)
    size[size <= Z.grain(squares)] = 0.0
    U = Z.weighted(matrices.centered_columns(T, weight)[1])
    return ratio(Z.rmatmat(U), np.outer(size, np.linalg.norm(U, axis=0)))
