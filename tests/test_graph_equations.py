"""Graphs over the samples against their definitions: Laplacians, edges, rows above differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eigenkit.data import Centered
from eigenkit.data.derived import Linked, _by_columns
from eigenkit.moments import GraphRows
from eigenkit.moments.graph import incidence, laplacian, root
from eigenkit.targets import TARGETS


def _graph(rng, n):
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return A + A.T


def test_a_laplacian_is_its_incidence_squared(rng):
    A = _graph(rng, 9)
    L = laplacian(A)
    np.testing.assert_allclose(L.toarray(), np.diag(A.sum(axis=1)) - A)
    N = incidence(L)
    assert N.shape == (np.count_nonzero(A) // 2, 9)
    np.testing.assert_allclose((N.T @ N).toarray(), L.toarray(), atol=1e-12)
    F = rng.normal(size=(9, 4)) * [1, 1e6, 1e-6, 1] + 5.0
    F[:, 3] = 7.0
    R, C = root(F, L), F - F.mean(axis=0)
    unit = np.array([1, 1e6, 1e-6, 1])
    near = (C / unit).T @ L.toarray() @ (C / unit)
    np.testing.assert_allclose((R / unit).T @ (R / unit), near, atol=1e-8)
    assert not R[:, 3].any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [9, 150])
def test_linked_rows_are_labelled_rows_above_differences(weighted, n, rng):
    X, kept = rng.normal(size=(n, 4)), np.arange(n) % 3 != 0
    w = rng.uniform(0.5, 2, kept.sum()) if weighted else None
    u = np.ones(kept.sum()) if w is None else w
    N = incidence(laplacian(_graph(rng, 9) if n == 9 else np.eye(n, k=1) + np.eye(n, k=-1)))
    Z = Linked(Centered(sparse.csr_array(X)), kept, w, N)
    above = np.sqrt(u)[:, None] * (X[kept] - u @ X[kept] / u.sum())
    D = np.vstack([above, N @ X])
    np.testing.assert_allclose(Z.toarray(), D, atol=1e-12)
    U = rng.normal(size=(len(D), 2))
    np.testing.assert_allclose(Z.rmatmat(U), D.T @ U, atol=1e-11)
    np.testing.assert_allclose(Z.gram(), D.T @ D, atol=1e-11)
    np.testing.assert_allclose(Z.outer(), D @ D.T, atol=1e-11)
    assert Z.shape == D.shape
    assert Z.total == pytest.approx(u.sum())
    assert Z.freedom == pytest.approx(u.sum() - (1.0 if w is None else w.mean()))
    share = (u.sum() + N.multiply(N).sum()) / n
    np.testing.assert_allclose(Z.column_squares(), share * Z.Z.column_squares())
    np.testing.assert_allclose(Z.grain(), np.sqrt(share) * Z.Z.grain())
    extra = Z.seconds_for_passes(3) - Z.Z.seconds_for_passes(3)
    assert extra == pytest.approx(Centered(N).seconds_for_passes(3))
    assert Z.seconds_for_gram() == pytest.approx(Z.seconds_for_passes(4))
    assert Z.seconds_for_outer() == pytest.approx(Z.seconds_for_passes(len(D)))


def test_linked_rows_may_be_dense_up_to_the_limit(rng, monkeypatch):
    N = incidence(laplacian(_graph(rng, 9)))
    X = Centered(sparse.csr_array(rng.normal(size=(9, 4))))
    room = 8 * (9 + N.shape[0]) * 4
    for limit, may in ((room, True), (room - 1, False)):
        monkeypatch.setattr("eigenkit.numerics.costs.DENSE_LIMIT_BYTES", limit)
        assert Linked(X, np.ones(9, dtype=bool), None, N).decomposable is may


def test_a_matrix_by_its_columns(rng):
    M = rng.normal(size=(300, 300))
    np.testing.assert_allclose(_by_columns(lambda V: M @ V, 300), M, atol=1e-12)


def test_rows_of_a_graph_have_no_targets(rng):
    X, Y, below = rng.normal(size=(12, 3)), rng.normal(size=(12, 2)), rng.normal(size=(5, 3))
    w = rng.uniform(1, 2, 12)
    stated = GraphRows(X, Y, w, below=below, links=4.0).problem(TARGETS["opls"], 1.0, 0.5)
    mean = w @ X / w.sum()
    np.testing.assert_allclose(stated.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(
        stated.pencil.Z.toarray(), np.vstack([np.sqrt(w)[:, None] * (X - mean), below]), atol=1e-12
    )
    assert stated.pencil.H.shape == (17, 2)
    assert not stated.pencil.H[12:].any()
    assert stated.pencil.Z.total == pytest.approx(w.sum() + 4.0)
    assert stated.total == pytest.approx(w.sum())
    alone = GraphRows(X, Y, None).problem(TARGETS["opls"], 1.0, 0.5)
    assert alone.pencil.Z.shape == (12, 3)
    assert alone.pencil.Z.total == 12.0
