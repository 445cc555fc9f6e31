"""How good models are on rows in blocks, and what is no array says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenkit import (
    CCA,
    LDA,
    PCA,
    PLSDA,
    AlphaSearchCV,
    CanonicalRidge,
    KeepSearchCV,
    KernelLDA,
    LeastSquaresProjection,
    OrthogonalPLS,
    PLSRegression,
    PLSRegressionCV,
    ProbabilisticCCA,
    ReGEC,
    RowBlocks,
    ShrinkageRegression,
    SparseCCA,
    SparsePLS,
    SparsePLSDA,
)
from eigenkit.analysis import bootstrap, permutation_test

N = 150
CUTS = (1, 40, 90)
CLASSES = "classes"
NUMBERS = "numbers"
SCORED = [
    (LDA(), CLASSES),
    (PLSDA(), CLASSES),
    (ReGEC(), CLASSES),
    (KernelLDA(), CLASSES),
    (CCA(), CLASSES),
    (LeastSquaresProjection(target="lda"), CLASSES),
    (AlphaSearchCV(LDA()), CLASSES),
    (make_pipeline(PCA(3), LDA()), CLASSES),
    (PLSRegression(), NUMBERS),
    (OrthogonalPLS(), NUMBERS),
    (CCA(), NUMBERS),
    (CanonicalRidge(), NUMBERS),
    (LeastSquaresProjection(target="opls"), NUMBERS),
    (AlphaSearchCV(CCA()), NUMBERS),
    (ShrinkageRegression(), "one"),
    (SparseCCA(2), NUMBERS),
    (ProbabilisticCCA(), NUMBERS),
    (PCA(2), None),
]


def _data(kind, rng):
    X = rng.normal(size=(N, 5)) + 3.0
    if kind == CLASSES:
        X[:, 1] += np.arange(N) % 3
        return X, np.array(["a", "b", "c"])[np.arange(N) % 3]
    Y = X[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(N, 2)) + 1e4
    return X, {NUMBERS: Y, "one": Y[:, 0], None: None}[kind]


def _blocks(*given):
    rows = np.split(np.arange(N), CUTS)
    parts = [tuple(None if A is None else A[each] for A in given) for each in rows]
    return RowBlocks.from_arrays([*parts, tuple(None if A is None else A[:0] for A in given)])


@pytest.mark.parametrize(("model", "kind"), SCORED, ids=lambda value: str(value)[:40])
def test_the_score_of_blocks_is_that_of_all_rows(model, kind, rng):
    X, y = _data(kind, rng)
    model = clone(model).fit(X, y)
    assert model.score(_blocks(X, y)) == pytest.approx(model.score(X, y), rel=1e-10)
    weight = rng.integers(0, 3, N).astype(float)
    if isinstance(model, SparseCCA | ProbabilisticCCA | PCA):
        return  # whose score knows no weights
    right = model.score(X, y, sample_weight=weight)
    found = model.score(_blocks(X, y, weight))
    assert found == pytest.approx(right, rel=1e-10)
    assert found != pytest.approx(model.score(X, y), rel=1e-10)


def test_scores_of_frames_lists_and_sparse_rows(rng):
    X, Y = _data(NUMBERS, rng)
    names = ["u", "v"]
    model = PLSRegression().fit(X, pd.DataFrame(Y, columns=names))
    right = model.score(X, Y)
    for given in ((X.tolist(), Y.tolist()), (sparse.csr_array(X), Y)):
        assert model.score(RowBlocks(lambda given=given: [given])) == pytest.approx(right)
    assert model.score(RowBlocks(lambda: [(X, pd.DataFrame(Y, columns=names))])) == pytest.approx(
        right
    )
    other = RowBlocks(lambda: [(X, pd.DataFrame(Y, columns=["v", "u"]))])
    with pytest.raises(ValueError, match="but PLSRegression was fitted with"):
        model.score(other)


def test_a_response_that_does_not_vary_scores_as_in_memory(rng):
    X, Y = _data(NUMBERS, rng)
    model = PLSRegression().fit(X, Y)
    Y[:, 1] = 0.5
    assert model.score(_blocks(X, Y)) == pytest.approx(model.score(X, Y), rel=1e-9)


def test_what_cannot_be_scored_is_said(rng):
    X, y = _data(CLASSES, rng)
    model = LDA().fit(X, y)
    with pytest.raises(ValueError, match="put y and weights into it"):
        model.score(_blocks(X, y), y)
    with pytest.raises(ValueError, match="X holds no row that counts: there is nothing to score"):
        model.score(RowBlocks(lambda: [(X[:0], y[:0])]))
    for fitted in (PLSRegression().fit(X, X[:, :2]), model):
        with pytest.raises(ValueError, match="requires y"):
            fitted.score(RowBlocks.from_arrays([X]))


@pytest.mark.parametrize(
    "use",
    [
        lambda blocks: GridSearchCV(LDA(), {"alpha": [1.0]}).fit(blocks),
        lambda blocks: cross_val_score(LDA(), blocks),
        lambda blocks: make_pipeline(StandardScaler(), LDA()).fit(blocks),
        np.asarray,
    ],
    ids=["grid", "validation", "pipeline", "numpy"],
)
def test_blocks_are_no_array(use, rng):
    with pytest.raises(TypeError, match=r"^blocks of rows are no array: .*blocks\.folds\(5\)"):
        use(_blocks(*_data(CLASSES, rng)))


@pytest.mark.parametrize("test", [bootstrap, permutation_test])
def test_tests_of_components_need_arrays(test, rng):
    X, y = _data(CLASSES, rng)
    with pytest.raises(TypeError, match="X is a collection of blocks, but rows are drawn from all"):
        test(LDA().fit(X, y), _blocks(X, y))


def test_steps_of_our_own_pass_blocks_on(rng):
    X, y = _data(CLASSES, rng)
    blocks = _blocks(X, y)
    steps = make_pipeline(PCA(3), LDA()).fit(blocks)
    right = make_pipeline(PCA(3), LDA()).fit(X, y)
    np.testing.assert_array_equal(
        np.concatenate([rows for rows, _ in steps.predict(blocks)]), right.predict(X)
    )
    first = PCA(3)
    scores = first.fit_transform(blocks)
    back = np.vstack([rows for rows, _ in first.inverse_transform(scores)])
    np.testing.assert_allclose(back, first.inverse_transform(first.transform(X)), atol=1e-9)
    densities = np.concatenate([rows for rows, _ in first.score_samples(blocks)])
    np.testing.assert_allclose(densities, first.score_samples(X))


@pytest.mark.parametrize("weighted", [False, True])
def test_components_are_chosen_over_blocks_as_in_memory(weighted, rng):
    X, Y = _data(NUMBERS, rng)
    weight = rng.integers(0, 3, N).astype(float) if weighted else None
    rows = np.split(np.arange(N), (30, 80, 130))
    each = [lambda r=r: (X[r], Y[r], None if weight is None else weight[r]) for r in rows]
    kept = np.ones(N) if weight is None else weight  # rows of zero weight are in no fold
    numbered = [lambda r=r: (r[:, None], np.zeros(len(r)), kept[r]) for r in rows]
    folds = [
        tuple(np.concatenate([number.ravel() for number, _ in part]) for part in pair)
        for pair in RowBlocks.from_arrays(numbered).folds(4)
    ]
    found = PLSRegressionCV(4, cv=4).fit(RowBlocks.from_arrays(each))
    right = PLSRegressionCV(4, cv=folds).fit(X, Y, weight)
    np.testing.assert_allclose(found.fold_errors_, right.fold_errors_, rtol=1e-9)
    assert found.n_components_ == right.n_components_
    np.testing.assert_allclose(found.coef_, right.coef_, atol=1e-10)
    assert not hasattr(found, "x_scores_")
    assert found.n_features_in_ == 5
    np.testing.assert_allclose(found.predict(X), right.predict(X), rtol=1e-10)


@pytest.mark.parametrize("kind", [NUMBERS, CLASSES])
def test_numbers_of_variables_are_chosen_over_blocks_as_in_memory(kind, rng):
    X, y = _data(kind, rng)
    X, y = X[:90], y[:90]  # three blocks, in each of which the folds are drawn
    blocks, numbered = (
        RowBlocks.from_arrays(
            [lambda i=i, A=A: (A[i : i + 30], y[i : i + 30]) for i in (0, 30, 60)]
        )
        for A in (X, np.arange(90)[:, None])
    )
    folds = [
        tuple(np.concatenate([number.ravel() for number, _ in part]) for part in pair)
        for pair in numbered.folds(3)
    ]
    sparse_pls = SparsePLS(2) if kind == NUMBERS else SparsePLSDA(2)
    found, right = (
        KeepSearchCV(sparse_pls, keep_x=[1, 3], cv=cv).fit(*given)
        for cv, given in ((3, (blocks,)), (folds, (X, y)))
    )
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(90))
    np.testing.assert_allclose(found.fold_scores_, right.fold_scores_, rtol=1e-9)
    assert found.keep_x_ == right.keep_x_
    assert found.score(blocks) == pytest.approx(right.score(X, y))


@pytest.mark.parametrize("search", [PLSRegressionCV(2), AlphaSearchCV(CCA())])
def test_folds_of_blocks_are_drawn(search, rng):
    X, Y = _data(NUMBERS, rng)
    with pytest.raises(ValueError, match="groups are for arrays"):
        search.fit(_blocks(X, Y), groups=np.arange(N))
    with pytest.raises(ValueError, match="cv='loo' is not valid"):
        clone(search).set_params(cv="loo").fit(_blocks(X, Y))


def test_a_fold_of_one_row_is_named(rng):
    X, Y = _data(NUMBERS, rng)
    with pytest.raises(ValueError, match="one of the 5 folds cannot be used: X holds one row"):
        PLSRegressionCV(1).fit(RowBlocks.from_arrays([(X[:6], Y[:6])]))
