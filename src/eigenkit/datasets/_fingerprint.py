"""Is what was fetched the set that was meant?

A fingerprint consists of counts, which are compared exactly, and of sums, which are compared to
a few digits: numbers that went through a text file come back a little different. None of it
depends on the order of the rows, but all of it together notices other columns, another scale,
and labels that belong to other rows. ``python -m benchmarks.fingerprints`` computes the table.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import stored

# Text with six decimals moves a sum by less than this, relative to the sum of absolute values.
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Fingerprint:
    """What is known of a set: see :func:`fingerprint`.

    ``counts`` holds the samples of each class or label. ``sums`` holds those of X, of X squared,
    of X with weights that grow over the columns, and of X with weights from the target.
    """

    shape: tuple[int, int]
    counts: tuple[int, ...]
    sums: tuple[float, float, float, float]


@dataclass(frozen=True)
class Known:
    """Of the whole set, of its training part if that comes first, and of every bit if known."""

    whole: Fingerprint
    train: Fingerprint | None = None
    digest: str = ""


def _read_known() -> dict[str, Known]:
    """What known.json holds, which benchmarks.fingerprints wrote."""

    def part(found: dict[str, Any], name: str) -> Any:
        fields = found.get(name)
        return fields and Fingerprint(**{key: tuple(value) for key, value in fields.items()})

    sets = json.loads(files("eigenkit.datasets").joinpath("known.json").read_text("utf-8"))
    return {
        name: Known(part(found, "whole"), part(found, "train"), found.get("digest", ""))
        for name, found in sets.items()
    }


# The sets that can be fetched.
KNOWN = _read_known()


def fingerprint(X: Any, target: np.ndarray) -> Fingerprint:
    """The fingerprint of a set, sums rounded to six digits.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.datasets._fingerprint import fingerprint
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
    """SHA-256 over the SHA-256 of every sample, where every bit is known; blind to their order."""
    X, Y = sparse.csr_array(X), np.asarray(target, dtype="<i8").reshape(len(target), -1)
    X.eliminate_zeros()  # -0.0 as well
    X.sort_indices()
    rows = zip(X.indptr[:-1], X.indptr[1:], Y, strict=True)
    samples = sorted(_sample_digest(X.indices[a:b], X.data[a:b], y) for a, b, y in rows)
    return hashlib.sha256(b"".join(samples)).hexdigest()


def _sample_digest(indices: Any, values: Any, y: np.ndarray) -> bytes:
    parts = (indices.astype("<i8"), values.astype("<f8"), y)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest()


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
