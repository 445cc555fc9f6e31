"""Blocks of rows on a cluster: the only file that knows Dask, which serves as an engine for tasks.

Every part is a future whose rows were made by a task (read from files, or computed), so a worker
that dies takes nothing along that another one cannot make again. A pass submits one pure task for
each part and adds their results on the workers, in the same tree as passes in threads do: what
comes to the client are sums. Small arrays travel as results of tasks too; nothing is scattered
from the client, as what was scattered is lost with its worker.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import Passes
from eigenkit.data.passes import FAN_IN
from eigenkit.models._worker import (
    applied,
    checked_part,
    first_rows,
    label_names,
    on_parts,
    read_part,
    sum_of,
    themselves,
)
from eigenkit.moments import Blocks
from eigenkit.moments.blocked import NO_BLOCK
from eigenkit.shell import what_is

# The most that one task passes over, where it takes several parts.
TASK_BYTES = 2**29
# Tasks of a pass that has lost workers are tried so often; then an error says so.
RETRIES = 10
# Seconds to wait for a worker where there is none: Dask notices after a minute that one died
# while it was starting.
PATIENCE = 120.0


class DaskBlocks(Blocks):
    """Parts on a cluster; made by :meth:`eigenkit.RowBlocks.from_dask`."""

    def __init__(self, client: Any, parts: Sequence[Any], classes: np.ndarray | None) -> None:
        self.client, self._futures, self._classes = client, list(parts), classes
        self._head: tuple[Any, Any, Any] | None = None
        # Of files: what their labels are, the names of those, and how many rows there are.
        self.kind: str | None = None
        self.names: list[str] = []
        self.n_rows = 0

    def passes(self) -> Passes:
        return ClusterPasses(self.client, self._futures)

    def head(self) -> tuple[Any, Any, Any]:
        futures = iter(self._futures)
        while self._head is None:
            future = next(futures, None)
            if future is None:
                raise ValueError(NO_BLOCK)
            self._head = self._submit(first_rows, future)
        return self._head

    def classes(self) -> np.ndarray | None:
        return super().classes() if self._classes is None else self._classes

    def apply(self, function: Callable[[Any], Any]) -> Iterable[Any]:
        """``function`` of the X of every part, one after the other."""
        for future in self._futures:
            yield from self._submit(applied, future, function)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return _result(self.client, self.client.submit(function, *arguments, retries=RETRIES))


GONE = "the scheduler has gone, and with it what the workers held: connect again, and fit again."


class ClusterPasses(Passes):
    """Passes by the workers of a cluster."""

    def __init__(self, client: Any, parts: Sequence[Any]) -> None:
        self.client, self.futures = client, list(parts)
        self._n_bytes: dict[str, int] = {}

    def run(self, function: Callable[..., Any], *shared: Any) -> Any:
        """A pass; whatever fails once the scheduler has gone, that is why."""
        try:
            return self._run(function, *shared)
        except Exception as error:
            if self.client.status == "running":
                raise
            raise RuntimeError(GONE) from error

    def _run(self, function: Callable[..., Any], *shared: Any) -> Any:
        """Few tasks for each group of parts; the arguments travel once, as the result of a task.

        All tasks of a pass go to the scheduler together, which takes its time for each message.
        """
        graph = _Graph(self.futures, function, shared)
        results = [graph.group(tasks) for tasks in self._tasks()]
        while len(results) > 1:  # the tree of tree_sum
            groups = [results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN)]
            results = [graph.sum(each) for each in groups]
        if not results:
            return None
        future = self.client.compute(results[0], retries=RETRIES, optimize_graph=False)
        return _result(self.client, future)

    def _tasks(self) -> list[list[list[int]]]:
        """For each group of the tree, its parts by the task that takes them.

        A task costs milliseconds, as much as a pass over a small part: it takes several that one
        worker holds. Not more than its share, so that all threads have work, nor more bytes than
        another worker can take over if that one dies.
        """
        try:
            held, threads = self._held(), max(1, sum(self.client.nthreads().values()))
        except OSError:  # no scheduler answers: the pass will find out whether it has gone
            held, threads = {}, 1
        share, n = -(-len(self.futures) // threads), len(self.futures)
        return [
            list(self._by_worker(range(i, min(i + FAN_IN, n)), held, share))
            for i in range(0, n, FAN_IN)
        ]

    def _by_worker(
        self, group: Iterable[int], held: dict[str, str], share: int
    ) -> Iterator[list[int]]:
        """Parts of a group in lists of those that are at the same worker."""
        open_lists: dict[str, list[int]] = {}
        n_bytes: dict[str, int] = {}
        for i in group:
            key = self.futures[i].key
            worker = held.get(key, key)  # a part that is nowhere yet is alone
            size = self._n_bytes.get(key, 0)
            task = open_lists.setdefault(worker, [])
            if task and (len(task) == share or n_bytes[worker] + size > TASK_BYTES):
                yield task
                task = open_lists[worker] = []
                n_bytes[worker] = 0
            task.append(i)
            n_bytes[worker] = n_bytes.get(worker, 0) + size
        yield from open_lists.values()

    def _held(self) -> dict[str, str]:
        """Where the parts are now, as far as they are somewhere."""
        keys = [future.key for future in self.futures]
        held = {key: min(at) for key, at in self.client.who_has(self.futures).items() if at}
        unknown = [key for key in keys if key in held and key not in self._n_bytes]
        if unknown:
            self._n_bytes.update(self.client.nbytes(unknown, summary=False))
        return held


class _Graph:
    """The tasks of a pass, under names of its own."""

    def __init__(
        self, futures: Sequence[Any], function: Callable[..., Any], shared: tuple[Any, ...]
    ) -> None:
        self.futures, self.function = futures, function
        self.name, self.count = f"eigenkit-%s-{uuid.uuid4().hex}-%d", itertools.count()
        self.given = self._task("given", partial(themselves, shared))

    def group(self, tasks: list[list[int]]) -> Any:
        """The sum of the parts of these tasks."""
        alone = len(tasks) == 1
        found = [
            self._task("pass", on_parts, parts, self.function, self.given, alone)
            for parts in ([self.futures[i] for i in task] for task in tasks)
        ]
        order = np.argsort(np.concatenate(tasks)).tolist()
        return found[0] if alone else self.sum(found, order)

    def sum(self, found: list[Any], order: list[int] | None = None) -> Any:
        return self._task("sum", sum_of, found, order)

    def _task(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        from dask import delayed

        name = self.name % (what, next(self.count))
        return delayed(function, pure=False)(*arguments, dask_key_name=name)


def _result(client: Any, future: Any) -> Any:
    """The result of a task; an error where no worker is left to give it."""
    from distributed import CancelledError
    from distributed import TimeoutError as DaskTimeoutError
    from distributed.scheduler import KilledWorker

    accompanied = time.monotonic()
    while True:
        try:
            return future.result(timeout=5)
        except (DaskTimeoutError, TimeoutError):  # which also comes at once, when workers vanish
            if future.status == "error":  # it is the task's own
                raise
            time.sleep(0.1)
            if client.scheduler_info(n_workers=-1)["workers"]:
                accompanied = time.monotonic()
            if time.monotonic() - accompanied > PATIENCE:
                raise RuntimeError(
                    f"no worker has been there for {PATIENCE:.0f} seconds: start some, and fit "
                    "again."
                ) from None
        except KilledWorker as error:
            raise RuntimeError(
                f"every worker that took the task {error.task!r} died: give them more memory, or "
                "make the parts smaller."
            ) from error
        except CancelledError as error:
            if client.status == "running":  # given up for a reason of its own
                raise
            raise RuntimeError(GONE) from error


# -- what parts may be given as ---------------------------------------------------------


def blocks_of(
    client: Any,
    parts: Any,
    y: Any,
    labels: Any,
    classes: Any,
    reading: dict[str, Any],
    *,
    by_name: bool = False,
) -> DaskBlocks:
    """From delayed pairs, a collection with row chunks, or files; classes ``by_name`` or value."""
    register_sizes()
    if isinstance(parts, str) or _all_strings(parts):
        return _files(client, parts, labels, classes, reading, by_name)
    return DaskBlocks(client, _parts(client, parts, y, labels, reading), classes)


def _parts(client: Any, parts: Any, y: Any, labels: Any, reading: dict[str, Any]) -> list[Any]:
    """Futures of lists of blocks."""
    if reading or len(labels):
        raise TypeError("labels and options of reading go with files: give y with the rows.")
    if _is_collection(parts):
        return _collection(client, parts, y)
    if y is not None:
        raise TypeError("y goes with a dask array or dataframe: give pairs (X, y) as parts.")
    given = list(parts)
    if not given:
        raise ValueError("parts is empty: give delayed pairs (X, y), a collection, or files.")
    return [
        client.submit(_sized, checked_part, _as_future(client, p), retries=RETRIES) for p in given
    ]


def _checked(client: Any, part: Any) -> Any:
    return client.submit(_sized, checked_part, _as_future(client, part), retries=RETRIES)


def _all_strings(parts: Any) -> bool:
    return (
        isinstance(parts, list | tuple) and bool(parts) and all(isinstance(p, str) for p in parts)
    )


def _is_collection(parts: Any) -> bool:
    return hasattr(parts, "to_delayed")


def _as_future(client: Any, part: Any) -> Any:
    """A part as a future; what is in this process already is better fitted there."""
    from dask.delayed import Delayed
    from distributed import Future

    if isinstance(part, Future):
        return part
    if isinstance(part, Delayed):
        return client.compute(part, retries=RETRIES)
    if isinstance(part, tuple) and all(each is None or isinstance(each, Delayed) for each in part):
        from dask.delayed import delayed

        return client.compute(delayed(tuple)(list(part)), retries=RETRIES)
    raise TypeError(
        f"a part is {what_is(part)}: give delayed pairs (X, y), which the workers make; "
        "arrays of this process go to RowBlocks.from_arrays."
    )


def _collection(client: Any, X: Any, y: Any) -> list[Any]:
    """A dask array or dataframe, cut between rows only."""
    rows = _row_blocks("X", X)
    others = [None] * len(rows) if y is None else _row_blocks("y", y)
    if len(others) != len(rows):
        raise ValueError(
            f"X has {len(rows)} chunks of rows and y has {len(others)}: rechunk y as X is."
        )
    pairs = zip(rows, others, strict=True)
    return [_checked(client, pair) for pair in pairs]


def _row_blocks(name: str, collection: Any) -> list[Any]:
    delayed = collection.to_delayed()
    if not hasattr(collection, "chunks"):
        return list(delayed)
    chunks = collection.chunks
    if any(np.isnan(size) for size in chunks[0]):
        raise ValueError(
            f"{name} has chunks of unknown lengths: call {name}.compute_chunk_sizes() first."
        )
    if len(chunks) > 1 and len(chunks[1]) > 1:
        raise ValueError(
            f"{name} is cut between columns ({len(chunks[1])} chunks): rechunk it to whole rows, "
            f"{name}.rechunk({{1: -1}})."
        )
    return list(np.ravel(delayed))


def _files(
    client: Any, files: Any, labels: Any, classes: Any, reading: dict[str, Any], by_name: bool
) -> DaskBlocks:
    """One part a file, read by a worker; the labels are looked at first, so that all agree."""
    from eigenkit.files._many import paths
    from eigenkit.files._targets import class_values

    names = paths(files)
    found = _looked(client, names, labels, reading)
    words = {words for *_, words in found}
    if len(words) > 1:  # what is words in one file is words in all
        reading = {**reading, "words": True}
        found = _looked(client, names, labels, reading)
    kinds = {kind for kind, *_ in found}
    if len(kinds) > 1:
        raise ValueError(
            f"the files hold different labels ({', '.join(sorted(map(str, kinds)))}): say what "
            "they are with task=."
        )
    width = max(size for _, _, size, *_ in found)
    known = sorted({name for _, labels_, *_ in found for name in labels_})
    (kind,) = kinds
    values = class_values(known) if kind == "classes" and not by_name else None
    how = labels, reading, known, values
    parts = [client.submit(_sized, read_part, path, *how, width, retries=RETRIES) for path in names]
    if classes is None and kind == "classes":
        classes = np.array(known) if values is None else np.unique(values)
    made = DaskBlocks(client, parts, classes)
    made.kind, made.names, made.n_rows = kind, known, sum(n for *_, n, _ in found)
    return made


def _looked(client: Any, names: list[str], labels: Any, reading: dict[str, Any]) -> list[Any]:
    """What every file's labels are, as the workers see them."""
    looked = client.map(label_names, names, labels=labels, reading=reading, retries=RETRIES)
    return [_result(client, future) for future in looked]


def _sized(make: Callable[..., Any], *arguments: Any) -> Any:
    """What a worker makes, and knows the size of."""
    register_sizes()
    return make(*arguments)


def register_sizes() -> None:
    """Tell Dask how large sparse arrays are: it takes them for empty shells."""
    from dask.sizeof import sizeof

    sizeof.register(sparse.csr_array, _size_of)


def _size_of(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
