"""Regress, then diagonalize a k x k matrix: equal to the direct way, always.

W1 = argmin ||Z W - H||^2 + ridge ||W||^2
D  = H'Z W1 = U diag(lambda) U'
W  = W1 U diag(lambda)^(-1/2)

D holds products, in which small components drown in the rounding of large ones. So the pencil
is solved once more on the span of W, where it is well scaled: half of the digits that D lost
come back, and W'B W = I holds to rounding also after an iterative first stage.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg as sla

from eigenkit.linalg import Array, eigenpairs, symmetric
from eigenkit.pencil import Pencil
from eigenkit.threads import blas_threads
from eigenkit.tolerances import RANK_TOL


def diagonalize(pencil: Pencil, W1: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors U of the second stage.

    With more targets than directions D has no more rank than those: C' = Q R brings it to
    Q'D Q = R W1 Q on the smaller side.
    """
    C = pencil.C
    if C.shape[1] <= C.shape[0]:
        values, U = eigenpairs(pencil.Z.inner(C, W1))
    else:
        with blas_threads(C.shape[0]):
            Q, R = sla.qr(C.T, mode="economic", check_finite=False)
        values, small = eigenpairs(pencil.Z.inner(R.T, W1 @ Q))
        U = Q @ small
    keep = values > RANK_TOL * values.max(initial=0.0)
    return values[keep], U[:, keep]


def rayleigh_ritz(
    pencil: Pencil, W: Array, BW: Array, WBW: Array, values: Array, U: Array
) -> tuple[Array, Array, Array, Array]:
    """W, B W, eigenvalues and basis of the pencil on the span of W, in which they lie already."""
    WBW, WC = symmetric(WBW), pencil.Z.inner(W, pencil.C)
    with blas_threads(W.shape[1]):
        L, info = sla.lapack.dpotrf(WBW, lower=1)
        if info or W.shape[1] == 0:
            return W, BW, values, U
        half = sla.solve_triangular(L, WC, lower=True)
        turn, s, basis = sla.svd(half, full_matrices=False)
        # Rounding may have passed for a component in D: here its eigenvalue shows.
        rank = int(np.sum(s**2 > RANK_TOL * s.max() ** 2))
        turn, s, basis = turn[:, :rank], s[:rank], basis[:rank]
        T = sla.solve_triangular(L, turn, lower=True, trans="T")
    return W @ T, BW @ T, s**2, basis.T
