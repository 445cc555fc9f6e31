"""One HTML file for a run: sets with pictures, terms and reasons; it loads nothing."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

from eigenkit.evaluation.record import write_atomically
from eigenkit.images.comparison import figures
from eigenkit.report.html import asset, document, json_block, policy
from eigenkit.report.pieces import table_html, weights, whole_body
from eigenkit.report.tables import Table
from eigenkit.report.words import number, visible

_HERE = "eigenkit.images.page"


def render_page(record: dict[str, Any]) -> str:
    """The whole document.

    Parameters
    ----------
    record : dict
        From :mod:`eigenkit.images.record`.

    Returns
    -------
    str
    """
    script = asset("page.js", _HERE)
    title = visible(record["title"])
    lines = f'<p class="lead">{escape(_lead(record))}</p>'
    parts = [
        ("sets", "Sets", _SETS),
        ("methods", "Methods", _methods(record)),
        ("terms", "Terms", _terms(record)),
        ("kernels", "Weights of the kernels", _weights(record)),
    ]
    notice = "The list of sets needs JavaScript; the tables below do not."
    body = whole_body(("sets", "the sets"), title, lines, _facts(record), parts, notice=notice)
    inside = f'{body}\n<dialog id="detail" aria-labelledby="detail-name"></dialog>'
    scripts = f"""<script type="application/json" id="record">{json_block(record)}</script>
<script>{script}</script>
"""
    style = f"\n{asset('page.css', _HERE)}"
    return document(f"{title}: eigenkit annotate", inside, policy(script), scripts, style)


# The list of sets, which the script fills.
_SETS = """<form class="controls" id="controls" hidden>
<label class="field">Search<input id="search" type="search" autocomplete="off"
 placeholder="name or term"></label>
<label class="field">Term<select id="term"><option value="">any</option></select></label>
<label class="field">Show<select id="error"></select></label>
<label class="field">Order<select id="order"></select></label>
</form>
<p class="note" id="count" role="status"></p>
<div id="list"></div>
<div class="pager" id="pager" hidden>
<button type="button" id="previous">Previous</button>
<span id="where"></span>
<button type="button" id="next">Next</button></div>
<p class="note keys">Keys: / search, j and k next and previous set, n and p pages, Enter opens
a set, left and right go on from there, Esc closes.</p>"""


def write_page(record: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write :func:`render_page` to a file, whole or not at all."""
    return write_atomically(path, render_page(record))


def _lead(record: dict[str, Any]) -> str:
    n, k = len(record["sets"]), len(record["terms"])
    return f"{n} sets of images and {k} terms: {record['what']}. {record['fitted']}"


def _facts(record: dict[str, Any]) -> dict[str, str]:
    f1 = [t["f1"] for t in record["terms"] if t["support"]]
    auc = [t["auc"] for t in record["terms"] if t["auc"] is not None]
    found = {"sets": str(len(record["sets"])), "terms": str(len(record["terms"]))}
    for name, values in (("F1", f1), ("AUC", auc)):
        found[f"{name}, mean over terms"] = number(sum(values) / len(values) if values else None)
    return found


def _terms(record: dict[str, Any]) -> str:
    rows = [
        [
            visible(t["name"]) + " *" * (t["name"] in record["few"]),
            str(t["support"]),
            *(number(t[key]) for key in ("f1", "precision", "recall", "auc")),
        ]
        for t in sorted(record["terms"], key=lambda t: -t["support"])
    ]
    titles = ["term", "sets", "F1", "precision", "recall", "AUC"]
    few = "* few sets: its figures say little." * bool(record["few"])
    return table_html(Table("How well each term is predicted", titles, rows, note=few))


def _weights(record: dict[str, Any]) -> str:
    order = sorted(record["weights"], key=lambda item: -item[1])
    used = [(visible(name), w) for name, w in order if w]
    how, rest = escape(str(record["weights_chosen"])), len(order) - len(used)
    without = f" Kernels without weight: {rest}." if rest else ""
    return f'<p class="note">Chosen: {how}.{without}</p>{weights({"Weights": used})}'


def _methods(record: dict[str, Any]) -> str:
    if not record.get("methods"):
        return ""
    rows = [
        [row["name"] + " (recommended)" * row["recommended"], *figures(row)]
        for row in record["methods"]
    ]
    titles = ["method", "mean AUC", "P@1", "macro F1", "AUC against the plain one"]
    note = escape(record.get("methods_note", ""))
    table = table_html(Table("Methods on the same folds", titles, rows))
    return f'<p class="note">{note}</p>{table}'


__all__ = ["render_page", "write_page"]
