"""Data in blocks: the same Z as in memory, the same answers, the same bits in all threads."""

from __future__ import annotations

import gc
import warnings
import weakref
from functools import reduce

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import check_scoring

from conftest import ESTIMATORS, ZOO, dense, labels_for, make_X, some_of
from eigenkit import (
    CCA,
    LDA,
    PCA,
    AlphaSearchCV,
    CanonicalRidge,
    LeastSquaresProjection,
    MultilabelLDA,
    RowBlocks,
    alpha_path,
)
from eigenkit.data import Blocked, Centered, LocalPasses, Targets, survey_of
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.numerics.linalg import add_gram, fill_upper
from eigenkit.numerics.threads import tree_sum
from eigenkit.pencil import Pencil
from eigenkit.solvers import Settings, solve

MAKERS = {**ESTIMATORS, "pca": PCA, "ridge": CanonicalRidge, "mlda": MultilabelLDA}
WEIGHTS = {"none": None, "counts": 3, "shares": 0.37}


def _csr(X):
    return sparse.csr_array(X) if sparse.issparse(X) else X


def _blocked(X, Y, weight, size=5):
    n = X.shape[0]
    cuts = [slice(a, a + size) for a in range(0, n, size)]
    blocks = [(X[c], Y[c], None if weight is None else weight[c]) for c in cuts]
    passes = LocalPasses(lambda: [blocks[:2], *([block] for block in blocks[2:])])
    return Blocked(passes, passes.run(survey_of))


def _weight(kind, n, rng):
    factor = WEIGHTS[kind]
    return None if factor is None else rng.integers(1, 5, n) * float(factor)


@pytest.mark.parametrize("kind", ZOO)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_are_those_of_the_data_in_memory(kind, weights, dtype, rng):
    X = _csr(make_X(kind, rng).astype(dtype))
    n, d = X.shape
    weight, Y = _weight(weights, n, rng), rng.normal(size=(n, 3))
    Z, whole = _blocked(X, Y, weight), Centered(X, weight)
    H = whole.weighted(Y)
    targets = Targets(lambda Y: Y, Y.shape)
    V, T = rng.normal(size=(d, 2)), rng.normal(size=(3, 2))
    size = np.abs(whole.toarray()).max() ** 2 * n
    close = {"rtol": 1e-10, "atol": 1e-12 * size}
    np.testing.assert_allclose(Z.mean, whole.mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(Z.constant, whole.constant)
    np.testing.assert_allclose(Z.gram(), whole.gram(), **close)
    np.testing.assert_allclose(Z.column_squares(), whole.column_squares(), **close)
    np.testing.assert_allclose(Z.normal(V), whole.normal(V), **close)
    np.testing.assert_allclose(Z.rmatmat(targets), whole.rmatmat(H), rtol=1e-9, atol=1e-12 * size)
    for mine, theirs in zip(Z.gradient(V, targets @ T), whole.gradient(V, H @ T), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11 * size)
    assert Z.freedom == pytest.approx(whole.freedom)


@pytest.mark.parametrize("kind", ZOO)
def test_the_triangle_has_the_products_of_the_rows(kind, rng):
    X = _csr(make_X(kind, rng))
    n, d = X.shape
    H = np.eye(3)[np.arange(n) % 3]
    H = H - H.mean(axis=0)  # dependent columns, as those of classes are
    Z = _blocked(X, H, None)
    small, T = Z.compress(Targets(lambda Y: Y, H.shape))
    whole = Centered(X)
    E = np.hstack([whole.toarray(), H])
    R = np.hstack([small.toarray(), T])
    np.testing.assert_allclose(R.T @ R, E.T @ E, rtol=1e-10, atol=1e-12 * np.abs(E.T @ E).max())
    assert len(R) <= d + n


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6, 1e8])
def test_the_triangle_keeps_the_digits_of_the_rows(condition, rng):
    U, V = (np.linalg.qr(rng.normal(size=shape))[0] for shape in ((400, 6), (6, 6)))
    s = np.geomspace(1.0, 1 / condition, 6)
    X = (U - U.mean(axis=0)) * s @ V.T
    small, _ = _blocked(X, np.empty((400, 0)), None).compress()
    found = np.linalg.svd(small.toarray(), compute_uv=False)
    reference = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(found, reference, rtol=1e-14 * condition)


