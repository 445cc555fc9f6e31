"""Shrunken covariances of classes, stated as a pencil (Ledoit and Wolf 2004)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from eigenkit.data import Centered
from eigenkit.linalg import Array
from eigenkit.moments import BlockedRows, Moments, Problem, Rows, dense
from eigenkit.pencil import Pencil

AUTO_NEEDS_ALL = "shrinkage='auto' needs all rows at once: fit arrays, or give a number."


def ledoit_wolf(X: Array, weight: Array) -> tuple[float, float]:
    """(s, m) of the estimate ``(1 - s) S + s m I`` for the covariance of centred rows.

    s = min(b, d) / d with d = ||S - m I||^2 and b the variance of S, as the rows estimate it;
    ||S|| comes from the smaller of the two Gram matrices.
    """
    n, d = float(weight.sum()), X.shape[1]
    R = X * np.sqrt(weight)[:, None]
    G = R @ R.T if len(R) < d else R.T @ R
    squares = float(np.sum(G * G)) / n**2
    m = float(np.sum(R * R)) / (n * d)
    distance = squares - d * m * m
    noise = (float(weight @ np.sum(X * X, axis=1) ** 2) / n - squares) / n
    return (min(noise, distance) / distance if distance > 0 and noise > 0 else 0.0), m


def shrunken_by_class(sample: Rows | Moments | BlockedRows, problem: Problem) -> Problem:
    """The problem of LDA with the covariance of every class shrunken towards its diagonal.

    The rows of Z are those that sum to the new scatter matrices: within classes
    ``sqrt(w (1 - s_j)) (x - m_j)`` and the roots of ``sum_j n_j s_j m_j diag(std_j^2)``, between
    them ``sqrt(n_j) (m_j - m)``, which alone belong to H.
    """
    rows = sample.whole
    if rows is None:
        raise ValueError(AUTO_NEEDS_ALL)
    if sparse.issparse(rows.X):
        raise ValueError(
            "X is sparse, but shrinkage='auto' needs dense deviations from the class means: give a "
            "number, or alpha."
        )
    X, weights = np.asarray(rows.X, dtype=np.float64), rows.weights()
    within, between, diagonal = [], [], np.zeros(X.shape[1])
    for own in dense(rows.Y).T > 0:
        if not own.any():
            between.append(np.zeros(X.shape[1]))
            continue
        w = weights[own]
        first = X[own][0]  # from it, a column that is constant in the class is zero, exactly
        deviations = X[own] - first
        shift = w @ deviations / w.sum()
        deviations -= shift
        std = np.sqrt(w @ deviations**2 / w.sum())
        std[std == 0] = 1.0
        s, m = ledoit_wolf(deviations / std, w)
        within.append(np.sqrt((1 - s) * w)[:, None] * deviations)
        between.append(np.sqrt(w.sum()) * (first + shift - problem.mean))
        diagonal += w.sum() * s * m * std**2
    Z = np.vstack([*within, np.diag(np.sqrt(diagonal)), *between])
    H = np.vstack([np.zeros((len(Z) - len(between), len(between))), np.eye(len(between))])
    return replace(problem, pencil=Pencil(Centered(Z, center=False), H, 0.0))


def shrunken(problem: Problem, shrinkage: float, d: int) -> Problem:
    """The problem with the ridge that stands for ``(1 - s) Sw + s tr(Sw) / d I``, over 1 - s."""
    Z, C = problem.pencil.Z, problem.pencil.C
    squares = Z.column_squares() - np.sum(C * C, axis=1)
    squares = Z.from_X(Z.from_X(np.maximum(squares, 0.0)[:, None]))
    within = float(np.sum(squares))
    alpha = shrinkage / (1 - shrinkage) * within / d
    return replace(problem, pencil=problem.pencil.at(alpha))
