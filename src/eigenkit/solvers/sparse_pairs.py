"""Pairs of sparse projections (w_x, w_y), one after the other.

A pair is found on views with columns of unit length. With T and U orthonormal bases of the
scores of earlier pairs, it has a large

    w_x'X' (I - T T') (I - U U') Y w_y / (|X w_x| |Y w_y|)

The numerator counts only what earlier scores do not explain; the lengths are those of whole
scores, as the weights apply to X and Y themselves. Without sparsity the pairs are those of CCA.
Projections are implicit, so sparse views stay sparse. Ways to find a pair:

============= ==========================================================================
pmd           soft-thresholded singular vectors of X'Y (views taken as uncorrelated within)
alternating   lasso of Y w_y on X, then of X w_x on Y, until they agree
greedy        forward selection: the variable of either view that adds most correlation
least_squares lasso of every column of Y (Y'Y)^(-1/2) on X; all pairs at once
============= ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.linalg import norm
from scipy import linalg as sla

from eigenkit.data import Centered, Rescaled
from eigenkit.numerics.linalg import Array, eigenpairs, fixed_start, normalized, ratio, signs
from eigenkit.numerics.tolerances import DEPENDENT, GAIN_TIE, RANK_TOL, along
from eigenkit.pencil import Report
from eigenkit.solvers.lasso import Fit, Product, Sparsity, lasso, settled_pair

# Start vectors from this many power steps on X'Y Y'X.
POWER_STEPS = 50
# X'Y is kept as a matrix up to this many entries.
CROSS_LIMIT = 10**7
# From then on targets are averaged with the last ones: sweeps that go back and forth between
# two sets of variables settle.
FREE_SWEEPS = 20


@dataclass(frozen=True)
class View:
    """The columns of X = Z diag(factor) at unit length, and the orthonormal T to leave out."""

    X: Rescaled
    T: Array
    squares: Array  # squared lengths of what is left of the columns
    whole: Array  # and of all
    grain: Array  # the lengths that they may have by rounding

    @classmethod
    def of(cls, Z: Centered, scale: bool) -> View:
        """Columns at unit length, or (without ``scale``) only together at a moderate size."""
        squares = Z.column_squares()
        squares[Z.constant] = 0.0
        lengths = np.sqrt(squares) if scale else np.full(Z.shape[1], np.sqrt(squares.max()))
        inverse = ratio(1.0, lengths, squares > 0)
        Z.grain(squares)  # which need not be computed again
        X = Rescaled(Z, squares, inverse)
        whole = X.column_squares()
        return cls(X, np.empty((Z.shape[0], 0)), whole, whole, X.grain())

    @property
    def width(self) -> int:
        return len(self.squares)

    def outside(self, S: Array) -> Array:
        """(I - T T') S."""
        return np.asarray(S - self.T @ (self.T.T @ S))

    def matmat(self, V: Array) -> Array:
        """(I - T T') X V."""
        return self.outside(self.X.matmat(V))

    def rmatmat(self, U: Array) -> Array:
        """X'(I - T T') U."""
        return self.X.rmatmat(self.outside(U))

    def toarray(self) -> Array:
        """(I - T T') X as a dense matrix: for y, which is dense anyway."""
        return self.outside(self.X.toarray())

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing but rounding is left of any column."""
        return bool(np.all(self.squares <= np.maximum(DEPENDENT * self.whole, self.grain**2)))

    def without(self, t: Array) -> View:
        """The view without the direction of the score t (in its span already)."""
        t = self.outside(t[:, None] / norm(t))  # once more, against rounding where little is left
        t /= norm(t)
        taken = self.rmatmat(t)[:, 0]
        left = np.maximum(self.squares - taken**2, 0.0)
        return replace(self, T=np.hstack([self.T, t]), squares=left)


@dataclass(frozen=True)
class Request:
    """What a pair should look like, and when to stop looking."""

    x: Sparsity
    y: Sparsity
    tol: float
    max_iter: int


@dataclass(frozen=True)
class Pairs:
    """W_x (d x l), W_y (k x l) in the units of the data, and how they were found."""

    W_x: Array
    W_y: Array
    report: Report = field(compare=False)


Finder = Callable[[View, View, Request], tuple[Array, Array, int, bool]]


def sparse_pairs(
    Zx: Centered, Zy: Centered, method: str, requests: Sequence[Request], scale: bool
) -> Pairs:
    """A pair for every request, by the method; fewer where nothing is left to find."""
    x, y = View.of(Zx, scale), View.of(Zy, scale)
    if method == "least_squares":
        return _least_squares(x, y, len(requests), requests[0])
    found: list[tuple[Array, Array]] = []
    sweeps, converged = 0, True
    for request in requests:
        if x.is_exhausted or y.is_exhausted:
            break
        a, b, n_iter, done = FINDERS[method](x, y, request)
        t, u = x.matmat(a[:, None])[:, 0], y.matmat(b[:, None])[:, 0]
        if abs(t @ u) <= RANK_TOL * norm(x.X.matmat(a[:, None])) * norm(y.X.matmat(b[:, None])):
            break
        found.append((a, b))
        sweeps, converged = max(sweeps, n_iter), converged and done
        x, y = x.without(t), y.without(u)
    report = Report("one by one", method, "as asked", sweeps, converged)
    return _finish(x, y, found, requests[0], report)


def _finish(
    x: View, y: View, found: list[tuple[Array, Array]], request: Request, report: Report
) -> Pairs:
    """Scores of unit length on the whole views, positively correlated; signs by the rule."""
    W = [np.reshape([w[i] for w in found], (-1, v.width)).T for i, v in enumerate((x, y))]
    scores = [v.X.matmat(w) for v, w in zip((x, y), W, strict=True)]
    W = [w / norm(s, axis=0) for w, s in zip(W, scores, strict=True)]
    sign = signs(W[0])
    opposed = (not request.y.nonnegative) & (np.sum(scores[0] * scores[1], axis=0) < 0)
    signed = (W[0] * sign, W[1] * np.where(opposed, -sign, sign))
    W_x, W_y = (v.X.to_X(w) for v, w in zip((x, y), signed, strict=True))
    return Pairs(W_x, W_y, replace(report, products=x.X.products))


# -- soft-thresholded singular vectors -----------------------------------------------------


def _cross(x: View, y: View) -> tuple[Product, Product]:
    """v -> X'Y v and u -> Y'X u."""
    if x.width * y.width <= CROSS_LIMIT:
        C = x.rmatmat(y.toarray())
        return (lambda v: C @ v), (lambda u: C.T @ u)
    return (
        lambda v: x.rmatmat(y.matmat(v[:, None]))[:, 0],
        lambda u: y.rmatmat(x.matmat(u[:, None]))[:, 0],
    )


def _start(y: View, request: Request, forward: Product, backward: Product) -> Array:
    """About the leading right singular vector of X'Y, from a fixed start."""
    v = fixed_start(y.width)
    for _ in range(POWER_STEPS):
        v = backward(forward(v / norm(v)))
        if not np.any(v):
            return v
    v /= norm(v)
    return np.abs(v) if request.y.nonnegative else v


def pmd(x: View, y: View, request: Request) -> tuple[Array, Array, int, bool]:
    """The penalized matrix decomposition: u = S(X'Y v), v = S(Y'X u), at unit length."""
    products = _cross(x, y)
    start = np.zeros(x.width), _start(y, request, *products)
    stop = request.tol, request.max_iter
    u, v, sweeps, change = settled_pair(products, start, (request.x, request.y), *stop)
    return u, v, sweeps, change <= request.tol


# -- alternating lasso ---------------------------------------------------------------------


def alternating(x: View, y: View, request: Request) -> tuple[Array, Array, int, bool]:
    """Lasso of the other view's score, in turn, each score at unit length."""
    a, b = np.zeros(x.width), _start(y, request, *_cross(x, y))
    t, u = np.zeros(len(x.T)), normalized(y.X.matmat(b[:, None])[:, 0])
    fit_x, fit_y = lasso(x.X, request.x), lasso(y.X, request.y)
    for sweep in range(1, request.max_iter + 1):
        last = 0.0 if sweep <= FREE_SWEEPS else 1.0
        a_new, t_new = _regressed(x, fit_x, y.outside(u), a)
        t = normalized(t_new + last * t)
        start = b if sweep > 1 else np.zeros(y.width)
        b_new, u_new = _regressed(y, fit_y, x.outside(t), start)
        u = normalized(u_new + last * u)
        change = max(float(np.abs(a_new - a).max()), float(np.abs(b_new - b).max()))
        size = max(float(np.abs(a_new).max()), float(np.abs(b_new).max()))
        a, b = a_new, b_new
        if change <= request.tol * size or not np.any(t) or not np.any(u):
            return a, b, sweep, True
    return a, b, request.max_iter, False


def _regressed(view: View, fit: Fit, target: Array, start: Array) -> tuple[Array, Array]:
    """Sparse weights for a target, and their score at unit length."""
    w = fit(view.rmatmat(target[:, None])[:, 0], start)
    score = view.X.matmat(w[:, None])[:, 0]
    size = norm(score)
    return (w / size, score / size) if size else (w, score)


# -- greedy forward selection ----------------------------------------------------------------


class _Side:
    """One view during the greedy selection: what is chosen, and products with it."""

    def __init__(self, view: View, limit: int) -> None:
        self.view, self.limit = view, min(limit, view.width)
        self.chosen: list[int] = []
        self.Q = np.empty((len(view.T), 0))
        self.onto_own = np.empty((view.width, 0))
        self.onto_other = np.empty((view.width, 0))

    def free(self) -> Array:
        """Squared length of every variable outside the span of the chosen; 0 where none is left."""
        rest = self.view.whole - np.sum(self.onto_own**2, axis=1)
        least = DEPENDENT * self.view.whole.max()
        rest[rest <= np.maximum(least, self.view.grain**2)] = 0.0
        rest[self.chosen] = 0.0
        return np.asarray(rest)

    def best(self, M: Array) -> tuple[float, int]:
        """The largest squared correlation that one more variable gives, and which it is."""
        rest = self.free()
        if len(self.chosen) >= self.limit or not np.any(rest):
            return -1.0, -1
        left = self.onto_other - self.onto_own @ M
        rows = ratio(left, np.sqrt(rest)[:, None])
        grown = M.T @ M + rows[:, :, None] * rows[:, None, :]
        gain = np.where(rest > 0, np.linalg.eigvalsh(grown)[:, -1], -1.0)
        return float(gain.max()), _largest(gain, rest)

    def add(self, index: int, other: _Side) -> None:
        q = self._columns([index])
        for _ in range(2):
            q -= self.Q @ (self.Q.T @ q)
        q /= norm(q)
        self.chosen.append(index)
        self.Q = np.column_stack([self.Q, q])
        self.onto_own = np.column_stack([self.onto_own, self.view.X.rmatmat(q)])
        onto_other = other.view.rmatmat(self.view.outside(q))
        other.onto_other = np.column_stack([other.onto_other, onto_other])

    def product(self, other: _Side) -> Array:
        """Q'(I - T T') (I - U U') Q of both sides."""
        return np.asarray(self.view.outside(self.Q).T @ other.view.outside(other.Q))

    def weights(self, score: Array) -> Array:
        """Weights of the chosen variables that give the score."""
        w = np.zeros(self.view.width)
        w[self.chosen] = np.linalg.lstsq(self._columns(self.chosen), score)[0]
        return w

    def _columns(self, index: list[int]) -> Array:
        units = np.zeros((self.view.width, len(index)))
        units[index, np.arange(len(index))] = 1.0
        return self.view.X.matmat(units)


def greedy(x: View, y: View, request: Request) -> tuple[Array, Array, int, bool]:
    """Add the variable that raises the canonical correlation most, until both sides are full."""
    left, right = _Side(x, request.x.keep or 1), _Side(y, request.y.keep or 1)
    first = _best_pair(x, y)
    if first is None:
        return np.zeros(x.width), np.zeros(y.width), 0, True
    left.add(first[0], right)
    right.add(first[1], left)
    steps = 1
    while True:
        M = left.product(right)
        (gain_x, i), (gain_y, j) = left.best(M), right.best(M.T)
        if max(gain_x, gain_y) < 0:
            break
        if gain_x >= (1 - GAIN_TIE) * gain_y:
            left.add(i, right)
        else:
            right.add(j, left)
        steps += 1
    P, _, Rt = sla.svd(left.product(right))
    return left.weights(left.Q @ P[:, 0]), right.weights(right.Q @ Rt[0]), steps, True


def _best_pair(x: View, y: View) -> tuple[int, int] | None:
    """The variables of largest absolute correlation, or None where there is none."""
    found: list[tuple[float, float, int, int]] = []
    usable = [v.whole > np.maximum(DEPENDENT * v.whole.max(), v.grain**2) for v in (x, y)]
    step = max(1, CROSS_LIMIT // x.width)
    Y = y.toarray()
    for start in range(0, y.width, step):
        columns = np.arange(y.width)[start : start + step]
        C = x.rmatmat(Y[:, columns])
        size = np.sqrt(np.outer(x.whole, y.whole[columns]))
        r = ratio(np.abs(C), size, np.outer(usable[0], usable[1][columns]))
        i, j = map(int, np.unravel_index(_largest(r.ravel(), size.ravel()), r.shape))
        found.append((float(r[i, j]), float(size[i, j]), i, start + j))
    gain, left = (np.array(part) for part in list(zip(*found, strict=True))[:2])
    best, _, i, j = found[_largest(gain, left)]
    return (i, j) if best > 0 else None


def _largest(gain: Array, left: Array) -> int:
    """The variable of largest gain; among equal gains the one of which most is ``left``
    unexplained by those chosen, then the first: unless two agree in both, no order matters."""
    tied = np.flatnonzero(gain >= (1 - GAIN_TIE) * gain.max())
    return int(tied[np.argmax(left[tied] >= (1 - GAIN_TIE) * left[tied].max())])


FINDERS: dict[str, Finder] = {"pmd": pmd, "alternating": alternating, "greedy": greedy}
METHODS = (*FINDERS, "least_squares")


# -- l1 least squares ------------------------------------------------------------------------


def _least_squares(x: View, y: View, l: int, request: Request) -> Pairs:
    """Lasso of each column of Y (Y'Y)^(-1/2) on X; the best correlated l of them, as far as their
    scores are linearly independent."""
    values, V = eigenpairs(y.X.gram())
    keep = values > np.maximum(RANK_TOL * values.max(initial=0.0), along(V, y.grain) ** 2)
    root = (V[:, keep] / np.sqrt(values[keep])) @ V[:, keep].T
    targets = y.matmat(root)
    fit = lasso(x.X, request.x)
    W = np.column_stack([fit(c, np.zeros(x.width)) for c in x.rmatmat(targets).T])
    scores = x.matmat(W)
    size = norm(scores, axis=0) * norm(targets, axis=0)
    product = np.abs(np.sum(scores * targets, axis=0))
    r = ratio(product, size)
    best = [j for j in np.argsort(-r, kind="stable") if r[j] > RANK_TOL]
    order = _independent(best, l, scores, targets)
    found = [(W[:, j], root[:, j]) for j in order]
    return _finish(x, y, found, request, Report("all at once", "least_squares", "as asked"))


def _independent(order: list[int], l: int, *scores: Array) -> list[int]:
    """The first l columns, in this order, that are in no span of those before them."""
    kept: list[int] = []
    bases = [S[:, :0] for S in scores]
    for j in order:
        outside = (_is_outside(S[:, j], Q) for S, Q in zip(scores, bases, strict=True))
        if len(kept) < l and all(outside):
            kept.append(j)
            bases = [np.linalg.qr(S[:, kept])[0] for S in scores]
    return kept


def _is_outside(v: Array, Q: Array) -> bool:
    rest = v
    for _ in range(2):
        rest = rest - Q @ (Q.T @ rest)
    return bool(norm(rest) ** 2 > DEPENDENT * norm(v) ** 2)
