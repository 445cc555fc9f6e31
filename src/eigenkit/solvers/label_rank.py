"""Many labels: a few targets that stand for all of them.

H_r = H V_r with V_r (k x r) the first right singular vectors of H: stage one has r right-hand sides
in place of k, and nothing of d x k numbers is formed. What that costs is bounded: for every i

    0 <= lambda_i(H) - lambda_i(H_r) <= sigma_{r+1}(H)^2

(times s^2 / (s^2 + ridge), s the largest singular value of Z, which is nearly 1 unless the ridge
is very large). It is of no use where all singular values of H are alike, as those of CCA and LDA
are. There V_r holds the first eigenvectors of D = H'Z B^-1 Z'H instead, which takes the k
right-hand sides of stage one; what comes after that is done for r directions, the first r
eigenvalues are what they are, and the bound is the next one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg as sla
from scipy.sparse import linalg as spla

from eigenkit.linalg import Array, eigenpairs
from eigenkit.pencil import Pencil, Solution
from eigenkit.tolerances import SUM_ROUNDING, above_rounding

# "auto" takes as many directions as hold this share of the squares of H, or of the eigenvalues.
SHARE = 0.99

# Up to this many labels all singular values come from H'H; beyond, a few by Lanczos.
MANY = 2000

# Where samples are fewer than labels, H of at most this many entries is decomposed as it is.
FEW_ENTRIES = 2**23


def reduced(pencil: Pencil, rank: int | str) -> tuple[Pencil, Array, float]:
    """The pencil with the targets H V, V (k x r), and sigma_{r+1}(H)^2."""
    squares, V, total = _leading(pencil.Z, pencil.H, rank)
    r = rank if isinstance(rank, int) else _enough(squares, total)
    r = min(r, int(np.sum(above_rounding(squares, 1))))
    rest = float(squares[r]) if r < len(squares) else max(0.0, total - float(squares.sum()))
    V = np.ascontiguousarray(V[:, :r])
    return replace(pencil, H=pencil.H @ V), V, rest


def leading(values: Array, rank: int | str) -> tuple[int, float]:
    """How many of the (decreasing) eigenvalues of D are kept, and the first that is not."""
    r = rank if isinstance(rank, int) else _enough(values, float(values.sum()))
    return min(r, len(values)), float(values[r]) if r < len(values) else 0.0


def cut(solution: Solution, rank: int | str | None) -> Solution:
    """The first components, as many as ``rank`` says, with the bound in the report."""
    if rank is None:
        return solution
    r, rest = leading(solution.eigenvalues, rank)
    report = replace(solution.report, label_rank=r, label_bound=rest)
    W, values, basis = solution.W[:, :r], solution.eigenvalues[:r], solution.basis[:, :r]
    return replace(solution, W=W, eigenvalues=values, basis=basis, report=report)


def restored(solution: Solution, V: Array, bound: float) -> Solution:
    """The solution in terms of all labels, with the bound in its report."""
    report = replace(solution.report, label_rank=V.shape[1], label_bound=bound)
    return replace(solution, basis=V @ solution.basis, report=report)


def _leading(Z: Any, H: Any, rank: int | str) -> tuple[Array, Array, float]:
    """Squared singular values (decreasing) and right singular vectors, one more than ``rank``;
    and the sum of all squares."""
    n, k = H.shape
    if Z.has_rows and n < k and n * k <= FEW_ENTRIES:
        # H = R'Q' with Q of k x n: no squares are formed, and nothing of k x k
        Q, R = sla.qr(np.asarray(H).T, mode="economic")
        _, s, Vt = sla.svd(R.T)
        return s**2, np.asarray(Q @ Vt.T), float(np.sum(s**2))
    if not Z.has_rows or (min(n, k) <= MANY and k <= 2 * MANY):
        G = Z.within(H)
        values, V = eigenpairs(G)
        count = k if isinstance(rank, str) else rank + 1
        return np.maximum(values[:count], 0.0), V[:, :count], float(np.trace(G))
    count, total = 64 if isinstance(rank, str) else rank + 1, Z.squares_of(H)
    while True:
        count = min(count, min(n, k) - 1)
        squares, V = _lanczos(H, count)
        if isinstance(rank, int) or squares.sum() >= SHARE * total or count == min(n, k) - 1:
            return squares, V, total
        count *= 2


def _lanczos(H: Any, count: int) -> tuple[Array, Array]:
    products = {
        "matvec": lambda v: H @ v.reshape(-1, 1),
        "rmatvec": lambda u: H.T @ u.reshape(-1, 1),
        "matmat": lambda V: H @ V,
        "rmatmat": lambda U: H.T @ U,
    }
    operator = spla.LinearOperator(H.shape, dtype=np.float64, **products)
    start = np.cos(np.arange(1.0, min(H.shape) + 1.0))
    _, s, Vt = spla.svds(operator, k=count, v0=start)
    order = np.argsort(-s)
    # Orthonormal to rounding, which is what makes the bound true.
    return s[order] ** 2, np.asarray(sla.qr(Vt[order].T, mode="economic")[0])


def _enough(squares: Array, total: float) -> int:
    """The least number of directions that holds the share."""
    return int(np.searchsorted(np.cumsum(squares), SHARE * total * (1 - SUM_ROUNDING)) + 1)
