"""Contrast, names, roles, order: the rules of axe-core, where it is installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"
_AXE = Path(os.environ.get("AXE_CORE", _HERE))
needs_axe = pytest.mark.skipif(
    not _AXE.is_file(), reason="needs npm install axe-core here, or AXE_CORE=axe.min.js"
)


def violations(page: Any) -> list[tuple[str, str]]:
    """What axe-core finds in an open page, with all that is folded unfolded."""
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document)")["violations"]
    return [(v["id"], v["nodes"][0]["html"]) for v in found]
