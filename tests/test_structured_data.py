"""Data with a pattern: tied eigenvalues, nothing shared with y, columns of unequal units."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import hadamard
from sklearn.base import is_classifier, is_regressor

import eigenkit as ek
from conftest import some_of
from eigenkit.estimators.many_labels import best_thresholds
from eigenkit.numerics.linalg import eigenpairs
from test_contract import ESTIMATORS, default

N = 32
ANGLES = 2 * np.pi * np.arange(N) / N
PATTERNS: dict[str, np.ndarray] = {
    "identity": np.eye(N),
    "two points": np.repeat(np.eye(2), N // 2, axis=0),
    "simplex": np.tile(np.eye(4), (N // 4, 1)),
    "circle": np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]),
    "orthogonal": hadamard(N)[:, :4].astype(float),
    "four points": np.repeat(hadamard(4)[:, 1:].astype(float), N // 4, axis=0),
    "one row differs": np.eye(1, N).T * np.ones(3),
}
SIGNS = hadamard(N)[:, 1:5].astype(float)  # uncorrelated with most of these


def _responses(model: Any) -> list[Any]:
    if type(model).__name__ == "ShrinkageRegression":
        return [SIGNS[:, 0], np.eye(N)[0]]
    if is_regressor(model) and not is_classifier(model):
        return [SIGNS, np.eye(N)[:, :4]]
    return [np.arange(N) % 2, np.arange(N) % 3]


def _smaller(model: Any) -> Any:
    """With one component where a number is asked for: these data have few."""
    return model.set_params(n_components=1) if "n_components" in model.get_params() else model


def _fitted(model: Any, X: np.ndarray, y: Any) -> Any:
    """The model, None where it refuses the data in words of ours (or scikit-learn's)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, y)
    except (ValueError, TypeError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        if "sklearn" in last.filename or "raise" in (last.line or ""):
            return None
        raise


@pytest.mark.parametrize(("cls", "name"), some_of(ESTIMATORS, PATTERNS, every=3))
def test_patterns_are_learned_or_refused(cls: type, name: str) -> None:
    for y in _responses(default(cls)):
        for kind in (np.asarray, np.float32):
            X = kind(PATTERNS[name])
            model = _fitted(_smaller(default(cls)), X, y)
            for result in ("transform", "predict", "intercept_", "labels_"):
                found = getattr(model, result, None)
                found = found(X) if callable(found) else found
                if found is not None and np.asarray(found).dtype.kind == "f":
                    assert np.all(np.isfinite(found)), (name, result)


@pytest.mark.parametrize("n", [8, 12, 20, 32, 33])
def test_tied_eigenvalues_are_all_found(n: int) -> None:
    """LAPACK's solver for a few returns none of them for some sizes, and no error."""
    centring = np.eye(n) - 1 / n
    for k in (1, 2):
        values, V = eigenpairs(centring, k)
        np.testing.assert_allclose(values, np.ones(k))
        np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-14)
        np.testing.assert_allclose(centring @ V, V, atol=1e-14)


@pytest.mark.parametrize("make", [ek.PCA, ek.KernelPCA], ids=lambda make: make.__name__)
def test_components_of_equal_variance(make: Callable[..., Any]) -> None:
    scores = make(1).fit_transform(np.eye(N))
    assert np.sum(scores**2) == pytest.approx(1.0)


def test_labels_without_a_vote_have_the_usual_threshold() -> None:
    nobody = sparse.csc_array((5, 3))
    found = best_thresholds(sparse.csc_array(np.eye(5, 3)), nobody)
    np.testing.assert_array_equal(found, np.full(3, 0.5))


@pytest.mark.parametrize("target", ["lda", "cca", "opls"])
def test_least_squares_of_a_y_that_x_says_nothing_of(target: str) -> None:
    X = PATTERNS["two points"]
    y = np.arange(N) % 2 if target == "lda" else SIGNS[:, :1]
    model = ek.LeastSquaresProjection(target=target).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, 0.0)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-15)


# -- units -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [ek.ReGEC, lambda: ek.GEPSVM(alpha=0)], ids=["ReGEC", "GEPSVM"])
def test_planes_in_single_precision_do_not_depend_on_the_largest_column(
    make: Callable[[], Any], rng: np.random.Generator
) -> None:
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + 2 * np.eye(3, 4)[y]
    X = (X * [1e4, 1.0, 1e-3, 1e-4]).astype(np.float32)
    exact, model = make().fit(X.astype(float), y), make().fit(X, y)
    np.testing.assert_allclose(model.distances(X), exact.distances(X.astype(float)), rtol=2e-2)
    np.testing.assert_array_equal(model.predict(X), exact.predict(X))
    held = sparse.csr_array(X)
    np.testing.assert_allclose(model.distances(held), model.distances(X), rtol=1e-3)


@pytest.mark.parametrize("with_y", [False, True])
def test_rgcca_for_correlations_does_not_depend_on_units(
    with_y: bool, rng: np.random.Generator
) -> None:
    shared = rng.normal(size=(60, 2))
    X = shared @ rng.normal(size=(2, 7)) + rng.normal(size=(60, 7))
    Y = shared + rng.normal(size=(60, 2)) if with_y else None
    units, y_units = 2.0 ** np.linspace(-60, 60, 7), np.array([2.0**-40, 2.0**40])
    model = ek.RGCCA(2, tau=0, groups=[0, 1, 0, 1, 0, 1, 0])
    scores = model.fit_transform(X, Y)
    other = model.fit_transform(X * units, Y if Y is None else Y * y_units)
    np.testing.assert_allclose(np.abs(other), np.abs(scores), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("make", [ek.PLSRegression, ek.PLSSVD, ek.ProbabilisticCCA])
def test_weights_beside_which_one_is_nothing(make: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 4)), rng.normal(size=(40, 2))
    options = {"alpha": 0.0} if make is ek.ProbabilisticCCA else {}
    heavy = make(1, **options).fit(X, Y, sample_weight=np.full(40, 2.0**70)).transform(X)
    plain = make(1, **options).fit(X, Y).transform(X)
    assert abs(np.corrcoef(heavy[:, 0], plain[:, 0])[0, 1]) == pytest.approx(1.0)
