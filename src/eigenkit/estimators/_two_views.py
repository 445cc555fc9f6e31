"""What the densities of two views share: check, bring to one scale, keep, and use."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import linalg as sla
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import Centered, check_finite, one_sample, project
from eigenkit.estimators._both_sides import BothSides
from eigenkit.estimators._encoding import check_numeric_Y
from eigenkit.estimators._streams import Streaming, results
from eigenkit.estimators._validation import check_sides_vary, check_X, counted
from eigenkit.exceptions import warn_of_stopping
from eigenkit.moments import Rows
from eigenkit.numerics.linalg import Array, power_of_two, triangular_factor
from eigenkit.numerics.tolerances import EPS
from eigenkit.pencil import Answer
from eigenkit.shell import check_count, random_of
from eigenkit.solvers.two_views import Completed, SingularView, TwoViews, complete, patterns


@dataclass(frozen=True)
class Views:
    """Rows of both views in units in which columns vary by about 1; gaps are NaN."""

    X: Any
    Y: Array
    weight: Array | None = None

    @property
    def total(self) -> float:
        return float(len(self.Y) if self.weight is None else self.weight.sum())

    @property
    def gaps(self) -> bool:
        return _has_nan(self.Y) or _has_nan(self.X)

    def joint(self) -> Array:
        """Both views side by side."""
        return np.hstack([_dense(self.X), self.Y]).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Sides:
    """Both views without gaps, as centred data, and the units of their columns."""

    X: Centered
    Y: Centered
    scale: Array

    @property
    def total(self) -> float:
        return self.X.total

    def moments(self, ridge: Array) -> tuple[Array, Array]:
        """Means of both views, and the triangular factor of their covariance plus the ridge."""
        Zx, Zy = self.X, self.Y
        mean = np.concatenate([Zx.mean, Zy.mean]) / self.scale
        units = 1 / np.concatenate([Zx.units, Zy.units]) / self.scale
        below, right = np.diag(np.sqrt(ridge)), Zy.toarray()
        if Zx.decomposable:
            rows = np.hstack([Zx.toarray(), right]) * (units / np.sqrt(Zx.total))
            return mean, triangular_factor(np.vstack([rows, below]))
        cross = Zx.rmatmat(right)
        S = np.block([[Zx.gram(), cross], [cross.T, right.T @ right]]) / Zx.total
        try:
            return mean, np.asarray(sla.cholesky(S * np.outer(units, units) + below**2))
        except np.linalg.LinAlgError:
            raise SingularView(0, -1) from None


def settled(model: Any, who: str, what: str, change: float) -> bool:
    """Whether the last step of ``who`` gained no more than ``tol``; warns if it did."""
    if change <= model.tol:
        return True
    end = f"while {what} still grew by {change:.1e}"
    if not np.isfinite(change):  # a single value has no change yet
        end = f"before it was known how {what} grows"
    warn_of_stopping(
        f"{who} stopped after max_iter={model.max_iter} steps {end}: increase max_iter or tol"
    )
    return False


class TwoViewDensity(Streaming, BothSides):
    """A Gaussian of two views, and of a latent variable that they share."""

    mean_, y_mean_, components_, x_loadings_, y_loadings_, n_components_ = results(6)
    x_noise_covariance_, y_noise_covariance_, canonical_correlations_, n_iter_ = results(4)
    _parts_, _scale_, _n_samples_ = results(3)

    def _batch(self, *given: Any, **how: Any) -> Rows:
        """A batch without gaps: NaN is allowed only when all rows are given at once."""
        rows: Rows = super()._batch(*given, **how)
        if np.isnan(rows.Y).any():
            raise ValueError(
                "y contains NaN: streams and blocks of rows must have no gaps; leave such rows "
                "out, or fit all rows as arrays."
            )
        return rows

    def _check_X(self, X: Any, *, weight: Any = None, **how: Any) -> Any:
        X = super()._check_X(X, weight=weight, **how)
        check_finite("X", counted(X, weight), gaps=True)
        return X

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> Array:
        if reset:
            self._one_response_ = y.ndim == 1
        return check_numeric_Y(y, n, gaps=True)

    def _state(self, sample: Any) -> Views | Sides:
        """The views, each column in a unit (a power of two) in which it varies by about 1."""
        rows = sample.whole
        if rows is not None and (views := Views(rows.X, rows.Y, rows.weight)).gaps:
            self._n_samples_ = views.total / one_sample(rows.weight)
            each = {"X": _dense(rows.X), "y": rows.Y}
            self._scale_ = np.concatenate([_half_range(*side) for side in each.items()])
            return self._scaled(views)
        X, Y = sample.sides()
        self._n_samples_ = float(X.total / X.one)
        self._scale_ = np.concatenate([_deviation("X", X), _deviation("y", Y)])
        return Sides(X, Y, self._scale_)

    def _check_informative(self, views: Views | Sides) -> None:
        if isinstance(views, Sides):
            check_sides_vary(views.X, views.Y)

    def _scaled(self, views: Views) -> Views:
        s_x, s_y = np.split(self._scale_, [views.X.shape[1]])
        X = views.X.multiply(1 / s_x).tocsr() if sparse.issparse(views.X) else views.X / s_x
        return replace(views, X=X, Y=views.Y / s_y)

    def _joint(self, views: Views) -> tuple[Array, Array]:
        """Both views side by side, with gaps but no row that is empty; the number that each counts.

        The numbers sum to that of the samples.
        """
        V = views.joint()
        empty = np.isnan(V).all(axis=1)
        if empty.any():
            raise ValueError(f"row {int(np.argmax(empty))} holds no value in X or y: leave it out.")
        if views.weight is None:
            return V, np.ones(len(V))
        return V, np.asarray(views.weight * (self._n_samples_ / views.weight.sum()))

    def _keep(self, views: Views, solution: Answer) -> None:
        model: TwoViews = solution.found
        # Plain arrays, as model files hold them.
        self._parts_ = {f.name: getattr(model, f.name) for f in fields(model)}
        s, d = self._scale_, model.d_x
        W = model.W * s[:, None]
        noise = model.covariance * np.outer(s, s) - W @ W.T
        self._set(
            mean_=model.mean[:d] * s[:d],
            components_=np.ascontiguousarray((model.A_x / s[:d, None]).T),
            y_mean_=model.mean[d:] * s[d:],
            x_loadings_=W[:d],
            y_loadings_=W[d:],
            x_noise_covariance_=noise[:d, :d],
            y_noise_covariance_=noise[d:, d:],
        )
        self.n_components_ = W.shape[1]

    @property
    def _model(self) -> TwoViews:
        return TwoViews(**self._parts_)

    def _given(self, X: Any, y: Any) -> Views:
        """New rows in our units; without y its view is missing."""
        check_is_fitted(self)
        X = check_X(self, X, reset=False, finite=False)
        n, k = X.shape[0], len(self._scale_) - self.n_features_in_
        Y = np.full((n, k), np.nan) if y is None else self._new_y(y, n)
        check_finite("X", X, gaps=True)
        return self._scaled(Views(X, Y))

    def _scores_of_x(self, X: Any) -> Array:
        """The expectation of z given x."""
        return self._expected(self._given(X, None), from_x=True)

    def _scores_of_y(self, Y: Array) -> Array:
        """The expectation of z given y."""
        nothing = np.full((len(Y), self.n_features_in_), np.nan)
        return self._expected(self._scaled(Views(nothing, Y)), from_x=False)

    def latent(self, X: Any, y: Any) -> Array:
        """The expectation of z given both views.

        {samples}
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Either may have NaN where entries are missing: the expectation then is that given
            the others.

        {scores}
        """
        views = self._given(X, y)
        views = self._filled(views) if views.gaps else views
        return np.asarray(self._cast(self._product(views, self._model.A)))

    def _expected(self, views: Views, *, from_x: bool) -> Array:
        """E[z] given one view; without gaps in it a product is all that is needed."""
        model, d = self._model, self.n_features_in_
        A = views.X if from_x else views.Y
        if _has_nan(A):
            # With gaps at their expectations, E[z] is that given the entries that are there.
            return np.asarray(self._cast(self._product(self._filled(views), model.A)))
        side, W = (slice(None, d), model.A_x) if from_x else (slice(d, None), model.A_y)
        return np.asarray(self._cast(project(A, model.mean[side], W)))

    def _product(self, views: Views, A: Array) -> Array:
        """What A makes of the differences of both views from their means."""
        mean, d = self._model.mean, self.n_features_in_
        both = project(views.X, mean[:d], A[:d]) + project(views.Y, mean[d:], A[d:])
        return np.asarray(both)

    def _filled(self, views: Views) -> Views:
        V = self._completed(views).V
        return Views(V[:, : self.n_features_in_], V[:, self.n_features_in_ :])

    def _completed(self, views: Views) -> Completed:
        """The missing entries filled by the model, given the others."""
        V, model = views.joint(), self._model
        return complete(V, model.mean, model.covariance, patterns(V), np.ones(len(V)))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The expectation of y given x: ``y_mean_ + transform(X) @ y_loadings_.T``.

        {samples}
        return_std : bool
            Whether to return the standard deviation of a new y given x too; X then must have no
            gaps. It is that of the model times sqrt(1 + 1 / n_samples), as the means are estimates.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets), or a tuple of two of them
        """
        expected = self._scores_of_x(X) @ self.y_loadings_.T + self.y_mean_
        spread = np.broadcast_to(self._spread(X) if return_std else 0.0, expected.shape)
        if self._one_response_:
            expected, spread = expected[:, 0], spread[:, 0]
        return (expected, self._cast(spread)) if return_std else expected

    def _spread(self, X: Any) -> Array:
        if _has_nan(check_X(self, X, reset=False, finite=False)):
            raise ValueError("X has missing entries: return_std needs whole rows.")
        mean_too = np.sqrt(1 + 1 / self._n_samples_)  # the means are estimates
        return np.asarray(self._model.spread() * self._scale_[self.n_features_in_ :] * mean_too)

    def impute(self, X: Any, y: Any) -> tuple[Array, Array]:
        """Both views with the expectations of missing entries given the others.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        tuple of two arrays
        """
        views = self._given(X, y)
        if sparse.issparse(views.X):
            raise ValueError("X is sparse, and has no entries missing: give a dense array.")
        filled = self._completed(views).V * self._scale_
        return self._cast(filled[:, : self.n_features_in_]), filled[:, self.n_features_in_ :]

    def score_samples(self, X: Any, y: Any = None) -> Array:
        """The log density of every row (x, y), or of those of its entries that are not missing.

        {samples}
        y : array of shape (n_samples,) or (n_samples, n_targets), optional
            Without it, the density of x.

        Returns
        -------
        array of shape (n_samples,)
        """
        views = self._given(X, y)
        model, d, logs = self._model, self.n_features_in_, np.log(self._scale_)
        if y is None and not _has_nan(views.X):
            white = project(views.X, model.mean[:d], _inverse(model.R[:d, :d]))
            return np.asarray(self._cast(model.log_density(white) - logs[:d].sum()))
        if views.gaps:
            density = self._completed(views).log_density
            return np.asarray(self._cast(density - ~np.isnan(views.joint()) @ logs))
        white = self._product(views, _inverse(model.R))
        return np.asarray(self._cast(model.log_density(white) - logs.sum()))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the rows.

        {pair_scored}
        """
        return float(np.mean(self.score_samples(X, y), dtype=np.float64))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Rows drawn from the model.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        tuple of arrays of shape (n_samples, n_features) and (n_samples, n_targets)
        """
        check_is_fitted(self)
        n, model = check_count("n_samples", n_samples), self._model
        normal = random_of(random_state).standard_normal((n, len(model.R)))
        drawn = normal @ model.R + model.mean
        drawn *= self._scale_
        return self._cast(drawn[:, : model.d_x]), drawn[:, model.d_x :]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags


