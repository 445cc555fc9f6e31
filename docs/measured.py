"""Tables of times on the pages, from what the benchmarks have stored.

Files in this folder that hold rows of a benchmark (``python -m benchmarks... --json``) are read;
nothing is measured here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
SHOWN = 6  # rows on the front page
METHODS = {"star": "hypergraph (star)", "lda": "LDA", "cca": "CCA", "opls": "orthonormalized PLS"}
TEXT = re.compile(r"(\w+), (\w+), alpha = (\S+) \(\w+\)")


def stored() -> dict[str, Any]:
    """The first file of measured rows, or none yet."""
    for path in sorted(DOCS.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found.get("rows"), list):
            return found
    return {"rows": []}


def ratio(row: dict[str, Any]) -> str:
    """How many times as long the other one takes."""
    return f"{row['theirs'] / row['ours']:.2g}"


def plainly(work: str) -> str:
    """Rows about text in words for those who do not know our names yet."""
    found = TEXT.fullmatch(work)
    return f"{METHODS[found[2]]} on {found[1]}, alpha = {found[3]}" if found else work


def table() -> str:
    """The first rows in which other libraries do the same work."""
    rows = [row for row in stored()["rows"] if row["bar"][0] == "at least"][:SHOWN]
    if not rows:
        return ""
    lines = [
        "| the same work | done by | eigenkit (s) | other (s) | speed-up |",
        "|---|---|--:|--:|--:|",
    ]
    for row in rows:
        figures = f"{row['ours']:.2g} | {row['theirs']:.2g} | {ratio(row)}"
        lines.append(f"| {plainly(row['work'])} | {row['peer']} | {figures} |")
    return "\n".join(lines) + "\n"


def landing(page: str = "benchmarks.md") -> str:
    """The table with where it comes from."""
    shown = table()
    if not shown or not (DOCS / "benchmarks.md").exists():
        return shown
    return (
        f"{shown}\nSeconds for one fit. The first rows are dense data. The others are sparse text, "
        "where scikit-learn's `Ridge` does only the regression that is the first half of our fit, "
        f"to the same residual. [All measurements]({page}) are listed with machine, date and "
        "command, including those in which others are faster.\n"
    )


if __name__ == "__main__":
    print(landing())
