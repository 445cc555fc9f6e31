"""Kernels between sets of vectors: pyramid match with uniform or vocabulary-guided bins.

A pyramid is a hierarchy of bins, from small ones to one that holds everything. Points of two
sets that share a bin are matched, and a match counts the more the smaller the bin is. With
n_b(X) the number of points of the set X in bin b and w_b its weight (larger than that of the
bin around it, p(b)), the kernel is

    K(X, Y) = sum_b (w_b - w_p(b)) min(n_b(X), n_b(Y))                          (1)

which equals the usual sum of weighted *new* matches from level to level, and is positive
semidefinite as a sum of histogram intersections with weights >= 0.

How (1) is computed: min(p, q) counts the t with p >= t and q >= t. So the t-th point of a set
in a bin becomes the feature (b, t), present or not, and (1) is a product of sparse matrices
with one entry per point and level. Features that many sets have go through a dense product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenkit.estimators._state import unchanged_on_error
from eigenkit.estimators._validation import check_choice, check_count, check_real
from eigenkit.linalg import Array
from eigenkit.vocabulary import Vocabulary

BINS = ("uniform", "vocabulary")

# A feature carried by more than this share of the sets is cheaper in a dense product.
DENSE_SHARE = 0.05


# -- sets -------------------------------------------------------------------------------


def _points(name: str, X: Any, coordinate_weight: float) -> tuple[Array, np.ndarray]:
    """All points of a collection below each other, and the sizes of its sets."""
    if (isinstance(X, np.ndarray) and X.ndim == 2) or not isinstance(X, Sequence | np.ndarray):
        raise TypeError(f"{name} is not a collection of sets: give a list of matrices.")
    if len(X) == 0:
        raise ValueError(f"{name} holds no set: give at least one.")
    sets = [_one_set(name, i, x, coordinate_weight) for i, x in enumerate(X)]
    widths = {x.shape[1] for x in sets if len(x)}
    if len(widths) > 1:
        raise ValueError(
            f"{name} holds sets of vectors with {min(widths)} and with {max(widths)} numbers: "
            "give vectors of one length."
        )
    filled = [x for x in sets if len(x)]
    return np.vstack(filled) if filled else np.empty((0, 0)), np.array([len(x) for x in sets])


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
        points = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Set {i} of {name} is not a matrix of numbers.") from error
    if points.size == 0:
        return np.empty((0, 0))
    if points.ndim != 2:
        raise ValueError(
            f"Set {i} of {name} has {points.ndim} dimension(s): give a matrix with a row per point."
        )
    if not np.all(np.isfinite(points)):
        raise ValueError(f"Set {i} of {name} contains NaN or infinity: drop such points.")
    return points


# -- bins -------------------------------------------------------------------------------


class UniformBins:
    """Cubes that double in side from level to level, weighted by 1 / side.

    The coarsest holds everything; the finest have the side given, or the extent of the data
    over 2 ** (n_levels - 1).
    """

    def __init__(self, points: Array, n_levels: int, side: float | None) -> None:
        self.origin = points.min(axis=0) if len(points) else np.zeros(0)
        extent = float(np.max(points.max(axis=0) - self.origin)) if len(points) else 0.0
        self.n_levels = n_levels
        # A trifle more than the extent, so that the largest value is inside the last cube.
        self.side = side or extent * (1 + 1e-9) / 2 ** (n_levels - 1) or 1.0
        # Bins get the sum of their indices times odd numbers, modulo 2^64, as their name.
        random = np.random.default_rng(20240229)
        self.odd = random.integers(2**62, size=len(self.origin), dtype=np.uint64) * 2 + 1

    def levels(self, points: Array) -> list[tuple[np.ndarray, Array]]:
        """Per level the bin of each point and (w - w of the bin around it); finest first."""
        cells = np.floor((points - self.origin) / self.side)
        found = []
        for level in range(self.n_levels):
            last = level == self.n_levels - 1
            names = np.zeros(len(points), np.uint64) if last else self._names(cells)
            weight = 2.0**-level - (0.0 if last else 2.0 ** -(level + 1))
            found.append((names, np.full(len(points), weight)))
            cells = np.floor(cells / 2)
        return found

    def _names(self, cells: Array) -> np.ndarray:
        indices = np.clip(cells, -(2.0**62), 2.0**62).astype(np.int64).view(np.uint64)
        return np.asarray((indices * self.odd).sum(axis=1, dtype=np.uint64))


# -- histogram intersections ------------------------------------------------------------


def _features(levels: list[tuple[np.ndarray, Array]], sets: np.ndarray) -> sparse.csr_array:
    """The matrix U (sets x features (b, t)) with entries sqrt(w), so that U U' is (1)."""
    rows, columns, entries, n_columns = [], [], [], 0
    for names, weights in levels:
        _, bins = np.unique(names, return_inverse=True)
        order = np.lexsort((bins, sets))
        t = _position_in_run(sets[order], bins[order])
        _, feature = np.unique(bins[order] * (t.max(initial=0) + 1) + t, return_inverse=True)
        rows.append(sets[order])
        columns.append(feature + n_columns)
        entries.append(np.sqrt(weights[order]))
        n_columns += int(feature.max(initial=-1)) + 1
    parts = np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))
    U = sparse.csr_array(parts, shape=(int(sets.max(initial=-1)) + 1, n_columns))
    U.eliminate_zeros()
    return U


