"""Blocks of rows on a cluster, where Dask runs the tasks.

Every part is a future whose rows were made by a task (read from files, or computed), so a worker
that dies takes nothing along that another one cannot make again. A pass submits one pure task for
each part and adds their results on the workers, in the same tree as passes in threads do: only
sums come to the client. What a pass needs travels inside its tasks if it is small, and otherwise as
the result of a task; nothing is scattered from the client, because scattered data are lost with
their worker.
"""

from __future__ import annotations

import itertools
import operator
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import Passes
from eigenkit.files import Target
from eigenkit.files._errors import Skipped
from eigenkit.models._blocks import drawn, in_fold
from eigenkit.models._linear import ScoreSums, scores_of, sums_of
from eigenkit.moments import Blocks
from eigenkit.moments.blocked import NO_BLOCK
from eigenkit.numerics.threads import FAN_IN, blas_threads, plus
from eigenkit.shell import counted

# The most bytes that one task passes over, if it takes several parts.
TASK_BYTES = 2**29
# The most bytes that travel from the scheduler inside the tasks of a pass, all tasks together. As
# the result of a task they would travel between workers, but that task takes as long as this.
INSIDE_BYTES = 2**23
# Seconds for which the places of the parts are remembered, since asking takes milliseconds. If one
# has moved meanwhile, it travels to the task.
FRESH = 1.0
# Seconds to wait for a worker if there is none: Dask notices only after a minute that one died
# while starting.
PATIENCE = 120.0


class DaskBlocks(Blocks):
    """Parts on a cluster; made by :meth:`eigenkit.RowBlocks.from_dask`."""

    skipped_: dict[str, Any]

    def __init__(self, client: Any, parts: Sequence[Any], classes: np.ndarray | None) -> None:
        self.client, self._futures, self._classes = client, list(parts), classes
        self._head: tuple[Any, Any, Any] | None = None
        # If they come from files: what the labels are, the rows, and those skipped.
        self.target: Target | None = None
        self.n_rows, self.skipped = 0, Skipped()

    def __repr__(self) -> str:
        parts = counted(len(self._futures), "part")
        return f"RowBlocks({parts} on {self.client.scheduler.address})"

    def passes(self) -> Passes:
        return ClusterPasses(self.client, self._futures)

    def head(self) -> tuple[Any, Any, Any]:
        futures = iter(self._futures)
        while self._head is None:
            future = next(futures, None)
            if future is None:
                raise ValueError(NO_BLOCK)
            self._head = result_of(self.client, self.client.submit(first_rows, future))
        return self._head

    def classes(self) -> np.ndarray | None:
        return super().classes() if self._classes is None else self._classes

    def apply(self, function: Callable[[Any], Any]) -> Iterable[Any]:
        """``function`` of the X of every block, one part after the other."""
        for future in self._futures:
            yield from result_of(self.client, self.client.submit(applied, future, function))

    def map(self, function: Callable[[Any], Any]) -> DaskBlocks:
        """Parts with ``function`` of X in place of X, which the workers make and hold."""
        given = self.client.submit(itself, function, pure=False)
        made = [self.client.submit(mapped, future, given) for future in self._futures]
        return DaskBlocks(self.client, made, self._classes)

    def triples(self) -> Iterator[tuple[Any, Any, Any]]:
        """X, y and the weights of every block, brought here one part after the other."""
        for future in self._futures:
            yield from result_of(self.client, future)

    def folds(
        self, n: int = 5, *, random_state: int = 0
    ) -> Iterator[tuple[DaskBlocks, DaskBlocks]]:
        """Pairs of parts: all rows but those of one of n folds, and those of this fold.

        The workers hold both. The folds are those of :meth:`eigenkit.RowBlocks.folds`.
        """
        drawn(n, random_state)  # refuses a wrong n
        classes = self.classes()

        def chosen(*which: Any) -> DaskBlocks:
            how = n, random_state, *which
            made = [self.client.submit(of_fold, f, p, *how) for p, f in enumerate(self._futures)]
            return DaskBlocks(self.client, made, classes)

        for fold in range(n):
            yield chosen(fold, False), chosen(fold, True)

    def scores(self, projection: Any) -> Iterable[tuple[Any, Any]]:
        """Scores and labels of every block, one part after the other."""
        for future in self._futures:
            made = self.client.submit(mapped, future, partial(scores_of, projection))
            yield from ((scores, y) for scores, y, _ in result_of(self.client, made))

    def sums(self, projection: Any, target: Target) -> ScoreSums | None:
        """The sums of the scores of all rows."""
        found: ScoreSums | None = self.passes().run(sums_of, projection, target)
        return found


