"""The svmlight and libsvm format: ``label,label index:value index:value # comment``.

All pairs of a block are parsed at once. A block in which anything is wrong is gone through
line by line, to say where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files._common import Block, Reading, Source
from eigenkit.files._streams import Origin
from eigenkit.shell import shown

# A number of at most 15 digits is m / 10^s with m below 2^53 and s at most 22, both exact in
# float64, so that one division gives the nearest float64: the same bits as strtod.
_DIGITS = 15
_QUERY = re.compile(rb"(?:^|\s)qid:\S*")


class SvmLight(Source):
    """A svmlight file; see :func:`eigenkit.files.open_file`."""

    def __init__(self, origin: Origin, options: Reading) -> None:
        super().__init__(origin.path, options)
        self.origin = origin
        self._whole: list[Any] | None = None  # what was parsed to find the shape
        self.index_base, self.n_features = self._shape()
        self.found = {
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
            raise self.error("it holds no features.")
        base = self.options.index_base
        base = (0 if lowest == 0 else 1) if base is None else base
        if lowest < base:
            raise self.error(f"it holds the feature 0, but --index-base is {base}.")
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
        self._whole = None if self.options.stream else whole
        return lowest, highest

    # -- reading -----------------------------------------------------------------------

    def blocks(self, n_rows: int) -> Iterator[Block]:
        """The rows, at most ``n_rows`` at a time."""
        kept, self._whole = self._whole, None  # memory for one pass only
        for labels, indices, values, counts in self._pieces() if kept is None else kept:
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
            raise self.error(
                f"it holds the feature {int(strange[0]) + self.index_base}, but the model was "
                f"fitted on features {self.index_base} to {self.n_features + self.index_base - 1}."
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
        if _has_twice(indices, counts):
            self._explain(first, lines)
        return labels, indices, values, counts

    def _pairs(self, rests: list[bytes]) -> Any:
        """Indices and values, or None if anything about them is wrong."""
        text = b"\n".join(rests)
        codes = np.frombuffer(text, dtype=np.uint8)
        bounds = _bounds(codes)
        if bounds is None:
            return None
        first, colon, last = bounds
        indices = whole_numbers(codes, first, colon)
        if indices is None or np.any(indices > self.options.max_features):
            return None
        values = _values(text, codes, colon + 1, last)
        if values is None or not np.all(np.isfinite(values)):
            return None
        return indices, values.astype(self.options.dtype, copy=False)

    # -- explaining --------------------------------------------------------------------

    def _explain(self, first: int, lines: list[bytes]) -> None:
        for number, line in enumerate(lines, start=first):
            words = line.split(b"#")[0].split()
            pairs = words[1:] if words and b":" not in words[0] else words
            seen: set[int] = set()
            for word in pairs:
                if not word.startswith(b"qid:"):
                    index = self._check_pair(number, word)
                    if index in seen:
                        raise self.error(
                            f"the row holds feature {index} twice: give every feature one value.",
                            line=number,
                        )
                    seen.add(index)
        raise self.error("it cannot be read as svmlight.", line=first)

    def _check_pair(self, line: int, word: bytes) -> int:
        """The index of a pair, if it is one."""
        text = word.decode("latin-1")
        index, colon, value = text.partition(":")
        if not colon or not index.isascii() or not index.isdigit():
            raise self.error(f"{shown(text)} is not a pair index:value of numbers.", line=line)
        digits = index.lstrip("0")
        if len(digits) > 15 or int(digits or "0") > self.options.max_features:
            raise self.error(
                f"feature {shown(index)} is beyond the limit of {self.options.max_features}: "
                "raise it with --max-features.",
                line=line,
            )
        try:
            fine = np.isfinite(float(value)) and "_" not in value
        except ValueError:
            fine = False
        if not fine:
            raise self.error(f"{shown(value)} is not a finite number.", line=line, column=index)
        return int(index)


def _has_twice(indices: np.ndarray, counts: np.ndarray) -> bool:
    """Whether a row holds an index twice; in most files they increase, which is seen at once."""
    row = np.repeat(np.arange(len(counts)), counts)
    if not np.any((np.diff(row) == 0) & (np.diff(indices) <= 0)):
        return False
    order = np.lexsort((indices, row))
    return bool(np.any((np.diff(row[order]) == 0) & (np.diff(indices[order]) == 0)))


def _split_label(line: bytes) -> tuple[tuple[str, ...] | None, bytes]:
    """The labels before the first pair, and the pairs; None for an empty line."""
    words = line.split(None, 1)
    if not words:
        return None, b""
    head, rest = words[0], words[1] if len(words) > 1 else b""
    if b":" in head or line[:1] in b" \t":  # no labels
        head, rest = b"", line
    if b"qid:" in rest:
        rest = _QUERY.sub(b"", rest, count=1)
    if b"," not in head:
        return ((head.decode("utf-8", "replace"),) if head else ()), rest
    return tuple(x for x in head.decode("utf-8", "replace").split(",") if x), rest


def _bounds(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Where words begin, where their colon is, where they end; None unless each has one colon."""
    blank = codes <= ord(" ")
    edges = np.flatnonzero(np.diff(blank, prepend=True, append=True))
    first, last = edges[0::2], edges[1::2]
    colon = np.flatnonzero(codes == ord(":"))
    if len(colon) != len(first) or np.any(colon <= first) or np.any(colon >= last - 1):
        return None
    return first, colon, last


