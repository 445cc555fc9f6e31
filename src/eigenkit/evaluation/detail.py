"""What a method did on a split: scores, and single labels, confusions, the worst samples.

At the end, the outcomes of all splits become parts of the record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eigenkit.evaluation.metrics import auc_per_label, curves, rates
from eigenkit.evaluation.record.schema import ComponentScores, LabelScore, Score, Worst
from eigenkit.numerics.linalg import Array

# Denser near 0, where curves of good classifiers bend.
ROC_GRID = np.linspace(0, 1, 41) ** 2
RECALL_GRID = np.linspace(0, 1, 41)
# Numbers of components to try, in growing steps, because later components matter less.
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 80, 120, 200)
_MAX_WORST = 10
# Responses whose predictions are kept for drawing.
MAX_RESPONSES = 6


@dataclass
class Outcome:
    """What one method did on one split; ``error`` is its sentence if it failed.

    All but the model are plain values, so that an interrupted run can be continued. The model is
    the fitted one, until it is described.

    From ``hit`` to ``precision`` lists go by label: ``hit``, ``told`` and ``true`` count samples
    that were rightly predicted to carry it, that were predicted to, and that do; ``roc`` and
    ``precision`` are curves on the grids, None for labels that do not vary. ``confusion`` is empty
    unless every sample has one class. ``worst`` are row, loss, how far a sample is off, and the
    other fields of ``Worst``.
    """

    scores: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    predicted: dict[str, list[float]] = field(default_factory=dict)
    alpha: float | None = None
    alphas: list[float] = field(default_factory=list)
    alpha_scores: list[list[float]] | None = None
    model: Any = None
    warnings: list[str] = field(default_factory=list)
    error: str | None = None
    hit: list[int] = field(default_factory=list)
    told: list[int] = field(default_factory=list)
    true: list[int] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    average_precision: list[float] = field(default_factory=list)
    roc: list[list[float] | None] = field(default_factory=list)
    precision: list[list[float] | None] = field(default_factory=list)
    confusion: list[list[int]] = field(default_factory=list)
    worst: list[list[Any]] = field(default_factory=list)
    by_components: dict[str, float] = field(default_factory=dict)


# -- one split -------------------------------------------------------------------------


def keep_detail(outcome: Outcome, Y: Array, S: Array, P: Array, rows: Array, single: bool) -> None:
    """Keep what labels Y, scores S and decisions P of the held-out rows say beyond means."""
    outcome.hit = np.sum(Y * P, axis=0).astype(int).tolist()
    outcome.told = P.sum(axis=0).astype(int).tolist()
    outcome.true = Y.sum(axis=0).astype(int).tolist()
    outcome.auc = auc_per_label(Y, S).tolist()
    outcome.worst = _worst(Y, S, P, rows, single)
    for y, s in zip(Y.T, S.T, strict=True):
        curve, area, precision = curves(y, s, ROC_GRID, RECALL_GRID)
        outcome.roc.append(None if curve is None else curve.tolist())
        outcome.average_precision.append(area)
        outcome.precision.append(None if precision is None else precision.tolist())
    if single:
        outcome.confusion = (Y.T @ P).astype(int).tolist()


def _worst(Y: Array, S: Array, P: Array, rows: Array, single: bool) -> list[list[Any]]:
    """The worst of the wrong samples; ``far`` is how far their scores are on the wrong side."""
    wrong = np.sum(Y != P, axis=1)
    if single:
        loss = far = np.max(np.where(Y > 0, -np.inf, S), axis=1) - np.sum(S * Y, axis=1)
    else:
        loss, far = wrong, np.sum(np.abs(S) * (Y != P), axis=1)
    found = []
    for i in np.lexsort((-far, -loss))[:_MAX_WORST]:
        if wrong[i] and np.isfinite(loss[i]):
            truth, told = (np.flatnonzero(A[i]).tolist() for A in (Y, P))
            found.append([int(rows[i]), float(loss[i]), float(far[i]), truth, told])
    return found


def keep_errors(outcome: Outcome, Y: Array, P: Array, unit: Array, rows: Array) -> None:
    """Keep predictions P of numbers Y, and the largest errors in deviations of the response."""
    near = P[:, :MAX_RESPONSES].tolist()
    outcome.predicted = {str(i): row for i, row in zip(rows, near, strict=True)}
    errors = np.abs(Y - P) / np.where(unit > 0, unit, 1.0)
    order = np.argsort(-errors.max(axis=1), kind="stable")[:_MAX_WORST]
    outcome.worst = [
        [int(rows[i]), float(errors[i, j]), 0.0, [int(j)], [], float(Y[i, j]), float(P[i, j])]
        for i, j in zip(order, errors[order].argmax(axis=1), strict=True)
    ]


def by_components(Z: Array, score: Callable[[int], float]) -> dict[str, float]:
    """``score(l)`` for growing numbers l of columns of Z, and all; empty if there is only one."""
    most = Z.shape[1]
    steps = [*(step for step in _STEPS if step < most), most] if most > 1 else []
    return {str(l): score(l) for l in steps}


# -- all splits ------------------------------------------------------------------------


def label_scores(fine: list[Outcome]) -> list[LabelScore]:
    """Precision, recall and F1 from counts over all splits; areas as means over the splits."""
    if not fine:
        return []
    hit, told, true = (
        np.sum([getattr(o, name) for o in fine], axis=0) for name in ("hit", "told", "true")
    )
    found = rates(hit, told, true)
    return [
        LabelScore(
            label=j,
            support=int(true[j]),
            **{name: float(values[j]) for name, values in found.items()},
            auc=over_splits([o.auc[j] for o in fine]).mean,
            average_precision=over_splits([o.average_precision[j] for o in fine]).mean,
        )
        for j in range(len(true))
    ]


def confusion(fine: list[Outcome], shown: list[int]) -> list[list[int]]:
    """Counts over all splits, of the classes that are shown."""
    if not fine or not fine[0].confusion:
        return []
    total = np.sum([outcome.confusion for outcome in fine], axis=0)
    return list(total[np.ix_(shown, shown)].tolist())


def worst_samples(fine: list[Outcome]) -> list[Worst]:
    """The worst over all splits, each row once."""
    lines = sorted((line for o in fine for line in o.worst), key=lambda w: (-w[1], -w[2]))
    found: dict[int, Worst] = {}
    for row, loss, _, *more in lines:
        found.setdefault(row, Worst(row, float(f"{loss:.4g}"), *more))
    return list(found.values())[:_MAX_WORST]


def component_scores(fine: list[Outcome]) -> ComponentScores | None:
    """Means over the splits, for the numbers of components that all splits have tried."""
    common = set.intersection(*(set(outcome.by_components) for outcome in fine)) if fine else ()
    if not common:
        return None
    steps = sorted(int(step) for step in common)
    scores = [over_splits([o.by_components[str(l)] for o in fine]) for l in steps]
    return ComponentScores(steps, [s.mean for s in scores], [s.std for s in scores])


def mean_curve(curves: list[list[float] | None]) -> list[float]:
    """Mean over the splits where there is a curve."""
    there = [curve for curve in curves if curve is not None]
    return list(np.mean(there, axis=0).round(4).tolist()) if there else []


def over_splits(values: list[float] | list[float | None]) -> Score:
    """One number per split, None where it is not known; their mean and deviation."""
    clean = [None if v is None or not np.isfinite(v) else float(v) for v in values]
    found = np.array([v for v in clean if v is not None])
    mean = float(found.mean()) if found.size else None
    return Score(clean, mean, float(found.std(ddof=1)) if found.size > 1 else None)
