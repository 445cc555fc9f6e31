"""Principal components and partial least squares from inner products alone.

Both work on Z (features, or a kernel) and give
dual coefficients A: the direction of the feature space is Z'A, its scores are Z Z'A.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import eigsh

from eigenkit.data import Data
from eigenkit.linalg import Array, eigenpairs, fixed_start, signs
from eigenkit.tolerances import RANK_TOL

# From this order on, and for fewer than a tenth of all components, Lanczos is faster.
LANCZOS_ORDER = 500


def primal(Z: Data, A: Array) -> Array:
    """Z'A in the coordinates of X; for a kernel its coefficients on rows k(x, X)."""
    return Z.to_X(Z.rmatmat(A))


def principal(Z: Data, n_components: int | None) -> tuple[Array, Array, float]:
    """W with scores Z W of decreasing variance, the eigenvalues of Z Z', and their total."""
    Z = Z.in_one_unit()
    wide = Z.shape[0] <= Z.shape[1]
    G = Z.outer() if wide else Z.gram()
    values, V = _leading(G, n_components)
    keep = values > Z.noise(values.max(initial=0.0))
    s, V = np.sqrt(values[keep]), V[:, keep]
    sign = signs(Z.unweighted(V if wide else Z.matmat(V)))  # of scores, whatever their lengths
    # Scores have the units of the features, which Z may have changed.
    length = Z.lengths_to_X(np.ones(1))
    W = Z.to_X((Z.rmatmat(V / s) if wide else V) * length) * sign
    trace = np.sqrt(np.array([np.trace(G)]))
    return W, Z.lengths_to_X(s) ** 2, float(Z.lengths_to_X(trace)[0] ** 2)


def _leading(G: Array, l: int | None) -> tuple[Array, Array]:
    """The l largest eigenvalues (all by default) and their eigenvectors."""
    n = len(G)
    if l is None or n < LANCZOS_ORDER or 10 * l > n:
        return eigenpairs(G, l)
    values, V = eigsh(G, l, which="LA", v0=fixed_start(n))
    return values[::-1], V[:, ::-1]


def deflated(Z: Data, H: Array, n_components: int) -> tuple[Array, Array, Array]:
    """Partial least squares (both sides deflated by the scores of Z) from inner products.

    For every component c is the leading eigenvector of Y'K Y, u = Y c,

        t = (I - T T') K u / ||w||,  ||w||^2 = u'(I - T T') K u,  Y <- Y - t t'Y / t't

    with T the normalized scores so far. K itself needs no deflation, as T'u = 0. Returns the
    dual rotations R (scores K R), the loadings of H and the eigenvalues; fewer than
    ``n_components`` columns where nothing is left to explain, or to explain it but rounding.
    """
    Y, n = H.copy(), len(H)
    T, R = np.empty((n, 0)), np.empty((n, 0))
    lengths: list[float] = []
    eigenvalues: list[float] = []
    for _ in range(n_components):
        KY = Z.dual_normal(Y)
        KY -= T @ (T.T @ KY)
        values, C = eigenpairs(Y.T @ KY)
        if values[0] <= RANK_TOL * max(eigenvalues, default=0.0) or values[0] <= 0:
            break
        u = Y @ C[:, :1]
        t, r = _next_score(Z, u, T, R)
        size = float(np.linalg.norm(t))
        if size**2 <= Z.noise(0.0) * float(r[:, 0] @ t[:, 0]):
            break
        T, R = np.hstack([T, t / size]), np.hstack([R, r / size])
        Y -= T[:, -1:] @ (T[:, -1:].T @ Y)
        lengths.append(size / np.sqrt(values[0]))
        eigenvalues.append(float(values[0]))
    loadings = H.T @ T / lengths
    sign = signs(loadings)
    return R * lengths * sign, loadings * sign, np.array(eigenvalues)


def _next_score(Z: Data, u: Array, T: Array, R: Array) -> tuple[Array, Array]:
    """t = (I - T T') K u and r with t = K r, orthogonalized twice."""
    t, r = Z.dual_normal(u), u
    for _ in range(2):
        overlap = T.T @ t
        t, r = t - T @ overlap, r - R @ overlap
    return t, r
