"""Supervised dimensionality reduction and classification by generalized eigenvalue problems."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenkit.estimators import (
        CCA,
        LDA,
        PCA,
        PLSDA,
        PLSSVD,
        SIMPLS,
        AlphaSearchCV,
        CanonicalRidge,
        HypergraphSpectral,
        MultilabelLDA,
        MultiviewCCA,
        OrthonormalizedPLS,
        PLSCanonical,
        PLSRegression,
        PLSRegressionCV,
        ShrinkageRegression,
        SparseCCA,
        alpha_path,
        copy_transformation,
        l1_path,
        label_powerset,
        shrinkage_factors,
    )

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "LDA",
    "PCA",
    "PLSDA",
    "PLSSVD",
    "SIMPLS",
    "AlphaSearchCV",
    "CanonicalRidge",
    "HypergraphSpectral",
    "MultilabelLDA",
    "MultiviewCCA",
    "OrthonormalizedPLS",
    "PLSCanonical",
    "PLSRegression",
    "PLSRegressionCV",
    "ShrinkageRegression",
    "SparseCCA",
    "alpha_path",
    "copy_transformation",
    "l1_path",
    "label_powerset",
    "shrinkage_factors",
]

# Names that live elsewhere than in eigenkit.estimators.
_HOMES: dict[str, str] = {}


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import; `eigenkit --help` must not wait for it.
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, "eigenkit.estimators")), name)
    raise AttributeError(f"module 'eigenkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
