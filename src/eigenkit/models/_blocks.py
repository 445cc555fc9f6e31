"""Rows in blocks: as users give them, and of files, parsed once into a scratch file."""

from __future__ import annotations

import errno
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.estimators._validation import plain_words, readable, tabular
from eigenkit.files import Block, FileError, Source, Target, size
from eigenkit.files._reading import are_names, rows_per_block
from eigenkit.files._streams import held
from eigenkit.files._targets import check_all_complete, join_labels, target_in
from eigenkit.models._features import Blocks, complete, learn_features
from eigenkit.shell import check_count, what_is

# Arrays are cut into blocks of about this size.
BLOCK_BYTES = 2**24
# Blocks are put together in at least this many parts, of at most this size.
PARTS = 32
PART_BYTES = 2**29

ADVICE = "give a function that makes a new iterable of (X, y) at every call."


def anew(blocks: Any) -> Callable[[], Iterable[Any]]:
    """``blocks``, which must be a function that gives a new iterable at every call."""
    if not callable(blocks):
        raise TypeError(f"blocks is {what_is(blocks)}: {ADVICE}")
    before: list[Callable[[], Any]] = []

    def ask() -> Iterable[Any]:
        found: Iterable[Any] = blocks()
        if isinstance(found, Iterator):
            if before and before[0]() is found:
                raise ValueError(f"blocks gives the same {type(found).__name__} twice: {ADVICE}")
            try:  # where that is possible, weakly: a generator may hold a block or an open file
                before[:] = [weakref.ref(found)]
            except TypeError:
                before[:] = [lambda: found]
        return found

    return ask


def triple(block: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """(X, y, weight) of a tuple that may lack the last one or two."""
    if not isinstance(block, tuple | list) or not 1 <= len(block) <= 3:
        raise ValueError("a block is not (X, y) or (X, y, weight): give such tuples.")
    X, y, weight = (*block, None, None)[:3]
    return X, y, weight


def sliceable(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The same as objects with a shape, whose rows can be taken."""
    y = None if y is None else _with_rows("y", y)
    weight = None if weight is None else _with_rows("the weights", weight)
    return _with_rows("X", X), y, weight


def _with_rows(name: str, A: Any) -> Any:
    if sparse.issparse(A):
        return A.tocsr()
    A = tabular(A)
    if hasattr(A, "shape"):
        return A
    readable(name, A)
    with plain_words(name):
        return np.asarray(A)


def taken(A: Any, rows: Any) -> Any:
    """Some rows of an array, a matrix or a frame."""
    return None if A is None else A.iloc[rows] if hasattr(A, "iloc") else A[rows]


# From a part, a block of it, and which rows have a weight, to the fold of each row; -1 for none.
Assigned = Callable[[int, int, np.ndarray], np.ndarray]


def drawn(n: int, seed: int) -> Assigned:
    """n folds at random."""
    if check_count("n", n) < 2:
        raise ValueError("n=1 leaves no rows to fit: give at least 2 folds.")

    def assigned(p: int, b: int, there: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng([seed, p, b])
        folds = np.full(len(there), -1)
        folds[there] = rng.permutation(int(there.sum())) % n
        # If all small blocks began with the same fold, that would have the most rows.
        folds[there] = (folds[there] + rng.integers(n)) % n
        return folds

    return assigned


def in_fold(
    part: Iterable[Any], p: int, assigned: Assigned, fold: int, held_out: bool
) -> Iterator[Any]:
    """The rows of a fold, or all others, in the blocks of part p."""
    for b, block in enumerate(part):
        X, *others = sliceable(*block)
        there = np.ones(X.shape[0], bool) if others[1] is None else np.ravel(others[1]) != 0
        rows = np.flatnonzero((assigned(p, b, there) == fold) == held_out)
        if len(rows):
            yield tuple(taken(each, rows) for each in (X, *others))


def cut(X: Any, block_bytes: int) -> Iterator[tuple[int, slice]]:
    """The rows of blocks, each with its size."""
    n = X.shape[0]
    if sparse.issparse(X):
        n_bytes = int(X.nnz * 12)
    else:
        n_bytes = int(X.nbytes if hasattr(X, "nbytes") else 8 * np.prod(X.shape, dtype=np.int64))
    step = max(1, int(n * block_bytes / max(n_bytes, 1)))
    for start in range(0, n, step):
        yield n_bytes * min(step, n - start) // n, slice(start, start + step)


def grouped(items: Sequence[Any], sizes: Sequence[int]) -> list[list[Any]]:
    """Consecutive items in parts of about equal sizes, which depend on the sizes alone.

    Many parts keep threads busy; but every part has sums of its own, which pays if it is large.
    """
    most = min(max(sum(sizes) // PARTS, 1), PART_BYTES)
    groups: list[list[Any]] = [[]]
    total = 0
    for item, n_bytes in zip(items, sizes, strict=True):
        if groups[-1] and total + n_bytes > most:
            groups.append([])
            total = 0
        groups[-1].append(item)
        total += n_bytes
    return groups


# -- rows of files -----------------------------------------------------------------------

Tick = Callable[[str, int], None]


def unsaid(*told: Any) -> None:
    """The default of ``tick`` and ``say``: do nothing."""


def in_blocks(source: Source, tick: Tick) -> Iterator[Block]:
    for block in source.blocks(rows_per_block(source)):
        tick("reading", len(block))
        yield block


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
    every = partial(in_blocks, source, unsaid)
    blocks = partial(complete, every, missing, source.named_cells)
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
    n_bytes: int


class Scratch:
    """Arrays in a temporary file without a name (by default in the folder for such files,
    ``TMPDIR``), which vanishes with its handle or process.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder or tempfile.gettempdir()
        self.n_bytes = 0
        self._lock = threading.Lock()
        try:
            file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            problem = f"no scratch file can be made there ({error.strerror})."
            raise FileError(self.folder, problem) from error
        self._file: Any = held(self, file)

    def put(self, array: np.ndarray) -> Place:
        """Keep a copy of an array of numbers."""
        array = np.ascontiguousarray(array)
        place = Place(self.n_bytes, array.dtype, array.shape, array.nbytes)
        left = array.reshape(-1).view(np.uint8)
        try:
            while left.nbytes:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._file.close()
            problem = f"the scratch file cannot be written ({error.strerror})."
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                problem = f"the disk is full after {size(self.n_bytes)} of parsed rows"
                problem += ": set TMPDIR, or scratch=, to a folder with more room."
            raise FileError(self.folder, problem) from error
        self.n_bytes += array.nbytes
        return place

    def get(self, place: Place) -> np.ndarray:
        """Read an array back."""
        array = np.empty(place.shape, dtype=place.dtype)
        left = array.reshape(-1).view(np.uint8)
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
        parts = {name: stored[p.offset : p.offset + p.n_bytes] for name, p in places.items()}
        return {name: parts[name].view(p.dtype).reshape(p.shape) for name, p in places.items()}


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
