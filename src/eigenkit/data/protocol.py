"""The protocol of data: what a problem and its solvers may ask, whatever the kind.

A kind of data is a matrix Z of n rows (samples) that is never formed. A *direction* is whatever
``rmatmat`` returns: d numbers a column for features, n dual coefficients for a kernel. Solvers
combine directions linearly and take their inner products by ``inner``; so the code of the linear
methods is that of the kernel methods too. Row weights and the units of columns are at home here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import matrices
from eigenkit.numerics import linalg
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import EPS, along
from eigenkit.shell import lacks


class Data:
    """Centred, weighted data Z (n x d). Kinds say of a verb only what is not said here.

    A kind sets the attributes down to ``n_samples`` and defines ``matmat``, ``rmatmat`` and
    ``seconds_for_passes``; that is enough for an iterative solver. Everything else has a default,
    which a kind replaces where it knows better, or can do more.
    """

    shape: tuple[int, int]  # (n, d)
    weight: Array | None  # row weights w
    total: float  # their sum
    mean: Array  # (d,) of the rows of X, in its units
    constant: np.ndarray  # (d,) columns that do not vary
    n_samples: int  # that stand behind the rows: what is rounding follows from that
    r: Array | None = None  # the roots of the weights
    one: float = 1.0  # what one sample weighs, see one_sample
    eps: float = EPS  # the precision of the numbers as they were given: their distance at 1
    # What the columns of X were multiplied by, so that squares neither overflow nor vanish; one
    # number, or (d,).
    unit: float | Array = 1.0
    # The same for every column, zero for constant ones; None for 1. Z has the columns of X diag(m).
    m: Array | None = None
    # Whether Z itself may be decomposed; its Gram matrices have half of its digits.
    decomposable: bool = False
    fast_in_single: bool = False  # whether products with float32 are offered
    # Whether vectors with one entry per row fit in memory, and products with them are offered.
    has_rows: bool = True
    plain: bool = True  # whether directions are d numbers, with the inner products of those
    # Whether to warn of constant columns; not for sparse X, where unused words are common.
    names_constant: bool = True
    products: str = "BLAS"  # what makes them: this, "compiled" or "scipy"
    threads: AbstractContextManager[Any] = nullcontext()  # held for several products in a row

    # -- products ----------------------------------------------------------------------

    def matmat(self, V: Array) -> Array:
        """Z V: the (root-weighted) scores of directions."""
        lacks(self, "matmat")

    def rmatmat(self, U: Array) -> Array:
        """Z'U: directions."""
        lacks(self, "rmatmat")

    def target(self, H: Any) -> Any:
        """H (one row per row of X, dense or sparse), centred and weighted as Z is."""
        if sparse.issparse(H):
            return SparseTarget(H, self.weight)
        return self.weighted(matrices.centered_columns(H, self.weight)[1])

    def cross(self, H: Any) -> Array:
        """Z'H for a target."""
        return self.rmatmat(H)

    def within(self, H: Any) -> Array:
        """H'H (k x k) for a target, centred and weighted as these data are."""
        return np.asarray(H.T @ H)

    def squares_of(self, H: Any) -> float:
        """tr H'H for a target."""
        return float(matrices.sum_of_squares(H).sum())

    def gram(self) -> Array:
        """Z'Z (d x d), for data with features."""
        lacks(self, "gram")

    def outer(self) -> Array:
        """Z Z' (n x n)."""
        lacks(self, "outer")

    def toarray(self) -> Array:
        """Z itself, where it is decomposable."""
        lacks(self, "toarray")

    def original(self) -> tuple[Any, bool]:
        """X in float64 as it was given, and whether to centre it: for other libraries."""
        lacks(self, "original")

    def inner(self, V: Array, W: Array) -> Array:
        """V'W: inner products of directions; those in V are best known as Z'U."""
        return V.T @ W

    def norm(self, V: Array) -> float:
        """A norm of directions, in which residuals are measured."""
        return float(np.linalg.norm(V))

    def gradient(self, V: Array, H: Array | None = None) -> tuple[Array, Array]:
        """Z'(Z V - H), the gradient of ||Z V - H||^2 / 2, and (Z V)'(Z V)."""
        ZV = self.matmat(V)
        return self.rmatmat(ZV if H is None else ZV - H), ZV.T @ ZV

    def normal(self, V: Array) -> Array:
        """Z'Z V."""
        return self.rmatmat(self.matmat(V))

    def dual_normal(self, U: Array) -> Array:
        """Z Z'U."""
        return self.matmat(self.rmatmat(U))

    def compress(self, H: Any = None) -> tuple[Data, Any]:
        """Fewer rows with the same products as Z and H, where there are too many."""
        return self, H

    # -- units -------------------------------------------------------------------------

    def _find_unit(self, sizes: Array, one_unit: bool) -> bool:
        """Set m where squares of columns of these sizes would overflow or vanish; whether it is."""
        judged = sizes.max(initial=0.0) if one_unit else sizes
        low, high = matrices.SAFE_RANGE
        if np.all((judged == 0) | (judged > low) & (judged < high)):
            return False
        matrices.check_size("X", float(sizes.max(initial=0.0)), matrices.SCALABLE)
        self.unit = 1.0 / linalg.power_of_two(judged)
        self.m = np.broadcast_to(self.unit, sizes.shape).copy()
        return True

    def ridge(self, alpha: float) -> float | Array:
        """The ridge alpha on directions of X as one on directions of Z: a number, or one each."""
        if alpha == 0:
            return 0.0
        with np.errstate(over="ignore", under="ignore"):
            ridge = alpha * self.unit * self.unit
        if not np.all(np.isfinite(ridge)):
            raise ValueError(
                f"alpha={alpha:g} is beyond floating point in the units of X, whose squares are so "
                "much smaller: scale X to sizes near 1, or give a smaller alpha."
            )
        return ridge

    def to_X(self, W: Array) -> Array:
        """Directions of Z as directions of X, diag(m) W: scores are (X - mean) to_X(W)."""
        if self.m is None:
            return W
        m = self.m.astype(W.dtype, copy=False)
        return W * (m if W.ndim == 1 else m[:, None])

    def from_X(self, W: Array) -> Array:
        """Directions of X as directions of Z, diag(1 / unit) W; Z'H as Xc'H."""
        return W if self.m is None else (W.T / self.unit).T

    def in_one_unit(self) -> Data:
        """The same data with one factor for all columns, for where their units matter."""
        return self

    def with_scores(self) -> Data:
        """The same data, with directions whose inner products take no pass over the data."""
        return self

    @property
    def units(self) -> Array:
        """The unit of every column, constant or not; where they are all the same, singular values
        of Z are those of X times the first."""
        return np.broadcast_to(self.unit, self.shape[1:])

    def weighted(self, U: Array) -> Array:
        """diag(r) U."""
        if self.r is None:
            return U
        return np.asarray(U * self.r.astype(U.dtype, copy=False)[:, None])

    def unweighted(self, U: Array) -> Array:
        """diag(r)^-1 U."""
        return U if self.r is None else U / self.r[:, None]

    @property
    def freedom(self) -> float:
        """The total weight less one sample."""
        return self.total - self.one

    # -- decompositions ----------------------------------------------------------------

    @property
    def primal(self) -> bool:
        """Whether Z'Z is the Gram matrix to work with, and not Z Z': the smaller one is."""
        return self.shape[1] < self.shape[0] or not self.has_rows

    def smaller(self) -> tuple[int, Callable[[Array], Array], Callable[[], float]]:
        """The order of the smaller of Z'Z and Z Z', products with it, and what it costs."""
        if self.primal:
            return self.shape[1], self.normal, self.seconds_for_gram
        return self.shape[0], self.dual_normal, self.seconds_for_outer

    def smaller_gram(self) -> Array:
        """Z'Z or Z Z', whichever is smaller."""
        return self.gram() if self.primal else self.outer()

    def axes(self, vectors: Array, s: Array) -> Array:
        """Right singular vectors, from eigenvectors of the smaller Gram matrix."""
        return vectors if self.primal else self.rmatmat(vectors) / s

    def noise(self, largest: float) -> float:
        """Eigenvalues of Z'Z up to this are rounding, for the largest one given."""
        return largest * EPS * max(self.n_samples, *self.shape)

    def grain(self, squares: Array | None = None) -> Array | float:
        """The lengths of columns of Z that rounding of the input alone can produce; 0: unknown.

        ``squares`` is the diagonal of Z'Z, where that is known (see ``tolerances.grain``).
        """
        return 0.0

    def worst_rounding(self) -> float:
        """Eigenvalues of Z'Z up to this may be rounding of the input, by its worst column."""
        return float(np.max(self.grain())) ** 2

    def column_squares(self) -> Array:
        """The diagonal of Z'Z: squared lengths of the columns, without the rest of it."""
        lacks(self, "column_squares")

    def trace(self) -> float:
        """tr Z'Z."""
        return float(self.column_squares().sum())

    def floor(self, V: Array) -> Array:
        """The lengths of scores Z V that this rounding can produce."""
        return np.asarray(along(V, self.grain()))

    def rounded_squares(self, V: Array, ridge: float | Array) -> Array:
        """The squares of :meth:`floor` and, of the directions themselves, ridge |v|^2."""
        return np.asarray(along(V, self.grain()) ** 2 + along(V, np.sqrt(ridge)) ** 2)

    def triplets(self) -> tuple[Array, Array, Array]:
        """U, s, V with Z V = U diag(s), without the singular values that are rounding."""
        if self.decomposable and self.plain:
            return linalg.truncated_svd(self.toarray(), self.n_samples, self.grain())
        # A Gram matrix, as a kernel is, resolves singular values down to 1e-8 of the largest only.
        squares, vectors = linalg.eigenpairs(self.smaller_gram())
        keep = squares > self.noise(squares.max(initial=0.0))
        s, vectors = np.sqrt(squares[keep]), vectors[:, keep]
        V = self.axes(vectors, s)
        keep = s > along(V, self.grain())
        s, V, vectors = s[keep], V[:, keep], vectors[:, keep]
        return self.matmat(V) / s if self.primal else vectors, s, V

    def spectral_norm_squared(self) -> float:
        """An estimate (from below) of the largest eigenvalue of Z Z', by a few power steps."""
        start = self.weighted(linalg.fixed_start(self.shape[0])[:, None])
        return linalg.power_norm(self.dual_normal, start, 4)

    # -- costs in seconds, on which the choice of a method rests; infinite: never chosen --

    def seconds_for_passes(self, k: int) -> float:
        """One product with Z and one with Z', for k vectors."""
        return float("inf")

    def seconds_for_gram(self) -> float:
        """Z'Z."""
        return float("inf")

    def seconds_for_outer(self) -> float:
        """Z Z'."""
        return float("inf")


