"""Samples for several kernels: rows of features, or a matrix for every kernel.

Both have the same methods, so the code that learns the weights need not know which of them it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenkit.data import CenteredKernel, check_finite
from eigenkit.estimators._kernel_space import check_kernel_params, refuse_overflow, symmetry_tol
from eigenkit.kernels import CombinedKernel, Kernel, check_positive, checked_kernel, rounding
from eigenkit.numerics.linalg import Array
from eigenkit.shell import shown


@dataclass(frozen=True)
class FeatureRows:
    """Rows of features X (n x d), and kernels that are functions of them."""

    X: Any

    @property
    def n_samples(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: np.ndarray) -> FeatureRows:
        """Some of the training samples."""
        return FeatureRows(self.X[rows])

    def finite(self) -> FeatureRows:
        """These samples, if all of their numbers are finite."""
        check_finite("X", self.X)
        return self

    def fitted(self, asked: Any, weight: Array | None) -> tuple[Kernel, ...]:
        """The kernels that were asked for, with their widths from the data."""
        if asked is None:
            middle = Kernel("rbf", "scale").fitted(self.X, weight).gamma
            return tuple(Kernel("rbf", middle * 4.0**s).fitted(self.X) for s in range(-2, 3))
        try:
            given = list(asked)
        except TypeError:
            given = []
        if not given or isinstance(asked, str):
            raise ValueError(
                f"kernels={shown(asked)} is not valid: give a list of kernels, or 'precomputed'."
            )
        return tuple(_as_kernel(kernel).fitted(self.X, weight) for kernel in given)

    def matrix(self, j: int, kernels: tuple[Any, ...]) -> Array:
        """Kernel j between all training samples, checked."""
        K = refuse_overflow(kernels[j](self.X))
        return checked_kernel(K, f"kernels[{j}]", symmetry_tol(self.X, kernels[j].kernel))

    def rounding(self, kernel: Any, K: Array, weight: Array | None) -> float:
        """Eigenvalues of a kernel up to this may come from the rounding of the samples."""
        return rounding(kernel, self.X, K, np.ones(len(K)) if weight is None else weight)

    def combined(self, kernels: tuple[Any, ...], theta: Array, X_fit: Any) -> Array:
        """The weighted sum of the kernels between these samples and those of the fit."""
        return CombinedKernel(kernels, tuple(theta))(self.X, X_fit)


@dataclass(frozen=True)
class KernelMatrices:
    """Kernel matrices between these samples and those of the fit, one per kernel."""

    X: list[np.ndarray]

    @classmethod
    def read(cls, X: Any) -> KernelMatrices:
        """The matrices that a user gives: of one shape."""
        matrices = [np.asarray(K) for K in X]
        if not matrices or any(K.ndim != 2 or K.shape != matrices[0].shape for K in matrices):
            shapes = ", ".join(str(K.shape) for K in matrices)
            raise ValueError(
                f"X holds kernels of shapes {shapes or 'of none'}: give matrices of one shape."
            )
        return cls(matrices)

    def finite(self) -> KernelMatrices:
        for j, K in enumerate(self.X):
            check_finite(f"kernels[{j}]", K)
        return self

    @property
    def n_samples(self) -> int:
        return len(self.X[0])

    def take(self, rows: np.ndarray) -> KernelMatrices:
        return KernelMatrices([K[np.ix_(rows, rows)] for K in self.X])

    def columns(self, used: np.ndarray, n_kernels: int, n_fit: int) -> KernelMatrices:
        """The columns of the training samples that had a weight, of new samples."""
        given = len(self.X), self.X[0].shape[1]
        if given != (n_kernels, n_fit):
            raise ValueError(
                f"X holds {given[0]} kernels with {given[1]} columns: give {n_kernels}, "
                f"with a column for each of the {n_fit} training samples."
            )
        return KernelMatrices([K[:, used] for K in self.X])

    def fitted(self, asked: Any, weight: Array | None) -> tuple[str, ...]:
        return tuple("precomputed" for _ in self.X)

    def matrix(self, j: int, kernels: tuple[Any, ...]) -> Array:
        return np.array(checked_kernel(np.asarray(self.X[j], dtype=np.float64), f"kernels[{j}]"))

    def rounding(self, kernel: Any, K: Array, weight: Array | None) -> float:
        """Unknown for matrices that the user has computed."""
        return 0.0

    def combined(self, kernels: tuple[Any, ...], theta: Array, X_fit: Any) -> Array:
        return np.asarray(sum(t * K for t, K in zip(theta, self.X, strict=True) if t > 0))


def check_useful(j: int, Z: CenteredKernel, kernel: Any) -> None:
    """Refuse kernel j if it is constant, or not positive semidefinite, which some are by design."""
    if Z.vanishes:
        raise ValueError(f"kernels[{j}] is constant over the samples: leave it out.")
    if not getattr(kernel, "positive", False):
        check_positive(Z.outer(), f"kernels[{j}]")


def _as_kernel(given: Any) -> Kernel:
    kernel = given if isinstance(given, Kernel) else Kernel(given)
    check_kernel_params(kernel, kernel.params)
    return kernel
