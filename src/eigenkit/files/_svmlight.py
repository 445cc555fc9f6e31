"""The svmlight and libsvm format: ``label,label index:value index:value # comment``.

A block is parsed as one stream of numbers; that it has the right structure is then seen from
the separators. A block that fails is gone through line by line, to say where.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files._common import Block, FileError, Reading, shown
from eigenkit.files._streams import Origin

_PAIRS_TO_WORDS = bytes.maketrans(b":\n\t\r", b"    ")


class SvmLight:
    """A svmlight file; see :func:`eigenkit.files.open_file`."""

    def __init__(self, origin: Origin, options: Reading) -> None:
        self.path, self.origin, self.options = origin.path, origin, options
        self.feature_names: list[str] | None = None
        self.label_names: list[str] = []
        self.text_names: list[str] = []
        self.index_base, self.n_features = self._shape()
        self.found: dict[str, Any] = {
            "format": "svmlight",
            "encoding": "ascii",
            "index_base": self.index_base,
            "columns": self.n_features,
        }

    def _shape(self) -> tuple[int, int]:
        """Number of the first feature, and how many there are; a pass over the file if need be."""
        if self.options.expected is not None:
            return self.options.expected.index_base, self.options.expected.n_features
        lowest, highest = self._range()
        if highest < lowest:
            raise FileError(self.path, "it holds no features.")
        base = self.options.index_base
        base = (0 if lowest == 0 else 1) if base is None else base
        if lowest < base:
            raise FileError(self.path, f"it holds the feature 0, but --index-base is {base}.")
        return base, highest + 1 - base

    def _range(self) -> tuple[int, int]:
        """The lowest and the highest feature; what was parsed is kept for :meth:`blocks`."""
        lowest, highest, total = self.options.max_features, -1, 0
        whole = []
        for part in self._pieces():
            indices = part[1]
            if len(indices):
                lowest = min(lowest, int(indices.min()))
                highest = max(highest, int(indices.max()))
            if not self.options.stream:
                total += indices.nbytes + part[2].nbytes
                self.options.check_size(self.path, total)
                whole.append(part)
        if not self.options.stream:
            self._whole = whole
        return lowest, highest

    # -- reading -----------------------------------------------------------------------

    def blocks(self, n_rows: int) -> Iterator[Block]:
        """The rows, at most ``n_rows`` at a time."""
        kept = self.__dict__.pop("_whole", None)
        for labels, indices, values, counts in kept if kept is not None else self._pieces():
            X = self._matrix(indices, values, counts)
            for start in range(0, len(labels), n_rows):
                part = slice(start, start + n_rows)
                yield Block(X[part] if len(labels) > n_rows else X, labels=labels[part])

    def _pieces(self) -> Iterator[Any]:
        first = 1
        for piece in self.origin.bytes_():
            lines = piece.split(b"\n")
            yield self._parse(first, lines)
            first += len(lines) - (not lines[-1])

    def _matrix(self, indices: np.ndarray, values: np.ndarray, counts: np.ndarray) -> Any:
        indptr = np.concatenate([[0], np.cumsum(counts)])
        columns = indices - self.index_base
        if len(columns) and (columns.max() >= self.n_features or columns.min() < 0):
            strange = columns[(columns >= self.n_features) | (columns < 0)]
            raise FileError(
                self.path,
                f"it holds the feature {int(strange[0]) + self.index_base}, but the model was "
                f"fitted on features {self.index_base} to {self.n_features + self.index_base - 1}.",
            )
        small = max(self.n_features, len(values)) < 2**31
        X = sparse.csr_array(
            (values, columns.astype(np.int32 if small else np.int64), indptr),
            shape=(len(counts), self.n_features),
        )
        X.sum_duplicates()
        return X

    def _parse(self, first: int, lines: list[bytes]) -> tuple[Any, Any, Any, Any]:
        """Labels, indices, values, and number of values per row."""
        labels: list[tuple[str, ...]] = []
        rests: list[bytes] = []
        for line in lines:
            if b"#" in line:
                line = line[: line.index(b"#")]
            label, rest = _split_label(line)
            if label is None:
                continue
            labels.append(label)
            rests.append(rest)
        pairs = self._pairs(rests)
        if pairs is None:
            self._explain(first, lines)
        counts = np.fromiter((rest.count(b":") for rest in rests), np.int64, len(rests))
        indices, values = pairs
        return labels, indices, values, counts

    def _pairs(self, rests: list[bytes]) -> Any:
        """Indices and values, or None if anything about them is wrong."""
        text = b"\n".join(rests)
        n = text.count(b":")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                numbers = np.fromstring(text.translate(_PAIRS_TO_WORDS), sep=" ")
            except (DeprecationWarning, ValueError):
                return None
        if n == 0:
            numbers = numbers[:0] if not text.strip() else numbers
        if len(numbers) != 2 * n or not _alternate(text, n):
            return None
        indices, values = numbers[0::2], numbers[1::2]
        good = np.all(np.isfinite(values)) and np.all(indices == np.floor(indices))
        if not good or not np.all((indices >= 0) & (indices <= self.options.max_features)):
            return None
        return indices.astype(np.int64), np.ascontiguousarray(values, self.options.dtype)

    # -- explaining --------------------------------------------------------------------

    def _explain(self, first: int, lines: list[bytes]) -> None:
        for number, line in enumerate(lines, start=first):
            words = line.split(b"#")[0].split()
            pairs = words[1:] if words and b":" not in words[0] else words
            for word in pairs:
                if not word.startswith(b"qid:"):
                    self._check_pair(number, word)
        raise FileError(self.path, "it cannot be read as svmlight.", line=first)

    def _check_pair(self, line: int, word: bytes) -> None:
        text = word.decode("latin-1")
        index, colon, value = text.partition(":")
        if not colon or not index.isascii() or not index.isdigit():
            raise FileError(
                self.path, f"{shown(text)} is not a pair index:value of numbers.", line=line
            )
        if int(index) > self.options.max_features:
            raise FileError(
                self.path,
                f"feature {shown(index)} is beyond the limit of {self.options.max_features}: "
                "raise it with --max-features.",
                line=line,
            )
        try:
            fine = np.isfinite(float(value)) and "_" not in value
        except ValueError:
            fine = False
        if not fine:
            raise FileError(
                self.path, f"{shown(value)} is not a finite number.", line=line, column=index
            )


def _split_label(line: bytes) -> tuple[tuple[str, ...] | None, bytes]:
    """The labels before the first pair, and the pairs; None for an empty line."""
    stripped = line.strip()
    if not stripped:
        # A line of blanks only is a row without labels and features if it has any blank.
        return None, b""
    if line[:1] in b" \t" or b":" in stripped.split(None, 1)[0]:
        head, rest = b"", stripped
    else:
        head, _, rest = stripped.replace(b"\t", b" ", 1).partition(b" ")
    if rest.startswith(b"qid:"):
        rest = rest.partition(b" ")[2]
    return tuple(x for x in head.decode("utf-8", "replace").split(",") if x), rest


def _alternate(text: bytes, n: int) -> bool:
    """Whether colons stand inside pairs and blanks between them, one after the other."""
    codes = np.frombuffer(text, dtype=np.uint8)
    colon = codes == ord(":")
    blank = codes <= ord(" ")
    # The first character after a blank begins a word: each word has exactly one colon.
    starts = ~blank
    starts[1:] &= blank[:-1]
    words = np.flatnonzero(starts)
    if len(words) != n:
        return False
    colons = np.flatnonzero(colon)
    bounds = np.append(words[1:], len(codes))
    inside = (colons > words) & (colons < bounds - 1)
    after = codes[np.minimum(colons + 1, len(codes) - 1)] > ord(" ")
    return bool(np.all(inside & after))