# -- targets that are no arrays: rows that pass by in blocks, and sparse labels -------------


@dataclass(frozen=True)
class Targets:
    """The target H (n x k), whose rows are made from those of Y when they pass by."""

    rows: Callable[[Array], Array]  # of Y, unweighted
    shape: tuple[int, int]
    varies: bool = True  # whether they differ at all
    turn: Array | None = None  # what they are multiplied with

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
    :func:`~eigenkit.data.centered_columns` does it.

    >>> H = SparseTarget(sparse.csr_array(np.array([[1.0, 0.0], [0.0, 0.0]])))
    >>> H @ np.eye(2)
    array([[ 0.5,  0. ],
           [-0.5,  0. ]])
    """

    __array_ufunc__ = None  # products with arrays are made here

    def __init__(self, S: sparse.csr_array, weight: Array | None = None) -> None:
        constant = matrices.constant_columns(S)
        if constant.any():
            S = matrices.scaled(S, columns=np.where(constant, 0.0, 1.0))
        self.S, self.weight = S, weight
        self.shape: tuple[int, int] = S.shape
        self.total = float(S.shape[0] if weight is None else weight.sum())
        self.mean = self.sums / self.total

    @cached_property
    def _rows(self) -> matrices.SparseRows:
        """S for products; its transpose is made once, not for each of them."""
        return matrices.SparseRows(self.S)

    def counted(self) -> sparse.csr_array:
        """diag(r^2) S: what sums over the samples are made of."""
        return matrices.scaled(self.S, rows=self.weight)

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
