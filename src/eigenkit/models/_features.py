"""From rows of a file to X: numbers, text, missing values and scaling, as they were fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files import Block, Expected, FileError, Source, shown

TEXT_KINDS = ("tfidf", "hashing")
SCALES = ("none", "standard", "maxabs")
MISSING = ("error", "drop", "mean")
Blocks = Callable[[], Iterable[Block]]


@dataclass(frozen=True)
class TextColumn:
    """How a column of text becomes numbers.

    Parameters
    ----------
    name : str
    kind : {"tfidf", "hashing"}
    size : int
        Number of features: the length of the vocabulary, or of the hash table.
    ngrams : int
        Sequences of up to so many words are features.
    words : tuple of str
        The vocabulary of tf-idf, in the order of the features.
    idf : array of shape (size,)
        Weights of the words, empty for hashing.
    """

    name: str
    kind: str
    size: int
    ngrams: int
    words: tuple[str, ...]
    idf: np.ndarray

    def matrix(self, cells: list[str]) -> Any:
        """Texts as a sparse matrix with a row each."""
        if self.kind == "hashing":
            return _hashing(self.size, self.ngrams).transform(cells)
        vectorizer = _tfidf(self.ngrams, vocabulary={w: j for j, w in enumerate(self.words)})
        vectorizer.idf_ = self.idf
        return vectorizer.transform(cells)

    def feature_names(self) -> list[str]:
        """Names of the features, for the reader."""
        if self.kind == "hashing":
            return [f"{self.name}#{j}" for j in range(self.size)]
        return [f"{self.name}:{word}" for word in self.words]


def _hashing(size: int, ngrams: int) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(n_features=size, ngram_range=(1, ngrams))


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
    words = tuple(str(word) for word in vectorizer.get_feature_names_out())
    return TextColumn(name, kind, len(words), ngrams, words, vectorizer.idf_)


@dataclass(frozen=True)
class Features:
    """Everything between a file and the estimator.

    Parameters
    ----------
    names : tuple of str, optional
        Columns of numbers by name; None where the file had no names.
    n_numbers : int
        How many columns of numbers.
    text : tuple of TextColumn
    missing : {"error", "drop", "mean"}
    fill : array of shape (n_numbers,)
        What takes the place of missing values, empty unless ``missing`` is "mean".
    scale : array of shape (n_features,)
        X is divided by this; empty for no scaling.
    index_base : int
        Number of the first feature in svmlight files.
    """

    names: tuple[str, ...] | None
    n_numbers: int
    text: tuple[TextColumn, ...]
    missing: str
    fill: np.ndarray
    scale: np.ndarray
    index_base: int = 1

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return self.n_numbers + sum(column.size for column in self.text)

    def feature_names(self) -> list[str]:
        """Names of the columns of X, for the reader."""
        base = self.index_base
        names = self.names or [str(j + base) for j in range(self.n_numbers)]
        return [*names, *(name for column in self.text for name in column.feature_names())]

    def expected(self, labels: tuple[str, ...]) -> Expected:
        """What a file must hold to be used with this."""
        text = tuple(column.name for column in self.text)
        return Expected(self.names, self.n_numbers, text, labels, self.index_base)

    def matrix(self, path: str, block: Block) -> Any:
        """X of some rows, missing values filled in or refused."""
        X = self._complete(path, block.X)
        if self.text:
            parts = [column.matrix(block.text[column.name]) for column in self.text]
            numbers = [sparse.csr_array(X)] if self.n_numbers else []
            X = sparse.csr_array(sparse.hstack([*numbers, *parts], format="csr"))
        return self._scaled(X)

    def _complete(self, path: str, X: Any) -> Any:
        values = X.data if sparse.issparse(X) else X
        if np.isinf(values).any():
            raise self._strange(path, X, np.isinf, "is infinite")
        if not np.isnan(values).any():
            return X
        if self.missing != "mean" or not len(self.fill):
            raise self._strange(
                path, X, np.isnan, "is missing: fit with --missing mean, or complete the file"
            )
        if sparse.issparse(X):
            X = X.copy()
            gaps = np.isnan(X.data)
            X.data[gaps] = self.fill[X.indices[gaps]]
            return X
        return np.where(np.isnan(X), self.fill.astype(X.dtype), X)

    def _strange(self, path: str, X: Any, test: Callable[[Any], Any], what: str) -> FileError:
        if sparse.issparse(X):
            X = X.tocoo()
            k = int(np.argmax(test(X.data)))
            row, column = int(X.row[k]), int(X.col[k])
        else:
            row, column = (int(v) for v in np.argwhere(test(X))[0])
        name = shown(self.names[column]) if self.names else str(column + self.index_base)
        return FileError(path, f"the value in row {row + 1}, column {name} {what}.")

    def _scaled(self, X: Any) -> Any:
        if not len(self.scale):
            return X
        if sparse.issparse(X):
            X = X.copy()
            X.data /= self.scale[X.indices].astype(X.dtype)
            return X
        return X / self.scale.astype(X.dtype)


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
    """Fit everything between the file and the estimator, in one pass each."""
    names = source.feature_names
    n_numbers = next(iter(blocks())).X.shape[1]
    text = tuple(
        learn_text(source.path, name, blocks, text_kind, text_size, ngrams)
        for name in source.text_names
    )
    none = np.empty(0)
    base = int(source.found.get("index_base", 1))
    fill = _means(blocks, n_numbers) if missing == "mean" else none
    features = Features(
        None if names is None else tuple(names), n_numbers, text, missing, fill, none, base
    )
    if features.n_features == 0:
        raise FileError(source.path, "no column is left for features.")
    if scale == "none":
        return features
    parts = (features.matrix(source.path, block) for block in complete(blocks, missing))
    found = _deviations(parts) if scale == "standard" else _largest(parts)
    return Features(
        features.names, n_numbers, text, missing, fill, np.where(found > 0, found, 1.0), base
    )


def complete(blocks: Blocks, missing: str) -> Iterator[Block]:
    """The blocks, without rows that miss a value where those are to be dropped."""
    for block in blocks():
        yield drop_missing(block) if missing == "drop" else block


def drop_missing(block: Block) -> Block:
    """The rows of a block that miss nothing."""
    X = block.X
    if sparse.issparse(X):
        gaps = np.bincount(X.tocoo().row[np.isnan(X.data)], minlength=X.shape[0]) > 0
    else:
        gaps = np.isnan(X).any(axis=1)
    if not gaps.any():
        return block
    keep = np.flatnonzero(~gaps)
    labels = block.labels
    if labels is not None:
        labels = labels[keep] if isinstance(labels, np.ndarray) else [labels[i] for i in keep]
    text = {name: [cells[i] for i in keep] for name, cells in block.text.items()}
    return Block(X[keep], text, labels)


def _means(blocks: Blocks, d: int) -> np.ndarray:
    """Means of what is there, 0 for a column of which nothing is."""
    total, count = np.zeros(d), np.zeros(d)
    for block in blocks():
        if sparse.issparse(block.X):
            X, rows = block.X, block.X.shape[0]
            there = ~np.isnan(X.data)
            total += np.bincount(X.indices[there], X.data[there], minlength=d)
            count += rows - np.bincount(X.indices[~there], minlength=d)
        else:
            total += np.nansum(block.X, axis=0)
            count += np.sum(~np.isnan(block.X), axis=0)
    return total / np.maximum(count, 1)


def _deviations(parts: Iterable[Any]) -> np.ndarray:
    """Standard deviations, the blocks merged by their means so that no digits are lost."""
    n, mean, square = 0, 0.0, 0.0
    for X in parts:
        m = X.shape[0]
        if not m:
            continue
        here = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        if sparse.issparse(X):
            power = np.asarray(X.multiply(X).mean(axis=0), dtype=np.float64).ravel()
            variance = np.maximum(power - here**2, 0.0)
        else:
            variance = np.asarray(X.var(axis=0, dtype=np.float64))
        gap = here - mean
        square = square + m * variance + gap**2 * (n * m / (n + m))
        mean = mean + gap * (m / (n + m))
        n += m
    return np.sqrt(np.asarray(square) / max(n, 1))


def _largest(parts: Iterable[Any]) -> np.ndarray:
    found: Any = 0.0
    for X in parts:
        top = abs(X).max(axis=0)
        found = np.maximum(found, np.ravel(top.toarray() if sparse.issparse(top) else top))
    return np.asarray(found, dtype=np.float64)
