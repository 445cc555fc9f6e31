"""Linear discriminant analysis, of classes and of multi-label data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin

from eigenkit.data import Centered, as_dense, scaled
from eigenkit.estimators._both_sides import ScoresByName
from eigenkit.estimators._encoding import (
    ONE_EACH,
    as_labels,
    check_indicator,
    check_two_classes,
    class_columns,
    encode_labels,
)
from eigenkit.estimators._estimator import Projection
from eigenkit.estimators._heads import GaussianClassifier, checked_priors, gaussian
from eigenkit.estimators._streams import Result, results
from eigenkit.estimators._validation import check_X, warn_degenerate
from eigenkit.moments import Problem, Rows
from eigenkit.numerics.linalg import Array, distinct_rows
from eigenkit.numerics.tolerances import EPS
from eigenkit.pencil import Pencil, Solution
from eigenkit.shell import check_choice, check_flag, check_share, take_parameters
from eigenkit.targets import TARGETS


def _check_shrinkage(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, ("auto",))
    elif value is not None and check_share(name, value) == 1.0:
        raise ValueError(
            "shrinkage=1 leaves nothing of the covariance: give a number below 1, or use "
            "scikit-learn's NearestCentroid."
        )


class LDA(GaussianClassifier, ScoresByName, ClassifierMixin, Projection):
    """Linear discriminant analysis: a projection that separates classes, and a classifier.

    Solves ``Sb w = lambda (St + alpha I) w`` for the between-class and total scatter, and
    classifies with Gaussians of common covariance ``(Sw + alpha I) / n``. With
    ``alpha=0`` on data of full rank the classifier is that of scikit-learn.

    Parameters
    ----------
    n_components : int, optional
        Number of components of :meth:`transform`, at most n_classes - 1; all by default.
        The classifier always uses all of them.
    {eigen_rank}
    priors : array of shape (n_classes,), optional
        Class probabilities; by default the shares of the classes in the data. The covariance is
        pooled with those shares in any case. A class without rows of positive weight must have 0.
    {alpha}
    shrinkage : float between 0 and 1, "auto" or None
        In place of alpha: mix the covariance with a multiple of I of the same trace, in these
        proportions. "auto" shrinks the covariance of every class towards its diagonal as far as
        Ledoit and Wolf's estimate says, for dense X. With the shares of the classes as priors
        both give scikit-learn's classifier.
    store_covariance : bool
        Whether to keep ``covariance_``.
    {computation}

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features)
    eigenvalues_ : array of shape (n_components_,)
        Shares of the variance along each component that lies between the classes.
    explained_variance_ratio_ : array of shape (n_components_,)
        Variance between the classes in units of that within, as shares of its sum over all
        components.
    mean_ : array of shape (n_features,)
        Mean of all samples.
    classes_ : array of shape (n_classes,)
    priors_ : array of shape (n_classes,)
    means_ : array of shape (n_classes, n_features)
    xbar_ : array of shape (n_features,)
        Mean of the class means, weighted by the priors.
    scalings_ : array of shape (n_features, n_components_)
        The components in units in which the variance within classes is 1, as scikit-learn has
        them.
    covariance_ : array of shape (n_features, n_features)
        Of the Gaussians, with ``store_covariance=True``.
    coef_ : array of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : array of shape (n_classes,), or (1,)
    {what_was_done}

    {iris}
    >>> from eigenkit import LDA
    >>> model = LDA(alpha=0).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    >>> model.score(X, y)
    0.98
    """

    _instead: ClassVar = {"covariance_estimator": "use shrinkage, or alpha for a ridge"}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        label_rank: int | str | None = None,
        priors: Any = None,
        alpha: float = 1.0,
        shrinkage: Any = None,
        store_covariance: bool = False,
        solver: str = "auto",
        regression: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        take_parameters(self, locals())

    priors: Any
    shrinkage: Any
    store_covariance: Any
    _rules: ClassVar = {"store_covariance": check_flag, "shrinkage": _check_shrinkage}

    def _check_in_parts(self) -> None:
        if self.shrinkage == "auto":
            raise ValueError(
                "shrinkage='auto' needs all rows at once: fit arrays, or give a number."
            )

    def _shrunken_to(self) -> float:
        """What is left of the covariance of the samples: 1 - shrinkage where that is a number."""
        return 1.0 if self.shrinkage in (None, "auto") else 1.0 - float(self.shrinkage)

    def _state(self, moments: Any) -> Problem:
        if self.shrinkage is None:
            return super()._state(moments)
        problem = moments.problem(self._target, 1.0, 0.0)
        if self.shrinkage == "auto":
            return shrunken_by_class(moments, problem)
        return shrunken(problem, float(self.shrinkage), self.n_features_in_)

    priors_, means_, coef_, intercept_, explained_variance_ratio_ = results(5)
    covariance_ = Result("fit with store_covariance=True to keep it")
    _offset_, _precision_ = results(2)
    _sparse_labels = True
    _target = TARGETS["lda"]

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> Any:
        instead = "for several labels use HypergraphSpectral or CCA"
        return class_columns(self, y, n, classes, reset, instead)

    def _check_informative(self, problem: Problem) -> None:
        present = check_two_classes(problem.labels.degree)
        if problem.total <= present * problem.labels.one:
            raise ValueError(ONE_EACH.format(present, problem.n_rows))
        super()._check_informative(problem)

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        degree = problem.labels.degree
        priors = checked_priors(self.priors, degree / problem.total)
        self._keep_means(problem, np.sqrt(np.where(degree > 0, degree, 1.0)))
        counted = replace(problem, total=problem.total / self._shrunken_to())
        coef, offset = gaussian(counted, solution, priors)
        # Variances between classes in units of those within; with a graph the squares of the
        # scores of the samples, of which both are shares, are not 1.
        between: Array = solution.eigenvalues
        squares: Array | float = 1.0
        if solution.gram is not None:
            squares = solution.gram.diagonal()
            between = np.sum(solution.cross**2, axis=0) / squares
        within = np.maximum(1 - between, EPS * problem.n_rows)
        ratio = between / within
        self._set(
            priors_=priors,
            intercept_=offset - coef @ problem.mean,
            # Classes with the same means have no variance between them, and shares of zero.
            explained_variance_ratio_=ratio[: self.n_components_] / (ratio.sum() or 1.0),
            _offset_=offset,
            _precision_=(counted.total / (squares * within))[: self.n_components_],
            **{self._coef_name: coef},
        )
        if self.store_covariance:
            self._keep_covariance(problem)

    def _keep_means(self, problem: Problem, root: Array) -> None:
        pencil = problem.pencil
        means = pencil.Z.from_X(pencil.C) / root
        means += problem.mean[:, None]
        self.means_ = self._cast(means.T)

    def _keep_covariance(self, problem: Problem) -> None:
        """(B - A) / n: what is not between the classes, with its ridge."""
        pencil = problem.of_samples
        from_X = pencil.Z.from_X
        within = pencil.Z.gram() - pencil.C @ pencil.C.T
        within.flat[:: len(within) + 1] += pencil.ridge
        within *= self._shrunken_to() / problem.total
        self.covariance_ = self._cast(from_X(from_X(within).T))
        if hasattr(self, "_occurring_"):  # empty columns have the variance of the ridge
            whole = self._spread(self._spread(self.covariance_, 0), 1)
            empty = np.setdiff1d(np.arange(len(whole)), self._occurring_)
            whole[empty, empty] = pencil.alpha * self._shrunken_to() / problem.total
            self.covariance_ = whole

    @property
    def scalings_(self) -> Array:
        """Components with unit variance within classes, one column each."""
        return np.asarray(self.components_.T * np.sqrt(self._precision_))

    @property
    def xbar_(self) -> Array:
        """The mean of the class means, weighted by the priors."""
        return np.asarray(self.priors_ @ self.means_)


def ledoit_wolf(X: Array, weight: Array) -> tuple[float, float]:
    """(s, m) of Ledoit and Wolf's ``(1 - s) S + s m I`` (2004) for the covariance of centred rows.

    s = min(b, d) / d with d = ||S - m I||^2 and b the variance of S, as the rows estimate it;
    ||S|| comes from the smaller of the two Gram matrices.
    """
    n, d = float(weight.sum()), X.shape[1]
    R = X * np.sqrt(weight)[:, None]
    G = R @ R.T if len(R) < d else R.T @ R
    squares = float(np.sum(G * G)) / n**2
    m = float(np.sum(R * R)) / (n * d)
    distance = squares - d * m * m
    noise = (float(weight @ np.sum(X * X, axis=1) ** 2) / n - squares) / n
    return (min(noise, distance) / distance if distance > 0 and noise > 0 else 0.0), m


def shrunken_by_class(rows: Rows, problem: Problem) -> Problem:
    """The problem of LDA with the covariance of every class shrunken towards its diagonal.

    The rows of Z are those that sum to the new scatter matrices: within classes
    ``sqrt(w (1 - s_j)) (x - m_j)`` and the roots of ``sum_j n_j s_j m_j diag(std_j^2)``, between
    them ``sqrt(n_j) (m_j - m)``, which alone belong to H.
    """
    if sparse.issparse(rows.X):
        raise ValueError(
            "X is sparse, but shrinkage='auto' needs dense deviations from the class means: give a "
            "number, or alpha."
        )
    X, weights = np.asarray(rows.X, dtype=np.float64), rows.weights()
    within, between, diagonal = [], [], np.zeros(X.shape[1])
    for own in as_dense(rows.Y).T > 0:
        if not own.any():
            between.append(np.zeros(X.shape[1]))
            continue
        w = weights[own]
        first = X[own][0]  # from it, a column that is constant in the class is zero, exactly
        deviations = X[own] - first
        shift = w @ deviations / w.sum()
        deviations -= shift
        std = np.sqrt(w @ deviations**2 / w.sum())
        std[std == 0] = 1.0
        s, m = ledoit_wolf(deviations / std, w)
        within.append(np.sqrt((1 - s) * w)[:, None] * deviations)
        between.append(np.sqrt(w.sum()) * (first + shift - problem.mean))
        diagonal += w.sum() * s * m * std**2
    Z = np.vstack([*within, np.diag(np.sqrt(diagonal)), *between])
    H = np.vstack([np.zeros((len(Z) - len(between), len(between))), np.eye(len(between))])
    return replace(problem, pencil=Pencil(Centered(Z, center=False), H, 0.0))


def shrunken(problem: Problem, shrinkage: float, d: int) -> Problem:
    """The problem with the ridge that stands for ``(1 - s) Sw + s tr(Sw) / d I``, over 1 - s."""
    Z, C = problem.pencil.Z, problem.pencil.C
    squares = Z.column_squares() - np.sum(C * C, axis=1)
    squares = Z.from_X(Z.from_X(np.maximum(squares, 0.0)[:, None]))
    alpha = shrinkage / (1 - shrinkage) * float(np.sum(squares)) / d
    return replace(problem, pencil=problem.pencil.at(alpha))


class MultilabelLDA(Projection):
    """Class-balanced linear discriminant analysis of multi-label data.

    A sample counts once for every label that it carries, in the label means m_j, the overall
    mean m and the scatter matrices:

    ``Sb = sum_j n_j (m_j - m)(m_j - m)'``, ``Sw = sum_j sum_i J_ij (x_i - m_j)(x_i - m_j)'``

    and ``Sb w = lambda (Sb + Sw + alpha I) w`` is solved, without copying a sample. It equals
    :class:`LDA` on the data of :func:`copy_transformation`; samples without a label do not
    count.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most one less than labels; all by default.
    {eigen_rank}
    {alpha}
    {computation}

    Attributes
    ----------
    {components}
        m: the mean over all pairs of a sample and a label.
    classes_ : array
        Where y held one class per sample.
    {what_was_done}

    {multilabel}
    >>> from eigenkit import MultilabelLDA
    >>> MultilabelLDA().fit_transform(X, Y).shape
    (100, 4)
    """

    _sparse_labels = True
    _y_chooses_rows = True
    _target = TARGETS["lda"]
    _encode = encode_labels

    def _rows(self, *given: Any) -> Rows:
        rows = _copies(super()._rows(*given))
        if not rows.weights().any():
            raise ValueError("y holds no label at all: there is nothing to learn from it.")
        return rows

    def _batch(self, *given: Any, **how: Any) -> Rows:
        """With rows that carry no label: nothing is learned from them, but they are there."""
        return _copies(super()._batch(*given, **how))

    def _check_informative(self, problem: Problem) -> None:
        degree = problem.labels.degree
        if np.sum(degree > 0) < 2:
            raise ValueError("y holds 1 label or class, but at least two are needed to separate.")
        super()._check_informative(problem)
        warn_degenerate(degree == 0, "labels are carried by no sample")


def _copies(rows: Rows) -> Rows:
    """A row stands for its copies: their number in the weight, their labels in equal parts."""
    count = np.asarray(rows.Y.sum(axis=1)).ravel()
    Y = scaled(rows.Y, rows=1 / np.maximum(count, 1))
    return Rows(rows.X, Y, rows.weights() * count)


def copy_transformation(X: Any, y: Any) -> tuple[Any, np.ndarray, Array]:
    """Multi-label data as multi-class data: each sample once for every label it carries.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : 0/1 matrix of shape (n_samples, n_labels)

    Returns
    -------
    X_copies : array or CSR matrix of shape (n_copies, n_features)
    labels : int array of shape (n_copies,)
    sample_weight : array of shape (n_copies,)
        One over the number of labels, so that every sample counts as one; leave it out to count
        every label equally.

    Examples
    --------
    >>> copy_transformation([[1.0], [2.0]], [[1, 1], [0, 1]])
    (array([[1.],
           [1.],
           [2.]]), array([0, 1, 1]), array([0.5, 0.5, 1. ]))
    """
    X = check_X(MultilabelLDA(), X, reset=True)
    J = check_indicator(as_labels(y), X.shape[0])
    sample, label = np.nonzero(J)
    return X[sample], label, 1 / J.sum(axis=1)[sample]


def label_powerset(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Multi-label data as multi-class data: each distinct set of labels is a class.

    Parameters
    ----------
    y : 0/1 matrix of shape (n_samples, n_labels)

    Returns
    -------
    classes : int array of shape (n_samples,)
    label_sets : 0/1 array of shape (n_classes, n_labels)
        ``label_sets[classes]`` is y again, and turns predicted classes into labels.

    Examples
    --------
    >>> classes, label_sets = label_powerset([[1, 1], [0, 1], [1, 1]])
    >>> classes
    array([1, 0, 1])
    >>> label_sets
    array([[0, 1],
           [1, 1]])
    """
    y = as_dense(as_labels(y))
    J = check_indicator(y, len(np.atleast_1d(y)))
    label_sets, classes = distinct_rows(J.astype(np.int64))
    return classes, label_sets
