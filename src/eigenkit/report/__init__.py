"""Reports of a run from its record: text, JSON, or one HTML file that needs no network."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
from eigenkit.report import html
from eigenkit.report.cells import listed, visible
from eigenkit.report.sections import body, figure_names
from eigenkit.report.side_by_side import Runs, runs_body, runs_tables, told
from eigenkit.report.text import text_of, text_of_tables
from eigenkit.shell import check_count

__all__ = [
    "RecordError",
    "compare_html",
    "compare_text",
    "read_record",
    "render_html",
    "render_text",
    "write_html",
    "write_record",
]

_SCRIPTS = ("theme.js", "look.js", "figures.js", "label_figures.js", "page.js")


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
    return text_of(from_dict(record), width=check_count("width", width))


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


def compare_text(records: Mapping[str, dict[str, Any]], *, width: int = 100) -> str:
    """Several runs side by side for a terminal.

    Parameters
    ----------
    records : dict of name to record
        Differences are shown to the first.
    width : int
        Columns of the terminal.

    Returns
    -------
    str
    """
    runs = _runs(records)
    lines = [line for sentence in told(runs) for line in (sentence, "")]
    return text_of_tables(lines, runs_tables(runs), check_count("width", width))


def compare_html(records: Mapping[str, dict[str, Any]]) -> str:
    """Several runs side by side as one HTML page without scripts.

    Parameters
    ----------
    records : dict of name to record
        Differences are shown to the first.

    Returns
    -------
    str
    """
    runs = _runs(records)
    title = f"{listed(runs.names)}: eigenkit runs"
    return html.document(title, runs_body(runs), html.policy())


def _runs(records: Mapping[str, dict[str, Any]]) -> Runs:
    if len(records) < 2:
        raise ValueError("give at least two records to compare.")
    names = [visible(name, 40) for name in records]
    return Runs(names, [from_dict(record) for record in records.values()])
