"""Singular vectors of X'Y: the pairs of directions of largest covariance, all at once.

Rounding of X'Y is relative to its longest columns. Where Y has a direction that is much longer
than others, what these share with X would be lost in it. With V the right singular vectors of Y,

    X'Y = (X'(Y V)) V'

keeps the directions of Y in columns of their own, and Jacobi's method leaves them their digits. It
takes much longer than other methods where Y has many columns, and is of no use to pairs whose
covariance is not much smaller than the largest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as sla

from eigenkit.data import Data, Rescaled
from eigenkit.numerics.linalg import Array, graded_svd, signs, triangular_factor
from eigenkit.numerics.threads import blas_threads
from eigenkit.numerics.tolerances import TWELVE_DIGITS
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.solvers.deflation import Components

IDENTITY = "B is the identity"

# Up to this order, Jacobi's method takes no time to speak of.
JACOBI_ORDER = 64


def singular_pairs(
    X: Data, Y: Any, factor: Array, count: int | None = None
) -> tuple[Array, Array, Array]:
    """W, s, C with X'Y = W diag(s) C', where X shows more than rounding of its numbers.

    ``factor`` has as many columns as Y, and the same products: factor'factor = Y'Y. Pairs beyond
    ``count`` may be left out.
    """
    few = count is not None and factor.shape[1] > JACOBI_ORDER
    if few and (found := _plain_pairs(X.cross(Y), count)):
        W, s, C = found
    else:
        V = graded_svd(triangular_factor(factor))[2]
        W, s, C = graded_svd(X.rmatmat(Y @ V))
        C = V @ C
    # Scores of X are at least as long as the covariance divided by the length of those of Y.
    keep = s > X.floor(W) * np.linalg.norm(factor @ C, axis=0)
    return W[:, keep], s[keep], C[:, keep]


def _plain_pairs(S: Array, count: int | None) -> tuple[Array, Array, Array] | None:
    """The first pairs; None where some of them have lost digits beside the first."""
    with blas_threads(S.shape[1]):
        W, s, Ct = sla.svd(S, full_matrices=False)
    W, s, C = W[:, :count], s[:count], Ct[:count].T
    return (W, s, C) if s[-1] > TWELVE_DIGITS * s[0] else None


def largest_covariances(X: Data, Y: Data, count: int) -> Components:
    """The first pairs as components, whose scores nothing is deflated by."""
    B = Y.toarray()
    W, s, C = singular_pairs(X, B, B, count)
    keep = s > Y.floor(C) * np.linalg.norm(X.matmat(W), axis=0)
    W, C, s = W[:, keep][:, :count], C[:, keep][:, :count], s[keep][:count]
    sign, none = signs(W), np.full(len(s), np.nan)
    W, C = W * sign, C * sign
    report = Report("spectral", "svd", "nothing is removed from X or y between components")
    return Components(W, W, W, none, none, C, C, C, none, s, (1,) * len(s), report)


def covariance_axes(pencil: Pencil, factor: Array, count: int | None = None) -> Solution:
    """The pencil Z'H H'Z w = lambda w, w'w = 1, in the units of X: singular vectors of Xc'H.

    ``factor`` is any matrix with factor'factor = H'H; those beyond ``count`` may be left out.
    """
    X = Rescaled.of(pencil.Z, False, pencil.Z.column_squares())
    W, s, C = singular_pairs(X, pencil.H, factor, count)
    with np.errstate(over="ignore", under="ignore"):
        values = (s / X.unit) ** 2
    if not np.all(np.isfinite(values)) or np.any(values == 0):
        raise ValueError(
            "the squared covariances of X and y leave the range of floating point: scale X and y "
            "to sizes near 1."
        )
    sign = signs(W)
    report = Report("spectral", "svd", IDENTITY, products=pencil.Z.products)
    return Solution(W * sign, values, C * sign, report)
