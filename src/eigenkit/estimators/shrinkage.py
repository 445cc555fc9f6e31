"""OLS, PCR, ridge and PLS1 as one regression with different shrinkage factors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from eigenkit.data import SCALABLE, Centered, centered_columns, project
from eigenkit.estimators._validation import (
    as_labels,
    check_numeric_Y,
    check_weight,
    check_X,
    check_X_varies,
    check_y_varies,
)
from eigenkit.linalg import Array
from eigenkit.shell import check_choice, check_count, check_real, unchanged_on_error
from eigenkit.solvers.shrinkage import Risk, Spectrum, coefficient_risk, fit_risk

METHODS = ("ols", "pcr", "ridge", "pls")


class ShrinkageRegression(RegressorMixin, BaseEstimator):
    """Regression of one response by shrinkage along the singular directions of X.

    With Xc = sum_i s_i v_i u_i' the coefficients are ``sum_i f_i u_i (v_i'y) / s_i``:

    ======= =================================================================
    method  factor f_i
    ======= =================================================================
    "ols"   1
    "pcr"   1 for the first n_components directions, 0 beyond
    "ridge" s_i^2 / (s_i^2 + alpha)
    "pls"   1 - prod_j (1 - s_i^2 / mu_j), mu_j the Ritz values of PLS1
    ======= =================================================================

    Parameters
    ----------
    method : {"ols", "pcr", "ridge", "pls"}
    n_components : int
        For "pcr" and "pls".
    alpha : float
        For "ridge", on the scale of scikit-learn's Ridge.
    bounded : bool
        Clip the factors to [-1, 1]. Factors of PLS can lie outside, where they add variance
        and bias at once; for the other methods nothing changes.

    Attributes
    ----------
    singular_values_ : array of shape (rank,)
    directions_ : array of shape (n_features, rank)
    shrinkage_factors_ : array of shape (rank,)
    coef_ : array of shape (n_features,)
        ``predict(X)`` is ``(X - mean_) @ coef_ + intercept_``.
    intercept_ : float
    mean_ : array of shape (n_features,)
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from eigenkit import ShrinkageRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ShrinkageRegression("pls", n_components=3).fit(X, y)
    >>> bool(model.shrinkage_factors_.max() > 1)
    True
    >>> model.set_params(bounded=True).fit(X, y).shrinkage_factors_.max().item()
    1.0
    """

    def __init__(
        self,
        method: str = "pls",
        *,
        n_components: int = 2,
        alpha: float = 1.0,
        bounded: bool = False,
    ) -> None:
        self.method = method
        self.n_components = n_components
        self.alpha = alpha
        self.bounded = bounded

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the regression.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        check_choice("method", self.method, METHODS)
        check_count("n_components", self.n_components)
        check_real("alpha", self.alpha)
        with unchanged_on_error(self):
            Z, right = self._centred(X, y, sample_weight)
            self._spectrum_ = Spectrum.of(Z, right)
            self._keep(Z)
        return self

    def _centred(self, X: Any, y: Any, sample_weight: Any) -> tuple[Centered, Array]:
        if y is None:
            raise ValueError(
                "ShrinkageRegression requires y to be passed, but the target y is None."
            )
        X = check_X(self, X, reset=True, min_samples=2, finite=False)
        Y = check_numeric_Y(column_or_1d(as_labels(y), warn=True), X.shape[0], SCALABLE)
        y = Y[:, 0]
        weight = check_weight(sample_weight, X.shape[0])
        if weight is not None and np.any(weight == 0):
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self._dtype_ = X.dtype
        Z = Centered(X, weight)
        mean, centred = centered_columns(y[:, None], weight)
        check_X_varies(Z)
        check_y_varies(centred)
        self.intercept_ = float(mean[0])
        return Z, Z.weighted(centred)[:, 0]

    def _keep(self, Z: Centered) -> None:
        spectrum = self._spectrum_
        factors = self._factors(spectrum)
        if self.bounded:
            factors = np.clip(factors, -1.0, 1.0)
        coef = spectrum.coef(factors)
        self.shrinkage_factors_ = factors
        self.singular_values_ = spectrum.singular_values
        self.directions_ = spectrum.directions
        self.mean_ = Z.mean.astype(self._dtype_)
        self.coef_ = coef.astype(self._dtype_)

    def _factors(self, spectrum: Spectrum) -> Array:
        if self.method in ("pcr", "pls") and self.n_components > len(spectrum.s):
            raise ValueError(
                f"n_components={self.n_components} exceeds {len(spectrum.s)}, the rank of X (of "
                f"n_features={self.n_features_in_}): give at most that."
            )
        if self.method == "ols":
            return spectrum.ols()
        if self.method == "ridge":
            return spectrum.ridge(float(self.alpha))
        return (
            spectrum.pcr(self.n_components)
            if self.method == "pcr"
            else spectrum.pls(self.n_components)
        )

    def predict(self, X: Any) -> Array:
        """Predict y.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        X = check_X(self, X, reset=False)
        return project(X, self.mean_, self.coef_[:, None])[:, 0] + self._dtype_.type(
            self.intercept_
        )

    def risk(self, beta: Any, noise_variance: float) -> dict[str, Risk]:
        """Bias, variance and mean squared error under y = X beta + noise, for X as fitted.

        Parameters
        ----------
        beta : array of shape (n_features,)
            The true coefficients.
        noise_variance : float

        Returns
        -------
        dict
            "coef" and "fit": the risk of the coefficients, ``E||coef_ - beta||^2``, and of the
            fitted values, ``E||Xc (coef_ - beta)||^2``.
        """
        check_is_fitted(self)
        if self.method == "pls":
            raise ValueError(
                "method='pls' has factors that depend on y, so its bias and variance have no such "
                "formula: estimate them by simulation."
            )
        beta = np.asarray(beta, dtype=np.float64)
        if beta.shape != (self.n_features_in_,):
            raise ValueError(f"beta has shape {beta.shape}, expected ({self.n_features_in_},).")
        noise = check_real("noise_variance", noise_variance)
        known = (self._spectrum_, self.shrinkage_factors_, beta, noise)
        return {"coef": coefficient_risk(*known), "fit": fit_risk(*known)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.regressor_tags.poor_score = True
        return tags


def shrinkage_factors(
    X: Any,
    y: Any,
    method: str = "pls",
    *,
    n_components: int = 2,
    alpha: float = 1.0,
    bounded: bool = False,
    sample_weight: Any = None,
) -> Array:
    """Shrinkage factors of OLS, PCR, ridge or PLS1 along the singular directions of centred X.

    Parameters
    ----------
    X, y, sample_weight
        Data as for :meth:`ShrinkageRegression.fit`.
    method, n_components, alpha, bounded
        As in :class:`ShrinkageRegression`.

    Returns
    -------
    array of shape (rank,)
        In the order of decreasing singular values.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from eigenkit import shrinkage_factors
    >>> X, y = load_diabetes(return_X_y=True)
    >>> shrinkage_factors(X, y, "pcr", n_components=3)
    array([1., 1., 1., 0., 0., 0., 0., 0., 0., 0.])
    """
    model = ShrinkageRegression(method, n_components=n_components, alpha=alpha, bounded=bounded)
    return model.fit(X, y, sample_weight).shrinkage_factors_
