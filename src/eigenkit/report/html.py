"""HTML: a whole document with its strict policy, and parts of one: tables, figures, small pictures.

Two rules keep text from data harmless. Every string passes :func:`escape` or, inside the
data block, :func:`json_block`; and the policy runs only scripts whose hash it names, so
even text that slipped through would not run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from eigenkit.report.cells import Table

_WIDTH, _ROW, _LEFT, _RIGHT = 640, 30, 170, 20
_MIDDLE = (_LEFT + _WIDTH - _RIGHT) / 2


def document(title: str, inside: str, rules: str, scripts: str = "", style: str = "") -> str:
    """A whole document; the policy stands before anything that could run."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{rules}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="eigenkit">
<title>{escape(title)}</title>
<style>
{asset("page.css")}{style}</style>
</head>
<body>
{inside}
{scripts}</body>
</html>
"""


def one_scope(*scripts: str) -> str:
    """Several scripts as one, in a private scope."""
    parts = "\n".join(scripts)
    return f'(function () {{\n"use strict";\n{parts}}})();\n'


def json_block(value: Any) -> str:
    """JSON without anything that could end its script element."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def policy(*scripts: str) -> str:
    """Nothing may be loaded or sent; only these scripts may run."""
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    allowed = " ".join(f"'sha256-{each}'" for each in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def asset(name: str, package: str = "eigenkit.report") -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


@cache
def plotly() -> tuple[str, str]:
    """plotly.js, and the same compressed to about a third, which the page unpacks."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError("the HTML report needs plotly: pip install plotly.") from error
    # The hash in the policy is of what the browser sees, and it reads \\r\\n as \\n.
    library = str(get_plotlyjs()).replace("\r\n", "\n")
    packed = gzip.compress(library.encode(), compresslevel=9, mtime=0)
    return library, base64.b64encode(packed).decode()


def dots(
    names: list[str], series: list[list[tuple[float, float] | None]], alt: str, x_title: str
) -> str:
    """A row for every name, with one mark (value, deviation) per series."""
    known = [mark for row in series for mark in row if mark is not None]
    if not known:
        return ""
    low = min(value - deviation for value, deviation in known)
    high = max(value + deviation for value, deviation in known)
    room = 0.05 * (high - low) or 0.5
    low, high = low - room, high + room
    height = _ROW * len(names) + 46
    parts = [_axis(low, high, height, x_title)]
    for i, name in enumerate(names):
        y = _ROW * i + 24
        parts.append(_text(_LEFT - 12, y + 4, name, "end"))
        for k, row in enumerate(series):
            mark = row[i]
            if mark is not None:
                parts.append(_mark(mark, y + 5 * (k - (len(series) - 1) / 2), k, low, high))
    return _picture(parts, height, alt)


def line(x: list[float], y: list[float], chosen: float | None, alt: str, table: Table) -> str:
    """A curve with its points, evenly spaced, and its numbers; the one at ``chosen`` is larger."""
    room, height = 0.08 * (max(y) - min(y)) or 0.5, 220
    across = np.linspace(_LEFT, _WIDTH - _RIGHT, len(x)) if len(x) > 1 else [(_LEFT + _WIDTH) / 2]
    down = np.interp(y, [min(y) - room, max(y) + room], [height - 50, 30])
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
    parts = [f'<polyline points="{points}" class="s0"/>']
    every = max(1, -(-len(x) // 12))
    for i, (a, b, value) in enumerate(zip(across, down, x, strict=True)):
        size = 6 if value == chosen else 3
        parts.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{size}" class="m0"/>')
        if i % every == 0:
            parts.append(_text(a, height - 28, f"{value:g}"))
    for end in (np.argmin(y), np.argmax(y)):
        parts.append(_text(_LEFT - 14, down[end] + 4, f"{y[end]:.3g}", "end"))
    below, above = table.columns
    parts += [_text(_MIDDLE, height - 6, below), _text(12, 18, above, "start")]
    return f"<figure>{_picture(parts, height, alt, 'curve')}</figure>{numbers(table)}"


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _picture(parts: list[str], height: int, alt: str, kind: str = "dots") -> str:
    return (
        f'<svg class="picture {kind}" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(alt)}">{"".join(parts)}</svg>'
    )


def _place(value: float, low: float, high: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - low) / (high - low)


def _axis(low: float, high: float, height: int, title: str) -> str:
    step = 10.0 ** np.floor(np.log10((high - low) / 3))
    step *= next(k for k in (1, 2, 5, 10) if (high - low) / (k * step) <= 6)
    parts = []
    for value in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step:
        x = _place(float(value), low, high)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{height - 36}" class="grid"/>')
        parts.append(_text(x, height - 22, f"{value:.10g}"))
    return "".join([*parts, _text(_MIDDLE, height - 4, title)])


def _mark(mark: tuple[float, float], y: float, k: int, low: float, high: float) -> str:
    value, deviation = mark
    a, b = (_place(value + side * deviation, low, high) for side in (-1, 1))
    x = _place(value, low, high)
    return (
        f'<line x1="{a:.1f}" x2="{b:.1f}" y1="{y:.1f}" y2="{y:.1f}" class="s{k % 8}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="m{k % 8}"/>'
    )


def table_html(table: Table, *, sortable: bool = False) -> str:
    """A table in a frame that scrolls on a narrow screen.

    Where scripts run, a ``sortable`` one gets buttons in its head and a search field.
    """
    if not table.rows:
        return ""
    sides = ["" if j < table.n_text else ' class="num"' for j in range(len(table.columns))]
    titles = zip(sides, table.columns, strict=True)
    cells = "".join(f'<th scope="col"{side}>{escape(title)}</th>' for side, title in titles)
    head = f"<thead><tr>{cells}</tr></thead>" * any(table.columns)
    rows = "".join(f"<tr>{_row(i, row, table, sides)}</tr>" for i, row in enumerate(table.rows))
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    kind = ' class="sortable"' if sortable else ""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="Table: {escape(table.title)}">'
        f"<table{kind}><caption><span>{escape(table.title)}</span></caption>{head}<tbody>{rows}</tbody></table>"
        f"</div>{note}"
    )


def _row(i: int, row: list[str], table: Table, sides: list[str]) -> str:
    cells = [f'<th scope="row">{escape(row[0])}</th>']
    for j, cell in enumerate(row[1:], start=1):
        text = f"<strong>{escape(cell)}</strong>" if (i, j) in table.strong else escape(cell)
        cells.append(f"<td{sides[j]}>{text}</td>")
    return "".join(cells)


def figure(
    key: str, alt: str, caption: str, fields: Iterable[str] = (), tables: Iterable[Table] = ()
) -> str:
    """A place for a figure, below the fields that change it and above the tables of its numbers.

    To a screen reader it is its alternative text, and the buttons beside it.
    """
    label = f'role="group" aria-label="Figure: {escape(alt)}"'
    drawn = f'<div class="plot" id="plot-{key}" {label}></div>'
    words = f"<figcaption>{escape(caption)}</figcaption>"
    return f"{controls(*fields)}<figure>{drawn}{words}</figure>{numbers(*tables)}"


def folded(summary: str, inside: str, *, unfolded: bool = False) -> str:
    """Content behind a summary that opens it; empty if there is no content."""
    state = " open" if unfolded else ""
    return f"<details{state}><summary>{escape(summary)}</summary>{inside}</details>" * bool(inside)


def folds(parts: Iterable[tuple[str, str]]) -> str:
    """Several of these, the first of them open."""
    return "".join(folded(*part, unfolded=not i) for i, part in enumerate(parts))


def folded_tables(parts: Iterable[tuple[str, Table]]) -> str:
    """The same for sortable tables."""
    return folds((title, table_html(table, sortable=True)) for title, table in parts)


def numbers(*shown: Table) -> str:
    return folded("The numbers", "".join(table_html(table) for table in shown))


def select(key: str, words: str, options: Iterable[tuple[str, str]]) -> str:
    items = "".join(f'<option value="{escape(v)}">{escape(text)}</option>' for v, text in options)
    return f'<label class="field">{escape(words)} <select id="{key}">{items}</select></label>'


def radios(name: str, words: str, options: list[tuple[str, str]]) -> str:
    items = "".join(
        f'<label><input type="radio" name="{name}" value="{value}"{" checked" if not i else ""}>'
        f"<span>{text}</span></label>"
        for i, (value, text) in enumerate(options)
    )
    return f'<fieldset class="radios"><legend>{words}</legend>{items}</fieldset>'


def controls(*fields: str) -> str:
    """Fields that are shown only where scripts run."""
    return f'<div class="controls" hidden>{"".join(fields)}</div>' * bool(fields)


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def code(command: str) -> str:
    return f'<pre tabindex="0"><code>{escape(command)}</code></pre>'


def whole_body(
    skip: tuple[str, str],
    title: str,
    lines: str,
    values: dict[str, str],
    parts: Iterable[tuple[str, str, str]],
    *,
    notice: str = "",
) -> str:
    """Header, those sections (key, title, content) that have content, and footer.

    ``skip`` is the id and the name of the main section, ``values`` are a few large numbers with
    their names. A page with scripts has a ``notice`` for readers without them.
    """
    facts = "".join(
        f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in values.items()
    )
    there = [part for part in parts if part[2]]
    links = "".join(f'<li><a href="#{key}">{escape(name)}</a></li>' for key, name, _ in there)
    text = "\n".join(
        f'<section id="{key}" aria-labelledby="{key}-title">\n'
        f'<h2 id="{key}-title">{escape(name)}</h2>\n{content}\n</section>'
        for key, name, content in there
    )
    button = '\n<button type="button" id="theme" hidden>Dark</button>' * bool(notice)
    without = f'<noscript><p class="notice">{notice}</p>\n</noscript>\n' * bool(notice)
    return f"""<a class="skip" href="#{skip[0]}">Skip to {skip[1]}</a>
<header>
<div class="bar"><p class="brand">eigenkit</p>{button}</div>
<h1>{escape(title)}</h1>
{lines}
<dl class="facts">{facts}</dl>
</header>
<nav aria-label="Sections"><ul>{links}</ul></nav>
<main>
{without}{text}
</main>
<footer><p>Written by eigenkit. This file holds all it shows, and loads nothing.</p></footer>"""


def weights(components: dict[str, list[tuple[str, float]]], *, sign: str = "+") -> str:
    """Components by their titles, side by side: features with bars; ``sign`` is that above zero."""
    lists = "".join(_meters(title, rows, sign) for title, rows in components.items())
    return f'<div class="columns">{lists}</div>' * bool(lists)


def _meters(caption: str, rows: list[tuple[str, float]], sign: str) -> str:
    largest = max((abs(value) for _, value in rows), default=0.0) or 1.0
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="num">{value:{sign}#.2g}</td>'
        f'<td class="meter" aria-hidden="true"><i class="{"down" if value < 0 else "up"}" '
        f'style="width:{100 * abs(value) / largest:.0f}%"></i></td></tr>'
        for name, value in rows
    )
    return f"<table><caption><span>{escape(caption)}</span></caption><tbody>{cells}</tbody></table>"
