"""The data at a glance: label counts, co-occurrence, and the label hypergraph laid out."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import arrays_of, as_dense
from eigenkit.evaluation.record.schema import Column, Data, Hypergraph, Label, LabelSet
from eigenkit.evaluation.samples import Samples, deviations, with_means
from eigenkit.numerics.linalg import Array

# More than these cannot be told apart in a picture; the record says how many there are.
MAX_LABELS = 40
MAX_SETS = 60
MAX_COLUMNS = 200


def describe(samples: Samples, name: str) -> Data:
    """What the report says about the data before anything is fitted."""
    X, Y, numbers = samples.X, samples.Y, samples.numbers
    if numbers:  # nothing to count
        Y = np.zeros(Y.shape)
    counts = Y.sum(axis=0).astype(int)
    shown = most_frequent(counts)[: 0 if numbers else None]
    stored = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    facts = _column_facts(X)
    return Data(
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
        labels=[Label(label, int(c)) for label, c in zip(samples.label_names, counts, strict=True)],
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
    mean, low, high = (
        np.asarray(found, dtype=np.float64).ravel() for found in (known.mean(axis=0), *ends)
    )
    deviation = deviations([known]) / np.sqrt(np.where(gaps < 1, 1 - gaps, 1.0))
    return mean, deviation, low, high, gaps, zeros


def _columns(facts: tuple[Array, ...], names: list[str]) -> list[Column]:
    rows = np.array([fact[: len(names)] for fact in facts], dtype=np.float64).T
    return [
        Column(
            name,
            *(float(f"{v:.5g}") if np.isfinite(v) else None for v in row[:4]),  # type: ignore[arg-type]
            *(round(float(v), 4) for v in row[4:]),
        )
        for name, row in zip(names, rows, strict=True)
    ]


def _fingerprint(X: Any, Y: Array) -> str:
    """A short hash of the numbers, to tell whether two runs saw the same data."""
    digest = hashlib.sha256(repr((X.shape, str(X.dtype), Y.shape)).encode())
    whole = np.array_equal(Y, Y.astype(np.int8))
    for part in [*arrays_of(X), Y.astype(np.int8) if whole else Y]:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def _hypergraph(Y: Array, shown: np.ndarray) -> Hypergraph:
    """Labels and the sets in which they occur together, as a star expansion."""
    if not len(shown):
        return Hypergraph([], [], [], [], 0)
    rows, times = np.unique(Y[:, shown].astype(bool), axis=0, return_counts=True)
    several = rows.sum(axis=1) > 1
    rows, times = rows[several], times[several]
    order = np.argsort(-times, kind="stable")[:MAX_SETS]
    # A label in none of the drawn sets would only drift away from the others.
    held = rows[order].any(axis=0) if len(order) else np.ones(len(shown), dtype=bool)
    rows, shown = rows[:, held], shown[held]
    places = _layout(rows[order], times[order])
    k = len(shown)
    return Hypergraph(
        labels=[int(j) for j in shown],
        label_positions=places[:k].round(4).tolist(),
        sets=[LabelSet([int(j) for j in shown[rows[i]]], int(times[i])) for i in order],
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
