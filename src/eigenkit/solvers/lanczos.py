"""The largest eigenvalues of a symmetric operator, by thick-restarted block Lanczos.

The basis V (n x m, orthonormal) grows by blocks: G Q is orthogonalized against all of V,
twice, and what is left becomes the next block, so that

    G V = V T + Q_next b E',    T = V'G V

When V is full, the best Ritz vectors V S and the newest block take its place; the coupling
between the two fills in T by itself when the newest block is multiplied. The residual of a
Ritz pair (theta, V s) is ||b s_last||, known without another product. The start block is
drawn from a generator of its own with a fixed seed: equal inputs give equal outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenkit.linalg import Array, eigenpairs, orthonormalize
from eigenkit.solvers.krylov import Product
from eigenkit.tolerances import EPS

# Columns multiplied at once: sparse products gain from blocks, convergence from small ones.
BLOCK = 8


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues (decreasing), eigenvectors in columns, block products taken, and success."""

    values: Array
    vectors: Array
    n_iter: int
    converged: bool


def largest_eigenpairs(product: Product, n: int, k: int, tol: float, max_iter: int) -> Eigenpairs:
    """The k largest eigenpairs of the PSD operator G (n x n) that ``product`` applies to blocks.

    A pair counts as found when ||G v - theta v|| <= tol * theta_max. Fewer than k come back
    where G has a smaller rank. At most ``max_iter`` blocks are multiplied.

    Examples
    --------
    >>> import numpy as np
    >>> G = np.diag(np.arange(100.0))
    >>> largest_eigenpairs(lambda V: G @ V, 100, 2, 1e-10, 200).values.round(6)
    array([99., 98.])
    """
    width = min(n, 2 * k + 6 * BLOCK)
    V = np.zeros((n, width + BLOCK), order="F")
    T = np.zeros((width + BLOCK, width + BLOCK))
    rng = np.random.default_rng(0)
    Q, _ = orthonormalize(rng.standard_normal((n, min(BLOCK, n))))
    m, n_iter, size = 0, 0, 0.0
    while True:
        end = m + Q.shape[1]
        V[:, m:end] = Q
        W = product(Q)
        h = V[:, :end].T @ W
        T[:end, m:end], T[m:end, :end] = h, h.T
        W = _orthogonal(V[:, :end], W - V[:, :end] @ h)  # once more: rounding has left some
        n_iter += 1
        size = max(size, float(np.abs(h).max(initial=0.0)))
        last, m = slice(m, end), end
        Q, b = orthonormalize(W, floor=10 * EPS * size)
        if np.linalg.norm(b, axis=1).min(initial=np.inf) < np.sqrt(EPS) * size:
            # Some directions are mostly rounding, which may lie anywhere: out of the span again.
            Q, _ = orthonormalize(_orthogonal(V[:, :end], Q))
            b = Q.T @ W
        if Q.shape[1] == 0 and m < min(k, n):
            # An eigenvalue tied more often than a block is wide: look beside the space found.
            fresh = rng.standard_normal((n, min(BLOCK, n - m)))
            Q, _ = orthonormalize(_orthogonal(V[:, :m], _orthogonal(V[:, :m], fresh)))
        out_of_room = m + Q.shape[1] > width
        if Q.shape[1] and not out_of_room and n_iter < max_iter:
            continue
        values, S = eigenpairs(T[:m, :m])
        residual = np.linalg.norm(b @ S[last, :k], axis=0)
        done = bool(np.all(residual <= tol * max(float(values[0]), 0.0)))
        if done or Q.shape[1] == 0 or n_iter >= max_iter:
            found = values[:k] > EPS * n * max(float(values[0]), 0.0)
            vectors = V[:, :m] @ S[:, :k][:, found]
            return Eigenpairs(values[:k][found], vectors, n_iter, done or Q.shape[1] == 0)
        m = _restart(V, T, values, S, m, k, width)


def _restart(V: Array, T: Array, values: Array, S: Array, m: int, k: int, width: int) -> int:
    """Keep the best Ritz vectors, more than are wanted, with room for some blocks beside."""
    kept = min(m, max(k, min(k + k // 2 + BLOCK, width - 4 * BLOCK)))
    V[:, :kept] = V[:, :m] @ S[:, :kept]
    T[:] = 0.0
    T[:kept, :kept] = np.diag(values[:kept])
    return kept


def _orthogonal(V: Array, W: Array) -> Array:
    """W without its part in the span of V."""
    return W - V @ (V.T @ W)
