"""One HTML file for a run: sets with pictures, terms and reasons; it loads nothing."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

from eigenkit.images.comparison import against_plain
from eigenkit.record import write_atomically
from eigenkit.report.html import asset, document, json_block, policy
from eigenkit.report.words import visible

_HERE = "eigenkit.images.page"
NONE = "\N{EN DASH}"


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
    inside = f"""<a class="skip" href="#sets">Skip to the sets</a>
<header>
<div class="bar"><p class="brand">eigenkit annotate</p>
<button id="theme" type="button" hidden>Dark</button></div>
<h1>{escape(title)}</h1>
<p class="lead">{escape(_lead(record))}</p>
{_facts(record)}
</header>
<nav aria-label="Sections"><ul>{_links(record)}</ul></nav>
<main>
<section id="sets" tabindex="-1"><h2>Sets</h2>
<noscript><p class="notice">The list of sets needs JavaScript; the tables below do not.</p>
</noscript>
<form class="controls" id="controls" hidden>
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
a set, left and right go on from there, Esc closes.</p>
</section>
{_methods(record)}
<section id="terms"><h2>Terms</h2>{_terms(record)}</section>
<section id="kernels"><h2>Weights of the kernels</h2>{_weights(record)}</section>
</main>
<dialog id="detail" aria-labelledby="detail-name"></dialog>
<footer>Made by eigenkit. This file holds all it shows and loads nothing.</footer>"""
    scripts = f"""<script type="application/json" id="record">{json_block(record)}</script>
<script>{script}</script>
"""
    style = f"\n{asset('page.css', _HERE)}"
    return document(f"{title}: eigenkit annotate", inside, policy(script), scripts, style)


def write_page(record: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write :func:`render_page` to a file, whole or not at all."""
    return write_atomically(path, render_page(record))


def _lead(record: dict[str, Any]) -> str:
    n, k = len(record["sets"]), len(record["terms"])
    return f"{n} sets of images and {k} terms: {record['what']}. {record['fitted']}"


def _facts(record: dict[str, Any]) -> str:
    f1 = [t["f1"] for t in record["terms"] if t["support"]]
    auc = [t["auc"] for t in record["terms"] if t["auc"] is not None]
    facts = {
        "sets": len(record["sets"]),
        "terms": len(record["terms"]),
        "F1, mean over terms": f"{sum(f1) / len(f1):.3f}" if f1 else NONE,
        "AUC, mean over terms": f"{sum(auc) / len(auc):.3f}" if auc else NONE,
    }
    items = "".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in facts.items())
    return f'<dl class="facts">{items}</dl>'


def _links(record: dict[str, Any]) -> str:
    names = {"sets": "Sets", "methods": "Methods", "terms": "Terms", "kernels": "Kernels"}
    shown = [key for key in names if key != "methods" or record.get("methods")]
    return "".join(f'<li><a href="#{key}">{names[key]}</a></li>' for key in shown)


def _table(name: str, titles: list[str], rows: list[list[Any]], first_number: int = 1) -> str:
    def cell(j: int, value: Any) -> str:
        tag = "th scope=row" if j == 0 else "td"
        kind = ' class="num"' if j >= first_number and j > 0 else ""
        return f"<{tag}{kind}>{value}</{tag.split()[0]}>"

    head = "".join(
        f'<th scope="col"{" class=num" if j >= first_number else ""}>{escape(t)}</th>'
        for j, t in enumerate(titles)
    )
    body = "".join(f"<tr>{''.join(cell(j, v) for j, v in enumerate(row))}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    region = f'role="region" tabindex="0" aria-label="Table: {name}"'  # scrolls by keys, too
    return f'<div class="scroll" {region}>{table}</div>'


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def _terms(record: dict[str, Any]) -> str:
    order = sorted(record["terms"], key=lambda t: -t["support"])
    rows = [
        [
            escape(visible(t["name"])) + (" *" if t["name"] in record["few"] else ""),
            t["support"],
            *(_number(t[key]) for key in ("f1", "precision", "recall", "auc")),
        ]
        for t in order
    ]
    few = '<p class="note">* few sets: its figures say little.</p>' if record["few"] else ""
    return _table("terms", ["term", "sets", "F1", "precision", "recall", "AUC"], rows) + few


def _weights(record: dict[str, Any]) -> str:
    top = max((w for _, w in record["weights"]), default=1.0) or 1.0
    rows = [
        [
            escape(visible(name)),
            f"{w:.3f}",
            f'<meter min="0" max="{top:.4f}" value="{w:.4f}" aria-label="{w:.3f}"></meter>',
        ]
        for name, w in sorted(record["weights"], key=lambda item: -item[1])
        if w
    ]
    how, rest = escape(str(record["weights_chosen"])), len(record["weights"]) - len(rows)
    without = f" Kernels without weight: {rest}." if rest else ""
    return f'<p class="note">Chosen: {how}.{without}</p>' + _table(
        "kernels", ["kernel", "weight", "of the largest"], rows
    )


def _methods(record: dict[str, Any]) -> str:
    rows = record.get("methods")
    if not rows:
        return ""
    cells = [
        [
            escape(row["name"]) + (" (recommended)" if row["recommended"] else ""),
            *(f"{row[key]:.3f} ± {row[key + '_error']:.3f}" for key in ("auc", "p1", "f1")),
            against_plain(row),
        ]
        for row in rows
    ]
    titles = ["method", "mean AUC", "P@1", "macro F1", "AUC against the plain one"]
    note = escape(record.get("methods_note", ""))
    return (
        f'<section id="methods"><h2>Methods</h2><p class="note">{note}</p>'
        f"{_table('methods', titles, cells)}</section>"
    )


__all__ = ["render_page", "write_page"]