GONE = "the scheduler is gone, and with it what the workers held: connect and fit again."


class ClusterPasses(Passes):
    def __init__(self, client: Any, parts: Sequence[Any]) -> None:
        self.client, self.futures = client, list(parts)
        self._n_bytes: dict[str, int] = {}
        self._held: dict[str, str] = {}
        self._n_threads, self._asked = 1, -np.inf
        self._last: Any = None

    def run(self, function: Callable[..., Any], *shared: Any) -> Any:
        """Few tasks for each group of parts; if the scheduler has gone, that is the error.

        All tasks of a pass go to the scheduler together, which takes its time for each message.
        """
        try:
            groups = self._tasks()
            graph = _Graph(self.futures, partial(on_parts, function, shared), sum(map(len, groups)))
            results = [graph.group(tasks) for tasks in groups]
            while len(results) > 1:  # the tree of tree_sum
                sums = [results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN)]
                results = [graph.task("sum", sum_of, each, None) for each in sums]
            if not results:
                return None
            # The previous one is released afterwards: Dask delays a message that follows another.
            self._last = self.client.get(graph.tasks, results[0], sync=False)
            return aligned(result_of(self.client, self._last))
        except Exception as error:
            if self.client.status == "running":
                raise
            raise RuntimeError(GONE) from error

    def _tasks(self) -> list[list[list[int]]]:
        """For each group of the tree, its parts by the task that takes them.

        A task costs milliseconds, as much as a pass over a small part: it takes several that one
        worker holds. Not more than its share, so that all threads have work, nor more bytes than
        another worker can take over if that one dies.
        """
        if time.monotonic() - self._asked > FRESH:
            self._look()
        n = len(self.futures)
        groups = [range(i, min(i + FAN_IN, n)) for i in range(0, n, FAN_IN)]
        return [list(self._by_worker(group, -(-n // self._n_threads))) for group in groups]

    def _by_worker(self, group: Iterable[int], share: int) -> Iterator[list[int]]:
        """The parts of a group in lists, each of parts that one worker holds."""
        open_lists: dict[str, list[int]] = {}
        n_bytes: dict[str, int] = {}
        for i in group:
            key = self.futures[i].key
            worker = self._held.get(key, key)  # a part that no worker holds yet is alone
            size = self._n_bytes.get(key, 0)
            task = open_lists.setdefault(worker, [])
            if task and (len(task) == share or n_bytes[worker] + size > TASK_BYTES):
                yield task
                task = open_lists[worker] = []
                n_bytes[worker] = 0
            task.append(i)
            n_bytes[worker] = n_bytes.get(worker, 0) + size
        yield from open_lists.values()

    def _look(self) -> None:
        """Ask which worker holds each part."""
        try:
            where = self.client.who_has(self.futures)
            self._n_threads = max(1, sum(self.client.nthreads().values()))
            self._held = {key: min(at) for key, at in where.items() if at}
            unknown = [key for key in self._held if key not in self._n_bytes]
            if unknown:
                self._n_bytes.update(self.client.nbytes(unknown, summary=False))
        except OSError:  # no scheduler answers: the pass will find out whether it has gone
            return
        if len(self._held) == len(self.futures):  # else some are still being made
            self._asked = time.monotonic()


class _Graph:
    """The tasks of a pass as a plain graph of Dask, under unique names.

    ``work`` is done by all of ``n_tasks``, and travels with each or as the result of one more.
    """

    def __init__(self, futures: Sequence[Any], work: Callable[..., Any], n_tasks: int) -> None:
        self.futures, self.work = futures, work
        self.tasks: dict[str, tuple[Any, ...]] = {}
        self.name, self.count = f"eigenkit-%s-{uuid.uuid4().hex}-%d", itertools.count()
        self.given: tuple[Any, ...] = ()
        if n_tasks * _n_bytes(work) > INSIDE_BYTES:
            self.work, self.given = operator.call, (self.task("given", partial(itself, work)),)

    def group(self, tasks: list[list[int]]) -> str:
        """The sum of the parts of these tasks, in their order.

        The first ones are added up where they are, and need not travel.
        """
        start, alone = min(map(min, tasks)), len(tasks) == 1
        firsts = [task == list(range(start, start + len(task))) for task in tasks]
        found = [
            self.task("pass", self.work, *self.given, [self.futures[i] for i in task], first, alone)
            for task, first in zip(tasks, firsts, strict=True)
        ]
        places = [task[:1] if first else task for task, first in zip(tasks, firsts, strict=True)]
        order = np.argsort(np.concatenate(places)).tolist()
        return found[0] if alone else self.task("sum", sum_of, found, order)

    def task(self, what: str, function: Callable[..., Any], *arguments: Any) -> str:
        name = self.name % (what, next(self.count))
        self.tasks[name] = function, *arguments
        return name


def _n_bytes(value: Any) -> int:
    """The size of a value when it is sent; its arrays are not copied to find out."""
    from distributed.protocol.pickle import dumps

    arrays: list[Any] = []
    rest = dumps(value, buffer_callback=arrays.append)
    return len(rest) + sum(int(array.raw().nbytes) for array in arrays)


def result_of(client: Any, future: Any) -> Any:
    """The result of a task, or an error if no worker is left to give it."""
    from distributed import CancelledError
    from distributed import TimeoutError as DaskTimeoutError
    from distributed.scheduler import KilledWorker

    accompanied = time.monotonic()
    while True:
        try:
            return future.result(timeout=5)
        except (DaskTimeoutError, TimeoutError):  # which is also raised at once when workers vanish
            if future.status == "error":  # raised by the task itself
                raise
            time.sleep(0.1)
            if client.scheduler_info(n_workers=-1)["workers"]:
                accompanied = time.monotonic()
            if time.monotonic() - accompanied > PATIENCE:
                since = f"for {PATIENCE:.0f} seconds: start some, and fit again."
                raise RuntimeError(f"there has been no worker {since}") from None
        except KilledWorker as error:
            raise RuntimeError(
                f"every worker that took the task {error.task!r} died: give them more memory, or "
                "make the parts smaller."
            ) from error
        except CancelledError as error:
            if client.status == "running":  # cancelled for another reason
                raise
            raise RuntimeError(GONE) from error


# -- what the workers do: a part is a list of blocks (X, y, weight) ----------------------


def itself(value: Any) -> Any:
    """The value that a task was sent with, as its result."""
    return value


def on_parts(
    function: Callable[..., Any], shared: Any, parts: list[Any], first: bool, alone: bool
) -> Any:
    """The results of some parts as a list: added up if they are the ``first`` parts of a group,
    and without the list if they are ``alone`` in it.
    """
    with blas_threads(0):  # as in threads: the same bits
        shared = aligned(shared)
        found = (function(iter(aligned(part)), *shared) for part in parts)
        results = [reduce(plus, found)] if first else list(found)
    return results[0] if alone else results


def aligned(value: Any) -> Any:
    """Arrays that begin at a multiple of their item size, as they did before they travelled.

    Products of others are computed by other routines, whose last digits differ.
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if sparse.issparse(value) and value.format == "csr":
        given = value.data, value.indices, value.indptr
        if all(part.flags.aligned for part in given):
            return value
        return sparse.csr_array(aligned(given), shape=value.shape)
    if isinstance(value, list | tuple):
        return type(value)(map(aligned, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: aligned(getattr(value, f.name)) for f in fields(value)})
    return value


def sum_of(values: Sequence[Any], order: list[int] | None) -> Any:
    """The sum of values, or of those in lists, in their order.

    As ``plus`` adds them, but without changing one: another task may need them again.
    """
    if order is not None:
        listed = list(itertools.chain.from_iterable(values))
        values = [listed[i] for i in order]
    found = [value for value in values if value is not None]
    if found and isinstance(found[0], tuple):
        return tuple(sum_of(each, None) for each in zip(*found, strict=True))
    if len(found) > 1:
        first, second, *found = found
        found.insert(0, first.merge(second) if hasattr(first, "merge") else first + second)
    return reduce(plus, found, None)


def first_rows(blocks: list[Any]) -> tuple[Any, Any, Any] | None:
    for X, *others in blocks:
        if X.shape[0]:
            y, weight = (None if each is None else each[:2] for each in others)
            return X[:2], y, weight
    return None


def applied(blocks: list[Any], function: Callable[[Any], Any]) -> list[Any]:
    """For every block, also an empty one; y and weights stay where they are."""
    return [function(X) for X, _, _ in blocks]


def mapped(blocks: list[Any], function: Callable[[Any], Any]) -> list[Any]:
    return [(function(X), *others) for X, *others in blocks if X.shape[0]]


def of_fold(blocks: list[Any], p: int, n: int, seed: int, fold: int, held_out: bool) -> list[Any]:
    return list(in_fold(aligned(blocks), p, drawn(n, seed), fold, held_out))
