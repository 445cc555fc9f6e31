"""How well terms are predicted: one by one, and on average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenkit.evaluation.metrics import auc_per_label, mean_auc, rates_of
from eigenkit.images.files import tell_names
from eigenkit.images.ridge import precision_at_one
from eigenkit.numerics.linalg import Array

# A term with fewer sets is learned, but neither its threshold nor its scores mean much.
FEW = 5
# The share of the sets left out from which on a term is predicted for nearly all of them, and how
# many standard errors above chance the AUC of a term has to be.
NEARLY_ALL, ERRORS = 0.9, 2.0
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
    """Terms that few of n sets carry, or all of them, with a warning."""
    few = [t for t, m in zip(terms, support, strict=True) if m < FEW or m == n]
    what = f"terms with fewer than {FEW} sets or with all of them are learned badly or not at all"
    tell_names(few, what, stacklevel=6)
    return few


def unlearned_terms(reports: Sequence[TermReport], chosen: np.ndarray, n: int) -> list[str]:
    """Terms that nearly all of n sets left out are given though nothing is known, with a warning.

    Where scores say nothing of a term, F1 is best if all sets are given it. ``chosen`` says which
    of them are; the AUC of scores that say nothing differs from 1/2 by sqrt((n + 1) / (12 m (n -
    m))) on average, if m sets carry the term (Mann and Whitney).
    """
    found = []
    for r, share in zip(reports, chosen.mean(axis=0), strict=True):
        m = r.support
        if share >= NEARLY_ALL and 0 < m < n:
            chance = 0.5 + ERRORS * np.sqrt((n + 1) / (12 * m * (n - m)))
            found += [r.term] if r.auc <= chance else []
    what = (
        "terms are predicted for nearly every set, which gives the best F1, because nothing was "
        "learned about them: their AUC on sets left out cannot be told from chance"
    )
    tell_names(found, what, stacklevel=6)
    return found


def is_learnable(Y: Array) -> np.ndarray:
    """Whether two sets carry a term and another lacks it."""
    support = Y.sum(axis=0)
    return np.asarray((support >= 2) & (support < len(Y)))


def measures(Y: Array, S: Array, thresholds: Array) -> tuple[float, float, float]:
    """Mean AUC, precision at one, and mean F1 over the terms that occur."""
    f1 = rates_of(Y, thresholds < S)["f1"][Y.any(axis=0)]
    return mean_auc(Y, S), precision_at_one(Y, S), float(f1.mean()) if len(f1) else 0.0


def how_good(model: Any, Y: Array, S: Array) -> dict[str, Any]:
    """How well a model's scores predict known terms, and the terms that the means are over.

    Sets with rows of NaN do not count. A mean over no term is None.
    """
    there = np.isfinite(Y).all(axis=1)
    if not there.any():
        return {}
    Y = Y[there]
    found = measures(Y, S[there], np.asarray(model.thresholds_))
    occurs, everywhere, names = Y.any(axis=0), Y.all(axis=0), np.array(model.terms_)
    of_auc, of_f1 = names[occurs & ~everywhere].tolist(), names[occurs].tolist()
    return {
        "mean AUC": found[0] if of_auc else None,
        "precision at one": found[1] if of_f1 else None,
        "mean F1": found[2] if of_f1 else None,
        "terms of AUC": of_auc,
        "terms of F1": of_f1,
    }


def in_words(good: dict[str, Any]) -> str:
    """What :func:`how_good` found, on one line."""
    figures = ", ".join(
        f"{key} {'not known' if value is None else format(value, '.3f')}"
        for key, value in good.items()
        if not key.startswith("terms")
    )
    apart, occurring = len(good["terms of AUC"]), len(good["terms of F1"])
    return (
        f"{figures} (F1 is over the {occurring} terms of the model that some of these sets "
        f"carry, AUC over the {apart} of them that others lack)"
    )
