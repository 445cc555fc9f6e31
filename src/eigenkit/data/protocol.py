"""The protocol of data: what a problem and its solvers may ask, whatever the kind.

A kind of data is a matrix Z of n rows (samples) that is never formed. A *direction* is whatever
``rmatmat`` returns: d numbers a column for features, n dual coefficients for a kernel. Solvers
combine directions linearly and take their inner products by ``inner``; so the code of the linear
methods is that of the kernel methods too. Row weights and the units of columns are at home here.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data.matrices import (
    SAFE_RANGE,
    SCALABLE,
    centered_columns,
    check_size,
    sum_of_squares,
)
from eigenkit.data.targets import SparseTarget
from eigenkit.numerics.linalg import (
    Array,
    eigenpairs,
    fixed_start,
    power_norm,
    power_of_two,
    truncated_svd,
)
from eigenkit.numerics.tolerances import EPS, along
from eigenkit.shell import lacks


def one_sample(weight: Array | None) -> float:
    """What one sample weighs: degrees of freedom are the total weight less this.

    Integer weights count repetitions, and a sample weighs 1. All other weights only compare
    the rows: a sample weighs their mean, and the unit of the weights does not matter.
    """
    if weight is None or np.all(weight == np.rint(weight)):
        return 1.0
    return float(weight.mean())


class Data:
    """Centred, weighted data Z (n x d).

    A kind sets the attributes down to ``n_samples`` and defines ``matmat``, ``rmatmat`` and
    ``seconds_for_passes``; that is enough for an iterative solver. Everything else has a default,
    which a kind replaces where it knows better, or can do more.

    Attributes
    ----------
    shape : (n, d)
    weight : array of shape (n,) or None
        Row weights w; ``total`` is their sum, ``freedom`` that less one sample.
    r : array of shape (n,) or None
        The roots of the weights.
    one : float
        What one sample weighs, see :func:`one_sample`.
    mean : array of shape (d,)
        Of the rows of X, in its units.
    constant : array of bool, of shape (d,)
        Columns that do not vary.
    n_samples : int
        How many samples stand behind the rows: what is rounding follows from that.
    unit : float or array of shape (d,)
        What the columns of X were multiplied by, so that squares neither overflow nor vanish.
    m : array of shape (d,), or None
        The same for every column, and zero for constant ones: Z has the columns of X diag(m).
        None for 1.
    eps : float
        The precision of the numbers as they were given: their distance at 1.
    decomposable : bool
        Whether Z itself may be decomposed; its Gram matrices have half of its digits.
    fast_in_single : bool
        Whether products with float32 are offered.
    has_rows : bool
        Whether vectors with one entry per row fit in memory, and products with them are offered.
    products : str
        What makes the products: "BLAS", "compiled" or "scipy".
    threads : context manager
        Enter this while making several products in a row.
    plain : bool
        Whether directions are columns of d numbers, with the inner products of those.
    names_constant : bool
        Whether to warn of constant columns; not for sparse X, where unused words are common.
    """

    shape: tuple[int, int]
    weight: Array | None
    r: Array | None = None
    one: float = 1.0
    total: float
    mean: Array
    constant: np.ndarray
    n_samples: int
    unit: float | Array = 1.0
    m: Array | None = None
    eps: float = EPS
    decomposable: bool = False
    fast_in_single: bool = False
    has_rows: bool = True
    plain: bool = True
    names_constant: bool = True
    products: str = "BLAS"
    threads: AbstractContextManager[Any] = nullcontext()

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
        return self.weighted(centered_columns(H, self.weight)[1])

    def cross(self, H: Any) -> Array:
        """Z'H for a target."""
        return self.rmatmat(H)

    def within(self, H: Any) -> Array:
        """H'H (k x k) for a target, centred and weighted as these data are."""
        return np.asarray(H.T @ H)

    def squares_of(self, H: Any) -> float:
        """tr H'H for a target."""
        return float(sum_of_squares(H).sum())

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
        if np.all((judged == 0) | (judged > SAFE_RANGE[0]) & (judged < SAFE_RANGE[1])):
            return False
        check_size("X", float(sizes.max(initial=0.0)), SCALABLE)
        self.unit = 1.0 / power_of_two(judged)
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
        """The unit of every column, constant or not.

        Where they are all the same, singular values of Z are those of X times the first.
        """
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
        """The lengths of columns of Z that rounding of the input alone can produce.

        ``squares`` is the diagonal of Z'Z, where that is known. See
        :func:`eigenkit.numerics.tolerances.grain`; 0 where nothing is known of it.
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
        """U, s, V with Z V = U diag(s), without the singular values that are rounding.

        Where Z is not decomposable: from the smaller of its two Gram matrices, which resolves
        singular values down to about 1e-8 of the largest only.
        """
        if self.decomposable:
            return truncated_svd(self.toarray(), self.n_samples, self.grain())
        squares, vectors = eigenpairs(self.smaller_gram())
        keep = squares > self.noise(squares.max(initial=0.0))
        s, vectors = np.sqrt(squares[keep]), vectors[:, keep]
        V = self.axes(vectors, s)
        keep = s > along(V, self.grain())
        s, V, vectors = s[keep], V[:, keep], vectors[:, keep]
        return self.matmat(V) / s if self.primal else vectors, s, V

    def spectral_norm_squared(self) -> float:
        """An estimate (from below) of the largest eigenvalue of Z Z', by a few power steps."""
        start = self.weighted(fixed_start(self.shape[0])[:, None])
        return power_norm(self.dual_normal, start, 4)

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
