"""Data sets from their public sources: fetched, brought into our form, and checked.

Nothing that arrives is trusted: sizes are limited, transfers must be complete, files are parsed
by readers that run no code, and what comes out must have the fingerprint that is known, and the
SHA-256 that is known or that the user has said.
"""

from __future__ import annotations

import json
import tempfile
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
from scipy import sparse

from eigenkit.datasets._fingerprint import KNOWN, difference, digest
from eigenkit.datasets._sources import Entry, Fetched, Files, OpenML
from eigenkit.datasets._store import Dataset, Splits
from eigenkit.exceptions import DatasetNotFound
from eigenkit.files import Reading, open_file, read
from eigenkit.files._streams import Origin

# The sources have a few megabytes, and some tens of them once decompressed.
_MOST_BYTES = 64 * 2**20
_MOST_EXPANDED = 2**30
_TIMEOUT = 60.0
_OPENML = "https://www.openml.org/api/v1/json/data/"
_CHUNK = 2**18

_Parts = tuple[Any, np.ndarray, dict[str, np.ndarray]]


def fetch(name: str, entry: Entry, source: Fetched, sha256: str | None) -> Dataset:
    """The data set from its source; DatasetNotFound if it cannot be obtained, or is another."""
    try:
        X, target, arrays = _read(source, entry)
    except (OSError, ValueError, HTTPException) as error:
        raise DatasetNotFound(f"{source.address} cannot be read ({_cause(error)})") from error
    problem = difference(X, target, KNOWN[name].whole)
    if problem:
        raise DatasetNotFound(f"what {source.address} holds is not this set ({problem})")
    _check_digest(name, source, digest(X, target), sha256 or KNOWN[name].digest)
    return Dataset(name, X, target, _splits(name, X, target), arrays, entry.origin)


def _cause(error: Exception) -> str:
    """The first line of an error, without the temporary path that a FileError begins with."""
    text = getattr(error, "problem", None) or getattr(error, "reason", None) or error
    lines = str(text).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _check_digest(name: str, source: Fetched, found: str, expected: str) -> None:
    """Refuse data unless its hash is known: to us, or else to the user."""
    if not expected:
        raise DatasetNotFound(
            f"what {source.address} holds has the sizes, counts and sums of this set, but its "
            f"SHA-256 is not known here: if you trust the source, "
            f"load_dataset({name!r}, sha256={found!r}) takes and keeps it"
        )
    if found != expected.lower():
        raise DatasetNotFound(
            f"what {source.address} holds is not this set (its SHA-256 is another one, {found})"
        )


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
    with tempfile.TemporaryDirectory(prefix="eigenkit-") as folder:
        about, path = Path(folder) / "about.json", Path(folder) / "data.arff"
        _download(f"{_OPENML}{source.data_id}", about)
        described = _description(about)
        _download(str(described.get("url", "")), path)
        _check_expanded(path)
        targets = _names(described.get("default_target_attribute"))
        others = _names(described.get("row_id_attribute"))
        others += _names(described.get("ignore_attribute"))
        options = Reading(format="arff", text=targets, ignore=others, max_bytes=_MOST_EXPANDED)
        found = read(open_file(str(path), options))
    cells = np.array([found.text[name] for name in targets], dtype=object).T
    target = source.decode(cells[:, 0] if len(targets) == 1 else cells)
    arrays = {"label_names": np.array(targets)} if target.ndim == 2 else {}
    X, target = (np.roll(part, -source.first_row, axis=0) for part in (found.X, target))
    return X, target, arrays


def _description(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_bytes())
    described = found.get("data_set_description") if isinstance(found, dict) else None
    if not isinstance(described, dict) or not described.get("default_target_attribute"):
        raise OSError("it does not describe a set with a target")
    return described


def _names(given: Any) -> tuple[str, ...]:
    """Names of attributes as OpenML writes them: a list, or one text with commas."""
    parts = given if isinstance(given, list) else str(given or "").split(",")
    return tuple(str(part).strip().strip("'\"") for part in parts if str(part).strip())


def _from_files(source: Files, entry: Entry) -> _Parts:
    with tempfile.TemporaryDirectory(prefix="eigenkit-") as folder:
        paths = [Path(folder) / name for name in source.names]
        for path in paths:
            _download(source.folder + path.name, path)
        if source.format == "svmlight":
            return _svmlight(paths[0], entry)
        return _table(paths, source)


def _download(url: str, path: Path) -> None:
    if not url.startswith(("https://", "http://")):
        raise OSError(f"{url!r} is not an address to fetch from")
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
