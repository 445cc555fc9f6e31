"""Several files with the same columns as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from scipy import sparse

from eigenkit.files._common import Block, Source
from eigenkit.files._errors import FileError, Skipped
from eigenkit.files._targets import by_kind


def check_columns(sources: Sequence[Any]) -> None:
    """Check that all files, opened here or elsewhere, have the columns of the first."""
    first = sources[0]
    for source in sources[1:]:
        if source.feature_names != first.feature_names or source.label_names != first.label_names:
            raise FileError(
                source.path, f"its columns are not those of {first.path}: give files of one kind."
            )
        if name := other_dates(source.found.get("kinds"), first.found.get("kinds")):
            raise FileError(
                source.path,
                f"it holds dates where {first.path} holds none, or none where that one does: give "
                "files of one kind.",
                column=name,
            )


def other_dates(
    kinds: Mapping[str, str | None] | None, others: Mapping[str, str | None] | None
) -> str | None:
    """A column that holds dates in one of two files, and something else in the other."""
    if kinds is None or others is None:
        return None
    both = {name: (kinds.get(name, ""), others.get(name, "")) for name in {**kinds, **others}}
    found = (n for n, (a, b) in both.items() if a != b and "date" in (a, b) and None not in (a, b))
    return next(found, None)


class ManyFiles(Source):
    """The rows of several sources with the same columns, one after the other.

    Labels that are words in one of them are words in all.
    """

    def __init__(self, name: str, sources: list[Source]) -> None:
        first, self.sources = sources[0], sources
        super().__init__(name, first.options)
        check_columns(sources)
        self.found = {**first.found, "files": len(self.sources)}
        self.feature_names, self.label_names = first.feature_names, first.label_names
        self.text_names, self.categorical_names = first.text_names, first.categorical_names
        self.kept_names = first.kept_names
        # Otherwise 1000 and 1e3 would be one class in a file of numbers, and two elsewhere.
        numeric = {source.numeric_labels for source in sources}
        if False in numeric:
            self.take_labels_as_words()
        self.mixed = len(numeric) > 1

    def take_labels_as_words(self) -> None:
        """In all files."""
        super().take_labels_as_words()
        for source in self.sources:
            source.take_labels_as_words()

    def take_labels_as_numbers(self) -> None:
        """In all files."""
        super().take_labels_as_numbers()
        for source in self.sources:
            source.take_labels_as_numbers()

    def bad_rows(self) -> Skipped:
        """Of all files."""
        return reduce(Skipped.with_more, (s.bad_rows() for s in self.sources), Skipped())

    def _blocks(self, n_rows: int) -> Iterator[Block]:
        """The rows of all files; sparse ones, as wide as their highest feature, get one width."""
        width = max(source.n_features for source in self.sources)
        for source in self.sources:
            kinds = self.label_kinds.setdefault(source.path, {})
            for block in source.blocks(n_rows):
                X = block.X
                if sparse.issparse(X) and X.shape[1] < width:
                    X = sparse.csr_array((X.data, X.indices, X.indptr), shape=(len(block), width))
                self.whole_labels |= source.whole_labels
                self.late_word = self.late_word or source.late_word
                yield replace(block, X=X, path=source.path)
                self.n_rows[source.path] = block.start + len(block)
                if self.mixed:
                    kinds.update(by_kind(block.labels))
