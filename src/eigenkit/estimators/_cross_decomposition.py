"""What the PLS estimators share: validate, decompose, keep, predict."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import SCALABLE, Centered, check_finite, project
from eigenkit.estimators._validation import (
    as_labels,
    check_numeric_Y,
    check_weight,
    check_X,
    check_X_varies,
    check_y_varies,
)
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.linalg import EPS, Array
from eigenkit.shell import UNCHANGED, Instead, check_count, forget, unchanged_on_error
from eigenkit.solvers.cross_products import Block, blocks
from eigenkit.solvers.deflation import (
    Components,
    decompose,
    inverse_rotations,
    skip_missing_scores,
)

TOO_FAR_APART = (
    "the units of X and y are too far apart for the coefficients to be floating point numbers: "
    "rescale one of them."
)


@dataclass(frozen=True)
class Rows:
    """Checked data: all rows of X and Y, weights or None, and what is observed of X or None."""

    X: Any
    Y: Array
    weight: Array | None
    observed: np.ndarray | None = None

    def weighted(self) -> Rows:
        """Without the rows of zero weight."""
        if self.weight is None or np.all(self.weight > 0):
            return self
        keep = self.weight > 0
        observed = None if self.observed is None else self.observed[keep]
        return Rows(self.X[keep], self.Y[keep], self.weight[keep], observed)


@dataclass(frozen=True)
class Fit:
    """Both blocks, the components found in them, and the sums of squares to explain."""

    X: Block
    Y: Block
    components: Components
    squares: tuple[float, float]


class CrossDecomposition(Instead, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What the PLS family shares: validate, decompose X'Y, keep; see the subclasses."""

    _instead: ClassVar = {"copy": UNCHANGED}

    _deflation: ClassVar[str]

    def __init__(
        self, n_components: int | None = 2, *, scale: bool | tuple[bool, bool] = True
    ) -> None:
        self.n_components = n_components
        self.scale = scale

    # -- fitting -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the components.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Sparse X is never made dense.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
            Integer weights count repetitions, zero leaves a row out. Other weights compare the
            rows; their unit matters only beside ``alpha``, where there is one.

        Returns
        -------
        self
        """
        scale = self._check_parameters()
        with unchanged_on_error(self):
            forget(self)
            rows = self._rows(X, y, sample_weight)
            self._keep(rows, self._solve(rows, scale))
        return self

    def _check_parameters(self) -> tuple[bool, bool]:
        if self.n_components is not None:
            check_count("n_components", self.n_components, hint=", or None for all")
        return _scale_pair(self.scale)

    @property
    def _iterates(self) -> bool:
        """Whether X itself is deflated, as NIPALS does."""
        return False

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X, observed = self._checked_X(X, reset=True)
        Y = self._encode(as_labels(y), X.shape[0])
        self._n_labels_, self._dtype_ = Y.shape[1], X.dtype
        return Rows(X, Y, check_weight(sample_weight, X.shape[0]), observed)

    def _encode(self, y: Any, n: int) -> Array:
        self._one_response_ = y.ndim == 1
        return check_numeric_Y(y, n, SCALABLE)

    def _checked_X(self, X: Any, *, reset: bool) -> tuple[Any, np.ndarray | None]:
        """X, and which entries are observed if the algorithm can skip the others."""
        X = check_X(self, X, reset=reset, min_samples=2 if reset else 1, finite=False)
        if not self._iterates:
            if not reset:  # in fit, Centered has the sums that this check needs
                check_finite("X", X.data if sparse.issparse(X) else X)
            return X, None
        if sparse.issparse(X):
            raise ValueError(
                "X is sparse, but algorithm='nipals' deflates X itself: use algorithm='kernel'."
            )
        observed = ~np.isnan(X)
        if observed.all():
            check_finite("X", X)
            return X, None
        if np.isinf(X).any():
            raise ValueError("X contains infinity: remove or impute such entries.")
        return X, observed

    def _solve(self, rows: Rows, scale: tuple[bool, bool]) -> Fit:
        rows = rows.weighted()
        l = self._n_wanted(rows)
        Z, Y = Centered(_filled(rows), rows.weight), Centered(rows.Y, rows.weight)
        self._check_informative(Z, Y)
        fit = self._decompose(rows, Z, Y, scale, l)
        self._check_found(fit.components, l)
        return fit

    def _decompose(
        self, rows: Rows, Z: Centered, Y: Centered, scale: tuple[bool, bool], l: int
    ) -> Fit:
        X, B, cross = blocks(Z, Y, scale, l)
        found = decompose(cross, l, self._deflation)
        return Fit(X, B, found, (cross.trace, float(np.trace(cross.yy))))

    def _n_wanted(self, rows: Rows) -> int:
        n, d = rows.X.shape
        k = rows.Y.shape[1]
        both = self._deflation in ("canonical", "svd")
        bound = min(n, d, k) if both else min(n, d)
        if self.n_components is not None and self.n_components > bound:
            sizes = f"n_samples={n}, n_features={d}" + (f", n_targets={k}" if both else "")
            raise ValueError(
                f"n_components={self.n_components} exceeds {bound}, the least of {sizes}: give at "
                f"most {bound}, or None for all."
            )
        return bound if self.n_components is None else int(self.n_components)

    def _check_informative(self, Z: Centered, Y: Centered) -> None:
        check_X_varies(Z)
        check_y_varies(~Y.constant)

    def _check_found(self, found: Components, wanted: int) -> None:
        if len(found) == 0:
            raise ValueError("X'y is zero: X and y share nothing that could be learned.")
        if len(found) < wanted and self.n_components is not None:
            warnings.warn(
                f"n_components={wanted}, but after {len(found)} nothing is left of X and y that "
                f"they share: the model has {len(found)} components",
                DegenerateDataWarning,
                stacklevel=4,
            )

    # -- keeping -----------------------------------------------------------------------

    def _keep(self, rows: Rows, fit: Fit) -> None:
        found, X, Y = fit.components, fit.X, fit.Y
        own = self._deflation in ("canonical", "svd")
        # Where y is regressed on the scores of X, its loadings carry the units of both.
        to_y = 1.0 if own else X.unit / Y.unit
        if not 0 < to_y < np.inf:
            raise ValueError(TOO_FAR_APART)
        rotations = inverse_rotations(found.y_weights, found.y_loadings) / to_y
        kept = {
            "x_mean_": X.Z.mean,
            "y_mean_": Y.Z.mean,
            "x_std_": X.std,
            "y_std_": Y.std,
            "x_weights_": found.x_weights,
            "x_rotations_": found.x_rotations,
            "y_weights_": found.y_weights * (to_y if self._deflation == "regression" else 1.0),
            "y_rotations_": found.y_rotations if own else rotations,
        }
        if self._deflation != "svd":
            kept |= {
                "x_loadings_": found.x_loadings,
                "y_loadings_": found.y_loadings * to_y,
                "x_explained_variance_ratio_": (
                    found.x_norms * np.sum(found.x_loadings**2, axis=0) / fit.squares[0]
                ),
                "y_explained_variance_ratio_": (
                    found.y_norms * np.sum(found.y_loadings**2, axis=0) / fit.squares[1]
                ),
            }
        for name, value in kept.items():
            setattr(self, name, self._cast(value))
        self.n_components_ = len(found)
        self._keep_more(rows, fit)

    def _keep_more(self, rows: Rows, fit: Fit) -> None:
        """Attributes beyond the common ones."""
        self._keep_scores(rows, fit)

    def _keep_scores(self, rows: Rows, fit: Fit) -> None:
        if fit.X.Z.shape[0] == len(rows.Y) and rows.observed is None:
            T = fit.X.matmat(fit.components.x_rotations) / fit.X.unit
            T = T if rows.weight is None else T / np.sqrt(rows.weight)[:, None]
        else:
            T = self._x_scores(rows.X, rows.observed)
        self.x_scores_ = self._cast(T)
        centred = (rows.Y - fit.Y.Z.mean) / fit.Y.std
        self.y_scores_ = self._cast(self._y_scores(centred, T))

    def _y_scores(self, Y: Array, T: Array) -> Array:
        return Y @ self.y_rotations_

    def _cast(self, value: Array) -> Array:
        return value.astype(self._dtype_, copy=False)

    @property
    def _n_features_out(self) -> int:
        return int(self.x_weights_.shape[1])

    # -- using -------------------------------------------------------------------------

    def _x_scores(self, X: Any, observed: np.ndarray | None) -> Array:
        if observed is None:
            return project(X, self.x_mean_, self.x_rotations_ / self.x_std_[:, None])
        centred = np.where(observed, X - self.x_mean_, 0.0) / self.x_std_
        return self._cast(skip_missing_scores(centred, observed, self.x_weights_, self.x_loadings_))

    def transform(self, X: Any, y: Any = None) -> Any:
        """Scores of X, and of y too if given.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets), optional

        Returns
        -------
        array of shape (n_samples, n_components_), or a tuple of two of them
        """
        check_is_fitted(self)
        X, observed = self._checked_X(X, reset=False)
        x_scores = self._x_scores(X, observed)
        if y is None:
            return x_scores
        Y = check_numeric_Y(as_labels(y), X.shape[0], SCALABLE)
        if Y.shape[1] != self._n_labels_:
            raise ValueError(
                f"y has {Y.shape[1]} columns, but {type(self).__name__} was fitted with "
                f"{self._n_labels_}."
            )
        return x_scores, self._cast((Y - self.y_mean_) / self.y_std_ @ self.y_rotations_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._iterates
        tags.input_tags.allow_nan = self._iterates
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _scale_pair(scale: Any) -> tuple[bool, bool]:
    """Whether to scale X and y, from one answer for both or one each."""
    pair = scale if isinstance(scale, tuple | list) else (scale, scale)
    if len(pair) != 2 or not all(isinstance(s, bool | np.bool_) for s in pair):
        raise ValueError(
            f"scale={scale!r} is not valid: give True, False, or a pair of them for X and y."
        )
    return bool(pair[0]), bool(pair[1])


def _filled(rows: Rows) -> Any:
    """X with its column means (of what is observed) in the gaps, so that centring leaves zeros."""
    if rows.observed is None:
        return rows.X
    seen = rows.observed
    for axis, what in ((0, "column"), (1, "row")):
        empty = ~seen.any(axis=axis)
        if empty.any():
            raise ValueError(
                f"X holds no value in {what} {int(np.argmax(empty))}: leave that {what} out."
            )
    weight = np.ones(len(seen)) if rows.weight is None else rows.weight
    known = np.where(seen, rows.X, 0.0).astype(np.float64)
    first = (weight @ known) / (weight @ seen)
    drift = (weight @ np.where(seen, known - first, 0.0)) / (weight @ seen)
    return np.where(seen, known, first + drift)


def missing_share(rows: Rows, Z: Centered) -> Array | float:
    """What turns sums of squares over all rows' degrees of freedom to those observed."""
    if rows.observed is None:
        return 1.0
    weight = np.ones(len(rows.Y)) if rows.weight is None else rows.weight
    one = Z.total - Z.freedom
    return Z.freedom / np.maximum(weight @ rows.observed - one, EPS * Z.freedom)
