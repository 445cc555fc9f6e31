"""What is wrong with rows that could be read: values that no model accepts, copies of others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files._cells import as_class
from eigenkit.files._common import Block, Source
from eigenkit.files._errors import FileError
from eigenkit.files._targets import Target, check_complete
from eigenkit.shell import shown

_MISSING = "is missing: give --missing mean, or complete the file"
_INFINITE = "is infinite: correct that cell"
# Rows that are hashed at once.
_AT_ONCE = 10_000
# Equal rows are copies, and not chance, if this many times more different rows are possible.
_ROOM = 100


def check_values(
    path: str,
    block: Block,
    names: Sequence[str] | None,
    index_base: int,
    missing: str,
    categorical: Sequence[str],
) -> None:
    """Refuse values that are infinite, or missing and not to be filled in."""
    X, fills = block.X, missing in ("mean", "median", "keep")
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(values.sum())  # a value that is not finite makes the sum so
    for test, what in ((np.isinf, _INFINITE), (np.isnan, _MISSING)):
        if not finite and (what == _INFINITE or not fills) and test(values).any():
            k = int(np.argmax(test(values)))
            row, column = divmod(k, X.shape[1])
            if sparse.issparse(X):
                row, column = int(np.searchsorted(X.indptr, k, "right")) - 1, int(X.indices[k])
            name = names[column] if names else column + index_base
            raise _refused(path, block, row, "value", name, what)
    for category in () if fills else categorical:
        gap = _first_gap(block.text[category])
        if gap is not None:
            raise _refused(path, block, gap, "category", category, _MISSING)


def groups_in(source: Source, block: Block) -> np.ndarray | None:
    """The group of every row, each of which must have one; None if there are no groups."""
    if source.group_name is None or source.group_name not in block.kept:
        return None
    cells = block.kept[source.group_name]
    gap = _first_gap(cells)
    if gap is not None:
        why = "is missing: name one, or leave such rows out with --missing drop"
        raise _refused(block.path or source.path, block, gap, "group", source.group_name, why)
    return np.array([as_class(cell) for cell in cells])


def _refused(path: str, block: Block, row: int, what: str, name: str | int, why: str) -> FileError:
    if block.lines is not None:
        return FileError(path, f"the {what} {why}.", line=int(block.lines[row]), column=name)
    word = shown(name) if isinstance(name, str) else name
    return FileError(path, f"the {what} in row {block.start + row + 1}, column {word} {why}.")


def _first_gap(cells: list[str]) -> int | None:
    """The first row without a category; cells that repeat are looked at once."""
    gaps = {cell for cell in set(cells) if not as_class(cell)}
    return next((i for i, cell in enumerate(cells) if cell in gaps), None) if gaps else None


# -- rows one by one -------------------------------------------------------------------


def sound(source: Source, block: Block, bad: Any) -> Block:
    """The rows of a block that a fit would not refuse; errors about the others go to ``bad``.

    Rows that are dropped because they miss a value are not bad.
    """
    found, all_rows = list[tuple[int, Exception]](), np.arange(len(block))
    base, missing = int(source.found.get("index_base", 1)), source.options.missing
    names, categorical = source.feature_names, source.categorical_names

    def check(rows: np.ndarray) -> None:
        """Refuse some rows of the block as a fit would."""
        start = block.start + int(rows[0])
        some = block if len(rows) == len(block) else replace(block.take(rows), start=start)
        check_values(source.path, some, names, base, missing, categorical)
        groups_in(source, some)
        check_labels(source, some.labels, start)

    gaps = incomplete(block, source.named_cells)
    for rows in (all_rows[~gaps], all_rows[gaps & (missing != "drop")]):
        halved(check, rows, found)
    for i, error in sorted(found, key=lambda each: each[0]):
        bad.append(placed(error, source.path, None if block.lines is None else block.lines[i]))
    return block.take(np.setdiff1d(all_rows, [i for i, _ in found])) if found else block


def check_labels(source: Source, labels: Any, start: int = 0) -> None:
    """Refuse labels that are missing, or not what they should be."""
    task = source.options.task
    if labels is not None and source.options.missing != "drop":
        check_complete(source.path, labels, start)
    if labels is not None and task is not None:
        Target(task, tuple(source.label_names)).encode(source.path, labels, start)


def placed(error: Exception, path: str, line: Any) -> FileError:
    """An error about one row, with its line if that is known."""
    if not isinstance(error, FileError):
        return FileError(path, str(error), line=None if line is None else int(line))
    if line is None:
        return error
    problem = re.sub(r" in row \d+", "", re.sub(r"^row \d+", "the row", error.problem))
    return FileError(path, problem, line=int(line), column=error.column)


def halved(
    test: Callable[[np.ndarray], Any], rows: np.ndarray, bad: list[tuple[int, Exception]]
) -> list[Any]:
    """The results of ``test`` for parts of the rows, without the rows that it refuses.

    >>> def no_three(rows):
    ...     if 3 in rows:
    ...         raise ValueError("a three")
    ...     return rows.tolist()
    >>> bad = []
    >>> halved(no_three, np.arange(6), bad), bad
    ([[0, 1, 2], [4, 5]], [(3, ValueError('a three'))])
    """
    if not len(rows):
        return []
    try:
        return [test(rows)]
    except (ValueError, TypeError) as error:
        if len(rows) == 1:
            bad.append((int(rows[0]), error))
            return []
    middle = len(rows) // 2
    return [part for half in (rows[:middle], rows[middle:]) for part in halved(test, half, bad)]


def unlabelled(labels: Any) -> Any:
    """Which rows lack a number or a class; a set of labels may be empty."""
    if labels is None:
        return False
    if isinstance(labels, np.ndarray):
        return np.isnan(labels).any(axis=1)
    return np.array([cell == "" for cell in labels], dtype=bool)


def incomplete(block: Block, named: Sequence[str] = ()) -> np.ndarray:
    """Which rows lack a value, a label, or a name in the columns ``named``."""
    X = block.X
    if sparse.issparse(X):
        gaps = np.bincount(X.tocoo().row[np.isnan(X.data)], minlength=X.shape[0]) > 0
    else:
        gaps = np.isnan(X).any(axis=1)
    gaps = np.asarray(gaps | unlabelled(block.labels))
    for cells in map({**block.kept, **block.text}.__getitem__, named):
        gaps |= np.array([not as_class(cell) for cell in cells], dtype=bool)
    return gaps


# -- rows that are copies of others ----------------------------------------------------


def repeated_rows(block: Block, groups: np.ndarray | None) -> int:
    """How many rows are copies, with text and labels, of earlier rows in other groups.

    If only few different rows are possible, as with a few answers, none are counted.
    """
    X = block.X
    labels = [] if block.labels is None else [block.labels]
    if isinstance(block.labels, np.ndarray):
        labels = list(block.labels.T)
    # A sum over the entries of every row, each hashed together with its column.
    if sparse.issparse(X):
        ends = np.append(np.uint64(0), np.cumsum(_entries(X.data, X.indices), dtype=np.uint64))
        seen = np.asarray(ends[X.indptr[1:]] - ends[X.indptr[:-1]])
    else:
        starts, places = range(0, len(X), _AT_ONCE), np.arange(X.shape[1])
        sums = [_entries(X[i : i + _AT_ONCE], places).sum(axis=1, dtype=np.uint64) for i in starts]
        seen = np.concatenate(sums)
    for key, cells in enumerate([*block.text.values(), *labels], start=2):
        seen += _entries(_codes(cells), np.array([-key]))  # a number that no column has
    distinct, which = np.unique(seen, return_inverse=True)
    pairs = len(block)
    if groups is not None:
        pairs = len(np.unique(which * len(block) + _codes(groups)))
    return 0 if pairs == len(distinct) or _few_are_possible(block) else pairs - len(distinct)


def _codes(cells: Iterable[Any]) -> np.ndarray:
    """Cells as numbers of their distinct values."""
    place: dict[Any, int] = {}
    return np.array([place.setdefault(cell, len(place)) for cell in cells], dtype=np.int64)


def _entries(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.uint64)
    return _mixed(bits ^ _mixed(places.astype(np.uint64) + np.uint64(1)))


def _mixed(bits: np.ndarray) -> np.ndarray:
    """A hash in which every bit depends on all: the last step of SplitMix64."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def _few_are_possible(block: Block) -> bool:
    """Whether the columns have too few values for many more different rows than there are."""
    columns = block.X.T
    if sparse.issparse(block.X):
        A = sparse.csc_array(block.X)
        columns = (np.append(A.data[begin:end], 0.0) for begin, end in pairwise(A.indptr))
    possible = 1
    numbers = (len(np.unique(column)) for column in columns)
    for n in chain(numbers, (len({*cells}) for cells in block.text.values())):
        possible *= n
        if possible > _ROOM * len(block):
            return False
    return True
