"""How well terms are predicted, one by one and on average; and from which score on they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenkit.evaluation.metrics import auc_per_label, mean_auc, mean_known, rates_of
from eigenkit.images.files import tell_names
from eigenkit.images.ridge import SAME_SCORE, probabilities
from eigenkit.numerics.linalg import Array

# A term with fewer sets is learned, but neither its threshold nor its scores mean much.
FEW = 5
# The share of the sets left out from which on a term is predicted for nearly all of them, and how
# many standard errors above chance the AUC of a term has to be.
NEARLY_ALL, ERRORS = 0.9, 2.0
# How many sets speak for the usual threshold, beside those that carry a term. Of 5, 10, 20 and 40,
# larger numbers were a little better on small parts of yeast, emotions and scene (1000 rows of
# yeast lost .002 with any), but 20 and 40 cost .007 and .015 of F1 on emoji, within the training
# part of one fold; ten cost nothing there that could be told from chance.
BORROWED = 10
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
    terms: Sequence[str], Y: Array, S: Array, thresholds: Array, carried: Array | None = None
) -> list[TermReport]:
    """F1, precision, recall and AUC of every term.

    ``carried`` counts the sets with each term, where the rows of Y are not sets but views of them.
    """
    rates, sets = rates_of(Y, thresholds < S), Y.sum(axis=0) if carried is None else carried
    figures = *(rates[name] for name in ("f1", "precision", "recall")), auc_per_label(Y, S)
    columns = zip(terms, sets, *figures, strict=True)
    return [TermReport(t, int(n), *(float(v) for v in rest)) for t, n, *rest in columns]


def few_terms(reports: Sequence[TermReport], n: int) -> list[str]:
    """Terms that few of n sets carry, or all of them, with a warning."""
    few = [r.term for r in reports if r.support < FEW or r.support == n]
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


def quality(Y: Array, S: Array) -> float:
    """The mean of three measures: mean AUC, precision at one, macro F1 with the best thresholds.

    The first ranks sets, the second terms, the third decides: a ridge that suits one of them
    alone may be far off for the others.
    """
    occurs = Y.any(axis=0)
    f1 = float(_f1_curve(Y, S).max(axis=0)[occurs].mean()) if occurs.any() else 0.0
    return (mean_auc(Y, S) + precision_at_one(Y, S) + f1) / 3


def precision_at_one(Y: Array, S: Array) -> float:
    """How often the first term is right, of the sets that carry any; 0 where none does."""
    carried = Y.any(axis=1)
    if not carried.any():
        return 0.0
    first = S[carried].argmax(axis=1)
    return float(Y[carried][np.arange(len(first)), first].mean())


def _f1_curve(Y: Array, S: Array) -> Array:
    """F1 when the first 1, 2, ... sets by score are taken, for every term."""
    y = np.take_along_axis(Y, np.argsort(-S, axis=0, kind="stable"), axis=0)
    taken = np.arange(1, len(Y) + 1)[:, None]
    return np.asarray(2 * np.cumsum(y, axis=0) / (taken + y.sum(axis=0)))


def is_learnable(Y: Array) -> np.ndarray:
    """Whether two sets carry a term and another lacks it."""
    support = Y.sum(axis=0)
    return np.asarray((support >= 2) & (support < len(Y)))


def measures(Y: Array, S: Array, thresholds: Array) -> tuple[float, float, float]:
    """Mean AUC, precision at one, and mean F1 over the terms that occur."""
    f1 = rates_of(Y, thresholds < S)["f1"][Y.any(axis=0)]
    return mean_auc(Y, S), precision_at_one(Y, S), mean_known(f1, 0.0)


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


def best_thresholds(Y: Array, S: Array) -> Array:
    """For every term the threshold of the best F1 on held-out scores."""
    best = _f1_curve(Y, S).argmax(axis=0)
    s = -np.sort(-S, axis=0)
    below = np.vstack([s[1:], s[-1:] - 1])
    columns = np.arange(Y.shape[1])
    return np.asarray((s[best, columns] + below[best, columns]) / 2)


def thresholds(Y: Array, S: Array) -> Array:
    """For every term a threshold on the log-odds of sets left out.

    Halfway between two: one has the best F1 on these sets, and follows their chances where a term
    has few; the other has the best F1 that their probabilities let expect, and follows the shape
    of the sigmoid. Then drawn towards the threshold that is usual among the terms, counted in
    deviations from the mean score, as if :data:`BORROWED` sets spoke for that one.
    """
    own = (best_thresholds(Y, S) + best_thresholds(probabilities(S), S)) / 2
    mean, deviation = S.mean(axis=0), S.std(axis=0)
    vary = deviation > SAME_SCORE * (1 + np.abs(S).max(axis=0))
    if not vary.any():
        return np.asarray(own)
    places = (own - mean) / np.where(vary, deviation, 1)
    share = BORROWED / (BORROWED + Y.sum(axis=0))
    drawn = places + share * (np.median(places[vary]) - places)
    return np.asarray(np.where(vary, mean + deviation * drawn, own))
