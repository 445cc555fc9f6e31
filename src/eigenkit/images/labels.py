"""Terms of image sets from a CSV file."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from eigenkit.files import FileError
from eigenkit.files._cells import is_missing
from eigenkit.files._common import composed
from eigenkit.images.files import ImageSet
from eigenkit.images.folders import Rows, read_table, tell_names
from eigenkit.numerics.linalg import Array
from eigenkit.shell import shown

SEPARATORS = "|;,"

Given = dict[str, tuple[int, list[str]]]  # name of a set -> line and cells


def read_labels(
    path: str | os.PathLike[str], sets: Sequence[ImageSet], separator: str | None = None
) -> tuple[Array, list[str]]:
    """The terms of sets, from a table with a column ``set``.

    The other columns are either terms with 0 or 1 in every row, or one column ``terms`` with the
    names of the terms of a set, between them ``|``, ``;`` or ``,``. An empty cell of ``terms``
    says that a set carries no term, and a warning counts these sets. ``NA``, ``NaN``, ``?`` and
    the like (or, in columns of 0 and 1, a row of empty cells) say that the terms are not known.

    Parameters
    ----------
    path : path
        A CSV file.
    sets : sequence of ImageSet
    separator : str, optional
        Between terms; by default the first of ``|``, ``;``, ``,`` that occurs.

    Returns
    -------
    Y : array of shape (n_sets, n_terms)
        0 and 1; rows of NaN for sets that the table does not name, or of which nothing is known.
    terms : list of str
    """
    table = Path(path)
    names, rows = read_table(table, "set")
    columns = [name for name in names if name != "set"]
    if len(set(names)) < len(names):
        raise FileError(table, "two columns have the same name: rename one.", line=1)
    if "terms" in columns and len(columns) > 1:
        other = next(name for name in columns if name != "terms")
        message = f"it has the column {shown(other)} beside 'terms': keep one of them."
        raise FileError(table, message, line=1)
    lists = columns == ["terms"]  # where an empty cell says something
    given = {
        name: (number, cells)
        for name, (number, cells) in _by_set(table, names, rows).items()
        if not all(is_missing(cell) and (cell or not lists) for cell in cells)
    }
    _compare_names(table, given, sets, "labels", "have no labels and are kept as unlabelled")
    if lists:
        found, columns = _from_lists(table, given, sets, separator)
    elif columns:
        there = [one.name for one in sets if one.name in given]
        found = {name: _as_truths(table, columns, *given[name]) for name in there}
    else:
        raise FileError(table, "it has no column of terms beside 'set'.")
    unknown = [np.nan] * len(columns)
    return np.array([found.get(one.name, unknown) for one in sets], dtype=np.float64), columns


def _by_set(table: Path, names: list[str], rows: Rows) -> Given:
    """The cells of every set, without its name."""
    found: Given = {}
    for line, cells in rows:
        if len(cells) != len(names):
            raise FileError(table, f"it has {len(cells)} cells, expected {len(names)}.", line=line)
        name = composed(cells.pop(names.index("set")))
        if name in found:
            raise FileError(table, f"set {shown(name)} has a row already.", line=line)
        found[name] = line, cells
    return found


def _as_truths(table: Path, columns: list[str], line: int, cells: list[str]) -> list[bool]:
    for column, cell in zip(columns, cells, strict=True):
        if cell not in ("0", "1"):
            message = f"{shown(cell)} is neither 0 nor 1."
            raise FileError(table, message, line=line, column=column)
    return [cell == "1" for cell in cells]


def read_groups(path: str | os.PathLike[str], sets: Sequence[ImageSet]) -> list[str]:
    """The group of every set, from a CSV file with the columns ``set`` and ``group``.

    A set without a row is a group of its own, and a warning says so.
    """
    table = Path(path)
    names, rows = read_table(table, "set", "group")
    given: dict[str, str] = {}
    for line, cells in rows:
        row = dict(zip(names, map(composed, cells), strict=False))
        name, group = row.get("set", ""), row.get("group", "")
        if not name or is_missing(group):
            raise FileError(table, "a row needs a set and a group.", line=line)
        if given.setdefault(name, group) != group:
            raise FileError(
                table, f"set {shown(name)} is in the group {shown(given[name])} already.", line=line
            )
    if not given:
        raise FileError(table, "it names no set.")
    _compare_names(table, given, sets, "groups", "have no group and are groups of their own")
    return [f"group {given[s.name]}" if s.name in given else f"set {s.name}" for s in sets]


def _compare_names(
    table: Path, given: Collection[str], sets: Sequence[ImageSet], rows: str, without: str
) -> None:
    """Compare the sets of a table with those of the folder: none in common is an error."""
    known = {one.name for one in sets}
    if given and known.isdisjoint(given):
        raise FileError(
            table,
            f"it names none of the sets: it has {shown(next(iter(given)))}, the folder "
            f"{shown(sets[0].name)}; give the folder whose folders are the sets.",
        )
    unknown = [name for name in given if name not in known]
    left = [one.name for one in sets if one.name not in given]
    tell_names(unknown, f"rows of the {rows} name sets without images", stacklevel=4)
    tell_names(left, f"sets {without}", stacklevel=4)


def _from_lists(
    table: Path, given: Given, sets: Sequence[ImageSet], separator: str | None
) -> tuple[dict[str, list[bool]], list[str]]:
    text = "".join(cells[0] for _, cells in given.values())
    mark = separator or next((c for c in SEPARATORS if c in text), "|")
    carried: dict[str, set[str]] = {}
    for name, (line, cells) in given.items():
        carried[name] = {composed(part.strip()) for part in cells[0].split(mark)} - {""}
        unknown = next(filter(is_missing, carried[name]), None)
        if unknown is not None:
            message = f"{shown(unknown)} stands for a missing value: leave it out of the terms."
            raise FileError(table, message, line=line)
    terms = sorted(set().union(*carried.values()))
    if not terms:
        raise FileError(table, "it names no term.")
    bare = [one.name for one in sets if one.name in carried and not carried[one.name]]
    tell_names(bare, "sets carry no term, as their cells are empty", stacklevel=4)
    return {name: [term in own for term in terms] for name, own in carried.items()}, terms


def read_known(
    path: str | os.PathLike[str], sets: Sequence[ImageSet], terms: Sequence[str]
) -> Array:
    """The terms of sets in a model's order; a note names terms that the model does not know."""
    Y, names = read_labels(path, sets)
    unknown = [name for name in names if name not in terms]
    what = "terms of the labels are not known to the model and do not count"
    tell_names(unknown, what, stacklevel=3)
    place = {name: j for j, name in enumerate(names)}
    none = 0 * Y[:, 0]  # NaN stays NaN
    return np.column_stack([Y[:, place[term]] if term in place else none for term in terms])
