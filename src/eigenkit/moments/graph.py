"""Labelled rows, and a graph over all rows: the problem that both state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenkit.data import Centered, Data, Linked, centered_columns, column_sums, one_sample
from eigenkit.moments.rows import Problem, Rows
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import precision
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
