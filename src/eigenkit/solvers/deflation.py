"""Partial least squares: one loop for all variants, which differ only in the deflation.

Every variant takes the leading singular pair (w, c, sigma) of S, which starts as X'Y, and
removes from S what the new component explains. With the scores t = X_i w and u = Y_i c:

=========== ===================== ====================================================
deflation   method                what is removed
=========== ===================== ====================================================
regression  PLS2 (PLS1: k = 1)    X and Y by t:   S -= (t't) p q',  q = Y't / t't
canonical   PLS Mode A            X by t, Y by u: S -= p w'S + S c q' - sigma p q'
simpls      SIMPLS                S by the span of the loadings p: S -= v v'S
=========== ===================== ====================================================

X_i is never formed. Its scores are those of X with rotated weights, and its loadings follow
from X'X (the improved kernel algorithm of Dayal and MacGregor):

    X_i w = X r,   r = w - sum_j (p_j'w) r_j,   p = X'X r / (r'X'X r)

so all that is needed are X'Y, Y'Y and products with X'X (:class:`CrossProducts`). The Gram matrix
is formed where that is cheaper than two passes over the data for every component, and used as long
as it is accurate: rounding in it is relative to its largest entries, so components of small
variance are taken from the data. NIPALS, which deflates X and Y themselves, is the reference
(:mod:`eigenkit.solvers.nipals`).

Inner products of directions of X are those of its data: for a kernel, whose directions are dual
coefficients, the loop is that of kernel PLS. In them a loading X'u or S = X'Y comes first, for
which u is known: u'(X w) loses no digits, where products with the kernel would.

Where little is left of S, it is the rounding of X'Y in part. That is relative to the length of Y:
if Y has become short as well, S is computed once more from the data, with Y deflated before it is
multiplied by X' (:meth:`_State.renew`).

Sparse PLS takes other pairs (:func:`sparse_pair`): those in which soft-thresholded products of S
settle (:func:`eigenkit.solvers.lasso.settled_pair`), from its leading singular pair on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack

from eigenkit.data import Data, Rescaled
from eigenkit.exceptions import warn_of_stopping
from eigenkit.numerics.costs import READ_RATE, fits
from eigenkit.numerics.linalg import Array, normalized, power_of_two, signs
from eigenkit.numerics.threads import blas_threads
from eigenkit.numerics.tolerances import DIFFERENCE, EPS, ONE_DIGIT, ROUNDING, along
from eigenkit.pencil import Report
from eigenkit.solvers.lasso import Sparsity, settled_pair

# -- what is needed from the data -------------------------------------------------------


def rounding(square: float, d: int, trace: float) -> float:
    """The square of the length that X r may have by the rounding of products with this trace, r'r
    being ``square``: the Gram matrix may have cost the loadings on which r depends digits."""
    return float(max(ROUNDING * d, EPS / np.sqrt(DIFFERENCE)) ** 2) * trace * square


@dataclass(frozen=True)
class CrossProducts:
    """What products of X and Y say."""

    X: Data  # what directions have in common, and what is rounding in them
    xy: Array
    yy: Array
    trace: float  # of X'X
    grain_y: Array | float  # the lengths that columns of Y may have by rounding
    gram: Array | None  # X'X
    sides: Callable[[], tuple[Data, Array]]  # X and Y to multiply with

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
    """Whether Z'Z fits, and is cheaper than two passes over the data for every component."""
    d = Z.shape[1]
    if not fits(d):
        return False
    passes = Z.seconds_for_passes(1)
    return Z.seconds_for_gram() + n_components * d * d / READ_RATE < n_components * passes


def rescaled(
    Z: Data, Y: Data, scale: tuple[bool, bool], n_components: int, G: Array | None = None
) -> tuple[Rescaled, Rescaled, CrossProducts]:
    """Both sides and their cross-products; G is Z'Z where that is known, and is overwritten."""
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


# -- the loop ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Components:
    """What a decomposition finds, component by component."""

    x_weights: Array
    x_rotations: Array  # these map the undeflated block to scores
    x_loadings: Array
    x_norms: Array  # squared lengths of the scores
    x_taken: Array  # and of what goes with them from the block
    y_weights: Array
    y_rotations: Array
    y_loadings: Array
    y_taken: Array
    singular_values: Array  # of S when each pair was taken
    n_iter: tuple[int, ...]
    report: Report = field(compare=False)

    def __len__(self) -> int:
        return int(self.x_weights.shape[1])


# Directions that are numbers, and no more.
PLAIN = Data()


