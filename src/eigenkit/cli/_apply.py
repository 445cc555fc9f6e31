"""transform, predict, score and explain: a model on the rows of a file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from eigenkit.cli import _data
from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, in_json, progress, table
from eigenkit.data import as_dense
from eigenkit.evaluation import metrics
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

    names = fitted.component_names()
    return _apply(given, fitted, names, lambda path, block: [*fitted.transform(path, block).T])


def predict(given: o.Given) -> Result:
    fitted = load(given.model)
    scores, proba, top = given.scores, given.proba, given.top
    for name in ("scores", "proba", "long", "top"):
        if fitted.target.kind == "numbers" and getattr(given, name):
            raise o.bad(f"--{name}", "it is for classes and labels, and these are numbers.")
    d, n = fitted.features.n_features, fitted.how["n_rows"]
    if proba and fitted.has_probabilities and d >= n:  # features that separate any rows
        warnings.warn(
            f"{fitted.method} was fitted to {d} features on {n} rows: its probabilities are near 0 "
            "and 1 even where they are wrong; take them as an order, not as chances.",
            stacklevel=2,
        )
    if given.long or top is not None:
        if scores and proba:
            raise o.bad("--scores", "a line has one number: choose --scores or --proba.")
        names, columns = _ranked_output(fitted, top, proba)
    else:
        names, columns = _wide_output(fitted, scores, proba)
    return _apply(given, fitted, names, columns)


def _wide_output(model: Model, scores: bool, proba: bool) -> tuple[list[str], Any]:
    """One line per row."""
    target = model.target
    classes, every = target.kind == "classes", list(target.names)
    # Several labels share one cell if they did in the training file.
    joined = target.kind == "labels" and len(target.columns) <= 1
    names = list(every)
    if classes or joined:
        names = [target.columns[0] if target.columns else "class" if classes else "labels"]
    if scores and (model.linear is not None or classes):
        names += [f"score {name}" for name in every]
    names += [f"probability {name}" for name in every] if proba else []

    def columns(path: str, block: Block) -> list[Any]:
        labels, S = model.predict(path, block)
        if classes:
            found: list[Any] = [[str(label) for label in labels]]
        elif joined:
            mark = target.separator or ","
            found = [[mark.join(every[j] for j in row.nonzero()[0]) for row in labels]]
        else:
            found = list(labels.reshape(len(labels), -1).T)
        found += list(S.T) if scores and S is not None else []
        return found + (list(model.probabilities(path, block).T) if proba else [])

    return names, columns


def _ranked_output(model: Model, top: int | None, proba: bool) -> tuple[list[str], Any]:
    """One line per row and label: the predicted ones, or the ``top`` by score."""
    title = {"classes": "class"}.get(model.target.kind, "label")
    names = ["row", title, "probability" if proba else "score"]
    done = 0

    def columns(path: str, block: Block) -> list[Any]:
        nonlocal done
        rows, labels, values = model.ranked(path, block, top, proba)
        found = [(rows + done + 1), [model.target.names[j] for j in labels], values]
        done += len(block)
        block.kept = {name: [cells[i] for i in rows] for name, cells in block.kept.items()}
        return found

    return names, columns


def _apply(given: o.Given, model: Model, names: list[str], columns: Any) -> Result:
    """Read in blocks, compute and write; the output file appears when it is complete."""
    data, out = given.data, given.out
    formulas = getattr(given, "keep_formulas", False)  # transform writes numbers alone
    options = _data.reading(given, stream=True, expected=model.expected())
    if out == "-" and in_json():
        raise o.bad("--out", "--json needs the table in a file.")
    kind = output_format(out)
    (place,) = o.outputs([given.model, data], given.force, None if out == "-" else out)
    source = open_file(data, options)
    names = _told_apart(source.kept_names, names)

    def rows(tick: Callable[[str, int], None]) -> Iterator[list[Any]]:
        for block in source.blocks(rows_per_block(source)):
            tick("working", len(block))
            found = columns(source.path, block)  # which may choose among what is kept
            yield [*block.kept.values(), *found]

    with progress("working") as advance:
        computed = rows(_data.counting(advance))
        # An error in the first rows comes before the first byte is written.
        first = next(computed, None)
        if first is None:
            raise FileError(data, "it holds no rows.")
        n = _data.write_rows(place, kind, names, chain([first], computed), formulas)
    if place is None:
        return Result({"rows": n})
    record = {"out": str(place), "rows": n, "columns": names, "found": source.found}
    text = f"{_data.found_line(data, source.found)}\nwrote {counted(n, 'row')} to {clean(place)}"
    return Result(record, text)


def _told_apart(kept: list[str], names: list[str]) -> list[str]:
    """The names of all columns; a column of ours with the name of a kept one is "predicted ...".

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
    options = fitted.target.as_read(_data.reading(given, expected=fitted.expected()))
    missing = "drop" if fitted.features.missing == "drop" else "error"
    source, whole = _data.open_in_memory_or_blocks(data, options, None, True, missing)
    if whole is None:
        known = _told_in_blocks(fitted, source)
    else:
        known = _told(fitted, source.path, _data.with_labels(whole, fitted.target.kind).block())
    scores, kind, columns = _scores(fitted, source.path, *known)
    per = [
        {kind: name, **{title: values[j].item() for title, values in columns.items()}}
        for j, name in enumerate(fitted.target.names)
    ]
    rows = [[name, _shown(name, value)] for name, value in scores.items()]
    text = f"{_data.found_line(data, source.found)}\n{table(['metric', 'value'], rows, right=(1,))}"
    if per:
        cells = [[_shown(*found) for found in row.items()] for row in per]
        text += "\n\n" + table([*per[0]], cells, right=tuple(range(1, len(per[0]))))
    return Result({"rows": len(known[1]), "scores": scores, "targets": per}, text)


