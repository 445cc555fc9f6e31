"""The linear classifier on top of a projection: one linear SVM a label, on scaled scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenkit.linalg import Array
from eigenkit.solvers.margin import squared_hinge


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

    @property
    def weights(self) -> Array:
        """What a unit of every score adds to the decisions (l x k)."""
        return np.asarray(self.coef.T / self.unit[:, None])

    def decision(self, Z: Array) -> Array:
        """Scores of every label."""
        return ((Z - self.mean) / self.unit) @ self.coef.T + self.intercept


def fit_linear(Z: Array, Y: Array) -> Linear:
    """One linear SVM per column of the 0/1 matrix Y."""
    mean, unit = Z.mean(axis=0), Z.std(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    coef, intercept = np.zeros((Y.shape[1], Z.shape[1])), Y[0] - 0.5
    mixed = np.flatnonzero(Y.min(axis=0) < Y.max(axis=0))  # the others have only one answer
    if mixed.size:
        coef[mixed], intercept[mixed] = squared_hinge((Z - mean) / unit, Y[:, mixed])
    return Linear(mean, unit, coef, intercept)
