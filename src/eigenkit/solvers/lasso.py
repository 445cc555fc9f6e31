"""Soft thresholds, and the lasso from products with the data alone.

    w = argmin 1/2 w'G w - c'w + lambda |w|_1,   G = X'X,  c = X't

by accelerated proximal gradient steps with restarts. The penalty is a share of max |c|, the
smallest at which nothing is left, so it means the same for data of any scale; or it is as
small as a bound on the number of non-zeros allows, which is found by following the path of
solutions from the largest penalty down, one column of G for every variable that enters. Of few
rows with many columns every solution is found that way: gradient steps would be many there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from eigenkit.data import Data
from eigenkit.numerics.costs import may_be_dense
from eigenkit.numerics.linalg import Array, fixed_start, normalized, power_norm
from eigenkit.numerics.tolerances import DEPENDENT, EPS

# G is kept as a matrix up to this order.
GRAM_ORDER = 3000
# Where the proximal gradient steps stop: change relative to the largest weight.
TOLERANCE = 1e-9
MAX_STEPS = 5000
# Up to this many rows, and fewer than columns, solutions are found by their path.
FEW_ROWS = 100
# Power steps towards the largest eigenvalue of G, of which a little more bounds the steps.
POWER_STEPS = 60

Product = Callable[[Array], Array]


@dataclass(frozen=True)
class Sparsity:
    """How sparse: a share of the largest penalty (0 to below 1), or a bound on the non-zeros."""

    penalty: float
    keep: int | None = None
    nonnegative: bool = False


def soft(c: Array, threshold: float, nonnegative: bool) -> Array:
    """sign(c) max(|c| - threshold, 0), and only what is positive where ``nonnegative``."""
    if nonnegative:
        return np.maximum(c - threshold, 0.0)
    return np.sign(c) * np.maximum(np.abs(c) - threshold, 0.0)


def thresholded(c: Array, sparsity: Sparsity) -> Array:
    """Soft-threshold at the share of the largest entry, or so that at most ``keep`` are left.

    >>> thresholded(np.array([3.0, -2.0, 1.0]), Sparsity(0.0, keep=2))
    array([ 2., -1.,  0.])
    """
    size = np.maximum(c, 0.0) if sparsity.nonnegative else np.abs(c)
    if sparsity.keep is None:
        return soft(c, sparsity.penalty * float(size.max()), sparsity.nonnegative)
    if sparsity.keep >= len(c):
        return soft(c, 0.0, sparsity.nonnegative)
    order = np.argsort(-size, kind="stable")
    left = soft(c, float(size[order[sparsity.keep]]), sparsity.nonnegative)
    if not np.any(left):  # the largest are all equal: keep the first, with one weight
        kept = order[: sparsity.keep]
        left[kept] = np.sign(c[kept]) * (size[kept] > 0)
    return left


def settled_pair(
    products: tuple[Product, Product],
    start: tuple[Array, Array],
    sparsity: tuple[Sparsity, Sparsity],
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, int, float]:
    """u = soft(S v), v = soft(S'u), at unit length, in turn until neither moves more than ``tol``,
    the number of steps and the last change; ``products`` are v -> S v and u -> S'u."""
    (forward, backward), (u, v), (x, y) = products, start, sparsity
    change, steps = np.inf, 0
    while change > tol and steps < max_iter:
        steps += 1
        u_new = normalized(thresholded(forward(v), x))
        v_new = normalized(thresholded(backward(u_new), y))
        change = float(max(np.linalg.norm(u_new - u), np.linalg.norm(v_new - v)))
        u, v = u_new, v_new
    return u, v, steps, change


Fit = Callable[[Array, Array], Array]


def lasso(X: Data, sparsity: Sparsity) -> Fit:
    """A function of c = X't and a start that gives w."""
    (n, d), keep, nonnegative = X.shape, sparsity.keep, sparsity.nonnegative
    product = _gram_product(X)
    bound = 1.1 * power_norm(product, fixed_start(d), POWER_STEPS)
    share = 0.0 if keep is not None else sparsity.penalty

    def fit(c: Array, start: Array) -> Array:
        largest = float((c if nonnegative else np.abs(c)).max())
        if bound == 0 or largest <= 0:
            return np.zeros_like(c)
        if keep is not None and keep < d:
            return _Path(product, c, nonnegative).until(keep)
        penalty = share * largest
        if 2 * n < d and n <= FEW_ROWS and penalty > 0:
            start = _Path(product, c, nonnegative, penalty).until(d)
            r, inside = c - product(start), start != 0
            beyond = float((r if nonnegative else np.abs(r)).max()) - penalty
            missed = np.abs(r[inside] - penalty * np.sign(start[inside])).max(initial=0.0)
            if max(beyond, missed) <= TOLERANCE * penalty:  # its correlations are of a solution
                return start
        return _proximal(product, bound, c, penalty, nonnegative, start)

    return fit


def _gram_product(X: Data) -> Product:
    """w -> G w, by whatever takes the least time."""
    n, d = X.shape
    if 2 * n < d and may_be_dense((n, d)):  # few rows: both products are short
        A = X.toarray()
        return lambda w: np.asarray((A @ w) @ A)
    return partial(np.matmul, X.gram()) if d <= GRAM_ORDER else lambda w: X.normal(w[:, None])[:, 0]


def _proximal(
    product: Product, bound: float, c: Array, penalty: float, nonnegative: bool, start: Array
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


class _Path:
    """The solutions w(lambda) from the largest penalty down, as variables enter and leave.

    Between two such events w moves along (G_AA)^-1 sign(w_A), with A the variables that are
    in, and the correlations r = c - G w of those stay at +-lambda.
    """

    def __init__(self, product: Product, c: Array, nonnegative: bool, end: float = 0.0) -> None:
        self.product, self.nonnegative, self.end = product, nonnegative, end
        self.r, self.w = c.copy(), np.zeros_like(c)
        self.open = np.ones(len(c), dtype=bool)  # may still enter
        self.inside: list[int] = []
        self.columns: dict[int, Array] = {}

    def until(self, keep: int) -> Array:
        """w at the smallest penalty, above the end, before more than ``keep`` variables are in."""
        size = self.r if self.nonnegative else np.abs(self.r)
        level, entering = float(size.max()), int(np.argmax(size))
        end = self.end + EPS * level
        for _ in range(MAX_STEPS):
            if level <= end:
                break
            if entering >= 0:
                self.open[entering] = False
                if self._is_new(entering):
                    if len(self.inside) < keep:
                        self.inside.append(entering)
                    elif np.any(self.w):
                        break  # else more are tied for the first place than may be in
            step, entering = self._advance(level)
            level -= step
        return self.w

    def _is_new(self, j: int) -> bool:
        """Whether a variable adds anything to those that are in."""
        if j not in self.columns:
            unit = np.zeros_like(self.w)
            unit[j] = 1.0
            self.columns[j] = self.product(unit)
        column, inside = self.columns[j], self.inside
        explained = column[inside] @ np.linalg.solve(self._block(), column[inside])
        return bool(column[j] - explained > DEPENDENT * column[j])

    def _block(self) -> Array:
        n = len(self.inside)
        return np.array([self.columns[j][self.inside] for j in self.inside]).reshape(n, n)

    def _advance(self, level: float) -> tuple[float, int]:
        """Go to the next event; the step, and the variable that enters there or -1."""
        inside = self.inside
        direction = np.asarray(np.linalg.solve(self._block(), np.sign(self.r[inside])), float)
        g = sum(d * self.columns[j] for d, j in zip(direction, inside, strict=True))
        steps = self._entries(level, np.asarray(g))
        entering = int(np.argmin(steps))
        most = level - self.end
        step = min(float(steps[entering]), most)
        leaving = self._exits(direction)
        first = int(np.argmin(leaving))
        leaves = bool(leaving[first] < step)
        step = float(leaving[first]) if leaves else step
        self.w[inside] += step * direction
        self.r = self.r - step * g
        if leaves:
            self.w[inside[first]] = 0.0
            inside.pop(first)
            if step > 0:  # those that stayed out did so beside it
                self.open[:] = True
                self.open[inside] = False
        return step, -1 if leaves or step >= most else entering

    def _exits(self, direction: Array) -> Array:
        """How far to go until each variable leaves; infinity where it never does."""
        w, sign = self.w[self.inside], np.sign(self.r[self.inside])
        with np.errstate(divide="ignore", invalid="ignore"):
            exits = -w / direction
        exits[~(exits > 0)] = np.inf
        # Of several variables that enter together, one may get the wrong sign: it is taken out.
        exits[(w == 0) & (direction * sign < 0)] = 0.0
        return exits

    def _entries(self, level: float, g: Array) -> Array:
        """How far to go until each variable enters; infinity where it never does."""
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = (level - self.r) / (1 - g), (level + self.r) / (1 + g)
        # One that has just left is at the level and moves inwards, faster than the level: if it
        # came back, it would have the wrong sign. Those that are tied with one that has just come
        # in are at the level too, up to rounding, and come in at once.
        up[~self.open | (g >= 1)] = np.inf
        down[~self.open | (g <= -1) | self.nonnegative] = np.inf
        return np.maximum(np.minimum(up, down), 0.0)
