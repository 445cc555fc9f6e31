"""Rows that keep arriving at the end of a file, taken into a model exactly once."""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any
from zlib import crc32

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from eigenkit.files import FileError, Reading
from eigenkit.files._reading import ARFF
from eigenkit.files._streams import begins_as
from eigenkit.models._followed_lines import LINES, Arrivals, Layout
from eigenkit.models._linear import cannot_follow, of_stream
from eigenkit.models._model import Model, save
from eigenkit.models._stream import Stream
from eigenkit.shell import counted

# Seconds between looks at a file that has not grown.
_POLL = 1.0
# Text that is taken in at once.
_CHUNK = 2**22
# Bytes by which a file is recognized: so many at its beginning, and before the place reached.
_MARKED = 4096
# What to do about a file whose counted rows have changed.
_CHANGED = (
    "the model has counted its old rows; if it holds only new rows now, use a new --checkpoint, "
    "and if not, also restore the model from before or fit it again, so that no row counts twice."
)


def lines_from(path: str, position: int, once: bool) -> Iterator[tuple[int, bytes]]:
    """Where new whole lines of a growing file or of standard input begin, and these lines.

    They are empty while there are none. Standard input ends when its writer closes it, a file only
    if ``once``.
    """
    if path == "-":
        yield from _from_input(sys.stdin.buffer, position)
        return
    while True:
        _check_there(path, position)
        size = Path(path).stat().st_size if Path(path).exists() else 0
        if size < position:
            what = f"it has {size} bytes, but {position} were read before"
            raise FileError(path, f"{what}: it was truncated or replaced, and {_CHANGED}")
        with open(path, "rb") as stream:
            stream.seek(position)
            text = stream.read(_CHUNK)
        whole = text[: text.rfind(b"\n") + 1]
        if len(text) == _CHUNK and not whole:
            what = f"the line after byte {position} has more than {_CHUNK} bytes"
            raise FileError(path, f"{what}, the limit of follow: use fit for this file.")
        if once and not whole:
            _tell_of_rest(path, text)
            return
        if whole:
            yield position, whole
            position += len(whole)
            continue
        yield position, b""
        time.sleep(_POLL)


def _check_there(path: str, position: int) -> None:
    if position and not Path(path).exists():
        raise FileError(
            path,
            "the file is gone: if it was rotated, follow it under its new name with the same "
            "--checkpoint and --once, which reads its last rows, and then the new file with a new "
            "--checkpoint.",
        )


def _tell_of_rest(path: str, rest: bytes) -> None:
    """Warn of half a line: it looks like a whole one, and half a number like a number."""
    if rest.strip():
        what = "the last line does not end with a newline, so it may be incomplete"
        remedy = "if it is complete, add a newline, or use standard input."
        warnings.warn(f"{path}: {what}: it will count once it does; {remedy}", stacklevel=2)


def _from_input(stream: IO[bytes], position: int) -> Iterator[tuple[int, bytes]]:
    rest = b""
    while piece := stream.read1(_CHUNK):  # type: ignore[attr-defined]
        whole, found, rest = (rest + piece).rpartition(b"\n")
        if found:
            yield position, whole + found
            position += len(whole) + 1
    if rest:
        yield position, rest


