"""transform, predict and score: a model on the rows of a file."""

from __future__ import annotations

import warnings
from itertools import chain
from typing import Any

import numpy as np

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, in_json, progress, table
from eigenkit.cli._data import (
    Counter,
    found_line,
    open_in_memory_or_blocks,
    reading,
    with_labels,
    write_rows,
)
from eigenkit.evaluation.metrics import (
    METRICS,
    NUMBER_METRICS,
    auc_per_label,
    decimals,
    rates_of,
    score_all,
    score_numbers,
)
from eigenkit.files import Block, Data, FileError, Source, open_file, output_format
from eigenkit.files._reading import rows_per_block
from eigenkit.files._targets import join_labels
from eigenkit.models import Model, load
from eigenkit.models._blocks import in_blocks
from eigenkit.models._features import complete
from eigenkit.shell import counted


def transform(given: o.Given) -> Result:
    fitted = load(given.model)
    if not fitted.projects:
        raise ValueError(f"{given.model}: {fitted.method} has no components: use predict.")

    def columns(source: Source, block: Block) -> list[Any]:
        return list(fitted.transform(source.path, block).T)

    return _apply(given, fitted, fitted.component_names(), columns)


def predict(given: o.Given) -> Result:
    fitted = load(given.model)
    scores, proba, top = given.scores, given.proba, given.top
    for name in ("scores", "proba", "long", "top"):
        if fitted.target.kind == "numbers" and getattr(given, name):
            raise o.bad(f"--{name}", "it is for classes and labels, and these are numbers.")
    if proba:
        _doubt_probabilities(fitted)
    if given.long or top is not None:
        if scores and proba:
            raise o.bad("--scores", "a line has one number: choose --scores or --proba.")
        names, columns = _ranked_output(fitted, top, proba)
    else:
        names, columns = _wide_output(fitted, scores, proba)
    return _apply(given, fitted, names, columns, given.keep_formulas)


def _doubt_probabilities(model: Model) -> None:
    """Warn of as many features as rows: they separate any rows, and a Gaussian is too certain."""
    d, n = model.features.n_features, model.how["n_rows"]
    if model.has_probabilities and d >= n:
        warnings.warn(
            f"{model.method} was fitted to {d} features on {n} rows: its probabilities are near 0 "
            "and 1 even where they are wrong; take them as an order, not as chances.",
            stacklevel=2,
        )


def _wide_output(model: Model, scores: bool, proba: bool) -> tuple[list[str], Any]:
    """One line per row."""
    names = _prediction_names(model, scores)
    names += [f"probability {name}" for name in model.target.names] if proba else []

    def columns(source: Source, block: Block) -> list[Any]:
        labels, S = model.predict(source.path, block)
        found = _prediction_columns(model, labels)
        found += list(S.T) if scores and S is not None else []
        return found + (list(model.probabilities(source.path, block).T) if proba else [])

    return names, columns


def _ranked_output(model: Model, top: int | None, proba: bool) -> tuple[list[str], Any]:
    """One line per row and label: the predicted ones, or the ``top`` by score."""
    title = {"classes": "class"}.get(model.target.kind, "label")
    names = ["row", title, "probability" if proba else "score"]
    done = 0

    def columns(source: Source, block: Block) -> list[Any]:
        nonlocal done
        rows, labels, values = model.ranked(source.path, block, top, proba)
        found = [(rows + done + 1), [model.target.names[j] for j in labels], values]
        done += len(block)
        block.kept = {name: [cells[i] for i in rows] for name, cells in block.kept.items()}
        return found

    return names, columns


def _joins(model: Model) -> bool:
    """Whether several labels share one cell, as in the training file."""
    return model.target.kind == "labels" and len(model.target.columns) <= 1


def _prediction_names(model: Model, scores: bool) -> list[str]:
    target = model.target
    single = (
        target.columns[0] if target.columns else {"classes": "class"}.get(target.kind, "labels")
    )
    wide = target.kind != "classes" and not _joins(model)
    names = list(target.names) if wide else [single]
    with_scores = scores and (model.linear is not None or target.kind == "classes")
    return names + ([f"score {name}" for name in target.names] if with_scores else [])


def _prediction_columns(model: Model, labels: Any) -> list[Any]:
    if model.target.kind == "classes":
        return [[str(label) for label in labels]]
    if _joins(model):
        mark, names = model.target.separator or ",", model.target.names
        return [[mark.join(names[j] for j in row.nonzero()[0]) for row in labels]]
    return list(labels.reshape(len(labels), -1).T)


def _apply(
    given: o.Given, model: Model, names: list[str], columns: Any, keep_formulas: bool = False
) -> Result:
    """Read in blocks, compute and write; the output file appears when it is complete."""
    data, out = given.data, given.out
    options = reading(given, stream=True, expected=model.expected())
    if out == "-" and in_json():
        raise o.bad("--out", "--json needs the table in a file.")
    kind = output_format(out)
    (place,) = o.outputs([given.model, data], given.force, None if out == "-" else out)
    source = open_file(data, options)
    names = _told_apart(source.kept_names, names)
    with progress("working") as advance:
        counter = Counter(advance)
        read = (counter.passed("working", b) for b in source.blocks(rows_per_block(source)))
        both = ((columns(source, block), block.kept.values()) for block in read)
        computed = ([*kept, *found] for found, kept in both)
        # An error in the first rows comes before the first byte is written.
        first = next(computed, None)
        if first is None:
            raise FileError(data, "it holds no rows.")
        n = write_rows(place, kind, names, chain([first], computed), keep_formulas)
    if place is None:
        return Result({"rows": n})
    record = {"out": str(place), "rows": n, "columns": names, "found": source.found}
    text = f"{found_line(data, source.found)}\nwrote {counted(n, 'row')} to {clean(place)}"
    return Result(record, text)


