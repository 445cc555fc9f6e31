"""A Gaussian model of two views that share a latent variable.

    (x, y) ~ N(m, C),   C = R'R,   z ~ N(0, I) with cov((x, y), z) = W

so that E[z | v] = W'C^-1 (v - m) for a row v = (x, y). If v has only some of its entries, the
corresponding parts of m, W and C are used. Missing entries may just as well be replaced by their
expectations given the others, because E[z | v] is linear in v.

:class:`SharedLatent` is fitted by maximum likelihood, in closed form, and with gaps by EM:

    z ~ N(0, I_q),   x = Wx z + mx + ex,   y = Wy z + my + ey

with any covariances of ex and ey. With R the triangular factor of the covariance of (x, y)
(divisor n), R11 and Ry those of the two views, and the singular value decomposition

    R12 Ry^-1 = P diag(r) Q',   Ux = R11^-1 P,   Uy = Ry^-1 Q

u = Ux'(x - mx) and v = Uy'(y - my) are the canonical variates, and the likelihood is largest at
Wx = Sxx Ux sqrt(r), Wy = Syy Uy sqrt(r) (the first q columns). The model then is the Gaussian with
Sxx and Syy as they are and Sxx Ux diag(r) Uy' Syy between the views.

How many components there are follows from -2 log likelihood + c_n q (dx + dy - q), the parameters
that q of them need. Schwarz' c_n = log n is reluctant to accept a weak one (at n = 200 and 6 + 5
columns a third must have r > .38); Hannan and Quinn's c_n = 2 log log n is the slowest growth
that still finds the true number as n grows.

Where entries are missing, EM: their expectation and covariance given the others complete the
moments (E), and the closed form is taken of those (M).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg as sla

from eigenkit.numerics.linalg import Array, distinct_rows, signs, triangular_factor
from eigenkit.numerics.tolerances import EPS, grain

LOG_2PI = float(np.log(2 * np.pi))

# With a correlation closer to 1 than this there is no density: one view determines the other.
LARGEST = 1.0 - 1e-12


class SingularView(ValueError):
    """A singular covariance: of view 0 or 1, with a ``column`` that is a combination of others."""

    def __init__(self, view: int, column: int) -> None:
        super().__init__(f"column {column} of view {view} is a combination of those before it")
        self.view, self.column = view, column


@dataclass(frozen=True)
class TwoViews:
    """A Gaussian of x and y, whose first columns are those of x."""

    mean: Array
    R: Array  # triangular factor of the covariance
    W: Array  # loadings
    A_x: Array  # E[z] given x is its difference from the mean times this;
    A_y: Array  # given y, this;
    A: Array  # given both, this

    @classmethod
    def of(cls, mean: Array, R: Array, W: Array, d_x: int) -> TwoViews:
        """From the first three."""
        A_x = _solve(R[:d_x, :d_x], W[:d_x])
        A_y = _solve(triangular_factor(R[:, d_x:]), W[d_x:])
        return cls(mean, R, W, A_x, A_y, _solve(R, W))

    @property
    def d_x(self) -> int:
        return len(self.A_x)

    @cached_property
    def covariance(self) -> Array:
        """C."""
        return np.asarray(self.R.T @ self.R)

    def spread(self) -> Array:
        """Standard deviations of y given x."""
        return np.asarray(np.linalg.norm(self.R[self.d_x :, self.d_x :], axis=0))

    def log_density(self, white: Array) -> Array:
        """The log density of rows that were whitened by R^-1, or by its part for x."""
        logs = np.log(np.abs(np.diag(self.R)[: white.shape[1]]))
        constant = white.shape[1] * LOG_2PI + 2 * logs.sum()
        return np.asarray(-0.5 * (constant + np.sum(white**2, axis=1)))


def _solve(R: Array, W: Array) -> Array:
    """(R'R)^-1 W."""
    return np.asarray(sla.solve_triangular(R, sla.solve_triangular(R, W, trans="T")))


# -- gaps --------------------------------------------------------------------------------------


# Rows that lack the same entries: their numbers, and the columns that they have.
Pattern = tuple[np.ndarray, np.ndarray]


def patterns(V: Array) -> list[Pattern]:
    """The rows of V grouped by where they have NaN."""
    kinds, which = distinct_rows(~np.isnan(V))
    order = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    return [(rows, np.flatnonzero(kind)) for rows, kind in zip(order, kinds, strict=True)]


@dataclass(frozen=True)
class Completed:
    """Rows with expectations in the gaps, the covariance these leave, and log densities."""

    V: Array
    spread: Array
    log_density: Array


def complete(V: Array, mean: Array, C: Array, groups: list[Pattern], w: Array) -> Completed:
    """The gaps filled by the Gaussian; ``spread`` is summed with the weights w."""
    filled, spread, density = V.copy(), np.zeros_like(C), np.zeros(len(V))
    for rows, seen in groups:
        L = sla.cholesky(C[np.ix_(seen, seen)], lower=True)
        residual = sla.solve_triangular(L, (V[np.ix_(rows, seen)] - mean[seen]).T, lower=True)
        half = sla.solve_triangular(L, C[seen], lower=True)
        constant = len(seen) * LOG_2PI + 2 * np.sum(np.log(np.diag(L)))
        density[rows] = -0.5 * (constant + np.sum(residual**2, axis=0))
        if len(seen) == len(C):
            continue
        gaps = np.setdiff1d(np.arange(len(C)), seen)
        filled[np.ix_(rows, gaps)] = mean[gaps] + residual.T @ half[:, gaps]
        left = C[np.ix_(gaps, gaps)] - half[:, gaps].T @ half[:, gaps]
        spread[np.ix_(gaps, gaps)] += w[rows].sum() * left
    return Completed(filled, spread, density)


# -- maximum likelihood --------------------------------------------------------------------------


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
        W, d = self.loadings, self.d_x
        C = W @ W.T
        C[:d, :d], C[d:, d:] = self.R_x.T @ self.R_x, self.R_y.T @ self.R_y
        return C

    def density(self) -> TwoViews:
        """The Gaussian of (x, y), from the factors of the two views: no digit is lost in S."""
        # Of the covariance, R12 = P diag(r) Q' R_y and R22'R22 = R_y' (I - Q diag(r^2) Q') R_y.
        r, d = self.r[: self.q], self.d_x
        P, Q = self.R_x @ self.U_x[:, : self.q], self.R_y @ self.U_y[:, : self.q]
        R = np.zeros((len(self.mean),) * 2)
        R[:d, :d], R[:d, d:] = self.R_x, (P * r) @ (Q.T @ self.R_y)
        left = 1 - np.sqrt((1 - r) * (1 + r))
        R[d:, d:] = triangular_factor(self.R_y - (Q * left) @ (Q.T @ self.R_y))
        root = np.sqrt(r)
        A_x, A_y = self.U_x[:, : self.q] * root, self.U_y[:, : self.q] * root
        return TwoViews(self.mean, R, self.loadings, A_x, A_y, np.vstack([A_x, A_y]) / (1 + r))


def closed_form(
    mean: Array, R: Array, d_x: int, q: int, eps: tuple[float, float] = (EPS, EPS)
) -> SharedLatent:
    """The maximum of the likelihood, from the triangular factor of the covariance of two views,
    which were given in the precisions ``eps``."""
    # Each of their numbers is rounded; samples outnumber columns.
    given = np.einsum("ij,ij->j", R, R) + mean**2
    x, y = (grain(given, len(R), own) for own in eps)
    R_x, R_y = R[:d_x, :d_x], triangular_factor(R[:, d_x:])
    for view, (factor, least) in enumerate(((R_x, x[:d_x]), (R_y, y[d_x:]))):
        rounding = EPS * len(R) * np.linalg.norm(factor, axis=0)
        short = np.abs(np.diag(factor)) <= np.maximum(rounding, least)
        if short.any():
            raise SingularView(view, int(np.argmax(short)))
    M = sla.solve_triangular(R_y, R[:d_x, d_x:].T, trans="T").T
    P, r, Qt = sla.svd(M, full_matrices=False)
    U_x, U_y = sla.solve_triangular(R_x, P), sla.solve_triangular(R_y, Qt.T)
    sign = signs(U_x)
    return SharedLatent(mean, R_x, R_y, U_x * sign, U_y * sign, np.minimum(r, LARGEST), q)


def gains(model: SharedLatent, n: float) -> Array:
    """-2 log likelihood for 0, 1, ... components, less that for none."""
    return np.concatenate([[0.0], n * np.cumsum(np.log1p(-(model.r**2)))])


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
    """Maximum likelihood from rows with gaps, whose columns vary by about 1; the ridge (one per
    column) is added to the diagonal."""
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
        try:
            R = np.asarray(sla.cholesky(S))
        except np.linalg.LinAlgError:
            values = np.linalg.eigvalsh(S[:d_x, :d_x])
            raise SingularView(int(values[0] > EPS * len(S) * values[-1]), -1) from None
        model = closed_form(mean, R, d_x, q)
        C = model.covariance
    return Run(model, last, steps, change)
