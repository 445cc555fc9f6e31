"""How well terms are predicted, one by one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenkit.evaluation.metrics import auc_per_label, rates_of
from eigenkit.exceptions import ImageWarning
from eigenkit.images.arrays import Array

# A term with fewer sets is learned, but neither its threshold nor its scores mean much.
FEW = 5
OTHERS = "every set predicted by others"
UNSEEN = "every view of a set predicted by other sets without that view"


@dataclass(frozen=True)
class TermReport:
    """How well one term was predicted for sets by others.

    ``support`` is the number of sets that carry it.
    """

    term: str
    support: int
    f1: float
    precision: float
    recall: float
    auc: float


def term_reports(
    terms: Sequence[str],
    Y: Array,
    S: Array,
    thresholds: Array,
    carried: Array | None = None,
) -> list[TermReport]:
    """F1, precision, recall and AUC of every term.

    ``carried`` counts the sets with each term, where the rows of Y are not sets but views of them.
    """
    rates, sets = rates_of(Y, thresholds < S), Y.sum(axis=0) if carried is None else carried
    figures = *(rates[name] for name in ("f1", "precision", "recall")), auc_per_label(Y, S)
    columns = zip(terms, sets, *figures, strict=True)
    return [TermReport(t, int(n), *(float(v) for v in rest)) for t, n, *rest in columns]


def few_terms(terms: Sequence[str], support: np.ndarray, n: int) -> list[str]:
    """Terms of which n sets tell little, with a warning."""
    few = [t for t, m in zip(terms, support, strict=True) if m < FEW or m == n]
    if few:
        warnings.warn(
            f"terms with fewer than {FEW} sets or with all of them are learned badly or not at "
            f"all; here {len(few)}: {', '.join(few[:8])}",
            ImageWarning,
            stacklevel=5,
        )
    return few


def is_learnable(Y: Array) -> np.ndarray:
    """Whether two sets carry a term and another lacks it."""
    support = Y.sum(axis=0)
    return np.asarray((support >= 2) & (support < len(Y)))
