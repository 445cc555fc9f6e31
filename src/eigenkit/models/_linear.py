"""The linear classifier on top of a projection: one linear SVM a label, on scaled scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenkit.linalg import Array


@dataclass(frozen=True)
class Linear:
    """Decisions ``((Z - mean) / unit) @ coef.T + intercept``, a column per label.

    Parameters
    ----------
    mean, unit : array of shape (l,)
        Of the training scores: those of a projection are as small as its eigenproblem makes
        them, and a penalty should not depend on that.
    coef : array of shape (k, l)
    intercept : array of shape (k,)
    """

    mean: Array
    unit: Array
    coef: Array
    intercept: Array

    def decision(self, Z: Array) -> Array:
        """Scores of every label."""
        return ((Z - self.mean) / self.unit) @ self.coef.T + self.intercept


def fit_linear(Z: Array, Y: Array, seed: int) -> Linear:
    """One linear SVM per column of the 0/1 matrix Y."""
    mean, unit = Z.mean(axis=0), Z.std(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    planes = [_plane((Z - mean) / unit, y, seed) for y in Y.T]
    coef = np.array([coef for coef, _ in planes])
    return Linear(mean, unit, coef, np.array([intercept for _, intercept in planes]))


def _plane(Z: Array, y: Array, seed: int) -> tuple[Array, float]:
    if y.min() == y.max():  # the training rows know only one answer
        return np.zeros(Z.shape[1]), float(y[0]) - 0.5
    svm = make_svm(seed).fit(Z, y.astype(int))
    return np.asarray(svm.coef_[0], dtype=np.float64), float(svm.intercept_[0])


def make_svm(seed: int) -> Any:
    """The classifier that every label gets."""
    from sklearn.svm import LinearSVC

    return LinearSVC(random_state=seed, max_iter=5000)


def make_head(kind: str, seed: int) -> Any:
    """The same classifier as a scikit-learn estimator, for choosing alpha."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if kind == "numbers":
        return None
    svm = make_svm(seed)
    return make_pipeline(StandardScaler(), svm if kind == "classes" else OneVsRestClassifier(svm))


def mean_auc(head: Any, Z: Array, Y: Array) -> float:
    """Mean area under the ROC curve over the labels that some rows carry and others do not."""
    from sklearn.metrics import roc_auc_score

    S = head.decision_function(Z)
    mixed = np.flatnonzero(Y.min(axis=0) < Y.max(axis=0))
    return float(np.mean([roc_auc_score(Y[:, j], S[:, j]) for j in mixed] or [0.5]))
