"""A data set in memory, and as NAME.npz in the data folder.

Files hold plain arrays only, so reading one runs no code. What is read is checked: a file that
is damaged, or that contradicts itself, is refused with a sentence that says why.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files import FileError, atomic
from eigenkit.files._binary import checked_csr
from eigenkit.files._streams import guarded

_CSR = ("X_data", "X_indices", "X_indptr", "X_shape")

Splits = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """A data set: features, targets, and the splits that others have used.

    Attributes
    ----------
    name : str
    X : array or CSR array of shape (n_samples, n_features)
        Features, float64.
    target : array of shape (n_samples,) or (n_samples, n_targets)
        Classes or one response, or a matrix of 0/1 labels or responses.
    splits : list of pairs of arrays
        Row numbers of the training and of the test part; empty where there is no usual split.
    arrays : dict of arrays
        Whatever else is stored: names of labels, a second labelling, ranges of columns.
    origin : str
        Where the data come from, and how they differ from those of the papers.

    Examples
    --------
    >>> from eigenkit.datasets import load_dataset
    >>> load_dataset("syn3")
    Dataset('syn3', 1000 x 100, 5 labels)
    """

    name: str
    X: Any
    target: np.ndarray
    splits: Splits = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    origin: str = ""

    @property
    def n_samples(self) -> int:
        """Number of rows of X."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self.X.shape[1])

    @property
    def multilabel(self) -> bool:
        """Whether the target is a matrix of 0/1 labels."""
        return self.target.ndim == 2 and bool(np.isin(self.target, (0, 1)).all())

    def __repr__(self) -> str:
        kind = "sparse, " if sparse.issparse(self.X) else ""
        count = len(self.splits)
        splits = f", {count} split{'s' if count > 1 else ''}" if count else ""
        shape = f"{self.n_samples} x {self.n_features}"
        return f"Dataset({self.name!r}, {shape}, {kind}{self._target_in_words()}{splits})"

    def _target_in_words(self) -> str:
        if self.multilabel:
            return f"{self.target.shape[1]} labels"
        if self.target.ndim == 2:
            return f"{self.target.shape[1]} responses"
        if self.target.dtype.kind == "f":
            return "one response"
        return f"{len(np.unique(self.target))} classes"


def data_folder(folder: str | Path | None = None) -> Path:
    """The folder in which data sets are looked for and kept.

    Parameters
    ----------
    folder : str or Path, optional
        By default the environment variable ``EIGENKIT_DATA``, and where it is not set
        ``eigenkit`` in the user's cache (``XDG_CACHE_HOME``, or ``~/.cache``).

    Returns
    -------
    Path

    Examples
    --------
    >>> from eigenkit.datasets import data_folder
    >>> data_folder("sets").name
    'sets'
    """
    chosen = folder or os.environ.get("EIGENKIT_DATA")
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "eigenkit"


# -- reading ----------------------------------------------------------------------------


def read_dataset(path: Path, name: str, origin: str) -> Dataset:
    """The data set in a file; FileError if it is damaged."""
    arrays = _arrays(path)
    X = _features(path, arrays)
    target = _target(path, arrays, X.shape[0])
    splits = _splits(path, arrays, X.shape[0])
    return Dataset(name, X, target, splits, arrays, origin)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    damaged = "it is damaged or holds more than plain arrays."
    try:
        with path.open("rb") as stream, guarded(path, damaged):
            stored = np.load(stream, allow_pickle=False)
            if isinstance(stored, np.ndarray):
                raise FileError(path, "it is a single array, not an archive of named arrays.")
            return {key: stored[key] for key in stored.files}
    except OSError as error:
        raise FileError(path, f"it cannot be read ({error.strerror or error}).") from error


