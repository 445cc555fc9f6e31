"""The shell of the classifiers by planes: check, order by class, find the planes, keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import as_dense, check_finite, project
from eigenkit.estimators._both_sides import ScoresByName
from eigenkit.estimators._class_rows import (
    ClassRows,
    ClassSums,
    PlaneStreams,
    check_class_counts,
    check_varied,
    kernel_unit,
    landmark_rows,
    plane_sums,
    with_ones,
)
from eigenkit.estimators._described import described
from eigenkit.estimators._encoding import class_index
from eigenkit.estimators._estimator import Estimator
from eigenkit.estimators._heads import held_out_distances, softmax_scale
from eigenkit.estimators._kernel_space import (
    KernelParameters,
    refuse_overflow,
    symmetry_tol,
)
from eigenkit.estimators._row_space import space_of
from eigenkit.estimators._validation import check_X, counted
from eigenkit.kernels import PRECOMPUTED, check_precomputed, checked_kernel
from eigenkit.moments import Rows
from eigenkit.numerics.costs import may_be_dense
from eigenkit.numerics.linalg import Array, signs
from eigenkit.numerics.tolerances import EPS, precision
from eigenkit.pencil import Report
from eigenkit.shell import check_flag, check_real, lacks, take_parameters
from eigenkit.solvers.large_planes import PlaneRows, PlaneSums
from eigenkit.solvers.planes import Planes

# Sparse data with more rows and more columns than this are used in products only: no matrix of
# either order is formed.
LARGE_ORDER = 4000

_REFIT = "This %(name)s has learned no probabilities: fit it with probability=True."


def _learns_probabilities(model: Any) -> bool:
    if not model.probability:
        raise AttributeError(
            f"{type(model).__name__} gives probabilities only if it is fitted with "
            "probability=True."
        )
    return True


def _beyond_rounding(D: Array, X: Any, model: ProximalPlanes) -> Array:
    """Distances to planes, 0 where they are only rounding.

    A sample may lie in the planes of several classes. Which of them is the nearest must not
    depend on how they were computed.
    """
    eps = 64 * float(np.finfo(D.dtype).eps)
    near = np.flatnonzero((1e6 * eps * D.max(initial=0.0) >= D).any(axis=1))
    if len(near):
        X, normals, bias = abs(X[near]), np.abs(model.coef_), np.abs(model._bias_)
        center = np.abs(model._center_)
        # Feature by feature: a large one of small weight must not loosen the bound of others.
        bound = eps * (X @ normals.T + normals @ center + bias)
        largest = np.ravel(as_dense(X.max(axis=1)))
        # Rounding of the normals, which were found in double precision.
        found = 64 * EPS * np.sqrt(X.shape[1]) * (largest[:, None] + center.max() + bias)
        D[near] = np.where(D[near] <= np.maximum(bound, found), 0.0, D[near])
    return D


@dataclass(frozen=True)
class ByClass:
    """Rows of positive weight sorted by class; the class c has rows bounds[c] to bounds[c + 1].

    ``order`` holds their places among all rows, ``root`` the roots of their weights.
    """

    rows: Rows
    order: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, rows: Rows, classes: np.ndarray) -> ByClass:
        """Refuses what holds fewer than two classes, or one sample of each."""
        k, codes = len(classes), rows.Y[:, 0]
        order = np.argsort(codes, kind="stable")
        if rows.weight is not None:
            order = order[rows.weight[order] > 0]
        counts = np.bincount(codes[order], minlength=k)
        absent = "sample_weight is zero for every sample of the class {}."
        check_class_counts(classes, counts > 0, len(order), absent)
        return cls(rows.take(order), order, np.concatenate([[0], np.cumsum(counts)]))

    @property
    def root(self) -> Array | None:
        return None if self.rows.weight is None else np.sqrt(self.rows.weight)

    def in_order(self) -> Rows:
        """The same rows in the order in which they came."""
        return self.rows.take(np.argsort(self.order))


# Planes, and the coordinates of the rows that they were found from.
Found = tuple[Planes, ClassRows]
AS_GIVEN = ClassRows([])  # the features as they were given


@described
class ProximalPlanes(PlaneStreams, ScoresByName, ClassifierMixin, KernelParameters, Estimator):
    """One plane per class, near to it and far from the rest; the nearest plane wins."""

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        approximation: str | None = None,
        n_landmarks: int = 500,
        random_state: Any = None,
        probability: bool = False,
    ) -> None:
        take_parameters(self, locals())

    alpha: float
    probability: bool

    # -- what a subclass says ----------------------------------------------------------

    def _planes(self, rows: ClassRows) -> Planes:
        lacks(self, "_planes")

    def _from_raw(self, rows: ClassRows) -> Planes | None:
        """Planes from uncentred features, where the method and the data allow for it."""
        return None

    def _from_products(self, rows: PlaneSums) -> Planes:
        """Planes of sparse rows too many and too wide for matrices of either order."""
        lacks(self, "_from_products")

    def _eigenvalues(self, shares: Array) -> Array:
        """Numerator / denominator of each plane."""
        with np.errstate(divide="ignore"):
            return shares / (1 - shares)

    # -- fitting -----------------------------------------------------------------------

    _take = Estimator._rows

    def _state(self, sample: Any) -> ByClass | ClassSums | PlaneSums:
        if sample.whole is not None:
            return ByClass.of(sample, self.classes_)
        if not (sample.sparse_passes and self.n_features_in_ > LARGE_ORDER):
            return ClassSums.of(sample.by_class(len(self.classes_)), self.classes_)
        n_rows, sums = plane_sums(sample, self.classes_)
        self._by_products_ = n_rows > LARGE_ORDER
        return sums if self._by_products_ else ByClass.of(sample.gathered(), self.classes_)

    def _solve(self, problem: ByClass | ClassSums | PlaneSums, settings: None) -> Found:
        if isinstance(problem, PlaneSums):
            return self._from_products(problem), AS_GIVEN
        if isinstance(problem, ClassSums):
            rows = problem.around_mean()
        elif self._is_linear:
            return self._linear_planes(problem)
        else:
            rows = self._kernel_rows(problem)
        return self._planes(rows), replace(rows, parts=[])  # without the kernel, which is large

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _settings(self) -> None:
        check_real("alpha", self.alpha)
        check_flag("probability", self.probability)
        self._check_kernel()

    def _check_X(self, X: Any, *, reset: bool, min_samples: int = 1, weight: Any = None) -> Any:
        if not reset:
            return check_X(self, X, reset=False, weight=weight)
        if self._precomputed:
            # Its numbers are checked without the samples of no weight.
            K = check_X(self, X, reset=True, min_samples=2, finite=False)
            check_precomputed(K)
            return K
        # The general checks cost more than the planes of a small set: an array that is
        # already what they would return skips them.
        if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and min(X.shape) > 1:
            check_finite("X", counted(X, weight))
            self.n_features_in_ = X.shape[1]
            return X
        return check_X(self, X, reset=True, min_samples=min_samples, weight=weight)

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> np.ndarray:
        """The number of the class of every row."""
        return class_index(self, y, n, classes, reset, "use one classifier per label")[:, None]

    def _linear_planes(self, problem: ByClass) -> Found:
        X, bounds, root = problem.rows.X, problem.bounds, problem.root
        if sparse.issparse(X) and may_be_dense(X.shape):
            X = X.toarray()
        self._by_products_ = bool(sparse.issparse(X) and min(X.shape) > LARGE_ORDER)
        if self._by_products_:
            return self._from_products(PlaneRows.of(with_ones(X, root), bounds)), AS_GIVEN
        eps = precision(X)
        if X.shape[1] < X.shape[0]:
            rows = ClassRows.of(X, bounds, root, eps=eps)
            planes = self._from_raw(rows)
            if planes is None and not rows.may_be_dense:
                planes = self._planes(rows)
            if planes is not None:
                return planes, rows
        space = space_of(X, eps)
        known = {"R": space.R, "basis": space.basis, "shift": space.shift, "eps": eps}
        rows = ClassRows.of(space.coordinates, bounds, root, **known)
        return self._planes(rows), rows

    def _kernel_rows(self, problem: ByClass) -> ClassRows:
        X, bounds, root = problem.rows.X, problem.bounds, problem.root
        if self._precomputed:
            X = checked_kernel(X[:, problem.order], PRECOMPUTED, symmetry_tol(X))
        else:
            self.kernel_ = self._fitted_kernel(problem.rows)
        chosen, K, column = landmark_rows(self, X, root)
        check_varied(K)
        unit = kernel_unit(K)
        K = K if column is None else K * column
        R = None if unit == 1.0 else np.diag([*np.full(K.shape[1], 1 / unit), 1.0])
        self.landmarks_ = problem.order[chosen]
        self.X_fit_ = self.landmarks_ if self._precomputed else X[chosen]
        return ClassRows.of(K if R is None else K / unit, bounds, root, R=R, column=column)

    def _keep(self, problem: Any, solution: Found) -> None:
        """Planes with unit normals, whose largest entries are positive."""
        planes, rows = solution
        normals = rows.normals(planes.Z)
        size = np.max(np.abs(normals), axis=1, keepdims=True)
        if not np.all(np.isfinite(size)) or np.any(size == 0):
            raise ValueError(self._no_plane())
        length = size * np.linalg.norm(normals / size, axis=1, keepdims=True)
        length *= signs(normals.T)[:, None]
        coef, bias = normals / length, planes.Z[:, -1] / length[:, 0]
        coef = coef if rows.column is None else coef * rows.column
        name = "coef_" if self._is_linear else "dual_coef_"
        setattr(self, name, coef.astype(self._dtype_))
        center = np.broadcast_to(rows.shift, coef.shape[1:])
        self._center_, self._bias_ = center.astype(self._dtype_), self._cast(bias)
        self.intercept_ = self._cast(bias - coef @ center)
        if not np.all(np.isfinite(self.intercept_)):  # the offset of the plane overflows
            raise ValueError(self._no_plane())
        self.eigenvalues_ = self._cast(self._eigenvalues(planes.shares))
        self.n_iter_ = max(1, planes.report.n_iter)
        if self.probability:
            self._keep_probabilities(problem)

    def _report(self, solution: Found) -> Report:
        return solution[0].report

    def _no_plane(self) -> str:
        return (
            f"alpha={self.alpha!r} leaves a class without a plane on these data: give a "
            "smaller alpha, or scale the features."
        )

    def _keep_probabilities(self, problem: ByClass) -> None:
        rows = problem.in_order()
        X = rows.X[:, np.sort(problem.order)] if self._precomputed else rows.X
        distances = held_out_distances(self, X, rows.Y[:, 0], rows.weight)
        self.probability_scale_ = softmax_scale(distances, rows.Y[:, 0], rows.weight)

    # -- using -------------------------------------------------------------------------

    def distances(self, X: Any) -> Array:
        """Distance of each sample to the plane of each class.

        {samples}
            With ``kernel="precomputed"`` the kernel between new and training samples.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        # What was fitted: parameters may have changed since.
        if not hasattr(self, "dual_coef_"):
            D = np.asarray(np.abs(project(X, self._center_, self.coef_.T) + self._bias_))
            return _beyond_rounding(D, X, self)
        if hasattr(self, "kernel_"):
            K = refuse_overflow(self.kernel_(X, self.X_fit_))
        else:
            K = X[:, self.X_fit_]
        return np.asarray(
            np.abs(K @ self.dual_coef_.T + self._bias_).astype(self._dtype_, copy=False)
        )

    def decision_function(self, X: Any) -> Array:
        """How much nearer a sample is to the plane of a class.

        {samples}

        Returns
        -------
        array of shape (n_samples, n_classes)
            Minus the distances; for two classes the distance to the plane of the first
            minus that to the second, (n_samples,).
        """
        distances = self.distances(X)
        if len(self.classes_) == 2:
            return np.asarray(distances[:, 0] - distances[:, 1])
        return -distances

    def predict(self, X: Any) -> np.ndarray:
        """The class whose plane is nearest; the first one of several that hold the sample exactly.

        {class_of_each}
        """
        nearest = self.distances(X).argmin(axis=1)
        return np.asarray(self.classes_[nearest])

    @available_if(_learns_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, with ``probability=True``.

        ``softmax(-probability_scale_ * distances(X))``: the nearest class is the most probable.

        {each_class}
        """
        return np.asarray(scipy.special.softmax(self._log_odds(X), axis=1))

    @available_if(_learns_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities, with ``probability=True``.

        {each_class}
        """
        return np.asarray(scipy.special.log_softmax(self._log_odds(X), axis=1))

    def _log_odds(self, X: Any) -> Array:
        check_is_fitted(self, "probability_scale_", msg=_REFIT)
        return -self.probability_scale_ * self.distances(X)
