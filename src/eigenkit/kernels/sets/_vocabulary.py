"""A hierarchy of clusters as bins: every cluster is split into clusters, level by level.

A level has thousands of small clusters, and each would take the time of a dozen calls, not of
its arithmetic. So clusters of about one size are treated together, as a stack (n_clusters,
n_points, n_features) in which those with fewer points are filled up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.kernels.sets._sets import sums
from eigenkit.numerics.linalg import Array

# Lloyd iterations per split: bins need not be optimal clusters, only small and stable ones.
ITERATIONS = 10

# Bins of a smaller diameter, relative to the bin around them, hold copies of one point.
SMALLEST = 1e-3

# Sizes of the clusters of one stack differ by no more than this factor, and a stack has no more
# clusters, nor (if it has several) points: it should stay near the processor.
ALIKE, MOST_GROUPS, MOST_ROWS = 1.25, 64, 2**12

# Squared distances are differences of products: up to this many roundings of those they are 0.
ROUNDINGS = 16


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Clusters of clusters of points, weighted by 1 / diameter.

    The diameter of a bin is taken as twice the largest distance to its centre, and as no
    larger than that of the bin around it, so that weights grow from coarse to fine. Where the
    points do not determine a diameter, a bin of one point takes that of the bin around it
    (otherwise a few sets, whose points are soon alone, would be similar only to themselves), and a
    bin of copies of one point takes the median of its level.
    """

    n_levels: int  # with the bin of everything as the first
    centers: Array  # (n_bins, n_features), in the order of levels
    first: np.ndarray  # the children of bin b are first[b] : first[b] + n_children[b]
    n_children: np.ndarray
    weights: Array

    @classmethod
    def of(cls, points: Array, n_levels: int, branching: int, random: Any) -> Vocabulary:
        """Grow the tree on points, level by level."""
        levels: list[tuple[np.ndarray, ...]] = []
        inside, largest, n_bins = np.zeros(len(points), dtype=np.int64), np.array([np.inf]), 0
        for level in range(n_levels):
            if not len(points):
                break
            order = np.argsort(inside, kind="stable")
            points, inside = points[order], inside[order]
            centers, widths = _extents(points, inside, largest)
            n_bins += len(centers)
            deepest = level == n_levels - 1
            part = _split(points - centers[inside], inside, 0 if deepest else branching, random)
            kept = part >= 0
            names, below = np.unique(part[kept], return_inverse=True)
            parent = names // max(branching, 1)
            held = np.bincount(parent, minlength=len(centers))
            levels.append((centers, n_bins + np.cumsum(held) - held, held, widths))
            points, inside, largest = points[kept], below, widths[parent]
        if not levels:
            return cls(n_levels, *(np.zeros(0, dtype=kind) for kind in (float, int, int, float)))
        centers, first, n_children, widths = (np.concatenate(x) for x in zip(*levels, strict=True))
        weights = widths[0] / widths if widths[0] > 0 else np.ones(len(widths))
        return cls(n_levels, centers, first, n_children, weights)

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
        going = np.flatnonzero((node >= 0) & (self.n_children[node] > 0))
        for bins, rows, real in stacks(node[going]):
            rows = going[rows]
            own, first, held = self.centers[bins][:, None], self.first[bins], self.n_children[bins]
            number = np.arange(held.max())
            children = first[:, None] + np.minimum(number, held[:, None] - 1)
            known = number < held[:, None]
            near = _nearest(points[rows] - own, self.centers[children] - own, known)
            deeper[rows[real]] = (first[:, None] + near)[real]
        return deeper


def _extents(points: Array, inside: np.ndarray, largest: Array) -> tuple[Array, Array]:
    """Centres and diameters of the bins of a level; the bins around them have the largest ones."""
    sizes = np.bincount(inside)
    centers = sums(points, sizes) / sizes[:, None].astype(points.dtype)
    distance = np.sum((points - centers[inside]) ** 2, axis=1)
    furthest = np.maximum.reduceat(distance, np.cumsum(sizes) - sizes)
    widths = 2 * np.sqrt(furthest.astype(np.float64))
    if np.isinf(largest[0]):  # the bin of everything
        return centers, widths
    extended = widths > SMALLEST * largest
    widths[~extended] = np.median(widths[extended]) if extended.any() else np.inf
    widths[sizes == 1] = np.inf
    return centers, np.minimum(widths, largest)


