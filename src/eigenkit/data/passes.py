"""Passes over rows that are never all in memory: parts in threads, sums in one order.

Rows come in *parts*, which come in *blocks*. A part is what one thread, or one worker of a
cluster, sums up by itself; a block is what it has in memory at a time. The sums of the parts are
added in the order of a tree that depends on nothing but their number, so the result has the same
bits for any number of threads, in whatever order the parts finish.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse

from eigenkit.data.matrices import BLOCK_BYTES, moved, row_slices
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import ahead, available, merged, one_blas_thread, tree_sum
from eigenkit.numerics.tolerances import precision

# How many numbers of a block are compared with those of the first pass.
SAMPLED = 256


# Of all columns: means, sums of squares, the smallest and largest numbers, and the filled weight.
OfColumns = tuple[Array, Array, Array, Array, Array]

# The number of rows of a block, a checksum of some numbers of X and the weights, and one of Y (None
# in a pass without Y).
Mark = tuple[int, int, int | None]


class Passes(ABC):
    """Rows that can be passed over as often as needed."""

    @abstractmethod
    def run(self, function: Callable[..., Any], *shared: Any) -> Any:
        """The sum over all parts of ``function(blocks of the part, *shared)``, which must depend on
        nothing else: it may run in another process, and again."""


@dataclass(frozen=True)
class Through(Passes):
    """Other passes, with ``change`` made to every block on the way."""

    passes: Passes
    change: Callable[[Any], Any]

    def run(self, function: Callable[..., Any], *shared: Any) -> Any:
        return self.passes.run(_changed, function, self.change, *shared)


def _changed(
    blocks: Iterable[Any], function: Callable[..., Any], change: Callable[[Any], Any], *shared: Any
) -> Any:
    changed = (change(block) for block in blocks)
    return function((block for block in changed if block[0].shape[0]), *shared)


@dataclass(frozen=True)
class Steady(Passes):
    """Other passes, all of which must bring the same blocks; ``seen`` holds marks of the first."""

    passes: Passes
    seen: list[Marks]

    def run(self, function: Callable[..., Any], *shared: Any) -> Any:
        value, marks = self.passes.run(_marked, function, *shared) or (None, Marks(()))
        if marks.complete and self.seen:
            self.seen[0].compare(marks)
        elif marks.complete:
            self.seen.append(marks)
        return value


@dataclass(frozen=True)
class Marks:
    """What is compared of the blocks of two passes."""

    blocks: tuple[Mark, ...]
    complete: bool = True  # False where a function did not ask for all blocks

    def merge(self, other: Marks) -> Marks:
        return Marks(self.blocks + other.blocks, self.complete and other.complete)

    def compare(self, later: Marks) -> None:
        """Refuse blocks that differ in a later pass."""
        rows, now = (sum(n for n, *_ in marks.blocks) for marks in (self, later))
        if rows != now:
            raise ValueError(
                f"the blocks of X hold {rows} rows in the first pass and {now} in a later one: "
                "give blocks that are the same in every pass."
            )
        pairs = zip(self.blocks, later.blocks, strict=False)
        changed = [i for i, pair in enumerate(pairs) if _differ(*pair)]
        if changed or len(self.blocks) != len(later.blocks):
            which = changed[0] if changed else min(len(self.blocks), len(later.blocks))
            raise ValueError(
                f"block {which} of X holds other numbers in a later pass than in the first: give "
                "blocks that are the same in every pass (for a shuffled source, with a fixed seed)."
            )


def _differ(a: Mark, b: Mark) -> bool:
    return a[:2] != b[:2] or (None not in (a[2], b[2]) and a[2] != b[2])


def _marked(blocks: Iterable[Any], function: Callable[..., Any], *shared: Any) -> tuple[Any, Marks]:
    """The value, and the marks of the blocks."""
    found: list[Mark] = []
    ended: list[bool] = []

    def noted() -> Iterator[Any]:
        for block in blocks:
            yield block
            found.append(_mark(block))  # afterwards, when it has been read from wherever it is
        ended.append(True)

    value = function(noted(), *shared)
    return value, Marks(tuple(found), bool(ended))


def _mark(block: Any) -> Mark:
    X, Y, weight = block
    bare = Y is None or (np.ndim(Y) == 2 and Y.shape[1] == 0)
    rest = b"" if weight is None else _some(weight)
    return X.shape[0], crc32(_some(X) + rest), None if bare else crc32(_some(Y))


def _some(A: Any) -> bytes:
    """Some of the numbers, spread over rows and columns: that takes a small part of a pass."""
    if sparse.issparse(A):
        place = np.linspace(0, A.nnz - 1, min(A.nnz, SAMPLED)).astype(int)
        parts = np.array([A.nnz]), A.data[place], A.indices[place]
        return b"".join(bytes(part.tobytes()) for part in parts)
    A = np.asarray(A).reshape(len(A), -1) if A.ndim != 2 else np.asarray(A)
    rows = np.linspace(0, len(A) - 1, min(A.size, SAMPLED)).astype(int)
    columns = np.arange(len(rows)) % max(1, A.shape[1])
    return bytes(A[rows, columns].tobytes())


@dataclass(frozen=True)
class LocalPasses(Passes):
    """Passes in threads of this process."""

    parts: Callable[[], Iterable[Iterable[Any]]]  # each is an iterable of blocks

    def run(self, function: Callable[..., Any], *shared: Any) -> Any:
        with one_blas_thread:
            found = ahead(lambda part: function(part, *shared), self.parts(), available())
            return tree_sum(value for _, value in found)


# -- what one pass finds out about the columns of X ------------------------------------


@dataclass(frozen=True)
class Survey:
    """Counts, means, squares and ranges of columns; two of them merge."""

    n_rows: int
    n_stored: int
    total: float
    counted: bool
    mean: Array  # weighted, as are the squares
    squares: Array  # sums of w x^2
    low: Array  # the smallest number
    high: Array  # and the largest
    filled: Array  # the weight of the rows in which a column holds something
    is_sparse: bool
    squared_rows: float
    eps: float  # the least precision of a block

    @classmethod
    def of(cls, X: Any, weight: Array | None, m: Array | None = None) -> Survey:
        """The survey of some rows of X, or of X diag(m) where m is given."""
        (n, d), is_sparse = X.shape, sparse.issparse(X)
        rows = np.diff(X.indptr).astype(np.float64) if is_sparse else np.full(n, float(d))
        counted = weight is None or bool(np.all(weight == np.rint(weight)))
        total = float(n if weight is None else weight.sum())
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            columns = (_of_sparse if is_sparse else _of_dense)(X, weight, m, total)
        about = is_sparse, float(rows @ rows), precision(X)
        return cls(n, int(rows.sum()), total, counted, *columns, *about)

    def merge(self, other: Survey) -> Survey:
        """The survey of the rows of both."""
        total = self.total + other.total
        with np.errstate(over="ignore", invalid="ignore"):
            mean = self.mean + (other.total / total) * (other.mean - self.mean)
            squares = self.squares + other.squares
        return Survey(
            n_rows=self.n_rows + other.n_rows,
            n_stored=self.n_stored + other.n_stored,
            total=total,
            counted=self.counted and other.counted,
            mean=mean,
            squares=squares,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            filled=self.filled + other.filled,
            is_sparse=self.is_sparse or other.is_sparse,
            squared_rows=self.squared_rows + other.squared_rows,
            eps=max(self.eps, other.eps),
        )

    @property
    def sizes(self) -> Array:
        """The largest number of each column, in absolute value."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def survey_of(blocks: Iterable[Any], m: Array | None = None) -> Survey | None:
    """The survey of blocks (X, Y, weight); None if there are none."""
    return merged((Survey.of(X, weight, m) for X, _, weight in blocks))


