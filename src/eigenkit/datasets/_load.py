"""A data set by its name: from the data folder, drawn, or from where it comes.

Files of the folder, NAME.npz, hold plain arrays only, so reading one runs no code. What is read is
checked: a file that is damaged, or that contradicts itself, is refused with a sentence that says
why.
"""

from __future__ import annotations

import difflib
import os
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import datasets as sklearn_datasets

from eigenkit.datasets._fetch import Splits, fetch
from eigenkit.datasets._sources import SETS, Bundled, Drawn, Entry, Fetched
from eigenkit.exceptions import DatasetNotFound, EigenkitWarning
from eigenkit.files import FileError, atomic
from eigenkit.files._binary import checked_csr
from eigenkit.files._streams import guarded

# A name is part of a path, so it must not lead out of the folder.
_NAME = re.compile(r"\w[\w.+-]*")

_CSR = ("X_data", "X_indices", "X_indptr", "X_shape")


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


def dataset_names() -> list[str]:
    """Names of all data sets that :func:`load_dataset` knows.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from eigenkit.datasets import dataset_names
    >>> dataset_names()[:3]
    ['yeast', 'scene', 'emotions']
    """
    return list(SETS)


def describe_dataset(name: str) -> str:
    """One sentence: where a data set comes from, and how it differs from that of the papers.

    Parameters
    ----------
    name : str
        One of :func:`dataset_names`.

    Returns
    -------
    str

    Examples
    --------
    >>> from eigenkit.datasets import describe_dataset
    >>> print(describe_dataset("pima"))
    Diabetes of Pima women (UCI), +1 for positive: the papers' data.
    """
    _check_name(name)
    return _entry(name, list(SETS)).origin


def load_dataset(
    name: str,
    *,
    folder: str | Path | None = None,
    download: bool = True,
    sha256: str | None = None,
    random_state: Any = 0,
) -> Dataset:
    """Load a data set by its name.

    A copy ``NAME.npz`` in the data folder comes first. Without one, the set is drawn, taken from
    scikit-learn, or fetched from its public source, checked and kept in the data folder.

    Parameters
    ----------
    name : str
        One of :func:`dataset_names`, or the name of a file of your own in the data folder.
    folder : str or Path, optional
        See :func:`data_folder`.
    download : bool
        Whether a set may be fetched.
    sha256 : str, optional
        The SHA-256 that a fetched set must have, in place of the known one. For some sets none
        is known, as their decimals differ from place to place: the error then says what was
        found, for you to accept.
    random_state : int or RandomState, optional
        For sets that are drawn.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If no set has this name, or if the copy is damaged.
    DatasetNotFound
        If there is no copy, and the set cannot be fetched.

    Examples
    --------
    >>> from eigenkit.datasets import load_dataset
    >>> load_dataset("syn1", random_state=1)
    Dataset('syn1', 1000 x 100, 5 classes)
    """
    _check_name(name)
    place = data_folder(folder)
    path = place / f"{name}.npz"
    if path.is_file():
        own = f"A file of your own, {path.name}."
        return read_dataset(path, name, SETS[name].origin if name in SETS else own)
    entry = _entry(name, sorted({*SETS, *(file.stem for file in place.glob("*.npz"))}))
    source = entry.source
    if isinstance(source, Drawn):
        X, target = source.make(random_state=random_state)
        return Dataset(name, X, target, origin=entry.origin)
    if isinstance(source, Bundled):
        found = getattr(sklearn_datasets, source.loader)()
        names = {"feature_names": np.array(found.feature_names)}
        return Dataset(name, found.data, found.target, [], names, entry.origin)
    data = _fetched(path, entry, source, download, sha256)
    _keep(data, place)
    return data


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"name={name!r} is not valid: give a name such as {next(iter(SETS))!r}.")


def _fetched(
    path: Path, entry: Entry, source: Fetched | None, download: bool, sha256: str | None
) -> Dataset:
    """The set that would be stored under ``path``, or an error that says what was tried."""
    try:
        if source is None:
            raise DatasetNotFound("it has no public source to fetch it from")
        if not download:
            raise DatasetNotFound(f"fetching {source.address} was not allowed (download=False)")
        return Dataset(path.stem, *fetch(path.stem, entry, source, sha256), entry.origin)
    except DatasetNotFound as error:
        raise DatasetNotFound(
            f"{path.stem} is not available: there is no {path.name} in {path.parent}, and {error}; "
            f"put a file of that name with X and its target there ({entry.origin.rstrip('.')})."
        ) from error.__cause__


def _keep(data: Dataset, place: Path) -> None:
    """Store what was fetched; if the folder cannot be written to, warn and go on."""
    try:
        write_dataset(data, place)
    except (OSError, FileError) as error:
        warnings.warn(
            f"{data.name} was fetched but cannot be kept ({error}): it will be fetched again the "
            "next time, unless folder or EIGENKIT_DATA name a folder that can be written to.",
            EigenkitWarning,
            stacklevel=3,
        )


def _entry(name: str, known: list[str]) -> Entry:
    if name in SETS:
        return SETS[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else "dataset_names() lists all."
    raise ValueError(f"name={name!r} is not known: {hint}")


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
        data, indices, indptr, shape = (arrays.pop(part) for part in _CSR)
        data = _numbers(path, "X_data", data).astype(np.float64, copy=False)
        if shape.dtype.kind not in "iu" or shape.shape != (2,) or shape.min() < 1:
            raise FileError(path, "X_shape must be two whole numbers above 0.")
        return checked_csr(str(path), data, indices, indptr, tuple(shape.tolist()))
    if "X" not in arrays:
        raise FileError(path, f"it holds neither X nor the CSR parts {', '.join(_CSR)}.")
    X = _numbers(path, "X", arrays.pop("X"))
    if X.ndim != 2 or 0 in X.shape:
        raise FileError(path, f"X has shape {X.shape}: it must be a matrix that is not empty.")
    return X.astype(np.float64, copy=False)


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
    X, arrays = data.X, dict[str, Any](data.arrays)
    if sparse.issparse(X):
        arrays |= zip(_CSR, (X.data, X.indices, X.indptr, np.array(X.shape)), strict=True)
    else:
        arrays["X"] = X
    labels = data.target.astype(np.int8) if data.multilabel else data.target
    arrays["Y" if data.target.ndim == 2 else "y"] = labels
    if data.splits:
        arrays["train"], arrays["test"] = map(np.stack, zip(*data.splits, strict=True))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{data.name}.npz"
    with atomic(path) as stream:
        np.savez_compressed(stream, **arrays)
    return path
