"""eigenkit annotate: fit, predict, compare and demo through the command line."""

from __future__ import annotations

import csv
import json
import re
import shlex

import pytest
from click.testing import CliRunner

from eigenkit.cli import app
from eigenkit.images import load_annotator, make_shapes
from eigenkit.images.shapes import write_folder

pytest.importorskip("PIL.Image", reason="needs the extra [images]")

FAST = ["--kernels", "hsv,thumbnail:pooled", "--size", "64x64", "--no-cache", "--jobs", "1"]


def run(*arguments):
    return CliRunner().invoke(app, ["annotate", *map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("shapes")
    write_folder(*make_shapes(24, size=64), place)
    write_folder(*make_shapes(6, size=64, random_state=1), place / "new")
    answer = run("fit", place / "images", place / "labels.csv", "--out", place / "m.ek", *FAST)
    assert answer.exit_code == 0, answer.output
    return place


def test_fit_says_what_it_did(folder):
    page = folder / "fit.html"
    answer = run(
        *("fit", folder / "images", folder / "labels.csv", "--out", folder / "m2.ek", "--json"),
        *("--report", page, *FAST),
    )
    record = json.loads(answer.stdout)
    assert record["n_sets"] == 24
    assert len(record["terms"]) == 9
    assert sum(record["weights"].values()) == pytest.approx(1)
    assert page.read_text().startswith("<!doctype html>")


def test_predict_writes_terms_and_a_page(folder):
    out, page = folder / "terms.csv", folder / "page.html"
    answer = run(
        *("predict", folder / "m.ek", folder / "new" / "images", "--out", out, "--no-cache"),
        *("--report", page, "--labels", folder / "new" / "labels.csv", "--proba"),
    )
    assert answer.exit_code == 0, answer.output
    assert re.search(r"mean AUC 0\.\d+, precision at one [01]\.\d+, mean F1 0\.\d+", answer.stderr)
    rows = list(csv.DictReader(out.open()))
    assert [row["set"] for row in rows] == [f"set000{i}" for i in range(6)]
    assert 0 <= float(rows[0]["ring"]) <= 1
    assert page.stat().st_size > 10_000
    assert f"wrote {page}, to open in a browser" in answer.stderr
    again = run("predict", folder / "m.ek", folder / "new" / "images", "--out", out, "--no-cache")
    assert again.exit_code == 1
    assert "the file exists: give --force" in again.stderr
    few = run("predict", folder / "m.ek", folder / "new" / "images", "--adapt", "--no-cache")
    assert few.exit_code == 1
    assert "given 6 sets, too few" in few.stderr


@pytest.mark.slow
def test_compare_recommends(folder):
    answer = run(
        *("compare", folder / "images", folder / "labels.csv", "--cv", "2", "--json", *FAST),
        *("--rivals", "set kernels, equal weights;mean of vectors, linear"),
    )
    record = json.loads(answer.stdout)
    assert record["recommended"] == record["methods"][0]["name"]
    assert len(record["methods"]) == 2


@pytest.mark.slow
def test_groups_are_read(folder, tmp_path):
    table = tmp_path / "groups.csv"
    table.write_text("set,group\n" + "".join(f"set{i:04d},{i // 3}\n" for i in range(30)))
    answer = run(
        *("compare", folder / "images", folder / "labels.csv", "--cv", "2", *FAST),
        *("--groups", table, "--rivals", "set kernels, equal weights"),
    )
    assert answer.exit_code == 0, answer.output
    assert "Recommended" in answer.output
    typed = shlex.split(" ".join(answer.stdout[answer.stdout.index("next: ") + 6 :].split()))
    assert typed[:3] == ["eigenkit", "annotate", "fit"]
    options = typed[typed.index("--groups") :]
    assert options[:2] == ["--groups", str(table)]
    told = " ".join(answer.stderr.split())
    assert "rows of the groups name sets without images (6): 'set0024', 'set0025'" in told
    out = tmp_path / "m.ek"
    fitted = run(
        *("fit", folder / "images", folder / "labels.csv", "--out", out, "--groups", table, *FAST),
    )
    assert fitted.exit_code == 0, fitted.output
    assert load_annotator(out)._groups_.tolist() == [i // 3 for i in range(24)]
    table.write_text("a,b\n")
    bad = run("compare", folder / "images", folder / "labels.csv", "--groups", table, *FAST)
    assert "it has no column 'set': its columns are ['a', 'b']" in bad.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "nowhere", "labels.csv", "--out", "m.ek"], "there is no such folder"),
        (["fit", "images", "labels.csv", "--out", "m.ek", "--size", "64"], "is not HEIGHTxWIDTH"),
        (
            ["fit", "images", "labels.csv", "--out", "m.ek", "--unseen-views", "--no-views"],
            "it compares all pictures",
        ),
        (["predict", "m.ek", "images"], "there is no such file"),
        (["compare", "images", "labels.csv", "--rivals", "none"], "is not one of"),
    ],
)
def test_mistakes_end_in_a_sentence(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = run(*arguments)
    assert answer.exit_code != 0
    assert message in answer.output.replace("\n", " ") + answer.stderr


def test_other_models_are_refused(folder):
    answer = CliRunner().invoke(app, ["inspect", str(folder / "m.ek")])
    assert answer.exit_code == 1
    assert "use eigenkit annotate predict" in answer.stderr


@pytest.mark.slow
def test_the_demo_finds_what_was_planted(tmp_path):
    answer = run("demo", "--out", tmp_path / "shapes", "--json")
    record = json.loads(answer.stdout)
    assert record["f1"] > 0.9
    assert (tmp_path / "shapes" / "shapes.html").stat().st_size > 10_000


@pytest.mark.parametrize("held", [None, [], ["kept"]])
def test_an_interrupted_demo_leaves_nothing_or_says_what(tmp_path, monkeypatch, held):
    def stop(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr("eigenkit.images.demo.read_sets", stop)
    monkeypatch.setattr("eigenkit.images.demo.N_TRAIN", 2)
    folder = tmp_path / "shapes"
    if held is not None:
        folder.mkdir()
    for name in held or []:
        (folder / name).touch()
    answer = run("demo", "--out", folder, "--force")
    assert answer.exit_code == 130
    drawn = f"what was drawn so far is in {folder}" in answer.stderr
    assert ("no output was written" in answer.stderr) != drawn == bool(held)
    assert folder.exists() == (held is not None)
    assert not folder.exists() or any(folder.iterdir()) == bool(held)


def test_a_folder_that_holds_something_is_no_place_for_the_demo(tmp_path):
    (tmp_path / "mine.csv").write_text("a\n1\n")
    answer = run("demo", "--out", tmp_path)
    assert answer.exit_code == 1
    assert "this folder is not empty: name another one, or give --force" in answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ("hsv,fox", "descriptor 'fox' is not known: choose one of"),
        ("hsv:fox", "kind='fox' is not known: give one of"),
    ],
)
def test_a_kernel_that_is_not_known_is_wrong_usage(folder, tmp_path, kernels, message):
    given = folder / "images", folder / "labels.csv", "--kernels", kernels
    answer = run("fit", *given, "--out", tmp_path / "x.ek")
    assert answer.exit_code == 2
    assert f"Invalid value for --kernels: {message}" in " ".join(answer.stderr.split())


