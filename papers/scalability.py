"""Time of the two-stage and of the direct approach on text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sklearn.base import clone

from papers.blocks import Block, Note
from papers.equivalence import TECHNIQUES
from papers.study import Experiment, Study
from papers.timing import (
    MULTILABEL,
    SETTING,
    STAND_IN,
    Approaches,
    Sweep,
    faster,
    growth,
    shown,
    time_sweeps,
)


def _model(technique: str, regression: str) -> Any:
    return clone(TECHNIQUES[technique]).set_params(regression=regression)


APPROACHES: Approaches = {
    "two-stage": partial(_model, regression="auto"),
    "two-stage by LSQR": partial(_model, regression="lsqr"),
}

_STEPS = range(500, 3001, 500)
_LONG = range(500, 5001, 500)
_N20, _RCV_N, _RCV_D = (f"two-stage-time-{name}" for name in ("news20", "rcv1-n", "rcv1-d"))
FULL = (
    Sweep(_N20, "Figure 3", "news20", ["LDA"], [(n, 5000) for n in _STEPS]),
    Sweep(_N20, "Figure 3", "news20", ["LDA"], [(5000, d) for d in _STEPS]),
    Sweep(_RCV_N, "Figure 4", "rcv1", MULTILABEL, [(n, 5000) for n in _STEPS]),
    Sweep(_RCV_D, "Figure 5", "rcv1", MULTILABEL, [(3000, d) for d in _LONG]),
)
QUICK = (
    Sweep(_N20, "for Figure 3", "syn1", ["LDA"], [(n, 100) for n in (250, 500, 1000)]),
    Sweep(_N20, "for Figure 3", "syn1", ["LDA"], [(1000, d) for d in (25, 50, 100)]),
    Sweep(_RCV_N, "for Figure 4", STAND_IN, MULTILABEL, [(n, 400) for n in (150, 300, 600)]),
    Sweep(_RCV_D, "for Figure 5", STAND_IN, MULTILABEL, [(600, d) for d in (100, 200, 400)]),
)


def run(study: Study) -> Iterator[Block]:
    """Figures 3 to 5, with what is measured in place of what is seen."""
    yield Note(SETTING)
    yield Note(
        "The two-stage approach is shown as the library chooses its first stage and with the "
        "paper's LSQR, here on all labels at once. The paper's figures are not in its text; it "
        "says of all of them that two-stage takes significantly less time than direct, that both "
        "grow with n, and that two-stage grows linearly with n and with d."
    )
    sweeps = QUICK if study.quick else FULL
    measured = list(time_sweeps(study, sweeps, APPROACHES))
    if measured:
        says = "Two-stage takes significantly less time than the direct approach (Figures 3 to 5)."
        yield faster(measured, "two-stage by LSQR", says)
        for name in APPROACHES:
            yield from growth(measured, name, "Two-stage grows linearly with")
    yield from shown(measured)


EXPERIMENT = Experiment(
    "two-stage-time",
    "Time of the two-stage and of the direct approach",
    "Sun, Ceran and Ye (2010), Figures 3 to 5; thesis, Figures 5.3 to 5.5",
    run,
)
