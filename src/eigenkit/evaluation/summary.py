"""What a record says of the data, of outcomes (means, deviations, curves), and of models."""

from __future__ import annotations

import hashlib
import platform
from typing import Any

import numpy as np
import threadpoolctl
from scipy import sparse

from eigenkit.data import arrays_of, as_dense, correlations
from eigenkit.estimators.splits import Split
from eigenkit.evaluation import detail
from eigenkit.evaluation.metrics import METRICS
from eigenkit.evaluation.record import schema
from eigenkit.evaluation.samples import Samples, deviations, with_means
from eigenkit.evaluation.trial import project_rows
from eigenkit.late import versions
from eigenkit.numerics.linalg import Array

TOP_COMPONENTS, TOP_FEATURES, MAX_EIGENVALUES = 6, 10, 100
_SOLVED = tuple(schema.Solved.__dataclass_fields__)
# Arrows that can be told apart.
MAX_LOADINGS = 24


def summarize(
    name: str,
    estimator: Any,
    baseline: bool,
    outcomes: list[detail.Outcome],
    samples: Samples,
    points: schema.Points,
    shown: list[int],
) -> schema.Method:
    """All splits of one method, as a :class:`Method`."""
    fine = [outcome for outcome in outcomes if outcome.error is None]
    kinds = dict.fromkeys(kind for outcome in fine for kind in outcome.seconds)
    measured = dict.fromkeys(name for outcome in fine for name in outcome.scores) or METRICS
    text, over = " ".join(repr(estimator).split()), detail.over_splits
    return schema.Method(
        name=name,
        estimator="no projection" if isinstance(estimator, str) else text[:300],
        baseline=baseline,
        scores={m: over([o.scores.get(m) for o in outcomes]) for m in measured},
        seconds={kind: over([o.seconds.get(kind) for o in outcomes]) for kind in kinds},
        failures=[
            schema.Failure(i, o.error) for i, o in enumerate(outcomes) if o.error is not None
        ],
        warnings=list(dict.fromkeys(text for o in outcomes for text in o.warnings))[:20],
        alpha=_alpha_search(outcomes),
        model=outcomes[0].model,
        roc=[_curve(j, fine) for j in shown if fine],
        labels=detail.label_scores(fine),
        confusion=detail.confusion(fine, shown),
        worst=detail.worst_samples(fine),
        by_components=detail.component_scores(fine),
        predicted=_predicted(fine, points) if samples.numbers and fine else [],
    )


def _predicted(fine: list[detail.Outcome], points: schema.Points) -> list[list[float | None]]:
    """What was predicted for the drawn samples when they were first held out."""
    known: dict[str, list[float]] = {}
    for outcome in reversed(fine):
        known.update(outcome.predicted)
    nothing: list[float | None] = [None] * len(points.observed[0])
    return [
        [float(f"{v:.6g}") for v in known[key]] if (key := str(row)) in known else nothing
        for row in points.rows
    ]


def _alpha_search(outcomes: list[detail.Outcome]) -> schema.AlphaSearch | None:
    """The alphas of all splits, some of which may have extended the grid further than others."""
    scores: dict[float, list[float | None]] = {}
    for outcome in outcomes:
        for row in outcome.alpha_scores or ():
            for alpha, score in zip(outcome.alphas, row, strict=True):
                scores.setdefault(alpha, []).append(score)
    if not scores:
        return None
    columns = {alpha: detail.over_splits(scores[alpha]) for alpha in sorted(scores)}
    return schema.AlphaSearch(
        alphas=[*columns],
        mean=[score.mean for score in columns.values()],
        std=[score.std for score in columns.values()],
        chosen=[outcome.alpha for outcome in outcomes],
    )


def _curve(label: int, fine: list[detail.Outcome]) -> schema.Curve:
    """Means over the splits at every rate of the grids."""
    return schema.Curve(
        label,
        detail.over_splits([o.auc[label] for o in fine]).mean,
        detail.mean_curve([o.roc[label] for o in fine]),
        detail.mean_curve([o.precision[label] for o in fine]),
    )


# -- the model of the first split ------------------------------------------------------


def thin(samples: Samples, split: Split, max_points: int, seed: int) -> schema.Points:
    """Which samples are drawn: all, or a random choice."""
    rows = np.sort(np.concatenate(split))
    if len(rows) > max_points:
        rows = np.sort(np.random.default_rng(seed).choice(rows, max_points, replace=False))
    Y = samples.Y[rows]
    labels = [[] if samples.numbers else np.flatnonzero(row).tolist() for row in Y]
    held_out = np.isin(rows, split[1]).tolist()
    observed = [_plain(row) for row in Y[:, : detail.MAX_RESPONSES]] if samples.numbers else []
    return schema.Points(rows.tolist(), labels, held_out, observed)


