"""Pyramid match between sets of vectors, with uniform or vocabulary-guided bins.

A pyramid is a hierarchy of bins, from small ones to one that holds everything. Points of two
sets that share a bin are matched, and a match counts the more the smaller the bin is. With
n_b(X) the number of points of the set X in bin b and w_b its weight (larger than that of the
bin around it, p(b)), the kernel is

    K(X, Y) = sum_b (w_b - w_p(b)) min(n_b(X), n_b(Y))                          (1)

which equals the usual sum of weighted *new* matches from level to level, and is positive
semidefinite as a sum of histogram intersections with weights >= 0.

How (1) is computed: min(p, q) counts the t with p >= t and q >= t. So the t-th point of a set
in a bin becomes the feature (b, t), present or not, and (1) is a product of sparse matrices.
Features that many sets have go through a dense product. Of the sets seen in fit only the
counts n_b are kept; new sets go through the bins alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from eigenkit.kernels.sets._sets import SAMPLE, SetKernel, Shares, sample, sums
from eigenkit.kernels.sets._vocabulary import Vocabulary
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_above_zero, check_count, check_real, optional, random_of

# A feature carried by more than this share of the sets is cheaper in a dense product.
DENSE_SHARE = 0.05

# Cubes cover a little more than the extent, so that the largest value is inside the last one.
INSIDE = 1e-9

# For no more new sets than this, features of the sets in fit are not worth making.
FEW_SETS = 8


@dataclass(frozen=True, eq=False)
class UniformBins:
    """Cubes that double in side from level to level, weighted by 1 / side.

    The coarsest holds everything; the finest have the side given, or the extent of the data over
    2 ** (n_levels - 1). Of those without points in fit, the last bin of a level stands for all.
    """

    n_levels: int
    side: float
    origin: Array
    odd: np.ndarray
    known: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, points: Array, n_levels: int, side: float | None) -> UniformBins:
        """Cubes around these points."""
        points = points.astype(np.float64)
        origin = points.min(axis=0) if len(points) else np.zeros(0)
        extent = float(np.max(points.max(axis=0) - origin)) if len(points) else 0.0
        side = side or extent * (1 + INSIDE) / 2 ** (n_levels - 1) or 1.0
        # Bins get the sum of their indices times odd numbers, modulo 2^64, as their name.
        random = np.random.default_rng(20240229)
        odd = random.integers(2**62, size=len(origin), dtype=np.uint64) * 2 + 1
        empty = cls(n_levels, side, origin, odd, ())
        known = tuple(np.unique(names) for names in empty._names(points))
        return cls(n_levels, side, origin, odd, known)

    @property
    def n_bins(self) -> int:
        """Of all levels."""
        return sum(len(names) + 1 for names in self.known)

    @property
    def steps(self) -> Array:
        """w_b - w_p(b) for every bin b with the bin p(b) around it."""
        last = self.n_levels - 1
        steps = [2.0**-level - (level < last) * 2.0 ** -(level + 1) for level in range(last + 1)]
        return np.repeat(steps, [len(names) + 1 for names in self.known])

    def paths(self, points: Array) -> np.ndarray:
        """The bins of each point, one column per level."""
        path = np.empty((len(points), self.n_levels), dtype=np.int64)
        start = 0
        for level, names in enumerate(self._names(points.astype(np.float64))):
            known = self.known[level]
            place = np.minimum(np.searchsorted(known, names), max(len(known) - 1, 0))
            path[:, level] = start + np.where(known[place] == names, place, len(known))
            start += len(known) + 1
        return path

    def _names(self, points: Array) -> list[np.ndarray]:
        """Per level the name of each point's cube; finest first."""
        if not len(points):
            return [np.zeros(0, np.uint64)] * self.n_levels
        cells = np.floor((points - self.origin) / self.side)
        names = []
        for _ in range(self.n_levels - 1):
            indices = np.clip(cells, -(2.0**62), 2.0**62).astype(np.int64).view(np.uint64)
            names.append(np.asarray((indices * self.odd).sum(axis=1, dtype=np.uint64)))
            cells = np.floor(cells / 2)
        return [*names, np.zeros(len(points), np.uint64)]


