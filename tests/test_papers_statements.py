"""Theorems and illustrations: quick enough to run whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from papers import Figure, Table, run_papers
from papers.blocks import VERDICTS
from papers.illustrations import TOY, expansions, similarity
from papers.statements import STATEMENTS, Data, outer_gap, space_gap

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: s.name)
def test_every_statement_holds_to_rounding(statement) -> None:
    assert statement.gap(Data.drawn(1)) < 1e-9


def test_gaps_see_what_differs(rng) -> None:
    W = rng.normal(size=(8, 3))
    assert space_gap(W, W @ rng.normal(size=(3, 3))) < 1e-12
    assert outer_gap(W, 2 * W) == pytest.approx(0.75)
    assert space_gap(W, rng.normal(size=(8, 3))) > 0.1


def test_quick_statements(tmp_path: Path) -> None:
    (result,) = run_papers(["statements"], quick=True, out=tmp_path)
    (claim,) = result.claims
    assert claim.verdict == "holds"
    (table,) = (block for block in result.blocks if isinstance(block, Table))
    assert len(table.rows) == len(STATEMENTS)
    assert claim.found in (tmp_path / "papers.html").read_text()


@pytest.mark.slow
def test_quick_illustrations(tmp_path: Path) -> None:
    (result,) = run_papers(["illustrations"], quick=True, out=tmp_path)
    figures = [block for block in result.blocks if isinstance(block, Figure)]
    assert {f.name.split("-")[0] for f in figures} == {"illustration"}
    assert len(figures) == 4
    tables = [block for block in result.blocks if isinstance(block, Table)]
    assert [row[0] for row in tables[1].rows] == ["Syn1", "Syn3", "Wine"]
    for ours, paper in zip(tables[1].ours, tables[1].paper, strict=True):
        assert list(ours) == list(paper)
    assert all(claim.verdict in VERDICTS for claim in result.claims)


def test_expansions_of_a_hypergraph() -> None:
    J = TOY.astype(float)
    clique = expansions(J)["clique"]
    assert clique[0, 3] == 2  # two labels in common
    assert np.all(clique == clique.T)
    np.testing.assert_allclose(expansions(J)["star"].sum(axis=0), 1.0)
    S = similarity("clique", J)
    assert S[1, 4] == 0  # no label in common
