"""A hierarchy of clusters as bins: every cluster is split into clusters, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.linalg import Array

# Lloyd iterations per split: bins need not be optimal clusters, only small and stable ones.
ITERATIONS = 10

# The smallest diameter that weights tell apart, relative to that of all points.
SMALLEST = 1e-3


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Clusters of clusters of points, weighted by 1 / diameter.

    The diameter of a bin is taken as twice the largest distance to its centre, and as no
    larger than that of the bin around it, so that weights grow from coarse to fine. Bins
    below a thousandth of the whole count as of that size: weights stay within 1 to 1000, and
    equal points do not outweigh all others.

    Parameters
    ----------
    n_levels : int
        Number of levels, with the bin of everything as the first.
    centers : array of shape (n_bins, n_features)
        In the order of levels; the children of a bin follow each other.
    first, n_children : arrays of shape (n_bins,)
        The children of bin b are ``first[b] : first[b] + n_children[b]``.
    weights : array of shape (n_bins,)
    """

    n_levels: int
    centers: Array
    first: np.ndarray
    n_children: np.ndarray
    weights: Array

    @classmethod
    def of(cls, points: Array, n_levels: int, branching: int, random: Any) -> Vocabulary:
        """Grow the tree on points."""
        tree = _Tree()
        if len(points):
            tree.grow(points, n_levels, branching, random)
        return cls(n_levels, *tree.arrays())

    @property
    def n_bins(self) -> int:
        """Of all levels."""
        return len(self.weights)

    @property
    def steps(self) -> Array:
        """w_b - w_p(b) for every bin b with the bin p(b) around it."""
        steps = self.weights.copy()
        held = self.n_children
        number = np.arange(held.sum()) - np.repeat(np.cumsum(held) - held, held)
        steps[np.repeat(self.first, held) + number] -= np.repeat(self.weights, held)
        return steps

    def paths(self, points: Array) -> np.ndarray:
        """The bins of each point, one column per level; -1 below a bin that was not split."""
        path = np.full((len(points), self.n_levels), -1, dtype=np.int32)
        path[:, 0] = 0
        for level in range(1, self.n_levels):
            path[:, level] = self._descend(points, path[:, level - 1])
        return path

    def _descend(self, points: Array, node: np.ndarray) -> np.ndarray:
        deeper = np.full(len(node), -1, dtype=np.int32)
        order = np.argsort(node, kind="stable")
        starts = np.flatnonzero(np.diff(node[order], prepend=-2))
        for inside in np.split(order, starts[1:]) if len(order) else []:
            b = node[inside[0]]
            if b >= 0 and self.n_children[b]:
                first = self.first[b]
                centers = self.centers[first : first + self.n_children[b]]
                deeper[inside] = first + nearest(points[inside], centers)
        return deeper


class _Tree:
    """A vocabulary that grows, level by level."""

    def __init__(self) -> None:
        self.centers: list[Array] = []
        self.first: list[int] = []
        self.n_children: list[int] = []
        self.diameters: list[float] = []

    def grow(self, points: Array, n_levels: int, branching: int, random: Any) -> None:
        current = [(self._add(points, np.inf), points)]
        for _ in range(n_levels - 1):
            below = []
            for node, inside in current:
                parts = split(inside, branching, random)
                self.first[node], self.n_children[node] = len(self.centers), len(parts)
                below += [(self._add(part, self.diameters[node]), part) for part in parts]
            current = below

    def _add(self, points: Array, largest: float) -> int:
        center = points.mean(axis=0)
        radius = float(np.sqrt(np.max(np.sum((points - center) ** 2, axis=1))))
        self.centers.append(center)
        self.first.append(0)
        self.n_children.append(0)
        self.diameters.append(min(2 * radius, largest))
        return len(self.centers) - 1

    def arrays(self) -> tuple[Array, np.ndarray, np.ndarray, Array]:
        widths = np.array(self.diameters)
        smallest = SMALLEST * widths[0] if len(widths) and widths[0] > 0 else 1.0
        return (
            np.array(self.centers),
            np.array(self.first, dtype=np.int32),
            np.array(self.n_children, dtype=np.int32),
            smallest / np.maximum(widths, smallest),
        )


def nearest(points: Array, centers: Array) -> np.ndarray:
    """The number of the nearest centre of each point."""
    shift = centers.mean(axis=0)  # distances are differences: keep their terms small
    C, P = centers - shift, points - shift
    return np.asarray(np.argmin(np.sum(C * C, axis=1) / 2 - P @ C.T, axis=1))


def split(points: Array, k: int, random: Any) -> list[Array]:
    """Up to k clusters of points; none where all points are equal."""
    if np.all(points == points[0]):
        return []
    inside = nearest(points, cluster(points, k, random))
    return [points[inside == j] for j in np.unique(inside)]


def cluster(points: Array, k: int, random: Any) -> Array:
    """Up to k centres by Lloyd's iterations."""
    centers = _spread(points, k, random)
    for _ in range(ITERATIONS):
        filled, inside = np.unique(nearest(points, centers), return_inverse=True)
        ones = np.ones(len(points), dtype=points.dtype)
        belongs = (ones, (inside, np.arange(len(points))))
        sums = sparse.csr_array(belongs, shape=(len(filled), len(points))) @ points
        moved = sums / np.bincount(inside)[:, None].astype(points.dtype)
        if moved.shape == centers.shape and np.array_equal(moved, centers):
            break
        centers = moved
    return centers


def _spread(points: Array, k: int, random: Any) -> Array:
    """k distinct points, each drawn with probability proportional to its squared distance."""
    chosen = [int(random.randint(len(points)))]
    distance = np.sum((points - points[chosen[0]]) ** 2, axis=1, dtype=np.float64)
    while len(chosen) < k and np.any(distance > 0):
        chosen.append(int(random.choice(len(points), p=distance / distance.sum())))
        fresh = np.sum((points - points[chosen[-1]]) ** 2, axis=1, dtype=np.float64)
        distance = np.minimum(distance, fresh)
    return points[chosen]
