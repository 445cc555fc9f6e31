"""demo, methods, compare and report."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, progress, table
from eigenkit.cli._data import check_choices, found_line, load_data, reading

if TYPE_CHECKING:
    from eigenkit.files import Data, Target


def demo(as_json: o.Json = False, debug: o.Debug = False) -> Result:
    """Do the main job on data that come with eigenkit, and leave a report to look at."""
    from contextlib import redirect_stdout

    from eigenkit.demo import main

    if not as_json:
        main()
        return Result({})
    with redirect_stdout(sys.stderr):
        main()
    return Result({"demo": "done"})


def methods(as_json: o.Json = False, debug: o.Debug = False) -> Result:
    """List the methods, one line each."""
    from eigenkit.registry import METHODS

    rows = [[m.name, m.kind, ", ".join(m.targets), m.description] for m in METHODS.values()]
    titles = ["method", "kind", "learns from", "what it is"]
    keys = ("name", "kind", "targets", "description")
    record = [{key: getattr(m, key) for key in keys} for m in METHODS.values()]
    return Result({"methods": record}, table(titles, rows))


def compare(
    data: o.DataFile,
    methods: Annotated[
        str | None, typer.Option("--methods", "-m", help="Names with commas; by default all.")
    ] = None,
    cv: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of folds or partitions.")] = 1,
    train_size: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Random partitions with this share for training."),
    ] = None,
    alphas: Annotated[
        str,
        typer.Option(help="Ridges to choose from with commas, auto, or none to choose nothing."),
    ] = "auto",
    classifier: Annotated[
        str, typer.Option(help="On top of every projection: svm, knn or logistic.")
    ] = "svm",
    baselines: Annotated[
        bool, typer.Option("--baselines/--no-baselines", help="Also without a projection, and PCA.")
    ] = True,
    components: o.Components = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Keep the record of the run as JSON.")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", help="Write the report as one HTML file.")
    ] = None,
    scale: o.Scale = "none",
    seed: o.Seed = 0,
    labels: o.Labels = None,
    label_separator: o.LabelSeparator = None,
    label_list: o.LabelList = None,
    task: o.Task = None,
    text: o.Text = None,
    text_features: o.TextFeatures = "tfidf",
    text_size: o.TextSize = 65536,
    ngrams: o.Ngrams = 1,
    categorical: o.Categorical = None,
    ignore: o.Ignore = None,
    index: o.Index = None,
    missing: o.Missing = "error",
    format_: o.Format = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    header: o.Header = None,
    decimal: o.Decimal = None,
    thousands: o.Thousands = None,
    comment: o.Comment = None,
    dtype: o.Dtype = "float64",
    index_base: o.IndexBase = None,
    max_memory: o.MaxMemory = "4G",
    max_features: o.MaxFeatures = 50_000_000,
    force: o.Force = False,
    as_json: o.Json = False,
    debug: o.Debug = False,
) -> Result:
    """Compare methods on a file by cross-validation.

    Features are made from the whole file: scaling and the weights of words see the test rows,
    labels never do.
    """
    given = locals()
    names = o.method_names(methods, "--methods")
    ridges = _ridges(alphas)
    options = reading(given)
    check_choices(given)
    from eigenkit.evaluation import CLASSIFIERS, evaluate
    from eigenkit.files import check_output

    o.choice("--classifier", classifier, CLASSIFIERS)
    for place in (out, report):
        if place is not None:
            check_output(place, force)
    whole = load_data(data, options, as_json)
    X, y, target, feature_names = _prepare(
        whole,
        task,
        scale=scale,
        missing=missing,
        text_kind=text_features,
        text_size=text_size,
        ngrams=ngrams,
    )
    chosen = _estimators(names, target, components)
    with progress("comparing", as_json) as advance:
        record = evaluate(
            X,
            y,
            chosen,
            cv=cv,
            repeats=repeats,
            train_size=train_size,
            classifier=classifier,
            alphas=ridges,
            baselines=baselines,
            name=Path(data).name if data != "-" else "standard input",
            feature_names=feature_names,
            label_names=list(target.names) if target.kind == "labels" else None,
            progress=advance,
            command=_command(),
            seed=seed,
        )
    return _show(record, out, report, [found_line(data, whole.found)])


def _prepare(data: Data, task: str | None, **features: Any) -> tuple[Any, Any, Target, list[str]]:
    """X, y, what y is, and the names of the features."""
    from eigenkit.files import FileError, target_of
    from eigenkit.models._features import complete, learn_features

    path, source = data.source.path, data.source
    (block,) = complete(lambda: [data.block()], features["missing"])
    if not len(block):
        raise FileError(path, "every row misses a value: nothing is left.")
    separator = source.options.label_separator
    target = target_of(path, block.labels, source.label_names, task, separator)
    if target.kind == "numbers":
        raise FileError(
            path, "its labels are numbers, and compare needs classes or labels: see --task."
        )
    learned = learn_features(source, lambda: [block], **features)
    y = target.encode(path, block.labels)
    return learned.matrix(path, block), y, target, learned.feature_names()


def _estimators(names: list[str], target: Target, components: int | None) -> dict[str, Any]:
    from eigenkit.registry import METHODS

    names = names or [m.name for m in METHODS.values() if target.kind in m.targets]
    made = {}
    for name in names:
        known = METHODS[name].estimator_class()._get_param_names()
        wanted = components is not None and "n_components" in known
        made[name] = METHODS[name].make(**({"n_components": components} if wanted else {}))
    return made


def _ridges(text: str) -> Any:
    if text in ("auto", "none"):
        return None if text == "none" else "auto"
    try:
        return [float(item) for item in o.split([text])]
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a list of numbers, auto or none.", param_hint="--alphas"
        ) from None


def _command() -> str:
    return shlex.join(["eigenkit", *sys.argv[1:]])


def report(
    run: Annotated[str, typer.Argument(help="The record of a run, written by compare --out.")],
    html: Annotated[str | None, typer.Option("--html", help="Write it as one HTML file.")] = None,
    force: o.Force = False,
    as_json: o.Json = False,
    debug: o.Debug = False,
) -> Result:
    """Show an earlier run again, without computing."""
    from eigenkit.files import check_output
    from eigenkit.record import read_record

    if html is not None:
        check_output(html, force)
    return _show(read_record(run), None, html, [])


def _show(record: dict[str, Any], out: str | None, html: str | None, lines: list[str]) -> Result:
    """Write what was asked for, and show the rest."""
    from eigenkit.record import write_record
    from eigenkit.report import render_text, write_html

    lines = [*lines, render_text(record)]
    if out is not None:
        write_record(record, out)
        lines.append(f"wrote {clean(out)}; see it again with: eigenkit report {clean(out)}")
    if html is not None:
        write_html(record, html)
        lines.append(f"wrote {clean(html)}")
    return Result(record, "\n".join(lines))
