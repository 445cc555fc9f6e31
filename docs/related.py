"""What belongs together: the page of the guide about a public name, and the names beside it.

The reference makes its "See also" from this list, with the first line of each docstring; a test
holds every name of the reference to a place in it.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

# Names of eigenkit by page; the first page that has a name is the one to read.
PAGES: dict[str, list[str]] = {
    "cca_family": ["CCA", "CanonicalRidge", "MultiviewCCA", "RGCCA", "SparseCCA"],
    "probabilistic": ["ProbabilisticCCA", "BayesianCCA", "CCA"],
    "lda": ["LDA", "MultilabelLDA", "PLSDA", "KernelLDA", "ReGEC"],
    "hypergraph": ["HypergraphSpectral", "HypergraphClustering", "KernelHypergraphSpectral"],
    "multilabel": [
        "ManyLabelClassifier",
        "MultilabelLDA",
        "HypergraphSpectral",
        "copy_transformation",
        "label_powerset",
        "evaluation.precision_at_k",
        "evaluation.ndcg_at_k",
        "evaluation.inverse_propensities",
        "evaluation.propensity_scored_precision_at_k",
        "evaluation.f1_by_frequency",
        "evaluation.LabelStratifiedKFold",
    ],
    "pls": [
        "PLSRegression",
        "PLSRegressionCV",
        "SIMPLS",
        "PLSCanonical",
        "PLSSVD",
        "PLSDA",
        "OrthogonalPLS",
        "OrthonormalizedPLS",
        "KernelPLS",
        "ShrinkageRegression",
        "shrinkage_factors",
        "analysis.vip_scores",
        "analysis.hotelling_t2",
        "analysis.t2_limit",
        "analysis.spe",
        "analysis.spe_limit",
        "analysis.plot_scores",
        "analysis.plot_loadings",
        "analysis.plot_explained_variance",
        "analysis.plot_cross_validation",
        "analysis.plot_outliers",
        "analysis.plot_shrinkage",
        "analysis.ScoresDisplay",
        "analysis.BiplotDisplay",
        "analysis.CorrelationCircleDisplay",
        "analysis.ScreeDisplay",
        "analysis.CoefficientsDisplay",
        "analysis.RegionsDisplay",
        "analysis.WeightsDisplay",
    ],
    "sparse": [
        "LeastSquaresProjection",
        "l1_path",
        "SparseCCA",
        "SparsePLS",
        "SparsePLSDA",
        "KeepSearchCV",
        "selection_frequency",
    ],
    "pca": ["PCA", "KernelPCA"],
    "unlabelled": ["GraphRegularized", "PCA"],
    "kernels": [
        "KernelCCA",
        "KernelOrthonormalizedPLS",
        "KernelLDA",
        "KernelHypergraphSpectral",
        "KernelPCA",
        "KernelPLS",
        "MultipleKernelProjection",
        "Kernel",
    ],
    "set-kernels": [
        "kernels.sets.PyramidMatch",
        "kernels.sets.pyramid_match",
        "kernels.sets.MeanMap",
        "kernels.sets.FisherVectors",
        "kernels.sets.VisualWords",
        "kernels.sets.Pooled",
    ],
    "planes": ["ReGEC", "GEPSVM", "LDA", "analysis.plot_decision_regions"],
    "streams": ["Stream", "RowBlocks"],
    "scale": ["RowBlocks", "Stream"],
    "inference": [
        "analysis.permutation_test",
        "analysis.PermutationTest",
        "analysis.bootstrap",
        "analysis.Bootstrap",
        "analysis.Intervals",
    ],
    "tasks_alpha": ["AlphaSearchCV", "alpha_path", "KeepSearchCV", "PLSRegressionCV"],
    "evaluation": [
        "evaluation.evaluate",
        "evaluation.stratify",
        "evaluation.auto_alphas",
        "evaluation.LabelStratifiedKFold",
    ],
    "report": [
        "report.render_text",
        "report.render_html",
        "report.write_html",
        "report.write_record",
        "report.read_record",
        "evaluation.evaluate",
    ],
    "datasets": [
        "datasets.load_dataset",
        "datasets.dataset_names",
        "datasets.describe_dataset",
        "datasets.data_folder",
        "datasets.Dataset",
        "datasets.make_ndc",
        "datasets.make_noise",
        "datasets.make_planted",
    ],
    "tasks_images": [
        "images.ImageAnnotator",
        "images.read_sets",
        "images.read_labels",
        "images.ImageSet",
        "images.Picture",
        "images.Descriptor",
        "images.Plan",
        "images.Explanation",
        "images.Evidence",
        "images.TermReport",
        "images.Progress",
        "images.save_annotator",
        "images.load_annotator",
        "images.make_shapes",
        "images.comparison.compare",
        "images.comparison.Comparison",
    ],
    "solvers": ["pencil.Report", "solvers.Choice"],
}


def page_of(name: str) -> str | None:
    """The page to read about it."""
    return next((page for page, names in PAGES.items() if name in names), None)


def beside(name: str) -> list[str]:
    """The others on its page."""
    page = page_of(name)
    return [other for other in PAGES[page] if other != name] if page else []


def find(name: str) -> Any:
    """The object behind a name of the list."""
    module, _, last = f"eigenkit.{name}".rpartition(".")
    return getattr(importlib.import_module(module), last)


def summary(name: str) -> str:
    """The first sentence of its docstring."""
    return (inspect.getdoc(find(name)) or "").split("\n\n")[0].replace("\n", " ")


def see_also(name: str) -> list[str]:
    """As lines of reStructuredText."""
    page = page_of(name)
    if page is None:
        return []
    links = [f"   - :py:obj:`eigenkit.{other}`: {summary(other)}" for other in beside(name)]
    return ["", ".. seealso::", "", f"   - the page :doc:`/{page}`", *links, ""]
