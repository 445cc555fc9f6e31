"""Bootstrap intervals: they cover, keep real variation, and say where axes are arbitrary."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse

import eigenkit as ek
from eigenkit.analysis import bootstrap, resampling


def pairs(rho, n=120, d=6, k=4, seed=0):
    """Independent pairs of variables with these correlations."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, k))
    for i, r in enumerate(rho):
        Y[:, i] = r * X[:, i] + np.sqrt(1 - r**2) * Y[:, i]
    return X, Y


X, Y = pairs((0.9, 0.6))
J = (Y > 0).astype(float)
CLASSES = (X[:, 0] > 0.5).astype(int) + (X[:, 0] > -0.5)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (ek.CCA(2, alpha=0), (X, Y)),
        (ek.CanonicalRidge(2), (X, Y)),
        (ek.OrthonormalizedPLS(1), (X, Y)),
        (ek.HypergraphSpectral(1), (X, J)),
        (ek.MultilabelLDA(1), (X, J)),
        (ek.LDA(alpha=0), (X, CLASSES)),
        (ek.PLSRegression(2), (X, Y)),
        (ek.PLSCanonical(2), (X, Y)),
        (ek.PLSSVD(2), (X, Y)),
        (ek.SIMPLS(2), (X, Y)),
        (ek.PLSDA(1), (X, CLASSES)),
        (ek.SparseCCA(2), (X, Y)),
        (ek.MultiviewCCA(1), ([X, Y, X[:, :2] + Y[:, :2]],)),
        (ek.PCA(1), (X * [4, 2, 1, 1, 1, 1],)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_projection(model, data) -> None:
    found = bootstrap(model, *data, n_bootstraps=12)
    d = found.weights.estimate.shape[0]
    l = model.fit(*data).n_components_
    assert found.weights.estimate.shape == found.takes_part.shape == found.selection.shape == (d, l)
    assert found.takes_part[0, 0]
    if not found.tied:
        assert np.all(found.weights.lower <= found.weights.upper)
        assert np.all(found.weights.std > 0) or isinstance(model, ek.SparseCCA)
    assert np.all(np.abs(found.loadings.estimate) <= 1 + 1e-12)
    assert (found.coef is None) == (not hasattr(model, "coef_"))
    assert found.n_redrawn == 0


def test_loadings_are_correlations_of_features_with_scores() -> None:
    model = ek.CCA(2, alpha=0)
    found = bootstrap(model, X, Y, n_bootstraps=5)
    T = model.fit(X, Y).transform(X)
    expected = np.corrcoef(X.T, T.T)[:6, 6:]
    assert np.allclose(found.loadings.estimate, expected)
    assert np.allclose(found.weights.estimate, model.components_.T)
    assert np.allclose(found.y_weights.estimate, model.y_rotations_)
    assert np.allclose(found.coef.estimate, model.coef_)


def test_a_resample_is_a_fit_on_drawn_rows() -> None:
    """One draw: the interval is the fit on the rows that the seed draws, up to sign."""
    found = bootstrap(ek.CCA(1, alpha=0), X, Y, n_bootstraps=1)
    root = int(np.random.RandomState(0).randint(2**31 - 1))
    drawn = np.random.default_rng([root, 0]).integers(0, 120, size=120)
    model = ek.CCA(1, alpha=0).fit(X[drawn], Y[drawn])
    w = model.components_[0]
    w = w * np.sign(w @ found.weights.estimate[:, 0])
    assert np.allclose(found.weights.lower[:, 0], w)
    assert np.allclose(found.weights.upper, found.weights.lower)
    T = model.transform(X[drawn])
    loadings = np.corrcoef(X[drawn].T, T.T)[:6, 6]
    assert np.allclose(np.abs(found.loadings.lower[:, 0]), np.abs(loadings))


def test_bounds_leave_out_the_stated_share() -> None:
    """Of B = 199 draws at 0.95, five are left out on either side: ranks 5 and 195."""
    draws = np.random.default_rng(0).permutation(199.0 + np.arange(199))[:, None, None]
    found = resampling._intervals(draws[0], draws, 0.95, [])
    assert np.allclose([found.lower, found.upper], np.array([[[203]], [[393]]]))


def test_intervals_are_not_narrowed_by_rotation() -> None:
    """With all components a rotation would make every resample equal to the whole."""
    found = bootstrap(ek.PCA(), X * [9, 6, 4, 2.5, 1.5, 1], n_bootstraps=100)
    width = (found.weights.upper - found.weights.lower)[:, [0]]
    assert np.all(width > 0.01)


@pytest.mark.slow
def test_zeros_are_covered_and_others_found() -> None:
    """5 sets of 10 zeros: fewer than 40 covered would hardly ever come up."""
    covered, found = 0, 0
    for seed in range(5):
        result = bootstrap(
            ek.CCA(2, alpha=0), *pairs((0.9, 0.6), n=150, seed=seed), n_bootstraps=80
        )
        own = np.eye(6, 2, dtype=bool)
        covered += int(np.sum(~result.takes_part[~own]))
        found += int(np.sum(result.takes_part[own]))
    assert covered >= 40
    assert found >= 9


def test_tied_components_are_flagged_and_tested_together() -> None:
    found = bootstrap(ek.CCA(2, alpha=0), *pairs((0.7, 0.7), n=300, seed=1), n_bootstraps=40)
    assert found.tied == [(0, 1)]
    assert np.all(np.isnan(found.weights.lower))
    assert not found.weights.nonzero.any()
    assert np.array_equal(found.takes_part[:, 0], found.takes_part[:, 1])
    assert found.takes_part[:2].all()
    assert not found.takes_part[2:].all()
    assert "take part in the space of the tied components 1, 2" in str(found)
    one = bootstrap(ek.CCA(1, alpha=0), *pairs((0.7, 0.7), n=300, seed=1), n_bootstraps=40)
    assert one.tied == [(0, 1)]  # the second is not asked for, but it is there
    assert one.takes_part.shape == (6, 1)


def test_one_response_has_no_ties() -> None:
    assert bootstrap(ek.PLSRegression(3), X, Y[:, 0], n_bootstraps=20).tied == []


@pytest.mark.slow
def test_rare_classes_are_never_missed() -> None:
    y = np.r_[np.zeros(60), np.ones(57), 2, 3, 3]
    for labels in (y, np.array(["a", "b", "c", "d"])[y.astype(int)]):
        for model in (ek.LDA(1), ek.PLSDA(1), ek.HypergraphSpectral(1)):
            found = bootstrap(model, X, labels, n_bootstraps=30)
            assert found.n_redrawn == 0


def test_resamples_that_cannot_be_fitted_are_drawn_again() -> None:
    """Two components need both labels; one of them is carried by two samples only."""
    labels = np.zeros((120, 2))
    labels[:2, 0], labels[::2, 1] = 1, 1
    found = bootstrap(ek.CCA(2), X, labels, n_bootstraps=40)
    assert 0 < found.n_redrawn < 40
    with pytest.raises(ValueError, match="20 resamples in a row cannot be fitted"):
        bootstrap(ek.PCA(11), np.random.default_rng(0).normal(size=(12, 40)), n_bootstraps=2)


def test_selection_frequencies() -> None:
    found = bootstrap(ek.SparseCCA(1, keep_x=1, keep_y=1), X, Y, n_bootstraps=20)
    assert np.array_equal(found.selection[:, 0], [1, 0, 0, 0, 0, 0])
    lasso = ek.LeastSquaresProjection(1, target="lda", alpha=5.0, l1_ratio=1.0)
    found = bootstrap(lasso, X, CLASSES, n_bootstraps=40)
    assert found.selection[0, 0] == 1
    assert found.selection[1:, 0].max() < 1
    assert bootstrap(ek.CCA(1), X, Y, n_bootstraps=20).selection.min() == 1


def test_sparse_data_and_far_offsets() -> None:
    rng = np.random.default_rng(0)
    wide = np.hstack([X, rng.normal(size=(120, 20)) * (rng.random((120, 20)) < 0.3)])
    wide[:, 3] += 1e5
    wide[:, 10] = 0.0
    wide[0, 10] = 1e-9  # drawn in some resamples only
    one = Y[:, :1]  # of which there is but one pair, and no tie
    dense = bootstrap(ek.PLSSVD(1), wide, one, n_bootstraps=20)
    thin = bootstrap(ek.PLSSVD(1), sparse.csr_array(wide), one, n_bootstraps=20)
    assert np.allclose(thin.loadings.lower, dense.loadings.lower, atol=1e-8)
    assert np.allclose(thin.weights.upper, dense.weights.upper, atol=1e-8)


def test_weights_have_no_unit_and_zero_leaves_out() -> None:
    some = np.r_[np.ones(100), np.zeros(20)]
    a = bootstrap(ek.CCA(1), X, Y, n_bootstraps=20, sample_weight=some)
    b = bootstrap(ek.CCA(1, alpha=1e-3), X, Y, n_bootstraps=20, sample_weight=some * 1e-3)
    assert np.allclose(a.loadings.lower, b.loadings.lower)
    changed = X.copy()
    changed[100:] += 1000
    c = bootstrap(ek.CCA(1), changed, Y, n_bootstraps=20, sample_weight=some)
    assert np.allclose(a.loadings.lower, c.loadings.lower)


def test_groups_are_drawn_as_a_whole() -> None:
    """Copies of samples add no information: groups say so, and intervals stay as wide."""
    copied = tuple(np.repeat(part, 4, axis=0) for part in (X, Y))
    groups = np.repeat(np.arange(120), 4)
    alone = bootstrap(ek.CCA(1, alpha=0), X, Y, n_bootstraps=40).loadings.std
    naive = bootstrap(ek.CCA(1, alpha=0), *copied, n_bootstraps=40).loadings.std
    grouped = bootstrap(ek.CCA(1, alpha=0), *copied, n_bootstraps=40, groups=groups).loadings.std
    assert np.allclose(grouped, alone, rtol=0.5)
    assert np.median(naive) < 0.7 * np.median(alone)


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_jobs_do_not_change_the_bits(backend) -> None:
    one = bootstrap(ek.CCA(1), X, Y, n_bootstraps=45)
    with parallel_config(backend):
        two = bootstrap(ek.CCA(1), X, Y, n_bootstraps=45, n_jobs=2)
    assert np.array_equal(one.weights.lower, two.weights.lower)
    assert np.array_equal(one.loadings.upper, two.loadings.upper)


def test_lists_progress_and_words() -> None:
    seen = []
    found = bootstrap(
        ek.CCA(1), X.tolist(), Y.tolist(), n_bootstraps=45, progress=lambda *done: seen.append(done)
    )
    assert seen == [(n, 45, f"{n} of 45 resamples") for n in (20, 40, 45)]
    assert np.array_equal(
        found.weights.lower, bootstrap(ek.CCA(1), X, Y, n_bootstraps=45).weights.lower
    )
    views = bootstrap(ek.MultiviewCCA(1), [X.tolist(), Y.tolist()], n_bootstraps=5)
    assert views.weights.estimate.shape == (10, 1)
    assert repr(found) == "<Bootstrap of CCA: 6 features, 1 components, tied []>"
    assert str(found).splitlines()[0] == "Bootstrap of CCA: 45 resamples, 95% intervals"
    assert repr(found.weights).startswith("<Intervals of shape (6, 1), ")


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (ek.CCA(), {"level": 1}, ValueError, "level=1 is not valid"),
        (ek.CCA(), {"n_bootstraps": 0}, ValueError, "n_bootstraps=0 is not valid"),
        (ek.CCA(), {"groups": [1, 2]}, ValueError, r"groups has shape \(2,\)"),
        (ek.PLSRegressionCV(), {}, TypeError, "components anew in every resample: give a PLSReg"),
        (
            ek.KernelPCA(),
            {},
            TypeError,
            "is a KernelPCA, which has weights of samples, not of features",
        ),
        (ek.ReGEC(), {}, TypeError, "is a ReGEC: bootstrap needs a projection"),
        (ek.ShrinkageRegression(), {}, TypeError, "bootstrap needs a projection"),
        (ek.PCA, {}, TypeError, "is a class PCA itself: bootstrap needs"),
    ],
)
def test_messages(model, options, error, message) -> None:
    with pytest.raises(error, match=message):
        bootstrap(model, X, Y, **options)


def test_size_is_checked_before_memory_is_taken(monkeypatch) -> None:
    monkeypatch.setattr("eigenkit.analysis._draws.ANALYSIS_LIMIT_BYTES", 1000)
    with pytest.raises(ValueError, match="500 resamples need"):
        bootstrap(ek.CCA(), X, Y)
