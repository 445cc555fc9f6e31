"""A data set by its name: from the data folder, drawn, or from where it comes."""

from __future__ import annotations

import difflib
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_datasets

from eigenkit.datasets._fetch import fetch
from eigenkit.datasets._sources import SETS, Bundled, Drawn, Entry, Fetched
from eigenkit.datasets._store import Dataset, data_folder, read_dataset, write_dataset
from eigenkit.exceptions import DatasetNotFound, EigenkitWarning
from eigenkit.files import FileError

# A name is part of a path, so it must not lead out of the folder.
_NAME = re.compile(r"\w[\w.+-]*")


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
        return fetch(path.stem, entry, source, sha256)
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
