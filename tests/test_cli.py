"""The command line from outside: results, exit codes, messages, interruption, odd places."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import eigenkit
from conftest import slow_but
from eigenkit.cli import app
from eigenkit.estimators.registry import METHODS
from eigenkit.files import Reading, open_file, read
from eigenkit.kernels.sets import SET_KERNELS

RUNNER = CliRunner()
RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 4)).round(4)
CLASS = np.array(["red", "green", "blue"])[np.abs(X[:, :3]).argmax(axis=1)]
TAGS = (X[:, :3] + 0.1 * RNG.normal(size=(90, 3)) > 0).astype(int)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one table, to work in."""
    monkeypatch.chdir(tmp_path)
    rows = [[*x, c, *t] for x, c, t in zip(X.tolist(), CLASS, TAGS.tolist(), strict=True)]
    names = ["f1", "f2", "f3", "f4", "class", "tag_a", "tag_b", "tag_c"]
    lines = [",".join(map(str, row)) for row in [names, *rows]]
    Path("data.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*arguments: str, code: int = 0, stdin: str | bytes | None = None) -> str:
    result = RUNNER.invoke(app, list(arguments), input=stdin)
    assert result.exit_code == code, result.output
    if code:
        assert "Traceback" not in result.output
    return result.output


def run_json(*arguments: str, code: int = 0) -> dict:
    result = RUNNER.invoke(app, [*arguments, "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


CLASS_OPTIONS = ["--labels", "class", "--ignore", "tag_*"]
TAG_OPTIONS = ["--labels", "tag_*", "--ignore", "class"]


def fit(*more: str) -> None:
    run(
        "fit", "data.csv", *CLASS_OPTIONS, "--method", "lda", "--out", "m.ek", *more, "--no-quality"
    )


# -- the main path ----------------------------------------------------------------------


@pytest.mark.parametrize("method", slow_but(METHODS, "cca", "lda", "pca", "plsda", "regec"))
def test_fit_transform_predict_inspect(data: Path, method: str) -> None:
    kind = METHODS[method].targets[0]
    options = CLASS_OPTIONS if kind == "classes" else TAG_OPTIONS
    views = ["--views", "f[12]", "f[34]"] if METHODS[method].views else []
    record = run_json("fit", "data.csv", *options, "-m", method, *views, "-o", "m.ek")
    assert record["method"] == method
    assert record["fitted"]["n_rows"] == 90
    if hasattr(METHODS[method].make(), "transform"):
        assert run_json("transform", "m.ek", "data.csv", "-o", "Z.csv")["rows"] == 90
        assert len(Path("Z.csv").read_text().splitlines()) == 91
    assert run_json("predict", "m.ek", "data.csv", "-o", "p.csv")["rows"] == 90
    described = run_json("inspect", "m.ek")
    assert described["fitted"]["data"] == "data.csv"
    assert described["report"]["solved by"] in " ".join(run("inspect", "m.ek").split())
    assert method in run("inspect", "m.ek")


def test_predicted_classes_and_scores(data: Path) -> None:
    fit()
    lines = run("predict", "m.ek", "data.csv", "--scores").splitlines()
    assert lines[0] == "class,score blue,score green,score red"
    for line in lines[1:]:
        name, *scores = line.split(",")
        assert name == ["blue", "green", "red"][int(np.argmax([float(s) for s in scores]))]


def test_predicted_labels_by_column_and_joined(data: Path) -> None:
    run("fit", "data.csv", *TAG_OPTIONS, "-m", "star", "-o", "m.ek", "--no-quality")
    assert run("predict", "m.ek", "data.csv").splitlines()[0] == "tag_a,tag_b,tag_c"
    rows = [f"{x[0]},{x[1]},{x[2]},{'|'.join(np.array(list('abc'))[t == 1])}"
            for x, t in zip(X, TAGS, strict=True)]  # fmt: skip
    Path("sets.csv").write_text("\n".join(["u,v,w,tags", *rows]))
    run(
        "fit",
        "sets.csv",
        "--labels",
        "tags",
        "--label-separator",
        "|",
        "-m",
        "star",
        "-o",
        "s.ek",
        "--no-quality",
    )
    lines = run("predict", "s.ek", "sets.csv").splitlines()
    assert lines[0] == "tags"
    right = [line == row.rsplit(",", 1)[1] for line, row in zip(lines[1:], rows, strict=True)]
    assert np.mean(right) > 0.6


def test_numbers_are_predicted_as_numbers(data: Path) -> None:
    run(
        "fit",
        "data.csv",
        "--labels",
        "f4",
        "--ignore",
        "class,tag_*",
        "-m",
        "opls",
        "-o",
        "m.ek",
        "--no-quality",
    )
    lines = run("predict", "m.ek", "data.csv").splitlines()
    assert lines[0] == "f4"
    assert all(np.isfinite(float(line)) for line in lines[1:])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "tsv", "npz", "parquet"])
def test_outputs_of_every_format_agree(data: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    fit()
    run("transform", "m.ek", "data.csv", "-o", f"Z.{suffix}")
    run("transform", "m.ek", "data.csv", "-o", "reference.csv")
    Z, reference = (read(open_file(p, Reading())).X for p in (f"Z.{suffix}", "reference.csv"))
    assert np.array_equal(Z, reference)


def test_standard_input_and_output(data: Path) -> None:
    fit()
    text = Path("data.csv").read_text()
    assert run("predict", "m.ek", "-", stdin=text) == run("predict", "m.ek", "data.csv")


def test_large_files_are_read_in_blocks_by_themselves(data: Path) -> None:
    record = run_json(
        "fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "-o", "m.ek", "--max-memory", "2k"
    )
    assert record["fitted"]["in_blocks"]
    output = run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "-o", "n.ek", "--max-memory", "2k",
                 "--no-stream", code=1)  # fmt: skip
    assert "raise it with --max-memory" in output


def test_components_are_chosen_in_blocks_too(data: Path) -> None:
    options = ["fit", "data.csv", *CLASS_OPTIONS, "-m", "plsda"]
    record = run_json(*options, "-o", "blocks.ek", "--max-memory", "2k")
    assert record["fitted"]["in_blocks"]
    found, again = (
        r["fitted"]["component_search"] for r in (record, run_json(*options, "-o", "m.ek"))
    )
    assert found["values"] == again["values"]
    assert len(found["values"]) > 1
    best = found["values"][int(np.argmax(found["mean_score"]))]
    assert record["fitted"]["params"]["n_components"] == best
    refused = run(*options, "-o", "c.ek", "--checkpoint", "state.ek", code=2)
    assert "have to be given as numbers" in " ".join(refused.split())


def test_methods_lists_the_registry(data: Path) -> None:
    assert [m["name"] for m in run_json("methods")["methods"]] == list(METHODS)
    shown = run("methods")
    assert all(name in shown for name in METHODS)
    kinds = re.search(r"; kinds are (.+) and (.+)\.", " ".join(shown.split()))  # wrapped or not
    assert [*kinds[1].split(", "), kinds[2]] == list(SET_KERNELS)


def test_compare_and_report(data: Path) -> None:
    pytest.importorskip("eigenkit.evaluation")
    pytest.importorskip("plotly")
    arguments = ["data.csv", *TAG_OPTIONS, "-m", "cca,star", "--cv", "2", "--alphas", "1"]
    record = run_json("compare", *arguments, "--out", "run.json", "--report", "a.html")
    assert [m["name"] for m in record["methods"]][:2] == ["cca", "star"]
    run("report", "run.json", "--html", "b.html")
    assert Path("a.html").read_text() == Path("b.html").read_text()
    assert "the file exists" in run("compare", *arguments, "--out", "run.json", code=1)


# -- what goes wrong --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["fit", "data.csv", "-m", "stra", "-o", "m.ek"], 2, "did you mean 'star'?"),
        (["fit", "no.csv", "-o", "m.ek"], 1, "no.csv: there is no such file."),
        (["fit", ".", "-o", "m.ek"], 1, "this is a folder: give a file."),
        (["fit", "data.csv", *TAG_OPTIONS, "-o", "data.csv"], 1, "data.csv: the file exists"),
        (["fit", "data.csv", *TAG_OPTIONS, "-o", "no/m.ek"], 1, "its folder does not exist"),
        (["fit", "data.csv", "--ignore", "class", "-o", "m.ek"], 1, "no labels: say with --labels"),
        (["fit", "data.csv", "--labels", "tag_*", "-o", "m.ek"], 1, "column 'class' holds text"),
        (["fit", "data.csv", "--labels", "clas", "-o", "m.ek"], 1, "did you mean 'class'?"),
        (["fit", "data.csv", *TAG_OPTIONS, "-m", "lda", "-o", "m.ek"], 1, "lda does not learn"),
        (["fit", "data.csv", *TAG_OPTIONS, "-o", "m.ek", "--alpha", "-1"], 2, "at least 0"),
        (["fit", "data.csv", *TAG_OPTIONS, "-o", "m.ek", "--missing", "x"], 2, "error, drop, mean"),
        (["fit", "data.csv", *TAG_OPTIONS, "-o", "m.ek", "--set", "x"], 2, "is not name=value"),
        (["fit", "data.csv", *TAG_OPTIONS, "-o", "m.ek", "--set", "x=1"], 2, "no parameter 'x'"),
        (["fit", "data.csv", *TAG_OPTIONS, "-o", "m.ek", "--max-memory", "x"], 2, "is not a size"),
        (["fit", "data.csv", *TAG_OPTIONS, "-o", "m.ek", "--components", "9"], 2, "components: 9"),
        (["fit", "data.csv", "-o"], 2, "-o"),
        (["inspect", "data.csv"], 1, "data.csv: it is not a model file of eigenkit: give one"),
        (["nonsense"], 2, "nonsense"),
    ],
)  # fmt: skip
def test_errors(data: Path, arguments: list[str], code: int, message: str) -> None:
    output = run(*arguments, code=code)
    assert message in " ".join(output.replace("│", " ").split())
    assert sorted(p.name for p in data.iterdir()) == ["data.csv"]


