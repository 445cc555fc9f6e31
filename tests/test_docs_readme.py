"""The table of the README is that of the stored figures, and its figure is there."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def docs(monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("PIL")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return lambda name: runpy.run_path(str(ROOT / "docs" / f"{name}.py"))


def test_what_is_shown_is_what_is_stored(docs):
    readme, stored = docs("readme"), docs("measured")["table"]().splitlines()
    shown = readme["README"].read_text(encoding="utf-8").split(readme["BEGIN"])[1]
    rows = [line for line in shown.split(readme["END"])[0].splitlines() if line.startswith("|")]
    assert set(rows) <= set(stored), "run python docs/readme.py"
    assert readme["FIGURE"].stat().st_size < 100_000


def test_rows_are_those_of_the_file(docs, tmp_path):
    measured = docs("measured")
    row = {"work": "LDA", "peer": "other", "ours": 0.1, "theirs": 0.25, "bar": ["at least", 2]}
    slower = {**row, "work": "memory", "bar": ["at most", 2]}
    (tmp_path / "b.json").write_text(json.dumps({"rows": [slower, row]}))
    (tmp_path / "a.json").write_text(json.dumps({"levels": {}}))
    measured["table"].__globals__["DOCS"] = tmp_path
    *_, last = measured["table"]().strip().splitlines()
    assert last == "| LDA | other | 0.1 | 0.25 | 2.5 |"
    assert "memory" not in measured["table"]()
