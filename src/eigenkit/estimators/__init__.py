"""scikit-learn estimators: thin shells around the spine."""

from typing import TYPE_CHECKING

from eigenkit.late import late_names

if TYPE_CHECKING:
    from eigenkit.estimators._base import Projection, alpha_path
    from eigenkit.estimators.bayesian_cca import BayesianCCA
    from eigenkit.estimators.cca import CCA, CanonicalRidge
    from eigenkit.estimators.graph_regularized import GraphRegularized
    from eigenkit.estimators.hypergraph import HypergraphClustering, HypergraphSpectral
    from eigenkit.estimators.keep_search import KeepSearchCV, selection_frequency
    from eigenkit.estimators.kernel import (
        KernelCCA,
        KernelHypergraphSpectral,
        KernelLDA,
        KernelOrthonormalizedPLS,
        KernelPLS,
    )
    from eigenkit.estimators.kernel_pca import KernelPCA
    from eigenkit.estimators.lda import LDA
    from eigenkit.estimators.least_squares import LeastSquaresProjection
    from eigenkit.estimators.many_labels import ManyLabelClassifier
    from eigenkit.estimators.multilabel import MultilabelLDA, copy_transformation, label_powerset
    from eigenkit.estimators.multiple_kernels import MultipleKernelProjection
    from eigenkit.estimators.multiview import MultiviewCCA
    from eigenkit.estimators.opls import OrthonormalizedPLS
    from eigenkit.estimators.orthogonal_pls import OrthogonalPLS
    from eigenkit.estimators.pca import PCA
    from eigenkit.estimators.planes import GEPSVM, ReGEC
    from eigenkit.estimators.pls import PLSSVD, SIMPLS, PLSCanonical, PLSRegression
    from eigenkit.estimators.plsda import PLSDA
    from eigenkit.estimators.probabilistic_cca import ProbabilisticCCA
    from eigenkit.estimators.rgcca import RGCCA
    from eigenkit.estimators.search import AlphaSearchCV, PLSRegressionCV, l1_path
    from eigenkit.estimators.shrinkage import ShrinkageRegression, shrinkage_factors
    from eigenkit.estimators.sparse_cca import SparseCCA
    from eigenkit.estimators.sparse_pls import SparsePLS, SparsePLSDA

__all__ = [
    "CCA",
    "GEPSVM",
    "LDA",
    "PCA",
    "PLSDA",
    "PLSSVD",
    "RGCCA",
    "SIMPLS",
    "AlphaSearchCV",
    "BayesianCCA",
    "CanonicalRidge",
    "GraphRegularized",
    "HypergraphClustering",
    "HypergraphSpectral",
    "KeepSearchCV",
    "KernelCCA",
    "KernelHypergraphSpectral",
    "KernelLDA",
    "KernelOrthonormalizedPLS",
    "KernelPCA",
    "KernelPLS",
    "LeastSquaresProjection",
    "ManyLabelClassifier",
    "MultilabelLDA",
    "MultipleKernelProjection",
    "MultiviewCCA",
    "OrthogonalPLS",
    "OrthonormalizedPLS",
    "PLSCanonical",
    "PLSRegression",
    "PLSRegressionCV",
    "ProbabilisticCCA",
    "Projection",
    "ReGEC",
    "ShrinkageRegression",
    "SparseCCA",
    "SparsePLS",
    "SparsePLSDA",
    "alpha_path",
    "copy_transformation",
    "l1_path",
    "label_powerset",
    "selection_frequency",
    "shrinkage_factors",
]

# Where each name lives: a program that uses one estimator imports one, not what all of them need.
_MODULES: dict[str, tuple[str, ...]] = {
    "._base": ("Projection", "alpha_path"),
    ".bayesian_cca": ("BayesianCCA",),
    ".cca": ("CCA", "CanonicalRidge"),
    ".graph_regularized": ("GraphRegularized",),
    ".hypergraph": ("HypergraphClustering", "HypergraphSpectral"),
    ".keep_search": ("KeepSearchCV", "selection_frequency"),
    ".kernel": (
        "KernelCCA",
        "KernelHypergraphSpectral",
        "KernelLDA",
        "KernelOrthonormalizedPLS",
        "KernelPLS",
    ),
    ".kernel_pca": ("KernelPCA",),
    ".lda": ("LDA",),
    ".least_squares": ("LeastSquaresProjection",),
    ".many_labels": ("ManyLabelClassifier",),
    ".multilabel": ("MultilabelLDA", "copy_transformation", "label_powerset"),
    ".multiple_kernels": ("MultipleKernelProjection",),
    ".multiview": ("MultiviewCCA",),
    ".opls": ("OrthonormalizedPLS",),
    ".orthogonal_pls": ("OrthogonalPLS",),
    ".pca": ("PCA",),
    ".planes": ("GEPSVM", "ReGEC"),
    ".pls": ("PLSCanonical", "PLSRegression", "PLSSVD", "SIMPLS"),
    ".plsda": ("PLSDA",),
    ".probabilistic_cca": ("ProbabilisticCCA",),
    ".rgcca": ("RGCCA",),
    ".search": ("AlphaSearchCV", "PLSRegressionCV", "l1_path"),
    ".shrinkage": ("ShrinkageRegression", "shrinkage_factors"),
    ".sparse_cca": ("SparseCCA",),
    ".sparse_pls": ("SparsePLS", "SparsePLSDA"),
}
__getattr__, __dir__ = late_names(__name__, _MODULES)