# -- histogram intersections ------------------------------------------------------------


def _columns(bins: np.ndarray, held: np.ndarray, most: np.ndarray) -> np.ndarray:
    """The columns of the features (b, 0), (b, 1), ... of bins that hold so many points."""
    t = np.arange(held.sum()) - np.repeat(np.cumsum(held) - held, held)
    return np.asarray(np.repeat((np.cumsum(most) - most)[bins], held) + t)


class PyramidMatch(SetKernel):
    """Pyramid match kernel between sets of vectors, as a transformer.

    ``fit`` takes a collection of sets; ``transform`` gives the kernel between other sets and
    those, ready for any estimator with ``kernel="precomputed"``.

    Parameters
    ----------
    bins : {"uniform", "vocabulary"}
        "uniform": cubes that double in side, weight 1 / side. "vocabulary": clusters of
        clusters of the points seen in fit, weight 1 / diameter; better for many dimensions.
    n_levels : int
        Number of levels of the pyramid. With many more than five, the smallest bins hold
        single points, and a set is similar only to itself.
    side : float, optional
        Side of the finest cubes; by default the extent of the data over 2 ** (n_levels - 1).
    branching : int
        Into how many clusters a cluster is split, for the vocabulary.
    coordinate_weight : float
        Factor on the coordinates, where a set is a pair (features, coordinates).
    normalize : bool
        Divide by the self-similarities, so that K(X, X) = 1.
    random_state : int or RandomState, optional
        For the clustering, and for the sample of 40,000 points that it looks at.

    Attributes
    ----------
    bins_ : the bins
    counts_ : sparse array of shape (n_sets_in_, n_bins)
        How many points of each set seen in fit are in each bin.
    n_sets_in_ : int
        Number of sets seen in fit.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.kernels.sets import PyramidMatch
    >>> sets = [np.array([[0.0], [1.0]]), np.array([[0.0], [7.0], [7.5]]), np.array([[8.0]])]
    >>> PyramidMatch(n_levels=4).fit_transform(sets).round(2)
    array([[1.  , 0.46, 0.09],
           [0.46, 1.  , 0.58],
           [0.09, 0.58, 1.  ]])
    """

    _rules: ClassVar = {
        "bins": ("uniform", "vocabulary"),
        "n_levels": check_count,
        "branching": partial(check_count, low=2),
        "coordinate_weight": check_real,
        "side": optional(partial(check_above_zero, hint=", or None")),
    }

    def __init__(
        self,
        bins: str = "uniform",
        *,
        n_levels: int = 5,
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

    @property
    def counts_(self) -> sparse.csr_array:
        """Points of each set seen in fit in each bin."""
        return self._fit_sets_

    @property
    def sample_size(self) -> int | None:
        """Cubes must be known wherever there are points; clusters need a sample only."""
        return None if self.bins == "uniform" else SAMPLE

    def _learn(self, points: Array) -> None:
        n_levels = int(self.n_levels)
        if self.bins == "uniform":
            self.bins_: Any = UniformBins.of(points, n_levels, self.side)
            return
        random = random_of(self.random_state)
        drawn = sample(points, SAMPLE, random)
        self.bins_ = Vocabulary.of(drawn, n_levels, int(self.branching), random)

    def _represent(self, points: Array, sizes: np.ndarray) -> sparse.csr_array:
        """Counts of sets in bins."""
        shape = (len(sizes), self.bins_.n_bins)
        if not len(points) or not self.bins_.n_bins:
            return sparse.csr_array(shape, dtype=np.int64)
        path = self.bins_.paths(points)
        rows = np.repeat(np.arange(len(sizes)), sizes * path.shape[1])
        known = path.ravel() >= 0
        entries = np.ones(int(known.sum()), dtype=np.int64)
        return sparse.csr_array((entries, (rows[known], path.ravel()[known])), shape=shape)

    def features(self, counts: sparse.csr_array) -> sparse.csr_array:
        """The sparse matrix U of sets, with entries sqrt(w_b - w_p(b)), whose U V' with V of the
        sets in fit is the kernel. What a set has in a bin beyond these matches nothing."""
        most, bins = self._most(), counts.indices
        held = np.minimum(counts.data, most[bins])
        entries = np.repeat(np.sqrt(self.bins_.steps[bins]), held)
        ends = np.concatenate([[0], np.cumsum(held)])[counts.indptr]
        shape = (counts.shape[0], int(most.sum()))
        U = sparse.csr_array((entries, _columns(bins, held, most), ends), shape=shape)
        U.eliminate_zeros()
        return U

    def _most(self) -> np.ndarray:
        """How many points of a set seen in fit each bin holds at most."""
        return np.asarray(self._fit_sets_.max(axis=0).toarray().ravel())

    def _inner(self, new: sparse.csr_array, fitted: sparse.csr_array) -> Array:
        if new is not fitted and new.shape[0] <= FEW_SETS:  # from the counts as they are
            where, steps = (fitted.indices, fitted.indptr), self.bins_.steps
            shared = (np.minimum(fitted.data, n_b[fitted.indices]) for n_b in new.toarray())
            matches = (sparse.csr_array((s, *where), shape=fitted.shape) for s in shared)
            return np.array([each @ steps for each in matches])
        V = self.features(fitted)
        U = V if new is fitted else self.features(new)
        frequent = np.bincount(V.indices, minlength=V.shape[1])
        common = frequent > DENSE_SHARE * V.shape[0]
        K = U[:, common].toarray() @ V[:, common].toarray().T
        rare = ~common & (frequent > 0)
        if rare.any():
            K += (U[:, rare] @ V[:, rare].T).toarray()
        return np.asarray(K)

    def _square(self, sets: sparse.csr_array) -> Array:
        return np.asarray(sets @ self.bins_.steps)

    def sharing(self, rows: np.ndarray) -> Shares:
        """The parts of points in sum_T A_T K(S, T), T being these sets seen in fit.

        The kernel is linear in its features (bin b, number t). With::

            g(b, t) = sum_T A_T sqrt(step_b) [T has more than t points in b] / |T|

        a bin with n points of S gives ``sqrt(step_b) (g(b, 0) + ... + g(b, n - 1)) / |S|``, shared
        equally by its n points.
        """
        counts, steps, most = self._fit_sets_[rows], self.bins_.steps, self._most()
        sizes, features = np.sqrt(self._square(counts)), self.features(counts).tocsc()

        def shares(points: Array, A: Array) -> Array:
            path = self.bins_.paths(points)
            known = path >= 0
            n_b = np.bincount(path[known], minlength=len(steps))
            held = np.minimum(n_b, most)
            filled = np.flatnonzero(held)
            columns = _columns(filled, held[filled], most)
            g = features[:, columns].T @ (A / np.where(sizes > 0, sizes, 1)[:, None])
            parts = np.sqrt(steps[filled])[:, None] * sums(g, held[filled])
            per_point = np.zeros((len(steps), A.shape[1]))
            per_point[filled] = parts / n_b[filled, None]
            found = np.zeros((len(points), A.shape[1]))
            for bins, inside in zip(path.T, known.T, strict=True):
                found[inside] += per_point[bins[inside]]
            return np.asarray(found / np.sqrt(float(n_b @ steps)))

        return shares


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
    >>> from eigenkit.kernels.sets import pyramid_match
    >>> X = [np.array([[0.0, 0.0], [3.0, 1.0]]), np.array([[3.0, 1.0]])]
    >>> pyramid_match(X, normalize=False, n_levels=3)
    array([[2., 1.],
           [1., 1.]])
    """
    model = PyramidMatch(**parameters)
    if Y is None:
        return model.fit_transform(X)
    return model.fit_transform([*X, *Y])[: len(X), len(X) :]
