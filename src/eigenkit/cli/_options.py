"""Options that several commands share, and what they mean for the library."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import click

from eigenkit.cli._parsing import Argument, Option

DATA = Argument(
    "CSV, TSV, svmlight, ARFF, NPZ or Parquet, also in gzip or bz2; - is standard input."
)
MODEL = Argument("A model written by fit.")
MODEL_OUT = Option("The model file to write.", "-o", required=True)
METHOD = Option("The method; eigenkit methods lists all.", "-m", default="cca")
FORCE = Option("Replace an output that exists.", default=False)
KEEP_FORMULAS = Option(
    "Leave text that begins with = + - @ as it is; otherwise it gets an apostrophe, because a "
    "spreadsheet would run it.",
    default=False,
)
RANDOM_STATE = Option("Seed of all random choices.", "--seed", default=0, min=0, max=2**32 - 1)
COMPONENTS = Option(
    "Number of components, or cv to choose it by cross-validation; by default all, and cv for "
    "methods that need a number, such as PLS."
)
SET = Option(
    "Another parameter of the method: name=value, with numbers, true, false, null, text, or "
    "several numbers separated by commas.",
    multiple=True,
)
ON_ERROR = Option("What to do about bad rows: raise an error, or skip them.", default="raise")

# What a command is given: the values of its options by their names.
Given = SimpleNamespace
# Groups of options that several commands take.
Group = dict[str, Option]
# Those of every command.
TALKING: Group = {
    "json": Option("Print the result as one JSON object.", default=False),
    "debug": Option("Show where an error came from.", default=False),
}
READING: Group = {
    "format_": Option("Format of the file, if it cannot be detected."),
    "delimiter": Option(
        "What separates columns: a character, or comma, tab, semicolon, pipe, space."
    ),
    "encoding": Option("Encoding of a text file."),
    "header": Option("Whether the first row holds names.", kind=bool),
    "decimal": Option("Decimal mark in numbers, if it is not the point: a character, or comma."),
    "thousands": Option(
        "Mark between thousands in numbers: a character, or comma, point, space, apostrophe."
    ),
    "comment": Option("Leave out lines that begin with this."),
    "dtype": Option("float64 or float32.", default="float64"),
    "max_memory": Option("The most memory that the numbers of a file may use.", default="4G"),
}
TEXT: Group = {
    "text_features": Option("How text becomes features: tfidf or hashing.", default="tfidf"),
    "text_size": Option(
        "The largest number of features for a column of text.", default=65536, min=1
    ),
    "ngrams": Option("Sequences of up to this many words are features.", default=1, min=1),
}
LEARNING: Group = {
    "labels": Option(
        "Label columns: names, patterns or positions (1 first, -1 last), separated by commas; "
        "for NPZ the name of the array.",
        multiple=True,
    ),
    "label_separator": Option("Character between several labels in one column."),
    "label_list": Option("Mulan's XML file with the labels of an ARFF file."),
    "task": Option("What the labels are: classes, labels or numbers; detected by default."),
    "text": Option("Columns of text to turn into features.", multiple=True),
    **TEXT,
    "categorical": Option("Columns of categories; each category becomes a feature.", multiple=True),
    "ignore": Option("Columns to leave out.", multiple=True),
    "index": Option(
        "The column that names the rows; by default the first column, if it has no name."
    ),
    "groups": Option(
        "The column that says which rows belong together, such as those of one patient: no fold "
        "divides a group, and test exchanges rows within groups."
    ),
    "views": Option(
        "Patterns of features that belong together, one for each view, separated by commas or "
        "given as separate arguments: for multiview_cca, rgcca and kernels_*.",
        multiple=True,
    ),
    "missing": Option(
        "Missing values: error, drop the row, the mean or median of the column, or keep them "
        "for methods that skip them (pls, pca, probabilistic_cca, bayesian_cca).",
        default="error",
    ),
    **READING,
    "index_base": Option("Number of the first feature in svmlight files.", kind=int, min=0, max=1),
    "scale": Option(
        "Divide features by their standard deviation (standard) or largest size (maxabs), or none.",
        default="none",
    ),
    "random_state": RANDOM_STATE,
    "max_features": Option(
        "The most features allowed; in a sparse file, the highest feature number.",
        default=50_000_000,
        min=1,
    ),
}


def feature_options(given: Given) -> dict[str, Any]:
    """The options on features, by the names of the library."""
    words = {name.replace("features", "kind"): getattr(given, name) for name in TEXT}
    return {"missing": given.missing, **words}


def split(items: list[str] | None) -> tuple[str, ...]:
    """The values of an option that is repeated, or separated by commas."""
    return tuple(part.strip() for item in items or [] for part in item.split(",") if part.strip())


def bad(option: str, problem: str) -> click.BadParameter:
    return click.BadParameter(problem, param_hint=option)


def choice(option: str, value: str | None, choices: Any, mark: str = ", ") -> None:
    if value is not None and value not in choices:
        raise bad(option, f"{value!r} is not one of {mark.join(choices)}.")


def count(option: str, text: str) -> int:
    """A whole number of at least 1."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise bad(option, f"{text!r} is not a number of at least 1.")
    return int(text)


