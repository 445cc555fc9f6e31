"""Kernels: functions of two samples, landmarks for large data, and kernels between sets.

A kernel matrix must be finite, symmetric, positive semidefinite, and not too large. For large data
there are landmarks: a few samples that represent all of them. Kernels between sets of vectors are
in :mod:`eigenkit.kernels.sets`. A centred kernel is a kind of data (:mod:`eigenkit.data.kernel`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg as sla
from scipy import sparse

from eigenkit.data import check_finite, largest
from eigenkit.kernels.functions import KERNELS, Kernel, KernelRows, PrecomputedKernel, rounding
from eigenkit.numerics.costs import KERNEL_LIMIT_BYTES
from eigenkit.numerics.linalg import Array, eigenpairs
from eigenkit.numerics.threads import blas_threads
from eigenkit.numerics.tolerances import DEPENDENT, RANK_TOL, SYMMETRY_TOL, above_rounding

__all__ = [
    "KERNELS",
    "PRECOMPUTED",
    "Kernel",
    "KernelRows",
    "PrecomputedKernel",
    "check_kernel_size",
    "check_positive",
    "check_precomputed",
    "check_square",
    "checked_kernel",
    "landmark_map",
    "pivots",
    "rounding",
]

# What messages call a kernel that is given as a matrix.
PRECOMPUTED = "X, the precomputed kernel,"


def checked_kernel(K: Array, name: str = "kernel", tol: float = SYMMETRY_TOL) -> Array:
    """K, symmetric to rounding; refused if not finite, square, symmetric to ``tol``, or if zero."""
    check_square(K, name)
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


def check_square(K: Array, name: str) -> None:
    """Refuse what cannot be a kernel matrix by its shape."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"{name} has shape {K.shape}: give the square matrix of inner products of all samples."
        )


def check_precomputed(K: Any) -> None:
    """Refuse what cannot be the kernel matrix of a user; its numbers are checked later."""
    if sparse.issparse(K):
        raise TypeError("X is a sparse matrix: give a precomputed kernel as a dense one.")
    check_square(K, PRECOMPUTED)


def check_positive(K: Array, name: str = "kernel") -> None:
    """Refuse a centred kernel with eigenvalues below zero by more than rounding."""
    n = len(K)
    floor = SYMMETRY_TOL * max(float(np.trace(K)) / n, float(np.linalg.norm(K)) / np.sqrt(n))
    shifted = K.copy()
    shifted.flat[:: n + 1] += floor
    with blas_threads(n):
        _, info = sla.lapack.dpotrf(shifted.T, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            return
        ends = sla.eigvalsh(K)[[0, -1]]
    refuse_negative(ends[0], ends[1], name)


def refuse_negative(low: float, high: float, name: str) -> None:
    if low < -SYMMETRY_TOL * max(high, 0.0):
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


def pivots(
    columns: Callable[[np.ndarray], Array],
    diagonal: Array,
    rank: int,
    *,
    block: int = 32,
    name: str = "kernel",
) -> np.ndarray:
    """Pivots of the Cholesky factorization of K: samples that represent all of them.

    Takes samples whose features are badly approximated by those before, until all residuals
    are rounding beside the largest diagonal entry. ``columns(index)`` evaluates columns of
    K, a block of candidates at a time; a candidate is taken while its residual is at least
    half of the largest there is, so with ``block=1`` every pivot is the worst approximated one.
    Of samples with equal residuals one is a candidate, so that copies of samples leave the
    pivots as they are.

    >>> K = np.array([[4.0, 4.0, 0.0], [4.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    >>> pivots(lambda index: K[:, index], K.diagonal(), 3)
    array([0, 2])
    """
    residual = np.array(diagonal, dtype=np.float64)
    if not np.any(residual > 0):
        raise ValueError(
            f"{name} is at most zero for every sample with itself, so that no sample can represent "
            "others: set approximation=None, or use a positive semidefinite kernel."
        )
    floor = RANK_TOL * residual.max()
    G = np.empty((len(residual), rank), order="F")
    chosen: list[int] = []
    while len(chosen) < rank:
        order = np.argsort(-residual, kind="stable")
        steps = -np.diff(residual[order], prepend=np.inf)
        candidates = order[steps > DEPENDENT * np.max(diagonal)][:block]
        if residual[candidates[0]] <= floor:
            break
        done = G[:, : len(chosen)]
        C = columns(candidates) - done @ done[candidates].T
        chosen += _pivots_in_block(G, C, candidates, residual, len(chosen), floor)
    if residual.min(initial=0.0) < -SYMMETRY_TOL * np.max(diagonal):
        raise ValueError(
            f"{name} is not positive semidefinite: its diagonal contradicts its other entries; "
            "use another kernel or parameters."
        )
    return np.array(chosen, dtype=np.intp)


def _pivots_in_block(
    G: Array, C: Array, candidates: np.ndarray, residual: Array, j: int, floor: float
) -> list[int]:
    """Factor columns G[:, j:] from the residual columns C; updates ``residual`` too."""
    taken: list[int] = []
    for column in range(j, G.shape[1]):
        best = int(np.argmax(residual[candidates]))
        p = int(candidates[best])
        if residual[p] <= floor or residual[p] < 0.5 * residual.max():
            break
        g = C[:, best] / np.sqrt(residual[p])
        C -= np.outer(g, g[candidates])
        residual -= g * g
        residual[p] = 0.0
        G[:, column] = g
        taken.append(p)
    return taken


def landmark_map(K: Array, name: str = "kernel", least: float = 0.0) -> Array:
    """N such that the rows ``k(x, L) @ N`` are features of x, for the kernel K of landmarks L.

    N N' = K^+: inner products with landmarks are exact. Eigenvalues up to ``least`` are rounding.
    """
    values, V = eigenpairs(K)
    refuse_negative(values[-1], values[0], name)
    keep = above_rounding(values, len(values)) & (values > least)
    return np.asarray(V[:, keep] / np.sqrt(values[keep]))