def _features(path: Path, arrays: dict[str, np.ndarray]) -> Any:
    """Take X out of the arrays."""
    if all(part in arrays for part in _CSR):
        return _csr(path, *(arrays.pop(part) for part in _CSR))
    if "X" not in arrays:
        raise FileError(path, f"it holds neither X nor the CSR parts {', '.join(_CSR)}.")
    X = _numbers(path, "X", arrays.pop("X"))
    if X.ndim != 2 or 0 in X.shape:
        raise FileError(path, f"X has shape {X.shape}: it must be a matrix that is not empty.")
    return X.astype(np.float64, copy=False)


def _csr(path: Path, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    data = _numbers(path, "X_data", data).astype(np.float64, copy=False)
    if shape.dtype.kind not in "iu" or shape.shape != (2,) or shape.min() < 1:
        raise FileError(path, "X_shape must be two whole numbers above 0.")
    return checked_csr(str(path), data, indices, indptr, tuple(shape.tolist()))


def _target(path: Path, arrays: dict[str, np.ndarray], n: int) -> np.ndarray:
    """Take Y, or else y, out of the arrays."""
    key = "Y" if "Y" in arrays else "y"
    if key not in arrays:
        raise FileError(path, "it holds neither Y (labels, responses) nor y (classes).")
    target = arrays.pop(key)
    if target.dtype.kind != "U":
        target = _numbers(path, key, target)
    if target.ndim != (2 if key == "Y" else 1) or len(target) != n:
        raise FileError(path, f"{key} has shape {target.shape}, but X has {n} rows.")
    # Labels are stored in one byte each, in which products overflow.
    return target.astype(np.int64) if target.dtype.kind in "biu" else target


def _numbers(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        raise FileError(path, f"{name} holds {array.dtype}, not plain numbers.")
    if not np.isfinite(array).all():
        raise FileError(path, f"{name} holds NaN or infinite values.")
    return array


def _splits(path: Path, arrays: dict[str, np.ndarray], n: int) -> Splits:
    """Take train and test out of the arrays: a pair, or one pair per row."""
    if "train" not in arrays and "test" not in arrays:
        return []
    if "train" not in arrays or "test" not in arrays:
        raise FileError(path, "it holds only one of train and test.")
    train, test = (_rows(path, part, arrays.pop(part), n) for part in ("train", "test"))
    if len(train) != len(test):
        raise FileError(path, f"train has {len(train)} splits, but test has {len(test)}.")
    for number, (a, b) in enumerate(zip(train, test, strict=True)):
        if np.intersect1d(a, b).size:
            raise FileError(path, f"a row is both in train and in test (split {number}).")
    return list(zip(train, test, strict=True))


def _rows(path: Path, name: str, rows: np.ndarray, n: int) -> np.ndarray:
    if rows.dtype.kind not in "iu" or rows.ndim not in (1, 2) or rows.size == 0:
        raise FileError(path, f"{name} must hold row numbers, one line of them per split.")
    if rows.min() < 0 or rows.max() >= n:
        raise FileError(path, f"{name} names rows beyond the {n} of X.")
    return np.atleast_2d(rows).astype(np.intp)


# -- writing ----------------------------------------------------------------------------


def write_dataset(data: Dataset, folder: Path) -> Path:
    """Keep a data set as NAME.npz: all of it, or nothing."""
    arrays: dict[str, Any] = {**data.arrays, **_parts(data.X)}
    labels = data.target.astype(np.int8) if data.multilabel else data.target
    arrays["Y" if data.target.ndim == 2 else "y"] = labels
    if data.splits:
        arrays["train"], arrays["test"] = (
            np.stack(part) for part in zip(*data.splits, strict=True)
        )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{data.name}.npz"
    with atomic(path) as stream:
        np.savez_compressed(stream, **arrays)
    return path


def _parts(X: Any) -> dict[str, np.ndarray]:
    if not sparse.issparse(X):
        return {"X": X}
    return dict(zip(_CSR, (X.data, X.indices, X.indptr, np.array(X.shape)), strict=True))
