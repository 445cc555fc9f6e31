"""Readers that leave bad rows out and say what is wrong with each.

A model knows what its columns hold; without one, most of the first rows tell.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from eigenkit.files._arff import Arff
from eigenkit.files._cells import KINDS, fits
from eigenkit.files._checks import check_labels, halved, placed, sound
from eigenkit.files._common import Block, Reading, Source
from eigenkit.files._delimited import Delimited
from eigenkit.files._errors import FileError, Skipped
from eigenkit.files._streams import NO_TEXT, Origin
from eigenkit.files._svmlight import Pairs, SvmLight, split_label
from eigenkit.files._targets import join_labels

_NO_TEXT = "it holds a byte that is not text."
# Lines that are read at once if some are bad.
_FEW = 64


class Tolerant(Source):
    """A base class before that of a reader, which collects the errors about bad rows in ``bad``;
    if the options say so, also those about rows that can be read, but not fitted.
    """

    def __init__(self, origin: Any, options: Reading) -> None:
        self.bad: list[Any] = []
        super().__init__(origin, options)
        self.bad = []  # the first lines are read again with all others

    def blocks(self, n_rows: int) -> Iterator[Block]:
        """The good rows, which are the same in every pass."""
        if self.options.on_error != "skip":
            yield from super().blocks(n_rows)
            return
        found, self.bad = Skipped(), []
        for block in super().blocks(n_rows):
            good = sound(self, block, self.bad)
            # Those that were bad up to its end, by line.
            found.extend(sorted(self.bad, key=lambda error: error.line or 0))
            self.bad.clear()
            if len(good):
                yield good
        found.extend(self.bad)
        self.skipped = found

    def _good(
        self, first: int, lines: list[Any], read: Callable[[int, list[Any]], Any]
    ) -> tuple[Any, list[Any]]:
        """The result of ``read`` for lines, and the lines; those that it refuses are emptied."""
        bad, kept = list[tuple[int, Exception]](), list(lines)

        def some(rows: np.ndarray) -> Any:
            begin, end = int(rows[0]), int(rows[-1]) + 1
            return read(first + begin, lines[begin:end])

        found = halved(some, np.arange(len(lines)), bad)
        for i, error in bad:
            self.bad.append(placed(error, self.path, first + i))
            kept[i] = kept[i][:0]
        return read(first, kept) if bad or not found else found[0], kept


class TolerantTable(Tolerant, Delimited):
    """CSV and TSV. A quote that is never closed spoils no other row."""

    def _delimiter(self, lines: list[str]) -> str:
        """The delimiter of all lines, or else of the first that is not blank."""
        found, first = super()._delimiter(lines), [line for line in lines if line.strip()][:1]
        known = self.options.expected is None and any(found in line for line in first)
        return found if known else super()._delimiter(first)

    def _name_columns(self, rows: list[list[str]]) -> None:
        """By rows of the usual width: as many cells as names, or one more, as R writes them."""
        n, named = len(rows[0]), self.options.header is not False
        counts = Counter(len(row) for row in rows[named:])
        usual = max((n, n + 1) if named else counts, key=lambda width: counts[width])
        fine = [row for row in rows[named:] if len(row) == usual]
        if not fine and (len(rows) > 1 or self.options.expected):  # all rows may be bad
            fine = [[""] * n]
        super()._name_columns([*rows[:named], *fine])

    def _find_kinds(self, rows: list[list[str]]) -> dict[str, str | None]:
        rows, model = [row for row in rows if len(row) == len(self.names)], self.options.expected
        for j in self.roles.features if model is not None else ():
            kind = model.kinds.get(self.names[j]) if model and model.kinds else None
            rows = [row for row in rows if fits(KINDS.get(kind or "", self.convert), row[j])]
        return super()._find_kinds(rows)

    def _quickly(self, lines: tuple[int, bytes]) -> Block | None:
        """The block, if every line is a row that can be read."""
        first, text = lines
        found = None if NO_TEXT.encode() in text else super()._quickly(lines)
        if found is None or len(found) != text.count(b"\n") + (text[-1:] != b"\n"):
            return None
        return replace(found, lines=np.arange(first, first + len(found)))

    def _slowly(self, first: int, lines: list[str]) -> Block:
        """A few lines at a time, so that only those near a bad one are read row by row."""
        if any(self._quoting.get("quotechar", '"') in line for line in lines):
            return self._by_rows(first, lines)
        blocks = []
        for begin in range(0, len(lines), _FEW):
            some = lines[begin : begin + _FEW]
            found = self._quickly((first + begin, "".join(some).encode()))
            blocks.append(self._by_rows(first + begin, some) if found is None else found)
        return _joined(blocks) if blocks else self._by_rows(first, [])

    def _row_of_numbers(self, line: int, row: list[str]) -> list[float] | None:
        """None for a bad row, which may also have a bad label."""
        try:
            numbers = super()._row_of_numbers(line, row)
            self._labels_of([row], [line])
        except FileError as error:
            self.bad.append(error)
            return None
        return numbers

    def _labels_of(self, rows: list[list[str]], places: list[int]) -> Any:
        """Labels; a model knows whether they are numbers, so that digits cannot become names."""
        if self.options.expected is None:
            return super()._labels_of(rows, places)
        return self._labels([[row[j] for j in self.roles.labels] for row in rows], places)

    def _rows(self, first: int, lines: list[str]) -> Iterator[tuple[int, list[str]]]:
        """As usual, but every line is a row unless well-formed quotes say otherwise."""
        begin = 0
        while begin < len(lines):
            end = self._end_of_row(lines, begin)
            try:
                if any(NO_TEXT in line for line in lines[begin:end]):
                    raise self.error(_NO_TEXT, line=first + begin)
                yield from super()._rows(first + begin, lines[begin:end])
            except FileError as error:
                self.bad.append(error)
            begin = end

    def _end_of_row(self, lines: list[str], begin: int) -> int:
        """The line after a row: the next one, unless well-formed quotes end later."""
        quote = self._quoting.get("quotechar", '"')
        if lines[begin].count(quote) % 2 == 0:
            return begin + 1
        odd = (i + 1 for i in range(begin + 1, len(lines)) if lines[i].count(quote) % 2)
        end = next(odd, begin + 1)
        form = {"delimiter": self.delimiter, **self._quoting, "strict": True}
        try:
            whole = end > begin + 1 and len(list(csv.reader(lines[begin:end], **form))) == 1
        except csv.Error:
            whole = False
        return end if whole else begin + 1


def _joined(blocks: list[Block]) -> Block:
    """Blocks of numbers as one."""

    def cells(name: str) -> dict[str, list[str]]:
        parts = [getattr(block, name) for block in blocks]
        return {key: [cell for part in parts for cell in part[key]] for key in parts[0]}

    X, lines = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("X", "lines"))
    labels = join_labels(block.labels for block in blocks)
    return Block(X, cells("text"), labels, cells("kept"), lines=lines)


class TolerantArff(TolerantTable, Arff):
    def _slowly(self, first: int, lines: list[str]) -> Block:
        if not self.sparse:
            return super()._slowly(first, lines)
        block: Block = self._good(first, lines, self._checked_sparse)[0]
        return block

    def _checked_sparse(self, first: int, lines: list[str]) -> Block:
        if any(NO_TEXT in line for line in lines):
            raise self.error(_NO_TEXT, line=first)
        places = [i for i, line in enumerate(lines, start=first) if line.strip()]
        return replace(self._sparse(first, lines), lines=np.array(places, dtype=np.int64))


class TolerantPairs(Tolerant, SvmLight):
    def __init__(self, origin: Origin, options: Reading) -> None:
        super().__init__(origin, options)
        self._whole = None  # bad rows are counted by the pass that gives the good ones

    def _parse(self, first: int, lines: list[bytes]) -> Pairs:
        found, lines = self._good(first, lines, self._checked_parse)
        if self.options.expected is not None:  # a model may refuse their labels
            places = [i for i, line in enumerate(lines, first) if split_label(line)[0] is not None]
            found = found._replace(lines=np.array(places))
        pairs: Pairs = found
        return pairs

    def _checked_parse(self, first: int, lines: list[bytes]) -> Pairs:
        found = super()._parse(first, lines)
        if self.options.expected is not None:
            self._check_known(found.indices - self.index_base)
        self._check_base(found.indices.min(initial=self.options.max_features))
        if self.options.on_error == "skip":
            check_labels(self, found.labels)
        return found


_READERS: dict[str, Any] = dict.fromkeys(("csv", "tsv"), TolerantTable)
_READERS |= {"arff": TolerantArff, "svmlight": TolerantPairs}


def tolerant_reader(kind: str, strict: Any) -> Any:
    """The reader of a format that leaves bad rows out; binary formats have no ragged rows."""
    return _READERS.get(kind) or type(strict.__name__, (Tolerant, strict), {})


def tolerant(path: str, kind: str, text: bytes, options: Reading) -> Any:
    """A reader for text of this format, under the name ``path``."""
    origin = Origin(path, options.max_bytes, text)
    origin.errors = "eigenkit.no_text"
    return _READERS[kind](origin, options.as_before())