def _position_in_run(sets: np.ndarray, bins: np.ndarray) -> np.ndarray:
    """0, 1, 2, ... for equal (set, bin) that follow each other."""
    fresh = np.ones(len(sets), dtype=bool)
    fresh[1:] = (sets[1:] != sets[:-1]) | (bins[1:] != bins[:-1])
    index = np.arange(len(sets))
    return index - np.maximum.accumulate(np.where(fresh, index, 0))


def _intersections(U: sparse.csr_array, V: sparse.csr_array) -> Array:
    """U V' by a dense product for the features of many sets and a sparse one for the rest."""
    counts = np.bincount(V.indices, minlength=V.shape[1])
    common = counts > DENSE_SHARE * V.shape[0]
    K = U[:, common].toarray() @ V[:, common].toarray().T
    rare = ~common & (counts > 0)
    if rare.any():
        K += (U[:, rare] @ V[:, rare].T).toarray()
    return K


def _pyramid(bins: Any, points: Sequence[Array], sizes: Sequence[np.ndarray]) -> Any:
    """Features of all sets of the collections, over common columns."""
    together = np.concatenate(sizes)
    filled = [p for p in points if len(p)]
    n_sets = len(together)
    if not filled:
        return sparse.csr_array((n_sets, 0))
    levels = bins.levels(np.vstack(filled))
    U = _features(levels, np.repeat(np.arange(n_sets), together))
    U.resize((n_sets, U.shape[1]))
    return U


def _kernel(U: sparse.csr_array, V: sparse.csr_array, normalize: bool) -> Array:
    K = _intersections(U, V)
    if not normalize:
        return K
    own, other = (np.sqrt(M.power(2).sum(axis=1)) for M in (U, V))
    # An empty set is like every other empty set and like nothing else.
    alike = np.outer(own == 0, other == 0)
    return np.where(
        alike, 1.0, K / np.where(own == 0, 1.0, own)[:, None] / np.where(other == 0, 1.0, other)
    )


# -- interface --------------------------------------------------------------------------


