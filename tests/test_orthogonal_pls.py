"""O-PLS: the textbook loop, the identity with PLS, orthogonality."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eigenkit import OrthogonalPLS, PLSRegression
from eigenkit.exceptions import DegenerateDataWarning


def data(rng, n=60, d=8, k=1):
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3
    Y = X[:, :2] @ rng.normal(size=(2, k)) + rng.normal(size=(n, k))
    return X, Y[:, 0] if k == 1 else Y


def textbook(X, y, count):
    """Trygg and Wold's algorithm, written out: filtered X, orthogonal scores, coefficient of t."""
    X, y = X - X.mean(axis=0), y - y.mean()
    w = X.T @ y
    w /= np.linalg.norm(w)
    scores = []
    for _ in range(count):
        t = X @ w
        p = X.T @ t / (t @ t)
        w_o = p - (w @ p) / (w @ w) * w
        w_o /= np.linalg.norm(w_o)
        t_o = X @ w_o
        X = X - np.outer(t_o, X.T @ t_o / (t_o @ t_o))
        scores.append(t_o)
    t = X @ w
    return X, np.column_stack(scores), t * (y @ t) / (t @ t)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_it_is_trygg_and_wolds_algorithm(rng, count):
    X, y = data(rng)
    filtered, scores, fitted = textbook(X, y, count)
    model = OrthogonalPLS(n_orthogonal=count, scale=False).fit(X, y)
    found = model.transform_orthogonal(X)
    np.testing.assert_allclose(np.abs(found), np.abs(scores), atol=1e-9)
    np.testing.assert_allclose(model.correct(X) - X.mean(axis=0), filtered, atol=1e-9)
    np.testing.assert_allclose(model.predict(X) - y.mean(), fitted, atol=1e-9)


@pytest.mark.parametrize("scale", [True, False, (True, False)])
@pytest.mark.parametrize("count", [1, 3, 6])
def test_predictions_are_those_of_pls_with_as_many_components(rng, count, scale):
    X, y = data(rng)
    new = data(rng)[0]
    model = OrthogonalPLS(n_orthogonal=count, scale=scale).fit(X, y)
    pls = PLSRegression(1 + count, scale=scale).fit(X, y)
    np.testing.assert_allclose(model.predict(new), pls.predict(new), atol=1e-9)
    np.testing.assert_allclose(model.coef_, pls.coef_, atol=1e-9)


@pytest.mark.parametrize("k", [1, 3])
def test_orthogonal_scores_are_orthogonal_to_y_and_to_the_predictive_ones(rng, k):
    X, Y = data(rng, k=k)
    model = OrthogonalPLS(n_orthogonal=2).fit(X, Y)
    T_o, T = model.transform_orthogonal(X), model.transform(X)
    assert model.n_components_ == k
    assert T.shape == (60, k)
    np.testing.assert_allclose(T_o.T @ (Y - Y.mean(axis=0)), 0, atol=1e-9)
    np.testing.assert_allclose(T_o.T @ T, 0, atol=1e-8)
    gram = T.T @ T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-8)
    fitted = T @ np.linalg.lstsq(T, Y - Y.mean(axis=0), rcond=None)[0] + Y.mean(axis=0)
    np.testing.assert_allclose(model.predict(X), fitted.reshape(Y.shape), atol=1e-9)
    assert np.all(model.orthogonal_variance_ratio_ > 0)
    assert model.orthogonal_variance_ratio_.sum() < 1


def test_fewer_components_are_another_model_and_refused(rng):
    """The filter depends on all of them: predictions with the first few were of no model."""
    X, Y = data(rng, k=3)
    model = OrthogonalPLS(2).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X, n_components=2), model.predict(X))
    with pytest.raises(ValueError, match="fewer than the 2 components"):
        model.predict(X, n_components=1)
    assert not hasattr(model, "coef_path_")
    assert not hasattr(model, "staged_predict")
    one = OrthogonalPLS(1).fit(X, Y)
    np.testing.assert_allclose(next(one.staged_predict(X)), one.predict(X))
    np.testing.assert_allclose(one.coef_path_[0], one.coef_)


def test_sparse_weights_and_precision(rng):
    X, y = data(rng)
    X[X < 2] = 0
    a = OrthogonalPLS(n_orthogonal=2).fit(X, y)
    b = OrthogonalPLS(n_orthogonal=2).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-9)
    np.testing.assert_allclose(
        b.transform_orthogonal(sparse.csr_array(X)), a.transform_orthogonal(X), atol=1e-9
    )
    weight = rng.integers(0, 3, 60)
    a = OrthogonalPLS().fit(X, y, sample_weight=weight)
    b = OrthogonalPLS().fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-9)
    single = OrthogonalPLS().fit(X.astype(np.float32), y)
    assert single.transform_orthogonal(X.astype(np.float32)).dtype == np.float32


def test_what_is_not_there_is_told(rng):
    X, y = data(rng, d=3)
    with pytest.warns(DegenerateDataWarning, match="X holds 2 components"):
        model = OrthogonalPLS(n_orthogonal=5).fit(X, y)
    assert model.n_orthogonal_ == 2
    with pytest.raises(ValueError, match="n_orthogonal=0 is not valid"):
        OrthogonalPLS(n_orthogonal=0).fit(X, y)
    with pytest.raises(ValueError, match="n_components=2 exceeds 1, the number of responses"):
        OrthogonalPLS(2).fit(X, y)


def test_what_is_orthogonal_does_not_depend_on_the_unit_of_x(rng):
    X, y = data(rng)
    plain, small = (OrthogonalPLS(n_orthogonal=3, scale=False).fit(X * s, y) for s in (1.0, 2**-25))
    assert small.n_orthogonal_ == 3
    np.testing.assert_allclose(small.predict(X * 2**-25), plain.predict(X), rtol=1e-9)


def test_shares_of_y_are_those_that_predictions_explain(rng):
    X, Y = data(rng, k=2)
    model = OrthogonalPLS(scale=False).fit(X, Y)
    centred = Y - Y.mean(axis=0)
    explained = np.sum((model.predict(X) - Y.mean(axis=0)) ** 2) / np.sum(centred**2)
    assert model.y_explained_variance_ratio_.sum() == pytest.approx(explained, rel=1e-9)
