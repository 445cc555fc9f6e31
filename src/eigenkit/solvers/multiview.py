"""Canonical correlation of K views: one block pencil.

    C w = (lambda + 1) D w,   C_ij = Z_i'Z_j,   D_ii = C_ii + ridge_i I

with the ridge on the diagonal blocks of C as well, so that lambda is what the views have in
common and two views give CCA with its two ridges. In coordinates q_i = F_i^-1 w_i, where
F_i'D_ii F_i = I, it is a symmetric matrix with zero diagonal blocks. The coordinates come
from Cholesky factors of the diagonal blocks, or from singular value decompositions of the
views where they are wide or ill-conditioned.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import linalg as sla

from eigenkit.data import Centered
from eigenkit.numerics.costs import fits
from eigenkit.numerics.linalg import Array, Cholesky, eigenpairs, signs
from eigenkit.numerics.threads import blas_threads
from eigenkit.numerics.tolerances import PRODUCTS_RANK_TOL, TEN_DIGITS
from eigenkit.pencil import Report, Solution

Columns = Sequence[np.ndarray]


def solve_views(Z: Centered, columns: Columns, alphas: Sequence[float], k: int | None) -> Solution:
    """The k largest lambda (None: all positive ones) and W (D x k, in the units of X).

    Z holds all views side by side, ``columns`` says which are whose. W'D W = K I: on average
    over the views, scores have unit length.
    """
    tall = all(len(own) <= Z.shape[0] for own in columns) and fits(Z.shape[1])
    found, how = _from_gram(Z, columns, alphas, k) if tall else None, ("cholesky", "views are tall")
    if found is None:
        found = _from_views(Z, columns, alphas, k)
        how = "svd", "a view is close to collinear" if tall else "a view is wide"
    values, W = found
    W = W * (signs(W) * np.sqrt(len(columns)))
    return Solution(W, values, np.empty((0, len(values))), Report("block pencil", *how))


def _from_gram(
    Z: Centered, columns: Columns, alphas: Sequence[float], k: int | None
) -> tuple[Array, Array] | None:
    """Eigenvalues and W from Z'Z; None where a diagonal block has lost too many digits."""
    G = Z.gram()
    grain, factors = Z.grain(G.diagonal()), []
    for own, alpha in zip(columns, alphas, strict=True):
        block = G[np.ix_(own, own)]
        block.flat[:: len(own) + 1] += np.broadcast_to(Z.ridge(alpha), len(G))[own]
        constant = Z.constant[own]
        block[constant, constant] += 1.0  # their rows and columns are zero
        factor = Cholesky.of(block)
        if factor is None or factor.rcond < TEN_DIGITS:
            return None
        if factor.smallest < np.max(grain[own] / factor.scale) ** 2:
            return None
        factors.append(factor)
    order = np.concatenate(columns)
    edges = np.cumsum([0] + [len(own) for own in columns])
    M = np.triu(G[np.ix_(order, order)])
    for (a, b), factor in zip(pairwise(edges), factors, strict=True):
        M[a:b, a:b] = 0.0
        M[a:b, b:] = factor.half(M[a:b, b:])
        M[:a, a:b] = factor.half(M[:a, a:b].T).T
    values, Q = _positive(M, edges, k)
    W = np.empty_like(Q)
    for (a, b), own, factor in zip(pairwise(edges), columns, factors, strict=True):
        W[own] = factor.back(Q[a:b])
    return values, Z.to_X(W)


def _from_views(
    Z: Centered, columns: Columns, alphas: Sequence[float], k: int | None
) -> tuple[Array, Array]:
    """Eigenvalues and W from a singular value decomposition of each view."""
    parts, scores = [], []
    for own, alpha in zip(columns, alphas, strict=True):
        _check_size(Z.shape[0], len(own))
        view = Z.columns(own)
        U, s, V = view.triplets()
        root = np.hypot(s, np.sqrt(float(np.max(view.ridge(alpha)))))
        scores.append(U * (s / root))
        parts.append(view.to_X(V / root))
    P = np.hstack(scores)
    M = np.triu(P.T @ P)
    edges = np.cumsum([0] + [part.shape[1] for part in parts])
    for a, b in pairwise(edges):
        M[a:b, a:b] = 0.0
    values, Q = _positive(M, edges, k)
    W = np.empty((Z.shape[1], len(values)))
    for own, part, rows in zip(columns, parts, np.split(Q, edges[1:-1]), strict=True):
        W[own] = part @ rows
    return values, W


def _check_size(n: int, d: int) -> None:
    if not fits(min(n, d)):
        raise ValueError(
            f"a view has {n} rows and {d} columns, too many for its singular values: reduce it "
            "first, for instance by PCA, which takes sparse data of this size."
        )


def _positive(M: Array, edges: Array, k: int | None) -> tuple[Array, Array]:
    """The k largest eigenpairs of M + M', without those that are not positive beyond rounding.

    M holds the blocks above the diagonal. With two views that is one block, and its singular
    values are the eigenvalues.
    """
    if len(edges) == 3:
        with blas_threads(len(M)):
            U, values, Vt = sla.svd(M[: edges[1], edges[1] :], full_matrices=False)
        Q = np.vstack([U, Vt.T]) / np.sqrt(2.0)
    else:
        values, Q = eigenpairs(M + M.T, k)
    values, Q = values[:k], Q[:, :k]
    keep = values > PRODUCTS_RANK_TOL * values.max(initial=1.0)
    return values[keep], Q[:, keep]
