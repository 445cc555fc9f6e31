"""fit, transform, predict and inspect."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, cast

import typer

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, cell, clean, command, progress
from eigenkit.cli._data import _Counter, found_line, open_in_memory_or_blocks, reading

if TYPE_CHECKING:
    from eigenkit.files import Block, Source
    from eigenkit.models import Model

_TOP = 5


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for name, function in (
        ("fit", fit),
        ("transform", transform),
        ("predict", predict),
        ("inspect", inspect),
    ):
        command(app, name)(function)


def fit(
    data: o.DataFile,
    out: Annotated[str, typer.Option("--out", "-o", help="The model file to write.")],
    method: Annotated[str, typer.Option("--method", "-m", help="See eigenkit methods.")] = "cca",
    alpha: Annotated[
        str | None, typer.Option(help="Ridge: a number, or cv to choose it by cross-validation.")
    ] = None,
    alphas: Annotated[
        str | None, typer.Option(help="With --alpha cv: the values to choose from, with commas.")
    ] = None,
    cv: Annotated[int, typer.Option(min=2, help="With --alpha cv: number of folds.")] = 5,
    components: o.Components = None,
    set_: o.Set = None,
    scale: o.Scale = "none",
    seed: o.Seed = 0,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read the file in blocks and keep none; by default if it is too large.",
        ),
    ] = None,
    labels: o.Labels = None,
    label_separator: o.LabelSeparator = None,
    label_list: o.LabelList = None,
    task: o.Task = None,
    text: o.Text = None,
    text_features: o.TextFeatures = "tfidf",
    text_size: o.TextSize = 65536,
    ngrams: o.Ngrams = 1,
    ignore: o.Ignore = None,
    missing: o.Missing = "error",
    format_: o.Format = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    header: o.Header = None,
    dtype: o.Dtype = "float64",
    index_base: o.IndexBase = None,
    max_memory: o.MaxMemory = "4G",
    max_features: o.MaxFeatures = 50_000_000,
    force: o.Force = False,
    as_json: o.Json = False,
    debug: o.Debug = False,
) -> Result:
    """Fit a method on a file and keep the whole pipeline as a model file."""
    (name,) = o.method_names(method) or [""]
    ridge, grid = _alpha(alpha, alphas)
    params = {**o.parameters(set_), **_given(n_components=components, alpha=ridge)}
    options = reading(
        labels=labels,
        label_separator=label_separator,
        label_list=label_list,
        text=text,
        ignore=ignore,
        format=format_,
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        dtype=dtype,
        index_base=index_base,
        max_memory=max_memory,
        max_features=max_features,
    )
    from eigenkit.files import check_output
    from eigenkit.files._targets import TASKS
    from eigenkit.models import MISSING, SCALES, TEXT_KINDS, fit_model, save
    from eigenkit.registry import find

    o.choice("--task", task, TASKS)
    o.choice("--missing", missing, MISSING)
    o.choice("--scale", scale, SCALES)
    o.choice("--text-features", text_features, TEXT_KINDS)
    place = check_output(out, force)
    found = find(name)
    _check_parameters(found, params)
    may_stream = found.streams and grid is None
    source, whole, blocks = open_in_memory_or_blocks(data, options, stream, may_stream, as_json)
    with progress("fitting", as_json) as advance:
        model = fit_model(
            source,
            name,
            data=whole,
            task=task,
            params=params,
            alphas=grid,
            cv=cv,
            scale=scale,
            missing=missing,
            text_kind=text_features,
            text_size=text_size,
            ngrams=ngrams,
            stream=blocks,
            seed=seed,
            tick=_Counter(advance).step,
        )
    save(model, place)
    record = {"model": str(place), "bytes": place.stat().st_size, **describe(model)}
    text_out = "\n".join([found_line(data, source.found), _summary(model), f"wrote {clean(place)}"])
    return Result(record, text_out)


def _alpha(alpha: str | None, alphas: str | None) -> tuple[float | None, Any]:
    """The ridge (None for the method's own), or the values to choose it from."""
    if alpha != "cv":
        if alphas is not None:
            raise typer.BadParameter("it goes with --alpha cv only.", param_hint="--alphas")
        return None if alpha is None else _number("--alpha", alpha), None
    if alphas is not None:
        return None, [_number("--alphas", item) for item in o.split([alphas])]
    from eigenkit.evaluation import auto_alphas

    return None, auto_alphas


def _number(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise typer.BadParameter(f"{text!r} is not a number of at least 0.", param_hint=option)
    return value


def _given(**params: Any) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _check_parameters(method: Any, params: dict[str, Any]) -> None:
    """Refuse a parameter that the method does not have."""
    known = method.estimator_class()._get_param_names()
    strange = [name for name in params if name not in known]
    if strange:
        raise typer.BadParameter(
            f"{method.name} has no parameter {strange[0]!r}: it has {', '.join(known)}.",
            param_hint="--set",
        )


# -- using a model ----------------------------------------------------------------------

Out = Annotated[
    str, typer.Option("--out", "-o", help="CSV, TSV, NPZ or Parquet by its name; - to the screen.")
]
KeepFormulas = Annotated[
    bool,
    typer.Option(
        "--keep-formulas",
        help="Leave text that begins with = + - @ as it is; otherwise it gets an apostrophe, "
        "as a spreadsheet would run it.",
    ),
]


def transform(
    model: o.ModelFile,
    data: o.DataFile,
    out: Out = "-",
    format_: o.Format = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    header: o.Header = None,
    dtype: o.Dtype = "float64",
    max_memory: o.MaxMemory = "4G",
    force: o.Force = False,
    as_json: o.Json = False,
    debug: o.Debug = False,
) -> Result:
    """Project the rows of a file with a model."""
    from eigenkit.models import load

    fitted = load(model)
    if not fitted.projects:
        raise ValueError(f"{model}: {fitted.method} has no components: use predict.")
    options = _reading_for(fitted, format_, delimiter, encoding, header, dtype, max_memory)
    names = fitted.component_names()

    def columns(source: Source, block: Block) -> list[Any]:
        return list(fitted.transform(source.path, block).T)

    return _apply(data, out, options, names, columns, force, as_json)


def predict(
    model: o.ModelFile,
    data: o.DataFile,
    out: Out = "-",
    scores: Annotated[bool, typer.Option("--scores", help="Also write the scores.")] = False,
    keep_formulas: KeepFormulas = False,
    format_: o.Format = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    header: o.Header = None,
    dtype: o.Dtype = "float64",
    max_memory: o.MaxMemory = "4G",
    force: o.Force = False,
    as_json: o.Json = False,
    debug: o.Debug = False,
) -> Result:
    """Predict the labels of the rows of a file with a model."""
    from eigenkit.models import load

    fitted = load(model)
    options = _reading_for(fitted, format_, delimiter, encoding, header, dtype, max_memory)
    names = _prediction_names(fitted, scores)

    def columns(source: Source, block: Block) -> list[Any]:
        labels, S = fitted.predict(source.path, block)
        found = _prediction_columns(fitted, labels)
        return found + (list(S.T) if scores and S is not None else [])

    return _apply(data, out, options, names, columns, force, as_json, keep_formulas)


def _joins(model: Model) -> bool:
    """Whether several labels go into one cell, as they did in the training file."""
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


def _reading_for(
    model: Model,
    format_: str | None,
    delimiter: str | None,
    encoding: str | None,
    header: bool | None,
    dtype: str,
    max_memory: str,
) -> Any:
    return reading(
        format=format_,
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        dtype=dtype,
        max_memory=max_memory,
        stream=True,
        expected=model.expected(),
    )


def _apply(
    data: str,
    out: str,
    options: Any,
    names: list[str],
    columns: Any,
    force: bool,
    as_json: bool,
    keep_formulas: bool = False,
) -> Result:
    """Read in blocks, compute, write; the output appears when all of it is there."""
    from eigenkit.files import atomic, check_output, open_file, output_format, write_table

    if out == "-" and as_json:
        raise typer.BadParameter("--json needs the table in a file.", param_hint="--out")
    kind = output_format(out)
    place = Path(out) if out == "-" else check_output(out, force)
    source = open_file(data, options)
    with progress("working", as_json) as advance:
        blocks = _computed(source, columns, _Counter(advance))
        if out == "-":
            n = write_table(cast("IO[bytes]", _Screen()), kind, names, blocks, keep_formulas)
            return Result({"rows": n})
        with atomic(place) as stream:
            n = write_table(stream, kind, names, blocks, keep_formulas)
    record = {"out": str(place), "rows": n, "columns": names, "found": source.found}
    text = f"{found_line(data, source.found)}\nwrote {n} rows to {clean(place)}"
    return Result(record, text)


def _computed(source: Source, columns: Any, counter: _Counter) -> Iterator[list[Any]]:
    from eigenkit.files._reading import rows_per_block

    empty = True
    for block in source.blocks(rows_per_block(source)):
        counter.step("working", len(block))
        empty = False
        yield columns(source, block)
    if empty:
        from eigenkit.files import FileError

        raise FileError(source.path, "it holds no rows.")


class _Screen(io.RawIOBase):
    """Standard output as a binary file that may be closed without harm."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        sys.stdout.buffer.write(bytes(data))
        sys.stdout.flush()
        return len(data)


# -- looking at a model -----------------------------------------------------------------


def inspect(
    model: o.ModelFile,
    top: Annotated[int, typer.Option(min=0, help="Features to show per component.")] = _TOP,
    as_json: o.Json = False,
    debug: o.Debug = False,
) -> Result:
    """Say what a model is, how it was fitted and on what, and what its components weigh."""
    from eigenkit.models import load

    fitted = load(model)
    record = {**describe(fitted), "components": top_features(fitted, top)}
    lines = [_summary(fitted), *_facts(fitted)]
    if record["components"]:
        lines += ["", _components_table(record["components"])]
    return Result(record, "\n".join(lines))


def describe(model: Model) -> dict[str, Any]:
    """A model in plain values."""
    eigenvalues = getattr(model.estimator, "eigenvalues_", ())
    return {
        "method": model.method,
        "task": model.target.kind,
        "targets": list(model.target.names),
        "n_features": model.features.n_features,
        "n_components": len(getattr(model.estimator, "components_", ())) or None,
        "eigenvalues": [float(v) for v in eigenvalues],
        "solver": getattr(model.estimator, "solver_", None),
        "regression": getattr(model.estimator, "regression_", None),
        "classifier": "linear SVM" if model.linear is not None else None,
        "fitted": model.how,
    }


def _summary(model: Model) -> str:
    d, how = describe(model), model.how
    parts = [f"{d['method']} on {how['n_rows']} rows and {d['n_features']} features"]
    parts.append(f"{len(d['targets'])} {d['task']}")
    if d["n_components"]:
        parts.append(f"{d['n_components']} components")
    if "alpha" in how["params"]:
        chosen = " (by cross-validation)" if how["alpha_search"] else ""
        parts.append(f"alpha {how['params']['alpha']:g}{chosen}")
    if d["classifier"]:
        parts.append(f"then a {d['classifier']}")
    return clean(", ".join(parts))


def _facts(model: Model) -> list[str]:
    how = model.how
    text = ", ".join(f"{c.name} ({c.kind}, {c.size})" for c in model.features.text)
    facts = {
        "fitted on": found_line(how["data"], how["found"]),
        "targets": ", ".join(cell(name) for name in model.target.names[:20]),
        "text": text,
        "scaling": how["scale"],
        "missing values": how["missing"],
        "solved by": f"{describe(model)['solver']}, {describe(model)['regression']}",
        "made with": ", ".join(f"{k} {v}" for k, v in how["versions"].items()),
    }
    return [f"  {name}: {clean(value)}" for name, value in facts.items() if value]


def top_features(model: Model, top: int) -> list[dict[str, Any]]:
    """The features with the largest weights, per component."""
    import numpy as np

    weights = getattr(model.estimator, "components_", None)
    if weights is None or not top or weights.shape[1] != model.features.n_features:
        return []
    names = model.features.feature_names()
    found = []
    for j, row in enumerate(np.asarray(weights, dtype=float)):
        order = np.argsort(-np.abs(row), kind="stable")[:top]
        features = [{"feature": names[i], "weight": float(row[i])} for i in order]
        found.append({"component": j + 1, "top": features})
    return found


def _components_table(components: Iterable[dict[str, Any]]) -> str:
    rows = [
        [c["component"], ", ".join(f"{cell(f['feature'])} {f['weight']:+.3g}" for f in c["top"])]
        for c in components
    ]
    return "\n".join([f"{'component':>9}  top features", *[f"{r[0]:>9}  {r[1]}" for r in rows]])
