"""Weights compare samples; their unit matters only where it is said to.

Integer weights count repetitions. All other weights say how much a row matters beside the
others: multiplied by any number they give the same model, with alpha multiplied likewise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier

import eigenkit as ek

N = 40
UNITS = (1e-3, 1 / 40, 7.3, 1e5)


def _data(labels: str) -> tuple[np.ndarray, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 4))
    J = (rng.random((N, 3)) < 0.5).astype(float)
    X[:, :3] += J
    Y = {"classes": np.argmax(J + 0.1 * rng.random(J.shape), axis=1), "labels": J}
    Y["responses"] = J + rng.normal(size=J.shape)
    return X, Y["responses"][:, 0] if labels == "response" else Y.get(labels, Y["responses"])


# name: (estimator for a unit of weights, the kind of y, what must not depend on the unit)
CASES: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "PCA": (
        lambda c: ek.PCA(),
        "none",
        ("components_", "mean_", "explained_variance_", "noise_variance_"),
    ),
    "PCA mle": (lambda c: ek.PCA(2, whiten=True), "none", ("components_", "explained_variance_")),
    "CCA": (lambda c: ek.CCA(alpha=c), "responses", ("eigenvalues_", "mean_", "coef_")),
    "CCA alpha=0": (lambda c: ek.CCA(alpha=0), "responses", ("eigenvalues_", "coef_")),
    "ProbabilisticCCA": (
        lambda c: ek.ProbabilisticCCA(2, alpha=c),
        "responses",
        ("canonical_correlations_", "x_loadings_", "x_noise_covariance_"),
    ),
    "CanonicalRidge": (
        lambda c: ek.CanonicalRidge(gamma_x=0, gamma_y=0),
        "responses",
        ("canonical_correlations_", "coef_"),
    ),
    "OrthonormalizedPLS": (
        lambda c: ek.OrthonormalizedPLS(alpha=c),
        "responses",
        ("coef_", "intercept_"),
    ),
    "LDA": (lambda c: ek.LDA(alpha=c), "classes", ("eigenvalues_", "coef_", "means_", "priors_")),
    "KernelLDA": (lambda c: ek.KernelLDA(alpha=c), "classes", ("eigenvalues_", "intercept_")),
    "KernelPCA": (lambda c: ek.KernelPCA(3), "none", ("explained_variance_ratio_",)),
    "star": (lambda c: _hypergraph("star", c), "labels", ("eigenvalues_", "mean_")),
    "clique": (lambda c: _hypergraph("clique", c), "labels", ("eigenvalues_", "mean_")),
    "zhou": (lambda c: _hypergraph("zhou", c), "labels", ("eigenvalues_", "mean_")),
    "PLSRegression": (
        lambda c: ek.PLSRegression(2),
        "responses",
        ("x_std_", "y_std_", "x_rotations_", "coef_"),
    ),
    "PLSRegression nipals": (
        lambda c: ek.PLSRegression(2, algorithm="nipals"),
        "responses",
        ("x_std_", "y_std_", "x_rotations_", "coef_"),
    ),
    "PLSRegressionCV": (
        lambda c: ek.PLSRegressionCV(3),
        "responses",
        ("x_std_", "y_std_", "coef_", "fold_errors_"),
    ),
    "PLSCanonical": (lambda c: ek.PLSCanonical(2), "responses", ("x_std_", "x_rotations_")),
    "PLSSVD": (lambda c: ek.PLSSVD(2), "responses", ("x_std_", "x_weights_")),
    "SIMPLS": (lambda c: ek.SIMPLS(2), "responses", ("x_std_", "coef_")),
    "PLSDA": (lambda c: ek.PLSDA(2), "classes", ("x_std_", "coef_")),
    "SparseCCA": (lambda c: ek.SparseCCA(2), "responses", ("canonical_correlations_",)),
}


def _hypergraph(expansion: str, alpha: float) -> Any:
    return ek.HypergraphSpectral(expansion=expansion, alpha=alpha)


def _fitted(name: str, unit: float, weight: np.ndarray) -> Any:
    make, labels, _ = CASES[name]
    X, y = _data(labels)
    model = make(unit)
    if labels == "none":
        return model.fit(X, sample_weight=unit * weight)
    return model.fit(X, y, sample_weight=unit * weight)


def _alike(name: str, other: Any, expected: Any) -> None:
    """Attributes of a case that two models must share."""
    for attribute in CASES[name][2]:
        found = np.asarray(getattr(expected, attribute))
        atol = 1e-10 * np.abs(found).max()
        np.testing.assert_allclose(
            getattr(other, attribute), found, rtol=1e-8, atol=atol, err_msg=attribute
        )


@pytest.mark.parametrize("name", CASES)
def test_the_unit_of_weights_does_not_matter(name: str) -> None:
    weight = np.random.default_rng(6).uniform(0.2, 2.0, N)
    plain = _fitted(name, 1.0, weight)
    for unit in UNITS:
        _alike(name, _fitted(name, unit, weight), plain)


@pytest.mark.parametrize("name", CASES)
def test_equal_weights_that_sum_to_one_are_no_weights(name: str) -> None:
    make, labels, _ = CASES[name]
    X, y = _data(labels)
    given = () if labels == "none" else (y,)
    other = make(1 / N).fit(X, *given, sample_weight=np.full(N, 1 / N))
    _alike(name, other, make(1.0).fit(X, *given))


@pytest.mark.parametrize("name", ["PCA", "PLSRegression", "PLSRegression nipals", "clique", "LDA"])
def test_integer_weights_are_repetitions(name: str) -> None:
    make, labels, _ = CASES[name]
    X, y = _data(labels)
    weight = np.random.default_rng(7).integers(0, 4, N)
    again = np.repeat(np.arange(N), weight)
    given, repeated = ((), ()) if labels == "none" else ((y,), (y[again],))
    weighted = make(1.0).fit(X, *given, sample_weight=weight)
    _alike(name, weighted, make(1.0).fit(X[again], *repeated))


@pytest.mark.parametrize("name", ["PCA", "clique", "LDA"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_stream_counts_as_fit_does(name: str, whole: bool) -> None:
    make, labels, _ = CASES[name]
    X, y = _data(labels)
    rng = np.random.default_rng(8)
    weight = rng.integers(1, 4, N) if whole else rng.uniform(0.001, 0.1, N)
    given = None if labels == "none" else y
    fitted, stream = make(1.0).fit(X, given, sample_weight=weight), make(1.0)
    for part in np.split(np.arange(N), 5):
        stream.partial_fit(X[part], None if given is None else given[part], weight[part])
    _alike(name, stream, fitted)


@pytest.mark.parametrize("model", [ek.LDA(), ek.PLSDA()], ids=["LDA", "PLSDA"])
def test_boosting(model: Any) -> None:
    X, y = load_iris(return_X_y=True)
    assert AdaBoostClassifier(model, n_estimators=5).fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("bad", ["masked", "complex", "tiny", "huge"])
def test_weights_that_are_none_are_refused(name: str, bad: str) -> None:
    weight: Any = {
        "masked": np.ma.masked_less(np.arange(1.0, N + 1), 4),
        "complex": np.ones(N) + 1j,
        "tiny": np.full(N, 1e-200),
        "huge": np.linspace(1e199, 1e200, N),
    }[bad]
    with pytest.raises(ValueError, match="sample_weight"):
        _fitted(name, 1.0, weight)


# Estimators that are no case above; all of them are fitted to rows of zero weight.
OTHERS: dict[str, tuple[Any, str]] = {
    "ReGEC": (ek.ReGEC(), "classes"),
    "ReGEC rbf": (ek.ReGEC(kernel="rbf", probability=True), "classes"),
    "GEPSVM": (ek.GEPSVM(), "classes"),
    "GraphRegularized": (ek.GraphRegularized(ek.LDA()), "classes"),
    "MultipleKernels": (
        ek.MultipleKernelProjection(ek.KernelCCA(), ["rbf", "linear"]),
        "responses",
    ),
    "MultilabelLDA": (ek.MultilabelLDA(), "labels"),
    "AlphaSearchCV": (ek.AlphaSearchCV(ek.LDA(), alphas=[0.1, 1.0]), "classes"),
    "KeepSearchCV": (ek.KeepSearchCV(ek.SparsePLSDA(2), keep_x=[1, 3]), "classes"),
    "OrthogonalPLS": (ek.OrthogonalPLS(), "responses"),
    "SparsePLS": (ek.SparsePLS(2), "responses"),
    "KernelPLS": (ek.KernelPLS(2), "responses"),
    "BayesianCCA": (ek.BayesianCCA(2), "responses"),
    "PCA nipals": (ek.PCA(2, solver="nipals"), "none"),
    "MultiviewCCA": (ek.MultiviewCCA(1, groups=[0, 0, 1, 1]), "none"),
    "RGCCA": (ek.RGCCA(1, groups=[0, 0, 1, 1]), "none"),
    "Shrinkage": (ek.ShrinkageRegression("pls"), "response"),
    "LeastSquares": (ek.LeastSquaresProjection(), "labels"),
    "ManyLabels": (ek.ManyLabelClassifier(n_neighbors=5), "labels"),
}
OTHERS |= {name: (make(1.0), labels) for name, (make, labels, _) in CASES.items()}


def _with_bad_rows(labels: str, bad: float) -> tuple[np.ndarray, np.ndarray, Any, np.ndarray]:
    """X, X with bad numbers in rows of zero weight, y and the weights."""
    X, y = _data(labels)
    weight = np.random.default_rng(9).integers(1, 3, N)
    weight[[0, 7, 20]] = 0
    spoilt = X.copy()
    spoilt[[0, 7, 20], [0, 1, 3]] = bad
    return X, spoilt, None if labels == "none" else y, weight


def _said(model: Any, X: np.ndarray) -> np.ndarray:
    method = next(m for m in ("transform", "distances", "predict") if hasattr(model, m))
    return np.asarray(getattr(model, method)(X), dtype=np.float64)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", OTHERS)
def test_numbers_in_rows_of_zero_weight_are_not_looked_at(name: str, bad: float) -> None:
    model, labels = OTHERS[name]
    X, spoilt, y, weight = _with_bad_rows(labels, bad)
    expected = _said(clone(model).fit(X, y, sample_weight=weight), X)
    found = clone(model).fit(spoilt, y, sample_weight=weight)
    np.testing.assert_array_equal(_said(found, X), expected)


STREAMED = [name for name in OTHERS if hasattr(OTHERS[name][0], "merge") and "nipals" not in name]


@pytest.mark.parametrize("name", STREAMED)
def test_streams_and_blocks_do_not_look_at_rows_of_zero_weight(name: str) -> None:
    model, labels = OTHERS[name]
    X, spoilt, y, weight = _with_bad_rows(labels, np.nan)
    expected = _said(clone(model).partial_fit(X, y, sample_weight=weight), X)
    stream = clone(model).partial_fit(spoilt, y, sample_weight=weight)
    np.testing.assert_array_equal(_said(stream, X), expected)
    parts = [
        tuple(None if A is None else A[a:b] for A in (spoilt, y, weight))
        for a, b in [(0, 12), (12, N)]
    ]
    blocks = clone(model).fit(ek.RowBlocks.from_arrays(parts))
    np.testing.assert_allclose(np.abs(_said(blocks, X)), np.abs(expected), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "model",
    [ek.KernelLDA(kernel="precomputed"), ek.ReGEC(kernel="precomputed"), "several"],
    ids=["KernelLDA", "ReGEC", "MultipleKernels"],
)
def test_samples_of_zero_weight_leave_a_kernel_by_row_and_column(model: Any) -> None:
    X, _, y, weight = _with_bad_rows("classes", np.nan)
    K = X @ X.T
    spoilt = K.copy()
    spoilt[weight == 0] = spoilt[:, weight == 0] = np.nan
    if model == "several":
        model = ek.MultipleKernelProjection("lda", "precomputed")
        K, spoilt = [K], [spoilt]  # type: ignore[assignment]
    expected = _said(clone(model).fit(K, y, sample_weight=weight), K)
    np.testing.assert_array_equal(
        _said(clone(model).fit(spoilt, y, sample_weight=weight), K), expected
    )
