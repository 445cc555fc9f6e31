"""inspect and export: a model for people, and for other programs."""

from __future__ import annotations

import shlex
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, cell, clean, progress, table, wrapped
from eigenkit.cli._data import found_line
from eigenkit.estimators.registry import find
from eigenkit.evaluation.record import to_dict, write_atomically
from eigenkit.files import Data, atomic
from eigenkit.files._checks import groups_in
from eigenkit.files._common import listed
from eigenkit.files._errors import Skipped
from eigenkit.models import Model, load
from eigenkit.models._features import view_columns
from eigenkit.numerics.tolerances import SUM_ROUNDING
from eigenkit.shell import counted

# Features per component whose stability is kept in the model file, the most stable first.
_MOST = 30


def inspect(given: o.Given) -> Result:
    model, top = given.model, given.top
    (place,) = o.outputs([model], given.force, given.report)
    fitted = load(model)
    record = {**describe(fitted), "components": top_features(fitted, top)}
    told, facts = [summary(fitted), *quality_lines(fitted)], _facts(fitted)
    lines = [*told, *(wrapped(f"{name}: {clean(value)}") for name, value in facts.items())]
    if record["components"]:
        rows = []
        for each in record["components"]:
            best = (f"{cell(f['feature'])} {f['weight']:+.3g}" for f in each["top"])
            rows.append([each["component"], ", ".join(best)])
        lines += ["", table(["component", "top features"], rows, right=(0,))]
    if fitted.how.get("stability") and top:
        lines += stability_lines(fitted, top)
    if place is not None:
        from eigenkit.report.pages import model_html

        named = {**record, "name": Path(model).name}
        write_atomically(place, model_html(named, told, facts, next_steps(model)))
        lines.append(f"wrote {clean(place)}")
        record["report_file"] = str(place)
    return Result(record, "\n".join(lines))


def next_steps(model: Any) -> list[str]:
    file = shlex.quote(clean(model))
    return [
        f"eigenkit inspect {file}",
        f"eigenkit predict {file} NEW.csv --out predictions.csv",
        f"eigenkit score {file} TEST.csv",
    ]


def describe(model: Model) -> dict[str, Any]:
    """A model in plain values."""
    eigenvalues = getattr(model.estimator, "eigenvalues_", ())
    report = getattr(model.estimator, "report_", None)  # models of earlier versions may have none
    return {
        "method": model.method,
        "task": model.target.kind,
        "targets": list(model.target.names),
        "n_features": model.features.n_features,
        "n_components": model.n_components or None,
        "eigenvalues": [float(v) for v in eigenvalues],
        "report": report.facts() if report is not None else {},
        "classifier": None if model.linear is None else model.linear.words,
        "views": _views(model),
        "fitted": model.how,
    }


def _views(model: Model) -> list[dict[str, Any]]:
    """The pattern of each view, its number of features and, with kernels, its weight."""
    patterns = model.how.get("views")
    if not patterns:  # several kernels may all have all features
        return []
    columns = view_columns("", model.features.feature_names(), patterns) or []
    shares = getattr(model.estimator, "weights_", [None] * len(columns))
    return [
        {"view": view, "n_features": len(own), **({} if w is None else {"weight": float(w)})}
        for view, own, w in zip(patterns, columns, shares, strict=True)
    ]


def summary(model: Model) -> str:
    d, how = describe(model), model.how
    rows, features = counted(how["n_rows"], "row"), counted(d["n_features"], "feature")
    parts = [f"{d['method']} on {rows} and {features}"]
    what = {"numbers": "to predict"}.get(d["task"], d["task"])
    parts.append(f"{len(d['targets'])} {what}")
    if d["n_components"]:
        chosen = " (by cross-validation)" if how.get("component_search") else ""
        method = find(model.method)
        # Classifiers such as LDA predict with all components, kept or not.
        if method.kind == "classifier" and not method.picks_components:
            chosen += " (predictions use all)" if how["params"].get("n_components") else ""
        parts.append(f"{counted(d['n_components'], 'component')}{chosen}")
    if how["params"].get("alpha") is not None:
        chosen = " (by cross-validation)" if how["alpha_search"] else ""
        parts.append(f"alpha {how['params']['alpha']:g}{chosen}")
    if d["classifier"]:
        parts.append(f"then a {d['classifier']}")
    return clean(", ".join(parts))


