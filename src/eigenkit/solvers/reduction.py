"""The pencil in coordinates where B is the identity, by singular vectors of the data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg as sla

from eigenkit.data import Data
from eigenkit.linalg import Array, power_of_two, truncated_svd
from eigenkit.pencil import Pencil
from eigenkit.threads import blas_threads


def one_number(ridge: float | Array) -> float:
    """A ridge that is the same for all columns, as a number."""
    return float(np.ravel(ridge)[0])


Reduction = Callable[[float | Array], tuple[Array, Array, float]]


def reduction(pencil: Pencil) -> Reduction:
    """A function of the ridge that gives F (d x r), M = F'Z'H (r x k) and 1/cond on that space.

    F has F'B F = I and spans the row space of Z, so that the pencil becomes M M'.
    """
    Z, H = pencil.Z, np.asarray(pencil.H)
    with blas_threads(min(Z.shape)):
        if Z.shape[0] > Z.shape[1] and Z.may_be_dense:
            return _tall_reduction(Z, H)
        U, s, V = Z.triplets()
        return _spectral_reduction(s, V, U.T @ H)


def _spectral_reduction(s: Array, V: Array, UtH: Array) -> Reduction:
    def reduce(ridge: float | Array) -> tuple[Array, Array, float]:
        root = np.hypot(s, np.sqrt(one_number(ridge)))
        return V / root, (s / root)[:, None] * UtH, _rcond(root)

    return reduce


def _tall_reduction(Z: Data, H: Array) -> Reduction:
    """First a QR factorization of [Z H]: from there on only d x (d + k) numbers count."""
    d = Z.shape[1]
    joint = sla.qr(np.hstack([Z.toarray(), H]), mode="r", overwrite_a=True)[0]
    R, T = joint[:d, :d], joint[:d, d:]

    def reduce(ridge: float | Array) -> tuple[Array, Array, float]:
        if np.all(ridge == 0):
            return _whitened_triangle(R, T, Z)
        if np.ndim(ridge) == 0:
            U, s, V = truncated_svd(R, Z.n_samples, Z.grain())
            return _spectral_reduction(s, V, U.T @ T)(ridge)
        below = np.hstack([np.diag(np.sqrt(np.broadcast_to(ridge, d))), np.zeros_like(T)])
        stacked = sla.qr(np.vstack([np.hstack([R, T]), below]), mode="r")[0]
        return _whitened_triangle(stacked[:d, :d], stacked[:d, d:], Z)

    return reduce


def _whitened_triangle(R: Array, T: Array, Z: Data) -> tuple[Array, Array, float]:
    """F and M from R'R = B and R'T = Z'H; columns on one scale: units decide no rank."""
    size = np.sqrt(np.einsum("ij,ij->j", R, R))
    scale = power_of_two(size)
    U, s, V = truncated_svd(R / scale, Z.n_samples, Z.grain() / scale)
    F = np.where(size[:, None] > 0, V / s / scale[:, None], 0.0)
    if 0 < len(s) < len(scale):
        # Least norm in the units of the data: the part of F in the row space of R.
        basis = sla.qr(np.where(size > 0, scale, 0.0)[:, None] * V, mode="economic")[0]
        F = basis @ (basis.T @ F)
    return F, U.T @ T, _rcond(s)


def _rcond(s: Array) -> float:
    """Smallest over largest of the singular values that are kept."""
    return float(s[-1] / s[0]) if len(s) else float("nan")
