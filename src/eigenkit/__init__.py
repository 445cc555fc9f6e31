"""Supervised dimensionality reduction and classification by generalized eigenvalue problems."""

from eigenkit.estimators import (
    CCA,
    LDA,
    PLSDA,
    PLSSVD,
    SIMPLS,
    HypergraphSpectral,
    OrthonormalizedPLS,
    PLSCanonical,
    PLSRegression,
    PLSRegressionCV,
    alpha_path,
)

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "LDA",
    "PLSDA",
    "PLSSVD",
    "SIMPLS",
    "HypergraphSpectral",
    "OrthonormalizedPLS",
    "PLSCanonical",
    "PLSRegression",
    "PLSRegressionCV",
    "alpha_path",
]
