"""Several views and blocks of variables against the pencils and forms that define them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg as sla

from eigenkit.data import Centered
from eigenkit.numerics.linalg import eigenpairs
from eigenkit.solvers import multiview, spectral
from eigenkit.solvers.multiview import Block, Cross, _aligned, _start


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("sizes", [(3, 4), (3, 2, 4)])
@pytest.mark.parametrize("k", [1, None])
def test_views_solve_their_block_pencil(wide, sizes, k, rng):
    n = 2 if wide else 30
    columns = np.split(rng.permutation(sum(sizes)), np.cumsum(sizes)[:-1])
    X = rng.normal(size=(n + 1, sum(sizes))) + rng.normal(size=(n + 1, 1))
    alphas = np.linspace(0.1, 0.4, len(sizes))
    Z = Centered(X)
    found = multiview.solve_views(Z, columns, alphas, k)
    C, D = Z.gram(), np.zeros((len(X[0]),) * 2)
    for own, alpha in zip(columns, alphas, strict=True):
        D[np.ix_(own, own)] = C[np.ix_(own, own)] + alpha * np.eye(len(own))
    ridge = np.empty(len(D))
    for own, alpha in zip(columns, alphas, strict=True):
        ridge[own] = alpha
    values = sla.eigvalsh(C + np.diag(ridge), D)[::-1] - 1
    count = int(np.sum(values > 1e-9)) if k is None else k
    np.testing.assert_allclose(found.eigenvalues, values[:count], rtol=1e-7)
    W = found.W
    np.testing.assert_allclose(W.T @ D @ W, len(sizes) * np.eye(count), atol=1e-7)
    np.testing.assert_allclose(
        (C + np.diag(ridge)) @ W, D @ W * (found.eigenvalues + 1), atol=1e-7 * np.abs(D @ W).max()
    )
    assert found.report.regression == ("svd" if wide else "cholesky")


def test_a_few_eigenpairs_are_the_first_of_all(rng):
    M = rng.normal(size=(17, 17))
    M = M + M.T
    values, vectors = np.linalg.eigh(M)
    for k in (1, 3, 4, 5, 17, None):
        found, Q = eigenpairs(M, k)
        np.testing.assert_allclose(found, values[::-1][:k], atol=1e-12)
        V = vectors[:, ::-1][:, :k]
        np.testing.assert_allclose(np.abs(np.sum(Q * V, axis=0)), 1.0, rtol=1e-9)


def test_views_too_large_for_their_singular_values_are_refused(monkeypatch):
    monkeypatch.setattr("eigenkit.numerics.costs.GRAM_LIMIT_BYTES", 8 * 50**2)
    multiview._check_size(50, 10**6)
    multiview._check_size(10**6, 50)
    for n, d in ((51, 10**6), (10**6, 51)):
        with pytest.raises(ValueError, match=f"{n} rows and {d} columns"):
            multiview._check_size(n, d)


def test_components_of_blocks_along_their_definitions(rng):
    P = [rng.normal(size=(30, d)) for d in (2, 3, 4)]
    cross, b = Cross.of(P, 30.0), rng.normal(size=9)
    scores = np.column_stack([P[0] @ b[:2], P[1] @ b[2:5], P[2] @ b[5:]])
    np.testing.assert_allclose(cross.covariances(b), scores.T @ scores / 30, rtol=1e-12)
    np.testing.assert_allclose(cross.towards(slice(2, 5), b), P[1].T @ scores / 30, rtol=1e-12)
    design = np.array([[0.0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]])
    M = np.block([[design[i, j] * P[i].T @ P[j] for j in range(3)] for i in range(3)])
    v, start = np.linalg.eigh(M)[1][:, -1], _start(cross, design)
    for own in (slice(0, 2), slice(2, 5), slice(5, 9)):
        part = v[own] / np.linalg.norm(v[own])
        assert np.abs(part @ start[own]) == pytest.approx(1.0)
    alone = _start(cross, np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    np.testing.assert_array_equal(alone[5:], np.eye(4)[0])
    joined = np.array([[0.0, -2.0, 0.1], [-2.0, 0.0, 1.0], [0.1, 1.0, 0.0]])
    s = _aligned(joined)
    assert (s[0] * s[1], s[1] * s[2]) == (-1.0, 1.0)


@pytest.mark.parametrize("unit", [1e-170, 1.0, 1e170])
@pytest.mark.parametrize("tau", [0.0, 0.3, 1.0])
def test_blocks_are_whitened_and_deflated_in_any_unit(unit, tau, rng):
    T = rng.normal(size=(20, 3))
    block = Block(T.copy(), tau, np.sqrt(tau), 20.0)
    P, F = block.whitened()
    B = (1 - tau) * T.T @ T / 20 + tau * np.eye(3)
    np.testing.assert_allclose(F.T @ B @ F, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(P, T @ F, atol=1e-12)
    w = rng.normal(size=3)
    np.testing.assert_allclose(block.take_out(unit * w) / unit, w, rtol=1e-12)
    y = T @ w
    left = T - np.outer(y, y @ T) / (y @ y)
    np.testing.assert_allclose(block.T, left, atol=1e-12)
    v = rng.normal(size=3)
    np.testing.assert_allclose(T @ block.take_out(v), left @ v, atol=1e-12)
    assert block.whitened()[0].shape[1] == 1


@pytest.mark.parametrize("rank", [2, 4])
def test_singular_values_are_all_where_as_many_are_asked_for(rank, rng):
    X = rng.normal(size=(20, rank)) @ rng.normal(size=(rank, 4))
    s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:rank]
    for k in (1, rank - 1, rank, rank + 1, None):
        found = spectral.principal_axes(Centered(X), k, "svd", 1e-10, 100)
        count = rank if k is None else min(k, rank)
        np.testing.assert_allclose(found.eigenvalues, s[:count], rtol=1e-9)
        assert found.W.shape == (4, count)
