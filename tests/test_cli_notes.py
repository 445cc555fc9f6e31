"""What the command line points out by itself: copies of rows, units, guesses that nothing beats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from eigenkit.cli import app
from eigenkit.files import Block
from eigenkit.files._checks import repeated_rows
from eigenkit.models import load


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def write(name: str, X: Any, *columns: tuple[str, Any]) -> str:
    names = [*(f"x{j}" for j in range(X.shape[1])), *(title for title, _ in columns)]
    rows = zip(*X.T.tolist(), *(values for _, values in columns), strict=True)
    Path(name).write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]))
    return name


# -- copies ------------------------------------------------------------------------------

LDA = ["--labels", "y", "-m", "lda"]


def test_copies_of_rows_are_pointed_out() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)).round(4), np.array(["a", "b"])[np.arange(20) % 2]
    path = write("a.csv", np.tile(X, (3, 1)), ("y", np.tile(y, 3)))
    note = "40 of 60 rows repeat others"
    text = run("compare", path, *LDA, "--no-baselines")
    assert f"note: a.csv: {note}" in text.lower()
    assert "--groups" in text
    assert note in run("fit", path, *LDA, "--out", "a.ek", "--no-quality")
    assert note in run("inspect", "a.ek")
    assert load("a.ek").how["found"]["repeated"] == note
    dump_svmlight_file(np.tile(X, (3, 1)), np.arange(60) % 20 % 2, "a.svm")
    assert note in run("fit", "a.svm", "-m", "lda", "--out", "b.ek", "--no-quality")


def test_rows_that_differ_are_not() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)).round(4), np.array(["a", "b"])[np.arange(60) % 2]
    assert "repeat others" not in run("fit", write("a.csv", X, ("y", y)), *LDA, "--out", "a.ek")
    few = rng.integers(0, 3, size=(60, 2))  # answers of which there are but nine
    assert "repeat others" not in run("fit", write("b.csv", few, ("y", y)), *LDA, "--out", "b.ek")
    X[1], other = X[0], y.copy()
    assert "repeat others" not in run("fit", write("c.csv", X, ("y", y)), *LDA, "--out", "c.ek")
    X[30:], other[30:] = X[:30], np.where(other[:30] == "a", "b", "a")
    X[[1, 31]] = 7.0
    assert repeated_rows(Block(X, labels=other.tolist()), None) == 0


def test_copies_in_one_group_do_no_harm() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 2, axis=0)
    assert repeated_rows(Block(X), None) == 20
    assert repeated_rows(Block(X), np.repeat(np.arange(20), 2)) == 0
    assert repeated_rows(Block(X), np.arange(40)) == 20


def test_every_part_of_a_row_counts() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5)
    twice = np.vstack([X, X])
    n = 30 + 30 - len(np.unique(X, axis=0))
    for form in (np.asarray, np.float32, sparse.csr_array):
        assert repeated_rows(Block(form(twice)), None) == n
    words = [f"w{i}" for i in range(60)]
    assert repeated_rows(Block(twice, {"text": words}), None) == 0
    assert repeated_rows(Block(twice, labels=words), None) == 0
    assert repeated_rows(Block(twice, labels=[(word,) for word in words]), None) == 0
    assert repeated_rows(Block(twice, labels=rng.normal(size=(60, 1))), None) == 0
    assert repeated_rows(Block(np.arange(2.0**16)[:, None] * 2.0**40), None) == 0


# -- numbers that deceive ------------------------------------------------------------------


def test_probabilities_with_more_features_than_rows_are_doubted() -> None:
    rng = np.random.default_rng(0)
    for d, doubted in ((30, True), (3, False)):
        y = np.array(["a", "b"])[np.arange(24) % 2]
        path = write("a.csv", rng.normal(size=(24, d)).round(3), ("y", y))
        run("fit", path, *LDA, "--out", "a.ek", "--no-quality", "--force")
        text = run("predict", "a.ek", path, "--proba", "--out", "p.csv", "--force")
        assert ("30 features on 24 rows: its probabilities are" in text) is doubted
        assert "its probabilities" not in run("predict", "a.ek", path, "--out", "-")


def test_a_score_that_is_not_defined_is_a_dash() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2)).round(3)
    y = np.array(["a", "b"])[np.arange(20) % 2]
    run("fit", write("a.csv", X, ("y", y)), *LDA, "--out", "a.ek", "--no-quality")
    text = run("score", "a.ek", write("b.csv", X[::2], ("y", y[::2])))
    assert "nan" not in text
    assert "mean AUC over labels \u2013" in text


def test_auc_of_score_is_that_of_the_probabilities_that_predict_writes() -> None:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = (rng.normal(size=(60, 3)) + np.eye(3)[y] * [1, 1, 3]).round(3)
    path = write("a.csv", X, ("y", np.array(["a", "b", "c"])[y]))
    run("fit", path, *LDA, "--out", "a.ek", "--no-quality")
    run("predict", "a.ek", path, "--proba", "--out", "p.csv")
    P = np.loadtxt("p.csv", delimiter=",", skiprows=1, usecols=(1, 2, 3))
    found = json.loads(run("score", "a.ek", path, "--json"))["scores"]["mean AUC over labels"]
    expected = np.mean([roc_auc_score(y == j, P[:, j]) for j in range(3)])
    assert found == pytest.approx(expected, abs=1e-6)


def test_nothing_is_recommended_where_nothing_beats_a_guess() -> None:
    rng = np.random.default_rng(3)
    path = write("a.csv", rng.normal(size=(40, 8)).round(3), ("y", rng.normal(size=40).round(3)))
    text = run("compare", path, "--labels", "y", "-m", "cca")
    assert "To fit" not in text
    assert "cca does not beat mean, so there is nothing to fit" in text


def test_too_few_rows_for_the_folds_that_were_assumed() -> None:
    path = write("a.csv", np.arange(8.0).reshape(4, 2), ("y", ["a", "b", "a", "b"]))
    text = run("compare", path, *LDA, code=2)
    assert "--cv" in text
    assert "5 folds, the default, need 5 rows, and there are 4: give from 2 to 4" in text
    assert "6 folds need 6 rows" in run("compare", path, *LDA, "--cv", "6", code=2)


def test_a_quality_that_was_not_measured_says_why() -> None:
    path = write("a.csv", np.random.default_rng(0).normal(size=(8, 2)), ("y", [*"abababab"]))
    text = run("fit", path, *LDA, "--out", "a.ek")
    assert "the quality was not measured (8 rows are too few for 5 folds)" in text


# -- files ------------------------------------------------------------------------------


def test_report_knows_other_files() -> None:
    path = write("a.csv", np.random.default_rng(0).normal(size=(20, 2)), ("y", [*"ab"] * 10))
    run("fit", path, *LDA, "--out", "a.ek", "--no-quality")
    assert "a.ek is a model file: see it with eigenkit inspect" in run("report", "a.ek", code=1)
    text = run("report", path, code=1)
    assert "a.csv is no record of a run: give what eigenkit compare --out wrote" in text


def test_a_date_is_shown_as_a_date() -> None:
    days = [f"2024-0{1 + i % 9}-{10 + i % 7}" for i in range(40)]
    X = np.random.default_rng(0).normal(size=(40, 2)).round(3)
    path = write("a.csv", X, ("day", days), ("y", [*"ab"] * 20))
    run("fit", path, *LDA, "--out", "a.ek", "--no-quality")
    assert "day 2024-03-12" in run("explain", "a.ek", path, "--row", "3")
    found = json.loads(run("explain", "a.ek", path, "--row", "3", "--json"))["labels"][0]
    assert {f["feature"]: f["value"] for f in found["features"]}["day"] == 19794.0


def test_a_name_with_a_comma() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2)).round(3)
    path = write("a.csv", X, ('"Weight, kg"', X[:, 0] + 1), ("z", X[:, 1]))
    for more in (["--ignore", "z"], []):
        run("fit", path, "--labels", "Weight, kg", *more, "-m", "cca", "--out", "a.ek", "--force")
        assert load("a.ek").target.names == ("Weight, kg",)
    run("fit", path, "--labels", "z", "--ignore", "Weight, kg", "--out", "a.ek", "--force")
    assert load("a.ek").features.names == ("x0", "x1")
    run("fit", path, "--labels", "x0, x1", "--ignore", "Weight, kg", "--out", "a.ek", "--force")
    assert load("a.ek").target.names == ("x0", "x1")


def test_a_row_of_units_is_suspected() -> None:
    path = write("a.csv", np.random.default_rng(0).normal(size=(20, 2)), ("y", [*"ab"] * 10))
    first, *rows = Path(path).read_text().split("\n")
    Path(path).write_text("\n".join([first, "mm,l/min,", *rows]))
    text = run("fit", path, *LDA, "--out", "a.ek", code=1)
    assert "the row below the names holds no number (mm, l/min)" in text
    assert "if it holds units, remove it" in text
