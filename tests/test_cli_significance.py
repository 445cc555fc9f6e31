"""eigenkit test: the library's permutation test on files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenkit import CCA, LDA
from eigenkit.analysis import permutation_test
from eigenkit.cli import app

RNG = np.random.default_rng(5)
SITE = np.array(["north", "south"])[np.arange(60) % 2]
X = RNG.normal(size=(60, 4)).round(4)
AGE = (3 * RNG.normal(size=60)).round(4)
Y = (X[:, :2] @ [[1.0, 0.0], [0.0, 0.0]] + RNG.normal(size=(60, 2)) + AGE[:, None]).round(4)
CLASS = np.where(X[:, 0] + 0.3 * RNG.normal(size=60) > 0, "yes", "no")
OUTPUTS = ["--labels", "out_*", "--ignore", "class,site"]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["a", "b", "c", "d", "age", "out_1", "out_2", "class", "site"]
    rows = zip(X.tolist(), AGE.tolist(), Y.tolist(), CLASS, SITE, strict=True)
    lines = [[*x, a, *y, c, s] for x, a, y, c, s in rows]
    Path("data.csv").write_text("\n".join(",".join(map(str, row)) for row in [names, *lines]))


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["test", "data.csv", "--permutations", "49", *arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def p_values(*arguments: str) -> list[float]:
    return [row["p"] for row in json.loads(run(*arguments, "--json"))["components"]]


def test_numbers_and_nuisance_variables() -> None:
    features = np.column_stack([X, AGE])
    plain = permutation_test(CCA(), features, Y, n_permutations=49)
    assert p_values(*OUTPUTS, "--task", "numbers") == plain.p_values.tolist()
    freed = permutation_test(CCA(2), features, Y, nuisance=AGE, n_permutations=49)
    found = p_values(*OUTPUTS, "--task", "numbers", "--nuisance", "ag*", "--components", "2")
    assert found == freed.p_values.tolist()
    assert found[0] == 0.02


@pytest.mark.slow
def test_classes_groups_and_words() -> None:
    options = ["--labels", "class", "--ignore", "out_*", "--method", "lda", "--groups", "site"]
    text = run(*options, "--level", "0.1")
    assert "Permutation test of LDA: 60 samples, 49 permutations within 2 blocks" in text
    assert "1 of 1 components significant at level 0.1" in text
    features = np.column_stack([X, AGE])
    expected = permutation_test(LDA(), features, CLASS, groups=SITE, n_permutations=49)
    assert p_values(*options) == expected.p_values.tolist()


def test_messages() -> None:
    assert "no feature is named 'height'" in run(*OUTPUTS, "--nuisance", "height", code=2)
    assert "not one of auto, wilks, trace, roy" in run(*OUTPUTS, "--statistic", "t", code=2)
    assert "none is left to test" in run(*OUTPUTS, "--nuisance", "*", code=2)
    twice = run(*OUTPUTS, "--components", "1", "--set", "n_components=2", code=2)
    assert "n_components is given by --components as well" in twice
    assert "has no parameter 'beta'" in run(*OUTPUTS, "--set", "beta=1", code=2)
    wrong = run("--labels", "class", "--ignore", "out_*,site", "--method", "regec", code=2)
    assert "components of regec cannot be tested: use one of cca, opls, lda" in wrong
    wrong = run("--labels", "class", "--ignore", "out_*,site", "--method", "pls", code=1)
    assert "pls does not learn from one class a row" in wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "nosuch"], "no column is named 'nosuch' (--groups)"),
        (["--groups", "class"], "column 'class' is named by --labels and by --groups"),
        (["--groups", "?"], "--groups ? names 4 columns: give one"),
        (["--groups", "site", "--nuisance", "nosuch"], "no feature is named 'nosuch'"),
        (["--categorical", "nosuch"], "no column is named 'nosuch' (--categorical)"),
        (["--categorical", "class"], "column 'class' is named by --labels and by --categorical"),
        (["--ignore", "nosuch"], "no column is named 'nosuch' (--ignore)"),
    ],
)
def test_the_option_that_is_wrong_is_named(options: list[str], message: str) -> None:
    base = ["--labels", "class", "--method", "lda"]
    ignored = [] if "--ignore" in options else ["--ignore", "out_*"]
    output = run(*base, *ignored, *options, code=2 if "--nuisance" in options else 1)
    assert message in " ".join(output.split())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["site", "si*", "-1"])
def test_groups_by_name_pattern_or_position(name: str) -> None:
    options = ["--labels", "class", "--ignore", "out_*", "--method", "lda"]
    assert p_values(*options, "--groups", name) == p_values(*options, "--groups", "site")
