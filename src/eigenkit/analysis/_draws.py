"""Random draws in batches, in parallel: the results do not depend on the number of jobs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from joblib import Parallel, delayed

from eigenkit.moments import Blocks
from eigenkit.numerics.threads import blas_threads
from eigenkit.shell import check_jobs, random_of

# The statistics of more would take more than a gigabyte.
MOST_DRAWS = 100_000_000

Progress = bool | Callable[[int, int, str], Any] | None


def root_seed(random_state: Any) -> int:
    """One number from which all seeds of a run are made."""
    return int(random_of(random_state).randint(2**31 - 1))


def refuse_blocks(X: Any) -> None:
    """Refuse blocks of rows: to draw rows, all of them must be there."""
    if isinstance(X, Blocks):
        raise TypeError("X is a collection of blocks, but rows are drawn from all: give arrays.")


def sizes(n_draws: int, batch: int) -> list[int]:
    """How many draws each batch makes; too many draws for memory are refused."""
    if n_draws > MOST_DRAWS:
        raise ValueError(f"{n_draws:.3g} draws are too many: ask for at most {MOST_DRAWS:,}.")
    return [min(batch, n_draws - start) for start in range(0, n_draws, batch)]


def in_parallel(
    work: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    weights: Sequence[int],
    what: str,
    n_jobs: int | None,
    progress: Progress,
) -> list[Any]:
    """The results of ``work``, in order; ``weights`` are the numbers of draws per task."""
    check_jobs("n_jobs", n_jobs)
    jobs = (delayed(_alone)(work, task) for task in tasks)
    results = Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    return list(_watched(results, weights, what, progress))


def _alone(work: Callable[..., Any], task: tuple[Any, ...]) -> Any:
    """Use one BLAS thread, because the number of threads changes rounding."""
    with blas_threads(0):
        return work(*task)


def _watched(results: Any, weights: Sequence[int], what: str, progress: Progress) -> Iterator[Any]:
    done, total = 0, sum(weights)
    report = _bar if progress is True else progress
    for result, weight in zip(results, weights, strict=True):
        done += weight
        if callable(report):
            report(done, total, f"{done} of {total} {what}")
        yield result


def _bar(done: int, total: int, message: str) -> None:
    """A bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        return
    filled = 30 * done // total
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {message}{end}")
    sys.stderr.flush()
