"""Cross-validation over blocks of rows: what is judged are the scores of held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, check_scoring, r2_score

from eigenkit.estimators._base import alpha_path
from eigenkit.estimators._folds import fit_head
from eigenkit.linalg import Array
from eigenkit.moments import Blocks


def block_scores(
    estimator: Any, blocks: Blocks, alphas: Sequence[float], n_folds: int, head: Any, scoring: Any
) -> Array:
    """Scores of every alpha (columns) on every fold of the rows."""
    if not hasattr(blocks, "folds"):
        raise TypeError(
            f"{type(blocks).__name__} has no folds: cross-validate blocks of this process."
        )
    rows = []
    for train, test in blocks.folds(n_folds):
        models = alpha_path(estimator, train, None, alphas)
        rows.append([_score(model, train, test, head, scoring) for model in models])
    return np.array(rows, dtype=np.float64)


def _score(model: Any, train: Any, test: Any, head: Any, scoring: Any) -> float:
    if head is None and hasattr(model, "predict") and scoring is None:
        y, found = _together(test, model.predict)
        if is_classifier(model):
            return float(accuracy_score(y, found))
        return float(r2_score(y, found))
    y, T = _together(train, model.transform)
    fitted = fit_head(head, T, y)
    y, T = _together(test, model.transform)
    return float(check_scoring(fitted, scoring=scoring)(fitted, T, y))


def _together(blocks: Any, function: Any) -> tuple[np.ndarray, np.ndarray]:
    """y of all rows, and a function of their X that has few columns."""
    pairs = [(np.asarray(y), np.asarray(function(X))) for X, y in blocks if X.shape[0]]
    y, found = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return y, found
