"""The same pencil in fewer coordinates: a few targets for many labels, and B as the identity.

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

By singular vectors of Z there are coordinates in which B is the identity (:func:`reductions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg as sla

from eigenkit.data import Data, sum_of_squares
from eigenkit.numerics.linalg import (
    Array,
    eigenpairs,
    lapack,
    orthonormalize,
    power_of_two,
    truncated_svd,
)
from eigenkit.numerics.threads import blas_threads
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
        """The sums of squares of the columns."""
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
    """V for "auto" and ||H - H V V'||^2 where H is large: at most MOST directions.

    They need not be singular vectors to many digits, as what they leave out is measured.
    """
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


# -- coordinates in which B is the identity --------------------------------------------


def one_number(ridge: float | Array) -> float:
    """A ridge that is the same for all columns, as a number."""
    return float(np.ravel(ridge)[0])


# F (d x r), M = F'Z'H (r x k), and the singular values of B^(1/2) on that space, decreasing.
Reduced = tuple[Array, Array, Array]


def reductions(pencil: Pencil, ridges: Sequence[float | Array]) -> list[Reduced]:
    """Coordinates F with F'B F = I that span the row space of Z, for every ridge.

    The pencil becomes M M' in them.
    """
    Z, H = pencil.Z, np.asarray(pencil.H)
    with blas_threads(min(Z.shape)):
        if Z.shape[0] > Z.shape[1] and Z.decomposable:
            # From there on only d x (d + k) numbers count.
            joint = sla.qr(np.hstack([Z.toarray(), H]), mode="r", overwrite_a=True)[0]
            R, T = np.split(joint[: Z.shape[1]], [Z.shape[1]], axis=1)
            return [_of_triangle(R, T, Z, ridge) for ridge in ridges]
        U, s, V = Z.triplets()
        UtH = U.T @ H
        return [_of_triplets(s, V, UtH, ridge) for ridge in ridges]


def _of_triplets(s: Array, V: Array, UtH: Array, ridge: float | Array) -> Reduced:
    root = np.hypot(s, np.sqrt(one_number(ridge)))
    return V / root, (s / root)[:, None] * UtH, root


def _of_triangle(R: Array, T: Array, Z: Data, ridge: float | Array) -> Reduced:
    """From R'R = Z'Z and R'T = Z'H."""
    if np.all(ridge == 0):
        return _whitened_triangle(R, T, Z)
    if np.ndim(ridge) == 0:
        U, s, V = truncated_svd(R, Z.n_samples, Z.grain())
        return _of_triplets(s, V, U.T @ T, ridge)
    d = len(R)
    below = np.hstack([np.diag(np.sqrt(np.broadcast_to(ridge, d))), np.zeros_like(T)])
    stacked = sla.qr(np.vstack([np.hstack([R, T]), below]), mode="r")[0]
    return _whitened_triangle(stacked[:d, :d], stacked[:d, d:], Z)


def _whitened_triangle(R: Array, T: Array, Z: Data) -> Reduced:
    """F and M from R'R = B and R'T = Z'H; columns on one scale: units decide no rank."""
    size = np.sqrt(np.einsum("ij,ij->j", R, R))
    scale = power_of_two(size)
    U, s, V = truncated_svd(R / scale, Z.n_samples, Z.grain() / scale)
    F = np.where(size[:, None] > 0, V / s / scale[:, None], 0.0)
    if 0 < len(s) < len(scale):
        # Least norm in the units of the data: the part of F in the row space of R.
        basis = sla.qr(np.where(size > 0, scale, 0.0)[:, None] * V, mode="economic")[0]
        F = basis @ (basis.T @ F)
    return F, U.T @ T, s