def describe_model(
    fitted: Any, samples: Samples, split: Split, points: schema.Points
) -> schema.Model | None:
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
    return schema.Model(
        alpha=None if alpha is None else float(alpha),
        n_components=Z.shape[1],
        eigenvalues=_plain(eigenvalues[:MAX_EIGENVALUES]),
        solved=report and schema.Solved(**{name: getattr(report, name) for name in _SOLVED}),
        components=_top_features(fitted, samples, X),
        coordinates=_rounded(Z[:, :3]),
        correlated=correlated,
        label_correlations=_label_correlations(Z[held], Y_drawn[held][:, correlated]),
        loadings=loadings,
    )


def _label_correlations(Z: Array, Y: Array) -> list[list[float | None]]:
    """Correlations of components and labels on held-out rows; nan where one is constant."""
    if len(Z) < 3:
        return []
    A, B = (part - part.mean(axis=0) for part in (Z[:, :TOP_COMPONENTS], Y))
    size = np.linalg.norm(A, axis=0)[:, None] * np.linalg.norm(B, axis=0)
    R = np.divide(A.T @ B, size, out=np.full(size.shape, np.nan), where=size > 0)
    return [[round(r, 4) for r in row] for row in R.tolist()]


def _loadings(X: Any, Z: Array, names: list[str]) -> list[schema.Loading]:
    """The features that correlate most with the first two components, and how with three."""
    R = correlations(with_means(X), np.asarray(Z[:, :3], dtype=np.float64))
    order = np.argsort(-np.linalg.norm(R[:, :2], axis=1), kind="stable")[:MAX_LOADINGS]
    return [schema.Loading(names[j], np.clip(R[j], -1, 1).round(4).tolist()) for j in order]


def _top_features(fitted: Any, samples: Samples, X: Any) -> list[list[schema.Feature]]:
    """For every component, the features that move it most when they change by one deviation."""
    W = getattr(fitted, "components_", None)
    if W is None or np.ndim(W) != 2 or np.shape(W)[1] != samples.X.shape[1]:
        return []
    weights = np.asarray(W[:TOP_COMPONENTS], dtype=np.float64) * deviations([X])
    found = []
    for w in weights:
        order = np.argsort(-np.abs(w), kind="stable")[:TOP_FEATURES]
        top = zip(order, _plain(w[order]), strict=True)
        found.append([schema.Feature(samples.feature_names[j], value) for j, value in top if value])
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


# -- the data at a glance ---------------------------------------------------------------

# More than these cannot be told apart in a picture; the record says how many there are.
MAX_LABELS, MAX_SETS, MAX_COLUMNS = 40, 60, 200


def describe(samples: Samples, name: str) -> schema.Data:
    """What the report says about the data before anything is fitted."""
    X, Y, numbers = samples.X, samples.Y, samples.numbers
    if numbers:  # nothing to count
        Y = np.zeros(Y.shape)
    counts = Y.sum(axis=0).astype(int)
    shown = most_frequent(counts)[: 0 if numbers else None]
    stored = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    facts = _column_facts(X)
    return schema.Data(
        name=name,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        n_labels=Y.shape[1],
        sparse=bool(sparse.issparse(X)),
        dtype=str(X.dtype),
        density=float(stored) / (X.shape[0] * X.shape[1]),
        kind=samples.kind,
        cardinality=float(Y.sum() / len(Y)),
        unlabelled=0 if numbers else int(np.sum(~Y.any(axis=1))),
        labels=list(map(schema.Label, samples.label_names, counts.tolist())),
        shown=[int(j) for j in shown],
        co_occurrence=(Y[:, shown].T @ Y[:, shown]).astype(int).tolist(),
        hypergraph=_hypergraph(Y, shown),
        fingerprint=_fingerprint(X, samples.Y),
        columns=_columns(facts, samples.feature_names[:MAX_COLUMNS]),
        n_constant=int(np.sum(~(facts[2] < facts[3]))),
        n_incomplete=int(np.sum(facts[4] > 0)),
    )


def most_frequent(counts: Array) -> Array:
    """Which labels are drawn; among equally frequent ones, the first."""
    return np.sort(np.argsort(-counts, kind="stable")[:MAX_LABELS])


def _column_facts(X: Any) -> tuple[Array, ...]:
    """Mean, deviation, lowest, highest, share missing and share of zeros of every column."""
    known = with_means(X)
    ends = [as_dense(end) for end in (known.min(axis=0), known.max(axis=0))]
    if sparse.issparse(X):
        filled, gaps = (
            np.bincount(X.indices[which], minlength=X.shape[1]) / X.shape[0]
            for which in (X.data != 0, np.isnan(X.data))
        )
        zeros = 1.0 - filled
    else:
        gaps, zeros = np.isnan(X).mean(axis=0), np.mean(X == 0, axis=0)
    rows = known.mean(axis=0), *ends
    mean, low, high = (np.asarray(row, dtype=np.float64).ravel() for row in rows)
    deviation = deviations([known]) / np.sqrt(np.where(gaps < 1, 1 - gaps, 1.0))
    return mean, deviation, low, high, gaps, zeros


