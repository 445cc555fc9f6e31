"""Which training samples span the surfaces of a kernel classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from eigenkit.estimators._kernel_space import refuse_overflow
from eigenkit.kernels import pivots
from eigenkit.linalg import Array
from eigenkit.tolerances import TINY

# Rows of a kernel that agree in this many digits belong to equal samples.
DIGITS = 12


def landmark_rows(model: Any, X: Any, root: Array | None) -> tuple[np.ndarray, Array, Array | None]:
    """Landmarks (rows of X), K(X, landmarks), and the roots of what each landmark counts for.

    Without ``approximation`` all distinct samples are landmarks. Equal ones share a column, as
    the difference of two equal columns is a surface that vanishes everywhere; the shared one
    counts for all of them (None: every landmark for one). ``root`` holds the roots of the
    sample weights, X the kernel itself where it is precomputed.
    """
    n = X.shape[0]
    if model.approximation is not None and model.n_landmarks < n:
        chosen = _few(model, X)
        return chosen, _columns(model, X, chosen), None
    if model._is_precomputed or sparse.issparse(X):
        K = _columns(model, X, np.arange(n))
        first, group = distinct(np.round(K / max(np.abs(K).max(), TINY), DIGITS))
        K = K if len(first) == n else K[:, first]
    else:
        first, group = distinct(X)
        K = _columns(model, X, first)
    if root is None and len(first) == n:
        return first, K, None
    weight = np.bincount(group, None if root is None else root**2)
    return first, K, np.sqrt(weight)


def _columns(model: Any, X: Any, chosen: np.ndarray) -> Array:
    every = len(chosen) == X.shape[0]
    if model._is_precomputed:
        return np.asarray(X if every else X[:, chosen], dtype=np.float64)
    return refuse_overflow(model.kernel_(X) if every else model.kernel_(X, X[chosen]))


def _few(model: Any, X: Any) -> np.ndarray:
    n, r = X.shape[0], int(model.n_landmarks)
    if model.approximation == "nystroem":
        return np.sort(check_random_state(model.random_state).choice(n, r, replace=False))
    if model._is_precomputed:
        return pivots(lambda index: X[:, index], X.diagonal(), r)
    kernel = model.kernel_
    return pivots(lambda index: refuse_overflow(kernel(X, X[index])), kernel.diagonal(X), r)


def distinct(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first of each kind of row, and the kind of each row.

    Equal rows have equal weighted sums: sorting those brings them together, for far less than
    sorting rows. Where different rows share a sum, equal ones may be kept apart.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sums = (A * np.cos(np.arange(1.0, A.shape[1] + 1.0))).sum(axis=1)
    order = np.argsort(sums, kind="stable")
    fresh = np.ones(len(A), dtype=bool)
    fresh[1:] = sums[order[1:]] != sums[order[:-1]]
    if fresh.all():
        return np.arange(len(A)), np.arange(len(A))
    fresh[1:] |= np.any(A[order[1:]] != A[order[:-1]], axis=1)
    group = np.empty(len(A), dtype=np.intp)
    group[order] = np.cumsum(fresh) - 1
    first = order[fresh]
    rank = np.argsort(np.argsort(first))
    return np.sort(first), rank[group]
