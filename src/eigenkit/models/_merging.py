"""Models of several sites as one: moments are added, labels matched by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenkit.estimators._streams import Intake
from eigenkit.files import FileError
from eigenkit.files._common import listed
from eigenkit.files._errors import Skipped
from eigenkit.files._reading import other_dates
from eigenkit.files._targets import natural
from eigenkit.models._linear import cannot_follow, label_places, of_stream
from eigenkit.models._model import Model, of_more_rows


def merge_models(models: Sequence[tuple[str, Model]], *, keep_rows: bool = True) -> Model:
    """The model of all rows that several models of one method and the same columns have taken in.

    Classes and labels are matched by their names; one that a site has never seen counts as absent
    there. Recent rows stay as they came, as in every stream; without ``keep_rows`` they become
    sums: the model is the same up to rounding, and can be followed and merged as before.
    """
    (first_name, first), *others = models
    for name, model in models:
        _check(name, model, first_name, first)
    names = first.target.names
    if first.target.kind != "numbers":
        names = tuple(sorted({n for _, m in models for n in m.target.names}, key=natural))
    merged = _relabelled(first, names)
    for _, model in others:
        merged.merge(_relabelled(model, names))
    if not keep_rows:
        merged._intake_ = Intake.of(merged, _sums(merged))
    target = replace(first.target, names=names)
    if first.target.columns == first.target.names:
        target = replace(target, columns=names)
    n_rows = merged._intake_.moments.n_rows
    how = of_more_rows(first.how, n_rows)
    if others:
        how["merged"] = len(models)
        told = [m.how["skipped"] for _, m in models if "skipped" in m.how]
        if told:
            how["skipped"] = reduce(Skipped.with_more, map(Skipped.as_told, told)).told()
    linear = None if first.linear is None else of_stream(merged, target)
    return replace(first, estimator=merged, linear=linear, target=target, how=how)


def _sums(estimator: Any) -> Any:
    """The moments of a stream, with rows that were kept as they came turned into sums."""
    return estimator._intake_.moments.without_rows(*estimator._kind())


def _check(name: str, model: Model, first_name: str, first: Model) -> None:
    if "_intake_" not in vars(model.estimator):
        raise FileError(
            name,
            "it keeps no stream to merge: fit it with --checkpoint, or update it with follow.",
        )
    if problem := cannot_follow(model.method, model.linear, model.estimator, model.target):
        raise FileError(name, problem)
    if _ordered(model) == _ordered(first) and model.features.names != first.features.names:
        raise FileError(
            name, f"its columns are those of {first_name} in another order: fit both in one order."
        )
    for what, mine, theirs in _compared(model, first):
        if mine != theirs:
            raise FileError(
                name, f"its {what} is {mine}, that of {first_name} is {theirs}: fit both alike."
            )
    kinds, theirs = (m.how["found"].get("kinds") for m in (model, first))
    if column := other_dates(kinds, theirs):
        raise FileError(name, f"it has other columns of dates than {first_name}.", column=column)
    for what in ("scale", "fill"):
        if not np.array_equal(getattr(model.features, what), getattr(first.features, what)):
            raise FileError(
                name,
                f"its features were scaled or filled in differently from those of {first_name}: "
                "fit both with --scale none, or follow both from one model.",
            )


def _ordered(model: Model) -> list[str]:
    return sorted(model.features.names or ())


def _compared(model: Model, first: Model) -> Iterator[tuple[str, str, str]]:
    """What must be the same in both models: its name, and its two values."""
    yield "method", model.method, first.method
    yield "kind of labels", model.target.kind, first.target.kind
    mine, theirs = (_columns(m) for m in (model, first))
    here, there = listed(sorted(mine - theirs), 4), listed(sorted(theirs - mine), 4)
    if mine != theirs:
        yield "set of columns", f"another, with {here or 'none'}", f"with {there or 'none'}"
    yield "number of features", str(model.features.n_features), str(first.features.n_features)
    expected, other = (repr(m.features.expected(())) for m in (model, first))
    yield "way to read columns", expected, other
    if model.target.kind == "numbers":
        yield "response", listed(model.target.names), listed(first.target.names)
    theirs_too = first.estimator.get_params(deep=False)
    for param, value in model.estimator.get_params(deep=False).items():
        yield param, repr(value), repr(theirs_too.get(param))


def _columns(model: Model) -> set[str]:
    return {*(model.features.names or ()), *(column.name for column in model.features.text)}


def _relabelled(model: Model, names: tuple[str, ...]) -> Any:
    """A copy of the estimator of a model, with its labels in their places among ``names``."""
    stream = model.estimator
    place = np.array([names.index(name) for name in model.target.names], dtype=np.int64)
    made = clone(stream)
    described = {k: v for k, v in vars(stream._intake_.model).items() if k in vars(stream)}
    for key, value in described.items():
        setattr(made, key, value)
    moments = stream._intake_.moments
    if model.target.kind != "numbers":
        order = label_places(stream, model.target.names)
        moments = moments.relabelled(place[order], len(names))
        if made._n_labels_ == len(place):  # planes have the number of a class in one column
            made._n_labels_ = len(names)
    if hasattr(made, "classes_"):
        made.classes_ = np.array(names)
    made._intake_ = Intake.of(made, moments)
    return made
