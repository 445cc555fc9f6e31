"""What is wrong with rows that could be read: values and labels that no model accepts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
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
            row, column = _first(X, test)
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


def _refused(
    path: str, block: Block, row: int, what: str, column: str | int, why: str
) -> FileError:
    if block.lines is not None:
        return FileError(path, f"the {what} {why}.", line=int(block.lines[row]), column=column)
    word = shown(column) if isinstance(column, str) else column
    return FileError(path, f"the {what} in row {block.start + row + 1}, column {word} {why}.")


def _first(X: Any, test: Callable[[Any], Any]) -> tuple[int, int]:
    """Row and column of the first value for which a test is true."""
    if not sparse.issparse(X):
        row, column = np.argwhere(test(X))[0]
        return int(row), int(column)
    X = X.tocoo()
    k = int(np.argmax(test(X.data)))
    return int(X.row[k]), int(X.col[k])


def _first_gap(cells: list[str]) -> int | None:
    """The first row without a category; cells that repeat are looked at once."""
    gaps = {cell for cell in set(cells) if not as_class(cell)}
    return next((i for i, cell in enumerate(cells) if cell in gaps), None) if gaps else None


# -- rows one by one -------------------------------------------------------------------


def sound(source: Source, block: Block, bad: Any) -> Block:
    """The rows of a block that a fit would not refuse; errors about the others go to ``bad``.

    Rows that are dropped because they miss a value are not bad.
    """
    found, rows = list[tuple[int, Exception]](), np.arange(len(block))
    gaps = incomplete(block, source.named_cells)
    for some in (rows[~gaps], rows[gaps & (source.options.missing != "drop")]):
        halved(lambda part: _check(source, block, part), some, found)
    for i, error in sorted(found, key=lambda each: each[0]):
        bad.append(placed(error, source.path, None if block.lines is None else block.lines[i]))
    return block.take(np.setdiff1d(rows, [i for i, _ in found])) if found else block


def _check(source: Source, block: Block, rows: np.ndarray) -> None:
    """Refuse some rows of a block as a fit would."""
    start = block.start + int(rows[0])
    some = block if len(rows) == len(block) else replace(block.take(rows), start=start)
    base, missing = int(source.found.get("index_base", 1)), source.options.missing
    names, categorical = source.feature_names, source.categorical_names
    check_values(source.path, some, names, base, missing, categorical)
    groups_in(source, some)
    check_labels(source, some.labels, start)


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

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.files._checks import halved
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
