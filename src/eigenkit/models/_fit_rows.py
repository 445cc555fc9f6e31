"""The rows that a model is fitted to: in memory, or made anew for every pass over a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.estimators.splits import Split, dealt, splits_of, stratify
from eigenkit.files import Target
from eigenkit.files._common import size
from eigenkit.models._blocks import Scratch, Stored
from eigenkit.models._features import Blocks, Features, Preparation
from eigenkit.models._linear import SVM, ScoreSums, scores_of, sums_of
from eigenkit.models._row_blocks import RowBlocks
from eigenkit.models._stream import Stream
from eigenkit.numerics.linalg import Array

# With more columns of X and y than this, passes over the rows are cheaper than their moments.
_FEW = 2000


def fold_of_rows(kind: str, y: Array, cv: int, seed: int, groups: Any = None) -> np.ndarray:
    """The fold of every row, with an even share of every class, and groups in one fold."""
    rng = np.random.default_rng(seed)
    if groups is None:
        return dealt(y if kind == "classes" else None, len(y), cv, rng)
    Y = y[:, None] == np.unique(y) if kind == "classes" else y.reshape(len(y), -1)
    return stratify(Y[:, :0] if kind == "numbers" else Y, [1.0] * cv, rng, groups)


def folds_of(kind: str, y: Array, cv: int, seed: int, groups: Any = None) -> list[Split]:
    """The numbers of the rows to fit on and to measure on, for every fold."""
    return [*splits_of(fold_of_rows(kind, y, cv, seed, groups), cv)]


class FitRows(Iterable[tuple[Any, np.ndarray]]):
    """Blocks (X, y), filled in and scaled, that can be asked for again and again.

    Their ``folds`` are pairs of blocks to fit on and to measure on; what fills in and scales is
    learned from those to fit on.
    """

    def scores(self, projection: Any) -> Iterable[tuple[Array, np.ndarray]]:
        """Scores and labels of every block."""
        return ((scores_of(projection, X), y) for X, y in self)

    def sums(self, projection: Any, target: Target) -> ScoreSums | None:
        """The sums of the scores of all rows."""
        return sums_of(((X, y, None) for X, y in self), projection, target)


@dataclass(frozen=True)
class InMemory(FitRows):
    """All rows as one block."""

    kind: str  # of the labels
    X: Any  # as it is before filling in and scaling
    y: np.ndarray
    cv: int  # folds, and how they are drawn
    seed: int
    prepare: Any = None  # learns from the rows to fit on how rows become features
    classifier: str = SVM  # on top of a projection
    groups: np.ndarray | None = None  # rows that belong together
    prepared: Any = None  # X as it is after filling in and scaling, where that is known

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        yield self.prepare(self.X)(self.X) if self.prepared is None else self.prepared, self.y

    @property
    def shape(self) -> tuple[int, int]:
        """Of X."""
        n, d = self.X.shape
        return int(n), int(d)

    def folds(self) -> Iterator[tuple[Any, Any]]:
        """Each part as a list of one block."""
        for both in self.splits():
            parts = [self.X[rows] for rows in both]
            if self.prepare is not None:
                parts = [*map(self.prepare(parts[0]), parts)]
            train, test = ([(X, self.y[rows])] for X, rows in zip(parts, both, strict=True))
            yield train, test

    def parts(self, cv: int) -> Iterator[InMemory]:
        """The rows to fit on of every fold, to be divided once more."""
        for train, _ in self.splits():
            groups = None if self.groups is None else self.groups[train]
            some = {"X": self.X[train], "y": self.y[train], "prepared": None}
            yield replace(self, **some, cv=cv, groups=groups)

    def splits(self) -> list[Split]:
        """The numbers of the rows of every fold."""
        return folds_of(self.kind, self.y, self.cv, self.seed, self.groups)

    def fit(self, estimator: Any, searched: bool = False) -> Any:
        """The estimator, fitted to all rows."""
        ((X, y),) = self
        return estimator.fit(X, y)


@dataclass(eq=False)
class InBlocks(FitRows):
    """Rows that are read and made anew for every pass, or stored in a scratch file."""

    path: str
    blocks: Blocks
    features: Features
    target: Target
    cv: int  # folds, and how they are drawn
    seed: int
    prepare: Preparation
    classifier: str  # on top of a projection
    say: Callable[[str], None]
    seconds: float  # that one pass over the file takes
    checkpoint: str | Path | None
    fingerprint: str  # of the blocks, for a checkpoint
    n: int = 0
    _stored: RowBlocks | None = None
    _stored_raw: bool = False

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
        """Of X; the rows are counted when they are first stored."""
        if not self.n:
            self.store(raw=self.prepare.learns)
        return self.n, self.features.n_features

    def folds(self) -> Iterator[tuple[RowBlocks, RowBlocks]]:
        """Out of a scratch file."""
        rows = self.store(raw=self.prepare.learns)
        y = np.concatenate([y for _, y in rows])
        for train, test in rows.folds(self.cv, of=fold_of_rows(self.kind, y, self.cv, self.seed)):
            if self.prepare.learns:
                parts = partial(map, itemgetter(0), train)
                made = self.prepare.learned(parts, self.shape[1])
                train, test = train.map(made), test.map(made)
            yield train, test

    def store(self, raw: bool = False) -> RowBlocks:
        """All rows in a scratch file, as blocks that are read from there from now on."""
        if self._stored is None or (raw and not self._stored_raw):
            scratch = Scratch()
            self.say(
                f"{self.width} columns: the rows are parsed into a scratch file in "
                f"{scratch.folder}, which takes about {time_of(self.seconds)}"
            )
            held = [Stored.of(scratch, X).with_y(self.target, y) for X, y in self._make(raw)]
            classes = np.array(self.target.names) if self.target.kind == "classes" else None
            self._stored, self._stored_raw = RowBlocks.stored(held, classes), raw
            self.say(f"the rows take {size(scratch.n_bytes)} there, until the fit ends")
        if self._stored_raw and not raw:
            return self._stored.map(self.features.prepared)
        return self._stored

    def fit(self, estimator: Any, searched: bool) -> Any:
        """In one pass where the moments are small; otherwise, and where alpha was ``searched``,
        from a scratch file.
        """
        if self.checkpoint is None and (searched or self.width > _FEW):
            blocks = self.store()
            if not searched and hasattr(estimator, "plan"):
                self.say(estimator.plan(blocks).reason)
            return estimator.fit(blocks)
        extra = self.target.in_parts()
        if self.checkpoint is not None:
            with Stream(estimator, self.checkpoint, source=self.fingerprint) as stream:
                for position, (X, y) in enumerate(self):
                    stream.update(X, y, position=position, **extra)
        else:
            took = time_of(self.seconds)
            self.say(f"one more pass over the file fits the model, which takes about {took}")
            for X, y in self:
                estimator.partial_fit(X, y, **extra)
        estimator._intake_.fitted()  # a stream is solved when it is first asked: now
        return estimator


def time_of(seconds: float) -> str:
    """A time in words."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