def _shown(metric: str, value: Any) -> Any:
    """A cell for reading: four decimals, or for errors as many as suit their unit."""
    from eigenkit.report.cells import NOTHING

    if not isinstance(value, float):
        return value
    if value != value:
        return NOTHING
    digits = metrics.decimals(metric.lower(), [value])
    return f"{value:.{4 if digits == 3 else digits}f}"


def _told(model: Model, path: str, block: Block) -> tuple[Any, Any, Any]:
    """The true labels of some rows, as in the file, the predictions, and their scores."""
    if block.labels is None:
        names = ", ".join(model.target.columns)
        raise FileError(path, f"it holds no labels: the model knows {names}.")
    told, S = model.predict(path, block)
    if model.target.kind == "classes" and model.has_probabilities:
        # Discriminants compare the classes of a row; only probabilities compare rows too.
        S = model.probabilities(path, block)
    return block.labels, told, S


def _told_in_blocks(model: Model, source: Source) -> tuple[Any, Any, Any]:
    """The same for a file too large for memory, of which nothing else is kept."""
    with progress("reading") as advance:
        blocks = partial(in_blocks, source, _data.counting(advance))
        rows = complete(blocks, model.features.missing, model.features.categorical)
        parts = [_told(model, source.path, block) for block in rows if len(block)]
    labels, told, S = zip(*parts, strict=True)
    every = Data(np.arange(sum(map(len, told)))[:, None], {}, join_labels(list(labels)), source)
    kept = _data.with_labels(every, model.target.kind)
    index = kept.X[:, 0]
    scores = None if S[0] is None else np.concatenate(S)[index]
    return kept.labels, np.concatenate(told)[index], scores


def _scores(
    model: Model, path: str, labels: Any, told: Any, S: Any
) -> tuple[dict[str, float], str, dict[str, Any]]:
    """Scores over all classes, labels or responses; what these are called, and scores of each."""
    target = model.target
    y = target.encode(path, labels)
    if target.kind == "numbers":
        truth = y.reshape(len(y), -1)
        words = [w for w, _ in metrics.NUMBER_METRICS.values()]
        found = metrics.score_numbers(truth, np.asarray(told).reshape(truth.shape))
        columns = dict(zip(words, found, strict=True))
        overall = {word: float(np.nanmean(values)) for word, values in columns.items()}
        return overall, "response", columns
    if target.kind == "classes":
        target.check_known(path, y)
        every = np.array(target.names, dtype=object)
        Y, P = (np.asarray(v)[:, None] == every for v in (y, told))
    else:
        Y, P = y, told
    Y, P = np.asarray(Y, dtype=float), np.asarray(P, dtype=float)
    S = P if S is None else S
    overall = {metrics.METRICS[k][0]: value for k, value in metrics.score_all(Y, S, P).items()}
    rates = metrics.rates_of(Y, P)
    columns = {"rows": Y.sum(axis=0).astype(int), "precision": rates["precision"]}
    columns |= {"recall": rates["recall"], "F1": rates["f1"], "AUC": metrics.auc_per_label(Y, S)}
    return overall, "class" if target.kind == "classes" else "label", columns


# -- what led to a prediction ------------------------------------------------------------


