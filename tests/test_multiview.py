"""CCA of several views: the block pencil, CCA for two, and every kind of input."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import linalg as sla
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenkit import CCA, MultiviewCCA
from eigenkit.data import Centered
from eigenkit.exceptions import DegenerateDataWarning

rng = np.random.default_rng(11)
SHARED = rng.normal(size=(90, 2))
VIEWS = [SHARED @ rng.normal(size=(2, d)) + rng.normal(size=(90, d)) + d for d in (5, 7, 4)]
JOINT = np.hstack(VIEWS)
GROUPS = np.repeat([0, 1, 2], [5, 7, 4])
WIDE = [SHARED @ rng.normal(size=(2, d)) + rng.normal(size=(90, d)) for d in (120, 7, 200)]


def centred(views):
    return [np.asarray(v - v.mean(axis=0)) for v in views]


@pytest.mark.parametrize("alpha", [0.0, 3.0, [1.0, 0.0, 20.0]])
def test_block_pencil(alpha) -> None:
    model = MultiviewCCA(alpha=alpha).fit(VIEWS)
    alphas = np.broadcast_to(alpha, 3)
    Z = centred(VIEWS)
    for i in range(3):
        others = sum(Z[j] @ model.view_components_[j].T for j in range(3) if j != i)
        B = Z[i].T @ Z[i] + alphas[i] * np.eye(Z[i].shape[1])
        right = B @ model.view_components_[i].T * model.eigenvalues_
        assert np.allclose(Z[i].T @ others, right, atol=1e-8)
    lengths = sum(
        w @ (z.T @ z + a * np.eye(z.shape[1])) @ w.T
        for w, z, a in zip(model.view_components_, Z, alphas, strict=True)
    )
    assert np.allclose(lengths, 3 * np.eye(len(lengths)), atol=1e-9)
    assert np.all(np.diff(model.eigenvalues_) <= 1e-12)


@pytest.mark.parametrize("alpha", [(0.0, 0.0), (1.0, 0.0), (2.0, 50.0)])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_views_are_cca(alpha, order) -> None:
    X, Y = VIEWS[order[0]], VIEWS[order[1]]
    cca = CCA(alpha=alpha[0], alpha_y=alpha[1]).fit(X, Y)
    model = MultiviewCCA(alpha=alpha).fit([X, Y])
    assert np.allclose(model.canonical_correlations_, cca.canonical_correlations_, atol=1e-9)
    both = np.vstack([cca.x_rotations_, cca.y_rotations_])
    ours = np.vstack([w.T for w in model.view_components_])
    assert np.allclose(np.abs(ours), np.abs(both), atol=1e-7)
    x_scores, y_scores = model.transform_views([X, Y])
    assert np.all(np.sum(x_scores * y_scores, axis=0) > 0)


def test_wide_views_take_the_other_way_to_the_same_answer(monkeypatch) -> None:
    model = MultiviewCCA(3, alpha=5.0).fit(WIDE)
    assert model.report_.regression == "svd"
    tall = MultiviewCCA(3, alpha=5.0).fit(VIEWS)
    assert tall.report_.regression == "cholesky"
    monkeypatch.setattr("eigenkit.solvers.multiview.TEN_DIGITS", 2.0)
    again = MultiviewCCA(3, alpha=5.0).fit(VIEWS)
    assert again.report_.regression == "svd"
    assert np.allclose(tall.components_, again.components_, atol=1e-9)
    Z = centred(WIDE)
    B = sla.block_diag(*[z.T @ z + 5 * np.eye(z.shape[1]) for z in Z])
    stacked = np.hstack(Z)
    C = stacked.T @ stacked + 5 * np.eye(B.shape[0])
    values = sla.eigh(C, B, eigvals_only=True)[::-1] - 1
    assert np.allclose(model.eigenvalues_, values[:3], atol=1e-8)


def test_collinear_views_and_constant_columns() -> None:
    X = np.hstack([VIEWS[0], VIEWS[0] @ rng.normal(size=(5, 2))])
    a = MultiviewCCA(2, alpha=0.0).fit([X, VIEWS[1]])
    b = MultiviewCCA(2, alpha=0.0).fit(VIEWS[:2])
    assert np.allclose(a.eigenvalues_, b.eigenvalues_, atol=1e-9)
    with pytest.warns(DegenerateDataWarning, match="1 of 13 features are constant"):
        c = MultiviewCCA(2, alpha=0.0).fit([np.c_[VIEWS[0], np.full(90, 2.0)], VIEWS[1]])
    assert np.allclose(c.eigenvalues_, b.eigenvalues_, atol=1e-9)
    assert np.allclose(c.view_components_[0][:, 5], 0)


def test_groups_in_any_order_equal_a_list() -> None:
    shuffle = rng.permutation(16)
    labels = np.array(["a", "b", "c"])[GROUPS]
    listed = MultiviewCCA(3).fit(VIEWS)
    grouped = MultiviewCCA(3, groups=labels[shuffle]).fit(JOINT[:, shuffle])
    assert np.allclose(grouped.eigenvalues_, listed.eigenvalues_)
    sign = np.sign(np.sum(grouped.components_ * listed.components_[:, shuffle], axis=1))
    assert np.allclose(grouped.components_ * sign[:, None], listed.components_[:, shuffle])
    for mine, theirs in zip(
        grouped.transform_views(JOINT[:, shuffle]), listed.transform_views(VIEWS), strict=True
    ):
        assert np.allclose(mine * sign, theirs)
    assert np.allclose(grouped.transform(JOINT[:, shuffle]) * sign, listed.transform(VIEWS))


def test_scores_are_the_mean_of_the_views() -> None:
    model = MultiviewCCA(2).fit(VIEWS)
    assert np.allclose(model.transform(VIEWS), np.mean(model.transform_views(VIEWS), axis=0))
    assert np.allclose(model.transform(VIEWS), (JOINT - model.mean_) @ model.components_.T)


def test_every_column_a_view_is_pca_of_correlations() -> None:
    model = MultiviewCCA(2, alpha=0).fit(JOINT)
    pca = SklearnPCA(2).fit(StandardScaler().fit_transform(JOINT))
    assert np.allclose(model.eigenvalues_ + 1, pca.explained_variance_ * 89 / 90)


def test_pipeline_and_cross_validation() -> None:
    y = SHARED[:, 0] > 0
    pipe = make_pipeline(MultiviewCCA(2, groups=GROUPS), LogisticRegression())
    assert cross_val_score(pipe, JOINT, y, cv=3).mean() > 0.75
    frame = pd.DataFrame(JOINT, columns=[f"x{i}" for i in range(16)])
    model = MultiviewCCA(2, groups=GROUPS).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["multiviewcca0", "multiviewcca1"]
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.components_, model.components_)
    assert np.array_equal(clone(model).groups, GROUPS)


@pytest.mark.parametrize("kinds", [(0, 1, 1), (1, 1, 1)])
@pytest.mark.parametrize("wide", [False, True])
def test_sparse_views_are_never_made_dense(kinds, wide, monkeypatch) -> None:
    views = [np.where(np.abs(v) > 1, v, 0.0) for v in (WIDE if wide else VIEWS)]
    reference = MultiviewCCA(2).fit(views)
    mixed = [sparse.csr_array(v) if s else v for v, s in zip(views, kinds, strict=True)]
    monkeypatch.setattr("eigenkit.numerics.costs.DENSE_LIMIT_BYTES", 0)
    monkeypatch.setattr(Centered, "toarray", lambda *a, **k: pytest.fail("densified"))
    model = MultiviewCCA(2).fit(mixed)
    assert np.allclose(model.eigenvalues_, reference.eigenvalues_, atol=1e-7)
    assert np.allclose(model.transform(mixed), reference.transform(views), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e200])
def test_units_of_a_view_do_not_matter_without_a_ridge(scale) -> None:
    model = MultiviewCCA(2, alpha=0).fit([VIEWS[0] * scale, *VIEWS[1:]])
    reference = MultiviewCCA(2, alpha=0).fit(VIEWS)
    assert np.allclose(model.eigenvalues_, reference.eigenvalues_, rtol=1e-8)


def test_streams_of_views_of_unequal_widths_take_empty_batches() -> None:
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(30, d)) for d in (3, 5)]
    whole = MultiviewCCA().fit(views)
    stream = MultiviewCCA()
    for rows in (slice(0, 1), slice(1, 1), slice(1, 20), slice(20, 20), slice(20, 30)):
        stream.partial_fit([view[rows] for view in views])
    assert np.allclose(stream.components_, whole.components_)
    with pytest.raises(ValueError, match="view 0: X has no rows"):
        stream.partial_fit([views[0][:0], views[1]])


def test_messages_and_state() -> None:
    model = MultiviewCCA(2).fit(VIEWS)
    before = model.components_.copy()
    nan = np.full((90, 3), np.nan)
    cases = [
        ([VIEWS[0], VIEWS[1][:50]], "90 rows in view 0, 50 in view 1"),
        ([VIEWS[0]], r"X has 5 feature\(s\) in 1 view: at least two"),
        ([VIEWS[0], nan], "contains NaN"),
        ([VIEWS[0], np.array([["a"] * 3] * 90)], "view 1: "),
        ([VIEWS[0], np.ones((90, 2))], "only one view varies"),
        ([np.ones((90, 2)), np.ones((90, 2))], "zero variance"),
        ([VIEWS[0][:, :1], VIEWS[1][:, :1]], "n_components=2 exceeds 1"),
    ]
    for X, message in cases:
        with pytest.raises(ValueError, match=message):
            model.fit(X)
        assert np.array_equal(model.components_, before)
    with pytest.raises(ValueError, match="list of 2 views, but fit was given 3 views"):
        model.transform(VIEWS[:2])
    with pytest.raises(ValueError, match="view 0: X has 7 features"):
        model.transform([VIEWS[1], VIEWS[1], VIEWS[2]])
    with pytest.raises(ValueError, match=r"groups has shape \(3,\): give one label for each"):
        MultiviewCCA(groups=[0, 1, 2]).fit(JOINT)
    with pytest.raises(ValueError, match="so groups must be None"):
        MultiviewCCA(groups=GROUPS).fit(VIEWS)
    with pytest.raises(ValueError, match="alpha has 2 values for 3 views"):
        MultiviewCCA(alpha=[1.0, 2.0]).fit(VIEWS)
    with pytest.raises(ValueError, match="alpha=-1 is not valid"):
        MultiviewCCA(alpha=-1).fit(VIEWS)


def test_views_too_large_are_refused_with_advice() -> None:
    big = sparse.random_array((13000, 13000), density=1e-5, format="csr", rng=rng)
    with pytest.raises(ValueError, match="reduce it first, for instance by PCA"):
        MultiviewCCA(2).fit([big, sparse.csr_array(big[:, ::-1])])
