"""The least squares models of the projections, with ridge, lasso or elastic net."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import sklearn
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import project
from eigenkit.estimators._encoding import (
    as_numbers,
    check_two_classes,
    encode_classes,
    encode_labels,
    encode_responses,
    labels_of,
)
from eigenkit.estimators._estimator import Projection
from eigenkit.estimators._heads import GaussianClassifier, gaussian, regression
from eigenkit.estimators._streams import results
from eigenkit.moments import Problem
from eigenkit.pencil import Solution
from eigenkit.shell import check_share, checked, take_parameters
from eigenkit.solvers import Choice, Settings
from eigenkit.solvers.least_squares import least_squares_path
from eigenkit.targets import TARGETS, Target

RESPONSES = ("cca", "opls")
CLASSES = ("lda",)


def _for(*targets: str) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: the method exists for these targets only."""
    found: Callable[[Callable[..., Any]], Any] = available_if(lambda self: self._learned in targets)
    return found


class LeastSquaresProjection(Projection):
    """The least squares model of a projection: its targets regressed on X, with a penalty.

    With ``T = H (H'H)^(-1/2)`` for the H of the target (see the page on mathematics; for "cca" Yc
    with columns of unit length, so that the units of y do not matter), minimizes

    ``||Xc W - T||^2 + alpha (l1_ratio ||W||_1 + (1 - l1_ratio) ||W||_2^2)``.

    It equals the projection itself when ``alpha=0`` and every target is fitted exactly, as it is
    on fewer samples than features in general position; otherwise it is a model of its own. It is
    used mainly with the lasso, which gives most features no weight at all.

    Parameters
    ----------
    n_components : int, optional
        Number of components, those of the largest eigenvalues; all by default.
    target : {"cca", "opls", "lda", "star", "clique", "zhou", "bolla", "rodriguez"}
        Which projection: :class:`CCA`, :class:`OrthonormalizedPLS`, :class:`LDA`, or an expansion
        of :class:`HypergraphSpectral`. It determines what y may be.
    alpha : float
        Weight of the penalty.
    l1_ratio : float between 0 and 1
        0 is ridge, 1 the lasso, between them lies the elastic net.
    regression : {"auto", "cholesky", "dual_cholesky", "svd", "cg", "lsqr"}
        The method for ridge, as in the other projections. The lasso and the elastic net are
        solved by coordinate descent.
    tol, max_iter : float, int
        Relative residual (coordinate descent: duality gap) and number of iterations at which
        iterative methods stop.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features)
        With the lasso one per target, which stands for one label or class (one for two classes);
        components without any feature come last, and those of equal eigenvalues, as components
        of the same single feature are, in the order of their targets.
    eigenvalues_ : array of shape (n_components_,)
        ``|H'Xc w|^2 / |Xc w|^2``, decreasing.
    mean_ : array of shape (n_features,)
    coef_, intercept_ : array
        The regression of y on the scores (targets "cca" and "opls") or the Gaussian classifier
        on the scores ("lda"), in terms of X.
    classes_ : array
        Where y held classes.
    n_components_, n_iter_, solver_, regression_, report_
        What was done; see :class:`eigenkit.pencil.Report`. ``report_.equivalent`` says whether
        this is the projection itself.
    n_features_in_, feature_names_in_

    See Also
    --------
    l1_path : Every alpha at which a feature enters or leaves.

    Notes
    -----
    The papers write LS-X for alpha = 0, LS-X_2 for ridge and LS-X_1 for the lasso. T is the
    symmetric root, so nothing depends on the order of labels. A ridge leaves the rotation of W
    open (scores have the same distances); the one is taken in which ``H'Xc W`` has orthogonal
    columns.

    {iris}
    >>> from eigenkit import LeastSquaresProjection
    >>> model = LeastSquaresProjection(target="lda", alpha=2.0, l1_ratio=1.0).fit(X, y)
    >>> (model.components_ != 0).sum(axis=1)
    array([2, 1, 2])
    >>> round(model.score(X, y), 2)
    0.95
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        target: str = "cca",
        alpha: float = 1.0,
        l1_ratio: float = 0.0,
        regression: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        take_parameters(self, locals())

    target: str
    l1_ratio: float
    _rules: ClassVar = {"target": TARGETS, "l1_ratio": check_share}
    # There is one way to solve it, and every label has a target of its own.
    solver = "auto"
    label_rank = None

    coef_, intercept_, _offset_ = results(3)
    _in_passes = False  # it needs rows, or as many as a triangle has

    @property
    def _target(self) -> Target:  # type: ignore[override]
        return TARGETS[self.target]

    @property
    def _learned(self) -> str:
        """The target that was fitted; the parameter, which may change, until then."""
        return str(getattr(self, "_fitted_target_", self.target))

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> Any:
        if reset:
            self._fitted_target_ = self.target
        if self.target in CLASSES:
            instead = "for several labels take target='star' or 'cca'"
            return encode_classes(self, y, n, classes, reset, instead)
        encode = encode_responses if self.target in RESPONSES else encode_labels
        return encode(self, y, n, classes, reset)

    def _check_informative(self, problem: Problem) -> None:
        if hasattr(self, "classes_"):
            check_two_classes(problem.labels.degree)
        super()._check_informative(problem)

    def _solve_path(
        self, problem: Problem, alphas: Sequence[float], settings: Settings
    ) -> list[Solution]:
        grain = problem.labels.grain if self.target == "opls" else 0.0
        l1 = float(self.l1_ratio)
        return least_squares_path(problem.pencil, alphas, l1, settings, grain)

    def _solve(self, problem: Problem, settings: Settings) -> Solution:
        # The penalty is no part of what is fitted on the scores, with a graph neither.
        of_samples = None if problem.labelled is None else problem.labelled.at(0.0)
        return super()._solve(replace(problem, labelled=of_samples), settings)

    def plan(self, X: Any, y: Any = None, sample_weight: Any = None) -> Choice:
        """How :meth:`fit` would find W on these data, and why, without fitting."""
        checked(self)._settings()
        if self.alpha * self.l1_ratio:
            return Choice("coordinate_descent", f"l1_ratio={self.l1_ratio:g}", {})
        return super().plan(X, y, sample_weight)

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        if self.target in CLASSES:
            priors = problem.labels.degree / problem.total
            coef, offset = gaussian(problem, solution, priors)
        elif self.target in RESPONSES:
            l = self.n_components_
            to_H = regression(solution, l)
            to_y = to_H @ problem.labels.whiteners[1] if self.target == "cca" else to_H
            coef, offset = (solution.W[:, :l] @ to_y).T, problem.labels.degree / problem.total
        else:
            return
        self._set(coef_=coef, intercept_=offset - coef @ problem.mean, _offset_=offset)

    _coef_name = GaussianClassifier._coef_name
    decision_function = _for(*CLASSES)(GaussianClassifier.decision_function)
    predict_proba = _for(*CLASSES)(GaussianClassifier.predict_proba)
    predict_log_proba = _for(*CLASSES)(GaussianClassifier.predict_log_proba)

    @_for(*CLASSES, *RESPONSES)
    def predict(self, X: Any) -> np.ndarray:
        """Predict from the scores: classes for the target "lda", else responses.

        {samples}

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
        """
        if self._learned in CLASSES:
            return GaussianClassifier.predict(self, X)
        check_is_fitted(self)
        values = project(self._features(X), self.mean_, self.coef_.T) + self._offset_
        return np.asarray(values[:, 0] if getattr(self, "_one_response_", False) else values)

    @_for(*CLASSES, *RESPONSES)
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy for the target "lda", else the coefficient of determination.

        {scored}
        """
        if self._learned in CLASSES:
            truth, measure = labels_of(self, y, reset=False), sklearn.metrics.accuracy_score
        else:
            truth, measure = as_numbers(self, y), sklearn.metrics.r2_score
        return float(measure(truth, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.target in CLASSES:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif self.target in RESPONSES:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags(poor_score=True)
            tags.target_tags.multi_output = True
        return tags
