"""Clusters of the vertices of a hypergraph."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.base import ClusterMixin

from eigenkit.data import constant_columns, one_sample
from eigenkit.estimators._estimator import Estimator
from eigenkit.estimators._validation import NO_VARIANCE, check_X
from eigenkit.estimators.hypergraph import EXPANSIONS, edge_weights
from eigenkit.linalg import Array, eigenpairs, signs
from eigenkit.moments import Rows
from eigenkit.shell import check_at_most, check_choice, check_count
from eigenkit.targets import TARGETS, Labels
from eigenkit.threads import one_blas_thread
from eigenkit.tolerances import EPS

# These are not normalized by the degrees of the vertices: L = diag(S 1) - S.
PLAIN = ("bolla", "rodriguez")

# Up to this many vertices all eigenvectors are computed at once.
DENSE_ORDER = 500


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
        Starts of k-means; the best counts.
    random_state : int, RandomState or None
        Of k-means.

    Attributes
    ----------
    labels_ : array of shape (n_vertices,)
    embedding_ : array of shape (n_vertices, n_clusters)
    eigenvalues_ : array of shape (n_clusters,)
        The smallest ones of the Laplacian, increasing.
    n_features_in_, feature_names_in_

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

    def _settings(self) -> int:
        check_choice("expansion", self.expansion, EXPANSIONS)
        check_count("n_init", self.n_init)
        return check_count("n_clusters", self.n_clusters)

    _take = Estimator._all_rows  # vertices without a weight are put into clusters too

    def _check_X(self, X: Any, *, reset: bool, min_samples: int = 1) -> Any:
        X = check_X(self, X, reset=reset, min_samples=min_samples)
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

    def _solve(self, problem: Rows, settings: int) -> tuple[Array, Array]:
        n = problem.positive().n_rows
        check_at_most("n_clusters", settings, n, "the vertices", hint="")
        values, V = self._spectrum(problem.X, problem.weight, settings)
        if self.expansion not in PLAIN:
            length = np.linalg.norm(V, axis=1, keepdims=True)
            V = np.divide(V, length, out=np.zeros_like(V), where=length > 0)
        return values, V

    def _keep(self, problem: Rows, solution: tuple[Array, Array]) -> None:
        self.eigenvalues_, self.embedding_ = solution
        means = sklearn.cluster.KMeans(
            len(self.eigenvalues_), n_init=self.n_init, random_state=self.random_state
        )
        with one_blas_thread():
            self.labels_ = means.fit(self.embedding_, sample_weight=problem.weight).labels_

    def _spectrum(self, J: sparse.csr_array, weight: Array | None, k: int) -> tuple[Array, Array]:
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
        values, U = _smallest(diagonal[some], sparse.csr_array(H[some].multiply(root)), k)
        rest = diagonal[:, None] - values
        given = np.abs(rest) > EPS * len(w) * float(np.abs(diagonal).max(initial=0.0))
        V = np.divide(H @ (H[some].T @ (root * U)), rest, out=np.zeros(rest.shape), where=given)
        V[some] = U / root
        return values, V * signs(V)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _smallest(diagonal: Array, H: sparse.csr_array, k: int) -> tuple[Array, Array]:
    """The k smallest eigenvalues of diag(diagonal) - H H': the largest below a bound."""
    n = len(diagonal)
    bound = 2 * float(diagonal.max()) or 1.0

    def shifted(v: Array) -> Array:
        u = v.reshape(n, -1)
        return np.asarray((bound - diagonal)[:, None] * u + H @ (H.T @ u))

    if n <= max(DENSE_ORDER, k + 1):
        values, V = eigenpairs(shifted(np.eye(n)))
        values, V = values[:k], V[:, :k]
    else:
        operator = LinearOperator((n, n), matvec=shifted, matmat=shifted, dtype=np.float64)
        values, V = eigsh(operator, k, which="LA", v0=np.cos(np.arange(1.0, n + 1.0)))
        values, V = values[::-1], V[:, ::-1]
    return bound - values, V
