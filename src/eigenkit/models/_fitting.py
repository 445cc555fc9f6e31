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

from eigenkit.estimators._alphas import largest_of_best, rises, search_alphas
from eigenkit.estimators.registry import Method, comparable, find, gap_params, usual
from eigenkit.files import Data, FileError, Source, Target
from eigenkit.files._checks import groups_in
from eigenkit.files._reading import rows_per_block
from eigenkit.files._targets import target_in
from eigenkit.models._choosing import (
    CHOSEN_BY,
    SCORES,
    Part,
    choose_components,
    cross_validated,
    fits_per_fold,
    folds_of,
    scores_by_alpha,
)
from eigenkit.models._features import (
    Features,
    complete,
    learn_features,
    view_columns,
    view_params,
)
from eigenkit.models._fit_rows import FitRows, time_of
from eigenkit.models._linear import CLASSIFIERS, SVM, on_top, sums_of
from eigenkit.models._model import Model, how_fitted
from eigenkit.models._parsed import Tick, in_blocks, in_memory, labels_of, note, unsaid
from eigenkit.models._preparing import Preparation
from eigenkit.models._stream import Stream
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_choice

# With more entries than this, cross-validation only to report the quality takes too long.
_MOST_ENTRIES = 20_000_000
# With more columns of X and y than this, passes over the rows are cheaper than their moments.
_FEW = 2000
# The alphas of a grid of our own.
_GRID = 7
# Folds inside a fold, at most.
_INNER = 3
# Fewer entries than this, and work of fewer seconds, need no forecast.
_LARGE, _WORTH_SAYING = 1_000_000, 5.0


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
    tick, found, begun = tick or unsaid, find(method), time.monotonic()
    check_choice("classifier", classifier, CLASSIFIERS)
    if stream and source.group_name is not None:
        raise ValueError(
            "--groups needs all rows in memory: folds of blocks do not keep groups together; leave "
            "--stream and --checkpoint out, or the column with --ignore."
        )
    if task == "classes":
        source.take_labels_as_words()
    blocks = in_blocks(source, tick) if stream else in_memory(source, data, tick)
    values = hashlib.sha256() if stream and checkpoint is not None else None
    labels, _ = labels_of(source, blocks, missing, partial(note, values) if values else unsaid)
    blocks = partial(complete, blocks, missing, source.named_cells)
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
    prepare = Preparation(missing, scale, features.n_numbers)
    known = features, target, stream, prepare, cv, random_state, classifier, groups, say or unsaid
    rows = FitRows(source.path, blocks, *known, seconds=time.monotonic() - begun)
    if values is not None:
        rows.checkpoint = checkpoint
        rows.fingerprint = _fingerprint(source, labels, features, values.hexdigest())
    told = view_params(found, view_columns(source.path, features.feature_names(), views))
    told |= {**gap_params(found, missing), **(params or {})}
    if not stream and (alphas is not None or components == "cv"):
        _forecast(found, told, rows, alphas, components, quality)
    begun = time.monotonic()
    estimator, searches = _fit(found, told, rows, alphas, components)
    took = time.monotonic() - begun

    def choose(part: Part) -> Any:
        again = found.make(**told)
        _choose(again, part, alphas, components)
        return again

    how = {
        **how_fitted(source, source.path, estimator, rows.n, missing),
        **searches,
        "scale": scale,
        "in_blocks": stream,
        "seed": random_state,
        "views": list(views),
    }
    if groups is not None:
        how["groups"] = {"column": source.group_name, "n": len(np.unique(groups))}
    linear = on_top(
        found,
        target,
        classifier,
        lambda: _scores(estimator, rows),
        lambda: sums_of(((X, y, None) for X, y in rows), estimator, target),
        estimator,
    )
    if quality and not stream:
        try:
            how["quality"] = _quality(estimator, rows, took, choose if searches else None)
        except ValueError as error:  # a fold without one of the classes, say
            how |= {"quality": None, "unmeasured": str(error).split("\n")[0]}
    return Model(found.name, features, estimator, linear, target, how)


def _forecast(
    method: Method,
    params: dict[str, Any],
    rows: FitRows,
    alphas: Any,
    components: str | None,
    quality: bool,
) -> None:
    """Measure one fit of many, and say how long all of them will take, if that is long."""
    ((X, y),) = rows
    if _n_entries(X) < _LARGE:
        return
    grid = 0 if alphas is None else _GRID if callable(alphas) else len(alphas)
    per_fold = fits_per_fold(method.kind) if components == "cv" else 0
    n_fits = rows.cv * (grid + int(quality) + per_fold) + 1
    train, _ = folds_of(rows.target.kind, y, rows.cv, rows.seed, rows.groups)[0]
    begun = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.make(**params).fit(X[train], y[train])
    one = time.monotonic() - begun
    if one * n_fits > _WORTH_SAYING:
        rows.say(
            f"one fit takes {one:.1f} s: the choice by cross-validation needs at most {n_fits} "
            f"fits, about {time_of(one * n_fits)} or less"
        )


def _n_entries(X: Any) -> int:
    return int(X.nnz if hasattr(X, "nnz") else X.size)


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


def _fit(
    method: Method, params: dict[str, Any], rows: FitRows, alphas: Any, components: str | None
) -> tuple[Any, dict[str, Any]]:
    estimator = method.make(**params)
    if rows.stream and not hasattr(estimator, "partial_fit"):
        raise ValueError(f"{method.name} cannot be fitted in blocks: leave --stream out.")
    searches = _choose(estimator, rows, alphas, components)
    if rows.stream:
        return _fit_blocks(estimator, rows, alphas is not None), searches
    ((X, y),) = rows
    return estimator.fit(X, y), searches


