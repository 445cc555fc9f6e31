"""The shell of the classifiers by planes: check, order by class, find the planes, keep."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import Centered, as_dense, check_finite, project
from eigenkit.estimators._both_sides import ScoresByName
from eigenkit.estimators._class_rows import (
    ClassGrams,
    ClassRows,
    by_class,
    class_factors,
    landmark_rows,
    plane_sums,
)
from eigenkit.estimators._encoding import class_index
from eigenkit.estimators._estimator import Estimator
from eigenkit.estimators._heads import held_out_distances, softmax_scale
from eigenkit.estimators._kernel_space import (
    CONSTANT_KERNEL,
    KernelParameters,
    refuse_overflow,
    symmetry_tol,
)
from eigenkit.estimators._streams import Streaming, results
from eigenkit.estimators._validation import check_X, counted
from eigenkit.kernels import PRECOMPUTED, check_precomputed, checked_kernel
from eigenkit.moments import ClassMoments, Rows
from eigenkit.numerics.linalg import Array, signs
from eigenkit.numerics.tolerances import EPS
from eigenkit.shell import check_flag, lacks, take_parameters
from eigenkit.solvers.large_planes import PlaneRows, PlaneSums
from eigenkit.solvers.planes import Planes

# Sparse data with more rows and more columns than this are used in products only: no matrix of
# either order is formed.
LARGE_ORDER = 4000

# The rows of the classes, as much of them as there is.
Problem = ClassRows | ClassGrams | PlaneSums

_NO_PLANE = (
    "alpha={!r} leaves a class without a plane on these data: give a smaller alpha, or scale the "
    "features."
)
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


def _takes_parts(model: Any) -> bool:
    for fine, given, instead in (
        (model._is_linear, f"kernel={model.kernel!r}", "kernel='linear'"),
        (not model.probability, "probability=True", "probability=False"),
    ):
        if not fine:
            raise AttributeError(
                f"{type(model).__name__}({given}) needs all samples at once: streams and blocks of "
                f"rows are for {instead}."
            )
    return True


class ProximalPlanes(Streaming, ScoresByName, ClassifierMixin, KernelParameters, Estimator):
    """One plane per class, near to it and far from the rest; the nearest plane wins."""

    coef_, intercept_, eigenvalues_, n_iter_, _center_, _bias_ = results(6)
    _last_result = "intercept_"
    classes_: np.ndarray

    def _check_in_parts(self) -> None:
        try:
            _takes_parts(self)
        except AttributeError as error:
            raise TypeError(str(error)) from None

    partial_fit = available_if(_takes_parts)(Streaming.partial_fit)
    merge = available_if(_takes_parts)(Streaming.merge)

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
    _rules: ClassVar = {"probability": check_flag}

    def _settings(self) -> None:
        self._check_kernel()

    # -- what a subclass says ----------------------------------------------------------

    def _planes(self, rows: ClassRows | ClassGrams) -> Planes:
        lacks(self, "_planes")

    def _from_products(self, rows: PlaneSums) -> Planes:
        """Planes of sparse rows too many and too wide for matrices of either order."""
        lacks(self, "_from_products")

    @property
    def _exchanged(self) -> float:
        """How much of the matrix of one side is added to the other."""
        return 0.0

    # -- fitting -----------------------------------------------------------------------

    def _kind(self) -> tuple[Any, ...]:
        return ()

    def _no_moments(self) -> ClassMoments:
        return ClassMoments.begin(len(self.classes_))

    _take = Estimator._rows

    def _state(self, sample: Any) -> Problem:
        self._by_products_ = False
        if sample.whole is not None:
            given = by_class(sample, self.classes_)
            return self._linear_rows(*given) if self._is_linear else self._kernel_rows(*given)
        if not (sample.sparse_passes and self.n_features_in_ > LARGE_ORDER):
            return class_factors(sample.by_class(len(self.classes_)), self.classes_)
        n_rows, sums = plane_sums(sample, self.classes_)
        self._by_products_ = n_rows > LARGE_ORDER
        return sums if self._by_products_ else self._state(sample.gathered())

    def _linear_rows(self, rows: Rows, order: np.ndarray, bounds: np.ndarray) -> Problem:
        Z = rows.centered()
        if Z.decomposable or not (Z.primal or min(Z.shape) > LARGE_ORDER):
            return ClassRows.of(Z, np.sqrt(rows.weights()), bounds, rows.X)
        parts = (rows.take(slice(a, b)) for a, b in pairwise(bounds))
        pieces = [Centered(part.X, part.weight, center=False) for part in parts]
        self._by_products_ = min(Z.shape) > LARGE_ORDER
        if self._by_products_:
            return PlaneRows.of(Centered(rows.X, rows.weight, center=False), pieces)
        return ClassGrams(pieces)

    def _kernel_rows(self, rows: Rows, order: np.ndarray, bounds: np.ndarray) -> Problem:
        X = rows.X
        if self._precomputed:
            X = checked_kernel(X[:, order], PRECOMPUTED, symmetry_tol(X))
        else:
            self.kernel_ = self._fitted_kernel(rows)
        chosen, K, column = landmark_rows(self, X, rows.weight)
        if np.array_equal(K[0], K[1]) and np.all(K[0] == K):
            raise ValueError(CONSTANT_KERNEL)
        self.landmarks_ = order[chosen]
        self.X_fit_ = self.landmarks_ if self._precomputed else X[chosen]
        # The values of a kernel are features around zero, in one unit.
        K = K if column is None else K * column
        Z = Centered(K, rows.weight, center=False, one_unit=True)
        unit = None if np.all(Z.units == 1.0) else Z.units
        known = np.sqrt(rows.weights()), bounds, unit, np.append(Z.grain(), 0.0)
        return ClassRows(Z.toarray(), *known, column=column)

    def _solve(self, problem: Any, settings: None) -> Planes:
        return self._from_products(problem) if self._by_products_ else self._planes(problem)

    def _learn(self, sample: Any, settings: None) -> None:
        super()._learn(sample, settings)
        if not self.probability:
            return
        rows = sample.positive()
        X, y = rows.X, rows.Y[:, 0]
        if self._precomputed and rows is not sample:
            X = X[:, np.flatnonzero(sample.weights() > 0)]
        distances = held_out_distances(self, X, y, rows.weight)
        self.probability_scale_ = softmax_scale(distances, y, rows.weight)

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _check_X(self, X: Any, *, reset: bool, min_samples: int = 1, weight: Any = None) -> Any:
        if not reset:
            return check_X(self, X, reset=False, weight=weight)
        if self._precomputed:
            # Its numbers are checked without the samples of no weight.
            K = check_X(self, X, reset=True, min_samples=2, finite=False)
            check_precomputed(K)
            return K
        # In a whole sample, the means will show whether all are finite.
        finite = min_samples == 1 or not self._is_linear
        # The general checks cost more than the planes of a small set: an array that is
        # already what they would return skips them.
        if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and min(X.shape) > 1:
            if finite:
                check_finite("X", counted(X, weight))
            self.n_features_in_ = X.shape[1]
            return X
        how: dict[str, Any] = {"weight": weight, "finite": finite}
        return check_X(self, X, reset=True, min_samples=min_samples, **how)

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> np.ndarray:
        """The number of the class of every row."""
        return class_index(self, y, n, classes, reset, "use one classifier per label")[:, None]

    def _keep(self, rows: Problem, planes: Planes) -> None:
        """Planes with unit normals, whose largest entries are positive."""
        normals = rows.normals(planes.Z)
        size = np.max(np.abs(normals), axis=1, keepdims=True)
        if not np.all(np.isfinite(size)) or np.any(size == 0):
            raise ValueError(_NO_PLANE.format(self.alpha))
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
            raise ValueError(_NO_PLANE.format(self.alpha))
        own, rest, a = planes.shares, 1 - planes.shares, self._exchanged
        with np.errstate(divide="ignore"):
            self.eigenvalues_ = self._cast((own + a * rest) / (rest + a * own))
        self.n_iter_ = max(1, planes.report.n_iter)

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
