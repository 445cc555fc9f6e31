"""Labels that are sparse stay sparse, and the answer is that of dense ones."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from eigenkit import (
    CCA,
    LDA,
    CanonicalRidge,
    HypergraphSpectral,
    KernelCCA,
    KernelHypergraphSpectral,
    KernelOrthonormalizedPLS,
    MultilabelLDA,
    OrthonormalizedPLS,
)
from eigenkit.data import Centered, SparseTarget, centered_columns, sparse_labels
from eigenkit.moments import Rows
from eigenkit.solvers import REGRESSIONS, Settings, solve
from eigenkit.targets import TARGETS

SPARSE_TARGETS = [name for name, target in TARGETS.items() if target.sparse]


def labelled(rng, n=80, d=12, k=20):
    X = rng.normal(size=(n, d)) + 3
    Y = (rng.random((n, k)) < 0.1).astype(float)
    Y[:, 3], Y[:, 5] = 0.0, 1.0  # nobody, and everybody
    return X, Y


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sparse_target_is_the_dense_one(rng, weighted):
    _, Y = labelled(rng)
    weight = rng.random(80) + 0.5 if weighted else None
    H = SparseTarget(sparse.csr_array(Y), weight)
    root = 1.0 if weight is None else np.sqrt(weight)[:, None]
    expected = centered_columns(Y, weight)[1] * root
    np.testing.assert_allclose(np.asarray(H), expected, atol=1e-14)
    T = rng.normal(size=(20, 3))
    np.testing.assert_allclose(H @ T, expected @ T, atol=1e-13)
    for X in (rng.normal(size=(80, 7)) + 5, sparse.random_array((80, 7), density=0.3, rng=rng)):
        Z = Centered(X if isinstance(X, np.ndarray) else X.tocsr(), weight)
        np.testing.assert_allclose(Z.cross(H), Z.rmatmat(expected), atol=1e-12)


@pytest.mark.parametrize("k", [5, 2000])
def test_class_sums_far_from_zero_lose_no_digits(rng, k):
    """Rows are centred before they are summed: afterwards, what the sums share has cancelled."""
    n, d = 6000, 70
    X, y = 9.0 + rng.normal(size=(n, d)), rng.integers(0, k, n)
    found = Centered(X).cross(SparseTarget(sparse.csr_array(np.eye(k)[y])))
    Z = X.astype(np.longdouble)
    exact = np.zeros((k, d), np.longdouble)
    np.add.at(exact, y, Z - Z.mean(axis=0))
    assert np.abs(found - exact.T).max() < 400 * np.finfo(float).eps * np.abs(exact).max()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SPARSE_TARGETS)
@pytest.mark.parametrize("regression", REGRESSIONS)
def test_every_method_gives_the_same_answer(rng, name, regression, weighted):
    X, Y = labelled(rng)
    weight = rng.random(80) + 0.5 if weighted else None
    found = []
    for labels in (Y, sparse.csr_array(Y)):
        pencil = Rows(X, labels, weight).problem(TARGETS[name], 1.0, 0.5).pencil
        found.append(solve(pencil, Settings(regression=regression, tol=1e-13)))
    dense, thin = found
    np.testing.assert_allclose(thin.eigenvalues, dense.eigenvalues, rtol=1e-10)
    np.testing.assert_allclose(thin.W @ thin.W.T, dense.W @ dense.W.T, atol=1e-10)


@pytest.mark.parametrize(
    "model", [OrthonormalizedPLS(3), HypergraphSpectral(3), CCA(3), KernelOrthonormalizedPLS(3)]
)
def test_estimators_take_either(rng, model):
    X, Y = labelled(rng, k=70)
    Y[:, 5] = 0.0
    Y = Y[:, Y.any(axis=0)]
    a, b = (
        model.fit(X, labels).transform(X).copy()
        for labels in (Y, sparse.csc_array(Y.astype(np.int8)))
    )
    np.testing.assert_allclose(b, a, atol=1e-10 * np.abs(a).max())


def test_few_components_are_the_first_of_all(rng):
    X, Y = labelled(rng, k=70)
    Y = Y[:, Y.any(axis=0) & ~Y.all(axis=0)]
    for estimator in (OrthonormalizedPLS, HypergraphSpectral, CCA):
        few, many = (estimator(l).fit(X, Y) for l in (3, None))
        np.testing.assert_allclose(few.eigenvalues_, many.eigenvalues_[:3], rtol=1e-12)
        np.testing.assert_allclose(few.components_, many.components_[:3], atol=1e-10)
        with pytest.raises(ValueError, match="n_components=50 exceeds 12"):
            estimator(50).fit(X, Y)


@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.DegenerateDataWarning")
def test_a_hundred_thousand_labels_are_never_made_dense(rng):
    n, d, k = 2000, 10, 100_000
    X = rng.normal(size=(n, d))
    Y = sparse.random_array((n, k), density=3 / k, rng=rng, format="csr")
    Y.data[:] = 1.0
    for model in (OrthonormalizedPLS(4), HypergraphSpectral(4)):
        tracemalloc.start()
        model.fit(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 12 * 8 * d * k < 8 * n * k / 10
        assert model.transform(X).shape == (n, 4)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda Y: Y * np.nan, "y contains NaN"),
        (lambda Y: Y[:-1], "inconsistent numbers of samples"),
        (lambda Y: Y * 1j, "sparse matrix of complex128: give real numbers"),
        (lambda Y: Y * 0, "y holds no label at all|y is constant"),
    ],
)
def test_bad_sparse_labels_are_refused(rng, spoil, message):
    X, Y = labelled(rng)
    for model in (OrthonormalizedPLS(), HypergraphSpectral()):
        with pytest.raises(ValueError, match=message):
            model.fit(X, spoil(sparse.csr_array(Y)))


# -- fewer targets that stand for all labels ---------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("target", ["opls", "star"])
def test_as_many_targets_as_labels_have_rank_lose_nothing(rng, target, form):
    X, Y = labelled(rng)
    Y = Y[:, [0, 1, 2, 4, 0, 2]]  # rank 4
    pencil = Rows(X, form(Y), None).problem(TARGETS[target], 1.0, 0.5).pencil
    whole = solve(pencil)
    for rank in (4, 5, 6, 100, "auto"):
        few = solve(pencil, Settings(label_rank=rank))
        if rank != "auto" or few.report.label_rank == 4:
            np.testing.assert_allclose(few.eigenvalues, whole.eigenvalues, rtol=1e-10)
            np.testing.assert_allclose(few.W, whole.W, atol=1e-10)
            np.testing.assert_allclose(few.cross, whole.cross, atol=1e-10)
            assert few.report.label_bound <= 1e-10 * whole.eigenvalues[0]


@pytest.mark.parametrize("most", [2000, 5])  # all singular values, and a few by Lanczos
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("target", ["opls", "star"])
def test_the_bound_of_fewer_targets_holds(rng, monkeypatch, target, form, most):
    monkeypatch.setattr("eigenkit.solvers.coordinates.MANY", most)
    X, Y = labelled(rng)
    weight = rng.random(80) + 0.5
    pencil = Rows(X, form(Y), weight).problem(TARGETS[target], 1.0, 0.5).pencil
    whole, few = solve(pencil), solve(pencil, Settings(label_rank=6))
    lost = whole.eigenvalues[: len(few.eigenvalues)] - few.eigenvalues
    assert few.report.label_rank == 6 == few.basis.shape[1]
    assert np.all(lost >= -1e-12)
    assert np.all(lost <= few.report.label_bound)
    sigma = np.linalg.svd(np.asarray(pencil.H), compute_uv=False)
    np.testing.assert_allclose(few.report.label_bound, sigma[6] ** 2, rtol=1e-10)
    share = np.cumsum(sigma**2) / np.sum(sigma**2)
    enough = int(np.argmax(share >= 0.99)) + 1
    assert solve(pencil, Settings(label_rank="auto")).report.label_rank == enough


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("many", "entries"), [(2000, 2**23), (2000, 0), (5, 0)])
def test_more_targets_than_labels_have_rank_are_not_made_up(rng, monkeypatch, many, entries, form):
    monkeypatch.setattr("eigenkit.solvers.coordinates.MANY", many)
    monkeypatch.setattr("eigenkit.solvers.coordinates.FEW_ENTRIES", entries)
    X, Y = rng.standard_normal((40, 6)), np.where(rng.random((40, 60)) < 0.1, 1.0, 0.0)
    Y[:10] = 0.0  # alike, which makes the rank 30
    pencil = Rows(X, form(Y), None).problem(TARGETS["opls"], 1.0, 0.5).pencil
    whole, few = solve(pencil), solve(pencil, Settings(label_rank=50))
    assert few.report.label_rank == np.linalg.matrix_rank(np.asarray(pencil.H)) == 30
    np.testing.assert_allclose(few.eigenvalues, whole.eigenvalues, rtol=1e-10)
    np.testing.assert_allclose(few.cross, whole.cross, atol=1e-10)


@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
def test_auto_takes_few_directions_of_very_many_labels_and_measures_what_is_left(
    rng, monkeypatch, shape
):
    for name, value in {"MANY": 5, "FEW_ENTRIES": 0, "MOST": 7}.items():
        monkeypatch.setattr(f"eigenkit.solvers.coordinates.{name}", value)
    Y = sparse.csr_array(np.where(rng.random(shape) < 0.2, 1.0, 0.0))
    pencil = Rows(rng.normal(size=(shape[0], 6)), Y, None).problem(TARGETS["opls"], 1.0, 0.5).pencil
    whole, few = solve(pencil), solve(pencil, Settings(label_rank="auto"))
    sigma = np.linalg.svd(np.asarray(pencil.H), compute_uv=False)
    assert few.report.label_rank == 7
    assert sigma[7] ** 2 <= few.report.label_bound <= 1.05 * sigma[7] ** 2
    lost = whole.eigenvalues[: len(few.eigenvalues)] - few.eigenvalues
    assert np.all((lost >= -1e-12) & (lost <= few.report.label_bound))


@pytest.mark.parametrize("target", ["opls", "star"])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_more_labels_than_features_cost_no_digit(rng, target, alpha):
    X = rng.normal(size=(60, 5)) * [1, 10, 1e-3, 1, 1]
    Y = np.where(rng.random((60, 40)) < 0.2, 1.0, 0.0)
    pencil = Rows(X, Y, None).problem(TARGETS[target], 1.0, alpha).pencil
    exact = solve(pencil, Settings(solver="direct"))
    for regression in ("cholesky", "svd", "lsqr", "auto"):
        found = solve(pencil, Settings(regression=regression, tol=1e-13))
        assert found.basis.shape == (40, 5)
        np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-11)
        np.testing.assert_allclose(found.W, exact.W, rtol=1e-8, atol=1e-10)
        H, Z = np.asarray(pencil.H), pencil.Z.toarray()
        cross = H.T @ Z @ pencil.Z.from_X(found.W)
        np.testing.assert_allclose(found.cross, cross, atol=1e-10)


def test_dense_labels_become_sparse_ones_where_that_is_worth_it(rng):
    few, many = (np.where(rng.random((300, 70)) < share, 1.0, 0.0) for share in (0.05, 0.5))
    np.testing.assert_array_equal(sparse_labels(few).toarray(), few)
    assert sparse_labels(many) is None
    assert sparse_labels(few[:, :20]) is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.DegenerateDataWarning")
def test_auto_ends_with_a_hundred_thousand_labels(rng):
    n, d, k = 5000, 200, 100_000
    X = sparse.random_array((n, d), density=0.05, rng=rng, format="csr")
    Y = sparse.random_array((n, k), density=5 / k, rng=rng, format="csr")
    Y.data[:] = 1.0
    report = OrthonormalizedPLS(4, label_rank="auto").fit(X, Y).report_
    assert report.label_rank == 256
    assert report.label_bound > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.DegenerateDataWarning")
def test_many_labels_and_many_words_are_never_multiplied_out(rng):
    n, d, k = 1500, 20_000, 50_000
    X = sparse.random_array((n, d), density=10 / d, rng=rng, format="csr")
    Y = sparse.random_array((n, k), density=3 / k, rng=rng, format="csr")
    Y.data[:] = 1.0
    for cls in (OrthonormalizedPLS, HypergraphSpectral):
        tracemalloc.start()
        model = cls(4, label_rank=8, tol=1e-4).fit(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2e8 < 8 * d * k / 10
        assert model.report_.label_rank == 8
    assert model.transform(X).shape == (n, 4)


@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.DegenerateDataWarning")
@pytest.mark.parametrize("solver", ["two_stage", "direct"])
@pytest.mark.parametrize("cls", [CCA, MultilabelLDA])
def test_whitened_labels_are_ranked_by_what_X_knows_of_them(rng, cls, solver):
    X, Y = labelled(rng)
    whole = cls(solver=solver).fit(X, Y)
    values = whole.eigenvalues_
    few = cls(solver=solver, label_rank=3).fit(X, Y)
    np.testing.assert_allclose(few.eigenvalues_, values[:3], rtol=1e-10)
    np.testing.assert_allclose(few.components_, whole.components_[:3], atol=1e-10)
    assert (few.report_.label_rank, few.n_components_) == (3, 3)
    np.testing.assert_allclose(few.report_.label_bound, values[3], rtol=1e-9)
    enough = int(np.argmax(np.cumsum(values) >= 0.99 * values.sum())) + 1
    assert cls(solver=solver, label_rank="auto").fit(X, Y).n_components_ == enough
    everything = cls(solver=solver, label_rank=1000).fit(X, Y)
    np.testing.assert_allclose(everything.components_, whole.components_, atol=1e-10)
    assert everything.report_.label_bound == 0.0


KERNELS = [KernelCCA, KernelOrthonormalizedPLS, KernelHypergraphSpectral]


@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.DegenerateDataWarning")
@pytest.mark.parametrize("solver", ["two_stage", "direct"])
@pytest.mark.parametrize("cls", KERNELS)
def test_kernels_take_a_label_rank_too(rng, cls, solver):
    X, Y = labelled(rng)
    linear = {KernelCCA: CCA, KernelOrthonormalizedPLS: OrthonormalizedPLS}
    few = cls(kernel="linear", solver=solver, label_rank=3).fit(X, Y)
    same = linear.get(cls, HypergraphSpectral)(solver=solver, label_rank=3).fit(X, Y)
    np.testing.assert_allclose(few.eigenvalues_, same.eigenvalues_, rtol=1e-9)
    assert few.report_.label_rank == same.report_.label_rank == 3
    np.testing.assert_allclose(few.report_.label_bound, same.report_.label_bound, rtol=1e-9)
    many = cls(kernel="linear", solver=solver, label_rank=1000).fit(X, Y)
    whole = cls(kernel="linear", solver=solver).fit(X, Y)
    np.testing.assert_allclose(many.transform(X), whole.transform(X), atol=1e-9)


@pytest.mark.parametrize("gamma_x", [0.0, 0.3, 1.0])
def test_the_canonical_ridge_keeps_the_directions_of_the_largest_eigenvalues(rng, gamma_x):
    X, Y = labelled(rng)
    whole = CanonicalRidge(gamma_x=gamma_x).fit(X, Y)
    few = CanonicalRidge(gamma_x=gamma_x, label_rank=3).fit(X, Y)
    np.testing.assert_allclose(few.eigenvalues_, whole.eigenvalues_[:3], rtol=1e-9)
    np.testing.assert_allclose(few.transform(X), whole.transform(X)[:, :3], atol=1e-9)
    assert few.report_.label_rank == 3
    np.testing.assert_allclose(few.report_.label_bound, whole.eigenvalues_[3], rtol=1e-9)


def test_classes_are_told_apart_by_the_directions_that_are_left(rng):
    """Reduced-rank LDA: the classifier of the first discriminants, and of nothing else."""
    y = np.arange(200) % 5
    X = rng.normal(size=(200, 8))
    X[:, :4] += np.eye(5)[y][:, :4] * [9, 3, 1, 0.1]
    whole, few = LDA(alpha=0).fit(X, y), LDA(alpha=0, label_rank=2).fit(X, y)
    assert few.transform(X).shape == (200, 2)
    np.testing.assert_allclose(few.transform(X), whole.transform(X)[:, :2], atol=1e-10)
    again = LDA(alpha=0).fit(few.transform(X), y)
    np.testing.assert_array_equal(few.predict(X), again.predict(few.transform(X)))


@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.DegenerateDataWarning")
@pytest.mark.parametrize("weighted", [False, True])
def test_class_balanced_lda_of_sparse_labels(rng, weighted):
    X, Y = labelled(rng)
    weight = rng.integers(0, 3, size=len(X)) if weighted else None
    dense = MultilabelLDA().fit(X, Y, weight)
    found = MultilabelLDA().fit(X, sparse.csr_array(Y), weight)
    np.testing.assert_allclose(found.components_, dense.components_, atol=1e-10)
    np.testing.assert_allclose(found.eigenvalues_, dense.eigenvalues_, rtol=1e-10)


def test_a_bad_label_rank_is_refused(rng):
    X, Y = labelled(rng)
    for bad in (0, -1, 1.5, "all", True):
        with pytest.raises(ValueError, match=r"label_rank=.* is not valid: give an integer"):
            OrthonormalizedPLS(label_rank=bad).fit(X, Y)
