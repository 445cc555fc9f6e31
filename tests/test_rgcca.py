"""Multi-block components with a design: the stationary equations, PLS and CCA for two views."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.cross_decomposition import PLSCanonical as SklearnPLSCanonical
from sklearn.cross_decomposition import PLSRegression as SklearnPLSRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenkit import CCA, RGCCA
from eigenkit.exceptions import ConvergenceWarning

rng = np.random.default_rng(7)
N = 80
SHARED = rng.normal(size=(N, 2))
VIEWS = [SHARED @ rng.normal(size=(2, d)) + rng.normal(size=(N, d)) + d for d in (5, 7, 4)]
GROUPS = np.repeat([0, 1, 2], [5, 7, 4])
CHAIN = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]])
WIDE = [SHARED @ rng.normal(size=(2, d)) + rng.normal(size=(N, d)) for d in (120, 7, 200)]
DERIVATIVE = {"factorial": lambda c: 2 * c, "centroid": np.sign, "horst": np.ones_like}


def centred(views):
    return [view - view.mean(axis=0) for view in views]


def metric(Z, tau):
    return (1 - tau) * Z.T @ Z / len(Z) + tau * np.eye(Z.shape[1])


@pytest.mark.parametrize("design", [1.0, CHAIN], ids=["all", "chain"])
@pytest.mark.parametrize("tau", [1.0, 0.0, (0.3, 1.0, 0.0)])
@pytest.mark.parametrize("scheme", DERIVATIVE)
def test_the_stationary_equations(scheme, tau, design):
    """M_j w_j is along X_j' sum_k c_jk g'(cov_jk) y_k, and w_j'M_j w_j = 1."""
    model = RGCCA(1, tau=tau, design=design, scheme=scheme, tol=1e-15, max_iter=9999).fit(VIEWS)
    Z, c = centred(VIEWS), np.broadcast_to(design, (3, 3)) * (1 - np.eye(3))
    scores = [z @ w[0] for z, w in zip(Z, model.view_components_, strict=True)]
    cov = np.cov(scores, bias=True)
    np.testing.assert_allclose(model.covariances_[0], cov, atol=1e-10)
    for j, t in enumerate(np.broadcast_to(tau, 3)):
        w, M = model.view_components_[j][0], metric(Z[j], t)
        assert w @ M @ w == pytest.approx(1)
        inner = sum(c[j, k] * DERIVATIVE[scheme](cov[j, k]) * scores[k] for k in range(3))
        right = Z[j].T @ inner
        np.testing.assert_allclose(M @ w * (w @ right), right, atol=1e-5 * np.abs(right).max())


@pytest.mark.parametrize("views", [VIEWS, WIDE], ids=["tall", "wide"])
def test_no_other_start_gives_more(views):
    """The iteration written for the samples, from random starts."""
    model = RGCCA(1, tau=0.5, design=CHAIN).fit(views)
    Z = centred(views)
    A = [z @ np.linalg.inv(np.linalg.cholesky(metric(z, 0.5))).T for z in Z]
    draws = np.random.default_rng(0)
    for _ in range(5):
        y = [z @ draws.normal(size=z.shape[1]) for z in Z]
        for _ in range(300):
            for j in range(3):
                inner = sum(CHAIN[j, k] * (y[j] @ y[k]) * y[k] for k in range(3))
                b = A[j].T @ inner
                y[j] = A[j] @ b / np.linalg.norm(b)
        other = np.sum(CHAIN * (np.array(y) @ np.array(y).T / N) ** 2)
        assert model.criterion_[0] >= other * (1 - 1e-8)


def test_two_views_are_canonical_pls():
    X, Y = VIEWS[:2]
    model = RGCCA(3, tau=1.0, tol=1e-15).fit([X, Y])
    theirs = SklearnPLSCanonical(3, scale=False, tol=1e-14, max_iter=5000).fit(X, Y)
    for scores, reference in zip(
        model.transform_views([X, Y]), theirs.transform(X, Y), strict=True
    ):
        align = np.sign(np.sum(scores * reference, axis=0))
        np.testing.assert_allclose(scores * align, reference, atol=1e-6)


def test_two_views_without_ridge_are_cca():
    model = RGCCA(3, tau=0.0, tol=1e-15, max_iter=5000).fit(VIEWS[:2])
    expected = CCA(3, alpha=0).fit(*VIEWS[:2]).canonical_correlations_
    np.testing.assert_allclose(model.covariances_[:, 0, 1], expected, atol=1e-6)


def test_one_response_is_pls1():
    """Views that are not joined each have the components of PLS1 of their own."""
    y = SHARED[:, 0] + 0.1 * rng.normal(size=N)
    model = RGCCA(2, design=0.0).fit(VIEWS, y)
    for view, scores in zip(VIEWS, model.transform_views(VIEWS), strict=True):
        theirs = SklearnPLSRegression(2, scale=False).fit(view, y).transform(view)
        np.testing.assert_allclose(np.abs(scores), np.abs(theirs), atol=1e-8)


def test_scores_of_a_view_are_uncorrelated_and_views_agree_in_sign():
    model = RGCCA(3).fit(VIEWS)
    for scores in model.transform_views(VIEWS):
        off = scores.T @ (scores - scores.mean(axis=0))
        np.testing.assert_allclose(off - np.diag(np.diag(off)), 0, atol=1e-8)
    assert model.covariances_[0].min() > 0


