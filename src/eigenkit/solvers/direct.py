"""The generalized eigenvalue problem itself: the yardstick.

In coordinates where B is the identity (from a singular value decomposition of Z) the pencil
is the r x r matrix M M', r = rank(Z). The cost grows with min(n, d)^3.
"""

from __future__ import annotations

import numpy as np

from eigenkit.linalg import RANK_TOL, Array, eigenpairs
from eigenkit.pencil import Pencil
from eigenkit.solvers.regression import reduction


def direct(pencil: Pencil) -> tuple[Array, Array, Array, float]:
    """W, eigenvalues, the basis H'Z W / sqrt(eigenvalues), and 1/cond of Z."""
    F, M, rcond = reduction(pencil)(pencil.ridge)
    values, vectors = eigenpairs(M @ M.T)
    keep = values > RANK_TOL * values.max(initial=0.0)
    values, vectors = values[keep][: M.shape[1]], vectors[:, keep][:, : M.shape[1]]
    return F @ vectors, values, M.T @ (vectors / np.sqrt(values)), rcond
