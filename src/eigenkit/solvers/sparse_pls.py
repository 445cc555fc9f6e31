"""Sparse PLS: pairs of weights of X'Y with few non-zeros.

From the leading singular pair of S on, in turn,

    w = soft(S c) / |soft(S c)|,   c = soft(S'w) / |soft(S'w)|

until neither moves. The threshold of :func:`eigenkit.solvers.lasso.thresholded` is a share of
the largest entry, or the largest entry that is not to be kept. Everything else is the loop of
:mod:`eigenkit.solvers.deflation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenkit.exceptions import warn_of_stopping
from eigenkit.linalg import Array, unit
from eigenkit.solvers.deflation import FindPair, leading_pair
from eigenkit.solvers.lasso import Sparsity, thresholded


@dataclass(frozen=True)
class Request:
    """How sparse the weights of every component are to be, and when to stop."""

    x: Sequence[Sparsity]
    y: Sequence[Sparsity]
    tol: float
    max_iter: int


def finder(request: Request) -> FindPair:
    """The pair for component i, as :func:`eigenkit.solvers.deflation.decompose` wants it."""
    return lambda S, i: sparse_pair(S, request.x[i], request.y[i], request.tol, request.max_iter)


def sparse_pair(
    S: Array, x: Sparsity, y: Sparsity, tol: float, max_iter: int
) -> tuple[Array, Array, float, int]:
    """Unit w and c, w'S c, and the steps until neither changes by more than ``tol``."""
    w, c, sigma = leading_pair(S)
    if sigma == 0.0:
        return w, c, sigma, 1
    change, steps = np.inf, 0
    while change > tol and steps < max_iter:
        steps += 1
        w_new = unit(thresholded(S @ c, x))
        c_new = unit(thresholded(w_new @ S, y))
        change = float(max(np.linalg.norm(w_new - w), np.linalg.norm(c_new - c)))
        w, c = w_new, c_new
    if change > tol:
        warn_of_stopping(
            f"sparse PLS stopped after max_iter={max_iter} steps with weights still changing by "
            f"{change:.1e}: increase max_iter or tol"
        )
    return w, c, float(w @ S @ c), steps
