"""What an experiment is given: data, a seed, and cells that are computed once.

A cell is a piece of work with a key, whose value is plain JSON. It is kept in a file as soon as
it is known, so that a run that was interrupted goes on where it was.
"""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from eigenkit.datasets import Dataset, DatasetNotFound, load_dataset
from eigenkit.evaluation.record import write_atomically
from papers.blocks import Block

Tell = Callable[[str], None]
T = TypeVar("T")
# Random partitions of data in a run that is not asked to be full.
FEW = 3
# How the keys of cells that measure time begin.
TIME = "time, "


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper, or several that come from the same run."""

    name: str
    title: str
    source: str
    run: Callable[[Study], Iterable[Block]]


@dataclass(frozen=True)
class Mode:
    """How much is run."""

    quick: bool = False
    full: bool = False
    seed: int = 0

    @property
    def name(self) -> str:
        """One word."""
        return "quick" if self.quick else "full" if self.full else "reduced"

    @property
    def options(self) -> str:
        """What to type for it."""
        chosen = "" if self.name == "reduced" else f" --{self.name}"
        return f"{chosen}{f' --seed {self.seed}' if self.seed else ''}"


class Cells:
    """Values by key in one JSON file; those of other settings are forgotten.

    ``fresh`` forgets all of them, ``times`` those that measure time.
    """

    def __init__(
        self, path: Path, settings: dict[str, Any], fresh: bool = False, times: bool = False
    ) -> None:
        self._path = path
        self._settings = settings
        stored = {} if fresh else self._read()
        self._values = {k: v for k, v in stored.items() if not (times and k.startswith(TIME))}
        self._used: set[str] = set()

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            stored = json.loads(self._path.read_text(encoding="utf-8"))
            return stored["cells"] if stored["settings"] == self._settings else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}  # a cache that is not there or not ours is an empty one

    def get(self, key: str, work: Callable[[], Any]) -> Any:
        """The value of a cell, computed if need be; and in either case as JSON gives it back."""
        self._used.add(key)
        if key not in self._values:
            start = time.perf_counter()
            value = json.loads(json.dumps(work(), allow_nan=False))
            seconds = round(time.perf_counter() - start, 3)
            self._values[key] = {"value": value, "seconds": seconds}
            self._path.parent.mkdir(parents=True, exist_ok=True)
            stored = {"settings": self._settings, "cells": self._values}
            write_atomically(self._path, json.dumps(stored, indent=1))
        return self._values[key]["value"]

    def seconds(self) -> float:
        """What the cells asked for have cost, in this run or an earlier one."""
        return float(sum(self._values[key]["seconds"] for key in self._used))


@dataclass
class Study:
    """The setting of one experiment.

    Parameters
    ----------
    cells : Cells
    seed : int
    quick : bool
        Use only data that come with eigenkit or scikit-learn, and few repetitions.
    full : bool
        As many random partitions as the papers have.
    tell : callable
        Called with a message before every cell.
    """

    cells: Cells
    seed: int = 0
    quick: bool = False
    full: bool = False
    tell: Tell = field(default=lambda message: None)
    missing: list[str] = field(default_factory=list)

    def dataset(self, name: str) -> Dataset | None:
        """A data set, or None if it is not available, which the result notes."""
        try:
            return load_dataset(name, random_state=self.seed)
        except DatasetNotFound as error:
            if str(error) not in self.missing:
                self.missing.append(str(error))
            return None

    def datasets(self, names: Iterable[str]) -> dict[str, Dataset]:
        """The data sets that are available."""
        found = {name: self.dataset(name) for name in names}
        return {name: data for name, data in found.items() if data is not None}

    def partitions(self, count: int, few: int = FEW) -> int:
        """How many random partitions: ``count``, as the paper or we wish, or only ``few``."""
        return count if self.full else min(count, few)

    def cell(self, key: str, work: Callable[[], T]) -> T:
        """The value of ``work()``, from an earlier run if there was one."""
        self.tell(key)
        value: T = self.cells.get(key, work)
        return value

    def timing(self, key: str, work: Callable[[], T]) -> T:
        """A cell that measures time, which can be measured again by itself."""
        return self.cell(TIME + key, work)


def measured(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Value, seconds, and the most megabytes held at once; the work is done twice.

    Memory is what Python and numpy allocate, less what was held before. It is measured in a
    second run, as watching allocations takes time.
    """
    start = time.perf_counter()
    value = work()
    seconds = time.perf_counter() - start
    tracemalloc.start()
    try:
        work()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return value, seconds, peak / 1e6
