"""OLS, PCR, ridge and PLS1 as one regression with different shrinkage factors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from eigenkit.data import SCALABLE, Centered, project
from eigenkit.estimators._both_sides import CentredSides, ScoresByName
from eigenkit.estimators._encoding import check_numeric_Y
from eigenkit.estimators._estimator import Estimator
from eigenkit.estimators._streams import results
from eigenkit.estimators._validation import check_X, warn_lost_features
from eigenkit.numerics.linalg import Array
from eigenkit.pencil import Report
from eigenkit.shell import check_at_most, check_count, check_flag, check_real
from eigenkit.solvers.shrinkage import Risk, Spectrum, coefficient_risk, fit_risk


class ShrinkageRegression(CentredSides, ScoresByName, RegressorMixin, Estimator):
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
    {report_and_names}

    {diabetes}
    >>> from eigenkit import ShrinkageRegression
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

    singular_values_, directions_, shrinkage_factors_, _spectrum_ = results(4)
    coef_, intercept_, mean_ = results(3)
    _last_result = "coef_"
    _rules: ClassVar = {
        "method": ("ols", "pcr", "ridge", "pls"),
        "n_components": check_count,
        "bounded": check_flag,
    }

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> Any:
        Y = check_numeric_Y(column_or_1d(y, warn=True), n, SCALABLE)
        return Y.astype(np.float64, copy=False)

    def _solve(self, problem: tuple[Centered, Centered], settings: None) -> Spectrum:
        Z, y = problem
        return Spectrum.of(Z, y.toarray()[:, 0] / y.units[0])

    def _keep(self, problem: tuple[Centered, Centered], solution: Spectrum) -> None:
        factors = self._factors(solution)
        if self.method == "ols":  # whose predictions should not depend on units
            warn_lost_features(problem[0], solution.directions, solution.singular_values)
        if self.bounded:
            factors = np.clip(factors, -1.0, 1.0)
        self._spectrum_ = solution
        self.intercept_ = float(problem[1].mean[0])
        self.shrinkage_factors_ = factors
        self.singular_values_ = solution.singular_values
        self.directions_ = solution.directions
        self.mean_ = self._cast(problem[0].mean)
        self.coef_ = self._cast(solution.coef(factors))

    def _report(self, solution: Spectrum) -> Report:
        return Report("spectral", "svd", "every method is a factor for each singular value")

    def _factors(self, spectrum: Spectrum) -> Array:
        if self.method == "ols":
            return spectrum.ols()
        if self.method == "ridge":
            return spectrum.ridge(float(self.alpha))
        rank = f"the rank of X (of n_features={self.n_features_in_})"
        l = check_at_most("n_components", self.n_components, len(spectrum.s), rank, hint="")
        return spectrum.pcr(l) if self.method == "pcr" else spectrum.pls(l)

    def predict(self, X: Any) -> Array:
        """Predict y.

        {class_of_each}
        """
        check_is_fitted(self)
        X = check_X(self, X, reset=False)
        centred = project(X, self.mean_, self.coef_[:, None])[:, 0]
        return np.asarray(centred + self._dtype_.type(self.intercept_))

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
    return np.asarray(model.fit(X, y, sample_weight).shrinkage_factors_)
