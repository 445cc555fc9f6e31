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

so all that is needed are X'Y, Y'Y and products with X'X. These come from the Gram matrix
where it is cheap and accurate enough, from the data otherwise. NIPALS, which deflates X and Y
themselves, is the reference (:mod:`eigenkit.solvers.nipals`).

Inner products of directions of X are those of its data: for a kernel, whose directions are dual
coefficients, the loop is that of kernel PLS. In them a loading X'u or S = X'Y comes first, for
which u is known: u'(X w) loses no digits, where products with the kernel would.

Where little is left of S, it is the rounding of X'Y in part. That is relative to the length of Y:
if Y has become short as well, S is computed once more from the data, with Y deflated before it is
multiplied by X' (:meth:`_State.renew`).

Sparse PLS takes other pairs (:func:`sparse_pair`): from the leading singular pair of S on, in turn,

    w = soft(S c) / |soft(S c)|,   c = soft(S'w) / |soft(S'w)|

until neither moves. The threshold of :func:`eigenkit.solvers.lasso.thresholded` is a share of
the largest entry, or the largest entry that is not to be kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack

from eigenkit.data import Data
from eigenkit.exceptions import warn_of_stopping
from eigenkit.numerics.linalg import Array, normalized, power_of_two, signs
from eigenkit.numerics.threads import blas_threads
from eigenkit.numerics.tolerances import DIFFERENCE, EPS, ONE_DIGIT
from eigenkit.pencil import Report
from eigenkit.solvers.cross_products import CrossProducts, rounding
from eigenkit.solvers.lasso import Sparsity, settled_pair


@dataclass(frozen=True)
class Components:
    """What a decomposition finds, component by component.

    ``rotations`` map the undeflated block to scores, ``norms`` are the squared lengths of the
    scores, ``taken`` those of the block that go with them; ``singular_values`` those of S when each
    pair was taken.
    """

    x_weights: Array
    x_rotations: Array
    x_loadings: Array
    x_norms: Array
    x_taken: Array
    y_weights: Array
    y_rotations: Array
    y_loadings: Array
    y_taken: Array
    singular_values: Array
    n_iter: tuple[int, ...]
    report: Report = field(compare=False)

    def __len__(self) -> int:
        return int(self.x_weights.shape[1])


# -- the loop ---------------------------------------------------------------------------


# Directions that are numbers, and no more.
PLAIN = Data()


class Side:
    """Weights, rotations and loadings of one block as they grow."""

    def __init__(self, size: int, n: int, X: Data = PLAIN) -> None:
        self.W, self.R, self.P = (np.zeros((n, size)) for _ in range(3))
        self.norms, self.taken = np.zeros(n), np.zeros(n)
        self.n, self.inner = 0, X.inner

    def rotate(self, w: Array, gaps: bool = False) -> Array:
        """r with X_i w = X r; once more against rounding, so that scores stay orthogonal.

        With ``gaps`` they are not orthogonal, nor is p_j'r_j = 1: once is all there is.
        """
        R, P = self.R[: self.n], self.P[: self.n]
        r = w - self.inner(P.T, w) @ R
        return np.asarray(r if gaps else r - self.inner(P.T, r) @ R)

    def outside(self, g: Array) -> Array:
        """X't without the traces of earlier scores that rounding has left in t.

        Where earlier scores are much longer than t, these traces may exceed X't itself. They are
        multiples of the loadings p_j, and r_j'p_j = 1.
        """
        R, P = self.R[: self.n], self.P[: self.n]
        g = g - P.T @ self.inner(g, R.T).T
        return np.asarray(g - P.T @ self.inner(g, R.T).T)

    def keep(self, w: Array, r: Array, p: Array, norm: float, taken: float | None = None) -> None:
        i = self.n
        self.W[i], self.R[i], self.P[i], self.norms[i] = w, r, p, norm
        self.taken[i] = norm * float(self.inner(p, p)) if taken is None else taken
        self.n += 1


class _State:
    """S, what was found so far, and Y'Y of what was left of Y when S was computed from data.

    ``own`` says that Y is deflated by its own scores.
    ``large`` is the norm of S and ``seen`` the number of components at that time, ``least`` the
    size below which a singular value is rounding of it.
    """

    def __init__(self, cross: CrossProducts, n: int, deflation: str) -> None:
        (d, k), X = cross.xy.shape, cross.X
        self.cross, self.yy, self.own = cross, cross.yy, deflation == "canonical"
        # So that squares stay in range; dividing by a power of two rounds nothing.
        self.unit = float(power_of_two(np.max(np.abs(cross.xy), initial=0.0)))
        self.S = cross.xy / self.unit
        self.x, self.y = Side(d, n, X), Side(k, n)
        self.basis = np.zeros((n if deflation == "simpls" else 0, d))
        self.large, self.seen = X.norm(self.S), 0
        self.least = EPS * max(d, k) * self.large
        self.left: Array | None = None

    def score(self, r: Array, c: Array, sigma: float) -> tuple[Array, float] | None:
        """The loading p = X't / t't of t = X r, and t't.

        None if X has nothing left in t, or its covariance with what is left of Y c is rounding;
        that is asked only where what is left of Y is known.
        """
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

        Unless Y is deflated by its own scores, what is left of it is what was left the last time,
        less the scores since: where that is little, it keeps its digits.
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
        F = without(
            X.matmat(self.x.R[: self.x.n].T), Y if self.own or self.left is None else self.left
        )
        self.left = F
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


Deflation = Callable[[_State, Array, Array, float], bool]


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


DEFLATIONS: dict[str, Deflation] = {
    "regression": _regression,
    "canonical": _canonical,
    "simpls": _simpls,
}


# What products with X'X are made from, and why.
GRAM = ("gram", "X'X is known, or takes less time than passes over X")
PASSES = ("passes", "passes over X take less time or memory than X'X")

# A pair of unit weights (w, c) for S, sigma = w'S c, the steps it took and whether they converged;
# called with the number of components before it.
FindPair = Callable[[Array, int], tuple[Array, Array, float, int, bool]]


def decompose(
    cross: CrossProducts, n_components: int, deflation: str, find: FindPair | None = None
) -> Components:
    """Take up to ``n_components`` components; fewer where nothing is left but rounding.

    ``find`` gives the pairs of weights, which are kept as they are; by default it takes the
    leading singular pairs.
    """
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
    how = GRAM if cross.gram is not None else PASSES
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