# What follows takes as many numbers at a time as stay in the cache, as they are looked at again and
# again: from memory, and with results in fresh memory, two processes would wait for each other.


def _of_dense(X: Any, weight: Array | None, m: Array | None, total: float) -> OfColumns:
    (n, d), w = X.shape, np.ones(len(X)) if weight is None else weight
    slices = row_slices(X.shape, BLOCK_BYTES)
    room = np.empty((min(slices[0].stop, n), d))
    sums, squares, gaps = np.zeros((3, d))
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    for rows in slices:
        P = _numbers(X[rows], m, room)
        sums += w[rows] @ P
        squares += np.einsum("ij,ij,i->j", P, P, w[rows])
        np.minimum(low, P.min(axis=0), out=low)
        np.maximum(high, P.max(axis=0), out=high)
    mean = sums / total
    for rows in slices:
        P = _numbers(X[rows], m, room)
        gaps += w[rows] @ np.subtract(P, mean, out=room[: len(P)])
    return mean + gaps / total, squares, low, high, np.full(d, total)


def _numbers(X: Any, m: Array | None, room: Array) -> Array:
    """X diag(m) in float64, in the room where it is not there already."""
    if m is None and X.dtype == np.float64:
        return np.asarray(X)
    P = room[: len(X)]
    P[:] = X
    return moved(P, None, m)


def _of_sparse(X: Any, weight: Array | None, m: Array | None, total: float) -> OfColumns:
    d = X.shape[1]
    each = None if weight is None else np.repeat(weight, np.diff(X.indptr))
    rows = np.zeros(d, dtype=np.intp)
    filled, sums, squares = np.zeros((3, d))
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    slices = row_slices((X.nnz, 1), max(BLOCK_BYTES // 4, 32 * d))  # sums are in the cache, too
    size = min(slices[0].stop, X.nnz) if slices else 0
    room, places = np.empty((2, size)), np.empty(size, dtype=np.intp)
    for some in slices:
        data, weighted, index = (A[..., : len(X.data[some])] for A in (*room, places))
        index[:], data[:] = X.indices[some], X.data[some]
        if m is not None:
            data *= m[index]
        np.add.at(rows, index, 1)
        np.minimum.at(low, index, data)
        np.maximum.at(high, index, data)
        if each is not None:
            np.add.at(filled, index, each[some])
        np.multiply(data, 1.0 if each is None else each[some], out=weighted)
        np.add.at(sums, index, weighted)
        np.add.at(squares, index, np.multiply(weighted, data, out=weighted))
    gap = rows < X.shape[0]
    low[gap], high[gap] = np.minimum(low[gap], 0.0), np.maximum(high[gap], 0.0)
    return sums / total, squares, low, high, filled if each is not None else rows.astype(np.float64)