def _dense(X: Any) -> Array:
    """X as an array; refused if sparse, as filling the gaps of a view would make it dense."""
    if sparse.issparse(X):
        raise ValueError(
            "y has missing entries (or is missing), which needs dense X: give X as an array."
        )
    return np.asarray(X)


def _has_nan(X: Any) -> bool:
    return not sparse.issparse(X) and bool(np.isnan(X).any())


def _inverse(R: Array) -> Array:
    return np.asarray(sla.solve_triangular(R, np.eye(len(R))))


def _half_range(name: str, A: Array) -> Array:
    """The unit of every column with gaps, from half its range."""
    empty = np.isnan(A).all(axis=0)
    if empty.any():
        raise ValueError(f"{name} holds no value in column {int(np.argmax(empty))}: leave it out.")
    return _units(name, np.nanmax(A, axis=0) / 2 - np.nanmin(A, axis=0) / 2, A.dtype)


def _deviation(name: str, Z: Centered) -> Array:
    """The unit of every column, from its standard deviation."""
    squares = np.where(Z.constant, 0.0, Z.column_squares())
    kind = np.float64 if Z.eps <= EPS else np.float32
    return _units(name, Z.from_X(np.sqrt(squares / Z.total)), kind)


def _units(name: str, size: Array, dtype: Any) -> Array:
    """Powers of two above the sizes; their products, covariances, must not leave the range."""
    kind = np.finfo(dtype)
    low, high = 4 * np.sqrt(float(kind.tiny)), np.sqrt(float(kind.max)) / 4
    strange = (size > 0) & ~((size > low) & (size < high))
    if strange.any():
        j = int(np.argmax(strange))
        raise ValueError(
            f"column {j} of {name} varies by {size[j]:.2g}, and covariances of such numbers leave "
            f"the range of {kind.dtype}: scale it to sizes near 1."
        )
    return power_of_two(size)
