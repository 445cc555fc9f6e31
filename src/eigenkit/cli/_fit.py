"""fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, keeping, progress, saying
from eigenkit.cli._data import (
    Counter,
    checked_views,
    found_line,
    open_in_memory_or_blocks,
    reading,
    takes_components,
)
from eigenkit.cli._inspect import (
    IN_MEMORY,
    check_stability,
    describe,
    next_steps,
    quality_lines,
    skipped_lines,
    stability_lines,
    summary,
    with_stability,
)
from eigenkit.estimators.registry import find
from eigenkit.evaluation import auto_alphas
from eigenkit.files import Reading
from eigenkit.files._errors import Skipped, hinting
from eigenkit.models import Model, fit_model, save

_NOT_ON_CLUSTERS = ("checkpoint", "stability", "groups")
# Those that the library knows by the same names.
_AS_GIVEN = ("task", "classifier", "scale", "checkpoint", "random_state")


def fit(given: o.Given) -> Result:
    found, how = find(o.method_name(given.method)), _chosen(given)
    options, data = reading(given, stream=False), given.data
    (place,) = o.outputs([data, given.label_list], given.force, given.out, state=given.checkpoint)
    how |= _for_method(found, how, given)
    if given.dask is not None:
        return _on_cluster(given, place, found.name, options, how)
    stream, may_stream = _in_blocks(found, how, given)
    with hinting():
        source, whole, blocks = open_in_memory_or_blocks(
            data, options, stream, may_stream, given.missing
        )
    stability, checkpoint = given.stability, given.checkpoint
    check_stability(stability, blocks, given.missing)
    if given.quality and blocks:
        raise o.bad("--quality", IN_MEMORY)
    with keeping(checkpoint), progress("fitting") as advance, hinting():
        told = {"tick": Counter(advance).step, "say": saying()}
        model = fit_model(source, found.name, data=whole, stream=blocks, **how, **told)
    bad = source.bad_rows()
    lines = [found_line(data, source.found), *skipped_lines(bad, model), summary(model)]
    lines += [*quality_lines(model), *_cannot_go_on(model, checkpoint)]
    if stability is not None and whole is not None:
        with progress("resampling") as advance:
            model = with_stability(model, whole, stability, given.random_state, advance)
        lines += [*stability_lines(model.how["stability"], model.features.n_features, 5), ""]
    after = ["next:", *(f"  {step}" for step in next_steps(place))]
    return _kept(model, place, lines, after, bad)


def _chosen(given: o.Given) -> dict[str, Any]:
    """The options of the fit by the names of the library, before the method is looked at."""
    ridge, grid = _alpha(given.alpha, given.alphas)
    number = given.components
    number = number if number in (None, "cv") else o.count("--components", number)
    o.choice("--on-error", given.on_error, ("raise", "skip"))
    o.choice("--classifier", given.classifier, ("svm", "gaussian"))
    how = {name: getattr(given, name) for name in _AS_GIVEN} | o.feature_options(given)
    how["quality"] = given.quality is not False
    params = {"alpha": ridge, "n_components": number}
    return {**how, "params": params, "alphas": grid, "cv": given.cv or 5}


def _for_method(found: Any, how: dict[str, Any], given: o.Given) -> dict[str, Any]:
    """What the method makes of its parameters, number of components and views."""
    params = parameters(found, given.set_, **how["params"])
    if how["classifier"] != "svm" and found.kind == "classifier":
        raise o.bad("--classifier", f"{found.name} predicts by itself: leave it out.")
    components = _components(found, given.components, params)
    views = checked_views(given, [found.name])
    in_parts = given.stream or given.checkpoint or given.dask
    if given.quality and in_parts:
        raise o.bad("--quality", IN_MEMORY)
    measured = how["quality"] and not in_parts
    if given.cv is not None and not measured and how["alphas"] is None and components is None:
        raise o.bad("--cv", "nothing is chosen or measured by cross-validation: leave it out.")
    if given.unencrypted and given.dask is None:
        raise o.bad("--unencrypted", "it is used only with --dask.")
    return {"params": params, "components": components, "views": views}


def _in_blocks(found: Any, how: dict[str, Any], given: o.Given) -> tuple[bool | None, bool]:
    """Whether to read in blocks, None if only a file that is too large, and whether one may."""
    stream, may_stream = given.stream, found.streams and given.missing != "keep"
    if stream and given.missing == "keep":
        raise o.bad("--missing", "keep needs all rows in memory.")
    if given.checkpoint is None:
        return stream, may_stream
    if stream is False:
        raise o.bad("--checkpoint", "it needs blocks, but --no-stream is given.")
    if not may_stream or how["alphas"] is not None or how["components"] is not None:
        raise o.bad(
            "--checkpoint",
            "it needs blocks: this method cannot use them, or alpha or components have to be given "
            "as numbers.",
        )
    return True, may_stream


def _kept(
    model: Model, place: Path, before: list[str], after: Sequence[str], bad: Skipped
) -> Result:
    """Write the model, and say so between the lines ``before`` and ``after``."""
    save(model, place)
    record = {"model": str(place), "bytes": place.stat().st_size, **describe(model)}
    if "skipped" in model.how:
        record |= {"n_skipped": bad.n, "skipped": bad.messages()}
    return Result(record, "\n".join([*before, f"wrote {clean(place)}", *after]))


def _cannot_go_on(model: Any, checkpoint: str | None) -> list[str]:
    """Why a model that keeps its state cannot learn from more rows, if so."""
    if checkpoint is None or model.linear is None or model.linear.kind != "svm":
        return []
    return ["follow and merge need --classifier gaussian: a linear SVM is no sum over rows"]


def _on_cluster(
    given: o.Given, place: Path, name: str, options: Reading, how: dict[str, Any]
) -> Result:
    from eigenkit.models._dask_fit import connected, fit_on_cluster

    plain = how["scale"] == "none" and how["missing"] == "error" and not how["views"]
    others = how["alphas"], how["components"], *(getattr(given, k) for k in _NOT_ON_CLUSTERS)
    if not plain or any(other is not None for other in others):
        raise o.bad(
            "--dask",
            "it cannot be combined with --alpha cv, --scale, --missing, --views, --groups, "
            "--checkpoint or --stability, and methods that would choose the number of "
            "components need --components.",
        )
    bad, address, data = Skipped(), given.dask, given.data
    if address != "local":  # workers run in folders of their own
        data = str(Path(data).absolute())
    how = {key: how[key] for key in ("task", "params", "classifier")}
    with connected(address, unencrypted=given.unencrypted) as client, hinting():
        model = fit_on_cluster(client, data, name, options, **how, bad=bad)
    return _kept(model, place, [*skipped_lines(bad, model), summary(model)], (), bad)


# Parameters that have an option of their own.
_OPTIONS = {"alpha": "--alpha", "n_components": "--components"}


def parameters(method: Any, set_: list[str] | None, **own: Any) -> dict[str, Any]:
    """The parameters of a method from --set, and from their ``own`` options unless these say cv.

    Each may be given only once, and the method must have it.
    """
    found, known = o.assignments(set_), method.estimator_class()._get_param_names()
    options = {name: _OPTIONS[name] for name, value in own.items() if value is not None}
    for name, option in options.items():
        if name in found:
            raise o.bad("--set", f"{name} is given by {option} as well: give it once.")
    found |= {name: own[name] for name in options if own[name] != "cv"}
    for name in {**found, **options}:
        if name not in known:
            has = f"{method.name} has no parameter {name!r}: it has {', '.join(known)}."
            raise o.bad(options.get(name, "--set"), has)
    return found


def _components(method: Any, components: str | None, params: dict[str, Any]) -> str | None:
    """``"cv"`` if the number of components is chosen, as it is for PLS unless it is given."""
    if components is not None and not takes_components(method, components):
        raise o.bad(
            "--components",
            f"{method.name} predicts with all components, however many it keeps: give a number.",
        )
    chosen = components == "cv" or (method.picks_components and "n_components" not in params)
    return "cv" if chosen else None


def _alpha(alpha: str | None, alphas: str | None) -> tuple[float | str | None, Any]:
    """The ridge (None for the method's own), or cv and the values to choose it from."""
    if alpha != "cv":
        if alphas is not None:
            raise o.bad("--alphas", "it needs --alpha cv.")
        return None if alpha is None else o.number("--alpha", alpha), None
    if alphas is not None:
        return "cv", o.numbers("--alphas", alphas)
    return "cv", auto_alphas
