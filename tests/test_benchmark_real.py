"""The page of benchmarks says what the files say, and rows know whether they met their bars."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import race
from benchmarks.race import LONGEST, MOMENT
from benchmarks.real import ROWS, page
from benchmarks.table import Row, Table, at_least, at_most

DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_is_made_from_the_figures():
    table = Table.read(DOCS / "benchmarks.json")
    written = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert written == page(table, DOCS / "delicious.json")
    assert {row.name for row in table.rows} <= set(ROWS)


@pytest.mark.parametrize(("busy", "naps"), [(0, 1), (3, 4), (1000, round(LONGEST / MOMENT))])
def test_a_run_waits_for_threads_that_are_still_busy(busy, naps, monkeypatch):
    """By a clock of our own: on a crowded machine a busy process may get no time at all."""
    slept: list[float] = []
    used = lambda: MOMENT * min(len(slept), busy)  # noqa: E731
    monkeypatch.setattr(race, "time", SimpleNamespace(process_time=used, sleep=slept.append))
    race.rest()
    assert slept == [MOMENT] * naps


@pytest.mark.parametrize(
    ("ours", "theirs", "bar", "ratio", "met"),
    [
        (1.0, 5.0, at_least(4.0), 5.0, True),
        (1.0, 3.0, at_least(4.0), 3.0, False),
        (1.0, 5.0, at_most(1.5), 0.2, True),
        (2.0, 1.0, at_most(1.5), 2.0, False),
    ],
)
def test_a_row_knows_its_side_of_the_bar(ours, theirs, bar, ratio, met):
    row = Row("name", "work", "peer", ours, theirs, bar, "2026-01-01")
    assert row.ratio == pytest.approx(ratio)
    assert row.met is met
    assert ("MISSED" in str(row)) is not met


def test_rows_that_are_measured_again_replace_themselves(tmp_path):
    path = tmp_path / "figures.json"
    for ours in (1.0, 2.0):
        table = Table.read(path)
        table.begin("b")
        table.add("work", "peer", ours, 4.0, at_least(1.0))
        table.save(["a", "b"])
    table = Table.read(path)
    table.begin("a")
    table.add("other work", "peer", 1.0, 1.0, at_most(1.0))
    table.save(["a", "b"])
    rows = Table.read(path).rows
    assert [(row.name, row.ours) for row in rows] == [("a", 1.0), ("b", 2.0)]
