"""The svmlight and libsvm format: ``label,label index:value index:value # comment``.

All pairs of a block are parsed at once. If anything is wrong in it, its lines are checked one by
one, to say where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from eigenkit.files._cells import fits
from eigenkit.files._common import Block, Reading, Source
from eigenkit.files._streams import Origin
from eigenkit.numerics.compiled import NUMBER, read_table
from eigenkit.shell import shown

_PAIR_PER_LINE = bytes.maketrans(b" \t\r\v\f", b"\n\n\n\n\n")
_QUERY = re.compile(rb"(?:^|\s)qid:\S*")


class Pairs(NamedTuple):
    """Some rows: their labels, and the pairs of all, one row after the other."""

    labels: list[tuple[str, ...]]
    indices: np.ndarray
    values: np.ndarray
    counts: np.ndarray  # pairs of every row
    lines: np.ndarray | None = None  # of the rows in the file, if they may be needed


class SvmLight(Source):
    """A svmlight file; see :func:`eigenkit.files.open_file`."""

    def __init__(self, origin: Origin, options: Reading) -> None:
        super().__init__(origin.path, options)
        self.origin = origin
        self._whole: list[Pairs] | None = None  # what was parsed to find the shape
        model, base = options.expected, options.index_base
        if model is not None:
            self.index_base, self.n_features = model.index_base, model.n_features
        else:
            lowest, highest = self._range()
            if highest < lowest:
                raise self.error("it holds no features.")
            self.index_base = (0 if lowest == 0 else 1) if base is None else base
            self._check_base(lowest)
            self.n_features = highest + 1 - self.index_base
        self.found = {"format": "svmlight", "encoding": "ascii", "index_base": self.index_base}
        self.found["columns"] = self.n_features

    def _check_base(self, lowest: int) -> None:
        if lowest < (self.options.index_base or 0):
            raise self.error("it holds the feature 0, but --index-base is 1.")

    def _range(self) -> tuple[int, int]:
        """The lowest and the highest feature; what was parsed is kept for :meth:`_blocks`."""
        lowest, highest, total = self.options.max_features, -1, 0
        whole = []
        for part in self._pieces():
            lowest = int(part.indices.min(initial=lowest))
            highest = int(part.indices.max(initial=highest))
            if not self.options.stream:
                total += part.indices.nbytes + part.values.nbytes
                self.options.check_size(self.path, total)
                whole.append(part)
        self._whole = None if self.options.stream else whole
        return lowest, highest

    def _blocks(self, n_rows: int) -> Iterator[Block]:
        kept, self._whole = self._whole, None  # memory for one pass only
        for labels, indices, values, counts, lines in self._pieces() if kept is None else kept:
            columns = indices - self.index_base
            self._check_known(columns)
            small = max(self.n_features, len(values)) < 2**31
            places = columns.astype(np.int32 if small else np.int64)
            indptr = np.concatenate([[0], np.cumsum(counts)])
            X = sparse.csr_array((values, places, indptr), shape=(len(counts), self.n_features))
            X.sum_duplicates()
            for start in range(0, len(labels), n_rows):
                part = slice(start, start + n_rows)
                block = Block(X[part] if len(labels) > n_rows else X, labels=labels[part])
                yield block if lines is None else replace(block, lines=lines[part])

    def _pieces(self) -> Iterator[Pairs]:
        first = 1
        for piece in self.origin.bytes_():
            lines = piece.split(b"\n")
            yield self._parse(first, lines)
            first += len(lines) - (not lines[-1])

    def _check_known(self, columns: np.ndarray) -> None:
        if len(columns) and (columns.max() >= self.n_features or columns.min() < 0):
            base, strange = self.index_base, columns[(columns >= self.n_features) | (columns < 0)]
            known = f"features {base} to {self.n_features + base - 1}"
            found = f"it holds the feature {int(strange[0]) + base}"
            raise self.error(f"{found}, but the model was fitted on {known}.")

    def _parse(self, first: int, lines: list[bytes]) -> Pairs:
        labels: list[tuple[str, ...]] = []
        rests: list[bytes] = []
        for line in lines:
            label, rest = split_label(line)
            if label is not None:
                labels.append(label)
                rests.append(rest)
        found = read_pairs(b"\n".join(rests))
        most = self.options.max_features
        if found is None or np.any(found[:, 0] > most) or not np.isfinite(found[:, 1]).all():
            self._explain(first, lines)
        counts = np.fromiter((rest.count(b":") for rest in rests), np.int64, len(rests))
        indices, values = found[:, 0].astype(np.int64), found[:, 1].astype(self.options.dtype)
        row = np.repeat(np.arange(len(counts)), counts)
        # In most files indices increase, which is quick to see.
        if np.any((np.diff(row) == 0) & (np.diff(indices) <= 0)):
            order = np.lexsort((indices, row))
            if np.any((np.diff(row[order]) == 0) & (np.diff(indices[order]) == 0)):
                self._explain(first, lines)
        return Pairs(labels, indices, values, counts)

    def _explain(self, first: int, lines: list[bytes]) -> NoReturn:
        for number, line in enumerate(lines, start=first):
            words = line.split(b"#")[0].split()
            seen: set[int] = set()
            for word in words[1:] if words and b":" not in words[0] else words:
                if not word.startswith(b"qid:"):
                    index = self._check_pair(number, word)
                    if index in seen:
                        what = f"the row holds feature {index} twice"
                        raise self.error(f"{what}: give every feature one value.", line=number)
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
            what = f"feature {shown(index)} is beyond the limit of {self.options.max_features}"
            raise self.error(f"{what}: raise it with --max-features.", line=line)
        if not fits(float, value) or not np.isfinite(float(value)) or "_" in value:
            raise self.error(f"{shown(value)} is not a finite number.", line=line, column=index)
        return int(index)


def split_label(line: bytes) -> tuple[tuple[str, ...] | None, bytes]:
    """The labels before the first pair, and the pairs; None for an empty line or a comment."""
    if b"#" in line:
        line = line[: line.index(b"#")]
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


def read_pairs(text: bytes) -> np.ndarray | None:
    """The numbers of all pairs (n x 2); None unless every word is digits, a colon and a number.

    >>> read_pairs(b"1:0.5 3:-2")
    array([[ 1. ,  0.5],
           [ 3. , -2. ]])
    """
    codes = np.frombuffer(b"\n%b\n" % text, dtype=np.uint8)
    others = np.flatnonzero(codes - np.uint8(48) > 9)  # no digits: codes below "0" wrap around
    which = np.flatnonzero(codes[others] == ord(":"))
    colon, before = others[which], others[which - 1]
    blank = codes <= ord(" ")
    if not np.all(blank[before] & (colon - before > 1) & ~blank[colon + 1]):
        return None
    if not len(colon):
        return None if text.strip() else np.empty((0, 2))
    found = read_table(text.translate(_PAIR_PER_LINE), ":", [NUMBER, NUMBER])
    if found is not None:
        return found[0]
    try:
        return np.loadtxt(text.decode().split(), delimiter=":", comments=None, ndmin=2)
    except ValueError:
        return None
