"""Models with latent variables against their definitions: densities, integrals, derivatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from eigenkit.solvers import sparse_latent, two_views
from eigenkit.solvers.sparse_latent import (
    NOISE,
    SLAB,
    Loadings,
    Observed,
    above,
    ascend,
    bound,
    latent,
    posterior,
    present,
    principal,
    search,
    start,
    update,
    varimax,
)
from eigenkit.solvers.two_views import (
    TwoViews,
    closed_form,
    complete,
    expectation_maximization,
    gains,
    patterns,
)

VIEW = np.array([0, 0, 1])


def _observed(rng, n, with_gaps):
    V = 0.4 * rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3))
    if with_gaps:
        V[0, 1] = V[2, 0] = V[3, 2] = np.nan
    return V, Observed.of(V, VIEW, np.ones(n))


def test_the_slab_is_a_cauchy_distribution():
    """The integral over a of N(w; 0, 1/a) Gamma(a)."""
    a, step = np.linspace(-40, 8, 20_001, retstep=True)  # logarithms
    prior = stats.gamma(SLAB[0], scale=1 / SLAB[1]).pdf(np.exp(a)) * np.exp(a)
    for w in (0.1, 1.0, 3.0):
        density = step * np.sum(prior * stats.norm(scale=np.exp(-a / 2)).pdf(w))
        assert density == pytest.approx(stats.cauchy.pdf(w), rel=1e-6)


def _loadings(rng, K):
    """Any factors, none of them the best."""
    shape, above = (3, K), (2, K)
    return Loadings(
        mean=0.5 * rng.normal(size=shape),
        variance=rng.uniform(0.1, 0.5, shape),
        active=rng.uniform(0.2, 0.9, shape),
        slab=(rng.uniform(2, 4, above), rng.uniform(1, 3, above)),
        share=(rng.uniform(1, 3, above), rng.uniform(1, 3, above)),
        noise=(rng.uniform(3, 5, 3), rng.uniform(1, 3, 3)),
    )


def _drawn_bound(rng, V, q, n_draws=40_000):
    """E_q[log p(v, z, w, s, a, p, t) - log q], with its standard error, by drawing from q."""
    n, (D, K) = len(V), q.mean.shape
    seen = (~np.isnan(V)).astype(float)
    M, C = posterior(seen, np.nan_to_num(V), q.expected, q.precision, q.second())

    def gamma(shape_rate, prior):
        factor = stats.gamma(shape_rate[0], scale=1 / shape_rate[1])
        draw = factor.rvs((n_draws, *np.shape(shape_rate[0])), random_state=rng)
        ratio = stats.gamma(prior[0], scale=1 / prior[1]).logpdf(draw) - factor.logpdf(draw)
        return draw, ratio.reshape(n_draws, -1).sum(axis=1)

    a, total = gamma(q.slab, SLAB)
    t, more = gamma(q.noise, NOISE)
    total = total + more
    factor = stats.beta(*q.share)
    p = factor.rvs((n_draws, 2, K), random_state=rng)
    ratio = stats.beta(1 / K, 1).logpdf(p) - factor.logpdf(p)
    total += ratio.reshape(n_draws, -1).sum(axis=1)
    s = rng.random((n_draws, D, K)) < q.active
    w = stats.norm(q.mean, np.sqrt(q.variance)).rvs((n_draws, D, K), random_state=rng)
    slab = stats.norm(0, 1 / np.sqrt(a[:, VIEW])).logpdf(w) + np.log(p[:, VIEW] / q.active)
    slab -= stats.norm(q.mean, np.sqrt(q.variance)).logpdf(w)
    spike = np.log((1 - p[:, VIEW]) / (1 - q.active))
    total += np.where(s, slab, spike).sum(axis=(1, 2))
    w = np.where(s, w, 0.0)
    for i in range(n):
        factor = stats.multivariate_normal(M[i], C[i])
        z = factor.rvs(n_draws, random_state=rng).reshape(n_draws, K)
        total += stats.norm.logpdf(z).sum(axis=1) - factor.logpdf(z)
        fitted = np.einsum("sjk,sk->sj", w, z)
        density = stats.norm(fitted, 1 / np.sqrt(t)).logpdf(np.nan_to_num(V[i]))
        total += density @ seen[i]
    return total.mean(), total.std() / np.sqrt(n_draws)


@pytest.mark.parametrize("with_gaps", [False, True])
@pytest.mark.parametrize("K", [1, 2])
def test_the_evidence_bound_is_the_integral_that_defines_it(rng, K, with_gaps):
    V, data = _observed(rng, 5, with_gaps)
    if not with_gaps:  # rows as they are, and not their triangle
        data = Observed(V, VIEW, np.ones(5), None)
    q = _loadings(rng, K)
    expected, error = _drawn_bound(rng, V, q)
    assert error < 0.05
    assert bound(data, latent(data, q), q) == pytest.approx(expected, abs=5 * error)


def test_without_components_the_bound_is_the_evidence(rng):
    """Columns of N(0, 1/t) with a Gamma prior of t have a density in closed form."""
    V, data = _observed(rng, 30, with_gaps=False)
    q = update(data, latent(data, start(data, np.zeros((3, 0)))), start(data, np.zeros((3, 0))))
    a, b = NOISE[0] + 15, NOISE[1] + np.sum(V**2, axis=0) / 2
    log = gammaln(a) - gammaln(NOISE[0]) + NOISE[0] * np.log(NOISE[1]) - a * np.log(b)
    evidence = np.sum(log - 15 * np.log(2 * np.pi))
    assert bound(data, latent(data, q), q) == pytest.approx(evidence, rel=1e-10)


def _slopes(data, z, q, names):
    """Derivatives of the bound by every number of these factors, relative to its size."""
    found = []
    for name in names:
        parts = getattr(q, name)
        for which in range(2 if isinstance(parts, tuple) else 1):
            A = parts[which] if isinstance(parts, tuple) else parts
            for place in np.ndindex(A.shape):
                if name == "active" and not 1e-6 < A[place] < 1 - 1e-6:
                    continue
                values = []
                for step in (1e-4, -1e-4):
                    B = A.copy()
                    B[place] *= 1 + step
                    other = B
                    if isinstance(parts, tuple):
                        other = (B, parts[1]) if which == 0 else (parts[0], B)
                    values.append(bound(data, z, replace(q, **{name: other})))
                found.append((values[0] - values[1]) / 2e-4)
    return np.array(found)


@pytest.mark.parametrize("with_gaps", [False, True])
def test_factors_are_where_the_bound_has_no_slope(rng, with_gaps):
    _, data = _observed(rng, 12, with_gaps)
    q = _loadings(rng, 1)
    z = latent(data, q)
    new = update(data, z, q)
    # The loadings are the best beside the old factors above them, which are the best afterwards.
    loadings = replace(q, mean=new.mean, variance=new.variance, active=new.active)
    assert np.abs(_slopes(data, z, loadings, ["mean", "variance", "active"])).max() < 1e-5
    assert np.abs(_slopes(data, z, new, ["slab", "share", "noise"])).max() < 1e-5
    assert np.abs(_slopes(data, z, q, ["mean", "slab", "noise"])).min() > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("with_gaps", [False, True])
def test_where_updates_end_nothing_has_a_slope(rng, with_gaps):
    _, data = _observed(rng, 12, with_gaps)
    q = _loadings(rng, 2)
    for _ in range(3000):
        q = update(data, latent(data, q), q)
    names = ["mean", "variance", "active", "slab", "share", "noise"]
    assert np.abs(_slopes(data, latent(data, q), q, names)).max() < 1e-4


def test_weights_count_rows(rng):
    V = rng.normal(size=(6, 3))
    twice, q = np.repeat(V, [1, 2, 3, 1, 2, 1], axis=0), _loadings(rng, 2)
    for hole in (False, True):
        if hole:
            V[1, 0] = twice[1:3, 0] = np.nan
        a = Observed.of(V, VIEW, np.array([1.0, 2, 3, 1, 2, 1]))
        b = Observed.of(twice, VIEW, np.ones(10))
        np.testing.assert_allclose(a.counts, b.counts)
        np.testing.assert_allclose(a.squares, b.squares)
        assert bound(a, latent(a, q), q) == pytest.approx(bound(b, latent(b, q), q), rel=1e-12)
        np.testing.assert_allclose(
            update(a, latent(a, q), q).mean, update(b, latent(b, q), q).mean, rtol=1e-10
        )
        np.testing.assert_allclose(np.abs(principal(a, 2)), np.abs(principal(b, 2)), atol=1e-10)


# -- the search ----------------------------------------------------------------------------


def _planted(rng, n=80, strength=1.4):
    z = rng.normal(size=(n, 2))
    V = rng.normal(size=(n, 7))
    V[:, [0, 1, 4, 5]] += strength * z[:, :1]
    V[:, [2, 3]] += strength * z[:, 1:]
    V = (V - V.mean(axis=0)) / V.std(axis=0)
    return Observed.of(V, np.repeat([0, 1], [4, 3]), np.ones(n))


def test_the_search_counts_its_steps_and_keeps_the_best(rng, monkeypatch):
    data, calls, bounds = _planted(rng), [], []

    def counted(*given):
        calls.append(1)
        return update(*given)

    def noted(*given):
        run = ascend(*given)
        bounds.append(run.bound)
        return run

    monkeypatch.setattr(sparse_latent, "update", counted)
    monkeypatch.setattr(sparse_latent, "ascend", noted)
    found = search(data, 6, 1e-6, 2000)
    assert found.n_iter == len(calls)
    assert found.bound == max(bounds)
    assert found.bound == pytest.approx(bound(data, latent(data, found.q), found.q), rel=1e-12)
    on = present(data, found.q)
    assert on.shape == (2, 2)
    assert sorted(map(tuple, on.T)) == [(True, False), (True, True)]
    # Zero, one, two components, and two numbers more that do not help; with two starts from two
    # on. Then every component is tried without each of its views.
    assert len(bounds) == 1 + 1 + 2 + 2 + 2 + 3


def test_an_ascent_ends_when_the_bound_has_settled_or_the_steps_are_used_up(rng):
    data = _planted(rng)
    begin = start(data, principal(data, 2))
    settled = ascend(data, begin, 1e-6, 5000)
    assert 0 <= settled.change <= 1e-6
    assert settled.n_iter % sparse_latent.STRIDE == 0
    longer = ascend(data, begin, 1e-12, 5000)
    assert settled.bound <= longer.bound < settled.bound + 1
    short = ascend(data, begin, 1e-6, 7)
    assert short.n_iter == 7
    assert short.bound == pytest.approx(bound(data, latent(data, short.q), short.q), rel=1e-12)
    hopeless = ascend(data, begin, 1e-12, 5000, beat=longer.bound + 1e6)
    assert hopeless.n_iter < longer.n_iter
    hopeful = ascend(data, begin, 1e-12, 5000, beat=longer.bound - 1e-3)
    assert hopeful.bound == longer.bound


def test_principal_loadings_are_those_of_the_correlations(rng):
    data = _planted(rng)
    values, vectors = np.linalg.eigh(data.V.T @ data.V / 80)
    values, vectors = values[::-1], vectors[:, ::-1]
    for K in (0, 2, 7):
        W = principal(data, K)
        rest = values[K:].mean() if K < 7 else 0.0
        squares = np.maximum(values[:K] - rest, 0.01)
        np.testing.assert_allclose(np.sum(W**2, axis=0), squares, rtol=1e-10)
        np.testing.assert_allclose(W @ W.T, (vectors[:, :K] * squares) @ vectors[:, :K].T,
                                   atol=1e-10)  # fmt: skip
    begin = start(data, principal(data, 2))
    assert begin.active.min() == 1.0
    np.testing.assert_allclose(begin.variance, 1 / 80)
    again = above(data, latent(data, begin), begin)
    np.testing.assert_allclose(again.slab[0], begin.slab[0])


def test_a_start_at_the_truth_stays_there(rng):
    """Where the data are W W' + D exactly, the noise found beside the loadings W is D."""
    W = np.array([[0.8], [0.5], [-0.6]])
    left = 1 - W[:, 0] ** 2
    R = np.linalg.cholesky(W @ W.T + np.diag(left)).T
    data = Observed.of(np.sqrt(3) * R, VIEW, np.full(3, 1e6))
    q = start(data, W)
    np.testing.assert_allclose(1 / q.precision, left, rtol=1e-4)
    assert np.all(q.active == 1.0)
    np.testing.assert_array_equal(q.mean, W)
    full = start(data, np.array([[1.0], [0.5], [-0.6]]))  # nothing left of the first column
    assert np.isfinite(full.precision).all()


