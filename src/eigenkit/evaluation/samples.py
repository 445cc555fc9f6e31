"""The data of a comparison, validated once, and its splits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator

from eigenkit.data import stored
from eigenkit.estimators import _encoding
from eigenkit.estimators._validation import check_X, numbers_in
from eigenkit.estimators.splits import Split, k_fold, partition
from eigenkit.shell import check_count, counted

# From training rows to the function that turns rows into features.
Prepare = Callable[[Any], Callable[[Any], Any]]
# X and Y of some rows.
Part = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class Samples:
    """Features X (dense or CSR), 0/1 labels Y (n x k), and the names of their columns.

    ``single`` says that every sample carries exactly one label, a class. With ``numbers``
    Y holds responses instead.
    ``prepare`` learns from the rows of a training part how rows become features. Rows of one of
    the ``groups`` belong together.
    """

    X: Any
    Y: np.ndarray
    feature_names: list[str]
    label_names: list[str]
    single: bool
    prepare: Prepare | None = None
    numbers: bool = False
    groups: np.ndarray | None = None

    @property
    def kind(self) -> str:
        """What Y holds, in the words of the record."""
        return "numbers" if self.numbers else "classes" if self.single else "labels"

    def parts(self, split: tuple[np.ndarray, np.ndarray]) -> list[Part]:
        """X and Y of the training and of the test rows, prepared by the training rows alone."""
        prepared = self.prepare(self.X[split[0]]) if self.prepare else lambda X: X
        return [(prepared(self.X[rows]), self.Y[rows]) for rows in split]

    def some_of(self, split: Split, share: float, rng: np.random.Generator) -> Split:
        """The same split of a random share of the rows."""
        parted = partial(partition, train_size=share, rng=rng, stratified=not self.numbers)
        train, test = (rows[parted(self.Y[rows])[0]] for rows in split)
        return train, test

    def part(self, rows: np.ndarray) -> Part:
        """X and Y of some rows."""
        return self.X[rows], self.Y[rows]

    def groups_of(self, rows: np.ndarray) -> np.ndarray | None:
        """The groups of some rows."""
        return None if self.groups is None else self.groups[rows]


def read_samples(
    X: Any,
    Y: Any,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    prepare: Prepare | None = None,
    numbers: bool = False,
    groups: Any = None,
) -> Samples:
    """Arrays, frames or sparse matrices as :class:`Samples`; bad input is one sentence."""
    features, names = (getattr(table, "columns", None) for table in (X, Y))
    X = X if prepare else check_X(BaseEstimator(), X, reset=True, min_samples=4)
    n, labels = X.shape[0], _encoding.as_labels(Y)
    if numbers:
        matrix = _encoding.check_numeric_Y(labels, n).astype(np.float64, copy=False).reshape(n, -1)
    elif labels.ndim == 1:
        y = _encoding.check_classes(labels, n, instead="give a 0/1 matrix")
        names = np.unique(y)
        matrix = _encoding.indicator_matrix(_encoding.class_numbers(y, names), len(names)).toarray()
    else:
        matrix = _encoding.check_indicator(labels, n)
    if not numbers and not np.any((matrix.max(axis=0) == 1) & (matrix.min(axis=0) == 0)):
        raise ValueError(
            "every label in y is on all samples or on none: give labels that tell samples apart."
        )
    k, what = matrix.shape[1], "response" if numbers else "label"
    single = not numbers and k > 1 and bool(np.all(matrix.sum(axis=1) == 1))
    columns = _named("feature", feature_names or features, X.shape[1])
    labelled = _named(what, label_names or names, k)
    together = None if groups is None else _encoding.check_groups(groups, n)
    return Samples(X, matrix, columns, labelled, single, prepare, numbers, together)


def _named(word: str, names: Sequence[Any] | None, count: int) -> list[str]:
    """The names given, as many as there are columns, or numbers."""
    if names is None:
        return [f"{word} {i}" for i in range(count)]
    if len(names) != count:
        raise ValueError(
            f"{word}_names has {len(names)} entries, but there are {count}: give one each."
        )
    return [str(name) for name in names]


def has_gaps(X: Any) -> bool:
    return bool(np.isnan(stored(X)).any())


def with_means(X: Any) -> Any:
    """X with the means of its columns in its gaps."""
    return means_of_columns().fit_transform(X) if has_gaps(X) else X


def means_of_columns() -> Any:
    """Fills gaps with the means of columns, and keeps columns that are all gaps."""
    return sklearn.impute.SimpleImputer(keep_empty_features=True)


def deviations(parts: Iterable[Any]) -> np.ndarray:
    """Standard deviations of columns without their missing values, over blocks of rows."""
    n, mean, square = np.zeros(1), 0.0, 0.0
    for X in parts:
        m: Any = X.shape[0]
        if not m:
            continue
        here = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        if sparse.issparse(X):
            power = np.asarray(X.multiply(X).mean(axis=0), dtype=np.float64).ravel()
            variance = np.maximum(power - here**2, 0.0)
        elif np.isnan(here).any():  # of what is there
            m = np.maximum(np.sum(~np.isnan(X), axis=0), 1)
            here = np.nansum(X, axis=0, dtype=np.float64) / m
            variance = np.nansum((X - here) ** 2, axis=0, dtype=np.float64) / m
        else:
            variance = np.asarray(X.var(axis=0, dtype=np.float64))
        gap = here - mean
        square = square + m * variance + gap**2 * (n * m / (n + m))
        mean = mean + gap * (m / (n + m))
        n = n + m
    return np.sqrt(np.asarray(square) / np.maximum(n, 1))


def auto_alphas(X: Any) -> list[float]:
    """Seven powers of ten around a typical eigenvalue of Xc'Xc, the natural scale of a ridge.

    It is estimated by the median diagonal entry, times d / (n - 1) where there are more
    features than samples, as then only n - 1 eigenvalues are not zero.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    list of float

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.evaluation import auto_alphas
    >>> auto_alphas(np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]]))
    [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
    """
    X = X if sparse.issparse(X) else numbers_in("X", X)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions: give a row for every sample.")
    squares = X.shape[0] * np.square(deviations([X]))
    varying = squares[squares > 0]
    # Not the mean (the mean eigenvalue), which a single feature in large units would dominate.
    scale = np.median(varying) * max(1.0, varying.size / (X.shape[0] - 1)) if varying.size else 1.0
    center = round(np.log10(scale))
    return [float(f"1e{power}") for power in range(center - 4, center + 3)]


def make_splits(
    samples: Samples, cv: int | Sequence[Split], repeats: int, train_size: float | None, seed: int
) -> tuple[list[Split], str]:
    """The splits of a comparison, and what they are in words.

    Given splits are taken as they are; ``train_size`` asks for ``repeats`` random
    partitions, otherwise there are ``repeats`` rounds of ``cv`` folds. They are stratified
    unless Y holds numbers, and divide no groups.
    """
    Y, groups = samples.Y, samples.groups
    if not np.isscalar(cv):
        return _given_splits(cv, len(Y), groups)
    n = len(Y) if groups is None else len(np.unique(groups))
    how: Any = {"groups": groups, "stratified": not samples.numbers}
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(repeats)]
    kind = "stratified " if how["stratified"] else ""
    whole = "" if groups is None else f" of {n} groups"
    if train_size is not None:
        if not 0 < train_size < 1 or round(n * train_size) in (0, n):
            raise ValueError(
                f"train_size={train_size!r} is not valid: give a share between 0 and 1 that leaves "
                f"{'samples' if groups is None else 'groups'} on both sides."
            )
        words = f"{counted(repeats, f'{kind}random partition')}{whole}, "
        words += f"{train_size:.0%} for training"
        return [partition(Y, train_size, rng, **how) for rng in rngs], words
    folds = check_count("cv", cv)
    if not 2 <= folds <= n:
        raise ValueError(f"cv={folds} is not valid: give from 2 to {n} folds.")
    words = f"{kind}{folds}-fold cross-validation{whole}"
    words += f", repeated {repeats} times" if repeats > 1 else ""
    return [split for rng in rngs for split in k_fold(Y, folds, rng, **how)], words


def _given_splits(
    cv: Sequence[Split] | int, n: int, groups: np.ndarray | None
) -> tuple[list[Split], str]:
    splits = [(np.asarray(train), np.asarray(test)) for train, test in cv]  # type: ignore[union-attr]
    for train, test in splits:
        rows = np.concatenate([train, test])
        if not len(train) or not len(test) or rows.dtype.kind not in "iu":
            raise ValueError("cv holds a split that is empty or not of row numbers.")
        if rows.min() < 0 or rows.max() >= n or np.intersect1d(train, test).size:
            raise ValueError(
                f"cv holds a split with rows outside 0 to {n - 1}, or with a row on both sides."
            )
        if groups is not None and np.intersect1d(groups[train], groups[test]).size:
            raise ValueError("cv holds a split with a group on both sides: keep groups together.")
    if not splits:
        raise ValueError("cv is empty: give a number of folds, or pairs of row numbers.")
    return splits, "splits that were given"
