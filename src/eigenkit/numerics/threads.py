"""The one home of threads: ours, the sums of their results, and how many BLAS may use meanwhile.

BLAS has one setting for the whole process. It is lowered while somebody needs that, counted
over all Python threads, and put back when the last one has finished, in whatever order they do.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache, reduce
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from eigenkit.numerics.compiled import WIDEST

# Up to this order a factorization gains less from a second BLAS thread than it loses to the idle
# threads of the other BLAS.
SMALL = 2500

# With fewer multiplications than this, handing work to threads takes longer than doing it.
WORTH_THREADS = 1e6

# Rows are handed to threads in this many parts: more than there are threads, so that one which
# has to share its core holds up the others less.
PARTS = 4

# With fewer multiplications than this, parts and threads take longer than they save.
WORTH_PARTS = 1e7

# Sums are added in groups of so many, their sums again, and so on: one sum of each level is kept.
FAN_IN = 8

Item = TypeVar("Item")
Result = TypeVar("Result")


class _OneBlasThread:
    """Counts who needs BLAS to keep to one thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self.lock:
            if self.users == 0:
                each = [(library, library.num_threads) for library in _libraries()]
                self.before = [(library, count) for library, count in each if count != 1]
                for library, _ in self.before:
                    library.set_num_threads(1)
            self.users += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                for library, count in self.before:
                    library.set_num_threads(count)

    def allowed(self) -> int:
        """How many threads BLAS may use when nobody here asks for one."""
        with self.lock:
            if self.users:
                return max((count for _, count in self.before), default=1)
            return max((library.num_threads for library in _libraries()), default=1)

    def forked(self) -> None:
        """A child process has only the thread that forked: nobody else will leave."""
        self.lock = threading.Lock()
        if self.users:
            self.users = 1
            self.__exit__()


# One BLAS thread, for us and for others: to be held also around code that sets the threads of BLAS
# by itself, as k-means and neighbours of scikit-learn do. Where two such calls overlap in threads,
# BLAS would be left at one thread for good.
one_blas_thread = _OneBlasThread()
_OURS: ContextVar[bool] = ContextVar("eigenkit_own_threads", default=False)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=one_blas_thread.forked)


@cache
def _libraries() -> list[Any]:
    found = ThreadpoolController().select(user_api="blas")
    return list(found.lib_controllers)


@contextmanager
def own_threads() -> Iterator[None]:
    """Products of dense data are made in our threads, and BLAS keeps to one all the while: its own
    busy-wait for 20 to 120 ms after every product, and take the cores from ours."""
    token = _OURS.set(True)
    try:
        with one_blas_thread:
            yield
    finally:
        _OURS.reset(token)


def in_parts(n: int, d: int, width: int) -> bool:
    """Whether to split a product of n x d numbers with this many columns by rows."""
    return float(n) * d * width >= WORTH_PARTS and PARTS * width <= n and d <= SMALL