def _split(points: Array, inside: np.ndarray, k: int, random: Any) -> np.ndarray:
    """For every point (given relative to the centre of its bin) k times its bin plus its cluster
    there; -1 where all points are equal."""
    part = np.full(len(points), -1, dtype=np.int64)
    for bins, rows, real in stacks(inside) if k else ():
        centers, known = _clusters(points[rows], real, k, random)
        name = k * bins[:, None] + _nearest(points[rows], centers, known)
        split = real & (known.sum(axis=1) > 1)[:, None]
        part[rows[split]] = name[split]
    return part


def stacks(group: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Groups (b,) of about one size at a time, their rows (b, n), and which of these are real.

    A group of fewer than n rows is filled up with its last one.
    """
    order = np.argsort(group, kind="stable")
    names, starts, sizes = np.unique(group[order], return_index=True, return_counts=True)
    alike = np.ceil(np.log(sizes) / np.log(ALIKE))
    for size in np.unique(alike):
        of_size = np.flatnonzero(alike == size)
        number = np.arange(sizes[of_size].max())
        most = int(np.clip(MOST_ROWS // len(number), 1, MOST_GROUPS))
        for i in range(0, len(of_size), most):
            chosen = of_size[i : i + most]
            last = sizes[chosen, None] - 1
            rows = order[starts[chosen, None] + np.minimum(number, last)]
            yield names[chosen], rows, number <= last


def _nearest(points: Array, centers: Array, known: np.ndarray) -> np.ndarray:
    """The number of the nearest known centre of each point, stack by stack."""
    half = np.where(known, np.einsum("bkd,bkd->bk", centers, centers) / 2, np.inf)
    products = points @ centers.transpose(0, 2, 1)
    return np.asarray(np.argmin(half.astype(points.dtype)[:, None] - products, axis=2))


def _clusters(points: Array, real: np.ndarray, k: int, random: Any) -> tuple[Array, np.ndarray]:
    """Up to k centres in every stack by Lloyd's iterations, and which of them there are."""
    b, n, d = points.shape
    centers, known = _spread(points, real, k, random)
    weight, rows = real.ravel().astype(points.dtype), np.arange(b * n)
    for _ in range(ITERATIONS):
        name = (_nearest(points, centers, known) + k * np.arange(b)[:, None]).ravel()
        belongs = sparse.csr_array((weight, (name, rows)), shape=(b * k, b * n))
        count = np.bincount(name, weights=weight, minlength=b * k)[:, None]
        moved = (belongs @ points.reshape(b * n, d)) / np.maximum(count, 1).astype(points.dtype)
        moved, known = moved.reshape(b, k, d), count.reshape(b, k) > 0
        if np.array_equal(moved, centers):
            break
        centers = moved
    return centers, known


def _spread(points: Array, real: np.ndarray, k: int, random: Any) -> tuple[Array, np.ndarray]:
    """Up to k distinct points in every stack, each drawn with probability proportional to its
    squared distance, and which of them there are."""
    b, n, d = points.shape
    squared = np.einsum("bnd,bnd->bn", points, points)
    rounding = ROUNDINGS * np.finfo(points.dtype).eps
    centers, known = np.zeros((b, k, d), dtype=points.dtype), np.zeros((b, k), dtype=bool)
    weight = real.astype(np.float64)
    for j in range(k):
        ends = np.cumsum(weight, axis=1)
        known[:, j] = ends[:, -1] > 0
        if not known[:, j].any():
            break
        drawn = np.sum(ends <= (random.uniform(size=b) * ends[:, -1])[:, None], axis=1)
        drawn = np.minimum(drawn, n - 1)
        centers[:, j] = points[np.arange(b), drawn]
        total = squared + squared[np.arange(b), drawn][:, None]
        distance = total - 2 * (points @ centers[:, j, :, None])[:, :, 0]
        distance = np.where(distance > rounding * total, distance, 0)
        weight = np.minimum(weight, distance) if j else real * distance.astype(np.float64)
    return centers, known


# -- one cluster of clusters --------------------------------------------------------------


def nearest(points: Array, centers: Array) -> np.ndarray:
    """The number of the nearest centre of each point."""
    shift = centers.mean(axis=0)  # distances are differences: keep their terms small
    C, P = centers - shift, points - shift
    return np.asarray(np.argmin(np.sum(C * C, axis=1) / 2 - P @ C.T, axis=1))


def cluster(points: Array, k: int, random: Any) -> Array:
    """Up to k centres by Lloyd's iterations."""
    shift = points.mean(axis=0)
    real = np.ones((1, len(points)), dtype=bool)
    centers, known = _clusters((points - shift)[None], real, k, random)
    return np.asarray(centers[known] + shift)