def test_varimax_is_a_rotation_that_climbs(rng):
    W = rng.normal(size=(9, 3))
    turned = varimax(W)
    np.testing.assert_allclose(turned @ turned.T, W @ W.T, atol=1e-10)

    def variance(L):
        return np.var(L**2, axis=0).sum()

    for angle in (-0.01, 0.01):
        for i, j in ((0, 1), (0, 2), (1, 2)):
            R = np.eye(3)
            R[[i, i, j, j], [i, j, i, j]] = [
                np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
            ]  # fmt: skip
            assert variance(turned @ R) < variance(turned)


# -- two views of one latent variable ----------------------------------------------------------


def _two_views(rng, n=60):
    z = rng.normal(size=(n, 2))
    V = z @ rng.normal(size=(2, 5)) + 0.7 * rng.normal(size=(n, 5)) + [1.0, -2.0, 0.5, 3.0, 0.0]
    return V, V.mean(axis=0), np.linalg.qr((V - V.mean(axis=0)) / np.sqrt(n))[1]


@pytest.mark.parametrize("q", [0, 1, 2])
def test_the_closed_form_is_the_density_it_claims(rng, q):
    V, mean, R = _two_views(rng)
    model = closed_form(mean, R, 3, q)
    C = model.covariance
    S = R.T @ R
    np.testing.assert_allclose(C[:3, :3], S[:3, :3], atol=1e-12)
    np.testing.assert_allclose(C[3:, 3:], S[3:, 3:], atol=1e-12)
    assert np.linalg.matrix_rank(C[:3, 3:], tol=1e-8) == q
    views = model.density()
    np.testing.assert_allclose(views.covariance, C, atol=1e-12)
    plain = TwoViews.of(mean, views.R, model.loadings, 3)
    for name in ("A_x", "A_y", "A"):
        np.testing.assert_allclose(getattr(views, name), getattr(plain, name), atol=1e-10)
    W = model.loadings
    np.testing.assert_allclose(views.A, np.linalg.solve(C, W), atol=1e-10)
    np.testing.assert_allclose(views.A_x, np.linalg.solve(C[:3, :3], W[:3]), atol=1e-10)
    np.testing.assert_allclose(views.A_y, np.linalg.solve(C[3:, 3:], W[3:]), atol=1e-10)
    left = C[3:, 3:] - C[3:, :3] @ np.linalg.solve(C[:3, :3], C[:3, 3:])
    np.testing.assert_allclose(views.spread() ** 2, np.diag(left), atol=1e-10)
    white = np.linalg.solve(views.R.T, (V - mean).T).T
    expected = stats.multivariate_normal(mean, C).logpdf(V)
    np.testing.assert_allclose(views.log_density(white), expected, rtol=1e-10)
    none = closed_form(mean, R, 3, 0).covariance
    least = stats.multivariate_normal(mean, none).logpdf(V).sum()
    assert gains(model, len(V))[q] == pytest.approx(-2 * (expected.sum() - least), abs=1e-8)


