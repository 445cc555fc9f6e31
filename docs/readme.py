"""The figure and the table of the README: ``python docs/readme.py`` writes both."""

from __future__ import annotations

import io
from pathlib import Path

import guide_pictures
import measured
from PIL import Image

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
FIGURE = ROOT / "docs" / "_static" / "front.png"
BEGIN, END = (f"<!-- {side}: written by docs/readme.py -->\n" for side in ("below", "above"))


def page() -> str:
    """The README with the table as it should be."""
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    shown = measured.landing("docs/benchmarks.md")
    return f"{before}{BEGIN}\n{shown}\n{END}{rest.split(END)[1]}"


def figure() -> None:
    """The picture of the front page, small."""
    drawn = io.BytesIO()
    guide_pictures.landing().savefig(drawn, dpi=90, metadata={"Software": None})
    Image.open(drawn).convert("RGB").quantize(48).save(FIGURE, optimize=True)


if __name__ == "__main__":
    README.write_text(page(), encoding="utf-8")
    figure()
