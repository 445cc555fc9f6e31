"""Permutation tests hold their level at every component; bootstrap intervals cover."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy import sparse

from eigenkit import CCA, LDA, PCA, CanonicalRidge, SparseCCA
from eigenkit import inference as inference_module
from eigenkit.inference import bootstrap_weights, permutation_test


def two_views(seed: int, n_real: int, n: int = 60, strength: float = 3.0):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, 5)), rng.normal(size=(n, 4))
    shared = strength * rng.normal(size=(n, n_real))
    X[:, :n_real] += shared
    Y[:, :n_real] += shared
    return X, Y


@pytest.mark.parametrize("n_real", [0, 1, 2])
@pytest.mark.parametrize("statistic", ["wilks", "roy"])
def test_finds_the_planted_number(n_real, statistic) -> None:
    X, Y = two_views(1, n_real)
    test = permutation_test(CCA(alpha=0), X, Y, n_permutations=199, statistic=statistic)
    assert test.n_significant() == n_real
    assert np.all(np.diff(test.p_values) >= 0)
    assert np.allclose(test.correlations, CCA(alpha=0).fit(X, Y).canonical_correlations_)


@pytest.mark.parametrize(
    ("model", "statistic"),
    [
        (CCA(alpha=0), "wilks"),
        (CCA(alpha=50.0, alpha_y=50.0), "roy"),
        (CanonicalRidge(gamma_x=1, gamma_y=1), "roy"),
    ],
    ids=["cca", "ridge", "pls"],
)
def test_level_holds_beyond_the_first_component(model, statistic) -> None:
    """With one real component, the p-value of the second is that of no component at all."""
    second = [
        permutation_test(
            model, *two_views(seed, 1), n_permutations=99, statistic=statistic
        ).p_values[1]
        for seed in range(50)
    ]
    assert 0.35 < np.mean(second) < 0.7
    assert np.mean(np.array(second) <= 0.1) < 0.25


def test_first_step_is_the_plain_permutation_test() -> None:
    X, Y = two_views(3, 0, strength=1)
    U, V, _ = inference_module._variates(CCA(alpha=0), X, Y)
    order = np.random.default_rng([4, 0]).permutation(len(X))
    ours = inference_module._permuted(U, V, "roy", [4, 0])[0]
    direct = CCA(1, alpha=0).fit(X[order], Y).canonical_correlations_[0]
    assert np.isclose(ours, direct)


def test_later_steps_use_what_the_earlier_leave() -> None:
    M = np.random.default_rng(0).normal(size=(6, 4)) / 10
    steps = inference_module._stepwise(M, "wilks")
    for k in range(4):
        r = np.linalg.svd(M[k:, k:], compute_uv=False)
        assert np.isclose(steps[k], -np.sum(np.log(1 - r**2)))


def test_ridge_family_sparse_and_wide_views() -> None:
    X, Y = two_views(5, 1, n=40)
    wide = np.hstack([X, np.random.default_rng(1).normal(size=(40, 80))])
    for model in (CCA(alpha=20.0, alpha_y=1.0), CanonicalRidge(gamma_x=0.9, gamma_y=0.5)):
        test = permutation_test(model, wide, Y, n_permutations=99)
        fitted = model.fit(wide, Y)
        assert np.allclose(test.correlations, fitted.canonical_correlations_)
        assert test.p_values[0] <= 0.05
    pls = CanonicalRidge(gamma_x=1, gamma_y=1)
    assert permutation_test(pls, X, Y, n_permutations=99, statistic="roy").p_values[0] <= 0.05
    with pytest.raises(ValueError, match="use statistic='roy'"):
        permutation_test(pls, X, Y)
    a = permutation_test(CCA(), sparse.csr_array(X), Y, n_permutations=39)
    b = permutation_test(CCA(), X, Y, n_permutations=39)
    assert np.array_equal(a.p_values, b.p_values)


def test_jobs_do_not_change_the_result() -> None:
    X, Y = two_views(2, 1)
    one, two = (
        permutation_test(CCA(), X, Y, n_permutations=60, random_state=5, n_jobs=jobs)
        for jobs in (None, 2)
    )
    assert np.array_equal(one.p_values, two.p_values)
    a, b = (bootstrap_weights(CCA(1), X, Y, n_bootstraps=45, n_jobs=jobs) for jobs in (None, 2))
    assert np.array_equal(a.x.lower, b.x.lower)
    other = permutation_test(CCA(), X, Y, n_permutations=60, random_state=6)
    assert not np.array_equal(one.p_values, other.p_values)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress(monkeypatch, capsys) -> None:
    X, Y = two_views(2, 1)
    seen = []
    permutation_test(CCA(), X, Y, n_permutations=45, progress=lambda *done: seen.append(done))
    assert seen == [(20, 45), (40, 45), (45, 45)]
    permutation_test(CCA(), X, Y, n_permutations=5, progress=True)
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    bootstrap_weights(PCA(1), X, n_bootstraps=5, progress=True)
    assert terminal.getvalue().endswith("] 5/5\n")


def test_bootstrap_intervals_cover_and_separate() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([3.0, 2.0, 0.0, 0.0])
    hits = []
    for _ in range(12):
        X = rng.normal(size=(150, 4))
        y = X @ truth + rng.normal(size=150)
        found = bootstrap_weights(CCA(alpha=0), X, y, n_bootstraps=60)
        assert found.x.nonzero[:2].all()
        scale = np.linalg.norm((X - X.mean(axis=0)) @ truth)
        hits.append((found.x.lower[:, 0] <= truth / scale) & (truth / scale <= found.x.upper[:, 0]))
    assert 0.8 < np.mean(hits) <= 1
    assert found.y is not None
    assert found.y.weights.shape == (1, 1)
    assert np.all(found.x.std > 0)


def test_alignment_undoes_rotations_of_tied_components() -> None:
    """Two components of equal variance turn freely; aligned, their weights are stable."""
    X = np.random.default_rng(0).normal(size=(300, 6)) * [3, 3, 1, 1, 1, 1]
    turned = bootstrap_weights(PCA(2), X, n_bootstraps=60, align="rotation")
    signed = bootstrap_weights(PCA(2), X, n_bootstraps=60, align="sign")
    assert turned.x.std.max() < 0.1
    assert signed.x.std.max() > 2 * turned.x.std.max()
    assert turned.y is None


def test_bootstrap_of_other_projections() -> None:
    X, Y = two_views(4, 1)
    labels = (Y[:, 0] > 0).astype(int)
    assert bootstrap_weights(LDA(), X, labels, n_bootstraps=20).x.nonzero[0, 0]
    sparse_pair = bootstrap_weights(SparseCCA(), X, Y, n_bootstraps=20)
    assert sparse_pair.x.nonzero[0, 0]
    assert sparse_pair.y is not None
    assert sparse_pair.y.nonzero[0, 0]
    lists = bootstrap_weights(CCA(1), X.tolist(), Y.tolist(), n_bootstraps=20)
    assert np.allclose(lists.x.lower, bootstrap_weights(CCA(1), X, Y, n_bootstraps=20).x.lower)


def test_messages() -> None:
    X, Y = two_views(0, 1)
    with pytest.raises(TypeError, match="estimator is a PCA: permutation_test needs a CCA"):
        permutation_test(PCA(), X, Y)
    with pytest.raises(ValueError, match="n_permutations=0 is not valid"):
        permutation_test(CCA(), X, Y, n_permutations=0)
    with pytest.raises(ValueError, match="statistic='t' is not known"):
        permutation_test(CCA(), X, Y, statistic="t")
    with pytest.raises(ValueError, match="level=1 is not valid"):
        bootstrap_weights(CCA(), X, Y, level=1)
    with pytest.raises(ValueError, match="align='none' is not known"):
        bootstrap_weights(CCA(), X, Y, align="none")
    with pytest.raises(ValueError, match="contains NaN"):
        permutation_test(CCA(), np.where(X > 1, np.nan, X), Y)