class Side:
    """Weights, rotations and loadings of one block as they grow."""

    def __init__(self, size: int, n: int, X: Data = PLAIN) -> None:
        self.W, self.R, self.P = (np.zeros((n, size)) for _ in range(3))
        self.norms, self.taken = np.zeros(n), np.zeros(n)
        self.n, self.inner = 0, X.inner

    def rotate(self, w: Array, gaps: bool = False) -> Array:
        """r with X_i w = X r; once more against rounding, so that scores stay orthogonal. With
        ``gaps`` they are not, nor is p_j'r_j = 1: once is all there is."""
        R, P = self.R[: self.n], self.P[: self.n]
        r = w - self.inner(P.T, w) @ R
        return np.asarray(r if gaps else r - self.inner(P.T, r) @ R)

    def outside(self, g: Array) -> Array:
        """X't without the traces of earlier, much longer scores that rounding has left in t: they
        are multiples of the loadings p_j, and r_j'p_j = 1."""
        R, P = self.R[: self.n], self.P[: self.n]
        g = g - P.T @ self.inner(g, R.T).T
        return np.asarray(g - P.T @ self.inner(g, R.T).T)

    def keep(self, w: Array, r: Array, p: Array, norm: float, taken: float | None = None) -> None:
        i = self.n
        self.W[i], self.R[i], self.P[i], self.norms[i] = w, r, p, norm
        self.taken[i] = norm * float(self.inner(p, p)) if taken is None else taken
        self.n += 1


class _State:
    """S, and what was found so far."""

    def __init__(self, cross: CrossProducts, n: int, deflation: str) -> None:
        (d, k), X = cross.xy.shape, cross.X
        self.cross, self.own = cross, deflation == "canonical"  # Y is deflated by its own scores
        self.yy = cross.yy  # of what was left of Y when S was computed from data
        # So that squares stay in range; dividing by a power of two rounds nothing.
        self.unit = float(power_of_two(np.max(np.abs(cross.xy), initial=0.0)))
        self.S = cross.xy / self.unit
        self.x, self.y = Side(d, n, X), Side(k, n)
        self.basis = np.zeros((n if deflation == "simpls" else 0, d))
        self.large, self.seen = X.norm(self.S), 0  # the size of S and the components at that time
        self.least = EPS * max(d, k) * self.large  # a smaller singular value is rounding of S
        self.left: Array | None = None

    def score(self, r: Array, c: Array, sigma: float) -> tuple[Array, float] | None:
        """The loading p = X't / t't of t = X r, and t't; None if X has nothing left in t, or its
        covariance with what is left of Y c is rounding, where that is known."""
        X, trace = self.cross.X, self.cross.trace
        g = self.x.outside(self.cross.apply(r)[0])
        tt = float(X.inner(g, r))
        given = float(X.rounded_squares(r[:, None], 0.0)[0])
        least = given + rounding(X.norm(r) ** 2, len(r), trace)
        known = self.own or self.seen > 0 or self.x.n == 0
        if tt <= least or (known and self.cross.is_rounding(r, c, self.unit * sigma, self.yy)):
            return None
        return g / tt, tt

    def renew(self) -> None:
        """S and Y'Y from the data without the components found, where that restores digits.

        Unless Y is deflated by its own scores, what is left of it keeps its digits: it is what was
        left the last time, less the scores since.
        """
        X, seen = self.cross.X, self.seen
        square, taken = float(np.trace(self.yy)), float(self.y.taken[seen : self.y.n].sum())
        short = square - taken <= ONE_DIGIT**2 * square
        lost = short and X.norm(self.S) <= DIFFERENCE * self.large
        # Directions of a kernel are dual coefficients: sums of them round their scores as well.
        if not self.x.n or (X.plain and not lost):
            return
        X, Y = self.cross.sides()
        if self.own:
            Y = without(Y @ self.y.R[: self.y.n].T, Y)
        left = Y if self.own or self.left is None else self.left
        self.left = F = without(X.matmat(self.x.R[: self.x.n].T), left)
        S = self.x.outside(X.rmatmat(F))
        V = self.basis[: self.x.n]
        self.S[:] = (S - V.T @ X.inner(S, V.T).T) / self.unit if len(V) else S / self.unit
        self.yy = Y.T @ Y if self.own else F.T @ F
        self.large, self.seen = X.norm(self.S), self.y.n
        length = np.sqrt(self.cross.trace * np.vdot(F, F))
        self.least = min(self.least, EPS * max(S.shape) * float(length) / self.unit)


def without(T: Array, Y: Array) -> Array:
    """Y outside the span of the scores T."""
    T = T / np.linalg.norm(T, axis=0)
    for _ in range(3):  # T is orthogonal but for traces of longer scores, fewer each round
        Y = Y - T @ (T.T @ Y)
    return Y


def _regression(s: _State, w: Array, c: Array, sigma: float) -> bool:
    r = s.x.rotate(w)
    if (found := s.score(r, c, sigma)) is None:
        return False
    p, tt = found
    tq = s.cross.X.inner(s.S, r)
    s.S -= p[:, None] * tq
    q = tq * (s.unit / tt)
    s.x.keep(w, r, p, tt)
    s.y.keep(q, q, q, tt)
    return True


