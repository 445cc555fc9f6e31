"""Functions that give blocks of rows, which must begin anew whenever they are asked."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

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
