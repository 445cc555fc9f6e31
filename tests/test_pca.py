"""PCA: the defining equations, scikit-learn's answers, streams, and hostile input."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg as sla
from scipy import sparse
from sklearn import decomposition
from sklearn.base import clone
from sklearn.datasets import load_wine

from eigenkit import PCA
from eigenkit.data import Centered
from eigenkit.exceptions import ConditionWarning, ConvergenceWarning, DegenerateDataWarning
from eigenkit.solvers.krylov import largest_eigenpairs
from eigenkit.solvers.spectral import METHODS

rng = np.random.default_rng(7)
MIX = rng.normal(size=(8, 8))
TALL = rng.normal(size=(120, 8)) @ MIX + 5
WIDE = rng.normal(size=(15, 60)) + 2
SPARSE = sparse.random_array((300, 80), density=0.08, format="csr", rng=rng)


def angle(A: np.ndarray, B: np.ndarray) -> float:
    """The largest angle between two row spaces."""
    return float(sla.subspace_angles(np.asarray(A, float).T, np.asarray(B, float).T).max())


@pytest.mark.parametrize("solver", METHODS)
@pytest.mark.parametrize("X", [TALL, WIDE, SPARSE], ids=["tall", "wide", "sparse"])
def test_defining_equation(X, solver) -> None:
    model = PCA(2, solver=solver).fit(X)
    dense = X.toarray() if sparse.issparse(X) else X
    C = np.cov(dense.T)
    W = model.components_.T
    assert np.allclose(C @ W, W * model.explained_variance_, atol=1e-8 * np.trace(C))
    assert np.allclose(W.T @ W, np.eye(2), atol=1e-12)
    assert np.allclose(model.explained_variance_ratio_, model.explained_variance_ / np.trace(C))


@pytest.mark.parametrize("n_components", [None, 3, 0.7, 0.999])
@pytest.mark.parametrize("X", [TALL, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("whiten", [False, True])
def test_drop_in_for_scikit_learn(X, n_components, whiten) -> None:
    ours = PCA(n_components, whiten=whiten).fit(X)
    theirs = decomposition.PCA(ours.n_components_, whiten=whiten, svd_solver="full").fit(X)
    if isinstance(n_components, float):
        assert decomposition.PCA(n_components).fit(X).n_components_ == ours.n_components_
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
    assert np.isclose(ours.noise_variance_, theirs.noise_variance_, atol=1e-12)
    # The same up to the signs of the components.
    sign = np.sign(np.sum(ours.components_ * theirs.components_, axis=1))
    assert np.allclose(ours.transform(X), theirs.transform(X) * sign, atol=1e-8)
    back = ours.inverse_transform(ours.transform(X))
    assert np.allclose(back, theirs.inverse_transform(theirs.transform(X)), atol=1e-8)


def test_minkas_choice_and_likelihood_are_scikit_learns() -> None:
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 9)) + 0.1 * rng.normal(size=(300, 9))
    ours, theirs = PCA("mle").fit(X), decomposition.PCA("mle").fit(X)
    assert ours.n_components_ == theirs.n_components_ == 3
    assert np.allclose(ours.score_samples(X), theirs.score_samples(X))
    assert np.allclose(ours.score_samples(sparse.csr_array(X)), theirs.score_samples(X))
    assert np.isclose(ours.score(X), theirs.score(X))
    assert np.allclose(ours.get_covariance(), theirs.get_covariance())
    assert np.allclose(ours.get_precision(), theirs.get_precision())


def test_lanczos_equals_the_whole_spectrum_and_repeats_itself() -> None:
    a = PCA(10, solver="lanczos", tol=1e-12).fit(SPARSE)
    b = PCA(10, solver="svd").fit(SPARSE)
    assert np.allclose(a.singular_values_, b.singular_values_, rtol=1e-10)
    assert np.allclose(a.components_, b.components_, atol=1e-6)
    assert a.report_.residual < 1e-11
    again = PCA(10, solver="lanczos", tol=1e-12).fit(SPARSE)
    assert np.array_equal(a.components_, again.components_)


def test_lanczos_restarts_on_a_hard_spectrum() -> None:
    values = 1 + np.arange(600) / 600
    pairs = largest_eigenpairs(lambda V: values[:, None] * V, 600, 6, 1e-9, 2000)
    assert pairs.converged
    assert pairs.n_iter > 20
    assert np.allclose(pairs.values, values[::-1][:6], rtol=1e-9)


def test_lanczos_finds_tied_eigenvalues_and_small_rank() -> None:
    G = np.diag([3.0, 3.0, 3.0, 1.0] + [0.0] * 96)
    pairs = largest_eigenpairs(lambda V: G @ V, 100, 4, 1e-10, 100)
    assert np.allclose(pairs.values, [3, 3, 3, 1])
    assert len(largest_eigenpairs(lambda V: G @ V, 100, 7, 1e-10, 100).values) == 4


def test_lanczos_finds_ties_wider_than_a_block() -> None:
    """Whitened data: every eigenvalue is the same, and the first block is an invariant space."""
    pairs = largest_eigenpairs(lambda V: 2.0 * V, 50, 12, 1e-10, 100)
    assert np.allclose(pairs.values, np.full(12, 2.0))
    assert np.allclose(pairs.vectors.T @ pairs.vectors, np.eye(12), atol=1e-12)
    G = np.diag([1.0] * 4 + [0.0] * 46)
    assert len(largest_eigenpairs(lambda V: G @ V, 50, 20, 1e-10, 100).values) == 4


def test_lanczos_that_stops_early_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        PCA(10, solver="lanczos", tol=1e-14, max_iter=3).fit(SPARSE)


@given(st.lists(st.integers(1, 119), max_size=6), st.randoms())
@settings(max_examples=25, deadline=None)
def test_any_partition_of_a_stream_gives_the_fit(cuts, random) -> None:
    batches = np.split(TALL, sorted(cuts))
    random.shuffle(batches)
    stream = PCA(4)
    for batch in batches:
        if len(batch):
            stream.partial_fit(batch)
    whole = PCA(4).fit(TALL)
    assert np.allclose(stream.components_, whole.components_, atol=1e-9)
    assert np.allclose(stream.explained_variance_, whole.explained_variance_, rtol=1e-10)
    assert np.isclose(stream.noise_variance_, whole.noise_variance_, rtol=1e-8)


def test_flat_spectrum_where_incremental_pca_drifts() -> None:
    X = np.random.default_rng(0).normal(size=(2000, 40))
    whole = decomposition.PCA(5, svd_solver="full").fit(X)
    stream, theirs = PCA(5), decomposition.IncrementalPCA(5)
    for batch in np.split(X, 20):
        stream.partial_fit(batch)
        theirs.partial_fit(batch)
    assert np.degrees(angle(theirs.components_, whole.components_)) > 45
    assert np.degrees(angle(stream.components_, whole.components_)) < 1e-6


def test_merged_models_equal_one() -> None:
    left, right = PCA(3).partial_fit(TALL[:50]), PCA(3).partial_fit(TALL[50:])
    merged = left.merge(right)
    assert np.allclose(merged.components_, PCA(3).fit(TALL).components_, atol=1e-10)
    with pytest.raises(ValueError, match="the columns of X differ"):
        merged.merge(PCA().partial_fit(WIDE))


def test_rotating_the_data_rotates_the_components() -> None:
    Q = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    a, b = PCA(3).fit(TALL), PCA(3).fit(TALL @ Q)
    assert angle(a.components_ @ Q, b.components_) < 1e-7
    assert np.allclose(a.explained_variance_, b.explained_variance_)


def test_sparse_is_dense_and_is_never_made_dense(monkeypatch) -> None:
    dense = PCA(4).fit(SPARSE.toarray())
    monkeypatch.setattr("eigenkit.numerics.costs.DENSE_LIMIT_BYTES", 0)
    monkeypatch.setattr(sparse.csr_array, "toarray", lambda *a, **k: pytest.fail("densified"))
    for layout in ("csr", "csc", "coo"):
        model = PCA(4, solver="lanczos", tol=1e-12).fit(SPARSE.asformat(layout))
        assert np.allclose(model.components_, dense.components_, atol=1e-7)
        assert np.allclose(model.transform(SPARSE), dense.transform(SPARSE), atol=1e-7)


def test_frames_pickle_clone() -> None:
    frame = pd.DataFrame(TALL, columns=list("abcdefgh"))
    model = PCA(2).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["pca0", "pca1"]
    assert np.array_equal(pickle.loads(pickle.dumps(model)).components_, model.components_)
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-150, 1e150, 1e200, 1e300])
def test_scale_free_outputs_at_any_scale(scale) -> None:
    a, b = PCA(3).fit(TALL), PCA(3, whiten=True).fit(TALL * scale)
    assert np.allclose(a.explained_variance_ratio_, b.explained_variance_ratio_, rtol=1e-8)
    assert np.allclose(a.components_, b.components_, atol=1e-8)
    assert np.allclose(a.singular_values_, b.singular_values_ / scale, rtol=1e-8)
    assert np.allclose(b.transform(TALL * scale).std(axis=0, ddof=1), 1)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_offsets_cost_no_more_than_they_must(offset) -> None:
    assert angle(PCA(3).fit(TALL + offset).components_, PCA(3).fit(TALL).components_) < 1e-6


def test_nothing_is_left_of_all_components() -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    for solver in ("gram", "svd", "lanczos"):
        assert PCA(3, solver=solver).fit(X).noise_variance_ == 0.0


def test_degenerate_columns() -> None:
    X = np.column_stack([TALL, np.full(len(TALL), 3.0)])
    with pytest.warns(DegenerateDataWarning, match="1 of 9 features are constant"):
        model = PCA().fit(X)
    assert model.n_components_ == 8
    assert np.allclose(model.components_[:, 8], 0)
    huge = TALL * np.array([1e150] + [1e-150] * 7)
    with pytest.warns(ConditionWarning, match="the largest alone decide"):
        assert np.isclose(PCA(1).fit(huge).explained_variance_ratio_[0], 1)


def test_rank_two_and_graded_spectra() -> None:
    flat = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 7))
    assert PCA().fit(flat).n_components_ == 2
    graded = np.linalg.qr(rng.normal(size=(60, 5)))[0] * 10.0 ** -np.arange(0, 15, 3)
    graded -= graded.mean(axis=0)
    model = PCA().fit(graded)
    assert model.solver_ == "svd"
    assert np.allclose(model.singular_values_, sla.svdvals(graded), rtol=1e-4)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "a", True, [2], np.nan])
def test_n_components_is_checked(bad) -> None:
    with pytest.raises(ValueError, match=r"n_components=.*not valid: give an integer"):
        PCA(bad).fit(TALL)


def test_errors_are_sentences_and_leave_the_model_as_it_was() -> None:
    model = PCA(2).fit(TALL)
    before = model.components_.copy()
    cases = [
        (np.ones((5, 3)), "X has zero variance"),
        (np.zeros((5, 3)), "X has zero variance"),
        (np.where(TALL > 6, np.nan, TALL), "X contains NaN"),
        (np.where(TALL > 6, np.inf, TALL), "X contains infinity"),
        (TALL[:, 0], "Reshape your data"),
        (TALL[:1], "minimum of 2 is required"),
        (TALL[:, :1], "n_components=2 exceeds 1, the smaller"),
        (np.outer(np.arange(9.0), np.ones(4)), "n_components=2 exceeds 1, the rank"),
    ]
    for X, message in cases:
        with pytest.raises(ValueError, match=message):
            model.fit(X)
        assert np.array_equal(model.components_, before)
    with pytest.raises(ValueError, match="features"):
        model.transform(WIDE)
    with pytest.raises(ValueError, match="'mle' needs more samples"):
        PCA("mle").fit(WIDE)
    with pytest.raises(ValueError, match="no density"):
        PCA().fit(WIDE).score(WIDE)
    with pytest.raises(ValueError, match="solver='qr' is not known"):
        PCA(solver="qr").fit(TALL)


def test_a_failed_batch_leaves_the_stream_as_it_was() -> None:
    model = PCA(2).partial_fit(TALL[:60])
    with pytest.raises(ValueError, match="X contains NaN"):
        model.partial_fit(np.full((3, 8), np.nan))
    model.partial_fit(TALL[60:])
    assert np.allclose(model.components_, PCA(2).fit(TALL).components_, atol=1e-10)


def test_all_components_of_huge_sparse_data_are_refused() -> None:
    X = sparse.random_array((20000, 20000), density=1e-3, format="csr", rng=rng)
    with pytest.raises(ValueError, match="give n_components as an integer"):
        PCA().fit(X)


def test_column_squares() -> None:
    weight = rng.uniform(0.5, 2, size=300)
    for X in (SPARSE, SPARSE.toarray(), SPARSE.toarray() + 1e6):
        Z = Centered(X, weight)
        assert np.allclose(Z.column_squares(), np.diag(Z.gram()), atol=1e-6)


# -- gaps -------------------------------------------------------------------------------


@pytest.mark.parametrize("X", [TALL, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("n_components", [None, 3, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_nipals_without_gaps_gives_what_the_others_give(X, n_components, weighted) -> None:
    weight = rng.integers(0, 3, size=len(X)) if weighted else None
    skipping = PCA(n_components, solver="nipals").fit(X, sample_weight=weight)
    plain = PCA(n_components).fit(X, sample_weight=weight)
    names = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_")
    for name in (*names, "noise_variance_", "mean_"):
        np.testing.assert_allclose(getattr(skipping, name), getattr(plain, name), atol=1e-8)
    np.testing.assert_allclose(skipping.transform(X), plain.transform(X), atol=1e-8)
    assert skipping.report_.regression == "nipals"


def _textbook(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """NIPALS as it is written down, sum by sum, with loadings orthogonalized: scores, axes."""
    E, there = X - np.nanmean(X, axis=0), ~np.isnan(X)
    T, P = [], []

    def scores(p: np.ndarray) -> np.ndarray:
        rows = zip(E, there, strict=True)
        return np.array([sum(x[o] * p[o]) / sum(p[o] ** 2) for x, o in rows])

    for _ in range(k):
        p = np.ones(X.shape[1])
        for _ in range(100):
            t = scores(p)
            columns = zip(E.T, there.T, strict=True)
            p = np.array([sum(x[o] * t[o]) / sum(t[o] ** 2) for x, o in columns])
            p = p - sum(((q @ p) * q for q in P), np.zeros(len(p)))
            p = p / np.sqrt(sum(p**2))
        T.append(scores(p))
        P.append(p)
        E = E - np.outer(T[-1], p)
    return np.array(T).T, np.array(P)


def test_gaps_are_skipped_as_the_textbook_skips_them() -> None:
    R = np.random.default_rng(4)
    X = R.normal(size=(30, 2)) @ np.diag([5.0, 2.0]) @ R.normal(size=(2, 6)) + 3
    X += 0.1 * R.normal(size=X.shape)
    X[R.random(X.shape) < 0.1] = np.nan
    model = PCA(2, solver="nipals", tol=1e-13).fit(X)
    T, P = _textbook(X, 2)
    sign = np.sign(np.sum(P * model.components_, axis=1))
    np.testing.assert_allclose(model.components_, P * sign[:, None], atol=1e-8)
    np.testing.assert_allclose(model.transform(X), T * sign, atol=1e-8)
    np.testing.assert_allclose(model.mean_, np.nanmean(X, axis=0))
    left = [np.nansum((X - model.mean_ - T[:, :i] @ P[:i]) ** 2) for i in range(3)]
    np.testing.assert_allclose(model.explained_variance_ratio_, -np.diff(left) / left[0], rtol=1e-8)
    total = np.nanvar(X, axis=0, ddof=1).sum()
    np.testing.assert_allclose(
        model.explained_variance_ratio_, model.explained_variance_ / total, rtol=1e-10
    )


def test_with_gaps_components_explain_no_more_than_there_is() -> None:
    """Scores of rows with gaps may be huge, and a share of 1.8 came out."""
    full, _ = load_wine(return_X_y=True)
    X = np.where(np.random.default_rng(1).random(full.shape) < 0.05, np.nan, full)
    model = PCA(3, solver="nipals").fit(X)
    assert 0.9 < model.explained_variance_ratio_.sum() < 1
    assert np.isfinite(model.score(full))
    total = np.nanvar(X, axis=0, ddof=1).sum()
    left = total - model.explained_variance_.sum()
    np.testing.assert_allclose(model.noise_variance_, left / 10)
    by_share = PCA(float(model.explained_variance_ratio_[:2].sum()) + 1e-9, solver="nipals").fit(X)
    assert by_share.n_components_ == 3
    np.testing.assert_allclose(by_share.noise_variance_, model.noise_variance_)


def test_what_is_missing_of_a_plane_is_found() -> None:
    R = np.random.default_rng(5)
    full = R.normal(size=(60, 2)) @ R.normal(size=(2, 8))
    full -= full.mean(axis=0)
    X = np.where(R.random(full.shape) < 0.05, np.nan, full)
    model = PCA(2, solver="nipals").fit(X)
    assert angle(model.components_, PCA(2).fit(full).components_) < 0.1
    back = model.inverse_transform(model.transform(X))
    gaps = np.isnan(X)
    assert np.abs(back - full)[gaps].mean() < 0.2 * np.abs(full)[gaps].mean()


def test_gaps_that_cannot_be_skipped() -> None:
    for index, what in (((slice(None), 2), "column 2"), ((5, slice(None)), "row 5")):
        holed = TALL.copy()
        holed[index] = np.nan
        with pytest.raises(ValueError, match=f"X holds no value in {what}"):
            PCA(solver="nipals").fit(holed)
    holed = TALL.copy()
    holed[0, 0] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        PCA().fit(holed)
    with pytest.raises(ValueError, match="needs all rows at once"):
        PCA(solver="nipals").partial_fit(holed)
    with pytest.raises(ValueError, match="X is sparse, but solver='nipals'"):
        PCA(solver="nipals").fit(SPARSE)
    with pytest.raises(ValueError, match="X contains infinity"):
        PCA(solver="nipals").fit(np.where(TALL > 5, np.inf, TALL))
    with pytest.warns(ConvergenceWarning, match="component 1"):
        PCA(1, solver="nipals", max_iter=1).fit(holed)


@pytest.mark.parametrize("seed", range(6))
def test_mle_counts_repetitions(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 5)) * [3, 2, 1, 1, 1]
    weight = rng.integers(1, 9, size=40)
    repeated = PCA("mle").fit(np.repeat(X, weight, axis=0))
    assert PCA("mle").fit(X, sample_weight=weight).n_components_ == repeated.n_components_


def test_one_feature_is_one_component_by_evidence(rng):
    assert PCA("mle").fit(rng.normal(size=(10, 1))).n_components_ == 1


@pytest.mark.parametrize("way", ["weights", "stream", "stream of repeats"])
def test_counts_of_fewer_rows_than_features_leave_the_noise_of_repeats(way, rng):
    X = rng.normal(size=(20, 30))
    theirs = decomposition.PCA(2).fit(np.repeat(X, 3, axis=0))
    if way == "stream of repeats":
        ours = PCA(2).partial_fit(X).partial_fit(X).partial_fit(X)
    else:
        fit = PCA(2).fit if way == "weights" else PCA(2).partial_fit
        ours = fit(X, sample_weight=np.full(20, 3))
    np.testing.assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-10)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-10)
    np.testing.assert_allclose(ours.score(X), theirs.score(X), rtol=1e-10)


def test_the_noise_knows_no_unit_of_weights_that_are_not_counts(rng):
    X, weight = rng.normal(size=(20, 30)), rng.random(20)
    found = [PCA(2).fit(X, sample_weight=c * weight).noise_variance_ for c in (1.0, 1e-3, 50.0)]
    np.testing.assert_allclose(found, found[0], rtol=1e-10)


@pytest.mark.parametrize("powers", [4, 6, 7])
def test_the_most_likely_number_of_components_of_columns_in_far_apart_units(powers):
    X = np.random.default_rng(0).normal(size=(60, 6)) * np.logspace(-powers, powers, 6)
    assert PCA("mle").fit(X).n_components_ == decomposition.PCA("mle").fit(X).n_components_ == 5
