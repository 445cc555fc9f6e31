"""The reader that a file needs, several files as one, and all blocks put together."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files._cells import hold_codes
from eigenkit.files._common import Block, Reading, Source
from eigenkit.files._errors import FileError, Skipped
from eigenkit.files._streams import Origin, begins_as
from eigenkit.files._targets import MOST_CLASSES, as_words, by_kind, join_labels
from eigenkit.late import named

# Imported on demand: each reader costs start-up time, pyarrow most of all.
_READERS = dict.fromkeys(("csv", "tsv"), "eigenkit.files._delimited:Delimited")
_READERS |= {"svmlight": "eigenkit.files._svmlight:SvmLight", "arff": "eigenkit.files._arff:Arff"}
_READERS |= {"npz": "eigenkit.files._binary:Npz", "parquet": "eigenkit.files._binary:Parquet"}
FORMATS = tuple(_READERS)
_SUFFIXES = {f".{kind}": kind for kind in FORMATS}
_SUFFIXES |= {".tab": "tsv", ".svm": "svmlight", ".libsvm": "svmlight", ".pq": "parquet"}
# ARFF: comments and blank lines may come first.
ARFF = re.compile(rb"([^\S\n]*(%.*)?\n)*[^\S\n]*@relation", re.IGNORECASE)
_PAIRS = re.compile(rb"\s*[^\s:]*(\s+\d+:\S+)+\s*(#.*)?")
_BLOCK_BYTES = 8 * 2**20
# Blocks that are copied at once are this many times smaller, so that they reuse memory.
_PASSING = 4


@dataclass
class Data:
    """A whole file: features, columns of text, and labels as they stand in it."""

    X: Any
    text: dict[str, list[str]]
    labels: Any
    source: Source
    found: dict[str, Any] = field(default_factory=dict)
    rows: np.ndarray | None = None  # their numbers in the file, where some were left out
    kept: dict[str, list[str]] = field(default_factory=dict)  # cells of columns, as they are

    def block(self) -> Block:
        """All rows as one block."""
        return Block(self.X, self.text, self.labels, self.kept)


def open_file(path: str, options: Reading | None = None, text: bytes | None = None) -> Source:
    """Find out what a file is, and read as much of it as that takes.

    Parameters
    ----------
    path : str
        Name of a file, ``-`` for standard input; gzip and bz2 are recognized by content.
    options : Reading, optional
    text : bytes, optional
        What is read in place of the file.

    Returns
    -------
    Source
        ``found`` tells what was found out; ``blocks(n_rows)`` gives the rows.
    """
    options = options or Reading()
    if text is None and is_pattern(path):
        return open_files(path, options)
    origin, before = Origin(path, options.max_bytes, text), options.as_before()
    try:
        return _opened(origin, before)
    except FileError:
        if before == options:
            raise
        with suppress(FileError):  # the options of the model's file may not fit this one
            return _opened(origin, options)
        raise


def _opened(origin: Origin, options: Reading) -> Source:
    path, kind = origin.path, options.format or guess_format(origin)
    if kind not in FORMATS:
        raise FileError(path, f"format {kind!r} is not known: choose one of {', '.join(FORMATS)}.")
    for name, kinds in (_UNDERSTOOD | (_OF_LABELS if options.expected is None else {})).items():
        if getattr(options, name) != getattr(Reading, name) and kind not in kinds:
            option = f"--{name.replace('_', '-')}"
            only = f"only on {' or '.join(kinds)}: leave it out."
            raise FileError(path, f"{option} has no effect on a file in {kind} format, {only}")
    reader = named(_READERS[kind])
    if options.on_error == "skip":
        origin.errors = "eigenkit.no_text"
        reader = named("eigenkit.files._tolerant:tolerant_reader")(kind, reader)
    try:
        source: Source = reader(origin, options)
    except FileError as error:
        may = options.comment is None and kind in _UNDERSTOOD["comment"]
        if may and origin.head().lstrip(b"\xef\xbb\xbf \n\r").startswith(b"#"):
            hint = "if lines that begin with # are comments, give --comment '#'."
            error = error.with_problem(f"{error.problem.rstrip('.')}; {hint}")
        raise error from None
    source.found["compression"] = origin.compression
    return source


def open_files(files: str | Path | Sequence[str | Path], options: Reading) -> Source:
    """Several files, given by name or pattern, as one."""
    sources = [open_file(path, options) for path in paths(files)]
    name = str(files) if isinstance(files, str | Path) else sources[0].path
    return sources[0] if [each.path for each in sources] == [name] else ManyFiles(name, sources)


_TABLES = ("csv", "tsv", "arff", "parquet")
# The formats that know each option; for another format it would have no effect.
_UNDERSTOOD = {
    **dict.fromkeys(("delimiter", "header", "decimal", "thousands", "comment"), ("csv", "tsv")),
    **dict.fromkeys(("text", "categorical", "groups", "ignore", "index"), _TABLES),
    "keep": ("csv", "tsv", "parquet"),
    "encoding": ("csv", "tsv", "arff"),
    "label_list": ("arff",),
    "index_base": ("svmlight",),
}
# Those of the labels; a model gives its own for every file.
_OF_LABELS = {"labels": (*_TABLES, "npz"), "label_separator": _TABLES}


def guess_format(origin: Origin) -> str:
    """The format by content if that is certain, else by the name, else by the first line."""
    head = origin.head()
    kind = begins_as(head)
    if kind in ("npz", "parquet"):
        return kind
    if re.match(rb"\x80[\x02-\x05]", head):
        raise FileError(origin.path, "it is a Python pickle, which can run code: it is not read.")
    if head.startswith(b"EIGENKIT"):
        raise FileError(origin.path, "it is a model file, not data.")
    by_name = _SUFFIXES.get(Path(re.sub(r"\.(gz|bz2)$", "", origin.path.lower())).suffix)
    if by_name in ("npz", "parquet"):
        raise FileError(origin.path, f"it does not begin like a {by_name} file: it is damaged.")
    if by_name or ARFF.match(head):
        return by_name or "arff"
    first = next((line for line in head.split(b"\n")[:200] if line.strip()), b"")
    return "svmlight" if _PAIRS.fullmatch(first.rstrip(b"\r")) else "csv"


# -- several files as one ---------------------------------------------------------------


def paths(files: str | Path | Sequence[str | Path]) -> list[str]:
    """The files that are named, or that match a pattern, sorted by name."""
    given = list(files) if isinstance(files, Iterable) and not isinstance(files, str) else [files]
    if not given:
        raise ValueError("files is empty: give names of files.")
    found: list[str] = []
    for item in map(str, given):
        hits = [item] if Path(item).exists() else sorted(glob.glob(item))
        if not hits:
            raise FileError(item, "there is no such file, and no file matches the pattern.")
        found += hits
    return found


def is_pattern(path: str) -> bool:
    """Whether a name stands for several files."""
    return path != "-" and glob.has_magic(path) and not Path(path).exists()


def check_columns(sources: Sequence[Any]) -> None:
    """Check that all files, opened here or elsewhere, have the columns of the first."""
    first = sources[0]
    for source in sources[1:]:
        if source.feature_names != first.feature_names or source.label_names != first.label_names:
            what = f"its columns are not those of {first.path}"
            raise FileError(source.path, f"{what}: give files of one kind.")
        if name := other_dates(source.found.get("kinds"), first.found.get("kinds")):
            what = f"it holds dates where {first.path} holds none, or none where that one does"
            raise FileError(source.path, f"{what}: give files of one kind.", column=name)


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

    def __init__(self, name: str, sources: Sequence[Source]) -> None:
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

    def _blocks(self, n_rows: int) -> Iterator[Block]:
        """The rows of all files; sparse ones, as wide as their highest feature, get one width."""
        width, skipped = max(source.n_features for source in self.sources), Skipped()
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
            skipped.with_more(source.skipped)
        self.skipped = skipped


# -- all rows -----------------------------------------------------------------------------


def rows_per_block(source: Source) -> int:
    """The number of rows in a block of moderate size."""
    width = max(1, len(source.feature_names or ()))
    return int(np.clip(_BLOCK_BYTES // (8 * width), 64, 65536))


def are_names(source: Source, labels: Any) -> bool:
    """Whether labels that began as numbers turn out to be words, or codes such as 007.

    If so, the source gives words from now on, and must be read again; also if words are bad rows
    to be skipped.
    """
    late, seen = source.late_word, source.whole_labels
    if late is not None and len(set(as_words(labels))) > MOST_CLASSES:
        if source.options.on_error != "skip":
            raise late
        source.take_labels_as_numbers()  # so that the words are bad
        return True
    found = late is not None or (isinstance(labels, np.ndarray) and hold_codes(seen, len(labels)))
    if found:
        source.take_labels_as_words()
    return found


def read(source: Source, tick: Callable[[int], None] | None = None) -> Data:
    """All rows of a file.

    Parameters
    ----------
    source : Source
        From :func:`open_file`.
    tick : callable, optional
        Called with the number of rows of each block, for a progress bar.

    Returns
    -------
    Data
    """
    rows = _Rows(source)
    text: dict[str, list[str]] = {name: [] for name in source.text_names}
    kept: dict[str, list[str]] = {name: [] for name in source.kept_names}
    labels: list[Any] = []
    for block in source.blocks(max(1, rows_per_block(source) // _PASSING)):
        rows.add(block.X, block.share)
        for whole, part in ((text, block.text), (kept, block.kept)):
            for name, cells in part.items():
                whole[name] += cells
        labels.append(block.labels)
        if tick is not None:
            tick(len(block))
    joined = join_labels(labels)
    if are_names(source, joined):
        return read(source, tick)
    return Data(rows.finish(), text, joined, source, dict(source.found), kept=kept)


def stacked(parts: Sequence[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.vstack(parts)


class _Rows:
    """Blocks put together; a dense matrix grows in place, so that there is never a second copy."""

    def __init__(self, source: Source) -> None:
        self.source, self.n, self.bytes = source, 0, 0
        self.share = 0.0
        self.dense: np.ndarray | None = None
        self.sparse: list[Any] = []

    def add(self, X: Any, share: float) -> None:
        """Append some rows, which are a share of the file."""
        begin, options = self.n, self.source.options
        self.n, self.share = begin + X.shape[0], self.share + share
        if sparse.issparse(X):
            self.bytes += X.data.nbytes + X.indices.nbytes
            options.check_size(self.source.path, self.bytes)
            self.sparse.append(X)
            return
        row_bytes = X.shape[1] * X.itemsize
        options.check_size(self.source.path, self.n * row_bytes)
        if self.dense is None or self.n > len(self.dense):
            # For as many rows as the file seems to hold; unused memory costs nothing.
            guess = 1.02 * self.n / self.share if self.share else 1.5 * begin
            room = max(self.n, int(min(guess, options.max_bytes // max(row_bytes, 1)))), X.shape[1]
            if self.dense is None:
                self.dense = np.empty(room, X.dtype)
            self.dense.resize(room, refcheck=False)  # realloc moves pages, not numbers
        self.dense[begin : self.n] = X

    def finish(self) -> Any:
        if self.n == 0:
            raise self.source.no_rows("it holds no rows.")
        if self.dense is None:
            return stacked(self.sparse)
        self.dense.resize((self.n, self.dense.shape[1]), refcheck=False)
        return self.dense
