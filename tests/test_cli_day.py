"""An analyst's day: from files as people have them to a decision, by the command line."""

from __future__ import annotations

import codecs
import csv
import re
import shlex
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from conftest import slow_but
from eigenkit import PCA, MultiviewCCA, PLSRegression
from eigenkit.analysis import bootstrap
from eigenkit.cli._console import Forecast, _in_other_letters, _Lines, table
from eigenkit.estimators.registry import find
from eigenkit.files import Reading, open_file
from eigenkit.models import load
from eigenkit.models._choosing import InMemory
from test_cli import CLASS, CLASS_OPTIONS, TAG_OPTIONS, data, run, run_json  # noqa: F401

RNG = np.random.default_rng(11)


def write_rows(path: str, names: list[str], rows: list) -> None:
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def spectra(folder: Path) -> Path:
    """Collinear columns and two responses of five hidden sources."""
    rng = np.random.default_rng(11)  # the same for every test, whichever ran before
    T = rng.normal(size=(80, 5))
    X = T @ rng.normal(size=(5, 20)) + 0.05 * rng.normal(size=(80, 20))
    Y = T @ rng.normal(size=(5, 2)) + 0.1 * rng.normal(size=(80, 2))
    names = [f"nm{j}" for j in range(20)] + ["fat", "water"]
    write_rows("spectra.csv", names, np.hstack([X, Y]).round(5).tolist())
    write_rows("test.csv", names, np.hstack([X, Y])[:20].round(5).tolist())
    return folder


NUMBERS = ["--labels", "fat,water"]


@pytest.mark.slow
def test_numbers_are_compared_by_what_they_explain(spectra: Path) -> None:
    record = run_json("compare", "spectra.csv", *NUMBERS, "-m", "pls,cca", "--cv", "3")
    scores = {m["name"]: m["scores"] for m in record["methods"]}
    assert record["data"]["kind"] == "numbers"
    assert scores["pls"]["r2"]["mean"] > 0.9 > 0 > scores["mean"]["r2"]["mean"]
    assert set(scores["pls"]) >= {"r2", "rmse", "mae", "r2:0", "r2:1"}
    more = ["--report", "page.html"]
    text = run("compare", "spectra.csv", *NUMBERS, "-m", "pls,cca", "--cv", "3", *more)
    assert "RMSE" in Path("page.html").read_text()
    for part in ("R2", "RMSE", "MAE", "Scores by response", "water", "ridge regression"):
        assert part in text


def test_the_command_after_a_comparison_runs_as_it_stands(spectra: Path) -> None:
    record = run_json("compare", "spectra.csv", *NUMBERS, "-m", "cca", "--cv", "3")
    words = shlex.split(record["next"])
    assert words[:5] == ["eigenkit", "fit", "spectra.csv", "--method", "cca"]
    assert "R2" in run(*words[1:])
    assert Path("model.ek").exists()


def test_the_command_after_a_comparison_says_all_that_fit_takes_again(spectra: Path) -> None:
    Path("bare.csv").write_text("\n".join(Path("spectra.csv").read_text().splitlines()[1:]))
    words = ["--labels", "20,21", "--no-header", "--encoding", "latin-1", "--random-state", "3"]
    record = run_json("compare", "bare.csv", *words, "-m", "cca", "--cv", "2", "--alphas", "1,10")
    again = record["next"]
    for part in (
        "--no-header",
        "--encoding latin-1",
        "--random-state 3",
        "--alpha cv --alphas 1,10",
    ):
        assert part in again
    assert run_json(*shlex.split(again)[1:])["fitted"]["alpha_search"]["alphas"] == [1.0, 10.0]


def test_the_command_after_a_comparison_says_what_fit_has_on_top(data: Path) -> None:  # noqa: F811
    words = ["compare", "data.csv", *TAG_OPTIONS, "-m", "cca", "--cv", "2", "--alphas", "none"]
    told = run(*words, "--classifier", "knn", "--report", "page.html")
    clause = (
        "(fit predicts with a linear SVM, not with 5 nearest neighbours on its scores as here):"
    )
    assert f"To fit cca on all rows {clause}" in " ".join(told.split())
    assert clause in Path("page.html").read_text()
    assert "To fit cca on all rows:" in run(*words)
    options = ["--labels", "tag_a", "--ignore", "class,tag_b,tag_c", "--no-baselines"]
    told = run("compare", "data.csv", *options, "-m", "lda", "--cv", "2")
    clause = "(fit predicts with lda itself, not with linear SVM on its scores as here):"
    assert f"To fit lda on all rows {clause}" in " ".join(told.split())
    assert "lda reached 0." in told  # and is not ahead of others


def test_a_comparison_on_a_test_file(spectra: Path) -> None:
    record = run_json("compare", "spectra.csv", *NUMBERS, "-m", "cca", "--test", "test.csv")
    assert record["protocol"]["n_splits"] == 1
    assert record["protocol"]["n_train"] == 80
    assert record["protocol"]["n_test"] == 20


def test_pls_takes_as_many_components_as_cross_validation_says(spectra: Path) -> None:
    found = run_json("fit", "spectra.csv", *NUMBERS, "-m", "pls", "-o", "m.ek")
    assert 4 <= found["n_components"] <= 8
    assert found["fitted"]["component_search"]["score"] == "R2"
    assert "components (by cross-validation)" in run("inspect", "m.ek")
    two = run_json("fit", "spectra.csv", *NUMBERS, "-m", "pls", "--components", "2", "-o", "n.ek")
    assert two["n_components"] == 2
    assert two["fitted"]["quality"]["mean"] < found["fitted"]["quality"]["mean"]
    some = run_json(
        "fit", "spectra.csv", *NUMBERS, "-m", "opls", "--components", "cv", "-o", "o.ek"
    )
    assert some["n_components"] in (1, 2)


def test_a_comparison_of_methods_without_alpha_does_not_say_that_it_was_chosen(
    folder: Path,
) -> None:
    run("example", "flowers.csv")
    words = ["compare", "flowers.csv", "--labels", "species", "--cv", "2", "--methods"]
    assert "Alpha chosen" not in run(*words, "pca")
    assert "Alpha chosen" in run(*words, "pca,cca")


