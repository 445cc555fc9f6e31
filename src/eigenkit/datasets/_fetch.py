"""Data sets from their public sources: fetched, brought into our form, and checked.

Nothing that arrives is trusted: sizes are limited, transfers must be complete, files are parsed
by readers that run no code, and what comes out must have the fingerprint that is known.
"""

from __future__ import annotations

import tempfile
import warnings
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
from scipy import sparse
from sklearn import datasets as sklearn_datasets

from eigenkit.datasets._fingerprint import difference, digest
from eigenkit.datasets._known import KNOWN
from eigenkit.datasets._sources import Entry, Fetched, Files, OpenML
from eigenkit.datasets._store import Dataset, Splits
from eigenkit.exceptions import DatasetNotFound
from eigenkit.files import Reading, open_file, read
from eigenkit.files._streams import Origin

# The sources have a few megabytes, and some tens of them once decompressed.
_MOST_BYTES = 64 * 2**20
_MOST_EXPANDED = 2**30
_TIMEOUT = 60.0
_CHUNK = 2**18

_Parts = tuple[Any, np.ndarray, dict[str, np.ndarray]]


def fetch(name: str, entry: Entry, source: Fetched) -> Dataset:
    """The data set from its source; DatasetNotFound if it cannot be had, or is another one."""
    try:
        X, target, arrays = _read(source, entry)
    except (OSError, ValueError, HTTPException) as error:
        raise DatasetNotFound(f"{source.address} cannot be read ({_cause(error)})") from error
    problem = _problem(name, X, target)
    if problem:
        raise DatasetNotFound(f"what {source.address} holds is not this set ({problem})")
    return Dataset(name, X, target, _splits(name, X, target), arrays, entry.origin)


def _cause(error: Exception) -> str:
    """The first line of an error, without the temporary path that a FileError begins with."""
    text = getattr(error, "problem", None) or getattr(error, "reason", None) or error
    lines = str(text).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _problem(name: str, X: Any, target: np.ndarray) -> str:
    known = KNOWN[name]
    problem = difference(X, target, known.whole)
    if not problem and known.digest and digest(X, target) != known.digest:
        return "its SHA-256 is another one"
    return problem


def _splits(name: str, X: Any, target: np.ndarray) -> Splits:
    """The usual split, if the training part comes first as it should."""
    known = KNOWN[name].train
    if known is None:
        return []
    n = known.shape[0]
    if difference(X[:n], target[:n], known):
        return []
    return [(np.arange(n), np.arange(n, len(target)))]


# -- sources ----------------------------------------------------------------------------


def _read(source: Fetched, entry: Entry) -> _Parts:
    return _from_openml(source) if isinstance(source, OpenML) else _from_files(source, entry)


def _from_openml(source: OpenML) -> _Parts:
    # The slower parser does without pandas; OpenML's checksum is compared by scikit-learn.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of each attempt; the last one's error tells
        found = sklearn_datasets.fetch_openml(
            data_id=source.data_id, as_frame=False, parser="liac-arff", cache=False
        )
    target = source.decode(found.target)
    arrays = {"label_names": np.array(found.target_names)} if target.ndim == 2 else {}
    X, target = (np.roll(part, -source.first_row, axis=0) for part in (found.data, target))
    return X.astype(np.float64), target, arrays


def _from_files(source: Files, entry: Entry) -> _Parts:
    with tempfile.TemporaryDirectory(prefix="eigenkit-") as folder:
        paths = [Path(folder) / name for name in source.names]
        for path in paths:
            _download(source.folder + path.name, path)
        if source.format == "svmlight":
            return _svmlight(paths[0], entry)
        return _table(paths, source)


def _download(url: str, path: Path) -> None:
    request = Request(url, headers={"User-Agent": "eigenkit"})
    with urlopen(request, timeout=_TIMEOUT) as answer, path.open("wb") as file:
        expected, size = answer.headers.get("Content-Length"), 0
        while piece := answer.read(_CHUNK):
            size += len(piece)
            if size > _MOST_BYTES:
                raise OSError(f"it is larger than {_MOST_BYTES} bytes")
            file.write(piece)
    if expected is not None and size != int(expected):
        raise OSError(f"the transfer ended after {size} of {expected} bytes")


def _check_expanded(path: Path) -> None:
    """A small archive may hold a large file of nothing: count before anything is parsed."""
    size = 0
    for piece in Origin(str(path), _MOST_EXPANDED).bytes_():
        size += len(piece)
        if size > _MOST_EXPANDED:
            raise OSError(f"it expands to more than {_MOST_EXPANDED} bytes")


# -- formats ----------------------------------------------------------------------------


def _table(paths: list[Path], source: Files) -> _Parts:
    """Tables of numbers, one below the other; rows with missing values are left out."""
    mark = None if source.format == " " else source.format
    rows = np.vstack([np.genfromtxt(path, delimiter=mark, ndmin=2) for path in paths])
    rows = rows[~np.isnan(rows).any(axis=1)]
    last = rows[:, -1].astype(np.int64)
    arrays = {source.extra: last} if source.extra else {}
    return np.ascontiguousarray(rows[:, :-1]), source.decode(last), arrays


def _svmlight(path: Path, entry: Entry) -> _Parts:
    options = Reading(format="svmlight", index_base=1, max_bytes=_MOST_EXPANDED)
    _check_expanded(path)
    found = read(open_file(str(path), options))
    X = sparse.csr_array(found.X)
    X.resize(X.shape[0], entry.shape[1])  # the last features may not occur
    count, what = entry.what.split()
    numbers = [[int(label) for label in labels] for labels in found.labels]
    target = _indicator(numbers, int(count)) if what == "labels" else np.array(numbers).ravel()
    return X, target, {}


def _indicator(numbers: list[list[int]], k: int) -> np.ndarray:
    """Labels 0 to k - 1 of each sample as a 0/1 matrix."""
    Y = np.zeros((len(numbers), k), dtype=np.int64)
    for i, labels in enumerate(numbers):
        if labels and (min(labels) < 0 or max(labels) >= k):
            raise ValueError(f"it has labels beyond the {k} of this set")
        Y[i, labels] = 1
    return Y
