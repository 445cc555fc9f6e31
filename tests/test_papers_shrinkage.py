"""The thesis's shrinkage experiment: its parts by equations, and one quick run."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_regression
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score

from eigenkit import PLSRegression
from papers import Figure, Table, run_papers
from papers.shrinkage_methods import (
    Plan,
    by_formula,
    coefficients,
    factors,
    fast_fold_errors,
    fold_errors,
    matching_alpha,
    peer_errors,
    simulate,
    spectrum_of,
    with_response,
)

pytest.importorskip("matplotlib")

PLAN = Plan(most=5, n_alphas=6, folds=4, repeats=1, draws=600)


@pytest.fixture
def data():
    return make_regression(40, 60, effective_rank=6, tail_strength=0.4, noise=0.2, random_state=0)


def test_factors_of_each_method(data):
    spectrum = spectrum_of(*data)
    for method, rows in (("ols", 1), ("pcr", 5), ("ridge", 6), ("pls", 5), ("bounded", 5)):
        F = factors(spectrum, method, PLAN)
        assert F.shape == (rows, len(spectrum.s))
        assert method == "pls" or np.abs(F).max() <= 1
    np.testing.assert_allclose(factors(spectrum, "pcr", PLAN).sum(axis=1), np.arange(1, 6))


def test_coefficients_are_those_of_pls(data):
    X, y = data
    spectrum = spectrum_of(X, y)
    path = PLSRegression(5, scale=False).fit(X, y).coef_path_[:, 0]
    np.testing.assert_allclose(
        coefficients(spectrum, factors(spectrum, "pls", PLAN)), path, atol=1e-9 * np.abs(path).max()
    )


def test_another_response_needs_no_new_decomposition(data):
    X, y = data
    other = np.random.default_rng(0).normal(size=len(y))
    found = with_response(spectrum_of(X, y), X, other)
    expected = spectrum_of(X, other)
    np.testing.assert_allclose(found.coef(found.pls(3)), expected.coef(expected.pls(3)), rtol=1e-8)


def test_matching_alpha_has_so_many_degrees_of_freedom(data):
    spectrum = spectrum_of(*data)
    np.testing.assert_allclose(spectrum.ridge(matching_alpha(spectrum, 5)).sum(), 5)


@pytest.mark.parametrize("method", ["pcr", "ridge", "pls"])
def test_cross_validation_is_scikit_learn_s(data, method):
    np.testing.assert_allclose(
        fold_errors(*data, 0, method, PLAN), peer_errors(*data, 0, method, PLAN), rtol=1e-8
    )


def test_cross_validation_of_one_ridge(data):
    folds = KFold(PLAN.folds, shuffle=True, random_state=1)
    scores = cross_val_score(
        Ridge(PLAN.alphas[2]), *data, cv=folds, scoring="neg_mean_squared_error"
    )
    np.testing.assert_allclose(np.array(fold_errors(*data, 1, "ridge", PLAN))[:, 2], -scores)
    np.testing.assert_allclose(
        fast_fold_errors(*data, 1, PLAN), fold_errors(*data, 1, "pls", PLAN), rtol=1e-8
    )


@pytest.mark.parametrize("method", ["pcr", "ridge"])
def test_formulas_agree_with_simulation(data, method):
    X, _ = data
    beta = np.random.default_rng(0).normal(size=60)
    drawn = simulate(X, beta, 0.5, method, 0, PLAN)
    expected = by_formula(X, beta, 0.5, method, PLAN)
    for kind in ("coef", "fit"):
        np.testing.assert_allclose(drawn[kind], expected[kind], rtol=0.1)


@pytest.mark.slow
def test_quick_run(tmp_path):
    (result,) = run_papers(["shrinkage"], quick=True, out=tmp_path)
    best, statements = (block for block in result.blocks if isinstance(block, Table))
    score = {labels[0]: row[0] for labels, row in zip(best.rows, best.ours, strict=True)}
    for method in ("PCR", "ridge", "PLS"):
        np.testing.assert_allclose(score[method], score[f"{method}, scikit-learn"], rtol=1e-8)
    np.testing.assert_allclose(score["PLS"], score["PLS, PLSRegressionCV"], rtol=1e-8)
    assert score["PLS"] < score["OLS"]
    told = {labels[0]: row[0] for labels, row in zip(statements.rows, statements.ours, strict=True)}
    gap = told["Corollary 2.1: factors give the coefficients of PLS"].split()[2]
    assert float(gap) < 1e-10
    largest = told["Factors of OLS, PCR and ridge are at most 1, those of PLS are not"].split()[3]
    assert float(largest.strip(",")) > 1
    growth = told["Theorem 2.7: the norm grows to that of OLS"]
    assert float(growth.split()[2]) > -1e-10
    assert growth.split("last norm ")[1].split(",")[0] == growth.split("OLS ")[1]
    figures = {block.name for block in result.blocks if isinstance(block, Figure)}
    assert len(figures) == 4
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == figures
