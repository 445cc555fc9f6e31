"""Large means, hidden ones too, and columns of extreme size cost no digits, dense or sparse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import eigenkit as ek
from conftest import dense, some_of
from eigenkit.data import Centered, project, shifted
from eigenkit.exceptions import DegenerateDataWarning

N = 240


def _models() -> dict[str, tuple[Any, str]]:
    return {
        "CCA": (lambda: ek.CCA(), "responses"),
        "CCA alpha=0": (lambda: ek.CCA(alpha=0), "responses"),
        "CCA direct": (lambda: ek.CCA(solver="direct"), "responses"),
        "CCA dual": (lambda: ek.CCA(regression="dual_cholesky"), "responses"),
        "CCA cg": (lambda: ek.CCA(regression="cg"), "responses"),
        "CCA lsqr": (lambda: ek.CCA(regression="lsqr"), "responses"),
        "CanonicalRidge": (lambda: ek.CanonicalRidge(gamma_x=1.0), "responses"),
        "OrthonormalizedPLS": (lambda: ek.OrthonormalizedPLS(), "responses"),
        "LDA": (lambda: ek.LDA(), "classes"),
        "star": (lambda: ek.HypergraphSpectral(), "labels"),
        "PCA": (lambda: ek.PCA(3), "responses"),
        "PCA lanczos": (lambda: ek.PCA(1, solver="lanczos"), "responses"),
        "PLSRegression": (lambda: ek.PLSRegression(2), "responses"),
        "PLSCanonical": (lambda: ek.PLSCanonical(2), "responses"),
        "PLSDA": (lambda: ek.PLSDA(2), "classes"),
        "SIMPLS": (lambda: ek.SIMPLS(2), "responses"),
        "SparseCCA": (lambda: ek.SparseCCA(1), "responses"),
        "ShrinkageRegression": (lambda: ek.ShrinkageRegression(), "one"),
        "KernelCCA": (lambda: ek.KernelCCA(2), "responses"),
        "KernelLDA": (lambda: ek.KernelLDA(), "classes"),
        "KernelLDA linear": (lambda: ek.KernelLDA(kernel="linear"), "classes"),
        "KernelPLS": (lambda: ek.KernelPLS(2, approximation="cholesky"), "responses"),
        "KernelPCA": (lambda: ek.KernelPCA(2, kernel="rbf"), "responses"),
    }


MODELS = _models()


def _data(offset: float) -> tuple[np.ndarray, dict[str, Any]]:
    rng = np.random.default_rng(9)
    J = (rng.random((N, 3)) < 0.4).astype(float)
    # Numbers with few digits: adding the offset rounds nothing.
    X = np.round((rng.normal(size=(N, 6)) * [1, 2, 1, 3, 1, 1] + J @ rng.normal(size=(3, 6))) * 64)
    X = X / 64
    X[:, 4:] *= rng.random((N, 2)) < 0.4
    y = X[:, :2] + 0.3 * rng.normal(size=(N, 2))
    moved = X + offset * np.array([1.0, -1.0, 1.0, 0.5, 0.0, 0.0])
    moved[3, 3] = 0.0 if offset == 0 else moved[3, 3]
    return moved, {"responses": y, "labels": J, "classes": np.argmax(X[:, :3], 1), "one": y[:, 0]}


def _outputs(name: str, X: Any) -> tuple[np.ndarray, np.ndarray]:
    make, labels = MODELS[name]
    y = _data(0.0)[1][labels]
    model = make().fit(X, y)
    scores = model.predict(X) if labels == "one" else model.transform(X)
    return np.asarray(scores), np.asarray(scores)


@pytest.mark.parametrize(("name", "offset"), some_of(MODELS, [1e5, 1e6, 1e8]))
def test_sparse_data_far_from_zero(name: str, offset: float) -> None:
    X, _ = _data(offset)
    plain = X - offset * np.array([1.0, -1.0, 1.0, 0.5, 0.0, 0.0])
    expected, _ = _outputs(name, plain)
    for kind in (sparse.csr_array(X), X):
        found, _ = _outputs(name, kind)
        tol = 1e-6 * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=tol)


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_columns_with_a_few_gaps(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    X = np.round(64 * rng.normal(size=(3000, 4))) / 64 + 2.0**30
    X[rng.integers(0, 3000, 5), 1] = 0.0
    X[:, 3] *= rng.random(3000) < 0.3
    weight = rng.uniform(0.5, 2.0, 3000) if weighted else None
    a, b = Centered(X, weight), Centered(sparse.csr_array(X), weight)
    V, U = rng.normal(size=(4, 2)), rng.normal(size=(3000, 2))
    np.testing.assert_allclose(b.mean, a.mean, rtol=1e-14)
    for mine, theirs in [
        (b.gram(), a.gram()),
        (b.matmat(V), a.matmat(V)),
        (b.rmatmat(U), a.rmatmat(U)),
        (b.toarray(), a.toarray()),
        (b.column_squares(), a.column_squares()),
    ]:
        size = np.sqrt(np.abs(theirs.T @ theirs)).max() if theirs.ndim > 1 else theirs.max()
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-13 * size)


def test_the_shift_of_sparse_columns_is_that_of_dense_ones() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 3)) + 5.0
    X[7, 0] = X[3, 1] = 0.0
    shift = np.array([4.0, 0.0, 5.0])
    np.testing.assert_array_equal(dense(shifted(sparse.csr_array(X), shift)), X - shift)
    W = rng.normal(size=(3, 2))
    np.testing.assert_allclose(project(sparse.csr_array(X), shift, W), (X - shift) @ W, atol=1e-13)


@pytest.mark.parametrize("size", [1e-170, 1e170, 1e-80])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", ["CCA alpha=0", "LDA", "star", "PLSRegression"])
def test_one_column_of_extreme_size_counts_like_the_others(
    name: str, kind: str, size: float
) -> None:
    X, _ = _data(0.0)
    if name in ("LDA", "star"):  # their default ridge depends on the units of X
        MODELS[f"{name} alpha=0"] = (
            (lambda: ek.LDA(alpha=0), "classes")
            if name == "LDA"
            else (lambda: ek.HypergraphSpectral(alpha=0), "labels")
        )
        name = f"{name} alpha=0"
    expected, _ = _outputs(name, X)
    scaled: Any = X * [1.0, size, 1.0, 1.0, 1.0, 1.0]
    scaled = sparse.csr_array(scaled) if kind == "sparse" else scaled
    found, _ = _outputs(name, scaled)
    sign = np.sign(np.sum(found * expected, axis=0))
    np.testing.assert_allclose(found * sign, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("hide", ["rows", "weights"])
@pytest.mark.parametrize("name", ["CCA", "PCA", "LDA"])
def test_offsets_and_sizes_hidden_from_a_sample_of_rows(name: str, hide: str) -> None:
    rng = np.random.default_rng(3)
    n = 5000
    X = np.round(64 * rng.normal(size=(n, 3))) / 64
    y = {"CCA": X[:, :2] + rng.normal(size=(n, 2)), "LDA": np.argmax(X, axis=1)}.get(name)
    weight = None
    moved = X + 2.0**27
    looked_at = np.unique(np.linspace(0, n - 1, 100).astype(int))
    if hide == "weights":  # rows that hardly count hide how small the spread of the others is
        X, moved = X.copy(), moved.copy()
        weight = np.ones(n)
        weight[looked_at] = 1e-12
        X[looked_at] *= 2.0**20
        moved[looked_at] = X[looked_at] + 2.0**27
    else:
        X[looked_at] = moved[looked_at] = 0.0
        moved[looked_at] += 2.0**27
        X[looked_at[::2]] += 1.0
        moved[looked_at[::2]] += 1.0
    make = {"CCA": ek.CCA, "PCA": ek.PCA, "LDA": ek.LDA}[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = make().fit(X, y, sample_weight=weight)
        b = make().fit(moved, y, sample_weight=weight)
    np.testing.assert_allclose(b.components_, a.components_, rtol=1e-7, atol=1e-9)


def test_huge_rows_hidden_from_a_sample_of_rows() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5000, 3))
    X[1], X[3] = 1e200, -1e200  # their mean cancels
    y = X[:, :1] / 1e200 + rng.normal(size=(5000, 1))
    model = ek.CCA(1, alpha=0).fit(X, y)
    expected = ek.CCA(1, alpha=0).fit(X / 1e200, y)
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-8)


# -- features that are lost beside others ------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("make", [ek.PCA, lambda: ek.ShrinkageRegression("ols")])
def test_a_feature_that_is_lost_beside_the_others_is_named(make, offset, rng):
    """It varies, and singular directions of all features together say nothing of it."""
    X = rng.normal(size=(50, 5)) + offset
    X[:, 4] = X[:, 0] - X[:, 1]  # one that follows from others is not lost
    y = rng.normal(size=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit(X, y)
    X[:, 2] = 1e-25 * rng.normal(size=50)
    with pytest.warns(DegenerateDataWarning, match=r"1 of 5 features .* \(the first has index 2\)"):
        make().fit(X, y)
