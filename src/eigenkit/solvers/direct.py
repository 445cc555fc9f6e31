"""The generalized eigenvalue problem itself: the yardstick.

In coordinates where B is the identity (from a singular value decomposition of Z) the pencil
is the r x r matrix M M', r = rank(Z), and its solution the singular vectors of M. The cost grows
with min(n, d)^3.
"""

from __future__ import annotations

from scipy import linalg as sla

from eigenkit.linalg import RANK_TOL, Array
from eigenkit.pencil import Pencil
from eigenkit.solvers.regression import reduction
from eigenkit.threads import blas_threads


def direct(pencil: Pencil) -> tuple[Array, Array, Array, float]:
    """W, eigenvalues, the basis H'Z W / sqrt(eigenvalues), and 1/cond of Z."""
    F, M, rcond = reduction(pencil)(pencil.ridge)
    # The singular values of M and not the eigenvalues of M M': those of small components
    # would be lost in the rounding of the large ones.
    with blas_threads(min(M.shape)):
        U, s, Vt = sla.svd(M, full_matrices=False)
    keep = s**2 > RANK_TOL * s.max(initial=0.0) ** 2
    return F @ U[:, keep], s[keep] ** 2, Vt[keep].T, rcond
