"""The canonical ridge family and penalties on both sides of CCA."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg as sla
from sklearn import cross_decomposition
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline

from eigenkit import CCA, CanonicalRidge, OrthonormalizedPLS

rng = np.random.default_rng(3)
X = rng.normal(size=(80, 9)) @ rng.normal(size=(9, 9)) + 1
Y = X[:, :4] @ rng.normal(size=(4, 4)) + 5 * rng.normal(size=(80, 4))
Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)


def same_columns(A, B) -> bool:
    """Equal up to the sign of each column."""
    return np.allclose(A * np.sign(np.sum(A * B, axis=0)), B, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("gamma_x", [0, 0.3, 0.99, 1])
@pytest.mark.parametrize("gamma_y", [0, 0.3, 0.99, 1])
@pytest.mark.parametrize("solver", ["two_stage", "direct"])
def test_defining_equations(gamma_x, gamma_y, solver) -> None:
    model = CanonicalRidge(gamma_x=gamma_x, gamma_y=gamma_y, solver=solver).fit(X, Y)
    Bx = (1 - gamma_x) * Xc.T @ Xc + gamma_x * np.eye(9)
    By = (1 - gamma_y) * Yc.T @ Yc + gamma_y * np.eye(4)
    C = Xc.T @ Yc
    Wx, Wy = model.x_rotations_, model.y_rotations_
    rho = model.canonical_correlations_
    assert np.allclose(Wx.T @ Bx @ Wx, np.eye(4), atol=1e-9)
    assert np.allclose(Wy.T @ By @ Wy, np.eye(4), atol=1e-9)
    assert np.allclose(C @ Wy, Bx @ Wx * rho, atol=1e-8 * np.abs(C).max())
    assert np.allclose(C.T @ Wx, By @ Wy * rho, atol=1e-8 * np.abs(C).max())
    assert np.allclose(model.eigenvalues_, rho**2)


def test_corners_of_the_family() -> None:
    a = 7.0
    gamma = a / (1 + a)
    cca = CanonicalRidge(gamma_x=0, gamma_y=0).fit(X, Y)
    assert same_columns(cca.x_rotations_, CCA(alpha=0).fit(X, Y).x_rotations_)
    assert np.allclose(cca.coef_, CCA(alpha=0).fit(X, Y).coef_)
    ridge = CanonicalRidge(gamma_x=gamma, gamma_y=0).fit(X, Y)
    root = np.sqrt(1 + a)
    assert same_columns(ridge.x_rotations_, CCA(alpha=a).fit(X, Y).x_rotations_ * root)
    opls = CanonicalRidge(gamma_x=0, gamma_y=1).fit(X, Y)
    assert same_columns(opls.components_.T, OrthonormalizedPLS(alpha=0).fit(X, Y).components_.T)
    regular = CanonicalRidge(gamma_x=gamma, gamma_y=1).fit(X, Y)
    theirs = OrthonormalizedPLS(alpha=a).fit(X, Y).components_.T
    assert same_columns(regular.components_.T, theirs * root)
    pls = CanonicalRidge(gamma_x=1, gamma_y=1).fit(X, Y)
    reference = cross_decomposition.PLSSVD(4, scale=False).fit(X, Y)
    assert same_columns(pls.x_weights_, reference.x_weights_)
    assert same_columns(pls.y_weights_, reference.y_weights_)


def test_pls_is_the_limit_of_regularized_opls() -> None:
    pls = CanonicalRidge(gamma_x=1, gamma_y=1).fit(X, Y).components_
    near = CanonicalRidge(gamma_x=1 - 1e-9, gamma_y=1).fit(X, Y).components_
    assert np.allclose(near, pls, atol=1e-4)


@pytest.mark.slow
@given(
    st.floats(0, 1e4),
    st.floats(0, 1e4),
    st.sampled_from([0.0, 0.1, 100.0]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=30, deadline=None)
def test_projection_of_one_view_ignores_the_penalty_on_the_other(ay, by, alpha, seed) -> None:
    local = np.random.default_rng(seed)
    A, B = local.normal(size=(40, 6)), local.normal(size=(40, 3))
    first, second = (CCA(alpha=alpha, alpha_y=p).fit(A, B).x_rotations_ for p in (ay, by))
    assert np.allclose(
        first @ first.T, second @ second.T, atol=1e-8 * np.abs(first @ first.T).max()
    )
    left = CCA(alpha=1.0, alpha_y=ay).fit(B, A)
    right = CCA(alpha=1.0, alpha_y=ay).fit(A, B)
    assert left.n_components_ == right.n_components_ == 3


def test_with_fewer_components_it_does_not() -> None:
    first, second = (CCA(1, alpha=1.0, alpha_y=p).fit(X, Y).x_rotations_ for p in (0.0, 1e4))
    assert sla.subspace_angles(first, second).max() > 1e-3


def test_exchanging_the_views_exchanges_everything() -> None:
    a = CCA(alpha=2.0, alpha_y=30.0).fit(X, Y)
    b = CCA(alpha=30.0, alpha_y=2.0).fit(Y, X)
    assert np.allclose(a.canonical_correlations_, b.canonical_correlations_)
    assert same_columns(a.x_rotations_, b.y_rotations_)
    assert same_columns(a.y_rotations_, b.x_rotations_)
    assert same_columns(a.x_loadings_, b.y_loadings_)
    assert same_columns(a.y_loadings_, b.x_loadings_)


def test_alpha_y_shrinks_correlations_and_keeps_predictions() -> None:
    plain, shrunk = CCA(alpha=1.0).fit(X, Y), CCA(alpha=1.0, alpha_y=50.0).fit(X, Y)
    assert np.all(shrunk.canonical_correlations_ < plain.canonical_correlations_)
    assert np.allclose(plain.predict(X), shrunk.predict(X))


def test_loadings_are_least_squares_and_prediction_too() -> None:
    model = CanonicalRidge(2, gamma_x=0.9, gamma_y=0.5).fit(X, Y)
    T, U = model.transform(X, Y)
    assert np.allclose(model.x_loadings_.T, np.linalg.lstsq(T, Xc)[0])
    assert np.allclose(model.y_loadings_.T, np.linalg.lstsq(U, Yc)[0])
    assert np.allclose(model.predict(X), T @ np.linalg.lstsq(T, Yc)[0] + Y.mean(axis=0))


def test_pipeline_gives_scores_of_x_alone() -> None:
    A, J = make_multilabel_classification(random_state=0)
    pipe = make_pipeline(CanonicalRidge(), MultiOutputClassifier(LogisticRegression()))
    assert pipe.fit(A, J).predict(A).shape == J.shape
    scores = CanonicalRidge().fit_transform(A, J)
    assert np.allclose(scores, CanonicalRidge().fit(A, J).transform(A))


def test_dependence_maximization_is_in_the_family() -> None:
    """MDDM: the leading eigenvectors of Xc' J J' Xc, or against mu Xc'Xc + (1 - mu) I."""
    A, J = make_multilabel_classification(random_state=1)
    Ac, Jc = A - A.mean(axis=0), J - J.mean(axis=0)
    S = Ac.T @ Jc @ Jc.T @ Ac
    for mu in (0.0, 0.5):
        values, W = sla.eigh(S, mu * Ac.T @ Ac + (1 - mu) * np.eye(A.shape[1]))
        model = CanonicalRidge(3, gamma_x=1 - mu, gamma_y=1).fit(A, J)
        assert np.allclose(model.eigenvalues_, values[::-1][:3])
        assert same_columns(model.components_.T, W[:, ::-1][:, :3])


