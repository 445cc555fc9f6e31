"""A graph over the samples, and what it costs a projection to differ along its edges.

For weights a_ij of the edges, L = diag(sum_j a_ij) - A is the Laplacian, and

    tr(W'X'L X W) = sum over edges of a_ij |W'x_i - W'x_j|^2

Added to the pencil, Xl'H H'Xl w = lambda (Xl'Xl + alpha I + mu X'L X) w, it is one more block of
rows for stage one: least squares of [H; 0] on [Xl; sqrt(mu) R] with R'R = X'L X.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import Centered, centered_columns
from eigenkit.linalg import Array, eigenpairs
from eigenkit.moments import Problem, Rows
from eigenkit.pencil import Pencil
from eigenkit.targets import Target


def laplacian(A: Any) -> sparse.csr_array:
    """diag(A 1) - A of symmetric non-negative weights; its rows sum to zero."""
    A = sparse.csr_array(A, dtype=np.float64)
    degree = np.asarray(A.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degree) - A)


def root(F: Array, L: sparse.csr_array) -> Array:
    """R with R'R = F'L F; the mean of F is taken out first, which L does not see."""
    F = F - F.mean(axis=0)
    values, V = eigenpairs(F.T @ (L @ F))
    return np.asarray((V * np.sqrt(np.maximum(values, 0.0))).T)


@dataclass(frozen=True)
class GraphRows(Rows):
    """Labelled rows, and R times the root of mu below them."""

    below: Array | None = None

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        """The pencil of the labelled rows, with the rows of the graph and targets of zero."""
        stated = super().problem(target, edge_weight, alpha)
        weight = self.effective
        mean, Z = centered_columns(np.asarray(self.X, dtype=np.float64), weight)
        if weight is not None:
            Z = Z * np.sqrt(weight)[:, None]
        below = np.zeros((0, Z.shape[1])) if self.below is None else self.below
        H = np.vstack([stated.pencil.H, np.zeros((len(below), stated.pencil.H.shape[1]))])
        stacked = Centered(np.vstack([Z, below]), center=False, n_samples=len(Z))
        return Problem(Pencil(stacked, H, alpha), stated.labels, mean, stated.total, len(Z))