class PyramidMatch(TransformerMixin, BaseEstimator):
    """Pyramid match kernel between sets of vectors, as a transformer.

    ``fit`` takes a collection of sets; ``transform`` gives the kernel between other sets and
    those, ready for any estimator with ``kernel="precomputed"``.

    Parameters
    ----------
    bins : {"uniform", "vocabulary"}
        "uniform": cubes that double in side, weight 1 / side. "vocabulary": clusters of
        clusters of the points seen in fit, weight 1 / diameter; better for many dimensions.
    n_levels : int
        Number of levels of the pyramid.
    side : float, optional
        Side of the finest cubes; by default the extent of the data over 2 ** (n_levels - 1).
    branching : int
        Into how many clusters a cluster is split, for the vocabulary.
    coordinate_weight : float
        Factor on the coordinates, where a set is a pair (features, coordinates).
    normalize : bool
        Divide by the self-similarities, so that K(X, X) = 1.
    random_state : int or RandomState, optional
        For the clustering.

    Attributes
    ----------
    bins_ : the bins
    n_sets_in_ : int
        Number of sets seen in fit.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.set_kernels import PyramidMatch
    >>> sets = [np.array([[0.0], [1.0]]), np.array([[0.0], [7.0], [7.5]]), np.array([[8.0]])]
    >>> PyramidMatch(n_levels=4).fit_transform(sets).round(2)
    array([[1.  , 0.46, 0.09],
           [0.46, 1.  , 0.58],
           [0.09, 0.58, 1.  ]])
    """

    def __init__(
        self,
        bins: str = "uniform",
        *,
        n_levels: int = 8,
        side: float | None = None,
        branching: int = 10,
        coordinate_weight: float = 1.0,
        normalize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.bins = bins
        self.n_levels = n_levels
        self.side = side
        self.branching = branching
        self.coordinate_weight = coordinate_weight
        self.normalize = normalize
        self.random_state = random_state

    def fit(self, X: Sequence[Any], y: Any = None) -> Self:
        """Make the bins and remember the sets.

        Parameters
        ----------
        X : sequence of arrays of shape (n_points, n_features)
            Sets of any sizes, also empty; or of pairs (features, coordinates).
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        points, sizes = _points("X", X, float(self.coordinate_weight))
        with unchanged_on_error(self):
            self.bins_ = self._make_bins(points)
            self._points_, self._sizes_ = points, sizes
            self.n_sets_in_ = len(sizes)
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
        points, sizes = _points("X", X, float(self.coordinate_weight))
        self._check_width(points)
        U = _pyramid(self.bins_, [self._points_, points], [self._sizes_, sizes])
        return _kernel(U[self.n_sets_in_ :], U[: self.n_sets_in_], self.normalize)

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
        self.fit(X)
        U = _pyramid(self.bins_, [self._points_], [self._sizes_])
        return _kernel(U, U, self.normalize)

    def _check_parameters(self) -> None:
        check_choice("bins", self.bins, BINS)
        check_count("n_levels", self.n_levels)
        check_count("branching", self.branching)
        check_real("coordinate_weight", self.coordinate_weight)
        if self.side is not None and check_real("side", self.side) == 0:
            raise ValueError("side=0 is not valid: give a positive number, or None.")
        if self.branching < 2:
            raise ValueError("branching=1 is not valid: give an integer of at least 2.")

    def _check_width(self, points: Array) -> None:
        seen = self._points_.shape[1]
        if len(points) and len(self._points_) and points.shape[1] != seen:
            raise ValueError(
                f"X holds vectors of {points.shape[1]} numbers, but those seen in fit had {seen}."
            )

    def _make_bins(self, points: Array) -> Any:
        if self.bins == "uniform":
            return UniformBins(points, int(self.n_levels), self.side)
        random = check_random_state(self.random_state)
        return Vocabulary(points, int(self.n_levels), int(self.branching), random)


def pyramid_match(X: Sequence[Any], Y: Sequence[Any] | None = None, **parameters: Any) -> Array:
    """Pyramid match kernel between two collections of sets of vectors.

    The bins are made from the points of both.

    Parameters
    ----------
    X, Y : sequences of arrays of shape (n_points, n_features)
        Sets of any sizes, also empty; or of pairs (features, coordinates). Y is X by default.
    **parameters
        Those of :class:`PyramidMatch`.

    Returns
    -------
    array of shape (n_sets_X, n_sets_Y)

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.set_kernels import pyramid_match
    >>> X = [np.array([[0.0, 0.0], [3.0, 1.0]]), np.array([[3.0, 1.0]])]
    >>> pyramid_match(X, normalize=False, n_levels=3)
    array([[2., 1.],
           [1., 1.]])
    """
    model = PyramidMatch(**parameters)
    if Y is None:
        return model.fit_transform(X)
    return model.fit_transform([*X, *Y])[: len(X), len(X) :]


__all__ = ["PyramidMatch", "pyramid_match"]
