"""The page for those who come from elsewhere: it runs, and prints what the others print."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn import cross_decomposition, decomposition, discriminant_analysis

import eigenkit
from conftest import needs_lda_by_n

ROOT = Path(__file__).parent
PAGE = ROOT.parent / "docs" / "coming_from.md"


def stored(name):
    return json.loads((ROOT / "references" / f"{name}.json").read_text())


R, CCA_PMA, ZOO = stored("coming_from"), stored("coming_from_cca"), stored("coming_from_zoo")


@pytest.fixture(scope="module")
def page():
    """What the page has computed at its end; its examples must give what they show."""
    parser, found = doctest.DocTestParser(), {}
    test = parser.get_doctest(PAGE.read_text(), found, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner()
    runner.run(test, clear_globs=False)
    assert runner.failures == 0
    assert runner.tries > 10
    return test.globs


def reference(name, *shape, of=R):
    return np.reshape(of[name], shape, order="F")


def same_up_to_sign(ours, theirs, atol=1e-12):
    np.testing.assert_allclose(np.abs(ours), np.abs(np.asarray(theirs)), atol=atol)


def test_the_page_shows_the_numbers_of_R(page):
    X, Y = page["X"], page["Y"]
    cca, lda = page["cca"], page["lda"]
    np.testing.assert_allclose(cca.canonical_correlations_, R["cancor_cor"])
    for ours, theirs in (
        (cca.x_rotations_, reference("cancor_xcoef", 5, 3)),
        (cca.y_rotations_, reference("cancor_ycoef", 3, 3)),
    ):
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-12)
    lam = lda.eigenvalues_
    scaling = lda.components_.T * np.sqrt(27 / (1 - lam))
    np.testing.assert_allclose(np.abs(scaling), np.abs(reference("lda_scaling", 5, 2)), atol=1e-10)
    np.testing.assert_allclose(np.sqrt(lam / (1 - lam) * 27 / 2), R["lda_svd"])
    classes = np.array(list("abc"))[np.argmax(reference("lda_posterior", 30, 3), axis=1)]
    np.testing.assert_array_equal(lda.predict(X), classes)
    certain = lda.predict_proba(X).max(axis=1), reference("lda_posterior", 30, 3).max(axis=1)
    assert np.all(certain[0] >= certain[1])
    pca = page["PCA"]().fit(X)
    np.testing.assert_allclose(np.sqrt(pca.explained_variance_), R["prcomp_sdev"])
    rotation = reference("prcomp_rotation", 5, 5)
    np.testing.assert_allclose(np.abs(pca.components_.T), np.abs(rotation), atol=1e-12)
    fitted = page["PLSRegression"](2, scale=False).fit(X, Y).predict(X)
    np.testing.assert_allclose(fitted, reference("plsr_fitted", 30, 3), atol=1e-12)


def test_rcc_of_cca(page):
    rcc, units = page["rcc"], np.sqrt(29)
    np.testing.assert_allclose(rcc.canonical_correlations_, CCA_PMA["rcc_cor"])
    same_up_to_sign(rcc.x_rotations_ * units, reference("rcc_xcoef", 5, 3, of=CCA_PMA))
    same_up_to_sign(rcc.y_rotations_ * units, reference("rcc_ycoef", 3, 3, of=CCA_PMA))


def test_pma(page):
    X, Y, pmd = page["X"], page["Y"], page["pmd"]
    for weights, data, name in ((pmd.x_weights_, X, "pma_u"), (pmd.y_weights_, Y, "pma_v")):
        scaled = weights[:, 0] * data.std(axis=0)
        same_up_to_sign(scaled / np.linalg.norm(scaled), CCA_PMA[name], atol=1e-5)
    np.testing.assert_allclose(pmd.canonical_correlations_, CCA_PMA["pma_cor"], atol=1e-5)


def test_mixomics(page):
    theirs, spls = stored("sparse_pls"), page["spls"]
    same_up_to_sign(spls.x_weights_, reference("regression_x_weights", 12, 3, of=theirs), 1e-6)
    same_up_to_sign(spls.y_weights_, reference("regression_y_weights", 7, 3, of=theirs), 1e-6)


def unit(scores):
    centred = np.asarray(scores) - np.mean(scores, axis=0)
    return centred / np.linalg.norm(centred, axis=0)


def same_scores(ours, theirs, atol=1e-10):
    """Of every view, whatever their unit is."""
    for one, other in zip(ours, theirs, strict=True):
        same_up_to_sign(unit(one), unit(other), atol)


def test_cca_zoo(page):
    X, Y, units = page["X"], page["Y"], np.sqrt(29)
    scores = eigenkit.CCA(3, alpha=0).fit(X, Y).transform(X, Y)
    same_up_to_sign(scores[0] * units, ZOO["cca"][0], 1e-10)  # unit variance
    same_scores(scores, ZOO["cca"])
    views = X / units, Y / units
    ridge = eigenkit.CanonicalRidge(3, gamma_x=0.1, gamma_y=0.3).fit(*views)
    same_scores(ridge.transform(*views), ZOO["ridge"])
    views = [X[:, :2], X[:, 2:], Y]
    same_scores(eigenkit.MultiviewCCA(2, alpha=0).fit(views).transform_views(views), ZOO["mcca"])


def test_lda_of_scikit_learn(page):
    needs_lda_by_n()
    X, classes = page["X"], page["classes"]
    for ours, theirs in (
        ({"alpha": 0}, {}),
        ({"alpha": 0, "shrinkage": 0.1}, {"solver": "eigen", "shrinkage": 0.1}),
    ):
        model = eigenkit.LDA(**ours).fit(X, classes)
        peer = discriminant_analysis.LinearDiscriminantAnalysis(**theirs).fit(X, classes)
        np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-8)


def test_scikit_learn(page):
    X, Y = page["X"], page["Y"]
    strict = {"max_iter": 100_000, "tol": 1e-16}  # they iterate, and stop early by default
    peer = cross_decomposition.CCA(2, **strict).fit(X, Y)
    same_scores(eigenkit.CCA(2, alpha=0).fit(X, Y).transform(X, Y), peer.transform(X, Y), 1e-6)
    for name, settings in (("PLSRegression", strict), ("PLSCanonical", strict), ("PLSSVD", {})):
        model = getattr(eigenkit, name)(2).fit(X, Y)
        peer = getattr(cross_decomposition, name)(2, **settings).fit(X, Y)
        same_up_to_sign(model.transform(X), peer.transform(X), 1e-6)
    model = eigenkit.KernelPCA(3, kernel="rbf").fit(X)
    peer = decomposition.KernelPCA(3, kernel="rbf").fit(X)
    same_up_to_sign(model.transform(X), peer.transform(X), 1e-10)
    model = eigenkit.PCA(2).partial_fit(X[:10]).partial_fit(X[10:])
    same_up_to_sign(model.transform(X), decomposition.PCA(2).fit(X).transform(X), 1e-10)
