"""A Gaussian of two views with a latent variable behind them: what can be asked of it.

    (x, y) ~ N(m, C),   C = R'R,   z ~ N(0, I) with cov((x, y), z) = W

so that E[z | v] = W'C^-1 (v - m), with the parts of W and C that belong to v where only some of
the entries are there. Where entries are missing, their expectations given the others may stand in
their places: E[z | v] is linear in v.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg as sla

from eigenkit.linalg import Array, distinct_rows, triangular_factor

LOG_2PI = float(np.log(2 * np.pi))


class SingularView(ValueError):
    """A covariance without an inverse: ``view`` 0 or 1, and the column that others give."""

    def __init__(self, view: int, column: int) -> None:
        super().__init__(f"column {column} of view {view} is a combination of those before it")
        self.view, self.column = view, column


@dataclass(frozen=True)
class TwoViews:
    """Means, triangular factor of the covariance, loadings; the first columns are those of x.

    E[z] given x, y or both are ``A_x``, ``A_y`` and ``A`` times what differs from the means.
    """

    mean: Array
    R: Array
    W: Array
    A_x: Array
    A_y: Array
    A: Array

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
        """Of rows that R^-1 (or its part for x) has made white."""
        logs = np.log(np.abs(np.diag(self.R)[: white.shape[1]]))
        constant = white.shape[1] * LOG_2PI + 2 * logs.sum()
        return np.asarray(-0.5 * (constant + np.sum(white**2, axis=1)))


def _solve(R: Array, W: Array) -> Array:
    """(R'R)^-1 W."""
    return np.asarray(sla.solve_triangular(R, sla.solve_triangular(R, W, trans="T")))


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
