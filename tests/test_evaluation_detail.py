"""Every label by itself, confusions, worst samples, fewer components; runs taken up again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score, confusion_matrix, precision_recall_curve

from eigenkit import CCA, LDA, PLSRegression
from eigenkit.evaluation import evaluate
from eigenkit.evaluation.detail import RECALL_GRID, Outcome, by_components, keep_detail
from eigenkit.evaluation.metrics import curves
from eigenkit.evaluation.record import from_dict, to_dict
from eigenkit.evaluation.summary import _column_facts
from eigenkit.report.tables import worst


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_and_curve_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(60) < 0.3).astype(float)
    s = np.round(y + rng.normal(size=60), 1)  # with ties
    _, area, curve = curves(y, s, RECALL_GRID, RECALL_GRID)
    assert area == pytest.approx(average_precision_score(y, s), abs=1e-12)
    precision, recall, _ = precision_recall_curve(y, s)
    for r, value in zip(RECALL_GRID, curve, strict=True):
        reached = np.flatnonzero(recall >= r - 1e-12)
        first = reached[-1] if r else len(recall) - 2  # thresholds go up, recall down
        assert value == pytest.approx(precision[first], abs=1e-12)


def test_a_label_that_does_not_vary_has_no_curve():
    _, area, curve = curves(np.ones(5), np.arange(5.0), RECALL_GRID, RECALL_GRID)
    assert np.isnan(area)
    assert curve is None


def classes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    return rng.normal(size=(120, 5)) + 1.5 * np.eye(5)[y], y


def test_counts_over_the_splits_are_those_of_all_held_out_samples():
    X, y = classes()
    (method,) = evaluate(X, y, {"lda": LDA()}, cv=4, alphas=None, baselines=False)["methods"]
    C = np.array(method["confusion"])
    assert C.sum() == 120
    for j, label in enumerate(method["labels"]):
        assert label["support"] == 40
        assert label["recall"] == pytest.approx(C[j, j] / 40)
        assert label["precision"] == pytest.approx(C[j, j] / C[:, j].sum())
    accuracy = np.average(method["scores"]["accuracy"]["values"])
    assert np.trace(C) / 120 == pytest.approx(accuracy, abs=1e-12)


def test_confusion_has_the_truth_in_rows():
    Y = np.eye(3)[[0, 0, 1, 2]]
    P = np.eye(3)[[0, 1, 1, 0]]
    found = Outcome()
    keep_detail(found, Y, P, P, np.arange(4), single=True)
    assert found.confusion == confusion_matrix([0, 0, 1, 2], [0, 1, 1, 0]).tolist()
    assert sorted(int(w[0]) for w in found.worst) == [1, 3]


def test_the_worst_samples_are_wrong_and_come_by_their_loss():
    X, y = classes()
    (method,) = evaluate(X, y, {"lda": LDA()}, cv=4, alphas=None, baselines=False)["methods"]
    found = method["worst"]
    assert [w["loss"] for w in found] == sorted((w["loss"] for w in found), reverse=True)
    assert all(w["truth"] == [y[w["row"]]] and w["told"] != w["truth"] for w in found)


@pytest.mark.parametrize("task", [None, "numbers"])
def test_the_worst_samples_of_a_test_file_have_its_row_numbers(task):
    X, y = classes()
    n = len(y) - 50
    if task == "numbers":
        y = X[:, 0] + np.eye(len(y))[n + 7] * 100
    method = {"m": LDA() if task is None else PLSRegression(1)}
    options: dict[str, Any] = {"alphas": None, "baselines": False, "task": task}
    split = np.arange(n), np.arange(n, len(y))
    run = from_dict(evaluate(X, y, method, cv=[split], **options))
    table, (one,) = worst(run, run.methods[0]), run.methods
    assert [int(row[0]) for row in table.rows] == [w.row + 1 - n for w in one.worst]
    assert all(1 <= int(row[0]) <= 50 for row in table.rows)
    assert table.note.startswith("Rows are those of the test file, counted from 1")
    assert task is None or table.rows[0][0] == "8"
    other = from_dict(evaluate(X, y, method, cv=[split[::-1]], **options))
    assert (run.protocol.test_begins, other.protocol.test_begins) == (n, 0)
    assert "test file" not in worst(other, other.methods[0]).note


def test_with_all_components_the_score_is_that_of_the_method():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 6))
    Y = (X[:, :3] + rng.normal(size=(120, 3)) > 0.3).astype(int)
    (method,) = evaluate(X, Y, {"cca": CCA()}, cv=3, alphas=None, baselines=False)["methods"]
    steps = method["by_components"]
    assert steps["components"] == [1, 2, 3]
    assert steps["mean"][-1] == pytest.approx(method["scores"]["auc"]["mean"], abs=1e-12)


def test_steps_end_with_all():
    for last, steps in ((2, [1, 2]), (9, [1, 2, 3, 4, 5, 6, 8, 9])):
        assert by_components(np.zeros((3, last)), float) == {str(l): l for l in steps}


def test_numbers_keep_what_was_predicted_when_a_sample_was_held_out():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4))
    Y = X[:, :2] + 0.1 * rng.normal(size=(60, 2))
    record = evaluate(X, Y, {"pls": PLSRegression(2)}, task="numbers", cv=3, baselines=False)
    (method,) = record["methods"]
    observed, predicted = np.array(record["points"]["observed"]), np.array(method["predicted"])
    assert np.allclose(observed, Y[record["points"]["rows"]], rtol=1e-5)
    assert np.abs(observed - predicted).max() < 0.6
    first = method["worst"][0]
    error = abs(first["observed"] - first["predicted"])
    assert first["loss"] == pytest.approx(error / Y[:, first["truth"][0]].std(), rel=0.2)
    assert to_dict(from_dict(record)) == record


def test_columns_tell_gaps_zeros_and_constants():
    X, y = classes()
    X[:, 1], X[:60, 2] = 7.0, 0.0
    data = evaluate(X, y, {"cca": CCA()}, cv=2, alphas=None, baselines=False)["data"]
    assert data["n_constant"] == 1
    assert data["columns"][1] == {
        "name": "feature 1", "mean": 7.0, "std": 0.0, "low": 7.0, "high": 7.0,
        "missing": 0.0, "zeros": 0.0,
    }  # fmt: skip
    assert data["columns"][2]["zeros"] == 0.5


# -- taken up again ----------------------------------------------------------------------


class Stop(Exception):
    pass


def stopping(after: int) -> Any:
    def tell(done: int, total: int, message: str) -> None:
        if done == after:
            raise Stop

    return tell


def timeless(record: dict[str, Any]) -> str:
    for method in record["methods"]:
        del method["seconds"]
    return json.dumps(record)


def run(path: Path, **more: Any) -> dict[str, Any]:
    X, y = classes()
    options = {"cv": 3, "alphas": [0.1, 1.0], "checkpoint": path, **more}
    return evaluate(X, y, {"lda": LDA(), "cca": CCA()}, **options)


def test_a_run_that_was_stopped_goes_on_and_gives_the_same_record(tmp_path):
    path = tmp_path / "run.partial"
    with pytest.raises(Stop):
        run(path, progress=stopping(5))
    assert len(path.read_text().splitlines()) == 6
    with path.open("a") as file:
        file.write('{"split": 1, "meth')  # killed while writing
    seen: list[int] = []
    record = run(path, progress=lambda done, total, message: seen.append(done))
    assert seen[0] == 5
    assert not path.exists()
    assert timeless(record) == timeless(run(tmp_path / "other"))


def test_another_run_does_not_go_on_from_it(tmp_path):
    path = tmp_path / "run.partial"
    with pytest.raises(Stop):
        run(path, progress=stopping(5))
    seen: list[int] = []
    run(path, random_state=1, progress=lambda done, total, message: seen.append(done))
    assert seen[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "nonsense\n", "[]\n", '{"run": 3}\n{"split": 0}\n', "\x00\xff"]
)
def test_a_damaged_file_is_begun_anew(text, tmp_path):
    path = tmp_path / "run.partial"
    path.write_text(text)
    assert timeless(run(path)) == timeless(run(tmp_path / "other"))


def test_columns_of_sparse_data_with_gaps_are_described_as_those_of_dense() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * (rng.random((40, 3)) < 0.5)
    X[::5, 1] = np.nan
    dense, few = (_column_facts(A) for A in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(few, dense, atol=1e-12)
    assert few[4][1] == 0.2
