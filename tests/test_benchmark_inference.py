"""The page of levels, power and coverage is what the command writes from its numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel

from benchmarks import inference

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def results() -> dict:
    return json.loads((DOCS / "inference_levels.json").read_text())


def test_the_page_is_written_from_the_numbers(results) -> None:
    page = (DOCS / "inference_levels.md").read_text()
    assert page == inference.PAGE + inference.tables(results)


def test_every_level_keeps_its_bar(results) -> None:
    verdicts = {name: inference.verdict(row) for name, row in results["levels"].items()}
    assert set(verdicts.values()) == {"yes"}, verdicts


def test_verdicts() -> None:
    row = {"first": [0.05, 0.1], "second": [0.06, 0.12], "power": [1.0, 1.0], "allowed": 0.03}
    assert inference.verdict(row) == "yes"
    assert inference.verdict(row | {"second": [0.081, 0.1]}) == "too high"
    assert inference.verdict(row | {"second": [0.01, 0.1]}) == "too low"
    assert inference.verdict(row | {"second": [0.01, 0.1], "power": [0.9, 0.9]}) == "yes"


@pytest.mark.slow
@pytest.mark.parametrize("table", ["levels", "power", "coverage"])
def test_every_row_runs(table, monkeypatch) -> None:
    monkeypatch.setattr(inference, "PERMUTATIONS", 9)
    monkeypatch.setattr(inference, "RESAMPLES", 5)
    work, rows = inference.TABLES[table]
    for row in rows.values():
        found = work(row, 2, Parallel(n_jobs=1))
        assert found["n_sets"] == 2
        numbers = [v for v in found.values() if isinstance(v, list)]
        assert all(0 <= x <= 1 for v in numbers for x in v)


def test_textbook_approximation_agrees_with_permutations() -> None:
    *permuted, approximate = inference.decisions(0.5, 4)
    assert 0 < approximate < 1
    X, Y = inference.pairs((0.5,), 40, 5, 4)(np.random.default_rng([4, 7]))
    assert approximate == inference.bartlett(X, Y)
    assert abs(permuted[0] - approximate) < 0.15
