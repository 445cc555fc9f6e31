"""From rows of a file to X: numbers, text, missing values and scaling, as they were fitted."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import as_dense, stored
from eigenkit.evaluation.samples import deviations
from eigenkit.files import Block, Expected, FileError, Source
from eigenkit.files._cells import as_class
from eigenkit.files._checks import check_values, incomplete
from eigenkit.files._common import listed
from eigenkit.shell import shown

Blocks = Callable[[], Iterable[Block]]
SCALES = ("none", "standard", "maxabs")
MISSING = ("error", "drop", "mean", "median", "keep")
TEXT_KINDS = ("tfidf", "hashing")
_CATEGORIES = "categories"
# A column of more categories than this holds text, or numbers of rows.
_MOST_CATEGORIES = 10_000


@dataclass(frozen=True)
class TextColumn:
    """How a column of text becomes numbers.

    As "tfidf" it is words weighed by how rare they are, as "hashing" words hashed, and as
    "categories" the whole cell as one of a few, each a feature of its own.
    """

    name: str
    kind: str
    size: int  # number of features: the length of the vocabulary, or of the hash table
    ngrams: int  # sequences of up to this many words are features
    words: tuple[str, ...]  # the vocabulary or the categories, in the order of the features
    idf: np.ndarray  # weights of the words, empty for hashing

    def matrix(self, cells: list[str]) -> Any:
        """A sparse matrix with a row for each text."""
        if self.kind == _CATEGORIES:
            return self._indicator(cells)
        if self.kind == "hashing":
            from sklearn.feature_extraction.text import HashingVectorizer

            words = HashingVectorizer(n_features=self.size, ngram_range=(1, self.ngrams))
            return words.transform(cells)
        vectorizer = _tfidf(self.ngrams, vocabulary={w: j for j, w in enumerate(self.words)})
        vectorizer.idf_ = self.idf
        return vectorizer.transform(cells)

    def _indicator(self, cells: list[str]) -> Any:
        """1 for the category of a row; a row of zeros where it is missing or was never seen."""
        place = {word: j for j, word in enumerate(self.words)}
        found = np.array([place.get(as_class(cell), -1) for cell in cells], dtype=np.int64)
        strange = {as_class(cells[i]) for i in np.flatnonzero(found < 0)}
        column = f"column {shown(self.name)}"
        if "" in strange:
            what = "has no category in some rows: they count as none of the known ones."
            warnings.warn(f"{column} {what}", stacklevel=2)
        if strange - {""}:
            new = listed(sorted(strange - {""}), 3)
            what = f"holds categories that the model was not fitted on ({new})"
            warnings.warn(f"{column} {what}: they count as none.", stacklevel=2)
        known = np.flatnonzero(found >= 0)
        places = known, found[known]
        return sparse.csr_array((np.ones(len(known)), places), shape=(len(cells), self.size))

    def feature_names(self) -> list[str]:
        """Names of the features, for people."""
        if self.kind == "hashing":
            return [f"{self.name}#{j}" for j in range(self.size)]
        mark = "=" if self.kind == _CATEGORIES else ":"
        return [f"{self.name}{mark}{word}" for word in self.words]


def _tfidf(ngrams: int, **params: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, ngrams), sublinear_tf=True, **params)


def learn_text(
    path: str, name: str, blocks: Blocks, kind: str, size: int, ngrams: int
) -> TextColumn:
    """The vocabulary of a column, of at most ``size`` words; hashing needs none."""
    if kind == "hashing":
        return TextColumn(name, kind, size, ngrams, (), np.empty(0))
    vectorizer = _tfidf(ngrams, max_features=size)
    try:
        vectorizer.fit(cell for block in blocks() for cell in block.text[name])
    except ValueError as error:
        raise FileError(path, "it holds no words.", column=name) from error
    cells = next(iter(blocks())).text[name]
    found = {as_class(cell) for cell in cells} - {""}
    if 10 * len(found) <= len(cells) and any(len(cell.split()) > 1 for cell in found):
        warnings.warn(  # of what would be split into words as text
            f"{path}: column {shown(name)} has only {len(found)} distinct values, which are split "
            f"into words: --categorical {shlex.quote(name)} would make each of them a category.",
            stacklevel=2,
        )
    words = tuple(str(word) for word in vectorizer.get_feature_names_out())
    return TextColumn(name, kind, len(words), ngrams, words, vectorizer.idf_)


def learn_categories(path: str, name: str, blocks: Blocks) -> TextColumn:
    """The categories of a column, in their natural order."""
    found = {as_class(cell) for block in blocks() for cell in block.text[name]} - {""}
    if not 1 < len(found) <= _MOST_CATEGORIES:
        few = {0: "is empty", 1: "is the same everywhere"}
        problem = few.get(len(found), f"holds {len(found)} categories")
        raise FileError(path, f"it {problem}: leave it out with --ignore.", column=name)
    words = tuple(sorted(found))
    return TextColumn(name, _CATEGORIES, len(words), 1, words, np.empty(0))


@dataclass(frozen=True)
class Features:
    """Everything between a file and the estimator."""

    names: tuple[str, ...] | None  # of the columns of numbers, if the file had names
    n_numbers: int
    text: tuple[TextColumn, ...]
    missing: str  # one of MISSING; "keep" leaves gaps to a method that skips them
    fill: np.ndarray  # what takes the place of missing values; empty unless mean or median
    scale: np.ndarray  # what X is divided by; empty for no scaling
    index_base: int = 1  # number of the first feature in svmlight files

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return self.n_numbers + sum(column.size for column in self.text)

    def feature_names(self) -> list[str]:
        """Names of the columns of X, for people."""
        names = self.names or [str(j + self.index_base) for j in range(self.n_numbers)]
        return [*names, *(name for column in self.text for name in column.feature_names())]

    def expected(self, labels: tuple[str, ...]) -> Expected:
        """What a file must hold to be used with this."""
        text = tuple(column.name for column in self.text)
        return Expected(
            self.names, self.n_numbers, text, labels, self.index_base, categorical=self.categorical
        )

    @property
    def categorical(self) -> tuple[str, ...]:
        """The columns of categories."""
        return tuple(column.name for column in self.text if column.kind == _CATEGORIES)

    def matrix(self, path: str, block: Block) -> Any:
        """X of some rows, with missing values filled in or refused."""
        return self.prepared(self.raw(path, block))

    def raw(self, path: str, block: Block) -> Any:
        """X before anything is filled in or scaled: what a :class:`Preparation` learns from."""
        known = self.names, self.index_base, self.missing, self.categorical
        check_values(block.path or path, block, *known)
        if not self.text:
            return block.X
        parts = [column.matrix(block.text[column.name]) for column in self.text]
        # Few categories beside the numbers: a sparse matrix would not pay.
        few = self.n_features <= 11 * self.n_numbers + 50 and not sparse.issparse(block.X)
        if few and all(column.kind == _CATEGORIES for column in self.text):
            return np.hstack([block.X, *[part.toarray().astype(block.X.dtype) for part in parts]])
        numbers = [sparse.csr_array(block.X)] if self.n_numbers else []
        return sparse.csr_array(sparse.hstack([*numbers, *parts], format="csr"))

    def prepared(self, raw: Any) -> Any:
        """The result of :meth:`raw`, filled in and scaled."""
        return divided(filled(raw, self.fill), self.scale)


def learn_features(
    source: Source,
    blocks: Blocks,
    *,
    scale: str = "none",
    missing: str = "error",
    text_kind: str = "tfidf",
    text_size: int = 2**16,
    ngrams: int = 1,
) -> Features:
    """Learn everything between the file and the estimator; each part takes one pass.

    Rows that are to be dropped for a missing value are no longer in the blocks.
    """
    n_numbers = next(iter(blocks())).X.shape[1]
    text = tuple(
        learn_categories(source.path, name, blocks)
        if name in source.categorical_names
        else learn_text(source.path, name, blocks, text_kind, text_size, ngrams)
        for name in source.text_names
    )
    names = None if source.feature_names is None else tuple(source.feature_names)
    fill = learn_fill((block.X for block in blocks()), n_numbers, missing)
    base = int(source.found.get("index_base", 1))
    features = Features(names, n_numbers, text, missing, fill, np.empty(0), base)
    if features.n_features == 0:
        raise FileError(source.path, "no column is left for features.")
    parts = (features.matrix(source.path, block) for block in blocks())
    return replace(features, scale=learn_scale(parts, scale))


def complete(blocks: Blocks, missing: str, named: Sequence[str]) -> Iterator[Block]:
    """The blocks; if ``missing`` is "drop", without rows that lack a value or a ``named`` cell."""
    for block in blocks():
        if missing == "drop":
            gaps = incomplete(block, named)
            block = block.take(np.flatnonzero(~gaps)) if gaps.any() else block
        yield block


def view_columns(path: str, names: Sequence[str], views: Sequence[str]) -> list[list[int]] | None:
    """The features of every view, each in exactly one of at least two; None for no views.

    >>> view_columns("a.csv", ["a_1", "b_1", "a_2"], ["a_*", "b_*"])
    [[0, 2], [1]]
    """
    if not views:
        return None
    found = [[j for j, name in enumerate(names) if fnmatchcase(name, view)] for view in views]
    for view, columns in zip(views, found, strict=True):
        if not columns:
            raise FileError(path, f"no feature is named {shown(view)} (--views).")
    count = np.bincount([j for columns in found for j in columns], minlength=len(names))
    for wrong, what, advice in (
        (count > 1, "several views", "give patterns that do not overlap"),
        (count == 0, "no view", "add a pattern, or leave them out with --ignore"),
    ):
        if wrong.any():
            which = listed([str(names[int(j)]) for j in np.flatnonzero(wrong)], 4)
            raise FileError(path, f"the features {which} are in {what} (--views): {advice}.")
    if len(views) < 2:
        raise FileError(path, "only one view (--views): give patterns for at least two.")
    return found


# -- filling in and scaling -------------------------------------------------------------


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
        n = d if self.n_numbers is None else self.n_numbers
        numbers = (X if d == n else X[:, :n] for X in parts())
        if d > n and self.missing == "median":  # of sparse columns it would be 0
            numbers = (as_dense(X) for X in numbers)
        fill = learn_fill(numbers, n, self.missing)
        scale = learn_scale((filled(X, fill) for X in parts()), self.scale)
        return lambda rows: divided(filled(rows, fill), scale)


def learn_fill(parts: Iterable[Any], d: int, missing: str) -> np.ndarray:
    """What takes the place of missing values, 0 in empty columns; empty where nothing does."""
    if missing == "mean":
        return _means(parts, d)
    if missing != "median":
        return np.empty(0)
    X, *more = parts
    if more:
        raise ValueError("medians cannot be learned in blocks: use --missing mean.")
    if sparse.issparse(X):
        raise ValueError("the median of a sparse column is 0: use --missing mean.")
    empty = np.isnan(X).all(axis=0)
    return np.nanmedian(np.where(empty, 0.0, X), axis=0).astype(np.float64)


def learn_scale(parts: Iterable[Any], scale: str) -> np.ndarray:
    """What columns are divided by; empty for no scaling."""
    if scale == "none":
        return np.empty(0)
    if scale == "standard":
        found: Any = deviations(parts)
    else:
        found = 0.0
        for X in parts:
            top = abs(X).max(axis=0) if sparse.issparse(X) else np.fmax.reduce(abs(X), axis=0)
            found = np.fmax(found, np.ravel(as_dense(top)).astype(np.float64))
    return np.where(found > 0, found, 1.0)  # the scale of a column without values is NaN


def _means(parts: Iterable[Any], d: int) -> np.ndarray:
    """Means of the values that are not missing, 0 for a column without any."""
    total, count = np.zeros(d), np.zeros(d)
    for X in parts:
        if sparse.issparse(X):
            there = ~np.isnan(X.data)
            total += np.bincount(X.indices[there], X.data[there], minlength=d)
            count += X.shape[0] - np.bincount(X.indices[~there], minlength=d)
        else:
            total += np.nansum(X, axis=0)
            count += np.sum(~np.isnan(X), axis=0)
    return total / np.maximum(count, 1)
