"""What all kernel methods share: the kernel's parameters, and samples as rows of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from eigenkit.data import as_dense, check_finite, constant_columns, largest
from eigenkit.estimators._estimator import Projection, Transformer
from eigenkit.estimators._streams import Result
from eigenkit.estimators._validation import NO_VARIANCE, check_X
from eigenkit.kernels import (
    KERNELS,
    PRECOMPUTED,
    Kernel,
    KernelRows,
    PrecomputedKernel,
    check_kernel_size,
    check_positive,
    check_precomputed,
    checked_kernel,
    landmark_map,
    pivots,
    rounding,
)
from eigenkit.moments import KernelMatrix, Problem, Rows
from eigenkit.numerics.linalg import Array, signs
from eigenkit.numerics.tolerances import EPS, SYMMETRY_TOL, precision
from eigenkit.pencil import Solution
from eigenkit.shell import check_choice, check_count, check_real, random_of, shown, take_parameters
from eigenkit.solvers import Settings

CONSTANT_KERNEL = "X has zero variance to the kernel: all samples have the same inner products."


def check_kernel_params(given: Any, params: Any, extra: tuple[str, ...] = ()) -> None:
    """The parameters of one kernel, as scikit-learn names them; ``params`` are its own."""
    if not callable(given.kernel):
        check_choice("kernel", given.kernel, (*KERNELS, *extra))
    if isinstance(given.gamma, str):
        check_choice("gamma", given.gamma, ("scale",))
    elif given.gamma is not None and check_real("gamma", given.gamma) == 0.0:
        raise ValueError("gamma=0 is not valid: it makes all samples alike, give a number above 0.")
    check_real("degree", given.degree)
    check_real("coef0", given.coef0, low=-np.inf)
    if params is not None and not isinstance(params, dict):
        raise TypeError(f"kernel_params={shown(params)} is not valid: give a dict of arguments.")


class KernelParameters:
    """The parameters of a kernel and of its landmarks, of whichever estimator has them."""

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    kernel_params: Any
    approximation: Any
    n_landmarks: Any
    random_state: Any

    def _check_kernel(self) -> None:
        check_kernel_params(self, self.kernel_params, ("precomputed",))
        if self.approximation is not None:
            check_choice("approximation", self.approximation, ("cholesky", "nystroem"))
        check_count("n_landmarks", self.n_landmarks)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _fitted_kernel(self, rows: Rows) -> Kernel:
        """The kernel, with what it takes from the samples."""
        kernel = Kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)
        return kernel.fitted(rows.X, rows.weight)

    @property
    def _kernel_name(self) -> str:
        return PRECOMPUTED if self._precomputed else "kernel"

    def _landmarks(self, columns: Callable[[np.ndarray], Array], diagonal: Array) -> np.ndarray:
        """Samples that represent all, by the columns of the kernel and its diagonal."""
        n = len(diagonal)
        m = min(int(self.n_landmarks), n)
        if self.approximation == "cholesky":
            return pivots(columns, diagonal, m, name=self._kernel_name)
        return np.sort(random_of(self.random_state).choice(n, size=m, replace=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags


def refuse_overflow(K: Array) -> Array:
    """K, if the kernel function gave finite numbers that have all their digits."""
    size = largest(K)
    if not np.isfinite(size):
        raise ValueError(
            "kernel gave NaN or infinity for finite samples: scale X down, or check the function."
        )
    if 0 < size < np.finfo(np.float64).tiny:
        raise ValueError(
            f"kernel is at most {size:.2g}, where floating point numbers lose digits: scale X up."
        )
    return K


def symmetry_tol(X: Any, kernel: Any = "precomputed") -> float:
    """How far from symmetric a kernel may be; one of our own functions needs no check."""
    if isinstance(kernel, str) and kernel != "precomputed":
        return float("inf")
    return max(SYMMETRY_TOL, 100 * precision(X))


class KernelSpace(KernelParameters, Transformer):
    """Samples as rows k(x, X_fit_) of a kernel, exactly or by landmarks.

    After fitting, ``kernel_`` and ``X_fit_`` (the training samples, or the landmarks among
    them) give the rows of new samples.
    """

    @property
    def _keeps_samples(self) -> bool:  # type: ignore[override]
        """Whether X itself becomes part of the model; landmarks are copied out of it anyway."""
        return self.approximation is None and not self._precomputed

    def _in_kernel_space(self, given: Rows) -> Rows:
        """The rows as a kernel matrix, or as features of their own; remembers X_fit_."""
        rows = given.positive()
        X, reference = rows.X, rows.X
        if self._precomputed:
            check_precomputed(given.X)
            self.kernel_: Any = PrecomputedKernel()
            reference = np.flatnonzero(given.weights() > 0)
        else:
            check_finite("X", X)
            if constant_columns(X).all():
                raise ValueError(NO_VARIANCE)
            self.kernel_ = self._fitted_kernel(rows)
            self.gamma_ = self.kernel_.gamma
        if self.approximation is not None:
            return self._landmark_rows(given, rows, reference)
        check_kernel_size(X.shape[0])
        self.X_fit_ = reference
        K = self.kernel_(X, reference) if self._precomputed else refuse_overflow(self.kernel_(X))
        K = checked_kernel(K, self._kernel_name, symmetry_tol(X, self.kernel))
        # What checked_kernel returns may be the user's own matrix.
        K = K.copy() if np.shares_memory(K, X) else K
        eps = precision(X) if self._precomputed or callable(self.kernel) else EPS
        known = rounding(self.kernel_, X, K, rows.weights())
        return KernelMatrix(K, rows.Y, rows.weight, None, known, eps)

    def _landmark_rows(self, given: Rows, rows: Rows, reference: Any) -> Rows:
        """Explicit features k(x, L) N of the rows, by landmarks L.

        ``reference`` stands for the samples: X, or the columns of a precomputed kernel.
        """
        X, kernel = rows.X, self.kernel_
        if self._precomputed:  # it is there: check all of it
            whole = checked_kernel(kernel(X, reference), self._kernel_name, symmetry_tol(X))
            diagonal = whole.diagonal()
        else:
            diagonal = refuse_overflow(kernel.diagonal(X))
        index = self._landmarks(lambda index: kernel(X, reference[index]), diagonal)
        self.X_fit_ = reference[index]
        K = refuse_overflow(kernel(X, self.X_fit_))
        among = checked_kernel(K[index], self._kernel_name, symmetry_tol(X, self.kernel))
        self.landmarks_ = np.flatnonzero(given.weights() > 0)[index]
        least = rounding(kernel, self.X_fit_, among, np.ones(len(index)))
        self._map_ = landmark_map(among, self._kernel_name, least)
        weight = rows.weights()
        self._row_mean_ = weight @ K / weight.sum()
        F = K @ self._map_
        missed = 1.0 - float(np.sum(weight @ (F * F)) / (weight @ diagonal))
        self.approximation_error_ = max(0.0, missed)
        return Rows(F, rows.Y, rows.weight)

    def _on_rows(self, W: Array, mean: Array) -> tuple[Array, Array]:
        """Coefficients and means of the features as those of rows k(x, X_fit_)."""
        return (W, mean) if self.approximation is None else (self._map_ @ W, self._row_mean_)

    def _features(self, X: Any) -> Any:
        """Rows k(x, X_fit_) of new samples, evaluated block by block."""
        return KernelRows(self.kernel_, check_X(self, X, reset=False), self.X_fit_)

    def transform(self, X: Any) -> Array:
        """Project new samples: ``(kernel(X, X_fit_) - mean_) @ components_.T``.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            With ``kernel="precomputed"`` inner products with the training samples, of shape
            (n_samples, n_training_samples).

        {scores}
        """
        return self._scores(X)

    def _scores(self, X: Any) -> Array:
        return self._projected(X).astype(self._dtype_, copy=False)

    def _check_kernel_matrix(self, Z: Any) -> None:
        """Refuse a kernel that is constant or not positive semidefinite."""
        if self.approximation is not None:
            return
        if Z.vanishes:
            raise ValueError(CONSTANT_KERNEL)
        if not self.kernel_.positive:
            check_positive(Z.outer(), self._kernel_name)


# They are not called coef_, which would be read as coefficients of the features.
NOT_LINEAR = "it is not linear in the features; dual_coef_ are the coefficients of k(x, X_fit_)"


class DualCoefficients:
    """Coefficients of k(x, X_fit_), by the name that scikit-learn's kernel models give them."""

    coef_ = Result(NOT_LINEAR)

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of k(x, X_fit_), computed when asked for."""
        return np.asarray(super().coef_)  # type: ignore[misc]


class KernelProjection(KernelSpace, Projection):
    """Base class of the supervised projections in the space of a kernel."""

    def __init__(
        self,
        n_components: int | None = None,
        *,
        label_rank: int | str | None = None,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Any = None,
        alpha: float = 1.0,
        solver: str = "auto",
        approximation: str | None = None,
        n_landmarks: int = 500,
        random_state: Any = None,
    ) -> None:
        take_parameters(self, locals())

    # No parameters: a kernel is factored.
    regression, tol, max_iter = "auto", 1e-8, 1000

    def _settings(self) -> Settings:
        self._check_kernel()
        # Cholesky, and a singular value decomposition where that is not enough, take all features.
        method, reason = "cholesky", "the features of landmarks are few"
        if self.approximation is None:
            method, reason = "dual_cholesky", "the kernel matrix is known"
        settings: Settings = super()._settings()
        return replace(settings, regression=method, n_components=None, reason=reason)

    def _sample(
        self, X: Any, y: Any, sample_weight: Any, graph: Any = None, *, rounding: float = 0.0
    ) -> Any:
        """``rounding`` is that of a precomputed kernel, where whoever computed it knows it."""
        rows = super()._sample(X, y, sample_weight, graph)
        return replace(rows, rounding=rounding) if rounding else rows

    def _take(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        rows = self._rows(X, y, sample_weight)
        # The kernel has n x n numbers, which is more than dense labels have.
        return self._in_kernel_space(replace(rows, Y=as_dense(rows.Y)))

    def _every_row(self, X: Any, y: Any, weight: Array) -> Rows:
        rows = self._take(X, y, None)
        if self.approximation is not None:  # means are those of the rows that have a weight
            some = np.flatnonzero(weight)
            K = self.kernel_(check_X(self, _safe_indexing(X, some), reset=False), self.X_fit_)
            self._row_mean_ = weight[some] @ K / weight[some].sum()
        return rows

    def _check_informative(self, problem: Problem) -> None:
        super()._check_informative(problem)
        self._check_kernel_matrix(problem.pencil.Z)

    def _keep(self, problem: Problem, solution: Solution) -> None:
        # Signs are fixed on the side of y: those of dual coefficients depend on the order of rows.
        solution = solution.turned(signs(solution.basis))
        W, mean = self._on_rows(solution.W, problem.mean)
        super()._keep(replace(problem, mean=mean), replace(solution, W=W))

    def _cast(self, value: Any) -> Any:
        """Dual coefficients cancel in their sums: they stay in float64, scores are cast."""
        return np.asarray(value, order="C") if isinstance(value, np.ndarray) else value

    @property
    def partial_fit(self) -> Any:
        """Kernel methods need all samples at once."""
        raise AttributeError(f"{type(self).__name__} has no partial_fit: it needs all samples.")

    @property
    def merge(self) -> Any:
        """Kernel methods keep no stream to merge."""
        raise AttributeError(f"{type(self).__name__} has no merge: it keeps no stream.")


# -- samples for several kernels --------------------------------------------------------------
# Both kinds have the same methods, so the code that learns the weights of the kernels need not know
# which of them it has.


@dataclass(frozen=True)
class FeatureRows:
    """Rows of features X (n x d), and kernels that are functions of them."""

    X: Any

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
        given = list(asked) if np.iterable(asked) and not isinstance(asked, str) else []
        if not given:
            raise ValueError(
                f"kernels={shown(asked)} is not valid: give a list of kernels, or 'precomputed'."
            )
        kernels = [kernel if isinstance(kernel, Kernel) else Kernel(kernel) for kernel in given]
        for kernel in kernels:
            check_kernel_params(kernel, kernel.params)
        return tuple(kernel.fitted(self.X, weight) for kernel in kernels)

    def matrix(self, j: int, kernel: Any, weight: Array | None) -> tuple[Array, float]:
        """Kernel j between all training samples, and eigenvalues that may be their rounding."""
        tol = symmetry_tol(self.X, kernel.kernel)
        K = checked_kernel(refuse_overflow(kernel(self.X)), f"kernels[{j}]", tol)
        return K, rounding(kernel, self.X, K, np.ones(len(K)) if weight is None else weight)

    def combined(self, kernels: tuple[Any, ...], theta: Array, X_fit: Any) -> Array:
        """The weighted sum of the kernels between these samples and those of the fit."""
        pairs = zip(kernels, theta, strict=True)
        return np.asarray(sum(t * kernel(self.X, X_fit) for kernel, t in pairs if t > 0))


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

    def take(self, rows: np.ndarray) -> KernelMatrices:
        return KernelMatrices([K[np.ix_(rows, rows)] for K in self.X])

    def finite(self) -> KernelMatrices:
        for j, K in enumerate(self.X):
            check_finite(f"kernels[{j}]", K)
        return self

    def fitted(self, asked: Any, weight: Array | None) -> tuple[str, ...]:
        return ("precomputed",) * len(self.X)

    def matrix(self, j: int, kernel: Any, weight: Array | None) -> tuple[Array, float]:
        """The rounding of matrices that the user has computed is unknown."""
        return np.array(checked_kernel(np.asarray(self.X[j], np.float64), f"kernels[{j}]")), 0.0

    def combined(self, kernels: tuple[Any, ...], theta: Array, X_fit: Any) -> Array:
        return np.asarray(sum(t * K for t, K in zip(theta, self.X, strict=True) if t > 0))