def _values(text: bytes, codes: np.ndarray, first: np.ndarray, last: np.ndarray) -> Any:
    """The numbers between these bounds; None if one of them is not a number."""
    values, fine = decimal_numbers(codes, first, last)
    rest = np.flatnonzero(~fine)
    words = [text[a:b] for a, b in zip(first[rest].tolist(), last[rest].tolist(), strict=True)]
    if any(b"_" in word for word in words):
        return None
    try:
        values[rest] = np.array(words, dtype="S").astype(np.float64) if words else 0.0
    except ValueError:
        return None
    return values


def whole_numbers(codes: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray | None:
    """Numbers of 1 to 15 digits in ``codes[first:last]``; None if anything else is there.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.files._svmlight import whole_numbers
    >>> codes = np.frombuffer(b"12 345", dtype=np.uint8)
    >>> whole_numbers(codes, np.array([0, 3]), np.array([2, 6]))
    array([ 12, 345])
    """
    length = last - first
    if length.size and (length.min() < 1 or length.max() > _DIGITS):
        return None
    numbers = np.zeros(len(first), dtype=np.int64)
    for k in range(int(length.max(initial=0))):
        alive = slice(None) if k < length.min() else np.flatnonzero(length > k)
        digit = codes[first[alive] + k] - np.uint8(48)  # wraps below "0"
        if np.any(digit > 9):
            return None
        numbers[alive] = numbers[alive] * 10 + digit
    return numbers


def decimal_numbers(
    codes: np.ndarray, first: np.ndarray, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with sign and point in ``codes[first:last]``, and which of them were read.

    Those with an exponent or more than 15 digits, and whatever is not a number, are not.
    """
    lead = codes[np.minimum(first, len(codes) - 1)]
    begin = first + ((lead == ord("-")) | (lead == ord("+")))
    length = last - begin
    mantissa = np.zeros(len(first), dtype=np.int64)
    digits, places = np.zeros(len(first), dtype=np.int8), np.full(len(first), -1, dtype=np.int8)
    fine = (length > 0) & (length <= _DIGITS + 1)
    for k in range(min(int(length.max(initial=0)), _DIGITS + 1)):
        alive = np.flatnonzero(fine & (length > k))
        digit = codes[begin[alive] + k] - np.uint8(48)
        number, point = digit <= 9, digit == 254  # "." is two below "0"
        fine[alive] = number | (point & (places[alive] < 0))
        places[alive[point]] = digits[alive[point]]
        alive, digit = alive[number], digit[number]
        mantissa[alive] = mantissa[alive] * 10 + digit
        digits[alive] += 1
    fine &= (digits > 0) & (digits <= _DIGITS)
    after = np.where(places < 0, 0, digits - places)
    values = mantissa / 10.0 ** np.clip(after, 0, 22)
    return np.where(lead == ord("-"), -values, values), fine
