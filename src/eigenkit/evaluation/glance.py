"""The data at a glance: label counts, co-occurrence, and the label hypergraph laid out."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.evaluation.samples import Samples
from eigenkit.linalg import Array
from eigenkit.record import Data, Hypergraph, Label, LabelSet

# More than these cannot be told apart in a picture; the record says how many there are.
MAX_LABELS = 40
MAX_SETS = 60


def describe(samples: Samples, name: str) -> Data:
    """What the report says of the data before anything is fitted."""
    X, Y = samples.X, samples.Y
    counts = Y.sum(axis=0).astype(int)
    shown = np.sort(np.argsort(-counts, kind="stable")[:MAX_LABELS])
    stored = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return Data(
        name=name,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        n_labels=Y.shape[1],
        sparse=bool(sparse.issparse(X)),
        dtype=str(X.dtype),
        density=float(stored) / (X.shape[0] * X.shape[1]),
        kind="classes" if samples.single else "labels",
        cardinality=float(Y.sum() / len(Y)),
        unlabelled=int(np.sum(~Y.any(axis=1))),
        labels=[Label(label, int(c)) for label, c in zip(samples.label_names, counts, strict=True)],
        shown=[int(j) for j in shown],
        co_occurrence=(Y[:, shown].T @ Y[:, shown]).astype(int).tolist(),
        hypergraph=_hypergraph(Y, shown),
        fingerprint=_fingerprint(X, Y),
    )


def _fingerprint(X: Any, Y: Array) -> str:
    """A short hash of the numbers, to tell whether two runs saw the same data."""
    digest = hashlib.sha256(repr((X.shape, str(X.dtype), Y.shape)).encode())
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    for part in [*parts, Y.astype(np.int8)]:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def _hypergraph(Y: Array, shown: np.ndarray) -> Hypergraph:
    """Labels and the sets in which they occur together: the star expansion of the sets."""
    rows, times = np.unique(Y[:, shown].astype(bool), axis=0, return_counts=True)
    several = rows.sum(axis=1) > 1
    rows, times = rows[several], times[several]
    order = np.argsort(-times, kind="stable")[:MAX_SETS]
    places = _layout(rows[order], times[order])
    k = len(shown)
    return Hypergraph(
        labels=[int(j) for j in shown],
        label_positions=places[:k].round(4).tolist(),
        sets=[LabelSet([int(j) for j in shown[rows[i]]], int(times[i])) for i in order],
        set_positions=places[k:].round(4).tolist(),
        n_sets=int(several.sum()),
    )


def _layout(sets: np.ndarray, times: np.ndarray, steps: int = 300) -> Array:
    """Places in the unit square (labels, then sets) by springs and repulsion.

    Fruchterman and Reingold's forces from a fixed start on a circle, so that the same
    labels always give the same picture.
    """
    m, k = sets.shape
    turn = 2 * np.pi * np.arange(k) / max(k, 1)
    labels = np.column_stack([np.cos(turn), np.sin(turn)])
    middle = (sets @ labels) / np.maximum(sets.sum(axis=1, keepdims=True), 1)
    # A little off the middle, or sets of the same labels would never part.
    spread = 2 * np.pi * 0.618034 * np.arange(m)
    places = np.vstack([labels, middle + 0.05 * np.column_stack([np.cos(spread), np.sin(spread)])])
    springs = np.zeros((k + m, k + m))
    springs[k:, :k] = sets * (0.3 + 0.7 * np.sqrt(times / times.max(initial=1)))[:, None]
    springs += springs.T
    size = np.sqrt(4.0 / (k + m))
    for step in range(steps):
        places += _shift(places, springs, size) * _reach(step, steps)
    places -= places.min(axis=0)
    return places / np.maximum(places.max(axis=0), 1e-12)


def _reach(step: int, steps: int) -> float:
    return 0.15 * (1 - step / steps)


def _shift(places: Array, springs: Array, size: float) -> Array:
    """The direction in which every place is pushed, at most of length one."""
    gap = places[:, None] - places[None]
    distance = np.sqrt((gap**2).sum(axis=2)) + 1e-9
    force = size**2 / distance**2 - springs * distance / size
    np.fill_diagonal(force, 0.0)
    push = (gap * force[:, :, None]).sum(axis=1) - 0.3 * places
    return push / np.maximum(np.linalg.norm(push, axis=1, keepdims=True), 1.0)
