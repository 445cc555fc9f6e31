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
    ShrinkageRegression,
    alpha_path,
    shrinkage_factors,
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
    "ShrinkageRegression",
    "alpha_path",
    "shrinkage_factors",
]
