"""Singular vectors of X'Y: the pairs of directions of largest covariance, all at once.

Rounding of X'Y is relative to its longest columns. Where Y has a direction that is much longer
than others, what these share with X would be lost in it. With V the right singular vectors of Y,

    X'Y = (X'(Y V)) V'

keeps the directions of Y in columns of their own, and Jacobi's method leaves them their digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenkit.numerics.linalg import Array, graded_svd, signs, triangular_factor
from eigenkit.numerics.tolerances import along
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.solvers.cross_products import Block
from eigenkit.solvers.deflation import Components

IDENTITY = "B is the identity"


def singular_pairs(X: Block, Y: Any, factor: Array) -> tuple[Array, Array, Array]:
    """W, s, C with X'Y = W diag(s) C', where X shows more than rounding of its numbers.

    ``factor`` has as many columns as Y, and the same products: factor'factor = Y'Y.
    """
    _, lengths, V = graded_svd(triangular_factor(factor))
    W, s, C = graded_svd(X.rmatmat(Y @ V))
    # Scores of X are at least as long as the covariance divided by the length of those of Y.
    keep = s > along(W, X.grain) * along(C, lengths)
    return W[:, keep], s[keep], V @ C[:, keep]


def largest_covariances(X: Block, Y: Block, count: int) -> Components:
    """The first pairs as components, whose scores nothing is deflated by."""
    B = Y.toarray()
    W, s, C = singular_pairs(X, B, B)
    keep = s > along(C, Y.grain) * np.linalg.norm(X.matmat(W), axis=0)
    W, C, s = W[:, keep][:, :count], C[:, keep][:, :count], s[keep][:count]
    sign, none = signs(W), np.full(len(s), np.nan)
    W, C = W * sign, C * sign
    report = Report("spectral", "svd", "nothing is removed from X or y between components")
    return Components(W, W, W, none, none, C, C, C, none, s, (1,) * len(s), report)


def covariance_axes(pencil: Pencil, factor: Array) -> Solution:
    """The pencil Z'H H'Z w = lambda w, w'w = 1, in the units of X: singular vectors of Xc'H.

    ``factor`` is any matrix with factor'factor = H'H.
    """
    X = Block.of(pencil.Z, False, pencil.Z.column_squares())
    W, s, C = singular_pairs(X, pencil.H, factor)
    with np.errstate(over="ignore", under="ignore"):
        values = (s / X.unit) ** 2
    if not np.all(np.isfinite(values)) or np.any(values == 0):
        raise ValueError(
            "the squared covariances of X and y leave the range of floating point: scale X and y "
            "to sizes near 1."
        )
    sign = signs(W)
    return Solution(W * sign, values, C * sign, Report("spectral", "svd", IDENTITY))
