"""What the cells of a table mean: numbers as people write them, yes and no, dates, names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from datetime import UTC, datetime
from functools import partial
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from eigenkit.files._common import Reading
from eigenkit.files._errors import FileError

# Cells that stand for a missing value, compared in lower case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
_TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
_DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})( .*)?")
_COMMA = re.compile(r"[+-]?(\d+,\d+|\d*,\d+)([eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
# What may be a number with marks that are not known yet.
MARKED = re.compile(r"[+-]?\d[\d.,'\s]*")
_OTHER_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}( .*)?")
_AMOUNT = r"[+-]?\d[\d.,']*"
_WITH_UNIT = re.compile(rf"[$€£¥] ?{_AMOUNT}|{_AMOUNT} ?([%‰$€£¥°]|[kmµ]?[gmlsVAWK])")
_CODE = re.compile(r"[+-]?0\d+")
_DIGITS = re.compile(r"[+-]?\d+")
_DAY = 86400.0
# Classes with fewer rows on average are hardly classes; numbers that repeat this often may be.
_FEW_ROWS, _FEW_EQUAL = 2, 10
# Blanks that do not break lines, which programs put between thousands.
_OTHER_BLANKS = re.compile("[\u00a0\u2009\u202f]")
# Names for marks that mean something to a shell, or are hard to see.
_NAMES = {"comma": ",", "point": ".", "space": " ", "apostrophe": "'"}

Convert = Callable[[str], float]


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def as_number(cell: str) -> float:
    """The number in a cell, NaN where it is missing; ValueError if it is something else."""
    try:
        value = float(cell)
    except ValueError:
        if cell.strip().lower() in MISSING:
            return np.nan
        raise
    if "_" in cell:  # Python's own notation, not a number in data
        raise ValueError(cell)
    return value


def written_with(decimal: str, thousands: str | None) -> Convert:
    """Numbers with another decimal mark, or with marks between thousands.

    Exactly three digits follow the last mark between thousands, so that 418,10 is not a number
    with --thousands ","; groups before it may have two digits, as in India.

    >>> written_with(",", ".")("1.234,5")
    1234.5
    """
    if decimal == "." and thousands is None:
        return as_number

    mark = re.escape(thousands or ",")
    whole = re.compile(rf"\s*[+-]?[1-9]\d{{0,2}}({mark}\d{{2,3}})*{mark}\d{{3}}(?!\d)")

    def convert(cell: str) -> float:
        if thousands == " ":
            cell = _OTHER_BLANKS.sub(" ", cell)
        if thousands is not None and thousands in cell and (found := whole.match(cell)):
            cell = found[0].replace(thousands, "") + cell[found.end() :]
        if decimal != "." and "." in cell:
            raise ValueError(cell)
        return as_number(cell.replace(decimal, "."))

    return convert


def as_truth(cell: str) -> float:
    """1 for true and yes, 0 for false and no; ValueError for other numbers."""
    word = cell.strip().lower()
    if word in MISSING:
        return np.nan
    if word in _TRUTH:
        return _TRUTH[word]
    value = as_number(cell)
    if value not in (0.0, 1.0):
        raise ValueError(cell)
    return value


def as_day(cell: str) -> float:
    """A date, with or without time, as days since 1970; ValueError for other cells.

    Points stand after the day and the month wherever they are used. 01/02/1970 is refused: it is
    another day in Boston than in London.

    >>> as_day("1970-01-02"), as_day("1970-01-01 12:00"), as_day("2.1.1970")
    (1.0, 0.5, 1.0)
    """
    word = cell.strip()
    if word.lower() in MISSING:
        return np.nan
    if found := _DAY_FIRST.fullmatch(word):
        word = f"{found[3]}-{found[2]:0>2}-{found[1]:0>2}{found[4] or ''}"
    if not _DATE.fullmatch(word):
        raise ValueError(cell)
    moment = datetime.fromisoformat(word)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() / _DAY


KINDS: dict[str, Convert] = {"yes or no": as_truth, "date": as_day}
# What a cell must be, by the kind of its column.
IN_WORDS = {None: "a number", "date": "a date (YYYY-MM-DD)", "yes or no": "yes or no"}


def kind_of(cells: Sequence[str]) -> str | None:
    """The kind of most cells that are not missing: "yes or no", "date", or None."""
    there = [cell for cell in cells if not is_missing(cell)]
    for kind, convert in KINDS.items():
        if there and 2 * sum(fits(convert, cell) for cell in there) > len(there):
            return kind
    return None


def numeric_looking(cells: Sequence[str]) -> list[str]:
    return [cell for cell in cells if cell.strip()[:1] in set("+-,0123456789") and cell.strip()]


def has_decimal_commas(cells: Sequence[str]) -> bool:
    """Whether the cells that are not numbers would be, with a point instead of the comma."""
    strange = [cell for cell in cells if not fits(as_number, cell)]
    if not strange or not all(_COMMA.fullmatch(cell.strip()) for cell in strange):
        return False
    return not all(_GROUPED.fullmatch(cell.strip()) for cell in strange)  # 1,000 may be a thousand


def how_to_write(cell: str) -> str:
    """How to rewrite a cell that is a date or number in another notation; "" for others.

    >>> how_to_write("31.12.2024")
    'write dates as YYYY-MM-DD'
    >>> how_to_write("45 %"), how_to_write("red 3")
    ('write numbers without units', '')
    """
    word = cell.strip()
    if _OTHER_DATE.fullmatch(word):
        return "write dates as YYYY-MM-DD"
    return "write numbers without units" if _WITH_UNIT.fullmatch(word) else ""


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, or nothing."""
    return fits(as_number, cell)


