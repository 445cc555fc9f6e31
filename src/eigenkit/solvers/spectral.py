"""Pencils with B = I: principal components of Z, and the directions of largest covariance.

============ ===================================================================
method       what it decomposes
============ ===================================================================
gram         the smaller of Z'Z and Z Z', by an eigensolver
svd          Z itself (after QR, if it is tall): small singular values keep their digits
lanczos      Z'Z or Z Z' as an operator: a few components of large data
============ ===================================================================

"auto" takes the cheaper of gram and lanczos, and svd where the Gram matrix would cost more
than half of the digits of a singular value that is asked for.

Singular vectors of X'Y are the pairs of directions of largest covariance, all at once.
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

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy
from scipy import linalg as sla
from scipy.sparse.linalg import eigsh

from eigenkit.data import Data, Rescaled
from eigenkit.exceptions import warn_of_stopping
from eigenkit.numerics import linalg, tolerances
from eigenkit.numerics.costs import DENSE_RATE, fits
from eigenkit.numerics.linalg import Array
from eigenkit.pencil import Answer, Pencil, Report, Solution
from eigenkit.solvers.deflation import Components, without
from eigenkit.solvers.krylov import BLOCK, largest_eigenpairs

METHODS = ("auto", "gram", "svd", "lanczos")
IDENTITY = "B is the identity"


def principal_axes(Z: Data, k: int | None, method: str, tol: float, max_iter: int) -> Solution:
    """The k leading right singular vectors of Z, in its units, with singular values in place of
    eigenvalues; all whose value is not zero for ``k=None``."""
    reason, how = "as asked", (0, True)
    if method == "auto":
        method, reason = cheapest(Z, k)
    found = _from_gram(Z, k) if method == "gram" else None
    if method == "gram" and found is None:
        method, reason = "svd", f"{reason}, but its smallest eigenvalues are rounding: svd"
    if method == "lanczos":
        found, how = _from_lanczos(Z, k, tol, max_iter)
    s, V = found or _from_svd(Z, k)
    keep = s > tolerances.along(V, Z.grain())  # rounding of the numbers as they were given
    s, V = s[keep], V[:, keep]
    V = V * linalg.signs(V)
    report = Report("spectral", method, reason, *how, products=Z.products)
    if method == "lanczos" and len(s):
        report = _measured(Z, s, V, report)
    return Solution(V, s, np.empty((0, len(s))), report)


def cheapest(Z: Data, k: int | None) -> tuple[str, str]:
    """The method for k components (None: all) that is predicted to be fastest, and why."""
    side, _, forming = Z.smaller()
    costs = {}
    if fits(side):
        costs["gram"] = forming() + 3 * side**3 / DENSE_RATE
    if k is not None and k <= side // 4:
        vectors = 6 * k + 10 * BLOCK
        each = Z.seconds_for_passes(BLOCK) / BLOCK
        costs["lanczos"] = vectors * (each + 8 * k * side / DENSE_RATE)
    if not costs:
        raise ValueError(
            f"X has {Z.shape[0]} rows and {Z.shape[1]} columns: too many for all components at "
            "once; give n_components as an integer, at most a quarter of the smaller number."
        )
    best = min(costs, key=lambda name: costs[name])
    return best, ", ".join(f"{name} is predicted to take {costs[name]:.2g} s" for name in costs)


def _from_gram(Z: Data, k: int | None) -> tuple[Array, Array] | None:
    """None if digits would be lost and an SVD of Z is possible."""
    values, vectors = linalg.eigenpairs(Z.smaller_gram(), k)
    largest = max(float(values[0]), 0.0)
    lost = values[-1] < tolerances.TEN_DIGITS * largest
    if largest and lost and Z.decomposable:
        return None
    keep = tolerances.above_rounding(values, Z.n_samples, Z.shape[1])
    s = np.sqrt(values[keep])
    return s, Z.axes(vectors[:, keep], s)


def _from_svd(Z: Data, k: int | None) -> tuple[Array, Array]:
    Z, _ = Z.compress()
    if not Z.decomposable:
        raise ValueError(
            "solver='svd' would make X dense: use 'lanczos' with n_components, or 'gram'."
        )
    A = Z.toarray()
    if Z.shape[0] > Z.shape[1]:
        A = linalg.triangular_factor(A)
    _, s, V = linalg.truncated_svd(A, Z.n_samples, Z.grain())
    return s[:k], V[:, :k]


def _from_lanczos(
    Z: Data, k: int | None, tol: float, max_iter: int
) -> tuple[tuple[Array, Array], tuple[int, bool]]:
    """The axes, the number of blocks, and whether they converged."""
    if k is None:
        raise ValueError("solver='lanczos' finds a few components: give n_components as an integer")
    side, product, _ = Z.smaller()
    with Z.threads:
        pairs = largest_eigenpairs(product, side, k, tol, max_iter)
        s = np.sqrt(pairs.values)
        return (s, Z.axes(pairs.vectors, s)), (pairs.n_iter, pairs.converged)


def _measured(Z: Data, s: Array, V: Array, report: Report) -> Report:
    """An iterative answer is measured against the data before it is believed."""
    residual = np.linalg.norm(Z.normal(V) - V * s**2, axis=0).max() / s[0] ** 2
    orthogonality = np.abs(V.T @ V - np.eye(len(s))).max()
    if not report.converged:
        warn_of_stopping(
            f"lanczos stopped after {report.n_iter} blocks with a residual of {residual:.1e}: "
            "increase max_iter or tol"
        )
    return replace(report, residual=float(residual), orthogonality=float(orthogonality))


# -- from inner products alone ----------------------------------------------------------

# From this order on, and for fewer than a tenth of all components, Lanczos is faster.
LANCZOS_ORDER = 500


def principal(Z: Data, n_components: int | None) -> Answer:
    """W with scores Z W of decreasing variance, the eigenvalues of Z Z', and their total."""
    Z = Z.in_one_unit()
    G = Z.smaller_gram()
    values, V, report = _largest(G, n_components)
    keep = values > Z.noise(values.max(initial=0.0))
    s, V = np.sqrt(values[keep]), V[:, keep]
    scores = Z.matmat(V) if Z.primal else V  # whatever their lengths
    sign = linalg.signs(Z.unweighted(scores))
    # Scores have the units of the features, which Z may have changed.
    unit = float(Z.units[0])
    W = Z.to_X(Z.axes(V, s) * (1 / unit)) * sign
    found = W, (s / unit) ** 2, float(np.sqrt(np.trace(G)) / unit) ** 2
    return Answer(found, replace(report, products=Z.products))


