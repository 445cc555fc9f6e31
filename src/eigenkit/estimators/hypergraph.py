"""Hypergraphs: spectral learning from labels as hyperedges, and clusters of vertices."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import sklearn
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.base import ClusterMixin

from eigenkit.data import constant_columns, one_sample
from eigenkit.estimators._encoding import check_two_classes, encode_labels
from eigenkit.estimators._estimator import Estimator, Projection
from eigenkit.estimators._validation import NO_VARIANCE, check_X, numbers_in, warn_degenerate
from eigenkit.moments import Problem, Rows
from eigenkit.numerics.linalg import Array, eigenpairs, fixed_start, ratio, signs
from eigenkit.numerics.threads import one_blas_thread
from eigenkit.numerics.tolerances import EPS, SUM_ROUNDING
from eigenkit.pencil import Answer, Report
from eigenkit.shell import check_at_most, check_count, refuse, take_parameters
from eigenkit.targets import TARGETS, Labels, Target

EXPANSIONS = ("star", "clique", "zhou", "bolla", "rodriguez")
# Runs of k-means, of which a hundred thousand take hours.
MOST_STARTS = 1_000_000


class HypergraphSpectral(Projection):
    """Hypergraph spectral learning: a projection for multi-label data.

    Every label is a hyperedge around the samples that carry it. Solves
    ``Xc' S Xc w = lambda (Xc'Xc + alpha I) w`` with S = I - L for the normalized Laplacian L
    of the hypergraph: samples that share labels come to lie close to each other.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the rank of Xc'H; all by default.
    expansion : {"star", "clique", "zhou", "bolla", "rodriguez"}
        Which Laplacian of the hypergraph; of the last two, which are not normalized by the
        degrees of the samples, S is the part that joins samples: L = diag(S 1) - S.
    label_weights : array of shape (n_labels,), optional
        Positive weights of the labels (hyperedges); 1 by default.
    {ridge}

    Attributes
    ----------
    {components}
    classes_ : array
        Where y held one class per sample.
    {what_was_done}

    Notes
    -----
    y is a 0/1 matrix with a column per label (lists of labels: MultiLabelBinarizer), the
    incidence matrix of any hypergraph of your own on the samples, or a vector of classes.

    {multilabel}
    >>> from eigenkit import HypergraphSpectral
    >>> HypergraphSpectral(expansion="star", alpha=1.0).fit_transform(X, Y).shape
    (100, 5)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        expansion: str = "star",
        label_weights: Any = None,
        label_rank: int | str | None = None,
        alpha: float = 1.0,
        solver: str = "auto",
        regression: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        take_parameters(self, locals())

    expansion: str
    label_weights: Any
    _rules: ClassVar = {"expansion": EXPANSIONS}
    _uses_all_components = False
    _sparse_labels = True
    _encode = encode_labels

    @property
    def _target(self) -> Target:  # type: ignore[override]
        return TARGETS[self.expansion]

    @property
    def _edge_weight(self) -> Array | float:
        return edge_weights("label_weights", self.label_weights, self._n_labels_, "label")

    def _check_informative(self, problem: Problem) -> None:
        degree = problem.labels.degree
        if not np.any(degree):
            raise ValueError("y holds no label at all: there is nothing to learn from it.")
        if hasattr(self, "classes_"):
            check_two_classes(degree)
        super()._check_informative(problem)
        empty = (degree == 0) | (degree >= problem.total * (1 - SUM_ROUNDING))
        warn_degenerate(empty, "labels are carried by no sample or by every sample")


def edge_weights(name: str, given: Any, n: int, what: str) -> Array | float:
    """Positive weights of the edges of a hypergraph, 1 by default."""
    if given is None:
        return 1.0
    weight = numbers_in(name, given)
    if weight.shape != (n,) or not np.all(np.isfinite(weight)) or np.any(weight <= 0):
        refuse(name, given, f"{n} positive numbers, one per {what}")
    return weight


# These are not normalized by the degrees of the vertices: L = diag(S 1) - S.
PLAIN = ("bolla", "rodriguez")

# Up to this many vertices all eigenvectors are computed at once.
DENSE_ORDER = 500


def _check_starts(name: str, value: Any) -> None:
    check_at_most(name, check_count(name, value), MOST_STARTS, "the most starts allowed", hint="")