def looks_like_header(rows: list[list[str]]) -> bool:
    """Whether the first row is a header: it has no numbers, and any rows below it have some."""
    first, rest = rows[0], rows[1:]
    names = [cell.strip() for cell in first]
    if any(_numeric(cell) and cell.lower() not in MISSING for cell in names):
        return False
    if not rest:
        return True
    return any(_numeric(cell) or kind_of([cell]) for row in rest for cell in row)


def _numeric(cell: str) -> bool:
    """Whether a cell is a number, with any marks."""
    return is_number(cell) or bool(marks_of(cell))


def as_class(cell: str) -> str:
    """The name of a class, or "" if it is missing; "none" is a name like any other.

    >>> [as_class(cell) for cell in ("red ", "NA", "none")]
    ['red', '', 'none']
    """
    word = cell.strip()
    return "" if word.lower() in MISSING - {"none"} else word


def may_be_else(names: Sequence[str], n: int, certain: bool) -> str:
    """A question about many classes in n rows, which may be something else.

    It may be ``certain`` that they are classes and not numbers.

    >>> may_be_else(["41", "42"], 3, False)
    'are numbers: if they measure something, give --task numbers.'
    >>> may_be_else(["a", "b"], 3, True)
    'for 3 rows: is this the column of labels?'
    """
    for mark in ";|,/ ":
        parts = {part.strip() for name in names for part in name.split(mark)}
        several = sum(mark in name.strip() for name in names)
        if 2 * several > len(names) and 2 * len(parts) <= len(names) + 8:
            labels = f"look like sets of {len(parts)} labels"
            return f"{labels}: if they are, give --label-separator {mark!r}."
    if not certain and all(map(is_number, names)):
        if n < _FEW_EQUAL * len(names):
            return "are numbers: if they measure something, give --task numbers."
    elif not certain:
        marks = marks_of(*names)
        if marks or all(_WITH_UNIT.fullmatch(name) for name in names):
            how = f"give {marks}" if marks else "write them without units"
            return f"look like numbers: if they are, {how}."
    few = n < _FEW_ROWS * len(names)
    return f"for {n} rows: is this the column of labels?" if few else ""


def split_labels(cell: str, separator: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(separator) if part.strip())


