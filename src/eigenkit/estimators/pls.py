"""The PLS family: thin shells around one deflation loop (:mod:`eigenkit.solvers.deflation`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import Rescaled, project
from eigenkit.estimators._both_sides import MapsBack, ScoresByName
from eigenkit.estimators._cross_decomposition import (
    TOO_FAR_APART,
    CrossDecomposition,
    Fit,
    Pair,
    StreamedPLS,
    decomposed,
)
from eigenkit.estimators._gaps import share_of
from eigenkit.numerics.linalg import Array, power_of_two
from eigenkit.shell import check_all_or_count, check_at_most
from eigenkit.solvers.nipals import nipals


class PLSRegressor(ScoresByName, MultiOutputMixin, RegressorMixin, CrossDecomposition, MapsBack):
    """Members of the family that predict y."""

    # Whether the first components are those of a fit with fewer of them.
    _nested = True

    def _keep_more(self, pair: Pair, fit: Fit) -> None:
        with np.errstate(over="ignore", under="ignore"):
            self.coef_ = self._coef(self.n_components_)
        if not np.all(np.isfinite(self.coef_)) or not np.any(self.coef_):
            raise ValueError(TOO_FAR_APART)
        self.intercept_ = self.y_mean_

    def _coef(self, l: int) -> Array:
        """Coefficients (n_targets x n_features) of the model with the first l components."""
        coef = self.y_loadings_[:, :l] @ self.x_rotations_[:, :l].T
        return np.asarray(coef * self.y_std_[:, None] / self.x_std_)

    @property
    def coef_path_(self) -> Array:
        """Coefficients for 1, 2, ..., n_components_: (n_components_, n_targets, n_features)."""
        check_is_fitted(self)
        self._check_nested(1, AttributeError)
        terms = np.einsum("kl,dl->lkd", self.y_loadings_, self.x_rotations_)
        np.cumsum(terms, axis=0, out=terms)
        return np.asarray(terms * self.y_std_[:, None] / self.x_std_)

    def _check_nested(self, l: int, error: type[Exception]) -> bool:
        """True if the first l components are a smaller model of their own; an error if not."""
        if l < getattr(self, "n_components_", 1) and not self._nested:
            raise error(
                f"{type(self).__name__} with fewer than the {self.n_components_} components that "
                "were fitted is another model: fit it with that n_components."
            )
        return True

    def predict(self, X: Any, n_components: int | None = None) -> Array:
        """Predict y, with all components or with the first few.

        {samples}
        n_components : int, optional
            Use the model that a fit with this many components would have given.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self)
        check_all_or_count("n_components", n_components)
        fitted = "the number that was fitted"
        l = check_at_most("n_components", n_components, self.n_components_, fitted)
        self._check_nested(l, ValueError)
        X = self._features(X)
        if self._observed(X) is not None:
            T = self._x_scores(X)[:, :l]
            return self._shaped(T @ self.y_loadings_[:, :l].T * self.y_std_ + self.intercept_)
        coef = self.coef_ if l == self.n_components_ else self._coef(l)
        return self._shaped(project(X, self.x_mean_, coef.T) + self.intercept_)

    # Only where the first components make a smaller model of their own.
    @available_if(lambda self: self._check_nested(1, AttributeError))  # type: ignore[untyped-decorator]
    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predictions with 1, 2, ..., n_components_ components, one after the other.

        {samples}

        Yields
        ------
        array of shape (n_samples,) or (n_samples, n_targets)
        """
        T = self._projected(X)
        prediction = np.tile(self.intercept_, (len(T), 1))
        for t, q in zip(T.T, self.y_loadings_.T, strict=True):
            prediction = prediction + np.outer(t, q * self.y_std_)
            yield self._shaped(prediction)

    def _shaped(self, prediction: Array) -> Array:
        return prediction[:, 0] if self._one_response_ else prediction

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class NipalsRegressor(PLSRegressor):
    """Members of the family that NIPALS can fit too."""

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        scale: bool | tuple[bool, bool] = True,
        algorithm: str = "kernel",
        tol: float = 1e-10,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(n_components, scale=scale)
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter

    _rules: ClassVar = {"algorithm": ("kernel", "nipals")}

    def _decompose(self, pair: Pair, scale: tuple[bool, bool], l: int) -> Fit:
        if self._iterates:
            fit = self._by_nipals(pair, scale, l)
        else:
            fit = decomposed(pair.X, pair.Y, scale, l, self._deflation)
        self.n_iter_ = [max(1, steps) for steps in fit.components.n_iter]
        return fit

    def _by_nipals(self, pair: Pair, scale: tuple[bool, bool], l: int) -> Fit:
        X = Rescaled.of(pair.X, scale[0], pair.X.column_squares() * share_of(pair.X, pair.observed))
        B = Rescaled.of(pair.Y, scale[1], pair.Y.column_squares())
        A, right = X.toarray(), B.toarray()
        if pair.observed is not None:
            A *= pair.observed
        found = nipals(
            *(A, right, l, self._deflation),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            grain=X.grain(),
            grain_y=B.grain(),
            observed=pair.observed,
        )
        return Fit(X, B, found, (float(np.sum(A * A)), float(np.sum(right * right))))


class PLSRegression(StreamedPLS, NipalsRegressor):
    """Partial least squares regression (PLS2; with one response PLS1).

    Each component is the direction w of largest covariance with y,
    ``w = argmax w'Xi'Y Y'Xi w, ||w|| = 1``; then X and y are deflated by its score ``t = Xi w``.

    Parameters
    ----------
    {components_and_scale}
    {nipals}

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
    {explained_on_both_sides}
    n_components_ : int
        May be less than asked for where X and y share no more; a warning says so.
    n_iter_ : list of int
    {report_and_names}

    {linnerud}
    >>> from eigenkit import PLSRegression
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
        size = float(power_of_two(np.abs(Q).max()))  # squares of Q may leave the range
        Q /= size
        QQ = Q.T @ Q
        scores = Y @ (Q / (size * QQ.diagonal()))
        scores -= T @ (np.triu(QQ, 1) / QQ.diagonal())
        return np.asarray(scores)


