"""The tables and figures of the papers, run again: ours beside theirs.

An :class:`~papers.study.Experiment` is a function of a
:class:`~papers.study.Study`, which gives it data and remembers what was computed; it
yields tables, figures and remarks (:mod:`papers.blocks`), and :func:`run_papers` puts
them on one page.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path

from eigenkit.evaluation.record import write_atomically
from eigenkit.evaluation.summary import environment
from papers import (
    annotation,
    annotation_images,
    equivalence,
    hypergraph_auc,
    illustrations,
    l1,
    least_squares_time,
    page,
    plane_times,
    planes,
    provenance,
    regularization,
    scalability,
    shrinkage,
    statements,
    training_size,
)
from papers.blocks import Block, Claim, Figure, Note, Result, Table
from papers.drawing import svg
from papers.study import Cells, Experiment, Mode, Study

__all__ = [
    "EXPERIMENTS",
    "Block",
    "Claim",
    "Experiment",
    "Figure",
    "Note",
    "Result",
    "Study",
    "Table",
    "run_papers",
]

# In the order of the page.
_ALL: tuple[Experiment, ...] = (
    statements.EXPERIMENT,
    illustrations.EXPERIMENT,
    equivalence.EXPERIMENT,
    regularization.EXPERIMENT,
    scalability.EXPERIMENT,
    hypergraph_auc.EXPERIMENT,
    training_size.EXPERIMENT,
    least_squares_time.EXPERIMENT,
    l1.EXPERIMENT,
    shrinkage.EXPERIMENT,
    planes.EXPERIMENT,
    plane_times.EXPERIMENT,
    annotation.EXPERIMENT,
    annotation_images.EXPERIMENT,
)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}

RESULTS = Path(__file__).parent / "results"
Progress = Callable[[int, int, str], None]


def run_papers(
    names: Sequence[str] | None = None,
    *,
    out: str | os.PathLike[str] = RESULTS,
    quick: bool = False,
    full: bool = False,
    seed: int = 0,
    fresh: bool = False,
    times: bool = False,
    remark: str = "",
    progress: Progress | None = None,
) -> list[Result]:
    """Run experiments and write the page that shows them.

    What was computed is kept in ``out / "cells"`` and taken from there as long as the code that
    computed it, the versions of the libraries, the seed and ``quick`` are the same.

    Parameters
    ----------
    names : sequence of str, optional
        Keys of EXPERIMENTS; by default all.
    out : path
        Folder of papers.html, papers.md, figures/ and cells/ (what was computed so far).
    quick : bool
        Bundled and generated data and few repetitions: to see that everything runs.
    full : bool
        As many random partitions of the data as the papers have, in about three times the time;
        otherwise at most three.
    seed : int
    fresh : bool
        Compute everything again.
    times : bool
        Measure times again, and compute nothing else again.
    remark : str
        A sentence about this run, for the page.
    progress : callable, optional
        Called as ``progress(done, total, message)``.

    Returns
    -------
    list of Result

    Examples
    --------
    >>> from papers import run_papers
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run_papers(["shrinkage"], quick=True, out=folder)  # doctest: +SKIP
    """
    chosen = _chosen(names)
    folder, mode = Path(out), Mode(quick, full, seed)
    results: list[Result] = []
    pictures: dict[str, str] = {}
    for done, experiment in enumerate(chosen):
        tell = _teller(progress, done, len(chosen), experiment.name)
        results.append(_run(experiment, folder, mode, fresh, times, tell))
        pictures |= {b.name: svg(b) for b in results[-1].blocks if isinstance(b, Figure)}
        _write(results, pictures, folder, mode, remark)  # to be looked at while the rest runs
    if progress is not None:
        progress(len(chosen), len(chosen), "done")
    return results


def _chosen(names: Sequence[str] | None) -> list[Experiment]:
    for name in names or ():
        if name not in EXPERIMENTS:
            close = get_close_matches(name, EXPERIMENTS, n=1)
            hint = (
                f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(EXPERIMENTS)}."
            )
            raise ValueError(f"there is no experiment {name!r}: {hint}")
    # In the order of the page, whatever the order they were asked for in.
    return [e for e in EXPERIMENTS.values() if names is None or e.name in names]


def _run(
    experiment: Experiment,
    folder: Path,
    mode: Mode,
    fresh: bool,
    times: bool,
    tell: Callable[[str], None],
) -> Result:
    settings = {
        "code": provenance.digest(experiment.run.__module__),
        "environment": environment(),
        "seed": mode.seed,
        "mode": mode.name,
    }
    place = folder / "cells" / f"{experiment.name}-{mode.name}.json"
    cells = Cells(place, settings, fresh, times)
    study = Study(cells, mode.seed, mode.quick, mode.full, tell)
    blocks = list(experiment.run(study))
    claims = [block for block in blocks if isinstance(block, Claim)]
    return Result(
        experiment.name,
        experiment.title,
        experiment.source,
        f"python -m papers --only {experiment.name}{mode.options}",
        mode.seed,
        [block for block in blocks if not isinstance(block, Claim)],
        study.missing,
        cells.seconds(),
        claims,
    )


def _teller(progress: Progress | None, done: int, total: int, name: str) -> Callable[[str], None]:
    if progress is None:
        return lambda message: None
    return lambda message: progress(done, total, f"{name}: {message}")


def _write(
    results: list[Result], pictures: dict[str, str], folder: Path, mode: Mode, remark: str
) -> None:
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        write_atomically(folder / "figures" / f"{name}.svg", picture)
    found = {"commit": provenance.commit() or "unknown", **environment()}
    write_atomically(folder / "papers.md", page.markdown(results, mode, found, remark))
    write_atomically(folder / "papers.html", page.html(results, pictures, mode, found, remark))
