"""A fitted model owns what it keeps: nothing that happens to its inputs afterwards changes it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import eigenkit as ek
from eigenkit import Kernel
from eigenkit.kernels.sets import FisherVectors, MeanMap, PyramidMatch, VisualWords

N, D = 36, 5


def _J(rng):
    J = (rng.random((N, 3)) < 0.4).astype(float)
    J[:6] = np.tile(np.eye(3), (2, 1))
    return J


def _classes(rng):
    return np.arange(N) % 3


def _responses(rng):
    return rng.normal(size=(N, 3))


LINEAR_KERNEL: dict[str, Any] = {"kernel": lambda X, Z, scale: (X * scale) @ (Z * scale).T}


def _weighted_kernel():
    return {**LINEAR_KERNEL, "kernel_params": {"scale": np.linspace(1.0, 2.0, D)}}


# name -> (estimator, y); every public estimator, kernels with and without landmarks.
MODELS: dict[str, tuple[Any, Any]] = {
    "CCA": (ek.CCA, _responses),
    "LDA": (ek.LDA, _classes),
    "LDA with priors": (lambda: ek.LDA(priors=np.array([0.2, 0.3, 0.5])), _classes),
    "PCA": (ek.PCA, _responses),
    "OrthonormalizedPLS": (ek.OrthonormalizedPLS, _responses),
    "CanonicalRidge": (ek.CanonicalRidge, _responses),
    "MultilabelLDA": (ek.MultilabelLDA, _J),
    "star": (lambda: ek.HypergraphSpectral(label_weights=np.array([1.0, 2.0, 3.0])), _J),
    "clique": (lambda: ek.HypergraphSpectral(expansion="clique"), _J),
    "zhou": (lambda: ek.HypergraphSpectral(expansion="zhou"), _J),
    "LeastSquaresProjection": (ek.LeastSquaresProjection, _J),
    "SparseCCA": (ek.SparseCCA, _responses),
    "RGCCA": (lambda: ek.RGCCA(groups=np.array([0, 0, 1, 1, 1])), _responses),
    "MultiviewCCA": (lambda: ek.MultiviewCCA(groups=np.array([0, 0, 1, 1, 1])), _responses),
    "PLSRegression": (ek.PLSRegression, _responses),
    "PLSRegression nipals": (lambda: ek.PLSRegression(algorithm="nipals"), _responses),
    "PLSCanonical": (ek.PLSCanonical, _responses),
    "PLSSVD": (ek.PLSSVD, _responses),
    "SIMPLS": (ek.SIMPLS, _responses),
    "PLSDA": (ek.PLSDA, _classes),
    "PLSRegressionCV": (ek.PLSRegressionCV, _responses),
    "ShrinkageRegression": (ek.ShrinkageRegression, lambda rng: rng.normal(size=N)),
    "ReGEC": (ek.ReGEC, _classes),
    "ReGEC rbf": (lambda: ek.ReGEC(kernel="rbf"), _classes),
    "ReGEC callable": (lambda: ek.ReGEC(**_weighted_kernel()), _classes),
    "GEPSVM": (ek.GEPSVM, _classes),
    "GEPSVM landmarks": (
        lambda: ek.GEPSVM(kernel="rbf", approximation="cholesky", n_landmarks=9),
        _classes,
    ),
    "KernelCCA": (ek.KernelCCA, _responses),
    "KernelLDA": (ek.KernelLDA, _classes),
    "KernelLDA callable": (lambda: ek.KernelLDA(**_weighted_kernel()), _classes),
    "KernelLDA landmarks": (
        lambda: ek.KernelLDA(approximation="cholesky", n_landmarks=9),
        _classes,
    ),
    "KernelOrthonormalizedPLS": (ek.KernelOrthonormalizedPLS, _responses),
    "KernelHypergraphSpectral": (ek.KernelHypergraphSpectral, _J),
    "KernelPLS": (ek.KernelPLS, _responses),
    "KernelPCA": (lambda: ek.KernelPCA(kernel="rbf", fit_inverse_transform=True), _responses),
    "MultipleKernelProjection": (ek.MultipleKernelProjection, _J),
    "MultipleKernelProjection columns": (
        lambda: ek.MultipleKernelProjection(kernels=[Kernel("rbf", columns=[0, 1]), Kernel("rbf")]),
        _J,
    ),
    "OrthogonalPLS": (ek.OrthogonalPLS, _responses),
    "SparsePLS": (lambda: ek.SparsePLS(keep_x=3), _responses),
    "SparsePLSDA": (lambda: ek.SparsePLSDA(keep_x=3), _classes),
    "KeepSearchCV": (lambda: ek.KeepSearchCV(ek.SparsePLSDA(), keep_x=[2, 4], cv=2), _classes),
    "BayesianCCA": (ek.BayesianCCA, _responses),
    "ProbabilisticCCA": (ek.ProbabilisticCCA, _responses),
    "ManyLabelClassifier": (lambda: ek.ManyLabelClassifier(n_neighbors=5), _J),
    "GraphRegularized": (lambda: ek.GraphRegularized(ek.LDA(), n_neighbors=5), _classes),
    "AlphaSearchCV": (lambda: ek.AlphaSearchCV(ek.LDA(), alphas=[0.1, 1.0]), _classes),
}
STREAMS = [name for name, (make, _) in MODELS.items() if hasattr(make(), "partial_fit")]
DENSE_ONLY = {
    "GraphRegularized",
    "PLSRegression nipals",
    "SparseCCA",
    "ReGEC callable",
    "KernelLDA callable",
}
PRECOMPUTED = {
    "KernelCCA": _responses,
    "KernelLDA": _classes,
    "KernelOrthonormalizedPLS": _responses,
    "KernelHypergraphSpectral": _J,
    "KernelPLS": _responses,
    "KernelPCA": _responses,
    "ReGEC": _classes,
    "GEPSVM": _classes,
}


def test_no_estimator_is_missing_here():
    covered = {type(make()).__name__ for make, _ in MODELS.values()}
    public = {n for n in ek.__all__ if n[0].isupper() and hasattr(getattr(ek, n), "fit")}
    assert public - covered == {"HypergraphClustering"}  # has a test of its own


def test_clusters_stay_when_the_hypergraph_changes():
    J = (np.random.default_rng(0).random((30, 6)) < 0.4).astype(float)
    model = ek.HypergraphClustering(random_state=0).fit(J)
    labels, embedding = model.labels_.copy(), model.embedding_.copy()
    _spoil(J)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.embedding_, embedding)


def _spoil(*things):
    """Overwrite everything that a caller can reach."""
    for thing in things:
        if sparse.issparse(thing):
            _spoil(thing.data, thing.indices, thing.indptr)
        elif isinstance(thing, pd.DataFrame):
            thing.iloc[:, :] = -7.0
        elif isinstance(thing, np.ndarray):
            thing.flags.writeable = True
            thing[...] = 0 if thing.dtype.kind in "iu" else -7.0
        elif isinstance(thing, dict):
            _spoil(*thing.values())
        elif isinstance(thing, list | tuple):
            _spoil(*thing)
            if isinstance(thing, list):
                thing.clear()
        elif isinstance(thing, Kernel):
            _spoil(thing.columns, thing.params)


def _results(model, X):
    names = ("transform", "predict", "decision_function", "inverse_transform")
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            if not hasattr(model, name) or _has_no(name, model):
                continue
            argument = model.transform(X) if name == "inverse_transform" else X
            found[name] = np.array(getattr(model, name)(argument))
    return found


def _has_no(name, model):
    return name == "inverse_transform" and not getattr(model, "fit_inverse_transform", True)


def _check_unmoved(model, X_new, *inputs):
    before = _results(model, X_new)
    assert before
    _spoil(*inputs, model.get_params(deep=False))
    after = _results(model, X_new)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)


def _as_given(X, kind):
    if kind == "csr":
        return sparse.csr_array(X * (np.abs(X) > 0.3))
    if kind == "float32":
        return X.astype(np.float32)
    if kind == "fortran":
        return np.asfortranarray(X)
    if kind == "view":
        return np.repeat(X, 2, axis=0)[::2]
    if kind == "frame":
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return X.copy()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
@pytest.mark.parametrize("kind", ["dense", "csr", "float32", "fortran", "view", "frame"])
@pytest.mark.parametrize("name", MODELS)
def test_fitted_models_own_what_they_keep(name, kind, rng):
    if kind == "csr" and name in DENSE_ONLY:
        pytest.skip("takes dense X only")
    make, labels = MODELS[name]
    X = _as_given(rng.normal(size=(N, D)), kind)
    new = _as_given(rng.normal(size=(N, D)), kind)
    y, weight = labels(rng), np.linspace(0.5, 2.0, N)
    model = make()
    weighted = "sample_weight" in model.fit.__code__.co_varnames
    model.fit(X, y, **({"sample_weight": weight} if weighted else {}))
    _check_unmoved(model, new, X, y, weight)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("kind", ["dense", "csr", "float32", "fortran", "view", "frame"])
@pytest.mark.parametrize("name", STREAMS)
def test_streams_own_what_they_keep(name, kind, looked, rng):
    """A reused buffer: each batch is overwritten as soon as it has been taken in."""
    if kind == "csr" and name in DENSE_ONLY:
        pytest.skip("takes dense X only")
    make, labels = MODELS[name]
    X, y, weight = rng.normal(size=(N, D)), labels(rng), np.linspace(0.5, 2.0, N)
    safe, reused = make(), make()
    for rows in (slice(0, 9), slice(9, None)):
        batch = _as_given(X[rows], kind), y[rows].copy(), weight[rows].copy()
        safe.partial_fit(_as_given(X[rows], kind), y[rows], weight[rows])
        reused.partial_fit(*batch)
        if looked:
            hasattr(reused, "components_")
        _spoil(*batch)
    _spoil(reused.get_params(deep=False))
    expected = _results(safe, _as_given(X, kind))
    for key, value in _results(reused, _as_given(X, kind)).items():
        np.testing.assert_array_equal(value, expected[key], err_msg=key)


@pytest.mark.parametrize("name", PRECOMPUTED)
def test_precomputed_kernels_are_owned(name, rng):
    X = rng.normal(size=(N, D))
    K, y, weight = X @ X.T, PRECOMPUTED[name](rng), np.linspace(0.5, 2.0, N)
    given = K.copy()
    model = getattr(ek, name)(kernel="precomputed").fit(given, y, sample_weight=weight)
    np.testing.assert_array_equal(given, K)
    _check_unmoved(model, K.copy(), given, y, weight)


def test_lists_of_precomputed_kernels_are_owned(rng):
    X = rng.normal(size=(N, D))
    kernels = [X @ X.T, np.exp(-np.square(X[:, None] - X).sum(axis=2))]
    given = [K.copy() for K in kernels]
    y = _J(rng)
    model = ek.MultipleKernelProjection(kernels="precomputed").fit(given, y)
    _check_unmoved(model, kernels, given, y)


@pytest.mark.parametrize("views", [1, 2])
def test_views_are_owned(views, rng):
    X = [rng.normal(size=(N, 3)), rng.normal(size=(N, 4))]
    model = ek.MultiviewCCA().fit([view.copy() for view in X])
    given = [view.copy() for view in X]
    _check_unmoved(model.fit(given), [view.copy() for view in X], given)


@pytest.mark.parametrize("n_sets", [1, 4])
@pytest.mark.parametrize("bins", ["uniform", "vocabulary"])
def test_sets_of_vectors_are_owned(bins, n_sets, rng):
    sets = [rng.normal(size=(6, 2)) for _ in range(n_sets)]
    given = [points.copy() for points in sets]
    model = PyramidMatch(bins, branching=2, n_levels=3, random_state=0).fit(given)
    _check_unmoved(model, sets, given)


@pytest.mark.parametrize("kernel", [FisherVectors, MeanMap, VisualWords])
def test_other_kernels_of_sets_own_what_they_keep(kernel, rng):
    sets = [rng.normal(size=(12, 3)) for _ in range(4)]
    given = [points.copy() for points in sets]
    options = {} if kernel is MeanMap else {"random_state": 0}
    _check_unmoved(kernel(**options).fit(given), sets, given)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_results_of_a_stream_are_no_door_to_its_moments(name, rng):
    """Spoiling what a stream hands out spoils nothing that is still to come."""
    make, labels = MODELS[name]
    X, y = rng.normal(size=(N, D)), labels(rng)
    model, other = make(), make()
    for rows in (slice(0, 30), slice(30, None)):
        model.partial_fit(X[rows], y[rows])
        other.partial_fit(X[rows], y[rows])
        for value in [getattr(other, n, None) for n in ("components_", "mean_", "means_")]:
            if isinstance(value, np.ndarray) and value.flags.writeable:
                value[...] = -7.0
        _results(model, X)
    more = rng.normal(size=(4, D)), y[:4]
    expected = _results(model.partial_fit(*more), X)
    for key, value in _results(other.partial_fit(*more), X).items():
        np.testing.assert_array_equal(value, expected[key], err_msg=key)


@pytest.mark.parametrize("kind", ["list", "integers"])
def test_what_validation_has_copied_is_not_copied_again(kind, rng, monkeypatch):
    """Conversions make an array of their own: that one is kept as it is."""
    X = rng.integers(0, 9, size=(N, D))
    given = X.tolist() if kind == "list" else X
    from eigenkit.estimators import _validation

    converted = []
    original = _validation.validate_data

    def watched(*args, **kwargs):
        converted.append(original(*args, **kwargs))
        return converted[-1]

    monkeypatch.setattr(_validation, "validate_data", watched)
    model = ek.KernelLDA().fit(given, _classes(rng))
    assert np.shares_memory(model.X_fit_, converted[0])
