"""Kernel functions, centring, checks and landmarks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels

from eigenkit.data import CenteredKernel
from eigenkit.estimators._kernel_space import FeatureRows
from eigenkit.kernels import (
    KERNELS,
    Kernel,
    check_positive,
    checked_kernel,
    landmark_map,
    pivots,
)


def _samples(n: int = 30, d: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def test_the_kernels_are_those_of_scikit_learn():
    assert sorted(KERNEL_PARAMS) == list(KERNELS)


@pytest.mark.parametrize("name", KERNELS)
def test_named_kernels_are_those_of_scikit_learn(name: str) -> None:
    X, Z = np.abs(_samples()), np.abs(_samples(7, seed=1))
    kernel = Kernel(name, gamma=0.3, degree=2, coef0=0.5)
    theirs = pairwise_kernels(X, Z, metric=name, filter_params=True, gamma=0.3, degree=2, coef0=0.5)
    np.testing.assert_allclose(kernel(X, Z), theirs, rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), kernel(X).diagonal(), rtol=1e-12)


def test_columns_restrict_a_kernel_and_fitted_gamma_follows_them() -> None:
    X = _samples()
    part = Kernel("rbf", columns=slice(1, 3)).fitted(X)
    assert part.gamma == 0.5
    np.testing.assert_allclose(part(X), Kernel("rbf", gamma=0.5)(X[:, 1:3]), rtol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_gamma_scale_is_that_of_svc(make: object) -> None:
    X = _samples()
    X[X < 0.3] = 0.0
    gamma = Kernel("rbf", "scale").fitted(make(X)).gamma  # type: ignore[operator]
    np.testing.assert_allclose(gamma, 1 / (X.shape[1] * X.var()), rtol=1e-12)


def test_gamma_scale_with_weights_equals_repeated_rows() -> None:
    X, weight = _samples(), np.random.default_rng(2).integers(1, 4, 30)
    weighted = Kernel("rbf", "scale").fitted(X, weight.astype(float)).gamma
    repeated = Kernel("rbf", "scale").fitted(np.repeat(X, weight, axis=0)).gamma
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


def test_a_large_offset_costs_the_fitted_gaussian_kernel_nothing() -> None:
    X = _samples()
    near, far = Kernel("rbf", 0.2).fitted(X), Kernel("rbf", 0.2).fitted(X + 2.0**30)
    np.testing.assert_allclose(far(X + 2.0**30), near(X), atol=1e-6)


def test_combined_kernel_is_the_weighted_sum() -> None:
    X, Z = _samples(), _samples(5, seed=3)
    one, two = Kernel("linear"), Kernel("rbf", gamma=0.1)
    mixed = FeatureRows(X).combined((one, two), np.array([2.0, 0.5]), Z)
    np.testing.assert_allclose(mixed, 2 * one(X, Z) + 0.5 * two(X, Z))


# -- centring ---------------------------------------------------------------------------


@given(seed=st.integers(0, 1000), offset=st.sampled_from([0.0, 1.0, 1e3]), weighted=st.booleans())
@settings(max_examples=25, deadline=None)
def test_centred_linear_kernel_is_that_of_centred_features(
    seed: int, offset: float, weighted: bool
) -> None:
    X = _samples(12, 3, seed) + offset
    weight = np.random.default_rng(seed).uniform(0.5, 3, 12) if weighted else None
    w = np.ones(12) if weight is None else weight
    Z = np.sqrt(w)[:, None] * (X - w @ X / w.sum())
    centred = CenteredKernel(X @ X.T, weight)
    np.testing.assert_allclose(centred.K, Z @ Z.T, atol=1e-13 * max(1.0, offset) ** 2 * 50)
    np.testing.assert_allclose(centred.mean, (w @ X / w.sum()) @ X.T, rtol=1e-10, atol=1e-13)


def test_spectrum_rebuilds_the_kernel_without_its_null_space() -> None:
    X = _samples(20, 3)
    Z = CenteredKernel(X @ X.T)
    V, s, _ = Z.triplets()
    assert len(s) == 3
    np.testing.assert_allclose((V * s**2) @ V.T, Z.K, atol=1e-12)


def test_numbers_of_any_size_are_brought_into_range() -> None:
    K = _samples(8, 8) @ _samples(8, 8).T
    tiny, plain = CenteredKernel(K * 2.0**-900), CenteredKernel(K)
    V = _samples(8, 2, seed=4)
    expected = plain.to_X(V) * 2.0**-900
    assert np.isfinite(np.linalg.norm(tiny.K @ tiny.K))
    np.testing.assert_allclose(
        tiny.to_X(V) / tiny.unit, expected / plain.unit * 2.0**900, rtol=1e-12
    )


def test_overwriting_needs_permission() -> None:
    K = _samples(6, 6) @ _samples(6, 6).T
    before = K.copy()
    CenteredKernel(K)
    np.testing.assert_array_equal(K, before)


# -- checks -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((3, 4)), r"kernel has shape \(3, 4\): give the square matrix"),
        (np.zeros((3, 3)), "kernel is zero for every pair of samples"),
        (np.triu(np.ones((3, 3))), "kernel is not symmetric .entries differ by 1 from"),
        (np.full((2, 2), np.nan), "kernel contains NaN"),
        (np.full((2, 2), np.inf), "kernel contains infinity"),
    ],
)
def test_what_is_no_kernel_matrix_is_refused(K: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked_kernel(K)


def test_rounding_of_symmetry_is_repaired() -> None:
    K = _samples(5, 5) @ _samples(5, 5).T
    K[0, 1] += 1e-12
    checked = checked_kernel(K)
    np.testing.assert_allclose(checked, checked.T, rtol=1e-15)


def test_negative_eigenvalues_are_refused_and_rounding_is_not() -> None:
    U = np.linalg.qr(_samples(6, 6))[0]
    with pytest.raises(ValueError, match=r"eigenvalues run from -0.1 to 6\): use another kernel"):
        check_positive((U * [6, 5, 4, 3, 2, -0.1]) @ U.T)
    check_positive((U * [6, 5, 4, 3, 0, -1e-12]) @ U.T)


# -- landmarks --------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 4, 32])
def test_as_many_pivots_as_the_rank_rebuild_the_kernel(block: int) -> None:
    X = _samples(50, 6)
    K = X @ X.T
    index = pivots(lambda j: K[:, j], K.diagonal(), 20, block=block)
    assert len(index) == len(set(index.tolist())) == 6
    F = K[:, index] @ landmark_map(K[np.ix_(index, index)])
    np.testing.assert_allclose(F @ F.T, K, atol=1e-10)


def test_single_pivots_are_the_greedy_ones() -> None:
    K = Kernel("rbf", gamma=0.2)(_samples(25, 3))
    index = pivots(lambda j: K[:, j], K.diagonal(), 8, block=1)
    for j in range(1, 8):
        done = index[:j]
        F = K[:, done] @ landmark_map(K[np.ix_(done, done)])
        residual = K.diagonal() - np.sum(F * F, axis=1)
        np.testing.assert_allclose(residual[index[j]], residual.max(), rtol=1e-8)


def test_blocks_of_pivots_are_nearly_as_good_as_single_ones() -> None:
    K = Kernel("rbf", gamma=0.3)(_samples(200, 3))

    def missed(block: int) -> float:
        index = pivots(lambda j: K[:, j], K.diagonal(), 40, block=block)
        F = K[:, index] @ landmark_map(K[np.ix_(index, index)])
        return float(np.trace(K) - np.sum(F * F))

    assert missed(32) <= 1.5 * missed(1)
    assert missed(1) < 0.2 * np.trace(K)


def test_duplicated_samples_are_taken_once() -> None:
    X = np.repeat(_samples(10, 3), 3, axis=0)
    K = Kernel("rbf", gamma=0.3)(X)
    assert len(pivots(lambda j: K[:, j], K.diagonal(), 30)) == 10


def test_landmarks_of_an_indefinite_kernel_are_refused() -> None:
    with pytest.raises(ValueError, match="kernel is not positive semidefinite"):
        landmark_map(np.diag([1.0, -0.5]))
