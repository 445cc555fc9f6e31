"""Fetching a data set, and checking that it is the right one.

A fingerprint consists of counts, which are compared exactly, and of sums, which are compared to
a few digits, as numbers that went through a text file change a little. It does not depend on the
order of the rows, but notices other columns, another scale, and labels that belong to other rows.
``python -m benchmarks.fingerprints`` computes the table.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
from scipy import sparse

from eigenkit.data import stored
from eigenkit.datasets._sources import Entry, Fetched, Files, OpenML
from eigenkit.exceptions import DatasetNotFound
from eigenkit.files import Reading, open_file, read
from eigenkit.files._streams import Origin

# Text with six decimals moves a sum by less than this, relative to the sum of absolute values.
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Fingerprint:
    """What is known about a set: see :func:`fingerprint`.

    ``counts`` holds the samples of each class or label. ``sums`` holds those of X, of X squared,
    of X with weights that grow over the columns, and of X with weights from the target.
    """

    shape: tuple[int, int]
    counts: tuple[int, ...]
    sums: tuple[float, float, float, float]


@dataclass(frozen=True)
class Known:
    """Fingerprints of a set and of its training part if that comes first; the SHA-256 if known."""

    whole: Fingerprint
    train: Fingerprint | None = None
    digest: str = ""


def _known(digest: str = "", **parts: dict[str, Any]) -> Known:
    """From a set in known.json, which benchmarks.fingerprints wrote."""
    found = {}
    for name, fields in parts.items():
        found[name] = Fingerprint(**{key: tuple(value) for key, value in fields.items()})
    return Known(digest=digest, **found)


_SETS = json.loads(files("eigenkit.datasets").joinpath("known.json").read_text("utf-8"))
# Those that can be fetched.
KNOWN = {name: _known(**found) for name, found in _SETS.items()}


def fingerprint(X: Any, target: np.ndarray) -> Fingerprint:
    """The fingerprint of a set, sums rounded to six digits.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.datasets._fetch import fingerprint
    >>> fingerprint(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([-1, 1]))
    Fingerprint(shape=(2, 2), counts=(1, 1), sums=(10.0, 30.0, 8.0, 4.0))
    """
    shape = (int(X.shape[0]), int(X.shape[1]))
    sums = tuple(float(f"{value:.6g}") for value in _sums(X, target))
    return Fingerprint(shape, _counts(target), (sums[0], sums[1], sums[2], sums[3]))


def difference(X: Any, target: np.ndarray, known: Fingerprint) -> str:
    """Why a set is not the known one, in words; empty if it is."""
    if X.shape != known.shape:
        return f"X has shape {tuple(X.shape)}, not {known.shape}"
    if _counts(target) != known.counts:
        return "its classes or labels have other counts"
    found = _sums(X, target)
    scale = _sums(abs(X), abs(target))
    if not np.all(np.abs(found - known.sums) <= _TOLERANCE * scale):  # NaN agrees with nothing
        return "its numbers have other sums"
    return ""


def digest(X: Any, target: np.ndarray) -> str:
    """The SHA-256 of the sorted SHA-256 of all samples, which does not depend on their order."""
    X, Y = sparse.csr_array(X), np.asarray(target, dtype="<i8").reshape(len(target), -1)
    X.eliminate_zeros()  # -0.0 as well
    X.sort_indices()
    rows = zip(X.indptr[:-1], X.indptr[1:], Y, strict=True)
    parts = ((X.indices[a:b].astype("<i8"), X.data[a:b].astype("<f8"), y) for a, b, y in rows)
    samples = (b"".join(part.tobytes() for part in sample) for sample in parts)
    hashes = sorted(hashlib.sha256(sample).digest() for sample in samples)
    return hashlib.sha256(b"".join(hashes)).hexdigest()


def _counts(target: np.ndarray) -> tuple[int, ...]:
    counts = target.sum(axis=0) if target.ndim == 2 else np.unique(target, return_counts=True)[1]
    return tuple(int(count) for count in counts)


def _sums(X: Any, target: np.ndarray) -> np.ndarray:
    columns = np.asarray(X.sum(axis=0)).ravel()
    rows = np.asarray(X.sum(axis=1)).ravel()
    values = stored(X)
    grow = np.arange(1, X.shape[1] + 1) / X.shape[1]
    weights = target @ np.arange(1, target.shape[1] + 1) if target.ndim == 2 else target
    return np.array([columns.sum(), np.vdot(values, values), columns @ grow, rows @ weights])


# The sources have a few megabytes, and a few tens once decompressed.
_MOST_BYTES = 64 * 2**20
_MOST_EXPANDED = 2**30
_TIMEOUT = 60.0
_OPENML = "https://www.openml.org/api/v1/json/data/"
_CHUNK = 2**18

Splits = list[tuple[np.ndarray, np.ndarray]]
Found = tuple[Any, np.ndarray, Splits, dict[str, np.ndarray]]
_Parts = tuple[Any, np.ndarray, dict[str, np.ndarray]]


def fetch(name: str, entry: Entry, source: Fetched, sha256: str | None) -> Found:
    """X, the target, splits and other arrays; DatasetNotFound if they cannot be read, or differ."""
    try:
        if isinstance(source, OpenML):
            X, target, arrays = _from_openml(source)
        else:
            X, target, arrays = _from_files(source, entry)
    except (OSError, ValueError, HTTPException) as error:
        raise DatasetNotFound(f"{source.address} cannot be read ({_cause(error)})") from error
    problem = difference(X, target, KNOWN[name].whole)
    if problem:
        raise DatasetNotFound(f"the data at {source.address} are not this set ({problem})")
    _check_digest(name, source, digest(X, target), sha256 or KNOWN[name].digest)
    return X, target, _splits(name, X, target), arrays


def _cause(error: Exception) -> str:
    """The first line of an error, without the temporary path that a FileError begins with."""
    text = getattr(error, "problem", None) or getattr(error, "reason", None) or error
    lines = str(text).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _check_digest(name: str, source: Fetched, found: str, expected: str) -> None:
    """Refuse data whose hash neither we nor the user know."""
    if not expected:
        raise DatasetNotFound(
            f"the data at {source.address} have the sizes, counts and sums of this set, but their "
            "SHA-256 is not known here: if you trust the source, "
            f"load_dataset({name!r}, sha256={found!r}) takes and keeps it"
        )
    if found != expected.lower():
        problem = f"are not this set (their SHA-256 is {found})"
        raise DatasetNotFound(f"the data at {source.address} {problem}")


def _splits(name: str, X: Any, target: np.ndarray) -> Splits:
    """The usual split, if the training part comes first as it should."""
    known = KNOWN[name].train
    n = 0 if known is None else known.shape[0]
    if known is None or difference(X[:n], target[:n], known):
        return []
    return [(np.arange(n), np.arange(n, len(target)))]


# -- sources ----------------------------------------------------------------------------


def _from_openml(source: OpenML) -> _Parts:
    with tempfile.TemporaryDirectory(prefix="eigenkit-") as folder:
        about, path = Path(folder) / "about.json", Path(folder) / "data.arff"
        _download(f"{_OPENML}{source.data_id}", about)
        found = json.loads(about.read_bytes())
        described = found.get("data_set_description") if isinstance(found, dict) else None
        if not isinstance(described, dict) or not described.get("default_target_attribute"):
            raise OSError("it does not describe a set with a target")
        _download(str(described.get("url", "")), path)
        _check_expanded(path)
        targets = _names(described.get("default_target_attribute"))
        others = _names(described.get("row_id_attribute"))
        others += _names(described.get("ignore_attribute"))
        options = Reading(format="arff", text=targets, ignore=others, max_bytes=_MOST_EXPANDED)
        table = read(open_file(str(path), options))
    cells = np.array([table.text[name] for name in targets], dtype=object).T
    target = source.decode(cells[:, 0] if len(targets) == 1 else cells)
    arrays = {"label_names": np.array(targets)} if target.ndim == 2 else {}
    X, target = (np.roll(part, -source.first_row, axis=0) for part in (table.X, target))
    return X, target, arrays


def _names(given: Any) -> tuple[str, ...]:
    """Names of attributes as OpenML writes them: a list, or one text with commas."""
    parts = given if isinstance(given, list) else str(given or "").split(",")
    return tuple(str(part).strip().strip("'\"") for part in parts if str(part).strip())


def _from_files(source: Files, entry: Entry) -> _Parts:
    with tempfile.TemporaryDirectory(prefix="eigenkit-") as folder:
        paths = [Path(folder) / name for name in source.names]
        for path in paths:
            _download(source.folder + path.name, path)
        return _svmlight(paths[0], entry) if source.format == "svmlight" else _table(paths, source)


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
    """Count the bytes before anything is parsed: a small archive may hold a huge file."""
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
