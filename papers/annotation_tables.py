"""The tables of the annotation experiment, ours beside the thesis's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from papers.annotation_runs import (
    OURS,
    SHOWN,
    TITLES,
    WORDS,
    Column,
    Runs,
    listed,
    paper_has,
)
from papers.annotation_thesis import PAPER, PAPER_COLUMNS
from papers.annotation_trial import (
    COSTS,
    LEARNED,
    METHODS,
    MIDDLE_COST,
    PLAIN,
    RIDGES,
    UNBALANCED_COSTS,
    Images,
    Partition,
    annotate_partition_plainly,
    annotate_plainly,
    annotate_with_one_alpha,
    halves,
)
from papers.blocks import Table, Value
from papers.study import measured


def labels(runs: Runs, column: Column) -> tuple[str, str]:
    k, n = column
    here = runs.size(column)
    return str(k), str(n) if here == n else f"{n} (here {here})"


def table(runs: Runs, measure: str, title: str) -> Table:
    known = PAPER[measure] if paper_has(runs.plan) else {}
    shown = [row for row in SHOWN if row in OURS or row in known]
    columns = runs.plan.columns
    ours = [
        [runs.mean(column, row, measure) if row in OURS else None for row in shown]
        for column in columns
    ]
    paper = [[known[row][i] if row in known else None for row in shown] for i in range(len(ours))]
    return Table(
        title,
        ("terms", "image sets"),
        [labels(runs, column) for column in columns],
        [WORDS.get(row, row) for row in shown],
        ours,
        paper if known else None,
        compare="",
    )


def _gaps(runs: Runs, one: str, other: str, measure: str) -> list[float]:
    """One row less another, in every column with sets of its own."""
    return [
        runs.mean(column, one, measure) - runs.mean(column, other, measure)
        for column in runs.distinct()
    ]


def _paper_gaps(one: str, other: str, measure: str) -> list[float]:
    rows = PAPER.get(measure, {})
    if one not in rows or other not in rows:
        return []
    pairs = zip(rows[one], rows[other], strict=True)
    return [a - b for a, b in pairs if a is not None and b is not None]


def _summed_up(gaps: Sequence[float]) -> str | None:
    above = sum(gap > 0 for gap in gaps)
    return f"{np.mean(gaps):+.3f} ({above} of {len(gaps)})" if gaps else None


def order_table(runs: Runs) -> Table:
    """Learned weights against uniform ones and single kernels."""
    pairs = [(one, other) for other in ("uniform", "BIK", "best") for one in LEARNED]
    measures = (*TITLES, "auc")
    known = paper_has(runs.plan)
    return Table(
        "The order of the methods: mean difference over columns (and in how many it is above 0)",
        ("kernel", "less"),
        [(one, WORDS.get(other, other)) for one, other in pairs],
        ["macro F1", "micro F1", "precision", "recall", "AUC"],
        [[_summed_up(_gaps(runs, *pair, m)) for m in measures] for pair in pairs],
        [[_summed_up(_paper_gaps(*pair, m)) for m in measures] for pair in pairs]
        if known
        else None,
    )


def auc_table(runs: Runs) -> Table:
    columns = runs.distinct()
    return Table(
        "AUC, mean over terms (not in the thesis)",
        ("terms", "image sets"),
        [labels(runs, column) for column in columns],
        [WORDS.get(row, row) for row in OURS],
        [[runs.mean(column, row, "auc") for row in OURS] for column in columns],
        note="It depends on how the SVMs rank the image sets, not on where they draw the line.",
    )


def alpha_table(runs: Runs) -> Table:
    """Macro F1 of all methods with one alpha, on the sample column and on the last."""
    columns = list(dict.fromkeys([runs.plan.sample, runs.plan.columns[-1]]))
    methods = (*LEARNED, "uniform")
    rows: list[tuple[str, ...]] = []
    ours: list[list[Value]] = []
    for column in columns:
        cells = runs.cells(column, ", one alpha for all", annotate_with_one_alpha)
        for i, alpha in enumerate(RIDGES):
            rows.append((*labels(runs, column), f"{alpha:g}"))
            ours.append([float(np.mean([cell[m][i] for cell in cells])) for m in methods])
    return Table(
        "Macro F1 with one alpha for all methods",
        ("terms", "image sets", "alpha"),
        rows,
        methods,
        ours,
        note=f"C is {MIDDLE_COST:g} throughout; on the test halves, to explain, not to choose.",
    )


def balance_table(runs: Runs) -> Table:
    """The sample column with and without equal weight for both classes."""
    sample, plain = runs.plan.sample, runs.unbalanced()
    rows: list[tuple[str, str]] = []
    ours: list[list[Value]] = []
    paper: list[list[Value]] = []
    for name, cells in (("balanced", runs.found[sample]), ("not balanced", plain)):
        for method in METHODS:
            rows.append((name, WORDS.get(method, method)))
            measures = [*TITLES, "auc"]
            ours.append([float(np.mean([cell[method][m] for cell in cells])) for m in measures])
            paper.append([_paper_value(sample, method, m) for m in measures])
    return Table(
        f"The weight of the classes: {sample[0]} terms, {sample[1]} image sets",
        ("SVM", "kernel"),
        rows,
        ["macro F1", "micro F1", "precision", "recall", "AUC"],
        ours,
        paper if paper_has(runs.plan) else None,
        compare="",
        note=f"alpha and C are chosen anew in either case, C of {listed(COSTS)} with balanced "
        f"classes and of {listed(UNBALANCED_COSTS)} without.",
    )


def _paper_value(column: Column, row: str, measure: str) -> float | None:
    values = PAPER.get(measure, {}).get(row)
    return values[PAPER_COLUMNS.index(column)] if values and column in PAPER_COLUMNS else None


# -- beyond the thesis --------------------------------------------------------------------


def _timed(runs: Runs, name: str, chosen: Mapping[str, float]) -> list[float]:
    """Seconds and megabytes from features to decisions on the first partition."""
    images, sample = runs.images, runs.plan.sample
    terms, rows = images.choose(*sample, runs.study.seed)
    train, test = halves(rows, np.random.default_rng(runs.seed(sample, 0)))

    def plainly() -> Any:
        return annotate_plainly(images, name, terms, train, test, chosen["C"])

    def with_kernels() -> Any:
        used, here = np.concatenate([train, test]), np.arange(len(rows))
        few = Images(images.X[used], images.Y[np.ix_(used, terms)], images.offsets, images.kinds)
        parts = here[: len(train)], here[len(train) :]
        whole = Partition(few.kernels, few.Y, *parts)
        return whole.scores(whole.weights(name, chosen["alpha"]), [chosen["C"]])

    work = plainly if name in PLAIN else with_kernels
    return runs.study.timing(name, lambda: list(measured(work)[1:]))


def _plain(runs: Runs, name: str) -> list[dict[str, Any]]:
    work = partial(annotate_partition_plainly, name)
    return runs.cells(runs.plan.sample, f", {name}", work)


def beyond(runs: Runs) -> Table:
    sample = runs.plan.sample
    kernels = {f"{name}, SVM": name for name in ("star", "uniform")}
    rows = [*kernels, *PLAIN]
    ours: list[list[Value]] = []
    for row in rows:
        name = kernels.get(row, row)
        cells: Any = [c[name] for c in runs.found[sample]] if row in kernels else _plain(runs, row)
        scores = [float(np.mean([cell[m] for cell in cells])) for m in (*TITLES, "auc")]
        ours.append([*scores, *_timed(runs, name, cells[0])])
    return Table(
        f"Beyond the thesis: {sample[0]} terms, {sample[1]} image sets",
        ("method",),
        [(row,) for row in rows],
        ["macro F1", "micro F1", "precision", "recall", "AUC", "seconds", "peak MB"],
        ours,
        form=(".4f",) * 5 + (".2f", ".0f"),
        note="Time and memory: from the features to the decisions on one partition, kernels "
        "included, alpha and C being chosen. Of C++ libraries memory is not counted.",
    )
