"""Parts of blocks on a cluster from delayed pairs, collections or files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import arrays_of
from eigenkit.files import Reading
from eigenkit.files._errors import Skipped
from eigenkit.files._reading import paths
from eigenkit.files._several import check_columns
from eigenkit.files._targets import by_kind, check_alike, class_values, natural
from eigenkit.models._dask_blocks import DaskBlocks, result_of
from eigenkit.models._dask_worker import Looked, checked_part, looked, read_part
from eigenkit.shell import what_is


def blocks_of(
    client: Any,
    parts: Any,
    y: Any,
    classes: Any,
    options: Reading,
    *,
    by_name: bool = False,
) -> DaskBlocks:
    """From delayed pairs, a collection with row chunks, or files; classes ``by_name`` or value."""
    if not hasattr(client, "submit"):
        raise TypeError(f"client is {what_is(client)}: give a distributed.Client.")
    register_sizes()
    files = parts if isinstance(parts, list | tuple) and parts else [parts]
    if all(isinstance(each, str) for each in files):
        return _files(client, parts, classes, options, by_name)
    if options != Reading(stream=True):
        raise TypeError("labels and options of reading go with files: give y with the rows.")
    return DaskBlocks(client, _parts(client, parts, y), classes)


def _parts(client: Any, parts: Any, y: Any) -> list[Any]:
    """Futures of lists of blocks."""
    if hasattr(parts, "to_delayed"):
        return _collection(client, parts, y)
    if y is not None:
        raise TypeError("y goes with a dask array or dataframe: give pairs (X, y) as parts.")
    if not np.iterable(parts):
        raise TypeError(
            f"parts is {what_is(parts)}: give delayed pairs (X, y), a collection, or files."
        )
    given = list(parts)
    if not given:
        raise ValueError("parts is empty: give delayed pairs (X, y), a collection, or files.")
    return _checked(client, given)


def _checked(client: Any, parts: list[Any]) -> list[Any]:
    # Without workers=: if the last of those dies, Dask never gives such tasks to workers that come
    # later, even with allow_other_workers.
    return [client.submit(_sized, checked_part, _as_future(client, part)) for part in parts]


def _as_future(client: Any, part: Any) -> Any:
    """A part as a future; arrays of this process are refused, as they are better fitted here."""
    from dask.delayed import Delayed, delayed
    from distributed import Future

    if isinstance(part, Future):
        return part
    if isinstance(part, tuple) and all(each is None or isinstance(each, Delayed) for each in part):
        part = delayed(tuple)(list(part))
    if isinstance(part, Delayed):
        return client.compute(part)
    raise TypeError(
        f"a part is {what_is(part)}: give delayed pairs (X, y), which the workers make; "
        "arrays of this process go to RowBlocks.from_arrays."
    )


def _collection(client: Any, X: Any, y: Any) -> list[Any]:
    """A dask array or dataframe, cut between rows only."""
    rows = _row_chunks("X", X)
    others = [None] * len(rows) if y is None else _row_chunks("y", y)
    if len(others) != len(rows):
        raise ValueError(
            f"X has {len(rows)} chunks of rows and y has {len(others)}: rechunk y as X is."
        )
    if y is not None and hasattr(X, "chunks") and hasattr(y, "chunks"):
        for i, (n, n_y) in enumerate(zip(X.chunks[0], y.chunks[0], strict=True)):
            if n != n_y:
                raise ValueError(f"chunk {i} has {n} rows of X and {n_y} of y: rechunk y as X is.")
    return _checked(client, list(zip(rows, others, strict=True)))


def _row_chunks(name: str, collection: Any) -> list[Any]:
    """The chunks of rows of an array or a frame, delayed."""
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


def _files(client: Any, files: Any, classes: Any, options: Reading, by_name: bool) -> DaskBlocks:
    """One part for each file, read by a worker, after a look at all labels so that they agree."""
    names = paths(files)
    found = _looked(client, names, options)
    check_columns(found)
    if len({each.words for each in found}) > 1:  # words in one file, words in all
        if options.task is None:
            check_alike({each.path: by_kind(each.names) for each in found})
        options = replace(options, words=True)
        found = _looked(client, names, options)
    kinds = {each.kind for each in found}
    if len(kinds) > 1:
        raise ValueError(
            f"the files hold different labels ({', '.join(sorted(map(str, kinds)))}): say what "
            "they are with task=."
        )
    width = max(each.width for each in found)
    known = _all_names([each.names for each in found])
    (kind,) = kinds
    values = class_values(known) if kind == "classes" and not by_name else None
    how = options, known, values, width
    parts = [client.submit(_sized, read_part, path, *how) for path in names]
    if classes is None and kind == "classes":
        classes = np.array(known) if values is None else np.unique(values)
    made = DaskBlocks(client, parts, classes)
    made.kind, made.names, made.n_rows = kind, known, sum(each.n_rows for each in found)
    made.skipped = reduce(Skipped.with_more, (each.skipped for each in found), Skipped())
    if options.on_error == "skip":
        made.skipped_ = made.skipped.described()
    return made


def _all_names(names: Sequence[tuple[str, ...]]) -> list[str]:
    """The names of all files, in the order that they would have in a single one."""
    first = names[0]
    if all(each == first for each in names):
        return list(first)
    return sorted({name for each in names for name in each}, key=natural)


def _looked(client: Any, names: list[str], options: Reading) -> list[Looked]:
    """What every file holds, as the workers see it."""
    futures = client.map(looked, names, options=options)
    return [result_of(client, future) for future in futures]


def _sized(make: Callable[..., Any], *arguments: Any) -> Any:
    """``make``, on a worker that then knows how large sparse arrays are."""
    register_sizes()
    return make(*arguments)


def register_sizes() -> None:
    """Tell Dask how large sparse arrays are: it counts only their shells."""
    from dask.sizeof import sizeof

    def size_of(X: Any) -> int:
        return sum(part.nbytes for part in arrays_of(X))

    sizeof.register(sparse.csr_array, size_of)
