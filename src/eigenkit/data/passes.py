"""Passes over rows that are never all in memory: parts in threads, sums in one order.

Rows come in *parts*, which come in *blocks*. A part is what one thread, or one worker of a
cluster, sums up by itself; a block is what it has in memory at a time. The sums of the parts are
added in the order of a tree that depends on nothing but their number, so the result has the same
bits whatever the number of threads and whichever part was ready first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenkit.threads import available, blas_threads

# Sums are added in groups of so many, their sums again, and so on: one sum of each level is kept.
FAN_IN = 8


class Passes(ABC):
    """Rows that can be passed over as often as needed."""

    @abstractmethod
    def run(self, function: Callable[..., Any], *shared: Any) -> Any:
        """The sum over all parts of ``function(blocks of the part, *shared)``.

        The function must depend on nothing else: it may run in another process, and again.
        """


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
class Counted(Passes):
    """Other passes, each of which must bring as many rows as the first; ``seen`` holds these."""

    passes: Passes
    seen: list[float]

    def run(self, function: Callable[..., Any], *shared: Any) -> Any:
        value, rows = self.passes.run(_with_count, function, *shared) or (None, 0.0)
        if not self.seen and not np.isnan(rows):
            self.seen.append(rows)
        elif self.seen and not np.isnan(rows) and rows != self.seen[0]:
            raise ValueError(
                f"X is blocks of {self.seen[0]:.0f} rows in the first pass and of {rows:.0f} in a "
                "later one: give blocks that are the same in every pass."
            )
        return value


def _with_count(
    blocks: Iterable[Any], function: Callable[..., Any], *shared: Any
) -> tuple[Any, float]:
    """The value, and the number of rows; NaN where the function did not want all of them."""
    rows = [np.nan]

    def counted() -> Iterator[Any]:
        n = 0
        for block in blocks:
            n += block[0].shape[0]
            yield block
        rows[0] = float(n)

    return function(counted(), *shared), rows[0]


class LocalPasses(Passes):
    """Passes in threads of this process.

    Parameters
    ----------
    parts : callable
        Gives an iterable of parts whenever it is called; a part is an iterable of blocks.
    """

    def __init__(self, parts: Callable[[], Iterable[Iterable[Any]]]) -> None:
        self.parts = parts

    def run(self, function: Callable[..., Any], *shared: Any) -> Any:
        with blas_threads(0):
            return tree_sum(_in_order(lambda part: function(part, *shared), self.parts()))


def _in_order(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    """``map(function, items)`` in threads, with no more items under way than there are threads."""
    threads = available()
    if threads == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="eigenkit-pass") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) == threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def tree_sum(values: Iterable[Any]) -> Any:
    """The sum, in groups of FAN_IN, of groups, and so on; None of nothing."""
    levels: list[tuple[Any, int]] = []
    for value in values:
        _push(levels, value)
    total = None
    for held, count in levels:
        if count:
            total = held if total is None else plus(held, total)
    return total


def _push(levels: list[tuple[Any, int]], value: Any) -> None:
    # Not a function inside of another that calls itself: such a one refers to itself, and would
    # keep the sums alive until somebody collects garbage.
    for level, (held, count) in enumerate(levels):
        value, count = (value, 1) if count == 0 else (plus(held, value), count + 1)
        if count < FAN_IN:
            levels[level] = value, count
            return
        levels[level] = None, 0
    levels.append((value, 1))


def plus(a: Any, b: Any) -> Any:
    """a + b for numbers, arrays (a is overwritten), tuples of them, and what can be merged.

    None is the sum of nothing: of a part without a row that counts.
    """
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tuple):
        return tuple(plus(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        a += b
        return a
    return a.merge(b) if hasattr(a, "merge") else a + b
