"""A graph over the samples, and what it costs a projection to differ along its edges.

For weights a_ij of the edges, L = diag(sum_j a_ij) - A is the Laplacian, and

    tr(W'X'L X W) = sum over edges of a_ij |W'x_i - W'x_j|^2

Added to the pencil, Xl'H H'Xl w = lambda (Xl'Xl + alpha I + mu X'L X) w, it is one more block of
rows for stage one: least squares of [H; 0] on [Xl; sqrt(mu) R] with R'R = X'L X.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import constant_columns
from eigenkit.numerics.linalg import Array, eigenpairs, power_of_two
from eigenkit.numerics.tolerances import above_rounding


def laplacian(A: Any) -> sparse.csr_array:
    """diag(A 1) - A of symmetric non-negative weights; its rows sum to zero."""
    A = sparse.csr_array(A, dtype=np.float64)
    degree = np.asarray(A.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degree) - A)


def root(F: Array, L: sparse.csr_array) -> Array:
    """R with R'R = F'L F; the mean of F, which does not matter to L, is subtracted first.

    In units in which columns are alike, or the rounding of large ones would be in the small ones.
    A column that is constant stays zero: beside labelled rows in which it is zero too, its
    rounding would be a feature that undoes what the graph asks for.
    """
    constant = constant_columns(F)
    F = np.where(constant, 0.0, F - F.mean(axis=0))
    G = F.T @ (L @ F)
    unit = power_of_two(np.sqrt(np.maximum(G.diagonal(), 0.0)))
    values, V = eigenpairs(G / unit / unit[:, None])
    keep = above_rounding(values, *F.shape)
    R = (V[:, keep] * np.sqrt(values[keep])).T * unit
    return np.asarray(np.where(constant, 0.0, R))


def incidence(L: sparse.csr_array) -> sparse.csr_array:
    """N with N'N = L: a row for every edge, with plus and minus the root of its weight."""
    edges = sparse.triu(L, 1).tocoo()
    m, root = edges.nnz, np.sqrt(-edges.data)
    places = np.tile(np.arange(m), 2), np.concatenate(edges.coords)
    return sparse.csr_array((np.concatenate([root, -root]), places), shape=(m, L.shape[0]))
