"""The deflation loop: defining equations, orthogonality, and agreement with NIPALS."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from eigenkit.data import Centered, Rescaled
from eigenkit.solvers.deflation import (
    DEFLATIONS,
    decompose,
    gram_pays,
    leading_pair,
    rescaled,
)
from eigenkit.solvers.nipals import nipals, skip_missing_scores
from eigenkit.solvers.spectral import largest_covariances


def _dense(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    return X, X[:, : min(d, 3)] @ rng.normal(size=(min(d, 3), k)) + rng.normal(size=(n, k))


def _zoo():
    X, Y = _dense(60, 8, 4)
    yield "tall", X, Y, None
    yield "wide", *_dense(20, 50, 4), None
    yield "weighted", X, Y, np.linspace(0.5, 3, 60)
    yield "shifted", X + 1e5, Y, None
    yield "fortran", np.asfortranarray(X), Y, None
    yield "constant column", np.column_stack([X, np.full(60, 7.0)]), Y, None
    yield "rank 5", X[:, :5] @ np.ones((5, 8)) + X @ np.diag([1, 1, 1, 1, 0, 0, 0, 0]), Y, None
    yield "sparse", sparse.csr_array(np.where(abs(X) > 2, X, 0)), Y, None
    yield "sparse weighted", sparse.csr_array(np.where(abs(X) > 2, X, 0)), Y, np.arange(1.0, 61)
    yield "collinear y", X, Y @ np.ones((4, 4)) + Y, None


ZOO = {name: rest for name, *rest in _zoo()}
EACH = pytest.mark.parametrize("name", ZOO)
EACH_DEFLATION = pytest.mark.parametrize("deflation", [*DEFLATIONS, "svd"])


def _solve(name, deflation, l=4, scale=(True, True)):
    X, Y, weight = ZOO[name]
    A, B, cross = rescaled(Centered(X, weight), Centered(Y, weight), scale, l)
    return A.toarray(), B.toarray(), _components(A, B, cross, l, deflation)


def _components(A, B, cross, l, deflation):
    pairs = deflation == "svd"
    return largest_covariances(A, B, l) if pairs else decompose(cross, l, deflation)


@EACH
@EACH_DEFLATION
def test_every_pair_is_the_leading_one_of_what_is_left(name, deflation):
    """w, c are singular vectors of S, rebuilt from deflated data as the textbook says."""
    A, B, found = _solve(name, deflation)
    S = A.T @ B
    for i in range(len(found)):
        w, c = found.x_weights[:, i], found.y_weights[:, i] / np.linalg.norm(found.y_weights[:, i])
        values = np.linalg.svd(S, compute_uv=False)
        assert np.isclose(w @ S @ c, values[0], rtol=1e-9, atol=1e-10 * np.linalg.norm(A.T @ B))
        assert np.isclose(found.singular_values[i], values[0], rtol=1e-9)
        t, u = A @ w, B @ c
        if deflation == "svd":
            S = S - values[0] * np.outer(w, c)
        elif deflation == "simpls":
            P = found.x_loadings[:, : i + 1]
            S = A.T @ B - P @ np.linalg.lstsq(P, A.T @ B)[0]
        else:
            other = t if deflation == "regression" else u
            A = A - np.outer(t, t @ A) / (t @ t)
            B = B - np.outer(other, other @ B) / (other @ other)
            S = A.T @ B


@EACH
@pytest.mark.parametrize("deflation", ["regression", "canonical", "simpls"])
def test_scores_are_orthogonal(name, deflation):
    """Theorem 2.1 (and its like for PLS2 and SIMPLS)."""
    A, B, found = _solve(name, deflation)
    T = A @ found.x_rotations
    TT = T.T @ T
    np.testing.assert_allclose(TT, np.diag(found.x_norms), atol=1e-10 * found.x_norms.max())
    if deflation == "canonical":
        UU = (B @ found.y_rotations).T @ (B @ found.y_rotations)
        np.testing.assert_allclose(UU, np.diag(UU.diagonal()), atol=1e-10 * UU.max())


@EACH
@pytest.mark.parametrize("deflation", ["regression", "canonical"])
def test_nipals_agrees(name, deflation):
    A, B, found = _solve(name, deflation)
    reference = nipals(A, B, len(found), deflation, tol=1e-13, max_iter=100_000)
    for key in ("x_weights", "x_rotations", "x_loadings", "y_loadings"):
        ours, theirs = getattr(found, key), getattr(reference, key)
        np.testing.assert_allclose(ours, theirs, atol=2e-8 * np.abs(theirs).max(), err_msg=key)


@EACH
def test_pls_sb_is_one_singular_value_decomposition(name):
    A, B, found = _solve(name, "svd")
    values = np.linalg.svd(A.T @ B, compute_uv=False)
    np.testing.assert_allclose(found.singular_values, values[: len(found)], rtol=1e-9)
    W, C = found.x_weights, found.y_weights
    eye = np.eye(len(found))
    np.testing.assert_allclose(W.T @ W, eye, atol=1e-8)
    np.testing.assert_allclose(C.T @ C, eye, atol=1e-8)
    np.testing.assert_allclose(
        W.T @ A.T @ B @ C, np.diag(values[: len(found)]), atol=1e-9 * values[0]
    )


def test_simpls_is_pls1_for_one_response_and_not_for_several():
    X, Y, _ = ZOO["tall"]
    for targets, same in ((Y[:, :1], True), (Y, False)):
        paths = []
        for deflation in ("simpls", "regression"):
            _, _, cross = rescaled(Centered(X), Centered(targets), (False, False), 4)
            found = decompose(cross, 4, deflation)
            paths.append(found.x_rotations @ found.y_loadings.T)
        assert np.allclose(*paths, rtol=1e-10) is same


def test_gram_and_data_give_the_same_components(monkeypatch):
    X, Y, _ = ZOO["tall"]
    answers = []
    for pays in (True, False):
        monkeypatch.setattr("eigenkit.solvers.deflation.gram_pays", lambda *_, p=pays: p)
        _, _, cross = rescaled(Centered(X), Centered(Y), (True, True), 5)
        assert (cross.gram is not None) is pays
        answers.append(decompose(cross, 5, "regression").x_rotations)
    np.testing.assert_allclose(*answers, rtol=1e-10)


def test_small_components_are_taken_from_the_data_not_from_the_gram_matrix(monkeypatch):
    """At a condition number of 1e7 the Gram matrix alone keeps no digit of the last component."""
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(200, 6)))[0]
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    V = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = U * np.logspace(0, -7, 6) @ V.T
    y = (U @ np.ones(6))[:, None]
    Z, Y = Centered(X), Centered(y)
    monkeypatch.setattr("eigenkit.solvers.deflation.gram_pays", lambda *_: True)
    _, _, cross = rescaled(Z, Y, (False, False), 6)
    found = decompose(cross, 6, "regression")
    assert len(found) == 6
    T = Z.toarray() @ found.x_rotations
    T /= np.linalg.norm(T, axis=0)
    assert np.abs(T.T @ T - np.eye(6)).max() < 1e-7
    np.testing.assert_allclose(Z.toarray() @ found.x_rotations @ found.y_loadings.T, y, atol=1e-6)


def test_the_gram_matrix_is_not_formed_for_wide_data():
    assert not gram_pays(Centered(np.ones((20, 5000)) * np.arange(5000)), 5)
    assert gram_pays(Centered(np.random.default_rng(0).normal(size=(5000, 20))), 5)


def test_components_end_where_x_and_y_share_no_more():
    X, Y = _dense(50, 10, 3)
    X = X[:, :3] @ np.random.default_rng(1).normal(size=(3, 10))
    _, _, cross = rescaled(Centered(X), Centered(Y), (True, True), 8)
    for deflation in ("regression", "simpls"):
        assert len(decompose(cross, 8, deflation)) == 3


def test_leading_pair_of_either_shape():
    rng = np.random.default_rng(0)
    for shape in ((7, 3), (3, 7), (5, 1), (1, 5)):
        S = rng.normal(size=shape)
        w, c, sigma = leading_pair(S)
        np.testing.assert_allclose(sigma, np.linalg.norm(S, 2))
        np.testing.assert_allclose(S @ c, sigma * w, atol=1e-12)
        np.testing.assert_allclose(S.T @ w, sigma * c, atol=1e-12)
    assert leading_pair(np.zeros((4, 2)))[2] == 0


def test_nipals_with_gaps_fits_what_is_observed_of_a_rank_one_matrix():
    """Rank one: every regression over observed entries is exact, whatever is missing."""
    rng = np.random.default_rng(0)
    t = rng.normal(size=30)
    p = rng.normal(size=6)
    X = np.outer(t, p)
    observed = rng.random(X.shape) > 0.3
    found = nipals(
        np.where(observed, X, 0),
        t[:, None],
        1,
        "regression",
        tol=1e-12,
        max_iter=100,
        observed=observed,
    )
    T = skip_missing_scores(np.where(observed, X, 0), observed, found.x_weights, found.x_loadings)
    np.testing.assert_allclose(T @ found.x_loadings.T, X, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["regression", "canonical", "simpls", "svd"]))
def test_rotating_the_features_rotates_the_weights(seed, deflation):
    rng = np.random.default_rng(seed)
    X, Y = _dense(25, 6, 3, seed)
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    scores = []
    for data in (X, X @ Q):
        A, B, cross = rescaled(Centered(data), Centered(Y), (False, True), 2)
        found = _components(A, B, cross, 2, deflation)
        scores.append(A.toarray() @ found.x_rotations)
    signs = np.sign(np.sum(scores[0] * scores[1], axis=0))
    np.testing.assert_allclose(scores[0], scores[1] * signs, atol=1e-7 * np.abs(scores[0]).max())


def test_blocks_are_scaled_like_the_data():
    X, _, weight = ZOO["weighted"]
    Z = Centered(X, weight)
    A = Rescaled.of(Z, True, Z.column_squares())
    mean = np.average(X, axis=0, weights=weight)
    # Weights that are no counts compare the rows: one sample weighs their mean.
    std = np.sqrt((weight @ (X - mean) ** 2) / (weight.sum() - weight.mean()))
    np.testing.assert_allclose(A.std, std)
    np.testing.assert_allclose(A.toarray(), np.sqrt(weight)[:, None] * (X - mean) / std)
