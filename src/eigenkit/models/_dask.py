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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import Passes
from eigenkit.data.passes import FAN_IN
from eigenkit.moments import Blocks
from eigenkit.moments.blocked import NO_BLOCK

# Products count with 32 bit indices.
MOST_STORED = 2**31 - 1
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
            self._head = self._submit(_first_rows, future)
        return self._head

    def classes(self) -> np.ndarray | None:
        return super().classes() if self._classes is None else self._classes

    def apply(self, function: Callable[[Any], Any]) -> Iterable[Any]:
        """``function`` of the X of every part, one after the other."""
        for future in self._futures:
            yield from self._submit(_applied, future, function)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return _result(self.client, self.client.submit(function, *arguments, retries=RETRIES))


class ClusterPasses(Passes):
    """Passes by the workers of a cluster."""

    def __init__(self, client: Any, parts: Sequence[Any]) -> None:
        self.client, self.futures = client, list(parts)

    def run(self, function: Callable[..., Any], *shared: Any) -> Any:
        """One task a part; the arguments travel once, as the result of a task.

        All tasks of a pass go to the scheduler together, which takes its time for each message.
        """
        from dask import delayed

        key = f"eigenkit-%s-{uuid.uuid4().hex}-%d"
        on_part, add = delayed(_on_part, pure=False), delayed(_sum, pure=False)
        given = delayed(partial(_themselves, shared), pure=False)(dask_key_name=key % ("given", 0))
        results = [
            on_part(part, function, given, dask_key_name=key % ("pass", i))
            for i, part in enumerate(self.futures)
        ]
        count = itertools.count()
        while len(results) > 1:  # the tree of tree_sum, with one task a group
            groups = [results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN)]
            results = [add(each, dask_key_name=key % ("sum", next(count))) for each in groups]
        if not results:
            return None
        future = self.client.compute(results[0], retries=RETRIES, optimize_graph=False)
        return _result(self.client, future)


def _themselves(shared: tuple[Any, ...]) -> tuple[Any, ...]:
    return shared


def _on_part(blocks: list[Any], function: Callable[..., Any], shared: tuple[Any, ...]) -> Any:
    from eigenkit.threads import blas_threads

    with blas_threads(0):  # as in threads: the same bits
        return function(iter(_aligned(blocks)), *_aligned(shared))


def _aligned(value: Any) -> Any:
    """Arrays as they were before they travelled: now they may begin at any byte.

    Products of such arrays are made by other routines, whose last digits differ.
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if sparse.issparse(value) and value.format == "csr":
        given = value.data, value.indices, value.indptr
        if all(part.flags.aligned for part in given):
            return value
        return sparse.csr_array(_aligned(given), shape=value.shape)
    if isinstance(value, list | tuple):
        return type(value)(map(_aligned, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _aligned(getattr(value, f.name)) for f in fields(value)})
    return value


def _sum(values: list[Any]) -> Any:
    return reduce(_added, values)


def _added(a: Any, b: Any) -> Any:
    """a + b, where neither may be changed: another task may ask for them again."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tuple):
        return tuple(_added(x, y) for x, y in zip(a, b, strict=True))
    return a.merge(b) if hasattr(a, "merge") else a + b


def _first_rows(blocks: list[Any]) -> tuple[Any, Any, Any] | None:
    """The first rows of a part; None where it has none."""
    for X, *others in blocks:
        if X.shape[0]:
            y, weight = (None if each is None else each[:2] for each in others)
            return X[:2], y, weight
    return None


def _applied(blocks: list[Any], function: Callable[[Any], Any]) -> list[Any]:
    return [function(X) for X, _, _ in blocks]


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
            raise RuntimeError(
                "the scheduler has gone, and with it what the workers held: connect again, and fit "
                "again."
            ) from error


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
    return [client.submit(_checked_part, _as_future(client, p), retries=RETRIES) for p in given]


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
        f"a part is a {type(part).__name__}: give delayed pairs (X, y), which the workers make; "
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
    return [
        client.submit(_checked_part, _as_future(client, pair), retries=RETRIES) for pair in pairs
    ]


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
    looked = client.map(_label_names, names, labels=labels, reading=reading, retries=RETRIES)
    found = [_result(client, future) for future in looked]
    kinds = {kind for kind, _, _, _ in found}
    if len(kinds) > 1:
        raise ValueError(
            f"the files hold different labels ({', '.join(sorted(map(str, kinds)))}): say what "
            "they are with task=."
        )
    width = max(size for _, _, size, _ in found)
    known = sorted({name for _, labels_, _, _ in found for name in labels_})
    (kind,) = kinds
    values = class_values(known) if kind == "classes" and not by_name else None
    parts = [
        client.submit(_read_part, path, labels, reading, known, values, width, retries=RETRIES)
        for path in names
    ]
    if classes is None and kind == "classes":
        classes = np.array(known) if values is None else np.unique(values)
    made = DaskBlocks(client, parts, classes)
    made.kind, made.names, made.n_rows = kind, known, sum(n for _, _, _, n in found)
    return made


def _label_names(path: str, labels: Any, reading: dict[str, Any]) -> tuple[Any, Any, int, int]:
    blocks, target = _parsed(path, labels, reading)
    width = max(block.shape[1] for block in blocks)
    return (
        None if target is None else target.kind,
        () if target is None else target.names,
        width,
        sum(block.shape[0] for block in blocks),
    )


def _parsed(path: str, labels: Any, reading: dict[str, Any]) -> Any:
    from eigenkit.files import Reading, open_file
    from eigenkit.models._parsed import parsed

    options = dict(reading)
    task = options.pop("task", None)
    source = open_file(path, Reading(labels=tuple(labels), stream=True, **options))
    return parsed([source], task, "none", "error", None)


def _read_part(
    path: str,
    labels: Any,
    reading: dict[str, Any],
    known: list[str],
    values: np.ndarray | None,
    width: int,
) -> list[Any]:
    blocks, target = _parsed(path, labels, reading)
    part = []
    for block in blocks:
        if values is not None:
            block = replace(block, names=values[[known.index(name) for name in target.names]])
        X, y, weight = block.read(width if len(block.X) == 3 else block.shape[1])
        if target is not None and target.kind == "labels":
            place = [known.index(name) for name in target.names]
            Y = np.zeros((len(y), len(known)))
            Y[:, place] = y
            y = Y
        part.append((X, y, weight))
    return _checked_part(part)


def _checked_part(part: Any) -> list[Any]:
    """A part as a list of blocks (X, y, weight), with sizes that products can count."""
    blocks = part if isinstance(part, list) else [part]
    made = []
    for block in blocks:
        X, y, weight = (*(block if isinstance(block, tuple) else (block,)), None, None)[:3]
        X = X.to_numpy() if hasattr(X, "to_numpy") else X
        y = y.to_numpy() if hasattr(y, "to_numpy") else y
        if y is not None and np.ndim(y) == 2 and y.shape[1] == 1 and not sparse.issparse(y):
            y = np.asarray(y)
        if sparse.issparse(X):
            X = sparse.csr_array(X)
            if X.nnz > MOST_STORED:
                raise ValueError(
                    f"a part holds {X.nnz} numbers, more than {MOST_STORED}: make smaller parts."
                )
        made.append((X, y, weight))
    return made


def register_sizes() -> None:
    """Tell Dask how large sparse arrays are: it takes them for empty shells."""
    from dask.sizeof import sizeof

    sizeof.register(sparse.csr_array, _size_of)


def _size_of(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
