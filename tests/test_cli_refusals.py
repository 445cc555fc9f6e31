"""Options without effect are refused, and errors of the library name the option that was typed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from eigenkit.cli import app
from eigenkit.models import load

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).round(3)
Y = (X[:, :2] + 0.1 * RNG.normal(size=(60, 2))).round(3)
CLASS = np.where(X[:, 0] > 0, "yes", "no")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    classes = zip(X.tolist(), CLASS, strict=True)
    Path("c.csv").write_text(
        "a,b,c,k\n" + "".join(f"{u},{v},{w},{k}\n" for (u, v, w), k in classes)
    )
    rows = np.hstack([X, Y]).tolist()
    Path("n.csv").write_text("a,b,c,y1,y2\n" + "".join(",".join(map(str, r)) + "\n" for r in rows))


def run(line: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("compare c.csv --labels k -m lda --components cv --cv 2", "none of the methods has a use"),
        ("compare c.csv --labels k -m regec --components 1", "none of the methods has a use"),
        ("compare n.csv --labels y1,y2 -m pls --alphas 1,2", "has an alpha to choose"),
        ("compare n.csv --labels y1,y2 -m pls --classifier knn", "without a classifier"),
        ("compare c.csv --labels k --train-size 0", "0.0 is not in the range 0<x<1"),
        ("compare c.csv --labels k --train-size 1", "1.0 is not in the range 0<x<1"),
        ("fit c.csv --labels k --stream --quality -o m.ek", "--quality: it needs all rows in mem"),
        ("fit n.csv --labels y1,y2 -m pls --alpha cv -o m.ek", "--alpha: pls has no parameter"),
        ("fit c.csv --labels k -m lda --components 9 -o m.ek", "--components: 9 exceeds 1"),
        ("fit c.csv --labels k -m lda --set priors=1 -o m.ek", "--set: priors=1 is not valid"),
        ("fit c.csv --labels k --stream --quality --cv 3 -o m.ek", "--quality: it needs all rows"),
        ("fit c.csv --labels k -m kernel_lda --set kernel_params=3 -o m.ek", "--set: kernel_par"),
        ("test c.csv --labels k --jobs 0", "--jobs: 0 is not valid"),
        ("compare c.csv --labels k --cv 2.5", "'--cv': '2.5' is not a valid integer"),
        ("compare c.csv --labels k --train-size x", "'--train-size': 'x' is not a valid number"),
        ("fit '' --labels k -o m.ek", "'DATA': the name is empty"),
        ("merge '' m.ek -o m.ek", "'MODELS...': the name is empty"),
        ("test c.csv --labels k --level nan --permutations 9", "--level: nan is not valid"),
        ("test c.csv --labels k --alpha inf --permutations 9", "--alpha: inf is not valid"),
        ("test n.csv --labels y1,y2 -m pls --statistic wilks", "--statistic: 'wilks' needs corr"),
    ],
)
def test_wrong_usage(line: str, message: str) -> None:
    assert message in run(line, code=2)
    assert not Path("m.ek").exists()


def test_a_test_file_without_labels_is_named() -> None:
    Path("new.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    told = run("compare c.csv --labels k -m lda --test new.csv", code=1)
    assert "new.csv: it holds no labels: c.csv has k." in told


def test_nobody_types_none() -> None:
    told = run("fit c.csv --labels k -m lda --components 9 -o m.ek", code=2)
    assert "give at most 1, or leave it out for all" in told


@pytest.mark.parametrize("best", ["lda", "regec", "cca"])
@pytest.mark.parametrize("number", ["cv", "1"])
def test_the_recommended_command_leaves_out_what_the_method_has_no_use_for(
    best: str, number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def won(run: Any) -> Any:
        return next(method for method in run.methods if method.name == best)

    monkeypatch.setattr("eigenkit.report.words.recommended", won)
    told = run(f"compare c.csv --labels k -m lda,regec,cca --components {number} --cv 2 --json")
    command = json.loads(told)["next"].removeprefix("eigenkit ")
    assert f"--method {best}" in command
    used = best == "cca" or (best, number) == ("lda", "1")
    assert ("--components" in command) is used
    assert "wrote model.ek" in run(command)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("pls --set scale=False", False),
        ("pls --set scale=false", False),
        ("pls --set scale=True,False", [True, False]),
        ("lda --set priors=0.3,0.7", [0.3, 0.7]),
        ("lda --set priors=None", None),
    ],
)
def test_parameters_are_written_as_in_json_or_python(typed: str, meant: Any) -> None:
    labels = "n.csv --labels y1,y2" if typed.startswith("pls") else "c.csv --labels k"
    run(f"fit {labels} -m {typed} -o m.ek")
    name = typed.split()[-1].partition("=")[0]
    assert load("m.ek").estimator.get_params()[name] == meant


def test_a_fit_in_blocks_says_that_its_quality_was_not_measured() -> None:
    told = run("fit c.csv --labels k --stream -o m.ek")
    assert "the quality was not measured (the rows were read in blocks)" in told


def test_scores_and_probabilities_are_not_for_numbers() -> None:
    run("fit n.csv --labels y1,y2 -m pls -o m.ek")
    for option in ("--scores", "--proba", "--long", "--top 2"):
        assert f"for {option.split()[0]}: it is for classes and labels" in run(
            f"predict m.ek n.csv {option}", code=2
        )


def test_standard_streams_have_their_names() -> None:
    assert "standard output: this output needs a file" in run("fit c.csv --labels k -o -", code=1)
    assert "standard input: a model is read from a file" in run("predict - c.csv", code=1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_gets_a_sentence_with_json_too() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "eigenkit", "methods", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "error: no space left on device.\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_wrong_usage_on_a_full_disk_has_no_traceback_either() -> None:
    words = "fit c.csv --labels k -m lda --components 9 -o m.ek --json"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "eigenkit", *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that takes no files")
def test_errors_of_writing_name_the_output_and_not_its_temporary_name() -> None:
    told = run("fit c.csv --labels k -o /proc/m.ek", code=1)
    assert "error: /proc/m.ek: it" in told  # cannot be written, or its folder is not writable
    assert ".part" not in told


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_nothing_takes_the_place_of_a_pipe() -> None:
    os.mkfifo("pipe")
    told = run("fit c.csv --labels k -o pipe --force", code=1)
    assert "this is a device or a pipe, not a file" in told
    assert Path("pipe").is_fifo()


@pytest.mark.skipif(os.name == "nt", reason="needs a shell that closes streams")
@pytest.mark.parametrize("closed", [">&-", "<&-"])
def test_a_closed_stream_is_like_an_empty_one(closed: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m eigenkit inspect nothing.ek {closed}"
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert told.returncode == 1
    assert told.stderr == "error: nothing.ek: there is no such file.\n"


def test_methods_to_compare_may_be_given_one_by_one() -> None:
    for words in ("-m lda -m regec", "-m lda,regec"):
        told = run(f"compare c.csv --labels k {words} --cv 2 --no-baselines")
        assert "comparing 2 methods" in told
