"""Filling in and scaling: learned from some rows, applied to any."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import as_dense, stored
from eigenkit.evaluation.samples import deviations
from eigenkit.files import Block

SCALES = ("none", "standard", "maxabs")
MISSING = ("error", "drop", "mean", "median", "keep")
Blocks = Callable[[], Iterable[Block]]


def filled(X: Any, fill: np.ndarray) -> Any:
    """X with missing values replaced, column by column; an empty ``fill`` replaces nothing."""
    if not len(fill):
        return X
    gaps = np.isnan(stored(X))
    if not gaps.any():
        return X
    fill = np.pad(fill, (0, X.shape[1] - len(fill)))  # text after the numbers has no gaps
    if sparse.issparse(X):
        X = X.copy()
        X.data[gaps] = fill[X.indices[gaps]]
        return X
    return np.where(gaps, fill.astype(X.dtype), X)


def divided(X: Any, scale: np.ndarray) -> Any:
    """X with its columns divided by their scale, if there is one; zeros stay zeros."""
    if not len(scale):
        return X
    if sparse.issparse(X):
        X = X.copy()
        X.data /= scale[X.indices].astype(X.dtype)
        return X
    return X / scale.astype(X.dtype)


@dataclass(frozen=True)
class Preparation:
    """Filling in and scaling, learned from some rows and applied to others.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.models import Preparation
    >>> prepare = Preparation("median", "none")(np.array([[1.0], [3.0], [8.0]]))
    >>> prepare(np.array([[np.nan], [5.0]]))
    array([[3.],
           [5.]])
    """

    missing: str  # one of MISSING
    scale: str  # one of SCALES
    n_numbers: int | None = None  # columns after these come from text, in which nothing is missing

    @property
    def learns(self) -> bool:
        """Whether anything is learned at all."""
        return self.scale != "none" or self.missing in ("mean", "median")

    def __call__(self, X: Any) -> Callable[[Any], Any]:
        """What is learned from these rows, as a function to apply to others."""
        return self.learned(lambda: [X], X.shape[1])

    def learned(self, parts: Callable[[], Iterable[Any]], d: int) -> Callable[[Any], Any]:
        """The same for blocks of rows with d columns."""
        n_numbers = d if self.n_numbers is None else self.n_numbers
        numbers = lambda: (Block(_first_columns(X, n_numbers)) for X in parts())  # noqa: E731
        fill = learn_fill(numbers, n_numbers, self.missing)
        scale = learn_scale((filled(X, fill) for X in parts()), self.scale)
        return lambda rows: divided(filled(rows, fill), scale)


def _first_columns(X: Any, n: int) -> Any:
    """The columns of numbers; beside text, they came from a dense matrix."""
    return X if X.shape[1] == n else as_dense(X[:, :n])


def learn_fill(blocks: Blocks, d: int, missing: str) -> np.ndarray:
    """What takes the place of missing values; empty where nothing does."""
    if missing == "mean":
        return _means(blocks, d)
    return _medians(blocks, d) if missing == "median" else np.empty(0)


def learn_scale(parts: Iterable[Any], scale: str) -> np.ndarray:
    """What columns are divided by; empty for no scaling."""
    if scale == "none":
        return np.empty(0)
    found = deviations(parts) if scale == "standard" else _largest(parts)
    return np.where(found > 0, found, 1.0)  # the scale of a column without values is NaN


def _means(blocks: Blocks, d: int) -> np.ndarray:
    """Means of the values that are not missing, 0 for a column without any."""
    total, count = np.zeros(d), np.zeros(d)
    for block in blocks():
        X = block.X
        if sparse.issparse(X):
            there = ~np.isnan(X.data)
            total += np.bincount(X.indices[there], X.data[there], minlength=d)
            count += X.shape[0] - np.bincount(X.indices[~there], minlength=d)
        else:
            total += np.nansum(X, axis=0)
            count += np.sum(~np.isnan(X), axis=0)
    return total / np.maximum(count, 1)


def _medians(blocks: Blocks, d: int) -> np.ndarray:
    """Medians of the values that are not missing, 0 for a column without any."""
    first, *more = blocks()
    if more:
        raise ValueError("medians cannot be learned in blocks: use --missing mean.")
    X = first.X
    if sparse.issparse(X):
        raise ValueError("the median of a sparse column is 0: use --missing mean.")
    empty = np.isnan(X).all(axis=0)
    return np.nanmedian(np.where(empty, 0.0, X), axis=0).astype(np.float64)


def _largest(parts: Iterable[Any]) -> np.ndarray:
    found: Any = 0.0
    for X in parts:
        top = abs(X).max(axis=0) if sparse.issparse(X) else np.fmax.reduce(abs(X), axis=0)
        found = np.fmax(found, np.ravel(as_dense(top)))
    return np.asarray(found, dtype=np.float64)