class Follower:
    """A model that is fed with the rows of a file as they arrive.

    The model says how rows are read and what is fitted; if it keeps a stream, that goes on. Its
    file is replaced as a whole, as often as its state is, and an interrupted run goes on from the
    ``checkpoint``. Further arguments are those of :class:`Stream`.
    """

    def __init__(
        self, model: Model, place: str | Path, checkpoint: str | Path, options: Reading, **how: Any
    ) -> None:
        if problem := cannot_follow(model):
            raise ValueError(problem)
        self.model, self.place, self.options = model, Path(place), options
        mark = options.as_before().comment
        told = b"(?!" + re.escape(mark.encode()) + b")" if mark else b""
        # A line that is neither blank nor a comment.
        self.row = re.compile(b"^" + told + rb".*\S", re.MULTILINE)
        begins, has_stream = not Path(checkpoint).exists(), "_intake_" in vars(model.estimator)
        self.forgets, self.adds = begins and not has_stream, begins and has_stream
        estimator = model.estimator if self.adds else clone(model.estimator)
        self.stream = Stream(estimator, checkpoint, source=_rows_of(model), **how)
        self.n_held = self.stream.n_rows  # rows that the model or the state had before this run
        self._layout: Layout | None = None
        self._n_passed = 0  # lines of rows so far, taken or skipped
        # Checksums of everything so far, and of some bytes, which is quick.
        self._sum, self._ends = 0, ""
        self._saved = time.monotonic()
        # The position of the model file, which is unknown after a run that may have been killed.
        self._kept = None if begins else -1

    def follow(self, path: str, *, once: bool, say: Callable[[str], None]) -> None:
        """Take in the rows that are there and those that come, until the file or the user ends."""
        with self.stream:
            self._begin(path, say)
            try:
                for begin, text in lines_from(path, self.stream.position or 0, once):
                    if text:
                        self._take(begin, text)
                    if time.monotonic() - self._saved >= self.stream.every:
                        self.save(say)
            finally:
                self.stream.close()
                self.save(say)

    def _begin(self, path: str, say: Callable[[str], None]) -> None:
        """Check that the file can be followed, and say what that means for the model."""
        kind = self.options.format or ("svmlight" if self.model.features.names is None else "csv")
        if kind not in LINES:
            raise _not_lines(path, kind)
        if path != "-" and Path(path).exists():
            _check_lines(path, _first(path))
        rows = "standard input" if path == "-" else path
        if self.forgets:
            sums = f"the sums of its {counted(self.model.how['n_rows'], 'row')}"
            what = f"{self.place.name} does not keep {sums}, so these will not count"
            begins = "the model starts again with the first new row"
            remedy = "fit --checkpoint writes one that continues."
            warnings.warn(f"{what}: {begins}; {remedy}", stacklevel=2)
            how = {**self.model.how, "data": "rows of standard input" if path == "-" else path}
            self.model = replace(self.model, how=how)
        if self.adds:
            held = counted(self.n_held, "row")
            say(f"{self.place.name} already has {held}; those of {rows} are added.")
        self.path, self.kind = path, kind
        self._look_back(self.stream.position or 0)

    def _take(self, begin: int, lines: bytes) -> None:
        path, text, before = self.path, lines, self._sum
        if path != "-" and self._ends != _ends(path, self.stream.position or 0):
            raise self._changed()
        if path == "-" and self._layout is None:
            _check_lines(path, text)
        if self._layout is None and self.row.search(text):
            # Every input begins with the names; those of a file may end within these lines.
            self._layout = self._found(text if path == "-" else _first(path, begin + len(lines)))
            header = self._layout.header
            names = text[: max(0, len(header) - (0 if path == "-" else begin))]
            text, before = text[len(names) :], crc32(names, before)
            self._n_passed += names.count(b"\n") - header.count(b"\n")
        if self._layout is not None and self.row.search(text):
            last, end = self.stream.position, begin + len(lines)
            after = begin if last is None else last  # there may be blank lines in between
            how = self._n_passed, self.stream.estimator, self.stream.on_error == "skip"
            rows = Arrivals(self._layout, text, after, end, *how)
            mark = None if path == "-" else f"all {crc32(text, before):08x}"
            self.stream.feed(rows, position=end, after=after, mark=mark, sound=rows.sound)
        self._n_passed += text.count(b"\n")
        self._sum = crc32(lines, self._sum)
        if path != "-":
            self._ends = _ends(path, self.stream.position or 0)

    def _found(self, text: bytes) -> Layout:
        """How the rows of the file are read, by its first bytes."""
        row = self.row.search(text)
        # The lines up to the first that is neither blank nor a comment, which may hold names.
        above = b"" if row is None else text[: text.find(b"\n", row.end()) + 1 or len(text)]
        layout = Layout(self.model, self.path, self.kind, self.options)
        layout.begin(above, text[len(above) :])
        return layout

    def _look_back(self, position: int) -> None:
        """Count the lines taken in before, after checking that they are unchanged."""
        path = self.path
        if path == "-":
            self._n_passed = 0 if self.adds else self.stream.n_rows + self.stream.n_skipped
            return
        _check_there(path, position)
        n_lines, n_bytes, self._sum = 0, 0, 0
        with open(path, "rb") as stream:
            while piece := stream.read(min(position - n_bytes, _CHUNK)):
                n_lines, n_bytes = n_lines + piece.count(b"\n"), n_bytes + len(piece)
                self._sum = crc32(piece, self._sum)
        if position:
            self._layout = self._found(_first(path))
            self._n_passed = max(0, n_lines - self._layout.header.count(b"\n"))
        self._ends, mark = _ends(path, position), self.stream.mark or ""
        # Earlier marks did not begin with "all".
        if n_bytes == position and mark.startswith("all ") and mark != f"all {self._sum:08x}":
            raise self._changed()

    def _changed(self) -> FileError:
        what = f"its first {self.stream.position} bytes are not those that were read before"
        return FileError(self.path, f"{what}: it was changed or replaced, and {_CHANGED}")

    def save(self, say: Callable[[str], None]) -> None:
        """Replace the model file, if there are new rows and the stream can be solved."""
        self._saved = time.monotonic()
        estimator, position = self.stream.estimator, self.stream.position
        if position == self._kept or vars(estimator).get("_intake_") is None:
            return
        try:
            estimator._intake_.fitted()
        except NotFittedError:  # there are too few rows
            return
        told = {"n_rows": self.stream.n_rows, "quality": None}  # which was measured before
        how = {**self.model.how, **told, "followed": True}
        linear = self.model.linear and of_stream(estimator, self.model.target)
        save(replace(self.model, estimator=estimator, linear=linear, how=how), self.place)
        self._kept = position
        skipped = f", {self.stream.n_skipped} skipped" if self.stream.n_skipped else ""
        say(f"{counted(self.stream.n_rows, 'row')} in {self.place.name}{skipped}")


