"""Cross-validation of the number of components: equal to fits on every fold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    TimeSeriesSplit,
)

from eigenkit import LDA, AlphaSearchCV, PLSRegression, PLSRegressionCV
from eigenkit.data import Centered
from eigenkit.estimators._alphas import one_standard_error
from eigenkit.moments import Rows
from eigenkit.solvers.component_cv import Problem, _Updated, fold_errors, whole_gram


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 10)) @ rng.normal(size=(10, 10)) + 50
    return X, X[:, :3] @ rng.normal(size=(3, 2)) + 5 * rng.normal(size=(90, 2))


def _by_hand(X, Y, l, folds, scale, weight=None):
    """The errors by a weighted fit on every fold with every number of components."""
    weight = np.ones(len(Y)) if weight is None else weight
    errors = []
    for train, test in folds:
        w = weight[train]
        mean = np.average(Y[train], axis=0, weights=w)
        row = [np.mean((Y[test] - mean) ** 2)]
        for i in range(1, l + 1):
            model = PLSRegression(i, scale=scale).fit(X[train], Y[train], sample_weight=w)
            row.append(np.mean((model.predict(X[test]) - Y[test]) ** 2))
        errors.append(row)
    return errors


@pytest.mark.slow
@pytest.mark.parametrize("scale", [True, False, (True, False)])
@pytest.mark.parametrize(
    "cv",
    [KFold(5), ShuffleSplit(3, test_size=0.3, random_state=0), TimeSeriesSplit(3), LeaveOneOut()],
    ids=lambda cv: type(cv).__name__,
)
def test_errors_are_those_of_fits_on_the_folds(data, cv, scale):
    X, Y = data
    if isinstance(cv, LeaveOneOut):
        X, Y = X[:25], Y[:25]
    model = PLSRegressionCV(6, cv=cv, scale=scale).fit(X, Y)
    expected = _by_hand(X, Y, 6, list(cv.split(X)), scale)
    np.testing.assert_allclose(model.fold_errors_, expected, rtol=1e-10)


def test_weights_count_in_fits_and_not_in_errors(data):
    X, Y = data
    weight = np.linspace(0.5, 3, 90)
    model = PLSRegressionCV(4, cv=5).fit(X, Y, sample_weight=weight)
    expected = _by_hand(X, Y, 4, list(KFold(5).split(X)), True, weight)
    np.testing.assert_allclose(model.fold_errors_, expected, rtol=1e-10)


@pytest.mark.parametrize("kind", ["sparse", "wide", "float32"])
def test_data_of_other_kinds(data, kind):
    X, Y = data
    if kind == "wide":
        X = np.random.default_rng(1).normal(size=(90, 400)) + X[:, :1]
    given = sparse.csr_array(X) if kind == "sparse" else X
    given = X.astype(np.float32) if kind == "float32" else given
    model = PLSRegressionCV(4, cv=3).fit(given, Y)
    expected = _by_hand(X, Y, 4, list(KFold(3).split(X)), True)
    np.testing.assert_allclose(
        model.fold_errors_, expected, rtol=1e-4 if kind == "float32" else 1e-9
    )


def test_tall_dense_data_are_updated_and_nothing_else(data):
    X, _ = data
    assert whole_gram(Centered(X), 6, 5) is not None
    assert whole_gram(Centered(sparse.csr_array(X)), 6, 5) is None
    assert whole_gram(Centered(np.random.default_rng(0).normal(size=(20, 2000))), 5, 5) is None


def test_a_fold_that_holds_all_of_a_feature_is_computed_from_its_rows(data):
    """Leaving out the outlier by subtraction would leave rounding only."""
    X, Y = data
    X[7, 3] = 1e12
    folds = list(KFold(5).split(X))
    Z = Centered(X)
    problem = Problem(Rows(X, Y, None), (True, True), 4, "regression")
    assert _Updated(problem, Z, Z.gram()).fit(folds[0][0]) is None
    assert _Updated(problem, Z, Z.gram()).fit(folds[1][0]) is not None
    errors = fold_errors(problem, folds, Z, Z.gram())
    np.testing.assert_allclose(errors[0], _by_hand(X, Y, 4, folds, True)[0], rtol=1e-8)


def test_a_feature_that_is_constant_in_a_training_fold(data):
    X, Y = data
    X[:, 0] = 0
    X[:5, 0] = 1
    folds = list(KFold(5).split(X))
    Z = Centered(X)
    problem = Problem(Rows(X, Y, None), (True, True), 4, "regression")
    errors = fold_errors(problem, folds, Z, Z.gram())
    reduced = _by_hand(X[:, 1:], Y, 4, folds, True)
    np.testing.assert_allclose(errors[0], reduced[0], rtol=1e-9)


def test_choices_agree_with_a_grid_search(data):
    X, Y = data
    search = GridSearchCV(
        PLSRegression(), {"n_components": range(1, 8)}, cv=5, scoring="neg_mean_squared_error"
    ).fit(X, Y)
    model = PLSRegressionCV(7, cv=5, rule="min").fit(X, Y)
    assert model.n_components_ == search.best_params_["n_components"] == model.n_components_min_
    np.testing.assert_allclose(model.predict(X), search.predict(X), rtol=1e-10)
    simple = clone(model).set_params(rule="one_standard_error").fit(X, Y)
    assert simple.n_components_ <= model.n_components_
    assert simple.n_components_ == max(1, one_standard_error(simple.fold_errors_))
    np.testing.assert_allclose(
        simple.coef_, PLSRegression(simple.n_components_).fit(X, Y).coef_, rtol=1e-9
    )


def test_one_standard_error_rule():
    errors = np.array([[10.0, 4.8, 4.5, 4.0], [10.0, 3.9, 3.7, 3.9], [10.0, 2.9, 3.0, 2.0]])
    mean, bar = errors.mean(axis=0), errors[:, 3].std(ddof=1) / np.sqrt(3)
    assert mean[1] <= mean[3] + bar < mean[0]
    assert one_standard_error(errors) == 1
    assert one_standard_error(np.array([[1.0, 9.0], [2.0, 9.0]])) == 0


def test_one_fold_has_no_standard_error(data):
    X, Y = data
    fold = [(np.arange(50), np.arange(50, 90))]
    with pytest.raises(ValueError, match=r"1 fold has no standard error: .* rule='min'"):
        one_standard_error(np.array([[3.0, 1.0]]))
    search = AlphaSearchCV(LDA(), alphas=[0.1, 1.0], cv=fold)
    y = Y[:, 0] > np.median(Y[:, 0])
    assert search.fit(X, y).alpha_ in (0.1, 1.0)
    with pytest.raises(ValueError, match=r"1 fold has no standard error"):
        search.set_params(rule="one_standard_error").fit(X, y)


def test_noise_gets_one_component_and_the_record_says_none():
    rng = np.random.default_rng(0)
    model = PLSRegressionCV(5, cv=10).fit(rng.normal(size=(100, 20)), rng.normal(size=100))
    assert model.n_components_one_standard_error_ == 0
    assert model.n_components_ == 1


@pytest.mark.parametrize("unit", [1e80, 1e-80])
def test_folds_of_large_and_small_responses_are_the_same(unit):
    """Whether y holds labels is seen without taking it for whole numbers."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 4))
    Y = X[:, :2] + rng.normal(size=(30, 2))
    plain, other = PLSRegressionCV(3).fit(X, Y), PLSRegressionCV(3).fit(X, Y * unit)
    assert other.n_components_ == plain.n_components_
    assert np.allclose(other.fold_errors_ / unit / unit, plain.fold_errors_, rtol=1e-9, atol=0)


def test_one_fold_is_enough_for_the_least_error(data):
    X, Y = data
    fold = [(np.arange(50), np.arange(50, len(X)))]
    model = PLSRegressionCV(3, cv=fold, rule="min").fit(X, Y)
    assert model.fold_errors_.shape == (1, 4)
    assert model.n_components_min_ == model.fold_errors_[0].argmin()
    assert model.n_components_one_standard_error_ == model.n_components_min_


def test_messages(data):
    with pytest.raises(ValueError, match=r"rule='best' is not known: choose one of"):
        PLSRegressionCV(rule="best").fit(*data)
    with pytest.raises(ValueError, match=r"gives 1 fold with rows.*rule='min'") as caught:
        PLSRegressionCV(cv=[(np.arange(50), np.arange(50, 90))]).fit(*data)
    assert len(str(caught.value)) < 200
    with pytest.raises(ValueError, match="gives no fold with rows in it"):
        PLSRegressionCV(cv=[(np.arange(1), np.arange(50, 90))], rule="min").fit(*data)
