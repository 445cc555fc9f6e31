"""The rows of each class, in coordinates in which planes can be computed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.estimators._validation import NO_VARIANCE
from eigenkit.linalg import Array, eigenpairs, power_of_two
from eigenkit.solvers.planes import class_grams, lower_grams
from eigenkit.tolerances import EPS, ROUNDING, SQUARES_RANGE, above_rounding, grain


class ClassRows:
    """The features of each class, in the coordinates that the planes are computed in.

    ``parts[c] = sqrt(w) [features, 1]``; a plane z there is the plane R z in the coordinates
    in which its ridge and distances are measured (R None: the same). ``column`` holds the
    factors that landmarks of weights other than one have put on their columns, ``eps`` is the
    precision of the features as they were given.
    """

    def __init__(
        self,
        parts: list[Any],
        R: Array | None = None,
        column: Array | None = None,
        eps: float = EPS,
    ) -> None:
        self.parts, self.R, self.eps = parts, R, eps
        self.column_weight = None if column is None else np.append(column**2, 1.0)

    @classmethod
    def of(
        cls,
        F: Any,
        bounds: np.ndarray,
        root: Array | None,
        R: Array | None = None,
        column: Array | None = None,
        eps: float = EPS,
    ) -> ClassRows:
        """From features sorted by class, and the roots of the weights of their rows."""
        N = with_ones(F, root)
        return cls([N[a:b] for a, b in pairwise(bounds)], R, column, eps)

    @property
    def may_be_dense(self) -> bool:
        """Whether products of the rows with dense matrices take no more room than the rows."""
        return not sparse.issparse(self.parts[0])

    def grams(self) -> list[Array]:
        with np.errstate(over="ignore", invalid="ignore"):  # the solver looks at the sums
            grams: list[Any] = class_grams(self.parts)
        return grams if self.may_be_dense else [G.toarray() for G in grams]

    def lower_grams(self) -> list[Array]:
        return lower_grams(self.parts) if self.may_be_dense else self.grams()

    def grain(self) -> Array:
        """How long the columns may be by the rounding of the features as they were given."""
        squares = np.sum([np.einsum("ij,ij->j", N, N) for N in self.parts], axis=0)
        if self.R is not None:
            squares[:-1] += squares[-1] * self.R[-1, :-1] ** 2
        squares[-1] = 0.0
        return np.asarray(grain(squares, sum(map(len, self.parts)), self.eps))

    def to_normal(self) -> Array:
        """The map from z to the normal of the plane."""
        order = self.parts[0].shape[1]
        return np.eye(order)[:-1] if self.R is None else self.R[:-1]


def with_ones(F: Any, root: Array | None) -> Any:
    """sqrt(w) [F, 1]."""
    n, d = F.shape
    if sparse.issparse(F):
        last = F.indptr[1:]  # the one is the last number of its row
        data, column = (
            np.insert(F.data.astype(np.float64), last, 1.0),
            np.insert(F.indices, last, d),
        )
        indptr = F.indptr + np.arange(n + 1, dtype=F.indptr.dtype)
        if root is not None:
            data *= np.repeat(root, np.diff(indptr))
        return sparse.csr_array((data, column, indptr), shape=(n, d + 1))
    N = np.empty((n, d + 1))
    N[:, :-1] = F
    N[:, -1] = 1.0
    if root is not None:
        N *= root[:, None]
    return N


def standardized(X: Array) -> tuple[Array, Array, Array]:
    """Mean, (X - mean) / unit, and R that takes planes there to planes of X.

    Quotients of distances do not depend on the origin and the units; digits do.
    """
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
    unit = power_of_two(size)
    return shift, Z / unit, to_planes(shift, unit, constant)


def to_planes(shift: Array, unit: Array, constant: np.ndarray) -> Array:
    """R that takes planes of (X - shift) / unit to planes of X.

    Constant features stay out of it: by them a penalty would let the plane move for less.
    """
    R = np.diag([*(1 / unit), 1.0])
    R[-1, :-1] = np.where(constant, 0.0, -shift / unit)
    return R


def row_space(X: Any) -> tuple[Array, Array]:
    """Coordinates of the rows of a wide sparse X in an orthonormal basis of their span."""
    values, vectors = eigenpairs((X @ X.T).toarray().astype(np.float64))
    keep = above_rounding(values, X.shape[0])
    if not keep.any():
        raise ValueError(NO_VARIANCE)
    root = np.sqrt(values[keep])
    return vectors[:, keep] * root, (X.T @ (vectors[:, keep] / root)).T


def check_varied(K: Array) -> None:
    if np.array_equal(K[0], K[1]) and np.all(K[0] == K):
        raise ValueError("The kernel has zero variance: it is the same for all samples.")


def kernel_unit(K: Array) -> float:
    """1, or a power of two that brings kernel values of extreme size near 1."""
    size = max(float(K.max()), -float(K.min()))
    return (
        1.0 if SQUARES_RANGE[0] < size < SQUARES_RANGE[1] else float(power_of_two(np.array(size)))
    )
