"""scikit-learn estimators: thin shells around the spine."""

from eigenkit.estimators._base import Projection, alpha_path
from eigenkit.estimators.cca import CCA
from eigenkit.estimators.hypergraph import HypergraphSpectral
from eigenkit.estimators.lda import LDA
from eigenkit.estimators.opls import OrthonormalizedPLS
from eigenkit.estimators.pls import PLSSVD, SIMPLS, PLSCanonical, PLSRegression
from eigenkit.estimators.pls_cv import PLSRegressionCV
from eigenkit.estimators.plsda import PLSDA
from eigenkit.estimators.search import AlphaSearchCV, l1_path
from eigenkit.estimators.shrinkage import ShrinkageRegression, shrinkage_factors

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
    "Projection",
    "ShrinkageRegression",
    "alpha_path",
    "l1_path",
    "shrinkage_factors",
]
