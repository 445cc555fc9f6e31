"""Fitting a model to files on a cluster: connect, read the files there, fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from eigenkit.estimators.registry import find
from eigenkit.files import FileError, Reading, Target, open_file
from eigenkit.files._errors import Skipped
from eigenkit.files._reading import paths
from eigenkit.models._dask_parts import blocks_of
from eigenkit.models._features import learn_features
from eigenkit.models._linear import SVM, on_top
from eigenkit.models._model import Model, how_fitted


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
            "workers: give a "
            "tls:// address, or --unencrypted if the network is yours alone."
        )
    with _client(Client, address) as client:
        yield client


def _client(make: Any, address: str) -> Any:
    try:
        return make(address)
    except TypeError as error:  # how Dask reports that it has no TLS context
        raise ValueError(
            f"{address} needs certificates, and Dask's configuration names none: set ca-file, "
            "client.cert and client.key under distributed.comm.tls, or as DASK_DISTRIBUTED__COMM__"
            "TLS__CA_FILE and so on."
        ) from error
    except OSError as error:
        raise ValueError(
            f"no scheduler answers at {address}: start one, or correct the address."
        ) from error


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
    found, options = find(method), replace(options, stream=True)
    source = open_file(paths(pattern)[0], options)
    if source.text_names:
        raise FileError(pattern, "columns of text need all rows at once: fit without --dask.")
    options = replace(options, task=task or options.task)
    blocks = blocks_of(client, pattern, None, None, options, by_name=True)
    if blocks.kind is None:
        raise FileError(pattern, "no labels: say with --labels which columns hold them.")
    columns = tuple(source.label_names)
    names = tuple(blocks.names) if blocks.kind != "numbers" else (columns or ("y1",))
    estimator = found.make(**(params or {})).fit(blocks)
    features = learn_features(source, lambda: [next(iter(source.blocks(64)))])
    features = replace(features, n_numbers=int(estimator.n_features_in_))
    bad = (Skipped() if bad is None else bad).with_more(blocks.skipped)
    how = how_fitted(source, pattern, estimator, int(blocks.n_rows), skipped=bad)
    target = Target(blocks.kind, names, columns, options.label_separator)
    linear = on_top(found, target, classifier, blocks, estimator)
    return Model(found.name, features, estimator, linear, target, how)
