"""A graph over the samples, and what it costs a projection to differ along its edges.

For weights a_ij of the edges, L = diag(sum_j a_ij) - A is the Laplacian, and

    tr(W'X'L X W) = sum over edges of a_ij |W'x_i - W'x_j|^2

Added to the pencil, Xl'H H'Xl w = lambda (Xl'Xl + alpha I + mu X'L X) w, it is one more block of
rows for stage one: least squares of [H; 0] on [Xl; sqrt(mu) R] with R'R = X'L X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import (
    DENSE_LIMIT_BYTES,
    Centered,
    Data,
    centered_columns,
    column_sums,
    constant_columns,
    one_sample,
)
from eigenkit.data.protocol import BLOCK_RATE
from eigenkit.moments import Problem, Rows
from eigenkit.numerics.linalg import Array, eigenpairs, power_of_two
from eigenkit.numerics.tolerances import above_rounding, precision
from eigenkit.pencil import Pencil
from eigenkit.targets import Target

# Columns of a matrix that is made by products: enough of them for fast ones.
BLOCK = 128


def laplacian(A: Any) -> sparse.csr_array:
    """diag(A 1) - A of symmetric non-negative weights; its rows sum to zero."""
    A = sparse.csr_array(A, dtype=np.float64)
    degree = np.asarray(A.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degree) - A)


def root(F: Array, L: sparse.csr_array) -> Array:
    """R with R'R = F'L F; the mean of F, which does not matter to L, is subtracted first.

    In units in which columns are alike, or the rounding of large ones would be in the small ones.
    A column that is constant stays zero: beside labelled rows in which it is zero too, its
    rounding would be a feature that undoes what the graph asks for.
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


class Linked(Data):
    """[Zl; N Z]: labelled rows with their weights and means, above differences along edges.

    Neither is formed, as differences of sparse rows fill up: one product with all rows Z serves
    both. How Z is centred makes no difference to either part.
    """

    names_constant = False

    def __init__(
        self, Z: Data, kept: np.ndarray, weight: Array | None, N: sparse.csr_array
    ) -> None:
        self.Z, self.kept, self.N = Z, np.flatnonzero(kept), N
        self.counts = np.ones(len(self.kept)) if weight is None else weight
        self.roots = np.sqrt(self.counts)[:, None]
        self.shape = (len(self.kept) + N.shape[0], Z.shape[1])
        self.weight, self.one = None, one_sample(weight)  # the rows carry their weights
        self.total, self.n_samples = float(self.counts.sum()), len(self.kept)
        self.mean, self.constant = Z.mean, Z.constant
        self.products = Z.products
        self._share = (self.total + float(N.data @ N.data)) / Z.shape[0]
        self.decomposable = 8 * self.shape[0] * self.shape[1] <= DENSE_LIMIT_BYTES
        self.ridge, self.to_X, self.from_X = Z.ridge, Z.to_X, Z.from_X  # type: ignore[method-assign]
        self.units, self.threads = Z.units, Z.threads

    def column_squares(self) -> Array:
        """An upper bound: those of all rows, times the weight of these rows and differences."""
        return np.asarray(self.Z.column_squares() * self._share)

    def grain(self, squares: Array | None = None) -> Array:
        """That of all rows, times the root of the weight of these rows and differences."""
        return np.asarray(self.Z.grain() * np.sqrt(self._share))

    def matmat(self, V: Array) -> Array:
        """Both parts from the scores of all rows."""
        S = self.Z.matmat(V)
        above = S[self.kept]
        return np.vstack([self.roots * (above - self.counts @ above / self.total), self.N @ S])

    def rmatmat(self, U: Array) -> Array:
        """Both parts gathered on all rows."""
        n = len(self.kept)
        above = self.roots * U[:n]
        S = self.N.T @ U[n:]
        S[self.kept] += above - np.outer(self.counts, above.sum(axis=0) / self.total)
        return self.Z.rmatmat(S)

    def gram(self) -> Array:
        """Z'Z, a block of columns at a time."""
        return _by_columns(self.normal, self.shape[1])

    def outer(self) -> Array:
        """Z Z', a block of columns at a time."""
        return _by_columns(self.dual_normal, self.shape[0])

    def toarray(self) -> Array:
        """The rows; the caller has checked that they fit."""
        return self.matmat(np.eye(self.shape[1]))

    def original(self) -> tuple[Any, bool]:
        """Refused: coordinate descent would need the rows themselves."""
        raise ValueError(
            "X is sparse, and an l1 penalty needs the differences along the edges of a graph as "
            "rows, which fill up: set l1_ratio=0, or reduce X by PCA first."
        )

    def seconds_for_passes(self, k: int) -> float:
        """Those of all rows, and two numbers for every edge."""
        return self.Z.seconds_for_passes(k) + 2 * int(self.N.nnz) * k / BLOCK_RATE

    def seconds_for_gram(self) -> float:
        """A pass for every column."""
        return self.seconds_for_passes(self.shape[1])

    def seconds_for_outer(self) -> float:
        """A pass for every row."""
        return self.seconds_for_passes(self.shape[0])


def _by_columns(product: Callable[[Array], Array], n: int) -> Array:
    """The matrix of a product, from blocks of columns of the identity."""
    out = np.empty((n, n))
    for start in range(0, n, BLOCK):
        width = min(BLOCK, n - start)
        out[:, start : start + width] = product(np.eye(n, width, -start))
    return out


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
    return replace(stated, pencil=Pencil(Z, H, stated.pencil.alpha), mean=mean)
