"""What a kernel matrix must be: finite, symmetric, positive semidefinite, and not too large."""

from __future__ import annotations

import numpy as np
from scipy import linalg as sla

from eigenkit.data import check_finite, largest
from eigenkit.linalg import Array
from eigenkit.threads import blas_threads
from eigenkit.tolerances import SYMMETRY_TOL

# The largest kernel matrix that a fit may allocate (its factor takes as much again).
KERNEL_LIMIT_BYTES = 2**31


def checked_kernel(K: Array, name: str = "kernel", tol: float = SYMMETRY_TOL) -> Array:
    """K, symmetric to rounding; refused if not finite, square, symmetric to ``tol``, or if zero."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"{name} has shape {K.shape}: give the square matrix of inner products of all samples."
        )
    check_finite(name, K)
    size = largest(K)
    if size == 0.0:
        raise ValueError(f"{name} is zero for every pair of samples: there is nothing to learn.")
    mirrored = K - K.T
    skew = float(mirrored.max())
    if skew > tol * size:
        raise ValueError(
            f"{name} is not symmetric (entries differ by {skew:.2g} from their mirror images, the "
            f"largest entry is {size:.2g}): give inner products, K[i, j] = K[j, i]."
        )
    mirrored /= 2
    return K if skew == 0.0 else np.subtract(K, mirrored, out=mirrored)


def check_positive(K: Array, name: str = "kernel", tol: float = SYMMETRY_TOL) -> None:
    """Refuse a centred kernel with eigenvalues below ``-tol`` times the largest."""
    n = len(K)
    floor = tol * max(float(np.trace(K)) / n, float(np.linalg.norm(K)) / np.sqrt(n))
    shifted = K.copy()
    shifted.flat[:: n + 1] += floor
    with blas_threads(n):
        _, info = sla.lapack.dpotrf(shifted.T, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            return
        ends = sla.eigvalsh(K)[[0, -1]]
    refuse_negative(ends[0], ends[1], name, tol)


def refuse_negative(low: float, high: float, name: str, tol: float = SYMMETRY_TOL) -> None:
    if low < -tol * max(high, 0.0):
        raise ValueError(
            f"{name} is not positive semidefinite (its eigenvalues run from {low:.2g} to "
            f"{high:.2g}): use another kernel or parameters, or project the matrix on the "
            "positive semidefinite ones first."
        )


def check_kernel_size(n: int) -> None:
    """Refuse a kernel matrix that would not fit, and say what does."""
    if 8 * n * n > KERNEL_LIMIT_BYTES:
        raise ValueError(
            f"X has {n} samples, and the kernel matrix of all of them would need "
            f"{8 * n * n / 2**30:.1f} GB (the limit is {KERNEL_LIMIT_BYTES / 2**30:g} GB): set "
            'approximation="cholesky" or "nystroem".'
        )
