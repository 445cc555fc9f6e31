"""explain and export: what a model does, for people and for other programs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, table
from eigenkit.cli._data import load_data, reading
from eigenkit.data import as_dense
from eigenkit.files import FileError, atomic
from eigenkit.models import Model, load
from eigenkit.models._affine import (
    components_map,
    onnx_bytes,
    scores_map,
    through_components,
    weight_table,
)
from eigenkit.shell import counted


def explain(given: o.Given) -> Result:
    data, row, fitted = given.data, given.row, load(given.model)
    whole = load_data(data, reading(given, expected=fitted.expected()))
    n = len(whole.block())
    if row > n:
        raise FileError(data, f"it has {counted(n, 'row')}: there is no row {row}.")
    record = explained(fitted, data, whole.block(), row - 1, given.label, given.top)
    kinds = fitted.how["found"].get("kinds") or {}
    return Result(record, "\n\n".join(_told(item, kinds) for item in record["labels"]))


def explained(
    model: Model, path: str, block: Any, row: int, label: str | None, top: int
) -> dict[str, Any]:
    """Scores of a row as sums over features, and over components."""
    to_scores = scores_map(model)
    x = _row_of(model, path, block, row)
    average = _average(model)
    parts = (x - average)[:, None] * to_scores.A
    start, scores = average @ to_scores.A + to_scores.b, x @ to_scores.A + to_scores.b
    names = model.features.feature_names()
    per_component = through_components(model, to_scores)
    inner = None
    if per_component is not None:
        inner = ((x - average) @ components_map(model).A)[:, None] * per_component
    found = []
    for j in _wanted(model, scores, label):
        order = np.argsort(-np.abs(parts[:, j]), kind="stable")[:top]
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
        if inner is not None:
            item["components"] = [float(v) for v in inner[:, j]]
        found.append(item)
    return {"row": row + 1, "labels": found}


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


def _told(item: dict[str, Any], kinds: dict[str, str | None]) -> str:
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

    Examples
    --------
    >>> from eigenkit.cli._explain import _written
    >>> _written(19794.0, "date"), _written(19794.25, "date"), _written(0.25, None)
    ('2024-03-12', '2024-03-12 06:00', '0.25')
    """
    if kind != "date":
        return f"{value:.4g}"

    moment = np.datetime64(round(value * 1440), "m")
    return str(moment).replace("T00:00", "").replace("T", " ")


def export(given: o.Given) -> Result:
    model, onnx, csv = given.model, given.onnx, given.csv
    if onnx is None and csv is None:
        raise o.bad("--onnx", "nothing to write: give --onnx FILE or --csv FILE.")
    wrote = [str(place) for place in o.outputs([model], given.force, onnx, csv) if place]
    fitted = load(model)
    if fitted.features.missing == "keep":
        warnings.warn(
            f"{model} skips missing values, but the exported model cannot: it is right for "
            "complete rows, and gives NaN for others.",
            stacklevel=2,
        )
    if onnx is not None:
        data = onnx_bytes(fitted)
        with atomic(onnx) as stream:
            stream.write(data)
    if csv is not None:
        with atomic(csv) as stream:
            weight_table(fitted, stream)
    return Result({"wrote": wrote}, "\n".join(f"wrote {clean(place)}" for place in wrote))
