"""The same pencil in fewer coordinates: a few targets for many labels.

H_r = H V_r with V_r (k x r) the first right singular vectors of H: stage one has r right-hand sides
in place of k, and nothing of d x k numbers is formed. What that costs is bounded: for every i

    0 <= lambda_i(H) - lambda_i(H_r) <= sigma_{r+1}(H)^2

(times s^2 / (s^2 + ridge), s the largest singular value of Z, which is nearly 1 unless the ridge
is very large). It is of no use where all singular values of H are equal, as those of CCA and LDA
are. There V_r holds the first eigenvectors of D = H'Z B^-1 Z'H instead, which takes the k
right-hand sides of stage one; what comes after that is done for r directions, the first r
eigenvalues are what they are, and the bound is the next one.

Where there are more labels than features, nothing need be left out: (Z'H)' = Q R has at most as
many directions as there are features, and the targets H Q give the same pencil.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as sla

from eigenkit.data.matrices import sum_of_squares
from eigenkit.numerics.linalg import Array, eigenpairs, lapack, orthonormalize
from eigenkit.numerics.tolerances import SUM_ROUNDING, above_rounding
from eigenkit.pencil import Pencil
from eigenkit.solvers.krylov import largest_eigenpairs

# "auto" takes as many directions as hold this share of the squares of H, or of the eigenvalues.
SHARE = 0.99

# Up to this many labels all singular values come from H'H; beyond, a few by Lanczos: "auto" takes
# at most MOST of them there.
MANY = 2000
MOST = 256

# Residuals relative to the largest singular value, and steps, at which the Lanczos method stops:
# for as many directions as were asked for, for those of "auto", and for what these leave out.
FINE, ROUGH, MEASURED = (1e-12, 2000), (1e-4, 200), (0.01, 200)

# Where samples are fewer than labels, H of at most this many entries is decomposed as it is.
FEW_ENTRIES = 2**23


def reduced(pencil: Pencil, rank: int | str) -> tuple[Pencil, Array, float]:
    """The pencil with the targets H V, V (k x r), and ||H - H V V'||^2, which is sigma_{r+1}^2."""
    V, rest = _directions(pencil.Z, pencil.H, rank)
    V = np.ascontiguousarray(V)
    return Pencil(pencil.Z, pencil.H @ V, pencil.alpha), V, rest


def _directions(Z: Any, H: Any, rank: int | str) -> tuple[Array, float]:
    n, k = H.shape
    if Z.has_rows and n < k and n * k <= FEW_ENTRIES:
        squares, V, total = _by_rows(np.asarray(H))
    elif not Z.has_rows or (min(n, k) <= MANY and k <= 2 * MANY):
        squares, V, total = _by_gram(Z.within(H))
    elif isinstance(rank, str):
        return _main_directions(H, Z.squares_of(H))
    else:
        squares, V, total = *_lanczos(H, rank + 1, *FINE), Z.squares_of(H)
    r = rank if isinstance(rank, int) else _enough(squares, total)
    r = min(r, int(np.sum(above_rounding(squares, 1))))
    rest = float(squares[r]) if r < len(squares) else max(0.0, total - float(squares.sum()))
    return V[:, :r], rest


class _Turned:
    """H Q, formed only when needed, as it costs as much as Z'H."""

    __array_ufunc__ = None

    def __init__(self, H: Any, Q: Array) -> None:
        self.H, self.Q = H, Q
        self.shape = H.shape[0], Q.shape[1]

    def __matmul__(self, T: Array) -> Array:
        return np.asarray(self.H @ (self.Q @ T))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.H @ self.Q)

    def column_squares(self) -> Array:
        return sum_of_squares(np.asarray(self))


def narrowed(pencil: Pencil) -> tuple[Pencil, Array]:
    """The pencil with targets H Q, as many as there are directions: A = C C' = R'R for C' = Q R."""
    how = {"mode": "economic", "check_finite": False}
    Q, R = lapack(pencil.C.shape[0], sla.qr, pencil.C.T, **how)
    turned = _Turned(pencil.H, Q) if pencil.Z.has_rows else pencil.H @ Q
    return Pencil(pencil.Z, turned, pencil.alpha, R.T), Q


def leading(values: Array, rank: int | str) -> tuple[int, float]:
    """How many of the (decreasing) eigenvalues of D are kept, and the first that is not."""
    r = rank if isinstance(rank, int) else _enough(values, float(values.sum()))
    return min(r, len(values)), float(values[r]) if r < len(values) else 0.0


# Squared singular values (decreasing) and right singular vectors of H, and the sum of all squares:


def _by_rows(H: Array) -> tuple[Array, Array, float]:
    """H = R'Q' with Q of k x n: no squares are formed, and nothing of k x k."""
    Q, R = sla.qr(H.T, mode="economic")
    _, s, Vt = sla.svd(R.T)
    return s**2, np.asarray(Q @ Vt.T), float(np.sum(s**2))


def _by_gram(G: Array) -> tuple[Array, Array, float]:
    """From H'H."""
    values, V = eigenpairs(G)
    return np.maximum(values, 0.0), V, float(np.trace(G))


def _main_directions(H: Any, total: float) -> tuple[Array, float]:
    """V for "auto" and ||H - H V V'||^2 where H is large: at most MOST directions."""
    # They need not be singular vectors to many digits, as what they leave out is measured.
    squares, V = _lanczos(H, MOST, *ROUGH)
    V = V[:, : min(_enough(squares, total), int(np.sum(above_rounding(squares, 1))))]
    HV = H @ V
    left = largest_eigenpairs(lambda U: H @ (H.T @ U) - HV @ (HV.T @ U), len(HV), 1, *MEASURED)
    return V, (1 + MEASURED[0]) * float(left.values.max(initial=0.0))


def _lanczos(H: Any, count: int, tol: float, steps: int) -> tuple[Array, Array]:
    """The ``count`` first squared singular values of a large H, and right singular vectors."""
    n, k = H.shape
    count = min(count, n - 1, k - 1)
    if n < k:
        found = largest_eigenpairs(lambda U: H @ (H.T @ U), n, count, tol, steps)
        V, _ = orthonormalize(H.T @ found.vectors)
    else:
        V = largest_eigenpairs(lambda V: H.T @ (H @ V), k, count, tol, steps).vectors
    HV = H @ V
    squares, turn = eigenpairs(HV.T @ HV)
    return squares, V @ turn


def _enough(squares: Array, total: float) -> int:
    """The least number of directions that holds the share."""
    return int(np.searchsorted(np.cumsum(squares), SHARE * total * (1 - SUM_ROUNDING)) + 1)
