"""fit, follow and merge: models of a file, of rows that keep arriving, and of several sites."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eigenkit.cli import _data, _inspect
from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, keeping, progress, saying
from eigenkit.estimators.registry import find
from eigenkit.evaluation import auto_alphas
from eigenkit.files import Reading
from eigenkit.files._errors import Skipped, hinting
from eigenkit.files._writing import Lock
from eigenkit.models import Model, fit_model, load, merge_models, save
from eigenkit.models._follow import Follower
from eigenkit.shell import counted

# Said of what needs the rows more than once.
_IN_MEMORY = "it needs all rows in memory."
_NOT_ON_CLUSTERS = ("checkpoint", "stability", "groups")
# Those that the library knows by the same names.
_AS_GIVEN = ("task", "classifier", "scale", "checkpoint", "random_state")


def fit(given: o.Given) -> Result:
    found, how = find(o.method_name(given.method)), _chosen(given)
    options, data = _data.reading(given, stream=False), given.data
    (place,) = o.outputs([data, given.label_list], given.force, given.out, state=given.checkpoint)
    how |= _for_method(found, how, given)
    if given.dask is not None:
        return _on_cluster(given, place, found.name, options, how)
    how_read = *_in_blocks(found, how, given), given.missing
    with hinting():
        source, whole = _data.open_in_memory_or_blocks(data, options, *how_read)
    stability, checkpoint = given.stability, given.checkpoint
    for name in ("stability", "quality"):
        if whole is None and getattr(given, name):
            raise o.bad(f"--{name}", _IN_MEMORY)
    if stability is not None and given.missing == "keep":
        raise o.bad("--stability", "it cannot be combined with --missing keep.")
    with keeping(checkpoint), progress("fitting") as advance, hinting():
        told = {"tick": _data.counting(advance), "say": saying()}
        model = fit_model(source, found.name, data=whole, stream=whole is None, **how, **told)
    bad = source.skipped
    lines = [_data.found_line(data, source.found), *_inspect.outcome_lines(bad, model)]
    lines += _inspect.quality_lines(model)
    if checkpoint is not None and model.linear is not None and model.linear.kind == "svm":
        lines += ["follow and merge need --classifier gaussian: a linear SVM is no sum over rows"]
    if stability is not None and whole is not None:
        model = _inspect.with_stability(model, whole, stability, given.random_state)
        lines += [*_inspect.stability_lines(model, 5), ""]
    steps = (f"  {step}" for step in _inspect.next_steps(place))
    return _kept(model, place, bad, lines, "next:", *steps)


def _chosen(given: o.Given) -> dict[str, Any]:
    """The options of the fit by the names of the library, before the method is looked at."""
    ridge, grid, number = given.alpha, given.alphas, given.components
    if ridge == "cv":
        grid = auto_alphas if grid is None else o.numbers("--alphas", grid)
    elif grid is not None:
        raise o.bad("--alphas", "it needs --alpha cv.")
    elif ridge is not None:
        ridge = o.number("--alpha", ridge)
    number = number if number in (None, "cv") else o.count("--components", number)
    o.choice("--on-error", given.on_error, ("raise", "skip"))
    o.choice("--classifier", given.classifier, ("svm", "gaussian"))
    how = {name: getattr(given, name) for name in _AS_GIVEN} | o.feature_options(given)
    how["quality"] = given.quality is not False
    params = {"alpha": ridge, "n_components": number}
    return {**how, "params": params, "alphas": grid, "cv": given.cv or 5}


def _for_method(found: Any, how: dict[str, Any], given: o.Given) -> dict[str, Any]:
    """What the method makes of its parameters, number of components and views."""
    params = o.parameters(found, given.set_, **how["params"])
    if how["classifier"] != "svm" and found.kind == "classifier":
        raise o.bad("--classifier", f"{found.name} predicts by itself: leave it out.")
    components, taken = given.components, _data.takes_components(found, given.components)
    if components is not None and not taken:
        told = f"{found.name} predicts with all components, however many it keeps: give a number."
        raise o.bad("--components", told)
    # PLS needs a number, so that it is chosen unless it is given.
    search = components == "cv" or (found.picks_components and "n_components" not in params)
    views = _data.checked_views(given, [found.name])
    in_parts = given.stream or given.checkpoint or given.dask
    if given.quality and in_parts:
        raise o.bad("--quality", _IN_MEMORY)
    measured = how["quality"] and not in_parts
    if given.cv is not None and not measured and how["alphas"] is None and not search:
        raise o.bad("--cv", "nothing is chosen or measured by cross-validation: leave it out.")
    if given.unencrypted and given.dask is None:
        raise o.bad("--unencrypted", "it is used only with --dask.")
    return {"params": params, "components": "cv" if search else None, "views": views}


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


def _kept(model: Model, place: Path, bad: Skipped, before: list[str], *after: str) -> Result:
    """Write the model, and say so between the lines ``before`` and ``after``."""
    save(model, place)
    record = {"model": str(place), "bytes": place.stat().st_size, **_inspect.describe(model)}
    if "skipped" in model.how:
        record |= {"n_skipped": bad.n, "skipped": bad.messages()}
    return Result(record, "\n".join([*before, f"wrote {clean(place)}", *after]))


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
    return _kept(model, place, bad, _inspect.outcome_lines(bad, model))


# -- further rows, and those of others ----------------------------------------------------


def follow(given: o.Given) -> Result:
    data, model, checkpoint = given.data, given.model, given.checkpoint
    o.choice("--on-error", given.on_error, ("raise", "skip"))
    o.check_apart([data], [model, checkpoint])
    stopped = "the end of the file"
    with Lock(model):  # before it is read, so that nothing is lost that another process adds
        fitted = load(model)
        # The stream skips bad rows, not the reader.
        how = {"stream": True, "expected": fitted.expected(), "on_error": "raise"}
        options = fitted.target.as_read(_data.reading(given, **how))
        told = {name: getattr(given, name) for name in ("every", "half_life", "on_error")}
        follower = Follower(fitted, model, checkpoint, options, **told)
        try:
            follower.follow(data, once=given.once, say=saying())
        except KeyboardInterrupt:
            stopped = "an interrupt"
    stream, source = follower.stream, "standard input" if data == "-" else clean(data)
    skipped = [{"position": p, "problem": m} for p, m in stream.skipped]
    lines = [f"followed {source} to {stopped}: {counted(stream.n_rows, 'row')} in {clean(model)}"]
    if stream.n_skipped:
        lines.append(f"bad rows skipped: {stream.n_skipped}, the last of them:")
        lines += [f"- {clean(s['problem'])}" for s in skipped[-5:]]
    counts = {"rows": stream.n_rows, "rows_before": follower.n_held, "position": stream.position}
    record = {**counts, "model": model, "n_skipped": stream.n_skipped, "skipped": skipped}
    return Result(record, "\n".join(lines))


def merge(given: o.Given) -> Result:
    models = given.models
    if len(models) < 2 and not given.no_rows:
        raise o.bad("MODELS", "give at least two models, or one and --no-rows.")
    (place,) = o.outputs(models, given.force, given.out)
    loaded = [(name, load(name)) for name in models]
    held = _check_distinct(loaded)
    merged = merge_models(loaded, keep_rows=not given.no_rows)
    merged.how["holds"] = held
    save(merged, place)
    record = {"model": str(place), **_inspect.describe(merged)}
    return Result(record, f"{_inspect.summary(merged)}\nwrote {clean(place)}")


def _check_distinct(models: Sequence[tuple[str, Model]]) -> list[str]:
    """Refuse rows that are given twice; the contents of all files that the models are made from.

    The same model may come under two names, or as a part of another one.
    """
    first: dict[str, str] = {}
    for name, model in models:
        held = model.how.get("holds")  # from a file, which may hold anything
        own = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        for mark in (own, *(map(str, held) if isinstance(held, list) else ())):
            if mark in first:
                same = f"{clean(name)} holds the same rows as {clean(first[mark])}"
                raise o.bad("MODELS", f"{same}: its rows would count twice.")
            first[mark] = name
    return sorted(first)
