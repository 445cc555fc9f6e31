"""What the labels of a file are: classes, sets of labels, or numbers."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, cast

import numpy as np

from eigenkit.files._cells import fits, is_number, may_be_else, separator_in
from eigenkit.files._common import Block, Reading, Source, listed
from eigenkit.files._errors import FileError
from eigenkit.shell import counted, shown

TASKS = ("classes", "labels", "numbers")
# One column of whole numbers counts as classes up to this many distinct ones.
MOST_CLASSES = 100
# With this many classes, it is asked whether they are something else.
_MANY = 8
# Whole numbers in a smaller range than this are counted rather than sorted.
_FEW = 10_000


@dataclass(frozen=True)
class Target:
    """How labels in files become y, and predictions become labels.

    Examples
    --------
    >>> from eigenkit.files import target_of
    >>> target = target_of("a.csv", [("red", "big"), ("red",)], ["tags"])
    >>> target.kind, target.names
    ('labels', ('big', 'red'))
    >>> target.encode("a.csv", [("big",)])
    array([[1., 0.]])
    """

    kind: str  # one of TASKS
    names: tuple[str, ...]  # of the classes, of the labels, or of the responses
    columns: tuple[str, ...] = ()  # of the labels in the file
    separator: str | None = None  # between the labels of one cell

    def encode(self, path: Any, labels: Any, start: int = 0) -> np.ndarray:
        """Labels of a file as y; ``start`` rows come before them."""
        if self.kind == "labels":
            return self._indicator(path, labels, start)
        if self.kind == "numbers":
            Y = _numbers(path, labels, start)
            return Y[:, 0] if Y.shape[1] == 1 else Y
        return np.array(_cells(path, labels, start), dtype=object)

    def _indicator(self, path: Any, labels: Any, start: int) -> np.ndarray:
        if isinstance(labels, np.ndarray):
            n, known = labels.shape[1], len(self.names)
            if n != known:
                raise FileError(path, f"it has {n} labels, but the model has {known}.")
            _check_marks(path, labels, start)
            return labels
        place = {name: j for j, name in enumerate(self.names)}
        Y, strange = np.zeros((len(labels), len(place))), Counter[str]()
        for i, cell in enumerate(labels):
            for label in _set(cell):
                if label in place:
                    Y[i, place[label]] = 1.0
                else:
                    strange[label] += 1
        told = [f"{shown(label)} in {counted(n, 'row')}" for label, n in strange.most_common(4)]
        told += [f"and {len(strange) - 4} more"] if len(strange) > 4 else []
        # Another separator may divide them into known ones.
        mark = separator_in(strange, self.names)
        hint = f": is {mark!r} between labels? Write {self.separator!r} there" if mark else ""
        what = f"labels that the model was not fitted on count as absent, {', '.join(told)}{hint}."
        if strange:
            warnings.warn(f"{path}: {what}", stacklevel=3)
        return Y

    def in_parts(self) -> dict[str, Any]:
        """Further arguments of ``partial_fit``, as a part of the rows may lack a class."""
        return {"classes": np.array(self.names)} if self.kind == "classes" else {}

    def check_known(self, path: Any, y: np.ndarray) -> None:
        """Refuse classes that are not among these."""
        strange = sorted(set(y) - set(self.names)) if self.kind == "classes" else []
        if strange:
            what = f"it holds the class {shown(strange[0])}, which none of the training rows has"
            remedy = "correct it, or leave out such rows."
            raise FileError(path, f"{what} ({listed(self.names)}): {remedy}")

    def as_read(self, options: Reading) -> Reading:
        """The options, with labels to be read as these were."""
        plain = (fits(float, name) and name == f"{float(name):.17g}" for name in self.names)
        words = self.kind == "classes" and not all(plain)
        return replace(options, label_separator=self.separator, words=words, truth=True)


def target_of(
    path: Any,
    labels: Any,
    columns: Sequence[str],
    task: str | None = None,
    separator: str | None = None,
    *,
    part: bool = False,
) -> Target:
    """What the labels of a file are: as ``task`` says, or as they look.

    In a ``part`` of the rows, all may have the same labels.
    """
    if labels is None:
        raise FileError(path, "no labels: say with --labels which columns hold them.")
    kind, numbers = task or _guess(labels), isinstance(labels, np.ndarray)
    names = _names_of(path, kind, labels, columns)
    if kind != "numbers" and not part:
        first = labels[0]
        if not np.any(labels != first) if numbers else all(cell == first for cell in labels):
            what = shown(names[0]) if names else "none"
            raise FileError(path, f"every row has the same labels ({what}): nothing to learn.")
    if separator is not None and not numbers and all(len(cell) < 2 for cell in labels):
        what = f"no row has several labels with {separator!r} between them"
        question = "is that the --label-separator of this file?"
        warnings.warn(f"{path}: {what}: {question}", stacklevel=2)
    many = separator is None and kind == "classes" and len(names) >= _MANY
    if many and (found := may_be_else(names, len(labels), task is not None)):
        such = f"{len(names)} classes such as {shown(names[-1])}"
        warnings.warn(f"{path}: {such} {found}", stacklevel=3)
    return Target(kind, names, tuple(columns), separator)


def target_in(source: Source, labels: Any, task: str | None, *, part: bool = False) -> Target:
    """:func:`target_of` for the labels of a file that is open."""
    separator = source.options.label_separator
    if task is None:
        check_alike(source.label_kinds)
    return target_of(source.path, labels, source.label_names, task, separator, part=part)


def _guess(labels: Any) -> str:
    """What labels look like."""
    if not isinstance(labels, np.ndarray):
        if isinstance(labels[0], str):
            return "classes"
        if any(len(cell) != 1 for cell in labels):
            return "labels"
        try:
            labels = np.array(labels, dtype=float)
        except ValueError:
            return "classes"
    if labels.shape[1] > 1:
        return "labels" if np.isin(labels, (0, 1)).all() else "numbers"
    values, _ = distinct(labels[:, 0])
    whole = np.all(values == np.floor(values)) and np.all(np.abs(values) < 2**53)
    return "classes" if whole and len(values) <= MOST_CLASSES else "numbers"


def distinct(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct numbers in their order, and the place of every entry among them.

    Whole numbers of a small range are counted, which is many times as quick as sorting.

    >>> distinct(np.array([3.0, -1.0, 3.0]))
    (array([-1.,  3.]), array([1, 0, 1]))
    """
    low = column.min(initial=np.inf)
    with np.errstate(over="ignore", invalid="ignore"):  # infinity is refused elsewhere
        few = column.max(initial=-np.inf) - low < _FEW
    if not (len(column) and few and np.array_equal(column, np.floor(column))):
        values, place = np.unique(column, return_inverse=True)
        return values, place
    code = (column - low).astype(np.intp)
    there = np.bincount(code) > 0
    return np.flatnonzero(there) + low, (np.cumsum(there) - 1)[code]


