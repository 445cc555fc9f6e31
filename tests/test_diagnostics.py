"""Diagnostics of PLS models, and that every plot shows the numbers it should."""

from __future__ import annotations

import traceback

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import load_linnerud, load_wine

from eigenkit import (
    LDA,
    PCA,
    PLSDA,
    PLSSVD,
    SIMPLS,
    PLSCanonical,
    PLSRegression,
    PLSRegressionCV,
    SparsePLS,
    analysis,
    shrinkage_factors,
)
from eigenkit.analysis import hotelling_t2, spe, spe_limit, t2_limit, vip_scores
from test_contract import ESTIMATORS as DIAGNOSED
from test_contract import data_for, default


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6))
    return X, X[:, :2] @ rng.normal(size=(2, 2)) + rng.normal(size=(300, 2))


@pytest.mark.parametrize("cls", [PLSRegression, SIMPLS])
def test_vip_by_its_definition(data, cls):
    X, Y = data
    model = cls(3).fit(X, Y)
    T, Q = model.x_scores_, model.y_loadings_
    share = np.sum(T**2, axis=0) * np.sum(Q**2, axis=0)
    W = model.x_weights_
    expected = np.sqrt(6 * np.sum(share * W**2, axis=1) / share.sum())
    np.testing.assert_allclose(vip_scores(model), expected)
    assert np.isclose(np.mean(vip_scores(model) ** 2), 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PLSCanonical(2),
        lambda: PLSCanonical(2, algorithm="nipals"),
        lambda: SparsePLS(2, mode="canonical", keep_x=4),
        lambda: PLSCanonical(2, scale=False),
    ],
)
def test_vip_of_canonical_components_counts_what_the_scores_of_x_explain(data, make):
    """Wold's definition: the variance of y that t explains, not what its own score u does."""
    X, Y = data
    weight = np.arange(300) % 4
    model = make().fit(X, Y, sample_weight=weight)
    T = model.transform(X)
    T = T[0] if isinstance(T, tuple) else T
    Z = (Y - model.y_mean_) / model.y_std_
    share = np.sum(((T * weight[:, None]).T @ Z) ** 2, axis=1) / (weight @ T**2)
    W = model.x_weights_
    np.testing.assert_allclose(vip_scores(model), np.sqrt(6 * (W**2 @ share) / share.sum()))


def test_vip_of_a_canonical_stream_is_that_of_all_rows(data):
    X, Y = data
    stream = PLSCanonical(2).partial_fit(X[:99], Y[:99]).partial_fit(X[99:], Y[99:])
    np.testing.assert_allclose(vip_scores(stream), vip_scores(PLSCanonical(2).fit(X, Y)))


def test_vip_finds_the_feature_that_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    assert np.argmax(vip_scores(PLSRegression(2).fit(X, X[:, 4]))) == 4
    X, y = load_wine(return_X_y=True)
    assert vip_scores(PLSDA(2).fit(X, y)).shape == (13,)
    with pytest.raises(ValueError, match="VIP scores need orthogonal scores"):
        vip_scores(PLSDA(2, coding="between").fit(X, y))


def test_t2_is_the_mahalanobis_distance_of_the_scores(data):
    wine, kind = load_wine(return_X_y=True)
    for coding in ("indicator", "reduced", "between"):  # the last has correlated scores
        for scale in (True, False):
            model = PLSDA(2, coding=coding, scale=scale).fit(wine, kind)
            T = model.x_scores_
            expected = np.einsum("ij,jk,ik->i", T, np.linalg.inv(np.cov(T.T)), T)
            np.testing.assert_allclose(hotelling_t2(model, wine), expected)
    X, Y = data
    holed = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    model = PLSRegression(3, algorithm="nipals").fit(holed, Y)
    T = model.x_scores_
    new = model.transform(X)
    expected = 299 * np.einsum("ij,jk,ik->i", new, np.linalg.inv(T.T @ T), new)
    np.testing.assert_allclose(hotelling_t2(model, X), expected)
    model = PLSRegression(3).fit(X, Y)
    T = model.x_scores_
    expected = np.einsum("ij,jk,ik->i", T, np.linalg.inv(np.cov(T.T)), T)
    np.testing.assert_allclose(hotelling_t2(model, X), expected)
    assert np.isclose(hotelling_t2(model, X).sum(), 3 * 299)
    expected = 3 * (300**2 - 1) / (300 * 297) * stats.f.ppf(0.99, 3, 297)
    assert np.isclose(t2_limit(model, 0.99), expected)