def separator_in(strange: Iterable[str], names: Iterable[str]) -> str | None:
    """The mark between known names in one of the strange ones.

    >>> separator_in(["red|big", "new"], ["red", "old"])
    '|'
    """
    known = {*names}
    cells = [(mark, cell.split(mark)) for mark in ";|,/ " for cell in strange]
    return next((mark for mark, cell in cells if known & {part.strip() for part in cell}), None)


def is_code(cell: str) -> bool:
    """Whether digits are a name: as a number, 007 would be 7, and float64 rounds above 2^53.

    >>> [is_code(cell) for cell in ("007", "7", "0", "0.5", "9007199254740993")]
    [True, False, False, False, True]
    """
    word = cell.strip()
    long = _DIGITS.fullmatch(word) is not None and abs(float(word)) >= 2**53
    return long or _CODE.fullmatch(word) is not None


def hold_codes(distinct: Set[str], n: int) -> bool:
    """Whether n cells are names of classes: codes are among them, and they repeat."""
    return 2 * len(distinct) <= n and any(map(is_code, distinct))


def is_whole(cell: str) -> bool:
    """Whether a cell holds nothing but digits, or is missing."""
    word = cell.strip()
    return _DIGITS.fullmatch(word) is not None or word.lower() in MISSING


def fits(convert: Convert, cell: str) -> bool:
    try:
        convert(cell)
    except ValueError:
        return False
    return True


# -- marks in numbers: those asked for, those that the cells show, those of the model ------


def find_marks(
    path: Any, rows: list[list[str]], delimiter: str, options: Reading
) -> tuple[str, str | None]:
    """The decimal mark of a file and its mark between thousands, by its first rows."""
    decimal, thousands = (_asked(path, options, name) for name in ("decimal", "thousands"))
    columns = [numeric_looking(column) for column in zip_longest(*rows[1:], fillvalue="")]
    model = options.expected
    mark = decimal or ("." if model is None else model.decimal)
    if decimal is None and any("." in c for column in columns for c in column if is_number(c)):
        mark = "."  # as the cells show
    elif decimal is None and delimiter != "," and any(map(has_decimal_commas, columns)):
        mark = ","
    found = mark, thousands
    if model is not None and model.thousands and decimal is None and thousands is None:
        theirs, cells = (model.decimal, model.thousands), [*chain.from_iterable(columns)]
        ways = (partial(fits, written_with(*marks)) for marks in (theirs, found))
        able, able_here = (sum(map(way, cells)) for way in ways)
        # 1.234 may be more than a thousand, which the number does not show, but 418.10 is not.
        found = theirs if able >= able_here else found
    if found[0] == found[1]:
        why = "--decimal and --thousands are the same mark"
        if decimal is None:
            before = f"its numbers have {found[0]!r} before their decimals"
            why = f"{before}, so it cannot be --thousands: leave that out"
        raise FileError(path, f"{why}.")
    return found


def _asked(path: Any, options: Reading, name: str) -> str | None:
    given = getattr(options, name)
    mark: str | None = _NAMES.get(given, given)
    if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in "+-"):
        what = f"--{name} {mark} is not a single character other than a letter, digit or sign"
        raise FileError(path, f"{what}: give one, or {', '.join(_NAMES)}.")
    return mark


def marks_of(*cells: str) -> str:
    """The fewest options with which the cells would be numbers; empty if there are none.

    >>> marks_of("2,040.92"), marks_of("7,5", "1.234,5"), marks_of("red")
    ('--thousands comma', '--decimal comma --thousands point', '')
    >>> marks_of("1,234")
    '--thousands comma or --decimal comma'
    """
    names = {mark: name for name, mark in _NAMES.items()}
    marks = [(".", ","), (",", None), (".", "'"), (".", " "), (",", "."), (",", "'"), (",", " ")]
    found: list[list[str]] = []
    for decimal, thousands in marks:
        options = [] if decimal == "." else [f"--decimal {names[decimal]}"]
        options += [f"--thousands {names[thousands]}"] if thousands else []
        able = all(fits(written_with(decimal, thousands), cell) for cell in cells)
        if able and not any(set(fewer) < set(options) for fewer in found):
            found.append(options)
    return " or ".join(map(" ".join, found))
