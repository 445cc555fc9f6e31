"""Shrinkage: factors reproduce the coefficients, and the theorems of section 2.4."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, Ridge

from eigenkit import PLSRegression, ShrinkageRegression, shrinkage_factors
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.solvers.shrinkage import Spectrum


def _data(seed=0, n=80, d=7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(3, 0.5, d) @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    return X + 1, X @ rng.normal(size=d) + rng.normal(size=n)


@pytest.fixture
def data():
    return _data()


def _coef(X, y, method, **options):
    return ShrinkageRegression(method, **options).fit(X, y).coef_


def test_ols_ridge_and_pcr_agree_with_scikit_learn(data):
    X, y = data
    np.testing.assert_allclose(_coef(X, y, "ols"), LinearRegression().fit(X, y).coef_)
    np.testing.assert_allclose(_coef(X, y, "ridge", alpha=9.0), Ridge(9.0).fit(X, y).coef_)
    pca = PCA(3).fit(X)
    pcr = LinearRegression().fit(pca.transform(X), y).coef_ @ pca.components_
    np.testing.assert_allclose(_coef(X, y, "pcr", n_components=3), pcr)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7))
def test_factors_reproduce_pls1(seed, l):
    X, y = _data(seed)
    expected = PLSRegression(l, scale=False).fit(X, y).coef_[0]
    np.testing.assert_allclose(
        _coef(X, y, "pls", n_components=l), expected, atol=1e-8 * np.abs(expected).max()
    )


def test_factors_reproduce_pls1_with_many_components():
    """Of spectra, say: the product over Ritz values alone would be off by powers of ten."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(60, 30)))[0]
    V = np.linalg.qr(V - V.mean(axis=0))[0]
    X = V * np.geomspace(1, 1e-3, 30) @ np.linalg.qr(rng.normal(size=(90, 30)))[0].T
    y = rng.normal(size=60)
    path = PLSRegression(28, scale=False).fit(X, y).coef_path_[:, 0]
    found = np.array([_coef(X, y, "pls", n_components=l) for l in range(1, 29)])
    size = np.linalg.norm(path, axis=1)
    np.testing.assert_array_less(np.linalg.norm(found - path, axis=1) / size, 1e-8)


def test_a_direction_that_the_response_does_not_see_has_a_finite_factor():
    V = np.linalg.qr(np.vander(np.linspace(-1, 1, 40), 30, increasing=True))[0][:, 1:]
    X = V * np.geomspace(1, 1e-4, 29)
    y = V[:, 1:].sum(axis=1)  # nothing of the first, largest direction
    model = ShrinkageRegression("pls", n_components=25).fit(X, y)
    assert np.all(np.isfinite(model.shrinkage_factors_))
    assert np.all(np.isfinite(model.coef_))


def test_factors_of_pls_with_all_components_are_one(data):
    np.testing.assert_allclose(shrinkage_factors(*data, "pls", n_components=7), 1, atol=1e-9)


def test_theorem_2_7_the_norm_grows_to_that_of_least_squares():
    for seed in range(20):
        X, y = _data(seed)
        path = PLSRegression(7, scale=False).fit(X, y).coef_path_[:, 0]
        norms = np.linalg.norm(path, axis=1)
        assert np.all(np.diff(norms) >= -1e-10 * norms[-1])
        assert np.isclose(norms[-1], np.linalg.norm(LinearRegression().fit(X, y).coef_))


def test_theorem_2_5_pls_is_least_squares_over_the_krylov_space(data):
    X, y = data
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    K = [Xc.T @ yc]
    for _ in range(2):
        K.append(Xc.T @ (Xc @ K[-1]))
    K = np.linalg.qr(np.array(K).T)[0]
    beta = K @ np.linalg.lstsq(Xc @ K, yc)[0]
    np.testing.assert_allclose(_coef(X, y, "pls", n_components=3), beta)