def test_spe_is_what_the_model_leaves_out(data):
    X, Y = data
    model = PLSRegression(3).fit(X, Y)
    back = model.inverse_transform(model.transform(X))
    expected = np.sum(((X - back) / model.x_std_) ** 2, axis=1)
    np.testing.assert_allclose(spe(model, X), expected)
    np.testing.assert_allclose(spe(model, sparse.csr_array(X)), expected, atol=1e-10)
    share = 1 - model.x_explained_variance_ratio_.sum()
    assert np.isclose(spe(model, X).sum(), share * 6 * 299)
    assert np.all(spe(PLSRegression(6).fit(X, Y), X) < 1e-20)


def test_about_one_in_twenty_is_beyond_the_limits(data):
    X, Y = data
    model = PLSRegression(3).fit(X, Y)
    assert 0.01 < np.mean(hotelling_t2(model, X) > t2_limit(model)) < 0.10
    assert 0.01 < np.mean(spe(model, X) > spe_limit(model, X)) < 0.10
    odd = X[:1] + 40 * np.eye(6)[:1]
    assert hotelling_t2(model, odd) > t2_limit(model) or spe(model, odd) > spe_limit(model, X)


def test_plots_show_the_numbers(data):
    pytest.importorskip("matplotlib")
    X, Y = data
    model = PLSRegression(3).fit(X, Y)
    shown = model.plot("scores", X, Y[:, 0], components=(0, 2)).ax_.collections[0]
    np.testing.assert_allclose(shown.get_offsets(), model.x_scores_[:, [0, 2]])
    np.testing.assert_array_equal(shown.get_array(), Y[:, 0])
    assert model.plot("biplot", X, Y[:, 0]).ax_.get_legend() is None
    ax = analysis.plot_loadings(model, names=list("abcdef"))
    np.testing.assert_allclose(ax.collections[0].get_offsets(), model.x_loadings_[:, :2])
    assert [t.get_text() for t in ax.texts] == list("abcdef")
    ax = analysis.plot_explained_variance(model)
    shown = [line.get_ydata() for line in ax.lines]
    np.testing.assert_allclose(shown[0], np.cumsum(model.x_explained_variance_ratio_))
    np.testing.assert_allclose(shown[1], np.cumsum(model.y_explained_variance_ratio_))
    ax = analysis.plot_outliers(model, X)
    expected = np.column_stack([hotelling_t2(model, X), spe(model, X)])
    np.testing.assert_allclose(ax.collections[0].get_offsets(), expected)
    with pytest.raises(ValueError, match=r"components=\(0, 3\) is not valid"):
        analysis.plot_loadings(model, (0, 3))


def test_plots_of_choices_show_the_numbers(data):
    figure = pytest.importorskip("matplotlib.figure")
    X, Y = data
    ax = figure.Figure().subplots()
    assert analysis.plot_shrinkage(X, Y[:, 0], n_components=3, alpha=5.0, ax=ax) is ax
    assert len(ax.lines) == 5
    for line, method, bounded in zip(
        ax.lines, ("ols", "pcr", "ridge", "pls", "pls"), (False,) * 4 + (True,), strict=True
    ):
        options = {"n_components": 3, "alpha": 5.0, "bounded": bounded}
        expected = shrinkage_factors(X, Y[:, 0], method, **options)
        np.testing.assert_allclose(line.get_ydata(), expected)
    model = PLSRegressionCV(4).fit(X, Y)
    ax = analysis.plot_cross_validation(model)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), model.fold_errors_.mean(axis=0))


CALLS = {
    "vip_scores": lambda model, X, y: vip_scores(model),
    "hotelling_t2": lambda model, X, y: hotelling_t2(model, X),
    "t2_limit": lambda model, X, y: t2_limit(model),
    "spe": lambda model, X, y: spe(model, X),
    "spe_limit": lambda model, X, y: spe_limit(model, X),
    "plot_loadings": lambda model, X, y: analysis.plot_loadings(model),
    "plot_explained_variance": lambda model, X, y: analysis.plot_explained_variance(model),
    "plot_cross_validation": lambda model, X, y: analysis.plot_cross_validation(model),
    "plot_outliers": lambda model, X, y: analysis.plot_outliers(model, X),
    "scores": lambda model, X, y: analysis.ScoresDisplay.from_estimator(model, X, y),
    "circle": lambda model, X, y: analysis.CorrelationCircleDisplay.from_estimator(model, X),
    "biplot": lambda model, X, y: analysis.BiplotDisplay.from_estimator(model, X),
    "scree": lambda model, X, y: analysis.ScreeDisplay.from_estimator(model),
    "weights": lambda model, X, y: analysis.WeightsDisplay.from_estimator(model),
    "loadings": lambda model, X, y: analysis.LoadingsDisplay.from_estimator(model, X),
    "coefficients": lambda model, X, y: analysis.CoefficientsDisplay.from_estimator(model),
    "regions": lambda model, X, y: analysis.RegionsDisplay.from_estimator(model, X, y),
    "bootstrap": lambda model, X, y: analysis.bootstrap(model, X, y, n_bootstraps=2),
    "permutation_test": lambda model, X, y: analysis.permutation_test(
        model, X, y, n_permutations=2
    ),
}


