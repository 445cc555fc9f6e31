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
    OrthonormalizedPLS,
    alpha_path,
)

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "LDA",
    "HypergraphSpectral",
    "KernelCCA",
    "KernelHypergraphSpectral",
    "KernelLDA",
    "KernelOrthonormalizedPLS",
    "KernelPCA",
    "KernelPLS",
    "OrthonormalizedPLS",
    "alpha_path",
]
