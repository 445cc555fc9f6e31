"""What a PLS fit needs from the data: X'Y, Y'Y and products with X'X, centred and scaled.

The Gram matrix X'X (d x d) is formed where that is cheaper than two passes over the data for
every component (:func:`gram_pays`), and used as long as it is accurate: rounding in it is
relative to its largest entries, so components of small variance are taken from the data. The same
holds for X'Y, which is computed once more where later components have a much smaller covariance
than the first (:attr:`CrossProducts.sides`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from eigenkit.data import Data
from eigenkit.numerics.costs import READ_RATE, fits
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import blas_threads
from eigenkit.numerics.tolerances import DIFFERENCE, EPS, ROUNDING, along


def rounding(r: Array, trace: float, grain: Array | float) -> float:
    """The square of the length that X r may have by rounding alone.

    Products are rounded in proportion to X. The numbers themselves were rounded in proportion to
    their size before they were given: that is the ``grain`` of the columns of X. The Gram matrix
    may have cost the loadings of earlier components, on which r depends, some digits as well.
    """
    share = max(ROUNDING * len(r), EPS / np.sqrt(DIFFERENCE))
    return float(share**2) * trace * float(r @ r) + float(np.sum((r * grain) ** 2))


class Products(Protocol):
    """A matrix that is known by its products."""

    def matmat(self, V: Array, /) -> Array:
        """A V."""
        ...

    def rmatmat(self, U: Array, /) -> Array:
        """A'U."""
        ...


@dataclass(frozen=True)
class CrossProducts:
    """X'Y, Y'Y, the trace of X'X, and X'X as a matrix (or None) and as a function of data.

    ``grain`` and ``grain_y`` hold the lengths that columns of X and Y may have by rounding;
    ``sides`` gives X and Y themselves.
    """

    xy: Array
    yy: Array
    trace: float
    grain: Array
    grain_y: Array
    gram: Array | None
    from_data: Callable[[Array], Array]
    sides: Callable[[], tuple[Products, Array]]
    own_threads: AbstractContextManager[Any] = Data.threads

    def apply(self, r: Array) -> tuple[Array, float]:
        """X'X r and r'X'X r."""
        if self.gram is not None:
            g = self.gram @ r
            if r @ g > DIFFERENCE * self.trace * (r @ r):
                return g, float(r @ g)
        g = self.from_data(r)
        return g, float(r @ g)

    def is_rounding(self, w: Array, c: Array, covariance: float, yy: Array | None = None) -> bool:
        """Whether the scores X w or Y c are no more than rounding.

        A covariance is at most the product of their lengths: over one of them it bounds the
        other from below, to more digits than Y'Y would give. ``yy`` is Y'Y of what is left of Y.
        """
        length = float(np.sqrt(max(float(c @ (self.yy if yy is None else yy) @ c), 0.0)))
        if covariance <= along(w[:, None], self.grain)[0] * length:
            return True
        least = float(along(c[:, None], self.grain_y)[0])
        if covariance > least * np.sqrt(self.trace * (w @ w)):
            return False
        return bool(covariance <= least * np.sqrt(self.apply(w)[1]))

    def threads(self) -> AbstractContextManager[Any]:
        """One BLAS thread where the products are small, or where our own threads do the work."""
        return self.own_threads if self.gram is None else blas_threads(len(self.xy))


@dataclass(frozen=True)
class Block:
    """One side of the problem: ``A = Z diag(factor)``, centred, weighted and scaled.

    In the units of the data A is (X - mean) / std, times ``unit`` where the numbers are so
    large or small that their squares would leave the range of floating point.
    """

    Z: Data
    factor: Array
    std: Array
    unit: float

    @property
    def grain(self) -> Array:
        """The lengths that columns of A may have by rounding."""
        return np.asarray(self.Z.grain() * self.factor)

    @classmethod
    def of(cls, Z: Data, scale: bool, squares: Array, freedom: float | None = None) -> Block:
        """From ``squares``, the diagonal of Z'Z; ``scale`` divides columns by their deviation.

        Some of the rows of Z have fewer degrees of ``freedom`` than all of them.
        """
        units, still = Z.units, Z.constant | (squares <= 0)
        if scale:
            freedom = Z.freedom if freedom is None else freedom
            root = np.sqrt(np.where(still, 1.0, squares / freedom))
            return cls(Z, np.where(still, 0.0, 1 / root), np.where(still, 1.0, root / units), 1.0)
        unit = float(units[~still].min()) if not still.all() else 1.0
        return cls(Z, np.where(still, 0.0, unit / units), np.ones(len(squares)), unit)

    def matmat(self, V: Array) -> Array:
        """A V."""
        return self.Z.matmat(V * self.factor[:, None])

    def rmatmat(self, U: Array) -> Array:
        """A'U."""
        return self.Z.rmatmat(U) * self.factor[:, None]

    def cross(self, H: Any) -> Array:
        """A'H for a target."""
        return self.Z.cross(H) * self.factor[:, None]

    def gram_product(self, r: Array) -> Array:
        """A'A r, by two passes over the data."""
        return self.rmatmat(self.matmat(r[:, None]))[:, 0]

    def toarray(self) -> Array:
        """A as a dense matrix."""
        return self.Z.toarray() * self.factor


def gram_pays(Z: Data, n_components: int) -> bool:
    """Whether Z'Z is cheaper than two passes over the data for every component.

    Never where it would not fit; for wide data it does not pay unless many components are
    asked for.
    """
    d = Z.shape[1]
    if not fits(d):
        return False
    passes = Z.seconds_for_passes(1)
    return Z.seconds_for_gram() + n_components * d * d / READ_RATE < n_components * passes


def blocks(
    Z: Data,
    Y: Data,
    scale: tuple[bool, bool],
    n_components: int,
    G: Array | None = None,
) -> tuple[Block, Block, CrossProducts]:
    """Both sides of the problem and their cross-products, from centred data.

    ``G`` is Z'Z where that is known already; it is overwritten.
    """
    if G is None and gram_pays(Z, n_components):
        G = Z.gram()
    squares = Z.column_squares() if G is None else G.diagonal().copy()
    Z.grain(squares)  # which need not be computed again
    X = Block.of(Z, scale[0], squares)
    right = Y.toarray()
    B = Block.of(Y, scale[1], np.einsum("ij,ij->j", right, right))
    right *= B.factor
    if G is not None:
        G *= X.factor
        G *= X.factor[:, None]
        trace = float(np.trace(G))
    else:
        trace = float(np.sum(squares * X.factor**2))
    products = X.rmatmat(right), right.T @ right
    grains = X.grain, B.grain
    sides = lambda: (X, B.toarray())  # noqa: E731
    cross = CrossProducts(*products, trace, *grains, G, X.gram_product, sides, Z.threads)
    return X, B, cross
