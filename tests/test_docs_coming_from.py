"""The page for those who come from elsewhere: it runs, and prints what R prints."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent
PAGE = ROOT.parent / "docs" / "coming_from.md"
R = json.loads((ROOT / "references" / "coming_from.json").read_text())


def scope():
    """What the page has computed at its end; its examples must give what they show."""
    parser, found = doctest.DocTestParser(), {}
    test = parser.get_doctest(PAGE.read_text(), found, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner()
    runner.run(test, clear_globs=False)
    assert runner.failures == 0
    assert runner.tries > 10
    return test.globs


def reference(name, *shape):
    return np.reshape(R[name], shape, order="F")


def test_the_page_shows_the_numbers_of_R():
    page = scope()
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
