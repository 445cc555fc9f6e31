"""inspect: a model for reading, and how stable its weights are."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, cell, clean, table, wrapped
from eigenkit.cli._data import found_line
from eigenkit.estimators.registry import find
from eigenkit.evaluation.record import to_dict, write_atomically
from eigenkit.files import Data
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
        lines += ["", _components_table(record["components"])]
    if fitted.how.get("stability") and top:
        lines += stability_lines(fitted.how["stability"], fitted.features.n_features, top)
    if place is not None:
        from eigenkit.report.model_page import model_html

        named = {**record, "name": Path(model).name}
        write_atomically(place, model_html(named, told, facts, next_steps(model)))
        lines.append(f"wrote {clean(place)}")
        record["report_file"] = str(place)
    return Result(record, "\n".join(lines))


def next_steps(model: Any) -> list[str]:
    """Commands to go on with."""
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


def _view_words(view: dict[str, Any]) -> str:
    share = f", weight {view['weight']:.3f}" if "weight" in view else ""
    return f"{view['view']} ({counted(view['n_features'], 'feature')}{share})"


def summary(model: Model) -> str:
    """A model in one line."""
    d, how = describe(model), model.how
    rows, features = counted(how["n_rows"], "row"), counted(d["n_features"], "feature")
    parts = [f"{d['method']} on {rows} and {features}"]
    what = {"numbers": "to predict"}.get(d["task"], d["task"])
    parts.append(f"{len(d['targets'])} {what}")
    if d["n_components"]:
        chosen = " (by cross-validation)" if how.get("component_search") else ""
        components = counted(d["n_components"], "component")
        parts.append(f"{components}{chosen}{_other_than_predicts(model)}")
    if how["params"].get("alpha") is not None:
        chosen = " (by cross-validation)" if how["alpha_search"] else ""
        parts.append(f"alpha {how['params']['alpha']:g}{chosen}")
    if d["classifier"]:
        parts.append(f"then a {d['classifier']}")
    return clean(", ".join(parts))


def _other_than_predicts(model: Model) -> str:
    """A note on classifiers such as LDA, which predict with all components, kept or not."""
    method, n = find(model.method), model.how["params"].get("n_components")
    alone = method.kind == "classifier" and not method.picks_components
    return " (predictions use all)" if alone and n is not None else ""


def skipped_lines(bad: Skipped, model: Model) -> list[str]:
    """How many bad rows were skipped, and why."""
    if not bad.n:
        return []
    rows = f"bad rows skipped: {bad.n} of {bad.n + model.how['n_rows']}, the first of them:"
    first = [f"- {clean(message)}" for message in bad.messages()[:5]]
    return [rows, *first, *([f"in all: {clean(bad.words())}"] if bad.n > len(first) else [])]


def quality_lines(model: Model) -> list[str]:
    """The results of cross-validation, one line each."""
    how = model.how
    searches = {"components": how.get("component_search"), "alpha": how.get("alpha_search")}
    lines = [_chosen_line(what, search) for what, search in searches.items() if search]
    chosen = [what for what, search in searches.items() if search]
    quality, grouped = how.get("quality"), "groups" in how
    if quality:
        measured = f"{quality['mean']:.3f} ± {quality['std']:.3f}"
        found = f"{quality['score']} {measured} in {quality['folds']}-fold cross-validation"
        found += f", rows of one {clean(how['groups']['column'])} together" if grouped else ""
        found += _chosen_where(chosen, quality.get("nested")) if chosen else ""
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


def _chosen_line(what: str, search: dict[str, Any]) -> str:
    tried, best = len(search["mean_score"]), max(search["mean_score"])
    line = f"{what} chosen among {tried} by {search['score']} {best:.3f}"
    if search.get("at_the_end"):
        line += ", which still rises at the end of the grid: try larger or smaller --alphas"
    return line


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
    text = ", ".join(f"{c.name} ({c.kind}, {c.size})" for c in model.features.text)
    facts = {
        "fitted on": found_line(how["data"], how["found"]),
        "read with": shlex.join(
            w for told in how.get("told", {}).items() for w in o.said_again(*told)
        ),
        "merged": f"with {how['merged'] - 1} more" if "merged" in how else "",
        "kept together": _group_words(how),
        "bad rows skipped": _skipped_words(how),
        "followed": "rows that came later are counted" if "followed" in how else "",
        "targets": listed(model.target.names, 20, cell),
        "text": text,
        "views": ", ".join(map(_view_words, d["views"])),
        "scaling": how["scale"],
        "missing values": how["missing"],
        "parameters": ", ".join(f"{k}={v}" for k, v in how["params"].items() if v is not None),
        "random state": str(how["seed"]),
        **d["report"],
        "made with": ", ".join(f"{k} {v}" for k, v in how["versions"].items()),
    }
    return {name: value for name, value in facts.items() if value}


def _group_words(how: dict[str, Any]) -> str:
    """Which rows were kept together in all folds."""
    groups = how.get("groups")
    return f"rows of one {groups['column']!r} ({groups['n']} groups)" if groups else ""


def _skipped_words(how: dict[str, Any]) -> str:
    """How many bad rows were skipped, and why."""
    told = how.get("skipped") or {"n": 0}
    if not told["n"]:
        return ""
    return f"{told['n']} ({', '.join('{n} {reason}'.format(**each) for each in told['reasons'])})"


def top_features(model: Model, top: int) -> list[dict[str, Any]]:
    """The features with the largest weights, per component."""
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


def _components_table(components: Iterable[dict[str, Any]]) -> str:
    rows = [
        [c["component"], ", ".join(f"{cell(f['feature'])} {f['weight']:+.3g}" for f in c["top"])]
        for c in components
    ]
    return table(["component", "top features"], rows, right=(0,))


# -- stability --------------------------------------------------------------------------

# Said of whatever needs the rows more than once.
IN_MEMORY = "it needs all rows in memory."


def check_stability(resamples: int | None, in_blocks: bool, missing: str) -> None:
    """Refuse --stability without all rows in memory, or with missing values."""
    if resamples is None:
        return
    if in_blocks:
        raise o.bad("--stability", IN_MEMORY)
    if missing == "keep":
        raise o.bad("--stability", "it cannot be combined with --missing keep.")


def with_stability(
    model: Model, data: Data, resamples: int, seed: int, advance: Callable[[int, int, str], None]
) -> Model:
    """The model, with what resampling says about the weights of its features."""
    from eigenkit.analysis import bootstrap

    path, block = data.source.path, data.block()
    found = bootstrap(
        model.estimator,
        model.features.matrix(path, block),
        model.target.encode(path, block.labels),
        groups=groups_in(data.source, block),
        n_bootstraps=resamples,
        random_state=seed,
        progress=advance,
    )
    told = _told(found, model.features.feature_names())
    return replace(model, how={**model.how, "stability": told})


def _told(found: Any, names: list[str]) -> dict[str, Any]:
    """Plain values: for every component, the features that are selected most often."""
    weights, components = found.weights, []
    for j in range(weights.estimate.shape[1]):
        size = np.abs(weights.estimate[:, j])
        order = np.lexsort((-size, ~found.takes_part[:, j], -found.selection[:, j]))[:_MOST]
        rows = [
            {
                "feature": names[i],
                "weight": weights.estimate[i, j],
                "lower": weights.lower[i, j],
                "upper": weights.upper[i, j],
                "selected": found.selection[i, j],
                "takes_part": found.takes_part[i, j],
            }
            for i in order
        ]
        n = int(found.takes_part[:, j].sum())
        components.append({"component": j + 1, "n_taking_part": n, "features": rows})
    tied = [[j + 1 for j in group] for group in found.tied]
    told = {"level": found.level, "tied": tied, "components": components}
    return dict(to_dict({"resamples": found.n_bootstraps, **told}))


def stability_lines(stability: dict[str, Any], n_features: int, top: int) -> list[str]:
    """For reading: a table of the most stable features of every component."""
    from eigenkit.report.model_page import stability_cells, stability_titles

    lines = ["", f"stability over {stability['resamples']} resamples of the rows:"]
    for group in stability["tied"]:
        which = ", ".join(map(str, group))
        lines.append(f"components {which} cannot be told apart: their weights have no intervals")
    rows = []
    for c in stability["components"]:
        lines.append(
            f"component {c['component']}: {c['n_taking_part']} of {n_features} features take part"
        )
        rows += [
            [str(c["component"]), cell(f["feature"]), *stability_cells(f)]
            for f in c["features"][:top]
        ]
    return [*lines, table(stability_titles(stability), rows, right=(0, 2, 3, 4))]
