"""The methods that can be asked for by name: one line here, and a method is everywhere.

The command line, the evaluation and the model files all look methods up in :data:`METHODS`.
Nothing is imported until a method is made, so that listing them costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eigenkit.late import look_up, named

# What y may be: one class per sample, a 0/1 matrix with a column per label, or numbers.
CLASSES, LABELS, NUMBERS = "classes", "labels", "numbers"


@dataclass(frozen=True)
class Method:
    """A named estimator.

    Examples
    --------
    >>> from eigenkit.estimators.registry import METHODS
    >>> METHODS["star"].make(alpha=10.0)
    HypergraphSpectral(alpha=10.0)
    """

    name: str  # what the user types
    path: str  # "module:Class" of the estimator
    # "projection", which has ``transform``, or "classifier", whose own ``predict`` gives classes:
    # what is both, as LDA is, counts as a classifier.
    kind: str
    targets: tuple[str, ...]  # what y it learns from
    description: str  # one line
    params: Mapping[str, Any]  # make this method out of the class
    views: str  # the parameter that says which columns belong together: "groups", "kernels" or ""
    needs_views: bool  # whether it makes no sense without
    gaps: Mapping[str, Any] | None  # skip missing values; None if it cannot
    usual: bool  # whether a comparison tries it unasked: one of each family, and quick

    def estimator_class(self) -> Any:
        """The class itself, imported now."""
        return named(self.path)

    def make(self, **params: Any) -> Any:
        """An unfitted estimator with these parameters."""
        return self.estimator_class()(**{**self.params, **params})

    @property
    def streams(self) -> bool:
        """Whether it can be fitted block by block."""
        return hasattr(self.make(), "partial_fit")

    @property
    def picks_components(self) -> bool:
        """Whether the user has to choose the number of components, as for PLS."""
        return isinstance(self.make().get_params().get("n_components"), int)


_ONE, _BOTH, _REAL = (CLASSES,), (CLASSES, LABELS), (LABELS, NUMBERS)
_ANY = (CLASSES, LABELS, NUMBERS)
_EXPANSIONS = {
    "star": "star expansion",
    "clique": "clique expansion",
    "zhou": "Zhou's normalized Laplacian",
    "bolla": "Bolla's Laplacian",
    "rodriguez": "Rodriguez' Laplacian",
}
# What y may be for the targets that some estimators take by name.
_TARGETS = {"cca": _ANY, "opls": _ANY, "lda": _ONE, **dict.fromkeys(_EXPANSIONS, _BOTH)}
_USUAL = ("cca", "opls", "lda", "star", "mlda", "pls", "plsda", "pca", "regec")
_GAPS: dict[str, dict[str, str]] = {
    "probabilistic_cca": {},
    "bayesian_cca": {},
    "pls": {"algorithm": "nipals"},
    "pca": {"solver": "nipals"},
}


def _method(
    name: str, path: str, targets: tuple[str, ...], words: str, views: str = "", **params: str
) -> Method:
    """A line of the table; what learns from nothing but classes predicts them."""
    return Method(
        name,
        f"eigenkit.estimators:{path}",
        "classifier" if targets == _ONE else "projection",
        targets,
        words,
        params,
        views,
        views == "groups",
        _GAPS.get(name),
        name in _USUAL,
    )


# Estimators with a target by name, and their lines.
_HYPERGRAPHS = "hypergraph spectral learning, {}"
_LEAST_SQUARES = "LeastSquaresProjection", "least squares model of {}; l1_ratio=1 is the lasso"
_KERNEL = "KernelHypergraphSpectral", "{} with a kernel"
_SEVERAL = "MultipleKernelProjection", "{} with several kernels, their weights learned"
_VIEWS = "the views of --views"

_LIST = [
    _method("cca", "CCA", _ANY, "canonical correlation analysis"),
    _method("opls", "OrthonormalizedPLS", _ANY, "orthonormalized PLS"),
    _method("lda", "LDA", _ONE, "linear discriminant analysis"),
    *(
        _method(name, "HypergraphSpectral", _BOTH, _HYPERGRAPHS.format(kind), expansion=name)
        for name, kind in _EXPANSIONS.items()
    ),
    *(
        _method(f"ls_{name}", _LEAST_SQUARES[0], y, _LEAST_SQUARES[1].format(name), target=name)
        for name, y in _TARGETS.items()
    ),
    _method("mlda", "MultilabelLDA", _BOTH, "class-balanced multi-label LDA"),
    _method("canonical_ridge", "CanonicalRidge", _ANY, "anything between CCA and PLS"),
    _method("sparse_cca", "SparseCCA", (LABELS,), "CCA with few features"),
    _method("probabilistic_cca", "ProbabilisticCCA", _REAL, "CCA as a model of two views"),
    _method(
        "bayesian_cca",
        "BayesianCCA",
        _REAL,
        "sparse CCA as a model of two views that finds its number of components",
    ),
    _method("pls", "PLSRegression", _REAL, "partial least squares (PLS2)"),
    _method("simpls", "SIMPLS", _REAL, "PLS without deflation of X"),
    _method(
        "orthogonal_pls", "OrthogonalPLS", _REAL, "PLS after orthogonal signal correction (O-PLS)"
    ),
    _method("sparse_pls", "SparsePLS", _REAL, "PLS with few features"),
    _method("plsda", "PLSDA", _ONE, "PLS for classes"),
    _method("sparse_plsda", "SparsePLSDA", _ONE, "PLS for classes with few features"),
    _method("pca", "PCA", _BOTH, "principal components, without labels"),
    _method("multiview_cca", "MultiviewCCA", _BOTH, f"CCA of {_VIEWS}, without labels", "groups"),
    _method("rgcca", "RGCCA", _BOTH, f"multi-block PLS of {_VIEWS}, towards the labels", "groups"),
    _method("regec", "ReGEC", _ONE, "nearest plane, one eigenproblem"),
    _method("gepsvm", "GEPSVM", _ONE, "nearest plane, one per class"),
    _method("kernel_cca", "KernelCCA", _ANY, "CCA with a kernel"),
    _method("kernel_opls", "KernelOrthonormalizedPLS", _ANY, "orthonormalized PLS with a kernel"),
    _method("kernel_lda", "KernelLDA", _ONE, "LDA with a kernel"),
    *(
        _method(f"kernel_{name}", _KERNEL[0], _BOTH, _KERNEL[1].format(kind), expansion=name)
        for name, kind in _EXPANSIONS.items()
    ),
    *(
        _method(
            *(f"kernels_{name}", _SEVERAL[0], _TARGETS[name], _SEVERAL[1].format(name), "kernels"),
            estimator=name,
        )
        for name in ("star", "clique", "cca", "opls")
    ),
    _method("kernel_pls", "KernelPLS", _REAL, "PLS with a kernel"),
]

METHODS: dict[str, Method] = {m.name: m for m in _LIST}


def comparable(target: str, views: bool = False, gaps: bool = False) -> list[str]:
    """Names of the methods that learn from this kind of y, and take views or gaps if there are any.

    Examples
    --------
    >>> from eigenkit.estimators.registry import comparable
    >>> comparable("labels", gaps=True)
    ['probabilistic_cca', 'bayesian_cca', 'pls', 'pca']
    """
    return [
        name
        for name, method in METHODS.items()
        if target in method.targets
        and (views or not method.needs_views)
        and (not gaps or method.gaps is not None)
    ]


def usual(names: list[str], views: bool = False) -> list[str]:
    """Those that a comparison tries without being asked to; with views also what can use them.

    Examples
    --------
    >>> from eigenkit.estimators.registry import comparable, usual
    >>> usual(comparable("labels"))
    ['cca', 'opls', 'star', 'mlda', 'pls', 'pca']
    """
    return [name for name in names if METHODS[name].usual or (views and METHODS[name].views)]


def find(name: str) -> Method:
    """The method of that name; a misspelt name gets a suggestion.

    Examples
    --------
    >>> from eigenkit.estimators.registry import find
    >>> find("strar")
    Traceback (most recent call last):
    ValueError: method 'strar' is not known: did you mean 'star'?
    """
    return look_up("method", name, METHODS)


def gap_params(method: Method, missing: str) -> dict[str, Any]:
    """The parameters with which a method skips what is missing, where that is to be kept.

    Examples
    --------
    >>> from eigenkit.estimators.registry import find, gap_params
    >>> gap_params(find("pls"), "keep")
    {'algorithm': 'nipals'}
    """
    if missing != "keep":
        return {}
    if method.gaps is None:
        able = ", ".join(m.name for m in METHODS.values() if m.gaps is not None)
        raise ValueError(
            f"{method.name} cannot skip missing values (--missing keep): use one of {able}, or "
            "--missing mean."
        )
    return dict(method.gaps)


def view_params(method: Method, columns: Sequence[Sequence[int]] | None) -> dict[str, Any]:
    """The parameters by which a method gets its views; none if it takes no views.

    Examples
    --------
    >>> from eigenkit.estimators.registry import find, view_params
    >>> view_params(find("rgcca"), [[0, 2], [1]])
    {'groups': array([0, 1, 0])}
    """
    if columns is not None and method.views == "groups":
        import numpy as np

        groups = np.empty(sum(map(len, columns)), dtype=np.int64)
        for i, own in enumerate(columns):
            groups[list(own)] = i
        return {"groups": groups}
    if columns is not None and method.views == "kernels":
        from eigenkit.kernels import Kernel

        return {"kernels": [Kernel("rbf", gamma="scale", columns=list(own)) for own in columns]}
    return {}