@pytest.mark.parametrize(("name", "weights", "kind"), some_of(MAKERS, ["none", "shares"], ZOO))
def test_every_projection_on_every_kind_of_data(name, weights, kind, rng):
    X = _csr(make_X(kind, rng))
    n = X.shape[0]
    weight = _weight(weights, n, rng)
    y = labels_for("lda" if name == "lda" else name, n, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        whole = MAKERS[name]().fit(X, y, weight)
        parts = [
            (X[c], y[c], None if weight is None else weight[c])
            for c in (slice(0, 5), slice(5, 6), slice(6, n))
        ]
        model = MAKERS[name]().fit(RowBlocks.from_arrays(parts))
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-10, atol=1e-10)
    scores, reference = model.transform(X), whole.transform(X)
    near = np.abs(reference).max()
    np.testing.assert_allclose(scores @ scores.T, reference @ reference.T, atol=1e-9 * near**2)


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "ridge"])
def test_many_features_are_fitted_by_passes(name, rng, monkeypatch):
    monkeypatch.setattr("eigenkit.numerics.costs.GRAM_LIMIT_BYTES", 0)
    X = sparse.csr_array(rng.normal(size=(80, 300)) * (rng.random((80, 300)) < 0.1))
    y = labels_for(name, 80, rng)
    maker = MAKERS[name]
    model = maker(n_components=2, tol=1e-12) if name == "pca" else maker(tol=1e-12)
    model.fit(RowBlocks.from_arrays([(X[:33], y[:33]), (X[33:], y[33:])]))
    monkeypatch.undo()
    whole = (maker(n_components=2) if name == "pca" else maker()).fit(X, y)
    assert (model.solver_ if name == "pca" else model.regression_) in ("cg", "lanczos")
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(model.transform(X), whole.transform(X), atol=1e-7)


def test_no_ridge_and_more_features_than_fit(rng, monkeypatch):
    monkeypatch.setattr("eigenkit.numerics.costs.GRAM_LIMIT_BYTES", 0)
    X, y = rng.normal(size=(60, 100)), np.arange(60) % 3
    model = LDA(alpha=0.0, tol=1e-10).fit(RowBlocks.from_arrays([(X, y)], block_bytes=5000))
    monkeypatch.undo()
    np.testing.assert_allclose(model.predict(X), LDA(alpha=0.0).fit(X, y).predict(X))
    assert model.regression_ == "cg"


@pytest.mark.parametrize("regression", ["cholesky", "svd", "cg", "lsqr"])
@pytest.mark.parametrize("solver", ["two_stage", "direct"])
def test_methods_that_can_be_asked_for(regression, solver, rng):
    X, y = rng.normal(size=(60, 5)), np.arange(60) % 3
    blocks = RowBlocks.from_arrays([(X, y)], block_bytes=500)
    model = LDA(solver=solver, regression=regression, tol=1e-12).fit(blocks)
    np.testing.assert_allclose(model.eigenvalues_, LDA().fit(X, y).eigenvalues_, rtol=1e-9)


def test_methods_that_need_all_rows_say_so(rng):
    blocks = RowBlocks.from_arrays([(rng.normal(size=(30, 5)), np.arange(30) % 3)])
    with pytest.raises(ValueError, match=r"30 rows, 5 columns\), and this needs all"):
        LDA(regression="dual_cholesky").fit(blocks)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_threads_change_no_bit(kind, rng, monkeypatch):
    X = rng.normal(size=(400, 30)) * (rng.random((400, 30)) < 0.3)
    X, y = sparse.csr_array(X) if kind == "sparse" else X, np.arange(400) % 3
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("eigenkit.data.passes.available", lambda threads=threads: threads)
        blocks = RowBlocks.from_arrays([(X, y)], block_bytes=2000)
        assert sum(1 for _ in blocks) > 9
        found.append([m.fit(blocks).components_ for m in (LDA(), LDA(regression="cg"), PCA(2))])
    for other in found[1:]:
        for mine, theirs in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(mine, theirs)


class _Nested:
    """Sums as they were made, in brackets."""

    def __init__(self, text):
        self.text = text

    def merge(self, other):
        return _Nested(f"({self.text} {other.text})")


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 83, 200])
def test_sums_are_a_tree_that_only_depends_on_their_number(n):
    nested = tree_sum(_Nested(str(i)) for i in range(n)).text
    assert nested.replace("(", "").replace(")", "").split() == [str(i) for i in range(n)]
    assert nested.count("(") == n - 1  # every one is added once
    values = [_Nested(str(i)) for i in range(n)]
    while len(values) > 1:  # as a cluster adds them: group by group
        values = [reduce(_Nested.merge, values[i : i + 8]) for i in range(0, len(values), 8)]
    assert values[0].text == nested


