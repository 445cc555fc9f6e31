"""From a projection to decisions: one simple classifier per label, the same for all methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from eigenkit.data import as_dense
from eigenkit.estimators import PCA
from eigenkit.evaluation.samples import Samples, has_gaps, means_of_columns
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_choice
from eigenkit.solvers.margin import squared_hinge

# Up to this many columns, Newton's method finds a plane many times faster than descent.
_FEW_COLUMNS = 300
# With a smaller share of nonzero entries, columns are scaled without centring, dense or sparse.
_MOSTLY_ZEROS = 0.25


class LinearSVM(BaseEstimator):
    """A linear SVM: the problem of LinearSVC with its defaults.

    With few columns :func:`decide` finds the planes itself, so scikit-learn's class is imported
    only if there are many.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, Z: Any, y: Array) -> LinearSVM:
        self.plane_ = sklearn.svm.LinearSVC(random_state=self.random_state).fit(Z, y)
        return self

    def decision_function(self, Z: Any) -> Array:
        return np.asarray(self.plane_.decision_function(Z))


CLASSIFIERS: dict[str, Any] = {
    "svm": LinearSVM,
    "knn": lambda seed: sklearn.neighbors.KNeighborsClassifier(n_neighbors=5),
    "logistic": lambda seed: sklearn.linear_model.LogisticRegression(max_iter=1000),
}


def make_classifier(classifier: Any, seed: int) -> Any:
    """An unfitted classifier, from a name in CLASSIFIERS or any scikit-learn classifier."""
    if not isinstance(classifier, str):
        return clone(classifier)
    return CLASSIFIERS[check_choice("classifier", classifier, CLASSIFIERS)](seed)


def make_baselines(samples: Samples, X: Any, seed: int) -> dict[str, Any]:
    """Simple methods to compare with; gaps in X, a training part, are filled with means first.

    Numbers: ridge regression on all features, and the mean. Labels: no projection, and as many
    principal components as there are labels.
    """
    if samples.numbers:
        ridge = sklearn.linear_model.Ridge()
        found = {"ridge regression": ridge, "mean": sklearn.dummy.DummyRegressor()}
    else:
        n_components = min(samples.Y.shape[1], min(X.shape) - 1)
        reduced = PCA(max(1, n_components), random_state=seed)
        found = {"all features": "passthrough", "principal components": reduced}
    if not has_gaps(X):
        return found
    after = sklearn.pipeline.make_pipeline
    return {key: after(means_of_columns(), each) for key, each in found.items()}


def decide(
    classifier: Any, Z: Any, Y: Array, Z_new: Any, single: bool, scale: bool = True
) -> tuple[Array, Array]:
    """Scores S and decisions P for new rows by one classifier per column of Y.

    Columns are brought to a common scale first, as measured on the training rows. With
    ``single`` the label with the highest score wins, otherwise each is decided by itself.
    """
    if scale:
        Z, Z_new = _scaled(Z, Z_new)
    if isinstance(classifier, LinearSVM) and not sparse.issparse(Z) and Z.shape[1] <= _FEW_COLUMNS:
        coef, intercept = squared_hinge(Z, Y)
        S = Z_new @ coef.T + intercept
    else:
        Z, Z_new = _short_indices(Z), _short_indices(Z_new)
        S = np.column_stack([_scores(clone(classifier), Z, y, Z_new) for y in Y.T])
    return S, _decided(S, single)


def decide_by_ridge(Z: Array, Y: Array, Z_new: Array, single: bool) -> tuple[Array, Array]:
    """The same by ridge regression of all labels at once: one small system of equations.

    Scores are the predicted label less one half; columns are scaled, the ridge is 1.
    """
    Z, Z_new = _scaled(Z, Z_new)
    share = Y.mean(axis=0)
    B = np.linalg.solve(Z.T @ Z + np.eye(Z.shape[1]), Z.T @ (Y - share))
    S = Z_new @ B + share - 0.5
    return S, _decided(S, single)


def decide_directly(
    model: Any, X: Any, Y: Array, X_new: Any, single: bool
) -> tuple[Array, Array, Any]:
    """The same for a method that is a classifier itself and has no projection."""
    if not single:
        return *decide(model, X, Y, X_new, single, scale=False), None
    fitted = clone(model).fit(X, Y.argmax(axis=1))
    found = np.asarray(fitted.classes_, dtype=int)
    S = np.full((X_new.shape[0], Y.shape[1]), -np.inf)
    offered = _offered(fitted, X_new)
    S[:, found] = np.column_stack([-offered, offered]) if offered.ndim == 1 else offered
    S[~np.isfinite(S)] = np.min(S[np.isfinite(S)], initial=0.0) - 1.0
    return S, _one_each(fitted.predict(X_new).astype(int), Y.shape[1]), fitted


def _scaled(Z: Any, Z_new: Any) -> tuple[Any, Any]:
    """Columns brought to a common scale: mean 0 and deviation 1, unless most entries are zero.

    Then rows are sparse, the nonzero entries of each column get a mean square of 1 (a deviation
    of 1 would blow up rare entries), and rows a mean squared length of 1.
    """
    n, there = Z.shape[0], Z.nnz if sparse.issparse(Z) else np.count_nonzero(Z)
    if there < _MOSTLY_ZEROS * n * Z.shape[1]:
        Z, Z_new = sparse.csr_array(Z), sparse.csr_array(Z_new)
        squares = Z.multiply(Z)
        unit = np.sqrt(squares.sum(axis=0) / np.maximum(squares.count_nonzero(axis=0), 1))
        length = np.sqrt(squares.count_nonzero() / n) or 1.0
        by = sparse.diags_array(1.0 / (np.where(unit > 0, unit, 1.0) * length))
        return Z @ by, Z_new @ by
    Z, Z_new = as_dense(Z), as_dense(Z_new)
    mean, unit = Z.mean(axis=0), Z.std(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    return (Z - mean) / unit, (Z_new - mean) / unit


def _short_indices(Z: Any) -> Any:
    """Sparse rows with 32-bit indices if these suffice: compiled classifiers take no others."""
    if not sparse.issparse(Z) or Z.indices.dtype == np.int32 or max(Z.nnz, *Z.shape) >= 2**31:
        return Z
    parts = (Z.data, Z.indices.astype(np.int32), Z.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=Z.shape)


def _scores(classifier: Any, Z: Any, y: Array, Z_new: Any) -> Array:
    """Scores of one label, which is predicted where they are positive."""
    if y.min() == y.max():  # all training rows have the same label
        return np.full(Z_new.shape[0], y[0] - 0.5)
    S = _offered(classifier.fit(Z, y.astype(int)), Z_new)
    return S if S.ndim == 1 else S[:, 1] - 0.5


def _offered(fitted: Any, X: Any) -> Array:
    """What a classifier offers: one signed score per row, one per class, or else 0 and 1."""
    for name in ("decision_function", "predict_proba"):
        if hasattr(fitted, name):
            return np.asarray(getattr(fitted, name)(X), dtype=np.float64)
    told = np.asarray(fitted.predict(X))
    return np.asarray((told[:, None] == fitted.classes_).astype(np.float64))


def _decided(S: Array, single: bool) -> Array:
    return _one_each(S.argmax(axis=1), S.shape[1]) if single else (S > 0).astype(np.float64)


def _one_each(labels: Array, k: int) -> Array:
    """0/1 decisions for k labels, exactly one of them per row."""
    P = np.zeros((len(labels), k))
    P[np.arange(len(labels)), labels] = 1.0
    return P
