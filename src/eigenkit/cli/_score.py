"""score: how good a model is on a file with labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, table
from eigenkit.cli._data import found_line, load_data, reading, with_labels

if TYPE_CHECKING:
    from eigenkit.files import Data
    from eigenkit.models import Model


@o.takes(o.READING)
def score(
    *,
    model: o.ModelFile,
    data: o.DataFile,
    given: dict[str, Any],
    as_json: o.Json = False,
) -> Result:
    """Measure a model on a file that holds the true labels."""
    from eigenkit.models import load

    fitted = load(model)
    options = fitted.target.as_read(reading(given, expected=fitted.expected()))
    missing = fitted.features.missing
    whole = load_data(data, options, as_json, "drop" if missing == "drop" else "error")
    whole = with_labels(whole, fitted.target.kind)
    scores = _scores(fitted, whole)
    per = scores.pop("per_target", None)
    rows = [[name, f"{value:.4f}"] for name, value in scores.items()]
    text = f"{found_line(data, whole.source.found)}\n{table(['metric', 'value'], rows, right=(1,))}"
    if per:
        titles = list(per[0])
        cells = [[f"{v:.4f}" if isinstance(v, float) else v for v in row.values()] for row in per]
        text += "\n\n" + table(titles, cells, right=tuple(range(1, len(titles))))
    return Result({"rows": len(whole.block()), "scores": scores, "targets": per or []}, text)


def _scores(model: Model, data: Data) -> dict[str, Any]:
    import numpy as np

    from eigenkit.files import FileError

    path, block, target = data.source.path, data.block(), model.target
    if block.labels is None:
        raise FileError(path, f"it holds no labels: the model knows {', '.join(target.columns)}.")
    y = target.encode(path, block.labels)
    told, S = model.predict(path, block)
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
    """Scores over all responses, and of every one."""
    import numpy as np

    from eigenkit.evaluation.metrics import NUMBER_METRICS, score_numbers

    found = score_numbers(truth, told)
    words = [w for w, _ in NUMBER_METRICS.values()]
    overall = {w: float(np.nanmean(row)) for w, row in zip(words, found, strict=True)}
    per = [
        {"response": n, **dict(zip(words, map(float, column), strict=True))}
        for n, column in zip(names, found.T, strict=True)
    ]
    return {**overall, "per_target": per}


def _of_labels(names: tuple[str, ...], kind: str, Y: Any, S: Any, P: Any) -> dict[str, Any]:
    """Scores over all classes or labels, and of every one."""
    from eigenkit.evaluation.metrics import METRICS, auc_per_label, score_all

    overall = {METRICS[name][0]: value for name, value in score_all(Y, S, P).items()}
    auc = auc_per_label(Y, S)
    hit, said, true = (Y * P).sum(axis=0), P.sum(axis=0), Y.sum(axis=0)
    per = [
        {
            kind: name,
            "rows": int(true[j]),
            "precision": float(hit[j] / max(said[j], 1)),
            "recall": float(hit[j] / max(true[j], 1)),
            "F1": float(2 * hit[j] / max(said[j] + true[j], 1)),
            "AUC": float(auc[j]),
        }
        for j, name in enumerate(names)
    ]
    return {**overall, "per_target": per}