def test_json_is_all_that_is_printed(folder):
    answer = run("predict", folder / "m.ek", folder / "new/images", "--json", "--no-cache")
    assert len(json.loads(answer.stdout)["sets"]) == 6


def test_a_wrong_folder_or_table_is_named(folder, tmp_path):
    out = ["--out", tmp_path / "x.ek", *FAST]
    above = run("fit", folder / "new", folder / "labels.csv", *out)
    assert "it names none of the sets: it has 'set0000', the folder 'images'" in above.output
    turned = run("fit", folder / "labels.csv", folder / "images", *out)
    assert "it is a file: give the folder of images." in turned.output
    assert not (tmp_path / "x.ek").exists()


@pytest.mark.slow
def test_figures_of_unseen_views_say_so_and_count_sets(tmp_path):
    sets, Y, terms = make_shapes(24, size=64)
    write_folder(sets, Y, terms, tmp_path)
    for one in sets:  # a second view of everything
        (tmp_path / "images" / one.name / "again").mkdir()
        for picture in list((tmp_path / "images" / one.name).rglob("*.png")):
            other = tmp_path / "images" / one.name / "again" / picture.name
            other.write_bytes(picture.read_bytes())
    words = ("fit", tmp_path / "images", tmp_path / "labels.csv", "--out", tmp_path / "m.ek")
    answer = run(*words, "--unseen-views", *FAST)
    assert answer.exit_code == 0, answer.output
    assert "every view of a set predicted by other sets without that view:" in answer.stdout
    most = re.search(r"^ *(\w+) +(\d+) ", answer.stdout.split("that view:")[1], re.MULTILINE)
    assert int(most[2]) == Y.sum(axis=0).max()
    equal = ("--cv", "2", "--rivals", "set kernels, equal weights", "--json")
    answer = run("compare", *words[1:3], *equal, "--unseen-views", *FAST)
    assert " --unseen-views " in json.loads(answer.stdout)["next"]


def test_terms_that_a_model_does_not_know_are_named(folder):
    known = folder / "more.csv"
    lines = (folder / "new" / "labels.csv").read_text().splitlines()
    assert lines[0] == "set,terms"
    known.write_text("\n".join([lines[0], *(f"{line}|dragon" for line in lines[1:])]))
    words = ("predict", folder / "m.ek", folder / "new" / "images", "--no-cache")
    answer = run(*words, "--out", folder / "t.csv", "--force", "--labels", known)
    assert answer.exit_code == 0, answer.output
    told = " ".join(answer.stderr.split())
    assert "terms of the labels are not known to the model and do not count (1): 'dragon'" in told
    carried = {term for line in lines[1:] for term in line.split(",")[1].split("|")} - {""}
    assert f"{len(carried)} terms of the model that some of these sets carry, AUC over" in told
    record = json.loads(run(*words, "--labels", known, "--json").stdout)
    assert set(record["quality"]["terms of F1"]) == carried
    assert set(record["quality"]["terms of AUC"]) <= carried
    assert any("'dragon'" in note for note in record["notes"])
