"""The generalized eigenvalue problem itself: the yardstick.

In coordinates where B is the identity (from a singular value decomposition of Z) the pencil
is the r x r matrix M M', r = rank(Z), and its solution the singular vectors of M. The cost grows
with min(n, d)^3.
"""

from __future__ import annotations

from eigenkit.linalg import Array
from eigenkit.pencil import Pencil
from eigenkit.solvers.regression import components, reduction


def direct(pencil: Pencil) -> tuple[Array, Array, Array, float]:
    """W, eigenvalues, the basis H'Z W / sqrt(eigenvalues), and 1/cond of Z."""
    F, M, rcond = reduction(pencil)(pencil.ridge)
    return *components(F, M), rcond