class HypergraphClustering(ClusterMixin, Estimator):
    """Spectral clustering of the vertices of a hypergraph.

    With H the target of an expansion on the incidence matrix J, S = H H' joins vertices that
    share edges. The Laplacian is ``L = I - S`` for the normalized expansions (star, clique,
    zhou), whose embedding is brought to rows of unit length, and ``L = diag(S 1) - S`` for
    bolla and rodriguez. Vertices are embedded by the eigenvectors of its smallest eigenvalues
    and clustered by k-means.

    Parameters
    ----------
    n_clusters : int
    expansion : {"zhou", "star", "clique", "bolla", "rodriguez"}
        Which Laplacian of the hypergraph.
    edge_weights : array of shape (n_edges,), optional
        Positive weights of the edges; 1 by default.
    n_init : int
        Number of starts of k-means; the best is kept.
    random_state : int, RandomState or None
        Of k-means.

    Attributes
    ----------
    labels_ : array of shape (n_vertices,)
    embedding_ : array of shape (n_vertices, n_clusters)
    eigenvalues_ : array of shape (n_clusters,)
        The smallest ones of the Laplacian, increasing.
    {report_and_names}

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit import HypergraphClustering
    >>> J = np.zeros((6, 4))
    >>> J[[0, 1, 2], 0] = J[[0, 1], 1] = J[[3, 4, 5], 2] = J[[4, 5], 3] = 1
    >>> labels = HypergraphClustering(2, random_state=0).fit_predict(J)
    >>> bool(np.all(labels[:3] == labels[0]) and np.all(labels[3:] == 1 - labels[0]))
    True
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        expansion: str = "zhou",
        edge_weights: Any = None,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.expansion = expansion
        self.edge_weights = edge_weights
        self.n_init = n_init
        self.random_state = random_state

    _supervised = False
    _rules: ClassVar = {"expansion": EXPANSIONS, "n_init": _check_starts, "n_clusters": check_count}

    _take = Estimator._rows  # vertices without a weight are put into clusters too

    def _check_X(self, X: Any, *, weight: Any = None, **how: Any) -> Any:
        X = check_X(self, X, **how)  # all of it, whatever the weights
        J = sparse.csr_array(X, dtype=np.float64)
        if J.nnz and J.data.min() < 0:
            raise ValueError(
                "Negative values in data passed to HypergraphClustering: X must hold 0 and 1, "
                "or other numbers of at least 0."
            )
        return J

    def _check_informative(self, problem: Rows) -> None:
        if constant_columns(problem.X).all():
            raise ValueError(NO_VARIANCE)

    def _solve(self, problem: Rows, settings: None) -> Answer:
        n = problem.positive().n_rows
        k = check_at_most("n_clusters", self.n_clusters, n, "the vertices", hint="")
        values, V, report = self._spectrum(problem.X, problem.weight, k)
        if self.expansion not in PLAIN:
            V = ratio(V, np.linalg.norm(V, axis=1, keepdims=True))
        return Answer((values, V), report)

    def _keep(self, problem: Rows, solution: Answer) -> None:
        self.eigenvalues_, self.embedding_ = solution.found
        means = sklearn.cluster.KMeans(
            len(self.eigenvalues_), n_init=self.n_init, random_state=self.random_state
        )
        with one_blas_thread:
            self.labels_ = means.fit(self.embedding_, sample_weight=problem.weight).labels_

    def _spectrum(
        self, J: sparse.csr_array, weight: Array | None, k: int
    ) -> tuple[Array, Array, Report]:
        """The k smallest eigenvalues of L and their vectors, one row for every vertex.

        A vertex of weight w is w copies with the same entry v: with r the roots of the weights,
        L = D - diag(r) H H' diag(r) has the vectors r v. One without a weight has the entry
        that its edges give it: (D_i - lambda) v_i = H_i H'diag(r^2) v.
        """
        w = np.ones(J.shape[0]) if weight is None else weight
        one = 1.0 if weight is None else one_sample(weight)
        own = edge_weights("edge_weights", self.edge_weights, J.shape[1], "edge")
        labels = Labels(np.asarray(J.T @ w), np.empty((0, J.shape[1])), own, one)
        H = sparse.csr_array(TARGETS[self.expansion].rows(J, labels))
        joined = np.asarray(H @ (H.T @ w))
        diagonal = joined if self.expansion in PLAIN else np.ones(J.shape[0])
        some = np.flatnonzero(w)
        root = np.sqrt(w[some])[:, None]
        values, U, report = _smallest(diagonal[some], sparse.csr_array(H[some].multiply(root)), k)
        rest = diagonal[:, None] - values
        given = np.abs(rest) > EPS * len(w) * float(np.abs(diagonal).max(initial=0.0))
        V = ratio(H @ (H[some].T @ (root * U)), rest, given)
        V[some] = U / root
        return values, V * signs(V), report

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _smallest(diagonal: Array, H: sparse.csr_array, k: int) -> tuple[Array, Array, Report]:
    """The k smallest eigenvalues of diag(diagonal) - H H': the largest below a bound."""
    n = len(diagonal)
    bound = 2 * float(diagonal.max()) or 1.0

    def shifted(v: Array) -> Array:
        u = v.reshape(n, -1)
        return np.asarray((bound - diagonal)[:, None] * u + H @ (H.T @ u))

    if n <= max(DENSE_ORDER, k + 1):
        values, V = eigenpairs(shifted(np.eye(n)))
        values, V = values[:k], V[:, :k]
        report = Report("spectral", "dense", f"{n} vertices are few")
    else:
        operator = LinearOperator((n, n), matvec=shifted, matmat=shifted, dtype=np.float64)
        values, V = eigsh(operator, k, which="LA", v0=fixed_start(n))
        values, V = values[::-1], V[:, ::-1]
        report = Report("spectral", "lanczos", f"{k} eigenvectors of a sparse matrix of order {n}")
    return bound - values, V, report
