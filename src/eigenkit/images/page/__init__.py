"""One HTML file for a run: sets with pictures, terms and reasons; it loads nothing."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

from eigenkit.evaluation.record import write_atomically
from eigenkit.images.comparison import figures
from eigenkit.report import html
from eigenkit.report.cells import Table, number, visible

_HERE = "eigenkit.images.page"


def render_page(record: dict[str, Any]) -> str:
    """The whole document, from a record that :mod:`eigenkit.images.record` made."""
    script = html.one_scope(html.asset("theme.js"), html.asset("page.js", _HERE))
    title = visible(record["title"])
    lead = f"{len(record['sets'])} {record['what']} {record['fitted']}"
    lines = f'<p class="lead">{escape(lead)}</p>'
    parts = [
        ("sets", "Sets", _sets(record)),
        ("methods", "Methods", _methods(record)),
        ("terms", "Terms", _terms(record)),
        ("kernels", "Weights of the kernels", _weights(record)),
    ]
    notice = "The list of sets needs JavaScript; the tables below do not."
    body = html.whole_body(("sets", "the sets"), title, lines, _facts(record), parts, notice=notice)
    inside = f'{body}\n<dialog id="detail" aria-labelledby="detail-name"></dialog>'
    scripts = f"""<script type="application/json" id="record">{html.json_block(record)}</script>
<script>{script}</script>
"""
    style = f"\n{html.asset('page.css', _HERE)}"
    return html.document(f"{title}: eigenkit annotate", inside, html.policy(script), scripts, style)


# The list of sets, which the script fills.
_SETS = """<form class="controls" id="controls" hidden>
<label class="field">Search<input id="search" type="search" autocomplete="off"
 placeholder="name or term"></label>
<label class="field">Term<select id="term"><option value="">any</option></select></label>
<label class="field">Show<select id="error"></select></label>
<label class="field">Order<select id="order"></select></label>
</form>
{legend}<p class="note" id="count" role="status"></p>
<div id="list"></div>
<div class="pager" id="pager" hidden>
<button type="button" id="previous">Previous</button>
<span id="where"></span>
<button type="button" id="next">Next</button></div>
<p class="note keys">Keys: / search, j and k next and previous set, n and p pages, Enter opens
a set, left and right go on from there, Esc closes.</p>"""
_LEGEND = """<ul class="tags legend"><li class="right">correct</li>
<li class="missed">missed: given, but not predicted</li>
<li class="extra">extra: predicted, but not given</li></ul>
"""
_NUMBERS = """<p class="note">The number beside a term is its probability. Every term has a
threshold of its own: one may be predicted at 40 %, another not at 60 %. Open a set to see the
reasons.</p>
"""


def _sets(record: dict[str, Any]) -> str:
    known = any(one["given"] is not None for one in record["sets"])
    return _SETS.format(legend=_LEGEND * known + _NUMBERS)


def write_page(record: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write :func:`render_page` to a file, whole or not at all."""
    return write_atomically(path, render_page(record))


def _facts(record: dict[str, Any]) -> dict[str, str]:
    f1 = [t["f1"] for t in record["terms"] if t["support"]]
    auc = [t["auc"] for t in record["terms"] if t["auc"] is not None]
    found = {"sets": str(len(record["sets"])), "terms": str(len(record["terms"]))}
    for name, values in (("F1", f1), ("AUC", auc)):
        found[f"{name}, mean over terms"] = number(sum(values) / len(values) if values else None)
    return found


# Behind the names of terms that a list of the record names, and what that means.
_MARKS = {
    "few": (" *", "few sets: its figures say little."),
    "unlearned": (
        " †",
        "nothing was learned about it: its AUC on the training sets left out cannot be told from "
        "chance, and it is predicted for nearly every set, which gives the best F1.",
    ),
}


def _terms(record: dict[str, Any]) -> str:
    rows = []
    for t in sorted(record["terms"], key=lambda t: -t["support"]):
        marks = (mark for key, (mark, _) in _MARKS.items() if t["name"] in record[key])
        cells = (number(t[key]) for key in ("f1", "precision", "recall", "auc"))
        rows.append([visible(t["name"]) + "".join(marks), str(t["support"]), *cells])
    titles = ["term", "sets", "F1", "precision", "recall", "AUC"]
    notes = " ".join(f"{mark} {words}" for key, (mark, words) in _MARKS.items() if record[key])
    notes = notes.strip()
    return html.table_html(Table("How well each term is predicted", titles, rows, note=notes))


def _weights(record: dict[str, Any]) -> str:
    order = sorted(record["weights"], key=lambda item: -item[1])
    sees = {name: f" ({words})" for name, words in record["sees"].items()}
    used = [(visible(name) + sees.get(name, ""), w) for name, w in order if w]
    how, rest = escape(str(record["weights_chosen"])), len(order) - len(used)
    without = f" Kernels without weight: {rest}." if rest else ""
    chosen = f'<p class="note">Chosen: {how}.{without}</p>'
    return f'<p class="note">{_KERNELS}</p>{chosen}{html.weights({"Weights": used}, sign="")}'


_KERNELS = """A kernel says how alike two sets are by one description of their pictures, and its
weight how much that counts. Mean maps compare all pairs of pictures, pyramids and words count
patches that look alike, Fisher vectors say how patches differ from the usual ones, and pooled
kernels compare mean, maximum and deviation over the pictures of a set."""


def _methods(record: dict[str, Any]) -> str:
    if not record.get("methods"):
        return ""
    rows = [
        [row["name"] + " (recommended)" * row["recommended"], *figures(row)]
        for row in record["methods"]
    ]
    titles = ["method", "mean AUC", "P@1", "macro F1", "AUC minus that of the plain way"]
    table = html.table_html(Table("Methods on the same folds", titles, rows))
    return f'<p class="note">{escape(record["methods_note"])}</p>{table}'
