"""What all readers share: options, blocks of rows, and columns by name."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from eigenkit.files._errors import FileError, Skipped, TooLargeError
from eigenkit.shell import check_choice, shown

# A letter and the marks combined with it: accents, voicing marks of kana, parts of Hangul.
_IN_PIECES = re.compile("[^\\W\\d_][\u0300-\u036f\u1161-\u11ff\u3099\u309a]+")


def composed(text: str) -> str:
    """The text with every letter as one character: some systems write é as e and an accent.

    >>> composed("e\\u0301te\\u0301") == "\\u00e9t\\u00e9"
    True
    """
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    return _IN_PIECES.sub(lambda match: unicodedata.normalize("NFC", match[0]), text)


# The options that a model remembers from its file for other files, and their types; marks in
# numbers are remembered as they were found.
REMEMBERED: dict[str, type] = dict.fromkeys(("format", "delimiter", "encoding", "comment"), str)
REMEMBERED |= {"header": bool, "max_features": int}


@dataclass(frozen=True)
class Expected:
    """The columns that a model was fitted on."""

    features: tuple[str, ...] | None
    n_features: int
    text: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    index_base: int = 1
    decimal: str = "."  # marks in its numbers
    thousands: str | None = None
    categorical: tuple[str, ...] = ()  # those of the text that are categories
    kinds: Mapping[str, str | None] | None = None  # see Source.found; None if they are not known
    told: Mapping[str, Any] = field(default_factory=dict)  # fields of Reading, as they were given

    def as_in(self, found: Mapping[str, Any]) -> Expected:
        """The same, with the marks in numbers and the kinds of columns found in a file."""
        marks = {name: found[name] for name in ("decimal", "thousands") if found.get(name)}
        return replace(self, kinds=found.get("kinds"), **marks)


@dataclass(frozen=True)
class Reading:
    """How to read a file; what is None is detected.

    Parameters
    ----------
    format : {"csv", "tsv", "svmlight", "arff", "npz", "parquet"}, optional
    delimiter, encoding : str, optional
    header : bool, optional
        Whether the first row holds names.
    labels : tuple of str
        Label columns: names, patterns (``tag_*``) or positions (1 is the first, -1 the last).
    label_separator : str, optional
        Character between several labels in one column.
    label_list : str, optional
        Mulan's XML file with the names of the labels.
    text : tuple of str
        Columns of text.
    categorical : tuple of str
        Columns of categories, of which each becomes a feature.
    groups : str, optional
        A column that says which rows belong together, and is not a feature; its cells are kept.
    ignore : tuple of str
        Columns to leave out.
    index : str, optional
        The column that names the rows; by default a first column without a name.
    decimal, thousands : str, optional
        Marks in numbers; a decimal comma is detected if the delimiter is another mark.
    comment : str, optional
        Lines that begin with this are left out; if it is empty, none are.
    keep : tuple of str
        Columns whose cells are also returned unchanged.
    dtype : {"float64", "float32"}
    index_base : {0, 1}, optional
        Number of the first feature in svmlight files; by default 0 if it occurs, else 1.
    max_bytes : int
        The most memory that the numbers of one file may take.
    stream : bool
        The file will be read in blocks, none of them kept.
    max_features : int
        The highest feature number that a sparse file may hold.
    expected : Expected, optional
        What a model was fitted on.
    truth : bool
        The labels of the model are wanted, too.
    words : bool
        Read the labels as words, even if all of them look like numbers.
    on_error : {"raise", "skip"}
        What to do about bad rows: those that cannot be read, or that the next two refuse.
    task : {"classes", "labels", "numbers"}, optional
        What the labels must be.
    missing : {"error", "drop", "mean", "median", "keep"}
        What is done about missing values; with "error", rows that have one are bad.
    """

    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    labels: tuple[str, ...] = ()
    label_separator: str | None = None
    label_list: str | None = None
    text: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    groups: str | None = None
    ignore: tuple[str, ...] = ()
    index: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    comment: str | None = None
    keep: tuple[str, ...] = ()
    dtype: str = "float64"
    index_base: int | None = None
    max_bytes: int = 4 * 2**30
    stream: bool = False
    max_features: int = 50_000_000
    expected: Expected | None = None
    truth: bool = False
    words: bool = False
    on_error: str = "raise"
    task: str | None = None
    missing: str = "error"

    def __post_init__(self) -> None:
        check_choice("on_error", self.on_error, ("raise", "skip"))

    def told(self) -> dict[str, Any]:
        """The options given for the file that also apply to others of its kind."""
        given = {name: getattr(self, name) for name in REMEMBERED}
        return {name: value for name, value in given.items() if value != getattr(Reading, name)}

    def as_before(self) -> Reading:
        """The same, with the options of the model's own file where none is given now.

        The encoding is not among them: the bytes may show which it is.
        """
        known = dict(self.expected.told) if self.expected else {}
        known.pop("encoding", None)
        return replace(self, **{**known, **self.told()})

    def check_size(self, path: Any, n_bytes: float, what: str = "the numbers") -> None:
        """Refuse what would not fit, before memory is allocated."""
        if n_bytes > self.max_bytes:
            sizes = f"{size(n_bytes)}, the limit is {size(self.max_bytes)}"
            raise TooLargeError(path, f"{what} would take {sizes}: raise it with --max-memory.")


@dataclass
class Block:
    """Some rows: features, columns of text, and labels as they stand in the file.

    ``labels`` is a matrix of numbers, a list of cells, a list of tuples of labels, or None.
    ``kept`` holds the cells of columns that are wanted unchanged, ``path`` the file, ``start`` the
    number of its rows before these, ``share`` how much of the file they are, if the reader knows,
    and ``lines`` the numbers of their lines, if these may be needed.
    """

    X: Any
    text: dict[str, list[str]] = field(default_factory=dict)
    labels: Any = None
    kept: dict[str, list[str]] = field(default_factory=dict)
    start: int = 0
    path: str | None = None
    share: float = 0.0
    lines: np.ndarray | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: np.ndarray) -> Block:
        """Some of the rows."""

        def some(cells: Any) -> Any:
            if isinstance(cells, np.ndarray):
                return cells[rows]
            return None if cells is None else [cells[i] for i in rows]

        text, kept = ({k: some(v) for k, v in each.items()} for each in (self.text, self.kept))
        labels, lines = some(self.labels), some(self.lines)
        return replace(self, X=self.X[rows], text=text, labels=labels, kept=kept, lines=lines)


class Source(ABC):
    """A file that can be read as often as needed."""

    sources: Sequence[Source] = ()  # if this is several files
    n_features = 0  # of a sparse file
    numeric_labels = True
    late_word: FileError | None = None  # about the first label that is not a number
    # The column of labels, while it holds nothing but digits: codes may come later.
    _watched: Set[int] = frozenset()

    def __init__(self, path: str, options: Reading) -> None:
        self.path, self.options = path, options
        # What was detected: format, encoding, delimiter, ...; "kinds" names the features that do
        # not hold numbers: "date", "yes or no", or None if no cell tells.
        self.found: dict[str, Any] = {}
        self.feature_names: list[str] | None = None
        self.label_names: list[str] = []
        self.text_names: list[str] = []
        self.categorical_names: list[str] = []  # those of the text that are categories
        self.kept_names: list[str] = []  # columns whose cells are kept unchanged
        self.whole_labels: set[str] = set()  # as they are written, while codes may be among them
        # For each of several files: its rows, and examples of its labels if their kinds differ.
        self.n_rows: dict[str, int] = {}
        self.label_kinds: dict[str, dict[bool, str]] = {}
        self.skipped = Skipped()  # by the last pass over all rows

    def blocks(self, n_rows: int) -> Iterator[Block]:
        """The rows, at most about ``n_rows`` at a time, with the number of those before them."""
        start = 0
        for block in self._blocks(n_rows):
            yield block if block.path else replace(block, start=start)
            start += len(block)

    @abstractmethod
    def _blocks(self, n_rows: int) -> Iterator[Block]:
        """The rows, without their numbers."""

    @property
    def group_name(self) -> str | None:
        """The column that says which rows belong together."""
        return self.kept_names[0] if self.options.groups and self.kept_names else None

    @property
    def named_cells(self) -> list[str]:
        """The columns in which every row must have a name: categories and groups."""
        return [*self.categorical_names, *filter(None, [self.group_name])]

    def error(
        self, problem: str, *, line: int | None = None, column: str | None = None
    ) -> FileError:
        """What is wrong with this file."""
        return FileError(self.path, problem, line=line, column=column)

    def no_rows(self, otherwise: str) -> FileError:
        """The error that nothing is left: because all rows are bad, or for another reason."""
        if not self.skipped.n:
            return self.error(otherwise)
        first = self.skipped.first[0]
        where = "" if first.line is None else f" at line {first.line}"
        n = self.skipped.n
        return self.error(f"all of its {n} rows are bad, the first{where}: {first.problem}")

    def take_labels_as_numbers(self) -> None:
        """From now on, words among them are errors, in all files."""
        for source in self.sources:
            source.take_labels_as_numbers()
        self.numeric_labels, self.late_word, self._watched = True, None, frozenset()
        self.whole_labels.clear()

    def take_labels_as_words(self) -> None:
        """From now on, the labels of one column are what is written, in all files."""
        for source in self.sources:
            source.take_labels_as_words()
        self.numeric_labels = self.numeric_labels and len(self.label_names) > 1
        self.late_word = None


def listed(names: Sequence[str], most: int = 8, write: Callable[[str], str] = shown) -> str:
    """The first few names, for a message."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(write(name) for name in names[:most]) + more


def check_unique(path: Any, names: Sequence[str], line: int | None = None) -> None:
    """Refuse two columns of the same name, which could not be told apart."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise FileError(path, f"two columns are named {shown(name)}: rename one.", line=line)
        seen.add(name)


def size(n_bytes: float) -> str:
    """A number of bytes in readable units."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}" if unit != "bytes" else f"{int(n_bytes)} bytes"
        n_bytes /= 1024
    return f"{n_bytes:.3g} TB"