@pytest.mark.parametrize("method", slow_but(["rgcca", "sparse_cca"], "sparse_cca"))
def test_methods_that_need_a_number_of_components_find_it(folder: Path, method: str) -> None:
    """No more than a view, or y, has: here 3 and 2, of 6 features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    Y = (X[:, [0, 4]] + X[:, [3, 1]] + 0.3 * rng.normal(size=(120, 2)) > 0).astype(int)
    names = "a_1,a_2,a_3,b_1,b_2,b_3,tag_1,tag_2"
    np.savetxt("two.csv", np.hstack([X, Y]), delimiter=",", header=names, comments="")
    views = ["--views", "a_*,b_*"] if method == "rgcca" else []
    words = ["fit", "two.csv", "--labels", "tag_*", "-m", method, *views]
    found = run_json(*words, "-o", "found.ek")
    assert 1 < found["n_components"] <= 3
    one = run_json(*words, "--components", "1", "-o", "one.ek")
    assert one["fitted"]["quality"]["mean"] < found["fitted"]["quality"]["mean"] - 0.05


def test_the_grid_of_alphas_grows_until_the_best_is_inside(spectra: Path) -> None:
    rows = list(csv.reader(Path("spectra.csv").read_text().splitlines()))
    big = [[*(str(1e4 * float(v)) for v in row[:20]), *row[20:]] for row in rows[1:]]
    for row in big[::2]:  # one column far larger than the others draws the grid upwards
        row[0] = str(1e9 * float(row[0]))
    write_rows("big.csv", rows[0], big)
    search = run_json("fit", "big.csv", *NUMBERS, "--alpha", "cv", "-o", "m.ek")["fitted"][
        "alpha_search"
    ]
    best = int(np.argmax(search["mean_score"]))
    assert search["at_the_end"] == (best in (0, len(search["alphas"]) - 1))
    assert "alpha chosen among" in run("inspect", "m.ek")


def test_score_tells_how_good_a_model_is(data: Path, spectra: Path) -> None:  # noqa: F811
    run("fit", "spectra.csv", *NUMBERS, "-m", "pls", "-o", "m.ek", "--no-quality")
    found = run_json("score", "m.ek", "test.csv")
    assert found["scores"]["R2"] > 0.9
    assert [row["response"] for row in found["targets"]] == ["fat", "water"]


def test_score_of_classes_and_labels(data: Path) -> None:  # noqa: F811
    run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "-o", "m.ek", "--no-quality")
    found = run_json("score", "m.ek", "data.csv")
    predicted = [r[0] for r in list(csv.reader(run("predict", "m.ek", "data.csv").splitlines()))]
    truth = [row["class"] for row in csv.DictReader(Path("data.csv").read_text().splitlines())]
    right = np.mean([p == t for p, t in zip(predicted[1:], truth, strict=True)])
    assert found["scores"]["accuracy"] == pytest.approx(right)
    assert sum(row["rows"] for row in found["targets"]) == 90
    sure = list(csv.DictReader(run("predict", "m.ek", "data.csv", "--proba").splitlines()))
    for row in found["targets"]:
        P = [float(line[f"probability {row['class']}"]) for line in sure]
        area = roc_auc_score([t == row["class"] for t in truth], P)
        assert row["AUC"] == pytest.approx(area)
    run("fit", "data.csv", *TAG_OPTIONS, "-m", "cca", "-o", "t.ek", "--no-quality")
    assert run_json("score", "t.ek", "data.csv")["scores"]["mean AUC over labels"] > 0.9
    Path("bare.csv").write_text("f1,f2,f3,f4\n1,2,3,4\n")
    assert "holds no labels" in run("score", "t.ek", "bare.csv", code=1)


@pytest.mark.parametrize("method", ["lda", "plsda"])
def test_rows_are_ranked_by_probabilities_where_a_method_has_them(
    data: Path,  # noqa: F811
    method: str,
) -> None:
    """Scores of LDA share a term within a row, so that the AUC of a class between others was .5."""
    x = np.arange(60.0)
    lines = [f"{v},{(7 * v) % 5},{'abc'[int(v // 20)]}" for v in x]
    Path("line.csv").write_text("\n".join(["u,v,class", *lines]) + "\n")
    run("fit", "line.csv", "--labels", "class", "-m", method, "--no-quality", "-o", "m.ek")
    table = list(csv.DictReader(run("predict", "m.ek", "line.csv", "--proba").splitlines()))
    found = run_json("score", "m.ek", "line.csv")["targets"]
    for k, row in enumerate(found):
        p = np.array([float(line[f"probability {row['class']}"]) for line in table])
        inside, outside = p[x // 20 == k][:, None], p[x // 20 != k]
        wins = np.mean(inside > outside) + np.mean(inside == outside) / 2
        assert row["AUC"] == pytest.approx(wins)
    assert method != "lda" or min(row["AUC"] for row in found) > 0.99


def test_a_letter_in_pieces_is_the_same_letter(data: Path) -> None:  # noqa: F811
    """Names, classes and categories, in text, Parquet and options."""
    rows = [f"{k % 7},{'Köln' if k % 3 else 'Bonn'},{'été' if k % 2 else 'x'}" for k in range(40)]
    whole = "\n".join(["größe,ort,class", *rows]) + "\n"
    Path("one.csv").write_text(whole, encoding="utf-8")
    Path("pieces.csv").write_text(unicodedata.normalize("NFD", whole), encoding="utf-8")
    both = whole + "\n".join(unicodedata.normalize("NFD", row) for row in rows) + "\n"
    Path("both.csv").write_text(both, encoding="utf-8")
    options = ["--labels", "class", "-m", "lda", "--categorical", "ort", "--no-quality"]
    width = unicodedata.normalize("NFD", "größe")
    record = run_json("fit", "both.csv", *options, "--ignore", width, "-o", "b.ek")
    assert (record["targets"], record["n_features"]) == (["x", "été"], 2)
    run("fit", "one.csv", *options, "-o", "m.ek", "--no-quality")
    plain = run("predict", "m.ek", "one.csv", "-o", "-")
    assert run("predict", "m.ek", "pieces.csv") == plain
    assert run_json("score", "m.ek", "pieces.csv") == run_json("score", "m.ek", "one.csv")
    pandas = pytest.importorskip("pandas")
    pandas.read_csv("pieces.csv").to_parquet("pieces.parquet")
    assert run("predict", "m.ek", "pieces.parquet") == plain


@pytest.mark.parametrize("cell", ["F", "10/28/2025", "12 kg"])
def test_advice_names_no_option_that_a_command_lacks(data: Path, cell: str) -> None:  # noqa: F811
    run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "--no-quality", "-o", "m.ek")
    Path("bad.csv").write_text(f"f1,f2,f3,f4,class\n1,2,3,{cell},red\n")
    for name in ("predict", "score", "explain"):
        said = run(name, "m.ek", "bad.csv", code=1)
        assert "column 'f4' holds text" in said
        assert not re.search("--(labels|ignore|categorical|text)", said)


def test_absent_columns_are_told_with_those_that_are_there(data: Path) -> None:  # noqa: F811
    run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "--no-quality", "-o", "m.ek")
    Path("upper.csv").write_text("F1,f2,f3,f4\n1,2,3,4\n")
    said = run("predict", "m.ek", "upper.csv", code=1)
    assert "not there: 'f1'; it has 'F1', 'f2', 'f3', 'f4'." in said


def test_a_search_for_components_says_nothing_of_models_that_are_not_kept(
    data: Path,  # noqa: F811
) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (60, 20))
    X[:, 19] = X[:, 18]  # so that there is a component less than features
    names = ",".join([*(f"w{j}" for j in range(20)), "class"])
    lines = [",".join([*map(str, row), "ab"[k % 2]]) for k, row in enumerate(X)]
    Path("words.csv").write_text("\n".join([names, *lines]) + "\n")
    options = ["--labels", "class", "-m", "plsda", "--no-quality", "-o", "m.ek"]
    record = run_json("fit", "words.csv", *options, "--random-state", "3")
    assert record["n_components"] < 20
    assert record["notes"] == []


def test_one_row_is_no_rows(data: Path) -> None:  # noqa: F811
    run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "--no-quality", "-o", "m.ek")
    Path("one.csv").write_text("f1,f2,f3,f4\n1,2,3,4\n")
    assert "wrote 1 row to out.csv" in run("predict", "m.ek", "one.csv", "-o", "out.csv")
    assert "it has 1 row:" in run("explain", "m.ek", "one.csv", "--row", "2", code=1)


def test_an_unknown_class_is_told_with_those_that_are_known(data: Path) -> None:  # noqa: F811
    run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "--no-quality", "-o", "m.ek")
    text = Path("data.csv").read_text().replace(",red,", ",purple,", 1)
    Path("new.csv").write_text(text)
    said = run("score", "m.ek", "new.csv", code=1)
    assert (
        "the class 'purple', which none of the training rows has ('blue', 'green', 'red')" in said
    )


def test_predictions_with_names_ranks_and_probabilities(data: Path) -> None:  # noqa: F811
    run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "-o", "m.ek", "--no-quality")
    text = run("predict", "m.ek", "data.csv", "--keep", "tag_a", "--proba")
    rows = list(csv.DictReader(text.splitlines()))
    assert list(rows[0])[:2] == ["tag_a", "class"]
    P = np.array([[float(v) for k, v in row.items() if "probability" in k] for row in rows])
    np.testing.assert_allclose(P.sum(axis=1), 1)
    two = list(csv.DictReader(run("predict", "m.ek", "data.csv", "--top", "2").splitlines()))
    assert len(two) == 180
    assert [row["row"] for row in two[:3]] == ["1", "1", "2"]
    assert float(two[0]["score"]) >= float(two[1]["score"])
    run("fit", "data.csv", *TAG_OPTIONS, "-m", "cca", "-o", "t.ek", "--no-quality")
    long = list(csv.DictReader(run("predict", "t.ek", "data.csv", "--long").splitlines()))
    wide = list(csv.DictReader(run("predict", "t.ek", "data.csv").splitlines()))
    assert len(long) == sum(int(v) for row in wide for v in row.values())
    assert "has no probabilities" in run("predict", "t.ek", "data.csv", "--proba", code=1)


def people(n: int) -> list[list[str]]:
    rows = []
    for i in range(n):
        city, age = ["New York", "York", "Rome"][i % 3], 20 + i % 40
        bought = "yes" if (city == "York") == (i % 7 > 0) else "no"
        day = f"2024-{1 + i % 12:02}-{1 + i % 28:02}"
        rows.append(
            [f"p{i}", "" if i % 9 == 0 else str(age), city, "true" if i % 2 else "false", day]
        )
        rows[-1].append(bought)
    return rows


NAMES = ["id", "age", "city", "member", "since", "bought"]
OPTIONS = ["--labels", "bought", "--index", "id", "--categorical", "city", "--missing", "median"]


def test_columns_as_people_have_them(folder: Path) -> None:
    write_rows("people.csv", NAMES, people(120))
    message = " ".join(run("fit", "people.csv", "--labels", "bought", "-o", "m.ek", code=1).split())
    assert "2 columns hold text ('id', 'city'): add --categorical city --index id" in message
    found = run_json("fit", "people.csv", *OPTIONS, "-m", "lda", "-o", "m.ek")
    assert found["n_features"] == 6
    assert run_json("score", "m.ek", "people.csv")["scores"]["accuracy"] > 0.8
    assert "categories" not in run("predict", "m.ek", "people.csv", "-o", "all.csv")
    new = people(3)
    new[0][2] = "Paris"
    write_rows("new.csv", NAMES[:-1], [row[:-1] for row in new])
    predicted = run("predict", "m.ek", "new.csv", "--keep", "id", "-o", "p.csv")
    assert "holds categories that the model was not fitted on ('Paris')" in predicted
    assert Path("p.csv").read_text().startswith("id,bought\np0,")
    record = run_json("compare", "people.csv", *OPTIONS, "-m", "lda", "--cv", "3")
    assert "--categorical city" in record["next"]
    assert "--missing median" in record["next"]


def test_missing_values_are_learned_on_training_rows_alone(folder: Path) -> None:
    from eigenkit.models import Preparation

    X = np.array([[1.0, np.nan], [3.0, 5.0], [1e9, 7.0]])
    prepare = Preparation("mean", "standard")(X[:2])
    np.testing.assert_allclose(prepare(X[:2])[:, 1], [5.0, 5.0])
    np.testing.assert_allclose(prepare(X)[2], [1e9, 7.0])


def test_a_forgotten_separator_is_suspected(folder: Path) -> None:
    rows = [
        [i % 5, i % 7, "; ".join(sorted({"abcdefgh"[i % 8], "abcdefgh"[i % 5]}))] for i in range(80)
    ]
    write_rows("tags.csv", ["u", "v", "tags"], rows)
    text = run("fit", "tags.csv", "--labels", "tags", "-m", "cca", "-o", "m.ek")
    assert "--label-separator ';'" in text


def test_a_row_without_labels_shows_the_separator_of_the_others(folder: Path) -> None:
    write_rows("a.csv", ["u", "tags"], [[i, "|".join("abc"[: i % 4])] for i in range(40)])
    said = run("fit", "a.csv", "--labels", "tags", "-o", "m.ek", code=1)
    assert "or give --label-separator '|' if rows may have several, or none." in said
    write_rows("a.csv", ["u", "y"], [[i, "abc"[: i % 2]] for i in range(40)])
    said = run("fit", "a.csv", "--labels", "y", "-o", "m.ek", code=1)
    assert "or give --label-separator if rows may have several, or none." in said


@pytest.mark.parametrize(
    ("cell", "hint"),
    [
        ("{}.{:03},50", "look like numbers: if they are, give --decimal comma --thousands point."),
        ("{}{} mg", "look like numbers: if they are, write them without units."),
        ("{}{}", "are numbers: if they measure something, give --task numbers."),
        ("person {}/{}", "for 30 rows: is this the column of labels?"),
    ],
)
def test_many_classes_that_may_be_something_else(folder: Path, cell: str, hint: str) -> None:
    rows = [[i % 5, i % 7, cell.format(1 + i % 20, i % 20)] for i in range(30)]
    write_rows("a.csv", ["u", "v", "y"], rows)
    text = run("fit", "a.csv", "--labels", "y", "-o", "m.ek", "--no-quality")
    assert re.search(f"20 classes such as '.*' {re.escape(hint)}", text)
    assert "--task numbers" not in run(
        "fit", "a.csv", "--labels", "y", "--task", "classes", "-o", "n.ek", "--no-quality"
    )


def test_marks_in_several_columns_of_labels_are_named(folder: Path) -> None:
    rows = [[i, f"{i}.{i:03},5", f"{i},5"] for i in range(1, 20)]
    write_rows("a.csv", ["u", "y", "z"], rows)
    text = run("fit", "a.csv", "--labels", "y,z", "-o", "m.ek", code=1)
    assert "must hold numbers, or yes and no: give --decimal comma --thousands point." in text


def test_a_wrong_name_is_blamed_on_its_option(data: Path) -> None:  # noqa: F811
    assert "--methods" in run("compare", "data.csv", *CLASS_OPTIONS, "--methods", "ldaa", code=2)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--label-separator", "", "--label-separator: it is empty"),
        ("--alphas", "-7", "--alphas: '-7' is not a number of at least 0"),
        ("--alphas", "1,nan", "--alphas: 'nan' is not a number of at least 0"),
        ("--alphas", ",", "--alphas: ',' holds no number"),
        ("--encoding", "nosuch", "--encoding: 'nosuch' is not known"),
        ("--encoding", "a\0b", "--encoding: 'a\\x00b' is not known"),
    ],
)
def test_a_wrong_value_is_blamed_on_its_option(
    data: Path,  # noqa: F811
    option: str,
    value: str,
    message: str,
) -> None:
    shown = run("compare", "data.csv", *CLASS_OPTIONS, "-m", "lda", option, value, code=2)
    assert message in " ".join(shown.split())


def test_a_missing_test_file_is_noticed_before_any_work(data: Path) -> None:  # noqa: F811
    more = ["-m", "lda", "--test", "nosuch.csv"]
    assert "nosuch.csv: there is no" in run("compare", "no.csv", *CLASS_OPTIONS, *more, code=1)


def test_a_separator_that_separates_nothing_is_questioned(folder: Path) -> None:
    rows = [[i % 5, i % 7, "ab"[i % 5 > 2]] for i in range(40)]
    write_rows("tags.csv", ["u", "v", "tags"], rows)
    words = ["--labels", "tags", "--label-separator", "#", "-m", "lda", "-o", "m.ek"]
    assert "no row has several labels with '#'" in run("fit", "tags.csv", *words)


def test_columns_kept_by_a_pattern_have_their_own_names(data: Path) -> None:  # noqa: F811
    run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "-o", "m.ek", "--no-quality")
    for keep in ("f[12]", "1,2"):
        rows = list(csv.reader(run("predict", "m.ek", "data.csv", "--keep", keep).splitlines()))
        assert rows[0] == ["f1", "f2", "class"]
        assert len(rows[1]) == 3


@pytest.mark.parametrize("method", slow_but(["plsda", "sparse_plsda"], "plsda"))
def test_components_of_classifiers_are_chosen_by_what_they_tell(folder: Path, method: str) -> None:
    run("example", "flowers.csv")
    words = ["--labels", "species", "-m", method, "-o", "m.ek", "--force"]
    chosen = run_json("fit", "flowers.csv", *words, "--components", "cv")
    search = chosen["fitted"]["component_search"]
    n = chosen["fitted"]["params"]["n_components"]
    assert search["mean_score"][n - 1] == max(search["mean_score"])
    rows = pd.read_csv("flowers.csv")
    X, y = rows.drop(columns="species").to_numpy(), rows["species"].to_numpy(dtype=object)
    for l in {1, 2, n}:
        found = []
        for train, test in InMemory("classes", y, y, 5, 0).splits():
            model = find(method).make(n_components=l).fit(X[train], y[train])
            scores = model.predict_proba(X[test])
            found += [
                roc_auc_score(y[test] == c, s)
                for c, s in zip(model.classes_, scores.T, strict=True)
            ]
        assert search["mean_score"][l - 1] == pytest.approx(np.mean(found))


# -- missing values ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "svmlight"])
@pytest.mark.parametrize("values", [["u", "v"], [1.5, 2.25]])
def test_score_leaves_rows_without_a_label_out(folder: Path, kind: str, values: list[Any]) -> None:
    rows = [[i % 7, i % 5, values[i % 7 > 3]] for i in range(60)]

    def put(name: str, rows: list[list[Any]]) -> None:
        if kind == "csv":
            write_rows(name, ["a", "b", "y"], rows)
        else:
            Path(name).write_text("".join(f"{y} 1:{a + 1} 2:{b + 1}\n" for a, b, y in rows))

    put("a.dat", rows)
    labels = ["--labels", "y"] if kind == "csv" else []
    run(
        "fit",
        "a.dat",
        *labels,
        "-m",
        "lda" if values[0] == "u" else "opls",
        "--out",
        "m.ek",
        "--no-quality",
    )
    put("some.dat", [r for i, r in enumerate(rows) if i not in (4, 41)])
    right = run_json("score", "m.ek", "some.dat")
    for i in (4, 41):
        rows[i][2] = ""
    put("gaps.dat", rows)
    found = run_json("score", "m.ek", "gaps.dat")
    assert found["notes"] == ["gaps.dat: 2 of 60 rows miss a label and are left out."]
    assert found["scores"] == right["scores"]
    put("none.dat", [[*row[:2], ""] for row in rows])
    assert "none of its rows has a label" in run("score", "m.ek", "none.dat", code=1)


@pytest.fixture
def cities(folder: Path) -> Path:
    """A table with a category that is missing in some rows, written in two ways."""
    rows = [[i % 7, ["Rome", "Oslo", "none"][i % 3], "uv"[i % 7 > 3]] for i in range(60)]
    write_rows("whole.csv", ["x", "city", "y"], rows)
    rows[4][1], rows[41][1] = "", "NA"
    write_rows("gaps.csv", ["x", "city", "y"], rows)
    write_rows("left.csv", ["x", "city", "y"], [r for i, r in enumerate(rows) if i not in (4, 41)])
    return folder


@pytest.mark.parametrize("how", [[], ["--stream"]])
def test_missing_categories_obey_missing(cities: Path, how: list[str]) -> None:
    lda = ["--labels", "y", "--categorical", "city", "-m", "lda", "-o", "m.ek", "--force"]
    told = run("fit", "gaps.csv", *lda, *how, code=1)
    assert "the category in row 5, column 'city' is missing: give --missing mean" in told
    run("fit", "left.csv", *lda, *how, "--no-quality")
    right = run("transform", "m.ek", "whole.csv")
    run("fit", "gaps.csv", *lda, *how, "--missing", "drop", "--no-quality")
    assert load("m.ek").how["n_rows"] == 58
    assert run("transform", "m.ek", "whole.csv") == right
    assert "2 of 60 rows miss a value and are left out" in run("score", "m.ek", "gaps.csv")
    assert "the category in row 5" in run("predict", "m.ek", "gaps.csv", code=1)
    told = run("fit", "gaps.csv", *lda, *how, "--missing", "mean")
    assert "column 'city' has no category in some rows: they count as none" in told
    assert load("m.ek").features.feature_names() == ["x", "city=Oslo", "city=Rome", "city=none"]
    assert "they count as none" in run("predict", "m.ek", "gaps.csv")


def test_compare_and_test_obey_missing_for_categories(cities: Path) -> None:
    options = ["gaps.csv", "--labels", "y", "--categorical", "city", "-m", "lda"]
    for command in (["compare", "--no-baselines"], ["test", "--permutations", "9"]):
        assert "the category in row 5" in run(*command, *options, code=1)
        assert "2 of 60 rows miss a value" in run(*command, *options, "--missing", "drop")


def test_a_category_that_a_sparse_file_leaves_out_is_the_first(tmp_path: Path) -> None:
    head = "@relation a\n@attribute x numeric\n@attribute k {red,blue}\n@attribute y {u,v}\n@data\n"
    (tmp_path / "a.arff").write_text(head + "{0 1, 1 blue}\n{0 2, 2 v}\n")
    options = Reading(labels=("y",), categorical=("k",))
    (block,) = open_file(str(tmp_path / "a.arff"), options).blocks(10)
    assert block.text == {"k": ["blue", "red"]}


@pytest.fixture
def holed(spectra: Path) -> Path:
    """The spectra, of which some values are missing."""
    rows = list(csv.reader(Path("spectra.csv").read_text().splitlines()))
    rng = np.random.default_rng(2)
    gaps = rng.random((80, 20)) < 0.05
    cells = [
        [*("" if gap else v for gap, v in zip(own, row[:20], strict=True)), *row[20:]]
        for own, row in zip(gaps, rows[1:], strict=True)
    ]
    write_rows("holed.csv", rows[0], cells)
    classes = [[*row[:20], "high" if float(row[20]) > 0 else "low"] for row in cells]
    write_rows("classes.csv", [*rows[0][:20], "class"], classes)
    return spectra


KEPT = ["--missing", "keep"]


def test_gaps_are_kept_for_methods_that_skip_them(holed: Path) -> None:
    words = ["--components", "4", *KEPT, "-o", "m.ek"]
    found = run_json("fit", "holed.csv", *NUMBERS, "-m", "pls", *words)
    assert found["fitted"]["quality"]["mean"] > 0.9
    table = np.genfromtxt("holed.csv", delimiter=",", skip_header=1)
    model = PLSRegression(4, algorithm="nipals").fit(table[:, :20], table[:, 20:])
    Z = list(csv.reader(run("transform", "m.ek", "holed.csv").splitlines()))[1:]
    assert np.allclose(np.array(Z, dtype=float), model.transform(table[:, :20]), atol=1e-8)
    assert run_json("score", "m.ek", "holed.csv")["scores"]["R2"] > 0.9
    row = str(1 + int(np.argmax(np.isnan(table).any(axis=1))))
    assert "misses 'nm" in run("explain", "m.ek", "holed.csv", "--row", row, code=1)


def test_rows_with_gaps_that_are_left_out_are_counted(holed: Path) -> None:
    rows = list(csv.reader(Path("classes.csv").read_text().splitlines()))[1:]
    complete = sum("" not in row for row in rows)
    words = ["--labels", "class", "-m", "lda", "--missing", "drop"]
    note = f"classes.csv: {80 - complete} of 80 rows miss a value and are left out."
    assert note in run("fit", "classes.csv", *words, "-o", "m.ek")
    assert note in run("compare", "classes.csv", *words, "--cv", "2")
    assert note in run("score", "m.ek", "classes.csv")
    assert run_json("score", "m.ek", "classes.csv")["rows"] == complete
    assert "is missing" in run("predict", "m.ek", "classes.csv", code=1)


@pytest.mark.parametrize("test", [False, True])
def test_rows_are_counted_as_in_the_file_with_those_that_are_left_out(
    folder: Path, test: bool
) -> None:
    """A sample that is drawn or wrong has the number that ``explain --row`` takes."""
    rng = np.random.default_rng(3)  # noise, of which much is predicted wrongly
    cells = [[*rng.normal(size=3).round(3), "abc"[i]] for i in rng.integers(3, size=60)]
    for i in (0, 1, 7, 30):
        cells[i][0] = ""
    write_rows("classes.csv", ["x", "y", "z", "class"], cells)
    complete = [i for i, row in enumerate(cells) if row[0] != ""]
    words = ["--labels", "class", "-m", "lda", "--missing", "drop", "--no-baselines"]
    more = ["--test", "classes.csv"] if test else ["--cv", "2"]
    record = run_json("compare", "classes.csv", *words, *more, "--alphas", "none")
    begins = record["protocol"]["test_begins"]
    assert begins == (complete[-1] + 1 if test else 0)
    drawn = complete + [begins + i for i in complete if test]
    assert record["points"]["rows"] == drawn
    worst = record["methods"][0]["worst"]
    names = [label["name"] for label in record["data"]["labels"]]
    assert worst
    for found in worst:
        assert cells[found["row"] - begins][-1] == names[found["truth"][0]]


def test_a_baseline_that_is_simpler_is_no_command_to_fit(spectra: Path) -> None:
    """The headline says which method the command at the end is about."""
    told = run("compare", "spectra.csv", *NUMBERS, "-m", "opls", "--cv", "3")
    assert "simplest of them is ridge regression, and of the methods opls." in " ".join(
        told.split()
    )
    assert "To fit opls on all rows:" in told


def test_lists_are_wrapped_and_not_cut(folder: Path) -> None:
    assert "…" not in run("methods")
    assert "…" not in run("example")


def test_principal_components_of_rows_with_gaps(holed: Path) -> None:
    words = ["--labels", "class", "-m", "pca", "--components", "5", "--scale", "standard"]
    found = run_json("fit", "classes.csv", *words, *KEPT, "-o", "m.ek")
    assert found["fitted"]["quality"]["mean"] > 0.8
    X = np.genfromtxt("classes.csv", delimiter=",", skip_header=1, usecols=range(20))
    Z = np.array(list(csv.reader(run("transform", "m.ek", "classes.csv").splitlines()))[1:], float)
    model = PCA(5, solver="nipals").fit(X / np.nanstd(X, axis=0))
    assert np.allclose(Z, model.transform(X / np.nanstd(X, axis=0)), atol=1e-8)


def test_methods_that_skip_gaps_are_compared_with_means(holed: Path) -> None:
    """Also the baselines work, with means in the gaps, and the next command keeps them too."""
    words = ["-m", "pls", *KEPT, "--cv", "3", "--components", "4"]
    record = run_json("compare", "holed.csv", *NUMBERS, *words)
    scores = {m["name"]: m["scores"]["r2"]["mean"] for m in record["methods"]}
    assert scores["pls"] > 0.9
    assert scores["ridge regression"] > 0.5
    assert "--missing keep" in record["next"]
    words = ["--labels", "class", "-m", "pca", *KEPT, "--cv", "3", "--components", "3"]
    record = run_json("compare", "classes.csv", *words)
    assert [m["failures"] for m in record["methods"]] == [[], [], []]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "-m", "cca", "-o", "m.ek"], "--missing: cca cannot skip missing values"),
        (["compare", "-m", "pls,cca"], "use one of probabilistic_cca, bayesian_cca, pls, pca"),
        (["fit", "-m", "pls", "--stream", "-o", "m.ek"], "--missing: keep needs all rows"),
        (["test", "-m", "pls"], "--missing: a test needs complete rows"),
    ],
)
def test_gaps_that_cannot_be_kept(holed: Path, words: list[str], message: str) -> None:
    name, *more = words
    shown = run(name, "holed.csv", *NUMBERS, *KEPT, *more, code=2)
    assert message in " ".join(shown.split())


# -- time and stability -----------------------------------------------------------------


def test_long_work_is_forecast_from_its_first_part(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 4.0, 8.0, 12.0, 40.0])
    monkeypatch.setattr("eigenkit.cli._console.time.monotonic", lambda: next(clock))
    said: list[str] = []
    forecast = Forecast(5, "split", said.append)
    for done in (0, 1, 2, 3):
        forecast.at(done, 10)
    assert said == ["the first split took 8 s: about 32 s more"]
    clock = iter([0.0, 1000.0, 1100.0])
    forecast = Forecast(5, "split", said.append)
    for done in (3, 4, 5):  # goes on from what was kept
        forecast.at(done, 40)
    assert said[1:] == ["1 of 40 steps took 1000 s: about 600 minutes more"]


def test_long_work_is_forecast_before_it_begins() -> None:
    said: list[str] = []
    forecast = Forecast(5, "split", said.append)
    forecast.roughly(1.0, 4.0, 30)
    forecast.roughly(50.0, 240.0, 50)
    assert said == ["a trial on 50 rows suggests roughly 50 s to 4 minutes in all"]
    forecast.roughly(295.0, 305.0, 50)
    assert said.pop() == "a trial on 50 rows suggests roughly 5 minutes in all"


def test_what_was_done_before_is_no_measure_of_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 40.0])
    monkeypatch.setattr("eigenkit.cli._console.time.monotonic", lambda: next(clock))
    lines = _Lines()
    for done in (60, 62):
        lines.advance(done, 100, "a step")
    assert capsys.readouterr().err == "a step (40 s, about 760 s left)\n"


@pytest.mark.parametrize(
    "where", ["eigenkit.evaluation.evaluate", "eigenkit.cli._compare.Forecast.at"]
)
def test_an_interrupted_comparison_says_what_it_has_kept(
    data: Path,  # noqa: F811
    where: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(*args: Any, **how: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, stop)
    begun = where.endswith("at")
    words = [*CLASS_OPTIONS, "-m", "lda", "--cv", "3", "-o", "r.json"]
    told = run("compare", "data.csv", *words, code=130)
    assert ("is kept in r.json.partial" in told) == Path("r.json.partial").exists() == begun
    assert ("no output was written" in told) == (not begun)


def test_compare_and_fit_say_what_they_will_do(
    data: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [*CLASS_OPTIONS, "-m", "lda", "--cv", "3"]
    told = "comparing 1 method and the baselines on 90 rows and 4 features, in 3 splits"
    assert told in run("compare", "data.csv", *words)
    monkeypatch.setattr("eigenkit.models._choosing.LARGE", 0)
    monkeypatch.setattr("eigenkit.models._choosing.WORTH_SAYING", 0.0)
    words = [*CLASS_OPTIONS, "-m", "lda", "--alpha", "cv", "--alphas", "1,2", "--cv", "3"]
    said = " ".join(run("fit", "data.csv", *words, "-o", "m.ek").split())
    assert re.search(
        r"the choice by cross-validation needs at most 10 fits, about \d+ s or less", said
    )


def test_stability_of_selected_features(spectra: Path) -> None:
    words = ["-m", "sparse_pls", "--components", "2", "--set", "keep_x=5", "--stability", "20"]
    found = run_json("fit", "spectra.csv", *NUMBERS, *words, "-o", "m.ek")["fitted"]["stability"]
    table = np.loadtxt("spectra.csv", delimiter=",", skiprows=1)
    model = load("m.ek").estimator
    expected = bootstrap(model, table[:, :20], table[:, 20:], n_bootstraps=20)
    rows = {f["feature"]: f["selected"] for f in found["components"][0]["features"]}
    assert rows == {f"nm{j}": expected.selection[j, 0] for j in range(20)}
    assert list(rows.values()) == sorted(rows.values(), reverse=True)
    shown = run("inspect", "m.ek", "--report", "m.html")
    assert "stability over 20 resamples of the rows" in shown
    assert "Features by their stability" in Path("m.html").read_text()
    for more, message in (
        (["--stream", "-m", "cca"], "--stability: it needs all rows in memory"),
        (["--missing", "keep", "-m", "pls"], "it cannot be combined with --missing keep"),
    ):
        words = [*NUMBERS, "--stability", "20", *more, "-o", "n.ek"]
        assert message in " ".join(run("fit", "spectra.csv", *words, code=2).split())


# -- views ------------------------------------------------------------------------------


@pytest.fixture
def views(folder: Path) -> Path:
    """Three views of two hidden sources, of which the first is the class."""
    rng = np.random.default_rng(3)
    T = rng.normal(size=(80, 2))
    X = np.hstack([T @ rng.normal(size=(2, d)) + 0.5 * rng.normal(size=(80, d)) for d in (4, 5, 3)])
    names = [f"{v}_{j}" for v, d in zip("abc", (4, 5, 3), strict=True) for j in range(d)]
    rows = [[*x, "yes" if t > 0 else "no"] for x, t in zip(X.tolist(), T[:, 0], strict=True)]
    write_rows("views.csv", [*names, "class"], rows)
    return folder


VIEWS = ["--labels", "class", "--views", "a_*", "b_*", "c_*"]


def test_views_make_the_model_that_python_makes(views: Path) -> None:
    found = run_json("fit", "views.csv", "-m", "multiview_cca", *VIEWS, "-o", "m.ek")
    assert [v["n_features"] for v in found["views"]] == [4, 5, 3]
    X = np.loadtxt("views.csv", delimiter=",", skiprows=1, usecols=range(12))
    model = MultiviewCCA(groups=np.repeat([0, 1, 2], [4, 5, 3])).fit(X)
    Z = np.array(list(csv.reader(run("transform", "m.ek", "views.csv").splitlines()))[1:], float)
    assert np.allclose(Z, model.transform(X), atol=1e-12)
    assert run_json("score", "m.ek", "views.csv")["scores"]["accuracy"] > 0.85
    assert "a_* (4 features), b_* (5 features), c_* (3 features)" in run("inspect", "m.ek")


def test_views_have_a_kernel_each(views: Path) -> None:
    found = run_json("fit", "views.csv", "-m", "kernels_star", *VIEWS, "-o", "m.ek")
    weights = [v["weight"] for v in found["views"]]
    assert sum(weights) == pytest.approx(1.0)
    assert load("m.ek").estimator.kernels_[1].columns == [4, 5, 6, 7, 8]
    assert run_json("score", "m.ek", "views.csv")["scores"]["accuracy"] > 0.85


def test_without_views_every_kernel_has_all_features(views: Path) -> None:
    found = run_json("fit", "views.csv", "-m", "kernels_clique", "--labels", "class", "-o", "m.ek")
    assert found["views"] == []
    assert len(load("m.ek").estimator.weights_) > 1
    assert run_json("score", "m.ek", "views.csv")["scores"]["accuracy"] > 0.85
    assert "kernels_clique" in run("inspect", "m.ek")


@pytest.mark.slow
def test_views_are_compared_and_tested(views: Path) -> None:
    words = [*VIEWS, "-m", "multiview_cca,lda", "--cv", "3", "--no-baselines"]
    record = run_json("compare", "views.csv", *words)
    assert all(m["failures"] == [] for m in record["methods"])
    again = shlex.split(record["next"])[1:]
    found = run_json(*again)
    assert found["method"] == again[3]  # with views only where the method takes them
    Path("model.ek").unlink()
    every = ["eigenkit", "fit", "views.csv", "--method", "multiview_cca"]
    alone = run_json("compare", "views.csv", *VIEWS, "-m", "multiview_cca", "--cv", "3")
    words = shlex.split(alone["next"])
    assert words[:5] == every
    assert run_json(*words[1:])["views"][2] == {"view": "c_*", "n_features": 3}
    test = ["--permutations", "99", "--views", "a_*,b_*", "c_*", "--ignore", "class"]
    found = run_json("test", "views.csv", "-m", "multiview_cca", *test)
    assert found["n_significant"] == 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-m", "multiview_cca"], 2, "--views: multiview_cca needs patterns of views"),
        (["-m", "lda", "--views", "a_*", "b_*"], 2, "--views: they are used only by multiview_cca"),
        (["-m", "multiview_cca", "--views", "a_*", "z*"], 1, "no feature is named 'z*' (--views)"),
        (["-m", "multiview_cca", "--views", "a_*", "b_*"], 1, "are in no view (--views): add a"),
        (["-m", "multiview_cca", "--views", "*", "b_*"], 1, "are in several views (--views)"),
        (["-m", "multiview_cca", "--views", "*"], 1, "only one view (--views): give patterns"),
    ],
)
def test_views_that_cannot_be(views: Path, words: list[str], code: int, message: str) -> None:
    shown = run("fit", "views.csv", "--labels", "class", *words, "-o", "m.ek", code=code)
    assert message in " ".join(shown.split())


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 100])
def test_output_fits_the_terminal(data: Path, monkeypatch, columns: int) -> None:  # noqa: F811
    monkeypatch.setenv("COLUMNS", str(columns))
    text = run("compare", "data.csv", *CLASS_OPTIONS, "-m", "lda", "--cv", "2") + run("methods")
    shown, _, command = text.partition("To repeat the run")
    assert max(len(line) for line in shown.splitlines()) <= columns
    assert command


# -- a model for people and for other programs ------------------------------------------


@pytest.mark.slow
def test_examples_are_written_once(folder: Path) -> None:
    assert run_json("example")["files"]
    for name in run_json("example")["files"]:
        assert run_json("example", name)["rows"] > 10
    assert "the file exists" in run("example", "tags.csv", code=1)
    assert "is not one of tags.csv" in " ".join(run("example", "x.csv", code=2).split())


AFFINE = [("flowers.csv", "species", "lda"), ("flowers.csv", "species", "cca")]
AFFINE += [("tags.csv", "tag_*", "star"), ("spectra.csv", "fat,water", "pls")]
AFFINE += [("spectra.csv", "fat,water", "cca"), ("tags.csv", "tag_*", "pca")]


def fit_example(name: str, labels: str, method: str, *options: str) -> None:
    """A model of a file that comes along, as m.ek."""
    run("example", name)
    run("fit", name, "--labels", labels, "-m", method, *options, "-o", "m.ek", "--no-quality")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "labels", "method"), AFFINE)
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_an_explanation_adds_up_to_the_score(
    folder: Path, name: str, labels: str, method: str, scale: str
) -> None:
    fit_example(name, labels, method, "--scale", scale)
    found = run_json("explain", "m.ek", name, "--row", "7", "--top", "3")
    assert found["labels"]
    for item in found["labels"]:
        parts = sum(f["adds"] for f in item["features"]) + item["other_features"]
        assert item["average_score"] + parts == pytest.approx(item["score"])
        assert sum(item["components"]) == pytest.approx(parts, rel=1e-6, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "labels", "method"), AFFINE)
def test_an_exported_model_says_the_same(folder: Path, name: str, labels: str, method: str) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from eigenkit.files import Reading, open_file, read
    from eigenkit.models import load

    fit_example(name, labels, method, "--missing", "mean")
    run("export", "m.ek", "--onnx", "m.onnx", "--csv", "w.csv")
    model = load("m.ek")
    block = read(open_file(name, Reading(labels=tuple(labels.split(","))))).block()
    block.X[3, 1] = np.nan
    session = runtime.InferenceSession("m.onnx")
    found = dict(
        zip([o.name for o in session.get_outputs()], session.run(None, {"X": block.X}), strict=True)
    )
    told, S = model.predict("", block)
    np.testing.assert_allclose(found["components"], model.transform("", block), atol=1e-6)
    if model.target.kind == "numbers":
        np.testing.assert_allclose(found["prediction"], told.reshape(len(told), -1), atol=1e-6)
    else:
        np.testing.assert_allclose(found["scores"], S, atol=1e-6)
        names = np.array(model.target.names)
        label = names[found["label"]] if model.target.kind == "classes" else found["label"]
        assert np.array_equal(label, told)
    rows = list(csv.reader(Path("w.csv").read_text().splitlines()))
    assert len(rows) == model.features.n_features + 2


@pytest.mark.parametrize("method", ["kernel_lda", "kernel_star", "regec", "gepsvm"])
def test_what_looks_flat_far_from_the_data_is_not_explained_as_if_it_were(
    folder: Path, method: str
) -> None:
    """Zero and the unit vectors are far from these rows, where a Gaussian kernel is 0."""
    rng = np.random.default_rng(0)
    rows = [[*(1e3 + 10 * k + rng.normal(size=3)), "abc"[k]] for k in range(3) for _ in range(20)]
    text = "\n".join(",".join(map(str, row)) for row in rows)
    Path("far.csv").write_text("u,v,w,class\n" + text)
    run("fit", "far.csv", "--labels", "class", "-m", method, "--no-quality", "-o", "far.ek")
    for words in (["explain", "far.ek", "far.csv"], ["export", "far.ek", "--csv", "far_w.csv"]):
        assert "is not an affine map of the features" in run(*words, code=1)
    assert not Path("far_w.csv").exists()


def test_export_says_that_gaps_cannot_be_skipped_elsewhere(folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    rows = [["" if i % 5 == 0 else a, b, c, a + b] for i, (a, b, c) in enumerate(X.tolist())]
    write_rows("a.csv", ["a", "b", "c", "y"], rows)
    pls = ["--labels", "y", "-m", "pls", "--components", "2", "--no-quality"]
    run("fit", "a.csv", *pls, "--missing", "keep", "--out", "keep.ek", "--no-quality")
    run("fit", "a.csv", *pls, "--missing", "mean", "--out", "mean.ek", "--no-quality")
    note = "skips missing values, but the exported model cannot"
    assert note in run("export", "keep.ek", "--csv", "w.csv")
    assert note not in run("export", "mean.ek", "--csv", "w.csv", "--force")


def test_what_is_not_affine_is_not_exported(folder: Path) -> None:
    run("example", "flowers.csv")
    run("fit", "flowers.csv", "--labels", "species", "-m", "kernel_lda", "--set", 'kernel="rbf"',
        "-o", "m.ek", "--no-quality")  # fmt: skip
    message = " ".join(run("export", "m.ek", "--csv", "w.csv", code=1).split())
    assert "is not an affine map of the features" in message
    assert not Path("w.csv").exists()


def test_the_usual_methods_are_compared_unless_all_are_asked_for(
    data: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[list[str]] = []

    def evaluate(X: Any, y: Any, methods: Any, **_: Any) -> None:
        asked.append(list(methods))
        raise ValueError("enough")

    monkeypatch.setattr("eigenkit.evaluation.evaluate", evaluate)
    for more in ([], ["--methods", "all"]):
        run("compare", "data.csv", *CLASS_OPTIONS, *more, code=1)
    assert asked[0] == ["cca", "opls", "lda", "star", "mlda", "plsda", "pca", "regec"]
    assert set(asked[0]) < set(asked[1])


def test_a_column_that_counts_the_rows_is_told_of(folder: Path) -> None:
    rng = np.random.default_rng(0)
    rows = ["id,visit,width,kind"]
    rows += [f"{i + 700},{i % 7},{x:.3f},{'ab'[i % 2]}" for i, x in enumerate(rng.random(40))]
    Path("a.csv").write_text("\n".join(rows))
    fit = ("fit", "a.csv", "--labels", "kind", "-m", "lda", "--force", "-o", "m.ek")
    told = "1 column counts the rows and is a feature ('id'): name the rows with --index"
    assert told in " ".join(run(*fit).split())
    assert "counts the rows" not in run(*fit, "--index", "id")
    assert "counts the rows" not in run(*fit, "--ignore", "id")
    run(*fit)
    assert "counts the rows" not in run("score", "m.ek", "a.csv")  # it is too late


def test_what_is_no_table_is_not_written_to_a_file_named_minus(folder: Path) -> None:
    run("example", "flowers.csv")
    run("fit", "flowers.csv", "--labels", "species", "-m", "lda", "-o", "m.ek", "--no-quality")
    for arguments in (
        ("fit", "flowers.csv", "--labels", "species", "-m", "lda", "--out", "-"),
        ("export", "m.ek", "--csv", "-"),
        ("export", "m.ek", "--onnx", "-"),
        ("inspect", "m.ek", "--report", "-"),
        ("compare", "flowers.csv", "--labels", "species", "--report", "-"),
    ):
        assert "needs a file: name one" in run(*arguments, code=1)
        assert not Path("-").exists()


def test_a_narrow_table_stays_a_table_on_a_narrow_terminal(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    found = table(["metric", "value"], [["mean AUC over labels", "0.8226"]], right=(1,))
    assert found.splitlines()[-1] == "mean AUC over labels  0.8226"


def test_what_a_model_is_fits_a_narrow_terminal(folder: Path, monkeypatch) -> None:
    run("example", "flowers.csv")
    run("fit", "flowers.csv", "--labels", "species", "-m", "lda", "-o", "m.ek", "--no-quality")
    monkeypatch.setenv("COLUMNS", "40")
    for words in (["inspect", "m.ek"], ["score", "m.ek", "flowers.csv"]):
        shown = run(*words).splitlines()
        assert max(map(len, shown)) <= 40
    assert any("petal_length" in line for line in run("inspect", "m.ek").splitlines())
    words = ["fit", "flowers.csv", "--labels", "species", "-m", "plsda", "--force", "-o", "m.ek"]
    sentences, _, commands = run(*words).partition("next:")
    assert max(map(len, sentences.splitlines())) <= 40
    assert all(line.startswith("  eigenkit ") for line in commands.strip("\n").splitlines())


@pytest.mark.parametrize("columns", [40, 80])
def test_short_help_is_not_cut(monkeypatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for group in ([], ["annotate"]):
        shown = run(*group, "--help")
        assert "..." not in shown.partition("Commands:")[2]
        assert max(map(len, shown.splitlines()[1:])) <= columns


def test_signs_that_a_code_page_lacks_become_others() -> None:
    codecs.register_error("eigenkit", _in_other_letters)
    text = "2019\u20132021, \u201cred\u201d \u2212 1\u202f000, it\u2019s \u00e9"
    assert text.encode("ascii", "eigenkit") == b'2019-2021, "red" - 1 000, it\'s \\xe9'
    assert "\u2013\u2192".encode("cp1252", "eigenkit") == b"\x96\\u2192"


@pytest.mark.parametrize(
    ("name", "labels", "method"),
    [("flowers.csv", "species", "pls"), ("spectra.csv", "fat,water", "lda")],
)
def test_what_fit_cannot_fit_is_not_compared(
    folder: Path, name: str, labels: str, method: str
) -> None:
    run("example", name)
    for command in (["compare"], ["fit", "-o", "m.ek"]):
        message = run(*command, name, "--labels", labels, "-m", method, code=1)
        assert f"{method} does not learn from" in message


def test_a_test_file_is_read_as_the_training_file_was(folder: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [[*(rng.normal(size=3) + 2 * (i % 2)), "uv"[i % 2], i] for i in range(60)]
    write_rows("train.csv", ["a", "b", "c", "class", "id"], rows[:40])
    write_rows("test.csv", ["a", "b", "c", "class", "id"], rows[40:])
    write_rows("moved.csv", ["class", "c", "a", "b"], [[r[3], r[2], r[0], r[1]] for r in rows[40:]])
    command = ["compare", "train.csv", "--labels", "class", "--ignore", "id", "-m", "lda", "--test"]
    same, moved = (run_json(*command, name)["methods"] for name in ("test.csv", "moved.csv"))
    assert [m["scores"] for m in same] == [m["scores"] for m in moved]
    write_rows("less.csv", ["a", "class", "b"], [[r[0], r[3], r[1]] for r in rows[40:]])
    assert "not there: 'c'" in run(*command, "less.csv", code=1)
    write_rows("strange.csv", ["a", "b", "c", "class"], [[*r[:3], "x"] for r in rows[40:]])
    assert "it holds the class 'x'" in run(*command, "strange.csv", code=1)


def test_a_model_knows_how_its_numbers_were_written(folder: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 2)) * 3000 + 20000 + 9000 * (np.arange(60) % 2)[:, None]
    rows = [";".join(f"{v:,.0f}".replace(",", ".") for v in row) for row in values]
    lines = [f"{row};{'uv'[i % 2]}\n" for i, row in enumerate(rows)]
    Path("a.csv").write_text("a;b;class\n" + "".join(lines))
    marks = ["--thousands", ".", "--decimal", ","]
    run("fit", "a.csv", "--labels", "class", "-m", "lda", "--out", "m.ek", *marks, "--no-quality")
    assert run("predict", "m.ek", "a.csv") == run("predict", "m.ek", "a.csv", *marks)
    plain = [f"{a:.0f};{b:.0f};u\n" for a, b in values]
    Path("b.csv").write_text("a;b;class\n" + "".join(plain))
    assert run("predict", "m.ek", "b.csv") == run("predict", "m.ek", "a.csv")


def _written(rows: list[list[float]], decimal: str, thousands: str, mark: str) -> str:
    """The same table with other marks in its numbers."""
    swap = str.maketrans({",": thousands, ".": decimal})
    lines = [
        mark.join([*(f'"{v:,.2f}"'.translate(swap) for v in row), "uv"[i % 2]])
        for i, row in enumerate(rows)
    ]
    return "\n".join([mark.join(["a", "b", "class"]), *lines]) + "\n"


MARKS = {
    "us": (".", ",", ","),
    "dec": (",", "", ";"),
    "de": (",", ".", ";"),
    "plain": (".", "", ","),
}


def test_a_file_that_contradicts_the_marks_of_the_model_is_read_by_its_own(folder: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 2)) * 2000 + 900 * (np.arange(60) % 2)[:, None]
    for name, (decimal, thousands, mark) in MARKS.items():
        Path(f"{name}.csv").write_text(_written(values.tolist(), decimal, thousands, mark))
    lda = ["--labels", "class", "-m", "lda"]
    asked = {"us": ["--thousands", ","], "de": ["--decimal", ",", "--thousands", "."]}
    for name, marks in asked.items():
        run("fit", f"{name}.csv", *lda, *marks, "--out", f"{name}.ek", "--no-quality")
        right, own = (run(verb, f"{name}.ek", f"{name}.csv") for verb in ("transform", "score"))
        compared = ["compare", f"{name}.csv", *lda, *marks, "--no-baselines", "--test"]
        expected = run_json(*compared, f"{name}.csv")["methods"]
        for other in ("dec", "plain"):
            assert run("transform", f"{name}.ek", f"{other}.csv") == right
            scored = run("score", f"{name}.ek", f"{other}.csv")
            assert scored[scored.index("metric") :] == own[own.index("metric") :]
            found = run_json(*compared, f"{other}.csv")["methods"]
            assert found[0]["scores"] == expected[0]["scores"]
    # What neither the model nor the file explains is refused, not read as something else.
    assert "is a number" in run("transform", "us.ek", "de.csv", code=1)


def test_classes_that_are_asked_for_are_words(folder: Path) -> None:
    rows = [[i % 7, i % 3, "12"[i % 7 > 3]] for i in range(600)]
    for i in (550, 551, 552, 553):
        rows[i][2] = ["01", "n"][i % 2]
    write_rows("a.csv", ["a", "b", "y"], rows)
    options = ["--labels", "y", "--task", "classes"]
    for more in (["--no-quality"], ["--stream"], ["--checkpoint", "state.ek"]):
        run("fit", "a.csv", *options, "-m", "lda", "-o", "m.ek", "--force", *more, "--no-quality")
        assert load("m.ek").target.names == ("01", "1", "2", "n")
        run("score", "m.ek", "a.csv")
    record = run_json("compare", "a.csv", *options, "-m", "lda", "--no-baselines", "--cv", "2")
    assert sorted(c["name"] for c in record["data"]["labels"]) == ["01", "1", "2", "n"]


def test_words_are_learned_from_the_rows_that_stay_in_blocks_too(folder: Path) -> None:
    words = ["red", "blue", "green", "dark", "light"]
    rows = [[i % 7, f"{words[i % 5]} {words[i % 3]}", "uv"[i % 2]] for i in range(60)]
    for row in rows[::6]:
        row[0], row[1] = "", "seldom"
    write_rows("a.csv", ["x", "t", "class"], rows)
    fit = ["fit", "a.csv", "--labels", "class", "--text", "t", "-m", "lda", "--missing", "drop"]
    run(*fit, "--out", "whole.ek")
    run(*fit, "--out", "blocks.ek", "--stream")
    write_rows("b.csv", ["x", "t"], [row[:2] for row in rows if row[1] != "seldom"])
    scores = [run_scores(name) for name in ("whole.ek", "blocks.ek")]
    np.testing.assert_allclose(*scores, rtol=1e-8)


def run_scores(model: str) -> np.ndarray:
    lines = run("predict", model, "b.csv", "--scores").splitlines()[1:]
    return np.array([line.split(",")[1:] for line in lines], dtype=float)


def test_nothing_is_printed_before_the_first_rows_are_done(data: Path) -> None:  # noqa: F811
    run("fit", "data.csv", *TAG_OPTIONS, "-m", "star", "--out", "m.ek", "--no-quality")
    out = run("predict", "m.ek", "data.csv", "--proba", code=1)
    assert out.startswith("error: star has no probabilities")


def test_explain_speaks_of_other_features_where_there_are_some(folder: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [[*(rng.normal(size=3) + i % 2), "uv"[i % 2]] for i in range(40)]
    write_rows("a.csv", ["a", "b", "c", "class"], rows)
    run("fit", "a.csv", "--labels", "class", "-m", "lda", "--out", "m.ek", "--no-quality")
    assert "all other features" not in run("explain", "m.ek", "a.csv", "--top", "3")
    assert "all other features" in run("explain", "m.ek", "a.csv", "--top", "2")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--alpha", "1", "--set", "alpha=3"], "alpha is given by --alpha as well"),
        (["--components", "1", "--set", "n_components=2"], "is given by --components as well"),
        (["--components", "cv"], "lda predicts with all components"),
        (["--ngrams", "2"], "it is used only with --text"),
        (["--unencrypted"], "it is used only with --dask"),
        (["--cv", "3", "--no-quality"], "--cv: nothing is chosen or measured by cross-validation"),
        (["--cv", "3", "--stream"], "--cv: nothing is chosen or measured by cross-validation"),
        (["-m", "lda,cca"], "'lda,cca' names 2 methods: give one"),
        (["-m", "plsda", "--alpha", "5"], "--alpha: plsda has no parameter 'alpha'"),
    ],
)
def test_options_that_contradict_each_other_are_refused(data, more, message) -> None:  # noqa: F811
    text = run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "--out", "m.ek", *more, code=2)
    assert message in " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--test", "data.csv", "--cv", "3"], "--test: the test file is the only split: leave out"),
        (["--test", "data.csv", "--repeats", "1"], "leave out --repeats"),
        (["--test", "t.csv", "--train-size", "0.5", "--cv", "2"], "out --cv and --train-size"),
        (["--train-size", "0.5", "--cv", "5"], "random partitions have no folds"),
        (["--methods", ""], "'' names no method"),
    ],
)
def test_splits_that_exclude_each_other_are_refused(data, more, message) -> None:  # noqa: F811
    text = run("compare", "data.csv", *CLASS_OPTIONS, "-m", "lda", *more, code=2)
    assert message in " ".join(text.split())


def test_a_comparison_without_a_result_says_why(data: Path, monkeypatch) -> None:  # noqa: F811
    words = ["compare", "data.csv", *CLASS_OPTIONS, "-m", "lda", "--no-baselines"]
    text = run(*words, "--train-size", "0.99", "--alphas", "none")
    assert "The methods cannot be ranked: mean AUC over labels is not defined" in text
    monkeypatch.setattr("eigenkit.LDA.fit", lambda *args: 1 / 0)
    text = run(*words, "--cv", "2", "--out", "run.json", code=1)
    assert "No method gave a result" in text
    assert "division by zero" in Path("run.json").read_text()
    assert "No method gave a result" in run("report", "run.json")


# -- places ---------------------------------------------------------------------------------


def test_no_output_takes_the_place_of_an_input_or_of_another_output(
    data: Path,  # noqa: F811
) -> None:
    words = [*CLASS_OPTIONS, "-m", "lda"]
    run("fit", "data.csv", *words, "-o", "m.ek", "--no-quality")
    run("compare", "data.csv", *words, "--cv", "2", "--alphas", "none", "-o", "c.json")
    Path("link.csv").symlink_to("data.csv")
    before = {path: path.read_bytes() for path in data.iterdir()}
    follow = ["follow", "data.csv", "--model"]
    for command in (
        ["fit", "data.csv", *words, "-o", "./data.csv", "--force"],
        ["fit", "dat*.csv", *words, "-o", "link.csv", "--force"],
        ["fit", "data.csv", *words, "-o", "n.ek", "--checkpoint", "n.ek"],
        ["predict", "m.ek", "link.csv", "-o", "data.csv", "--force"],
        ["transform", "m.ek", "data.csv", "-o", str(data / "data.csv"), "--force"],
        ["compare", "data.csv", *words, "-o", "data.csv", "--force"],
        ["compare", "data.csv", *words, "-o", "b.x", "--report", "./b.x"],
        ["compare", "data.csv", *words, "-o", "b.x", "--report", "b.x.partial"],
        ["compare", "data.csv", *words, "--test", "c.json", "-o", "c.json", "--force"],
        ["export", "m.ek", "--csv", "m.ek", "--force"],
        ["export", "m.ek", "--csv", "w.x", "--onnx", "w.x"],
        ["inspect", "m.ek", "--report", "m.ek", "--force"],
        ["report", "c.json", "--html", "c.json", "--force"],
        ["merge", "m.ek", "n.ek", "-o", "m.ek", "--force"],
        [*follow, "data.csv", "--checkpoint", "s.ek"],
        [*follow, "m.ek", "--checkpoint", "m.ek"],
        ["annotate", "fit", ".", "data.csv", "-o", "data.csv", "--force"],
        ["annotate", "predict", "m.ek", ".", "-o", "m.ek", "--force"],
        ["annotate", "compare", ".", "data.csv", "--report", "data.csv", "--force"],
    ):
        assert "of this command: name another file" in run(*command, code=1), command
    assert {path: path.read_bytes() for path in data.iterdir()} == before


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_what_is_kept_and_what_is_predicted_have_names_of_their_own(
    data: Path,  # noqa: F811
    suffix: str,
) -> None:
    run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "-o", "m.ek", "--no-quality")
    names = ["class", "predicted class", "probability blue", "probability green", "probability red"]
    how = ["--keep", "class", "--proba", "-o", f"p.{suffix}"]
    assert run_json("predict", "m.ek", "data.csv", *how)["columns"] == names
    if suffix == "npz":
        found = np.load("p.npz")
        assert np.array_equal(found["class"], CLASS)
        assert set(found["predicted class"]) == {*CLASS}
    else:
        told = Reading(labels=("class",), categorical=("predicted class",))
        assert open_file(f"p.{suffix}", told).feature_names == names[2:]
    long = ["--keep", "class", "--long", "--force", "-o", f"p.{suffix}"]
    found = run_json("predict", "m.ek", "data.csv", *long)["columns"]
    assert found == ["class", "row", "predicted class", "score"]


def test_what_has_no_place_in_npz_is_refused(data: Path) -> None:  # noqa: F811
    Path("x.csv").write_text(Path("data.csv").read_text().replace("class", "X", 1))
    run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "-o", "m.ek", "--no-quality")
    message = run("predict", "m.ek", "x.csv", "--keep", "X", "--proba", "-o", "p.npz", code=1)
    assert "NPZ has no place for a column named 'X'" in message
    both = ["--long", "--proba", "--scores"]
    assert "choose --scores or --proba" in run("predict", "m.ek", "data.csv", *both, code=2)


def test_fit_says_where_predictions_use_other_components(data: Path) -> None:  # noqa: F811
    told = run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "--components", "1", "-o", "m.ek")
    assert "1 component (predictions use all)" in told
    assert "leave --stream out" in run(
        "fit", "data.csv", *CLASS_OPTIONS, "-m", "kernel_lda", "--stream", "-o", "k.ek", code=1
    )


def test_scores_that_are_not_defined_are_null(data: Path) -> None:  # noqa: F811
    run("fit", "data.csv", *CLASS_OPTIONS, "-m", "lda", "-o", "m.ek", "--no-quality")
    head = Path("data.csv").read_text().splitlines()[:2]
    Path("one.csv").write_text("\n".join(head))
    assert run_json("score", "m.ek", "one.csv")["scores"]["mean AUC over labels"] is None


# -- kinds of columns -----------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_model_knows_which_columns_held_dates(folder: Path, suffix: str) -> None:
    rng = np.random.default_rng(0)
    days = np.arange(60).astype("datetime64[D]")
    columns = {"day": days, "ok": rng.random(60) > 0.5, "n": rng.normal(size=60)}
    classes = np.where(np.arange(60) < 30, "u", "v")

    def write(name: str, **changed: Any) -> str:
        frame = pd.DataFrame({**columns, **changed, "class": classes})
        path = f"{name}.{suffix}"
        frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
        return path

    path = write("a")
    run("fit", path, "--labels", "class", "-m", "lda", "-o", "m.ek", "--no-quality")
    assert load("m.ek").how["found"]["kinds"] == {"day": "date", "ok": "yes or no"}
    numbers = np.char.replace(days.astype(str), "-", "").astype(int)
    for changed, message in (
        ({"day": numbers}, "date"),
        ({"ok": columns["ok"] + 1}, "yes or no"),
        ({"n": days}, "it holds dates, but held numbers"),
    ):
        other = write("b", **changed)
        for command in (["predict", "m.ek", other], ["score", "m.ek", other]):
            assert message in run(*command, code=1)
        words = ["compare", path, "--labels", "class", "-m", "lda", "--test", other]
        assert message in run(*words, code=1)
    same = write("c", ok=columns["ok"].astype(int))
    assert run("predict", "m.ek", same) == run("predict", "m.ek", path)
    write("b", day=numbers)
    words = ["fit", f"[ab].{suffix}", "--labels", "class", "-m", "lda", "-o", "n.ek"]
    assert "column 'day': it holds dates where" in " ".join(run(*words, code=1).split())


def test_compare_chooses_the_components_of_pls_for_classes_as_fit_does(folder: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(120) % 6
    X = rng.normal(size=(6, 10))[y] * 2 + rng.normal(size=(120, 10))
    write_rows(
        "six.csv", [*"abcdefghij", "class"], [[*row, f"c{k}"] for row, k in zip(X, y, strict=True)]
    )
    found = run_json("compare", "six.csv", "--labels", "class", "-m", "plsda", "--cv", "3")
    (method,) = [m for m in found["methods"] if m["name"] == "plsda"]
    assert "ComponentsCV" in str(method)
    assert method["seconds"]["choose components"]["mean"] > 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["compare", "a.csv", "--methods", "ldaa"], "--methods: method 'ldaa' is not known"),
        (["fit", "a.csv"], "--out"),
        (["fit", "a.csv", "--nosuch"], "--nosuch"),
        (["nosuch"], "nosuch"),
        (["annotate", "fit", "--nosuch"], "--nosuch"),
        (["annotate", "nosuch"], "nosuch"),
    ],
)
def test_wrong_usage_is_json_where_that_is_asked_for(words: list[str], told: str) -> None:
    found = run_json(*words, code=2)
    assert found["code"] == 2
    assert told in found["error"]


def test_sentences_fit_a_narrow_terminal_and_stay_whole_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    words = ["inspect", "a model that is called by many words, but is not there.ek"]
    whole = run(*words, code=1)
    assert whole == f"error: {words[1]}: there is no such file.\n"
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True)
    lines = run(*words, code=1).splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(lines) == whole.strip()


@pytest.fixture
def skewed(folder: Path) -> Path:
    """Nine of ten rows are of one class, which is never far off."""
    rng = np.random.default_rng(5)
    rare = rng.random(600) < 0.1
    X = rng.normal(size=(600, 6)) + 0.9 * rare[:, None] * np.array([1, 1, 0, 0, 0, 0])
    rows = [[*x.round(4), "churned" if r else "kept"] for x, r in zip(X, rare, strict=True)]
    names = [*"abcdef", "status"]
    write_rows("old.csv", names, rows[:300])
    write_rows("new.csv", names, rows[300:])
    return folder


SKEWED = ["--labels", "status", "--cv", "3"]


@pytest.mark.parametrize("method", ["lda", pytest.param("cca", marks=pytest.mark.slow)])
def test_fit_chooses_alpha_as_compare_does(skewed: Path, method: str) -> None:
    run("fit", "old.csv", *SKEWED, "-m", method, "--alpha", "cv", "-o", "m.ek", "--no-quality")
    record = run_json("compare", "old.csv", *SKEWED, "-m", method)
    compared = next(m for m in record["methods"] if m["name"] == method)
    search = load("m.ek").how["alpha_search"]
    assert search["score"] == "mean AUC"
    assert max(search["mean_score"]) == pytest.approx(compared["scores"]["auc"]["mean"], abs=0.05)
    told = run_json("score", "m.ek", "new.csv")["scores"]
    assert told["mean AUC over labels"] > 0.75


def test_fit_says_when_the_features_do_not_help(skewed: Path) -> None:
    told = "this is no better than always predicting the most common class (0.8"
    fitted = run("fit", "old.csv", *SKEWED, "-m", "lda", "--alpha", "1e5", "-o", "m.ek")
    assert told in " ".join(fitted.split())
    assert told in " ".join(run("inspect", "m.ek").split())
    rng = np.random.default_rng(0)
    lines = rng.normal(size=(60, 4)).round(3).tolist()
    write_rows("noise.csv", [*"abcd"], lines)
    words = run("fit", "noise.csv", "--labels", "d", "--task", "numbers", "-m", "pls", "-o", "n.ek")
    assert "no better than always predicting the mean" in " ".join(words.split())


def test_labels_that_the_model_does_not_know_are_told_of(folder: Path) -> None:
    rng = np.random.default_rng(0)
    Y = rng.random((60, 3)) < 0.5
    X = (Y + 0.1 * rng.normal(size=Y.shape)).round(3)
    told = [
        [name for name, there in zip(["red", "big", "old"], y, strict=True) if there] for y in Y
    ]
    for path, mark, third in (("a.csv", ";", "old"), ("b.csv", ";", "new"), ("c.csv", "|", "old")):
        cells = [mark.join(third if name == "old" else name for name in y) for y in told]
        write_rows(path, ["x", "y", "z", "tags"], [[*x, c] for x, c in zip(X, cells, strict=True)])
    tags = ["--labels", "tags", "--label-separator", ";"]
    run("fit", "a.csv", *tags, "-m", "star", "-o", "m.ek", "--no-quality")
    said = {
        path: " ".join(run("score", "m.ek", path).split()) for path in ("a.csv", "b.csv", "c.csv")
    }
    known = "labels that the model was not fitted on count as absent"
    n = int(Y[:, 2].sum())
    assert known not in said["a.csv"]
    assert f"b.csv: {known}, 'new' in {n} rows." in said["b.csv"]
    assert known in said["c.csv"]
    assert "is '|' between labels? Write ';' there" in said["c.csv"]
    compared = run("compare", "a.csv", *tags, "-m", "star", "--test", "b.csv")
    assert f"{known}, 'new' in" in " ".join(compared.split())
