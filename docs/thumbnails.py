"""How the gallery looks: the style of its figures, and thumbnails that can be recognized."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image, ImageOps

SIZE = (400, 280)


def style(gallery_conf: dict[str, Any], name: str) -> None:
    """Before every example: figures that are easy to read at the width of a page."""
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "figure.dpi": 110,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": "medium",
            "figure.constrained_layout.use": True,
            "font.size": 11,
            "legend.frameon": False,
        }
    )


def write(app: Any) -> None:
    """Thumbnails of figures with several panels show the last one, which has the result."""
    for thumb in Path(app.srcdir, "gallery").rglob("images/thumb/*_thumb.png"):
        whole = thumb.parent.parent / thumb.name.replace("_thumb", "_001")
        if whole.exists():
            with Image.open(whole) as picture:
                last_panel(picture.convert("RGB")).save(thumb)


def last_panel(picture: Image.Image) -> Image.Image:
    """The right part of a wide picture, on white in the size of a thumbnail."""
    width, height = picture.size
    panels = max(1, round(width / height / 1.25))
    part = picture.crop((width - width // panels, 0, width, height))
    return ImageOps.pad(part, SIZE, color="white")
