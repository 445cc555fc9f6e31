"""CSV and TSV.

A block that holds nothing but numbers goes through numpy's own reader. Any other block, and
one that this refuses, goes row by row: slower, and able to say which line and column is wrong.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from eigenkit.files._common import (
    Block,
    FileError,
    Reading,
    as_number,
    check_unique,
    default_names,
    roles,
    shown,
)
from eigenkit.files._streams import Origin, guess_encoding

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " "}
_SAMPLE = 200
_LONGEST_CELL = 16 * 2**20


@dataclass
class _Lines:
    """Lines with their numbers; blocks never cut a quoted cell in two."""

    origin: Origin
    encoding: str
    number: int = 0

    def __post_init__(self) -> None:
        # StringIO ends lines at line feeds only, where splitlines sees eight more characters.
        pieces = self.origin.text(self.encoding)
        self._lines = (line for piece in pieces for line in io.StringIO(piece))

    def take(self, n: int) -> tuple[int, list[str]]:
        """The number of the first line, and about ``n`` lines."""
        first = self.number + 1
        lines = list(islice(self._lines, n))
        # An odd number of quotes: the last cell goes on in the next line.
        while lines and sum(line.count('"') for line in lines) % 2 and len(lines) < 2 * n + 1000:
            more = list(islice(self._lines, 1))
            if not more:
                break
            lines += more
        self.number += len(lines)
        return first, lines


class Delimited:
    """A CSV or TSV file; see :func:`eigenkit.files.open_file`."""

    _quoting: ClassVar[dict[str, Any]] = {}

    def __init__(self, origin: Origin, options: Reading) -> None:
        self.path, self.origin, self.options = origin.path, origin, options
        self.encoding = guess_encoding(origin, options)
        _, lines = _Lines(origin, self.encoding).take(_SAMPLE)
        self.delimiter = self._delimiter(lines)
        rows = [row for _, row in self._rows(1, lines) if row]
        if not rows:
            raise FileError(self.path, "it holds no rows.")
        self._name_columns(rows)
        self._find_text(rows[self.header :])
        self.found = {
            "format": "tsv" if self.delimiter == "\t" else "csv",
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "header": self.header,
            "columns": len(self.names),
        }

    # -- finding out -------------------------------------------------------------------

    def _delimiter(self, lines: list[str]) -> str:
        if self.options.delimiter is not None:
            mark = DELIMITERS.get(self.options.delimiter, self.options.delimiter)
            if len(mark) != 1 or mark in '"\n\r':
                raise FileError(self.path, f"delimiter {mark!r} is not one character.")
            return mark
        if self.options.format == "tsv":
            return "\t"
        counts = {m: [line.count(m) for line in lines if line.strip()] for m in "\t;|,"}
        steady = {m: min(c) for m, c in counts.items() if c and min(c) > 0}
        return max(steady, key=lambda mark: steady[mark]) if steady else ","

    def _name_columns(self, rows: list[list[str]]) -> None:
        asked = self.options.header
        first = [cell.strip() for cell in rows[0]]
        guess = self._is_asked_for(first) or _looks_like_header(rows)
        self.header = guess if asked is None else asked
        self.names = first if self.header else default_names(len(first))
        check_unique(self.path, self.names, line=1)
        if self.header and len(rows) == 1:
            raise FileError(self.path, "it holds a header and no rows.", line=1)
        self.roles = roles(self.path, self.names, self.header, self.options)
        self.feature_names: list[str] | None = [self.names[j] for j in self.roles.features]
        self.label_names = [self.names[j] for j in self.roles.labels]
        self.text_names = [self.names[j] for j in self.roles.text]

    def _is_asked_for(self, first: list[str]) -> bool:
        """Whether the first row holds a name that the user or the model knows."""
        wanted = {*self.options.labels, *self.options.text, *self.options.ignore}
        if self.options.expected is not None:
            wanted = {*(self.options.expected.features or ()), *self.options.expected.text}
        return any(name in wanted and not _is_number(name) for name in first)

    def _find_text(self, rows: list[list[str]]) -> None:
        """Label columns may hold text; a feature column that does must be spoken for."""
        for j in self.roles.features:
            cells = [row[j] for row in rows if j < len(row)]
            strange = [cell for cell in cells if not _is_number(cell)]
            if 2 * len(strange) > len(cells):
                raise FileError(
                    self.path,
                    f"it holds text ({shown(strange[0])}): name it with --labels or --text, or "
                    "leave it out with --ignore.",
                    column=self.names[j],
                )
        cells = [row[j] for j in self.roles.labels for row in rows if j < len(row)]
        split = self.options.label_separator is not None
        self.numeric_labels = not split and all(_is_number(cell) for cell in cells)

    # -- reading -----------------------------------------------------------------------

    def blocks(self, n_rows: int) -> Iterator[Block]:
        """The rows, at most about ``n_rows`` at a time."""
        lines = _Lines(self.origin, self.encoding)
        skip = self.header
        while True:
            first, block = lines.take(n_rows)
            if not block:
                return
            if skip:
                n = self._header_lines(block)
                first, block, skip = first + n, block[n:], False
            parsed = self._block(first, block)
            if len(parsed):
                yield parsed

    def _header_lines(self, block: list[str]) -> int:
        reader = csv.reader(block, delimiter=self.delimiter)
        while not next(reader):
            pass
        return reader.line_num

    def _block(self, first: int, lines: list[str]) -> Block:
        if self.numeric_labels and not self.roles.text:
            table = self._numbers(lines)
            if table is not None:
                labels = table[:, self.roles.labels].astype(float) if self.roles.labels else None
                return Block(self._features(table), labels=labels)
        return self._slowly(first, lines)

    def _features(self, table: np.ndarray) -> np.ndarray:
        if len(self.roles.features) == table.shape[1]:
            in_order = self.roles.features == list(range(table.shape[1]))
            return table if in_order else table[:, self.roles.features]
        return table[:, self.roles.features]

    def _numbers(self, lines: list[str]) -> np.ndarray | None:
        """The block as numbers, None if it holds anything else."""
        if not any(line.strip() for line in lines):
            return None
        try:
            table = np.loadtxt(
                lines, self.options.dtype, delimiter=self.delimiter, comments=None, ndmin=2
            )
        except ValueError:
            return None
        return table if table.shape[1] == len(self.names) else None

    def _slowly(self, first: int, lines: list[str]) -> Block:
        X = np.empty((len(lines), len(self.roles.features)), dtype=self.options.dtype)
        text: dict[str, list[str]] = {name: [] for name in self.text_names}
        labels: list[list[str]] = []
        n, places = 0, []
        for line, row in self._rows(first, lines):
            if not row:
                continue
            self._check_width(line, row)
            X[n] = self._row_of_numbers(line, row)
            for name, j in zip(self.text_names, self.roles.text, strict=True):
                text[name].append(row[j])
            labels.append([row[j] for j in self.roles.labels])
            places.append(line)
            n += 1
        return Block(X[:n], text, self._labels(labels, places))

    def _rows(self, first: int, lines: list[str]) -> Iterator[tuple[int, list[str]]]:
        """Rows of cells with the number of their last line."""
        reader = csv.reader(lines, delimiter=self.delimiter, **self._quoting)
        before = csv.field_size_limit(_LONGEST_CELL)
        try:
            for row in reader:
                yield first + reader.line_num - 1, row
        except csv.Error as error:
            raise FileError(
                self.path, f"it cannot be read as CSV ({error}).", line=first + reader.line_num - 1
            ) from error
        finally:
            csv.field_size_limit(before)

    def _check_width(self, line: int, row: list[str]) -> None:
        if len(row) != len(self.names):
            raise FileError(
                self.path,
                f"{len(row)} cells, where the first row has {len(self.names)}.",
                line=line,
            )

    def _row_of_numbers(self, line: int, row: list[str]) -> list[float]:
        cells = [row[j] for j in self.roles.features]
        try:
            return [as_number(cell) for cell in cells]
        except ValueError:
            return [self._number(line, j, row[j]) for j in self.roles.features]

    def _number(self, line: int, j: int, cell: str) -> float:
        try:
            return as_number(cell)
        except ValueError:
            raise FileError(
                self.path,
                f"{shown(cell)} is not a number.",
                line=line,
                column=self.names[j],
            ) from None

    def _labels(self, cells: list[list[str]], places: list[int]) -> Any:
        if not self.roles.labels:
            return None
        if self.numeric_labels:
            return np.array(
                [
                    [self._number(line, j, c) for j, c in zip(self.roles.labels, row, strict=True)]
                    for line, row in zip(places, cells, strict=True)
                ]
            ).reshape(len(cells), -1)
        if len(self.roles.labels) > 1:
            raise FileError(
                self.path,
                f"{len(self.roles.labels)} label columns hold text: several label columns must "
                "hold numbers, or name one column and --label-separator.",
                column=self.label_names[0],
            )
        if self.options.label_separator is None:
            return [row[0].strip() for row in cells]
        return [split_labels(row[0], self.options.label_separator) for row in cells]


def split_labels(cell: str, separator: str) -> tuple[str, ...]:
    """The labels in one cell."""
    return tuple(part.strip() for part in cell.split(separator) if part.strip())


def _is_number(cell: str) -> bool:
    try:
        as_number(cell)
    except ValueError:
        return False
    return True


def _looks_like_header(rows: list[list[str]]) -> bool:
    """A header has no numbers in it, and where numbers are below it says so by being text."""
    first, rest = rows[0], rows[1:]
    names = [cell.strip() for cell in first]
    if any(_is_number(cell) for cell in names):
        return False
    if not rest:
        return True
    return any(_is_number(cell) for row in rest for cell in row)
