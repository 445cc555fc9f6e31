"""What an experiment shows: tables beside the paper's, figures and remarks; values only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Value = float | int | str | None


@dataclass(frozen=True)
class Note:
    """A remark in plain words."""

    text: str


@dataclass(frozen=True)
class Claim:
    """What a paper says, what was found here, and whether it holds; shown before all tables.

    ``verdict`` is one of VERDICTS.
    """

    says: str
    found: str
    verdict: str


VERDICTS = ("holds", "holds in part", "differs", "differs in kind", "not to be compared")


@dataclass(frozen=True)
class Table:
    """Our numbers, beside the paper's where it has them.

    Parameters
    ----------
    title : str
    heads : sequence of str
        What the labels of a row are, one word each.
    rows : sequence of tuple of str
        The labels of every row.
    columns : sequence of str
    ours : sequence of sequences
        A number, text, or None for what was not measured, for every row and column.
    paper : sequence of sequences, optional
        The same of the paper; None where it has nothing.
    form : str or sequence of str
        How numbers are written, for all columns or for each.
    compare : {"difference", "ratio", ""}
        What to put beside a number that the paper has too: ours less the paper's, ours over the
        paper's, or nothing.
    note : str
        What a reader must know to read the table.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    columns: Sequence[str]
    ours: Sequence[Sequence[Value]]
    paper: Sequence[Sequence[Value]] | None = None
    form: str | Sequence[str] = ".4f"
    compare: str = "difference"
    note: str = ""

    def cell(self, i: int, j: int) -> tuple[str, str, str]:
        """Ours, the paper's and their comparison, as text; empty where there is none."""
        form = self.form if isinstance(self.form, str) else self.form[j]
        ours = self.ours[i][j]
        paper = self.paper[i][j] if self.paper else None
        return _written(ours, form), _written(paper, form), self._compared(ours, paper, form)

    def _compared(self, ours: Value, paper: Value, form: str) -> str:
        if not isinstance(ours, float | int) or not isinstance(paper, float | int):
            return ""
        if self.compare == "difference":
            return format(ours - paper, f"+{form}")
        return f"{ours / paper:.2g}x" if self.compare == "ratio" and paper else ""


def _written(value: Value, form: str) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else format(value, form)


@dataclass(frozen=True)
class Figure:
    """A picture: ``draw`` is given an empty matplotlib figure of that size in inches."""

    name: str
    caption: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (7.0, 4.0)


Shown = Note | Table | Figure
Block = Shown | Claim


@dataclass
class Result:
    """What one experiment showed, and what it could not."""

    name: str
    title: str
    source: str
    command: str
    seed: int
    blocks: list[Shown] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    seconds: float = 0.0
    claims: list[Claim] = field(default_factory=list)
