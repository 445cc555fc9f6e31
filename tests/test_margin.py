"""The linear SVM by Newton's method: optimality, and scikit-learn's answer."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from eigenkit.solvers import margin
from eigenkit.solvers.margin import squared_hinge


def problem(n: int, l: int, share: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + l)
    Z = rng.normal(size=(n, l))
    s = Z @ rng.normal(size=(l, 3)) / np.sqrt(l) + noise * rng.normal(size=(n, 3))
    return Z, (s > np.quantile(s, 1 - share, axis=0)).astype(float)


CASES = [(200, 5, 0.3, 0.7), (200, 5, 0.02, 0.7), (30, 40, 0.5, 0.7), (100, 3, 0.5, 0.0)]


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("case", CASES)
def test_the_gradient_vanishes(case: tuple, C: float) -> None:
    Z, Y = problem(*case)
    coef, intercept = squared_hinge(Z, Y, C)
    sign = 2 * Y - 1
    gap = np.maximum(0.0, 1 - sign * (Z @ coef.T + intercept))
    pull = 2 * C * (sign * gap).T @ np.column_stack([Z, np.ones(len(Z))])
    w = np.column_stack([coef, intercept])
    np.testing.assert_allclose(w, pull, atol=1e-9 * np.abs(2 * C * Z).sum())


def test_what_is_rounding_is_relative_to_the_objective() -> None:
    """C may be tiny where scores are large: the first step is then not the last."""
    Z, Y = problem(200, 5, 0.3, 0.7)
    Z -= Z.mean(axis=0)
    coef, _ = squared_hinge(1e8 * Z, Y[:, :1], 1e-16)
    sign = 2 * Y[:, 0] - 1
    gap = np.maximum(0.0, 1 - sign * (1e8 * Z @ coef[0]))
    np.testing.assert_allclose(coef[0], 2e-16 * (1e8 * Z).T @ (sign * gap), rtol=1e-6)
    assert np.any(gap == 0)


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_machine_of_scikit_learn(case: tuple) -> None:
    Z, Y = problem(*case)
    coef, intercept = squared_hinge(Z, Y)
    for y, w, b in zip(Y.T, coef, intercept, strict=True):
        theirs = LinearSVC(tol=1e-9, max_iter=10**6).fit(Z, y)
        np.testing.assert_allclose(w, theirs.coef_[0], atol=1e-5 * np.abs(w).max())
        np.testing.assert_allclose(b, theirs.intercept_[0], atol=1e-5)


def test_columns_of_zeros_and_one_column_for_all() -> None:
    Z, Y = problem(50, 4, 0.4, 0.5)
    Z[:, 1] = 0.0
    coef, _ = squared_hinge(Z, Y)
    assert np.all(coef[:, 1] == 0)
    assert np.isfinite(coef).all()


def test_small_products_keep_blas_to_one_thread(monkeypatch):
    from threadpoolctl import threadpool_info, threadpool_limits

    seen = []
    real = margin._plane

    def plane(*arguments):
        found = [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]
        seen.append(max(found))
        return real(*arguments)

    monkeypatch.setattr(margin, "_plane", plane)
    with threadpool_limits(2, user_api="blas"):
        squared_hinge(np.arange(6.0)[:, None], np.arange(6)[:, None] > 2)
    assert seen == [1]


def test_labels_with_one_answer_need_no_plane() -> None:
    Z, Y = problem(50, 4, 0.4, 0.5)
    coef, intercept = squared_hinge(Z, np.column_stack([np.zeros(50), Y[:, :1], np.ones(50)]))
    np.testing.assert_array_equal(coef[[0, 2]], 0.0)
    np.testing.assert_array_equal(intercept[[0, 2]], [-0.5, 0.5])
    np.testing.assert_array_equal(coef[1], squared_hinge(Z, Y[:, :1])[0][0])
