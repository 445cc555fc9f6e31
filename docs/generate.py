"""Makes what the pages show and nobody types: tables, pictures and a report to click.

python docs/generate.py        writes docs/generated, as every build of the pages does
"""

from __future__ import annotations

import warnings
from pathlib import Path

import face
import guide_pictures
import measured
import properties
import related

from eigenkit import demo

DOCS = Path(__file__).parent


def write(docs: Path = DOCS) -> None:
    """Everything, into ``generated``; what is copied as it is goes into ``generated/site``."""
    folder, site = docs / "generated", docs / "generated" / "site"
    site.mkdir(parents=True, exist_ok=True)
    guide_pictures.write(folder)
    (folder / "properties.md").write_text(properties.table(), encoding="utf-8")
    (folder / "face.md").write_text(face.table() + "\n", encoding="utf-8")
    (folder / "reference.md").write_text(related.overview(), encoding="utf-8")
    (folder / "landing.md").write_text(measured.landing(), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        demo.report(site)
    (site / "eigenkit-demo.html").replace(site / "demo-report.html")
    (site / "eigenkit-demo.json").unlink()


if __name__ == "__main__":
    write()