def explain(given: o.Given) -> Result:
    data, row, fitted = given.data, given.row, load(given.model)
    whole = _data.load_data(data, _data.reading(given, expected=fitted.expected()))
    n = len(whole.block())
    if row > n:
        raise FileError(data, f"it has {counted(n, 'row')}: there is no row {row}.")
    labels = _explained(fitted, data, whole.block(), row - 1, given)
    kinds = fitted.how["found"].get("kinds") or {}
    text = "\n\n".join(_explanation(item, kinds) for item in labels)
    return Result({"row": row, "labels": labels}, text)


def _explained(model: Model, path: str, block: Any, row: int, given: o.Given) -> list[Any]:
    """Scores of a row as sums over features, and over components."""
    from eigenkit.models._affine import components_map, scores_map, through_components

    to_scores = scores_map(model)
    x = _row_of(model, path, block, row)
    average = _average(model)
    parts = (x - average)[:, None] * to_scores.A
    start, scores = average @ to_scores.A + to_scores.b, x @ to_scores.A + to_scores.b
    names, found = model.features.feature_names(), []
    per_component = through_components(model, to_scores)
    along: Any = None if per_component is None else (x - average) @ components_map(model).A
    for j in _wanted(model, scores, given.label):
        order = np.argsort(-np.abs(parts[:, j]), kind="stable")[: given.top]
        item: dict[str, Any] = {
            "label": model.target.names[j],
            "score": float(scores[j]),
            "average_score": float(start[j]),
            "features": [
                {"feature": names[i], "value": float(x[i]), "adds": float(parts[i, j])}
                for i in order
            ],
            "n_other_features": len(parts) - len(order),
            "other_features": float(parts[:, j].sum() - parts[order, j].sum()),
        }
        if per_component is not None:
            item["components"] = (along * per_component[:, j]).tolist()
        found.append(item)
    return found


def _row_of(model: Model, path: str, block: Any, row: int) -> Any:
    """The features of a row, filled in and not yet scaled."""
    x = as_dense(model.features.matrix(path, block)[[row]])[0].astype(float)
    if np.isnan(x).any():
        name = model.features.feature_names()[int(np.argmax(np.isnan(x)))]
        raise FileError(path, f"row {row + 1} misses {name!r}: explain takes complete rows.")
    return x * model.features.scale if len(model.features.scale) else x


def _average(model: Model) -> Any:
    """The mean of the training rows, or zeros if the estimator does not keep it."""
    scale = model.features.scale
    for name in ("mean_", "x_mean_", "_x_mean"):
        mean = getattr(model.estimator, name, None)
        if mean is not None and np.shape(mean) == (model.features.n_features,):
            return np.asarray(mean, dtype=float) * (scale if len(scale) else 1.0)
    return np.zeros(model.features.n_features)


def _wanted(model: Model, scores: Any, label: str | None) -> list[int]:
    names = list(model.target.names)
    if label is not None:
        if label not in names:
            raise o.bad("--label", f"{label!r} is not one of {', '.join(names[:8])}.")
        return [names.index(label)]
    if model.target.kind == "numbers":
        return list(range(len(names)))
    told = scores > 0 if model.target.kind == "labels" else np.zeros(len(names), dtype=bool)
    return [int(j) for j in np.flatnonzero(told)] or [int(np.argmax(scores))]


def _explanation(item: dict[str, Any], kinds: dict[str, str | None]) -> str:
    rows = [
        [f["feature"], _written(f["value"], kinds.get(f["feature"])), f"{f['adds']:+.4g}"]
        for f in item["features"]
    ]
    if item["n_other_features"]:
        rows.append(["all other features", "", f"{item['other_features']:+.4g}"])
    begin = f"{clean(item['label'])}: score {item['score']:.4g}"
    lines = [f"{begin}, {item['average_score']:.4g} for the average row"]
    lines.append(table(["feature", "value", "adds"], rows, right=(1, 2)))
    if "components" in item:
        parts = ", ".join(f"{j + 1}: {v:+.3g}" for j, v in enumerate(item["components"]))
        lines.append(f"by component: {parts}")
    return "\n".join(lines)


def _written(value: float, kind: str | None) -> str:
    """A value for reading: a date as a date, others in a few digits.

    >>> _written(19794.0, "date"), _written(19794.25, "date"), _written(0.25, None)
    ('2024-03-12', '2024-03-12 06:00', '0.25')
    """
    if kind != "date":
        return f"{value:.4g}"
    moment = np.datetime64(round(value * 1440), "m")
    return str(moment).replace("T00:00", "").replace("T", " ")
