"""Text of which some rows are bad: those are left out, and each says what is wrong with it.

A row is a line here, so that a quote that is never closed spoils no other row. What the columns
hold is known from a model: it is not guessed from rows that may be bad.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenkit.files._cells import KINDS, fits
from eigenkit.files._common import Block, FileError, Reading
from eigenkit.files._delimited import Delimited
from eigenkit.files._streams import Origin
from eigenkit.files._svmlight import SvmLight, split_label


class TolerantTable(Delimited):
    """Lines of CSV or TSV; ``bad`` holds the errors, ``places`` the lines of the rows given."""

    def __init__(self, origin: Origin, options: Reading) -> None:
        self.bad: list[FileError] = []
        super().__init__(origin, options)
        self.bad, self.places = [], list[int]()  # the first lines are read again with all others

    def _delimiter(self, lines: list[str]) -> str:
        return super()._delimiter([line for line in lines if line.strip()][:1])

    def _name_columns(self, rows: list[list[str]]) -> None:
        """By the names, or by the rows as wide as most are: R has one name less than columns."""
        n, named = len(rows[0]), self.options.header is not False
        counts = Counter(len(row) for row in rows[named:])
        usual = max((n, n + 1) if named else counts, key=lambda width: counts[width])
        fine = [row for row in rows[named:] if len(row) == usual] or [[""] * n]
        super()._name_columns([*rows[:named], *fine])

    def _find_kinds(self, rows: list[list[str]]) -> dict[str, str | None]:
        return super()._find_kinds([row for row in rows if self._is_fine(row)])

    def _is_fine(self, row: list[str]) -> bool:
        known = self.options.expected.kinds or {} if self.options.expected else {}
        return len(row) == len(self.names) and all(
            fits(KINDS.get(known.get(self.names[j]) or "", self.convert), row[j])
            for j in self.roles.features
        )

    def _rows(self, first: int, lines: list[str]) -> Iterator[tuple[int, list[str]]]:
        for number, line in enumerate(lines, start=first):
            try:
                yield from super()._rows(number, [line])
            except FileError as error:
                self.bad.append(error)

    def _quickly(self, lines: tuple[int, bytes]) -> None:
        return None

    def _slowly(self, first: int, lines: list[str]) -> Block:
        X, rows, places = [], [], []
        for line, row in self._rows(first, lines):
            if row:
                try:
                    numbers = self._row_of_numbers(line, row)
                    self._labels([[row[j] for j in self.roles.labels]], [line])
                except FileError as error:
                    self.bad.append(error)
                    continue
                X.append(numbers)
                rows.append(row)
                places.append(line)
        self.places += places
        labels = self._labels([[row[j] for j in self.roles.labels] for row in rows], places)
        cells = {j: [row[j] for row in rows] for j in {*self.roles.text, *self.roles.kept}}
        shape = len(rows), len(self.roles.features)
        return self._block(np.array(X, self.options.dtype).reshape(shape), cells, labels)


class TolerantPairs(SvmLight):
    """Lines of svmlight, likewise."""

    def __init__(self, origin: Origin, options: Reading) -> None:
        self.bad, self.places = list[FileError](), list[int]()
        super().__init__(origin, options)

    def _parse(self, first: int, lines: list[bytes]) -> tuple[Any, Any, Any, Any]:
        try:
            found = super()._parse(first, lines)
            self._matrix(*found[1:])
        except FileError as error:
            if len(lines) > 1:
                return self._parse_halves(first, lines)
            self.bad.append(FileError(self.path, error.problem, line=first, column=error.column))
            return [], np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
        words = (split_label(line.partition(b"#")[0])[0] for line in lines)
        self.places += [first + i for i, label in enumerate(words) if label is not None]
        return found

    def _parse_halves(self, first: int, lines: list[bytes]) -> tuple[Any, Any, Any, Any]:
        middle = len(lines) // 2
        left = self._parse(first, lines[:middle])
        right = self._parse(first + middle, lines[middle:])
        numbers = (np.concatenate(pair) for pair in zip(left[1:], right[1:], strict=True))
        return left[0] + right[0], *numbers


def tolerant(path: str, kind: str, text: bytes, options: Reading) -> TolerantTable | TolerantPairs:
    """Text as a file of this kind, which is to be called ``path``."""
    cls = TolerantPairs if kind == "svmlight" else TolerantTable
    return cls(Origin(path, options.max_bytes, text), options.as_before())