def _choose(
    estimator: Any, rows: FitRows | Part, alphas: Any, components: str | None
) -> dict[str, Any]:
    """Set what is to be chosen, and tell what was tried."""
    searches: dict[str, Any] = {}
    if components == "cv":
        l, scores = choose_components(estimator, rows)
        estimator.set_params(n_components=l)
        told = {"values": list(range(1, scores.shape[1] + 1)), **_searched(scores, rows)}
        searches["component_search"] = told
    if alphas is not None:
        alpha, searches["alpha_search"] = _search(estimator, alphas, rows)
        estimator.set_params(alpha=alpha)
    return searches


def _searched(scores: np.ndarray, rows: FitRows | Part) -> dict[str, Any]:
    """What a model file keeps of a search."""
    mean, std = scores.mean(axis=0), scores.std(axis=0, ddof=1)
    found = {"mean_score": mean.tolist(), "std_score": std.tolist()}
    return {**found, "score": CHOSEN_BY[rows.kind], "folds": rows.cv}


def _quality(
    estimator: Any, rows: FitRows, took: float, choose: Callable[[Part], Any] | None
) -> dict[str, Any]:
    """The score on rows left out; an error where it cannot be computed or would take too long.

    What was chosen is chosen again in every fold: a choice by all rows has seen those left out.
    With many entries that matters less, and takes too long.
    """
    ((X, y),) = rows
    if _n_entries(X) > _MOST_ENTRIES:
        raise ValueError(f"{_n_entries(X):,} numbers would take long")
    if len(y) < 2 * rows.cv:
        raise ValueError(f"{len(y)} rows are too few for {rows.cv} folds")
    estimators: Iterator[Any] = repeat(estimator)
    part, nested = rows.in_memory(), False
    if choose is not None and _n_entries(X) < _LARGE:
        estimators, nested = map(choose, part.parts(min(rows.cv, _INNER))), True
        if _INNER * took > _WORTH_SAYING:
            rows.say(
                f"to say how good that is, it is chosen again in {rows.cv} folds, in about "
                f"{time_of(_INNER * took)}: --no-quality leaves that out"
            )
    try:
        found = _measured(estimators, part)
    except ValueError:  # a class of few rows is in no part of some part
        if not nested:
            raise
        found, nested = _measured(repeat(estimator), part), False
    score = {"mean": float(found.mean()), "std": float(found.std(ddof=1))}
    told = {"folds": rows.cv, "nested": nested, "without_features": _without_features(rows.kind, y)}
    return {"score": SCORES[rows.kind], **score, **told}


def _measured(estimators: Iterator[Any], part: Part) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cross_validated(estimators, part)


def _without_features(kind: str, y: Array) -> float:
    """The score of what does not look at the features: the commonest class, lots, the mean."""
    if kind == "classes":
        return float(np.unique(y, return_counts=True)[1].max() / len(y))
    return 0.5 if kind == "labels" else 0.0


def _search(estimator: Any, alphas: Any, rows: FitRows | Part) -> tuple[float, dict[str, Any]]:
    """The alpha that is best on rows left out, and the scores of all.

    A grid of our own begins with that of the first block, and grows.
    """
    if "alpha" not in estimator.get_params(deep=False):
        raise ValueError(
            f"{type(estimator).__name__} has no alpha to choose: leave --alpha cv out."
        )
    ours = callable(alphas)
    grid = alphas(next(iter(rows))[0]) if ours else alphas

    scores_of = partial(scores_by_alpha, estimator, rows)
    tried, scores, best = search_alphas(grid, scores_of, largest_of_best, grows=ours)
    told = {"alphas": tried, **_searched(scores, rows)}
    return tried[best], {**told, "at_the_end": rises(scores.mean(axis=0), best)}


def _fit_blocks(estimator: Any, rows: FitRows, stored: bool) -> Any:
    """Fit in one pass where the moments are small, and otherwise from a scratch file.

    Rows that are ``stored`` in one already, as after a choice of alpha, are read from there.
    """
    extra = rows.target.in_parts()
    if rows.checkpoint is not None:
        with Stream(estimator, rows.checkpoint, source=rows.fingerprint) as stream:
            for position, (X, y) in enumerate(rows):
                stream.update(X, y, position=position, **extra)
    elif stored:
        return estimator.fit(rows.store())
    elif rows.width <= _FEW:
        rows.say(
            f"one more pass over the file fits the model, which takes about {time_of(rows.seconds)}"
        )
        for X, y in rows:
            estimator.partial_fit(X, y, **extra)
    else:
        blocks = rows.store()
        if hasattr(estimator, "plan"):
            rows.say(estimator.plan(blocks).reason)
        return estimator.fit(blocks)
    estimator._intake_.fitted()  # a stream is solved when it is first asked: now
    return estimator


def _fingerprint(source: Source, labels: Any, features: Features, values: str) -> str:
    """What tells the blocks of one file from those of another."""
    words = [values, *map(str, np.ravel(labels)), *features.feature_names()]
    digest = hashlib.sha256("\0".join(words).encode("utf-8"))
    for numbers in (features.scale, features.fill):
        digest.update(np.asarray(numbers, dtype=np.float64).tobytes())
    name, mark = Path(source.path).name, digest.hexdigest()[:16]
    blocks = f"{features.n_features} features in blocks of {rows_per_block(source)} rows"
    return f"{name}, {blocks}, checksum {mark}"


def _scores(estimator: Any, rows: FitRows) -> Iterator[tuple[Array, np.ndarray]]:
    return ((np.asarray(estimator.transform(X), dtype=np.float64), y) for X, y in rows)
