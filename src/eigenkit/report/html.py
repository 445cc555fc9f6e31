"""One page: head with a strict policy, sections with figures and tables, data and scripts.

Two rules keep text from data harmless. Every string passes :func:`escape` or, inside the
data block, :func:`json_block`; and the policy runs only scripts whose hash it names, so
even text that slipped through would not run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from eigenkit.evaluation.record.schema import Run
from eigenkit.report.cells import visible
from eigenkit.report.sections import body, figure_names

SCRIPTS = ("theme.js", "look.js", "figures.js", "label_figures.js", "page.js")


def page(run: Run, record: dict[str, Any]) -> str:
    """The whole document."""
    library, packed = _plotly()
    script = one_scope(*map(asset, SCRIPTS))
    title = f"{visible(run.data.name)}: eigenkit report"
    scripts = f"""<script type="application/json" id="record">{json_block(record)}</script>
<script type="application/json" id="names">{json_block(figure_names(run))}</script>
<script type="text/plain" id="plotly">{packed}</script>
<script>{script}</script>
"""
    return document(title, body(run), policy(library, script), scripts)


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
    rules = {
        "default-src": "'none'",
        "script-src": allowed,
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def asset(name: str, package: str = "eigenkit.report") -> str:
    """A file that is part of a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


@cache
def _plotly() -> tuple[str, str]:
    """plotly.js, and the same compressed to about a third, which the page unpacks."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError("the HTML report needs plotly: pip install plotly.") from error
    # The hash in the policy is of what the browser sees, and it reads \\r\\n as \\n.
    library = str(get_plotlyjs()).replace("\r\n", "\n")
    packed = gzip.compress(library.encode(), compresslevel=9, mtime=0)
    return library, base64.b64encode(packed).decode()
