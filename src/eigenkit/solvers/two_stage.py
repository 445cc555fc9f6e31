"""Regress, then diagonalize a k x k matrix: equal to the direct way, always.

W1 = argmin ||Z W - H||^2 + ridge ||W||^2
D  = H'Z W1 = U diag(lambda) U'
W  = W1 U diag(lambda)^(-1/2)
"""

from __future__ import annotations

import numpy as np

from eigenkit.linalg import RANK_TOL, Array, eigenpairs
from eigenkit.pencil import Pencil


def diagonalize(pencil: Pencil, W1: Array) -> tuple[Array, Array, Array]:
    """W, eigenvalues and U of the second stage."""
    values, U = eigenpairs(pencil.C.T @ W1)
    keep = values > RANK_TOL * values.max(initial=0.0)
    values, U = values[keep], U[:, keep]
    return W1 @ (U / np.sqrt(values)), values, U
