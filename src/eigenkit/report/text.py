"""The record as text, drawn by rich where it is installed."""

from __future__ import annotations

import importlib.util
import io
import textwrap
from typing import Any

from eigenkit.record.schema import Run
from eigenkit.report import tables
from eigenkit.report.tables import Table
from eigenkit.report.words import headline, protocol_sentence, visible

# A terminal is narrow: what a reader looks for first.
_METRICS = ["method", "mean AUC over labels", "accuracy", "F1, macro", "F1, micro", "ranking loss"]
_METRICS += ["R2", "RMSE", "MAE"]
_SHORT = {"mean AUC over labels": "mean AUC"}
_SOLVER = ["method", "solver", "regression", "alpha", "components", "residual", "condition"]


def text_of(run: Run, *, style: str, width: int) -> str:
    """Title, result, tables and how to repeat the run."""
    name = visible(run.data.name)
    lines = [name, "=" * len(name), "", headline(run), "", protocol_sentence(run)]
    return f"{text_of_tables(lines, _tables(run), style=style, width=width)}\n{_again(run)}\n"


def text_of_tables(lines: list[str], tables: list[Table], *, style: str, width: int) -> str:
    """Sentences, then tables."""
    if style == "auto":
        style = "rich" if importlib.util.find_spec("rich") else "plain"
    write = _rich if style == "rich" else _plain
    parts = ["\n".join("\n".join(textwrap.wrap(line, width)) for line in lines)]
    parts += [
        write(table, width) if _natural_width(table) <= width else _as_list(table, width)
        for table in tables
        if table.rows
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _tables(run: Run) -> list[Table]:
    return [
        tables.data_facts(run),
        _only(tables.comparison(run), _METRICS),
        tables.paired(run),
        tables.responses(run),
        tables.times(run),
        tables.failures(run),
        _only(tables.solver_facts(run), _SOLVER),
        tables.alphas(run),
        *(tables.top_features(m) for m in run.methods if not m.baseline),
        tables.environment(run),
    ]


def _only(table: Table, columns: list[str]) -> Table:
    keep = [i for i, name in enumerate(table.columns) if name in columns]
    rows = [[row[i] for i in keep] for row in table.rows]
    strong = frozenset((i, keep.index(j)) for i, j in table.strong if j in keep)
    names = [_SHORT.get(table.columns[i], table.columns[i]) for i in keep]
    n_text = sum(i < table.n_text for i in keep)
    return Table(table.title, names, rows, n_text, table.note, strong)


def _again(run: Run) -> str:
    return f"To repeat the run:\n    {visible(run.command, 1000)}" if run.command else ""


def _natural_width(table: Table) -> int:
    cells = [table.columns, *table.rows]
    return sum(max(len(row[i]) for row in cells) + 2 for i in range(len(table.columns))) + 2


def _as_list(table: Table, width: int) -> str:
    """A table that is too wide, one cell a line."""
    lines = [*textwrap.wrap(table.title, width), ""]
    for row in table.rows:
        lines += textwrap.wrap(row[0], width, initial_indent="  ", subsequent_indent="    ")
        for name, cell in zip(table.columns[1:], row[1:], strict=True):
            text = f"{name}: {cell}" if name else cell
            lines += textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="      ")
    note = ["", *textwrap.wrap(table.note, width)] if table.note else []
    return "\n".join([*lines, *note])


def _plain(table: Table, width: int) -> str:
    """Columns padded with spaces; words to the left, numbers to the right."""
    cells = [table.columns, *table.rows] if any(table.columns) else table.rows
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.columns))]
    lines = [
        "  ".join(
            cell.ljust(w) if i < table.n_text else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    if any(table.columns):
        lines.insert(1, "  ".join("-" * w for w in widths))
    note = ["", *textwrap.wrap(table.note, width)] if table.note else []
    return "\n".join([table.title, "", *(f"  {line}" for line in lines), *note])


def _rich(table: Table, width: int) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=Text(table.title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_header=any(table.columns),
        caption=Text(table.note) if table.note else None,
        caption_justify="left",
    )
    for i, column in enumerate(table.columns):
        side: Any = "left" if i < table.n_text else "right"
        drawn.add_column(Text(column), justify=side, overflow="fold")
    for i, row in enumerate(table.rows):
        # Text, not str: a label in square brackets is not markup.
        drawn.add_row(
            *(Text(c, "bold" if (i, j) in table.strong else "") for j, c in enumerate(row))
        )
    file = io.StringIO()
    Console(file=file, width=width, force_terminal=False, color_system=None).print(drawn)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())
