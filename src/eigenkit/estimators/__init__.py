"""scikit-learn estimators: thin shells around the spine."""

from eigenkit.estimators._base import Projection, alpha_path
from eigenkit.estimators.cca import CCA
from eigenkit.estimators.hypergraph import HypergraphSpectral
from eigenkit.estimators.lda import LDA
from eigenkit.estimators.opls import OrthonormalizedPLS
from eigenkit.estimators.search import AlphaSearchCV, l1_path

__all__ = [
    "CCA",
    "LDA",
    "AlphaSearchCV",
    "HypergraphSpectral",
    "OrthonormalizedPLS",
    "Projection",
    "alpha_path",
    "l1_path",
]
