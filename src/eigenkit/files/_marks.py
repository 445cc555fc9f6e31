"""Marks in the numbers of a file: those asked for, those its cells show, those of the model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from eigenkit.files._cells import (
    fits,
    has_decimal_commas,
    is_number,
    numeric_looking,
    written_with,
)
from eigenkit.files._common import Expected, FileError, Reading

# Marks that a shell would take for its own, or that are hard to see, by name.
_NAMES = {"comma": ",", "point": ".", "space": " ", "apostrophe": "'"}


def find_marks(
    path: Any, rows: list[list[str]], delimiter: str, options: Reading
) -> tuple[str, str | None]:
    """The decimal mark of a file, and that between thousands, by its first rows."""
    decimal, thousands = (_asked(path, options, name) for name in ("decimal", "thousands"))
    columns = [numeric_looking(column) for column in zip_longest(*rows[1:], fillvalue="")]
    model = options.expected
    found = decimal or _shown(columns, delimiter, model), thousands
    if model is not None and model.thousands and decimal is None and thousands is None:
        theirs = model.decimal, model.thousands
        # Whether 1.234 is a thousand cannot be seen from the number, but 418.10 is none.
        found = theirs if _n_read(columns, theirs) >= _n_read(columns, found) else found
    if found[0] == found[1]:
        raise FileError(path, _same(found[0], decimal))
    return found


def _asked(path: Any, options: Reading, name: str) -> str | None:
    given = getattr(options, name)
    mark: str | None = _NAMES.get(given, given)
    if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in "+-"):
        raise FileError(
            path,
            f"--{name} {mark} is not one character that marks no digit or sign: give such a "
            f"character, or {', '.join(_NAMES)}.",
        )
    return mark


def marks_of(cell: str) -> str:
    """Options with which a cell would be a number; nothing if there are none.

    Examples
    --------
    >>> from eigenkit.files._marks import marks_of
    >>> marks_of("2,040.92"), marks_of("1.234,5"), marks_of("red")
    ('--thousands comma', '--decimal comma --thousands point', '')
    """
    names = {mark: name for name, mark in _NAMES.items()}
    for decimal, thousands in ((".", ","), (",", None), (",", "."), (".", "'"), (".", " ")):
        if fits(written_with(decimal, thousands), cell):
            before = "" if decimal == "." else f"--decimal {names[decimal]} "
            return (before + (f"--thousands {names[thousands]}" if thousands else "")).strip()
    return ""


def _shown(columns: Sequence[Sequence[str]], delimiter: str, model: Expected | None) -> str:
    """The decimal mark that the cells show; where they show none, the model's."""
    if any("." in cell for column in columns for cell in column if is_number(cell)):
        return "."
    commas = delimiter != "," and any(map(has_decimal_commas, columns))
    return "," if commas else "." if model is None else model.decimal


def _n_read(columns: Sequence[Sequence[str]], marks: tuple[str, str | None]) -> int:
    """How many cells are numbers with these marks."""
    convert = written_with(*marks)
    return sum(fits(convert, cell) for column in columns for cell in column)


def _same(mark: str, asked: str | None) -> str:
    if asked is not None:
        return "--decimal and --thousands are the same mark."
    return (
        f"its numbers have {mark!r} before their decimals, so that it cannot be --thousands: "
        "leave that out."
    )
