"""Classifiers on the scores of a projection: a linear rule for every class or label.

A support vector machine depends on which rows lie within its margin, and needs the scores of all
rows. Gaussians with a common covariance need sums over the rows only,

    sum w,  sum w z,  sum w z z',  and for every label  sum w y,  sum w y z

which the moments of a stream give for any projection of them: such a classifier follows a stream
exactly, and models of several sites add up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy
from scipy import linalg as sla

from eigenkit.estimators._heads import densities, posterior, whitened
from eigenkit.estimators.registry import Method
from eigenkit.files import Target
from eigenkit.numerics.linalg import Array, ratio
from eigenkit.numerics.threads import plus
from eigenkit.numerics.tolerances import EPS
from eigenkit.solvers.margin import squared_hinge

SVM, GAUSSIAN = "svm", "gaussian"
# The logarithm of the odds of what is impossible or certain; model files hold finite numbers only.
_CERTAIN = 1e300
CLASSIFIERS = {SVM: "linear SVM", GAUSSIAN: "Gaussian classifier"}


@dataclass(frozen=True)
class Linear:
    """Decisions ``((Z - mean) / unit) @ coef.T + intercept``, a column per label.

    The scores of a projection are as small as its eigenproblem makes them, and a penalty should
    not depend on that: ``mean`` and ``unit`` (l) are those of the training scores.
    """

    mean: Array
    unit: Array
    coef: Array  # (k x l)
    intercept: Array
    kind: str = SVM  # what it was found by

    @property
    def words(self) -> str:
        """Its name in messages."""
        return CLASSIFIERS[self.kind]

    @property
    def weights(self) -> Array:
        """How much a unit of each score adds to the decisions (l x k)."""
        return np.asarray(self.coef.T / self.unit[:, None])

    def decision(self, Z: Array) -> Array:
        """Scores of every label."""
        return ((Z - self.mean) / self.unit) @ self.coef.T + self.intercept

    def probabilities(self, Z: Array, single: bool) -> Array:
        """Probabilities of Gaussian classes, or of each Gaussian label, given the scores."""
        S = self.decision(Z)
        return posterior(S) if single else np.asarray(scipy.special.expit(S))


@dataclass(frozen=True)
class ScoreSums:
    """The sums of scores that Gaussians need, over all rows and for every label.

    ``scatter`` (l x l) is centred, ``means`` (k x l) are those of the labels less ``mean``,
    ``degree`` (k) is what the rows with a label weigh, and ``total`` what all do.
    """

    n_rows: int
    total: float
    mean: Array
    scatter: Array
    degree: Array
    means: Array

    @classmethod
    def of(cls, Z: Array, Y: Array) -> ScoreSums:
        """Of scores (n x l) and the 0/1 matrix of the labels."""
        mean = Z.mean(axis=0)
        Z = Z - mean
        degree = Y.sum(axis=0)
        means = ratio(Y.T @ Z, degree[:, None])
        return cls(len(Z), float(len(Z)), mean, Z.T @ Z, degree, means)

    def merge(self, other: ScoreSums) -> ScoreSums:
        """Of the rows of both."""
        both, total, apart = (self, other), self.total + other.total, other.mean - self.mean
        mean = self.mean + apart * (other.total / total)
        scatter = self.scatter + other.scatter
        scatter += np.outer(apart, apart) * (self.total * other.total / total)
        degree = self.degree + other.degree
        sums = sum(each.degree[:, None] * (each.means + each.mean - mean) for each in both)
        n_rows, means = self.n_rows + other.n_rows, ratio(sums, degree[:, None])
        return ScoreSums(n_rows, total, mean, scatter, degree, means)

    @classmethod
    def of_stream(cls, estimator: Any, target: Target) -> ScoreSums:
        """Of all rows that a stream has taken in, under its present projection."""
        toward, weight = estimator._kind()
        factor = estimator._intake_.moments.summary(toward)
        mean, RX, RY = factor.mean[: factor.d], factor.R[:, : factor.d], factor.R[:, factor.d :]
        if factor.sets is not None:
            RY = RY @ factor.sets
        else:  # one class a row, or as they are: the local part is a multiple of each
            RY = RY / toward.local(np.eye(RY.shape[1]), weight).diagonal()
        # Near the mean, where a projection is most precise.
        center = scores_of(estimator, mean[None])
        R = scores_of(estimator, mean + RX) - center
        order = label_places(estimator, target.names)
        degree, cross = np.empty_like(factor.degree), np.empty((len(order), R.shape[1]))
        degree[order], cross[order] = factor.degree, RY.T @ R
        means = ratio(cross, degree[:, None])
        return cls(factor.n_rows, factor.total, center[0], R.T @ R, degree, means)


def scores_of(estimator: Any, X: Any) -> Array:
    """The scores of rows under a projection, in double precision."""
    return np.asarray(estimator.transform(X), dtype=np.float64)


def label_places(estimator: Any, names: tuple[str, ...]) -> np.ndarray:
    """The place of each label column of the moments among the names of the target."""
    if not hasattr(estimator, "classes_"):
        return np.arange(len(names))
    place = {name: i for i, name in enumerate(names)}
    return np.array([place[str(c)] for c in estimator.classes_], dtype=np.int64)


def fit_linear(Z: Array, Y: Array, kind: str = SVM, single: bool = False) -> Linear:
    """A linear rule for every column of the 0/1 matrix Y; ``single`` if each row has one label."""
    if kind == GAUSSIAN:
        return gaussian(ScoreSums.of(Z, Y), single)
    mean, unit = Z.mean(axis=0), Z.std(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    return Linear(mean, unit, *squared_hinge((Z - mean) / unit, Y))


def gaussian(sums: ScoreSums, single: bool) -> Linear:
    """Gaussian classes with one covariance, or each label against its absence, with its own.

    Decisions are logarithms of densities times shares, or the odds of that. A class without rows
    is never the answer, nor is a label without them; one that all rows have always is.
    """
    F = whitened(sums.scatter)
    means = sums.means @ F  # of scores whose scatter is the identity
    if single:
        _, s, axes = sla.svd(np.sqrt(sums.degree)[:, None] * means, full_matrices=False)
        shares = sums.degree / sums.total
        coef, intercept = densities(means @ axes.T, s**2, shares, sums.total, sums.n_rows)
        coef = coef @ axes
    else:
        coef, intercept = _against_the_rest(sums, means)
    intercept = np.nan_to_num(intercept, neginf=-_CERTAIN, posinf=_CERTAIN)
    return Linear(sums.mean, np.ones(len(sums.mean)), coef @ F.T, intercept, GAUSSIAN)


def _against_the_rest(sums: ScoreSums, means: Array) -> tuple[Array, Array]:
    """For labels: the covariance is that of all rows less that between the two means."""
    share = sums.degree / sums.total
    rest = 1 - share
    apart = ratio(means, rest[:, None])
    between = sums.total * share * rest * np.einsum("kl,kl->k", apart, apart)
    within = np.maximum(1 - between, EPS * sums.n_rows)
    coef = apart * (sums.total / within)[:, None]
    middle = apart * ((rest - share) / 2)[:, None]
    with np.errstate(divide="ignore"):
        odds = np.log(share) - np.log(rest)
    return coef, odds - np.einsum("kl,kl->k", coef, middle)


def sums_of(blocks: Iterable[Any], projection: Any, target: Target) -> ScoreSums | None:
    """The sums of the scores of blocks (X, y, weight), whose weights do not count."""
    rows = ((scores_of(projection, X), y) for X, y, _ in blocks if X.shape[0])
    parts = (ScoreSums.of(Z, _marks(target, y)) for Z, y in rows)
    found: ScoreSums | None = reduce(plus, parts, None)
    return found


def _marks(target: Target, y: np.ndarray) -> Array:
    """The 0/1 matrix of classes or labels."""
    classes = target.kind == "classes"
    labels = y[:, None] == np.array(target.names, dtype=object) if classes else y
    return np.asarray(labels, dtype=np.float64)


def on_top(method: Method, target: Target, kind: str, rows: Any, estimator: Any) -> Linear | None:
    """The linear classifier on the ``scores`` of all rows, or on ``sums`` over them.

    None where the method predicts by itself. What the estimator keeps of a stream is used where
    that suffices.
    """
    if method.kind == "classifier" or target.kind == "numbers":
        return None
    streams = "_intake_" in vars(estimator)
    if kind == GAUSSIAN and streams and not lacks_labels(estimator, target):
        return of_stream(estimator, target)
    single = target.kind == "classes"
    if kind == GAUSSIAN:
        return gaussian(rows.sums(estimator, target), single)
    Z, y = zip(*rows.scores(estimator), strict=True)
    return fit_linear(np.vstack(Z), _marks(target, np.concatenate(y)), kind, single)


def of_stream(estimator: Any, target: Target) -> Linear:
    """The Gaussian classifier of everything that a stream has taken in."""
    return gaussian(ScoreSums.of_stream(estimator, target), target.kind == "classes")


def cannot_follow(model: Any) -> str:
    """Why the classifier on top of a model cannot follow a stream; empty if it can, or has none.

    An estimator that keeps no stream yet is judged by what it will keep.
    """
    if model.linear is None:
        return ""
    if model.linear.kind != GAUSSIAN:
        what = f"{model.method} has a {model.linear.words} on top, which needs all rows at once"
        other = "--classifier gaussian, which can be updated from sums"
        return f"{what}: fit it with {other}, or use a method that predicts by itself (lda)."
    if lacks_labels(model.estimator, model.target):
        what = f"the sums of {model.method} do not tell which rows have which label"
        problem = f"{what}, so the classifier on top cannot be updated from them"
        return f"{problem}: use a method whose sums do (cca, opls, star)."
    return ""


def lacks_labels(estimator: Any, target: Target) -> bool:
    """Whether what an estimator keeps of a stream does not tell the labels of the rows."""
    if not estimator._n_labels_:
        return True
    parts = getattr(estimator, "_y_chooses_rows", False) or not estimator._kind()[0].keeps_labels
    return target.kind != "classes" and bool(parts)