def _canonical(s: _State, w: Array, c: Array, sigma: float) -> bool:
    r, ry = s.x.rotate(w), s.y.rotate(c)
    gy = s.yy @ ry
    uu = float(ry @ gy)
    if uu <= (EPS * len(ry)) ** 2 * np.trace(s.cross.yy) * (ry @ ry):
        return False
    if (found := s.score(r, ry, sigma)) is None:
        return False
    (p, tt), q = found, gy / uu
    # sigma c and sigma w only for a singular pair
    onto_t, onto_u = s.cross.X.inner(s.S, w), s.S @ c
    s.S -= p[:, None] * (onto_t - sigma * q) + onto_u[:, None] * q
    s.x.keep(w, r, p, tt)
    s.y.keep(c, ry, q, uu)
    return True


def _simpls(s: _State, w: Array, c: Array, sigma: float) -> bool:
    V, X = s.basis[: s.x.n], s.cross.X
    w = w - X.inner(V.T, w) @ V
    w /= X.norm(w)
    if (found := s.score(w, c, sigma)) is None:
        return False
    p, tt = found
    v = p - X.inner(p, V.T) @ V
    v -= X.inner(v, V.T) @ V
    v /= X.norm(v)
    s.basis[s.x.n] = v
    q = X.inner(s.S, w) * (s.unit / tt)
    s.S -= v[:, None] * X.inner(s.S, v)
    s.x.keep(w, w, p, tt)
    s.y.keep(c, c, q, tt)
    return True


DEFLATIONS: dict[str, Callable[[_State, Array, Array, float], bool]] = {
    "regression": _regression,
    "canonical": _canonical,
    "simpls": _simpls,
}


# A pair of unit weights (w, c) for S, sigma = w'S c, the steps it took and whether they converged;
# called with the number of components before it.
FindPair = Callable[[Array, int], tuple[Array, Array, float, int, bool]]


def decompose(
    cross: CrossProducts, n_components: int, deflation: str, find: FindPair | None = None
) -> Components:
    """Take up to ``n_components`` components; fewer where nothing is left but rounding. The pairs
    of weights that ``find`` gives are kept as they are; by default these are singular."""
    state, values, n_iter, converged = _State(cross, n_components, deflation), [], [], True
    with cross.X.threads if cross.gram is None else blas_threads(len(cross.xy)):
        for i in range(n_components):
            state.renew()
            if find is None:
                w, c, sigma, steps, settled = *leading_pair(state.S, cross.X), 0, True
            else:
                w, c, sigma, steps, settled = find(state.S, i)
            if sigma <= state.least or not DEFLATIONS[deflation](state, w, c, sigma):
                break
            if find is not None:
                state.y.W[i] = c  # where y is regressed on t, its loadings stand there
            values.append(sigma)
            n_iter.append(steps)
            converged = converged and settled
    how = "gram", "X'X is known, or takes less time than passes over X"
    if cross.gram is None:
        how = "passes", "passes over X take less time or memory than X'X"
    report = Report("deflation", *how, max(n_iter, default=0), converged)
    return components_of(state.x, state.y, state.unit * np.array(values), n_iter, report)


def leading_pair(S: Array, X: Data = PLAIN) -> tuple[Array, Array, float]:
    """The singular triplet w, c, sigma of the largest singular value of S, whose columns are
    directions of X."""
    if S.shape[1] == 1:
        w = S[:, 0]
    else:
        across = S.shape[1] > S.shape[0] and X.plain
        M = S @ S.T if across else X.inner(S, S)
        n = len(M)
        # LAPACK is called directly: for the usual small M, scipy's checks would take longer.
        _, vectors, _, _, info = lapack.dsyevr(M, range="I", il=n, iu=n, lower=1)
        if info:
            raise np.linalg.LinAlgError(f"LAPACK's dsyevr failed on a {n} x {n} matrix: {info}")
        w = S @ (S.T @ vectors[:, 0] if across else vectors[:, 0])
    w = w / (X.norm(w) or 1.0)
    c = X.inner(S, w)
    return w, normalized(c), float(np.linalg.norm(c))


def sparse_pair(
    S: Array, x: Sparsity, y: Sparsity, tol: float, max_iter: int
) -> tuple[Array, Array, float, int, bool]:
    """Unit w and c, w'S c, the steps until neither changes by more than ``tol``, and whether."""
    w, c, sigma = leading_pair(S)
    if sigma == 0.0:
        return w, c, sigma, 1, True
    products = lambda c: S @ c, lambda w: w @ S
    w, c, steps, change = settled_pair(products, (w, c), (x, y), tol, max_iter)
    if change > tol:
        warn_of_stopping(
            f"sparse PLS stopped after max_iter={max_iter} steps with weights still changing by "
            f"{change:.1e}: increase max_iter or tol"
        )
    return w, c, float(w @ S @ c), steps, change <= tol


def components_of(x: Side, y: Side, values: Array, n_iter: list[int], report: Report) -> Components:
    """The arrays with components as columns, the largest entry of every x-weight positive."""
    l = len(values)
    sign = signs(x.W[:l].T)
    xw, xr, xp, yw, yr, yp = (A[:l].T * sign for s in (x, y) for A in (s.W, s.R, s.P))
    of_x, of_y = (xw, xr, xp, x.norms[:l], x.taken[:l]), (yw, yr, yp, y.taken[:l])
    return Components(*of_x, *of_y, values, tuple(n_iter), report)
