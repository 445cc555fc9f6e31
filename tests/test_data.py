"""Products with centred data against the matrix written out, and the dot test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from conftest import ZOO, dense, make_X
from eigenkit.data import Centered, CenteredKernel, Data, SideBySide, project
from eigenkit.data import dense as data_of_rows
from eigenkit.data.matrices import SparseRows
from eigenkit.pencil import Pencil
from eigenkit.solvers import Settings, solve


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


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "some columns": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "some rows": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "other bytes": lambda X: X.astype(">f8"),
    "side by side": lambda X: SideBySide([X[:, :2].astype(np.float32), X[:, 2:]]),
}


@pytest.mark.parametrize("weights", ["none", "integers"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_do_not_depend_on_where_the_numbers_stand(layout, weights, rng, monkeypatch):
    """In blocks of eight rows, which all pass through the same memory."""
    monkeypatch.setattr(data_of_rows, "BLOCK_BYTES", 8 * 8 * 6)
    X = np.rint(10 * rng.normal(size=(43, 6)))
    weight = _weights(weights, 43, rng)
    Z, E = Centered(LAYOUTS[layout](X), weight), _explicit(X, weight)
    V, U = rng.normal(size=(6, 3)), rng.normal(size=(43, 3))
    np.testing.assert_allclose(Z.matmat(V), E @ V, atol=1e-11)
    np.testing.assert_allclose(Z.rmatmat(U), E.T @ U, atol=1e-11)
    np.testing.assert_allclose(Z.gram(), E.T @ E, atol=1e-10)
    np.testing.assert_allclose(Z.toarray(), E, atol=1e-12)
    np.testing.assert_allclose(Z.column_squares(), np.sum(E * E, axis=0), rtol=1e-12)
    np.testing.assert_allclose(Z.gradient(V)[0], E.T @ E @ V, atol=1e-10)


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
    assert not Centered(sparse.csr_array((20000, 2000))).decomposable
    assert Centered(X[:200]).decomposable  # 3.2 MB: below the stated limit


def test_threads_do_not_change_bits(rng, monkeypatch):
    X = sparse.random_array((5000, 300), density=0.05, rng=rng, format="csr")
    V = rng.normal(size=(300, 20))
    monkeypatch.setattr("eigenkit.numerics.threads.available", lambda: 3)
    several = SparseRows(X) @ V
    monkeypatch.setattr("eigenkit.numerics.threads.available", lambda: 1)
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


# -- the protocol, over all kinds ---------------------------------------------------------


def _kinds(weight: np.ndarray | None) -> dict[str, tuple[Data, np.ndarray]]:
    """Every kind of data on the same samples, and Z written out."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(12, 5)) * (rng.random((12, 5)) < 0.6) + 3.0 * (np.arange(5) == 1)
    w = np.ones(12) if weight is None else weight
    Z = np.sqrt(w)[:, None] * (X - w @ X / w.sum())
    return {
        "dense": (Centered(X, weight), Z),
        "sparse": (Centered(sparse.csr_array(X), weight), Z),
        "kernel": (CenteredKernel(X @ X.T, weight), Z),
        "factor": (Centered(np.linalg.qr(Z)[1], center=False, n_samples=12), np.linalg.qr(Z)[1]),
    }


@pytest.mark.parametrize("kind", ["dense", "sparse", "kernel", "factor"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_kind_keeps_the_protocol(kind: str, weighted: bool) -> None:
    data, Z = _kinds(np.linspace(0.5, 2.0, 12) if weighted else None)[kind]
    rng = np.random.default_rng(12)
    U, H = rng.normal(size=(2, data.shape[0], 3))
    V = data.rmatmat(U)
    np.testing.assert_allclose(data.matmat(V), Z @ Z.T @ U, atol=1e-10)
    np.testing.assert_allclose(data.outer(), Z @ Z.T, atol=1e-10)
    np.testing.assert_allclose(data.inner(V, V), U.T @ Z @ Z.T @ U, atol=1e-9)
    norms = np.linalg.norm(Z.T @ U), np.linalg.norm(Z @ Z.T @ U)
    np.testing.assert_allclose(data.norm(V), norms[kind == "kernel"], rtol=1e-9)
    slope, square = data.gradient(V, H)
    np.testing.assert_allclose(data.matmat(slope), Z @ (Z.T @ (Z @ Z.T @ U - H)), atol=1e-8)
    np.testing.assert_allclose(square, (Z @ Z.T @ U).T @ (Z @ Z.T @ U), rtol=1e-9, atol=1e-8)
    left, s, right = data.triplets()
    np.testing.assert_allclose(s, np.linalg.svd(Z, compute_uv=False)[: len(s)], rtol=1e-9)
    np.testing.assert_allclose(data.matmat(right), left * s, atol=1e-9)
    np.testing.assert_allclose(data.inner(right, right), np.eye(len(s)), atol=1e-9)
    np.testing.assert_allclose(data.unweighted(data.weighted(U)), U, rtol=1e-12)
    assert data.spectral_norm_squared() <= s[0] ** 2 * (1 + 1e-12)
    assert data.seconds_for_outer() >= 0
    assert data.freedom < data.total


@pytest.mark.parametrize("solver", ["two_stage", "direct"])
def test_a_kernel_is_solved_by_the_linear_code(solver: str) -> None:
    kinds = _kinds(np.linspace(0.5, 2.0, 12))
    rng = np.random.default_rng(13)
    H = rng.normal(size=(12, 2))
    answers = {}
    for name in ("dense", "sparse", "kernel"):
        data, _ = kinds[name]
        pencil = Pencil.state(data, H, 0.3)
        found = solve(pencil, Settings(solver=solver))
        answers[name] = found.eigenvalues, np.abs(found.basis)
        assert max(found.report.residual, found.report.orthogonality) < 1e-12
    for name in ("sparse", "kernel"):
        for mine, theirs in zip(answers[name], answers["dense"], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


def test_a_verb_that_a_kind_leaves_out_is_named():
    class Nothing(Data):
        pass

    with pytest.raises(TypeError, match="Nothing does not define matmat, which is needed here"):
        Nothing().matmat(np.eye(2))


def test_sums_of_columns_may_leave_the_range_where_the_numbers_do_not(rng):
    X = np.abs(rng.normal(size=(40_000, 3))) * 2e304 * (rng.random((40_000, 3)) < 0.5)
    dense, kept = Centered(X), Centered(sparse.csr_array(X))
    np.testing.assert_allclose(kept.mean, dense.mean, rtol=1e-12)
    np.testing.assert_allclose(kept.gram(), dense.gram(), rtol=1e-10)
