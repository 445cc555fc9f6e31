"""Supervised dimensionality reduction and classification by generalized eigenvalue problems."""

from eigenkit.estimators import (
    CCA,
    GEPSVM,
    LDA,
    HypergraphSpectral,
    OrthonormalizedPLS,
    ReGEC,
    alpha_path,
)

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "GEPSVM",
    "LDA",
    "HypergraphSpectral",
    "OrthonormalizedPLS",
    "ReGEC",
    "alpha_path",
]