def _told_apart(kept: list[str], names: list[str]) -> list[str]:
    """The names of all columns; a column of ours with the name of a kept one is "predicted ...".

    Examples
    --------
    >>> from eigenkit.cli._apply import _told_apart
    >>> _told_apart(["id", "class"], ["class", "score a"])
    ['id', 'class', 'predicted class', 'score a']
    """
    found = list(kept)
    for name in names:
        while name in found:
            name = f"predicted {name}"
        found.append(name)
    return found


# -- how good it is ---------------------------------------------------------------------


def score(given: o.Given) -> Result:
    data, fitted = given.data, load(given.model)
    options = fitted.target.as_read(reading(given, expected=fitted.expected()))
    missing = "drop" if fitted.features.missing == "drop" else "error"
    source, whole, _ = open_in_memory_or_blocks(data, options, None, True, missing)
    if whole is None:
        known = _told_in_blocks(fitted, source)
    else:
        known = _told(fitted, source, with_labels(whole, fitted.target.kind).block())
    scores = _scores(fitted, source.path, *known)
    per = scores.pop("per_target", None)
    rows = [[name, _shown(name, value)] for name, value in scores.items()]
    text = f"{found_line(data, source.found)}\n{table(['metric', 'value'], rows, right=(1,))}"
    if per:
        titles = list(per[0])
        cells = [[_shown(*found) for found in row.items()] for row in per]
        text += "\n\n" + table(titles, cells, right=tuple(range(1, len(titles))))
    return Result({"rows": len(known[1]), "scores": scores, "targets": per or []}, text)


def _shown(metric: str, value: Any) -> Any:
    """A cell for reading: four decimals, or for errors as many as suit their unit."""
    from eigenkit.report.cells import NOTHING

    if not isinstance(value, float):
        return value
    if value != value:
        return NOTHING
    digits = decimals(metric.lower(), [value])
    return f"{value:.{4 if digits == 3 else digits}f}"


def _told(model: Model, source: Source, block: Block) -> tuple[Any, Any, Any]:
    """The true labels of some rows, as in the file, the predictions, and their scores."""
    if block.labels is None:
        names = ", ".join(model.target.columns)
        raise FileError(source.path, f"it holds no labels: the model knows {names}.")
    told, S = model.predict(source.path, block)
    if model.target.kind == "classes" and model.has_probabilities:
        # Discriminants compare the classes of a row; only probabilities compare rows too.
        S = model.probabilities(source.path, block)
    return block.labels, told, S


def _told_in_blocks(model: Model, source: Source) -> tuple[Any, Any, Any]:
    """The same for a file too large for memory, of which nothing else is kept."""
    with progress("reading") as advance:
        blocks = in_blocks(source, Counter(advance).step)
        rows = complete(blocks, model.features.missing, model.features.categorical)
        parts = [_told(model, source, block) for block in rows if len(block)]
    labels, told, S = zip(*parts, strict=True)
    every = Data(np.arange(sum(map(len, told)))[:, None], {}, join_labels(list(labels)), source)
    kept = with_labels(every, model.target.kind)
    index = kept.X[:, 0]
    scores = None if S[0] is None else np.concatenate(S)[index]
    return kept.labels, np.concatenate(told)[index], scores


def _scores(model: Model, path: str, labels: Any, told: Any, S: Any) -> dict[str, Any]:
    target = model.target
    y = target.encode(path, labels)
    if target.kind == "numbers":
        truth = y.reshape(len(y), -1)
        return _of_numbers(target.names, truth, np.asarray(told).reshape(truth.shape))
    if target.kind == "classes":
        target.check_known(path, y)
        names = np.array(target.names, dtype=object)
        Y, P = (np.asarray(v)[:, None] == names for v in (y, told))
    else:
        Y, P = y, told
    Y, P = np.asarray(Y, dtype=float), np.asarray(P, dtype=float)
    kind = "class" if target.kind == "classes" else "label"
    return _of_labels(target.names, kind, Y, P if S is None else S, P)


def _of_numbers(names: tuple[str, ...], truth: Any, told: Any) -> dict[str, Any]:
    """Scores over all responses, and of each."""
    found = score_numbers(truth, told)
    words = [w for w, _ in NUMBER_METRICS.values()]
    overall = {w: float(np.nanmean(row)) for w, row in zip(words, found, strict=True)}
    per = [
        {"response": n, **dict(zip(words, map(float, column), strict=True))}
        for n, column in zip(names, found.T, strict=True)
    ]
    return {**overall, "per_target": per}


def _of_labels(names: tuple[str, ...], kind: str, Y: Any, S: Any, P: Any) -> dict[str, Any]:
    """Scores over all classes or labels, and of each."""
    overall = {METRICS[name][0]: value for name, value in score_all(Y, S, P).items()}
    found = rates_of(Y, P)
    columns = {"precision": found["precision"], "recall": found["recall"], "F1": found["f1"]}
    columns["AUC"] = auc_per_label(Y, S)
    per = [
        {
            kind: name,
            "rows": int(Y[:, j].sum()),
            **{title: float(values[j]) for title, values in columns.items()},
        }
        for j, name in enumerate(names)
    ]
    return {**overall, "per_target": per}