def _fine(call, *given):
    """Whether it works, or the library itself says in one sentence why not."""
    try:
        call(*given)
    except (TypeError, ValueError) as error:
        raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
        return "eigenkit" in raised_in and str(error).endswith(".")
    return True


@pytest.mark.slow
@pytest.mark.parametrize("cls", DIAGNOSED, ids=lambda c: c.__name__)
@pytest.mark.filterwarnings("ignore")  # whether two resamples are enough is another question
def test_every_diagnosis_of_every_estimator_works_or_says_why_not(cls):
    estimator = default(cls)
    X, y = data_for(estimator)
    X, y = X[::3], y[::3]
    model = estimator.fit(X, y)
    assert [name for name, call in CALLS.items() if not _fine(call, model, X, y)] == []
    plt.close("all")


@pytest.mark.parametrize("name", ["spe", "spe_limit", "plot_loadings", "plot_outliers"])
def test_models_without_loadings_are_refused_in_one_sentence(name):
    X, Y = load_linnerud(return_X_y=True)
    for model in (PLSSVD(2).fit(X, Y), LDA().fit(X, np.arange(20) % 2)):
        with pytest.raises(TypeError, match=r"model is .*, which has no .*: give a fitted PLS"):
            CALLS[name](model, X, Y)


@pytest.mark.parametrize("model", [PLSRegression(2), PLSCanonical(2), PCA(2), SIMPLS(2)], ids=repr)
def test_t2_counts_repetitions_and_leaves_out_rows_of_no_weight(model, rng):
    X = rng.normal(size=(30, 4))
    Y = X[:, :3] + rng.normal(size=(30, 3))
    weight = rng.integers(0, 4, 30)
    X[weight == 0] *= 100
    again = np.repeat(np.arange(30), weight)
    ours, repeated = clone(model).fit(X, Y, weight), clone(model).fit(X[again], Y[again])
    np.testing.assert_allclose(hotelling_t2(ours, X), hotelling_t2(repeated, X), rtol=1e-8)
    assert t2_limit(ours) == pytest.approx(t2_limit(repeated))


def test_t2_of_a_stream_is_that_of_all_rows(rng):
    X = rng.normal(size=(40, 4))
    Y = X[:, :2] + rng.normal(size=(40, 2))
    stream = PLSRegression(2).partial_fit(X[:15], Y[:15]).partial_fit(X[15:], Y[15:])
    whole = PLSRegression(2).fit(X, Y)
    np.testing.assert_allclose(hotelling_t2(stream, X), hotelling_t2(whole, X), rtol=1e-8)
    assert t2_limit(stream) == pytest.approx(t2_limit(whole))


def test_t2_and_spe_of_principal_components(rng):
    X = rng.normal(size=(40, 4)) * [3, 2, 1, 0.5] + 5
    model = PCA(2).fit(X)
    T = model.transform(X)
    np.testing.assert_allclose(hotelling_t2(model, X), np.sum(T**2 / T.var(axis=0, ddof=1), axis=1))
    np.testing.assert_allclose(hotelling_t2(PCA(2, whiten=True).fit(X), X), hotelling_t2(model, X))
    left = X - model.inverse_transform(T)
    np.testing.assert_allclose(spe(model, X), np.sum(left**2, axis=1))
    np.testing.assert_allclose(spe(model, sparse.csr_array(X)), spe(model, X), rtol=1e-9)


def test_t2_is_for_uncorrelated_scores(rng):
    X = rng.normal(size=(40, 4))
    with pytest.raises(TypeError, match="model is of the class PLSSVD, which has no T2"):
        hotelling_t2(PLSSVD(2).fit(X, X[:, :3]), X)


def test_the_limit_of_t2_for_wide_data_comes_from_other_samples(rng):
    above = []
    for _ in range(20):
        X = rng.normal(size=(430, 100))
        model = PLSRegression(3).fit(X[:30], X[:30, 0] + rng.normal(size=30))
        t2 = hotelling_t2(model, X[230:])
        above.append([np.mean(t2 > t2_limit(model)), np.mean(t2 > t2_limit(model, X=X[30:230]))])
    training, others = np.mean(above, axis=0)
    assert training < 0.01
    assert 0.03 < others < 0.07


def test_the_limit_of_spe_needs_more_than_one_sample():
    X = np.random.default_rng(0).normal(size=(20, 5))
    model = PLSRegression(1).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="X has 1 sample"):
        spe_limit(model, X[:1])
