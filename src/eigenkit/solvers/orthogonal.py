"""PLS after the variation of X that is orthogonal to y was removed: orthogonal signal correction.

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

import numpy as np

from eigenkit.data import Data
from eigenkit.numerics.linalg import Array, graded_svd, normalized, signs
from eigenkit.numerics.tolerances import DEPENDENT
from eigenkit.pencil import Report
from eigenkit.solvers.deflation import Components, without


@dataclass
class Filter:
    """F = (I - w1 p1') (I - w2 p2') ..., and the squared lengths of the scores taken out."""

    w: list[Array] = field(default_factory=list)
    p: list[Array] = field(default_factory=list)
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

    def rotations(self, d: int) -> Array:
        """R with the orthogonal scores X R."""
        found = np.zeros((d, len(self.w)))
        for i, w in enumerate(self.w):
            before = Filter(self.w[:i], self.p[:i])
            found[:, i] = before.apply(w[:, None])[:, 0]
        return found


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
