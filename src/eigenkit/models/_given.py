"""Blocks of rows as they are given: functions that begin anew whenever they are asked, tuples, and
whatever has rows.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.estimators._validation import plain_words, readable, tabular
from eigenkit.shell import what_is

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
    """(X, y, weight) of what may lack the last, or the last two."""
    if not isinstance(block, tuple | list) or not 1 <= len(block) <= 3:
        raise ValueError("a block is no (X, y) or (X, y, weight): give tuples of them.")
    X, y, weight = (*block, None, None)[:3]
    return X, y, weight


def sliceable(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The same as things with a shape, of which rows can be taken."""
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
