"""Pencils with B = I: principal components of Z.

============ ===================================================================
method       what it decomposes
============ ===================================================================
gram         the smaller of Z'Z and Z Z', by an eigensolver
svd          Z itself (after QR, if it is tall): small singular values keep their digits
lanczos      Z'Z or Z Z' as an operator: a few components of large data
============ ===================================================================

"auto" takes the cheaper of gram and lanczos, and svd where the Gram matrix would cost more
than half of the digits of a singular value that is asked for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy
from scipy.sparse.linalg import eigsh

from eigenkit.data import Data
from eigenkit.exceptions import warn_of_stopping
from eigenkit.numerics import linalg
from eigenkit.numerics.costs import DENSE_RATE, fits
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import EPS, TEN_DIGITS, above_rounding, along
from eigenkit.pencil import Answer, Report, Solution
from eigenkit.solvers.krylov import BLOCK, largest_eigenpairs

METHODS = ("auto", "gram", "svd", "lanczos")


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
    keep = s > along(V, Z.grain())  # rounding of the numbers as they were given
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
    lost = values[-1] < TEN_DIGITS * largest
    if largest and lost and Z.decomposable:
        return None
    keep = above_rounding(values, Z.n_samples, Z.shape[1])
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
    noise = max(float(spectrum[k:].mean()), EPS * float(spectrum[0]))
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
