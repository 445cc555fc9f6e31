"""What belongs together: the page of the guide about a public name, and the names beside it.

The reference makes its "See also" from this list, with the first line of each docstring; a test
holds every name of the reference to a place in it.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
MOST = 8  # relatives in a "See also": more would be read by nobody

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
        "analysis.LoadingsDisplay",
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
    "planes": ["ReGEC", "GEPSVM", "LDA", "analysis.RegionsDisplay"],
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
        "images.save_annotator",
        "images.load_annotator",
        "images.adapt",
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
    """As lines of reStructuredText: those that stand nearest to it on its page."""
    page = page_of(name)
    if page is None:
        return []
    place = PAGES[page].index(name)
    near = sorted(beside(name), key=lambda other: abs(PAGES[page].index(other) - place))[:MOST]
    links = [f"   - :py:obj:`eigenkit.{other}`: {summary(other)}" for other in near]
    return ["", ".. seealso::", "", f"   - the page :doc:`/{page}`", *links, ""]


def reference_pages() -> list[Path]:
    """The pages of the reference, in the order of its table of contents."""
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    return [DOCS / f"{page}.md" for page in re.findall(r"^reference/\w+$", text, re.MULTILINE)]


def documented(page: Path) -> list[str]:
    """Every class and function that a page of the reference describes, without "eigenkit."."""
    found, module = [], "eigenkit"
    for line in page.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = match[1]
        elif match := re.match(r"\.\. auto(?:class|function):: (\S+)", line):
            found.append(match[1] if match[1].startswith("eigenkit.") else f"{module}.{match[1]}")
        elif match := re.match(r"\.\. automodule:: (\S+)", line):
            members = vars(importlib.import_module(match[1]))
            own = [n for n, value in members.items() if inspect.isclass(value) and n[0] != "_"]
            found += [f"{match[1]}.{name}" for name in members.get("__all__", own)]
    return [name.removeprefix("eigenkit.") for name in found]


def overview() -> str:
    """Every public name with its first sentence, under the page that describes it."""
    lines = []
    for page in reference_pages():
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        lines += [f"## [{title}](/reference/{page.name})", "", "| name | what it is |", "|---|---|"]
        for name in documented(page):
            said = re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", summary(name)).replace("|", "\\|")
            lines.append(f"| {{py:obj}}`~eigenkit.{name}` | {said.replace('``', '`')} |")
        lines.append("")
    return "\n".join(lines)
