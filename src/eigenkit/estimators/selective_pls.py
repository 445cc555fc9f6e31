"""PLS that leaves something out: most variables, or what is orthogonal to y."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import project
from eigenkit.estimators._cross_decomposition import (
    NOTHING_SHARED,
    Fit,
    Pair,
    StreamedPLS,
    decomposed,
)
from eigenkit.estimators._streams import results
from eigenkit.estimators.pls import PLSRegressor
from eigenkit.estimators.plsda import PLSDA
from eigenkit.estimators.sparse_cca import Keep, sparsities
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import ROUNDING
from eigenkit.shell import check_at_most, check_count, take_parameters
from eigenkit.solvers.deflation import rescaled, sparse_pair
from eigenkit.solvers.spectral import Filter, correct, largest_covariances, predictive


class _SparsePairs(StreamedPLS):
    """What both classes share: pairs of weights with few non-zeros in the loop of PLS."""

    keep_x: Keep
    keep_y: Keep = None
    penalty_x: float
    penalty_y: float = 0.0
    tol: float
    max_iter: int

    def _settings(self) -> tuple[bool, bool]:
        for side in ("x", "y"):
            sparsities(self, side)
        scale: tuple[bool, bool] = super()._settings()
        return scale

    def _decompose(self, pair: Pair, scale: tuple[bool, bool], l: int) -> Fit:
        x, y = (sparsities(self, side, l) for side in ("x", "y"))
        stop = float(self.tol), int(self.max_iter)

        def find(S: Array, i: int) -> tuple[Array, Array, float, int, bool]:
            return sparse_pair(S, x[i], y[i], *stop)

        fit = decomposed(pair.X, pair.Y, scale, l, self._deflation, find)
        self.n_iter_ = max(fit.components.n_iter, default=1)
        return fit


class SparsePLS(_SparsePairs, PLSRegressor):
    """PLS with few variables in each component, of X and of y.

    Component by component, with S = Xi'Yi of the deflated data, the weights settle at

    ``w = soft(S c) / |soft(S c)|,  c = soft(S'w) / |soft(S'w)|``

    from the leading singular pair of S on; soft moves every entry towards zero by a threshold.
    Then X is deflated by its score t = Xi w, and y by t too (``mode="regression"``) or by its
    own score u = Yi c (``"canonical"``).

    Parameters
    ----------
    n_components : int or None
        Number of components; None for all.
    keep_x, keep_y : int or sequence of int, optional
        How many variables to keep in a component, or in each of them: the threshold is the
        largest entry that is not kept.
    penalty_x, penalty_y : float of at least 0 and below 1
        Where no number is given: the threshold as a share of the largest entry. 0 keeps all.
    mode : {"regression", "canonical"}
        Whether y is predicted from X, or X and y are treated alike.
    scale : bool or (bool, bool)
        Whether to divide X and y by the standard deviations of their columns, without which a
        threshold favours variables of large units.
    tol, max_iter : float, int
        Change of the weights and number of steps at which a component is done.

    Attributes
    ----------
    x_weights_ : array of shape (n_features, n_components_)
        w of each component, of unit length, with few non-zeros.
    y_weights_ : array of shape (n_targets, n_components_)
        c of each component.
    x_loadings_, y_loadings_ : array
        Regression of X and y on the scores; dense.
    x_rotations_, y_rotations_ : array
        What gives the scores of undeflated data; with as many zeros in the first component.
    x_scores_, y_scores_ : array of shape (n_samples, n_components_)
    coef_, intercept_, coef_path_
        As in :class:`PLSRegression`; ``coef_`` is zero for variables in no component.
    {explained_on_both_sides}
    {report_and_sizes}

    See Also
    --------
    KeepSearchCV : chooses the numbers by cross-validation.
    selection_frequency : how often each variable is kept when samples are drawn anew.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit import SparsePLS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 200))
    >>> Y = X[:, [3, 8]] @ [[1.0, 1.0], [1.0, 0.5]] + 0.1 * rng.normal(size=(60, 2))
    >>> model = SparsePLS(1, keep_x=2).fit(X, Y)
    >>> np.flatnonzero(model.coef_.any(axis=0))
    array([3, 8])
    """

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        keep_x: Keep = None,
        keep_y: Keep = None,
        penalty_x: float = 0.0,
        penalty_y: float = 0.0,
        mode: str = "regression",
        scale: bool | tuple[bool, bool] = True,
        tol: float = 1e-6,
        max_iter: int = 500,
    ) -> None:
        take_parameters(self, locals())

    mode: str

    @property
    def _deflation(self) -> str:  # type: ignore[override]
        return self.mode

    _rules: ClassVar = {"mode": ("regression", "canonical")}

    def _keep(self, pair: Pair, fit: Fit) -> None:
        super()._keep(pair, fit)
        self.y_weights_ = self._cast(fit.components.y_weights)  # of unit length, in no unit

    def _y_scores(self, Y: Array, T: Array) -> Array:
        """u_i = Y_i c_i, with Y_i deflated by the scores before i."""
        if self.mode == "canonical":
            return super()._y_scores(Y, T)
        C = self.y_weights_.astype(np.float64)
        return np.asarray(Y @ C - T @ np.triu(self.y_loadings_.T @ C, 1))


class SparsePLSDA(_SparsePairs, PLSDA):
    """Sparse PLS discriminant analysis: few variables that tell the classes apart.

    :class:`SparsePLS` on the 0/1 columns of the classes, all of which are kept, and a
    classifier: the columns are regressed on the scores, and the largest wins.

    Parameters
    ----------
    n_components : int or None
        Number of components; None for all.
    keep_x : int or sequence of int, optional
        How many variables to keep in a component, or in each of them.
    penalty_x : float of at least 0 and below 1
        Where no number is given: the threshold as a share of the largest entry. 0 keeps all.
    scale : bool
        Whether to divide the features and the columns of the classes by their deviations; the
        latter gives rare classes as much influence as common ones.
    tol, max_iter : float, int
        Change of the weights and number of steps at which a component is done.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    x_weights_ : array of shape (n_features, n_components_)
        Of unit length, with few non-zeros.
    coef_, intercept_, x_rotations_, x_loadings_, x_scores_, y_weights_, ...
        As in :class:`PLSDA`; ``coef_`` is zero for variables in no component.
    {report_and_sizes}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenkit import SparsePLSDA
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SparsePLSDA(2, keep_x=4).fit(X, y)
    >>> (model.x_weights_ != 0).sum(axis=0)
    array([4, 4])
    >>> model.score(X, y) > 0.95
    True
    """

    coding = "indicator"

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        keep_x: Keep = None,
        penalty_x: float = 0.0,
        scale: bool = True,
        tol: float = 1e-6,
        max_iter: int = 500,
    ) -> None:
        take_parameters(self, locals())

    _deflation = "regression"

    def _settings(self) -> tuple[bool, bool]:
        scaled = super()._settings()[0]
        return scaled, scaled


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
    {report_and_names}

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

    _rules: ClassVar = {"n_orthogonal": check_count}

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
        self.orthogonal_rotations_ = self._cast(np.column_stack([columns, *found.r]))
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
