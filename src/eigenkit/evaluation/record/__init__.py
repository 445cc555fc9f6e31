"""The record of a run: plain data from which every view of it is drawn.

An evaluation makes a :class:`eigenkit.evaluation.record.schema.Run`, :func:`to_dict` turns it into
what JSON can hold, and :func:`from_dict` reads it back with every value checked. The report knows
nothing else. What a record holds is described in :mod:`eigenkit.evaluation.record.schema`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from eigenkit.evaluation.record.schema import SCHEMA, VERSION, Method, Run
from eigenkit.files import atomic
from eigenkit.shell import filled, shown


class RecordError(ValueError):
    """A record is not what this version of eigenkit reads."""


def to_dict(value: Any) -> Any:
    """A dataclass with all its contents as dicts, lists, strings and finite numbers."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_dict(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): to_dict(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return to_dict(value.tolist())
    if isinstance(value, list | tuple):
        return [to_dict(item) for item in value]
    if isinstance(value, np.generic):
        return to_dict(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def from_dict(record: Any) -> Run:
    """The record as a :class:`Run`, or a :class:`RecordError` that names what is wrong."""
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise RecordError(
            f"this is not a record of a run: expected an object with schema={SCHEMA!r}, as "
            "evaluate returns it."
        )
    version = record.get("version")
    if version != VERSION or isinstance(version, bool):
        raise RecordError(
            f"the record has schema version {version!r}, but this eigenkit reads version "
            f"{VERSION}: run the comparison again, or install the eigenkit that wrote it."
        )
    run: Run = checked(record, Run, "record")
    _check_indices(run)
    return run


def checked(value: Any, kind: Any, where: str) -> Any:
    """``value`` as ``kind``: a dataclass, a list or dict of something, or a plain type."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        (inner,) = [option for option in get_args(kind) if option is not type(None)]
        return None if value is None else checked(value, inner, where)
    if origin is list:
        _expect(isinstance(value, list), value, "a list", where)
        (inner,) = get_args(kind)
        return [checked(item, inner, f"{where}[{i}]") for i, item in enumerate(value)]
    if origin is dict:
        _expect(isinstance(value, dict), value, "an object", where)
        inner = get_args(kind)[1]
        return {key: checked(item, inner, f"{where}.{key}") for key, item in value.items()}
    if dataclasses.is_dataclass(kind):
        return _read_object(value, kind, where)
    fits, words = _PLAIN[kind]
    _expect(fits(value), value, words, where)
    return kind(value)


def _read_object(value: Any, kind: Any, where: str) -> Any:
    _expect(isinstance(value, dict), value, "an object", where)
    hints, required = _fields(kind)
    missing = [name for name in required if name not in value]
    if missing:
        raise RecordError(f"{where} lacks {missing[0]!r}: the record is incomplete.")
    given = [name for name in hints if name in value]
    return kind(**{name: checked(value[name], hints[name], f"{where}.{name}") for name in given})


@cache
def _fields(kind: Any) -> tuple[dict[str, Any], list[str]]:
    """The types of all fields, and the names of those without a default."""
    no, found = dataclasses.MISSING, dataclasses.fields(kind)
    required = [f.name for f in found if f.default is no and f.default_factory is no]
    return get_type_hints(kind), required


def _is_whole(value: Any) -> bool:
    # JavaScript and many readers of JSON know whole numbers only up to 2^53.
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53


def _is_number(value: Any) -> bool:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and abs(value) <= sys.float_info.max


_PLAIN: dict[Any, tuple[Callable[[Any], bool], str]] = {
    int: (_is_whole, "a whole number"),
    float: (_is_number, "a finite number"),
    str: (lambda value: isinstance(value, str), "text"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
}


def _expect(fine: bool, value: Any, words: str, where: str) -> None:
    if not fine:
        raise RecordError(f"{where} is {shown(value)}, expected {words}: the record is damaged.")


def _check_indices(run: Run) -> None:
    """Indices must lie within their lists, and lists that belong together must match."""
    data, points = run.data, run.points
    k, shown = data.n_labels, len(data.shown)
    graph = data.hypergraph
    groups = [data.shown, graph.labels, *(s.labels for s in graph.sets), *points.labels]
    for method in run.methods:
        groups += [[curve.label for curve in method.roc], [item.label for item in method.labels]]
        groups += [[*item.truth, *item.told] for item in method.worst]
        groups += [method.model.correlated] if method.model else []
    fine = len(data.labels) == k and all(0 <= j < k for group in groups for j in group)
    fine &= len(data.co_occurrence) == shown and _table_fits(data.co_occurrence, shown, {shown})
    fine &= len(graph.labels) == len(graph.label_positions)
    fine &= len(graph.sets) == len(graph.set_positions)
    fine &= all(len(place) == 2 for place in graph.label_positions + graph.set_positions)
    fine &= run.protocol.n_train > 0
    n = len(points.rows)
    fine &= n == len(points.labels) == len(points.held_out)
    fine &= _table_fits(points.observed, n)
    fine &= all(_method_fits(method, run) for method in run.methods)
    if not fine:
        raise RecordError("parts of the record do not belong together: the record is damaged.")


def _method_fits(method: Method, run: Run) -> bool:
    n, shown = len(run.points.rows), len(run.data.shown)
    fine = _table_fits(method.predicted, n, {len(row) for row in run.points.observed[:1]})
    fine &= _table_fits(method.confusion, shown, {shown})
    fine &= all(len(c.precision) in (0, len(run.recall)) for c in method.roc)
    fine &= len({len(score.values) for score in method.scores.values()}) == 1
    steps, search, model = method.by_components, method.alpha, method.model
    fine &= steps is None or len(steps.components) == len(steps.mean) == len(steps.std)
    fine &= search is None or 0 < len(search.alphas) == len(search.mean) == len(search.std)
    if model is None:
        return fine
    fine &= all(len(row) == len(model.correlated) for row in model.label_correlations)
    return fine and _table_fits(model.coordinates, n, {1, 2, 3})


def _table_fits(rows: list[Any], n_rows: int, allowed: set[int] | None = None) -> bool:
    """Whether a table is empty, or has this many rows, all of one width that is allowed."""
    if not rows:
        return True
    widths = {len(row) for row in rows}
    return len(rows) == n_rows and len(widths) == 1 and (allowed is None or widths <= allowed)


described = filled(
    {
        "record": """
record : dict
    As :func:`eigenkit.evaluation.evaluate` returns it.
""",
        "replaced": """
path : path
    An existing file is replaced.

Returns
-------
Path
""",
        "recorded": """
Examples
--------
>>> from sklearn.datasets import load_iris
>>> from eigenkit import LDA
>>> from eigenkit.evaluation import evaluate
>>> record = evaluate(*load_iris(return_X_y=True), {"lda": LDA()}, cv=3, name="iris")
""",
    }
)


def write_atomically(path: str | os.PathLike[str], text: str) -> Path:
    """Write text so that a crash leaves the old file or the new one, never half of it."""
    with atomic(os.fspath(path)) as file:
        file.write(text.encode())
    return Path(path)


@described
def write_record(record: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write a record as JSON, after checking that it can be read again.

    Parameters
    ----------
    {record}
    {replaced}

    {recorded}
    >>> from eigenkit.report import read_record, write_record
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     again = read_record(write_record(record, f"{folder}/iris.json"))
    >>> again == record
    True
    """
    from_dict(record)
    return write_atomically(path, json.dumps(record, allow_nan=False, ensure_ascii=True) + "\n")


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a record that :func:`write_record` wrote, with everything in it checked.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict

    Examples
    --------
    >>> from eigenkit.report import read_record
    >>> read_record("no-such-file.json")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file.json'
    """
    try:
        record = json.loads(text := Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        name, model = os.fspath(path), text.startswith(b"EIGENKIT")
        what = "is no record of a run: give what eigenkit compare --out wrote."
        what = "is a model file: see it with eigenkit inspect." if model else what
        raise RecordError(f"{name} {what}") from error
    from_dict(record)
    return dict(record)
