"""From the options of a command to data."""

from __future__ import annotations

import codecs
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit import files
from eigenkit.cli import _options as o
from eigenkit.cli._console import clean, progress
from eigenkit.estimators.registry import METHODS, find, gap_params
from eigenkit.files import Block, Data, FileError, Reading, Source, open_file
from eigenkit.files._checks import groups_in, incomplete, repeated_rows, unlabelled
from eigenkit.files._common import listed
from eigenkit.files._streams import Origin
from eigenkit.files._targets import TASKS
from eigenkit.models import MISSING, SCALES, TEXT_KINDS

# Products with a sparse matrix pay below this share of entries, on more than a few numbers.
_MOSTLY, _LARGE = 0.15, 100_000
# Copies of rows below this share change little.
_COPIES = 0.05
# Rows that are counted at once.
_AT_ONCE = 10_000


def reading(given: o.Given, **more: Any) -> Reading:
    """How to read a file, from the options of a command by their names."""
    options = vars(given)
    if options.get("label_separator") == "":
        raise o.bad("--label-separator", "it is empty: give the character between the labels.")
    try:
        codecs.lookup(options.get("encoding") or "utf-8")
    except (LookupError, ValueError):
        unknown = f"{options['encoding']!r} is not known: try utf-8 or latin-1."
        raise o.bad("--encoding", unknown) from None
    if "task" in options:
        _check_learning(options)
    o.choice("--format", options.get("format_"), files.FORMATS)
    o.choice("--dtype", options["dtype"], ("float64", "float32"))
    known = {field.name for field in fields(Reading)}
    found = {k: v for name, v in options.items() if (k := name.rstrip("_")) in known}
    for name in ("labels", "text", "categorical", "ignore", "keep"):
        found[name] = tuple(item for item in found.get(name) or () if item.strip(" ,"))
    found |= {"words": options.get("task") == "classes", **more}
    return Reading(**found, max_bytes=o.memory(options["max_memory"]))


def checked_views(given: o.Given, names: list[str]) -> tuple[str, ...]:
    """The views, if the methods use views, and can skip missing values where these are kept.

    Without names any method may be used.
    """
    views, methods = o.split(given.views), [find(name) for name in names]
    needing = [method.name for method in methods if method.needs_views]
    if needing and not views:
        raise o.bad("--views", f"{needing[0]} needs patterns of views: give one for each view.")
    if views and methods and not any(method.views for method in methods):
        able = ", ".join(method.name for method in METHODS.values() if method.views)
        raise o.bad("--views", f"they are used only by {able}.")
    try:
        for method in methods:
            gap_params(method, given.missing)
    except ValueError as error:
        raise o.bad("--missing", str(error)) from None
    return views


def takes_components(method: Any, components: str | None) -> bool:
    """Whether a method has this number of components, or one that can be chosen.

    Classifiers such as LDA predict with all components, however many they keep.
    """
    has = "n_components" in method.estimator_class()._get_param_names()
    return has and (components != "cv" or method.kind == "projection" or method.picks_components)


def _check_learning(options: dict[str, Any]) -> None:
    """Options of commands that learn, some of which must be one of a few words."""
    o.choice("--task", options["task"], TASKS)
    o.choice("--missing", options["missing"], MISSING)
    o.choice("--scale", options["scale"], SCALES)
    o.choice("--text-features", options["text_features"], TEXT_KINDS)
    for name, option in o.TEXT.items():
        if options[name] != option.default and not options["text"]:
            raise o.bad(f"--{name.replace('_', '-')}", "it is used only with --text.")


def load_data(path: str, options: Reading, missing: str = "error") -> Data:
    """The whole file, as a sparse matrix if most of it is zeros and no gaps are to be kept."""
    with progress("reading") as advance:
        data = files.read(open_file(path, options), partial(counting(advance), "reading"))
    source = data.source
    if alike := source.found.get("like_labels"):
        what = _features_that(alike, "is named like the labels", "are named like the labels")
        _warn(f"{what}: choose with --labels, or leave out with --ignore.")
    _warn_of_row_numbers(data)
    if missing == "drop":
        model = options.expected
        names = source.named_cells if model is None else model.categorical
        data = _left(data, incomplete(data.block(), names), "a value")
    _warn_of_copies(data)
    return data if missing == "keep" else replace(data, X=_stored_sparse(data.X))


def _stored_sparse(X: Any) -> Any:
    """A large dense matrix that is mostly zeros, as a sparse one."""
    if sparse.issparse(X) or X.size < _LARGE:
        return X
    # Counting stops as soon as there are too many entries.
    most, count = _MOSTLY * X.size, 0
    for begin in range(0, len(X), _AT_ONCE):
        count += int(np.count_nonzero(X[begin : begin + _AT_ONCE]))
        if count > most:
            return X
    return sparse.csr_array(X)


