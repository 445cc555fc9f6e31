"""Supervised dimensionality reduction and classification by generalized eigenvalue problems."""

from eigenkit.estimators import (
    CCA,
    LDA,
    PLSDA,
    PLSSVD,
    SIMPLS,
    AlphaSearchCV,
    HypergraphSpectral,
    OrthonormalizedPLS,
    PLSCanonical,
    PLSRegression,
    PLSRegressionCV,
    ShrinkageRegression,
    alpha_path,
    l1_path,
    shrinkage_factors,
)

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "LDA",
    "PLSDA",
    "PLSSVD",
    "SIMPLS",
    "AlphaSearchCV",
    "HypergraphSpectral",
    "OrthonormalizedPLS",
    "PLSCanonical",
    "PLSRegression",
    "PLSRegressionCV",
    "ShrinkageRegression",
    "alpha_path",
    "l1_path",
    "shrinkage_factors",
]
