"""Fitting a pipeline on a file, in memory or block by block."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.data import arrays_of
from eigenkit.estimators.registry import Method, comparable, find, gap_params, usual, view_params
from eigenkit.files import Block, Data, FileError, Source, Target, read, size
from eigenkit.files._checks import groups_in
from eigenkit.files._reading import rows_per_block
from eigenkit.files._targets import target_in
from eigenkit.models._blocks import Scratch, Stored, Tick, in_blocks, labels_of, unsaid
from eigenkit.models._choosing import Choice, FitRows, InMemory, fold_of_rows, quality_of
from eigenkit.models._features import Features, Preparation, complete, learn_features, view_columns
from eigenkit.models._linear import CLASSIFIERS, SVM, on_top
from eigenkit.models._model import Model, how_fitted
from eigenkit.models._row_blocks import RowBlocks
from eigenkit.models._stream import Stream
from eigenkit.shell import check_choice, time_of

# With more columns of X and y than this, passes over the rows are cheaper than their moments.
_FEW = 2000
# The options of a fit that are about features.
_OF_FEATURES = ("scale", "missing", "text_kind", "text_size", "ngrams")


def fit_model(source: Source, method: str, **options: Any) -> Model:
    """Fit features, scaling, estimator and classifier on a file; the options are those of Fit."""
    return Fit(source, find(method), **options).model()


@dataclass(frozen=True)
class Fit:
    """What is fitted, how, and to which file."""

    source: Source  # from eigenkit.files.open_file; with groups, no fold divides one
    method: Method
    data: Data | None = None  # the file, if it was read already
    task: str | None = None  # "classes", "labels" or "numbers"; found out by default
    params: dict[str, Any] | None = None  # of the estimator, as alpha or n_components
    # Alphas to choose from by cross-validation, or a function of X that gives them.
    alphas: Sequence[float] | Callable[[Any], Sequence[float]] | None = None
    cv: int = 5  # folds of every cross-validation
    components: str | None = None  # "cv": choose their number by cross-validation
    views: Sequence[str] = ()  # patterns of names of features, one for each view
    quality: bool = True  # measure how good the model is on rows it has not seen
    # What predicts from the scores of a projection: "svm", or "gaussian", which follows from sums
    # over the rows, so that the model can be followed and merged.
    classifier: str = SVM
    scale: str = "none"  # see SCALES
    missing: str = "error"  # see MISSING
    text_kind: str = "tfidf"  # how columns of text become features
    text_size: int = 2**16
    ngrams: int = 1
    stream: bool = False  # read the file in blocks, once per step, and keep none of them
    # With stream: a file for the state of the fit, from which an interrupted one goes on.
    checkpoint: str | Path | None = None
    random_state: int = 0  # of folds and classifiers
    tick: Tick = unsaid  # called as tick(step, rows) when a step has taken in some rows
    say: Callable[[str], None] = unsaid  # told what will be done, and how long it takes

    def model(self) -> Model:
        """Learn what the labels are, the features, the estimator, and what stands on top."""
        self._check()
        rows, features, target = self._rows()
        path, names = self.source.path, features.feature_names()
        given = view_params(self.method, view_columns(path, names, self.views))
        given |= {**gap_params(self.method, self.missing), **(self.params or {})}
        choice = Choice(self.method, given, self.alphas, self.components)
        if isinstance(rows, InMemory):
            choice.forecast(rows, self.quality, self.say)
        begun = time.monotonic()
        estimator, searches = choice.made(rows)
        estimator = rows.fit(estimator, self.alphas is not None)
        took = time.monotonic() - begun
        linear = on_top(self.method, target, self.classifier, rows, estimator)
        how = {**self._how(rows, estimator), **searches}
        if self.quality and isinstance(rows, InMemory):
            again = choice if searches else None
            try:
                how["quality"] = quality_of(estimator, rows, took, again, self.say)
            except ValueError as error:  # for example, a fold lacks one of the classes
                how |= {"quality": None, "unmeasured": str(error).split("\n")[0]}
        return Model(self.method.name, features, estimator, linear, target, how)

    def _check(self) -> None:
        check_choice("classifier", self.classifier, CLASSIFIERS)
        if self.stream and self.source.group_name is not None:
            raise ValueError(
                "--groups needs all rows in memory: folds of blocks do not keep groups together; "
                "leave --stream and --checkpoint out, or the column with --ignore."
            )

    def _rows(self) -> tuple[InBlocks | InMemory, Features, Target]:
        """The rows to fit to, how they become features, and what their labels are."""
        source, begun = self.source, time.monotonic()
        if self.task == "classes":
            source.take_labels_as_words()
        if self.stream:
            parts: Callable[[], Iterable[Block]] = partial(in_blocks, source, self.tick)
        else:
            whole = (self.data or read(source, lambda n: self.tick("reading", n))).block()
            parts = lambda: [whole]  # noqa: E731
        blocks = partial(complete, parts, self.missing, source.named_cells)
        values = hashlib.sha256() if self.stream and self.checkpoint is not None else None
        see = partial(_note, values) if values else unsaid
        labels, _ = labels_of(source, blocks, self.missing, see)
        groups = None if self.stream else groups_in(source, next(iter(blocks())))
        target = target_in(source, labels, self.task)
        check_target(source.path, self.method, target)
        features = learn_features(source, blocks, **{k: getattr(self, k) for k in _OF_FEATURES})
        prepare = Preparation(self.missing, self.scale, features.n_numbers)
        how_to_fold = self.cv, self.random_state, prepare, self.classifier
        if not self.stream:
            (block,) = blocks()
            y = target.encode(source.path, block.labels, block.start)
            X = features.raw(source.path, block)
            held = InMemory(target.kind, X, y, *how_to_fold, groups, features.prepared(X))
            return held, features, target
        mark = _fingerprint(source, labels, features, values.hexdigest()) if values else ""
        told = self.say, time.monotonic() - begun, self.checkpoint, mark
        passed = InBlocks(source.path, blocks, features, target, *how_to_fold, *told)
        return passed, features, target

    def _how(self, rows: InBlocks | InMemory, estimator: Any) -> dict[str, Any]:
        """What the model file says about the fit."""
        how = how_fitted(self.source, self.source.path, estimator, rows.shape[0], self.missing)
        how |= {"scale": self.scale, "in_blocks": self.stream, "seed": self.random_state}
        how["views"] = list(self.views)
        if isinstance(rows, InMemory) and rows.groups is not None:
            how["groups"] = {"column": self.source.group_name, "n": len(np.unique(rows.groups))}
        return how


@dataclass(eq=False)
class InBlocks(FitRows):
    """Rows that are read and made anew for every pass, or stored in a scratch file."""

    path: str
    blocks: Callable[[], Iterable[Block]]
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
                made = self.prepare.learned(partial(map, itemgetter(0), train), self.shape[1])
                train, test = train.map(made), test.map(made)
            yield train, test

    def store(self, raw: bool = False) -> RowBlocks:
        """All rows in a scratch file, as blocks that are read from there from now on."""
        if self._stored is None or (raw and not self._stored_raw):
            scratch = Scratch()
            place = f"a scratch file in {scratch.folder}, which takes about {time_of(self.seconds)}"
            self.say(f"{self.width} columns: the rows are parsed into {place}")
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


def check_target(
    path: str, method: Method, target: Target, suits: Callable[[Method], bool] = bool
) -> None:
    """Refuse a method that does not learn from such targets, and name others that suit."""
    if target.kind in method.targets:
        return
    words = {"classes": "one class a row", "labels": "sets of labels", "numbers": "numbers"}
    able = [name for name in usual(comparable(target.kind)) if suits(find(name))]
    what = f"{method.name} does not learn from {words[target.kind]}, which this file holds"
    use = f"use one of {', '.join(able)} (eigenkit methods lists all)"
    raise FileError(path, f"{what}: {use}, or say what the labels are with --task.")


def _note(digest: Any, block: Block) -> None:
    """Put the numbers and words of a block into a checksum."""
    digest.update(b"%d " % len(block))  # the same rows in other blocks are another stream
    for part in arrays_of(block.X):
        digest.update(np.ascontiguousarray(part).tobytes())
    for cells in block.text.values():
        digest.update("\0".join(cells).encode("utf-8", "surrogatepass"))


def _fingerprint(source: Source, labels: Any, features: Features, values: str) -> str:
    """A text by which the blocks of this file are told from those of others."""
    if not isinstance(labels, np.ndarray):  # rows may have different numbers of labels
        labels = np.array(labels, dtype=object)
    words = [values, *map(str, np.ravel(labels)), *features.feature_names()]
    digest = hashlib.sha256("\0".join(words).encode("utf-8"))
    for numbers in (features.scale, features.fill):
        digest.update(np.asarray(numbers, dtype=np.float64).tobytes())
    name, mark = Path(source.path).name, digest.hexdigest()[:16]
    blocks = f"{features.n_features} features in blocks of {rows_per_block(source)} rows"
    return f"{name}, {blocks}, checksum {mark}"
