"""Soft thresholds, and the lasso from products with the data alone.

    w = argmin 1/2 w'G w - c'w + lambda |w|_1,   G = X'X,  c = X't

by accelerated proximal gradient steps with restarts. The penalty is a share of max |c|, the
smallest at which nothing is left, so it means the same for data of any scale; or it is as
small as a bound on the number of non-zeros allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from eigenkit.linalg import Array

# G is kept as a matrix up to this order.
GRAM_ORDER = 3000
# Where the proximal gradient steps stop: change relative to the largest weight.
TOLERANCE = 1e-9
MAX_STEPS = 5000
# Halvings of the penalty's interval when a number of non-zeros is asked for.
BISECTIONS = 30


@dataclass(frozen=True)
class Sparsity:
    """How sparse: a share of the largest penalty (0 to below 1), or a bound on the non-zeros."""

    penalty: float
    n_nonzero: int | None = None
    nonnegative: bool = False


class Matrix(Protocol):
    """What the lasso needs of the data."""

    @property
    def width(self) -> int: ...
    def matmat(self, V: Array) -> Array: ...
    def rmatmat(self, U: Array) -> Array: ...
    def gram(self) -> Array: ...


def soft(c: Array, threshold: float, nonnegative: bool) -> Array:
    """sign(c) max(|c| - threshold, 0), and only what is positive where ``nonnegative``."""
    if nonnegative:
        return np.maximum(c - threshold, 0.0)
    return np.sign(c) * np.maximum(np.abs(c) - threshold, 0.0)


def thresholded(c: Array, sparsity: Sparsity) -> Array:
    """Soft-threshold at the share of the largest entry, or so that at most n_nonzero are left.

    Examples
    --------
    >>> thresholded(np.array([3.0, -2.0, 1.0]), Sparsity(0.0, n_nonzero=2))
    array([ 2., -1.,  0.])
    """
    size = np.maximum(c, 0.0) if sparsity.nonnegative else np.abs(c)
    if sparsity.n_nonzero is None:
        return soft(c, sparsity.penalty * float(size.max()), sparsity.nonnegative)
    if sparsity.n_nonzero >= len(c):
        return soft(c, 0.0, sparsity.nonnegative)
    return soft(c, float(np.sort(size)[-1 - sparsity.n_nonzero]), sparsity.nonnegative)


Fit = Callable[[Array, Array, float], tuple[Array, float]]


def lasso(X: Matrix, sparsity: Sparsity) -> Fit:
    """A function of c = X't, a start and the least penalty to try, that gives w and its penalty.

    Penalties are shares of the largest. Where a number of non-zeros is asked for, passing the
    penalty of the last call keeps a sequence of fits from going back and forth.
    """
    product = _gram_product(X)
    bound = 1.1 * _largest_eigenvalue(product, X.width)

    def fit(c: Array, start: Array, least: float) -> tuple[Array, float]:
        size = np.maximum(c, 0.0) if sparsity.nonnegative else np.abs(c)
        largest = float(size.max())
        if bound == 0 or largest == 0:
            return np.zeros_like(c), least

        def solve(share: float, w: Array) -> Array:
            return _proximal(product, bound, c, share * largest, sparsity.nonnegative, w)

        if sparsity.n_nonzero is None:
            return solve(sparsity.penalty, start), sparsity.penalty
        return _bisect(solve, sparsity.n_nonzero, start, least)

    return fit


def _gram_product(X: Matrix) -> Callable[[Array], Array]:
    if X.width <= GRAM_ORDER:
        G = X.gram()
        return lambda w: G @ w
    return lambda w: X.rmatmat(X.matmat(w[:, None]))[:, 0]


def _largest_eigenvalue(product: Callable[[Array], Array], d: int) -> float:
    """About that, from below: by power steps from a fixed start."""
    v = np.cos(np.arange(1.0, d + 1.0))
    value = 0.0
    for _ in range(60):
        size = float(np.linalg.norm(v))
        if size == 0.0:
            break
        v = product(v / size)
        value = float(np.linalg.norm(v))
    return value


def _proximal(
    product: Callable[[Array], Array],
    bound: float,
    c: Array,
    penalty: float,
    nonnegative: bool,
    start: Array,
) -> Array:
    w = z = start
    momentum = 1.0
    for _ in range(MAX_STEPS):
        new = soft(z - (product(z) - c) / bound, penalty / bound, nonnegative)
        if (z - new) @ (new - w) > 0:
            momentum = 1.0  # it has overshot: forget the speed
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        z = new + (momentum - 1) / faster * (new - w)
        change = float(np.abs(new - w).max())
        w, momentum = new, faster
        if change <= TOLERANCE * float(np.abs(w).max(initial=0.0)):
            break
    return w


def _bisect(
    solve: Callable[[float, Array], Array], n_nonzero: int, start: Array, least: float
) -> tuple[Array, float]:
    """A solution with at most n_nonzero non-zeros, and its penalty, not far above the smallest."""
    w = solve(least, start)
    if np.count_nonzero(w) <= n_nonzero:
        return w, least
    low, high, best = least, 1.0, np.zeros_like(start)
    for _ in range(BISECTIONS):
        share = (low + high) / 2
        w = solve(share, w)
        if np.count_nonzero(w) > n_nonzero:
            low = share
        else:
            high, best = share, w
            if np.count_nonzero(w) == n_nonzero:
                break
    return best, high
