"""The cells of the annotation experiment: columns, partitions, and their means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.datasets import Dataset
from papers.annotation_thesis import PAPER_COLUMNS
from papers.annotation_trial import (
    Images,
    Kind,
    annotate_partition,
)
from papers.study import Study

Column = tuple[int, int]  # number of terms, number of image sets

TITLES = {
    "f1_macro": "Macro F1 (Table 6.1)",
    "f1_micro": "Micro F1 (Table 6.2)",
    "precision_macro": "Precision, mean over terms (Table 6.3)",
    "recall_macro": "Recall, mean over terms (Table 6.4)",
}
SHOWN = ("star", "clique", "kCCA", "SVM1", "uniform", "BIK", "best", "Z&P")
OURS = ("star", "clique", "kCCA", "uniform", "BIK", "best")
WORDS = {"best": "best by criterion", "BIK": "BIK (oracle)", "SVM1": "SVM1 (thesis only)"}
WORDS["Z&P"] = "Z&P (thesis only)"


@dataclass(frozen=True)
class Plan:
    """Which columns, how many partitions, which kernels; ``sample`` is the column looked into."""

    terms: tuple[int, ...]
    sets: tuple[int, ...]
    partitions: int
    kinds: tuple[Kind, ...]
    sample: Column

    @property
    def columns(self) -> list[Column]:
        """All numbers of terms with all numbers of sets."""
        return [(k, n) for k in self.terms for n in self.sets]


FULL = Plan(
    (10, 20, 30, 40, 50, 60),
    (1000, 1500, 2000),
    5,
    (
        *(("Gaussian", 0.25), ("Gaussian", 1.0), ("Gaussian", 4.0)),
        *(("chi-squared", 0.5), ("chi-squared", 2.0), ("cosine", 1.0)),
    ),
    (30, 1500),
)
QUICK = Plan((3, 6), (120,), 2, (("chi-squared", 1.0), ("cosine", 1.0)), (6, 120))


def generated(seed: int, n_samples: int = 150, n_labels: int = 6) -> Dataset:
    """Counts of words in three views that tell much, little and nothing of the labels."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_samples, n_labels)) < np.linspace(0.4, 0.1, n_labels)).astype(int)
    effects = [size * rng.standard_normal((n_labels, 30)) for size in (0.8, 0.3, 0.0)]
    counts = np.hstack([rng.poisson(np.exp(Y @ effect - 0.5)) for effect in effects])
    offsets = {"view_offsets": np.array([0, 30, 60, 90])}
    return Dataset("generated", sparse.csr_array(counts.astype(float)), Y, [], offsets)


# -- running ----------------------------------------------------------------------------


class Runs:
    """The cells of all columns, and their means."""

    def __init__(self, study: Study, images: Images, plan: Plan) -> None:
        self.study, self.images, self.plan = study, images, plan
        self.found = {column: self._column(column) for column in plan.columns}

    def size(self, column: Column) -> int:
        """How many image sets the column really has."""
        return len(self.images.choose(*column, self.study.seed)[1])

    def seed(self, column: Column, i: int) -> list[int]:
        """Of partition i."""
        return [self.study.seed, column[0], self.size(column), i]

    def key(self, column: Column, i: int) -> str:
        """Of a cell; columns that have the same sets share it."""
        return f"{column[0]} terms, {self.size(column)} sets, partition {i + 1}"

    def _column(self, column: Column, balanced: bool = True) -> list[dict[str, Any]]:
        more = "" if balanced else ", classes not balanced"
        return self.cells(column, more, partial(annotate_partition, balanced=balanced))

    def cells(self, column: Column, more: str, work: Callable[..., Any]) -> list[Any]:
        """``work(images, terms, rows, seed)`` for every partition of a column."""
        terms, rows = self.images.choose(*column, self.study.seed)
        return [
            self.study.cell(
                self.key(column, i) + more,
                partial(work, self.images, terms, rows, self.seed(column, i)),
            )
            for i in range(self.plan.partitions)
        ]

    def mean(self, column: Column, row: str, measure: str) -> float:
        """Over partitions. BIK: of the kernel that is best in it, as the thesis reports it."""
        cells = self.found[column]
        if row == "BIK":
            single = [[scores[measure] for scores in cell["single"]] for cell in cells]
            return float(np.mean(single, axis=0).max())
        return float(np.mean([cell[row][measure] for cell in cells]))

    def distinct(self) -> list[Column]:
        """One column for each that has data of its own."""
        seen = {(k, self.size((k, n))): (k, n) for k, n in reversed(self.plan.columns)}
        return sorted(seen.values())

    def unbalanced(self) -> list[dict[str, Any]]:
        """The sample column with plain SVMs."""
        return self._column(self.plan.sample, balanced=False)


def mean_weights(runs: Runs, method: str) -> np.ndarray:
    """Mean over all columns and partitions."""
    cells = [cell for column in runs.distinct() for cell in runs.found[column]]
    return np.asarray(np.mean([cell[method]["weights"] for cell in cells], axis=0))


def paper_has(plan: Plan) -> bool:
    return plan.columns == PAPER_COLUMNS


def listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