def _check_lines(path: str, text: bytes) -> None:
    """Refuse a file whose first bytes show that it does not grow by lines of text."""
    kind = begins_as(text) or ("arff" if ARFF.match(text[:_MARKED]) else None)
    if kind is not None:
        raise _not_lines(path, {"npz": "NPZ", "parquet": "Parquet", "arff": "ARFF"}.get(kind, kind))


def _not_lines(path: str, kind: str) -> FileError:
    """The refusal of a format that does not grow by lines."""
    lines = "a text file that grows by lines (CSV, TSV or svmlight, not compressed)"
    return FileError(path, f"{kind} files cannot be followed: give {lines}, or fit this one.")


def _rows_of(model: Model) -> str:
    """A text by which the rows of this model are told from those of others."""
    words = [*model.features.feature_names(), model.target.kind, *model.target.names]
    checksum = crc32("\0".join(words).encode())
    for numbers in (model.features.scale, model.features.fill):
        checksum = crc32(np.asarray(numbers, dtype=np.float64).tobytes(), checksum)
    features = counted(model.features.n_features, "feature")
    return f"rows of {features} and {len(model.target.names)} {model.target.kind}, {checksum:08x}"


def _ends(path: str, end: int) -> str:
    """A checksum of the first bytes of a file, and of the last ones before ``end``."""
    with open(path, "rb") as stream:
        first = stream.read(min(end, _MARKED))
        stream.seek(max(0, end - _MARKED))
        return f"{crc32(first + stream.read(min(end, _MARKED))):08x}"


def _first(path: str, n: int = 0) -> bytes:
    """The first bytes of a file, at least ``n`` if there are so many."""
    with open(path, "rb") as stream:
        return stream.read(max(n, _CHUNK))
