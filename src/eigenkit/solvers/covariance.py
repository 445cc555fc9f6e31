"""Singular vectors of X'Y: the pairs of directions of largest covariance, all at once.

Rounding of X'Y is relative to its longest columns. Where Y has a direction that is much longer
than others, what these share with X would be lost in it. With V the right singular vectors of Y,

    X'Y = (X'(Y V)) V'

keeps the directions of Y in columns of their own, and Jacobi's method leaves them their digits. It
takes much longer than other methods where Y has many columns, and is of no use to pairs whose
covariance is not much smaller than the largest.

Pairs are components as they are, or with the variation of X taken out that is orthogonal to y:
orthogonal signal correction (:func:`correct`, :func:`predictive`).

With W the left singular vectors of X'Y (for one response X'y / |X'y|) and T = Xi W, the loadings
Xi'T have a part outside the span of W: variation of X that accompanies T but says nothing about y.
Its leading direction w_o gives an orthogonal component, which is removed from X:

    E = Xi'T - W (T'T),   w_o its first left singular vector
    t_o = Xi w_o,  p_o = Xi't_o / t_o't_o,   Xi+1 = Xi - t_o p_o' = Xi (I - w_o p_o')

t_o is orthogonal to Y, as X'Y = W W'X'Y and w_o'W = 0. All X_i are X F, F a product of
d x d matrices that are never formed: only products with X are made.

The part of T that Y explains does not enter E: with the right singular vectors C, Xi'Y C lies in
the span of W. It is removed from T first, as rounding of a long direction of both would drown the
rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg as sla

from eigenkit.data import Data, Rescaled
from eigenkit.numerics.linalg import Array, graded_svd, lapack, normalized, signs, triangular_factor
from eigenkit.numerics.tolerances import DEPENDENT, TWELVE_DIGITS
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.solvers.deflation import Components, without

IDENTITY = "B is the identity"

# Up to this order, Jacobi's method takes no time to speak of.
JACOBI_ORDER = 64


def singular_pairs(
    X: Data, Y: Any, factor: Array, count: int | None = None
) -> tuple[Array, Array, Array]:
    """W, s, C with X'Y = W diag(s) C', where X shows more than rounding of its numbers.

    factor'factor = Y'Y; pairs beyond ``count`` may be left out.
    """
    few = count is not None and factor.shape[1] > JACOBI_ORDER
    if few:
        S = X.cross(Y)
        W, s, Ct = lapack(S.shape[1], sla.svd, S, full_matrices=False)
        W, s, C = W[:, :count], s[:count], Ct[:count].T
    if not few or s[-1] <= TWELVE_DIGITS * s[0]:  # some would have lost digits beside the first
        V = graded_svd(triangular_factor(factor))[2]
        W, s, C = graded_svd(X.rmatmat(Y @ V))
        C = V @ C
    # Scores of X are at least as long as the covariance divided by the length of those of Y.
    keep = s > X.floor(W) * np.linalg.norm(factor @ C, axis=0)
    return W[:, keep], s[keep], C[:, keep]


def largest_covariances(X: Data, Y: Data, count: int) -> Components:
    """The first pairs as components, whose scores nothing is deflated by."""
    B = Y.toarray()
    W, s, C = singular_pairs(X, B, B, count)
    x, y = (np.linalg.norm(T, axis=0) for T in (X.matmat(W), B @ C))
    # Where both scores are rounding, their covariance is less certain than either of them.
    keep = (s > Y.floor(C) * x) & (x > X.floor(W)) & (y > Y.floor(C))
    W, C, s = W[:, keep][:, :count], C[:, keep][:, :count], s[keep][:count]
    sign, none = signs(W), np.full(len(s), np.nan)
    W, C = W * sign, C * sign
    report = Report("spectral", "svd", "nothing is removed from X or y between components")
    return Components(W, W, W, none, none, C, C, C, none, s, (1,) * len(s), report)


def covariance_axes(pencil: Pencil, factor: Array, count: int | None = None) -> Solution:
    """The pencil Z'H H'Z w = lambda w, w'w = 1, in the units of X: singular vectors of Xc'H, up to
    ``count`` or more; factor'factor = H'H."""
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


# -- what is orthogonal to y ------------------------------------------------------------


@dataclass
class Filter:
    """F = (I - w1 p1') (I - w2 p2') ..., and the scores X r taken out by their squared lengths."""

    w: list[Array] = field(default_factory=list)
    p: list[Array] = field(default_factory=list)
    r: list[Array] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)

    def apply(self, V: Array) -> Array:
        """F V."""
        for w, p in zip(reversed(self.w), reversed(self.p), strict=True):
            V = V - np.outer(w, p @ V)
        return V

    def adjoint(self, U: Array) -> Array:
        """F'U."""
        for w, p in zip(self.w, self.p, strict=True):
            U = U - np.outer(p, w @ U)
        return U


def correct(X: Data, W: Array, YC: Array, off: float, wanted: int) -> Filter:
    """Up to ``wanted`` orthogonal components; fewer where X holds no more.

    Rounding of X'Y has moved W ``off`` the span it should have, as a share of its length.
    """
    F, G = Filter(), graded_svd(YC)[0]
    for _ in range(min(wanted, len(W) - W.shape[1])):
        R = F.apply(W)
        P = F.adjoint(X.rmatmat(without(G, X.matmat(R))))
        U, s, Vt = np.linalg.svd(P - W @ (W.T @ P), full_matrices=False)
        if s[0] <= max(off, DEPENDENT) * np.linalg.norm(P):
            break
        w = normalized(U[:, 0] - W @ (W.T @ U[:, 0]))
        r = F.apply(w[:, None])
        t = without(G, X.matmat(r))  # as it is but for rounding
        length, least = float(np.linalg.norm(t)), X.floor(np.c_[r, R @ Vt[0]])
        if length <= least[0] or s[0] <= least[1] * length:
            break  # no more than the rounding of the numbers as they were given
        F.p.append(F.adjoint(X.rmatmat(t))[:, 0] / length**2)
        F.w.append(w)
        F.r.append(r[:, 0])
        F.norms.append(length**2)
    return F


def predictive(X: Data, Y: Array, W: Array, F: Filter) -> Components:
    """Orthogonal scores of what is left of X in the span of W, and y regressed on them."""
    U, s, V = graded_svd(X.matmat(F.apply(W)))
    kept = s > X.floor(F.apply(W @ V))
    U, s, V = U[:, kept], s[kept], V[:, kept]
    sign = signs(W @ V)
    W, T, norms = W @ V * sign, U * s * sign, s**2
    P, Q = F.adjoint(X.rmatmat(T)) / norms, Y.T @ T / norms
    unit = Q / np.linalg.norm(Q, axis=0)
    return Components(
        *(W, F.apply(W), P, norms, norms * np.sum(P**2, axis=0)),
        *(unit, unit, Q, norms * np.sum(Q**2, axis=0)),
        singular_values=np.linalg.norm(Q, axis=0) * norms,
        n_iter=(1,) * len(norms),
        report=Report("deflation", "svd", "orthogonal components are removed from X first"),
    )
