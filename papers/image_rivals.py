"""The rivals of the thesis's chapter 6: one kernel program per term, and single images.

SVM1 learns weights of the kernels for every term by itself, by the criterion of its soft-margin SVM
(1-norm), and annotates with that SVM. Z&P forgets the sets: every picture carries the terms of its
set, is described by wavelet coefficients, of which the most relevant and least redundant are
selected for each term, and annotated by a linear discriminant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from eigenkit.estimators import LDA
from eigenkit.estimators.splits import k_fold
from eigenkit.images.rivals import SvmBank
from eigenkit.numerics.linalg import Array
from eigenkit.solvers.kernel_weights import silp
from papers.annotation_trial import COSTS, Numbers, Partition, Scores, annotate, halves, measures
from papers.annotation_trial import mixed as mixed_kernel
from papers.image_sets import ImageSets

SVM1_TOL = 0.02
FEATURES = (10, 20, 40)
LEVELS = 4

# -- one program per term -----------------------------------------------------------------


def svm1_scores(part: Partition, costs: Iterable[float]) -> list[Scores]:
    """How well SVMs, each on a sum of kernels of its own, annotate the test rows."""
    Y, Y_new = part.Y[part.train], part.Y[part.test]
    return [measures(Y_new, _svm1(part, Y, C)) for C in costs]


def _svm1(part: Partition, Y: Array, C: float) -> Array:
    S = np.empty((len(part.test), Y.shape[1]))
    for j in range(Y.shape[1]):
        y = Y[:, [j]]
        if y.min() == y.max():
            S[:, j] = y[0] - 0.5
            continue
        found = silp(SvmBank(part.bank, y[:, 0], C, balanced=True), SVM1_TOL, 100)  # type: ignore[arg-type]
        theta = found.weights * part.scales
        K = mixed_kernel(part.kernels, theta, part.train, part.train)
        K_new = mixed_kernel(part.kernels, theta, part.test, part.train)
        S[:, j] = annotate(K, K_new, y, C, balanced=True)[:, 0]
    return S


def svm1_partition(
    images: ImageSets, terms: Numbers, rows: Numbers, seed: Sequence[int]
) -> dict[str, Any]:
    """The same partition and choice of C as the other methods have."""
    rng = np.random.default_rng(list(seed))
    train, test = halves(rows, rng)
    kernels, Y = images.kernels, images.Y[:, terms]
    folds = [Partition(kernels, Y, train[f], train[c]) for f, c in k_fold(Y[train], 2, rng)]
    found = [[s["f1_macro"] for s in svm1_scores(fold, COSTS)] for fold in folds]
    C = COSTS[int(np.mean(found, axis=0).argmax())]
    return {**svm1_scores(Partition(kernels, Y, train, test), [C])[0], "C": C}


# -- single images ------------------------------------------------------------------------


def haar(images: Array, levels: int = LEVELS) -> Array:
    """Coefficients of a Haar transform of images (n, height, width): all but the finest level.

    The finest details of a picture are noise to its pattern, and three quarters of all numbers.
    """
    kept, low = [], images
    for level in range(levels):
        a, b = low[:, ::2] + low[:, 1::2], low[:, ::2] - low[:, 1::2]
        parts = [x[:, :, ::2] + s * x[:, :, 1::2] for x in (a, b) for s in (1, -1)]
        low, details = parts[0] / 2, [part / 2 for part in parts[1:]]
        if level > 1:
            kept += [d.reshape(len(images), -1) for d in details]
    return np.hstack([low.reshape(len(images), -1), *kept])


def select(X: Array, y: Array, n: int) -> np.ndarray:
    """Most relevant, least redundant columns: correlation with y over that with those chosen."""
    deviation = X.std(axis=0)
    usable = np.flatnonzero(deviation > 1e-9 * deviation.max())
    Z = (X[:, usable] - X[:, usable].mean(axis=0)) / deviation[usable]
    relevance = np.abs(Z.T @ (y - y.mean())) / (len(y) * (y.std() or 1.0))
    chosen, redundancy = [int(relevance.argmax())], np.zeros(len(usable))
    while len(chosen) < min(n, len(usable)):
        redundancy += np.abs(Z.T @ Z[:, chosen[-1]]) / len(y)
        quotient = relevance / np.maximum(redundancy / len(chosen), 1e-3)
        quotient[chosen] = -1
        chosen.append(int(quotient.argmax()))
    return np.asarray(usable[chosen])


def zp_scores(
    X: Sequence[Array], Y: Array, train: Numbers, test: Numbers, counts: Sequence[int]
) -> list[Scores]:
    """How well discriminants on selected coefficients annotate single pictures."""
    Z, Z_new = (np.vstack([X[i] for i in rows]) for rows in (train, test))
    T, T_new = (np.repeat(Y[rows], [len(X[i]) for i in rows], axis=0) for rows in (train, test))
    S = np.empty((len(counts), *T_new.shape))
    for j in range(Y.shape[1]):
        order = select(Z, T[:, j], max(counts))
        for k, n in enumerate(counts):
            S[k, :, j] = _discriminant(Z[:, order[:n]], T[:, j], Z_new[:, order[:n]])
    return [measures(T_new, scores) for scores in S]


def _discriminant(X: Array, y: Array, X_new: Array) -> Array:
    if y.min() == y.max():
        return np.full(len(X_new), y[0] - 0.5)
    model = LDA(shrinkage="auto").fit(X, y)
    return np.asarray(model.predict_proba(X_new)[:, 1] - 0.5)


def zp_partition(
    images: ImageSets, terms: Numbers, rows: Numbers, seed: Sequence[int]
) -> dict[str, Any]:
    """The same partition; the number of coefficients is chosen as the others choose C."""
    rng = np.random.default_rng(list(seed))
    train, test = halves(rows, rng)
    X, Y = [haar(pictures) for pictures in images.pictures], images.Y[:, terms]
    folds = list(k_fold(Y[train], 2, rng))
    found = [zp_scores(X, Y, train[f], train[c], FEATURES) for f, c in folds]
    best = np.mean([[s["f1_macro"] for s in scores] for scores in found], axis=0).argmax()
    n = FEATURES[int(best)]
    return {**zp_scores(X, Y, train, test, [n])[0], "features": n}