def outcome_lines(bad: Skipped, model: Model) -> list[str]:
    """How many bad rows were skipped, and why; and the model."""
    lines = []
    if bad.n:
        lines = [f"bad rows skipped: {bad.n} of {bad.n + model.how['n_rows']}, the first of them:"]
        lines += [f"- {clean(message)}" for message in bad.messages()[:5]]
        lines += [f"in all: {clean(bad.words())}"] if bad.n >= len(lines) else []
    return [*lines, summary(model)]


def quality_lines(model: Model) -> list[str]:
    how = model.how
    searches = {"components": how.get("component_search"), "alpha": how.get("alpha_search")}
    lines, made = [], {what: search for what, search in searches.items() if search}
    for what, search in made.items():
        tried, best = len(search["mean_score"]), max(search["mean_score"])
        line = f"{what} chosen among {tried} by {search['score']} {best:.3f}"
        if search.get("at_the_end"):
            line += ", which still rises at the end of the grid: try larger or smaller --alphas"
        lines.append(line)
    quality, grouped = how.get("quality"), "groups" in how
    if quality:
        measured = f"{quality['mean']:.3f} ± {quality['std']:.3f}"
        found = f"{quality['score']} {measured} in {quality['folds']}-fold cross-validation"
        found += f", rows of one {clean(how['groups']['column'])} together" if grouped else ""
        found += _chosen_where(list(made), quality.get("nested")) if made else ""
        return [*lines, found, *_no_better(quality)]
    why = "the rows were read in blocks" if how.get("in_blocks") else how.get("unmeasured")
    because = f" ({clean(why).rstrip('.')})" if why else ""
    told = f"the quality was not measured{because}: see eigenkit compare, or score on a test file"
    return [*lines, told]


def _no_better(quality: dict[str, Any]) -> list[str]:
    """A sentence if the features have not helped."""
    otherwise = quality.get("without_features")
    if otherwise is None or quality["mean"] > otherwise + SUM_ROUNDING:
        return []
    how = {
        "accuracy": f"always predicting the most common class ({otherwise:.3f}); the recall of "
        "the others, which eigenkit score and eigenkit compare show, says more",
        "mean AUC": "guessing (0.500)",
        "R2": "always predicting the mean (0.000)",
    }
    return [f"this is no better than {how[quality['score']]}"]


def _chosen_where(chosen: list[str], nested: bool | None) -> str:
    """Whether the choice was made without the rows that were held out."""
    what = " and ".join(chosen)
    if nested:
        return f", {what} chosen inside every training part"
    were = "was" if chosen == ["alpha"] else "were"
    return (
        f" of this model; {what} {were} chosen on the same rows, so this is optimistic: "
        "eigenkit compare chooses inside the training part"
    )


def _facts(model: Model) -> dict[str, str]:
    """How the model was fitted: the facts that apply to it."""
    how, d = model.how, describe(model)
    views = []
    for view in d["views"]:
        share = f", weight {view['weight']:.3f}" if "weight" in view else ""
        views.append(f"{view['view']} ({counted(view['n_features'], 'feature')}{share})")
    groups, skipped = how.get("groups"), how.get("skipped") or {"n": 0}
    reasons = ", ".join("{n} {reason}".format(**each) for each in skipped.get("reasons", ()))
    read = (word for told in how.get("told", {}).items() for word in o.said_again(*told))
    facts = {
        "fitted on": found_line(how["data"], how["found"]),
        "read with": shlex.join(read),
        "merged": f"with {how['merged'] - 1} more" if "merged" in how else "",
        "kept together": groups and f"rows of one {groups['column']!r} ({groups['n']} groups)",
        "bad rows skipped": f"{skipped['n']} ({reasons})" if skipped["n"] else "",
        "followed": "rows that came later are counted" if "followed" in how else "",
        "targets": listed(model.target.names, 20, cell),
        "text": ", ".join(f"{c.name} ({c.kind}, {c.size})" for c in model.features.text),
        "views": ", ".join(views),
        "scaling": how["scale"],
        "missing values": how["missing"],
        "parameters": ", ".join(f"{k}={v}" for k, v in how["params"].items() if v is not None),
        "random state": str(how["seed"]),
        **d["report"],
        "made with": ", ".join(f"{k} {v}" for k, v in how["versions"].items()),
    }
    return {name: value for name, value in facts.items() if value}


