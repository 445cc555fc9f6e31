"""Hypergraph spectral learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenkit.estimators._base import Projection
from eigenkit.estimators._described import described
from eigenkit.estimators._encoding import check_two_classes, encode_labels
from eigenkit.estimators._validation import warn_degenerate
from eigenkit.linalg import Array
from eigenkit.moments import Problem
from eigenkit.shell import check_choice, shown
from eigenkit.solvers import Settings
from eigenkit.targets import TARGETS, Target
from eigenkit.tolerances import SUM_ROUNDING

EXPANSIONS = ("star", "clique", "zhou", "bolla", "rodriguez")


@described
class HypergraphSpectral(Projection):
    """Hypergraph spectral learning: a projection for multi-label data.

    Every label is a hyperedge around the samples that carry it. Solves
    ``Xc' S Xc w = lambda (Xc'Xc + alpha I) w`` with S = I - L for the normalized Laplacian L
    of the hypergraph: samples that share labels come to lie close to each other.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the rank of Xc'H; all by default.
    expansion : {"star", "clique", "zhou", "bolla", "rodriguez"}
        Which Laplacian of the hypergraph; of the last two, which are not normalized by the
        degrees of the samples, S is the part that joins samples: L = diag(S 1) - S.
    label_weights : array of shape (n_labels,), optional
        Positive weights of the labels (hyperedges); 1 by default.
    {ridge}

    Attributes
    ----------
    {components}
    classes_ : array
        Where y held one class per sample.
    {what_was_done}

    Notes
    -----
    y is a 0/1 matrix with a column per label (lists of labels: MultiLabelBinarizer), the
    incidence matrix of any hypergraph of your own on the samples, or a vector of classes.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from eigenkit import HypergraphSpectral
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> HypergraphSpectral(expansion="star", alpha=1.0).fit_transform(X, Y).shape
    (100, 5)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        expansion: str = "star",
        label_weights: Any = None,
        label_rank: int | str | None = None,
        alpha: float = 1.0,
        solver: str = "auto",
        regression: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(
            n_components,
            label_rank=label_rank,
            alpha=alpha,
            solver=solver,
            regression=regression,
            tol=tol,
            max_iter=max_iter,
        )
        self.expansion = expansion
        self.label_weights = label_weights

    _uses_all_components = False
    _sparse_labels = True

    def _settings(self) -> Settings:
        check_choice("expansion", self.expansion, EXPANSIONS)
        return super()._settings()

    def _target(self) -> Target:
        return TARGETS[self.expansion]

    _encode = encode_labels

    def _edge_weight(self, n_labels: int) -> Array | float:
        return edge_weights("label_weights", self.label_weights, n_labels, "label")

    def _check_informative(self, problem: Problem) -> None:
        degree = problem.labels.degree
        if not np.any(degree):
            raise ValueError("y holds no label at all: there is nothing to learn from it.")
        if hasattr(self, "classes_"):
            check_two_classes(degree)
        super()._check_informative(problem)
        empty = (degree == 0) | (degree >= problem.total * (1 - SUM_ROUNDING))
        warn_degenerate(empty, "labels are carried by no sample or by every sample")


def edge_weights(name: str, given: Any, n: int, what: str) -> Array | float:
    """Positive weights of the edges of a hypergraph, 1 by default."""
    if given is None:
        return 1.0
    weight = np.asarray(given, dtype=np.float64)
    if weight.shape != (n,) or not np.all(np.isfinite(weight)) or np.any(weight <= 0):
        raise ValueError(
            f"{name}={shown(given)} is not valid: give {n} positive numbers, one per {what}."
        )
    return weight
