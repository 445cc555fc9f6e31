"""PLS-DA: the classification theorems of the thesis, and a classifier's manners."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine, make_multilabel_classification
from sklearn.model_selection import cross_val_score

from eigenkit import PLSDA, PLSRegression
from eigenkit.estimators.plsda import on_simplex
from eigenkit.exceptions import DegenerateDataWarning

CODINGS = pytest.mark.parametrize("coding", ["indicator", "reduced", "between"])


@pytest.fixture
def wine():
    return load_wine(return_X_y=True)


def _scatter(X, y, power):
    """sum_j n_j^power (m_j - m)(m_j - m)' and the terms of it."""
    mean = X.mean(axis=0)
    terms = []
    for j in np.unique(y):
        n, gap = np.sum(y == j), X[y == j].mean(axis=0) - mean
        terms.append(float(n) ** power * np.outer(gap, gap))
    return np.array(terms)


def _leading(S):
    return np.linalg.eigh(S)[1][:, -1]


def _same_direction(a, b):
    assert np.isclose(abs(a @ b), np.linalg.norm(a) * np.linalg.norm(b), rtol=1e-9)


def test_theorem_2_8_with_all_indicators(wine):
    X, y = wine
    J, Xc = (y[:, None] == np.arange(3)).astype(float), X - X.mean(axis=0)
    H = _scatter(X, y, 2).sum(axis=0)
    np.testing.assert_allclose(Xc.T @ J @ J.T @ Xc, H, rtol=1e-8, atol=1e-8 * H.max())
    _same_direction(PLSDA(1, scale=False).fit(X, y).x_weights_[:, 0], _leading(H))


def test_theorem_2_8_with_the_last_class_left_out(wine):
    X, y = wine
    H = _scatter(X, y, 2)[:-1].sum(axis=0)
    model = PLSDA(1, coding="reduced", scale=False).fit(X, y)
    _same_direction(model.x_weights_[:, 0], _leading(H))


def test_theorem_2_9(wine):
    """Xc'Z (Z'Z)^-1 Z'Xc is the between-class scatter."""
    X, y = wine
    Z = (y[:, None] == np.arange(2)).astype(float)
    Z, Xc = Z - Z.mean(axis=0), X - X.mean(axis=0)
    Sb = _scatter(X, y, 1).sum(axis=0)
    product = Xc.T @ Z @ np.linalg.solve(Z.T @ Z, Z.T @ Xc)
    np.testing.assert_allclose(product, Sb, rtol=1e-8, atol=1e-10 * Sb.max())


@pytest.mark.parametrize("scale", [True, False])
def test_theorem_2_10(wine, scale):
    """With "between" all weights are eigenvectors of the between-class scatter."""
    X, y = wine
    model = PLSDA(2, coding="between", scale=scale).fit(X, y)
    Xs = (X - X.mean(axis=0)) / (X.std(axis=0, ddof=1) if scale else 1)
    Sb = _scatter(Xs, y, 1).sum(axis=0)
    W = model.x_weights_
    values = np.linalg.eigvalsh(Sb)[::-1][:2]
    np.testing.assert_allclose(Sb @ W, W * values, atol=1e-9 * values[0])
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-10)


def test_indicator_is_pls_regression_on_indicators(wine):
    X, y = wine
    J = (y[:, None] == np.arange(3)).astype(float)
    reference = PLSRegression(3, scale=(True, False)).fit(X, J)
    model = PLSDA(3).fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-10)
    np.testing.assert_allclose(model.x_loadings_, reference.x_loadings_, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), reference.predict(X), atol=1e-9)


