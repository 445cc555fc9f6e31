"""Sparse PLS: mixOmics' numbers, the defining equations, and the choice of what to keep."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import ZOO, dense, make_X
from eigenkit import (
    PLSDA,
    KeepSearchCV,
    PLSCanonical,
    PLSRegression,
    SparsePLS,
    SparsePLSDA,
    selection_frequency,
)
from eigenkit.estimators._alphas import one_standard_error
from eigenkit.exceptions import ConvergenceWarning
from eigenkit.solvers.lasso import Sparsity, thresholded

R = json.loads((Path(__file__).parent / "references" / "sparse_pls.json").read_text())
MODES = pytest.mark.parametrize("mode", ["regression", "canonical"])
FOLDS_DIFFER = "the folds of weighted and of repeated rows differ"


def _cannot_hold(estimator):
    if not isinstance(estimator, KeepSearchCV):
        return {}
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": FOLDS_DIFFER for kind in kinds}


@pytest.mark.slow
@parametrize_with_checks(
    [
        SparsePLS(),
        SparsePLS(keep_x=2),
        SparsePLS(1, mode="canonical"),
        SparsePLSDA(),
        SparsePLSDA(1, keep_x=1),
        KeepSearchCV(SparsePLSDA(1)),
        KeepSearchCV(SparsePLS(1)),
    ],
    expected_failed_checks=_cannot_hold,
)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- mixOmics ------------------------------------------------------------------------------


def _data():
    i, j = np.mgrid[1:26, 1:13]
    X = np.sin(i * j) + np.cos(3 * i + j) * np.sqrt(j)
    Y = X[:, :7] + 2 * np.sin(2 * i + j * j)[:, :7]
    return X, Y, np.array(["a", "b", "c"])[np.arange(1, 26) % 3]


def _same_up_to_sign(ours, name):
    theirs = np.reshape(R[name], ours.shape, order="F")
    sign = np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours * sign, theirs, atol=1e-12)


@MODES
def test_equal_to_mixomics(mode):
    X, Y, _ = _data()
    model = SparsePLS(3, keep_x=[4, 6, 12], keep_y=[3, 7, 5], mode=mode).fit(X, Y)
    for name in ("x_weights", "y_weights", "x_scores", "y_scores"):
        _same_up_to_sign(getattr(model, f"{name}_"), f"{mode}_{name}")


def test_classes_equal_to_mixomics():
    X, _, classes = _data()
    model = SparsePLSDA(2, keep_x=[3, 5]).fit(X, classes)
    _same_up_to_sign(model.x_weights_, "da_x_weights")
    responses = np.reshape(R["da_responses"], (25, 3), order="F")
    np.testing.assert_allclose(model.decision_function(X), responses, atol=1e-12)


# -- equations -----------------------------------------------------------------------------


def _plain(X, Y, keep_x, keep_y, mode):
    """The recipe written out on the deflated matrices themselves."""
    X, Y = ((A - A.mean(axis=0)) / A.std(axis=0, ddof=1) for A in (X, Y))

    def soft(v, keep):
        size = np.sort(np.abs(v))[::-1]
        v = np.sign(v) * np.maximum(np.abs(v) - (size[keep] if keep < len(v) else 0.0), 0.0)
        return v / np.linalg.norm(v)

    weights = []
    for kx, ky in zip(keep_x, keep_y, strict=True):
        M = X.T @ Y
        a, _, bt = np.linalg.svd(M)
        a, b = a[:, 0], bt[0]
        for _ in range(200):
            a = soft(M @ b, kx)
            b = soft(M.T @ a, ky)
        t, u = X @ a, Y @ b
        X = X - np.outer(t, t @ X) / (t @ t)
        v = t if mode == "regression" else u
        Y = Y - np.outer(v, v @ Y) / (v @ v)
        weights.append(a * np.sign(a[np.argmax(np.abs(a))]))
    return np.column_stack(weights)


@MODES
@pytest.mark.parametrize("kind", ["tall", "wide", "shifted", "sparse tall", "scaled columns"])
def test_the_recipe_on_the_zoo(mode, kind, rng):
    X = make_X(kind, rng)
    Y = dense(X)[:, :4] / dense(X)[:, :4].std(axis=0) + rng.normal(size=(X.shape[0], 4))
    model = SparsePLS(2, keep_x=[3, 2], keep_y=[2, 4], mode=mode, tol=1e-10).fit(X, Y)
    expected = _plain(dense(X), Y, [3, 2], [2, 4], mode)
    np.testing.assert_allclose(model.x_weights_, expected, atol=1e-7)


@MODES
@pytest.mark.parametrize("kind", ZOO)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_keeping_all_is_pls(mode, kind, rng):
    X = make_X(kind, rng)
    Y = dense(X)[:, :3] @ rng.normal(size=(3, 3)) + rng.normal(size=(X.shape[0], 3))
    dense_model = {"regression": PLSRegression, "canonical": PLSCanonical}[mode](2).fit(X, Y)
    model = SparsePLS(2, mode=mode, keep_x=X.shape[1]).fit(X, Y)
    np.testing.assert_allclose(model.coef_, dense_model.coef_, rtol=1e-6, atol=1e-9)


def test_keeping_all_classes_is_plsda():
    X, y = load_wine(return_X_y=True)
    ours, theirs = SparsePLSDA(3, scale=False).fit(X, y), PLSDA(3, scale=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)


@MODES
def test_numbers_kept_and_orthogonal_scores(mode, rng):
    X = rng.normal(size=(40, 30))
    Y = X[:, :6] + rng.normal(size=(40, 6))
    model = SparsePLS(3, keep_x=[5, 30, 7], keep_y=2, mode=mode).fit(X, Y)
    assert np.count_nonzero(model.x_weights_, axis=0).tolist() == [5, 30, 7]
    assert np.count_nonzero(model.y_weights_, axis=0).tolist() == [2, 2, 2]
    np.testing.assert_allclose(np.linalg.norm(model.x_weights_, axis=0), 1.0)
    T = model.x_scores_
    np.testing.assert_allclose(T.T @ T, np.diag(np.sum(T * T, axis=0)), atol=1e-9)
    np.testing.assert_allclose(model.transform(X), T, atol=1e-10)


def test_a_penalty_is_a_share_of_the_largest(rng):
    X, y = rng.normal(size=(50, 20)), rng.normal(size=50)
    model = SparsePLS(1, penalty_x=0.5, scale=False).fit(X, y)
    covariance = (X - X.mean(axis=0)).T @ y
    w = np.sign(covariance) * np.maximum(np.abs(covariance) - 0.5 * np.abs(covariance).max(), 0)
    w /= np.linalg.norm(w) * np.sign(w[np.argmax(np.abs(w))])
    np.testing.assert_allclose(model.x_weights_[:, 0], w, atol=1e-12)


def test_equal_variables_share():
    """Where the largest entries tie the first are taken, alike: never none at all."""
    np.testing.assert_array_equal(
        thresholded(np.array([1.0, -2.0, 2.0, 2.0]), Sparsity(0.0, 2)), [0.0, -1.0, 1.0, 0.0]
    )
    x = np.arange(10.0)[:, None]
    model = SparsePLS(1, keep_x=1).fit(np.hstack([x, x, x]), x[:, 0])
    assert np.count_nonzero(model.x_weights_) == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"keep_x": 0}, "keep_x=0 is not valid: give an integer of at least 1"),
        ({"keep_y": 1.5}, "keep_y=1.5 is not valid"),
        ({"keep_x": [3]}, "keep_x has 1 number for 2 components"),
        ({"keep_x": [3, -1]}, "keep_x=-1 is not valid"),
        ({"penalty_x": 1.0}, "penalty_x=1 leaves no variable"),
        ({"penalty_y": -0.1}, "penalty_y=-0.1 is not valid"),
        ({"mode": "both"}, "mode='both' is not known: choose one of 'regression', 'canonical'"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"n_components": 9}, "n_components=9 exceeds"),
    ],
)
def test_parameters_are_checked(params, message, rng):
    with pytest.raises(ValueError, match=message):
        SparsePLS(**params).fit(rng.normal(size=(8, 6)), rng.normal(size=(8, 3)))


def test_too_few_steps_are_told(rng):
    X = rng.normal(size=(40, 30))
    with pytest.warns(ConvergenceWarning, match="max_iter=1 steps with weights still changing"):
        SparsePLS(1, keep_x=3, max_iter=1).fit(X, X[:, :6] + rng.normal(size=(40, 6)))


# -- choosing ------------------------------------------------------------------------------


def _planted(rng, n=120, d=60):
    X = rng.normal(size=(n, d))
    y = X[:, :4] @ [1.0, 1.0, -1.0, 1.0] + 0.5 * rng.normal(size=n)
    return X, y


def test_search_finds_the_planted_variables(rng):
    X, y = _planted(rng)
    search = KeepSearchCV(SparsePLS(3), keep_x=[1, 2, 4, 8, 60]).fit(X, y)
    found = set(np.flatnonzero(search.best_estimator_.coef_))
    assert found >= {0, 1, 2, 3}
    assert len(found) <= 10
    assert search.fold_scores_.shape == (3, 5, 5)
    assert search.keep_x_[0] == search.grid_[one_standard_error(-search.fold_scores_[0])]
    np.testing.assert_allclose(search.predict(X), search.best_estimator_.predict(X))


def test_first_component_is_a_grid_search(rng):
    X, y = _planted(rng)
    grid, cv = [1, 2, 5, 20], KFold(4)
    ours = KeepSearchCV(SparsePLS(1), keep_x=grid, cv=cv, rule="min").fit(X, y)
    theirs = GridSearchCV(SparsePLS(1), {"keep_x": grid}, cv=cv).fit(X, y)
    table = [theirs.cv_results_[f"split{i}_test_score"] for i in range(4)]
    np.testing.assert_allclose(ours.fold_scores_[0], table)
    assert ours.keep_x_ == [theirs.best_params_["keep_x"]]


def test_search_over_classes_with_weights(rng):
    X, y = load_wine(return_X_y=True)
    names = np.array(["one", "two", "three"])[y]
    search = KeepSearchCV(SparsePLSDA(3)).fit(X, names, sample_weight=np.ones(len(y)))
    assert search.score(X, names) > 0.9
    assert search.classes_.tolist() == ["one", "three", "two"]
    assert search.transform(X).shape == (178, search.n_components_)


def test_search_is_checked(rng):
    X, y = _planted(rng)
    for params, message in [
        ({"keep_x": []}, "keep_x is empty"),
        ({"keep_x": [0, 2]}, "keep_x=0 is not valid"),
        ({"rule": "best"}, "rule='best' is not known"),
    ]:
        search = KeepSearchCV(SparsePLS(1), **params)
        with pytest.raises(ValueError, match=message):
            search.fit(X, y)
        assert not hasattr(search, "keep_x_")
    with pytest.raises(ValueError, match="requires y"):
        KeepSearchCV(SparsePLS(1)).fit(X, None)


def test_selection_frequency(rng):
    X, y = _planted(rng)
    model = SparsePLS(2, keep_x=[4, 2])
    found = selection_frequency(model, X, y, n_resamples=20, random_state=0)
    assert found.by_component.shape == (60, 2)
    np.testing.assert_allclose(found.by_component.sum(axis=0), [4, 2])
    assert np.all(found.overall >= found.by_component.max(axis=1))
    assert set(np.flatnonzero(found.overall > 0.95)) == {0, 1, 2, 3}
    again = selection_frequency(clone(model), X, y, n_resamples=20, random_state=0)
    np.testing.assert_array_equal(again.overall, found.overall)
    rare = np.r_[np.zeros(40), np.ones(3)].astype(int)  # every draw holds two of the rare class
    rows = sparse.csr_array(X[:43])
    classes = selection_frequency(SparsePLSDA(1, keep_x=3), rows, rare, n_resamples=5)
    np.testing.assert_allclose(classes.overall.sum(), 3)
    with pytest.raises(ValueError, match="fraction=2 is not valid"):
        selection_frequency(model, X, y, fraction=2)


def test_selection_is_counted_for_sparse_methods():
    with pytest.raises(TypeError, match="estimator is a PLSRegression: selection_frequency takes"):
        selection_frequency(PLSRegression(1), np.eye(4), np.arange(4.0))
