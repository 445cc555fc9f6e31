"""Products with centred data against the matrix written out, and the dot test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import ZOO, dense, make_X
from eigenkit.operators import Centered, project
from eigenkit.sparse_rows import SparseRows


def _weights(kind: str, n: int, rng: np.random.Generator) -> np.ndarray | None:
    return None if kind == "none" else rng.integers(1, 5, n).astype(float)


def _explicit(X: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    w = np.ones(len(X)) if weight is None else weight
    return np.sqrt(w)[:, None] * (X - w @ X / w.sum())


@pytest.mark.parametrize("kind", ZOO)
@pytest.mark.parametrize("weights", ["none", "integers"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_equal_the_explicit_matrix(kind, weights, dtype, rng):
    X = make_X(kind, rng).astype(dtype)
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    n, d = X.shape
    weight = _weights(weights, n, rng)
    Z = Centered(X, weight)
    E = _explicit(dense(X), weight)
    V, U = rng.normal(size=(d, 3)), rng.normal(size=(n, 3))
    size = np.abs(E).max()
    np.testing.assert_allclose(Z.matmat(V), E @ V, atol=1e-12 * size * d)
    np.testing.assert_allclose(Z.rmatmat(U), E.T @ U, atol=1e-12 * size * n)
    np.testing.assert_allclose(Z.gram(), E.T @ E, atol=1e-12 * size**2 * n)
    np.testing.assert_allclose(Z.outer(), E @ E.T, atol=1e-12 * size**2 * d)
    np.testing.assert_allclose(Z.toarray(), E, atol=1e-12 * size)


@pytest.mark.parametrize("kind", ZOO)
def test_dot_test(kind, rng):
    X = make_X(kind, rng)
    Z = Centered(sparse.csr_array(X) if sparse.issparse(X) else X)
    V, U = rng.normal(size=(Z.shape[1], 2)), rng.normal(size=(Z.shape[0], 2))
    left, right = np.vdot(U, Z.matmat(V)), np.vdot(Z.rmatmat(U), V)
    assert abs(left - right) <= 1e-12 * np.linalg.norm(U) * np.linalg.norm(Z.matmat(V))


def test_constant_columns_vanish_exactly():
    X = np.column_stack([np.full(10, 0.1), np.arange(10.0)])
    Z = Centered(X)
    assert Z.constant.tolist() == [True, False]
    assert Z.gram()[0, 0] == 0.0
    S = Centered(sparse.csr_array(X))
    assert S.constant.tolist() == [True, False]
    assert S.gram()[0, 0] == 0.0


def test_offset_is_removed_before_the_product(rng):
    X = rng.normal(size=(200, 4))
    shifted = Centered(X + 1e9)
    assert shifted.shift is not None
    np.testing.assert_allclose(shifted.gram(), Centered(X).gram(), rtol=1e-6)


def test_sparse_data_is_never_made_dense(rng, monkeypatch):
    X = sparse.random_array((300, 2000), density=0.01, rng=rng, format="csr")

    def refuse(*args, **kwargs):
        raise AssertionError("X was made dense")

    Z = Centered(X)
    monkeypatch.setattr(sparse.csr_array, "todense", refuse)
    monkeypatch.setattr(sparse.csr_array, "toarray", refuse)
    Z.rmatmat(Z.matmat(np.ones((2000, 2))))
    project(X, np.zeros(2000), np.ones((2000, 2)))
    assert not Centered(sparse.csr_array((20000, 2000))).may_be_dense
    assert Centered(X[:200]).may_be_dense  # 3.2 MB: below the stated limit


def test_threads_do_not_change_bits(rng, monkeypatch):
    X = sparse.random_array((5000, 300), density=0.05, rng=rng, format="csr")
    V = rng.normal(size=(300, 20))
    monkeypatch.setattr("eigenkit.threads.available", lambda: 3)
    several = SparseRows(X) @ V
    monkeypatch.setattr("eigenkit.threads.available", lambda: 1)
    np.testing.assert_array_equal(SparseRows(X) @ V, several)


def test_large_sparse_products_in_threads(rng):
    X = sparse.random_array((4000, 500), density=0.05, rng=rng, format="csr")
    Z, E = Centered(X), X.toarray() - X.toarray().mean(axis=0)
    V = rng.normal(size=(500, 20))
    np.testing.assert_allclose(Z.matmat(V), E @ V, atol=1e-10)
    np.testing.assert_allclose(Z.rmatmat(E @ V), E.T @ (E @ V), atol=1e-8)
    np.testing.assert_allclose(Z.gram(), E.T @ E, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["tall", "shifted", "sparse tall", "wide"])
def test_the_gradient_is_that_of_the_least_squares_problem(kind, weighted, rng):
    X = make_X(kind, rng)
    weight = rng.uniform(0.5, 2.0, size=X.shape[0]) if weighted else None
    Z = Centered(X, weight)
    V, H = rng.normal(size=(X.shape[1], 3)), rng.normal(size=(X.shape[0], 3))
    D = Z.toarray()
    for target, gap in ((None, D @ V), (H, D @ V - H)):
        slope, square = Z.gradient(V, target)
        np.testing.assert_allclose(slope, D.T @ gap, atol=1e-9 * np.abs(D.T @ gap).max())
        np.testing.assert_allclose(square, (D @ V).T @ (D @ V), rtol=1e-9, atol=1e-9)
