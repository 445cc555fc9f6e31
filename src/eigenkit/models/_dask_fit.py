"""Rows on a cluster from delayed pairs, collections or files, and models fitted to files there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import arrays_of
from eigenkit.estimators.registry import find
from eigenkit.files import FileError, Reading, Target, open_file
from eigenkit.files._errors import Skipped
from eigenkit.files._reading import check_columns, paths
from eigenkit.files._targets import by_kind, check_alike, class_values, natural
from eigenkit.models._blocks import parsed, sliceable, triple
from eigenkit.models._dask_blocks import DaskBlocks, result_of
from eigenkit.models._features import learn_features
from eigenkit.models._linear import SVM, on_top
from eigenkit.models._model import Model, how_fitted
from eigenkit.shell import what_is

# Products count with 32 bit indices.
MOST_STORED = 2**31 - 1
PARTS = "give delayed pairs (X, y), a collection, or files."
# How often a file is tried if a disk or network fails, and the seconds in between.
TRIES, PAUSE = 3, 1.0


@contextmanager
def connected(address: str, *, unencrypted: bool = False) -> Iterator[Any]:
    """A client of a cluster: ``local`` for workers of this machine, or the address of a scheduler.

    A local cluster listens on the loopback interface only and shows no dashboard. Whoever can
    talk to a scheduler can run code on its workers, so other addresses than ``tls://`` are refused
    unless ``unencrypted`` says that this is known.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("a cluster needs Dask: pip install distributed.") from error
    if address == "local":
        with local_cluster() as client:
            yield client
        return
    if not address.startswith("tls://") and not unencrypted:
        raise ValueError(
            f"{address} is not encrypted, and anyone who can reach it can run code on its "
            "workers: give a tls:// address, or --unencrypted if the network is yours alone."
        )
    try:
        client = Client(address)
    except TypeError as error:  # how Dask reports that it has no TLS context
        raise ValueError(
            f"{address} needs certificates, and Dask's configuration names none: set ca-file, "
            "client.cert and client.key under distributed.comm.tls, or as DASK_DISTRIBUTED__COMM__"
            "TLS__CA_FILE and so on."
        ) from error
    except OSError as error:
        problem = f"no scheduler answers at {address}: start one, or correct the address."
        raise ValueError(problem) from error
    with client:
        yield client