def _columns(facts: tuple[Array, ...], names: list[str]) -> list[schema.Column]:
    rows = np.array([fact[: len(names)] for fact in facts], dtype=np.float64).T.tolist()
    found = []
    for name, row in zip(names, rows, strict=True):
        values, shares = (float(f"{v:.5g}") for v in row[:4]), (round(v, 4) for v in row[4:])
        found.append(schema.Column(name, *values, *shares))
    return found


def _fingerprint(X: Any, Y: Array) -> str:
    """A short hash of the numbers, to tell whether two runs saw the same data."""
    digest = hashlib.sha256(repr((X.shape, str(X.dtype), Y.shape)).encode())
    whole = np.array_equal(Y, Y.astype(np.int8))
    for part in [*arrays_of(X), Y.astype(np.int8) if whole else Y]:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def _hypergraph(Y: Array, shown: np.ndarray) -> schema.Hypergraph:
    """Labels and the sets in which they occur together, as a star expansion."""
    if not len(shown):
        return schema.Hypergraph([], [], [], [], 0)
    rows, times = np.unique(Y[:, shown].astype(bool), axis=0, return_counts=True)
    several = rows.sum(axis=1) > 1
    rows, times = rows[several], times[several]
    order = np.argsort(-times, kind="stable")[:MAX_SETS]
    # A label in none of the drawn sets would only drift away from the others.
    held = rows[order].any(axis=0) if len(order) else np.ones(len(shown), dtype=bool)
    rows, shown = rows[:, held], shown[held]
    places = _layout(rows[order], times[order])
    k = len(shown)
    return schema.Hypergraph(
        labels=[int(j) for j in shown],
        label_positions=places[:k].round(4).tolist(),
        sets=[schema.LabelSet([int(j) for j in shown[rows[i]]], int(times[i])) for i in order],
        set_positions=places[k:].round(4).tolist(),
        n_sets=int(several.sum()),
    )


def _layout(sets: np.ndarray, times: np.ndarray) -> Array:
    """Places in the unit square: first the labels, then every set amid its labels.

    Labels attract each other by the share of sets they have in common and repel all; sets
    only keep out of each other's way. The labels start on a circle, so the same labels always
    give the same picture.
    """
    members = sets.astype(np.float64)
    weight = members * np.sqrt(times)[:, None]
    shared = weight.T @ members
    own = np.sqrt(np.maximum(np.diag(shared), 1e-12))
    turn = 2 * np.pi * np.arange(len(shared)) / max(len(shared), 1)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    labels = _settle(circle, shared / own / own[:, None])
    labels = labels - labels.min(axis=0)
    labels = np.asarray(labels / np.maximum(labels.max(axis=0), 1e-12))  # in the unit square
    amid = members @ labels / np.maximum(members.sum(axis=1, keepdims=True), 1)
    return np.vstack([labels, _part(amid, labels)])


def _settle(places: Array, springs: Array) -> Array:
    """Springs pull with their strength times the distance, all push with its inverse."""
    size, steps = np.sqrt(4.0 / max(len(places), 1)), 300
    for step in range(steps):
        gap, distance = _gaps(places)
        force = size**2 / distance**2 - springs * distance / size
        np.fill_diagonal(force, 0.0)
        push = (gap * force[:, :, None]).sum(axis=1) - 0.2 * places
        push /= np.maximum(np.linalg.norm(push, axis=1, keepdims=True), 1.0)
        places = places + 0.15 * (1 - step / steps) * push
    return places


def _part(places: Array, labels: Array) -> Array:
    """Move marks that lie on each other, or on a label, apart."""
    m = len(places)
    turn = 2 * np.pi * 0.618034 * np.arange(m)  # or marks in one place would never part
    places = places + 0.01 * np.column_stack([np.cos(turn), np.sin(turn)])
    for _ in range(60):
        gap, distance = _gaps(np.vstack([places, labels]))
        force = np.maximum(0.045 - distance, 0.0) / distance
        np.fill_diagonal(force, 0.0)
        places = places + 0.5 * (gap * force[:, :, None]).sum(axis=1)[:m]
    return np.clip(places, 0.0, 1.0)


def _gaps(places: Array) -> tuple[Array, Array]:
    gap = places[:, None] - places[None]
    return gap, np.sqrt((gap**2).sum(axis=2)) + 1e-9
