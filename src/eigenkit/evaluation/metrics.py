"""How well scores and decisions fit the labels, all labels at once.

Y, the truth, and P, the decisions, are 0/1 matrices (n x k), S holds real scores. With one
label per sample "accuracy" is the usual one; with several it counts the samples whose
labels are all right.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, log10
from typing import Any

import numpy as np

from eigenkit.numerics.linalg import Array, ratio

# Name -> (words, whether more is better).
Metrics = dict[str, tuple[str, bool]]
METRICS: Metrics = {
    "auc": ("mean AUC over labels", True),
    "accuracy": ("accuracy", True),
    "f1_macro": ("F1, macro", True),
    "f1_micro": ("F1, micro", True),
    "precision_macro": ("precision, macro", True),
    "precision_micro": ("precision, micro", True),
    "recall_macro": ("recall, macro", True),
    "recall_micro": ("recall, micro", True),
    "ranking_loss": ("ranking loss", False),
    "hamming_loss": ("hamming loss", False),
    "coverage": ("coverage", False),
}

# The same for numbers.
NUMBER_METRICS: Metrics = {"r2": ("R2", True), "rmse": ("RMSE", False), "mae": ("MAE", False)}
_WITH_UNIT = ("rmse", "mae")


def decimals(metric: str, means: Iterable[float | None]) -> int:
    """How many to show: three for shares; for errors, four digits of the smallest.

    >>> decimals("auc", [0.01]), decimals("rmse", [23976.0, 95067.0]), decimals("mae", [0.000123])
    (3, 0, 6)
    """
    sizes = [abs(mean) for mean in means if mean]
    if metric not in _WITH_UNIT or not sizes:
        return 3
    place = floor(log10(min(sizes)))
    return min(max(3 - place - (place < 0), 0), 12)


def metrics_of(kind: str) -> Metrics:
    return NUMBER_METRICS if kind == "numbers" else METRICS


def score_numbers(Y: Array, P: Array) -> Array:
    """R2, root mean square error and mean absolute error of every response (3 x q)."""
    errors = Y - P
    total = np.sum((Y - Y.mean(axis=0)) ** 2, axis=0)
    square = np.sum(errors**2, axis=0)
    r2 = 1 - np.divide(square, total, out=np.full(Y.shape[1], np.nan), where=total > 0)
    return np.array([r2, np.sqrt(square / len(Y)), np.mean(np.abs(errors), axis=0)])


def score_all(Y: Array, S: Array, P: Array) -> dict[str, float]:
    macro, micro = rates_of(Y, P), rates(np.sum(Y * P), np.sum(P), np.sum(Y))
    return {
        "auc": mean_auc(Y, S, otherwise=np.nan),
        "accuracy": float(np.mean(np.all(Y == P, axis=1))),
        **{f"{name}_macro": float(values.mean()) for name, values in macro.items()},
        **{f"{name}_micro": float(value) for name, value in micro.items()},
        "ranking_loss": ranking_loss(Y, S),
        "hamming_loss": float(np.mean(Y != P)),
        "coverage": coverage(Y, S),
    }


def auc_per_label(Y: Array, S: Array) -> Array:
    """Area under the ROC curve per column; nan where a label has only one value.

    The share of pairs of a positive and a negative sample that S puts in the right order,
    ties counting half.

    >>> auc_per_label(np.array([[0.0], [1.0], [1.0]]), np.array([[1.0], [1.0], [2.0]]))
    array([0.75])
    """
    ranks = np.column_stack([_ranks(s) for s in S.T]) if S.shape[1] else S
    positive = Y.sum(axis=0)
    wins = np.sum(ranks * Y, axis=0) - positive * (positive + 1) / 2
    pairs = positive * (len(Y) - positive)
    return np.asarray(np.divide(wins, pairs, out=np.full(Y.shape[1], np.nan), where=pairs > 0))


def mean_auc(Y: Array, S: Array, otherwise: float = 0.5) -> float:
    """Mean over the labels that some samples carry and others do not; ``otherwise`` if none."""
    return mean_known(auc_per_label(Y, S), otherwise)


def mean_r2(Y: Array, P: Array, otherwise: float = np.nan) -> float:
    """Mean over the responses that vary; ``otherwise`` if none does."""
    return mean_known(score_numbers(Y, P)[0], otherwise)


def r2_by_least_squares(
    Z: Array, Y: Array, Z_new: Array, Y_new: Array, otherwise: float = np.nan
) -> float:
    """The same for new rows, with Y regressed on scores Z."""
    A, A_new = (np.column_stack([np.ones(len(part)), part]) for part in (Z, Z_new))
    return mean_r2(Y_new, A_new @ np.linalg.lstsq(A, Y)[0], otherwise)


def mean_known(values: Array, otherwise: float = np.nan) -> float:
    """Mean of the finite values; ``otherwise`` if there are none."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else otherwise


def _ranks(s: Array) -> Array:
    """Ranks from 1, equal scores sharing theirs; nan for all if one is nan."""
    if np.isnan(s).any():
        return np.full(len(s), np.nan)
    _, which, counts = np.unique(s, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[which])


def ranking_loss(Y: Array, S: Array) -> float:
    """Mean share of pairs (label carried, label not carried) in the wrong order or tied.

    A sample with all labels or none has no pairs and no loss.
    """
    wrong = np.zeros(len(Y))
    for y, s in zip(Y.T, S.T, strict=True):
        wrong += y * np.sum((Y == 0) & (s[:, None] <= S), axis=1)
    carried = Y.sum(axis=1)
    return float(ratio(wrong, carried * (Y.shape[1] - carried)).mean())


def coverage(Y: Array, S: Array) -> float:
    """Mean number of top-ranked labels that are needed to include all that a sample carries."""
    lowest = np.min(np.where(Y != 0, S, np.inf), axis=1, keepdims=True)
    return float(np.mean(np.sum(lowest <= S, axis=1)))


def rates_of(Y: Array, P: Any) -> dict[str, Array]:
    """Precision, recall and F1 of every label."""
    return rates((Y * P).sum(axis=0), P.sum(axis=0), Y.sum(axis=0))


def rates(hit: Any, told: Any, true: Any) -> dict[str, Array]:
    """Precision, recall and F1 from counts: 0 where there is nothing to count."""
    tops = {"precision": (hit, told), "recall": (hit, true), "f1": (2 * hit, told + true)}
    return {name: ratio(top, bottom) for name, (top, bottom) in tops.items()}


def curves(
    y: Array, s: Array, rates: Array, recalls: Array
) -> tuple[Array | None, float, Array | None]:
    """True positive rates at these false positive rates, average precision, and the precision
    where the recall first reaches these values; None and nan for a label that does not vary."""
    if y.min() == y.max():
        return None, float("nan"), None
    order = np.argsort(-s, kind="stable")
    # No threshold separates samples with equal scores: the last of them counts for all.
    last = np.append(np.flatnonzero(np.diff(s[order])), len(s) - 1)
    told, hits = 1.0 + last, np.cumsum(y[order])[last]  # above every threshold
    false_positive = np.append(0.0, (told - hits) / (len(y) - y.sum()))
    true_positive = np.interp(rates, false_positive, np.append(0.0, hits / y.sum()))
    precision, recall = hits / told, hits / hits[-1]
    area = float(np.sum(np.diff(recall, prepend=0.0) * precision))
    # Far less than one sample: 7 of 20 reaches 0.35 however that is rounded.
    return true_positive, area, precision[np.searchsorted(recall, recalls - 1e-9)]
