"""The rows that a model is fitted to: in memory, or made anew for every pass over a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.files import Target
from eigenkit.files._common import size
from eigenkit.models._choosing import Part, fold_of_rows
from eigenkit.models._features import Features
from eigenkit.models._parsed import Scratch, Stored, unsaid
from eigenkit.models._preparing import Blocks, Preparation
from eigenkit.models._row_blocks import RowBlocks


@dataclass(eq=False)
class FitRows:
    """X and y of the file; made once in memory, made anew for every pass over a stream."""

    path: str
    blocks: Blocks
    features: Features
    target: Target
    stream: bool
    prepare: Preparation
    cv: int  # folds, and how they are drawn
    seed: int
    classifier: str  # on top of a projection
    groups: np.ndarray | None  # rows that belong together, in memory
    say: Callable[[str], None] = unsaid
    seconds: float = 0.0  # that one pass over the file takes
    checkpoint: str | Path | None = None
    fingerprint: str = ""

    def __post_init__(self) -> None:
        self.n = 0
        self._stored: RowBlocks | None = None
        self._stored_raw = False
        self._kept: Any = None if self.stream else list(self._make())

    def _make(self, raw: bool = False) -> Iterator[tuple[Any, np.ndarray]]:
        """X and y of every block; X as it is before filling in and scaling if it is ``raw``."""
        self.n = 0
        matrix = self.features.raw if raw else self.features.matrix
        for block in self.blocks():
            if len(block):
                y = self.target.encode(block.path or self.path, block.labels, block.start)
                self.n += len(y)
                yield matrix(self.path, block), y

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        if self._kept is not None:
            return iter(self._kept)
        return self._make() if self._stored is None else iter(self.store())

    @property
    def kind(self) -> str:
        """Of the labels."""
        return self.target.kind

    @property
    def width(self) -> int:
        """Columns of X and y together."""
        return self.features.n_features + len(self.target.names)

    @property
    def shape(self) -> tuple[int, int]:
        """Of X; the rows of a stream are counted when they are first stored."""
        if not self.n:
            self.store(raw=self.prepare.learns)
        return self.n, self.features.n_features

    def folds(self) -> Iterator[tuple[Any, Any]]:
        """Rows to fit on and to measure on, as blocks (X, y).

        What fills in and scales is learned from the rows to fit on.
        """
        if self.stream:
            rows = self.store(raw=self.prepare.learns)
            y = np.concatenate([y for _, y in rows])
            fold = fold_of_rows(self.kind, y, self.cv, self.seed)
            return self._prepared(rows.folds(self.cv, of=fold))
        return self.in_memory().folds()

    def in_memory(self) -> Part:
        """All rows, as they are before filling in and scaling."""
        ((X, y),) = self._make(raw=True) if self.prepare.learns else self
        how = self.cv, self.seed, self.prepare, self.classifier, self.groups
        return Part(self.kind, X, y, *how)

    def _prepared(
        self, folds: Iterator[tuple[RowBlocks, RowBlocks]]
    ) -> Iterator[tuple[RowBlocks, RowBlocks]]:
        for train, test in folds:
            if self.prepare.learns:
                parts = partial(map, itemgetter(0), train)
                made = self.prepare.learned(parts, self.shape[1])
                train, test = train.map(made), test.map(made)
            yield train, test

    def store(self, raw: bool = False) -> RowBlocks:
        """All rows in a scratch file, as blocks that are read from there from now on."""
        if self._stored is None or (raw and not self._stored_raw):
            self._stored, self._stored_raw = self._written(raw), raw
        if self._stored_raw and not raw:
            return self._stored.map(self.features.prepared)
        return self._stored

    def _written(self, raw: bool) -> RowBlocks:
        scratch = Scratch()
        self.say(
            f"{self.width} columns: the rows are parsed into a scratch file in {scratch.folder}, "
            f"which takes about {time_of(self.seconds)}"
        )
        held = [Stored.of(scratch, X).with_y(self.target, y) for X, y in self._make(raw)]
        classes = np.array(self.target.names) if self.target.kind == "classes" else None
        blocks = RowBlocks.stored(held, classes)
        self.say(f"the rows take {size(scratch.n_bytes)} there, until the fit ends")
        return blocks


def time_of(seconds: float) -> str:
    """A time in words."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
