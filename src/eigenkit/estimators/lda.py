"""Linear discriminant analysis."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from eigenkit.estimators._base import Projection
from eigenkit.estimators._encoding import check_two_classes, encode_classes
from eigenkit.estimators._heads import (
    checked_priors,
    log_posterior,
    most_probable,
    on_features,
    posterior,
)
from eigenkit.estimators._streams import Result
from eigenkit.linalg import Array
from eigenkit.moments import Problem
from eigenkit.operators import project
from eigenkit.pencil import Solution
from eigenkit.targets import TARGETS, Target


class LDA(ClassifierMixin, Projection):
    """Linear discriminant analysis: a projection that separates classes, and a classifier.

    Solves ``Sb w = lambda (St + alpha I) w`` for the between-class and total scatter, and
    classifies with Gaussians of common covariance ``(Sw + alpha I) / n``. With
    ``alpha=0`` on data of full rank the classifier is that of scikit-learn.

    Parameters
    ----------
    n_components : int, optional
        Number of components of :meth:`transform`, at most n_classes - 1; all by default.
        The classifier always uses all of them.
    priors : array of shape (n_classes,), optional
        Class probabilities; by default the shares of the classes in the data.
    alpha : float
        Ridge, on the scale of scikit-learn's Ridge. 0 is the pseudoinverse problem.
    solver : {"auto", "two_stage", "direct"}
        How the pencil is solved; "auto" is "two_stage", which is exact.
    regression : {"auto", "cholesky", "dual_cholesky", "svd", "cg", "lsqr"}
        The method of the first stage; :meth:`plan` tells what "auto" would take.
    tol, max_iter : float, int
        Relative residual and number of iterations at which iterative methods stop.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features)
    eigenvalues_ : array of shape (n_components_,)
        Shares of the variance along each component that lies between the classes.
    mean_ : array of shape (n_features,)
    classes_ : array of shape (n_classes,)
    priors_ : array of shape (n_classes,)
    means_ : array of shape (n_classes, n_features)
    coef_ : array of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : array of shape (n_classes,), or (1,)
    n_components_, n_iter_, solver_, regression_, report_
        What was done; see :class:`eigenkit.pencil.Report`.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenkit import LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LDA(alpha=0).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    >>> model.score(X, y)
    0.98
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        priors: Any = None,
        alpha: float = 1.0,
        solver: str = "auto",
        regression: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(
            n_components,
            alpha=alpha,
            solver=solver,
            regression=regression,
            tol=tol,
            max_iter=max_iter,
        )
        self.priors = priors

    priors_ = Result()
    means_ = Result()
    coef_ = Result()
    intercept_ = Result()
    _offset_ = Result()

    def _target(self) -> Target:
        return TARGETS["lda"]

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> Array:
        instead = "for several labels use HypergraphSpectral or CCA"
        return encode_classes(self, y, n, classes, reset, instead)

    def _check_informative(self, problem: Problem) -> None:
        check_two_classes(problem.labels.degree)
        present = int(np.sum(problem.labels.degree > 0))
        if problem.total <= present * problem.labels.one:
            raise ValueError(
                f"y holds {present} classes for {problem.n_rows} samples: some class needs more "
                "than one sample."
            )
        super()._check_informative(problem)

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        degree = problem.labels.degree
        priors = checked_priors(self.priors, degree / problem.total)
        self.priors_ = self._cast(priors)
        self._keep_means(problem, np.sqrt(np.where(degree > 0, degree, 1.0)))
        coef, offset = on_features(problem, solution, priors)
        self._offset_ = self._cast(offset)
        self.coef_ = self._cast(coef)
        self.intercept_ = self._cast(offset - coef @ problem.mean)

    def _keep_means(self, problem: Problem, root: Array) -> None:
        pencil = problem.pencil
        C = pencil.C if pencil.Z.m is None else pencil.C / np.asarray(pencil.Z.unit).reshape(-1, 1)
        self.means_ = self._cast(problem.mean + (C / root).T)

    def decision_function(self, X: Any) -> Array:
        """Log of prior times likelihood up to a term common to all classes.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes); for two classes the log odds, (n_samples,)
        """
        check_is_fitted(self)
        scores = project(self._features(X), self.mean_, self.coef_.T) + self._offset_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each sample.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return most_probable(self.decision_function(X), self.classes_)

    def predict_proba(self, X: Any) -> Array:
        """Posterior probabilities of the classes.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return posterior(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the posterior probabilities, without underflow.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return log_posterior(self.decision_function(X))
