"""scikit-learn estimators: thin shells around the spine."""

from eigenkit.estimators._base import Projection, alpha_path
from eigenkit.estimators.cca import CCA
from eigenkit.estimators.hypergraph import HypergraphSpectral
from eigenkit.estimators.lda import LDA
from eigenkit.estimators.opls import OrthonormalizedPLS
from eigenkit.estimators.planes import GEPSVM, ReGEC

__all__ = [
    "CCA",
    "GEPSVM",
    "LDA",
    "HypergraphSpectral",
    "OrthonormalizedPLS",
    "Projection",
    "ReGEC",
    "alpha_path",
]
