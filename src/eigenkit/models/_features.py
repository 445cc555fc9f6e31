"""From rows of a file to X: numbers, text, missing values and scaling, as they were fitted."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.estimators.registry import METHODS, Method
from eigenkit.files import Block, Expected, FileError, Source
from eigenkit.files._cells import as_class
from eigenkit.files._checks import check_values, incomplete
from eigenkit.files._common import listed
from eigenkit.models._preparing import Blocks, divided, filled, learn_fill, learn_scale
from eigenkit.shell import shown

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
        strange = sorted({as_class(cells[i]) for i in np.flatnonzero(found < 0)})
        if "" in strange:
            strange.remove("")
            warnings.warn(
                f"column {shown(self.name)} has no category in some rows: they count as none of "
                "the known ones.",
                stacklevel=2,
            )
        if strange:
            warnings.warn(
                f"column {shown(self.name)} holds categories that the model was not fitted on "
                f"({listed(strange, 3)}): they count as none.",
                stacklevel=2,
            )
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
    _suspect_categories(path, name, next(iter(blocks())).text[name])
    words = tuple(str(word) for word in vectorizer.get_feature_names_out())
    return TextColumn(name, kind, len(words), ngrams, words, vectorizer.idf_)


def _suspect_categories(path: str, name: str, cells: Sequence[str]) -> None:
    """Warn of a column with few distinct values, which would be split into words as text."""
    found = {as_class(cell) for cell in cells} - {""}
    if 10 * len(found) <= len(cells) and any(len(cell.split()) > 1 for cell in found):
        warnings.warn(
            f"{path}: column {shown(name)} has only {len(found)} distinct values, which are split "
            f"into words: --categorical {shlex.quote(name)} would make each of them a category.",
            stacklevel=3,
        )


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
        base = self.index_base
        names = self.names or [str(j + base) for j in range(self.n_numbers)]
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
        return self._with_text(block.X, block)

    def prepared(self, raw: Any) -> Any:
        """The result of :meth:`raw`, filled in and scaled."""
        return divided(filled(raw, self.fill), self.scale)

    def _with_text(self, X: Any, block: Block) -> Any:
        if not self.text:
            return X
        parts = [column.matrix(block.text[column.name]) for column in self.text]
        if self._dense():
            return np.hstack([X, *[part.toarray().astype(X.dtype) for part in parts]])
        numbers = [sparse.csr_array(X)] if self.n_numbers else []
        return sparse.csr_array(sparse.hstack([*numbers, *parts], format="csr"))

    def _dense(self) -> bool:
        """Whether there are too few categories beside the numbers for a sparse matrix to pay."""
        width = sum(column.size for column in self.text)
        return all(c.kind == _CATEGORIES for c in self.text) and width <= 10 * self.n_numbers + 50


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
    names = source.feature_names
    n_numbers = next(iter(blocks())).X.shape[1]
    text = tuple(
        learn_categories(source.path, name, blocks)
        if name in source.categorical_names
        else learn_text(source.path, name, blocks, text_kind, text_size, ngrams)
        for name in source.text_names
    )
    features = Features(
        None if names is None else tuple(names),
        n_numbers,
        text,
        missing,
        learn_fill(blocks, n_numbers, missing),
        np.empty(0),
        int(source.found.get("index_base", 1)),
    )
    if features.n_features == 0:
        raise FileError(source.path, "no column is left for features.")
    parts = (features.matrix(source.path, block) for block in blocks())
    return replace(features, scale=learn_scale(parts, scale))


def complete(blocks: Blocks, missing: str, named: Sequence[str]) -> Iterator[Block]:
    """The blocks, without incomplete rows if ``missing`` is "drop"."""
    if missing != "drop":
        return iter(blocks())
    return (drop_missing(block, named) for block in blocks())


def drop_missing(block: Block, named: Sequence[str] = ()) -> Block:
    """The rows of a block that lack neither a value nor a name in the columns ``named``."""
    gaps = incomplete(block, named)
    return block if not gaps.any() else block.take(np.flatnonzero(~gaps))


def view_columns(path: str, names: Sequence[str], views: Sequence[str]) -> list[list[int]] | None:
    """The features of every view, each in exactly one of at least two; None for no views.

    Examples
    --------
    >>> from eigenkit.models._features import view_columns
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


def view_params(method: Method, columns: Sequence[Sequence[int]] | None) -> dict[str, Any]:
    """The parameters by which a method gets its views; none if it takes no views."""
    if columns is None:
        return {}
    if method.views == "groups":
        groups = np.empty(sum(map(len, columns)), dtype=np.int64)
        for i, own in enumerate(columns):
            groups[list(own)] = i
        return {"groups": groups}
    if method.views == "kernels":
        from eigenkit.kernels import Kernel

        return {"kernels": [Kernel("rbf", gamma="scale", columns=list(own)) for own in columns]}
    return {}


def methods_with_views() -> list[str]:
    """The names of the methods that take views."""
    return [method.name for method in METHODS.values() if method.views]
