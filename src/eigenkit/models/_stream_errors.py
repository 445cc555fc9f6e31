"""Why an estimator refuses a batch, in the words of a stream."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files._common import listed


def explained(
    error: ValueError, X: Any, estimator: Any, name: str, position: int
) -> ValueError | None:
    """An error that says which columns have changed, or which row is not finite."""
    batch, known = f"the batch up to {position}", vars(estimator)
    shape, began = (), known.get("n_features_in_")
    with suppress(ValueError):  # rows of different lengths
        shape = np.shape(X)
    names, before = getattr(X, "columns", None), known.get("feature_names_in_")
    other = None
    if began is not None and len(shape) == 2 and shape[1] != began:
        other = f"{shape[1]} columns", str(began)
    elif names is not None and before is not None and list(names) != list(before):
        other = f"the columns {listed(names)}", listed(before)
    if other is not None:
        return ValueError(
            f"{batch} has {other[0]}, but {name} began with {other[1]}: give the "
            "same columns, or another file."
        )
    rows = _not_finite(X)
    return ValueError(f"row {rows.min()} (from 0) of {batch}: {error}") if len(rows) else None


def _not_finite(X: Any) -> np.ndarray:
    """Rows that are not finite."""
    if sparse.issparse(X):
        X = X.tocoo()
        return np.asarray(X.row[~np.isfinite(X.data)])
    try:
        A = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)
    return np.flatnonzero(~np.isfinite(A.reshape(len(A), -1)).all(axis=1))
