"""Grids of alphas and l1 paths."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from conftest import ESTIMATORS, labels_for
from eigenkit import (
    CCA,
    LDA,
    AlphaSearchCV,
    GraphRegularized,
    HypergraphSpectral,
    KeepSearchCV,
    LeastSquaresProjection,
    ManyLabelClassifier,
    OrthonormalizedPLS,
    PLSRegressionCV,
    RowBlocks,
    SparsePLSDA,
    alpha_path,
    l1_path,
)
from eigenkit.data import Centered
from eigenkit.evaluation import LabelStratifiedKFold
from eigenkit.exceptions import EigenkitWarning


@pytest.mark.parametrize("kind", ["tall", "in blocks"])
@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_a_path_equals_separate_fits(name, kind, rng):
    """In everything that they keep: `covariance_` was that of the smallest alpha."""
    X, y = rng.normal(size=(60, 8)), labels_for(name, 60, rng)
    more = {"store_covariance": True} if name == "lda" else {}
    given = (
        (X, y)
        if kind == "tall"
        else (RowBlocks.from_arrays([(X[:30], y[:30]), (X[30:], y[30:])]), None)
    )
    for model in alpha_path(ESTIMATORS[name](n_components=2, **more), *given, [0.01, 1.0, 50.0]):
        alone = ESTIMATORS[name](n_components=2, alpha=model.alpha, **more).fit(*given)
        np.testing.assert_allclose(model.transform(X), alone.transform(X), atol=1e-10)
        assert vars(model).keys() == vars(alone).keys()
        for key, value in vars(alone).items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                np.testing.assert_allclose(getattr(model, key), value, atol=1e-9, err_msg=key)


def test_a_path_makes_one_gram_matrix(rng, monkeypatch):
    calls = []
    gram = Centered.gram
    monkeypatch.setattr(Centered, "gram", lambda self: calls.append(1) or gram(self))
    alpha_path(CCA(), rng.normal(size=(60, 8)), rng.normal(size=(60, 2)), np.logspace(-3, 3, 7))
    assert len(calls) == 1


def test_search_agrees_with_grid_search():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(150, 60))])
    alphas = [0.01, 10.0, 1000.0]
    ours = AlphaSearchCV(LDA(), alphas=alphas, cv=StratifiedKFold(4)).fit(X, y)
    theirs = GridSearchCV(LDA(), {"alpha": alphas}, cv=StratifiedKFold(4)).fit(X, y)
    assert ours.alpha_ == theirs.best_params_["alpha"]
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y) == theirs.score(X, y)
    assert ours.predict_proba(X).shape == (150, 3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_search_with_a_head(form):
    X, Y = make_multilabel_classification(n_samples=120, random_state=0)
    head = OneVsRestClassifier(LinearSVC())
    search = AlphaSearchCV(
        HypergraphSpectral(), alphas=[0.1, 10.0], cv=KFold(3), scoring="f1_macro", head=head
    ).fit(form(X), Y)
    assert search.alpha_ in (0.1, 10.0)
    assert 0.3 < search.best_score_ <= 1
    assert search.transform(form(X)).shape == (120, 5)
    assert not hasattr(search, "predict")


def test_search_scores_a_plain_projection_by_least_squares():
    X, Y = make_multilabel_classification(n_samples=120, random_state=0)
    search = AlphaSearchCV(HypergraphSpectral(), alphas=[1.0, 1e6], cv=3).fit(X, Y, np.ones(120))
    assert set(search.cv_results_) >= {"alpha", "mean_test_score", "split2_test_score"}


def test_search_judges_projections_of_classes_by_all_classes():
    X, y = load_iris(return_X_y=True)  # sorted by class: plain folds would leave one out
    for estimator in (HypergraphSpectral(), LeastSquaresProjection(target="star", l1_ratio=1.0)):
        search = AlphaSearchCV(estimator, alphas=[0.01, 0.1]).fit(X, y)
        assert search.best_score_ > 0.8


@pytest.mark.parametrize("classes", [True, False])
def test_rows_of_no_weight_do_not_count_for_the_head(classes, rng):
    X = rng.standard_normal((60, 5))
    y = (X[:, 0] + rng.standard_normal(60) > 0).astype(int)
    Y = y if classes else np.column_stack([y, X[:, 1] > 0]).astype(int)
    weight = np.ones(60)
    weight[:20] = 0
    # The same rows are scored either way: the last ten.
    splits = [(np.arange(50), np.arange(50, 60))]
    kept = [(np.arange(30), np.arange(30, 40))]
    lies = np.where(weight.reshape(-1, *[1] * (Y.ndim - 1)) == 0, 1 - Y, Y)
    search = AlphaSearchCV(HypergraphSpectral(), alphas=[1.0])
    ours = clone(search).set_params(cv=splits).fit(X, lies, weight)
    plain = clone(search).set_params(cv=kept).fit(X[20:], Y[20:])
    assert ours.best_score_ == pytest.approx(plain.best_score_, abs=1e-10)


@pytest.mark.parametrize("rule", ["min", "one_standard_error"])
def test_a_candidate_without_a_score_is_not_taken(rule):
    X, y = load_iris(return_X_y=True)
    calls = iter(range(100))

    def score(model, X, y):
        missing = model.alpha == 10.0 and next(calls) == 0
        return np.nan if missing else model.alpha

    search = AlphaSearchCV(LDA(), alphas=[0.1, 10.0], scoring=score, rule=rule)
    with pytest.warns(EigenkitWarning, match="1 of 2 candidates have a score of NaN"):
        assert search.fit(X, y).alpha_ == 0.1
    nothing = AlphaSearchCV(LDA(), alphas=[0.1, 10.0], scoring=lambda *_: np.nan, rule=rule)
    with pytest.raises(ValueError, match="NaN in some fold, so none is best"):
        nothing.fit(X, y)


def test_one_standard_error_prefers_more_shrinkage():
    X, y = load_iris(return_X_y=True)
    grid = [1.0, 1e-3, 1e3, 1e6]
    best = AlphaSearchCV(LDA(), alphas=grid).fit(X, y)
    search = AlphaSearchCV(LDA(), alphas=grid, rule="one_standard_error").fit(X, y)
    scores = np.array([search.cv_results_[f"split{i}_test_score"] for i in range(5)])
    least = best.best_score_ - scores[:, grid.index(best.alpha_)].std(ddof=1) / np.sqrt(5)
    good = [alpha for alpha, mean in zip(grid, scores.mean(axis=0), strict=True) if mean >= least]
    assert search.alpha_ == max(good) >= best.alpha_
    with pytest.raises(ValueError, match="rule='best' is not known"):
        AlphaSearchCV(LDA(), rule="best").fit(X, y)


def test_folds_of_labels_keep_their_shares():
    X, Y = make_multilabel_classification(n_samples=100, n_classes=4, random_state=0)
    Y[:, 0] = np.arange(100) < 5  # by plain folds, all of it in the first
    by_itself = AlphaSearchCV(OrthonormalizedPLS(), cv=5).fit(X, Y).cv_results_
    asked = AlphaSearchCV(OrthonormalizedPLS(), cv=LabelStratifiedKFold(5)).fit(X, Y)
    np.testing.assert_allclose(
        by_itself["mean_test_score"], asked.cv_results_["mean_test_score"], rtol=1e-12
    )


def test_search_refuses_bad_grids():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="alphas is empty"):
        AlphaSearchCV(LDA(), alphas=[]).fit(X, y)
    with pytest.raises(ValueError, match=r"alphas=-1"):
        AlphaSearchCV(LDA(), alphas=[1.0, -1]).fit(X, y)
    with pytest.raises(TypeError, match="needs a projection of eigenkit"):
        alpha_path(LinearSVC(), X, y, [1.0])


def test_l1_path_is_that_of_the_model():
    X, y = load_iris(return_X_y=True)
    paths = l1_path(LeastSquaresProjection(target="lda"), X, y)
    assert len(paths) == 3
    model = LeastSquaresProjection(target="lda", l1_ratio=1.0, tol=1e-12)
    for alphas, coefs in paths:
        fitted = model.set_params(alpha=float(alphas[1])).fit(X, y)
        found = np.abs(fitted.components_) - np.abs(coefs[:, 1])
        assert np.abs(found).max(axis=1).min() < 1e-6


def test_l1_path_needs_coordinate_descent_for_many_features(rng):
    X = sparse.random_array((30, 20_000), density=0.01, rng=rng, format="csr")
    y = np.arange(30) % 2
    with pytest.raises(ValueError, match="use method='cd'"):
        l1_path(LeastSquaresProjection(target="lda"), X, y)
    ((_, coefs),) = l1_path(LeastSquaresProjection(target="lda"), X, y, method="cd", n_alphas=5)
    assert coefs.shape == (20_000, 5)
    assert not coefs[:, 0].any()
    assert np.count_nonzero(coefs[:, -1]) > 0
    with pytest.raises(ValueError, match="method='x' is not known"):
        l1_path(LeastSquaresProjection(target="lda"), X, y, method="x")


def test_rows_of_zero_weight_choose_nothing():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    X = X + rng.normal(size=X.shape)
    weight = np.ones(150)
    weight[::5] = 0
    other = np.where(weight > 0, y, rng.permutation(y))
    splits = [(np.flatnonzero(np.arange(150) % 3 != i), np.arange(i, 150, 3)) for i in range(3)]
    search = AlphaSearchCV(LDA(), alphas=[0.1, 10.0, 1000.0], cv=splits)
    searches = [clone(search).fit(X, labels, weight) for labels in (y, other)]
    scores = [search.cv_results_["mean_test_score"] for search in searches]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("kind", ["zeros stored", "boolean", "bool[pyarrow]", ">i2"])
def test_folds_keep_the_shares_of_labels_however_they_are_stored(kind) -> None:
    X, Y = make_multilabel_classification(60, 8, n_classes=3, random_state=0)
    if kind == "zeros stored":
        rows = np.repeat(np.arange(60), 3), np.tile(np.arange(3), 60)
        given = sparse.csr_array((Y.ravel(), rows), Y.shape)
        assert given.nnz == 180
    else:
        given = Y.astype(kind) if kind == ">i2" else pd.DataFrame(Y, dtype=bool).astype(kind)
    for maker in (CCA, HypergraphSpectral):
        plain, other = (
            AlphaSearchCV(maker(), alphas=[1.0, 50.0], cv=2).fit(X, y) for y in (Y, given)
        )
        for name, values in plain.cv_results_.items():
            assert np.allclose(other.cv_results_[name], values, rtol=0, atol=1e-9)
    many = ManyLabelClassifier(n_neighbors=5).fit(X, Y)
    assert many.score(X, given) == many.score(X, Y)


CROSS_VALIDATED = {
    "alpha": lambda cv: AlphaSearchCV(LDA(), alphas=[1.0, 50.0], cv=cv),
    "keep": lambda cv: KeepSearchCV(SparsePLSDA(2), keep_x=[2, 4], cv=cv),
    "components": lambda cv: PLSRegressionCV(3, cv=cv),
    "labels": lambda cv: ManyLabelClassifier(n_neighbors=5, cv=cv),
    "graph": lambda cv: GraphRegularized(LDA(), mu=[0.0, 1.0], cv=cv),
}
FOUND = ("cv_results_", "fold_scores_", "fold_errors_", "thresholds_")


@pytest.mark.parametrize("name", CROSS_VALIDATED)
def test_splits_in_every_form_and_bad_ones(name, rng) -> None:
    """Row numbers, masks, from the end, in lists or generators; none, or of rows that X lacks."""
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 5)) + np.eye(5)[y]
    if name in ("components", "labels"):
        y = np.eye(3)[y]
    make = CROSS_VALIDATED[name]
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    masks = [tuple(np.isin(np.arange(60), part) for part in pair) for pair in splits]
    ends = [(train - 60, test - 60) for train, test in splits]
    lists = [(train.tolist(), test.tolist()) for train, test in splits]
    found = []
    for cv in (splits, masks, ends, lists, (pair for pair in splits)):
        model = make(cv).fit(X, y)
        found.append(next(getattr(model, each) for each in FOUND if hasattr(model, each)))
    for other in found[1:]:
        np.testing.assert_equal(other, found[0])
    with pytest.raises(ValueError, match="cv gives no folds: give a number"):
        make([]).fit(X, y)
    with pytest.raises(ValueError, match="cv gives rows that are not among the 60 rows of X"):
        make([(np.arange(30), np.arange(30, 61))]).fit(X, y)


@pytest.mark.parametrize("cv", [None, 3, KFold(2, shuffle=True, random_state=1)], ids=str)
@pytest.mark.parametrize("name", CROSS_VALIDATED)
def test_rows_of_zero_weight_are_no_part_of_the_folds(name, cv, rng) -> None:
    """Whoever writes them between the others gets the folds of the others."""
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 5)) + np.eye(5)[y]
    if name in ("components", "labels"):
        y = np.eye(3)[y] if name == "labels" else X @ rng.normal(size=5) + rng.normal(size=60)
    weight = rng.integers(0, 3, 60) * 0.5
    there = weight > 0
    cv = 2 if cv is None and name == "labels" else cv
    few, all_rows = (
        CROSS_VALIDATED[name](cv).fit(X[rows], y[rows], sample_weight=weight[rows])
        for rows in (there, slice(None))
    )
    found = [[getattr(m, each) for each in FOUND if hasattr(m, each)] for m in (few, all_rows)]
    assert found[0]
    for left, right in zip(*found, strict=True):
        pairs = [(left[k], right[k]) for k in left] if isinstance(left, dict) else [(left, right)]
        for pair in pairs:
            np.testing.assert_allclose(*pair, rtol=1e-9)


def test_groups_and_settled_splits_beside_rows_of_zero_weight(rng) -> None:
    y, groups = np.arange(60) % 3, np.arange(60) // 5
    X = rng.normal(size=(60, 5)) + np.eye(5)[y]
    weight = rng.integers(0, 3, 60) * 1.0
    there = weight > 0
    by_group = CROSS_VALIDATED["alpha"](GroupKFold(3))
    few, every = (
        clone(by_group).fit(X[rows], y[rows], weight[rows], groups=groups[rows])
        for rows in (there, slice(None))
    )
    np.testing.assert_equal(every.cv_results_, few.cv_results_)
    folds = np.arange(60) % 4
    settled = (PredefinedSplit(folds), list(PredefinedSplit(folds).split()))
    few = CROSS_VALIDATED["alpha"](PredefinedSplit(folds[there])).fit(
        X[there], y[there], weight[there]
    )
    for cv in settled:
        every = CROSS_VALIDATED["alpha"](cv).fit(X, y, weight)
        np.testing.assert_equal(every.cv_results_, few.cv_results_)


def test_rows_of_zero_weight_are_no_part_of_the_folds_of_blocks(rng) -> None:
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 5)) + np.eye(5)[y]
    weight = rng.integers(0, 3, 90) * 1.0
    blocks = [(X[i : i + 30], y[i : i + 30], weight[i : i + 30]) for i in (0, 30, 60)]
    few = [tuple(part[w > 0] for part in (x, t, w)) for x, t, w in blocks]
    for make in (CROSS_VALIDATED["alpha"], CROSS_VALIDATED["components"]):
        a, b = (make(3).fit(RowBlocks.from_arrays(given)) for given in (few, blocks))
        left, right = (getattr(m, "cv_results_", None) or {"": m.fold_errors_} for m in (a, b))
        for name in left:
            np.testing.assert_allclose(left[name], right[name], rtol=1e-9)


def test_alphas_are_taken_in_their_order_whatever_holds_them():
    """A series has labels of its own, and a set no places."""
    X, y = load_iris(return_X_y=True)
    alphas = [1e-3, 1.0, 1e6]
    expected = AlphaSearchCV(LDA(), alphas=alphas).fit(X, y)
    series = AlphaSearchCV(LDA(), alphas=pd.Series(alphas, index=[2, 1, 0])).fit(X, y)
    assert series.alpha_ == expected.alpha_ == 1e-3
    assert AlphaSearchCV(LDA(), alphas=set(alphas)).fit(X, y).alpha_ in alphas


@pytest.mark.parametrize("given", [{"accuracy": 1.0}, np.ones(2)])
def test_a_scorer_gives_one_number(given) -> None:
    X, y = load_iris(return_X_y=True)
    search = AlphaSearchCV(LDA(), alphas=[0.1, 1.0], scoring=lambda *_: given)
    with pytest.raises(TypeError, match=r"scoring returned .*: give a scorer that returns one"):
        search.fit(X, y)
