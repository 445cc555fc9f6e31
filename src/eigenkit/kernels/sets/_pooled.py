"""The plain way: one vector per set, and a Gaussian kernel between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenkit.kernels.sets._mean_map import ByTheMedian, described, gaussian
from eigenkit.kernels.sets._sets import sums
from eigenkit.linalg import Array


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

    def __init__(self, gamma: float = 1.0, *, random_state: Any = None) -> None:
        self.gamma = gamma
        self.random_state = random_state

    def _learn(self, points: Array) -> None:
        pass

    def _learn_from_sets(self) -> None:
        Z, sizes = self._fit_sets_
        self._scale_by(Z[sizes > 0])

    def _represent(self, points: Array, sizes: np.ndarray) -> tuple[Array, np.ndarray]:
        if not len(points):
            return np.zeros((len(sizes), 3 * self._width_)), sizes
        n = np.maximum(sizes, 1)[:, None].astype(points.dtype)
        mean = sums(points, sizes) / n
        away = points - np.repeat(mean, sizes, axis=0)
        deviation = np.sqrt(sums(away * away, sizes) / n)
        top = np.zeros_like(mean)
        filled = sizes > 0
        starts = (np.cumsum(sizes) - sizes)[filled]
        top[filled] = np.maximum.reduceat(points, starts, axis=0)
        return np.hstack([mean, top, deviation]), sizes

    def _inner(self, new: Any, fitted: Any) -> Array:
        (Z, sizes), (Z_fit, sizes_fit) = new, fitted
        return gaussian(Z, Z_fit, self.scale_) * np.outer(sizes > 0, sizes_fit > 0)

    def _square(self, sets: Any) -> Array:
        return np.asarray(sets[1] > 0, dtype=np.float64)
