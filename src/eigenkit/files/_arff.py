"""ARFF, dense and sparse, with the label lists of Mulan (XML) and MEKA (``-C`` in the name)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy import sparse

from eigenkit.files._cells import as_number, fits, is_code
from eigenkit.files._common import Block, Reading, check_unique
from eigenkit.files._delimited import Delimited
from eigenkit.files._errors import FileError
from eigenkit.files._roles import Table, items_of
from eigenkit.files._streams import Lines, Origin, guess_encoding, split_lines, without_lines
from eigenkit.shell import shown

_WORD = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)"""
_ATTRIBUTE = re.compile(rf"@attribute\s+{_WORD}\s*(.*)$", re.IGNORECASE)
_INDEX = re.compile(r"[0-9]{1,9}")
_NUMERIC = {"numeric", "real", "integer"}
_MOST_ATTRIBUTES = 5_000_000
_LARGEST_LIST = 16 * 2**20


class Arff(Delimited):
    """An ARFF file; see :func:`eigenkit.files.open_file`."""

    _quoting: ClassVar = {"quotechar": "'", "escapechar": "\\", "skipinitialspace": True}

    def __init__(self, origin: Origin, options: Reading) -> None:
        Table.__init__(self, origin.path, options)
        self.origin = origin
        self.encoding = guess_encoding(origin, options)
        self.delimiter, self.header, self.decimal, self.thousands = ",", True, ".", None
        self.convert = as_number
        self._read_header()
        self.options = replace(options, labels=options.labels or self._listed_labels(options))
        self._assign()
        for j in self.roles.features:
            if not self._numeric(j):
                raise self._no_feature(j, f"it is of type {shown(self.types[j])}, not numeric")
        labels, split = self.roles.labels, self.options.label_separator is not None
        self.numeric_labels = not split and all(self._numeric(j) for j in labels)
        if self.options.words or any(is_code(v) for j in labels for v in _values(self.types[j])):
            self.take_labels_as_words()
        kinds = self._settle_kinds({})
        self.found = {"format": "arff", "encoding": self.encoding, "sparse": self.sparse}
        self.found |= {"kinds": kinds, "columns": len(self.names)}

    def _read_header(self) -> None:
        self.names = []
        self.types: list[str] = []
        self.relation = ""
        lines = chain.from_iterable(map(split_lines, self.origin.text(self.encoding)))
        for self.data_line, line in enumerate(lines, start=1):  # up to that of @data
            word = line.split(None, 1)[0].lower() if line.strip() else ""
            if word == "@relation":
                self.relation = line
            elif word == "@attribute":
                match = _ATTRIBUTE.match(line.strip())
                if match is None or len(self.names) >= _MOST_ATTRIBUTES:
                    what = f"{shown(line.strip())} is not an attribute."
                    raise self.error(what, line=self.data_line)
                self.names.append(_unquoted(match[1]))
                self.types.append(match[2].strip())
            elif word == "@data":
                break
            elif word and not word.startswith("%"):
                raise self.error(f"{shown(line.strip())} is not a header.", line=self.data_line)
        else:
            raise self.error("it has no @data: this is not an ARFF file.")
        check_unique(self.path, self.names)
        first = next((line for line in lines if line.strip() and not line.startswith("%")), None)
        if first is None:
            raise self.error("it holds a header and no rows.")
        self.sparse = first.lstrip().startswith("{")

    def _numeric(self, j: int) -> bool:
        values = _values(self.types[j])
        listed = bool(values) and all(fits(float, value) for value in values)
        return listed or self.types[j].lower() in _NUMERIC

    def _listed_labels(self, options: Reading) -> tuple[str, ...]:
        if options.expected is not None:
            return ()
        ignored = self._pick(items_of(options.ignore, self.names), "--ignore")
        left_out = {self.names[j] for j in ignored}
        beside = Path(re.sub(r"\.arff(\.gz|\.bz2)?$", ".xml", self.path))
        count = re.search(r"-C\s+(-?[0-9]{1,9})(?![0-9])", self.relation)
        listed: Sequence[str] = ()
        if options.label_list is not None:
            listed = read_label_list(options.label_list)
        elif beside.suffix == ".xml" and beside.is_file():
            listed = read_label_list(str(beside))
        elif count is not None:
            n = int(count[1])
            listed = self.names[:n] if n > 0 else self.names[n:]
        return tuple(name for name in listed if name not in left_out)

    def _texts(self, n_rows: int) -> Iterator[tuple[int, bytes]]:
        lines = Lines(self.origin, self.encoding)
        lines.skip(self.data_line)
        while (found := lines.take(n_rows))[1]:
            yield found[0], without_lines(found[1], "%")

    def _quickly(self, lines: tuple[int, bytes]) -> Block | None:
        return None if self.sparse else super()._quickly(lines)

    def _slowly(self, first: int, lines: list[str]) -> Block:
        return self._sparse(first, lines) if self.sparse else super()._slowly(first, lines)

    def _sparse(self, first: int, lines: list[str]) -> Block:
        place = {j: p for p, j in enumerate(self.roles.features)}
        indices: list[int] = []
        values: list[float] = []
        indptr, places = [0], []
        rows: list[dict[int, str]] = []
        for number, line in enumerate(lines, start=first):
            if not line.strip():
                continue
            pairs = self._pairs(number, line.strip())
            for j, cell in pairs.items():
                if j in place:
                    indices.append(place[j])
                    values.append(self._number(number, j, cell))
            indptr.append(len(indices))
            rows.append(pairs)
            places.append(number)
        parts = np.array(values, self.options.dtype), np.array(indices, np.int32), indptr
        X = sparse.csr_array(parts, shape=(len(rows), len(place)))
        X.sort_indices()
        model = self.options.expected
        named = self.categorical_names if model is None else model.categorical
        # What a row leaves out is the first category, but no text.
        absent = {j: self._default(j) if self.names[j] in named else "" for j in self.roles.text}
        cells = {j: [row.get(j, otherwise) for row in rows] for j, otherwise in absent.items()}
        labels = [[row.get(j, self._default(j)) for j in self.roles.labels] for row in rows]
        return self._block(X, cells, self._labels(labels, places))

    def _pairs(self, line: int, text: str) -> dict[int, str]:
        if not text.startswith("{") or not text.endswith("}"):
            raise self.error(f"{shown(text)} is not a sparse row in braces.", line=line)
        pairs: dict[int, str] = {}
        for _, cells in self._rows(line, [text[1:-1]]):
            for cell in cells:
                number, _, value = cell.strip().partition(" ")
                index = int(number) if _INDEX.fullmatch(number) else -1
                if not 0 <= index < len(self.names) or index in pairs:
                    wanted = f"a new attribute number below {len(self.names)} and a value"
                    raise self.error(f"{shown(cell)} is not {wanted}.", line=line)
                pairs[index] = _unquoted(value.strip())
        return pairs

    def _default(self, j: int) -> str:
        """The value of an attribute that a sparse row leaves out."""
        values = _values(self.types[j])
        return values[0] if values else "0"


def _unquoted(word: str) -> str:
    if len(word) > 1 and word[0] in "'\"" and word[-1] == word[0]:
        return re.sub(r"\\(.)", r"\1", word[1:-1])
    return word


def _values(kind: str) -> list[str]:
    """The values of a nominal attribute ``{a, b}``."""
    if not kind.startswith("{") or not kind.endswith("}"):
        return []
    return [_unquoted(value.strip()) for value in kind[1:-1].split(",")]


def read_label_list(path: str) -> tuple[str, ...]:
    """The names in Mulan's ``<labels><label name="..."/></labels>``."""
    from xml.etree import ElementTree

    data = Path(path).read_bytes()[: _LARGEST_LIST + 1]
    if len(data) > _LARGEST_LIST or b"<!" in data.replace(b"<!--", b""):
        raise FileError(path, "it is not a plain list of labels: document types are not read.")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise FileError(path, f"it is not XML ({error}).") from error
    labels = [node.get("name") for node in root.iter() if node.tag.rpartition("}")[2] == "label"]
    if not labels or None in labels:
        raise FileError(path, 'it holds no <label name="..."/>.')
    return tuple(str(name) for name in labels)
