"""Weights and groups, by hand and through scikit-learn's metadata routing."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import is_classifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GroupKFold, KFold, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from conftest import some_of
from eigenkit import (
    LDA,
    AlphaSearchCV,
    KeepSearchCV,
    PLSRegressionCV,
    ShrinkageRegression,
    SparsePLS,
    SparsePLSDA,
)
from eigenkit.analysis import bootstrap, permutation_test
from eigenkit.evaluation import LabelStratifiedKFold
from test_contract import EACH, data_for, default

WEIGHT = 1.0 + np.arange(150) % 4
GROUPS = np.repeat(np.arange(30), 5)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def _fitted_numbers(model: Any, X: np.ndarray) -> np.ndarray:
    if hasattr(model, "labels_"):  # clusters have no order: who is with whom
        return model.labels_[:, None] == model.labels_
    names = ("transform", "decision_function", "predict")
    return next(getattr(model, name) for name in names if hasattr(model, name))(X)


@EACH
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_weights_are_routed_to_every_estimator(cls, routing):
    model = default(cls)
    X, y = data_for(model)
    y = X @ [1.0, 2.0, 3.0, 4.0] if cls is ShrinkageRegression else y
    inner = getattr(model, "estimator", None)
    if inner is not None:
        inner.set_fit_request(sample_weight=True)
    alone = default(cls)
    if inner is not None:
        alone.estimator.set_fit_request(sample_weight=True)
    for either in (model, alone):
        if "random_state" in either.get_params():
            either.set_params(random_state=0)
    alone.fit(X, y, sample_weight=WEIGHT)
    step = Pipeline(
        [("same", FunctionTransformer()), ("model", model.set_fit_request(sample_weight=True))]
    )
    step.fit(X, y, sample_weight=WEIGHT)
    np.testing.assert_allclose(_fitted_numbers(step[-1], X), _fitted_numbers(alone, X), atol=1e-12)
    with pytest.raises(UnsetMetadataPassedError):
        Pipeline([("model", default(cls))]).fit(X, y, sample_weight=WEIGHT)


# -- searches ----------------------------------------------------------------------------

SEARCHES = {
    "alpha": lambda cv: AlphaSearchCV(LDA(), alphas=(0.1, 100.0), cv=cv),
    "keep": lambda cv: KeepSearchCV(SparsePLSDA(2), keep_x=(1, 3), cv=cv),
    "keep, numbers": lambda cv: KeepSearchCV(SparsePLS(2), keep_x=(1, 3), cv=cv),
    "components": lambda cv: PLSRegressionCV(3, cv=cv),
}
EACH_SEARCH = pytest.mark.parametrize("name", SEARCHES)


def _data(name: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(150, 6))
    latent = X[:, 0] - X[:, 1] + rng.normal(size=30)[GROUPS] + 0.3 * rng.normal(size=150)
    classes = np.digitize(latent, [-1.0, 1.0])
    return X, classes if is_classifier(SEARCHES[name](3)) else latent


def _scores(search: Any) -> np.ndarray:
    for key in ("fold_scores_", "fold_errors_"):
        if hasattr(search, key):
            return getattr(search, key)
    return search.cv_results_["mean_test_score"]


@pytest.mark.parametrize(("name", "routed"), some_of(SEARCHES, [False, True], every=2))
def test_searches_keep_groups_together(name, routed):
    X, y = _data(name)
    splits = list(GroupKFold(3).split(X, y, GROUPS))
    with sklearn.config_context(enable_metadata_routing=routed):
        search = SEARCHES[name](GroupKFold(3)).fit(X, y, groups=GROUPS)
        words = SEARCHES[name](GroupKFold(3)).fit(X, y, groups=[f"group {g:02}" for g in GROUPS])
    by_hand = SEARCHES[name](splits).fit(X, y)
    np.testing.assert_array_equal(_scores(search), _scores(by_hand))
    np.testing.assert_array_equal(_scores(words), _scores(by_hand))
    assert not np.array_equal(_scores(search), _scores(SEARCHES[name](KFold(3)).fit(X, y)))


@EACH_SEARCH
def test_groups_reach_a_search_inside_of_a_pipeline(name, routing):
    X, y = _data(name)
    pipeline = Pipeline(
        [("same", FunctionTransformer()), ("search", SEARCHES[name](GroupKFold(3)))]
    )
    pipeline.fit(X, y, groups=GROUPS)
    alone = SEARCHES[name](GroupKFold(3)).fit(X, y, groups=GROUPS)
    np.testing.assert_array_equal(_scores(pipeline[-1]), _scores(alone))
    found = cross_validate(
        pipeline, X, y, cv=GroupKFold(3), params={"groups": GROUPS}, error_score="raise"
    )
    assert np.isfinite(found["test_score"]).all()


def test_weights_that_an_estimator_does_not_want_do_not_reach_it(routing):
    X, y = _data("alpha")
    refused = AlphaSearchCV(LDA().set_fit_request(sample_weight=False), alphas=(0.1, 9.0))
    plain = AlphaSearchCV(LDA(), alphas=(0.1, 9.0)).fit(X, y)
    np.testing.assert_array_equal(
        refused.fit(X, y, sample_weight=WEIGHT).transform(X), plain.transform(X)
    )
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        AlphaSearchCV(LDA()).fit(X, y, sample_weight=WEIGHT)


def test_stratified_folds_take_groups_where_there_are_some(routing):
    X, y = _data("alpha")
    search = AlphaSearchCV(LDA(), alphas=(1.0, 2.0), cv=LabelStratifiedKFold(3))
    splits = list(LabelStratifiedKFold(3).split(X, y, GROUPS))
    by_hand = AlphaSearchCV(LDA(), alphas=(1.0, 2.0), cv=splits).fit(X, y)
    np.testing.assert_array_equal(_scores(search.fit(X, y, groups=GROUPS)), _scores(by_hand))
    assert np.isfinite(_scores(search.fit(X, y))).all()


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (GROUPS[:-1], ValueError, r"groups has shape \(149,\): give one group"),
        (np.c_[GROUPS, GROUPS], ValueError, r"groups has shape \(150, 2\)"),
        ([None] * 150, ValueError, "groups holds a missing value"),
        (np.where(GROUPS == 3, np.nan, GROUPS), ValueError, "groups holds a missing value"),
        ({"a": 1}, TypeError, "groups is a dict"),
        (np.ma.masked_array(GROUPS), ValueError, "groups is a masked array"),
    ],
)
@pytest.mark.parametrize("who", [*SEARCHES, "bootstrap", "permutation"])
def test_bad_groups_are_named(who, groups, error, message):
    X, y = _data(who if who in SEARCHES else "alpha")
    with pytest.raises(error, match=message):
        if who in SEARCHES:
            SEARCHES[who](GroupKFold(3)).fit(X, y, groups=groups)
        elif who == "bootstrap":
            bootstrap(LDA(1), X, y, groups=groups)
        else:
            permutation_test(LDA(), X, y, groups=groups)


@EACH
def test_every_estimator_takes_weights(cls):
    assert "sample_weight" in inspect.signature(cls.fit).parameters
