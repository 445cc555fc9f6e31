"""Blocks of rows as users give them, and how they are cut, divided into folds and grouped."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.estimators._validation import plain_words, readable, tabular
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
            before[:] = [_reference(found)]
        return found

    return ask


def _reference(iterator: Iterator[Any]) -> Callable[[], Any]:
    """A weak reference where that is possible: a generator may hold a block or an open file."""
    try:
        return weakref.ref(iterator)
    except TypeError:
        return lambda: iterator


def triple(block: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """(X, y, weight) of a tuple that may lack the last one or two."""
    if not isinstance(block, tuple | list) or not 1 <= len(block) <= 3:
        raise ValueError("a block is not (X, y) or (X, y, weight): give such tuples.")
    X, y, weight = (*block, None, None)[:3]
    return X, y, weight


def sliceable(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The same as objects with a shape, whose rows can be taken."""
    y, weight = (
        None if A is None else _with_rows(name, A)
        for name, A in (("y", y), ("the weights", weight))
    )
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


def n_bytes_of(X: Any) -> int:
    if sparse.issparse(X):
        return int(X.nnz * 12)
    return int(X.nbytes if hasattr(X, "nbytes") else 8 * np.prod(X.shape, dtype=np.int64))


def cut(X: Any, y: Any, weight: Any, block_bytes: int) -> Iterator[tuple[int, Callable[[], Any]]]:
    """Blocks of rows, each as its size and a function that gives it."""
    n = X.shape[0]
    size = n_bytes_of(X)
    step = max(1, int(n * block_bytes / max(size, 1)))

    def rows_of(start: int) -> Callable[[], tuple[Any, ...]]:
        rows = slice(start, start + step)
        return lambda: tuple(taken(each, rows) for each in (X, y, weight))

    for start in range(0, n, step):
        yield size * min(step, n - start) // n, rows_of(start)


def grouped(items: Sequence[Any], sizes: Sequence[int]) -> list[list[Any]]:
    """Consecutive items in parts of about equal sizes, which depend on the sizes alone.

    Many parts keep threads busy; but every part has sums of its own, which pays if it is large.
    """
    most = min(max(sum(sizes) // PARTS, 1), PART_BYTES)
    groups: list[list[Any]] = [[]]
    held = 0
    for item, size in zip(items, sizes, strict=True):
        if groups[-1] and held + size > most:
            groups.append([])
            held = 0
        groups[-1].append(item)
        held += size
    return groups
