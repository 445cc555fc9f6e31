"""Reports of a run from its record: text, JSON, or one HTML file that needs no network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from eigenkit.evaluation.record import (
    RecordError,
    described,
    from_dict,
    read_record,
    write_atomically,
    write_record,
)
from eigenkit.evaluation.record.schema import Run
from eigenkit.report import html, tables
from eigenkit.report.cells import Table, text_of_tables, visible
from eigenkit.report.pages import compare_html, compare_text
from eigenkit.report.sections import body, figure_names
from eigenkit.report.words import headline, protocol_sentence
from eigenkit.shell import check_count

__all__ = ["RecordError", "compare_html", "compare_text", "read_record", "render_html"]
__all__ += ["render_text", "write_html", "write_record"]

_SCRIPTS = ("theme.js", "look.js", "figures.js", "label_figures.js", "page.js")
# A terminal is narrow, so only the most important columns are shown.
_METRICS = ["method", "mean AUC over labels", "accuracy", "F1, macro", "F1, micro", "ranking loss"]
_METRICS += ["R2", "RMSE", "MAE"]
_SHORT = {"mean AUC over labels": "mean AUC"}
_SOLVER = ["method", "solver", "regression", "alpha", "components", "residual", "condition"]


@described
def render_text(record: dict[str, Any], *, width: int = 100) -> str:
    """The record for a terminal.

    Parameters
    ----------
    {record}
    width : int
        Columns of the terminal.

    Returns
    -------
    str

    {recorded}
    >>> from eigenkit.report import render_text
    >>> render_text(record).splitlines()[0]
    'iris'
    """
    run, width = from_dict(record), check_count("width", width)
    name = visible(run.data.name)
    lines = [name, "=" * len(name), "", headline(run), "", protocol_sentence(run)]
    again = f"To repeat the run:\n    {visible(run.command, 1000)}" if run.command else ""
    return f"{text_of_tables(lines, _tables(run), width)}\n{again}\n"


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


@described
def render_html(record: dict[str, Any]) -> str:
    """The record as one self-contained HTML page.

    The page loads nothing: its content security policy forbids that. Needs plotly
    (the extra ``report``), whose JavaScript is embedded, compressed.

    Parameters
    ----------
    {record}

    Returns
    -------
    str

    {recorded}
    >>> from eigenkit.report import render_html
    >>> render_html(record).startswith("<!doctype html>")
    True
    """
    run, (library, packed) = from_dict(record), html.plotly()
    script = html.one_scope(*map(html.asset, _SCRIPTS))
    scripts = f"""<script type="application/json" id="record">{html.json_block(record)}</script>
<script type="application/json" id="names">{html.json_block(figure_names(run))}</script>
<script type="text/plain" id="plotly">{packed}</script>
<script>{script}</script>
"""
    title = f"{visible(run.data.name)}: eigenkit report"
    return html.document(title, body(run), html.policy(library, script), scripts)


@described
def write_html(record: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the page of :func:`render_html` to a file, completely or not at all.

    Parameters
    ----------
    {record}
    {replaced}

    {recorded}
    >>> from eigenkit.report import write_html
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     page = write_html(record, f"{folder}/iris.html")
    >>> page.name
    'iris.html'
    """
    return write_atomically(path, render_html(record))
