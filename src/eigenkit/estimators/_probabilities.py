"""Probabilities from distances: softmax(-beta d), with beta from samples that were held out.

One factor for all classes (temperature scaling; Guo et al. 2017) keeps the order of the
distances, so that the most probable class is the nearest. Distances of the samples that a model
was fitted on are too small, hence the folds; targets are smoothed as Platt (1999) does, so that
beta stays finite where classes do not overlap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import clone

from eigenkit.estimators._validation import part_of
from eigenkit.linalg import Array

N_FOLDS = 5
# beta times the mean distance is looked for between exp(-8) and exp(8): from hardly any
# difference between classes to none but the nearest.
LOG_RANGE = 8.0


def held_out_distances(model: Any, X: Any, y: Any, weight: Array | None) -> Array:
    """Distances of every sample by a model that has not seen it, (n_samples, n_classes)."""
    _, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            "probability=True needs at least two samples of every class of y, to hold one out: "
            "give more, or probability=False."
        )
    distances = np.empty((X.shape[0], len(counts)))
    folds = sklearn.model_selection.StratifiedKFold(
        min(N_FOLDS, int(counts.min())), shuffle=True, random_state=0
    )
    for train, test in folds.split(np.empty((len(y), 0)), y):
        part = clone(model).set_params(probability=False)
        rows = part_of(model, X, train, train)
        part.fit(rows, y[train], None if weight is None else weight[train])
        distances[test] = part.distances(part_of(model, X, test, train))
    return distances


def softmax_scale(distances: Array, codes: np.ndarray, weight: Array | None) -> float:
    """The beta of largest likelihood for classes ``codes`` at these distances."""
    n, k = distances.shape
    w = np.ones(n) if weight is None else weight
    counts = np.bincount(codes, w, minlength=k)
    hit = (counts + 1) / (counts + k)
    target = np.repeat(((1 - hit) / (k - 1))[codes, None], k, axis=1)
    target[np.arange(n), codes] = hit[codes]
    typical = float(w @ distances.mean(axis=1)) / float(w.sum())
    if not typical > 0:
        return 1.0

    def loss(log_beta: float) -> float:
        scores = scipy.special.log_softmax(-np.exp(log_beta) / typical * distances, axis=1)
        return -float(w @ np.sum(target * scores, axis=1))

    best = scipy.optimize.minimize_scalar(loss, bounds=(-LOG_RANGE, LOG_RANGE), method="bounded")
    return float(np.exp(best.x) / typical)
