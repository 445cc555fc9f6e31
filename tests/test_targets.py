"""Every target against its definition written out with loops and full matrices."""

from __future__ import annotations

import numpy as np
import pytest

from eigenkit.targets import TARGETS, Labels


def _H(name, Y, weight=1.0):
    return TARGETS[name].rows(Y, Labels(Y.sum(axis=0), Y - Y.mean(axis=0), weight))


def _star(J, w):
    """S of the star expansion: a bipartite graph of samples and labels, normalized."""
    n, k = J.shape
    delta = J.sum(axis=0)
    A = np.zeros((n + k, n + k))
    for i in range(n):
        for j in range(k):
            if J[i, j]:
                A[i, n + j] = A[n + j, i] = w[j] / delta[j]
    degree = A.sum(axis=1)
    with np.errstate(divide="ignore"):
        root = np.where(degree > 0, degree**-0.5, 0.0)
    N = root[:, None] * A * root
    return N[:n, n:] @ N[:n, n:].T


def _clique(J, w):
    """S of the clique expansion, with the self-loops that make it positive semidefinite."""
    n, k = J.shape
    A = np.zeros((n, n))
    degree = np.zeros(n)
    for j in range(k):
        members = np.flatnonzero(J[:, j])
        for u in members:
            for v in members:
                A[u, v] += w[j]
                degree[u] += w[j] if u != v else 0.0
    with np.errstate(divide="ignore"):
        root = np.where(degree > 0, degree**-0.5, 0.0)
    return root[:, None] * A * root


def _zhou(J, w):
    n = len(J)
    degree = J @ w
    delta = J.sum(axis=0)
    Theta = np.zeros((n, n))
    for j in range(J.shape[1]):
        if delta[j]:
            Theta += w[j] / delta[j] * np.outer(J[:, j], J[:, j])
    with np.errstate(divide="ignore"):
        root = np.where(degree > 0, degree**-0.5, 0.0)
    return root[:, None] * Theta * root


NAIVE = {"star": _star, "clique": _clique, "zhou": _zhou}


@pytest.mark.parametrize("name", NAIVE)
@pytest.mark.parametrize("weighted", [False, True])
def test_similarity_of_the_laplacian(name, weighted, rng):
    J = (rng.random((20, 5)) < 0.3).astype(float)
    J[3] = 0.0  # a sample without labels
    J[:, 4] = 0.0  # a label without samples
    J[:, 3] = 0.0
    J[7, 3] = 1.0  # a label with one sample
    w = rng.random(5) + 0.5 if weighted else np.ones(5)
    H = _H(name, J, w)
    np.testing.assert_allclose(H @ H.T, NAIVE[name](J, w), atol=1e-14)
    assert np.linalg.eigvalsh(H @ H.T).min() > -1e-12


def test_same_labels_same_row(rng):
    J = (rng.random((30, 4)) < 0.5).astype(float)
    for name in NAIVE:
        H = _H(name, J)
        for i in range(30):
            twins = np.flatnonzero((J[i] == J).all(axis=1))
            np.testing.assert_array_equal(H[twins], np.tile(H[i], (len(twins), 1)))


def test_whitened_labels_are_orthonormal_whatever_their_units(rng):
    Y = rng.normal(size=(40, 4)) * [1e-8, 1.0, 1e5, 1e12]
    H = _H("cca", Y - Y.mean(axis=0))
    np.testing.assert_allclose(H.T @ H, np.eye(4), atol=1e-12)
    collinear = np.column_stack([Y, Y[:, 1] * 2, np.ones(40)])
    twin = _H("cca", collinear - collinear.mean(axis=0))
    np.testing.assert_allclose(twin @ twin.T, H @ H.T, atol=1e-10)


def test_whitened_labels_keep_their_order_and_forget_their_units(rng):
    """H = Yc D^-1 R^(-1/2): of all whitened labels the closest to the labels themselves."""
    Y = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4))
    Y -= Y.mean(axis=0)
    H, order = _H("cca", Y), [2, 0, 3, 1]
    np.testing.assert_allclose(_H("cca", Y[:, order]), H[:, order], atol=1e-12)
    np.testing.assert_allclose(_H("cca", Y * [1e-9, 3.0, 1e150, 1e-150]), H, atol=1e-12)
    length = np.linalg.norm(Y, axis=0)
    values, V = np.linalg.eigh(Y.T @ Y / np.outer(length, length))
    np.testing.assert_allclose(H, Y / length @ (V / np.sqrt(values)) @ V.T, atol=1e-12)
    F, back = Labels(Y.sum(axis=0), Y).whiteners
    np.testing.assert_allclose(Y @ F @ back, Y, atol=1e-12)


def test_classes_are_scaled_to_unit_length(rng):
    J = np.eye(3)[rng.integers(0, 3, 50)]
    np.testing.assert_allclose((_H("lda", J) ** 2).sum(axis=0), 1.0)


def test_nonlinear_targets_say_so(rng):
    J = (rng.random((12, 3)) < 0.6).astype(float)
    for name, target in TARGETS.items():
        labels = Labels(J.sum(axis=0), J - J.mean(axis=0))
        if target.linear:
            G = target.local(J, 1.0)
            matrix = target.finish(np.eye(3), labels)
            np.testing.assert_allclose(target.rows(J, labels), G @ matrix, atol=1e-12)
            np.testing.assert_array_equal(target.local(J[:5], 1.0), G[:5])  # each by itself
        else:
            assert name in NAIVE
