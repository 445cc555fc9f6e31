"""Labelled rows, and what it costs a projection to differ along the edges of a graph over all rows.

For weights a_ij of the edges, L = diag(sum_j a_ij) - A is the Laplacian, and

    tr(W'X'L X W) = sum over edges of a_ij |W'x_i - W'x_j|^2

Added to the pencil, Xl'H H'Xl w = lambda (Xl'Xl + alpha I + mu X'L X) w, it is one more block of
rows for stage one: least squares of [H; 0] on [Xl; sqrt(mu) R] with R'R = X'L X.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import Centered, Data, Linked
from eigenkit.data.matrices import centered_columns, column_sums, constant_columns, one_sample
from eigenkit.moments.rows import Problem, Rows
from eigenkit.numerics.linalg import Array, eigenpairs, power_of_two
from eigenkit.numerics.tolerances import above_rounding, precision
from eigenkit.pencil import Pencil
from eigenkit.targets import Target


@dataclass(frozen=True)
class GraphRows(Rows):
    """Labelled rows, and R times the root of mu below them; what the edges weigh together."""

    below: Array | None = None
    links: float = 0.0

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        """The pencil of the labelled rows, with the rows of the graph and targets of zero."""
        weight = self.effective
        mean, Z = centered_columns(np.asarray(self.X, dtype=np.float64), weight)
        if weight is not None:
            Z = Z * np.sqrt(weight)[:, None]
        below = np.zeros((0, Z.shape[1])) if self.below is None else self.below
        stated = super().problem(target, edge_weight, alpha)
        # Rows of X and of the graph are both rounded: both count.
        total, eps = stated.total + self.links, precision(self.X)
        one = one_sample(weight)
        stacked = Centered.behind(np.vstack([Z, below]), mean, total, one, len(Z), eps)
        return _stacked(stated, stacked, mean)


@dataclass(frozen=True)
class SparseGraphRows(Rows):
    """Labelled rows, and where they are among ``every`` row; edges times the root of mu."""

    every: Any = None
    kept: Any = None
    edges: Any = None

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        """The same, by products with the rows of X as they are."""
        stated = super().problem(target, edge_weight, alpha)
        stacked = Linked(Centered(self.every, one_unit=True), self.kept, self.effective, self.edges)
        return _stacked(stated, stacked, column_sums(self.X, self.effective) / stacked.total)


def _stacked(stated: Problem, Z: Data, mean: Array) -> Problem:
    """The problem of labelled rows, restated on Z: the rows of a graph below have targets of 0."""
    H = np.asarray(stated.pencil.H)
    H = np.vstack([H, np.zeros((Z.shape[0] - len(H), H.shape[1]))])
    pencil = Pencil(Z, H, stated.pencil.alpha)
    return replace(stated, pencil=pencil, mean=mean, labelled=stated.pencil)


# -- the Laplacian, and its roots -------------------------------------------------------


def laplacian(A: Any) -> sparse.csr_array:
    """diag(A 1) - A of symmetric non-negative weights; its rows sum to zero."""
    A = sparse.csr_array(A, dtype=np.float64)
    degree = np.asarray(A.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degree) - A)


def root(F: Array, L: sparse.csr_array) -> Array:
    """R with R'R = F'L F; the mean of F, which does not matter to L, is subtracted first.

    In units in which columns are alike, or rounding of large ones would be in small ones. Constant
    columns stay zero: their rounding would be a feature that undoes what the graph asks for.
    """
    constant = constant_columns(F)
    F = np.where(constant, 0.0, F - F.mean(axis=0))
    G = F.T @ (L @ F)
    unit = power_of_two(np.sqrt(np.maximum(G.diagonal(), 0.0)))
    values, V = eigenpairs(G / unit / unit[:, None])
    keep = above_rounding(values, *F.shape)
    R = (V[:, keep] * np.sqrt(values[keep])).T * unit
    return np.asarray(np.where(constant, 0.0, R))


def incidence(L: sparse.csr_array) -> sparse.csr_array:
    """N with N'N = L: a row for every edge, with plus and minus the root of its weight."""
    edges = sparse.triu(L, 1).tocoo()
    m, root = edges.nnz, np.sqrt(-edges.data)
    places = np.tile(np.arange(m), 2), np.concatenate(edges.coords)
    return sparse.csr_array((np.concatenate([root, -root]), places), shape=(m, L.shape[0]))
