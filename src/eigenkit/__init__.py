"""Supervised dimensionality reduction and classification by generalized eigenvalue problems."""

from eigenkit.estimators import (
    CCA,
    LDA,
    PCA,
    AlphaSearchCV,
    CanonicalRidge,
    HypergraphSpectral,
    MultilabelLDA,
    MultiviewCCA,
    OrthonormalizedPLS,
    SparseCCA,
    alpha_path,
    copy_transformation,
    l1_path,
    label_powerset,
)

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "LDA",
    "PCA",
    "AlphaSearchCV",
    "CanonicalRidge",
    "HypergraphSpectral",
    "MultilabelLDA",
    "MultiviewCCA",
    "OrthonormalizedPLS",
    "SparseCCA",
    "alpha_path",
    "copy_transformation",
    "l1_path",
    "label_powerset",
]