def _names_of(path: Any, kind: str, labels: Any, columns: Sequence[str]) -> tuple[str, ...]:
    """The names of the classes, of the labels, or of the responses."""
    if kind == "numbers":
        k = _numbers(path, labels).shape[1]
        return tuple(columns) or tuple(f"y{j + 1}" for j in range(k))
    if kind == "labels" and isinstance(labels, np.ndarray):
        _check_marks(path, labels)
        return tuple(columns)
    found = _cells(path, labels) if kind == "classes" else chain.from_iterable(map(_set, labels))
    return tuple(sorted(set(found), key=natural))


def _set(cell: Any) -> Sequence[str]:
    """The labels of a row, which may have one as a word."""
    return (cell,) if isinstance(cell, str) else cast(Sequence[str], cell)


def _check_marks(path: Any, labels: np.ndarray, start: int = 0) -> None:
    check_complete(path, labels, start)
    strange = np.argwhere(~np.isin(labels, (0, 1)))
    if len(strange):
        i, j = strange[0]
        raise FileError(path, f"row {start + i + 1} has the label {labels[i, j]:g}: give 0 or 1.")


def natural(label: str) -> tuple[int, float, str]:
    """Whole numbers in their order, then words."""
    return (0, float(label), label) if label.isdecimal() else (1, 0.0, label)


def class_values(names: Sequence[str]) -> np.ndarray:
    """Classes in memory: whole numbers if all of their names are, else the names.

    >>> class_values(["0", "1"]), class_values(["01", "02"])
    (array([0, 1]), array(['01', '02'], dtype='<U2'))
    """
    try:
        values = [int(name) for name in names]
    except ValueError:
        return np.array(names)
    plain = all(str(value) == name for value, name in zip(values, names, strict=True))
    return np.array(values) if plain and max(map(abs, values)) < 2**53 else np.array(names)


