"""The options that several commands share, and what they mean to the library."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any

import typer

DataFile = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, svmlight, ARFF, NPZ or Parquet, also in gzip or bz2; - is standard input."
    ),
]
ModelFile = Annotated[str, typer.Argument(help="A model written by fit.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error came from.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.")]

Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        help="Label columns: names, patterns or positions (1 first, -1 last), with commas; "
        "for NPZ the name of the array.",
    ),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(help="Character between several labels in one column."),
]
LabelList = Annotated[
    str | None,
    typer.Option(help="Mulan's XML file with the labels of an ARFF file."),
]
Task = Annotated[
    str | None,
    typer.Option(help="What the labels are: classes, labels or numbers; found out by default."),
]
Text = Annotated[
    list[str] | None,
    typer.Option("--text", help="Columns of text to turn into features."),
]
TextFeatures = Annotated[
    str,
    typer.Option(help="How text becomes features: tfidf or hashing."),
]
TextSize = Annotated[int, typer.Option(min=1, help="The most features of a column of text.")]
Ngrams = Annotated[
    int, typer.Option(min=1, help="Sequences of up to this many words are features.")
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", help="Columns to leave out."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option("--categorical", help="Columns of categories, of which each becomes a feature."),
]
Index = Annotated[
    str | None,
    typer.Option(
        "--index",
        help="The column that names the rows; by default a first one that has no name itself.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(help="Decimal mark in numbers, if it is not the point: a character, or comma."),
]
Thousands = Annotated[
    str | None,
    typer.Option(
        help="Mark between thousands in numbers: a character, or comma, point, space, apostrophe."
    ),
]
Comment = Annotated[str | None, typer.Option(help="Leave out lines that begin with this.")]
Views = Annotated[
    list[str] | None,
    typer.Option(
        "--views",
        help="Patterns of features that belong together, one for each view, with commas or blanks: "
        "for multiview_cca, rgcca and kernels_*.",
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        help="Missing values: error, drop the row, the mean or median of the column, or keep them "
        "for methods that skip them (pls, pca, probabilistic_cca, bayesian_cca)."
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Format of the file, if it is not clear."),
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="Between columns: a character, or comma, tab, semicolon, pipe, space."),
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of a text file.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first row holds names."),
]
Dtype = Annotated[str, typer.Option(help="float64 or float32.")]
IndexBase = Annotated[
    int | None,
    typer.Option(min=0, max=1, help="Number of the first feature of svmlight."),
]
MaxMemory = Annotated[
    str,
    typer.Option(help="The most memory that the numbers of a file may take."),
]
MaxFeatures = Annotated[
    int, typer.Option(min=1, help="The highest feature number of a sparse file.")
]

Components = Annotated[
    str | None,
    typer.Option(
        "--components",
        help="Number of components, or cv to choose it by cross-validation; by default all, and "
        "cv for methods that need a number, as PLS.",
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        help="Divide features by their deviation (standard) or maximum (maxabs), or none."
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, max=2**32 - 1, help="Seed of all random choices."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Another parameter of the method: name=value."),
]


# Groups of options: name -> (what it is, default). A command takes a group with :func:`takes`.
Group = dict[str, tuple[Any, Any]]

READING: Group = {
    "format_": (Format, None),
    "delimiter": (Delimiter, None),
    "encoding": (Encoding, None),
    "header": (Header, None),
    "decimal": (Decimal, None),
    "thousands": (Thousands, None),
    "comment": (Comment, None),
    "dtype": (Dtype, "float64"),
    "max_memory": (MaxMemory, "4G"),
}

TEXT_DEFAULTS = {"text_features": "tfidf", "text_size": 65536, "ngrams": 1}
LEARNING: Group = {
    "labels": (Labels, None),
    "label_separator": (LabelSeparator, None),
    "label_list": (LabelList, None),
    "task": (Task, None),
    "text": (Text, None),
    "text_features": (TextFeatures, TEXT_DEFAULTS["text_features"]),
    "text_size": (TextSize, TEXT_DEFAULTS["text_size"]),
    "ngrams": (Ngrams, TEXT_DEFAULTS["ngrams"]),
    "categorical": (Categorical, None),
    "ignore": (Ignore, None),
    "index": (Index, None),
    "views": (Views, None),
    "missing": (Missing, "error"),
    **{name: option for name, option in READING.items() if name != "max_memory"},
    "index_base": (IndexBase, None),
    "max_memory": READING["max_memory"],
    "max_features": (MaxFeatures, 50_000_000),
}


def feature_options(given: dict[str, Any]) -> dict[str, Any]:
    """How columns become features, as the library calls it."""
    names = {"missing": "missing", "text_features": "text_kind", "text_size": "text_size"}
    return {word: given[name] for name, word in {**names, "ngrams": "ngrams"}.items()}


def takes(*groups: Group) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of groups, which it gets as one dict, ``given``.

    They stand where ``given`` stands in its signature.
    """
    options = {name: option for group in groups for name, option in group.items()}

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(**values: Any) -> Any:
            given = {name: values.pop(name) for name in options}
            return function(**values, given=given)

        own = inspect.signature(function, eval_str=True).parameters.values()
        parameters = [
            q
            for p in own
            for q in (_parameters(options) if p.name == "given" else [p.replace(kind=_NAMED)])
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return wrap


_NAMED = inspect.Parameter.KEYWORD_ONLY


def _parameters(options: Group) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(name, _NAMED, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]


def split(items: list[str] | None) -> tuple[str, ...]:
    """Repeated and comma-separated values of an option as one list."""
    return tuple(part.strip() for item in items or [] for part in item.split(",") if part.strip())


def choice(option: str, value: str | None, choices: Any, mark: str = ", ") -> None:
    """A value that is not among the choices is bad usage."""
    if value is not None and value not in choices:
        raise typer.BadParameter(
            f"{value!r} is not one of {mark.join(choices)}.", param_hint=option
        )


def count(option: str, text: str) -> int:
    """A whole number of at least 1."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise typer.BadParameter(f"{text!r} is not a number of at least 1.", param_hint=option)
    return int(text)


def number(option: str, text: str) -> float:
    """A finite number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise typer.BadParameter(f"{text!r} is not a number of at least 0.", param_hint=option)
    return value


def numbers(option: str, text: str) -> list[float]:
    """Such numbers with commas, at least one of them."""
    found = [number(option, item) for item in split([text])]
    if not found:
        raise typer.BadParameter(f"{text!r} holds no number.", param_hint=option)
    return found


def memory(text: str) -> int:
    """``4G``, ``500M`` or a number of bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", text.strip().lower())
    if match is None:
        raise typer.BadParameter(
            f"{text!r} is not a size: give for instance 500M or 4G.", param_hint="--max-memory"
        )
    return int(float(match.group(1)) * 1024 ** "_kmgt".index(match.group(2) or "_"))


def parameters(items: list[str] | None) -> dict[str, Any]:
    """``name=value`` with values as JSON where they are, else as text."""
    import json

    found = {}
    for item in items or []:
        name, mark, value = item.partition("=")
        if not mark or not name.isidentifier():
            raise typer.BadParameter(f"{item!r} is not name=value.", param_hint="--set")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def method_names(text: str | None, option: str = "--method") -> list[str]:
    """Names of methods with commas, each of them known."""
    from eigenkit.registry import find

    names = split([text]) if text else ()
    try:
        return [find(name).name for name in names]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
