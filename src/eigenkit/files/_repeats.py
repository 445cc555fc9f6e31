"""Rows that are copies of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files._common import Block

# Rows that are hashed at once.
_AT_ONCE = 10_000
# Equal rows are copies, and not chance, if this many times more different rows are possible.
_ROOM = 100


def repeated_rows(block: Block, groups: np.ndarray | None) -> int:
    """How many rows are copies, with text and labels, of earlier rows in other groups.

    If only few different rows are possible, as with a few answers, none are counted.
    """
    seen = np.zeros(len(block), dtype=np.uint64)
    for key, column in enumerate(_columns_of(block), start=2):
        seen += _entries(column, np.array([-key]))  # a number that no column has
    seen += _of_numbers(block.X)
    distinct, which = np.unique(seen, return_inverse=True)
    pairs = len(block)
    if groups is not None:
        pairs = len(np.unique(which * len(block) + _codes(groups)))
    if pairs == len(distinct) or _few_are_possible(block):
        return 0
    return int(pairs - len(distinct))


def _columns_of(block: Block) -> Iterator[np.ndarray]:
    """Text and labels as numbers of their distinct values."""
    yield from map(_codes, block.text.values())
    if isinstance(block.labels, np.ndarray):
        yield from map(_codes, block.labels.T)
    elif block.labels is not None:
        yield _codes(block.labels)


def _codes(cells: Iterable[Any]) -> np.ndarray:
    place: dict[Any, int] = {}
    return np.array([place.setdefault(cell, len(place)) for cell in cells], dtype=np.int64)


def _of_numbers(X: Any) -> np.ndarray:
    """A sum over the entries of every row, each hashed together with its column."""
    if sparse.issparse(X):
        ends = np.append(np.uint64(0), np.cumsum(_entries(X.data, X.indices), dtype=np.uint64))
        return np.asarray(ends[X.indptr[1:]] - ends[X.indptr[:-1]])
    starts = range(0, len(X), _AT_ONCE)
    places = np.arange(X.shape[1])
    sums = [_entries(X[i : i + _AT_ONCE], places).sum(axis=1, dtype=np.uint64) for i in starts]
    return np.concatenate(sums)


def _entries(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.uint64)
    return _mixed(bits ^ _mixed(places.astype(np.uint64) + np.uint64(1)))


def _mixed(bits: np.ndarray) -> np.ndarray:
    """A hash in which every bit depends on all: the last step of SplitMix64."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def _few_are_possible(block: Block) -> bool:
    """Whether the columns have too few values for many more different rows than there are."""
    possible = 1
    for column in chain(_columns_in(block.X), map(_codes, block.text.values())):
        possible *= len(np.unique(column))
        if possible > _ROOM * len(block):
            return False
    return True


def _columns_in(X: Any) -> Iterator[Any]:
    if not sparse.issparse(X):
        yield from X.T
        return
    A = sparse.csc_array(X)
    for begin, end in pairwise(A.indptr):
        yield np.append(A.data[begin:end], 0.0)
