"""Beyond means: single labels, confusions, the worst samples, fewer components.

A split gives a :class:`Detail`, plain values that JSON can hold; at the end, the details of all
splits become parts of the record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eigenkit.evaluation.metrics import auc_per_label, precision_on_grid, rates, roc_on_grid
from eigenkit.evaluation.record.schema import ComponentScores, LabelScore, Score, Worst
from eigenkit.numerics.linalg import Array

# Denser near 0, where curves of good classifiers bend.
ROC_GRID = np.linspace(0, 1, 41) ** 2
RECALL_GRID = np.linspace(0, 1, 41)
# Numbers of components to try, in growing steps, because later components matter less.
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 80, 120, 200)
MAX_WORST = 10
# Responses whose predictions are kept for drawing.
MAX_RESPONSES = 6


@dataclass
class Detail:
    """One method on one split; lists go by label.

    ``hit``, ``told`` and ``true`` count samples that were rightly predicted to carry the label,
    that were predicted to, and that do. ``roc`` and ``precision`` are curves on the grids, None
    for labels that do not vary. ``confusion`` is empty unless every sample has one class.
    ``worst`` are row, loss, how far a sample is off, and the other fields of ``Worst``.
    """

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


def detail_of(Y: Array, S: Array, P: Array, rows: Array, single: bool) -> Detail:
    """Labels Y, scores S and decisions P of the held-out rows with these numbers."""
    found = Detail(
        hit=np.sum(Y * P, axis=0).astype(int).tolist(),
        told=P.sum(axis=0).astype(int).tolist(),
        true=Y.sum(axis=0).astype(int).tolist(),
        auc=auc_per_label(Y, S).tolist(),
        worst=_worst(Y, S, P, rows, single),
    )
    for y, s in zip(Y.T, S.T, strict=True):
        curve = roc_on_grid(y, s, ROC_GRID)
        found.roc.append(None if curve is None else curve.tolist())
        area, at = precision_on_grid(y, s, RECALL_GRID)
        found.average_precision.append(area)
        found.precision.append(None if at is None else at.tolist())
    if single:
        found.confusion = (Y.T @ P).astype(int).tolist()
    return found


def _worst(Y: Array, S: Array, P: Array, rows: Array, single: bool) -> list[list[Any]]:
    """The worst of the wrong samples; ``far`` is how far their scores are on the wrong side."""
    wrong = np.sum(Y != P, axis=1)
    if single:
        loss = far = np.max(np.where(Y > 0, -np.inf, S), axis=1) - np.sum(S * Y, axis=1)
    else:
        loss, far = wrong, np.sum(np.abs(S) * (Y != P), axis=1)
    order = np.lexsort((-far, -loss))[:MAX_WORST]
    return [
        [
            int(rows[i]),
            float(loss[i]),
            float(far[i]),
            *(np.flatnonzero(A[i]).tolist() for A in (Y, P)),
        ]
        for i in order
        if wrong[i] and np.isfinite(loss[i])
    ]


def steps_up_to(n_components: int) -> list[int]:
    """How many components to try: growing steps, and all."""
    return [*(step for step in _STEPS if step < n_components), n_components]


def by_components(Z: Array, score: Callable[[int], float]) -> dict[str, float]:
    """``score(l)`` for the first l columns of Z; empty if there is only one."""
    if Z.ndim != 2 or Z.shape[1] < 2:
        return {}
    return {str(l): score(l) for l in steps_up_to(Z.shape[1])}


# -- all splits ------------------------------------------------------------------------


def label_scores(details: list[Detail]) -> list[LabelScore]:
    """Precision, recall and F1 from counts over all splits; areas as means over the splits."""
    if not details:
        return []
    hit, told, true = (
        np.sum([getattr(d, name) for d in details], axis=0) for name in ("hit", "told", "true")
    )
    areas = zip(*([d.auc, d.average_precision] for d in details), strict=True)
    auc, ap = (np.array(list(rows), dtype=float) for rows in areas)
    found = rates(hit, told, true)
    return [
        LabelScore(
            label=j,
            support=int(true[j]),
            **{name: float(values[j]) for name, values in found.items()},
            auc=over_splits(auc[:, j]).mean,
            average_precision=over_splits(ap[:, j]).mean,
        )
        for j in range(len(true))
    ]


def confusion(details: list[Detail], shown: list[int]) -> list[list[int]]:
    """Counts over all splits, of the classes that are shown."""
    if not details or not details[0].confusion:
        return []
    total = np.sum([d.confusion for d in details], axis=0)
    found: list[list[int]] = total[np.ix_(shown, shown)].tolist()
    return found


def worst_samples(details: list[Detail]) -> list[Worst]:
    """The worst over all splits, each row once."""
    lines = sorted((line for d in details for line in d.worst), key=lambda w: (-w[1], -w[2]))
    found: dict[int, Worst] = {}
    for row, loss, _, *more in lines:
        found.setdefault(row, Worst(row, float(f"{loss:.4g}"), *more))
    return list(found.values())[:MAX_WORST]


def component_scores(details: list[Detail]) -> ComponentScores | None:
    """Means over the splits, for the numbers of components that all splits have tried."""
    if not details or not all(d.by_components for d in details):
        return None
    common = set.intersection(*(set(d.by_components) for d in details))
    steps = sorted(int(step) for step in common)
    scores = [over_splits([d.by_components[str(l)] for d in details]) for l in steps]
    return ComponentScores(steps, [s.mean for s in scores], [s.std for s in scores])


def mean_curve(curves: list[list[float] | None]) -> list[float]:
    """Mean over the splits where there is a curve."""
    there = [curve for curve in curves if curve is not None]
    found: list[float] = np.mean(there, axis=0).round(4).tolist() if there else []
    return found


def over_splits(values: Array | list[float] | list[float | None]) -> Score:
    """One number per split, None where it is not known; their mean and deviation."""
    clean = [None if v is None or not np.isfinite(v) else float(v) for v in values]
    found = np.array([v for v in clean if v is not None])
    mean = float(found.mean()) if found.size else None
    return Score(clean, mean, float(found.std(ddof=1)) if found.size > 1 else None)
