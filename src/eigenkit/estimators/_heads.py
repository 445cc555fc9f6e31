"""Predicting y from the scores of a projection: one formula for every projection.

Of the scores S = Z W of the training samples a head needs only

    gram = S'S (with the ridge of the problem, if it has one),   cross = H'S

which come with every :class:`~eigenkit.pencil.Solution`. For a W that solves the pencil gram is
the identity and cross'cross diagonal; nothing here assumes that.

Distances d become probabilities softmax(-beta d), with beta from samples that were held out. One
factor for all classes (temperature scaling; Guo et al. 2017) keeps the order of the distances, so
that the most probable class is the nearest. Distances of the samples that a model was fitted on are
too small, hence the folds; targets are smoothed as Platt (1999) does, so that beta stays finite
where classes do not overlap.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import linalg as sla
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import project
from eigenkit.estimators._both_sides import ScoresByName
from eigenkit.estimators._described import described
from eigenkit.estimators._encoding import encode_responses
from eigenkit.estimators._estimator import Projection
from eigenkit.estimators._streams import results
from eigenkit.estimators._validation import numbers_in, part_of
from eigenkit.exceptions import EigenkitWarning
from eigenkit.moments import Problem
from eigenkit.numerics.linalg import Array, eigenpairs, ratio
from eigenkit.numerics.tolerances import EPS, above_rounding, along
from eigenkit.pencil import Solution
from eigenkit.shell import refuse
from eigenkit.targets import Labels

# Priors typed with five digits are meant to sum to one.
PRIORS_TOL = 1e-5


def whitened(gram: Array) -> Array:
    """F (l x r) with F' gram F = I on the range of gram; units of the scores do not matter."""
    length = np.sqrt(np.maximum(gram.diagonal(), 0.0))
    inverse = ratio(1.0, length)
    values, V = eigenpairs(gram * inverse * inverse[:, None])
    # Eigenvalues of a matrix of products: rounding is EPS of the largest, for each of the l terms.
    keep = above_rounding(values, len(gram))
    return np.asarray(inverse[:, None] * V[:, keep] / np.sqrt(values[keep]))


def regression(solution: Solution, l: int) -> Array:
    """Least squares of H on the first l scores (l x k): gram^+ cross'."""
    cross = solution.cross[:, :l]
    if solution.gram is None:
        return cross.T
    F = whitened(solution.gram[:l, :l])
    return F @ (F.T @ cross.T)


def gaussian(problem: Problem, solution: Solution, priors: Array) -> tuple[Array, Array]:
    """Gaussians with a common covariance: coefficients of X (k x d) and values at its mean.

    One row for two classes: their log odds depend on the difference. The columns of H are those of
    LDA. Where nothing is left within the classes, what is left is rounding. A class without samples
    sits at the overall mean, with a prior of zero.
    """
    # Axes of the scores (l x r) along which gram is I, and the scatter between classes diagonal.
    if solution.gram is None:
        axes, between = np.eye(len(solution.eigenvalues)), solution.eigenvalues
    else:
        F = whitened(solution.gram)
        _, s, Vt = sla.svd(solution.cross @ F, full_matrices=False)
        axes, between = F @ Vt.T, s**2
    degree = problem.labels.degree
    means = solution.cross / np.sqrt(np.where(degree > 0, degree, 1.0))[:, None] @ axes
    error = solution.report.error
    scaled, offset = densities(means, between, priors, problem.total, problem.n_rows, error)
    on_scores = scaled @ axes.T
    if len(on_scores) == 2:
        on_scores, offset = on_scores[1:] - on_scores[:1], offset[1:] - offset[:1]
    return (solution.W @ on_scores.T).T, offset


def densities(
    means: Array, between: Array, priors: Array, total: float, n_rows: int, error: float = 0.0
) -> tuple[Array, Array]:
    """Logarithms of prior times density for classes of these means (k x r), as affine functions.

    Along the r axes the scatter of all rows is 1, of which ``between``, known up to ``error``, lies
    between the classes.
    """
    center = priors @ means
    means = means - center
    within = np.maximum(1 - between, max(EPS * n_rows, error))
    scaled = means * (total / within)
    with np.errstate(divide="ignore"):
        offset = np.log(priors) - 0.5 * np.sum(scaled * means, axis=1) - scaled @ center
    return scaled, offset


def checked_priors(priors: Any, shares: Array) -> Array:
    """Probabilities of the classes: those given, made to sum to one, or their shares."""
    if priors is None:
        return shares
    given = numbers_in("priors", priors)
    if given.shape != shares.shape or not np.all(np.isfinite(given)) or np.any(given < 0):
        refuse("priors", priors, f"{len(shares)} numbers >= 0")
    if not given.sum() > 0:
        raise ValueError(f"priors={priors!r} is zero for every class.")
    unknown = np.flatnonzero((given > 0) & ~(shares > 0))
    if len(unknown):
        first = unknown[0]
        raise ValueError(
            f"priors[{first}]={given[first]:g} is the probability of a class without rows of "
            "positive weight: give rows of the class, or 0 for its probability."
        )
    if abs(given.sum() - 1) > PRIORS_TOL:
        warnings.warn(
            f"priors sum to {given.sum():g}, not to 1: they are divided by their sum",
            EigenkitWarning,
            stacklevel=2,
        )
    return np.asarray(given / given.sum())


def most_probable(decision: Array, classes: np.ndarray) -> np.ndarray:
    """The class of each row of decision values (log odds where there are two classes)."""
    index = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
    return np.asarray(classes[index])


