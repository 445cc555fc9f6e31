"""scikit-learn estimators: thin shells around the spine."""

from eigenkit.estimators._base import Projection, alpha_path
from eigenkit.estimators.cca import CCA
from eigenkit.estimators.hypergraph import HypergraphSpectral
from eigenkit.estimators.kernel import (
    KernelCCA,
    KernelHypergraphSpectral,
    KernelLDA,
    KernelOrthonormalizedPLS,
)
from eigenkit.estimators.kernel_components import KernelPCA, KernelPLS
from eigenkit.estimators.lda import LDA
from eigenkit.estimators.multiple_kernels import MultipleKernelProjection
from eigenkit.estimators.opls import OrthonormalizedPLS

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
    "MultipleKernelProjection",
    "OrthonormalizedPLS",
    "Projection",
    "alpha_path",
]
