"""fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, keeping, progress, saying
from eigenkit.cli._data import (
    Counter,
    checked_views,
    found_line,
    open_in_memory_or_blocks,
    reading,
)
from eigenkit.cli._inspect import (
    check_stability,
    describe,
    next_steps,
    quality_lines,
    skipped_lines,
    stability_lines,
    summary,
    with_stability,
)
from eigenkit.cli._parsing import Option

if TYPE_CHECKING:
    from eigenkit.files import Reading
    from eigenkit.files._errors import Skipped
    from eigenkit.models import Model


@o.takes(o.LEARNING)
def fit(
    *,
    data: o.DataFile,
    out: o.ModelOut,
    method: o.Method = "cca",
    alpha: Annotated[
        str | None,
        Option(
            help="Ridge: a number, or cv to choose it by cross-validation; by default the "
            "method's own, which is 1 for most."
        ),
    ] = None,
    alphas: Annotated[
        str | None, Option(help="With --alpha cv: the values to choose from, separated by commas.")
    ] = None,
    cv: Annotated[
        int | None, Option(min=2, help="Folds of every cross-validation; 5 by default.")
    ] = None,
    components: o.Components = None,
    quality: Annotated[
        bool,
        Option("--quality/--no-quality", help="Measure the model by cross-validation."),
    ] = True,
    classifier: Annotated[
        str,
        Option(help="On top of a projection: svm, or gaussian, which follow and merge can update."),
    ] = "svm",
    stability: Annotated[
        int | None,
        Option(
            min=10, help="Fit again on this many resamples, and say how stable the weights are."
        ),
    ] = None,
    set_: o.Set = None,
    stream: Annotated[
        bool | None,
        Option(
            "--stream/--no-stream",
            help="Read the file in blocks and keep none in memory; the default if the file is "
            "too large.",
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        Option(
            help="Read in blocks and keep the state in this file, from which an interrupted fit "
            "continues."
        ),
    ] = None,
    on_error: o.OnError = "raise",
    dask: Annotated[
        str | None,
        Option(help="Fit on a cluster: local, or the address of a scheduler (tls://...)."),
    ] = None,
    unencrypted: Annotated[
        bool,
        Option("--unencrypted", help="With --dask: allow a scheduler without encryption."),
    ] = False,
    given: dict[str, Any],
    force: o.Force = False,
) -> Result:
    """Fit a method on a file and keep the whole pipeline as a model file.

    In every fold of a cross-validation, the values for missing entries and the scaling are learned
    on the training rows.
    """
    name = o.method_name(method)
    ridge, grid = _alpha(alpha, alphas)
    number = components if components in (None, "cv") else o.count("--components", components)
    o.choice("--on-error", on_error, ("raise", "skip"))
    options = reading(given, on_error=on_error)
    o.choice("--classifier", classifier, ("svm", "gaussian"))
    from eigenkit.estimators.registry import find
    from eigenkit.files._errors import hinting
    from eigenkit.models import fit_model

    (place,) = o.outputs([data, given["label_list"]], force, out, state=checkpoint)
    found = find(name)
    params = parameters(found, set_, alpha=ridge, n_components=number)
    if classifier != "svm" and found.kind == "classifier":
        raise o.bad("--classifier", f"{name} predicts by itself: leave it out.")
    wanted = _components(found, components, params)
    views = checked_views(given, [name])
    measured = quality and not (stream or checkpoint or dask)
    if cv is not None and not measured and grid is None and wanted is None:
        raise o.bad("--cv", "nothing is chosen or measured by cross-validation: leave it out.")
    if unencrypted and dask is None:
        raise o.bad("--unencrypted", "it is used only with --dask.")
    if dask is not None:
        _check_plain(given, views, grid, wanted, checkpoint, stability, given["groups"])
        how = {"task": given["task"], "params": params, "classifier": classifier}
        return _on_cluster(data, place, name, options, how, dask, unencrypted)
    may_stream = found.streams and given["missing"] != "keep"
    if stream and given["missing"] == "keep":
        raise o.bad("--missing", "keep needs all rows in memory.")
    if checkpoint is not None:
        stream = _in_blocks(stream, may_stream and grid is None and wanted is None)
    with hinting():
        source, whole, blocks = open_in_memory_or_blocks(
            data, options, stream, may_stream, given["missing"]
        )
    check_stability(stability, blocks, given["missing"])
    with keeping(checkpoint), progress("fitting") as advance, hinting():
        model = fit_model(
            source,
            name,
            data=whole,
            task=given["task"],
            params=params,
            alphas=grid,
            cv=cv or 5,
            components=wanted,
            views=views,
            quality=quality,
            classifier=classifier,
            scale=given["scale"],
            **o.feature_options(given),
            stream=blocks,
            checkpoint=checkpoint,
            random_state=given["random_state"],
            tick=Counter(advance).step,
            say=saying(),
        )
    bad = source.bad_rows()
    lines = [found_line(data, source.found), *skipped_lines(bad, model), summary(model)]
    lines += [*quality_lines(model), *_cannot_go_on(model, checkpoint)]
    if stability is not None and whole is not None:
        with progress("resampling") as advance:
            model = with_stability(model, whole, stability, given["random_state"], advance)
        lines += [*stability_lines(model.how["stability"], model.features.n_features, 5), ""]
    after = ["next:", *(f"  {step}" for step in next_steps(place))]
    return _kept(model, place, lines, after, bad)


def _kept(
    model: Model, place: Path, before: list[str], after: Sequence[str], bad: Skipped
) -> Result:
    """Write the model, and say so between the lines ``before`` and ``after``."""
    from eigenkit.models import save

    save(model, place)
    record = {"model": str(place), "bytes": place.stat().st_size, **describe(model)}
    if "skipped" in model.how:
        record |= {"n_skipped": bad.n, "skipped": bad.messages()}
    return Result(record, "\n".join([*before, f"wrote {clean(place)}", *after]))


def _check_plain(given: dict[str, Any], views: tuple[str, ...], *others: Any) -> None:
    plain = given["scale"] == "none" and given["missing"] == "error" and not views
    if not plain or any(other is not None for other in others):
        raise o.bad(
            "--dask",
            "it cannot be combined with --alpha cv, --scale, --missing, --views, --groups, "
            "--checkpoint or --stability, and methods that would choose the number of "
            "components need --components.",
        )


def _cannot_go_on(model: Any, checkpoint: str | None) -> list[str]:
    """Why a model that keeps its state cannot learn from more rows, if so."""
    if checkpoint is None or model.linear is None or model.linear.kind != "svm":
        return []
    return ["follow and merge need --classifier gaussian: a linear SVM is no sum over rows"]


def _on_cluster(
    data: str,
    place: Path,
    name: str,
    options: Reading,
    how: dict[str, Any],
    address: str,
    unencrypted: bool,
) -> Result:
    from eigenkit.files._errors import Skipped, hinting
    from eigenkit.models._dask_fit import connected, fit_on_cluster

    bad = Skipped()
    if address != "local":  # workers run in folders of their own
        data = str(Path(data).absolute())
    with connected(address, unencrypted=unencrypted) as client, hinting():
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
    for name in found:
        if name not in known:
            has = f"{method.name} has no parameter {name!r}: it has {', '.join(known)}."
            raise o.bad(options.get(name, "--set"), has)
    return found


def _components(method: Any, components: str | None, params: dict[str, Any]) -> str | None:
    """``"cv"`` if the number of components is chosen, as it is for PLS unless it is given."""
    known = method.estimator_class()._get_param_names()
    if components == "cv" and "n_components" not in known:
        raise o.bad("--components", f"{method.name} has no components.")
    if components == "cv" and method.kind == "classifier" and not method.picks_components:
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
    from eigenkit.evaluation import auto_alphas

    return "cv", auto_alphas


def _in_blocks(stream: bool | None, may_stream: bool) -> bool:
    if stream is False or not may_stream:
        why = (
            "--no-stream is given"
            if stream is False
            else "this method has none, or alpha or components are to be chosen: give them"
        )
        raise o.bad("--checkpoint", f"it needs blocks, but {why}.")
    return True
