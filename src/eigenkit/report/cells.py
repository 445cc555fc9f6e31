"""Names, numbers and times as text, and tables of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from eigenkit.evaluation.metrics import decimals
from eigenkit.evaluation.record.schema import Score

# Stands for a number that was not measured.
NOTHING = "\u2013"

# Control characters, and characters that reorder or hide the text around them.
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str, limit: int = 60) -> str:
    """Text from data on one line: cut to a limit, and without control characters.

    >>> visible("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    head = text[: limit + 1]
    if len(head) > limit:
        head = head[: limit - 1] + "…"
    return "".join(_shown(c) for c in head)


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
    """A time with its unit."""
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
    """Names and their values, in two columns."""
    return Table(title, list(columns), [[*pair] for pair in values.items()], n_text=2)
