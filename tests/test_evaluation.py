"""Metrics against scikit-learn, splits that keep label shares, and no way for test rows to leak."""

from __future__ import annotations

import copy
import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as reference
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from conftest import slow_but
from eigenkit import CCA, LDA, HypergraphSpectral, OrthonormalizedPLS
from eigenkit.evaluation import METRICS, auto_alphas, evaluate, k_fold, partition, stratify
from eigenkit.evaluation.metrics import auc_per_label, curves, score_all
from eigenkit.report import render_text
from report_records import data

# -- metrics -----------------------------------------------------------------------------


@st.composite
def labelled_scores(draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, k = draw(st.integers(2, 12)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Y = (rng.random((n, k)) < draw(st.floats(0.1, 0.9))).astype(float)
    S = rng.integers(-3, 4, size=(n, k)) / draw(st.sampled_from([1.0, 3.0]))  # many ties
    return Y, S, (S > 0).astype(float)


@pytest.mark.slow
@given(labelled_scores())
@settings(max_examples=25, deadline=None)
def test_metrics_equal_those_of_scikit_learn(case: tuple[np.ndarray, np.ndarray, np.ndarray]):
    Y, S, P = case
    found = score_all(Y, S, P)
    assert set(found) == set(METRICS)
    for name in ("precision", "recall", "f1"):
        for average in ("macro", "micro"):
            expected = getattr(reference, f"{name}_score")(Y, P, average=average, zero_division=0)
            assert found[f"{name}_{average}"] == pytest.approx(expected)
    assert found["accuracy"] == pytest.approx(reference.accuracy_score(Y, P))
    assert found["hamming_loss"] == pytest.approx(reference.hamming_loss(Y, P))
    assert found["ranking_loss"] == pytest.approx(reference.label_ranking_loss(Y, S))
    assert found["coverage"] == pytest.approx(reference.coverage_error(Y, S))
    varying = (Y.min(axis=0) == 0) & (Y.max(axis=0) == 1)
    aucs = auc_per_label(Y, S)
    assert np.array_equal(np.isfinite(aucs), varying)
    expected = [reference.roc_auc_score(Y[:, j], S[:, j]) for j in np.flatnonzero(varying)]
    np.testing.assert_allclose(aucs[varying], expected)
    if varying.any():
        assert found["auc"] == pytest.approx(np.mean(expected))


def test_one_label_column_has_neither_ranking_loss_nor_more_than_one_to_cover():
    Y, S = np.array([[1.0], [0.0], [1.0]]), np.array([[0.3], [0.1], [-0.2]])
    found = score_all(Y, S, (S > 0).astype(float))
    assert found["ranking_loss"] == 0
    assert found["coverage"] == pytest.approx(2 / 3)
    assert found["auc"] == pytest.approx(0.5)


def test_roc_on_a_grid_keeps_the_area_and_skips_constant_labels():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    s = y + rng.normal(size=300)
    grid = np.linspace(0, 1, 2001)
    area = np.trapezoid(curves(y, s, grid, grid)[0], grid)
    assert area == pytest.approx(reference.roc_auc_score(y, s), abs=2e-3)
    assert curves(np.ones(5), np.arange(5.0), grid, grid)[0] is None
    tied = s.round(1)  # no threshold lies between equal scores
    false_positive, true_positive, _ = reference.roc_curve(y, tied, drop_intermediate=False)
    expected = np.interp(grid, false_positive, true_positive)
    np.testing.assert_allclose(curves(y, tied, grid, grid)[0], expected, atol=1e-12)


# -- splits ------------------------------------------------------------------------------


@st.composite
def label_matrices(draw: Any) -> np.ndarray:
    n, k = draw(st.integers(4, 60)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shares = rng.random(k) ** 2
    return (rng.random((n, k)) < shares).astype(float)


@given(label_matrices(), st.integers(2, 4), st.integers(0, 100))
@settings(max_examples=100, deadline=None)
def test_parts_have_the_asked_sizes_and_the_rarest_label_is_dealt_out_evenly(Y, folds, seed):
    part = stratify(Y, [1.0] * folds, np.random.default_rng(seed))
    sizes = np.bincount(part, minlength=folds)
    assert sizes.sum() == len(Y)
    assert sizes.max() - sizes.min() <= 1
    counts = Y.sum(axis=0)
    if counts.any():
        rarest = np.argmin(np.where(counts > 0, counts, np.inf))
        dealt = [Y[part == j, rarest].sum() for j in range(folds)]
        assert max(dealt) - min(dealt) <= 1


@given(st.integers(0, 1000), st.integers(2, 5))
@settings(max_examples=50, deadline=None)
def test_classes_keep_their_share_in_every_fold(seed, folds):
    rng = np.random.default_rng(seed)
    y = rng.choice(4, size=80, p=[0.5, 0.3, 0.15, 0.05])
    Y = np.eye(4)[y]
    for train, test in k_fold(Y, folds, rng):
        assert not np.intersect1d(train, test).size
        assert len(train) + len(test) == len(Y)
        assert np.all(np.abs(Y[test].sum(axis=0) - Y.sum(axis=0) / folds) <= 1 + 1e-9)


def test_label_shares_are_kept_better_than_by_chance():
    rng = np.random.default_rng(0)
    Y = (rng.random((400, 12)) < np.geomspace(0.02, 0.6, 12)).astype(float)
    wanted = Y.sum(axis=0) / 5

    def deviation(part):
        return np.mean([np.abs(Y[part == j].sum(axis=0) - wanted).mean() for j in range(5)])

    dealt = deviation(stratify(Y, [1.0] * 5, rng))
    chance = np.mean([deviation(rng.permutation(np.arange(400) % 5)) for _ in range(20)])
    assert dealt < chance / 2


def test_unequal_shares_and_rows_without_labels():
    Y = np.zeros((100, 2))
    Y[:40, 0] = 1
    Y[40:50, 1] = 1
    train, test = partition(Y, 0.7, np.random.default_rng(0))
    assert (len(train), len(test)) == (70, 30)
    assert Y[train].sum(axis=0).tolist() == [28, 7]


# -- the comparison ----------------------------------------------------------------------


def without_times(record: dict[str, Any]) -> str:
    record = copy.deepcopy(record)
    record.pop("environment")
    for method in record["methods"]:
        method.pop("seconds")
    return json.dumps(record, sort_keys=True)


def scores(record: dict[str, Any], name: str) -> dict[str, Any]:
    (method,) = [m for m in record["methods"] if m["name"] == name]
    return method["scores"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_record_and_another_seed_another():
    X, Y = data()
    runs = [evaluate(X, Y, {"cca": CCA()}, cv=2, inner_cv=2, random_state=s) for s in (3, 3, 4)]
    assert without_times(runs[0]) == without_times(runs[1])
    assert without_times(runs[0]) != without_times(runs[2])


def test_means_and_deviations_are_those_of_the_splits():
    X, Y = data()
    record = evaluate(X, Y, {"opls": OrthonormalizedPLS()}, train_size=0.6, repeats=4, alphas=None)
    score = scores(record, "opls")["auc"]
    assert len(score["values"]) == 4
    assert score["mean"] == pytest.approx(np.mean(score["values"]))
    assert score["std"] == pytest.approx(np.std(score["values"], ddof=1))
    assert record["protocol"]["n_train"] == 90


def test_the_score_is_that_of_the_pipeline_written_by_hand():
    X, Y = data()
    train, test = np.arange(100), np.arange(100, 150)
    record = evaluate(X, Y, {"cca": CCA(alpha=2.0)}, cv=[(train, test)], alphas=None)
    model = CCA(alpha=2.0).fit(X[train], Y[train])
    Z, Z_new = model.transform(X[train]), model.transform(X[test])
    mean, std = Z.mean(axis=0), Z.std(axis=0)
    columns = [
        LinearSVC(random_state=0).fit((Z - mean) / std, y).decision_function((Z_new - mean) / std)
        for y in Y[train].T
    ]
    S = np.column_stack(columns)
    assert scores(record, "cca")["auc"]["mean"] == pytest.approx(
        reference.roc_auc_score(Y[test], S)
    )
    assert scores(record, "cca")["f1_micro"]["mean"] == pytest.approx(
        reference.f1_score(Y[test], S > 0, average="micro")
    )


class Spy(TransformerMixin, BaseEstimator):
    """Remembers which rows it was fitted on; the first feature is the row number."""

    seen: list[set[int]] = []  # noqa: RUF012  shared by clones on purpose

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        Spy.seen.append({round(v) for v in X[:, 0]})
        self.rows_ = len(X)
        return self

    def transform(self, X):
        return X[:, 1:]


def test_neither_the_choice_of_alpha_nor_the_fit_sees_a_test_row():
    X, Y = data(60)
    X = np.column_stack([np.arange(60), X])
    Spy.seen.clear()
    train, test = np.arange(40), np.arange(40, 60)
    evaluate(X, Y, {"spy": Spy()}, cv=[(train, test)], alphas=[0.1, 1.0], inner_cv=2)
    assert len(Spy.seen) == 2 * 2 + 1
    assert Spy.seen[-1] == set(range(40))
    assert all(seen < set(range(40)) for seen in Spy.seen[:-1])


@pytest.mark.slow
def test_permuted_labels_give_the_auc_of_chance_though_training_rows_fit_perfectly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 200))
    Y = (rng.random((160, 4)) < 0.4).astype(float)
    methods = {"cca": CCA(alpha=1e-3), "star": HypergraphSpectral(alpha=1e-3)}
    record = evaluate(X, Y, methods, train_size=0.5, repeats=4, alphas=[1e-3, 1.0], inner_cv=2)
    for method in record["methods"]:
        assert abs(method["scores"]["auc"]["mean"] - 0.5) < 0.08, method["name"]
    Z = CCA(alpha=1e-3).fit(X[:80], Y[:80]).transform(X[:80])
    fitted = LinearSVC().fit(Z / Z.std(axis=0), Y[:80, 0]).decision_function(Z / Z.std(axis=0))
    assert reference.roc_auc_score(Y[:80, 0], fitted) > 0.99


def test_alpha_is_the_best_of_the_inner_scores_and_the_largest_of_equals():
    X, Y = data()
    alphas = [1e-2, 1.0, 1e2, 1e4]
    record = evaluate(
        X, Y, {"cca": CCA()}, cv=[(np.arange(100), np.arange(100, 150))], alphas=alphas
    )
    search = record["methods"][0]["alpha"]
    best = max(search["mean"])
    level = [a for a, v in zip(alphas, search["mean"], strict=True) if v >= best - 1e-12]
    assert search["chosen"] == [max(level)]
    assert record["methods"][0]["model"]["alpha"] == max(level)


def test_inner_scores_are_those_of_ridge_regression_or_of_the_classifier():
    X, Y = data()
    train = np.arange(100)
    arguments = {"cv": [(train, np.arange(100, 150))], "alphas": [1.0], "inner_cv": 2}
    ridge = evaluate(X, Y, {"cca": CCA()}, alpha_classifier="ridge", **arguments)
    same = evaluate(X, Y, {"cca": CCA()}, **arguments)
    expected = {"ridge": [], "same": []}
    for fit, test in k_fold(Y[train], 2, np.random.default_rng(0)):
        model = CCA(alpha=1.0).fit(X[fit], Y[fit])
        scaler = StandardScaler().fit(model.transform(X[fit]))
        Z, Z_new = (scaler.transform(model.transform(X[rows])) for rows in (fit, test))
        S = Ridge(alpha=1.0).fit(Z, Y[fit]).predict(Z_new)
        expected["ridge"].append(reference.roc_auc_score(Y[test], S))
        svms = [LinearSVC(random_state=0).fit(Z, y).decision_function(Z_new) for y in Y[fit].T]
        expected["same"].append(reference.roc_auc_score(Y[test], np.column_stack(svms)))
    found = {"ridge": ridge, "same": same}
    for kind, record in found.items():
        assert record["methods"][0]["alpha"]["mean"][0] == pytest.approx(np.mean(expected[kind]))
    assert ridge["protocol"]["alpha_classifier"] == "ridge regression"


def test_a_method_that_fails_is_told_in_its_own_words_and_the_rest_goes_on():
    X, Y = data()
    record = evaluate(X, Y, {"lda": LDA(), "cca": CCA()}, cv=2, alphas=None)
    lda, cca, *_ = record["methods"]
    assert [failure["split"] for failure in lda["failures"]] == [0, 1]
    assert lda["failures"][0]["error"].startswith("y has several columns, but each sample has one")
    assert lda["scores"]["auc"] == {"values": [None, None], "mean": None, "std": None}
    assert lda["model"] is None
    assert cca["failures"] == []
    assert cca["scores"]["auc"]["mean"] > 0.6


def test_warnings_of_a_method_are_kept_and_do_not_escape():
    X, Y = data()
    X = np.column_stack([X, np.ones(len(X))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record = evaluate(X, Y, {"cca": CCA()}, cv=2, alphas=None, baselines=False)
    assert any("constant" in text for text in record["methods"][0]["warnings"])


def test_an_interruption_is_not_taken_for_a_failure():
    class Stop(Spy):
        def fit(self, X, y):
            raise KeyboardInterrupt

    X, Y = data(40)
    with pytest.raises(KeyboardInterrupt):
        evaluate(X, Y, {"stop": Stop()}, cv=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "classifier", ["svm", LogisticRegression(C=0.1), *slow_but(["knn", "logistic"])]
)
def test_classes_are_separated_by_every_classifier(classifier):
    X, y = make_classification(150, 10, n_informative=5, n_classes=3, class_sep=2.0, random_state=0)
    names = np.array(["a", "b", "c"])[y]
    methods = {"lda": LDA(), "cca": CCA(), "bayes": GaussianNB()}
    record = evaluate(X, names, methods, cv=3, alphas=[0.1, 10.0], classifier=classifier)
    assert record["data"]["kind"] == "classes"
    assert [label["name"] for label in record["data"]["labels"]] == ["a", "b", "c"]
    for method in record["methods"]:
        assert method["failures"] == []
        # One label a sample, told and true: micro averages are the accuracy.
        found = {key: score["mean"] for key, score in method["scores"].items()}
        assert found["f1_micro"] == pytest.approx(found["accuracy"])
        assert method["baseline"] or found["accuracy"] > 0.8
    bayes = record["methods"][2]
    assert bayes["model"] is None  # nothing to draw: it has no projection


def test_a_classifier_without_projection_decides_every_label_of_many():
    X, Y = data()
    record = evaluate(X, Y, {"bayes": GaussianNB()}, cv=2, baselines=False)
    S = np.zeros(Y.shape)
    splits = list(k_fold(Y, 2, np.random.default_rng(np.random.SeedSequence(0).spawn(1)[0])))
    aucs = []
    for train, test in splits:
        for j, y in enumerate(Y[train].T):
            S[test, j] = GaussianNB().fit(X[train], y).predict_proba(X[test])[:, 1]
        aucs.append(reference.roc_auc_score(Y[test], S[test]))
    assert scores(record, "bayes")["auc"]["values"] == pytest.approx(aucs)


def test_sparse_data_stay_sparse_and_give_the_scores_of_dense_ones(monkeypatch):
    X, Y = data()
    X[np.quantile(X, 0.8) > X] = 0
    dense = evaluate(X, Y, {"cca": CCA()}, cv=2, alphas=None)
    matrix = sparse.csr_array(X)

    plain = sparse.csr_array.toarray

    def never(self, *args, **kwargs):  # a small Gram matrix may be
        assert self.shape[0] <= X.shape[1], "rows of X were made dense"
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", never)
    record = evaluate(matrix, Y, {"cca": CCA()}, cv=2, alphas=None)
    assert record["data"]["sparse"]
    assert all(not method["failures"] for method in record["methods"])
    assert scores(record, "cca")["auc"]["mean"] == pytest.approx(
        scores(dense, "cca")["auc"]["mean"],
        abs=5e-4,  # a few pairs of rows may change places within the tolerance of the classifier
    )


def test_names_come_from_frames_and_sizes_from_the_data():
    X, Y = data()
    X[X < 2] = 0
    frame = pd.DataFrame(X, columns=[f"word {i}" for i in range(8)])
    labels = pd.DataFrame(Y, columns=list("vwxyz"))
    record = evaluate(frame, labels, {"cca": CCA()}, cv=2, alphas=None, max_points=50)
    about = record["data"]
    assert [label["name"] for label in about["labels"]] == list("vwxyz")
    assert [label["count"] for label in about["labels"]] == Y.sum(axis=0).tolist()
    assert about["co_occurrence"] == (Y.T @ Y).tolist()
    assert about["density"] == pytest.approx(np.mean(X != 0))
    assert about["cardinality"] == pytest.approx(Y.sum(axis=1).mean())
    assert record["methods"][0]["model"]["components"][0][0]["name"].startswith("word ")
    assert len(record["points"]["rows"]) == 50
    assert record["points"]["labels"][0] == np.flatnonzero(Y[record["points"]["rows"][0]]).tolist()


def test_drawn_coordinates_are_those_of_the_model_of_the_first_split():
    X, Y = data()
    split = (np.arange(100), np.arange(100, 150))
    record = evaluate(X, Y, {"cca": CCA(alpha=1.0)}, cv=[split], alphas=None)
    model = CCA(alpha=1.0).fit(X[:100], Y[:100])
    drawn = record["methods"][0]["model"]
    Z = model.transform(X)
    np.testing.assert_allclose(drawn["coordinates"], Z[:, :3], atol=1e-4 * np.abs(Z).max())
    np.testing.assert_allclose(drawn["eigenvalues"], model.eigenvalues_, rtol=1e-5)
    assert drawn["solved"]["reason"] == model.report_.reason
    weights = model.components_[0] * X[:100].std(axis=0)
    top = drawn["components"][0][0]
    assert top["name"] == f"feature {np.abs(weights).argmax()}"
    assert top["weight"] == pytest.approx(weights[np.abs(weights).argmax()], rel=1e-4)
    assert record["points"]["held_out"] == [False] * 100 + [True] * 50


def test_hypergraph_holds_the_label_sets_and_lies_in_the_unit_square():
    X, Y = data()
    graph = evaluate(X, Y, {"cca": CCA()}, cv=2, alphas=None)["data"]["hypergraph"]
    rows, counts = np.unique(Y, axis=0, return_counts=True)
    expected = {
        tuple(np.flatnonzero(r)): c for r, c in zip(rows, counts, strict=True) if sum(r) > 1
    }
    assert {tuple(s["labels"]): s["count"] for s in graph["sets"]} == expected
    places = np.array(graph["label_positions"] + graph["set_positions"])
    assert places.min() >= 0
    assert places.max() <= 1
    assert len(np.unique(places.round(3), axis=0)) == len(places)  # none hides another


def test_progress_is_told_before_every_step_and_at_the_end():
    X, Y = data(40)
    told = []
    evaluate(X, Y, {"cca": CCA()}, cv=2, alphas=None, progress=lambda *step: told.append(step))
    assert told[0] == (0, 6, "split 1 of 2: cca")
    assert told[-1] == (6, 6, "done")
    assert [step[0] for step in told] == list(range(7))


def test_a_label_missing_from_a_training_part_is_no_failure():
    X, Y = data(60)
    Y = np.column_stack([Y, np.arange(60) >= 58]).astype(float)
    split = (np.arange(50), np.arange(50, 60))
    record = evaluate(X, Y, {"cca": CCA()}, cv=[split], alphas=None)
    assert scores(record, "cca")["auc"]["mean"] is not None
    assert record["methods"][0]["failures"] == []


def test_a_grid_of_our_own_goes_on_where_scores_rise_at_its_end():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 6)) * [1, 1, 1, 1, 1, 0.01]
    y = 100 * X[:, -1] + 0.1 * rng.normal(size=200)  # told by the column of small numbers only
    alone = {"opls": OrthonormalizedPLS()}
    record = evaluate(X, y, alone, cv=2, baselines=False, task="numbers")
    given = evaluate(
        X, y, alone, cv=2, baselines=False, task="numbers", alphas=record["protocol"]["alphas"]
    )
    search, short = record["methods"][0]["alpha"], given["methods"][0]["alpha"]
    assert short["alphas"] == record["protocol"]["alphas"]  # what is given stays as it is
    assert min(search["chosen"]) < min(short["alphas"]) == min(short["chosen"])
    assert search["alphas"] == sorted(search["alphas"])
    assert search["mean"][-7:] == pytest.approx(short["mean"])
    assert record["methods"][0]["scores"]["r2"]["mean"] > 0.9
    assert f"chosen from {len(search['alphas'])} values" in " ".join(render_text(record).split())


def test_means_over_some_splits_are_marked_and_come_last():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = np.where(np.isin(np.arange(80), [3, 50, 70]), "rare", "common")
    X[y == "rare"] += 3

    class Picky(LDA):
        def fit(self, X, y=None, sample_weight=None):
            if np.abs(X).sum() > limit:
                raise ValueError("too much")
            return super().fit(X, y, sample_weight)

    sizes = sorted(
        np.abs(np.delete(X, rows, axis=0)).sum() for rows in np.arange(80).reshape(4, 20)
    )
    limit = (sizes[1] + sizes[2]) / 2
    folds = [(np.setdiff1d(np.arange(80), test), test) for test in np.arange(80).reshape(4, 20)]
    methods = {"picky": Picky(), "lda": LDA()}
    record = evaluate(X, y, methods, cv=folds, inner_cv=2, alphas=[0.1, 1.0], baselines=False)
    text = " ".join(render_text(record).split())
    assert "picky 2 of 4" in text
    assert "mean AUC over labels 3 of 4" in text
    table = text[text.index("Scores on the test parts") :]
    assert table.index(" lda ") < table.index(" picky ")


def test_auto_alphas_follow_the_scale_of_the_data_but_not_of_one_feature():
    X = data()[0]
    small, large = auto_alphas(X), auto_alphas(100 * X)
    np.testing.assert_allclose(np.array(large) / np.array(small), 1e4)
    X[:, 0] *= 1e6
    assert auto_alphas(X) == small
    wide = np.random.default_rng(0).normal(size=(11, 1000))  # 10 eigenvalues of about 1000
    assert auto_alphas(wide)[4] == 1e3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"cv": 1}, "cv=1 is not valid: give from 2 to 40 folds."),
        ({"cv": [(np.arange(5), np.arange(4, 9))]}, "with a row on both sides"),
        ({"cv": [(np.arange(5), np.array([99]))]}, "rows outside 0 to 39"),
        ({"train_size": 1.5}, "train_size=1.5 is not valid: give a share between 0 and 1"),
        ({"train_size": 1.5, "task": "numbers"}, "train_size=1.5 is not valid: give a share"),
        ({"repeats": 0}, "repeats=0 is not valid"),
        ({"classifier": "tree"}, "classifier='tree' is not known: choose one of 'svm', 'knn'"),
        ({"alphas": []}, "alphas is empty"),
        ({"alphas": [-1.0]}, "alphas=-1.0 is not valid"),
        ({"alphas": "best"}, "alphas='best' is not known"),
        ({"alpha_score": "beauty"}, "alpha_score='beauty' is not known"),
        ({"alpha_classifier": "svm"}, "alpha_classifier='svm' is not known: choose one of 'same'"),
        ({"inner_cv": 1}, "inner_cv=1 is not valid"),
        ({"random_state": -1}, "random_state=-1 is not valid: give an integer from 0"),
        ({"methods": {}, "baselines": False}, "methods is empty"),
        ({"label_names": ["a"]}, "label_names has 1 entries, but there are 5"),
        ({"Y": np.ones((40, 2))}, "every label in y is on all samples or on none"),
        ({"Y": np.full((40, 2), 0.5)}, "y holds 0.5: as a label matrix it must hold only 0 and 1"),
        ({"Y": np.ones((39, 2))}, "40 rows of X, 39 of y"),
    ],
)
def test_bad_input_is_one_sentence(change, sentence):
    X, Y = data(40)
    arguments = {"X": X, "Y": Y, "methods": {"cca": CCA()}, **change}
    with pytest.raises(ValueError, match=" ") as caught:
        evaluate(**arguments)
    assert sentence in str(caught.value)