@contextmanager
def local_cluster(n_workers: int | None = None) -> Iterator[Any]:
    """A client of workers of this machine, one for each core by default."""
    from dask import config
    from distributed import Client, LocalCluster

    with (
        config.set(_settings()),
        LocalCluster(
            n_workers=n_workers,
            host="127.0.0.1",
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",  # any free port
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        # The workers can be reached directly: results need not pass through the scheduler.
        Client(cluster, direct_to_workers=True) as client,
    ):
        yield client


def _settings() -> dict[str, Any]:
    """Settings that save time between the passes of workers.

    By default, Dask makes them return memory at once (MALLOC_TRIM_THRESHOLD_), and getting it back
    takes time. It also samples every 10 ms what a worker does, for a dashboard.
    """
    from dask import config

    name = "distributed.nanny.pre-spawn-environ"
    others = {k: v for k, v in config.get(name).items() if k != "MALLOC_TRIM_THRESHOLD_"}
    return {name: others, "distributed.worker.profile.enabled": False}


def fit_on_cluster(
    client: Any,
    pattern: str,
    method: str,
    options: Reading,
    *,
    task: str | None = None,
    params: dict[str, Any] | None = None,
    classifier: str = SVM,
    bad: Skipped | None = None,
) -> Model:
    """Fit a method to files that the workers read; they find them under the same names.

    Only sums over the rows come here and, for an SVM on top, the scores of all rows. The rows that
    the workers skip are added to ``bad``.
    """
    found, options = find(method), replace(options, stream=True, task=task or options.task)
    source = open_file(paths(pattern)[0], options)
    if source.text_names:
        raise FileError(pattern, "columns of text need all rows at once: fit without --dask.")
    blocks = blocks_of(client, pattern, None, None, options, by_name=True)
    if blocks.target is None:
        raise FileError(pattern, "no labels: say with --labels which columns hold them.")
    estimator = found.make(**(params or {})).fit(blocks)
    features = learn_features(source, lambda: [next(iter(source.blocks(64)))])
    features = replace(features, n_numbers=int(estimator.n_features_in_))
    source.skipped = (Skipped() if bad is None else bad).with_more(blocks.skipped)
    how = how_fitted(source, pattern, estimator, int(blocks.n_rows))
    linear = on_top(found, blocks.target, classifier, blocks, estimator)
    return Model(found.name, features, estimator, linear, blocks.target, how)


def blocks_of(
    client: Any, parts: Any, y: Any, classes: Any, options: Reading, *, by_name: bool = False
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
    if hasattr(parts, "to_delayed"):
        parts = _collection(parts, y)
    elif y is not None:
        raise TypeError("y goes with a dask array or dataframe: give pairs (X, y) as parts.")
    if not np.iterable(parts):
        raise TypeError(f"parts is {what_is(parts)}: {PARTS}")
    given = [_as_future(client, part) for part in parts]
    if not given:
        raise ValueError(f"parts is empty: {PARTS}")
    # Without workers=: if the last of those dies, Dask never gives such tasks to workers that come
    # later, even with allow_other_workers.
    made = [client.submit(_sized, checked_part, part) for part in given]
    return DaskBlocks(client, made, classes)


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


def _collection(X: Any, y: Any) -> list[Any]:
    """Pairs of a dask array or dataframe, cut between rows only."""
    rows = _row_chunks("X", X)
    others = [None] * len(rows) if y is None else _row_chunks("y", y)
    n, n_y = len(rows), len(others)
    if n != n_y:
        raise ValueError(f"X has {n} chunks of rows and y has {n_y}: rechunk y as X is.")
    if y is not None and hasattr(X, "chunks") and hasattr(y, "chunks"):
        for i, (n, n_y) in enumerate(zip(X.chunks[0], y.chunks[0], strict=True)):
            if n != n_y:
                raise ValueError(f"chunk {i} has {n} rows of X and {n_y} of y: rechunk y as X is.")
    return list(zip(rows, others, strict=True))


def _row_chunks(name: str, collection: Any) -> list[Any]:
    """The chunks of rows of an array or a frame, delayed."""
    delayed = collection.to_delayed()
    if not hasattr(collection, "chunks"):
        return list(delayed)
    chunks = collection.chunks
    if any(np.isnan(size) for size in chunks[0]):
        call = f"call {name}.compute_chunk_sizes() first."
        raise ValueError(f"{name} has chunks of unknown lengths: {call}")
    if len(chunks) > 1 and len(chunks[1]) > 1:
        what = f"{name} is cut between columns ({len(chunks[1])} chunks)"
        raise ValueError(f"{what}: rechunk it to whole rows, {name}.rechunk({{1: -1}}).")
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
    kinds = {each.target and each.target.kind for each in found}
    if len(kinds) > 1:
        what = f"the files hold different labels ({', '.join(sorted(map(str, kinds)))})"
        raise ValueError(f"{what}: say what they are with task=.")
    width = max(each.width for each in found)
    (kind,), several = kinds, {each.names for each in found}
    known = list(found[0].names)
    if len(several) > 1:  # in the order that they would have in a single one
        known = sorted(set().union(*several), key=natural)
    values = class_values(known) if kind == "classes" and not by_name else None
    how = options, known, values, width
    parts = [client.submit(_sized, read_part, path, *how) for path in names]
    if classes is None and kind == "classes":
        classes = np.array(known) if values is None else np.unique(values)
    made = DaskBlocks(client, parts, classes)
    made.target = found[0].target and replace(found[0].target, names=tuple(known))
    made.n_rows = sum(each.n_rows for each in found)
    made.skipped = reduce(Skipped.with_more, (each.skipped for each in found), Skipped())
    if options.on_error == "skip":
        made.skipped_ = made.skipped.described()
    return made


def _looked(client: Any, names: list[str], options: Reading) -> list[Looked]:
    """What every file holds, as the workers see it."""
    return [result_of(client, each) for each in client.map(looked, names, options=options)]


# -- what the workers do: make parts, lists of blocks (X, y, weight) --------------------


@dataclass(frozen=True)
class Looked:
    """What must agree between files, the size, and what was skipped."""

    path: str
    feature_names: list[str] | None
    label_names: list[str]
    found: dict[str, Any]
    target: Target | None
    names: tuple[str, ...]  # of the labels
    words: bool  # whether labels are
    width: int
    n_rows: int
    skipped: Skipped


def looked(path: str, options: Reading) -> Looked:
    blocks, target, source = _parsed(path, options)
    return Looked(
        path=path,
        feature_names=source.feature_names,
        label_names=source.label_names,
        found=source.found,
        target=target,
        names=() if target is None else target.names,
        words=not source.numeric_labels,
        width=max(block.shape[1] for block in blocks),
        n_rows=sum(block.shape[0] for block in blocks),
        skipped=source.skipped,
    )


def _parsed(path: str, options: Reading, tries: int = TRIES) -> Any:
    try:
        source = open_file(path, options)
        return *parsed(source, "none", "error", None, part=True), source
    except OSError:  # other errors would occur again
        if tries == 1:
            raise
    time.sleep(PAUSE)
    return _parsed(path, options, tries - 1)


def read_part(
    path: str, options: Reading, known: list[str], values: np.ndarray | None, width: int
) -> list[Any]:
    blocks, target, _ = _parsed(path, options)
    part = []
    for block in blocks:
        if values is not None:
            block = replace(block, names=values[[known.index(name) for name in target.names]])
        X, y, weight = block.read(width if len(block.X) == 3 else block.shape[1])
        if target is not None and target.kind == "labels":
            given, y = y, np.zeros((len(y), len(known)))
            y[:, [known.index(name) for name in target.names]] = given
        part.append((X, y, weight))
    return checked_part(part)


def checked_part(part: Any) -> list[Any]:
    """A part as a list of blocks (X, y, weight), with sizes that products can count."""
    made = []
    for block in part if isinstance(part, list) else [part]:
        X, y, weight = sliceable(*triple(block if isinstance(block, tuple) else (block,)))
        if sparse.issparse(X):
            X = sparse.csr_array(X)
            if X.nnz > MOST_STORED:
                held = f"{X.nnz} numbers, more than {MOST_STORED}"
                raise ValueError(f"a part holds {held}: make smaller parts.")
        made.append((X, y, weight))
    return made


def _sized(make: Callable[..., Any], *arguments: Any) -> Any:
    """``make``, on a worker that then knows how large sparse arrays are."""
    register_sizes()
    return make(*arguments)


def register_sizes() -> None:
    """Tell Dask how large sparse arrays are: it counts only their shells."""
    from dask.sizeof import sizeof

    sizeof.register(sparse.csr_array, lambda X: sum(part.nbytes for part in arrays_of(X)))
