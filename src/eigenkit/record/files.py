"""Records on disk. A file is complete or it is not there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from eigenkit.files import atomic
from eigenkit.record.reading import RecordError, from_dict
from eigenkit.shell import filled

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
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise RecordError(
            f"{os.fspath(path)} is not JSON ({str(error)[:80]}): give the record of a run."
        ) from error
    from_dict(record)
    return dict(record)