def test_bounded_factors_are_clipped_only_when_asked_for(data):
    X, y = data
    for l in range(1, 7):
        free = shrinkage_factors(X, y, "pls", n_components=l)
        bounded = shrinkage_factors(X, y, "pls", n_components=l, bounded=True)
        np.testing.assert_array_equal(bounded, np.clip(free, -1, 1))
    assert max(shrinkage_factors(X, y, "pls", n_components=l).max() for l in range(1, 7)) > 1
    for method in ("ols", "pcr", "ridge"):
        np.testing.assert_array_equal(
            shrinkage_factors(X, y, method), shrinkage_factors(X, y, method, bounded=True)
        )


@pytest.mark.parametrize(
    ("method", "options"), [("ols", {}), ("pcr", {"n_components": 3}), ("ridge", {"alpha": 20.0})]
)
def test_theorem_2_3_against_simulation(method, options):
    """Bias, variance and mean squared error, for coefficients and for fitted values."""
    X, _ = _data(n=30)
    rng = np.random.default_rng(1)
    beta, noise = rng.normal(size=7), 2.0
    Xc = X - X.mean(axis=0)
    S = np.array([_coef(X, e - e.mean() + np.arange(30), method, **options) for e in np.eye(30)])
    S = (S - _coef(X, np.arange(30.0), method, **options)).T  # the linear map from y to coef_
    model = ShrinkageRegression(method, **options).fit(X, rng.normal(size=30))
    risk = model.risk(beta, noise)
    for part, M in (("coef", np.eye(7)), ("fit", Xc)):
        bias = np.sum((M @ (S @ Xc @ beta - beta)) ** 2)
        variance = noise * np.trace(M @ S @ S.T @ M.T)
        np.testing.assert_allclose(risk[part].squared_bias, bias, atol=1e-8)
        np.testing.assert_allclose(risk[part].variance, variance)
        np.testing.assert_allclose(risk[part].mse, bias + variance)


def test_bias_beyond_the_rank_of_x():
    """The last sum of (2.37): what of beta X cannot see; the fit does not suffer from it."""
    X = np.column_stack([_data()[0][:, :3]] * 2)
    beta = np.array([1.0, 2, 3, -1, -2, -3])
    risk = ShrinkageRegression("ols").fit(X, _data()[1]).risk(beta, 0.0)
    np.testing.assert_allclose(risk["coef"].squared_bias, beta @ beta)
    np.testing.assert_allclose(risk["fit"].mse, 0, atol=1e-18)


def test_grade_less_than_rank():
    """y along one singular direction: the Krylov space ends, and so do the steps."""
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(40, 5)) - 0)[0]
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    X = U * [5, 4, 3, 2, 1]
    expected = np.zeros(5)
    expected[1] = 1 / 4
    np.testing.assert_allclose(_coef(X, U[:, 1], "pls", n_components=3), expected, atol=1e-10)


def test_wide_sparse_weighted_and_float32(data):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 40)), rng.normal(size=15)
    expected = PLSRegression(4, scale=False).fit(X, y).coef_[0]
    np.testing.assert_allclose(_coef(X, y, "pls", n_components=4), expected, rtol=1e-8)
    np.testing.assert_allclose(
        _coef(sparse.csr_array(X), y, "pls", n_components=4), expected, rtol=1e-8
    )
    X, y = data
    weight = np.arange(80) % 3
    a = ShrinkageRegression("ridge").fit(X, y, sample_weight=weight)
    b = Ridge(1.0).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(a.predict(X), b.predict(X))
    assert _coef(X.astype(np.float32), y, "ols").dtype == np.float32


