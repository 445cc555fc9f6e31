"""Two views of one latent variable: maximum likelihood in closed form, and with gaps by EM.

    z ~ N(0, I_q),   x = Wx z + mx + ex,   y = Wy z + my + ey

with any covariances of ex and ey. With R the triangular factor of the covariance of (x, y)
(divisor n), R11 and Ry those of the two views, and the singular value decomposition

    R12 Ry^-1 = P diag(r) Q',   Ux = R11^-1 P,   Uy = Ry^-1 Q

u = Ux'(x - mx) and v = Uy'(y - my) are the canonical variates, and the likelihood is largest at
Wx = Sxx Ux sqrt(r), Wy = Syy Uy sqrt(r) (the first q columns). The model then is the Gaussian with
Sxx and Syy as they are and Sxx Ux diag(r) Uy' Syy between the views. In canonical variates:

    -2 log p = log|2 pi Sxx| + log|2 pi Syy| + |x|^2 + |y|^2 (Mahalanobis)
               + sum_i log(1 - r_i^2) + ((r_i u_i)^2 + (r_i v_i)^2 - 2 r_i u_i v_i) / (1 - r_i^2)

Where entries are missing, EM: their expectation and covariance given the others complete the
moments (E), and the closed form is taken of those (M).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg as sla

from eigenkit.linalg import EPS, Array, distinct_rows, signs, triangular_factor

LOG_2PI = float(np.log(2 * np.pi))

# A correlation this close to 1 has no density; the data then are one view written twice.
LARGEST = 1.0 - 1e-12


class SingularView(ValueError):
    """A covariance without an inverse: ``view`` 0 or 1, and the column that others give."""

    def __init__(self, view: int, column: int) -> None:
        super().__init__(f"column {column} of view {view} is a combination of those before it")
        self.view, self.column = view, column


@dataclass(frozen=True)
class SharedLatent:
    """The fitted Gaussian; ``q`` of the correlations ``r`` are taken to be real."""

    mean: Array
    R_x: Array
    R_y: Array
    U_x: Array
    U_y: Array
    r: Array
    q: int

    @property
    def d_x(self) -> int:
        return len(self.R_x)

    @cached_property
    def loadings(self) -> Array:
        """(Wx; Wy), one row per variable of both views."""
        root = np.sqrt(self.r[: self.q])
        W_x = self.R_x.T @ (self.R_x @ self.U_x[:, : self.q]) * root
        return np.vstack([W_x, self.R_y.T @ (self.R_y @ self.U_y[:, : self.q]) * root])

    @cached_property
    def covariance(self) -> Array:
        """The covariance of (x, y)."""
        W, d = self.loadings, self.d_x
        C = W @ W.T
        C[:d, :d], C[d:, d:] = self.R_x.T @ self.R_x, self.R_y.T @ self.R_y
        return C

    @property
    def log_determinant(self) -> float:
        """log|covariance|."""
        half = sum(np.sum(np.log(np.abs(np.diag(R)))) for R in (self.R_x, self.R_y))
        return float(2 * half + np.sum(np.log1p(-(self.r[: self.q] ** 2))))

    def log_density(self, u: Array, v: Array, squares: Array) -> Array:
        """Of rows with canonical variates u, v (n x q) and squared Mahalanobis lengths."""
        r = self.r[: self.q]
        cross = ((r * u) ** 2 + (r * v) ** 2 - 2 * r * u * v) / (1 - r**2)
        constant = len(self.mean) * LOG_2PI + self.log_determinant
        return np.asarray(-0.5 * (constant + squares + cross.sum(axis=1)))


def closed_form(mean: Array, R: Array, d_x: int, q: int) -> SharedLatent:
    """The maximum of the likelihood, from the triangular factor of the covariance."""
    R_x, R_y = R[:d_x, :d_x], triangular_factor(R[:, d_x:])
    for view, factor in enumerate((R_x, R_y)):
        size = np.abs(np.diag(factor))
        short = size <= EPS * len(R) * np.linalg.norm(factor, axis=0)
        if short.any():
            raise SingularView(view, int(np.argmax(short)))
    M = sla.solve_triangular(R_y, R[:d_x, d_x:].T, trans="T").T
    P, r, Qt = sla.svd(M, full_matrices=False)
    U_x, U_y = sla.solve_triangular(R_x, P), sla.solve_triangular(R_y, Qt.T)
    sign = signs(U_x)
    return SharedLatent(mean, R_x, R_y, U_x * sign, U_y * sign, np.minimum(r, LARGEST), q)


def bic(model: SharedLatent, n: float) -> Array:
    """-2 log likelihood + parameters log n for 0, 1, ... components, less what all share."""
    q = np.arange(len(model.r) + 1)
    gain = np.concatenate([[0.0], np.cumsum(np.log1p(-(model.r**2)))])
    return n * gain + q * (len(model.mean) - q) * np.log(n)


# -- gaps --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pattern:
    """Rows that lack the same entries: their number and what is there."""

    rows: np.ndarray
    seen: np.ndarray


def patterns(V: Array) -> list[Pattern]:
    """The rows of V grouped by where they have NaN."""
    kinds, which = distinct_rows(~np.isnan(V))
    order = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    return [Pattern(rows, np.flatnonzero(k)) for rows, k in zip(order, kinds, strict=True)]


@dataclass(frozen=True)
class Completed:
    """Rows with expectations in the gaps, the covariance these leave, and log densities."""

    V: Array
    spread: Array
    log_density: Array


def complete(V: Array, mean: Array, C: Array, groups: list[Pattern], w: Array) -> Completed:
    """What the Gaussian says of the gaps; ``spread`` is summed with the weights w."""
    filled, spread, density = V.copy(), np.zeros_like(C), np.zeros(len(V))
    for g in groups:
        L = sla.cholesky(C[np.ix_(g.seen, g.seen)], lower=True)
        residual = sla.solve_triangular(L, (V[np.ix_(g.rows, g.seen)] - mean[g.seen]).T, lower=True)
        half = sla.solve_triangular(L, C[g.seen], lower=True)
        constant = len(g.seen) * LOG_2PI + 2 * np.sum(np.log(np.diag(L)))
        density[g.rows] = -0.5 * (constant + np.sum(residual**2, axis=0))
        if len(g.seen) == len(C):
            continue
        gaps = np.setdiff1d(np.arange(len(C)), g.seen)
        filled[np.ix_(g.rows, gaps)] = mean[gaps] + residual.T @ half[:, gaps]
        left = C[np.ix_(gaps, gaps)] - half[:, gaps].T @ half[:, gaps]
        spread[np.ix_(gaps, gaps)] += w[g.rows].sum() * left
    return Completed(filled, spread, density)


@dataclass(frozen=True)
class Run:
    """What EM found: the model, mean log density per row, and how it ended."""

    model: SharedLatent
    log_likelihood: float
    n_iter: int
    change: float


def expectation_maximization(
    V: Array, w: Array, d_x: int, q: int, ridge: Array, tol: float, max_iter: int
) -> Run:
    """Maximum likelihood from rows with gaps; ``ridge`` (one per column) is added to the diagonal.

    V is in units in which its columns vary by about 1.
    """
    groups, total = patterns(V), float(w.sum())
    mean = np.array([np.average(c[~np.isnan(c)], weights=w[~np.isnan(c)]) for c in V.T])
    spread = np.where(np.isnan(V), 0.0, V - mean) ** 2
    C = np.diag(w @ spread / (w @ ~np.isnan(V)) + ridge)
    last, change, steps = -np.inf, np.inf, 0
    while change > tol and steps < max_iter:
        steps += 1
        done = complete(V, mean, C, groups, w)
        likelihood = float(w @ done.log_density) / total
        change, last = likelihood - last, likelihood
        mean = w @ done.V / total
        Z = (done.V - mean) * np.sqrt(w / total)[:, None]
        S = Z.T @ Z + done.spread / total
        S[np.diag_indices_from(S)] += ridge
        model = closed_form(mean, _factor(S, d_x), d_x, q)
        C = model.covariance
    return Run(model, last, steps, change)


def _factor(S: Array, d_x: int) -> Array:
    try:
        return np.asarray(sla.cholesky(S))
    except np.linalg.LinAlgError:
        values = np.linalg.eigvalsh(S[:d_x, :d_x])
        raise SingularView(int(values[0] > EPS * len(S) * values[-1]), -1) from None
