"""Why an estimator refuses a batch, in the words of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files._common import listed


def explained(
    error: ValueError, X: Any, estimator: Any, name: str, position: int
) -> ValueError | None:
    """An error that says which columns have changed, or which row is not finite."""
    batch, known = f"the batch up to {position}", vars(estimator)
    shape, began = _shape(X), known.get("n_features_in_")
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
    row = _first_not_finite(X)
    return None if row is None else ValueError(f"row {row} (from 0) of {batch}: {error}")


def _shape(X: Any) -> tuple[int, ...]:
    try:
        return np.shape(X)
    except ValueError:  # rows of different lengths
        return ()


def _first_not_finite(X: Any) -> int | None:
    if sparse.issparse(X):
        X = X.tocoo()
        rows = X.row[~np.isfinite(X.data)]
    else:
        try:
            A = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            return None
        rows = np.flatnonzero(~np.isfinite(A.reshape(len(A), -1)).all(axis=1))
    return int(rows.min()) if len(rows) else None
