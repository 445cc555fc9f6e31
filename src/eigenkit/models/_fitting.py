"""Fitting a pipeline on a file, in memory or block by block."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.estimators.registry import Method, comparable, find, gap_params, usual
from eigenkit.files import Data, FileError, Source, Target
from eigenkit.files._checks import groups_in
from eigenkit.files._reading import rows_per_block
from eigenkit.files._targets import target_in
from eigenkit.models._choosing import (
    LARGE,
    SCORES,
    WORTH_SAYING,
    Choice,
    cross_validated,
    n_entries,
)
from eigenkit.models._features import (
    Features,
    complete,
    learn_features,
    view_columns,
    view_params,
)
from eigenkit.models._file_blocks import Tick, in_blocks, in_memory, labels_of, note, unsaid
from eigenkit.models._fit_rows import InBlocks, InMemory, time_of
from eigenkit.models._linear import CLASSIFIERS, SVM, on_top
from eigenkit.models._model import Model, how_fitted
from eigenkit.models._preparing import Blocks, Preparation
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_choice

# With more entries than this, cross-validation takes too long if it only measures the quality.
_MOST_ENTRIES = 20_000_000
# Folds inside a fold, at most.
_INNER = 3


def fit_model(
    source: Source,
    method: str,
    *,
    data: Data | None = None,
    task: str | None = None,
    params: dict[str, Any] | None = None,
    alphas: Sequence[float] | Callable[[Any], Sequence[float]] | None = None,
    cv: int = 5,
    components: str | None = None,
    views: Sequence[str] = (),
    quality: bool = True,
    classifier: str = SVM,
    scale: str = "none",
    missing: str = "error",
    text_kind: str = "tfidf",
    text_size: int = 2**16,
    ngrams: int = 1,
    stream: bool = False,
    checkpoint: str | Path | None = None,
    random_state: int = 0,
    tick: Tick | None = None,
    say: Callable[[str], None] | None = None,
) -> Model:
    """Fit features, scaling, estimator and classifier on a file.

    Parameters
    ----------
    source : Source
        From :func:`eigenkit.files.open_file`; with ``groups``, no fold divides one.
    method : str
        A name of :data:`eigenkit.estimators.registry.METHODS`.
    data : Data, optional
        The file, if it was read already.
    task : {"classes", "labels", "numbers"}, optional
        What the labels are; found out by default.
    params : dict, optional
        Parameters of the estimator, as ``alpha`` or ``n_components``.
    alphas : sequence of float, or function of X that gives one, optional
        Choose alpha among these by cross-validation.
    cv : int
        Folds of that.
    components : {"cv"}, optional
        Choose the number of components by cross-validation.
    views : sequence of str
        Patterns of names of features, one for each view, for methods that take views.
    quality : bool
        Measure by cross-validation how good the model is on rows it has not seen.
    classifier : {"svm", "gaussian"}
        What predicts from the scores of a projection; Gaussians follow from sums over the rows,
        so that the model can be followed and merged.
    scale : {"none", "standard", "maxabs"}
        Divide features by their standard deviation or largest absolute value.
    missing : {"error", "drop", "mean", "median", "keep"}
        What to do about missing values.
    text_kind, text_size, ngrams
        How columns of text become features.
    stream : bool
        Read the file in blocks, once per step, and keep none of them.
    checkpoint : str or Path, optional
        With ``stream``: a file for the state of the fit, from which an interrupted one goes on.
    random_state : int
        Of folds and classifiers.
    tick : callable, optional
        Called as ``tick(step, rows)`` when a step has taken in some rows.
    say : callable, optional
        Called with sentences that say what will be done, and how long it takes.

    Returns
    -------
    Model
    """
    tick, say, found, begun = tick or unsaid, say or unsaid, find(method), time.monotonic()
    check_choice("classifier", classifier, CLASSIFIERS)
    if stream and source.group_name is not None:
        raise ValueError(
            "--groups needs all rows in memory: folds of blocks do not keep groups together; leave "
            "--stream and --checkpoint out, or the column with --ignore."
        )
    if task == "classes":
        source.take_labels_as_words()
    read = in_blocks(source, tick) if stream else in_memory(source, data, tick)
    blocks = partial(complete, read, missing, source.named_cells)
    values = hashlib.sha256() if stream and checkpoint is not None else None
    labels, _ = labels_of(source, blocks, missing, partial(note, values) if values else unsaid)
    groups = None if stream else groups_in(source, next(iter(blocks())))
    target = target_in(source, labels, task)
    check_target(source.path, found, target)
    features = learn_features(
        source,
        blocks,
        scale=scale,
        missing=missing,
        text_kind=text_kind,
        text_size=text_size,
        ngrams=ngrams,
    )
    how_to_fold = cv, random_state, Preparation(missing, scale, features.n_numbers), classifier
    rows: InBlocks | InMemory
    if stream:
        mark = _fingerprint(source, labels, features, values.hexdigest()) if values else ""
        told = say, time.monotonic() - begun, checkpoint, mark
        rows = InBlocks(source.path, blocks, features, target, *how_to_fold, *told)
    else:
        X, y = _together(source, blocks, features, target)
        rows = InMemory(target.kind, X, y, *how_to_fold, groups, features.prepared(X))
    given = view_params(found, view_columns(source.path, features.feature_names(), views))
    given |= {**gap_params(found, missing), **(params or {})}
    choice = Choice(found, given, alphas, components)
    if isinstance(rows, InMemory):
        choice.forecast(rows, quality, say)
    begun = time.monotonic()
    estimator, searches = choice.made(rows)
    estimator = rows.fit(estimator, alphas is not None)
    took = time.monotonic() - begun
    how = {
        **how_fitted(source, source.path, estimator, rows.shape[0], missing),
        **searches,
        "scale": scale,
        "in_blocks": stream,
        "seed": random_state,
        "views": list(views),
    }
    if groups is not None:
        how["groups"] = {"column": source.group_name, "n": len(np.unique(groups))}
    linear = on_top(found, target, classifier, rows, estimator)
    if quality and isinstance(rows, InMemory):
        try:
            again = choice if searches else None
            how["quality"] = _quality(estimator, rows, took, again, say)
        except ValueError as error:  # for example, a fold lacks one of the classes
            how |= {"quality": None, "unmeasured": str(error).split("\n")[0]}
    return Model(found.name, features, estimator, linear, target, how)


def _together(
    source: Source, blocks: Blocks, features: Features, target: Target
) -> tuple[Any, np.ndarray]:
    """X, before filling in and scaling, and y of a file in memory."""
    (block,) = blocks()
    y = target.encode(source.path, block.labels, block.start)
    return features.raw(source.path, block), y


def check_target(path: str, method: Method, target: Target) -> None:
    """Refuse a method that does not learn from such targets."""
    if target.kind in method.targets:
        return
    words = {"classes": "one class a row", "labels": "sets of labels", "numbers": "numbers"}
    able = usual(comparable(target.kind))
    raise FileError(
        path,
        f"{method.name} does not learn from {words[target.kind]}, which this file holds: use one "
        f"of {', '.join(able)} (eigenkit methods lists all), or say what the labels are with "
        "--task.",
    )


def _quality(
    estimator: Any,
    rows: InMemory,
    took: float,
    choice: Choice | None,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """The score on rows left out, or an error if it cannot be computed or would take too long.

    A choice is made again in every fold, as one made with all rows has seen those left out. With
    many entries this matters less, and takes too long.
    """
    ((X, y),) = rows
    if n_entries(X) > _MOST_ENTRIES:
        raise ValueError(f"{n_entries(X):,} numbers would take long")
    if len(y) < 2 * rows.cv:
        raise ValueError(f"{len(y)} rows are too few for {rows.cv} folds")
    estimators: Iterator[Any] = repeat(estimator)
    nested = choice is not None and n_entries(X) < LARGE
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
    told = {"folds": rows.cv, "nested": nested, "without_features": _without_features(rows.kind, y)}
    return {"score": SCORES[rows.kind], **score, **told}


def _measured(estimators: Iterator[Any], rows: InMemory) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cross_validated(estimators, rows)


def _without_features(kind: str, y: Array) -> float:
    """The score of ignoring the features: the commonest class, chance, or the mean."""
    if kind == "classes":
        return float(np.unique(y, return_counts=True)[1].max() / len(y))
    return 0.5 if kind == "labels" else 0.0


def _fingerprint(source: Source, labels: Any, features: Features, values: str) -> str:
    """A text by which the blocks of this file are told from those of others."""
    words = [values, *map(str, np.ravel(labels)), *features.feature_names()]
    digest = hashlib.sha256("\0".join(words).encode("utf-8"))
    for numbers in (features.scale, features.fill):
        digest.update(np.asarray(numbers, dtype=np.float64).tobytes())
    name, mark = Path(source.path).name, digest.hexdigest()[:16]
    blocks = f"{features.n_features} features in blocks of {rows_per_block(source)} rows"
    return f"{name}, {blocks}, checksum {mark}"
