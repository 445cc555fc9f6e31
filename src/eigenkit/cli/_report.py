"""report: an earlier comparison, or several side by side."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean
from eigenkit.cli._parsing import width
from eigenkit.evaluation.record import from_dict, read_record, write_atomically, write_record


def report(given: o.Given) -> Result:
    html = given.html
    o.outputs(given.runs, given.force, html)
    records = {path: read_record(path) for path in given.runs}
    if len(records) == 1:
        return show(next(iter(records.values())), None, html, [])
    from eigenkit.report import compare_html, compare_text

    named = dict(zip(_short_names(list(records)), records.values(), strict=True))
    text = compare_text(named, width=width())
    if html is not None:
        write_atomically(html, compare_html(named))
        text += f"\nwrote {clean(html)}"
    return Result({"runs": records}, text)


def _short_names(paths: list[str]) -> list[str]:
    """File names, with as many folders before them as tell them apart."""
    places = [Path(path).absolute().with_suffix("").parts for path in paths]
    for n in range(1, max(map(len, places)) + 1):
        names = ["/".join(parts[-n:]) for parts in places]
        if len(set(names)) == len(names):
            return names
    return paths


def show(record: dict[str, Any], out: str | None, html: str | None, lines: list[str]) -> Result:
    """Write the files that are wanted, and show the run."""
    from eigenkit.report import render_text, write_html
    from eigenkit.report.words import before_fit

    lines = [*lines, render_text(record, width=width())]
    if out is not None:
        write_record(record, out)
        again = f"    eigenkit report {shlex.quote(clean(out))}"
        lines += [f"wrote {clean(out)}; see it again with:", again]
    if html is not None:
        write_html(record, html)
        lines.append(f"wrote {clean(html)}")
    if record.get("next"):
        lines += [clean(before_fit(from_dict(record))), f"    {clean(record['next'])}"]
    return Result(record, "\n".join(lines))
