"""The code in the README and on the first page of the guide runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_code_on_the_page_runs(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, page, "exec"), scope)
    assert scope["Z"].shape[0] == len(scope["Y"])


def test_nobody_is_told_to_install_eigenkit_from_a_registry():
    """It is on none: whoever took the name there could give our readers anything."""
    places = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for folder in ("src", "papers", "examples"):
        places += (ROOT / folder).rglob("*.py")
    told = [p.name for p in places if re.search(r"(?<!%)pip install '?eigenkit", p.read_text())]
    assert told == []
