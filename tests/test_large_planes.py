"""Planes of very large sparse data, by products only."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import linalg as sla
from scipy import sparse

from eigenkit import GEPSVM, ReGEC
from eigenkit.data import Centered
from eigenkit.estimators import _planes
from eigenkit.exceptions import ConvergenceWarning
from eigenkit.solvers import large_planes
from eigenkit.solvers.large_planes import PlanePasses, PlaneRows, largest_quotients, preconditioner


@pytest.fixture
def by_products(monkeypatch):
    monkeypatch.setattr(_planes, "LARGE_ORDER", 1)
    monkeypatch.setattr("eigenkit.numerics.costs.DENSE_LIMIT_BYTES", 0)


def words(rng, n=80, d=120, k=2):
    y = np.arange(n) % k
    X = rng.poisson(0.05, (n, d)) + rng.poisson(0.5, (n, d)) * (np.arange(d) % k == y[:, None])
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    return sparse.csr_array(X), y


def pencils(A, B):
    """Of whatever forms, (k, d, d) each, in place of rows of other classes and of a class."""
    products = lambda V: np.stack([(M @ V[..., None])[..., 0] for M in (A, B)])  # noqa: E731
    squares = np.diagonal(B, axis1=-2, axis2=-1)
    return PlanePasses(B[:, -1], squares, np.ones(B.shape[-1]), products)


def test_the_largest_quotients_are_those_of_the_dense_solver(rng):
    roots = rng.normal(size=(2, 3, 50, 30))
    A, B = np.swapaxes(roots, -1, -2) @ roots
    found = largest_quotients(pencils(A, B), (0.5, 0.1), 1e-9, 300)
    for c, (value, z, residual) in enumerate(zip(found[0], found[1], found[3], strict=True)):
        values, vectors = sla.eigh(A[c] + 0.5 * np.eye(30), B[c] + 0.1 * np.eye(30))
        assert value == pytest.approx(values[-1], rel=1e-12)
        assert residual <= 1e-9
        best = vectors[:, -1]
        cosine = abs(z @ best) / np.linalg.norm(z) / np.linalg.norm(best)
        assert cosine == pytest.approx(1, abs=1e-9)


def test_a_plane_that_is_found_waits_for_the_others():
    """Of two pencils one is solved at once: it has no residual to go along."""
    A = np.array([np.diag([3.0, 1.0, 1.0]), np.diag([1.0, 2.0, 5.0])])
    B = np.array([np.diag([1.0, 1e9, 1e9]), np.eye(3)])
    values = largest_quotients(pencils(A, B), (0.0, 0.0), 1e-12, 50)[0]
    np.testing.assert_allclose(values, [3.0, 5.0], rtol=1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_rows_and_passes_answer_alike(rng, k):
    X, y = words(rng, k=k)
    order, weight = np.argsort(y, kind="stable"), rng.integers(1, 4, len(y)).astype(float)
    X, bounds = X[order], np.searchsorted(y[order], np.arange(k + 1))
    N = np.sqrt(weight)[:, None] * np.column_stack([X.toarray(), np.ones(len(y))])
    parts = [slice(None), *(slice(a, b) for a, b in pairwise(bounds))]
    whole, *pieces = (Centered(X[own], weight[own], center=False) for own in parts)
    rows = PlaneRows.of(whole, pieces)
    G = np.array([N[a:b].T @ N[a:b] for a, b in pairwise(bounds)])
    passes = pencils(G.sum(axis=0) - G, G)
    np.testing.assert_allclose(rows.sums, passes.sums, atol=1e-12)
    np.testing.assert_allclose(rows.squares, passes.squares, atol=1e-12)
    V = rng.normal(size=(k, 2, N.shape[1]))
    found = []
    for given in (rows, passes):
        marks = np.stack([given.marks(V[:, i]) for i in (0, 1)], axis=1)
        found.append((given.images(marks[:, 1]), given.forms(V, marks)))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)


def test_the_preconditioner_is_the_inverse_of_a_diagonal_and_the_mean(rng):
    roots = rng.normal(size=(2, 9, 5)) + 3.0
    roots[..., -1] = 1.0
    G = np.swapaxes(roots, -1, -2) @ roots
    solved = preconditioner(pencils(G, G), 0.3)
    for c in range(2):
        m = G[c, -1] / np.sqrt(G[c, -1, -1])
        rest = np.maximum(G[c].diagonal() - m * m, large_planes.LEAST * G[c].diagonal())
        near = np.diag(rest + 0.3) + np.outer(m, m)
        r = rng.normal(size=(2, 5))
        np.testing.assert_allclose(near @ solved(r)[c], r[c], atol=1e-9)


def test_a_large_ridge_does_not_look_like_convergence(rng, by_products):
    """With alpha on both sides any vector solves the pencil but for a small part of it."""
    X, y = words(rng)
    model = ReGEC(alpha=1e6).fit(X, y)
    N = np.column_stack([X.toarray(), np.ones(len(y))])
    own, rest = N[y == 0], N[y == 1]
    ridge = 1e6 * np.eye(121)
    vectors = sla.eigh(rest.T @ rest + ridge, own.T @ own + ridge)[1]
    plane = np.append(model.coef_[0], model.intercept_[0])
    best = vectors[:, -1]
    cosine = abs(plane @ best) / np.linalg.norm(plane) / np.linalg.norm(best)
    assert cosine == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    ("model", "below"), [(GEPSVM(alpha=0.5), 0.0), (ReGEC(alpha=0.5, regularization="ridge"), 0.5)]
)
def test_planes_are_those_of_the_definition(rng, by_products, model, below, k):
    X, y = words(rng, k=k)
    model.fit(X, y)
    N = np.column_stack([X.toarray(), np.ones(len(y))])
    for c in range(k):
        own, rest = N[y == c], N[y != c]
        B = own.T @ own + 0.5 * np.eye(121)
        values, vectors = sla.eigh(rest.T @ rest + below * np.eye(121), B)
        plane = np.append(model.coef_[c], model.intercept_[c])
        best = vectors[:, -1] / np.linalg.norm(vectors[:-1, -1])
        assert abs(plane @ best) / (best @ best) == pytest.approx(1, abs=1e-3)
        assert model.eigenvalues_[c] == pytest.approx(1 / values[-1], rel=1e-4)


def test_weights_and_the_ridge_by_itself(rng, by_products):
    X, y = words(rng)
    weight = rng.integers(1, 3, len(y))
    a = ReGEC(alpha=0.5).fit(X, y, sample_weight=weight)
    b = ReGEC(alpha=0.5, regularization="ridge").fit(
        sparse.csr_array(X.toarray().repeat(weight, axis=0)), y.repeat(weight)
    )
    np.testing.assert_allclose(a.distances(X), b.distances(X), atol=1e-3)
    assert a.score(X, y) > 0.9


def test_what_is_singular_is_refused_and_what_is_inexact_is_told(rng, by_products, monkeypatch):
    X, y = words(rng)
    with pytest.raises(ValueError, match="alpha=0 leaves the problem singular"):
        ReGEC(alpha=0).fit(X, y)
    with pytest.raises(ValueError, match="give alpha > 0 and regularization='ridge'"):
        ReGEC(regularization="exchange").fit(X, y)
    with pytest.raises(ValueError, match="alpha=0 leaves the problem singular"):
        GEPSVM(alpha=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GEPSVM(alpha=1.0).fit(X, y)
    monkeypatch.setattr(large_planes, "STEPS", 5)
    told = r"after 5 steps .* mean squared length of a row, [0-9.]+: try values from"
    with pytest.warns(ConvergenceWarning, match=told):
        ReGEC().fit(X, y)
