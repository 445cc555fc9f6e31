"""What a PLS fit needs from the data: X'Y, Y'Y and products with X'X, centred and scaled.

The Gram matrix X'X (d x d) is formed where that is cheaper than two passes over the data for
every component (:func:`gram_pays`), and used as long as it is accurate: rounding in it is
relative to its largest entries, so components of small variance are taken from the data. The same
holds for X'Y, which is computed once more where later components have a much smaller covariance
than the first (:attr:`CrossProducts.sides`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenkit.data import Data, Rescaled
from eigenkit.numerics.costs import READ_RATE, fits
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import DIFFERENCE, EPS, ROUNDING, along


def rounding(square: float, d: int, trace: float) -> float:
    """The square of the length that X r may have by the rounding of products, with r'r given.

    They are rounded in proportion to X, whose products have this trace. The Gram matrix may have
    cost the loadings of earlier components, on which r depends, some digits as well.
    """
    return float(max(ROUNDING * d, EPS / np.sqrt(DIFFERENCE)) ** 2) * trace * square


@dataclass(frozen=True)
class CrossProducts:
    """X'Y, Y'Y, the trace of X'X, and X'X as a matrix, or None.

    X says what directions have in common and what is rounding in them; ``grain_y`` holds the
    lengths that columns of Y may have by rounding. ``sides`` gives X and Y to multiply with.
    """

    X: Data
    xy: Array
    yy: Array
    trace: float
    grain_y: Array | float
    gram: Array | None
    sides: Callable[[], tuple[Data, Array]]

    @classmethod
    def of(cls, X: Data, Y: Array, grain_y: Array | float, gram: Array | None) -> CrossProducts:
        """Of centred data and responses that were centred and weighted as they are."""
        trace = X.trace() if gram is None else float(np.trace(gram))
        return cls(X, X.rmatmat(Y), Y.T @ Y, trace, grain_y, gram, lambda: (X, Y))

    def apply(self, r: Array) -> tuple[Array, float]:
        """X'X r and r'X'X r."""
        if self.gram is not None:
            g = self.gram @ r
            if r @ g > DIFFERENCE * self.trace * (r @ r):
                return g, float(r @ g)
        slope, square = self.sides()[0].gradient(r[:, None])
        return slope[:, 0], float(square[0, 0])

    def is_rounding(self, w: Array, c: Array, covariance: float, yy: Array) -> bool:
        """Whether the scores X w or Y c are no more than rounding.

        A covariance is at most the product of their lengths: over one of them it bounds the
        other from below, to more digits than Y'Y would give. ``yy`` is Y'Y of what is left of Y.
        """
        square = max(float(c @ yy @ c), 0.0)
        if covariance <= np.sqrt(self.X.rounded_squares(w[:, None], 0.0)[0] * square):
            return True
        least = float(along(c[:, None], self.grain_y)[0])
        if covariance > least * np.sqrt(self.trace) * self.X.norm(w):
            return False
        return bool(covariance <= least * np.sqrt(self.apply(w)[1]))


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


def rescaled(
    Z: Data, Y: Data, scale: tuple[bool, bool], n_components: int, G: Array | None = None
) -> tuple[Rescaled, Rescaled, CrossProducts]:
    """Both sides of the problem and their cross-products, from centred data.

    ``G`` is Z'Z where that is known already; it is overwritten.
    """
    if G is None and gram_pays(Z, n_components):
        G = Z.gram()
    squares = Z.column_squares() if G is None else G.diagonal().copy()
    Z.grain(squares)  # which need not be computed again
    X, right = Rescaled.of(Z, scale[0], squares), Y.toarray()
    B = Rescaled.of(Y, scale[1], np.einsum("ij,ij->j", right, right))
    right *= B.factor
    if G is not None:
        G *= X.factor
        G *= X.factor[:, None]
    return X, B, CrossProducts.of(X, right, B.grain(), G)
