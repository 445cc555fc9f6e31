"""Kernels: functions of two samples, landmarks for large data, and kernels between sets.

Kernel functions and the checks of their matrices are here, kernels between sets of vectors in
:mod:`eigenkit.kernels.sets`. A centred kernel is a kind of data (:mod:`eigenkit.data.kernel`).
"""

from eigenkit.kernels.checks import (
    PRECOMPUTED,
    check_kernel_size,
    check_positive,
    check_precomputed,
    check_square,
    checked_kernel,
    landmark_map,
    pivots,
)
from eigenkit.kernels.functions import KERNELS, Kernel, KernelRows, PrecomputedKernel, rounding

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
