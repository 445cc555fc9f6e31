"""Bayesian CCA: the evidence bound, planted components and supports, intervals, gaps."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from eigenkit import BayesianCCA, ProbabilisticCCA
from eigenkit.exceptions import ConvergenceWarning
from eigenkit.solvers.sparse_latent import (
    Observed,
    bound,
    information,
    latent,
    start,
    update,
    varimax,
)


def planted(rng, n=200, strength=1.5):
    """Two shared components with supports of their own, and one of X alone."""
    z, own = rng.normal(size=(n, 2)), rng.normal(size=(n, 1))
    X, Y = rng.normal(size=(n, 8)), rng.normal(size=(n, 6))
    X[:, :3] += strength * z[:, :1]
    X[:, 3:5] += strength * z[:, 1:]
    X[:, 5:8] += strength * own
    Y[:, :2] += strength * z[:, :1]
    Y[:, 2:4] -= strength * z[:, 1:]
    return X, Y


def observed(V, weight=None):
    view = np.repeat([0, 1], [8, 6])
    weight = np.ones(len(V)) if weight is None else weight
    V = (V - np.nanmean(V, axis=0)) / np.nanstd(V, axis=0)
    return Observed.of(V, view, weight)


def gaps(rng, V, share=0.1):
    return np.where(rng.random(V.shape) < share, np.nan, V)


@pytest.mark.parametrize("with_gaps", [False, True])
def test_no_update_lowers_the_bound(rng, with_gaps):
    V = np.hstack(planted(rng, n=60))
    data = observed(gaps(rng, V) if with_gaps else V)
    q = start(data, 0.3 * rng.normal(size=(14, 4)))
    values = []
    for _ in range(60):
        z = latent(data, q)
        values.append(bound(data, z, q))
        q = update(data, z, q)
        values.append(bound(data, z, q))
    assert np.all(np.diff(values) > -1e-9 * np.abs(values[0]))
    assert values[-1] > values[0]


def test_a_triangular_factor_and_gaps_that_are_none_say_the_same(rng):
    V = np.hstack(planted(rng, n=60))
    data = observed(V)
    rows = (V - V.mean(axis=0)) / V.std(axis=0)
    plain = Observed(rows, data.view, np.ones(60), np.ones(rows.shape))
    W = 0.3 * rng.normal(size=(14, 3))
    a, b = start(data, W), start(plain, W)
    assert data.V.shape == (14, 14)
    for _ in range(5):
        a, b = update(data, latent(data, a), a), update(plain, latent(plain, b), b)
    np.testing.assert_allclose(a.expected, b.expected, atol=1e-9)
    np.testing.assert_allclose(
        bound(data, latent(data, a), a), bound(plain, latent(plain, b), b), rtol=1e-10
    )


def test_the_information_is_the_curvature_of_the_divergence(rng):
    """Of KL(N(0, C0) | N(0, C)) at C0, by finite differences."""
    W, noise = rng.normal(size=(4, 2)), rng.uniform(0.5, 2, 4)
    C0 = W @ W.T + np.diag(noise)

    def divergence(theta):
        L = theta[:8].reshape(4, 2)
        C = L @ L.T + np.diag(np.exp(theta[8:]))
        return 0.5 * (np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, C0)))

    at, h = np.concatenate([W.ravel(), np.log(noise)]), 1e-3
    E = h * np.eye(12)
    curve = [
        [
            divergence(at + a + b) - divergence(at + a) - divergence(at + b) + divergence(at)
            for b in E
        ]
        for a in E
    ]
    np.testing.assert_allclose(information(W, noise, 1.0), np.array(curve) / h**2, atol=2e-2)


def test_varimax_finds_the_axes_of_simple_loadings():
    W = np.kron(np.eye(2), np.ones((4, 1)))
    c, s = np.cos(0.5), np.sin(0.5)
    found = np.abs(varimax(W @ [[c, s], [-s, c]]))
    np.testing.assert_allclose(np.sort(found, axis=1)[:, 0], 0, atol=1e-6)


def test_planted_components_and_supports_are_found(rng):
    X, Y = planted(rng)
    model = BayesianCCA().fit(X, Y)
    assert model.n_components_ == 2
    on_x, on_y = model.x_relevance_ > 0.5, model.y_relevance_ > 0.5
    first = int(on_x[0, 1])  # which of the two carries the first three columns
    assert on_x[:, first].tolist() == [True] * 3 + [False] * 5
    assert on_x[:, 1 - first].tolist() == [False] * 3 + [True] * 2 + [False] * 3
    assert on_y[:, first].tolist() == [True] * 2 + [False] * 4
    assert on_y[:, 1 - first].tolist() == [False] * 2 + [True] * 2 + [False] * 2
    # The component of X alone is noise of X, and correlated.
    assert model.x_noise_covariance_[5, 6] > 1
    assert abs(model.y_noise_covariance_[4, 5]) < 0.2


def test_unrelated_views_share_nothing(rng):
    model = BayesianCCA().fit(rng.normal(size=(150, 5)), rng.normal(size=(150, 4)))
    assert model.n_components_ == 0
    assert model.transform(rng.normal(size=(3, 5))).shape == (3, 0)
    assert model.canonical_correlations_.shape == (0,)
    np.testing.assert_allclose(model.predict(np.zeros((2, 5))), [model.y_mean_] * 2)


def test_the_uses_are_those_of_the_stated_gaussian(rng):
    X, Y = planted(rng)
    m = BayesianCCA().fit(X, Y)
    Wx, Wy = m.x_loadings_, m.y_loadings_
    Sxx = Wx @ Wx.T + m.x_noise_covariance_
    Syy = Wy @ Wy.T + m.y_noise_covariance_
    z = np.linalg.solve(Sxx, Wx).T @ (X - m.mean_).T
    np.testing.assert_allclose(m.transform(X), z.T, atol=1e-10)
    np.testing.assert_allclose(m.transform(X), (X - m.mean_) @ m.components_.T, atol=1e-10)
    expected, deviation = m.predict(X, return_std=True)
    np.testing.assert_allclose(expected, z.T @ Wy.T + m.y_mean_, atol=1e-10)
    left = Syy - Wy @ Wx.T @ np.linalg.solve(Sxx, Wx @ Wy.T)
    np.testing.assert_allclose(deviation[0], np.sqrt(np.diag(left) * (1 + 1 / 200)), rtol=1e-10)
    M = (
        np.linalg.solve(np.linalg.cholesky(Sxx), Wx @ Wy.T)
        @ np.linalg.inv(np.linalg.cholesky(Syy)).T
    )
    np.testing.assert_allclose(
        m.canonical_correlations_, np.linalg.svd(M, compute_uv=False)[:2], atol=1e-10
    )


def test_units_and_offsets_do_not_matter(rng):
    X, Y = planted(rng)
    a = BayesianCCA().fit(X, Y)
    units = 10.0 ** np.arange(-4, 4)
    b = BayesianCCA().fit(X * units + 7, Y)
    np.testing.assert_allclose(b.x_relevance_, a.x_relevance_, atol=1e-6)
    np.testing.assert_allclose(b.x_loadings_, a.x_loadings_ * units[:, None], rtol=1e-5, atol=1e-9)
    s = BayesianCCA().fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(s.x_loadings_, a.x_loadings_, atol=1e-6)
    assert BayesianCCA().fit(X.astype(np.float32), Y).x_loadings_.dtype == np.float32
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(a)).transform(X), a.transform(X))


def test_integer_weights_count_repetitions(rng):
    X, Y = planted(rng, n=100)
    weight = rng.integers(0, 3, 100)
    a = BayesianCCA().fit(X, Y, sample_weight=weight)
    b = BayesianCCA().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(a.x_loadings_, b.x_loadings_, atol=1e-6)
    np.testing.assert_allclose(a.evidence_, b.evidence_, rtol=1e-8)


def test_gaps_are_lived_with(rng):
    X, Y = planted(rng)
    A, B = gaps(rng, X), gaps(rng, Y)
    B[:20] = np.nan
    model = BayesianCCA().fit(A, B)
    assert model.n_components_ == 2
    assert np.all((model.x_relevance_ > 0.5).sum(axis=1)[5:] == 0)
    filled = np.hstack(model.impute(A, B))
    truth, holes = np.hstack([X, Y]), np.isnan(np.hstack([A, B]))
    by_mean = np.sqrt(np.mean((np.nanmean(np.hstack([A, B]), axis=0) - truth)[holes] ** 2))
    assert np.sqrt(np.mean((filled - truth)[holes] ** 2)) < 0.9 * by_mean
    with pytest.raises(ValueError, match="return_std needs whole rows"):
        model.predict(A, return_std=True)


def test_intervals_hold_the_loadings_and_are_zero_elsewhere(rng):
    X, Y = planted(rng)
    model = BayesianCCA().fit(X, Y)
    x, y = model.loading_intervals(0.95)
    assert x.shape == (8, 2, 2)
    assert y.shape == (6, 2, 2)
    assert np.all(x[model.x_relevance_ < 0.5] == 0)
    inside = model.x_loadings_[model.x_relevance_ > 0.5]
    low, high = x[model.x_relevance_ > 0.5].T
    assert np.all((low < inside) & (inside < high))
    wider = model.loading_intervals(0.99)[0]
    assert np.all(np.ptp(wider, axis=-1) >= np.ptp(x, axis=-1))
    with pytest.raises(ValueError, match="level=2 is not valid"):
        model.loading_intervals(2)


@pytest.mark.slow
def test_intervals_are_calibrated():
    """Loadings and predictions inside their 90 % intervals, over 60 sets."""
    inside, total, predicted = 0, 0, []
    for seed in range(60):
        rng = np.random.default_rng([seed, 77])
        X, Y = planted(rng)
        model = BayesianCCA().fit(X, Y)
        for A in model.loading_intervals(0.9):
            on = np.ptp(A, axis=-1) > 0
            size = np.abs(A[on])
            inside += int(np.sum((size.min(axis=1) <= 1.5) & (size.max(axis=1) >= 1.5)))
            total += int(on.sum())
        T, U = planted(rng)
        expected, deviation = model.predict(T, return_std=True)
        predicted.append(np.mean(np.abs(U - expected) <= 1.645 * deviation))
    assert 0.85 < inside / total < 0.95
    assert 0.88 < np.mean(predicted) < 0.92


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 0}, "give an integer of at least 1, or None for up to 10"),
        ({"tol": -1}, "tol=-1 is not valid"),
        ({"max_iter": 0}, "max_iter=0 is not valid"),
    ],
)
def test_parameters_are_checked(params, message, rng):
    with pytest.raises(ValueError, match=message):
        BayesianCCA(**params).fit(*planted(rng, n=20))


def test_an_early_stop_is_told(rng):
    with pytest.warns(ConvergenceWarning, match="max_iter=12 steps"):
        BayesianCCA(2, max_iter=12, tol=0.0).fit(*planted(rng, n=50))


@pytest.mark.parametrize("max_iter", [1, 2])
def test_a_run_too_short_to_measure_says_so(max_iter, rng):
    X = rng.normal(size=(30, 3))
    Y = X[:, :2] + rng.normal(size=(30, 2))
    X[0, 0] = np.nan
    for model in (BayesianCCA(1, max_iter=max_iter), ProbabilisticCCA(1, max_iter=max_iter)):
        with pytest.warns(ConvergenceWarning) as caught:
            model.fit(X, Y)
        assert not any("inf" in str(warning.message) for warning in caught)
