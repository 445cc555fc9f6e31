"""The ReGEC paper's experiments: their parts by equations, and one quick run of each."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC

from eigenkit import GEPSVM, ReGEC
from eigenkit.datasets import Dataset, make_ndc
from papers import Figure, Table, run_papers
from papers.drawing import svg
from papers.plane_times import best_times, dense_times, pencil
from papers.planes import (
    GAUSSIAN,
    GRID,
    LINEAR,
    chosen_svm,
    gaussian_models,
    on_splits,
    ten_fold,
)

pytest.importorskip("matplotlib")


@pytest.fixture
def data():
    X, y = make_ndc(120, 3, random_state=0)
    splits = [(np.arange(80), np.arange(80, 120)), (np.arange(40, 120), np.arange(40))]
    return Dataset("ndc", X, y, splits, {"split_origin": np.array(["drawn", "official"])})


def test_ten_fold_is_the_mean_over_folds_and_draws():
    draws = [make_ndc(100, random_state=seed) for seed in range(2)]
    expected = []
    for X, y in draws:
        for seed in range(2):
            folds = StratifiedKFold(10, shuffle=True, random_state=seed)
            predicted = cross_val_predict(ReGEC(), X, y, cv=folds)
            expected.append(
                100 * np.mean([np.mean(predicted[b] == y[b]) for _, b in folds.split(X, y)])
            )
    np.testing.assert_allclose(ten_fold(ReGEC(), draws, 2), np.mean(expected))


def test_on_splits_scores_the_test_part(data):
    train, test = data.splits[1]
    model = GEPSVM().fit(data.X[train], data.target[train])
    expected = 100 * accuracy_score(data.target[test], model.predict(data.X[test]))
    found = on_splits(GEPSVM(), data)
    assert len(found) == 2
    assert found[1] == expected
    assert on_splits(GEPSVM(), data, 1) == found[:1]


@pytest.mark.slow
def test_settings_of_the_svm_come_from_training_parts_alone(data):
    setting = chosen_svm(data)
    assert setting["C"] in GRID["C"]
    assert setting["gamma"] in GRID["gamma"]
    spoilt = data.target.copy()
    only_first = Dataset("first", data.X, spoilt, data.splits[:1])
    before = chosen_svm(only_first)
    spoilt[80:] *= -1  # the test part of the first split
    assert chosen_svm(only_first) == before


def test_the_paper_s_kernel_has_sigma_in_its_denominator():
    models = gaussian_models(GAUSSIAN[0])
    assert {model.gamma for model in models.values()} == {1 / GAUSSIAN[0].sigma}
    assert models["ReGEC"].alpha == GAUSSIAN[0].alpha
    assert len(LINEAR) == 5
    assert len(GAUSSIAN) == 9


def test_pencil_holds_the_sums_over_each_class(data):
    X, y = data.X[:30], data.target[:30]
    G, H = pencil(X, y, 2.0)
    z = np.random.default_rng(0).normal(size=31)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 2.0)
    distance = K @ z[:-1] + z[-1]
    np.testing.assert_allclose(z @ G @ z, np.sum(distance[y == -1] ** 2))
    np.testing.assert_allclose(z @ H @ z, np.sum(distance[y == 1] ** 2))
    found = dense_times(X, y, GAUSSIAN[0])
    assert found["order"] == 31
    assert min(found.values()) > 0


def test_best_times_takes_turns():
    calls = []
    best_times({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert calls == ["a", "b", "a", "b"]


def _tables(result):
    return {block.title.split(".")[0]: block for block in result.blocks if isinstance(block, Table)}


@pytest.mark.slow
def test_quick_accuracy(tmp_path):
    (result,) = run_papers(["regec-accuracy"], quick=True, out=tmp_path)
    assert not result.missing
    tables = _tables(result)
    ours = dict(zip(tables["Table 1"].columns, tables["Table 1"].ours[0], strict=True))
    assert ours["ReGEC"] > 80
    # GEPSVM with a vanishing ridge is ReGEC.
    variants = tables["Table 1 with other units of the features and other delta"]
    for row in variants.ours:
        assert abs(row[0] - row[1]) < 1
    assert min(tables["Table 2"].ours[0][:3]) > 80
    (figure,) = (block for block in result.blocks if isinstance(block, Figure))
    assert len(svg(figure)) < 300_000
    page = (tmp_path / "papers.md").read_text()
    assert "Table 2. Accuracy in percent, Gaussian kernel" in page
    assert "Moons 5 drawn" in page


@pytest.mark.slow
def test_quick_time(tmp_path):
    (result,) = run_papers(["regec-time"], quick=True, out=tmp_path)
    tables = _tables(result)
    for table in (tables["Table 3"], tables["Table 4"]):
        ours = dict(zip(table.columns, table.ours[0], strict=True))
        np.testing.assert_allclose(ours["GEPSVM / ReGEC"], ours["GEPSVM"] / ours["ReGEC"])
        paper = dict(zip(table.columns, table.paper[0], strict=True))
        np.testing.assert_allclose(paper["GEPSVM / ReGEC"], paper["GEPSVM"] / paper["ReGEC"])
    instead = tables["What users would pick instead"]
    assert all(score > 70 and ms > 0 and mb > 0 for score, ms, mb in instead.ours)
    assert "Nystroem" in (tmp_path / "papers.md").read_text()


def test_a_figure_of_regions_needs_no_legend_to_tell_classes_apart():
    from eigenkit.analysis import RegionsDisplay

    X, y = make_ndc(60, 2, random_state=0)
    ax = RegionsDisplay.from_estimator(SVC().fit(X, y), X, y, resolution=20).ax_
    shapes = {len(points.get_paths()[0].vertices) for points in ax.collections[-2:]}
    assert len(shapes) == 2
