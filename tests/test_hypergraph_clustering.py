"""Clusters of a hypergraph: its Laplacians written out, planted clusters, hostile input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from eigenkit import HypergraphClustering, HypergraphSpectral
from eigenkit.estimators.hypergraph import EXPANSIONS, PLAIN
from eigenkit.targets import TARGETS, Labels

EACH = pytest.mark.parametrize("expansion", EXPANSIONS)


def planted(rng, n=90, m=120):
    """Three groups; an edge joins some of one group, and sometimes one from elsewhere."""
    groups, J = np.arange(n) % 3, np.zeros((n, m))
    for j in range(m):
        J[rng.choice(np.flatnonzero(groups == j % 3), 6, replace=False), j] = 1
        if rng.random() < 0.3:
            J[rng.integers(n), j] = 1
    return J, groups


def laplacian(J, w, expansion):
    """From the papers that define them, vertex by vertex."""
    delta = J.sum(axis=0)
    if expansion == "bolla":
        return np.diag(J @ w) - J @ np.diag(w / delta) @ J.T
    if expansion == "rodriguez":
        A = J @ np.diag(w) @ J.T
        A -= np.diag(np.diag(A))
        return np.diag(A.sum(axis=1)) - A
    H = TARGETS[expansion].rows(J, Labels(delta, J, w))
    return np.eye(len(J)) - H @ H.T


@EACH
def test_embedding_solves_the_laplacian(expansion, rng):
    J, _ = planted(rng)
    w = rng.random(120) + 0.5
    model = HypergraphClustering(3, expansion=expansion, edge_weights=w, random_state=0).fit(J)
    L = laplacian(J, w, expansion)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(L)[:3], atol=1e-10)
    if expansion in ("bolla", "rodriguez"):
        residual = L @ model.embedding_ - model.embedding_ * model.eigenvalues_
        np.testing.assert_allclose(residual, 0.0, atol=1e-9)


@EACH
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_planted_groups_are_found(expansion, kind, rng):
    J, groups = planted(rng)
    labels = HypergraphClustering(3, expansion=expansion, random_state=0).fit_predict(kind(J))
    assert adjusted_rand_score(groups, labels) > 0.9


def test_many_vertices_by_lanczos(rng, monkeypatch):
    J, _ = planted(rng)
    whole = HypergraphClustering(3, random_state=0).fit(J)
    monkeypatch.setattr("eigenkit.estimators.hypergraph.DENSE_ORDER", 10)
    steps = HypergraphClustering(3, random_state=0).fit(sparse.csr_array(J))
    np.testing.assert_allclose(steps.eigenvalues_, whole.eigenvalues_, atol=1e-10)
    assert adjusted_rand_score(steps.labels_, whole.labels_) == 1.0


@pytest.mark.parametrize("expansion", ["bolla", "rodriguez"])
def test_projections_take_the_same_similarities(expansion, rng):
    J, _ = planted(rng, m=6)
    X = rng.normal(size=(90, 4)) + J[:, :4]
    model = HypergraphSpectral(expansion=expansion, alpha=0.5).fit(X, J)
    Xc = X - X.mean(axis=0)
    S = J @ np.diag(1 / J.sum(axis=0) if expansion == "bolla" else np.ones(6)) @ J.T
    B = Xc.T @ Xc + 0.5 * np.eye(4)
    W = model.components_.T
    np.testing.assert_allclose(W.T @ B @ W, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(Xc.T @ S @ Xc @ W, B @ W * model.eigenvalues_, atol=1e-8)


def test_vertices_and_edges_without_any(rng):
    J, _ = planted(rng)
    J[5], J[:, 7] = 0.0, 0.0
    for expansion in EXPANSIONS:
        model = HypergraphClustering(3, expansion=expansion, random_state=0).fit(J)
        assert np.all(np.isfinite(model.embedding_))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 is not valid"),
        ({"n_clusters": 99}, "n_clusters=99 exceeds 90, the vertices"),
        ({"expansion": "hyper"}, "expansion='hyper' is not known"),
        ({"edge_weights": [1.0]}, "give 120 positive numbers"),
        ({"edge_weights": np.zeros(120)}, "give 120 positive numbers"),
    ],
)
def test_parameters_are_checked(params, message, rng):
    with pytest.raises(ValueError, match=message):
        HypergraphClustering(**params).fit(planted(rng)[0])


@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_weights_are_copies_and_none_leaves_a_vertex_out(expansion, rng):
    J = (rng.random((12, 5)) < 0.4).astype(float)
    J[J.sum(axis=1) == 0, 0] = 1
    weight = np.r_[np.zeros(3), rng.integers(1, 4, 9)]
    model = HypergraphClustering(3, expansion=expansion, random_state=0)
    ours = clone(model).fit(J, sample_weight=weight)
    kept = weight > 0
    dropped = clone(model).fit(J[kept], sample_weight=weight[kept])
    np.testing.assert_allclose(ours.eigenvalues_, dropped.eigenvalues_, atol=1e-12)
    assert ours.labels_.shape == (12,)
    if expansion not in PLAIN:  # copies of one vertex can be told apart by a plain Laplacian
        copies = clone(model).fit(J[np.repeat(np.arange(12), weight.astype(int))])
        np.testing.assert_allclose(ours.eigenvalues_, copies.eigenvalues_, atol=1e-12)
