"""The figures of the annotation experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from papers.annotation_runs import (
    OURS,
    SHOWN,
    WORDS,
    Runs,
    mean_weights,
    paper_has,
)
from papers.annotation_thesis import PAPER, PAPER_COLUMNS
from papers.annotation_trial import (
    LEARNED,
)
from papers.drawing import COLORS, MARKERS


def draw_f1(figure: Any, runs: Runs) -> None:
    """A panel per number of sets; below, if there is one, the thesis's."""
    plan = runs.plan
    sources = [("ours", _our_curves)]
    if paper_has(plan):
        sources.append(("thesis", _paper_curves))
    axes = figure.subplots(len(sources), len(plan.sets), sharex=True, sharey="row", squeeze=False)
    for line, (source, curves) in zip(axes, sources, strict=True):
        for ax, n in zip(line, plan.sets, strict=True):
            for row, values in curves(runs, n).items():
                _curve(ax, row, plan.terms, values)
            ax.set(title=f"{source}, {n} image sets", xticks=plan.terms)
        line[0].set_ylabel("macro F1")
    for ax in axes[-1]:
        ax.set_xlabel("terms")
    found: dict[str, Any] = {}
    for line in axes:
        handles, labels = line[0].get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=4)


def _curve(ax: Any, row: str, x: Sequence[int], y: Sequence[float]) -> None:
    i = SHOWN.index(row)
    ax.plot(
        x,
        y,
        label=WORDS.get(row, row),
        color=COLORS[i],
        marker=MARKERS[i],
        linestyle="-" if row in LEARNED else "--",
        fillstyle="none",
    )


def _our_curves(runs: Runs, n: int) -> Mapping[str, list[float]]:
    return {row: [runs.mean((k, n), row, "f1_macro") for k in runs.plan.terms] for row in OURS}


def _paper_curves(runs: Runs, n: int) -> Mapping[str, list[float]]:
    places = [i for i, column in enumerate(PAPER_COLUMNS) if column[1] == n]
    known = PAPER["f1_macro"]
    return {row: [known[row][i] or np.nan for i in places] for row in SHOWN if row in known}


def draw_weights(figure: Any, runs: Runs) -> None:
    ax = figure.subplots()
    names = runs.images.names
    place = np.arange(len(names))
    for i, method in enumerate(LEARNED):
        look: dict[str, Any] = {"color": COLORS[i], "hatch": ("", "//", "..")[i]}
        y = place + 0.27 * (i - 1)
        ax.barh(y, mean_weights(runs, method), 0.25, label=method, edgecolor="white", **look)
    ax.set(yticks=place, yticklabels=names, xlabel="weight")
    ax.axvline(1 / len(names), color="#5c6670", linestyle=":", label="uniform")
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.legend()
