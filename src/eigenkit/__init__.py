"""Supervised dimensionality reduction and classification by generalized eigenvalue problems."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenkit.estimators import (
        CCA,
        GEPSVM,
        LDA,
        PCA,
        PLSDA,
        PLSSVD,
        RGCCA,
        SIMPLS,
        AlphaSearchCV,
        BayesianCCA,
        CanonicalRidge,
        GraphRegularized,
        HypergraphClustering,
        HypergraphSpectral,
        KeepSearchCV,
        KernelCCA,
        KernelHypergraphSpectral,
        KernelLDA,
        KernelOrthonormalizedPLS,
        KernelPCA,
        KernelPLS,
        LeastSquaresProjection,
        ManyLabelClassifier,
        MultilabelLDA,
        MultipleKernelProjection,
        MultiviewCCA,
        OrthogonalPLS,
        OrthonormalizedPLS,
        PLSCanonical,
        PLSRegression,
        PLSRegressionCV,
        ProbabilisticCCA,
        ReGEC,
        ShrinkageRegression,
        SparseCCA,
        SparsePLS,
        SparsePLSDA,
        alpha_path,
        copy_transformation,
        l1_path,
        label_powerset,
        selection_frequency,
        shrinkage_factors,
    )
    from eigenkit.kernels import Kernel
    from eigenkit.models import RowBlocks, Stream

__version__ = "0.1.0"

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
    "Kernel",
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
    "ReGEC",
    "RowBlocks",
    "ShrinkageRegression",
    "SparseCCA",
    "SparsePLS",
    "SparsePLSDA",
    "Stream",
    "alpha_path",
    "copy_transformation",
    "l1_path",
    "label_powerset",
    "selection_frequency",
    "shrinkage_factors",
]

# Names that live elsewhere than in eigenkit.estimators.
_HOMES: dict[str, str] = {
    "Kernel": "eigenkit.kernels",
    "RowBlocks": "eigenkit.models",
    "Stream": "eigenkit.models",
}


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import; `eigenkit --help` must not wait for it.
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, "eigenkit.estimators")), name)
    raise AttributeError(f"module 'eigenkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