def _largest(G: Array, l: int | None) -> tuple[Array, Array, Report]:
    """The l largest eigenvalues (all by default), their eigenvectors, and how they were found."""
    n = len(G)
    if l is None or n < LANCZOS_ORDER or 10 * l > n:
        report = Report("spectral", "gram", "many components, or few samples")
        return *linalg.eigenpairs(G, l), report
    values, V = eigsh(G, l, which="LA", v0=linalg.fixed_start(n))
    report = Report("spectral", "lanczos", f"{l} components of a matrix of the order {n}")
    return values[::-1], V[:, ::-1], report


def minka(variance: Array, n: int, d: int) -> int:
    """The number of components of largest evidence (Minka, NIPS 2000, Laplace's method)."""
    if n <= d:
        raise ValueError(f"n_components='mle' needs more samples ({n}) than features ({d}).")
    spectrum = np.zeros(d)
    spectrum[: len(variance)] = variance
    last = min(len(variance), d - 1)
    if last < 1:  # one feature, one component
        return 1
    return 1 + int(np.argmax([_evidence(spectrum, k, n) for k in range(1, last + 1)]))


def _evidence(spectrum: Array, k: int, n: int) -> float:
    """log p(X | k components), up to a constant."""
    d = len(spectrum)
    # Beside components without any noise there is some, far below the smallest of them.
    noise = float(spectrum[k:].mean()) or tolerances.EPS * float(spectrum[k - 1])
    half = (d - np.arange(k)) / 2
    log_p = -k * np.log(2.0) + np.sum(scipy.special.gammaln(half) - half * np.log(np.pi))
    log_p -= n / 2 * np.sum(np.log(spectrum[:k])) + n / 2 * (d - k) * np.log(noise)
    free = d * k - k * (k + 1) / 2
    log_p += (free + k) / 2 * np.log(2 * np.pi) - k / 2 * np.log(n)
    inverse = 1 / np.concatenate([spectrum[:k], np.full(d - k, noise)])
    for i in range(k):
        below = slice(i + 1, d)
        gap = (spectrum[i] - spectrum[below]) * (inverse[below] - inverse[i])
        with np.errstate(divide="ignore"):
            log_p -= 0.5 * np.sum(np.log(gap) + np.log(n))
    return float(log_p)


# -- the directions of largest covariance -----------------------------------------------

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
        W, s, Ct = linalg.lapack(S.shape[1], sla.svd, S, full_matrices=False)
        W, s, C = W[:, :count], s[:count], Ct[:count].T
    # Beside the first, some would have lost digits.
    if not few or s[-1] <= tolerances.TWELVE_DIGITS * s[0]:
        V = linalg.graded_svd(linalg.triangular_factor(factor))[2]
        W, s, C = linalg.graded_svd(X.rmatmat(Y @ V))
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
    sign, none = linalg.signs(W), np.full(len(s), np.nan)
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
    sign = linalg.signs(W)
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
    """Up to ``wanted`` orthogonal components; fewer where X holds no more. Rounding of X'Y moved W
    ``off`` the span it should have, as a share of its length."""
    F, G = Filter(), linalg.graded_svd(YC)[0]
    for _ in range(min(wanted, len(W) - W.shape[1])):
        R = F.apply(W)
        P = F.adjoint(X.rmatmat(without(G, X.matmat(R))))
        U, s, Vt = np.linalg.svd(P - W @ (W.T @ P), full_matrices=False)
        if s[0] <= max(off, tolerances.DEPENDENT) * np.linalg.norm(P):
            break
        w = linalg.normalized(U[:, 0] - W @ (W.T @ U[:, 0]))
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
    U, s, V = linalg.graded_svd(X.matmat(F.apply(W)))
    kept = s > X.floor(F.apply(W @ V))
    U, s, V = U[:, kept], s[kept], V[:, kept]
    sign = linalg.signs(W @ V)
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