def load_all(path: str, test: str | None, options: Reading, missing: str) -> list[Data]:
    """A file and perhaps a test file, read like the first with columns matched by name."""
    if test is None:
        return [load_data(path, options, missing)]
    Origin(test, options.max_bytes).head()  # fails early if there is no such file
    data = load_data(path, options, missing)
    source = data.source
    names = None if source.feature_names is None else tuple(source.feature_names)
    known = files.Expected(
        names,
        data.X.shape[1],
        tuple(source.text_names),
        tuple(source.label_names),
        int(source.found.get("index_base", 1)),
        categorical=tuple(source.categorical_names),
    ).as_in(source.found)
    as_read = replace(options, expected=known, truth=True, decimal=None, thousands=None)
    tested = load_data(test, replace(as_read, words=isinstance(data.labels, list)), missing)
    if data.labels is not None and tested.labels is None:
        raise FileError(test, f"it holds no labels: {path} has {', '.join(source.label_names)}.")
    return [data, tested]


def rows_of(data: Data) -> Block:
    """All rows; an error if none is left."""
    block = data.block()
    if not len(block):
        raise FileError(data.source.path, "every row has a missing value: nothing is left.")
    return block


def with_labels(data: Data, kind: str) -> Data:
    """The rows that have a label, where every row needs one; a warning counts those left out."""
    gaps = unlabelled(data.labels)
    if isinstance(data.labels, list) and kind != "labels":
        gaps = np.array([not cell for cell in data.labels])
    if np.all(gaps):
        raise FileError(data.source.path, "none of its rows has a label.")
    return _left(data, gaps, "a label")


def _left(data: Data, gaps: Any, what: str) -> Data:
    """The rows without gaps, with their numbers in the file; a warning counts the others."""
    n, gaps = int(np.sum(gaps)), np.broadcast_to(gaps, len(data.block()))
    if n == 0:
        return data
    miss = f"miss {what} and are" if n > 1 else f"misses {what} and is"
    _warn(f"{data.source.path}: {n} of {len(gaps)} rows {miss} left out.")
    keep = np.flatnonzero(~gaps)
    block = data.block().take(keep)
    numbers = keep if data.rows is None else data.rows[keep]
    parts = {"X": block.X, "text": block.text, "labels": block.labels, "kept": block.kept}
    return replace(data, **parts, rows=numbers)


def _warn(words: str) -> None:
    warnings.warn(words, stacklevel=3)


def _features_that(names: list[str], one: str, more: str) -> str:
    many = len(names) > 1
    words = f"columns {more} and are features" if many else f"column {one} and is a feature"
    return f"{len(names)} {words} ({listed(names, 4)})"


def _warn_of_row_numbers(data: Data) -> None:
    """Warn of features that grow by one from row to row: they number the rows."""
    names = data.source.feature_names
    if data.source.options.expected or names is None or sparse.issparse(data.X) or len(data.X) < 10:
        return
    may = np.flatnonzero(data.X[1] - data.X[0] == 1)
    counting = [names[j] for j in may if np.all(np.diff(data.X[:, j]) == 1)]
    if counting and data.source.found.get("header", True):
        what = _features_that(counting, "counts the rows", "count the rows")
        _warn(f"{what}: name the rows with --index, or leave out with --ignore.")


def _warn_of_copies(data: Data) -> None:
    """Warn of copies: with some of them in other folds, any method that memorizes looks good."""
    if data.source.options.expected is not None:
        return
    block, source = data.block(), data.source
    n, found = len(block), repeated_rows(block, groups_in(source, block))
    if found > _COPIES * n:
        source.found["repeated"] = f"{found} of {n} rows repeat others"
        _warn(
            f"{source.path}: {source.found['repeated']}, labels and all: if they are copies, keep "
            "one of each, or name what belongs together with --groups; otherwise rows to test are "
            "among those learned from."
        )


def open_in_memory_or_blocks(
    path: str, options: Reading, stream: bool | None, may_stream: bool, missing: str
) -> tuple[Source, Data | None]:
    """The file, and its data; None if it is read in blocks."""
    if not stream:
        try:
            data = load_data(path, options, missing)
            return data.source, data
        except files.TooLargeError:
            if stream is False or not may_stream:
                raise
    return open_file(path, replace(options, stream=True)), None


def write_rows(
    place: Path | None, kind: str, names: list[str], blocks: Iterable[list[Any]], formulas: bool
) -> int:
    """Write a table to a file, or to the screen if there is none; the number of its rows."""
    with nullcontext(sys.stdout.buffer) if place is None else files.atomic(place) as stream:
        return files.write_table(stream, kind, names, blocks, formulas)


def counting(advance: Any) -> Callable[[str, int], None]:
    """Tells a progress bar whose total is unknown how many rows there are so far."""
    n = 0

    def step(name: str, rows: int) -> None:
        nonlocal n
        n += rows
        advance(n, None, f"{name}: {n} rows")

    return step


def found_line(path: str, found: dict[str, Any]) -> str:
    """What was detected in a file, in one line."""
    words = [found[key] for key in ("format", "compression", "encoding") if found.get(key)]
    index = found.get("index")
    told = [
        ("delimiter" in found, f"delimiter {found.get('delimiter')!r}"),
        (found.get("decimal", ".") != ".", f"decimal {found.get('decimal')!r}"),
        (found.get("thousands"), f"thousands {found.get('thousands')!r}"),
        ("header" in found, "header" if found.get("header") else "no header"),
        (index is not None, f"rows named by {repr(index) if index else 'the first column'}"),
        ("index_base" in found, f"first feature {found.get('index_base')}"),
        ("repeated" in found, found.get("repeated")),
    ]
    words += [text for holds, text in told if holds]
    return clean(f"{path}: {', '.join(words)}, {found.get('columns')} columns")
