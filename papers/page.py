"""The results as one page: Markdown with its figures as files, and HTML that holds them.

All text is escaped; the HTML page loads nothing and runs nothing.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from html import escape

from eigenkit.report.cells import visible
from papers.blocks import Claim, Figure, Note, Result, Shown, Table
from papers.study import Mode
from papers.words import CLAIMS, LACKING, LEAD, MODES, NOT_HERE, PAPERS, TITLE

WORD = re.compile(r"[A-Za-z{]")  # how a cell begins that is no number
STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem 1.5rem 4rem; color: #1c2430;
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
h1, h2 { line-height: 1.2; letter-spacing: -0.01em; }
h2 { margin: 3.5rem 0 0.4rem; }
h3 { font-size: 1rem; margin: 2rem 0 0.3rem; }
p { max-width: 46rem; }
.source, .note, figcaption { color: #56606e; font-size: 0.92rem; }
code { background: #f5f7f9; padding: 0.1rem 0.35rem; border-radius: 4px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.86rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem; text-align: right; border-bottom: 1px solid #dfe3e8;
  vertical-align: top; white-space: nowrap; }
th.label { text-align: left; font-weight: 500; }
thead th { border-bottom: 2px solid #56606e; }
.claim { text-align: left; white-space: normal; font-weight: 400; min-width: 7rem; }
td small { display: block; color: #56606e; }
.missing { background: #fff6e5; padding: 0.6rem 1rem; border-radius: 6px; max-width: 46rem; }
figure { margin: 1.5rem 0; }
figure img { max-width: 100%; height: auto; }
nav ul { columns: 2; padding-left: 1.2rem; }
"""


def claims(results: Sequence[Result]) -> list[tuple[Claim, Result]]:
    """What the experiments say of the papers' statements."""
    return [(claim, result) for result in results for claim in result.claims]


def markdown(
    results: Sequence[Result], mode: Mode, environment: Mapping[str, str], remark: str = ""
) -> str:
    """The page as Markdown; figures are named ``figures/NAME.svg``."""
    parts = [f"# {TITLE}", LEAD, MODES[mode.name], *([_plain(remark)] if remark else [])]
    parts += [f"## {CLAIMS}", _claims_markdown(results)]
    for result in results:
        parts += [f"## {_plain(result.title)}", f"*{_plain(result.source)}*"]
        parts.append(f"`{result.command}` (seed {result.seed}, {_duration(result.seconds)})")
        parts += [_markdown(block) for block in result.blocks]
        parts += [f"**Not run:** {_plain(reason)}" for reason in result.missing]
    parts += [f"## {LACKING}", "\n".join(f"- {_plain(item)}" for item in NOT_HERE)]
    parts += ["## The papers", "\n".join(f"- {paper}" for paper in PAPERS)]
    parts.append(f"Measured at {_versions(environment)}.")
    return "\n\n".join(parts) + "\n"


def html(
    results: Sequence[Result],
    pictures: Mapping[str, str],
    mode: Mode,
    environment: Mapping[str, str],
    remark: str = "",
) -> str:
    """The page as one HTML file; ``pictures`` are the figures as SVG, by name."""
    contents = "".join(
        f'<li><a href="#{escape(r.name)}">{_safe(r.title)}</a></li>' for r in results
    )
    body = "\n".join(_section(result, pictures) for result in results)
    kind = "note" if mode.full else "missing"
    warning = f'<p class="{kind}">{_safe(MODES[mode.name])}</p>'
    warning += f"<p>{_safe(remark)}</p>" if remark else ""
    lacking = "".join(f"<li>{_safe(item)}</li>" for item in NOT_HERE)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="eigenkit">
<title>{TITLE}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{TITLE}</h1>
<p>{LEAD}</p>
{warning}
<h2>{CLAIMS}</h2>
{_claims_html(results)}
<nav aria-label="Experiments"><ul>{contents}</ul></nav>
{body}
<h2>{LACKING}</h2>
<ul>{lacking}</ul>
<h2>The papers</h2>
<ul>{"".join(f"<li>{_safe(paper)}</li>" for paper in PAPERS)}</ul>
<p class="note">Measured at {_safe(_versions(environment))}.</p>
</body>
</html>
"""


def _section(result: Result, pictures: Mapping[str, str]) -> str:
    missing = "".join(
        f'<p class="missing"><strong>Not run:</strong> {_safe(m)}</p>' for m in result.missing
    )
    blocks = "\n".join(_html(block, pictures) for block in result.blocks)
    return f"""<section id="{escape(result.name)}">