def number(option: str, text: str) -> float:
    """A finite number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise bad(option, f"{text!r} is not a number of at least 0.")
    return value


def numbers(option: str, text: str) -> list[float]:
    """Numbers of at least 0, separated by commas: one or more."""
    found = [number(option, item) for item in split([text])]
    if not found:
        raise bad(option, f"{text!r} holds no number.")
    return found


def memory(text: str) -> int:
    """Bytes, from ``4G``, ``500M`` or a number."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", text.strip().lower())
    if match is None:
        raise bad("--max-memory", f"{text!r} is not a size: give for instance 500M or 4G.")
    return int(float(match.group(1)) * 1024 ** "_kmgt".index(match.group(2) or "_"))


def assignments(items: list[str] | None) -> dict[str, Any]:
    found = {}
    for item in items or []:
        name, mark, value = item.partition("=")
        if not mark or not name.isidentifier():
            raise bad("--set", f"{item!r} is not name=value.")
        found[name] = _value(value)
    return found


_IN_JSON = {"True": "true", "False": "false", "None": "null"}


def _value(text: str) -> Any:
    """What is written as in JSON or Python, numbers separated by commas; anything else is text.

    >>> _value("0.5"), _value("0.2,0.8"), _value("True,false"), _value("None"), _value("rbf")
    (0.5, [0.2, 0.8], [True, False], None, 'rbf')
    """
    import json

    in_json = re.sub(r"\b(True|False|None)\b", lambda word: _IN_JSON[word[0]], text)
    try:
        return json.loads(f"[{in_json}]" if re.search('^[^"[{]*,', text) else in_json)
    except ValueError:
        return text


# Parameters that have an option of their own.
_OPTIONS = {"alpha": "--alpha", "n_components": "--components"}


def parameters(method: Any, set_: list[str] | None, **own: Any) -> dict[str, Any]:
    """The parameters of a method from --set, and from their ``own`` options unless these say cv.

    Each may be given only once, and the method must have it.
    """
    found, known = assignments(set_), method.estimator_class()._get_param_names()
    options = {name: _OPTIONS[name] for name, value in own.items() if value is not None}
    for name, option in options.items():
        if name in found:
            raise bad("--set", f"{name} is given by {option} as well: give it once.")
    found |= {name: own[name] for name in options if own[name] != "cv"}
    for name in {**found, **options}:
        if name not in known:
            has = f"{method.name} has no parameter {name!r}: it has {', '.join(known)}."
            raise bad(options.get(name, "--set"), has)
    return found


def said_again(name: str, value: Any, default: Any = None) -> list[str]:
    """An option as one types it; nothing for its default."""
    option = name.rstrip("_").replace("_", "-")
    if value in (None, [], default):
        return []
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    items = value if isinstance(value, list) else [value]
    return [word for item in items for word in (f"--{option}", str(item))]


def outputs(
    inputs: Iterable[str | None], force: bool, *wanted: str | None, state: str | None = None
) -> list[Any]:
    """The paths of the outputs, None for those that are not wanted.

    None of them may be an input or, without ``force``, exist already; the file of a ``state`` may.
    """
    from eigenkit.files import check_output

    places = [None if path is None else check_output(path, force) for path in wanted]
    check_apart(inputs, [*wanted, state])
    return places


def check_apart(inputs: Iterable[str | None], written: Iterable[str | None]) -> None:
    """Refuse to write where an input is, or another output."""
    from eigenkit.files import FileError
    from eigenkit.files._reading import is_pattern, paths

    read = [path for path in inputs if path is not None and path != "-"]
    files = [file for path in read for file in (paths(path) if is_pattern(path) else [path])]
    taken = dict.fromkeys(map(os.path.realpath, files), "an input")
    for path in filter(None, written):
        place = os.path.realpath(path)
        if place in taken:
            raise FileError(path, f"it is also {taken[place]} of this command: name another file.")
        taken[place] = "an output"


def method_name(text: str) -> str:
    names = method_names(text, "--method")
    if len(names) > 1:
        raise bad("--method", f"{text!r} names {len(names)} methods: give one.")
    return names[0]


def method_names(text: str, option: str) -> list[str]:
    """The names of known methods, at least one, separated by commas."""
    from eigenkit.estimators.registry import find

    names = split([text])
    if not names:
        raise bad(option, f"{text!r} names no method: see eigenkit methods.")
    try:
        return [find(name).name for name in names]
    except ValueError as error:
        raise bad(option, str(error)) from None
