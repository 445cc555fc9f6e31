"""CSV and TSV.

A block is read at once, by compiled code or, if it holds only numbers, by numpy. A block that these
refuse is read row by row, which is slower, but can say which line and column is wrong.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from eigenkit.files import _cells, _streams
from eigenkit.files._common import Block, Reading, check_unique
from eigenkit.files._errors import FileError
from eigenkit.files._roles import Table, are_names
from eigenkit.numerics.compiled import NOTHING, NUMBER, TEXT, after_lines, read_table
from eigenkit.numerics.threads import ahead
from eigenkit.shell import shown

# Delimiters that cannot be part of a number.
_MARKS = ",\t;|"
DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " "}
_SAMPLE = 200
# With more classes than this, digits are numbers.
_MOST_CODES = 100_000
_LONGEST_CELL = 16 * 2**20


class Delimited(Table):
    """A CSV or TSV file; see :func:`eigenkit.files.open_file`."""

    _quoting: ClassVar[dict[str, Any]] = {}

    def __init__(self, origin: _streams.Origin, options: Reading) -> None:
        super().__init__(origin.path, options)
        self.origin = origin
        self.encoding = _streams.guess_encoding(origin, options)
        lines = _streams.split_lines(self._sample(_streams.Lines(origin, self.encoding)))
        self.delimiter = self._delimiter(lines)
        rows = [row for _, row in self._rows(1, lines) if row]
        if not rows:
            raise self.error("it holds no rows.")
        self.decimal, self.thousands = _cells.find_marks(self.path, rows, self.delimiter, options)
        self.convert = _cells.written_with(self.decimal, self.thousands)
        self._name_columns(rows)
        kinds = self._find_kinds(rows[self.header :])
        kind = "tsv" if self.delimiter == "\t" else "csv"
        self.found = {"format": kind, "encoding": self.encoding, "delimiter": self.delimiter}
        self.found |= {"decimal": self.decimal, "thousands": self.thousands, "header": self.header}
        index = None if self.roles.index is None else self.names[self.roles.index]
        self.found |= {"columns": len(self.names), "kinds": kinds, "index": index}
        self.found["like_labels"] = list(self.roles.like_labels)

    def _sample(self, lines: _streams.Lines) -> bytes:
        """The first lines, and more of them until two are no comments."""
        text, mark = b"", self.options.comment
        while b"\n" not in text.strip() and (more := lines.take(_SAMPLE)[1]):
            text += _streams.without_lines(more, mark)
        return text

    # -- finding out -------------------------------------------------------------------

    def _delimiter(self, lines: list[str]) -> str:
        if self.options.delimiter is not None:
            mark = DELIMITERS.get(self.options.delimiter, self.options.delimiter)
            if len(mark) != 1 or mark in '"\n\r':
                raise self.error(f"--delimiter {mark!r} is not one character.")
            return mark
        if self.options.format == "tsv":
            return "\t"
        counts = {m: [line.count(m) for line in lines if line.strip()] for m in "\t;|,"}
        steady = {m: min(c) for m, c in counts.items() if c and min(c) > 0}
        return max(steady, key=lambda mark: steady[mark]) if steady else ","

    def _name_columns(self, rows: list[list[str]]) -> None:
        asked = self.options.header
        first = [cell.strip() for cell in rows[0]]
        more = len(rows[1]) - len(first) if len(rows) > 1 and asked is not False else 0
        if more > 0 and _are_empty(rows[1:], len(first)):  # every row ends with delimiters
            first += [""] * more
        elif more == 1:  # as R writes tables: the row names have no name
            first = ["", *first]
        guess = are_names(first, self.options) or _cells.looks_like_header([first, *rows[1:]])
        self.header = guess if asked is None else asked
        self.names = first if self.header else [f"c{j + 1}" for j in range(len(first))]
        n = len(first)  # without columns at the end that have neither a name nor content
        while self.header and n > 1 and not first[n - 1] and _are_empty(rows[1:], n - 1):
            n -= 1
        self.names, nameless = self.names[:n], self.names[n:]
        check_unique(self.path, self.names, line=1)
        if self.header and len(rows) == 1:
            raise self.error("it holds a header and no rows.", line=1)
        self._assign()
        self.names += nameless

    def _find_kinds(self, rows: list[list[str]]) -> dict[str, str | None]:
        """What the columns of features hold; one error names all that hold text."""
        here: dict[int, str | None] = {}
        strange: dict[str, list[str]] = {}
        for j in self.roles.features:
            cells = [row[j] for row in rows if j < len(row)]
            if all(map(_cells.is_missing, cells)):
                here[j] = None
            elif 2 * sum(not _cells.fits(self.convert, cell) for cell in cells) > len(cells):
                here[j] = _cells.kind_of(cells)
                strange |= {self.names[j]: cells} if here[j] is None else {}
        if strange:
            raise self._not_numbers(strange)
        first = rows[0] if self.header and len(rows) > 2 else []
        numbers = [first[j] for j in self.roles.features if j not in here and j < len(first)]
        units = [cell for cell in numbers if not _cells.is_missing(cell)]
        fine = not units or any(_cells.fits(self.convert, cell) for cell in units)
        if not fine and self.options.on_error != "skip":
            what = f"the row below the names holds no number ({shown(', '.join(units))[1:-1]})"
            raise self.error(f"{what}, but those after it do: if it holds units, remove it.")
        found = self._settle_kinds(here)
        self._find_labels(rows)
        return found

    def _find_labels(self, rows: list[list[str]]) -> None:
        """Whether the labels are numbers."""
        labels, split = self.roles.labels, self.options.label_separator is not None
        columns = {j: [row[j] for row in rows if j < len(row)] for j in labels}
        words = []
        for j, cells in columns.items():
            numbers = all(_cells.fits(self.convert, cell) for cell in cells)
            if len(labels) > 1 and not numbers and _cells.kind_of(cells) == "yes or no":
                self.kinds[j] = "yes or no"
            codes = len(labels) == 1 and _cells.hold_codes(set(cells), len(cells))
            if codes or not all(_cells.fits(self._convert(j), cell) for cell in cells):
                words.append(j)
        if len(labels) > 1 and (words or split):
            marks = _cells.marks_of(*(c for j in words for c in columns[j]))
            ways = "name one column of text, and --label-separator if cells hold several labels"
            ways = f"give {marks}" if marks and words else ways
            what = f"several label columns must hold numbers, or yes and no: {ways}."
            raise self.error(what, column=self.names[(words or labels)[0]])
        if words or split:
            self.numeric_labels = False
        elif self.options.words:
            self.take_labels_as_words()
        whole = (all(map(_cells.is_whole, cells)) for cells in columns.values())
        if self.numeric_labels and len(labels) == 1 and all(whole):
            self._watched = {*labels}

    def _convert(self, j: int) -> _cells.Convert:
        """The function from the cells of a column to numbers."""
        return _cells.KINDS[self.kinds[j]] if j in self.kinds else self.convert

    # -- reading -----------------------------------------------------------------------

    def _blocks(self, n_rows: int) -> Iterator[Block]:
        for (first, text), found in ahead(self._quickly, self._texts(n_rows)):
            parsed = self._slowly(first, _streams.split_lines(text)) if found is None else found
            parsed.share = self.origin.share(len(text))
            if len(parsed):
                yield parsed

    def _texts(self, n_rows: int) -> Iterator[tuple[int, bytes]]:
        """The number of the first line and the text of every block, without the header."""
        lines = _streams.Lines(self.origin, self.encoding)
        skip = self.header
        while (found := lines.take(n_rows))[1]:
            first, text = found[0], _streams.without_lines(found[1], self.options.comment)
            if skip:
                n = self._end_of_header(first, text)
                if not n:  # nothing but comments yet
                    continue
                first, text, skip = first + n, text[after_lines(text, 0, len(text), n)[1] :], False
            yield first, text

    def _end_of_header(self, first: int, text: bytes) -> int:
        """After how many lines the first row ends; 0 if there is none."""
        # Not in the caller, where the generator would live on, and keep csv's limit as it sets it.
        rows = self._rows(first, _streams.split_lines(text))
        return next((line + 1 - first for line, row in rows if row), 0)

    def _quickly(self, lines: tuple[int, bytes]) -> Block | None:
        """The block by compiled code or by numpy; None if they cannot read it."""
        text = lines[1]
        if text.isspace() or not text:
            return None
        labels, numeric = self.roles.labels, self.numeric_labels
        wanted = {*self.roles.features, *(labels if numeric else ())}
        words = {*self.roles.text, *self.roles.kept, *self.kinds, *({*labels} - wanted)}
        words |= self._watched
        kinds = [NUMBER if j in wanted else NOTHING for j in range(len(self.names))]
        found = self._parsed(text, [TEXT if j in words else k for j, k in enumerate(kinds)])
        if found is None:
            return None
        table, columns = found
        cells = dict(zip(sorted(words), columns, strict=True))
        try:
            for j in words & wanted:
                convert = self._convert(j)
                values = {cell: convert(cell) for cell in set(cells[j])}
                table[:, j] = [values[cell] for cell in cells[j]]
                if j in self._watched:
                    self._watch(values)
        except ValueError:
            return None
        if numeric:
            y = table[:, labels] if labels else None
        else:
            y = self._labels(list(zip(*(cells[j] for j in labels), strict=True)), [])
        X = self._features(table).astype(self.options.dtype, copy=False)
        return self._block(X, cells, y)

    def _parsed(self, text: bytes, kinds: list[int]) -> tuple[np.ndarray, list[list[str]]] | None:
        """The numbers of the block, and the cells of its columns of text."""
        if self.thousands is not None or (self._quoting and TEXT in kinds):
            return None
        if self.delimiter in _MARKS:
            found = read_table(text, self.delimiter, kinds, self.decimal)
            if found is not None:
                return found
        if self.decimal != ".":
            return None
        lines = _streams.split_lines(text)
        load = partial(np.loadtxt, lines, delimiter=self.delimiter, comments=None)
        texts = [j for j, kind in enumerate(kinds) if kind == TEXT]
        try:
            table = load(ndmin=2)
            cells = [load(dtype=str, usecols=j, ndmin=1).tolist() for j in texts]
        except ValueError:
            return None
        return (table, cells) if table.shape[1] == len(self.names) else None

    def _watch(self, cells: Iterable[str]) -> None:
        self.whole_labels.update(cells)
        if len(self.whole_labels) > _MOST_CODES:  # numbers, and too many to keep
            self._watched = frozenset()
            self.whole_labels.clear()

    def _features(self, table: np.ndarray) -> np.ndarray:
        columns = self.roles.features
        if columns and columns == list(range(columns[0], columns[-1] + 1)):
            return table[:, columns[0] : columns[-1] + 1]
        return table[:, columns]

    def _slowly(self, first: int, lines: list[str]) -> Block:
        return replace(self._by_rows(first, lines), lines=None)

    def _by_rows(self, first: int, lines: list[str]) -> Block:
        """The block row by row, with the line of each."""
        places: list[int] = []
        rows: list[list[str]] = []
        X = np.empty((len(lines), len(self.roles.features)), dtype=self.options.dtype)
        for line, row in self._rows(first, lines):
            numbers = self._row_of_numbers(line, row) if row else None
            if numbers is not None:
                X[len(rows)] = numbers
                places.append(line)
                rows.append(row)
        labels = self._labels_of(rows, places)
        cells = {j: [row[j] for row in rows] for j in {*self.roles.text, *self.roles.kept}}
        block = self._block(X[: len(rows)], cells, labels)
        return replace(block, lines=np.array(places, dtype=np.int64))

    def _block(self, X: Any, cells: dict[int, list[str]], labels: Any) -> Block:
        text = {self.names[j]: cells[j] for j in self.roles.text}
        return Block(X, text, labels, {self.names[j]: cells[j] for j in self.roles.kept})

    def _rows(self, first: int, lines: list[str]) -> Iterator[tuple[int, list[str]]]:
        """Rows of cells with the number of their last line."""
        reader = csv.reader(lines, delimiter=self.delimiter, **self._quoting)
        before = csv.field_size_limit(_LONGEST_CELL)
        try:
            for row in reader:
                blank = len(row) == 1 and row[0].isspace()
                yield first + reader.line_num - 1, [] if blank else row
        except csv.Error as error:
            line = first + reader.line_num - 1
            raise self.error(f"it cannot be read as CSV ({error}).", line=line) from error
        finally:
            csv.field_size_limit(before)

    def _row_of_numbers(self, line: int, row: list[str]) -> list[float] | None:
        """The features of a row; None if it is to be left out."""
        if len(row) != len(self.names):
            what = f"{len(row)} cells, where the first row has {len(self.names)}"
            raise self.error(f"{what}: complete the row, or remove it.", line=line)
        try:
            if not self.kinds:
                return [self.convert(row[j]) for j in self.roles.features]
        except ValueError:
            pass  # the next line says where
        return [self._number(line, j, row[j]) for j in self.roles.features]

    def _number(self, line: int, j: int, cell: str) -> float:
        try:
            return self._convert(j)(cell)
        except ValueError:
            marks = "" if j in self.kinds else _cells.marks_of(cell)
            may_be_class, what = [j] == self.roles.labels, _cells.IN_WORDS[self.kinds.get(j)]
            hint = ", or give --task classes if labels are names" if may_be_class else ""
            hint = f", or give {marks} if numbers are written like that" if marks else hint
            problem = f"{shown(cell)} is not {what}: correct that cell{hint}."
            raise self.error(problem, line=line, column=self.names[j]) from None

    def _labels_of(self, rows: list[list[str]], places: list[int]) -> Any:
        """Labels, which are words from here on if digits turn out to be names of classes."""
        cells = [[row[j] for j in self.roles.labels] for row in rows]
        try:
            return self._labels(cells, places)
        except FileError as error:
            if not self._watched:
                raise
            self.numeric_labels, self.late_word = False, error
            return self._labels(cells, places)

    def _labels(self, cells: Sequence[Sequence[str]], places: list[int]) -> Any:
        if not self.roles.labels:
            return None
        if self.numeric_labels:
            if self._watched:
                self._watch(row[0] for row in cells)
            numbers = [
                self._number(line, j, cell)
                for line, row in zip(places, cells, strict=True)
                for j, cell in zip(self.roles.labels, row, strict=True)
            ]
            return np.array(numbers, dtype=float).reshape(len(cells), len(self.roles.labels))
        if self.options.label_separator is None:
            return [_cells.as_class(row[0]) for row in cells]
        return [_cells.split_labels(row[0], self.options.label_separator) for row in cells]


def _are_empty(rows: list[list[str]], begin: int) -> bool:
    """Whether all cells from a column on are empty."""
    return not any(cell.strip() for row in rows for cell in row[begin:])
