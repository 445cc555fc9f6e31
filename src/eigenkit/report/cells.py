"""Names, numbers and times as text, tables of them, and the order in which they stand."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from eigenkit.evaluation.metrics import decimals
from eigenkit.evaluation.record.schema import Method, Run, Score

# Stands for a number that was not measured.
NOTHING = "\u2013"

# Control characters, and characters that reorder or hide the text around them.
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str, limit: int = 60) -> str:
    """Text from data on one line: cut to a limit, and without control characters.

    >>> visible("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    head = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return "".join(map(_shown, head))


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    return character.encode("unicode_escape", "backslashreplace").decode()


def number(value: float | None, digits: int = 3) -> str:
    """A number, or a dash if it was not measured."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def measured(score: Score | None, digits: int = 3) -> str:
    """Mean and standard deviation."""
    if score is None or score.mean is None:
        return NOTHING
    if score.std is None:
        return number(score.mean, digits)
    return f"{score.mean:.{digits}f} ± {score.std:.{digits}f}"


def short(value: float | None) -> str:
    """A number of any size in few characters.

    >>> short(428156.2), short(0.012345), short(1e9)
    ('428156', '0.0123', '1e+09')
    """
    if value is None:
        return NOTHING
    return f"{value:.0f}" if 999.5 <= abs(value) < 1e7 else f"{value:.3g}"


def measured_all(metric: str, scores: Iterable[Score | None]) -> list[str]:
    """The same for several scores, with as many decimals as suit the metric."""
    scores = list(scores)
    digits = decimals(metric, (score.mean for score in scores if score is not None))
    return [measured(score, digits) for score in scores]


def seconds(score: Score | None) -> str:
    if score is None or score.mean is None:
        return NOTHING
    mean = score.mean
    if mean < 1e-3:
        return "< 1 ms"
    return f"{mean * 1e3:.0f} ms" if mean < 1 else f"{mean:.2f} s"


def listed(names: list[str]) -> str:
    """``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


@dataclass(frozen=True)
class Table:
    """Cells are plain text, not yet escaped; the first ``n_text`` columns are words.

    ``strong`` are the cells (row, column) in bold.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    n_text: int = 1
    note: str = ""
    strong: frozenset[tuple[int, int]] = frozenset()


def facts_table(title: str, values: dict[str, str], columns: tuple[str, str] = ("", "")) -> Table:
    return Table(title, list(columns), [[*pair] for pair in values.items()], n_text=2)


# -- tables as text ---------------------------------------------------------------------


def text_of_tables(lines: list[str], tables: list[Table], width: int) -> str:
    """Sentences, then tables."""
    parts = ["\n".join("\n".join(textwrap.wrap(line, width)) for line in lines)]
    parts += [_text_of_table(table, width) for table in tables if table.rows]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _text_of_table(table: Table, width: int) -> str:
    widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    fits = sum(w + 2 for w in widths) + 2 <= width
    title = [table.title] if fits else textwrap.wrap(table.title, width)
    lines = _in_columns(table, widths) if fits else _as_list(table, width)
    note = ["", *textwrap.wrap(table.note, width)] if table.note else []
    return "\n".join([*title, "", *lines, *note])


def _as_list(table: Table, width: int) -> list[str]:
    """A table that is too wide, with one cell per line."""
    lines = []
    for row in table.rows:
        lines += textwrap.wrap(row[0], width, initial_indent="  ", subsequent_indent="    ")
        for name, cell in zip(table.columns[1:], row[1:], strict=True):
            text = f"{name}: {cell}" if name else cell
            lines += textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="      ")
    return lines


def _in_columns(table: Table, widths: list[int]) -> list[str]:
    """Columns padded with spaces; words are aligned left, numbers right."""
    cells = [table.columns, *table.rows] if any(table.columns) else table.rows
    pads = [str.ljust if i < table.n_text else str.rjust for i in range(len(widths))]
    lines = []
    for row in cells:
        padded = [pad(cell, w) for pad, cell, w in zip(pads, row, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    if any(table.columns):
        lines.insert(1, "  ".join("-" * w for w in widths))
    return [f"  {line}" for line in lines]


# -- what coincides, and what stands together -------------------------------------------

# Curves closer than this, relative to their largest value, cannot be told apart by eye.
_CLOSE = 1e-3

Curve = Sequence[float | None]


def coinciding(
    methods: list[Method], curve: Callable[[Method], Curve | None], what: str = "The curves"
) -> str:
    """A sentence about methods whose curves coincide; empty if all can be seen."""
    groups: list[tuple[np.ndarray, list[Method]]] = []
    for method in methods:
        points = np.array(curve(method) or [], dtype=float)
        alike = next((members for known, members in groups if _close(known, points)), None)
        if alike is not None:
            alike.append(method)
        elif len(points):
            groups.append((points, [method]))
    found = [listed([visible(m.name) for m in members]) for _, members in groups if members[1:]]
    return " ".join(f"{what} of {names} coincide." for names in found)


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape:
        return False
    unit = float(np.nanmax(np.abs(a), initial=0.0)) or 1.0
    return bool(np.allclose(a, b, rtol=0, atol=_CLOSE * unit, equal_nan=True))


def natural(names: Sequence[str]) -> list[int]:
    """Positions in natural order: 2 before 10.

    >>> natural(["x10", "x2", "a"])
    [2, 1, 0]
    """

    def key(i: int) -> list[tuple[int, int, str]]:
        parts = re.split(r"([0-9]+)", names[i].casefold())
        return [(0, int(p), "") if p.isdecimal() and p.isascii() else (1, 0, p) for p in parts if p]

    return sorted(range(len(names)), key=key)


def clustered(run: Run) -> list[int]:
    """Positions in ``run.data.shown`` such that labels that occur together stand together."""
    k = len(run.data.co_occurrence)
    C = np.array(run.data.co_occurrence, dtype=float).reshape(k, k)
    own = np.sqrt(np.maximum(np.diag(C), 1.0))
    return _leaves(1.0 - C / own / own[:, None])


def clustered_rows(method: Method) -> list[int]:
    """The same for the labels that are correlated with components, by their correlations."""
    if method.model is None or not method.model.label_correlations:
        return []
    rows = np.nan_to_num(np.array(method.model.label_correlations, dtype=float).T)
    return _leaves(np.linalg.norm(rows[:, None] - rows[None], axis=2))


def _leaves(distances: np.ndarray) -> list[int]:
    if len(distances) < 3:
        return list(range(len(distances)))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    D = np.maximum(distances, 0.0)
    np.fill_diagonal(D, 0.0)
    tree = linkage(squareform(D, checks=False), "average", optimal_ordering=True)
    return [int(i) for i in leaves_list(tree)]
