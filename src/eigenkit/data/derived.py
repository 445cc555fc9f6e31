"""Data made of other data, which their products go through: in other units, or along a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data.matrices import one_sample
from eigenkit.data.protocol import Data
from eigenkit.numerics.costs import BLOCK_RATE, may_be_dense
from eigenkit.numerics.linalg import Array

# Columns of a matrix that is made by products: enough of them for fast ones.
BLOCK = 128


class Rescaled(Data):
    """Z diag(factor), for other data Z: factors are taken on the short side of every product.

    In the units of X that is (X - mean) / std, times ``unit`` where squares would leave the range
    of floating point. ``squares`` is the diagonal of Z'Z.
    """

    unit: float

    def __init__(
        self, Z: Data, squares: Array, factor: Array, std: Array | float = 1.0, unit: float = 1.0
    ) -> None:
        self.Z, self.squares, self.factor, self.unit = Z, squares, factor, unit
        self.std = np.broadcast_to(std, factor.shape)
        self.shape, self.n_samples, self.eps = Z.shape, Z.n_samples, Z.eps
        self.weight, self.r, self.total, self.one = Z.weight, Z.r, Z.total, Z.one
        self.mean, self.constant = Z.mean, Z.constant
        self.threads, self.products = Z.threads, Z.products

    @classmethod
    def of(cls, Z: Data, scale: bool, squares: Array, freedom: float | None = None) -> Rescaled:
        """One unit for all columns, or with ``scale`` standard deviations (of this freedom)."""
        units, still = Z.units, Z.constant | (squares <= 0)
        if scale:
            freedom = Z.freedom if freedom is None else freedom
            root = np.sqrt(np.where(still, 1.0, squares / freedom))
            factor, std = np.where(still, 0.0, 1 / root), np.where(still, 1.0, root / units)
            return cls(Z, squares, factor, std)
        unit = float(units[~still].min()) if not still.all() else 1.0
        return cls(Z, squares, np.where(still, 0.0, unit / units), unit=unit)

    def for_rows(self, Z: Data) -> Rescaled:
        """Other rows in the units of these."""
        return Rescaled(Z, self.squares, self.factor * self.Z.units / Z.units, self.std, self.unit)

    def matmat(self, V: Array) -> Array:
        return self.Z.matmat(self._scaled(V))

    def rmatmat(self, U: Array) -> Array:
        return self._scaled(self.Z.rmatmat(U))

    def cross(self, H: Any) -> Array:
        return self._scaled(self.Z.cross(H))

    def gradient(self, V: Array, H: Array | None = None) -> tuple[Array, Array]:
        """As the data themselves make it, with the factors on both sides."""
        slope, square = self.Z.gradient(self._scaled(V), H)
        return self._scaled(slope), square

    def gram(self) -> Array:
        return np.asarray(self.Z.gram() * np.outer(self.factor, self.factor))

    def column_squares(self) -> Array:
        return np.asarray(self.squares * self.factor**2)

    def toarray(self) -> Array:
        return self.Z.toarray() * self.factor

    def to_X(self, W: Array) -> Array:
        return self.Z.to_X(self._scaled(W))

    def grain(self, squares: Array | None = None) -> Array:
        return np.asarray(self.Z.grain() * self.factor)

    def _scaled(self, V: Array) -> Array:
        return V * self.factor[:, None]


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
        self.decomposable = may_be_dense(self.shape)
        self.unit, self.m, self.threads = Z.unit, Z.m, Z.threads

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
