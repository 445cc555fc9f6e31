"""Lines of a growing file as X and y, and which of them are bad."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenkit.files import Block, FileError, Reading, Source, open_file
from eigenkit.files._checks import halved, placed
from eigenkit.files._delimited import Delimited
from eigenkit.files._errors import SKIP
from eigenkit.files._reading import rows_per_block, stacked
from eigenkit.files._tolerant import tolerant
from eigenkit.models._model import Model
from eigenkit.shell import shown

# Formats whose rows are lines, and which of them may have a line of names above them.
LINES = {"csv": True, "tsv": True, "svmlight": False}


@dataclass
class Layout:
    """How the rows of a file are read, as its first rows have shown."""

    model: Model
    path: str
    kind: str
    options: Reading
    header: bytes = b""  # the lines up to the names; empty if there are no names
    kinds: dict[int, str] | None = None  # of the columns that do not hold numbers

    def begin(self, above: bytes, text: bytes) -> None:
        """Find out from the first line and the text after it whether that line holds names."""
        if self.kind == "svmlight":
            return
        try:
            named = bool(self.tolerant(above + text).header)
        except FileError:  # names and no rows; or the first row will say what is wrong
            named = True
        self.options = replace(self.options, header=named)
        self.header = above if named else b""

    def tolerant(self, text: bytes) -> Any:
        """A reader for text in which some lines may be bad."""
        return tolerant(self.path, self.kind, text, replace(self.options, format=self.kind))

    def check(self, source: Source) -> None:
        """Refuse rows that would be read as another kind of table than the file is."""
        if not isinstance(source, Delimited):
            return
        named = self.model.how.get("found", {}).get("index") is not None
        nameless = self.header.lstrip(b'" ').startswith(source.found["delimiter"].encode())
        if source.names[0] == "" and not nameless and not named:
            n = len(source.names)
            raise source.error(f"{n} cells, where the first row has {n - 1}: correct the row.")
        if self.kinds is None:
            self.kinds = source.kinds
        for j in source.kinds:
            if source.kinds[j] != self.kinds.get(j):
                problem = "a row holds no number, where those before do: correct it."
                raise source.error(problem, column=source.names[j])

    def encoded(self, block: Block) -> tuple[Any, np.ndarray]:
        """X and y of a block."""
        model, block = self.model, replace(block, path=self.path)
        if block.labels is None:
            names = ", ".join(model.target.columns)
            raise FileError(self.path, f"its rows hold no labels: the model knows {names}.")
        try:
            y = model.target.encode(self.path, block.labels, block.start)
        except FileError as error:  # named with the remedies that following a file has
            what = error.problem.split(": ", 1)[0].rstrip(".")
            raise FileError(self.path, f"{what}: correct it, or {SKIP}.") from error
        classes = model.target.kind == "classes"
        for i in np.flatnonzero(~np.isin(y.astype(str), model.target.names)) if classes else ():
            what = f"the class {shown(y[i])} in row {block.start + i + 1} is not one"
            remedy = f"correct it, {SKIP}, or fit a model to rows that have it."
            raise FileError(self.path, f"{what} that the model knows: {remedy}")
        return model.features.matrix(self.path, block), y


@dataclass(frozen=True)
class Arrivals:
    """Lines as X and y, parsed when the stream asks for them."""

    layout: Layout
    text: bytes
    begin: int
    end: int
    n_before: int  # lines of rows before the text
    estimator: Any
    skip: bool

    def __call__(self) -> tuple[Any, np.ndarray, dict[str, Any]]:
        layout = self.layout
        options = replace(layout.options, format=layout.kind)
        source = open_file(layout.path, options, layout.header + self.text)
        layout.check(source)
        blocks = source.blocks(rows_per_block(source))
        numbered = (replace(b, start=self.n_before + b.start) for b in blocks)
        return self._given([layout.encoded(block) for block in numbered])

    def _given(self, parts: list[tuple[Any, np.ndarray]]) -> tuple[Any, np.ndarray, dict[str, Any]]:
        X, y = stacked([X for X, _ in parts]), np.concatenate([y for _, y in parts])
        return X, y, self.layout.model.target.in_parts()

    def sound(self) -> tuple[Any, list[tuple[int, ValueError]]]:
        """The batch without its bad rows; for each of them, where it ends and what is wrong.

        Every row is looked at a few times at most, however many are bad.
        """
        header, bad = self.layout.header, list[tuple[int, FileError]]()
        # The lines are divided as the reader divides them.
        pairs = self.layout.kind == "svmlight"
        lines = [*io.BytesIO(self.text)] if pairs else self.text.splitlines(True)
        ends = [self.end - len(self.text) + n for n in accumulate(map(len, lines))]
        source, above = self.layout.tolerant(header + self.text), header.count(b"\n")
        self.layout.check(source)
        parts: list[tuple[Any, np.ndarray]] = []
        for block in source.blocks(len(lines) + 1):
            places, known = block.lines - above - 1, self._line(0) is not None
            parts += self._apart(block if known else replace(block, lines=None), places, bad)
        for error in source.bad:
            bad.append((error.line - above - 1, self._placed(error, error.line - above - 1)))
        # The remedy is known where the row is skipped, and else there is one more.
        tell = FileError.without_remedy if self.skip else FileError.skippable
        bad.sort(key=lambda each: each[0])
        if not parts:
            parts = [(np.empty((0, self.layout.model.features.n_features)), np.empty(0))]
        return self._given(parts), [(ends[i], tell(error)) for i, error in bad]

    def _apart(self, block: Block, places: np.ndarray, bad: list[Any]) -> list[Any]:
        """X and y of the good rows; rows that only the estimator refuses are bad, too."""
        found: list[tuple[int, Exception]] = []
        index = np.arange(len(block))

        def encoded(some: np.ndarray) -> Any:
            start = self.n_before + int(places[some[0]])
            return self.layout.encoded(replace(block.take(some), start=start))

        def taken(some: np.ndarray) -> Any:
            X, y = encoded(some)
            clone(self.estimator).partial_fit(X, y, **self.layout.model.target.in_parts())
            return X, y

        halved(encoded, index, found)
        good = np.setdiff1d(index, [i for i, _ in found])
        parts = halved(taken, good, found)
        bad += [(int(places[i]), self._placed(error, int(places[i]))) for i, error in found]
        return parts

    def _placed(self, error: Exception, i: int) -> FileError:
        """The error with the place in the file of line ``i`` of the text."""
        line = self._line(i)
        if line is None and isinstance(error, FileError) and error.line is not None:
            return FileError(self.layout.path, error.problem, column=error.column)
        return placed(error, self.layout.path, line)

    def _line(self, i: int) -> int | None:
        """The number of a line in the file; None if it is unknown, as in standard input."""
        known = self.layout.path != "-" or self.begin == 0
        return self.n_before + self.layout.header.count(b"\n") + i + 1 if known else None
