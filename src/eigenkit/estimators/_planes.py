"""The shell of the classifiers by planes: check, order by class, find the planes, keep."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import DENSE_LIMIT_BYTES, check_finite, project
from eigenkit.estimators._kernel_space import check_kernel_params, refuse_overflow, symmetry_tol
from eigenkit.estimators._landmarks import LANDMARKS, landmark_rows
from eigenkit.estimators._probabilities import held_out_distances, softmax_scale
from eigenkit.estimators._validation import (
    NO_VARIANCE,
    as_labels,
    check_classes,
    check_weight,
    check_X,
)
from eigenkit.kernels import Kernel, checked_kernel
from eigenkit.linalg import EPS, Array, eigenpairs, power_of_two
from eigenkit.shell import check_choice, check_count, check_real, forget, unchanged_on_error
from eigenkit.solvers.planes import Planes, class_grams, lower_grams


class ClassRows:
    """The features of each class, in the coordinates that the planes are computed in.

    ``parts[c] = sqrt(w) [features, 1]``; a plane z there is the plane R z in the coordinates
    in which its ridge and distances are measured (R None: the same). ``column`` holds the
    factors that landmarks of weights other than one have put on their columns.
    """

    def __init__(
        self,
        F: Any,
        bounds: np.ndarray,
        root: Array | None,
        R: Array | None,
        column: Array | None = None,
    ) -> None:
        n = F.shape[0]
        if sparse.issparse(F):
            N = sparse.hstack([F, np.ones((n, 1))], format="csr")
            N = N if root is None else sparse.csr_array(sparse.diags_array(root) @ N)
        else:
            N = np.empty((n, F.shape[1] + 1))
            N[:, :-1] = F
            N[:, -1] = 1.0
            if root is not None:
                N *= root[:, None]
        self.parts = [N[a:b] for a, b in pairwise(bounds)]
        self.R = R
        self.column_weight = None if column is None else np.append(column**2, 1.0)

    @property
    def sparse(self) -> bool:
        return bool(sparse.issparse(self.parts[0]))

    def grams(self) -> list[Array]:
        with np.errstate(over="ignore", invalid="ignore"):  # the solver looks at the sums
            grams: list[Any] = class_grams(self.parts)
        return [G.toarray() for G in grams] if self.sparse else grams

    def lower_grams(self) -> list[Array]:
        return self.grams() if self.sparse else lower_grams(self.parts)

    def to_normal(self) -> Array:
        """The map from z to the normal of the plane."""
        order = self.parts[0].shape[1]
        return np.eye(order)[:-1] if self.R is None else self.R[:-1]


_REFIT = "This %(name)s has learned no probabilities: fit it with probability=True."


def _learns_probabilities(model: Any) -> bool:
    if not model.probability:
        raise AttributeError(
            f"{type(model).__name__} gives probabilities when it is fitted with probability=True."
        )
    return True


class ProximalPlanes(ClassifierMixin, BaseEstimator):
    """One plane per class, near to it and far from the rest; the nearest plane wins."""

    alpha: float

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        landmarks: str = "cholesky",
        random_state: Any = None,
        probability: bool = False,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.random_state = random_state
        self.probability = probability

    # -- what a subclass says ----------------------------------------------------------

    def _planes(self, rows: ClassRows) -> Planes:
        raise TypeError(f"{type(self).__name__} finds no planes")

    def _from_raw(self, rows: ClassRows) -> Planes | None:
        """Planes from uncentred features, where the method and the data allow for it."""
        return None

    def _eigenvalues(self, shares: Array) -> Array:
        """Numerator / denominator of each plane."""
        with np.errstate(divide="ignore"):
            return shares / (1 - shares)

    # -- fitting -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the planes.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            With ``kernel="precomputed"`` the kernel between the samples, square.
        y : array of shape (n_samples,)
            Two or more classes.
        sample_weight : array of shape (n_samples,), optional
            Integer weights count repetitions, zero leaves a row out. Other weights compare the
            rows; their unit matters only beside ``alpha``, where there is one.

        Returns
        -------
        self
        """
        self._check_parameters()
        with unchanged_on_error(self):
            forget(self)
            X = self._check_training(X)
            codes = self._encode(y, X.shape[0])
            weight = check_weight(sample_weight, X.shape[0])
            order, bounds = self._by_class(codes, weight)
            root = None if weight is None else np.sqrt(weight[order])
            self._dtype_ = X.dtype
            if self._is_linear:
                self._fit_linear(X[order], bounds, root)
            else:
                self._fit_kernel(X, order, bounds, root)
            if self.probability:
                kept, w = np.sort(order), None if weight is None else weight[np.sort(order)]
                rows = X[np.ix_(kept, kept)] if self._is_precomputed else X[kept]
                distances = held_out_distances(self, rows, codes[kept], w)
                self.probability_scale_ = softmax_scale(distances, codes[kept], w)
        return self

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_parameters(self) -> None:
        check_real("alpha", self.alpha)
        given = self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params
        check_kernel_params(*given, ("precomputed",))
        check_choice("landmarks", self.landmarks, LANDMARKS)
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks, hint=", or None for all samples")

    def _check_training(self, X: Any) -> Any:
        # The general checks cost more than the planes of a small set: an array that is
        # already what they would return goes past them.
        if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and min(X.shape) > 1:
            check_finite("X", X)
            self.n_features_in_ = X.shape[1]
        else:
            X = check_X(self, X, reset=True, min_samples=2)
        if self._is_precomputed:
            if sparse.issparse(X):
                raise TypeError(
                    "X is sparse, but sparse input is not supported with kernel='precomputed': "
                    "give X.toarray()."
                )
            X = checked_kernel(X, "X, the precomputed kernel,", symmetry_tol(X))
        return X

    def _encode(self, y: Any, n: int) -> np.ndarray:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if not (type(y) is np.ndarray and y.dtype.kind in "iub" and y.shape == (n,)):
            y = check_classes(as_labels(y), n, instead="use one classifier per label")
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def _by_class(self, codes: np.ndarray, weight: Array | None) -> tuple[np.ndarray, np.ndarray]:
        """Rows of positive weight sorted by class, and where each class begins and ends."""
        k = len(self.classes_)
        order = np.argsort(codes, kind="stable")
        if weight is not None:
            order = order[weight[order] > 0]
        counts = np.bincount(codes[order], minlength=k)
        if k < 2:
            raise ValueError(f"y holds {k} class, but at least two are needed to separate.")
        if np.any(counts == 0):
            missing = self.classes_[np.argmin(counts)]
            raise ValueError(f"sample_weight is zero for every sample of the class {missing!r}.")
        if len(order) <= k:
            raise ValueError(
                f"y holds {k} classes for {len(order)} samples: some class needs more than one "
                "sample."
            )
        return order, np.concatenate([[0], np.cumsum(counts)])

    def _fit_linear(self, X: Any, bounds: np.ndarray, root: Array | None) -> None:
        if sparse.issparse(X) and 8 * X.shape[0] * X.shape[1] <= DENSE_LIMIT_BYTES:
            X = X.toarray()
        if X.shape[1] < X.shape[0]:
            rows = ClassRows(X, bounds, root, None)
            planes = self._from_raw(rows)
            if planes is None and rows.sparse:
                planes = self._planes(rows)
            if planes is not None:
                self._keep(planes, planes.Z[:, :-1], planes.Z[:, -1], 0.0)
                return
        if sparse.issparse(X):
            Z, basis = _row_space(X)
            shift, R = np.zeros(X.shape[1]), np.eye(Z.shape[1] + 1)
        else:
            basis = None
            shift, Z, R = _standardized(X)
        planes = self._planes(ClassRows(Z, bounds, root, R))
        z = planes.Z @ R.T
        normals = z[:, :-1] if basis is None else z[:, :-1] @ basis
        self._keep(planes, normals, planes.Z[:, -1], shift)

    def _fit_kernel(
        self, X: Any, order: np.ndarray, bounds: np.ndarray, root: Array | None
    ) -> None:
        if self._is_precomputed:
            X = X[np.ix_(order, order)]
        else:
            X = X[order]
            given = Kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)
            self.kernel_ = given.fitted(X)
        chosen, K, column = landmark_rows(self, X, root)
        _check_varied(K)
        unit = _kernel_unit(K)
        K = K if column is None else K * column
        R = None if unit == 1.0 else np.diag([*np.full(K.shape[1], 1 / unit), 1.0])
        planes = self._planes(ClassRows(K if R is None else K / unit, bounds, root, R, column))
        z = planes.Z if R is None else planes.Z @ R.T
        self.landmark_indices_ = order[chosen]
        if not self._is_precomputed:
            self.landmarks_ = X[chosen]
        self._keep(planes, z[:, :-1], planes.Z[:, -1], 0.0, column)

    def _keep(
        self,
        planes: Planes,
        normals: Array,
        biases: Array,
        shift: Array | float,
        column: Array | None = None,
    ) -> None:
        """Planes with unit normals; ``biases`` are those around the point ``shift``."""
        size = np.max(np.abs(normals), axis=1, keepdims=True)
        if not np.all(np.isfinite(size)) or np.any(size == 0):
            raise ValueError(
                f"alpha={self.alpha!r} leaves a class without a plane on these data: give a "
                "smaller alpha, or scale the features."
            )
        length = size * np.linalg.norm(normals / size, axis=1, keepdims=True)
        coef, bias = normals / length, biases / length[:, 0]
        coef = coef if column is None else coef * column
        name = "coef_" if self._is_linear else "dual_coef_"
        setattr(self, name, coef.astype(self._dtype_))
        self._center_ = np.broadcast_to(shift, coef.shape[1:]).astype(self._dtype_)
        self._bias_ = bias.astype(self._dtype_)
        self.intercept_ = (bias - coef @ np.broadcast_to(shift, coef.shape[1:])).astype(
            self._dtype_
        )
        self.eigenvalues_ = self._eigenvalues(planes.shares).astype(self._dtype_)
        self.n_iter_ = max(1, planes.n_iter)

    # -- using -------------------------------------------------------------------------

    def distances(self, X: Any) -> Array:
        """Distance of each sample to the plane of each class.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            With ``kernel="precomputed"`` the kernel between new and training samples.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = check_X(self, X, reset=False)
        if self._is_linear:
            return np.abs(project(X, self._center_, self.coef_.T) + self._bias_)
        if "landmarks_" in self.__dict__:
            K = refuse_overflow(self.kernel_(X, self.landmarks_))
        else:
            K = X[:, self.landmark_indices_]
        return np.abs(K @ self.dual_coef_.T + self._bias_).astype(self._dtype_, copy=False)

    def decision_function(self, X: Any) -> Array:
        """How much nearer a sample is to the plane of a class.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

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
        """The class whose plane is nearest.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        nearest = self.distances(X).argmin(axis=1)
        return np.asarray(self.classes_[nearest])

    @available_if(_learns_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, with ``probability=True``.

        ``softmax(-probability_scale_ * distances(X))``: the nearest class is the most probable.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return np.asarray(softmax(self._log_odds(X), axis=1))

    @available_if(_learns_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities, with ``probability=True``.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return np.asarray(log_softmax(self._log_odds(X), axis=1))

    def _log_odds(self, X: Any) -> Array:
        check_is_fitted(self, "probability_scale_", msg=_REFIT)
        return -self.probability_scale_ * self.distances(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.sparse = not self._is_precomputed
        return tags


def _standardized(X: Array) -> tuple[Array, Array, Array]:
    """Mean, (X - mean) / unit, and R that takes planes there to planes of X.

    Quotients of distances do not depend on the origin and the units; digits do.
    """
    shift = X.mean(axis=0, dtype=np.float64)
    Z = X - shift
    size = np.abs(Z).max(axis=0)
    if np.all(size <= 8 * EPS * np.abs(shift)):
        raise ValueError(NO_VARIANCE)
    unit = power_of_two(size)
    R = np.diag([*(1 / unit), 1.0])
    R[-1, :-1] = -shift / unit
    return shift, Z / unit, R


def _row_space(X: Any) -> tuple[Array, Array]:
    """Coordinates of the rows of a wide sparse X in an orthonormal basis of their span."""
    values, vectors = eigenpairs((X @ X.T).toarray().astype(np.float64))
    keep = values > max(values[0], 0.0) * X.shape[0] * EPS
    if not keep.any():
        raise ValueError(NO_VARIANCE)
    root = np.sqrt(values[keep])
    return vectors[:, keep] * root, (X.T @ (vectors[:, keep] / root)).T


def _check_varied(K: Array) -> None:
    if np.array_equal(K[0], K[1]) and np.all(K[0] == K):
        raise ValueError("The kernel has zero variance: it is the same for all samples.")


def _kernel_unit(K: Array) -> float:
    """1, or a power of two that brings kernel values of extreme size near 1."""
    size = max(float(K.max()), -float(K.min()))
    return 1.0 if 1e-140 < size < 1e140 else float(power_of_two(np.array(size)))
