"""Projections that learn from samples without labels, by a graph over all samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing, indexable

from eigenkit.data import as_dense
from eigenkit.estimators._alphas import best_of
from eigenkit.estimators._blocks import refuse_blocks
from eigenkit.estimators._encoding import check_enough, check_y_given, labels_of, marked, unmarked
from eigenkit.estimators._estimator import Projection
from eigenkit.estimators._folds import BestEstimator, Fold, estimator_has, score_table
from eigenkit.estimators._validation import check_weight, check_X, numbers_in
from eigenkit.estimators.splits import Split, splits_among
from eigenkit.kernels import Kernel
from eigenkit.moments import GraphRows, Rows, SparseGraphRows
from eigenkit.moments.graph import incidence, laplacian, root
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import one_blas_thread
from eigenkit.numerics.tolerances import SYMMETRY_TOL
from eigenkit.shell import check_numbers, what_is


class GraphRegularized(BestEstimator):
    """Semi-supervised projection: neighbouring samples, labelled or not, get similar scores.

    ``Xl'H H'Xl w = lambda (Xl'Xl + alpha I + mu n_l/n X'L X) w``, with the labelled rows Xl,
    all rows X, and the Laplacian L of a graph over them: neighbours get similar scores, whether
    they have labels or not.

    Parameters
    ----------
    estimator : projection of eigenkit, linear or with a kernel
        What to regularize.
    mu : float or sequence of float
        Weight of the graph; 0 is the projection of the labelled rows alone, exactly. Of several
        one is chosen by cross-validation over the labelled rows, the largest of equally good ones:
        include 0.
    n_neighbors : int
        Every sample is joined to this many nearest ones (Euclidean, or as far apart as a
        precomputed kernel says), and to those samples that have it among their nearest.
    weights : {"heat", "uniform"}
        "heat" gives an edge of length d the weight ``exp(-d^2 / (2 s^2))``, s half the mean
        distance of a sample from its nearest ones, so that long edges, which bridge classes, count
        little; "uniform" gives all the same. The mean weight is 1 in both cases.
    graph : array or sparse matrix of shape (n_samples, n_samples), optional
        Weights of the edges, symmetric and not negative, instead of nearest neighbours.
    cv : int, splitter or iterable, optional
        For several mu; 3 folds by default. The labels of a fold are hidden, its rows stay.
        For groups give the splits: ``cv=list(GroupKFold().split(X, y, groups))``.

    Attributes
    ----------
    best_estimator_ : fitted projection
    mu_ : float
    labelled_ : array of shape (n_samples,)
        Which rows had labels.
    fold_scores_ : array of shape (n_folds, n_mu)
        Where several mu were tried.
    {report}
    classes_, n_features_in_, feature_names_in_
        Those of the projection; a class is left out if all of its rows have zero weight.

    Notes
    -----
    Rows without labels are marked: by -1 in a vector of classes, as in scikit-learn, by NaN in
    a vector or in all of a row of a matrix, or by ``labelled`` in :meth:`fit`. A row of zeros in a
    label matrix is a sample known to carry none of the labels.

    A classifier or regression on the scores is that of the labelled rows, without the graph.

    Weights count in the labels only, but a row of weight 0 is left out, labelled or not. The graph
    is over all others as they are given, so for mu > 0 an integer weight is not a repeated row:
    copies are neighbours of each other.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from eigenkit import GraphRegularized, KernelLDA
    >>> X, y = make_moons(300, noise=0.08, random_state=0)
    >>> few = np.full(300, -1)
    >>> few[np.r_[np.flatnonzero(y == 0)[:3], np.flatnonzero(y == 1)[:3]]] = [0, 0, 0, 1, 1, 1]
    >>> kernel = KernelLDA(kernel="rbf", gamma=10.0, alpha=0.01)
    >>> model = GraphRegularized(kernel, mu=1.0).fit(X, few)
    >>> bool(model.score(X, y) > kernel.fit(X[few >= 0], few[few >= 0]).score(X, y))
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        mu: float | Sequence[float] = 1.0,
        n_neighbors: int = 10,
        weights: str = "heat",
        graph: Any = None,
        cv: Any = None,
    ) -> None:
        self.estimator = estimator
        self.mu = mu
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.graph = graph
        self.cv = cv

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, labelled: Any = None
    ) -> Self:
        """Fit the projection.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            All rows.
        y : array, frame or sparse matrix
            Labels or responses as the projection takes them; see the notes for rows without.
        sample_weight : array of shape (n_samples,), optional
            Weights of the labelled rows; those of others are not used, unless they are 0.
        labelled : array of bool of shape (n_samples,), optional
            Which rows have labels, where y has no marks.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, labelled=labelled)

    @estimator_has("score")
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The estimator's own score on the rows that have labels; see the notes for those without.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array, frame or sparse matrix
            Labels or responses, with the marks that :meth:`fit` takes.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        labels = labels_of(self, y, reset=False)
        known = unmarked(labels, is_regressor(self.estimator))
        if known.all():
            return float(super().score(X, y, sample_weight))
        if not known.any():
            raise ValueError("y has labels for no sample: give some, as only these are scored.")
        weight = check_weight(sample_weight, len(known))
        rows, given = np.flatnonzero(known), indexable(X, labels)
        parts = (_safe_indexing(each, rows) for each in given)
        return float(super().score(*parts, None if weight is None else weight[rows]))

    _rules: ClassVar = {"weights": ("heat", "uniform")}

    def _settings(self) -> list[float]:
        """The values of mu to try, on a projection by labels whose pencil takes the graph."""
        name = what_is(self.estimator)
        if not isinstance(self.estimator, Projection):
            raise TypeError(
                f"estimator is {name}: GraphRegularized needs a projection of eigenkit."
            )
        if not self.estimator._supervised:
            raise TypeError(
                f"estimator is {name}, which learns from no labels: fit it on all rows, or give "
                "GraphRegularized a supervised projection."
            )
        shrinkage = getattr(self.estimator, "shrinkage", None)
        if shrinkage is not None and np.any(self.mu):
            raise ValueError(
                f"shrinkage={shrinkage!r} is computed from the labelled rows alone and cannot "
                "include the graph: give the estimator alpha instead, or set mu=0."
            )
        return check_numbers("mu", self.mu)

    def _sample(self, X: Any, y: Any, sample_weight: Any, labelled: Any = None) -> _Problem:
        refuse_blocks(self, X)
        check_y_given(self, y)
        numbers = check_X(self, X, reset=True, min_samples=2, weight=sample_weight)
        X, y = indexable(X, labels_of(self, y, reset=True))
        known = marked(y, labelled, responses=is_regressor(self.estimator))
        self._check_not_a_class(y, known, labelled)
        weight = check_weight(sample_weight, len(known))
        self.labelled_ = known
        A, use = self._graph(len(known)), np.arange(len(known))
        counts = known if weight is None else known & (weight > 0)
        splits = self._splits(y, np.flatnonzero(counts))
        if weight is not None and np.any(weight == 0):
            if _is_precomputed(self.estimator):
                raise ValueError(
                    "sample_weight holds zeros, but rows of a precomputed kernel are not left out "
                    "here: leave those samples out of X, rows and columns, and of y."
                )
            use = np.flatnonzero(weight)
            X, y = (_safe_indexing(given, use) for given in (X, y))
            numbers, weight, known = numbers[use], weight[use], known[use]
            A = None if A is None else A[use][:, use]
            check_enough(known)
        folds = ((np.searchsorted(use, a), np.searchsorted(use, b)) for a, b in splits)
        return _Problem(self.estimator, X, y, weight, known, self._laplacian(numbers, A), folds)

    def _check_not_a_class(self, y: Any, known: np.ndarray, labelled: Any) -> None:
        """Refuse two classes of which the mark of rows without labels is one."""
        classes = is_classifier(self.estimator) and labelled is None and y.ndim == 1
        if classes and not known.all() and len(found := np.unique(y[known])) == 1:
            raise ValueError(
                f"y holds no class but {found[0]!s} beside marks of rows without labels, such as "
                "-1: two classes are needed; if a mark is one, give it another name, or say with "
                "labelled which rows have labels."
            )

    def _splits(self, y: Any, there: np.ndarray) -> Iterator[Split]:
        """Row numbers to fit on and to score on, among the labelled rows ``there``."""
        kept, cv = _safe_indexing(y, there), 3 if self.cv is None else self.cv
        classes = is_classifier(self.estimator) or kept.ndim == 1
        splitter = sklearn.model_selection.check_cv(cv, kept, classifier=classes)
        yield from splits_among(there, splitter, np.zeros((y.shape[0], 1)), y)

    def _solve(self, problem: _Problem, settings: list[float]) -> float:
        """The one mu, or that of the best mean score on labelled rows whose labels were hidden.

        With few labels many scores are equal: the largest mu wins, the smoothest of equally good
        models.
        """
        if len(settings) == 1:
            return settings[0]
        self.fold_scores_ = score_table(
            (problem.fold(train, test), (problem.fitted(train, mu) for mu in settings))
            for train, test in problem.folds
        )
        return settings[best_of(self.fold_scores_, strength=settings)]

    def _keep(self, problem: _Problem, solution: float) -> None:
        self.mu_ = solution
        self._keep_best(problem.fitted(np.flatnonzero(problem.known), self.mu_))

    def _chosen(self) -> str:
        why = "chosen by cross-validation" if hasattr(self, "fold_scores_") else "as asked"
        return f"the graph has the weight mu={self.mu_:g}, {why}"

    def _laplacian(self, X: Any, A: sparse.csr_array | None) -> sparse.csr_array | None:
        """The Laplacian of the graph, A where it was given; None where it has no effect."""
        if not np.any(self.mu):
            return None
        return laplacian(self._nearest(X) if A is None else A)

    def _nearest(self, X: Any) -> sparse.csr_array:
        """The graph of nearest neighbours: symmetric weights of mean 1."""
        if _is_precomputed(self.estimator):
            own = np.asarray(X.diagonal(), dtype=np.float64)
            X, metric = np.sqrt(np.maximum(own[:, None] + own - 2.0 * X, 0.0)), "precomputed"
            np.fill_diagonal(X, 0.0)
        else:  # moved near zero: far from it, distances of sparse rows would have no digits
            X, metric = Kernel("linear").fitted(X).prepared(X), "minkowski"
        with one_blas_thread:
            A = sklearn.neighbors.kneighbors_graph(
                X,
                min(int(self.n_neighbors), X.shape[0] - 1),
                mode="distance",
                metric=metric,
                include_self=False,
            )
        # All lengths are zero where all samples are equal: any unit will do.
        unit = max(float(A.data.mean()), np.finfo(float).tiny)
        heat = self.weights == "heat"
        A.data = np.exp(-2 * (A.data / unit) ** 2) if heat else np.ones_like(A.data)
        A = A.maximum(A.T)
        return A / A.data.mean()

    def _graph(self, n: int) -> sparse.csr_array | None:
        """The weights of the edges, if they were given and are used."""
        if self.graph is None or not np.any(self.mu):
            return None
        A = self.graph if sparse.issparse(self.graph) else numbers_in("graph", self.graph)
        if A.shape != (n, n):
            raise ValueError(f"graph has shape {A.shape}, but X has {n} rows: give ({n}, {n}).")
        A = sparse.csr_array(A)
        if A.nnz and (not np.all(np.isfinite(A.data)) or A.data.min() < 0):
            raise ValueError("graph holds a negative or non-finite weight: give weights >= 0.")
        if abs(A - A.T).max() > SYMMETRY_TOL * abs(A).max():
            raise ValueError("graph is not symmetric: give one weight to each pair of samples.")
        return A


def _is_precomputed(estimator: Any) -> bool:
    return bool(estimator.__sklearn_tags__().input_tags.pairwise)


@dataclass
class _Problem:
    """All rows in the coordinates of the projection, to be fitted with some of the labels."""

    estimator: Any
    X: Any
    y: Any
    weight: Array | None
    known: np.ndarray
    L: sparse.csr_array | None
    folds: Iterable[Split]  # rows that keep their labels, and rows that hide them
    below: Any = None  # the rows of the graph, once they are needed

    def fitted(self, labelled: np.ndarray, mu: float) -> Any:
        """The projection with the labels of these rows and this weight of the graph."""
        model, n = clone(self.estimator), len(self.known)
        known = np.isin(np.arange(n), labelled)
        # Where a model needs a label for every row, rows without one get that of a labelled row.
        y = _safe_indexing(self.y, np.where(known, np.arange(n), np.flatnonzero(known)[0]))
        weight: Any = known * (1.0 if self.weight is None else self.weight)
        if mu == 0 and _is_precomputed(model):  # new rows have a column for all of these
            return model.fit(self.X, y, weight)
        if mu == 0:
            parts = (_safe_indexing(A, np.flatnonzero(known)) for A in (self.X, self.y))
            return model.fit(*parts, None if self.weight is None else self.weight[known])
        if getattr(model, "approximation", "linear") is None:
            model.set_params(approximation="cholesky", n_landmarks=n)
        by = float(np.sqrt(mu * known.sum() / n))
        return model._fit(self.X, y, weight, graph=partial(self._with_graph, weight, by))

    def _with_graph(self, given: Array, by: float, rows: Rows) -> Rows:
        """The rows that are ``given`` a weight, and the graph over all of them times ``by``."""
        assert self.L is not None
        counts = rows.weights() * given
        kept = counts > 0
        weight = None if self.weight is None and rows.weight is None else counts[kept]
        labelled = rows.X[kept], rows.Y[kept], weight
        if sparse.issparse(rows.X):
            self.below = incidence(self.L) if self.below is None else self.below
            return SparseGraphRows(*labelled, every=rows.X, kept=kept, edges=by * self.below)
        if self.below is None:
            self.below = root(np.asarray(rows.X, dtype=np.float64), self.L)
        links = by**2 * float(self.L.trace())
        return GraphRows(*labelled, below=by * self.below, links=links)

    def fold(self, train: np.ndarray, test: np.ndarray) -> Fold:
        """Rows with labels, and rows whose labels are hidden."""
        (X, X_test), (y, y_test) = (
            [_safe_indexing(A, rows) for rows in (train, test)] for A in (self.X, self.y)
        )
        return Fold(X, y, None, X_test, as_dense(y_test))
