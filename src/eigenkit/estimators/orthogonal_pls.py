"""PLS with orthogonal signal correction."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import project
from eigenkit.estimators._cross_decomposition import NOTHING_SHARED, Fit, Pair, StreamedPLS
from eigenkit.estimators._described import described
from eigenkit.estimators._streams import results
from eigenkit.estimators.pls import PLSRegressor
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import ROUNDING
from eigenkit.shell import check_at_most, check_count
from eigenkit.solvers.covariance import largest_covariances
from eigenkit.solvers.cross_products import rescaled
from eigenkit.solvers.orthogonal import Filter, correct, predictive


@described
class OrthogonalPLS(StreamedPLS, PLSRegressor):
    """PLS with orthogonal signal correction (O-PLS).

    Variation of X that accompanies the predictive scores but is orthogonal to y is removed, one
    component ``t_o`` after the other, before y is regressed on ``t = (X - sum t_o p_o') w``,
    w along X'y. For one response the predictions are those of :class:`PLSRegression` with
    ``1 + n_orthogonal`` components; the gain is that a single component describes y, and the
    others everything else.

    Parameters
    ----------
    n_components : int or None
        Number of predictive components, at most that of the responses; None for all.
    n_orthogonal : int
        Number of orthogonal components.
    {scale}

    Attributes
    ----------
    x_weights_, x_loadings_, x_rotations_ : array of shape (n_features, n_components_)
        Of the predictive components.
    orthogonal_weights_, orthogonal_loadings_ : array of shape (n_features, n_orthogonal_)
        w_o and p_o.
    orthogonal_rotations_ : array of shape (n_features, n_orthogonal_)
        The orthogonal scores of X are ``(X - x_mean_) / x_std_ @ orthogonal_rotations_``.
    orthogonal_variance_ratio_ : array of shape (n_orthogonal_,)
        Share of the variance of (scaled) X that each orthogonal component removes.
    y_weights_, y_loadings_, y_rotations_, coef_, intercept_, coef_path_, x_scores_, y_scores_
        As in :class:`PLSRegression`. What is taken out of X depends on all predictive components:
        with several of them there is no ``coef_path_``, and ``predict`` takes no fewer.
    {explained_on_both_sides}
    n_components_, n_orthogonal_ : int
        The second may be less than asked for where X holds no more; a warning says so.
    {report}
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from eigenkit import OrthogonalPLS, PLSRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = OrthogonalPLS(n_orthogonal=2).fit(X, y)
    >>> bool(np.allclose(model.predict(X), PLSRegression(3).fit(X, y).predict(X)))
    True
    >>> bool(np.allclose(model.transform_orthogonal(X).T @ (y - y.mean()), 0, atol=1e-6))
    True
    """

    orthogonal_weights_, orthogonal_loadings_, orthogonal_rotations_ = results(3)
    orthogonal_variance_ratio_, n_orthogonal_ = results(2)

    _deflation = "regression"
    _nested = False  # what is orthogonal to y depends on all predictive components

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_orthogonal: int = 1,
        scale: bool | tuple[bool, bool] = True,
    ) -> None:
        super().__init__(n_components, scale=scale)
        self.n_orthogonal = n_orthogonal

    def _settings(self) -> tuple[bool, bool]:
        check_count("n_orthogonal", self.n_orthogonal)
        scale: tuple[bool, bool] = super()._settings()
        return scale

    def _n_wanted(self, n: int, d: int, k: int) -> int:
        what = "the number of responses or features"
        return check_at_most("n_components", self.n_components, min(n, d, k), what)

    def _decompose(self, pair: Pair, scale: tuple[bool, bool], l: int) -> Fit:
        X, Y, cross = rescaled(pair.X, pair.Y, scale, l)
        pairs = largest_covariances(X, Y, l)
        W, right = pairs.x_weights, Y.toarray()
        if not W.size:
            raise ValueError(NOTHING_SHARED)
        YC = right @ pairs.y_weights
        covariance = pairs.singular_values / np.linalg.norm(YC, axis=0)
        off = ROUNDING * np.sqrt(cross.trace) / float(covariance.min())
        found = correct(X, W, YC, off, int(self.n_orthogonal))
        room = len(W) - W.shape[1]  # where there is none, no component is missed
        if room and len(found.w) < self.n_orthogonal:
            warnings.warn(
                f"n_orthogonal={self.n_orthogonal}, but X holds {len(found.w)} components that "
                "go along with the predictive ones and are orthogonal to y: these are used",
                DegenerateDataWarning,
                stacklevel=6,
            )
        self._keep_filter(found, cross.trace, len(cross.xy))
        components = predictive(X, right, W, found)
        return Fit(X, Y, components, (cross.trace, float(np.trace(cross.yy))))

    def _keep_filter(self, found: Filter, trace: float, d: int) -> None:
        columns = np.zeros((d, 0))
        P = np.column_stack([columns, *found.p])
        self.orthogonal_weights_ = self._cast(np.column_stack([columns, *found.w]))
        self.orthogonal_loadings_ = self._cast(P)
        self.orthogonal_rotations_ = self._cast(found.rotations(d))
        self.orthogonal_variance_ratio_ = np.array(found.norms) * np.sum(P**2, axis=0) / trace
        self.n_orthogonal_ = len(found.w)

    def transform_orthogonal(self, X: Any) -> Array:
        """Scores of X that are orthogonal to y.

        {samples}

        Returns
        -------
        array of shape (n_samples, n_orthogonal_)
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        return project(X, self.x_mean_, self.orthogonal_rotations_ / self.x_std_[:, None])

    def correct(self, X: Any) -> Array:
        """X without its orthogonal components, in its own units: dense, also for sparse X.

        {samples}

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        orthogonal = self.transform_orthogonal(X) @ self.orthogonal_loadings_.T * self.x_std_
        X = self._check_X(X, reset=False)
        return np.asarray(X - orthogonal)