class SIMPLS(StreamedPLS, PLSRegressor):
    """SIMPLS: PLS regression with weights that apply to X itself.

    Maximizes ``w'X'Y Y'X w`` over unit w whose scores are orthogonal to all earlier ones. For
    one response it is :class:`PLSRegression`; for several it is a model of its own.

    Parameters
    ----------
    {components_and_scale}

    Attributes
    ----------
    x_weights_, x_rotations_ : array of shape (n_features, n_components_)
        One and the same: the scores are ``(X - x_mean_) / x_std_ @ x_weights_``.
    x_loadings_ : array of shape (n_features, n_components_)
    y_weights_, y_loadings_, y_rotations_ : array of shape (n_targets, n_components_)
    x_scores_, y_scores_ : array of shape (n_samples, n_components_)
    coef_, intercept_, coef_path_
        As in :class:`PLSRegression`.
    {explained_on_both_sides}
    {report}
    n_components_, n_features_in_, feature_names_in_

    {linnerud}
    >>> from eigenkit import SIMPLS
    >>> SIMPLS(n_components=2).fit_transform(X, Y).shape
    (20, 2)
    """

    _deflation = "simpls"


class PLSCanonical(StreamedPLS, NipalsRegressor):
    """PLS Mode A, symmetric in X and y: each is deflated by its own scores.

    Each pair maximizes ``w'Xi'Yi c`` over unit w and c; then X is deflated by ``t = Xi w`` and
    y by ``u = Yi c``. Scores are orthogonal within each block.

    Parameters
    ----------
    n_components : int or None
        Number of components, at most the number of targets; None for all.
    {scale}
    {nipals}

    Attributes
    ----------
    x_weights_, x_loadings_, x_rotations_ : array of shape (n_features, n_components_)
    y_weights_, y_loadings_, y_rotations_ : array of shape (n_targets, n_components_)
    x_scores_, y_scores_ : array of shape (n_samples, n_components_)
    coef_, intercept_, coef_path_
        As in scikit-learn, with the y-scores taken to equal the x-scores; to predict, rather
        use :class:`PLSRegression`.
    {explained_on_both_sides}
    {report_and_sizes}

    {linnerud}
    >>> from eigenkit import PLSCanonical
    >>> x_scores, y_scores = PLSCanonical(n_components=2).fit(X, Y).transform(X, Y)
    >>> bool(abs(x_scores[:, 0] @ x_scores[:, 1]) < 1e-10)
    True
    """

    _deflation = "canonical"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        scale: bool | tuple[bool, bool] = True,
        algorithm: str = "kernel",
        tol: float = 1e-10,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(n_components, scale=scale, algorithm=algorithm, tol=tol, max_iter=max_iter)


class PLSSVD(StreamedPLS):
    """PLS-SB: the singular vectors of X'Y, all at once.

    ``Xc'Yc = W diag(singular_values_) C'``; nothing is deflated, so weights are orthogonal and
    scores in general are not.

    Parameters
    ----------
    n_components : int or None
        Number of components, at most the number of targets; None for all.
    {scale}

    Attributes
    ----------
    x_weights_, x_rotations_ : array of shape (n_features, n_components_)
        W, under both names.
    y_weights_, y_rotations_ : array of shape (n_targets, n_components_)
        C, under both names.
    x_scores_, y_scores_ : array of shape (n_samples, n_components_)
    singular_values_ : array of shape (n_components_,)
    {means_and_units}
    {report}
    n_components_, n_features_in_, feature_names_in_

    {linnerud}
    >>> from eigenkit import PLSSVD
    >>> x_scores, y_scores = PLSSVD(n_components=2).fit(X, Y).transform(X, Y)
    """

    _deflation = "svd"

    def __init__(
        self, n_components: int | None = None, *, scale: bool | tuple[bool, bool] = True
    ) -> None:
        super().__init__(n_components, scale=scale)

    def _keep_more(self, pair: Pair, fit: Fit) -> None:
        values = fit.components.singular_values / fit.X.unit / fit.Y.unit
        self.singular_values_ = self._cast(values)
