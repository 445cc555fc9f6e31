"""The least squares models: their objective, their heads, and when they are the projection."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression

from conftest import ESTIMATORS, labels_for, needs_lda_by_n, projector_distance, some_of
from eigenkit import (
    CCA,
    LDA,
    PCA,
    AlphaSearchCV,
    HypergraphSpectral,
    KernelCCA,
    LeastSquaresProjection,
    MultilabelLDA,
    OrthonormalizedPLS,
    RowBlocks,
    alpha_path,
    l1_path,
)
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.solvers.least_squares import targets
from eigenkit.targets import TARGETS

PENALTIES = {"none": (0.0, 0.0), "l2": (2.0, 0.0), "l1": (0.3, 1.0), "elastic net": (0.5, 0.5)}


def model(target: str, penalty: str = "l1", **more) -> LeastSquaresProjection:
    alpha, l1_ratio = PENALTIES[penalty]
    how = {"alpha": alpha, "l1_ratio": l1_ratio, "tol": 1e-12, "max_iter": 100_000, **more}
    return LeastSquaresProjection(target=target, **how)


def data(target: str, rng, n: int = 60, d: int = 7):
    y = labels_for(target, n, rng)
    Y = (y[:, None] == np.arange(3)) if y.ndim == 1 else y
    return rng.normal(size=(n, d)) + Y @ rng.normal(size=(Y.shape[1], d)), y


# -- the model -----------------------------------------------------------------------------


def _problem(estimator, X, y):
    rows = estimator._rows(X, y, None)
    return estimator._state(rows).pencil


@pytest.mark.parametrize(("target", "penalty"), some_of(TARGETS, PENALTIES, every=2))
def test_it_minimizes_its_objective(target, penalty, rng):
    X, y = data(target, rng)
    fitted = model(target, penalty).fit(X, y)
    pencil = _problem(model(target, penalty), X, y)
    T, Z = targets(pencil.H), X - X.mean(axis=0)
    alpha, ratio = PENALTIES[penalty]
    W = fitted.components_.T
    if ratio == 0:  # a ridge may turn all of them
        U, _, Vt = np.linalg.svd(T.T @ Z @ W, full_matrices=False)
        assert _distance_to_optimum(Z, T @ U @ Vt, W, alpha, ratio).max() < 1e-6
        return
    assert W.shape[1] == T.shape[1]
    for t in T.T:  # there is one component for each target, up to its sign
        gaps = [_distance_to_optimum(Z, s * t[:, None], W, alpha, ratio) for s in (1, -1)]
        assert np.min(gaps) < 1e-6


def _distance_to_optimum(Z, T, W, alpha, ratio):
    """By how much each column misses the subgradient of its objective."""
    slope = 2 * Z.T @ (T - Z @ W) - 2 * alpha * (1 - ratio) * W
    lasso = alpha * ratio
    inside = np.maximum(np.abs(slope) - lasso, 0.0)
    return np.where(W == 0, inside, np.abs(slope - lasso * np.sign(W))).max(axis=0)


@pytest.mark.parametrize("target", list(TARGETS))
def test_it_is_the_projection_exactly_when_targets_are_fitted(target, rng):
    X, y = data(target, rng, 14, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model(target, "none").fit(X, y)
        expanded = partial(HypergraphSpectral, expansion=target)
        direct = ESTIMATORS.get(target, expanded)(alpha=0.0, solver="direct").fit(X, y)
    assert fitted.report_.equivalent
    assert projector_distance(fitted.components_.T, direct.components_.T) < 1e-9
    np.testing.assert_allclose(fitted.eigenvalues_, direct.eigenvalues_, rtol=1e-9)
    assert not model(target, "l2").fit(X, y).report_.equivalent
    assert not model(target, "none").fit(*data(target, rng)).report_.equivalent


@pytest.mark.parametrize(("target", "penalty"), some_of(TARGETS, PENALTIES, every=2))
def test_components_come_by_eigenvalue(target, penalty, rng):
    X, y = data(target, rng)
    fitted = model(target, penalty).fit(X, y)
    H = _problem(model(target), X, y).H
    scores = fitted.transform(X)
    values = np.sum((H.T @ scores) ** 2, axis=0) / np.sum(scores**2, axis=0)
    np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-9)
    assert np.all(np.diff(fitted.eigenvalues_) <= 0)
    few = model(target, penalty, n_components=2).fit(X, y)
    np.testing.assert_array_equal(few.components_, fitted.components_[:2])


@pytest.mark.parametrize(("target", "penalty"), some_of(TARGETS, PENALTIES, every=2))
def test_nothing_depends_on_the_order_of_labels_or_samples(target, penalty, rng):
    X, y = data(target, rng)
    fitted = model(target, penalty).fit(X, y)
    order = rng.permutation(len(X))
    other_y = (y + 1) % 3 if y.ndim == 1 else y[:, ::-1]
    for X2, y2 in ((X[order], y[order]), (X, other_y)):
        again = model(target, penalty).fit(X2, y2)
        np.testing.assert_allclose(again.components_, fitted.components_, atol=1e-6)


def test_two_classes_and_labels_listed_twice_are_one_target(rng):
    X, y = data("lda", rng)
    two = model("lda").fit(X, y == 1)
    assert two.components_.shape == (1, 7)
    X, Y = data("star", rng)
    assert model("star").fit(X, np.hstack([Y, Y[:, :1]])).n_components_ == 4


@pytest.mark.parametrize(
    ("target", "penalty", "form"),
    some_of(TARGETS, ["l2", "l1"], [np.asarray, sparse.csr_array], every=2),
)
def test_streams_weights_and_sparse_data(target, penalty, form, rng):
    X, y = data(target, rng)
    X = form(X * (rng.random(X.shape) < 0.6))
    whole = model(target, penalty).fit(X, y)
    stream = model(target, penalty)
    for part in (slice(0, 25), slice(25, 26), slice(26, 60)):
        stream.partial_fit(X[part], y[part])
    np.testing.assert_allclose(stream.components_, whole.components_, atol=1e-7)
    weight = rng.integers(0, 3, size=60)
    rows = np.repeat(np.arange(60), weight)
    weighted = model(target, penalty).fit(X, y, weight)
    repeated = model(target, penalty).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-6)


def test_single_precision_converges_and_stays():
    X, y = load_iris(return_X_y=True)  # warnings are errors
    fitted = model("lda", tol=1e-8, max_iter=1000).fit(X.astype(np.float32), y)
    assert fitted.components_.dtype == np.float32
    np.testing.assert_allclose(fitted.components_, model("lda").fit(X, y).components_, atol=1e-5)


# -- the head ------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", list(PENALTIES))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_classifier_is_that_of_its_own_scores(penalty, n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y >= 3 - n_classes], y[y >= 3 - n_classes]
    fitted = model("lda", penalty).fit(X, y)
    scores = fitted.transform(X)
    needs_lda_by_n()
    head = LinearDiscriminantAnalysis().fit(scores, y)
    np.testing.assert_allclose(fitted.predict_proba(X), head.predict_proba(scores), atol=1e-6)
    assert fitted.score(X, y) == head.score(scores, y) >= 0.94
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X))


@pytest.mark.parametrize("target", ["cca", "opls"])
@pytest.mark.parametrize("penalty", list(PENALTIES))
@pytest.mark.parametrize("l", [1, 2, None])
def test_the_regression_is_that_of_its_own_scores(target, penalty, l):
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, X[:, 0] * y, X[:, 1] ** 2])
    fitted = model(target, penalty, n_components=l, alpha=0.01).fit(X[:, 2:], Y)
    scores = fitted.transform(X[:, 2:])
    head = LinearRegression().fit(scores, Y)
    np.testing.assert_allclose(fitted.predict(X[:, 2:]), head.predict(scores), rtol=1e-6)
    assert fitted.score(X[:, 2:], Y) == pytest.approx(head.score(scores, Y))
    plain = X[:, 2:] @ fitted.coef_.T + fitted.intercept_
    np.testing.assert_allclose(fitted.predict(X[:, 2:]), plain, rtol=1e-9)


def test_a_penalty_that_leaves_nothing_predicts_the_mean(rng):
    X, y = data("opls", rng)
    empty = model("opls", alpha=1e6).fit(X, y)
    assert not empty.components_.any()
    np.testing.assert_allclose(empty.predict(X), np.tile(y.mean(axis=0), (60, 1)))
    X, y = data("lda", rng)
    empty = model("lda", alpha=1e6).fit(X, y)
    np.testing.assert_allclose(empty.predict_proba(X), 1 / 3)


def test_what_a_target_cannot_predict_is_not_there():
    assert is_classifier(LeastSquaresProjection(target="lda"))
    assert is_regressor(LeastSquaresProjection(target="cca"))
    star = LeastSquaresProjection(target="star")
    assert not is_classifier(star)
    assert not is_regressor(star)
    assert not any(hasattr(star, name) for name in ("predict", "score", "predict_proba"))
    assert not hasattr(LeastSquaresProjection(target="cca"), "predict_proba")


# -- grids ---------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_path_of_alphas_equals_separate_fits(penalty, rng):
    X, y = data("star", rng)
    for fitted in alpha_path(model("star", penalty), X, y, [0.0, 0.1, 1.0]):
        alone = model("star", penalty, alpha=fitted.alpha).fit(X, y)
        np.testing.assert_allclose(fitted.components_, alone.components_, atol=1e-6)


def test_the_lasso_s_alpha_is_found_by_cross_validation():
    X, y = load_iris(return_X_y=True)
    search = AlphaSearchCV(model("lda", tol=1e-6), alphas=[0.1, 1.0, 10.0]).fit(X, y)
    assert search.best_score_ > 0.94
    assert search.predict(X).shape == (150,)


def test_the_plan_tells_the_method(rng):
    X, y = data("star", rng)
    assert model("star").plan(X, y).regression == "coordinate_descent"
    assert model("star", "l2").plan(X, y).regression == "cholesky"


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [CCA(), LDA(), OrthonormalizedPLS(), HypergraphSpectral(), MultilabelLDA(), KernelCCA()],
)
def test_least_squares_is_no_solver(estimator, rng):
    X, y = data("lda", rng)
    with pytest.raises(ValueError, match=r"another model: use LeastSquaresProjection, or choose"):
        estimator.set_params(solver="least_squares").fit(X, y)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"target": "pca"}, "target='pca' is not known: choose one of 'cca'"),
        ({"l1_ratio": 1.5}, r"l1_ratio=1\.5 is not valid"),
        ({"alpha": -1}, "alpha=-1 is not valid"),
        ({"regression": "x"}, "regression='x' is not known"),
    ],
)
def test_parameters_are_checked(how, message, rng):
    with pytest.raises(ValueError, match=message):
        LeastSquaresProjection(**how).fit(*data("star", rng))


@pytest.mark.parametrize("estimator", [PCA(), LDA()])
def test_a_path_needs_a_least_squares_model(estimator, rng):
    with pytest.raises(TypeError, match="l1_path needs a LeastSquaresProjection"):
        l1_path(estimator, *data("lda", rng))


@pytest.mark.slow
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("form", ["coo", "csr"])
def test_sparse_data_may_have_long_indices(form, l1_ratio):
    rng = np.random.default_rng(0)
    A, y = rng.poisson(0.6, size=(40, 5)).astype(float), np.arange(40) % 3
    i, j = np.nonzero(A)  # int64
    S = sparse.coo_array((A[i, j], (i, j)), shape=A.shape).asformat(form)
    model = LeastSquaresProjection(target="lda", alpha=0.5, l1_ratio=l1_ratio)
    short = clone(model).fit(sparse.csr_array(A), y)
    np.testing.assert_allclose(model.fit(S, y).eigenvalues_, short.eigenvalues_, rtol=1e-9)
    for method in ("lars", "cd"):
        for a, b in zip(
            l1_path(model, S, y, method=method),
            l1_path(model, sparse.csr_array(A), y, method=method),
            strict=True,
        ):
            np.testing.assert_allclose(a[1], b[1], atol=1e-9)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("target", ["lda", "cca"])
def test_constant_and_extreme_columns_of_blocks_are_those_in_memory(target, l1_ratio):
    """Blocks with a constant column were refused."""
    X, y = load_iris(return_X_y=True)
    unit = np.ones(4) if l1_ratio else [1.0, 1e-120, 1e140, 1.0]
    X = np.column_stack([X * unit, np.full(150, 7.0)])
    y = y if target == "lda" else np.eye(3)[y]
    blocks = RowBlocks.from_arrays([(X[::2], y[::2]), (X[1::2], y[1::2])])
    found = []
    for given in ((X, y), (blocks,)):
        model = LeastSquaresProjection(target=target, alpha=0.1, l1_ratio=l1_ratio)
        with pytest.warns(DegenerateDataWarning, match="1 of 5 features are constant"):
            found.append(model.fit(*given).transform(X))
    np.testing.assert_allclose(found[1], found[0], atol=1e-9)


def test_predictions_follow_the_target_that_was_fitted():
    X, y = load_iris(return_X_y=True)
    model = LeastSquaresProjection(target="lda").fit(X, y)
    expected, score = model.predict(X), model.score(X, y)
    for target in ("opls", "star"):
        model.set_params(target=target)
        np.testing.assert_array_equal(model.predict(X), expected)
        assert model.predict_proba(X).shape == (150, 3)
        assert model.score(X, y) == score
    assert not hasattr(model.fit(X, np.eye(3)[y]), "predict")


def test_components_of_one_feature_are_tied_and_keep_the_order_of_their_labels():
    """Their eigenvalues are equal but for rounding, which weights and copies of rows change."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 4)) * [20.0, 0.1, 0.1, 0.1]
        Y = (X[:, :1] * 0.05 + rng.normal(size=(40, 4)) > 0).astype(int)
        weight = rng.choice([1, 2, 3], size=40)
        copies = np.repeat(np.arange(40), weight)
        make = partial(LeastSquaresProjection, target="clique", alpha=20.0, l1_ratio=1.0, tol=1e-12)
        models = make().fit(X[copies], Y[copies]), make().fit(X, Y, sample_weight=weight)
        np.testing.assert_allclose(*(model.components_ for model in models), atol=1e-9)


@pytest.mark.parametrize("alpha", ["much", -1.0])
def test_a_plan_checks_the_parameters(alpha, rng):
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"alpha=.* is not valid"):
        LeastSquaresProjection(alpha=alpha, l1_ratio=1.0).plan(X, Y)
