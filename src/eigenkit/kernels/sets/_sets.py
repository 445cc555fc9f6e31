"""What all kernels between sets share: reading the sets, and the unit diagonal.

The plain ones are here too: a Gaussian of all pairs of vectors of two sets, or of one for each set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from eigenkit.numerics.linalg import Array, real_numbers
from eigenkit.shell import check_above_zero, checked, filled, lacks, random_of, unchanged_on_error

# Clustering and mixtures look at no more points than this.
SAMPLE = 40_000

# Points of one set and A -> the part of every point in sum_T A_T K(S, T): (n_points, n_columns).
Shares = Callable[[Array, Array], Array]


def stack(name: str, X: Any, coordinate_weight: float = 1.0) -> tuple[Array, np.ndarray]:
    """All points of a collection below each other, and the sizes of its sets."""
    if (isinstance(X, np.ndarray) and X.ndim == 2) or not isinstance(X, Sequence | np.ndarray):
        raise TypeError(f"{name} is not a collection of sets: give a list of matrices.")
    if len(X) == 0:
        raise ValueError(f"{name} holds no set: give at least one.")
    sets = [_one_set(name, i, x, coordinate_weight) for i, x in enumerate(X)]
    filled = [x for x in sets if len(x)]
    widths = {x.shape[1] for x in filled}
    if len(widths) > 1:
        raise ValueError(
            f"{name} holds sets of vectors with {min(widths)} and with {max(widths)} numbers: "
            "give vectors of one length."
        )
    points = np.vstack(filled) if filled else np.empty((0, 0))
    return points, np.array([len(x) for x in sets])


def _one_set(name: str, i: int, x: Any, coordinate_weight: float) -> Array:
    if isinstance(x, tuple):
        if len(x) != 2 or len(x[0]) != len(x[1]):
            raise ValueError(
                f"Set {i} of {name} is a tuple: give (features, coordinates) with a row each "
                "for every point."
            )
        parts = [_one_set(name, i, part, 1.0) for part in x]
        if not len(parts[0]):
            return parts[0]
        return np.hstack([parts[0], coordinate_weight * parts[1]])
    try:
        given = np.asarray(x)
        points = given if given.dtype == np.float32 else real_numbers(name, given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Set {i} of {name} is not a matrix of real numbers.") from error
    if points.size == 0:
        return np.empty((0, 0), dtype=np.float32)
    if points.ndim != 2:
        raise ValueError(
            f"Set {i} of {name} has {points.ndim} dimension(s): give a matrix with a row per point."
        )
    if not np.all(np.isfinite(points)):
        raise ValueError(f"Set {i} of {name} contains NaN or infinity: drop such points.")
    return points


def joined(parts: list[Any]) -> Any:
    """Representations of blocks of sets below each other: of whatever kind they are."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], tuple):
        return tuple(joined(list(kept)) for kept in zip(*parts, strict=True))
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def sums(values: Array, sizes: np.ndarray, add: np.ufunc = np.add) -> Array:
    """Sums (or the like) of the rows of every set; zero for an empty one."""
    total = np.zeros((len(sizes), *values.shape[1:]), dtype=values.dtype)
    filled = sizes > 0
    if filled.any():
        starts = (np.cumsum(sizes) - sizes)[filled]
        total[filled] = add.reduceat(values, starts, axis=0)
    return total