@CODINGS
def test_responses_are_least_squares_on_the_scores(wine, coding):
    X, y = wine
    model = PLSDA(2, coding=coding).fit(X, y)
    J = (y[:, None] == np.arange(3)).astype(float)
    T = model.transform(X)
    beta = np.linalg.lstsq(T, J - J.mean(axis=0))[0]
    np.testing.assert_allclose(model.decision_function(X), T @ beta + J.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(model.decision_function(X).sum(axis=1), 1)


@CODINGS
def test_classifies(coding):
    for load, floor in ((load_wine, 0.95), (load_iris, 0.75)):
        X, y = load(return_X_y=True)
        names = np.array(["c", "a", "b"])[y]
        assert cross_val_score(PLSDA(2, coding=coding), X, names, cv=5).mean() > floor


@CODINGS
def test_probabilities_keep_the_order_of_the_responses(wine, coding):
    X, y = wine
    model = PLSDA(2, coding=coding).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert P.min() >= 0
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(X))


@CODINGS
def test_two_classes(wine, coding):
    X, y = wine
    model = PLSDA(1, coding=coding).fit(X[y < 2], np.where(y[y < 2] == 1, "yes", "no"))
    margin = model.decision_function(X)
    assert margin.shape == (len(X),)
    np.testing.assert_array_equal(model.predict(X) == "yes", margin > 0)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], np.clip(margin + 0.5, 0, 1))


@CODINGS
def test_the_default_fits_two_classes(wine, coding):
    X, y = wine
    model = PLSDA(coding=coding).fit(X[y < 2], y[y < 2])
    assert model.n_components_ == (1 if coding == "between" else 2)
    with pytest.raises(ValueError, match="n_components=14 exceeds"):
        PLSDA(14, coding=coding).fit(X[y < 2], y[y < 2])


@pytest.mark.parametrize("coding", ["indicator", "between"])
def test_many_labels(coding):
    X, Y = make_multilabel_classification(n_samples=200, n_features=20, n_classes=4, random_state=0)
    model = PLSDA(3, coding=coding).fit(sparse.csr_array(X), Y)
    by_guessing = np.maximum(Y.mean(axis=0), 1 - Y.mean(axis=0))
    assert np.all(np.mean(model.predict(X) == Y, axis=0) > by_guessing)
    assert np.mean(model.predict(X) == Y) > by_guessing.mean() + 0.1
    P = model.predict_proba(X)
    assert len(P) == 4
    np.testing.assert_array_equal(np.column_stack([p[:, 1] > 0.5 for p in P]), model.predict(X))


def test_nearest_point_of_the_simplex():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(200, 4))
    P = on_simplex(V)
    others = rng.dirichlet(np.ones(4), size=500)
    best = np.linalg.norm(V - P, axis=1)
    assert np.all(best <= np.linalg.norm(V[:, None] - others, axis=2).min(axis=1) + 1e-12)


def test_messages(wine):
    X, y = wine
    with pytest.raises(ValueError, match="y holds 1 class, but at least two"):
        PLSDA().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="y holds 178 classes for 178 samples"):
        PLSDA().fit(X, np.arange(len(y)))
    with pytest.raises(ValueError, match=r"coding='onehot' is not known: choose one of"):
        PLSDA(coding="onehot").fit(X, y)
    with pytest.raises(ValueError, match=r"n_components=3 exceeds 2"):
        PLSDA(3, coding="between").fit(X, y)
    with pytest.raises(ValueError, match=r"n_components=3 exceeds 1"):
        PLSDA(3, coding="between").fit(X, y == 1)
    with pytest.raises(ValueError, match="known from the others only with one class per sample"):
        PLSDA(coding="reduced").fit(X, np.eye(3)[y])
    with pytest.raises(ValueError, match="y holds 2: as a label matrix it must hold only 0 and 1"):
        PLSDA().fit(X, 2 * np.eye(3)[y])
    with pytest.raises(ValueError, match="Unknown label type"):
        PLSDA().fit(X, X[:, 0])
    with pytest.warns(DegenerateDataWarning, match="1 of 4 labels are carried by no sample"):
        PLSDA(1).fit(X, np.column_stack([np.eye(3)[y], np.zeros(len(y))]))