def parts_of(n: int, d: int, width: int) -> list[slice]:
    """Parts of n rows of d numbers, for our threads to find ``width`` numbers a column in.

    They do not depend on the number of threads, so neither do the bits. The whole is one part
    unless :func:`own_threads` is held, as BLAS has its own; and where there is little to do, or
    what is found would take more room than the rows.
    """
    if not _OURS.get() or not in_parts(n, d, width):
        return [slice(0, n)]
    edges = [n * i // PARTS for i in range(PARTS + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def threads_for(X: Any, y: Any = None) -> AbstractContextManager[Any]:
    """A context for a fit: with our own threads where X is dense and tall, and y narrow, so that
    most of the work is in products with X."""
    views = X if isinstance(X, list | tuple) else [X]
    shapes = [A.shape for A in views if isinstance(A, np.ndarray) and A.ndim == 2]
    k = y.shape[1] if getattr(y, "ndim", 1) == 2 else 1
    if not shapes or k > WIDEST:
        return nullcontext()
    n, d = shapes[0][0], sum(d for _, d in shapes)
    return own_threads() if in_parts(n, d, d) else nullcontext()


def blas_threads(order: int) -> AbstractContextManager[Any]:
    """One BLAS thread while matrices of a small order are factored.

    numpy and scipy bring a BLAS each, and the idle threads of one take the cores from the other:
    without this a factorization of order 500 takes ten times as long.
    """
    return one_blas_thread if order <= SMALL else nullcontext()


def available() -> int:
    """How many threads we may use: no more than cores, than BLAS may, and than OMP_NUM_THREADS."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    asked = int(given) if given.isdecimal() and int(given) > 0 else cores
    return max(1, min(cores, asked, one_blas_thread.allowed()))


def thread_map(
    function: Callable[[Any], Any], items: Iterable[Any], work: float = float("inf")
) -> list[Any]:
    """``[function(item) for item in items]``, in threads where the work is worth it."""
    items = list(items)
    threads = 1 if work < WORTH_THREADS or len(items) < 2 else available()
    if threads == 1:
        return [function(item) for item in items]
    results: list[Any] = [None] * len(items)
    waiting = iter(range(len(items)))

    def drain() -> None:
        for i in waiting:
            results[i] = function(items[i])

    # This thread works too: it holds its core, so that the others find one of their own.
    others = [_pool(os.getpid()).submit(drain) for _ in range(threads - 1)]
    drain()
    for other in others:
        if not other.cancel():  # one that has not begun has nothing left to do
            other.result()
    return results


def ahead(
    function: Callable[[Item], Result], items: Iterable[Item], most: int = 4
) -> Iterator[tuple[Item, Result]]:
    """The items in their order, each with ``function(item)``, which threads have begun meanwhile.

    No more than ``most`` are under way at a time.

    >>> list(ahead(abs, [1, -2]))
    [(1, 1), (-2, 2)]
    """
    most = min(available(), most)
    if most == 1:
        yield from ((item, function(item)) for item in items)
        return
    coming: deque[tuple[Item, Future[Result]]] = deque()
    failure: list[Exception] = []

    def first() -> tuple[Item, Result]:
        item, work = coming.popleft()
        # What no thread has begun, as all of them are busy, is done here.
        return item, function(item) if work.cancel() else work.result()

    try:
        for item in _until(failure, items):
            coming.append((item, _pool(os.getpid()).submit(function, item)))
            if len(coming) >= most:
                yield first()
        while coming:
            yield first()
        for error in failure:
            raise error
    finally:
        wait([work for _, work in coming if not work.cancel()])  # nothing goes on without us


def _until(failure: list[Exception], items: Iterable[Item]) -> Iterator[Item]:
    """The items up to a failure, which is kept until it is due."""
    try:
        yield from items
    except Exception as error:
        failure.append(error)


def tree_sum(values: Iterable[Any]) -> Any:
    """The sum in groups of FAN_IN, in groups of such groups, and so on; None without values."""
    levels: list[tuple[Any, int]] = []
    for value in values:
        level, count = 0, FAN_IN
        while count == FAN_IN:  # a group is complete, and goes up
            if level == len(levels):
                levels.append((None, 0))
            held, count = levels[level]
            value, count = value if held is None else plus(held, value), count + 1
            levels[level] = (None, 0) if count == FAN_IN else (value, count)
            level += 1
    sums = [held for held, _ in levels if held is not None]
    return reduce(lambda total, held: plus(held, total), sums) if sums else None


def plus(a: Any, b: Any) -> Any:
    """a + b for numbers, arrays (a is overwritten), tuples of them, and what can be merged; None is
    the sum of nothing."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tuple):
        return tuple(plus(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        a += b
        return a
    return a.merge(b) if hasattr(a, "merge") else a + b


def merged(parts: Iterable[Item]) -> Item | None:
    """The sum of parts in their order (:func:`plus`), None without any."""
    found: Item | None = reduce(plus, parts, None)
    return found


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads that stay; one pool a process, as threads do not survive a fork."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="eigenkit")
