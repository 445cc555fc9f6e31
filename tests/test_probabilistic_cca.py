"""Probabilistic CCA: the likelihood and its maximum, EM with gaps, and a density's manners."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenkit import CCA, ProbabilisticCCA
from eigenkit.exceptions import ConvergenceWarning
from eigenkit.numerics.linalg import triangular_factor
from eigenkit.solvers.two_views import closed_form, expectation_maximization


@pytest.mark.slow
@parametrize_with_checks([ProbabilisticCCA(), ProbabilisticCCA(1, alpha=0.1)])
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def planted(rng, n=200, q=2, d_x=5, d_y=4, noise=0.7):
    z = rng.normal(size=(n, q))
    X = z @ rng.normal(size=(q, d_x)) + noise * rng.normal(size=(n, d_x)) + 3.0
    Y = z @ rng.normal(size=(q, d_y)) + noise * rng.normal(size=(n, d_y)) - 1.0
    return X, Y


def joint(model):
    """Mean and covariance of (x, y), from the attributes alone."""
    W = np.vstack([model.x_loadings_, model.y_loadings_])
    C = W @ W.T
    d = len(model.x_loadings_)
    C[:d, :d] += model.x_noise_covariance_
    C[d:, d:] += model.y_noise_covariance_
    return np.concatenate([model.mean_, model.y_mean_]), C


def test_attributes_are_the_model_of_the_equations(rng):
    X, Y = planted(rng)
    model = ProbabilisticCCA(2, alpha=0.0).fit(X, Y)
    mean, C = joint(model)
    np.testing.assert_allclose(mean, np.hstack([X, Y]).mean(axis=0))
    S = np.cov(np.hstack([X, Y]).T, bias=True)
    np.testing.assert_allclose(C[:5, :5], S[:5, :5], atol=1e-12)
    np.testing.assert_allclose(C[5:, 5:], S[5:, 5:], atol=1e-12)
    full = CCA(alpha=0.0).fit(X, Y).canonical_correlations_
    np.testing.assert_allclose(model.canonical_correlations_, full[:2], atol=1e-12)
    expected = multivariate_normal(mean, C).logpdf(np.hstack([X, Y]))
    np.testing.assert_allclose(model.score_samples(X, Y), expected, atol=1e-10)
    only_x = multivariate_normal(mean[:5], C[:5, :5]).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), only_x, atol=1e-10)


def test_latent_expectations_are_gaussian_conditionals(rng):
    X, Y = planted(rng)
    model = ProbabilisticCCA(2, alpha=0.0).fit(X, Y)
    mean, C = joint(model)
    W, V = np.vstack([model.x_loadings_, model.y_loadings_]), np.hstack([X, Y]) - mean
    both = V @ np.linalg.solve(C, W)
    np.testing.assert_allclose(model.latent(X, Y), both, atol=1e-10)
    one = V[:, :5] @ np.linalg.solve(C[:5, :5], W[:5])
    np.testing.assert_allclose(model.transform(X), one, atol=1e-10)
    other = V[:, 5:] @ np.linalg.solve(C[5:, 5:], W[5:])
    np.testing.assert_allclose(model.transform(X, Y)[1], other, atol=1e-10)
    np.testing.assert_allclose(model.predict(X), one @ W[5:].T + mean[5:], atol=1e-10)
    r = model.canonical_correlations_
    left = np.diag(np.eye(2) - W.T @ np.linalg.solve(C, W))
    np.testing.assert_allclose(left, (1 - r) / (1 + r), atol=1e-12)
    holed_X, holed_Y = X.copy(), Y.copy()
    holed_X[:9, 1:3], holed_Y[5:20] = np.nan, np.nan
    found = model.latent(holed_X, holed_Y)
    given_x = model.transform(holed_X)[0]
    seen = ~np.isnan(np.hstack([holed_X, holed_Y]))
    for i in (0, 7, 12, 30):
        s = seen[i]
        expected = V[i, s] @ np.linalg.solve(C[np.ix_(s, s)], W[s])
        np.testing.assert_allclose(found[i], expected, atol=1e-10)
    s = [0, 3, 4]
    expected = V[0, s] @ np.linalg.solve(C[np.ix_(s, s)], W[s])
    np.testing.assert_allclose(given_x, expected, atol=1e-10)
    filled_X, filled_Y = model.impute(holed_X, holed_Y)
    s = seen[7]
    expected = mean + C[:, s] @ np.linalg.solve(C[np.ix_(s, s)], V[7, s])
    np.testing.assert_allclose(np.r_[filled_X[7], filled_Y[7]], expected, atol=1e-10)
    density = model.score_samples(holed_X, holed_Y)[7]
    reference = multivariate_normal(mean[s], C[np.ix_(s, s)]).logpdf(np.hstack([X, Y])[7, s])
    assert np.isclose(density, reference)


def test_nothing_has_a_larger_likelihood(rng):
    """EM for Wx, Wy, Psi from random starts comes up to the closed form, and not beyond."""
    X, Y = planted(rng, n=60)
    best = ProbabilisticCCA(1, alpha=0.0).fit(X, Y).score(X, Y)
    V = np.hstack([X, Y]) - np.hstack([X, Y]).mean(axis=0)
    S, block = V.T @ V / 60, np.kron(np.eye(2), np.ones((5, 5)))[:9, :9]
    for _ in range(2):
        W, Psi = rng.normal(size=(9, 1)), block * S
        for _ in range(400):
            M = np.linalg.inv(np.eye(1) + W.T @ np.linalg.solve(Psi, W))
            B = M @ np.linalg.solve(Psi, W).T
            W = S @ B.T @ np.linalg.inv(M + B @ S @ B.T)
            Psi = block * (S - S @ B.T @ W.T)
            Psi = (Psi + Psi.T) / 2
        reached = multivariate_normal(np.zeros(9), W @ W.T + Psi).logpdf(V).mean()
        assert reached <= best + 1e-10
        assert np.isclose(reached, best, atol=1e-3)


@pytest.mark.parametrize("q", [0, 1, 3])
def test_bic_finds_what_was_planted(q):
    hits = 0
    for seed in range(20):
        X, Y = planted(np.random.default_rng(seed), q=q)
        hits += ProbabilisticCCA("bic", alpha=0.0).fit(X, Y).n_components_ == q
    assert hits >= 17


def test_bic_is_minus_two_log_likelihood_and_parameters(rng):
    X, Y = planted(rng)
    models = [ProbabilisticCCA(q, alpha=0.0).fit(X, Y) for q in (1, 2, 3)]
    bic = [-2 * 200 * m.score(X, Y) + q * (9 - q) * np.log(200) for q, m in enumerate(models, 1)]
    np.testing.assert_allclose(np.diff(models[0].bic_[1:4]), np.diff(bic), atol=1e-8)


def test_held_out_likelihood_chooses_too(rng):
    X, Y = planted(rng)
    search = GridSearchCV(ProbabilisticCCA(alpha=0.0), {"n_components": [1, 2, 3, 4]}).fit(X, Y)
    assert search.best_params_ == {"n_components": 2}


def test_hannan_and_quinn_believe_in_weaker_components_than_schwarz(rng):
    X, Y = planted(rng)
    model = ProbabilisticCCA("hqc", alpha=0.0).fit(X, Y)
    q = np.arange(5)
    penalty = q * (9 - q)
    np.testing.assert_allclose(
        model.hqc_ - model.bic_, penalty * (2 * np.log(np.log(200)) - np.log(200))
    )
    assert model.n_components_ == np.argmin(model.hqc_) == 2
    X[:, 0] = np.where(rng.random(200) < 0.1, np.nan, X[:, 0])
    gaps = ProbabilisticCCA("hqc", alpha=0.0).fit(X, Y)
    assert gaps.n_components_ == np.argmin(gaps.hqc_) == 2


def test_the_spread_of_y_given_x(rng):
    X, Y = planted(rng)
    model = ProbabilisticCCA(2, alpha=0.0).fit(X, Y)
    _, C = joint(model)
    left = C[5:, 5:] - C[5:, :5] @ np.linalg.solve(C[:5, :5], C[:5, 5:])
    mean, deviation = model.predict(X, return_std=True)
    np.testing.assert_allclose(deviation, np.sqrt(np.diag(left) * 1.005) * np.ones((200, 1)))
    np.testing.assert_array_equal(mean, model.predict(X))
    one = ProbabilisticCCA(1, alpha=0.0).fit(X, Y[:, 0])
    assert one.predict(X, return_std=True)[1].shape == (200,)


def test_em_without_gaps_is_the_closed_form(rng):
    V = np.hstack(planted(rng))
    run = expectation_maximization(V, np.ones(200), 5, 2, np.zeros(9), 1e-12, 50)
    R = triangular_factor((V - V.mean(axis=0)) / np.sqrt(200))
    exact = closed_form(V.mean(axis=0), R, 5, 2)
    np.testing.assert_allclose(run.model.covariance, exact.covariance, atol=1e-10)


@pytest.mark.slow
def test_em_increases_the_likelihood_and_beats_the_mean(rng):
    X, Y = planted(rng, n=300)
    holes = rng.random((300, 9)) < 0.2
    holes[np.arange(300), rng.integers(0, 9, 300)] = False
    A, B = np.where(holes[:, :5], np.nan, X), np.where(holes[:, 5:], np.nan, Y)
    scores = []
    for steps in (1, 2, 4, 8):
        model = ProbabilisticCCA(2, alpha=0.0, max_iter=steps, tol=0.0)
        with pytest.warns(ConvergenceWarning, match=f"max_iter={steps} steps"):
            scores.append(model.fit(A, B).score(A, B))
    assert np.all(np.diff(scores) > -1e-9)
    model = ProbabilisticCCA(2, alpha=0.0).fit(A, B)
    filled = np.hstack(model.impute(A, B))
    truth = np.hstack([X, Y])
    error = np.sqrt(np.mean((filled - truth)[holes] ** 2))
    by_mean = np.sqrt(np.mean((np.nanmean(np.hstack([A, B]), axis=0) - truth)[holes] ** 2))
    assert error < 0.8 * by_mean
    assert ProbabilisticCCA("bic", alpha=0.0).fit(A, B).n_components_ == 2


def test_a_missing_view_is_used(rng):
    """Rows without y still tell the covariance of x."""
    X, Y = planted(rng, n=120)
    truth = planted(np.random.default_rng(1), n=5)[0]
    B = Y.copy()
    B[60:] = np.nan
    half = ProbabilisticCCA(2, alpha=0.0).fit(X[:60], Y[:60])
    whole = ProbabilisticCCA(2, alpha=0.0).fit(X, B)
    assert whole.score(X, Y) > half.score(X, Y)
    assert whole.transform(truth).shape == (5, 2)


def test_samples_come_from_the_model(rng):
    X, Y = planted(rng)
    model = ProbabilisticCCA(2, alpha=0.0).fit(X, Y)
    A, B = model.sample(20000, random_state=0)
    _, C = joint(model)
    np.testing.assert_allclose(np.cov(np.hstack([A, B]).T), C, atol=0.15)
    again = model.sample(20000, random_state=0)
    np.testing.assert_array_equal(again[0], A)


def test_weights_sparse_units_and_precision(rng):
    X, Y = planted(rng, n=50)
    X[X < 2] = 0.0
    weight = rng.integers(0, 3, 50)
    a = ProbabilisticCCA(2).fit(X, Y, sample_weight=weight)
    b = ProbabilisticCCA(2).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(a.x_loadings_, b.x_loadings_, atol=1e-10)
    np.testing.assert_allclose(a.bic_, b.bic_, atol=1e-8)
    s = ProbabilisticCCA(2).fit(sparse.csr_array(X), Y)
    d = ProbabilisticCCA(2).fit(X, Y)
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(s.latent(rows, Y), d.latent(X, Y), atol=1e-9)
    np.testing.assert_allclose(s.score_samples(rows, Y), d.score_samples(X, Y), atol=1e-9)
    units = 10.0 ** np.array([-150, -9, 0, 9, 150])
    exact = ProbabilisticCCA(2, alpha=0.0).fit(X, Y)
    scaled = ProbabilisticCCA(2, alpha=0.0).fit(X * units, Y)
    np.testing.assert_allclose(scaled.latent(X * units, Y), exact.latent(X, Y), atol=1e-8)
    shift = np.log(units).sum()
    np.testing.assert_allclose(
        scaled.score_samples(X * units, Y) + shift, exact.score_samples(X, Y), atol=1e-7
    )
    single = ProbabilisticCCA(2).fit(X.astype(np.float32), Y)
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(d)).transform(X), d.transform(X))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 5}, "n_components=5 exceeds 4, the features of the smaller view"),
        ({"n_components": 0}, 'give an integer of at least 1, or "bic", or "hqc", or None'),
        ({"n_components": "aic"}, "n_components='aic' is not valid"),
        ({"alpha": -1}, "alpha=-1 is not valid"),
        ({"max_iter": 0}, "max_iter=0 is not valid"),
    ],
)
def test_parameters_are_checked(params, message, rng):
    with pytest.raises(ValueError, match=message):
        ProbabilisticCCA(**params).fit(*planted(rng, n=20))


def test_what_has_no_density_is_refused(rng):
    X, Y = planted(rng, n=30)
    model = ProbabilisticCCA(alpha=0.0)
    with pytest.raises(ValueError, match="column 5 of X is a combination of others"):
        model.fit(np.column_stack([X, X[:, 0] - X[:, 1]]), Y)
    with pytest.raises(
        ValueError, match="4 samples are too few for a covariance of the 5 columns of X"
    ):
        model.fit(X[:4], Y[:4])
    with pytest.raises(ValueError, match="row 2 holds no value"):
        model.fit(*(np.where(np.arange(30)[:, None] == 2, np.nan, A) for A in (X, Y)))
    with pytest.raises(ValueError, match="y holds no value in column 1"):
        model.fit(X, np.where(np.arange(4) == 1, np.nan, Y))
    with pytest.raises(ValueError, match="X contains infinity"):
        model.fit(np.where(X[0, 0] == X, np.inf, X), Y)
    with pytest.raises(ValueError, match="y contains infinity"):
        model.fit(X, np.where(Y[0, 0] == Y, np.inf, Y))
    assert not hasattr(model, "mean_")
    ProbabilisticCCA(alpha=1.0).fit(X[:4], Y[:4])


@pytest.mark.parametrize(
    ("scale", "kind"), [(1e-160, "float64"), (1e170, "float64"), (1e25, "float32")]
)
def test_columns_whose_covariances_are_no_numbers_are_named(scale, kind, rng):
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    X[:, 2] *= scale
    with pytest.raises(ValueError, match=rf"column 2 of X varies by .* range of {kind}: scale it"):
        ProbabilisticCCA().fit(X.astype(kind), Y)
