"""From outcomes to the record: means and deviations, curves, the model of the first split."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Any

import numpy as np
import threadpoolctl

from eigenkit.data import correlations
from eigenkit.estimators.splits import Split
from eigenkit.evaluation.detail import (
    MAX_RESPONSES,
    Detail,
    component_scores,
    confusion,
    label_scores,
    mean_curve,
    over_splits,
    worst_samples,
)
from eigenkit.evaluation.glance import most_frequent
from eigenkit.evaluation.metrics import METRICS
from eigenkit.evaluation.record.schema import (
    AlphaSearch,
    Curve,
    Failure,
    Feature,
    Loading,
    Method,
    Model,
    Points,
    Solved,
)
from eigenkit.evaluation.samples import Samples, deviations, with_means
from eigenkit.evaluation.trial import Outcome, project_rows
from eigenkit.late import versions
from eigenkit.numerics.linalg import Array

TOP_COMPONENTS = 6
TOP_FEATURES = 10
MAX_EIGENVALUES = 100
# Arrows that can be told apart.
MAX_LOADINGS = 24


def summarize(
    name: str,
    estimator: Any,
    baseline: bool,
    outcomes: list[Outcome],
    model: Model | None,
    samples: Samples,
    points: Points,
    shown: list[int],
) -> Method:
    """All splits of one method, as a :class:`Method`."""
    fine = [outcome for outcome in outcomes if outcome.error is None]
    kinds = dict.fromkeys(kind for outcome in fine for kind in outcome.seconds)
    measured = dict.fromkeys(name for outcome in fine for name in outcome.scores) or METRICS
    details = [outcome.detail for outcome in fine if outcome.detail is not None]
    numbers, text = samples.numbers, " ".join(repr(estimator).split())
    return Method(
        name=name,
        estimator="no projection" if isinstance(estimator, str) else text[:300],
        baseline=baseline,
        scores={m: over_splits([o.scores.get(m) for o in outcomes]) for m in measured},
        seconds={kind: over_splits([o.seconds.get(kind) for o in outcomes]) for kind in kinds},
        failures=[Failure(i, o.error) for i, o in enumerate(outcomes) if o.error is not None],
        warnings=list(dict.fromkeys(text for o in outcomes for text in o.warnings))[:20],
        alpha=_alpha_search(outcomes),
        model=model,
        roc=[] if numbers or not details else [_curve(j, details) for j in shown],
        labels=[] if numbers else label_scores(details),
        confusion=confusion(details, shown),
        worst=worst_samples(details),
        by_components=component_scores(details),
        predicted=_predicted(fine, points) if numbers and fine else [],
    )


def _predicted(fine: list[Outcome], points: Points) -> list[list[float | None]]:
    """What was predicted for the drawn samples when they were first held out."""
    known: dict[str, list[float]] = {}
    for outcome in reversed(fine):
        known.update(outcome.predicted)
    nothing: list[float | None] = [None] * len(points.observed[0])
    return [
        [float(f"{v:.6g}") for v in known[key]] if (key := str(row)) in known else nothing
        for row in points.rows
    ]


def _alpha_search(outcomes: list[Outcome]) -> AlphaSearch | None:
    """The alphas of all splits, some of which may have extended the grid further than others."""
    scores: dict[float, list[float | None]] = {}
    for outcome in outcomes:
        for row in outcome.alpha_scores or ():
            for alpha, score in zip(outcome.alphas, row, strict=True):
                scores.setdefault(alpha, []).append(score)
    if not scores:
        return None
    columns = {alpha: over_splits(scores[alpha]) for alpha in sorted(scores)}
    return AlphaSearch(
        alphas=[*columns],
        mean=[score.mean for score in columns.values()],
        std=[score.std for score in columns.values()],
        chosen=[outcome.alpha for outcome in outcomes],
    )


def _curve(label: int, details: list[Detail]) -> Curve:
    """Means over the splits at every rate of the grids."""
    return Curve(
        label,
        over_splits([d.auc[label] for d in details]).mean,
        mean_curve([d.roc[label] for d in details]),
        mean_curve([d.precision[label] for d in details]),
    )


# -- the model of the first split ------------------------------------------------------


def thin(samples: Samples, split: Split, max_points: int, seed: int) -> Points:
    """Which samples are drawn: all, or a random choice."""
    rows = np.sort(np.concatenate(split))
    if len(rows) > max_points:
        rows = np.sort(np.random.default_rng(seed).choice(rows, max_points, replace=False))
    Y = samples.Y[rows]
    labels = [[] if samples.numbers else np.flatnonzero(row).tolist() for row in Y]
    held_out = np.isin(rows, split[1]).tolist()
    observed = [_plain(row) for row in Y[:, :MAX_RESPONSES]] if samples.numbers else []
    return Points(rows.tolist(), labels, held_out, observed)


def describe_model(fitted: Any, samples: Samples, split: Split, points: Points) -> Model | None:
    """The fitted projection as it is drawn; None if there is none."""
    rows = np.array(points.rows)
    if not hasattr(fitted, "transform"):
        return None
    (X, _), (X_drawn, Y_drawn) = samples.parts((split[0], rows))
    Z = project_rows(fitted, X_drawn)
    loadings = _loadings(X, project_rows(fitted, X), samples.feature_names)
    held = np.isin(rows, split[1])
    # Responses have no counts: the first of them are shown.
    correlated = most_frequent(samples.Y.sum(axis=0) * (not samples.numbers)).tolist()
    fitted = getattr(fitted, "best_estimator_", fitted)  # a search is described by its choice
    report = getattr(fitted, "report_", None)
    eigenvalues = np.asarray(getattr(fitted, "eigenvalues_", []), dtype=np.float64).ravel()
    alpha = getattr(fitted, "alpha", None)
    return Model(
        alpha=None if alpha is None else float(alpha),
        n_components=Z.shape[1],
        eigenvalues=_plain(eigenvalues[:MAX_EIGENVALUES]),
        solved=None if report is None else _solved(report),
        components=_top_features(fitted, samples, X),
        coordinates=_rounded(Z[:, :3]),
        correlated=correlated,
        label_correlations=_label_correlations(Z[held], Y_drawn[held][:, correlated]),
        loadings=loadings,
    )


def _label_correlations(Z: Array, Y: Array) -> list[list[float | None]]:
    """Correlations of components and labels on held-out rows; None where one is constant."""
    if len(Z) < 3:
        return []
    A, B = (part - part.mean(axis=0) for part in (Z[:, :TOP_COMPONENTS], Y))
    size = np.linalg.norm(A, axis=0)[:, None] * np.linalg.norm(B, axis=0)
    R = np.divide(A.T @ B, size, out=np.full(size.shape, np.nan), where=size > 0)
    return [[None if np.isnan(r) else round(float(r), 4) for r in row] for row in R]


def _loadings(X: Any, Z: Array, names: list[str]) -> list[Loading]:
    """The features that correlate most with the first two components, and how with three."""
    R = correlations(with_means(X), np.asarray(Z[:, :3], dtype=np.float64))
    order = np.argsort(-np.linalg.norm(R[:, :2], axis=1), kind="stable")[:MAX_LOADINGS]
    return [Loading(names[j], np.clip(R[j], -1, 1).round(4).tolist()) for j in order]


def _solved(report: Any) -> Solved:
    facts = asdict(report)
    for name in ("residual", "orthogonality", "condition"):
        facts[name] = float(facts[name]) if np.isfinite(facts[name]) else None
    return Solved(**{name: facts[name] for name in Solved.__dataclass_fields__})


def _top_features(fitted: Any, samples: Samples, X: Any) -> list[list[Feature]]:
    """For every component, the features that move it most when they change by one deviation."""
    W = getattr(fitted, "components_", None)
    if W is None or np.ndim(W) != 2 or np.shape(W)[1] != samples.X.shape[1]:
        return []
    weights = np.asarray(W[:TOP_COMPONENTS], dtype=np.float64) * deviations([X])
    found = []
    for w in weights:
        order = np.argsort(-np.abs(w), kind="stable")[:TOP_FEATURES]
        top = zip(order, _plain(w[order]), strict=True)
        found.append([Feature(samples.feature_names[j], value) for j, value in top if value])
    return found


def _plain(values: Array) -> list[float]:
    return [float(f"{v:.6g}") for v in values]


def _rounded(Z: Array) -> list[list[float]]:
    """Coordinates to five digits of the largest: finer than a pixel, and short in JSON."""
    Z = np.asarray(Z, dtype=np.float64)
    largest = float(np.abs(Z).max(initial=0.0))
    digits = 4 - int(np.floor(np.log10(largest))) if largest > 0 else 0
    return [list(row) for row in Z.round(digits).tolist()]


def environment() -> dict[str, str]:
    """Versions and threads, enough to understand a difference in the last digits."""
    pools = sorted({pool["num_threads"] for pool in threadpoolctl.threadpool_info()})
    return {
        **versions(),
        "system": f"{platform.system()} {platform.machine()}",
        "BLAS threads": ", ".join(str(n) for n in pools) or "unknown",
    }
