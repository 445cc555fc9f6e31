"""Data in other units: the factors of the columns are taken on the short side of every product."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenkit.data.protocol import Data
from eigenkit.numerics.linalg import Array


class Rescaled(Data):
    """Z diag(factor), for other data Z.

    In the units of X that is (X - mean) / std, times ``unit`` where the numbers are so large or
    small that their squares would leave the range of floating point. ``squares`` is the diagonal
    of Z'Z.
    """

    def __init__(
        self, Z: Data, squares: Array, factor: Array, std: Array | float = 1.0, unit: float = 1.0
    ) -> None:
        self.Z, self.squares, self.factor, self.unit = Z, squares, factor, unit
        self.std = np.broadcast_to(std, factor.shape)
        self.shape, self.n_samples, self.eps = Z.shape, Z.n_samples, Z.eps
        self.weight, self.total, self.one = Z.weight, Z.total, Z.one
        self.mean, self.constant = Z.mean, Z.constant
        self.threads, self.products = Z.threads, Z.products

    @classmethod
    def of(cls, Z: Data, scale: bool, squares: Array, freedom: float | None = None) -> Rescaled:
        """One unit for all columns; ``scale`` divides each by its standard deviation instead.

        Some of the rows of Z have fewer degrees of ``freedom`` than all of them.
        """
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
        """Z diag(factor) V."""
        return self.Z.matmat(self._scaled(V))

    def rmatmat(self, U: Array) -> Array:
        """diag(factor) Z'U."""
        return self._scaled(self.Z.rmatmat(U))

    def cross(self, H: Any) -> Array:
        """diag(factor) Z'H for a target."""
        return self._scaled(self.Z.cross(H))

    def gradient(self, V: Array, H: Array | None = None) -> tuple[Array, Array]:
        """As the data themselves make it, with the factors on both sides."""
        slope, square = self.Z.gradient(self._scaled(V), H)
        return self._scaled(slope), square

    def gram(self) -> Array:
        """diag(factor) Z'Z diag(factor)."""
        return np.asarray(self.Z.gram() * np.outer(self.factor, self.factor))

    def column_squares(self) -> Array:
        """The diagonal of the Gram matrix."""
        return np.asarray(self.squares * self.factor**2)

    def toarray(self) -> Array:
        """Z diag(factor) as a dense matrix."""
        return self.Z.toarray() * self.factor

    def to_X(self, W: Array) -> Array:
        """Directions of X: those of Z are diag(factor) W."""
        return self.Z.to_X(self._scaled(W))

    def grain(self, squares: Array | None = None) -> Array:
        """That of Z, times the factors."""
        return np.asarray(self.Z.grain() * self.factor)

    def _scaled(self, V: Array) -> Array:
        """diag(factor) V."""
        return V * self.factor[:, None]
