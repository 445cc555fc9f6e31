"""Probabilistic canonical correlation analysis."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from scipy import linalg as sla
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import Centered, one_sample, project
from eigenkit.estimators._validation import (
    as_labels,
    check_numeric_Y,
    check_weight,
    check_X,
    check_X_varies,
    check_y_varies,
)
from eigenkit.exceptions import ConvergenceWarning
from eigenkit.linalg import Array, power_of_two, triangular_factor
from eigenkit.shell import check_count, check_real, forget, unchanged_on_error
from eigenkit.solvers.shared_latent import (
    LOG_2PI,
    SharedLatent,
    SingularView,
    bic,
    closed_form,
    complete,
    expectation_maximization,
    patterns,
)


@dataclass(frozen=True)
class _Views:
    """Both views in units in which columns vary by about 1; gaps are NaN."""

    X: Any
    Y: Array
    weight: Array | None

    @property
    def gaps(self) -> bool:
        return bool(
            np.isnan(self.Y).any() or (not sparse.issparse(self.X) and np.isnan(self.X).any())
        )

    def joint(self) -> Array:
        """Both views side by side; where one has gaps, sparse X would be dense in the algebra."""
        if sparse.issparse(self.X):
            raise ValueError(
                "y has missing entries (or is missing) beside sparse X: give X as a dense array."
            )
        return np.hstack([self.X, self.Y]).astype(np.float64, copy=False)


class ProbabilisticCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Canonical correlation analysis as a model of the data: two views of one latent variable.

    ``z ~ N(0, I),  x = Wx z + mx + ex,  y = Wy z + my + ey``, with any covariances of ex and
    ey. The likelihood is largest at ``Wx = Sxx Ux sqrt(r)``, ``Wy = Syy Uy sqrt(r)`` with the
    canonical weights U and correlations r, so it is found without iterating. Being a density,
    it scores new rows, tells how many components there are, draws samples, and lives with
    missing entries and missing views.

    Parameters
    ----------
    n_components : int, None or "bic"
        Number of components; None for all, "bic" for the number of least BIC, which may be 0.
    alpha : float
        Ridge on both views, on the scale of X'X as in :class:`CCA`. 0 is maximum likelihood,
        which needs more samples than features and no collinear ones.
    tol, max_iter : float, int
        Where entries are missing: gain of the mean log likelihood and number of steps at
        which EM stops.

    Attributes
    ----------
    canonical_correlations_ : array of shape (n_components_,)
    x_weights_ : array of shape (n_features, n_components_)
        Ux: scores of unit variance.
    y_weights_ : array of shape (n_targets, n_components_)
    x_loadings_, y_loadings_ : array
        Wx and Wy.
    x_noise_covariance_, y_noise_covariance_ : array
        Covariances of ex and ey.
    bic_ : array
        BIC of 0, 1, ... components less a constant; with missing entries only if it was
        asked for.
    mean_, y_mean_ : array
    n_components_, n_iter_, n_features_in_, feature_names_in_

    Notes
    -----
    Rows may have NaN anywhere, in fitting and in use; a row of NaN in one view is a view that
    is missing. Given x the variance of z is 1 - r; given both views it is (1 - r) / (1 + r).
    To choose the number of components by held-out likelihood, search over it: :meth:`score` is
    the mean log density.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit import ProbabilisticCCA
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 2))
    >>> X = z @ rng.normal(size=(2, 6)) + rng.normal(size=(300, 6))
    >>> Y = z @ rng.normal(size=(2, 5)) + rng.normal(size=(300, 5))
    >>> model = ProbabilisticCCA("bic").fit(X, Y)
    >>> model.n_components_
    2
    >>> X[:50, 3], Y[50:100] = np.nan, np.nan
    >>> ProbabilisticCCA(2).fit(X, Y).latent(X, Y).shape
    (300, 2)
    """

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        alpha: float = 1.0,
        tol: float = 1e-7,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    # -- fitting -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            NaN where an entry is missing (not in sparse X).
        y : array or frame of shape (n_samples,) or (n_samples, n_targets)
            The other view; NaN where an entry is missing.
        sample_weight : array of shape (n_samples,), optional
            Integer weights count repetitions, zero leaves a row out.

        Returns
        -------
        self
        """
        self._check_parameters()
        if y is None:
            raise ValueError("ProbabilisticCCA requires y to be passed, but the target y is None.")
        with unchanged_on_error(self):
            forget(self)
            X = check_X(self, X, reset=True, min_samples=2, finite=False)
            weight = check_weight(sample_weight, X.shape[0])
            self._one_response_ = np.ndim(as_labels(y)) == 1
            views = self._views(X, y, weight)
            self._scale_ = self._units(views)
            views = self._scaled(views)
            self._n_samples_ = float(
                len(views.Y)
                if views.weight is None
                else views.weight.sum() / one_sample(views.weight)
            )
            try:
                self._solve(views)
            except SingularView as error:
                raise ValueError(_singular(error, views)) from None
            self._keep(X.dtype)
        return self

    def _check_parameters(self) -> None:
        if not (self.n_components is None or self.n_components == "bic"):
            check_count("n_components", self.n_components, hint=', or "bic", or None for all')
        check_real("alpha", self.alpha)
        check_real("tol", self.tol)
        check_count("max_iter", self.max_iter)

    def _views(self, X: Any, y: Any, weight: Array | None) -> _Views:
        values = X.data if sparse.issparse(X) else X
        if np.isinf(values).any() or (sparse.issparse(X) and np.isnan(values).any()):
            what = "infinity" if np.isinf(values).any() else "NaN"
            raise ValueError(f"X contains {what}: remove or impute such entries.")
        Y = check_numeric_Y(as_labels(y), X.shape[0], gaps=True)
        if weight is not None and np.any(weight == 0):
            X, Y, weight = X[weight > 0], Y[weight > 0], weight[weight > 0]
        return _Views(X, Y, weight)

    def _units(self, views: _Views) -> Array:
        """Powers of two that bring the columns of both views to a moderate spread."""
        sizes = np.concatenate([_spread("X", views.X), _spread("y", views.Y)])
        if not views.gaps:
            Zx, Zy = Centered(views.X, views.weight), Centered(views.Y, views.weight)
            check_X_varies(Zx)
            check_y_varies(~Zy.constant)
        return power_of_two(sizes)

    def _scaled(self, views: _Views) -> _Views:
        d = views.X.shape[1]
        s_x, s_y = self._scale_[:d], self._scale_[d:]
        X = views.X.multiply(1 / s_x).tocsr() if sparse.issparse(views.X) else views.X / s_x
        return replace(views, X=X, Y=views.Y / s_y)

    def _solve(self, views: _Views) -> None:
        d, most = views.X.shape[1], min(views.X.shape[1], views.Y.shape[1])
        if isinstance(self.n_components, int) and self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} exceeds {most}, the features of the smaller "
                f"view: give at most {most}, or None for all."
            )
        wanted = most if self.n_components in (None, "bic") else int(self.n_components)
        if views.gaps:
            self._remember(self._by_steps(views, wanted))
            return
        mean, R = self._moments(views)
        model = closed_form(mean, R, d, wanted)
        self.bic_ = bic(model, self._n_samples_)
        if self.n_components == "bic":
            model = replace(model, q=int(np.argmin(self.bic_)))
        self._remember(model)
        self.n_iter_ = 1

    def _remember(self, model: SharedLatent) -> None:
        # Plain arrays, as model files hold them.
        self._parts_ = {f.name: getattr(model, f.name) for f in fields(model)}

    @property
    def _model(self) -> SharedLatent:
        return SharedLatent(**self._parts_)

    def _moments(self, views: _Views) -> tuple[Array, Array]:
        """Means of both views, and the triangular factor of their covariance."""
        Zx, Zy = Centered(views.X, views.weight), Centered(views.Y, views.weight)
        mean = np.concatenate([Zx.mean, Zy.mean])
        below = np.diag(np.sqrt(self._ridge()))
        if Zx.may_be_dense:
            rows = np.hstack([Zx.toarray(), Zy.toarray()]) / np.sqrt(Zx.total)
            return mean, triangular_factor(np.vstack([rows, below]))
        right = Zy.toarray()
        cross = Zx.rmatmat(right)
        S = np.block([[Zx.gram(), cross], [cross.T, right.T @ right]]) / Zx.total + below**2
        try:
            return mean, np.asarray(sla.cholesky(S))
        except np.linalg.LinAlgError:
            raise SingularView(0, -1) from None

    def _ridge(self) -> Array:
        """alpha I of X'X in our units, with the divisor n."""
        return float(self.alpha) / self._scale_**2 / self._n_samples_

    def _by_steps(self, views: _Views, wanted: int) -> SharedLatent:
        V = views.joint()
        empty = np.isnan(V).all(axis=1)
        if empty.any():
            raise ValueError(f"row {int(np.argmax(empty))} holds no value in X or y: leave it out.")
        w = np.ones(len(V)) if views.weight is None else views.weight
        every = self.n_components == "bic"
        runs = [
            expectation_maximization(
                V, w, views.X.shape[1], q, self._ridge(), float(self.tol), int(self.max_iter)
            )
            for q in (range(wanted + 1) if every else [wanted])
        ]
        best = runs[0]
        if every:
            q, n = np.arange(wanted + 1), self._n_samples_
            likelihood = np.array([run.log_likelihood for run in runs])
            self.bic_ = -2 * n * (likelihood - likelihood[0]) + q * (V.shape[1] - q) * np.log(n)
            best = runs[int(np.argmin(self.bic_))]
        if best.change > self.tol:
            warnings.warn(
                f"EM stopped after max_iter={self.max_iter} steps while the log likelihood of a "
                f"sample still grew by {best.change:.1e}: increase max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.n_iter_ = best.n_iter
        return best.model

    def _keep(self, dtype: Any) -> None:
        model, s = self._model, self._scale_
        d, q = model.d_x, model.q
        W = model.loadings * s[:, None]
        C = model.covariance * np.outer(s, s)
        noise = C - W @ W.T
        found = {
            "mean_": model.mean[:d] * s[:d],
            "y_mean_": model.mean[d:] * s[d:],
            "canonical_correlations_": model.r[:q],
            "x_weights_": model.U_x[:, :q] / s[:d, None],
            "y_weights_": model.U_y[:, :q] / s[d:, None],
            "x_loadings_": W[:d],
            "y_loadings_": W[d:],
            "x_noise_covariance_": noise[:d, :d],
            "y_noise_covariance_": noise[d:, d:],
        }
        for name, value in found.items():
            setattr(self, name, value.astype(dtype, copy=False))
        self._dtype_ = dtype
        self.n_components_ = q
        self.components_ = np.ascontiguousarray(self.x_weights_.T)

    # -- using -------------------------------------------------------------------------

    def _given(self, X: Any, y: Any) -> _Views:
        """New rows in our units; without y its view is missing."""
        check_is_fitted(self)
        X = check_X(self, X, reset=False, finite=False)
        k = len(self._scale_) - self.n_features_in_
        if y is None:
            y = np.full((X.shape[0], k), np.nan)
        views = self._views(X, y, None)
        if views.Y.shape[1] != k:
            raise ValueError(
                f"y has {views.Y.shape[1]} columns, but ProbabilisticCCA was fitted with {k}."
            )
        return self._scaled(views)

    def transform(self, X: Any, y: Any = None) -> Any:
        """The expectation of z given x, ``sqrt(r) u``; and given y, ``sqrt(r) v``, if it is passed.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets), optional

        Returns
        -------
        array of shape (n_samples, n_components_), or a tuple of two of them
        """
        views = self._given(X, y)
        nothing = replace(views, Y=np.full_like(views.Y, np.nan))
        given_x = self._expected(nothing, from_x=True)
        if y is None:
            return given_x
        nothing = replace(views, X=np.full(views.X.shape, np.nan))
        return given_x, self._expected(nothing, from_x=False)

    def latent(self, X: Any, y: Any) -> Array:
        """The expectation of z given both views: ``sqrt(r) / (1 + r) (u + v)``.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Either may have NaN where entries are missing: the expectation then is that given
            the others.

        Returns
        -------
        array of shape (n_samples, n_components_)
        """
        views = self._given(X, y)
        return self._combined(*self._variates(views if not views.gaps else self._filled(views)))

    def _expected(self, views: _Views, *, from_x: bool) -> Array:
        """E[z] given one view; where all of it is there, without the algebra for gaps."""
        model, d, q = self._model, self.n_features_in_, len(self.components_)
        A = views.X if from_x else views.Y
        if _has_nan(A):
            return self._combined(*self._variates(self._filled(views)))
        U, side = (model.U_x, slice(None, d)) if from_x else (model.U_y, slice(d, None))
        return self._cast(np.sqrt(model.r[:q]) * project(A, model.mean[side], U[:, :q]))

    def _variates(self, views: _Views) -> tuple[Array, Array]:
        model, d, q = self._model, self.n_features_in_, len(self.components_)
        u = project(views.X, model.mean[:d], model.U_x[:, :q])
        return u, project(views.Y, model.mean[d:], model.U_y[:, :q])

    def _combined(self, u: Array, v: Array) -> Array:
        # With gaps at their expectations, E[z|x,y] is that given the entries that are there.
        r = self._model.r[: u.shape[1]]
        return self._cast(np.sqrt(r) / (1 + r) * (u + v))

    def _filled(self, views: _Views) -> _Views:
        V = self._completed(views)
        return _Views(V[:, : self.n_features_in_], V[:, self.n_features_in_ :], None)

    def _completed(self, views: _Views) -> Array:
        V, model = views.joint(), self._model
        ones = np.ones(len(V))
        return complete(V, model.mean, model.covariance, patterns(V), ones).V

    def predict(self, X: Any) -> Array:
        """The expectation of y given x: ``y_mean_ + transform(X) @ y_loadings_.T``.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
        """
        expected = self.transform(X) @ self.y_loadings_.T + self.y_mean_
        return expected[:, 0] if self._one_response_ else expected

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
        filled = self._completed(views) * self._scale_
        return self._cast(filled[:, : self.n_features_in_]), filled[:, self.n_features_in_ :]

    def score_samples(self, X: Any, y: Any = None) -> Array:
        """The log density of every row, (x, y) together, or of what is there of it.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets), optional
            Without it, the density of x.

        Returns
        -------
        array of shape (n_samples,)
        """
        views = self._given(X, y)
        model, d, logs = self._model, self.n_features_in_, np.log(self._scale_)
        if y is None and not _has_nan(views.X):
            squares = _squares(views.X, model.mean[:d], model.R_x)
            constant = d * LOG_2PI + 2 * np.sum(np.log(np.abs(np.diag(model.R_x))))
            return np.asarray(-0.5 * (constant + squares) - logs[:d].sum())
        if views.gaps:
            V = views.joint()
            ones = np.ones(len(V))
            density = complete(V, model.mean, model.covariance, patterns(V), ones).log_density
            return np.asarray(density - ~np.isnan(V) @ logs)
        squares = _squares(views.X, model.mean[:d], model.R_x)
        squares += _squares(views.Y, model.mean[d:], model.R_y)
        return np.asarray(model.log_density(*self._variates(views), squares) - logs.sum())

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the rows.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X, y)))

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
        L = np.linalg.cholesky(model.covariance)
        drawn = check_random_state(random_state).standard_normal((n, len(L))) @ L.T + model.mean
        drawn *= self._scale_
        return self._cast(drawn[:, : model.d_x]), drawn[:, model.d_x :]

    def _cast(self, value: Array) -> Array:
        return value.astype(self._dtype_, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _has_nan(X: Any) -> bool:
    return not sparse.issparse(X) and bool(np.isnan(X).any())


def _squares(A: Any, mean: Array, R: Array) -> Array:
    """Squared Mahalanobis lengths of the rows, for the covariance R'R."""
    white = project(A, mean, sla.solve_triangular(R, np.eye(len(R))))
    return np.asarray(np.sum(white**2, axis=1))


def _spread(name: str, A: Any) -> Array:
    """Half the range of every column; its square, a covariance, must be a number of its kind."""
    if sparse.issparse(A):
        size = np.asarray(abs(A).max(axis=0).toarray()).ravel()
    else:
        empty = np.isnan(A).all(axis=0)
        if empty.any():
            raise ValueError(
                f"{name} holds no value in column {int(np.argmax(empty))}: leave it out."
            )
        size = np.nanmax(A, axis=0) / 2 - np.nanmin(A, axis=0) / 2
    kind = np.finfo(A.dtype)
    low, high = 4 * np.sqrt(float(kind.tiny)), np.sqrt(float(kind.max)) / 4
    strange = (size > 0) & ~((size > low) & (size < high))
    if strange.any():
        j = int(np.argmax(strange))
        raise ValueError(
            f"column {j} of {name} varies by {size[j]:.2g}, and covariances of such numbers leave "
            f"the range of {kind.dtype}: scale it to sizes near 1."
        )
    return size


def _singular(error: SingularView, views: _Views) -> str:
    n, d = views.X.shape[0], (views.X, views.Y)[error.view].shape[1]
    name = ("X", "y")[error.view]
    if n <= d:
        return (
            f"{n} samples give no covariance of the {d} columns of {name} that has a density: set "
            "alpha > 0, or take fewer columns."
        )
    which = "a column" if error.column < 0 else f"column {error.column}"
    return (
        f"{which} of {name} is a combination of others, so that the covariance has no "
        "density: leave it out, or set alpha > 0."
    )
