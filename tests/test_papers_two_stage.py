"""The experiments on the two-stage approach: their parts by equations, and a quick run of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from eigenkit.datasets import make_planted
from eigenkit.evaluation.samples import read_samples
from papers import Figure, Note, Result, Table, run_papers
from papers.equivalence import GAMMAS, PAPER, TECHNIQUES, distance
from papers.timing import TARGET_NAMES, Documents, Sweep, best_of, lanczos_direct


def _quick(name: str, folder: Path) -> Result:
    (result,) = run_papers([name], quick=True, out=folder)
    assert not result.missing
    page = (folder / "papers.html").read_text(encoding="utf-8")
    for block in result.blocks:
        if isinstance(block, Figure):
            assert (folder / "figures" / f"{block.name}.svg").stat().st_size > 5000
        if isinstance(block, Table):
            assert block.title.split("'")[0].split("&")[0] in page
    return result


def _tables(result: Result) -> list[Table]:
    return [block for block in result.blocks if isinstance(block, Table)]


def _words(result: Result) -> str:
    return " ".join(block.text for block in result.blocks if isinstance(block, Note))


# -- equivalence -------------------------------------------------------------------------


def test_the_papers_table_is_complete() -> None:
    assert len(PAPER) == 23
    assert {len(values) for values in PAPER.values()} == {len(GAMMAS)}
    assert PAPER["usps", "LDA"][3] == 6.6e-15  # last row, gamma = 1e-2
    assert PAPER["yeast", "HSL-Star"][0] == 2.1e-12  # which the paper prints beside "Wine"


def test_distance_is_that_of_the_projections() -> None:
    rng = np.random.default_rng(0)
    W, W0 = rng.normal(size=(30, 3)), rng.normal(size=(30, 4))
    absolute, relative = distance(W, W0)
    assert absolute == pytest.approx(np.linalg.norm(W @ W.T - W0 @ W0.T, 2))
    assert relative == pytest.approx(absolute / np.linalg.norm(W0 @ W0.T, 2))
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert distance(W, W @ rotation)[1] < 1e-14


@pytest.mark.slow
def test_equivalence_is_to_rounding(tmp_path: Path) -> None:
    absolute, relative = _tables(_quick("two-stage-equivalence", tmp_path))
    assert np.max(np.array(relative.ours, dtype=float)) < 1e-13
    assert ("syn3", "HSL-Star") in relative.rows
    # The noise is drawn anew, but its size is the paper's, and so is that of the differences.
    ratio = np.array(absolute.ours, dtype=float) / np.array(absolute.paper, dtype=float)
    assert 0.1 < np.median(ratio) < 10


# -- regularization ----------------------------------------------------------------------


@pytest.mark.slow
def test_both_approaches_classify_alike(tmp_path: Path) -> None:
    result = _quick("two-stage-gamma", tmp_path)
    planted, others, wine, lda = _tables(result)
    for table in (planted, wine):
        assert max(float(str(row[-1])) for row in table.ours) < 1e-3
    # A ridge far above the variance of the features leaves LDA little more than proline.
    small, large = (float(value or 0) for value in wine.ours[0][:2])
    assert small > 0.95 > 0.85 > large
    scores = {
        row[0]: float(values[0] or 0) for row, values in zip(others.rows, others.ours, strict=True)
    }
    assert scores["eigenkit CCA"] > scores["scikit-learn PCA"] + 0.1
    assert scores["eigenkit CCA"] == pytest.approx(scores["scikit-learn CCA"], abs=0.01)
    assert [values[1] is None for values in lda.ours] == [False] * 4 + [True]


# -- time --------------------------------------------------------------------------------


@pytest.mark.parametrize("technique", list(TECHNIQUES))
def test_lanczos_gives_the_direct_solution(technique: str) -> None:
    X, Y = make_planted(80, 120, 4, sparse_output=True, random_state=0)
    Y = np.asarray(Y, dtype=float)
    y: Any = Y
    if technique == "LDA":
        y = Y @ [1, 2, 0, 0]
        Y = (y[:, None] == np.unique(y)).astype(float)
    model = clone(TECHNIQUES[technique]).set_params(alpha=0.5, solver="direct").fit(X, y)
    W, values = lanczos_direct(X, Y, TARGET_NAMES[technique], 0.5)
    assert values == pytest.approx(model.eigenvalues_, rel=1e-9)
    assert distance(W, model.components_.T)[1] < 1e-9


def test_a_corner_has_the_most_frequent_terms() -> None:
    X = np.array([[0, 5, 1, 0], [0, 1, 2, 0], [3, 4, 0, 0], [0, 2, 1, 1]], dtype=float)
    Y = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 0]])
    documents = Documents.of(read_samples(sparse.csr_array(X), Y), seed=0)
    assert (documents.X != 0).sum(axis=0).tolist() == [4, 3, 1, 1]
    part, labels = documents.corner(3, 2)
    assert part.shape == (3, 2)
    assert np.linalg.norm(part.toarray(), axis=1) == pytest.approx(np.ones(3))
    assert labels.any(axis=0).tolist() == [True, True]
    assert (documents.corner(2, 2)[0] != part[:2]).nnz == 0  # smaller parts are parts of it


def test_time_is_taken_in_turns() -> None:
    order: list[str] = []
    best = best_of({name: lambda n=name: order.append(n) for name in "ab"}, 2)
    assert order == ["a", "b", "a", "b"]
    assert list(best) == ["a", "b"]


def test_a_sweep_says_what_grows() -> None:
    sweep = Sweep("f", "Figure", "rcv1", ["CCA"], [(100, 50), (100, 80)])
    assert (sweep.axis, sweep.words) == ([50, 80], "d = 50 to 80, n = 100")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "approach"),
    [
        ("two-stage-time", "two-stage by LSQR"),
        ("least-squares-time", "least squares by LSQR"),
    ],
)
def test_times_and_slopes(name: str, approach: str, tmp_path: Path) -> None:
    result = _quick(name, tmp_path)
    (table,) = _tables(result)
    seconds = np.array(table.ours, dtype=float)[:, :3]
    assert f"{approach}, s" in table.columns
    assert np.all((seconds > 0) & (seconds < 30))
    assert {row[1] for row in table.rows} >= {"CCA", "OPLS", "HSL-Clique", "HSL-Star"}
    assert f"times as long as {approach} at the largest sizes" in _words(result)
