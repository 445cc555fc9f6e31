"""Prediction of many labels from the scores of a projection, without forming samples x labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import as_dense, one_sample, stored
from eigenkit.estimators._both_sides import ScoresByName
from eigenkit.estimators._encoding import check_indicator, check_two_classes, class_columns
from eigenkit.estimators._estimator import Estimator
from eigenkit.estimators._validation import check_X, part_of, plain_words, tabular
from eigenkit.estimators.cca import OrthonormalizedPLS
from eigenkit.estimators.splits import LabelStratifiedKFold, Split, splits_among
from eigenkit.moments import Rows
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import one_blas_thread
from eigenkit.pencil import Report
from eigenkit.shell import check_count, what_is

# Votes are counted in batches of new samples that have this many neighbours in total.
BLOCK_NEIGHBORS = 2**20

# Components of the projection that is taken by default. Beyond this many labels their main
# directions stand for them, as features x labels would not fit in memory.
COMPONENTS = 100
MANY_LABELS, MAIN_DIRECTIONS = 2000, 200

# A label with fewer training samples takes the threshold that is best for all labels together.
FEW = 10


class ManyLabelClassifier(ScoresByName, ClassifierMixin, Estimator):
    """Ranks many labels by the votes of the nearest neighbours among the scores of a projection.

    The projection is learned from X and y; a component then counts with the root of its
    eigenvalue, its share in explaining the labels. A neighbour at distance r votes for its labels
    with ``exp(-(r / R)^2)``, R the distance of the last neighbour taken. A sample gets the labels
    whose share of the votes exceeds their threshold, which cross-validation inside the training
    samples has found best for F1. Labels stay sparse throughout, even if there are 10^5 of them.

    Parameters
    ----------
    estimator : projection of eigenkit, optional
        Has ``transform`` and ``eigenvalues_``, or is a search for one. By default orthonormalized
        PLS with at most 100 components, and with ``label_rank=200`` where there are more than 2000
        labels.
    n_neighbors : int
        How many neighbours vote; as many as there are samples where those are fewer.
    cv : int, splitter or iterable
        Folds in which the thresholds are found: so many, which keep the share of every label,
        or as in scikit-learn. For groups give the splits:
        ``cv=list(GroupKFold().split(X, y, groups))``.

    Attributes
    ----------
    estimator_ : fitted projection
    thresholds_ : array of shape (n_labels,)
        The share of the votes above which a label is given.
    classes_ : array
        Where y held one class per sample, of which that with most votes is predicted; else the
        numbers of the labels.
    {report_and_names}

    Notes
    -----
    Weights count in the projection and in the votes, not in the search for thresholds: a sample
    of weight 2 is two neighbours. Weights that are not whole numbers are compared with their mean.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from eigenkit import ManyLabelClassifier
    >>> X, Y = make_multilabel_classification(n_samples=300, random_state=0)
    >>> model = ManyLabelClassifier(n_neighbors=20).fit(X[:200], Y[:200])
    >>> labels, votes = model.predict_top(X[200:], 2)
    >>> labels.shape
    (100, 2)
    >>> model.predict(X[200:]).shape
    (100, 5)
    """

    def __init__(self, estimator: Any = None, *, n_neighbors: int = 50, cv: Any = 3) -> None:
        self.estimator = estimator
        self.n_neighbors = n_neighbors
        self.cv = cv

    _instead: ClassVar = {"projection": "give estimator"}
    _sparse_labels = True

    def _settings(self) -> None:
        if self.estimator is not None and not hasattr(self.estimator, "fit"):
            raise TypeError(f"estimator is {what_is(self.estimator)}: give a projection, or None.")
        if not np.iterable(self.cv) and not hasattr(self.cv, "split"):
            check_count("cv", self.cv)

    _take = Estimator._rows  # folds are counted among all rows

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> sparse.csr_array:
        """The labels as a sparse matrix; sparse y is checked as it is stored."""
        self._sparse_labels_ = sparse.issparse(y)
        self._one_class_ = not self._sparse_labels_ and (y.ndim < 2 or y.shape[1] == 1)
        if self._one_class_:
            return class_columns(self, y, n, classes, reset, "give a 0/1 matrix")
        self.classes_ = np.arange(y.shape[1])
        J = sparse.csr_array(check_indicator(y, n), copy=True)
        J.eliminate_zeros()
        return J

    def _check_informative(self, problem: Rows) -> None:
        if self._one_class_:
            check_two_classes(problem.positive().Y.sum(axis=0))

    def _solve(self, problem: Rows, settings: None) -> Array:
        """The thresholds that are best on held-out samples."""
        kept = np.flatnonzero(problem.weights())
        folds = [] if self._one_class_ else self._folds(problem.Y, kept)
        if not folds:
            return np.full(problem.Y.shape[1], 0.5)
        votes, truth = [], []
        for train, test in folds:
            trial = type(self)(self.estimator, n_neighbors=self.n_neighbors)
            rows = part_of(self.estimator, problem.X, train, train)
            trial._memorize(replace(problem.take(train), X=rows))
            votes.append(trial._votes(part_of(self.estimator, problem.X, test, train)))
            truth.append(problem.Y[test])
        return best_thresholds(
            sparse.csc_array(sparse.vstack(truth)), sparse.csc_array(sparse.vstack(votes))
        )

    def _keep(self, problem: Rows, solution: Array) -> None:
        self.thresholds_ = solution
        self._memorize(problem)

    def _report(self, solution: Array) -> Report:
        kind = Report("projection", type(self.estimator_).__name__, "as asked")
        how: Report = getattr(self.estimator_, "report_", kind)  # it may be another library's
        return how.noting(f"labels by the votes of {self.n_neighbors} neighbours")

    def _memorize(self, rows: Rows) -> None:
        """Learn the projection, and keep the scores and labels of the rows."""
        X, J, weight = rows.X, rows.Y, rows.weight
        there = rows.positive()
        own = self.estimator is None
        rank = MAIN_DIRECTIONS if J.shape[1] > MANY_LABELS else None
        projection = OrthonormalizedPLS(label_rank=rank) if own else clone(self.estimator)
        # A classifier gets the class of each sample.
        y = J.indices if getattr(self, "_one_class_", False) and is_classifier(projection) else J
        fitted = projection.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
        self.estimator_ = getattr(fitted, "best_estimator_", fitted)  # of a search
        if not hasattr(self.estimator_, "eigenvalues_"):
            raise TypeError(
                f"estimator is {what_is(projection)}, whose components have no eigenvalues to be "
                "weighed by: give a projection with eigenvalues_, such as OrthonormalizedPLS."
            )
        found = self.estimator_.n_components_
        self._n_used_ = min(COMPONENTS, found) if own else found
        self._labels_ = there.Y
        # How many neighbours a sample stands for: whole weights say so, others by their mean.
        self._counts_ = None if weight is None else there.weights() / one_sample(there.weight)
        self._neighbors_ = sklearn.neighbors.NearestNeighbors(algorithm="brute").fit(
            self._coordinates(there.X)
        )

    def _coordinates(self, X: Any) -> Array:
        used = slice(0, self._n_used_)
        root = np.sqrt(np.maximum(self.estimator_.eigenvalues_[used], 0.0))
        return np.asarray(np.asarray(self.estimator_.transform(X))[:, used] * root)

    def _folds(self, J: sparse.csr_array, kept: np.ndarray) -> list[Split]:
        """Row numbers of the training and of the test part, of the rows that are kept."""
        if np.iterable(self.cv) or hasattr(self.cv, "split"):
            splitter = sklearn.model_selection.check_cv(self.cv)
        else:
            splitter = LabelStratifiedKFold(min(int(self.cv), len(kept) // 2))
            if splitter.n_splits < 2:
                return []
        return list(splits_among(kept, splitter, J, J))

    def decision_function(self, X: Any) -> Any:
        """The share of the votes that every label gets.

        {samples}

        Returns
        -------
        csr_array of shape (n_samples, n_labels)
            Labels without a vote are not stored. An array where y was one; for two classes the
            difference of their shares.
        """
        votes = self._as_given(self._shares(X)).astype(self._dtype_, copy=False)
        if self._one_class_ and len(self.classes_) == 2:
            return votes[:, 1] - votes[:, 0]
        return votes

    def predict_top(self, X: Any, n_labels: int = 5) -> tuple[np.ndarray, Array]:
        """The labels with most votes.

        {samples}
        n_labels : int

        Returns
        -------
        labels : int array of shape (n_samples, n_labels)
            Column numbers of y, best first; -1 where fewer labels have a vote.
        votes : array of shape (n_samples, n_labels)
        """
        check_count("n_labels", n_labels)
        votes = self._shares(X)
        best = top_labels(votes, n_labels)
        share = votes[np.arange(len(best))[:, None], np.maximum(best, 0)]
        dense = as_dense(share).reshape(best.shape).astype(self._dtype_, copy=False)
        return best, np.where(best >= 0, dense, dense.dtype.type(0))

    def predict(self, X: Any) -> Any:
        """The labels whose share of the votes exceeds their threshold.

        {samples}

        Returns
        -------
        0/1 matrix of shape (n_samples, n_labels), sparse if y was; or classes
        """
        votes = self._shares(X)
        if self._one_class_:
            return self.classes_[top_labels(votes, 1)[:, 0]]
        given = votes.data > self.thresholds_[votes.indices]
        P = sparse.csr_array((given.astype(np.int64), votes.indices, votes.indptr), votes.shape)
        P.eliminate_zeros()
        return self._as_given(P)

    def _as_given(self, A: sparse.csr_array) -> Any:
        return A if self._sparse_labels_ else A.toarray()

    def _shares(self, X: Any) -> sparse.csr_array:
        check_is_fitted(self)
        return self._votes(check_X(self, X, reset=False))

    def _votes(self, X: Any) -> sparse.csr_array:
        """The votes of the neighbours of samples that are checked."""
        step = max(1, BLOCK_NEIGHBORS // int(self.n_neighbors))
        starts = range(0, X.shape[0], step)
        parts = [self._block_votes(X[start : start + step]) for start in starts]
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    def _block_votes(self, X: Any) -> sparse.csr_array:
        n_train, count, enough = self._labels_.shape[0], self._counts_, int(self.n_neighbors)
        k = enough
        if count is not None:  # how many samples make so many neighbours, whichever they are
            k = int(np.searchsorted(np.cumsum(np.sort(count)), enough)) + 1
        k = min(k, n_train)
        Z = self._coordinates(X)
        with one_blas_thread:
            distance, index = self._neighbors_.kneighbors(Z, n_neighbors=k)
        votes: Any = 1.0
        if count is not None:  # how much of each sample counts, nearest first
            before = np.cumsum(count[index], axis=1) - count[index]
            votes = np.clip(enough - before, 0.0, count[index])
        reach = np.max(np.where(votes, distance, 0.0), axis=1, keepdims=True)
        reach = np.maximum(reach, np.finfo(distance.dtype).tiny)
        weight = votes * np.exp(-(np.minimum(distance / reach, 1.0) ** 2))
        weight /= weight.sum(axis=1, keepdims=True)
        starts = np.arange(0, k * X.shape[0] + 1, k)
        voters = sparse.csr_array((weight.ravel(), index.ravel(), starts), (X.shape[0], n_train))
        return sparse.csr_array(voters @ self._labels_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if self.estimator is not None:
            tags.input_tags.pairwise = self.estimator.__sklearn_tags__().input_tags.pairwise
        tags.classifier_tags.multi_label = True
        return tags


def top_labels(S: Any, k: int) -> np.ndarray:
    """The numbers of the k best labels of every sample, best first; -1 where there are fewer.

    Parameters
    ----------
    S : array or sparse matrix of shape (n_samples, n_labels)
        Scores. In a sparse matrix what is not stored comes after all that is.
    k : int

    Returns
    -------
    int array of shape (n_samples, k)

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.evaluation import top_labels
    >>> top_labels(np.array([[0.1, 0.7, 0.2]]), 2)
    array([[1, 2]])
    """
    k, S = check_count("k", k), check_label_scores(S)
    best = np.full((S.shape[0], k), -1)
    if not sparse.issparse(S):
        best[:, : S.shape[1]] = np.argsort(-S, axis=1, kind="stable")[:, :k]
        return best
    row = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    order = np.lexsort((S.indices, -S.data, row))
    place = np.arange(S.nnz) - S.indptr[row]  # sorting keeps the rows where they are
    first = place < k
    best[row[first], place[first]] = S.indices[order][first]
    return best


def check_label_scores(S: Any) -> Any:
    """Scores as a CSR or float matrix without NaN, which has no place in a ranking."""
    if not sparse.issparse(S):
        with plain_words("S"):
            S = np.asarray(tabular(S), dtype=np.float64)
    if S.ndim != 2:
        raise ValueError(f"S has {S.ndim} dimensions: give a row for every sample.")
    S = sparse.csr_array(S) if sparse.issparse(S) else S
    if np.isnan(stored(S)).any():
        raise ValueError("S holds NaN, which cannot be ranked: give every label a score.")
    return S


def best_thresholds(Y: sparse.csc_array, S: sparse.csc_array) -> Array:
    """For every label the threshold on S with the best F1; for rare labels the one best for all.

    Between two scores that differ the threshold is half-way.
    """
    if S.nnz == 0:  # nobody has voted
        return np.full(S.shape[1], 0.5)
    columns = np.repeat(np.arange(S.shape[1]), np.diff(S.indptr))
    truth = np.asarray(Y[S.indices, columns]).ravel() != 0
    carried = np.asarray(Y.sum(axis=0)).ravel()
    common = _best_threshold(S.data, truth, float(carried.sum()))
    found = np.full(S.shape[1], common)
    for j in np.flatnonzero(carried >= FEW):
        part = slice(S.indptr[j], S.indptr[j + 1])
        found[j] = _best_threshold(S.data[part], truth[part], float(carried[j]))
    return found


def _best_threshold(score: Array, truth: np.ndarray, n_true: float) -> float:
    if len(score) == 0:
        return 0.5
    order = np.argsort(-score, kind="stable")
    score, hits = score[order], np.cumsum(truth[order])
    last = np.flatnonzero(np.append(score[1:] < score[:-1], True))
    f1 = 2 * hits[last] / (last + 1 + n_true)
    cut = last[int(np.argmax(f1))]
    below = score[cut + 1] if cut + 1 < len(score) else 0.0
    return float((score[cut] + below) / 2)
