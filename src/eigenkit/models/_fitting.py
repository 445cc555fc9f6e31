"""Fitting a pipeline on a file, in memory or block by block."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.data import arrays_of
from eigenkit.estimators.registry import Method, comparable, find, gap_params, usual, view_params
from eigenkit.files import Block, Data, FileError, Source, Target, read
from eigenkit.files._checks import groups_in
from eigenkit.files._reading import rows_per_block
from eigenkit.files._targets import target_in
from eigenkit.models._blocks import Tick, in_blocks, labels_of, unsaid
from eigenkit.models._choosing import LARGE, SCORES, WORTH_SAYING, Choice, cross_validated
from eigenkit.models._features import Features, Preparation, complete, learn_features, view_columns
from eigenkit.models._fit_rows import InBlocks, InMemory, time_of
from eigenkit.models._linear import CLASSIFIERS, SVM, on_top
from eigenkit.models._model import Model, how_fitted
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_choice

# With more entries than this, cross-validation takes too long if it only measures the quality.
_MOST_ENTRIES = 20_000_000
# Folds inside a fold, at most.
_INNER = 3
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
                how["quality"] = _quality(estimator, rows, took, again, self.say)
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
            parts = in_blocks(source, self.tick)
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
        how = {
            **how_fitted(self.source, self.source.path, estimator, rows.shape[0], self.missing),
            "scale": self.scale,
            "in_blocks": self.stream,
            "seed": self.random_state,
            "views": list(self.views),
        }
        if isinstance(rows, InMemory) and rows.groups is not None:
            n = len(np.unique(rows.groups))
            how["groups"] = {"column": self.source.group_name, "n": n}
        return how


def check_target(
    path: str, method: Method, target: Target, suits: Callable[[Method], bool] = bool
) -> None:
    """Refuse a method that does not learn from such targets, and name others that suit."""
    if target.kind in method.targets:
        return
    words = {"classes": "one class a row", "labels": "sets of labels", "numbers": "numbers"}
    able = [name for name in usual(comparable(target.kind)) if suits(find(name))]
    raise FileError(
        path,
        f"{method.name} does not learn from {words[target.kind]}, which this file holds: use one "
        f"of {', '.join(able)} (eigenkit methods lists all), or say what the labels are with "
        "--task.",
    )


def _quality(
    estimator: Any, rows: InMemory, took: float, choice: Choice | None, say: Callable[[str], None]
) -> dict[str, Any]:
    """The score on rows left out, or an error if it cannot be computed or would take too long.

    A choice is made again in every fold, as one made with all rows has seen those left out. With
    many entries this matters less, and takes too long.
    """
    ((X, y),) = rows
    if X.size > _MOST_ENTRIES:
        raise ValueError(f"{X.size:,} numbers would take long")
    if len(y) < 2 * rows.cv:
        raise ValueError(f"{len(y)} rows are too few for {rows.cv} folds")
    estimators: Iterator[Any] = repeat(estimator)
    nested = choice is not None and X.size < LARGE
    if choice is not None and nested:
        estimators = (choice.made(part)[0] for part in rows.parts(min(rows.cv, _INNER)))
        if _INNER * took > WORTH_SAYING:
            say(
                f"to say how good that is, it is chosen again in {rows.cv} folds, in about "
                f"{time_of(_INNER * took)}: --no-quality leaves that out"
            )
    try:
        found = _measured(estimators, rows)
    except ValueError:  # a small class is missing in a fold of some fold
        if not nested:
            raise
        found, nested = _measured(repeat(estimator), rows), False
    score = {"mean": float(found.mean()), "std": float(found.std(ddof=1))}
    # Of ignoring the features: the commonest class, chance, or the mean.
    without = {"labels": 0.5, "numbers": 0.0}.get(rows.kind)
    if without is None:
        without = float(np.unique(y, return_counts=True)[1].max() / len(y))
    told = {"folds": rows.cv, "nested": nested, "without_features": without}
    return {"score": SCORES[rows.kind], **score, **told}


def _measured(estimators: Iterator[Any], rows: InMemory) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cross_validated(estimators, rows)


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
