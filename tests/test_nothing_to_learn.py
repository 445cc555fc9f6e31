"""Whether there is anything to learn is decided before solving, and relative to the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import eigenkit as ek

SUPERVISED: dict[str, Callable[[], Any]] = {
    "CCA": ek.CCA,
    "CCA alpha=0": lambda: ek.CCA(alpha=0),
    "CCA alpha_y": lambda: ek.CCA(alpha_y=1.0),
    "OrthonormalizedPLS": ek.OrthonormalizedPLS,
    "CanonicalRidge": ek.CanonicalRidge,
    "CanonicalRidge gamma_x=1": lambda: ek.CanonicalRidge(gamma_x=1),
    "CanonicalRidge corners": lambda: ek.CanonicalRidge(gamma_x=0, gamma_y=0),
    "SparseCCA": ek.SparseCCA,
    "KernelCCA": ek.KernelCCA,
    "KernelOrthonormalizedPLS": ek.KernelOrthonormalizedPLS,
    "KernelPLS": ek.KernelPLS,
    "KernelPLS landmarks": lambda: ek.KernelPLS(approximation="cholesky", n_landmarks=8),
    "MultipleKernelProjection": lambda: ek.MultipleKernelProjection(estimator=ek.KernelCCA()),
    "PLSRegression": ek.PLSRegression,
    "PLSRegression nipals": lambda: ek.PLSRegression(algorithm="nipals"),
    "PLSCanonical": lambda: ek.PLSCanonical(1),
    "PLSSVD": lambda: ek.PLSSVD(1),
    "SIMPLS": ek.SIMPLS,
    "PLSRegressionCV": ek.PLSRegressionCV,
    "ShrinkageRegression": ek.ShrinkageRegression,
}
BY_LABELS: dict[str, Callable[[], Any]] = {
    "star": lambda: ek.HypergraphSpectral(expansion="star"),
    "clique": lambda: ek.HypergraphSpectral(expansion="clique"),
    "zhou": lambda: ek.HypergraphSpectral(expansion="zhou"),
    "kernel star": ek.KernelHypergraphSpectral,
    "MultilabelLDA": ek.MultilabelLDA,
}
STREAMS = ("CCA", "CCA alpha=0", "OrthonormalizedPLS", "CanonicalRidge", "star", "clique", "zhou")
# The mean of so many equal numbers is not that number, on one processor or another.
SIZES = (40, 41, 301)
CONSTANTS = (1.0, 0.1, 1 / 3, -7.3e8, 1e-9)


def samples(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, 5))


def weights(n: int) -> list[np.ndarray | None]:
    return [None, np.random.default_rng(n).uniform(0.1, 3.0, n)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", SUPERVISED)
def test_constant_y_is_refused(name: str, n: int) -> None:
    for value in CONSTANTS:
        y = np.full(n, value)
        y[::3] *= 1 + 4e-16  # constant up to rounding
        for weight in weights(n):
            with pytest.raises(ValueError, match="y is constant"):
                SUPERVISED[name]().fit(samples(n), y, **_keyword(weight))


def _keyword(weight: np.ndarray | None) -> dict[str, Any]:
    return {} if weight is None else {"sample_weight": weight}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", BY_LABELS)
def test_one_label_set_for_all_is_refused(name: str, n: int) -> None:
    Y = np.tile([1.0, 0.0, 1.0], (n, 1))
    with pytest.raises(ValueError, match=r"y is constant|label"):
        BY_LABELS[name]().fit(samples(n), Y)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_of_constant_y_is_refused(name: str) -> None:
    model = {**SUPERVISED, **BY_LABELS}[name]()
    y = np.tile([1.0, 0.0, 1.0], (301, 1)) if name in BY_LABELS else np.full(301, 1 / 3)
    X = samples(301)
    for start in range(0, 301, 43):
        model.partial_fit(X[start : start + 43], y[start : start + 43])
    with pytest.raises(Exception, match="y is constant"):
        model.transform(X)


@pytest.mark.parametrize("name", ["PCA", *SUPERVISED, *BY_LABELS, "LDA", "MultiviewCCA"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "zero"])
def test_constant_X_is_refused(name: str, kind: str) -> None:
    n = 41
    X: Any = np.tile([0.1, 1 / 3, -7.3e8, 0.7], (n, 1))
    X[::3] *= 1 + 4e-16
    X = sparse.csr_array(X) if kind == "sparse" else X * (kind != "zero")
    rng = np.random.default_rng(0)
    y = (rng.random((n, 3)) < 0.5).astype(float) if name in BY_LABELS else rng.normal(size=n)
    y = np.arange(n) % 3 if name == "LDA" else y
    if "nipals" in name and kind == "sparse":
        return
    others = {"PCA": ek.PCA, "LDA": ek.LDA, "MultiviewCCA": ek.MultiviewCCA}
    model = {**SUPERVISED, **BY_LABELS, **others}[name]()
    with pytest.raises(ValueError, match=r"zero variance|constant over the samples|zero for every"):
        model.fit(X, y) if name not in ("PCA", "MultiviewCCA") else model.fit(X)


@pytest.mark.parametrize("name", ["PCA", *STREAMS])
def test_a_stream_of_constant_X_is_refused(name: str) -> None:
    X = np.tile([0.1, 1 / 3, -7.3e8], (301, 1))
    model = {**SUPERVISED, **BY_LABELS, "PCA": ek.PCA}[name]()
    Y = (np.random.default_rng(0).random((301, 3)) < 0.5).astype(float)
    for start in range(0, 301, 43):
        model.partial_fit(X[start : start + 43], Y[start : start + 43])
    with pytest.raises(Exception, match="X has zero variance"):
        model.transform(X)


@pytest.mark.parametrize("name", SUPERVISED)
def test_y_of_few_digits_is_not_constant(name: str) -> None:
    """What varies in the tenth digit is measured, and learned from."""
    X = samples(60)
    y = 1.0 + 1e-8 * X[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SUPERVISED[name]()
        if "n_components" in model.get_params():
            model.set_params(n_components=1)
        model.fit(X, y)


@pytest.mark.parametrize(
    "name", ["CCA alpha=0", "OrthonormalizedPLS", "CanonicalRidge", "KernelCCA"]
)
def test_a_response_far_from_zero_is_as_good_as_a_centred_one(name: str) -> None:
    X = samples(60)
    Y = X[:, :2] @ [[1.0, 0.5], [-0.3, 1.0]] + 0.1 * np.random.default_rng(1).normal(size=(60, 2))
    shifted = SUPERVISED[name]().fit(X, Y + 1e6)
    plain = SUPERVISED[name]().fit(X, (Y + 1e6) - 1e6)
    np.testing.assert_allclose(shifted.eigenvalues_, plain.eigenvalues_, rtol=1e-12)