def test_a_method_must_be_an_estimator():
    X, Y = data(40)
    with pytest.raises(TypeError, match=r"methods\['cca'\] is an int: give an estimator with fit"):
        evaluate(X, Y, {"cca": 3})
    with pytest.raises(TypeError, match=r"methods\['cca'\] is a class: give an instance"):
        evaluate(X, Y, {"cca": CCA})


def test_long_runs_are_guessed_at_before_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenkit.evaluation.trial._MANY_ROWS", 100)
    X, Y = make_multilabel_classification(n_samples=300, n_features=6, random_state=0)
    told: list[Any] = []
    steps: list[Any] = []

    def guess(*seconds_and_rows: float) -> None:
        assert not steps  # it comes first
        told.append(seconds_and_rows)

    def step(done: int, total: int, message: str) -> None:
        steps.append(done)

    options: Any = {"cv": 3, "alphas": [1.0], "baselines": False, "progress": step}
    plain = evaluate(X, Y, {"cca": CCA()}, **options)
    steps.clear()
    found = evaluate(X, Y, {"cca": CCA()}, forecast=guess, **options)
    ((low, high, rows),) = told
    assert rows == 80
    assert 0 < low <= high < 60
    assert [m["scores"] for m in found["methods"]] == [m["scores"] for m in plain["methods"]]
    monkeypatch.setattr("eigenkit.evaluation.trial._MANY_ROWS", 1000)
    evaluate(X, Y, {"cca": CCA()}, forecast=guess, **{**options, "progress": None})
    assert len(told) == 1