def runs(sizes: Sequence[int] | np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Where runs of sets start and stop that hold about so much."""
    edges = np.flatnonzero(np.diff(np.cumsum(sizes) // most, prepend=0)).tolist()
    return pairwise(sorted({0, *edges, len(sizes)}))


def sample(points: Array, most: int, random: Any) -> Array:
    """At most this many of the points, drawn without order."""
    if len(points) <= most:
        return points
    return np.asarray(points[np.sort(random.choice(len(points), most, replace=False))])


class SetKernel(TransformerMixin, BaseEstimator):
    """A kernel between sets of vectors.

    A subclass learns from all points (``_learn``), represents sets (``_represent``), and
    multiplies representations (``_inner``, and ``_square`` for a set with itself).
    """

    _width_: int
    _fit_sets_: Any
    _fit_norms_: Array
    coordinate_weight: float = 1.0

    @property
    def sample_size(self) -> int | None:
        """How many points are enough to learn from; None where all are needed."""
        return SAMPLE

    def fit(self, X: Sequence[Any], y: Any = None) -> Self:
        """Learn from the points, and keep a representation of the sets.

        Parameters
        ----------
        X : sequence of arrays of shape (n_points, n_features)
            Sets of any sizes, also empty; or of pairs (features, coordinates).
        y : ignored

        Returns
        -------
        self
        """
        checked(self)
        points, sizes = stack("X", X, float(self.coordinate_weight))
        return self.fit_blocks(points, [(points, sizes)])

    def fit_blocks(self, points: Array, blocks: Iterable[tuple[Array, np.ndarray]]) -> Self:
        """The same for sets that do not fit in memory together.

        What to learn from are ``points`` (n_points, n_features): all, or a sample of
        ``sample_size``. Blocks are points of some sets below each other, and how many each set has.
        """
        checked(self)
        with unchanged_on_error(self):
            self._width_ = points.shape[1]
            self._learn(points)
            self._fit_sets_ = joined([self._represent(*block) for block in blocks])
            kept = self._fit_sets_
            self.n_sets_in_ = len(kept[1]) if isinstance(kept, tuple) else int(kept.shape[0])
            self._learn_from_sets()
            self._fit_norms_ = np.sqrt(self._square(self._fit_sets_))
        return self

    def transform(self, X: Sequence[Any]) -> Array:
        """The kernel between the sets of X and those seen in fit.

        Parameters
        ----------
        X : sequence of arrays of shape (n_points, n_features)

        Returns
        -------
        array of shape (n_sets, n_sets_in_)
        """
        check_is_fitted(self)
        points, sizes = stack("X", X, float(self.coordinate_weight))
        if len(points) and self._width_ and points.shape[1] != self._width_:
            raise ValueError(
                f"X holds vectors of {points.shape[1]} numbers, but those seen in fit had "
                f"{self._width_}."
            )
        return self.transform_block(points, sizes)

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> Array:
        """The kernel between the sets of X.

        Parameters
        ----------
        X : sequence of arrays of shape (n_points, n_features)
        y : ignored

        Returns
        -------
        array of shape (n_sets, n_sets)
        """
        return self.fit(X).kernel_of_fit()

    def kernel_of_fit(self) -> Array:
        """The kernel between the sets seen in fit."""
        return self._kernel(self._fit_sets_)

    def transform_block(self, points: Array, sizes: np.ndarray) -> Array:
        """As ``transform``, for the points of all sets below each other."""
        return self._kernel(self._represent(points, sizes))

    def _kernel(self, new: Any) -> Array:
        K = self._inner(new, self._fit_sets_)
        if not getattr(self, "normalize", True):
            return K
        # Roots of sums of squares, which are above zero for every set that has points.
        own = self._fit_norms_ if new is self._fit_sets_ else np.sqrt(self._square(new))
        empty, hollow = own == 0, self._fit_norms_ == 0
        K /= np.where(empty, 1, own)[:, None]
        K /= np.where(hollow, 1, self._fit_norms_)
        # An empty set equals other empty ones, and resembles nothing else.
        K[np.logical_or.outer(empty, hollow)] = 0
        K[np.logical_and.outer(empty, hollow)] = 1
        return K

    def _learn(self, points: Array) -> None:
        lacks(self, "_learn")

    def _learn_from_sets(self) -> None:
        """What is left to learn when the sets are represented."""

    def _represent(self, points: Array, sizes: np.ndarray) -> Any:
        lacks(self, "_represent")

    def _inner(self, new: Any, fitted: Any) -> Array:
        lacks(self, "_inner")

    def _square(self, sets: Any) -> Array:
        lacks(self, "_square")


# Products of this with squared distances, in units of their mean, are still numbers.
MOST_PER_DISTANCE = 1e150


def per_distance(gamma: float, typical: float) -> float:
    """A width that was given in units of a typical squared distance."""
    if not float(gamma) < MOST_PER_DISTANCE * min(typical, 1.0):
        raise ValueError(
            f"gamma={gamma!r} is too large, so that no two sets are alike: give a number near 1."
        )
    return float(gamma) / typical


# -- Gaussians: of the vectors of two sets, or of one vector per set ----------------------

# Vectors between which distances are taken to find their median; rows in one product.
PAIRS, ROWS = 2000, 1024

described = filled(
    {
        "by_the_median": """
Parameters
----------
gamma : float
    Inverse width, in units of the median.
random_state : int or RandomState, optional
    For the sample that the median is taken of.

Attributes
----------
scale_ : float
    gamma / m.
n_sets_in_ : int

Examples
--------
>>> import numpy as np
>>> sets = [np.array([[0.0], [1.0]]), np.array([[0.5]]), np.array([[3.0]])]
"""
    }
)


class ByTheMedian(SetKernel):
    """A Gaussian whose width is given in units of a median of squared distances."""

    _rules: ClassVar = {"gamma": check_above_zero}

    def __init__(self, gamma: float = 1.0, *, random_state: Any = None) -> None:
        self.gamma = gamma
        self.random_state = random_state

    def _learn(self, points: Array) -> None:
        drawn = sample(points, PAIRS, random_of(self.random_state))
        distances = _squared_distances(drawn, drawn)[np.triu_indices(len(drawn), 1)]
        # A vector is at no distance from a copy of itself, but for rounding.
        size = np.einsum("ij,ij->i", drawn, drawn).mean() if len(drawn) else 0.0
        apart = distances[distances > (64 * np.finfo(drawn.dtype).eps) ** 2 * size]
        median = float(np.median(apart)) if len(apart) else 1.0
        self.scale_ = per_distance(self.gamma, median)


@described
class MeanMap(ByTheMedian):
    """Inner product of the means of two sets in the feature space of a Gaussian kernel.

    With the median m of squared distances between vectors seen in fit::

        K(X, Y) = mean over x in X and y in Y of exp(-gamma |x - y|^2 / m)

    divided by the roots of K(X, X) and K(Y, Y).

    {by_the_median}
    >>> from eigenkit.kernels.sets import MeanMap
    >>> MeanMap(gamma=1.0, random_state=0).fit_transform(sets).round(2)
    array([[1.  , 0.99, 0.13],
           [0.99, 1.  , 0.08],
           [0.13, 0.08, 1.  ]])
    """

    def __init__(self, gamma: float = 3.0, *, random_state: Any = None) -> None:
        super().__init__(gamma, random_state=random_state)

    def _represent(self, points: Array, sizes: np.ndarray) -> tuple[Array, np.ndarray]:
        return points, sizes

    def _inner(self, new: Any, fitted: Any) -> Array:
        X, sizes = new
        Y, other_sizes = fitted
        dtype = np.result_type(X, Y) if len(X) and len(Y) else np.float64
        K = np.zeros((len(sizes), len(other_sizes)), dtype=dtype)
        for start, stop in runs(sizes, ROWS):
            rows = X[sizes[:start].sum() : sizes[:stop].sum()]
            if len(rows) and len(Y):
                columns = sums(gaussian(rows, Y, self.scale_).T, other_sizes).T
                K[start:stop] = sums(np.ascontiguousarray(columns), sizes[start:stop])
        pairs = np.outer(np.maximum(sizes, 1), np.maximum(other_sizes, 1))
        return np.asarray(K / pairs.astype(K.dtype))

    def _square(self, sets: Any) -> Array:
        X, sizes = sets
        ends = np.cumsum(sizes)
        inside = [X[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        return np.array([gaussian(x, x, self.scale_).mean() if len(x) else 0.0 for x in inside])


def gaussian(X: Array, Y: Array, scale: float) -> Array:
    """exp(-scale |x - y|^2) between rows."""
    D = _squared_distances(X, Y)
    D *= -scale
    return np.exp(D, out=D)


def _squared_distances(X: Array, Y: Array) -> Array:
    shift = Y.mean(axis=0) if len(Y) else 0.0  # small terms, small rounding
    X, Y = X - shift, Y - shift
    D = X @ Y.T
    D *= -2
    D += np.sum(X * X, axis=1)[:, None]
    D += np.sum(Y * Y, axis=1)
    return np.maximum(D, 0, out=D)


@described
class Pooled(ByTheMedian):
    """Gaussian kernel between the pooled vectors of sets.

    A set X becomes z(X): the mean, the maximum and the standard deviation of its vectors, side
    by side. With the median m of squared distances between sets seen in fit::

        K(X, Y) = exp(-gamma |z(X) - z(Y)|^2 / m)

    {by_the_median}
    >>> from eigenkit.kernels.sets import Pooled
    >>> Pooled(random_state=0).fit_transform(sets).round(2)
    array([[1.  , 0.95, 0.37],
           [0.95, 1.  , 0.3 ],
           [0.37, 0.3 , 1.  ]])
    """

    def _learn(self, points: Array) -> None:
        pass

    def _learn_from_sets(self) -> None:
        Z, sizes = self._fit_sets_
        super()._learn(Z[sizes > 0])

    def _represent(self, points: Array, sizes: np.ndarray) -> tuple[Array, np.ndarray]:
        if not len(points):
            return np.zeros((len(sizes), 3 * self._width_)), sizes
        n = np.maximum(sizes, 1)[:, None].astype(points.dtype)
        mean = sums(points, sizes) / n
        away = points - np.repeat(mean, sizes, axis=0)
        deviation = np.sqrt(sums(away * away, sizes) / n)
        return np.hstack([mean, sums(points, sizes, np.maximum), deviation]), sizes

    def _inner(self, new: Any, fitted: Any) -> Array:
        return gaussian(new[0], fitted[0], self.scale_)

    def _square(self, sets: Any) -> Array:
        return np.asarray(sets[1] > 0, dtype=np.float64)