def test_extreme_units(rng):
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    for units in (np.array([1e-170, 1.0, 1e160, 1.0]), np.full(4, 1e200)):
        model = LDA(alpha=0.0).fit(RowBlocks.from_arrays([(X * units, y)], block_bytes=500))
        whole = LDA(alpha=0.0).fit(X * units, y)
        np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(
            model.components_ * units, whole.components_ * units, rtol=1e-7, atol=1e-9
        )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_refused_in_any_block(bad, rng):
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    X[41, 2] = bad
    with pytest.raises(ValueError, match=r"X contains (NaN|infinity)"):
        LDA().fit(RowBlocks.from_arrays([(X, y)], block_bytes=500))


def test_the_pencil_of_blocks_is_solved_as_any_other(rng):
    X, Y = rng.normal(size=(40, 6)), rng.normal(size=(40, 2))
    Z = _blocked(X, Y - Y.mean(axis=0), None)
    pencil = Pencil(Z, Targets(lambda Y: Y, Y.shape), 0.3)
    whole = solve(Pencil.state(Centered(X), Y, 0.3))
    for settings in (Settings(), Settings(solver="direct"), Settings(regression="cg", tol=1e-13)):
        found = solve(pencil, settings)
        np.testing.assert_allclose(found.eigenvalues, whole.eigenvalues, rtol=1e-11)
        assert max(found.report.residual, found.report.orthogonality) < 1e-11
    assert dense(X).shape == Z.shape


def test_a_method_that_needs_rows_gets_their_triangle(rng):
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    model = LeastSquaresProjection().fit(RowBlocks.from_arrays([(X, y)], block_bytes=500))
    whole = LeastSquaresProjection().fit(X, y)
    np.testing.assert_allclose(model.transform(X), whole.transform(X), atol=1e-9)


# -- grids and cross-validation ---------------------------------------------------------


def test_a_grid_of_alphas_over_blocks(rng):
    X, y = rng.normal(size=(90, 5)), np.arange(90) % 3
    blocks = RowBlocks.from_arrays([(X, y)], block_bytes=700)
    found, whole = (
        alpha_path(LDA(), blocks, None, [0.1, 10.0]),
        alpha_path(LDA(), X, y, [0.1, 10.0]),
    )
    for mine, theirs in zip(found, whole, strict=True):
        np.testing.assert_allclose(mine.coef_, theirs.coef_, rtol=1e-9, atol=1e-11)
    assert LDA().plan(blocks).regression == "cholesky"


def test_folds_are_a_partition_and_the_same_every_time(rng):
    X, y = np.arange(90.0)[:, None], np.arange(90) % 3
    blocks = RowBlocks.from_arrays([(X, y)], block_bytes=100)
    tests = []
    for train, test in blocks.folds(4, random_state=3):
        inside, outside = (np.concatenate([part[:, 0] for part, _ in b]) for b in (train, test))
        np.testing.assert_array_equal(np.sort(np.append(inside, outside)), X[:, 0])
        tests.append(outside)
    again = [
        np.concatenate([part[:, 0] for part, _ in test])
        for _, test in blocks.folds(4, random_state=3)
    ]
    assert all(np.array_equal(a, b) for a, b in zip(tests, again, strict=True))
    assert len(np.unique(np.concatenate(tests))) == 90


