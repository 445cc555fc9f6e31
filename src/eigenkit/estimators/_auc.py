"""The area under the ROC curve of many labels, from ranks."""

from __future__ import annotations

import numpy as np

from eigenkit.linalg import Array


def auc_per_label(Y: Array, S: Array) -> Array:
    """Area under the ROC curve per column; nan where a label has only one value.

    The share of pairs of a positive and a negative sample that S puts in the right order,
    ties counting half.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.estimators._auc import auc_per_label
    >>> auc_per_label(np.array([[0.0], [1.0], [1.0]]), np.array([[1.0], [1.0], [2.0]]))
    array([0.75])
    """
    ranks = np.column_stack([_ranks(s) for s in S.T]) if S.shape[1] else S
    positive = Y.sum(axis=0)
    wins = np.sum(ranks * Y, axis=0) - positive * (positive + 1) / 2
    pairs = positive * (len(Y) - positive)
    return np.asarray(np.divide(wins, pairs, out=np.full(Y.shape[1], np.nan), where=pairs > 0))


def mean_auc(Y: Array, S: Array, otherwise: float = 0.5) -> float:
    """Mean over the labels that some samples carry and others do not, if there are any."""
    aucs = auc_per_label(Y, S)
    known = aucs[np.isfinite(aucs)]
    return float(known.mean()) if known.size else otherwise


def _ranks(s: Array) -> Array:
    """Ranks from 1, equal scores sharing theirs; nan for all if one is nan."""
    if np.isnan(s).any():
        return np.full(len(s), np.nan)
    _, which, counts = np.unique(s, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[which])