@pytest.mark.parametrize("density", [0.1, 0.6])
def test_baselines_do_not_depend_on_how_features_are_stored(density: float) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = (rng.random((90, 12)) < density) * (1 + (y == 0)[:, None] * np.arange(12) % 2)
    X = np.column_stack([X, 1000 * X[:, :1] + 5 * (y[:, None] == 1)])  # of another scale
    found = [evaluate(A, y, {"lda": LDA()}, cv=3) for A in (X, sparse.csr_array(X))]
    for name in ("all features", "principal components"):
        scores = [
            {m["name"]: m for m in record["methods"]}[name]["scores"]["auc"]["mean"]
            for record in found
        ]
        # Rows of few values tie: rounding may tell some of the 1,800 pairs apart, or not.
        assert scores[0] == pytest.approx(scores[1], abs=0.01)


@pytest.mark.parametrize(("repeats", "noun"), [(1, "partition"), (2, "partitions")])
def test_random_partitions_are_counted_in_words(repeats, noun):
    X, y = make_classification(60, random_state=0)
    options = {"train_size": 0.5, "repeats": repeats, "alphas": None, "baselines": False}
    record = evaluate(X, y, {"lda": LDA()}, **options)
    assert record["protocol"]["splits"].startswith(f"{repeats} stratified random {noun}, ")