@pytest.mark.parametrize("gamma_x", [0.5, 1])
@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150])
def test_extreme_scales_give_numbers(scale, gamma_x) -> None:
    model = CanonicalRidge(2, gamma_x=gamma_x, gamma_y=0).fit(X * scale, Y)
    for name in ("components_", "canonical_correlations_", "coef_", "x_loadings_"):
        assert np.all(np.isfinite(getattr(model, name)))


def test_covariances_beyond_floating_point_are_refused() -> None:
    with pytest.raises(ValueError, match="scale X and y to sizes near 1"):
        CanonicalRidge(2, gamma_x=1).fit(X * 1e200, Y)


def test_messages() -> None:
    with pytest.raises(ValueError, match=r"gamma_x=1\.5 is not valid: give a finite number from 0"):
        CanonicalRidge(gamma_x=1.5).fit(X, Y)
    with pytest.raises(ValueError, match="gamma_y=-1 is not valid"):
        CanonicalRidge(gamma_y=-1).fit(X, Y)
    with pytest.raises(ValueError, match="alpha_y=-1 is not valid"):
        CCA(alpha_y=-1).fit(X, Y)
    with pytest.raises(ValueError, match="n_components=5 exceeds 4"):
        CanonicalRidge(5).fit(X, Y)
    with pytest.raises(ValueError, match="y is constant"):
        CanonicalRidge(gamma_x=1).fit(X, np.ones(80))
