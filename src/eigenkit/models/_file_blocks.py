"""Rows of files in blocks, and parsed once for all passes, as numbers in a scratch file."""

from __future__ import annotations

import errno
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files import Block, FileError, Source, Target
from eigenkit.files._common import size
from eigenkit.files._reading import are_names, rows_per_block
from eigenkit.files._streams import held
from eigenkit.files._targets import check_all_complete, join_labels, target_in
from eigenkit.models._features import Blocks, complete, learn_features

Tick = Callable[[str, int], None]


def unsaid(*told: Any) -> None:
    """The default of ``tick`` and ``say``: do nothing."""


def in_blocks(source: Source, tick: Tick) -> Blocks:
    def blocks() -> Iterator[Block]:
        for block in source.blocks(rows_per_block(source)):
            tick("reading", len(block))
            yield block

    return blocks


def labels_of(
    source: Source, blocks: Blocks, missing: str, see: Callable[[Block], Any] = unsaid
) -> tuple[Any, list[Any]]:
    """The labels of all rows, and what ``see`` gives for each of their blocks.

    Whether digits are names is known when all labels are: if they are, the rows are read again.
    """
    labels, seen = [], []
    for block in blocks():
        if missing != "drop":
            check_all_complete(source, block)
        if len(block):
            labels.append(block.labels)
            seen.append(see(block))
    if not seen:
        raise source.no_rows("every row has a missing value: nothing is left to fit.")
    joined = join_labels(labels)
    if are_names(source, joined):
        return labels_of(source, blocks, missing, see)
    return joined, seen


def parsed(
    source: Source, scale: str, missing: str, folder: str | None, *, part: bool = False
) -> tuple[list[Stored], Target | None]:
    """The rows of a file, or of a part of all, in a scratch file, and what their labels are.

    The file is parsed once if nothing is learned from the features (scales, means in place of
    missing values, words), and otherwise once more for each of those.
    """
    task = source.options.task
    if task == "classes":
        source.take_labels_as_words()
    scratch = Scratch(folder)
    blocks = partial(complete, in_blocks(source, unsaid), missing, source.named_cells)
    simple = scale == "none" and missing == "error" and not source.text_names

    def keep(block: Block) -> tuple[tuple[str, Any, int], Stored | None]:
        X = None
        if simple:  # which refuses a missing value by its row and column
            plain = learn_features(source, partial(iter, [block]))
            X = Stored.of(scratch, plain.matrix(source.path, block))
        return (block.path or source.path, block.labels, block.start), X

    labels, kept = labels_of(source, blocks, missing, keep)
    found, stored = map(list, zip(*kept, strict=True))
    target = None if labels is None else target_in(source, labels, task, part=part)
    if not simple:
        features = learn_features(source, blocks, scale=scale, missing=missing)
        some = (features.matrix(source.path, block) for block in blocks() if len(block))
        stored = [Stored.of(scratch, X) for X in some]
    if target is not None:
        pairs = zip(stored, found, strict=True)
        stored = [block.with_y(target, target.encode(*labels)) for block, labels in pairs]
    return stored, target


# -- the scratch file -------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where an array is in the file."""

    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


class Scratch:
    """Arrays in a temporary file without a name, which vanishes with its handle or process.

    By default it is in the folder for temporary files (``TMPDIR``).
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder or tempfile.gettempdir()
        self.n_bytes = 0
        self._lock = threading.Lock()
        try:
            file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise FileError(
                self.folder, f"no scratch file can be made there ({error.strerror})."
            ) from error
        self._file: Any = held(self, file)

    def put(self, array: np.ndarray) -> Place:
        """Keep a copy of an array of numbers."""
        array = np.ascontiguousarray(array)
        place = Place(self.n_bytes, array.dtype, array.shape)
        left = _bytes_of(array)
        try:
            while left.nbytes:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._file.close()
            problem = f"the scratch file cannot be written ({error.strerror})."
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                problem = (
                    f"the disk is full after {size(self.n_bytes)} of parsed rows: set TMPDIR, or "
                    "scratch=, to a folder with more room."
                )
            raise FileError(self.folder, problem) from error
        self.n_bytes += array.nbytes
        return place

    def get(self, place: Place) -> np.ndarray:
        """Read an array back."""
        array = np.empty(place.shape, dtype=place.dtype)
        left = _bytes_of(array)
        with self._lock:
            self._file.seek(place.offset)
            while left.nbytes:
                n = self._file.readinto(left)
                if not n:
                    raise FileError(self.folder, "the scratch file has become shorter.")
                left = left[n:]
        return array

    def views(self, places: Mapping[str, Place]) -> dict[str, np.ndarray]:
        """Arrays mapped from the file, which lasts as long as they do."""
        mapped = np.memmap(self._file, np.uint8, "r") if self.n_bytes else np.empty(0, np.uint8)
        stored = np.asarray(mapped)
        return {
            name: stored[p.offset : p.offset + p.n_bytes].view(p.dtype).reshape(p.shape)
            for name, p in places.items()
        }


@dataclass(frozen=True)
class Stored:
    """One block in a scratch file; y holds positions in ``names`` if these are given."""

    scratch: Scratch
    X: tuple[Place, ...]
    shape: tuple[int, int]
    y: Place | None = None
    names: np.ndarray | None = None

    @classmethod
    def of(cls, scratch: Scratch, X: Any) -> Stored:
        """Keep the X of a block."""
        parts: tuple[np.ndarray, ...] = (X,)
        if sparse.issparse(X):
            index = np.int32 if max(X.shape[1], X.nnz) < 2**31 else np.int64
            parts = X.data, X.indices.astype(index), X.indptr.astype(index)
        return cls(scratch, tuple(scratch.put(part) for part in parts), X.shape)

    def with_y(self, target: Target, y: np.ndarray) -> Stored:
        """With the encoded labels, in as few bytes as they need."""
        if target.kind != "classes":
            y = y.astype(np.uint8) if target.kind == "labels" else y
            return replace(self, y=self.scratch.put(y))
        place = {name: i for i, name in enumerate(target.names)}
        codes = np.array([place[str(cell)] for cell in y], dtype=np.int32)
        return replace(self, y=self.scratch.put(codes), names=np.array(target.names))

    @property
    def n_bytes(self) -> int:
        return sum(place.n_bytes for place in self.X)

    def read(self, width: int) -> tuple[Any, Any, Any]:
        """(X, y, weight), with X of ``width`` columns; rows of files have no weights."""
        parts = [self.scratch.get(place) for place in self.X]
        X: Any = parts[0]
        if len(parts) == 3:
            X = sparse.csr_array(tuple(parts), shape=(self.shape[0], width))
        y = None if self.y is None else self.scratch.get(self.y)
        return X, y if self.names is None or y is None else self.names[y], None


def _bytes_of(array: Any) -> memoryview:
    return memoryview(array).cast("B") if array.size else memoryview(b"")