def test_messages(data):
    X, y = data
    with pytest.raises(ValueError, match=r"method='lasso' is not known: choose one of 'ols'"):
        ShrinkageRegression("lasso").fit(X, y)
    with pytest.raises(ValueError, match=r"n_components=8 exceeds 7, the rank of X"):
        ShrinkageRegression("pls", n_components=8).fit(X, y)
    with pytest.raises(ValueError, match="factors that depend on y"):
        ShrinkageRegression("pls").fit(X, y).risk(np.ones(7), 1.0)
    with pytest.raises(ValueError, match=r"beta has shape \(3,\), expected \(7,\)"):
        ShrinkageRegression("ols").fit(X, y).risk(np.ones(3), 1.0)
    with pytest.raises(ValueError, match="y is constant"):
        ShrinkageRegression().fit(X, np.ones(80))


@pytest.mark.parametrize("factor", [1e-200, 1e-160, 1e160, 1e200])
@pytest.mark.parametrize(
    ("method", "options"), [("ols", {}), ("pcr", {"n_components": 3}), ("pls", {"n_components": 3})]
)
def test_units_do_not_matter(data, method, options, factor):
    X, y = data
    expected = ShrinkageRegression(method, **options).fit(X, y)
    a = ShrinkageRegression(method, **options).fit(X * factor, y)
    np.testing.assert_allclose(a.predict(X * factor), expected.predict(X), rtol=1e-9)
    np.testing.assert_allclose(a.singular_values_ / factor, expected.singular_values_)
    b = ShrinkageRegression(method, **options).fit(X, y * factor)
    np.testing.assert_allclose(b.predict(X) / factor, expected.predict(X), rtol=1e-9)


def test_ridge_in_extreme_units(data):
    X, y = data
    a = ShrinkageRegression("ridge", alpha=4e200).fit(X * 1e100, y)
    expected = Ridge(4.0).fit(X, y).predict(X)
    np.testing.assert_allclose(a.predict(X * 1e100), expected, rtol=1e-9)
    tiny = ShrinkageRegression("ridge", alpha=1.0).fit(X * 1e-170, y)
    np.testing.assert_allclose(tiny.shrinkage_factors_, 0)


def test_a_constant_feature_gets_no_weight(data):
    X, y = data
    with pytest.warns(DegenerateDataWarning, match="1 of 8 features are constant"):
        model = ShrinkageRegression("ols").fit(np.column_stack([X, np.full(80, 9.0)]), y)
    assert model.coef_[7] == 0
    np.testing.assert_allclose(model.coef_[:7], LinearRegression().fit(X, y).coef_)


@pytest.mark.parametrize("unit", [1e-150, 1e-8, 1e150])
@pytest.mark.parametrize("unit_y", [1e-150, 1e150])
def test_factors_of_shrinkage_have_no_unit(unit, unit_y, rng):
    s, vy = np.sort(rng.uniform(1, 3, 8))[::-1], rng.normal(size=8)
    plain, scaled = Spectrum(s, np.eye(8), vy, 1.0), Spectrum(unit * s, np.eye(8), unit_y * vy, 1.0)
    for p in (1, 3, 6):
        np.testing.assert_allclose(scaled.pls(p), plain.pls(p), rtol=1e-8)
        K = np.array([s ** (2 * i + 1) * vy for i in range(p)]).T
        beta = K @ np.linalg.lstsq(s[:, None] * K, vy)[0]
        np.testing.assert_allclose(plain.pls(p) * vy / s, beta, rtol=1e-6)
    if unit == 1e-8:
        np.testing.assert_allclose(scaled.ridge(unit * unit * 0.7), s**2 / (s**2 + 0.7), rtol=1e-10)
    np.testing.assert_allclose(scaled.coef(scaled.ols()) / unit_y * unit, vy / s, rtol=1e-10)
    assert scaled.pcr(3).tolist() == [1, 1, 1, 0, 0, 0, 0, 0]
    twice = Spectrum(2 * s, np.eye(8), vy, unit=2.0)
    np.testing.assert_allclose(twice.singular_values, s)
    np.testing.assert_allclose(twice.coef(twice.ols()), vy / s)
