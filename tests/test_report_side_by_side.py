"""Several runs side by side, order of labels, curves that coincide, a model as a page."""

from __future__ import annotations

import pytest

from eigenkit import CCA, LDA
from eigenkit.evaluation import evaluate
from eigenkit.evaluation.record import from_dict
from eigenkit.report import compare_html, compare_text, write_record
from eigenkit.report.cells import clustered, coinciding, natural
from report_records import HOSTILE, classes, hostile


def test_runs_on_the_same_splits_are_paired():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    one = evaluate(X, y, {"lda": LDA()}, cv=3, alphas=None)
    few = evaluate(X[:, :2], y, {"lda": LDA(), "cca": CCA()}, cv=3, alphas=None)
    text = compare_text({"all": one, "two columns": few}, width=140)
    assert "same labels in the same splits, but other features" in " ".join(text.split())
    assert "Differences to all" in text
    table = text[text.index("Differences to all") :]
    line = next(line for line in table.splitlines() if "lda" in line)
    gap = few["methods"][0]["scores"]["auc"]["mean"] - one["methods"][0]["scores"]["auc"]["mean"]
    assert f"{gap:+.3f}" in line


def test_runs_of_other_data_are_shown_with_a_warning():
    text = compare_text({"a": hostile(), "b": classes()}, width=120)
    assert "compare their scores with care" in " ".join(text.split())
    assert "Differences to" not in text


def test_the_page_of_several_runs_escapes_and_runs_nothing():
    html = compare_html({f"x{HOSTILE}": hostile(), "b": hostile()})
    assert "<script" not in html
    assert "script-src 'none'" in html
    assert "All runs saw the same data." in html


def test_one_run_is_not_several():
    with pytest.raises(ValueError, match="give at least two records"):
        compare_text({"a": classes()})


def test_people_count_two_before_ten():
    assert [["b10", "b2", "a", "2", "10"][i] for i in natural(["b10", "b2", "a", "2", "10"])] == [
        "2", "10", "a", "b2", "b10",
    ]  # fmt: skip
    assert natural(["²", "1"]) == [1, 0]  # a superscript is no decimal digit


def test_labels_that_occur_together_stand_together():
    record = hostile()
    C = [[10, 0, 9, 0, 0], [0, 10, 0, 8, 0], [9, 0, 10, 0, 0], [0, 8, 0, 10, 0], [0, 0, 0, 0, 5]]
    record["data"]["co_occurrence"] = C
    order = clustered(from_dict(record))
    assert abs(order.index(0) - order.index(2)) == 1
    assert abs(order.index(1) - order.index(3)) == 1


def test_curves_that_coincide_are_named():
    run = from_dict(classes())
    assert coinciding(run.methods, lambda m: [1.0, 0.5]).startswith("The curves of lda, cca")
    assert coinciding(run.methods, lambda m: [float(run.methods.index(m))]) == ""
    assert coinciding(run.methods, lambda m: None) == ""


def test_runs_of_one_file_name_are_told_apart_by_their_folders(tmp_path):
    from click.testing import CliRunner

    from eigenkit.cli import app

    paths = [tmp_path / ("in a very long folder " * 3) / day / "run.json" for day in ("mon", "tue")]
    for path in paths:
        path.parent.mkdir(parents=True)
        write_record(classes(), path)
    shown = CliRunner().invoke(app, ["report", *map(str, paths)])
    assert shown.exit_code == 0, shown.output
    heads = [line.split() for line in shown.output.splitlines() if line.startswith("  method ")]
    assert heads[0] == ["method", "mon/run", "tue/run"]


def test_a_model_is_a_page_too(tmp_path):
    from click.testing import CliRunner

    from eigenkit.cli import app

    run = CliRunner()
    table, model, page = (tmp_path / name for name in ("iris.csv", "m.ek", "m.html"))
    lines = ["a,b,<b>kind</b>"]
    lines += [f"{i % 7},{(i * 5) % 11 + 6 * (i % 2)},{'xy'[i % 2]}" for i in range(60)]
    table.write_text("\n".join(lines))
    fitted = run.invoke(
        app, ["fit", str(table), "--labels", "-1", "--alpha", "cv", "--out", str(model)]
    )
    assert fitted.exit_code == 0, fitted.output
    told = " ".join(fitted.output.split())
    assert "in 5-fold cross-validation, alpha chosen inside every training part" in told
    shown = run.invoke(app, ["inspect", str(model), "--report", str(page)])
    assert shown.exit_code == 0, shown.output
    html = page.read_text()
    assert "<script" not in html
    assert "Choice of alpha" in html
    assert "eigenkit predict" in html
    again = run.invoke(app, ["inspect", str(model), "--report", str(page)])
    assert again.exit_code == 1
    assert "--force" in again.output
