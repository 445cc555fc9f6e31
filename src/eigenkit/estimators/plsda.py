"""PLS discriminant analysis."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import Centered, project
from eigenkit.estimators._both_sides import ScoresByName
from eigenkit.estimators._cross_decomposition import Fit, Pair, StreamedPLS, decomposed
from eigenkit.estimators._encoding import (
    ONE_EACH,
    check_indicator,
    check_two_classes,
    encode_classes,
)
from eigenkit.estimators._heads import most_probable
from eigenkit.estimators._validation import warn_degenerate
from eigenkit.numerics.linalg import Array, symmetric_whitener, whitener


class PLSDA(ScoresByName, ClassifierMixin, StreamedPLS):
    """PLS discriminant analysis: PLS regression on class indicators, and a classifier.

    The first weight is the leading eigenvector of a weighted scatter of the class means m_j
    about the overall mean m, with n_j samples in class j of k:

    ============ ===================================== ===============================
    coding       y becomes                             scatter
    ============ ===================================== ===============================
    "indicator"  a 0/1 column for every class          sum_j n_j^2 (m_j-m)(m_j-m)'
    "reduced"    the same without the last class       the same, over j < k
    "between"    indicators of unit variance           Sb = sum_j n_j (m_j-m)(m_j-m)'
                 that are uncorrelated,
                 Yc D^-1 R^(-1/2)
    ============ ===================================== ===============================

    D holds the lengths of the centred indicators Yc and R their correlations. With the first two
    the components are those of :class:`PLSRegression`; with "between"
    all weights are eigenvectors of the between-class scatter Sb, at most k - 1 of them.
    Responses are then predicted by least squares on the scores.

    Parameters
    ----------
    n_components : int or None
        Number of components; None for all. Two classes have one component with
        ``coding="between"``, which the default of 2 then gives.
    coding : {"indicator", "reduced", "between"}
        How classes become numbers. "reduced" is for one class per sample only.
    scale : bool
        Whether to divide the features by their standard deviations; y is never scaled.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        For a matrix of labels, the numbers of its columns.
    coef_ : array of shape (n_classes, n_features)
        Responses are ``(X - x_mean_) @ coef_.T + intercept_``.
    intercept_ : array of shape (n_classes,)
    x_weights_, x_rotations_ : array of shape (n_features, n_components_)
    x_loadings_ : array of shape (n_features, n_components_)
        Regression of X on the scores.
    y_weights_, y_loadings_, y_rotations_ : array
        Those of the coded y.
    x_scores_ : array of shape (n_samples, n_components_)
    x_explained_variance_ratio_, y_explained_variance_ratio_ : array of shape (n_components_,)
        Not with "between", whose scores are not orthogonal.
    mean_, components_ : array
        ``transform(X)`` is ``(X - mean_) @ components_.T``.
    {report}
    x_mean_, x_std_, y_mean_, y_std_, n_components_, n_features_in_, feature_names_in_

    Notes
    -----
    y is a vector of classes, or a 0/1 matrix of labels (multi-label). The predicted responses
    estimate class probabilities linearly: they sum to one but may leave [0, 1].
    :meth:`predict` takes the largest (for labels: all above 1/2), and :meth:`predict_proba`
    the nearest probabilities in the Euclidean sense, which keeps their order.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenkit import PLSDA
    >>> X, y = load_wine(return_X_y=True)
    >>> PLSDA(n_components=2).fit(X, y).score(X, y) > 0.97
    True
    """

    def __init__(
        self, n_components: int | None = 2, *, coding: str = "indicator", scale: bool = True
    ) -> None:
        super().__init__(n_components, scale=scale)
        self.coding = coding

    @property
    def _deflation(self) -> str:  # type: ignore[override]
        return "svd" if self.coding == "between" else "regression"

    _rules: ClassVar = {"coding": ("indicator", "reduced", "between")}

    def _settings(self) -> tuple[bool, bool]:
        return super()._settings()[0], False

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> Any:
        self._multilabel_ = y.ndim == 2 and y.shape[1] > 1
        if not self._multilabel_:
            return encode_classes(self, y, n, classes, reset, "give one class per sample")
        if self.coding == "reduced":
            raise ValueError(
                "coding='reduced' leaves out the last class, which is known from the others only "
                "with one class per sample: use 'indicator' or 'between' for labels."
            )
        self.classes_ = np.arange(y.shape[1])
        return check_indicator(y, n)

    def _check_informative(self, problem: Pair) -> None:
        Y = problem.Y
        if not self._multilabel_:
            present = check_two_classes(Y.mean)
            if present == Y.n_samples:
                raise ValueError(ONE_EACH.format(present, present))
        super()._check_informative(problem)
        warn_degenerate(Y.constant, "labels are carried by no sample or by every sample")

    def _n_wanted(self, n: int, d: int, k: int) -> int:
        if self.coding == "between" and not self._multilabel_:
            k -= 1
        if self.coding == "between" and k == 1 and self.n_components == 2:
            return 1  # two classes have one component, and 2 is the default
        return super()._n_wanted(n, d, k)

    def _decompose(self, pair: Pair, scale: tuple[bool, bool], l: int) -> Fit:
        Y = pair.Y
        if self.coding == "reduced":
            Y = Y.columns(np.arange(Y.shape[1] - 1))
        elif self.coding == "between":
            right = Y.toarray()
            M = symmetric_whitener(right, Y.grain(), Y.n_samples)[0]
            Y = Centered.behind(right @ M, Y.mean @ M, Y.total, Y.one, Y.n_samples, Y.eps)
        return decomposed(pair.X, Y, scale, l, self._deflation)

    def _keep_more(self, pair: Pair, fit: Fit) -> None:
        """Responses and X regressed on the scores, which need not be orthogonal."""
        T = fit.X.matmat(fit.components.x_rotations)
        F = whitener(T)  # whatever their lengths: a component may be shorter by many powers of ten
        TT_inverse = F @ F.T
        mean, right = pair.Y.mean, pair.Y.toarray()
        coef = (right.T @ T) @ TT_inverse @ fit.components.x_rotations.T
        self.coef_ = self._cast(coef * fit.X.unit / fit.X.std)
        self.intercept_ = self._cast(mean)
        self.x_loadings_ = self._cast(fit.X.rmatmat(T) @ TT_inverse)

    def _keep_scores(self, pair: Pair, fit: Fit) -> None:
        if pair.given is not None:
            self.x_scores_ = self._cast(self._scores_of_all(pair.given.X))

    def transform(self, X: Any) -> Array:  # type: ignore[override]
        """Scores of X.

        {scores_of_samples}
        """
        return np.asarray(super().transform(X))

    def _responses(self, X: Any) -> Array:
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        return np.asarray(project(X, self.x_mean_, self.coef_.T) + self.intercept_)

    def decision_function(self, X: Any) -> Array:
        """Predicted responses, one per class or label.

        {samples}

        Returns
        -------
        array of shape (n_samples, n_classes); for two classes, (n_samples,): the response of
        the second less 1/2. For labels each response less 1/2.
        """
        responses = self._responses(X)
        if self._multilabel_:
            return responses - 0.5
        return responses[:, 1] - 0.5 if len(self.classes_) == 2 else responses

    def predict(self, X: Any) -> np.ndarray:
        """The class of each sample, or its labels as a 0/1 matrix.

        {samples}

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_labels)
        """
        scores = self.decision_function(X)
        if self._multilabel_:
            return (scores > 0).astype(int)
        return most_probable(scores, self.classes_)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities: the point of the simplex (for labels: of [0, 1]) nearest the responses.

        {samples}

        Returns
        -------
        array of shape (n_samples, n_classes); for labels a list with one array of shape
        (n_samples, 2) a label, as scikit-learn's multi-output classifiers give
        """
        responses = self._responses(X)
        if not self._multilabel_:
            return on_simplex(responses)
        return [on_simplex(np.column_stack([1 - p, p])) for p in responses.T]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.coding != "reduced"
        tags.classifier_tags.poor_score = True
        return tags


def on_simplex(V: Array) -> Array:
    """The nearest point of the probability simplex to every row: max(v - tau, 0) with sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> on_simplex(np.array([[0.2, 0.3, 0.5], [1.5, 0.1, -0.6]]))
    array([[0.2, 0.3, 0.5],
           [1. , 0. , 0. ]])
    """
    V = V - V.max(axis=1, keepdims=True)  # the same point, and no digits lost far away from it
    ordered = -np.sort(-V, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, V.shape[1] + 1, dtype=V.dtype)
    last = np.sum(ordered > excess, axis=1) - 1
    return np.asarray(np.maximum(V - excess[np.arange(len(V)), last][:, None], 0.0))
