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


def standardized(X: Array) -> tuple[Array, Array, Array]:
    """Mean, (X - mean) / unit, and R that takes planes there to planes of X.

    Quotients of distances do not depend on the origin and the units; digits do.
    """
    shift, Z, size, constant = centred(X)
    unit = power_of_two(size)
    return shift, Z / unit, to_planes(shift, unit, constant)


def centred(X: Array) -> tuple[Array, Array, Array, np.ndarray]:
    """Mean, X - mean, the sizes of its columns, and which of them are constant."""
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
    return shift, Z, size, constant


def to_planes(shift: Array, unit: Array, constant: np.ndarray) -> Array:
    """R that takes planes of (X - shift) / unit to planes of X.

    Constant features stay out of it: by them a penalty would let the plane move for less.
    """
    R = np.diag([*(1 / unit), 1.0])
    R[-1, :-1] = np.where(constant, 0.0, -shift / unit)
    return R


@dataclass(frozen=True)
class RowSpace:
    """Rows (n x d) around ``shift`` in coordinates of an orthonormal ``basis`` (r x d).

    It spans the rows and their mean: with a normal orthogonal to both, a plane has the same
    distances to all rows, but a larger penalty. R takes planes of these coordinates to planes of
    the basis.
    """

    coordinates: Array
    basis: Array
    R: Array

    @classmethod
    def of(cls, Z: Array, shift: Array, n: float, eps: float) -> RowSpace:
        """From n rows around their mean, or as many with the same products; ``eps`` is their
        precision."""
        size = float(power_of_two(np.array(max(np.abs(Z).max(), np.abs(shift).max()))))
        Z, mean = Z / size, shift / size
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
        return cls(F / unit, basis, R)


def row_space(X: Any, eps: float) -> tuple[Array, RowSpace]:
    """A point, and the rows of a wide X around it in the space that they span."""
    if not sparse.issparse(X):
        shift, Z, _, constant = centred(X)
        return shift, RowSpace.of(Z, np.where(constant, 0.0, shift), len(X), eps)
    values, vectors = eigenpairs((X @ X.T).toarray().astype(np.float64))
    keep = above_rounding(values, X.shape[0])
    if not keep.any():
        raise ValueError(NO_VARIANCE)
    root = np.sqrt(values[keep])
    basis = (X.T @ (vectors[:, keep] / root)).T
    return np.zeros(X.shape[1]), RowSpace(vectors[:, keep] * root, basis, np.eye(len(root) + 1))