def test_classes_and_the_design():
    """The more the views are to agree, the more they do, at the cost of y."""
    y = np.array(["a", "b", "c"])[np.digitize(SHARED[:, 0] + 0.5 * rng.normal(size=N), [-0.5, 0.5])]
    loose, tight = (RGCCA(1, tau=0.1, design=d).fit(VIEWS, y) for d in (0.0, 5.0))
    views, own = np.triu_indices(3, 1), np.arange(3)
    assert tight.covariances_[0][views].sum() > loose.covariances_[0][views].sum()
    assert tight.covariances_[0][own, 3].sum() < loose.covariances_[0][own, 3].sum()
    joint = np.hstack(VIEWS)
    model = make_pipeline(StandardScaler(), RGCCA(2, groups=GROUPS), LogisticRegression())
    assert cross_val_score(model, joint, y, cv=4).mean() > 0.6
    assert "classes_" not in vars(RGCCA(1).fit(VIEWS, SHARED[:, 0]))


def test_every_kind_of_input():
    joint = np.hstack(VIEWS)
    model = RGCCA(2).fit(VIEWS)
    same = RGCCA(2, groups=GROUPS).fit(joint)
    np.testing.assert_allclose(same.transform(joint), model.transform(VIEWS), atol=1e-9)
    loose = RGCCA(2).fit([sparse.csr_array(VIEWS[0]), *VIEWS[1:]])
    np.testing.assert_allclose(loose.transform(VIEWS), model.transform(VIEWS), atol=1e-7)
    small = RGCCA(2).fit([view.astype(np.float32) for view in VIEWS])
    assert small.transform([view.astype(np.float32) for view in VIEWS]).dtype == np.float32
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(VIEWS), model.transform(VIEWS))
    scaled = RGCCA(1, tau=0.0).fit(
        [view * 10.0**e for view, e in zip(VIEWS, (-9, 0, 12), strict=True)]
    )
    np.testing.assert_allclose(
        scaled.covariances_, RGCCA(1, tau=0.0).fit(VIEWS).covariances_, atol=1e-6
    )


def test_weights_count_rows_of_x_and_y():
    weight = rng.integers(0, 3, N)
    repeated = [np.repeat(view, weight, axis=0) for view in VIEWS]
    y = SHARED[:, 1]
    a = RGCCA(2).fit(VIEWS, y, sample_weight=weight)
    b = RGCCA(2).fit(repeated, np.repeat(y, weight))
    np.testing.assert_allclose(a.transform(VIEWS), b.transform(VIEWS), atol=1e-6)


def test_a_view_that_does_not_vary_has_no_part():
    constant = np.full((N, 2), 3.0)
    model = RGCCA(1).fit([VIEWS[0], constant, VIEWS[1]])
    assert not model.view_components_[1].any()
    assert not model.covariances_[0, 1].any()
    np.testing.assert_allclose(
        model.view_components_[0], RGCCA(1).fit(VIEWS[:2]).view_components_[0], atol=1e-9
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tau": 1.5}, "tau=1.5 is above 1"),
        ({"tau": [1.0, 0.5]}, "tau has 2 values for 3 views"),
        ({"design": np.ones((2, 2))}, r"design has shape \(2, 2\) for 3 views"),
        ({"design": -np.ones((3, 3))}, "design holds a negative"),
        ({"design": np.triu(np.ones((3, 3)))}, "design is not symmetric"),
        ({"design": 0.0}, "design connects view 0 with no other that varies"),
        ({"design": np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])}, "design connects view 2 with no"),
        ({"scheme": "cubic"}, "scheme='cubic' is not known"),
        ({"n_components": 5}, "n_components=5 exceeds 4, the rank of a view"),
    ],
)
def test_what_cannot_be_is_said(params, message):
    with pytest.raises(ValueError, match=message):
        RGCCA(**params).fit(VIEWS)


def test_too_few_steps_are_told():
    with pytest.warns(ConvergenceWarning, match="after max_iter=1 steps"):
        RGCCA(1, max_iter=1, tol=0.0).fit(VIEWS)


def test_numbers_of_any_size_and_many_views(rng) -> None:
    X, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    groups = [0, 0, 0, 1, 1, 1]
    plain = RGCCA(2, groups=groups).fit(X)
    for factor in (2.0**200, 2.0**-200):  # squares of covariances are beyond the smallest float
        scaled = RGCCA(2, groups=groups).fit(X * factor)
        np.testing.assert_allclose(scaled.transform(X * factor), plain.transform(X) * factor)
    with pytest.raises(ValueError, match="squares of covariances exceed float64"):
        RGCCA().fit(X * 1e160, y)
    with pytest.raises(ValueError, match="squares of covariances exceed float64"):
        RGCCA().fit(np.column_stack([X, 1e170 * y]), y)
    many = RGCCA().fit(np.tile(X, (1, 100)), y)  # as many views as columns
    np.testing.assert_allclose(many.view_components_[0], many.view_components_[6])


@pytest.mark.parametrize("scheme", DERIVATIVE)
def test_by_default_six_digits_of_the_weights_are_right(scheme):
    found, exact = (
        RGCCA(2, scheme=scheme, **settings).fit(VIEWS).components_
        for settings in ({}, {"tol": 0.0, "max_iter": 9999})
    )
    np.testing.assert_allclose(found, exact, atol=3e-6 * np.abs(exact).max())
