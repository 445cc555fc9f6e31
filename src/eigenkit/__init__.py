"""Supervised dimensionality reduction and classification by generalized eigenvalue problems."""

from eigenkit.estimators import (
    CCA,
    LDA,
    HypergraphSpectral,
    KernelCCA,
    KernelHypergraphSpectral,
    KernelLDA,
    KernelOrthonormalizedPLS,
    KernelPCA,
    KernelPLS,
    MultipleKernelProjection,
    OrthonormalizedPLS,
    alpha_path,
)
from eigenkit.kernels import Kernel

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "LDA",
    "HypergraphSpectral",
    "Kernel",
    "KernelCCA",
    "KernelHypergraphSpectral",
    "KernelLDA",
    "KernelOrthonormalizedPLS",
    "KernelPCA",
    "KernelPLS",
    "MultipleKernelProjection",
    "OrthonormalizedPLS",
    "alpha_path",
]
