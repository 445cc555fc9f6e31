"""The plain way: one vector per set, and a Gaussian kernel between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from eigenkit.kernels.sets._mean_map import gaussian, typical_distance
from eigenkit.kernels.sets._sets import SetKernel, sums
from eigenkit.linalg import Array
from eigenkit.shell import check_above_zero


class Pooled(SetKernel):
    """Gaussian kernel between the pooled vectors of sets.

    A set X becomes z(X): the mean, the maximum and the standard deviation of its vectors, side
    by side. With the median m of squared distances between sets seen in fit::

        K(X, Y) = exp(-gamma |z(X) - z(Y)|^2 / m)

    Parameters
    ----------
    gamma : float
        Inverse width, in units of the median.
    random_state : int or RandomState, optional
        For the sets that the median is taken of.

    Attributes
    ----------
    scale_ : float
        gamma / m.
    n_sets_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.kernels.sets import Pooled
    >>> sets = [np.array([[0.0], [1.0]]), np.array([[0.5]]), np.array([[3.0]])]
    >>> Pooled(random_state=0).fit_transform(sets).round(2)
    array([[1.  , 0.95, 0.37],
           [0.95, 1.  , 0.3 ],
           [0.37, 0.3 , 1.  ]])
    """

    def __init__(self, gamma: float = 1.0, *, random_state: Any = None) -> None:
        self.gamma = gamma
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_above_zero("gamma", self.gamma)

    def _learn(self, points: Array) -> None:
        pass

    def _learn_from_sets(self) -> None:
        Z, sizes = self._fit_sets_
        random = check_random_state(self.random_state)
        self.scale_ = float(self.gamma) / typical_distance(Z[sizes > 0], random)

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
