"""Supervised dimensionality reduction and classification by generalized eigenvalue problems."""

from eigenkit.estimators import (
    CCA,
    LDA,
    AlphaSearchCV,
    HypergraphSpectral,
    OrthonormalizedPLS,
    alpha_path,
    l1_path,
)

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "LDA",
    "AlphaSearchCV",
    "HypergraphSpectral",
    "OrthonormalizedPLS",
    "alpha_path",
    "l1_path",
]