def test_gaps_are_filled_with_what_the_gaussian_expects(rng):
    V, mean, R = _two_views(rng, 8)
    C, w = R.T @ R, rng.uniform(0.5, 2, 8)
    V[0, 1] = V[1, [0, 4]] = V[2, [0, 4]] = np.nan
    done = complete(V, mean, C, patterns(V), w)
    spread = np.zeros((5, 5))
    for i, row in enumerate(V):
        on, off = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        to_off = np.linalg.solve(C[np.ix_(on, on)], C[np.ix_(on, off)])
        np.testing.assert_allclose(done.V[i, off], mean[off] + (row[on] - mean[on]) @ to_off)
        np.testing.assert_allclose(done.V[i, on], row[on])
        density = stats.multivariate_normal(mean[on], C[np.ix_(on, on)]).logpdf(row[on])
        assert done.log_density[i] == pytest.approx(density, rel=1e-10)
        spread[np.ix_(off, off)] += w[i] * (C[np.ix_(off, off)] - C[np.ix_(off, on)] @ to_off)
    np.testing.assert_allclose(done.spread, spread, atol=1e-12)


def test_em_climbs_to_where_the_likelihood_is_flat(rng):
    V, *_ = _two_views(rng, 40)
    V[rng.random(V.shape) < 0.15] = np.nan
    V[np.isnan(V).all(axis=1), 0] = 0.0
    w, groups = rng.uniform(0.5, 2, 40), patterns(V)
    run = expectation_maximization(V, w, 3, 2, np.zeros(5), 1e-13, 20_000)
    C, mean = run.model.covariance, run.model.mean

    def likelihood(m, S):
        return float(w @ complete(V, m, S, groups, w).log_density) / w.sum()

    at = likelihood(mean, C)
    assert run.log_likelihood == pytest.approx(at, rel=1e-9)
    for _ in range(10):  # q = 2 is all that two columns of y can have: C is free
        step = rng.normal(size=(5, 5))
        step = 1e-3 * (step + step.T)
        assert likelihood(mean, C + step) < at
        assert likelihood(mean + 1e-3 * rng.normal(size=5), C) < at
    short = [expectation_maximization(V, w, 3, 1, np.zeros(5), 0.0, k) for k in (1, 2, 3, 5, 9)]
    assert [each.n_iter for each in short] == [1, 2, 3, 5, 9]
    assert np.all(np.diff([each.log_likelihood for each in short]) > 0)
    ridged = expectation_maximization(V, w, 3, 2, np.full(5, 0.3), 1e-13, 20_000).model.covariance
    assert np.all(np.diag(ridged) > np.diag(C) + 0.2)


def test_a_correlation_of_one_stays_below_it(rng):
    V, *_ = _two_views(rng)
    V[:, 3] = V[:, 0]
    R = np.linalg.qr((V - V.mean(axis=0)) / np.sqrt(60))[1]
    model = closed_form(V.mean(axis=0), R, 3, 2)
    assert model.r[0] == two_views.LARGEST
    assert np.all(np.isfinite(model.density().A))