def posterior(decision: Array) -> Array:
    """Probabilities of the classes."""
    if decision.ndim == 1:
        positive = scipy.special.expit(decision)
        return np.column_stack([1 - positive, positive])
    return np.asarray(scipy.special.softmax(decision, axis=1))


@described
class GaussianClassifier:
    """Predictions of a projection by :func:`gaussian`, kept as coefficients and ``_offset_``."""

    # In the space of a kernel the coefficients are not those of features.
    _coef_name = "coef_"

    def decision_function(self: Any, X: Any) -> Array:
        """Log of prior times likelihood up to a term common to all classes.

        {log_odds}
        """
        check_is_fitted(self)
        coef = getattr(self, self._coef_name)
        scores = project(self._features(X), self.mean_, coef.T) + self._offset_
        two = len(self.classes_) == 2
        return np.asarray(scores[:, 0] if two else scores, dtype=self._dtype_)

    def predict(self: Any, X: Any) -> np.ndarray:
        """The most probable class of each sample.

        {class_of_each}
        """
        return most_probable(self.decision_function(X), self.classes_)

    def predict_proba(self: Any, X: Any) -> Array:
        """Posterior probabilities of the classes.

        {each_class}
        """
        return posterior(self.decision_function(X))

    def predict_log_proba(self: Any, X: Any) -> Array:
        """Logarithms of the posterior probabilities, without underflow.

        {each_class}
        """
        decision = self.decision_function(X)
        if decision.ndim == 1:
            decision = np.column_stack([np.zeros_like(decision), decision])
        return np.asarray(scipy.special.log_softmax(decision, axis=1))


# -- real-valued y, as CCA and orthonormalized PLS have it -----------------------------


def beyond_rounding_of_y(
    labels: Labels, solution: Solution, lengths: Array | float, F: Array | None = None
) -> np.ndarray:
    """Which components X shares with more than the rounding of y; F takes Yc to H.

    The root of an eigenvalue is the covariance of two scores. It is at most the product of their
    ``lengths``, those of X, and of the lengths that scores of y may have by rounding.
    """
    directions = solution.basis if F is None else F @ solution.basis
    found = np.sqrt(solution.eigenvalues) > along(directions, labels.grain) * lengths
    found[:1] |= not found.any()
    return np.asarray(found)


class ResponseProjection(ScoresByName, MultiOutputMixin, RegressorMixin, Projection):
    """A projection of X towards responses, and the reduced-rank regression that goes with it."""

    _uses_all_components = False
    _encode = encode_responses
    intercept_, _to_y_, _y_mean_ = results(3)

    def _keep_regression(self, problem: Problem, to_y: Array) -> None:
        """Keep what takes scores to y (l x k): few numbers, where coef_ may be very many."""
        self._to_y_ = self._cast(to_y)
        self._y_mean_ = problem.labels.degree / problem.total
        self.intercept_ = self._cast(self._y_mean_)

    @property
    def coef_(self) -> Array:
        """Coefficients of the regression of y on X, computed when asked for."""
        return np.asarray(self._to_y_.T @ self.components_)

    def predict(self, X: Any) -> Array:
        """Predict y by ridge regression through the components.

        With all components this is ridge regression on X itself.

        {samples}

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
        """
        prediction = self._projected(X) @ self._to_y_ + self.intercept_
        one = getattr(self, "_one_response_", False)
        return np.asarray(prediction[:, 0] if one else prediction, dtype=self._dtype_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


# -- probabilities from distances ------------------------------------------------------


N_FOLDS = 5
# beta times the mean distance is looked for between exp(-8) and exp(8): from hardly any
# difference between classes to none but the nearest.
LOG_RANGE = 8.0


def held_out_distances(model: Any, X: Any, y: Any, weight: Array | None) -> Array:
    """Distances of every sample by a model that has not seen it, (n_samples, n_classes)."""
    _, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            "probability=True needs at least two samples of every class of y, to hold one out: "
            "give more, or probability=False."
        )
    distances = np.empty((X.shape[0], len(counts)))
    folds = sklearn.model_selection.StratifiedKFold(
        min(N_FOLDS, int(counts.min())), shuffle=True, random_state=0
    )
    for train, test in folds.split(np.empty((len(y), 0)), y):
        part = clone(model).set_params(probability=False)
        rows = part_of(model, X, train, train)
        part.fit(rows, y[train], None if weight is None else weight[train])
        distances[test] = part.distances(part_of(model, X, test, train))
    return distances


def softmax_scale(distances: Array, codes: np.ndarray, weight: Array | None) -> float:
    """The beta of largest likelihood for classes ``codes`` at these distances."""
    n, k = distances.shape
    w = np.ones(n) if weight is None else weight
    counts = np.bincount(codes, w, minlength=k)
    hit = (counts + 1) / (counts + k)
    target = np.repeat(((1 - hit) / (k - 1))[codes, None], k, axis=1)
    target[np.arange(n), codes] = hit[codes]
    typical = float(w @ distances.mean(axis=1)) / float(w.sum())
    if not typical > 0:
        return 1.0

    def loss(log_beta: float) -> float:
        scores = scipy.special.log_softmax(-np.exp(log_beta) / typical * distances, axis=1)
        return -float(w @ np.sum(target * scores, axis=1))

    best = scipy.optimize.minimize_scalar(loss, bounds=(-LOG_RANGE, LOG_RANGE), method="bounded")
    return float(np.exp(best.x) / typical)
