"""Features of planes around their mean: in units of their own, or in the space of few wide rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg as sla
from scipy import sparse

from eigenkit.estimators._validation import NO_VARIANCE
from eigenkit.numerics.linalg import Array, eigenpairs, power_of_two
from eigenkit.numerics.tolerances import ROUNDING, above_rounding, grain

# Data with this many times more columns than rows are turned into the space that the rows span.
WIDE = 2
# A rotation costs small columns their digits: beside others so many times as large they keep their
# own units, unless these would be too many for a matrix of their order.
UNLIKE, TOO_MANY = 1e4, 2000


def is_wide(n: int, size: Array) -> bool:
    """Whether n rows with columns of these sizes are turned into their space."""
    if len(size) < WIDE * n or len(size) > TOO_MANY:
        return len(size) >= WIDE * n
    there = size[size > 0]
    return bool(there.size and there.max() <= UNLIKE * there.min())


def centred(X: Array) -> tuple[Array, Array, Array]:
    """X - mean, the mean, and the sizes of the columns: 0 for those that are constant."""
    shift = X.mean(axis=0, dtype=np.float64)
    Z = X - shift
    high, low = Z.max(axis=0), Z.min(axis=0)
    size = np.maximum(high, -low)
    # The mean is a rounded sum, so what is constant shows in differences, not in sizes.
    constant = high - low <= ROUNDING * np.abs(shift)
    if constant.all():
        raise ValueError(NO_VARIANCE)
    if constant.any():  # or the rounding of their mean would become a feature
        Z, size = np.where(constant, 0.0, Z), np.where(constant, 0.0, size)
    return Z, shift, size


def to_planes(shift: Array, unit: Array, constant: np.ndarray) -> Array:
    """R that takes planes of (X - shift) / unit to planes of X.

    Constant features are left out: with them, the plane could move at a smaller penalty.
    """
    R = np.diag([*(1 / unit), 1.0])
    R[-1, :-1] = np.where(constant, 0.0, -shift / unit)
    return R


@dataclass(frozen=True)
class Space:
    """Rows around ``shift`` in coordinates of their own.

    R takes planes of these coordinates to planes of X or, where there is one, of an orthonormal
    ``basis`` (r x d) in its place.
    """

    coordinates: Array
    R: Array
    shift: Array
    basis: Array | None = None

    @classmethod
    def of(cls, Z: Array, shift: Array, size: Array, n: float, eps: float) -> Space:
        """From n rows around their mean, or as many with the same products, and the sizes of their
        columns, 0 for constant ones; ``eps`` is their precision.

        Quotients of distances do not depend on the origin and the units; digits do.
        """
        if is_wide(len(Z), size):
            return _of_rows(Z, shift, np.where(size == 0, 0.0, shift), n, eps)
        unit = power_of_two(size)
        return cls(Z / unit, to_planes(shift, unit, size == 0), shift)


def _of_rows(Z: Array, shift: Array, mean: Array, n: float, eps: float) -> Space:
    """The space that the rows and their mean span.

    With a normal orthogonal to both, a plane has the same distances to all rows, but a larger
    penalty.
    """
    size = float(power_of_two(np.array(max(np.abs(Z).max(), np.abs(mean).max()))))
    Z, mean = Z / size, mean / size
    U, s, basis = sla.svd(Z, full_matrices=False)
    squares = np.einsum("ij,ij->j", Z, Z) + n * mean**2
    keep = s > np.linalg.norm(grain(squares, len(Z), eps))
    if not keep.any():
        raise ValueError(NO_VARIANCE)
    F, basis, aside = U[:, keep] * s[keep], basis[keep], mean
    for _ in range(2):
        aside = aside - basis.T @ (basis @ aside)
    length = np.linalg.norm(aside)
    if length > ROUNDING * np.linalg.norm(mean):
        basis = np.vstack([basis, aside / length])
        F = np.column_stack([F, np.zeros(len(F))])
    unit = power_of_two(np.abs(F).max(axis=0))
    R = to_planes(size * (basis @ mean), size * unit, np.zeros(len(unit), dtype=bool))
    return Space(F / unit, R, shift, basis)


def space_of(X: Any, eps: float) -> Space:
    """The rows of X around a point: their mean, or zero where X is sparse."""
    if not sparse.issparse(X):
        return Space.of(*centred(X), len(X), eps)
    values, vectors = eigenpairs((X @ X.T).toarray().astype(np.float64))
    keep = above_rounding(values, X.shape[0])
    if not keep.any():
        raise ValueError(NO_VARIANCE)
    root = np.sqrt(values[keep])
    basis = (X.T @ (vectors[:, keep] / root)).T
    return Space(vectors[:, keep] * root, np.eye(len(root) + 1), np.zeros(X.shape[1]), basis)
