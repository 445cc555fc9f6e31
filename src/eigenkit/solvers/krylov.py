"""Block Krylov methods: all right-hand sides share one space, and all ridges too.

The block Lanczos process on a symmetric operator G with start block Q_1 gives

    G Q_j = Q_{j+1} b_{j+1} + Q_j a_j + Q_{j-1} b_j'

whatever multiple of the identity is added to G: the ridge only shifts a_j. So one pass over
the data serves every ridge of a grid; per ridge there is one more update of two n x k
blocks, the block LDL' factorization of the shifted tridiagonal matrix carried forward
(for one right-hand side that is the conjugate gradient method).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg as sla

from eigenkit.linalg import EPS, Array, orthonormalize

Product = Callable[[Array], Array]


@dataclass
class _Shifted:
    """The solution of (G + shift) X = B as the Lanczos process goes on."""

    shift: float
    X: Array
    P: Array
    pivot: Array
    rest: Array
    n_iter: int = 0
    done: bool = False

    def step(self, a: Array) -> None:
        """Take the newest block of the space into the solution."""
        self.pivot += a + self.shift * np.eye(len(a))
        self.X += self.P @ np.linalg.solve(self.pivot, self.rest)
        self.n_iter += 1

    def extend(self, Q: Array, b: Array) -> None:
        """Carry the factorization over to the next block."""
        multiplier = np.linalg.solve(self.pivot.T, b.T).T
        self.pivot = -multiplier @ b.T
        self.rest = -multiplier @ self.rest
        self.P = Q - self.P @ multiplier.T


def block_cg(
    product: Product, B: Array, shifts: Sequence[float], tol: float, max_iter: int
) -> list[tuple[Array, int, bool]]:
    """Solve (G + shift) X = B for every shift; G X is ``product(X)``, G symmetric PSD.

    Returns for each shift X, the number of block iterations and whether ||residual||
    fell below tol * ||B|| (Frobenius norms).
    """
    Q, b = orthonormalize(B)
    runs = [_Shifted(s, np.zeros_like(B), Q, np.zeros((len(b),) * 2), b) for s in shifts]
    if len(b) == 0:
        return [(run.X, 0, True) for run in runs]
    goal = tol * float(np.linalg.norm(B))
    size = 0.0
    previous, coupling = np.zeros_like(Q), np.zeros((len(b),) * 2)
    for _ in range(max_iter):
        W = product(Q)
        W -= previous @ coupling.T
        a = Q.T @ W
        W -= Q @ a
        size = max(size, float(np.abs(a).max()))
        for run in runs:
            if not run.done:
                run.step(a)
        previous, (Q, coupling) = Q, orthonormalize(W, floor=EPS * size)
        for run in runs:
            if not run.done:
                run.extend(Q, coupling)
                run.done = bool(np.linalg.norm(run.rest) <= goal)
        if all(run.done for run in runs) or len(coupling) == 0:
            break
    return [(run.X, run.n_iter, run.done) for run in runs]


def block_lsqr(
    forward: Product, backward: Product, B: Array, tol: float, max_iter: int
) -> tuple[Array, int, bool]:
    """The least squares solution of least norm of Z X = B.

    ``forward(V)`` is Z V, ``backward(U)`` is Z'U. Golub-Kahan bidiagonalization of Z by
    blocks: twice the vectors of :func:`block_cg`, but the condition number of Z and not its
    square. Returns X, the number of block iterations and whether ||Z'(B - Z X)|| fell below
    tol * ||Z'B||.
    """
    U, phi = orthonormalize(B)
    V, alpha = orthonormalize(backward(U))
    rho, W = alpha.T, V
    X = np.zeros((V.shape[0], B.shape[1]))
    first = float(np.linalg.norm(rho.T @ phi))
    for n_iter in range(1, max_iter + 1):
        if V.shape[1] == 0 or first == 0.0:
            return X, n_iter - 1, True
        U, beta = orthonormalize(forward(V) - U @ alpha.T)
        column = np.vstack([rho, beta])
        rotation, triangle = sla.qr(column)
        r = V.shape[1]
        turned = rotation.T[:, : len(rho)] @ phi
        step, phi = turned[:r], turned[r:]
        X += W @ _solve_triangle(triangle[:r], step)
        V_next, alpha = orthonormalize(backward(U) - V @ beta.T)
        coupling = rotation.T[:, len(rho) :] @ alpha.T
        theta, rho = coupling[:r], coupling[r:]
        W = V_next - W @ _solve_triangle(triangle[:r], theta)
        V = V_next
        if np.linalg.norm(rho.T @ phi) <= tol * first:
            return X, n_iter, True
    return X, max_iter, False


def _solve_triangle(R: Array, b: Array) -> Array:
    """R^-1 b, where a pivot that is rounding means a direction already solved for."""
    size = np.abs(np.diag(R))
    if size.min(initial=np.inf) > EPS * size.max(initial=0.0):
        return np.asarray(sla.solve_triangular(R, b, check_finite=False))
    return np.asarray(sla.lstsq(R, b, cond=EPS)[0])