<h2>{_safe(result.title)}</h2>
<p class="source">{_safe(result.source)}<br>
<code>{_safe(result.command)}</code> (seed {result.seed}, {_duration(result.seconds)})</p>
{blocks}
{missing}
</section>"""


def _claims_markdown(results: Sequence[Result]) -> str:
    rows = [
        f"| {_plain(claim.says)} | {_plain(claim.found)} | {claim.verdict} | `{result.command}` |"
        for claim, result in claims(results)
    ]
    head = ["| the papers say | here | | command |", "|---|---|---|---|"]
    return "\n".join([*head, *rows]) if rows else "None of the experiments below was run."


def _claims_html(results: Sequence[Result]) -> str:
    rows = "".join(
        f'<tr><th class="claim" scope="row">{_safe(claim.says)}</th>'
        f'<td class="claim">{_safe(claim.found)}</td><td class="claim">{_safe(claim.verdict)}</td>'
        f'<td class="claim"><a href="#{escape(result.name)}">{_safe(result.title)}</a></td></tr>'
        for claim, result in claims(results)
    )
    heads = "".join(f'<th class="label">{h}</th>' for h in ("the papers say", "here", "", "see"))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def _markdown(block: Shown) -> str:
    if isinstance(block, Note):
        return _plain(block.text)
    if isinstance(block, Figure):
        caption = _plain(block.caption)
        return f"![{caption}](figures/{block.name}.svg)\n\n*{caption}*"
    head = [*block.heads, *block.columns]
    body = [
        [*map(_plain, labels), *(_bracketed(*block.cell(i, j)) for j in range(len(block.columns)))]
        for i, labels in enumerate(block.rows)
    ]
    places = range(len(block.heads), len(head))
    rule = ["---"] * len(block.heads)
    rule += ["---" if any(WORD.match(row[j]) for row in body) else "---:" for j in places]
    rows = [[_plain(title) for title in head], rule, *body]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    note = f"\n\n{_plain(block.note)}" if block.note else ""
    return f"**{_plain(block.title)}**\n\n{table}{note}"


def _bracketed(ours: str, paper: str, compared: str) -> str:
    known = ", ".join(text for text in (paper, compared) if text)
    return _plain(f"{ours} ({known})" if known else ours)


def _html(block: Shown, pictures: Mapping[str, str]) -> str:
    if isinstance(block, Note):
        return f"<p>{_safe(block.text)}</p>"
    if isinstance(block, Figure):
        picture = base64.b64encode(pictures[block.name].encode()).decode()
        caption = _safe(block.caption)
        return (
            f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{picture}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    heads = "".join(f'<th class="label" scope="col">{_safe(h)}</th>' for h in block.heads)
    heads += "".join(f'<th scope="col">{_safe(c)}</th>' for c in block.columns)
    rows = "\n".join(_row(block, i) for i in range(len(block.rows)))
    note = f'<p class="note">{_safe(block.note)}</p>' if block.note else ""
    return (
        f'<h3>{_safe(block.title)}</h3><div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{note}"
    )


def _row(table: Table, i: int) -> str:
    labels = "".join(
        f'<th class="label" scope="row">{_safe(label)}</th>' for label in table.rows[i]
    )
    cells = ""
    for j in range(len(table.columns)):
        ours, paper, compared = table.cell(i, j)
        below = "".join(f"<small>{_safe(text)}</small>" for text in (paper, compared) if text)
        cells += f"<td>{_safe(ours)}{below}</td>"
    return f"<tr>{labels}{cells}</tr>"


def _safe(text: str) -> str:
    return escape(visible(text, 4000))


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    shown = visible(text, 4000).replace("\\", "\\\\")
    for sign in "`*_|[]<>$#":
        shown = shown.replace(sign, f"\\{sign}")
    return shown


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _versions(environment: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in environment.items())
