"""The PLS family: thin shells around one deflation loop (:mod:`eigenkit.solvers.deflation`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenkit.estimators._cross_decomposition import (
    CrossDecomposition,
    Fit,
    NipalsRegressor,
    PLSRegressor,
    Rows,
)
from eigenkit.linalg import Array


class PLSRegression(NipalsRegressor):
    """Partial least squares regression (PLS2; with one response PLS1).

    Each component is the direction w of largest covariance with y,
    ``w = argmax w'Xi'Y Y'Xi w, ||w|| = 1``; then X and y are deflated by its score ``t = Xi w``.

    Parameters
    ----------
    n_components : int or None
        Number of components; None for all.
    scale : bool or (bool, bool)
        Whether to divide X and y by the standard deviations of their columns; a pair says so
        for X and y separately.
    algorithm : {"kernel", "nipals"}
        "kernel" works on cross-products and never deflates X; "nipals" is the textbook
        iteration on dense X, which skips missing values (NaN) in X.
    tol, max_iter : float, int
        When the iteration of "nipals" stops: the change of the weights, the number of steps.

    Attributes
    ----------
    x_weights_, x_loadings_, x_rotations_ : array of shape (n_features, n_components_)
        W, P and R = W (P'W)^-1: the scores of X are ``(X - x_mean_) / x_std_ @ x_rotations_``.
    y_weights_, y_loadings_, y_rotations_ : array of shape (n_targets, n_components_)
    x_scores_, y_scores_ : array of shape (n_samples, n_components_)
        The x-scores are orthogonal; the y-scores are those of the deflated y.
    coef_ : array of shape (n_targets, n_features)
        ``predict(X)`` is ``(X - x_mean_) @ coef_.T + intercept_``, as in scikit-learn.
    intercept_ : array of shape (n_targets,)
    coef_path_ : array of shape (n_components_, n_targets, n_features)
        Coefficients for every number of components.
    x_explained_variance_ratio_, y_explained_variance_ratio_ : array of shape (n_components_,)
        Share of the variance of (scaled) X and y in each component.
    x_mean_, y_mean_, x_std_, y_std_ : array
        What is subtracted and divided by; x_std_ is 1 without scaling and for constants.
    n_components_ : int
        May be less than asked for where X and y share no more; a warning says so.
    n_iter_ : list of int
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenkit import PLSRegression
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = PLSRegression(n_components=3).fit(X, Y)
    >>> model.predict(X[:1], n_components=2).shape
    (1, 3)
    >>> model.coef_path_.shape
    (3, 3, 3)
    """

    _deflation = "regression"

    def _y_scores(self, Y: Array, T: Array) -> Array:
        """u_i = Y_i q_i / q_i'q_i, with Y_i deflated by the x-scores before i."""
        Q = self.y_loadings_.astype(np.float64)
        QQ = Q.T @ Q
        return (Y @ Q - T @ np.triu(QQ, 1)) / QQ.diagonal()


class SIMPLS(PLSRegressor):
    """SIMPLS: PLS regression with weights that apply to X itself.

    Maximizes ``w'X'Y Y'X w`` over unit w whose scores are orthogonal to all earlier ones. For
    one response it is :class:`PLSRegression`; for several it is a model of its own.

    Parameters
    ----------
    n_components : int or None
        Number of components; None for all.
    scale : bool or (bool, bool)
        Whether to divide X and y by the standard deviations of their columns.

    Attributes
    ----------
    x_weights_, x_rotations_ : array of shape (n_features, n_components_)
        One and the same: the scores are ``(X - x_mean_) / x_std_ @ x_weights_``.
    x_loadings_ : array of shape (n_features, n_components_)
    y_weights_, y_loadings_, y_rotations_ : array of shape (n_targets, n_components_)
    x_scores_, y_scores_ : array of shape (n_samples, n_components_)
    coef_, intercept_, coef_path_
        As in :class:`PLSRegression`.
    x_explained_variance_ratio_, y_explained_variance_ratio_ : array of shape (n_components_,)
    x_mean_, y_mean_, x_std_, y_std_ : array
    n_components_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenkit import SIMPLS
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> SIMPLS(n_components=2).fit_transform(X, Y).shape
    (20, 2)
    """

    _deflation = "simpls"

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the scores of X.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        array of shape (n_samples, n_components_)
        """
        return self.fit(X, y, sample_weight).transform(X)


class PLSCanonical(NipalsRegressor):
    """PLS Mode A, symmetric in X and y: each is deflated by its own scores.

    Each pair maximizes ``w'Xi'Yi c`` over unit w and c; then X is deflated by ``t = Xi w`` and
    y by ``u = Yi c``. Scores are orthogonal within each block.

    Parameters
    ----------
    n_components : int or None
        Number of components, at most the number of targets; None for all.
    scale : bool or (bool, bool)
        Whether to divide X and y by the standard deviations of their columns.
    algorithm : {"kernel", "nipals"}
        As in :class:`PLSRegression`.
    tol, max_iter : float, int
        When the iteration of "nipals" stops.

    Attributes
    ----------
    x_weights_, x_loadings_, x_rotations_ : array of shape (n_features, n_components_)
    y_weights_, y_loadings_, y_rotations_ : array of shape (n_targets, n_components_)
    x_scores_, y_scores_ : array of shape (n_samples, n_components_)
    coef_, intercept_, coef_path_
        As in scikit-learn, with the y-scores taken to equal the x-scores; to predict, rather
        use :class:`PLSRegression`.
    x_explained_variance_ratio_, y_explained_variance_ratio_ : array of shape (n_components_,)
    x_mean_, y_mean_, x_std_, y_std_ : array
    n_components_, n_iter_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenkit import PLSCanonical
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> x_scores, y_scores = PLSCanonical(n_components=2).fit_transform(X, Y)
    >>> abs(x_scores[:, 0] @ x_scores[:, 1]) < 1e-10
    True
    """

    _deflation = "canonical"


class PLSSVD(CrossDecomposition):
    """PLS-SB: the singular vectors of X'Y, all at once.

    ``Xc'Yc = W diag(singular_values_) C'``; nothing is deflated, so weights are orthogonal and
    scores in general are not.

    Parameters
    ----------
    n_components : int or None
        Number of components, at most the number of targets; None for all.
    scale : bool or (bool, bool)
        Whether to divide X and y by the standard deviations of their columns.

    Attributes
    ----------
    x_weights_, x_rotations_ : array of shape (n_features, n_components_)
        W, under both names.
    y_weights_, y_rotations_ : array of shape (n_targets, n_components_)
        C, under both names.
    x_scores_, y_scores_ : array of shape (n_samples, n_components_)
    singular_values_ : array of shape (n_components_,)
    x_mean_, y_mean_, x_std_, y_std_ : array
    n_components_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenkit import PLSSVD
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> x_scores, y_scores = PLSSVD(n_components=2).fit_transform(X, Y)
    """

    _deflation = "svd"

    def _keep_more(self, rows: Rows, used: Rows, fit: Fit) -> None:
        self._keep_scores(rows, used, fit)
        values = fit.components.singular_values / fit.X.unit / fit.Y.unit
        self.singular_values_ = self._cast(values)
