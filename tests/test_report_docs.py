"""The examples of the pages on evaluation and the report run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[1] / "docs"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["evaluation", "report"])
def test_examples_run(name, tmp_path, monkeypatch, capsys):
    pytest.importorskip("plotly")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (PAGES / f"{name}.md").read_text(), re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:  # as a reader would type them, one after the other
        exec(block, names)
    assert (tmp_path / "report.html").stat().st_size > 1e6
    assert "(mean AUC over labels)" in " ".join(capsys.readouterr().out.split())
