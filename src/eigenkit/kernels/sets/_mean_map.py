"""Gaussian kernels: the mean over all pairs of vectors of two sets, or of one vector per set."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from eigenkit.kernels.sets._sets import SetKernel, per_distance, sample, sums
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_above_zero, filled, random_of

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

    def __init__(self, gamma: float = 1.0, *, random_state: Any = None) -> None:
        self.gamma = gamma
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_above_zero("gamma", self.gamma)

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
        for start, stop in _blocks(sizes):
            rows = X[sizes[:start].sum() : sizes[:stop].sum()]
            if len(rows) and len(Y):
                columns = sums(gaussian(rows, Y, self.scale_).T, other_sizes).T
                K[start:stop] = sums(np.ascontiguousarray(columns), sizes[start:stop])
        return np.asarray(
            K / np.outer(np.maximum(sizes, 1), np.maximum(other_sizes, 1)).astype(K.dtype)
        )

    def _square(self, sets: Any) -> Array:
        X, sizes = sets
        ends = np.cumsum(sizes)
        inside = [X[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        s = self.scale_
        return np.array([gaussian(x, x, s).mean() if len(x) else 0.0 for x in inside])


def gaussian(X: Array, Y: Array, scale: float) -> Array:
    """exp(-scale |x - y|^2) between rows."""
    D = _squared_distances(X, Y)
    D *= -scale
    return np.exp(D, out=D)


def _blocks(sizes: np.ndarray) -> list[tuple[int, int]]:
    """Runs of sets with about ROWS vectors."""
    runs = (np.cumsum(sizes) // ROWS) if len(sizes) else sizes
    edges = [0, *(np.flatnonzero(np.diff(runs)) + 1).tolist(), len(sizes)]
    return list(pairwise(edges))


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
