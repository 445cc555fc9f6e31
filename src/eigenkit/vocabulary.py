"""A hierarchy of clusters as bins: every cluster is split into clusters, level by level."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from eigenkit.linalg import Array

# Lloyd iterations per split: bins need not be optimal clusters, only small and stable ones.
ITERATIONS = 10

# The smallest diameter that weights tell apart, relative to that of all points.
SMALLEST = 1e-3


class Vocabulary:
    """Clusters of clusters of points, weighted by 1 / diameter.

    The diameter of a bin is taken as twice the largest distance to its centre, and as no
    larger than that of the bin around it, so that weights grow from coarse to fine. Bins
    below a thousandth of the whole count as of that size: weights stay within 1 to 1000, and
    equal points do not outweigh all others.

    Parameters
    ----------
    points : array of shape (n_points, n_features)
    n_levels : int
        Number of levels, with the bin of everything as the first.
    branching : int
        Into how many clusters each is split.
    random : RandomState
    """

    def __init__(self, points: Array, n_levels: int, branching: int, random: Any) -> None:
        self.n_levels = n_levels
        self.centers: list[Array] = []
        self.children: list[list[int]] = []
        self.diameters: list[float] = []
        if len(points):
            self._grow(points, branching, random)
        widths = np.array(self.diameters)
        smallest = SMALLEST * widths[0] if len(points) and widths[0] > 0 else 1.0
        self.weights = smallest / np.maximum(widths, smallest)

    def _grow(self, points: Array, branching: int, random: Any) -> None:
        current = [(self._add(points, np.inf), points)]
        for _ in range(self.n_levels - 1):
            below = []
            for node, inside in current:
                for part in _split(inside, branching, random):
                    child = self._add(part, self.diameters[node])
                    self.children[node].append(child)
                    below.append((child, part))
            current = below

    def _add(self, points: Array, largest: float) -> int:
        center = points.mean(axis=0)
        radius = float(np.sqrt(np.max(np.sum((points - center) ** 2, axis=1))))
        self.centers.append(center)
        self.children.append([])
        self.diameters.append(min(2 * radius, largest))
        return len(self.centers) - 1

    def levels(self, points: Array) -> list[tuple[np.ndarray, Array]]:
        """Per level the bin of each point and (w - w of the bin around it).

        A point whose bin was not split stays there, at no further weight.
        """
        node = np.zeros(len(points), dtype=np.intp)
        found = [(node, self.weights[node])]
        for _ in range(self.n_levels - 1):
            deeper = self._descend(points, node)
            found.append((deeper, self.weights[deeper] - self.weights[node]))
            node = deeper
        return found

    def _descend(self, points: Array, node: np.ndarray) -> np.ndarray:
        deeper = node.copy()
        order = np.argsort(node, kind="stable")
        starts = np.flatnonzero(np.diff(node[order], prepend=-1))
        for inside in np.split(order, starts[1:]):
            children = self.children[node[inside[0]]]
            if children:
                centers = np.array([self.centers[child] for child in children])
                nearest = cdist(points[inside], centers).argmin(axis=1)
                deeper[inside] = np.array(children)[nearest]
        return deeper


def _split(points: Array, k: int, random: Any) -> list[Array]:
    """Up to k clusters of points by Lloyd's iterations; none where all points are equal."""
    if np.all(points == points[0]):
        return []
    centers = _spread(points, k, random)
    for _ in range(ITERATIONS):
        nearest = cdist(points, centers, "sqeuclidean").argmin(axis=1)
        filled, nearest = np.unique(nearest, return_inverse=True)
        members = (np.ones(len(points)), (nearest, np.arange(len(points))))
        sums = sparse.csr_array(members, shape=(len(filled), len(points))) @ points
        moved = sums / np.bincount(nearest)[:, None]
        if moved.shape == centers.shape and np.array_equal(moved, centers):
            break
        centers = moved
    nearest = cdist(points, centers, "sqeuclidean").argmin(axis=1)
    return [points[nearest == j] for j in np.unique(nearest)]


def _spread(points: Array, k: int, random: Any) -> Array:
    """k distinct points, each drawn with probability proportional to its squared distance."""
    chosen = [int(random.randint(len(points)))]
    distance = np.sum((points - points[chosen[0]]) ** 2, axis=1)
    while len(chosen) < k and np.any(distance > 0):
        chosen.append(int(random.choice(len(points), p=distance / distance.sum())))
        distance = np.minimum(distance, np.sum((points - points[chosen[-1]]) ** 2, axis=1))
    return points[chosen]
