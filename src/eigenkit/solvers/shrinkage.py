"""Linear regression seen along the singular directions of X.

With the singular value decomposition Z = sum_i s_i v_i u_i' of the centred data (u_i in the
space of the features) the least squares coefficients are sum_i b_i, b_i = u_i (v_i'y) / s_i.
Other estimators multiply each term by a shrinkage factor:

    beta = sum_i f_i b_i

    ols    f_i = 1
    pcr    f_i = 1 for the first p directions, 0 for the others
    ridge  f_i = s_i^2 / (s_i^2 + alpha)
    pls    f_i = 1 - prod_j (1 - s_i^2 / mu_j),   mu_j the eigenvalues of the p x p Lanczos
           matrix W'Z'Z W of the Krylov space of Z'Z and Z'y

Factors of PLS depend on y and may leave [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg as sla

from eigenkit.data import Centered
from eigenkit.numerics.linalg import Array, signs
from eigenkit.numerics.threads import blas_threads
from eigenkit.numerics.tolerances import EPS


@dataclass(frozen=True)
class Spectrum:
    """Singular values and directions of ``unit`` times the centred data, so that squares are in
    the range of floating point; and the factors f_i by which methods shrink them."""

    s: Array  # (r, decreasing)
    directions: Array  # u (d x r)
    vy: Array  # v'y (r)
    unit: float

    @classmethod
    def of(cls, Z: Centered, y: Array) -> Spectrum:
        """From centred data and the response (centred, and weighted like Z)."""
        Z = Z.in_one_unit()
        with blas_threads(min(Z.shape)):
            V, s, U = Z.triplets()
        sign, unit = signs(U), float(Z.units[0])
        return cls(s, U * sign, V.T @ y * sign, unit)

    @property
    def singular_values(self) -> Array:
        """In the units of the data."""
        return self.s / self.unit

    def coef(self, factors: Array) -> Array:
        """sum_i f_i b_i, in the units of the data."""
        return self.directions @ (factors * self.vy / self.s) * self.unit

    def ols(self) -> Array:
        return np.ones(len(self.s))

    def pcr(self, p: int) -> Array:
        """Ones for the first p directions."""
        return (np.arange(len(self.s)) < p).astype(np.float64)

    def ridge(self, alpha: float) -> Array:
        """s^2 / (s^2 + alpha)."""
        s = self.singular_values
        return (s / np.hypot(s, np.sqrt(alpha))) ** 2

    def pls(self, p: int) -> Array:
        """1 - prod_j (1 - s^2 / mu_j); fewer steps where the Krylov space ends before p.

        Where the response has a part v_i'y, the factor is read off the least squares fit in the
        Krylov space: the product is the same, but loses all digits with many steps.
        """
        t, vy = self.s / self.s[0], self.vy / np.abs(self.vy).max()
        Q, mu = lanczos(t**2, t * vy, p)
        with np.errstate(over="ignore", invalid="ignore"):
            f = 1 - np.prod(1 - t[:, None] ** 2 / mu, axis=1)
        seen = np.abs(t * vy) > np.finfo(np.float64).tiny / EPS
        fit = np.linalg.lstsq((Q * t).T, vy, rcond=None)[0]
        f[seen] = (t * (fit @ Q))[seen] / vy[seen]
        return np.asarray(np.nan_to_num(f))  # beyond all numbers where nothing depends on it


def lanczos(diagonal: Array, b: Array, p: int) -> tuple[Array, Array]:
    """Orthonormal rows that span the Krylov space of diag(diagonal) and b after (at most) p
    steps, and the eigenvalues of the Lanczos matrix."""
    Q = np.zeros((p, len(b)))
    alphas, betas = [], []
    q = b / np.abs(b).max()
    q /= np.linalg.norm(q)
    for j in range(p):
        Q[j] = q
        v = diagonal * q
        alphas.append(float(q @ v))
        for _ in range(2):  # reorthogonalize, twice: otherwise eigenvalues appear again
            v -= (Q[: j + 1] @ v) @ Q[: j + 1]
        size = float(np.linalg.norm(v))
        if size <= EPS * len(b) * diagonal[0]:
            break
        betas.append(size)
        q = v / size
    steps = len(alphas)
    mu = sla.eigvalsh_tridiagonal(np.array(alphas), np.array(betas[: steps - 1]))
    return Q[:steps], np.asarray(mu)


@dataclass(frozen=True)
class Risk:
    """Squared bias and variance of the coefficients or of the fitted values; mse is the sum."""

    squared_bias: float
    variance: float

    @property
    def mse(self) -> float:
        """Expected squared error."""
        return self.squared_bias + self.variance


def coefficient_risk(spectrum: Spectrum, f: Array, beta: Array, noise_variance: float) -> Risk:
    """Bias and variance of sum_i f_i b_i as an estimate of beta, f not depending on y."""
    along = spectrum.directions.T @ beta
    beyond = beta - spectrum.directions @ along
    bias = float(np.sum(((f - 1) * along) ** 2) + beyond @ beyond)
    return Risk(bias, float(noise_variance * np.sum((f / spectrum.singular_values) ** 2)))


def fit_risk(spectrum: Spectrum, f: Array, beta: Array, noise_variance: float) -> Risk:
    """Bias and variance of the fitted values, f not depending on y."""
    along = spectrum.directions.T @ beta
    bias = float(np.sum((spectrum.singular_values * (f - 1) * along) ** 2))
    return Risk(bias, float(noise_variance * np.sum(f**2)))
