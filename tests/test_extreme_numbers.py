"""Numbers at the ends of floating point: a finite result, or a sentence of ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import eigenkit as ek
from eigenkit.exceptions import EigenkitWarning
from test_nothing_to_learn import SUPERVISED
from test_offsets_and_units import MODELS

N = 40
PLAIN = {name: make for name, make in SUPERVISED.items() if name != "PLSRegressionCV"}


def _fit(make: Any, X: Any, y: Any) -> tuple[str, Any]:
    """("V", outputs) or ("E", message); anything else is an error of the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", EigenkitWarning)
        try:
            model = make()
            if "n_components" in model.get_params():
                model.set_params(n_components=1)
            model.fit(X, y)
            method = model.transform if hasattr(model, "transform") else model.predict
            return "V", np.asarray(method(X), dtype=float)
        except ValueError as error:
            return "E", str(error)


OWN_WORDS = ("X", "y", "alpha", "kernel", "the ")


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-200, 1e200, 1.7e308])
@pytest.mark.parametrize("name", PLAIN)
def test_X_of_any_size(name: str, size: float, kind: str) -> None:
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(N, 3)) * rng.choice([0.5, 1.0], size=(N, 3))
    X: Any = signs * size if size > 1e-300 else np.sign(signs) * size * rng.integers(1, 4, (N, 3))
    if kind == "sparse":
        if "nipals" in name:
            return
        X = sparse.csr_array(X)
    _judge(*_fit(PLAIN[name], X, signs[:, 0] + 0.1 * rng.normal(size=N)))


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1.7e308])
@pytest.mark.parametrize("name", PLAIN)
def test_y_of_any_size(name: str, size: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y = np.sign(X[:, 0]) * rng.choice([0.5, 1.0], N) * size
    y = np.where(y == 0, size, y)
    _judge(*_fit(PLAIN[name], X, y))


def _judge(outcome: str, result: Any) -> None:
    if outcome == "V":
        assert np.isfinite(result).all()
    else:
        assert result.startswith(OWN_WORDS) or "n_components" in result, result
        assert "symmetric" not in result


@pytest.mark.parametrize("size", [1e3, 1e8, 1e150])
def test_a_gaussian_kernel_of_large_numbers_is_symmetric(size: float) -> None:
    rng = np.random.default_rng(1)
    X = size * (1 + 1e-3 * rng.normal(size=(30, 4)))
    y = rng.normal(size=30)
    for gamma in (None, 1.0):
        for weight in (None, rng.uniform(0.1, 2.0, 30)):
            ek.KernelCCA(gamma=gamma).fit(X, y, sample_weight=weight)
    K = ek.Kernel("rbf", gamma=1.0)(X)
    distance = ((X[:, None] / size - X[None] / size) ** 2).sum(axis=2)
    np.testing.assert_allclose(K, np.exp(-np.minimum(distance * size**2, 1e3)), atol=1e-8)


def test_the_plan_is_what_is_done() -> None:
    X = np.random.default_rng(2).normal(size=(60, 5))
    y = X[:, 0] + np.random.default_rng(3).normal(size=60)
    for name, (make, labels) in MODELS.items():
        model = make()
        if not hasattr(model, "plan") or labels != "responses":
            continue
        plan = model.plan(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EigenkitWarning)
            if "n_components" in model.get_params():
                model.set_params(n_components=1)
            model.fit(X, y)
        assert plan.regression == model.report_.regression, name
    assert ek.KernelPLS(1).plan(X, y).regression == ek.KernelPLS(1).fit(X, y).report_.regression


def test_one_feature_of_which_squares_overflow_is_the_only_component() -> None:
    X = np.random.default_rng(4).normal(size=(N, 3))
    X = np.hstack([X, 1e170 * X[:, :1] ** 2])
    with pytest.warns(EigenkitWarning, match="differ by 170 powers of ten"):
        model = ek.PCA().fit(X)
    assert model.n_components_ == 1
