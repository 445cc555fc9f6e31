"""The record as text."""

from __future__ import annotations

import textwrap

from eigenkit.evaluation.record.schema import Run
from eigenkit.report import tables
from eigenkit.report.cells import Table, visible
from eigenkit.report.words import headline, protocol_sentence

# A terminal is narrow, so only the most important columns are shown.
_METRICS = ["method", "mean AUC over labels", "accuracy", "F1, macro", "F1, micro", "ranking loss"]
_METRICS += ["R2", "RMSE", "MAE"]
_SHORT = {"mean AUC over labels": "mean AUC"}
_SOLVER = ["method", "solver", "regression", "alpha", "components", "residual", "condition"]


def text_of(run: Run, *, width: int) -> str:
    """Title, result, tables, and the command that repeats the run."""
    name = visible(run.data.name)
    lines = [name, "=" * len(name), "", headline(run), "", protocol_sentence(run)]
    again = f"To repeat the run:\n    {visible(run.command, 1000)}" if run.command else ""
    return f"{text_of_tables(lines, _tables(run), width)}\n{again}\n"


def text_of_tables(lines: list[str], tables: list[Table], width: int) -> str:
    """Sentences, then tables."""
    parts = ["\n".join("\n".join(textwrap.wrap(line, width)) for line in lines)]
    parts += [_text_of_table(table, width) for table in tables if table.rows]
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
    names = [_SHORT.get(table.columns[i], table.columns[i]) for i in keep]
    n_text = sum(i < table.n_text for i in keep)
    return Table(table.title, names, rows, n_text, table.note)


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
    lines = [
        "  ".join(
            cell.ljust(w) if i < table.n_text else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    if any(table.columns):
        lines.insert(1, "  ".join("-" * w for w in widths))
    return [f"  {line}" for line in lines]