def top_features(model: Model, top: int) -> list[dict[str, Any]]:
    weights = model.weights
    if weights is None or not top or weights.shape[1] != model.features.n_features:
        return []
    names = model.features.feature_names()
    found = []
    for j, row in enumerate(np.asarray(weights, dtype=float)):
        order = np.argsort(-np.abs(row), kind="stable")[: min(top, np.count_nonzero(row))]
        features = [{"feature": names[i], "weight": float(row[i])} for i in order]
        found.append({"component": j + 1, "top": features})
    return found


# -- stability --------------------------------------------------------------------------


def with_stability(model: Model, data: Data, resamples: int, seed: int) -> Model:
    """The model, with what resampling says about the weights of its features."""
    from eigenkit.analysis import bootstrap

    path, block = data.source.path, data.block()
    X, y = model.features.matrix(path, block), model.target.encode(path, block.labels)
    how: dict[str, Any] = {"n_bootstraps": resamples, "groups": groups_in(data.source, block)}
    with progress("resampling") as advance:
        found = bootstrap(model.estimator, X, y, **how, random_state=seed, progress=advance)
    told = _told(found, model.features.feature_names())
    return replace(model, how={**model.how, "stability": told})


def _told(found: Any, names: list[str]) -> dict[str, Any]:
    """Plain values: for every component, the features that are selected most often."""
    weights, components = found.weights, []
    columns = {"weight": weights.estimate, "lower": weights.lower, "upper": weights.upper}
    columns |= {"selected": found.selection, "takes_part": found.takes_part}
    for j in range(weights.estimate.shape[1]):
        size = np.abs(weights.estimate[:, j])
        order = np.lexsort((-size, ~found.takes_part[:, j], -found.selection[:, j]))[:_MOST]
        rows = [{"feature": names[i], **{k: v[i, j] for k, v in columns.items()}} for i in order]
        n = int(found.takes_part[:, j].sum())
        components.append({"component": j + 1, "n_taking_part": n, "features": rows})
    tied = [[j + 1 for j in group] for group in found.tied]
    told = {"level": found.level, "tied": tied, "components": components}
    return dict(to_dict({"resamples": found.n_bootstraps, **told}))


def stability_lines(model: Model, top: int) -> list[str]:
    """For reading: a table of the most stable features of every component."""
    from eigenkit.report.pages import stability_cells, stability_titles

    stability, n = model.how["stability"], model.features.n_features
    lines = ["", f"stability over {stability['resamples']} resamples of the rows:"]
    for group in stability["tied"]:
        which = ", ".join(map(str, group))
        lines.append(f"components {which} cannot be told apart: their weights have no intervals")
    rows: list[list[str]] = []
    for c in stability["components"]:
        number = str(c["component"])
        lines.append(f"component {number}: {c['n_taking_part']} of {n} features take part")
        rows += ([number, cell(f["feature"]), *stability_cells(f)] for f in c["features"][:top])
    return [*lines, table(stability_titles(stability), rows, right=(0, 2, 3, 4))]


# -- for other programs ------------------------------------------------------------------


def export(given: o.Given) -> Result:
    model, onnx, csv = given.model, given.onnx, given.csv
    if onnx is None and csv is None:
        raise o.bad("--onnx", "nothing to write: give --onnx FILE or --csv FILE.")
    from eigenkit.models._affine import onnx_bytes, weight_table

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