@pytest.mark.parametrize("maker", [LDA, CCA])
def test_alpha_is_chosen_over_blocks(maker, rng):
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 8)) + np.eye(8)[y]
    blocks = RowBlocks.from_arrays([(X, np.eye(3)[y] if maker is CCA else y)], block_bytes=2000)
    search = AlphaSearchCV(maker(), alphas=[1e-3, 1e6], cv=3).fit(blocks)
    assert search.cv_results_["mean_test_score"].shape == (2,)
    best = maker(alpha=search.alpha_).fit(blocks)
    np.testing.assert_array_equal(search.best_estimator_.components_, best.components_)


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_folds_of_small_blocks_have_about_as_many_rows(rows):
    blocks = RowBlocks.from_arrays([np.ones((rows, 2))] * (700 // rows))
    counts = [sum(len(X) for X, _ in test) for _, test in blocks.folds(5)]
    assert sum(counts) == 700
    assert min(counts) > 110


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("maker", "scoring"),
    [
        (LDA, None),
        (LDA, "neg_log_loss"),
        (LDA, "f1_macro"),
        (CCA, None),
        (CCA, "neg_mean_squared_error"),
    ],
)
def test_scores_over_blocks_are_those_of_their_rows(maker, scoring, kind, rng):
    """The scorer is asked about the model itself, as in memory, and sparse y is a matrix."""
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 8)) + np.eye(8)[y]
    y = np.eye(3)[y] if maker is CCA else y
    given = sparse.csr_array(y) if kind == "sparse" and y.ndim == 2 else y
    blocks = RowBlocks.from_arrays([(X, given)], block_bytes=900)
    search = AlphaSearchCV(maker(), alphas=[0.1, 50.0], cv=3, scoring=scoring).fit(blocks)
    number = {tuple(row): i for i, row in enumerate(X)}
    for i, (_, held_out) in enumerate(blocks.folds(3)):
        test = [number[tuple(row)] for part, _ in held_out for row in part]
        train = np.setdiff1d(np.arange(90), test)
        for j, alpha in enumerate(search.alphas):
            model = maker(alpha=alpha).fit(X[train], y[train])
            expected = check_scoring(model, scoring)(model, X[test], y[test])
            assert search.cv_results_[f"split{i}_test_score"][j] == pytest.approx(
                expected, abs=1e-9
            )


def test_more_folds_than_rows_of_blocks_are_refused():
    X = np.arange(12.0).reshape(6, 2) ** 2
    blocks = RowBlocks.from_arrays([(X, np.arange(6) % 2)])
    with pytest.raises(ValueError, match="give fewer folds"):
        AlphaSearchCV(LDA(), cv=9).fit(blocks)


@pytest.mark.parametrize("maker", [LDA, CCA])
def test_rows_of_zero_weight_score_nothing_over_blocks(maker, rng):
    """Their labels are wrong on purpose: counted, they would halve the score."""
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 8)) + 9 * np.eye(8)[y]
    weight = np.repeat([1.0, 0.0], 150)
    y = np.where(weight > 0, y, (y + 1) % 3)
    target = np.eye(3)[y] if maker is CCA else y
    blocks = RowBlocks.from_arrays([(X, target, weight)], block_bytes=2000)
    search = AlphaSearchCV(maker(), alphas=[1.0], cv=3).fit(blocks)
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("head", [None, RidgeClassifier()])
def test_only_some_blocks_may_come_with_weights(head, rng):
    """Rows of blocks without weights count as rows of weight one, in the scores too."""
    y = np.arange(200) % 3
    X = rng.normal(size=(200, 6)) + np.eye(6)[y]
    weight = np.append(np.ones(100), rng.choice([0.0, 1.0, 2.0], 100))
    some = [(X[:100], y[:100]), (X[100:], y[100:], weight[100:])]
    every = [(X[:100], y[:100], weight[:100]), (X[100:], y[100:], weight[100:])]
    found, expected = (
        AlphaSearchCV(LDA(), alphas=[0.1, 10.0], cv=3, head=head)
        .fit(RowBlocks.from_arrays(parts))
        .cv_results_["mean_test_score"]
        for parts in (some, every)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 3, 256, 700])
def test_a_gram_matrix_grows_in_its_place(d) -> None:
    rng = np.random.default_rng(0)
    G = np.zeros((d, d))
    given = [rng.normal(size=(20, d)), np.asfortranarray(rng.normal(size=(30, d)))]
    for A in given:
        add_gram(G, A)
    assert np.array_equal(fill_upper(G), G.T)
    assert np.allclose(G, sum(A.T @ A for A in given), atol=1e-13)


def test_a_sum_keeps_nothing_alive() -> None:
    """A pass over blocks leaves no d x k numbers behind that wait for a collection of garbage."""
    known = []

    def values():
        for i in range(20):
            one = np.full(3, float(i))
            known.append(weakref.ref(one))
            yield one

    gc.disable()
    try:
        total = tree_sum(values())
        assert sum(each() is not None for each in known) == 1
        assert total[0] == 190.0
    finally:
        gc.enable()