def _cells(path: Any, labels: Any, start: int = 0) -> list[str]:
    """The class of every row, as text."""
    if isinstance(labels, np.ndarray):
        if labels.shape[1] > 1:
            raise FileError(path, f"{labels.shape[1]} label columns: classes need exactly one.")
        check_complete(path, labels, start)
        values, which = distinct(labels[:, 0])
        texts = np.array([f"{value:.17g}" for value in values], dtype=object)
        return cast(list[str], texts[which].tolist())
    if set(map(type, labels)) == {str} and all(labels):
        return cast(list[str], labels)
    for i, cell in enumerate(labels, start=start + 1):
        if not cell or len(_set(cell)) != 1:
            what = f"has {len(cell)} labels, not one class" if cell else _no_class(labels)
            raise FileError(path, f"row {i} {what}.")
    return [_set(cell)[0] for cell in labels]


def _numbers(path: Any, labels: Any, start: int = 0) -> np.ndarray:
    if isinstance(labels, np.ndarray):
        check_complete(path, labels, start)
        return labels
    cells = _cells(path, labels, start)
    for i, cell in enumerate(cells, start=start + 1):
        if not fits(float, cell):
            raise FileError(path, f"row {i} has the label {shown(cell)}: give a number.")
    Y = np.array(cells, dtype=float)[:, None]
    check_complete(path, Y, start)
    return Y


def _no_class(labels: Sequence[Any]) -> str:
    """The problem of a row without a class; the others may show a separator of labels."""
    there = [*filter(None, labels)]
    held = [m for m in ";|,/" if 3 * sum(m in cell for cell in there) > len(there)]
    separator = f"--label-separator {held[0]!r}" if held else "--label-separator"
    fill = "has no class: fill it in, leave such rows out with --missing drop"
    return f"{fill}, or give {separator} if rows may have several, or none"


def check_complete(path: Any, labels: Any, start: int = 0) -> None:
    """Refuse numbers that are not finite and empty classes; ``start`` rows come before them."""
    if not isinstance(labels, np.ndarray):
        if labels is not None and "" in labels:
            raise FileError(path, f"row {start + labels.index('') + 1} {_no_class(labels)}.")
        return
    bad = np.flatnonzero(~np.isfinite(labels).all(axis=1))
    if bad.size:
        what = f"row {start + bad[0] + 1} has a label that is missing or not finite"
        remedy = "correct it, or leave out rows without one with --missing drop."
        raise FileError(path, f"{what}: {remedy}")


def check_all_complete(source: Source, block: Block) -> None:
    """:func:`check_complete` of a block, or of all rows of several files, each by its name."""
    if block.labels is None or block.path is not None or not source.n_rows:
        check_complete(block.path or source.path, block.labels, block.start)
        return
    start = 0
    for path, n in source.n_rows.items():
        check_complete(path, block.labels[start : start + n])
        start += n


def by_kind(cells: Any) -> dict[bool, str]:
    """An example of the labels that are numbers (True), and of those that are words."""
    return {is_number(cell): cell for cell in set(cells) if isinstance(cell, str) and cell}


def check_alike(kinds: Mapping[str, dict[bool, str]]) -> None:
    """Refuse words in one file and numbers in another: yes and 1 may mean the same class."""
    only = {next(iter(found)): path for path, found in kinds.items() if len(found) == 1}
    if len(only) == 2:
        word, number = (shown(kinds[only[kind]][kind]) for kind in (False, True))
        what = f"its labels are words such as {word}, and those of {only[True]} numbers such as"
        remedy = "write them alike, or say with --task classes that all are classes."
        raise FileError(only[False], f"{what} {number}: {remedy}")


def as_words(labels: Any) -> list[Any]:
    """Numbers as text again, because other files have words in the same column."""
    if not isinstance(labels, np.ndarray):
        return cast(list[Any], labels)
    if labels.shape[1] > 1:
        what = "the label columns hold numbers in some files and words in others"
        raise ValueError(f"{what}: give files of one kind.")
    return ["" if np.isnan(value) else f"{value:.17g}" for value in labels[:, 0]]


def join_labels(parts: Iterable[Any]) -> Any:
    """The labels of consecutive blocks as those of one."""
    parts = list(parts)
    if not parts or parts[0] is None:
        return None
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.vstack(parts)
    return [cell for part in parts for cell in as_words(part)]
