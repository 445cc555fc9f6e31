"""Time of the least squares model and of the generalized eigenvalue problem on text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from eigenkit import LeastSquaresProjection
from papers.blocks import Block, Note
from papers.study import Experiment, Study
from papers.timing import (
    MULTILABEL,
    SETTING,
    STAND_IN,
    TARGET_NAMES,
    Approaches,
    Sweep,
    faster,
    shown,
    time_sweeps,
)


def _model(technique: str, regression: str) -> LeastSquaresProjection:
    return LeastSquaresProjection(target=TARGET_NAMES[technique], regression=regression)


APPROACHES: Approaches = {
    "least squares by LSQR": partial(_model, regression="lsqr"),
    "least squares": partial(_model, regression="auto"),
}

_D, _N = "least-squares-time-d", "least-squares-time-n"
_FEATURES = range(1000, 8001, 1000)
_SAMPLES = (500, 1000, 2000, 3000, 5000, 7000)
FULL = (
    Sweep(_D, "thesis, Figure 4.4", "yahoo_arts", MULTILABEL, [(1000, d) for d in _FEATURES]),
    Sweep(_N, "thesis, Figure 4.5", "yahoo_arts", MULTILABEL, [(n, 5000) for n in _SAMPLES]),
)
QUICK = (
    Sweep(_D, "for Figure 4.4", STAND_IN, MULTILABEL, [(600, d) for d in (100, 200, 400)]),
    Sweep(_N, "for Figure 4.5", STAND_IN, MULTILABEL, [(n, 400) for n in (150, 300, 600)]),
)


def run(study: Study) -> Iterator[Block]:
    """Figures 4.4 and 4.5 of the thesis, of which Figure 2 of the paper shows a part."""
    yield Note(SETTING)
    yield Note(
        "Least squares is the papers' model with an l2 penalty, by LSQR (on all labels at once) "
        "and by what the library chooses. Our Arts set holds all 7484 documents, the papers use "
        "3712 of them, select terms by the method of Yang and Pedersen (1997), and do not name the "
        "sizes that grow. They say that the time of both grows steadily with d, and that least "
        "squares takes substantially less."
    )
    sweeps = QUICK if study.quick else FULL
    measured = list(time_sweeps(study, sweeps, APPROACHES))
    if measured:
        says = "Least squares takes substantially less time than the eigenvalue problem (Figure 2)."
        yield faster(measured, "least squares by LSQR", says)
    yield from shown(measured)


EXPERIMENT = Experiment(
    "least-squares-time",
    "Time of the least squares model and of the eigenvalue problem",
    "Sun, Ji and Ye (2009), Figure 2; thesis, Figures 4.4 and 4.5",
    run,
)