def test_errors_as_json(data: Path) -> None:
    error = run_json("fit", "no.csv", "-o", "m.ek", code=1)
    assert error == {"error": "no.csv: there is no such file.", "code": 1}


def test_traceback_only_on_request(data: Path) -> None:
    result = RUNNER.invoke(app, ["fit", "no.csv", "-o", "m.ek", "--debug"])
    assert "Traceback" in result.output


def test_features_that_do_not_match_are_named(data: Path) -> None:
    fit()
    Path("new.csv").write_text("f1,f3,f9\n1,2,3\n")
    output = run("predict", "m.ek", "new.csv", code=1)
    assert "2 of the 4 columns that the model was fitted on are not there: 'f2', 'f4'; it" in output


def test_columns_in_another_order_give_the_same(data: Path) -> None:
    fit()
    rows = [f"{x[3]},{x[0]},{x[2]},{x[1]}" for x in X]
    Path("new.csv").write_text("\n".join(["f4,f1,f3,f2", *rows]))
    assert run("predict", "m.ek", "new.csv") == run("predict", "m.ek", "data.csv")


def test_a_bad_row_late_in_the_file_leaves_no_output(data: Path) -> None:
    fit()
    Path("new.csv").write_text("f1,f2,f3,f4\n" + "1,2,3,4\n" * 70_000 + "1,2,x,4\n")
    before = sorted(data.iterdir())
    output = run("predict", "m.ek", "new.csv", "-o", "p.csv", code=1)
    assert "new.csv, line 70002, column 'f3': 'x' is not a number: correct that cell." in output
    assert sorted(data.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(data: Path) -> None:
    fit()
    (data / "locked").mkdir(mode=0o500)
    assert "cannot be written" in run("predict", "m.ek", "data.csv", "-o", "locked/p.csv", code=1)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device on this system")
@pytest.mark.parametrize("command", [["predict", "m.ek", "data.csv"], ["methods"]])
def test_no_space(data: Path, command: list[str]) -> None:
    fit()
    # As on most machines: what is printed waits in a buffer.
    environment = {k: v for k, v in ENVIRONMENT.items() if k != "PYTHONUNBUFFERED"}
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [sys.executable, "-m", "eigenkit", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env=environment,
        )
    assert process.returncode == 1
    assert b"no space left" in process.stderr
    assert b"Traceback" not in process.stderr
    assert b"ignored" not in process.stderr


HOSTILE = [
    "<script>alert(1)</script>",
    "\x1b[31mred",
    "=cmd|' /C calc'!A0",
    "x" * 10_000,
    "[bold]b",
]


def test_hostile_labels_stay_text(data: Path) -> None:
    rows = [f'{x[0]},{x[1]},"{HOSTILE[int(x[0] > 0)]}"' for x in X]
    rows += [
        f'{i},{-i},"{label}"' for i, label in enumerate(HOSTILE[2:], start=8) for _ in range(5)
    ]
    Path("odd.csv").write_text("\n".join(["u,v,label", *rows]))
    run("fit", "odd.csv", "--labels", "label", "-m", "lda", "-o", "m.ek", "--no-quality")
    shown = run("inspect", "m.ek")
    assert "\x1b" not in shown
    assert "x" * 100 not in shown
    lines = run("predict", "m.ek", "odd.csv")
    assert "\n'=cmd" in lines
    assert "\n=cmd" in run("predict", "m.ek", "odd.csv", "--keep-formulas")


# -- as a program -----------------------------------------------------------------------


# The tests move to folders of their own, where a relative search path would lead nowhere.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(eigenkit.__file__).parents[1])}


def start(*arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "eigenkit", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.PIPE,
        env=ENVIRONMENT,
    )


# A shell starts what runs in its background with interruptions ignored.
SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from eigenkit.cli import run
from eigenkit.files._delimited import Delimited

blocks = Delimited.blocks

def slowly(self, n_rows):
    for block in blocks(self, n_rows):
        yield block
        print("asleep", flush=True)
        time.sleep(120)

Delimited.blocks = slowly
sys.argv = ["eigenkit", "predict", "m.ek", "data.csv", "-o", "p.csv"]
run()
"""


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_interruption_leaves_no_half_written_file(
    data: Path, number: signal.Signals, code: int
) -> None:
    fit()
    before = sorted(data.iterdir())
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    try:
        assert process.stdout.readline() == b"asleep\n"  # whenever that is, on a busy machine
        assert list(data.glob(".p.csv.*"))
        process.send_signal(number)
        _, errors = process.communicate(timeout=250)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == code
    assert b"Traceback" not in errors
    assert sorted(data.iterdir()) == before


EARLY = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class Impatient:
    def find_spec(self, name, *rest):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

from eigenkit.__main__ import main
sys.meta_path.insert(0, Impatient())
sys.argv = ["eigenkit", "inspect", "m.ek"]
main()
"""


@pytest.mark.parametrize("name", ["click", pytest.param("sklearn", marks=pytest.mark.slow)])
def test_an_interruption_of_the_start_is_one_sentence(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EARLY.format(name=name)], capture_output=True, env=ENVIRONMENT
    )
    assert done.returncode == 130
    assert done.stderr == b"error: interrupted: no output was written.\n"


def test_help_and_methods_import_nothing_heavy() -> None:
    for arguments in (["--help"], ["methods"]):
        program = (
            "import sys\nfrom eigenkit.cli import app\n"
            f"try: app({arguments!r})\nexcept SystemExit: pass\n"
            "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'pyarrow'} & set(sys.modules)\n"
            "sys.exit(f'imported {heavy}' if heavy else 0)"
        )
        process = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=False, env=ENVIRONMENT
        )
        assert process.returncode == 0, process.stderr


def test_version_and_module() -> None:
    process = start("--version")
    out, _ = process.communicate(timeout=250)
    assert out.decode().startswith("eigenkit ")
    assert process.returncode == 0


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_crash(data: Path) -> None:
    fit()
    Path("new.csv").write_text("f1,f2,f3,f4\n" + "1,2,3,4\n" * 50_000)
    process = start("predict", "m.ek", "new.csv")
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.stdin.close()
    assert process.wait(timeout=60) == 1
    assert b"Traceback" not in errors
