"""Permutation tests beside R's vegan (stored), statsmodels and normal theory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from eigenkit import CCA, OrthonormalizedPLS
from eigenkit.analysis import permutation_test

VEGAN = json.loads((Path(__file__).parent / "references" / "vegan.json").read_text())
X, Y, Z = (np.array(VEGAN[name]) for name in "XYZ")
BLOCKS = np.array(VEGAN["blocks"])

# Two p-values from 9999 permutations each differ by no more than this, 4 sigma.
CLOSE = 4 * np.sqrt(2 * 0.25 / 9999)


def test_redundancy_analysis_is_orthonormalized_pls() -> None:
    """vegan's eigenvalues are variances; its F of the whole model orders permutations as ours."""
    test = permutation_test(OrthonormalizedPLS(alpha=0), X, Y, n_permutations=9999)
    assert np.allclose(test.singular_values**2 / (len(X) - 1), VEGAN["eigenvalues"])
    assert abs(test.p_values[0] - VEGAN["p"]) < CLOSE


def test_partial_redundancy_analysis() -> None:
    """vegan permutes residuals (Freedman and Lane), we the rows of a basis: close, not equal."""
    test = permutation_test(OrthonormalizedPLS(alpha=0), X, Y, nuisance=Z, n_permutations=9999)
    assert np.allclose(test.singular_values**2 / (len(X) - 1), VEGAN["partial_eigenvalues"])
    assert abs(test.p_values[0] - VEGAN["partial_p"]) < CLOSE


def test_blocks_of_redundancy_analysis() -> None:
    """vegan's Condition(block) with permutations within blocks is our groups."""
    test = permutation_test(OrthonormalizedPLS(alpha=0), X, Y, groups=BLOCKS, n_permutations=9999)
    assert np.allclose(test.singular_values**2 / (len(X) - 1), VEGAN["block_eigenvalues"])
    assert abs(test.p_values[0] - VEGAN["block_p"]) < CLOSE


def test_canonical_correlations_of_r() -> None:
    test = permutation_test(CCA(alpha=0), X, Y, n_permutations=99)
    assert np.allclose(test.singular_values, VEGAN["cancor"])


def test_normal_theory_of_statsmodels() -> None:
    multivariate = pytest.importorskip("statsmodels.multivariate.cancorr")
    rng = np.random.default_rng(8)
    A, B = rng.normal(size=(60, 4)), rng.normal(size=(60, 3))
    B[:, 0] += 0.7 * A[:, 0]
    test = permutation_test(CCA(alpha=0), A, B, n_permutations=1999)
    table = multivariate.CanCorr(B, A).corr_test().stats
    assert np.allclose(table["Canonical Correlation"].astype(float), test.singular_values)
    theory = np.maximum.accumulate(table["Pr > F"].astype(float))
    assert np.allclose(test.p_values, theory, atol=0.06)
