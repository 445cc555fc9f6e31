"""Kernel projections: the dual equations, the primal, landmarks, and hostile input."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg as sla
from scipy import sparse
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as TheirKernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score

from conftest import some_of
from eigenkit import (
    CCA,
    GEPSVM,
    LDA,
    AlphaSearchCV,
    GraphRegularized,
    HypergraphSpectral,
    KernelCCA,
    KernelHypergraphSpectral,
    KernelLDA,
    KernelOrthonormalizedPLS,
    KernelPCA,
    KernelPLS,
    ManyLabelClassifier,
    OrthonormalizedPLS,
    ReGEC,
    alpha_path,
)
from eigenkit.data import CenteredKernel
from eigenkit.exceptions import ConditionWarning, EigenkitWarning
from eigenkit.kernels import Kernel

EXPANSIONS = ("star", "clique", "zhou")
PAIRS: dict[str, tuple[Any, Any]] = {
    "cca": (CCA(), KernelCCA()),
    "opls": (OrthonormalizedPLS(), KernelOrthonormalizedPLS()),
    "lda": (LDA(), KernelLDA()),
} | {
    e: (HypergraphSpectral(expansion=e), KernelHypergraphSpectral(expansion=e)) for e in EXPANSIONS
}
ALL = [pair[1] for name, pair in PAIRS.items() if name not in ("clique", "zhou")]
ALL += [KernelPCA(), KernelPLS()]


def data(seed: int = 0, n: int = 40, d: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X[:, :4] + rng.normal(size=(n, 4)) > 0.3).astype(float)
    return X, Y, rng.normal(size=(9, d))


def target_of(name: str, Y: np.ndarray) -> np.ndarray:
    return Y.argmax(axis=1) if name == "lda" else Y


def same_up_to_sign(A: np.ndarray, B: np.ndarray, tol: float) -> None:
    sign = np.sign(np.sum(A * B, axis=0))
    np.testing.assert_allclose(A, B * sign, atol=tol * np.abs(A).max())


def scores(model: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(model.transform(X))


# -- against the linear estimators ------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "alpha", "approximation"),
    some_of(PAIRS, [0.0, 1e-6, 1e-2, 1.0, 1e3], [None, "cholesky", "nystroem"]),
)
def test_linear_kernel_is_the_linear_estimator(
    name: str, alpha: float, approximation: str | None
) -> None:
    X, Y, X_new = data()
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    y = target_of(name, Y)
    for sample_weight in (None, weight):
        linear, dual = (clone(m).set_params(alpha=alpha) for m in PAIRS[name])
        dual.set_params(kernel="linear", approximation=approximation, random_state=0)
        linear.fit(X, y, sample_weight=sample_weight)
        dual.fit(X, y, sample_weight=sample_weight)
        np.testing.assert_allclose(dual.eigenvalues_, linear.eigenvalues_, rtol=1e-9)
        same_up_to_sign(scores(dual, X_new), scores(linear, X_new), 1e-8)
        if hasattr(linear, "predict"):
            np.testing.assert_allclose(dual.predict(X_new), linear.predict(X_new), atol=1e-8)


@pytest.mark.parametrize("approximation", [None, "cholesky"])
def test_linear_kernel_lda_gives_the_same_probabilities(approximation: str | None) -> None:
    X, Y, X_new = data()
    y = Y.argmax(axis=1)
    dual = KernelLDA(kernel="linear", approximation=approximation).fit(X, y)
    linear = LDA().fit(X, y)
    np.testing.assert_allclose(dual.predict_proba(X_new), linear.predict_proba(X_new), atol=1e-9)


def test_two_sided_kernel_cca_projects_y_like_cca() -> None:
    X, Y, _ = data()
    dual, linear = KernelCCA(kernel="linear").fit(X, Y), CCA().fit(X, Y)
    same_up_to_sign(dual.transform(X, Y)[1], linear.transform(X, Y)[1], 1e-9)
    np.testing.assert_allclose(
        dual.canonical_correlations_, linear.canonical_correlations_, rtol=1e-10
    )


def test_all_components_of_opls_predict_like_kernel_ridge() -> None:
    X, Y, _ = data()
    Kc = CenteredKernel(Kernel("rbf", 0.2)(X)).K
    ours = KernelOrthonormalizedPLS(gamma=0.2, alpha=0.3).fit(X, Y)
    ridge = KernelRidge(kernel="precomputed", alpha=0.3).fit(Kc, Y - Y.mean(axis=0))
    np.testing.assert_allclose(ours.predict(X), ridge.predict(Kc) + Y.mean(axis=0), atol=1e-10)


# -- the defining equations in the dual --------------------------------------------------


@pytest.mark.parametrize("solver", ["two_stage", "direct"])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("name", PAIRS)
def test_dual_equations(name: str, alpha: float, solver: str) -> None:
    X, Y, _ = data(n=30)
    X = np.vstack([X, X[:5]])  # duplicated samples: the kernel is singular
    y = target_of(name, np.vstack([Y, Y[5:10]]))
    model = clone(PAIRS[name][1]).set_params(gamma=0.1, alpha=alpha, solver=solver)
    model.fit(X, y)
    Kc = CenteredKernel(Kernel("rbf", 0.1)(X)).K
    B = model.components_.T
    gram = B.T @ (Kc @ Kc + alpha * Kc) @ B
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-8)
    np.testing.assert_allclose(B.sum(axis=0), 0, atol=1e-8 * np.abs(B).max())
    np.testing.assert_allclose(model.transform(X), Kc @ B, atol=1e-8)
    assert model.report_.residual < 1e-9
    assert np.all(np.diff(model.eigenvalues_) <= 1e-12)


@pytest.mark.parametrize("name", PAIRS)
def test_eigenvalues_are_those_of_the_generalized_problem(name: str) -> None:
    X, Y, _ = data(n=25)
    y = target_of(name, Y)
    dual = clone(PAIRS[name][1]).set_params(gamma=0.2, alpha=0.5).fit(X, y)
    rows = clone(dual)._take(X, y, None)
    H = dual._state(rows).pencil.H
    Kc = CenteredKernel(Kernel("rbf", 0.2)(X)).K
    values = sla.eigh(H.T @ Kc @ np.linalg.solve(Kc + 0.5 * np.eye(25), H), eigvals_only=True)
    np.testing.assert_allclose(dual.eigenvalues_, values[::-1][: len(dual.eigenvalues_)], rtol=1e-9)


def test_precomputed_name_and_callable_are_one() -> None:
    X, Y, X_new = data()

    def gaussian(A: np.ndarray, B: np.ndarray, gamma: float) -> np.ndarray:
        return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    by_name = KernelCCA(gamma=0.1).fit(X, Y)
    called = KernelCCA(kernel=gaussian, kernel_params={"gamma": 0.1}).fit(X, Y)
    given_K = KernelCCA(kernel="precomputed").fit(gaussian(X, X, 0.1), Y)
    np.testing.assert_allclose(called.transform(X_new), by_name.transform(X_new), atol=1e-10)
    K_new = gaussian(X_new, X, 0.1)
    np.testing.assert_allclose(given_K.transform(K_new), by_name.transform(X_new), atol=1e-10)


@pytest.mark.parametrize("approximation", [None, "cholesky"])
def test_weights_of_a_precomputed_kernel_leave_samples_out(approximation: str | None) -> None:
    X, Y, X_new = data()
    weight = np.random.default_rng(3).integers(0, 3, len(X)).astype(float)
    how = {"approximation": approximation}
    by_name = KernelHypergraphSpectral(gamma=0.1, **how).fit(X, Y, sample_weight=weight)
    kernel = Kernel("rbf", 0.1)
    given_K = KernelHypergraphSpectral(kernel="precomputed", **how)
    given_K.fit(kernel(X), Y, sample_weight=weight)
    same_up_to_sign(given_K.transform(kernel(X_new, X)), by_name.transform(X_new), 1e-8)


@given(seed=st.integers(0, 500))
@settings(max_examples=15, deadline=None)
def test_order_and_offset_of_samples_do_not_matter(seed: int) -> None:
    X, Y, X_new = data(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    one = KernelHypergraphSpectral(gamma=0.1).fit(X, Y).transform(X_new)
    two = KernelHypergraphSpectral(gamma=0.1).fit(X[order] + 7, Y[order]).transform(X_new + 7)
    np.testing.assert_allclose(one @ one.T, two @ two.T, atol=1e-9)


@pytest.mark.parametrize("name", PAIRS)
def test_alpha_path_equals_single_fits(name: str) -> None:
    X, Y, X_new = data()
    y = target_of(name, Y)
    base = clone(PAIRS[name][1]).set_params(gamma=0.1)
    for model in alpha_path(base, X, y, [0.01, 1.0]):
        single = clone(base).set_params(alpha=model.alpha).fit(X, y)
        np.testing.assert_allclose(scores(model, X_new), scores(single, X_new), atol=1e-9)


# -- landmarks --------------------------------------------------------------------------


@pytest.mark.parametrize("approximation", ["cholesky", "nystroem"])
@pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
def test_all_samples_as_landmarks_are_no_approximation(model: Any, approximation: str) -> None:
    X, Y, X_new = data()
    y = Y.argmax(axis=1) if isinstance(model, KernelLDA) else Y
    exact = clone(model).set_params(gamma=0.1, n_components=2).fit(X, y)
    low = clone(exact).set_params(approximation=approximation, random_state=0).fit(X, y)
    assert low.approximation_error_ < 1e-8
    same_up_to_sign(scores(low, X_new), scores(exact, X_new), 1e-6)


def test_more_landmarks_miss_less() -> None:
    X, Y, _ = data(n=300, d=4)
    errors = {}
    for how in ("cholesky", "nystroem"):
        for m in (10, 40):
            model = KernelCCA(gamma=0.3, approximation=how, n_landmarks=m, random_state=0)
            errors[how, m] = model.fit(X, Y).approximation_error_
            assert len(model.X_fit_) == len(model.landmarks_) == m
    assert errors["cholesky", 40] < errors["cholesky", 10]
    assert errors["nystroem", 40] < errors["nystroem", 10]


def test_what_does_not_fit_in_memory_is_refused_with_the_way_out() -> None:
    X = sparse.eye_array(60_000, 3, format="csr")
    with pytest.raises(ValueError, match=r"60000 samples.*26\.8 GB.*approximation=\"cholesky\""):
        KernelOrthonormalizedPLS().fit(X, np.arange(60_000.0))


# -- components and pre-images ----------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
def test_kernel_pca_is_that_of_scikit_learn(kernel: str) -> None:
    X, _, X_new = data()
    how: dict[str, Any] = {"kernel": kernel, "gamma": 0.1, "degree": 2}
    inverse: dict[str, Any] = {"fit_inverse_transform": True, "alpha": 0.1}
    ours = KernelPCA(3, **how, **inverse).fit(X)
    theirs = TheirKernelPCA(3, **how, **inverse).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-10)
    same_up_to_sign(ours.transform(X_new), theirs.transform(X_new), 1e-10)
    back = theirs.inverse_transform(theirs.transform(X_new))
    if kernel != "poly":  # odd powers of scores depend on their signs
        np.testing.assert_allclose(ours.inverse_transform(ours.transform(X_new)), back, atol=1e-8)


def test_kernel_pca_of_a_linear_kernel_is_pca_and_few_components_take_lanczos() -> None:
    X = np.random.default_rng(0).normal(size=(600, 8)) * np.arange(1, 9)
    ours, theirs = KernelPCA(3, kernel="linear").fit(X), PCA(3).fit(X)
    same_up_to_sign(ours.transform(X), theirs.transform(X), 1e-9)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9
    )
    assert KernelPCA(kernel="linear").fit(X[:50]).n_components_ == 8


def test_pre_images_denoise_and_agree_with_landmarks() -> None:
    angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy = circle + 0.1 * np.random.default_rng(0).normal(size=circle.shape)
    how: dict[str, Any] = {"kernel": "rbf", "gamma": 0.5, "alpha": 0.1}
    how["fit_inverse_transform"] = True
    exact = KernelPCA(2, **how).fit(noisy)
    back = exact.inverse_transform(exact.transform(noisy))
    assert np.linalg.norm(back - circle) < 0.8 * np.linalg.norm(noisy - circle)
    low = KernelPCA(2, approximation="cholesky", **how).fit(noisy)
    np.testing.assert_allclose(low.inverse_transform(low.transform(noisy)), back, atol=1e-4)


def test_inverse_needs_to_be_asked_for() -> None:
    X, _, _ = data()
    with pytest.raises(NotFittedError, match="fit_inverse_transform=True"):
        KernelPCA(2).fit(X).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="needs the samples themselves"):
        KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(X @ X.T)


@pytest.mark.parametrize("n_components", [1, 3, 5])
@pytest.mark.parametrize("approximation", [None, "cholesky"])
def test_kernel_pls_of_a_linear_kernel_is_pls_regression(
    n_components: int, approximation: str | None
) -> None:
    X, _, X_new = data()
    Y = X[:, :3] @ np.random.default_rng(2).normal(size=(3, 3))
    Y += np.random.default_rng(3).normal(size=Y.shape)
    theirs = PLSRegression(n_components, scale=False, tol=1e-20, max_iter=20_000).fit(X, Y)
    ours = KernelPLS(n_components, kernel="linear", approximation=approximation).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X_new), theirs.predict(X_new), atol=1e-7)
    same_up_to_sign(ours.transform(X_new), theirs.transform(X_new), 1e-7)


def test_kernel_pls_scores_are_orthogonal_and_of_decreasing_covariance_in_sum() -> None:
    X, Y, _ = data()
    model = KernelPLS(6, gamma=0.1).fit(X, Y)
    T = model.transform(X)
    gram = T.T @ T
    np.testing.assert_allclose(gram - np.diag(gram.diagonal()), 0, atol=1e-9)
    fits = [KernelPLS(k, gamma=0.1).fit(X, Y).score(X, Y) for k in (1, 3, 6, 12)]
    assert np.all(np.diff(fits) > 0)


def test_kernel_pls_says_when_nothing_is_left() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match="n_components=5 exceeds 2"):
        KernelPLS(5, kernel="linear").fit(X, X @ np.ones((2, 1)) + X[:, :1])


# -- scikit-learn and containers --------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
def test_sparse_equals_dense(kernel: str) -> None:
    X, Y, X_new = data()
    X[X < 0.5] = 0.0
    model = KernelHypergraphSpectral(kernel=kernel, gamma=0.1, coef0=1.0)
    dense = clone(model).fit(X, Y).transform(X_new)
    thin = clone(model).fit(sparse.csr_array(X), Y)
    assert sparse.issparse(thin.X_fit_)
    same_up_to_sign(thin.transform(sparse.csc_matrix(X_new)), dense, 1e-8)


def test_pipelines_frames_pickles_and_grid_search_over_precomputed_kernels() -> None:
    X, Y, _ = data(n=60)
    y = Y.argmax(axis=1)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = KernelLDA(gamma=0.1).set_output(transform="pandas").fit(frame, y)
    assert list(model.transform(frame).columns) == ["kernellda0", "kernellda1", "kernellda2"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    K = Kernel("rbf", 0.1)(X)
    by_name = cross_val_score(KernelLDA(gamma=0.1), X, y, cv=3)
    by_matrix = cross_val_score(KernelLDA(kernel="precomputed"), K, y, cv=3)
    np.testing.assert_allclose(by_matrix, by_name)
    search = GridSearchCV(KernelLDA(), {"gamma": [0.01, 0.1], "alpha": [0.1, 1.0]}, cv=3)
    assert search.fit(X, y).best_score_ >= by_name.mean() - 1e-12


def test_no_stream_is_offered() -> None:
    assert not hasattr(KernelCCA(), "partial_fit")
    assert not hasattr(KernelCCA(), "merge")


# -- hostile input ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"gamma": 0}, "gamma=0 is not valid"),
        ({"gamma": -1.0}, "gamma=-1.0 is not valid: give a finite number of at least 0"),
        ({"gamma": "auto"}, "gamma='auto' is not known: choose one of 'scale'"),
        ({"kernel": "gauss"}, "kernel='gauss' is not known: choose one of"),
        ({"degree": -1}, "degree=-1 is not valid"),
        ({"coef0": np.nan}, "coef0=nan is not valid"),
        ({"approximation": "lanczos"}, "approximation='lanczos' is not known"),
        ({"n_landmarks": 0}, "n_landmarks=0 is not valid"),
        ({"n_components": 0}, "n_components=0 is not valid"),
    ],
)
@pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
def test_bad_parameters_are_named(model: Any, params: dict[str, Any], message: str) -> None:
    X, Y, _ = data()
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(**params).fit(X, Y[:, 0])


def test_kernel_params_must_be_a_dict() -> None:
    X, Y, _ = data()
    with pytest.raises(TypeError, match="kernel_params=3 is not valid: give a dict"):
        KernelCCA(kernel_params=3).fit(X, Y)


def _indefinite(n: int) -> np.ndarray:
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0]
    return (U * np.linspace(-1, 3, n)) @ U.T


@pytest.mark.parametrize("approximation", [None, "cholesky", "nystroem"])
@pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
def test_bad_precomputed_kernels_are_refused_and_leave_no_trace(
    model: Any, approximation: str | None
) -> None:
    X, Y, _ = data(n=20)
    y = Y.argmax(axis=1) if isinstance(model, KernelLDA) else Y
    good = X @ X.T
    skew, holed = good.copy(), good.copy()
    skew[np.triu_indices(20, 1)] += 1.0
    holed[3, 4] = np.nan
    bad = {
        "precomputed kernel, has shape .*: give the square matrix": good[:, :10],
        "is not symmetric": skew,
        "X, the precomputed kernel, contains NaN": holed,
        "is not positive semidefinite": _indefinite(20),
    }
    estimator = clone(model).set_params(kernel="precomputed", approximation=approximation)
    for message, K in bad.items():
        with pytest.raises(ValueError, match=message):
            estimator.fit(K, y)
        assert not [name for name in vars(estimator) if name.endswith("_")]


@pytest.mark.parametrize("approximation", [None, "cholesky", "nystroem"])
def test_zero_kernels_identical_samples_and_overflow_are_refused(approximation: str | None) -> None:
    X, Y, _ = data(n=20)
    model = KernelCCA(kernel="precomputed", approximation=approximation)
    with pytest.raises(ValueError, match=r"zero for every pair|zero variance"):
        model.fit(np.zeros((20, 20)), Y)
    with pytest.raises(ValueError, match="zero variance"):
        clone(model).set_params(kernel="rbf").fit(np.ones((20, 3)), Y)
    with pytest.raises(ValueError, match="kernel gave NaN or infinity"):
        clone(model).set_params(kernel="linear").fit(X * 1e200, Y)


def test_sigmoid_kernels_that_are_indefinite_are_refused() -> None:
    X, Y, _ = data()
    with pytest.raises(ValueError, match=r"kernel is not positive semidefinite .its eigenvalues"):
        KernelCCA(kernel="sigmoid", gamma=5.0, coef0=-3.0).fit(X, Y)


def test_a_callable_must_return_a_matrix_of_the_right_shape() -> None:
    X, Y, _ = data()
    with pytest.raises(ValueError, match=r"kernel returned shape \(40,\) for 40 and 40 samples"):
        KernelCCA(kernel=lambda A, B: A[:, 0]).fit(X, Y)
    with pytest.raises(ValueError, match="kernel is not symmetric"):
        KernelCCA(kernel=lambda A, B: A @ (2 + np.arange(6) * np.eye(6)[::-1]) @ B.T).fit(X, Y)


def test_new_rows_of_a_precomputed_kernel_need_a_column_per_training_sample() -> None:
    X, Y, X_new = data()
    model = KernelCCA(kernel="precomputed").fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="39 features, but KernelCCA is expecting 40"):
        model.transform(X_new @ X[:39].T)
    with pytest.raises(TypeError, match="precomputed kernel as a dense one"):
        KernelCCA(kernel="precomputed").fit(sparse.csr_array(X @ X.T), Y)


def test_the_users_kernel_is_not_touched() -> None:
    X, Y, _ = data()
    K = X @ X.T
    before = K.copy()
    for how in (None, "cholesky"):
        KernelCCA(kernel="precomputed", approximation=how).fit(K, Y)
        np.testing.assert_array_equal(K, before)


def test_one_class_and_constant_y_are_refused() -> None:
    X, _, _ = data()
    with pytest.raises(ValueError, match="1 class"):
        KernelLDA().fit(X, np.zeros(40, dtype=int))
    with pytest.raises(ValueError, match="y is constant"):
        KernelPLS().fit(X, np.ones(40))


def test_correlations_of_one_by_construction_are_named() -> None:
    X, Y, _ = data()
    with pytest.warns(ConditionWarning, match="canonical correlations are 1 by construction"):
        KernelCCA(gamma=1.0, alpha=0.0).fit(X, Y)


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**600])
def test_kernels_of_any_scale_give_the_same_scores(scale: float) -> None:
    X, Y, X_new = data()
    kernel = Kernel("rbf", 0.1)
    K, K_new = kernel(X), kernel(X_new, X)
    plain = KernelCCA(kernel="precomputed", alpha=1.0).fit(K, Y)
    scaled = KernelCCA(kernel="precomputed", alpha=scale).fit(K * scale, Y)
    np.testing.assert_allclose(scaled.eigenvalues_, plain.eigenvalues_, rtol=1e-9)
    same_up_to_sign(scaled.transform(K_new * scale) * np.sqrt(1.0), plain.transform(K_new), 1e-8)


KERNELS_WITHOUT_RANK = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "gamma": 1e-3},
    {"kernel": "rbf", "gamma": 1e-6},
    {"kernel": "rbf", "gamma": "scale"},
    {"kernel": "cosine"},
    {"kernel": "laplacian", "gamma": 1e-4},
]


@pytest.mark.parametrize(
    ("how", "solver", "scaled"),
    some_of(KERNELS_WITHOUT_RANK, ["two_stage", "direct"], [False, True], every=5),
    ids=str,
)
def test_rounding_is_no_component(how: dict[str, Any], solver: str, scaled: bool) -> None:
    """Three classes have two directions, whatever the kernel, the ridge and the solver."""
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0) if scaled else X
    Y = np.eye(3)[y]
    for alpha in (1e-8, 1e-3, 1.0, 1e3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EigenkitWarning)
            for model in (
                KernelLDA(alpha=alpha, solver=solver, **how).fit(X, y),
                KernelCCA(alpha=alpha, solver=solver, **how).fit(X, Y),
                KernelOrthonormalizedPLS(alpha=alpha, solver=solver, **how).fit(X, Y),
            ):
                assert model.n_components_ <= 2, (type(model).__name__, alpha)


def test_kernel_components_of_rank_d() -> None:
    """A linear kernel of 13 features has 13 components, however large the features are."""
    X, _ = load_wine(return_X_y=True)
    for factor, offset in [(1.0, 0.0), (1e5, 0.0), (1.0, 1e3)]:
        assert KernelPCA(kernel="linear").fit(factor * X + offset).n_components_ <= 13


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_principal_components_are_no_more_than_the_rank(kernel):
    """Few rows that repeat, where the digits lost by centring are about all that is left over."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(3, 20)), int(rng.integers(1, 5))
        distinct = rng.normal(size=(int(rng.integers(2, n + 1)), d)) + rng.choice([0.0, 1.0, 100.0])
        X = distinct[rng.integers(0, len(distinct), n)]
        X[:2] = distinct[:2]
        rank = len(np.unique(X, axis=0)) - 1
        weight = None if seed % 2 else rng.integers(1, 6, n)
        model = KernelPCA(kernel=kernel).fit(X, sample_weight=weight)
        assert model.n_components_ <= (min(rank, d) if kernel == "linear" else rank)


@pytest.mark.parametrize("scale", [1e-152, 1e-140, 1e-80, 1e80, 1e140, 1e150])
@pytest.mark.parametrize("options", [{}, {"approximation": "cholesky"}])
def test_principal_components_have_the_units_of_x(scale, options, rng):
    X = rng.normal(size=(30, 4))
    plain = KernelPCA(**options).fit(X)
    model = KernelPCA(**options).fit(X * scale)
    np.testing.assert_allclose(model.transform(X * scale) / scale, plain.transform(X), atol=1e-8)
    np.testing.assert_allclose(model.explained_variance_ratio_, plain.explained_variance_ratio_)


@pytest.mark.parametrize(
    "model",
    [
        *(KernelPLS(2, kernel="linear"), KernelPLS(2, kernel="linear", approximation="cholesky")),
        *(KernelLDA(kernel="linear"), KernelLDA(kernel="linear", approximation="cholesky")),
    ],
)
@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_predictions_do_not_depend_on_units(model, scale, rng):
    X = rng.normal(size=(30, 4))
    y = (X[:, 0] > 0).astype(int)
    small = model.get_params().get("alpha") is not None
    plain = clone(model).set_params(**({"alpha": 0.0} if small else {})).fit(X, y)
    other = clone(plain).fit(X * scale, y)
    np.testing.assert_allclose(other.predict(X * scale), plain.predict(X), atol=1e-8)


def test_a_kernel_without_digits_is_refused(rng):
    with pytest.raises(ValueError, match="where floating point numbers lose digits: scale X up"):
        KernelPCA().fit(1e-160 * rng.normal(size=(30, 4)))


@pytest.mark.parametrize("gamma", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_copies_of_samples_leave_the_landmarks_as_they_are(kind, gamma):
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(60, 6)), np.arange(60) % 3, rng.integers(0, 4, 60)
    X = X if kind == "dense" else sparse.csr_array(X * (rng.random(X.shape) < 0.6))
    again = np.repeat(np.arange(60), weight)
    for model in (
        KernelLDA(gamma=gamma, approximation="cholesky", n_landmarks=10),
        KernelPCA(3, gamma=gamma, approximation="cholesky", n_landmarks=10),
        ReGEC(kernel="rbf", gamma=gamma, approximation="cholesky", n_landmarks=10),
        GEPSVM(kernel="rbf", gamma=gamma, approximation="cholesky", n_landmarks=10),
    ):
        weighted, repeated = clone(model).fit(X, y, weight), clone(model).fit(X[again], y[again])
        if hasattr(weighted, "predict"):
            np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
        else:
            np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-6)
        np.testing.assert_array_equal(weighted.landmarks_, again[repeated.landmarks_])


@pytest.mark.parametrize("cls", [KernelCCA, KernelOrthonormalizedPLS, KernelPLS, KernelLDA])
def test_coefficients_of_samples_are_not_taken_for_those_of_features(rng, cls):
    X, y = rng.normal(size=(12, 30)), np.arange(12) % 3
    model = cls(1, approximation="cholesky", n_landmarks=7).fit(X, y)
    with pytest.raises(AttributeError, match="not linear in the features; dual_coef_"):
        _ = model.coef_
    assert model.dual_coef_.shape[1] == 7
    with pytest.raises(ValueError):  # it would have chosen among the first 7 features
        RFE(cls(1), n_features_to_select=2).fit(X, y)
    if cls is not KernelLDA:
        scores = (model.kernel_(X, model.X_fit_) - model.mean_) @ model.dual_coef_.T
        np.testing.assert_allclose((scores + model.intercept_)[:, 0], model.predict(X), atol=1e-10)


@pytest.mark.parametrize(
    "made",
    [
        lambda kernel: GraphRegularized(KernelLDA(kernel=kernel), mu=0.0),
        lambda kernel: GraphRegularized(KernelLDA(kernel=kernel), mu=1.0),
        lambda kernel: GraphRegularized(KernelLDA(kernel=kernel), mu=[0.0, 1.0]),
        lambda kernel: AlphaSearchCV(KernelLDA(kernel=kernel), alphas=[0.1, 10.0]),
        lambda kernel: AlphaSearchCV(KernelCCA(kernel=kernel), alphas=[0.1, 10.0]),
        lambda kernel: ManyLabelClassifier(KernelHypergraphSpectral(kernel=kernel), n_neighbors=9),
    ],
)
def test_what_cuts_rows_cuts_the_columns_of_a_precomputed_kernel(made) -> None:
    """And neighbours in it are as far apart as the samples are, not as its rows."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::2] - X.mean(axis=0), y[::2]
    X += 0.05 * np.random.default_rng(1).normal(size=X.shape)  # so that no distances are tied
    K = X @ X.T
    if isinstance(made("linear"), GraphRegularized):
        few = np.where(np.random.default_rng(0).random(len(y)) < 0.5, -1, y)
        weight = None
    else:
        few = np.eye(3)[y] if isinstance(made("linear"), ManyLabelClassifier) else y
        weight = np.random.default_rng(0).integers(0, 3, len(y))
    by_samples = made("linear").fit(X, few, sample_weight=weight)
    by_kernel = made("precomputed").fit(K, few, sample_weight=weight)
    assert by_kernel.n_features_in_ == len(K)
    for name in ("transform", "predict"):
        if hasattr(by_samples, name):
            expected, found = getattr(by_samples, name)(X), getattr(by_kernel, name)(K)
            np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    for name in ("best_score_", "fold_scores_", "thresholds_"):
        expected = getattr(by_samples, name, 0.0)
        np.testing.assert_allclose(getattr(by_kernel, name, 0.0), expected, rtol=1e-9)


def _minus_squares(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.asarray(-((A[:, None] - B) ** 2).sum(axis=-1))


@pytest.mark.parametrize("kernel", ["additive_chi2", _minus_squares])
def test_landmarks_by_cholesky_say_what_they_need(kernel: Any, rng: np.random.Generator) -> None:
    """Kernels that are positive only when they are centred have no samples of positive length."""
    X, y = rng.random((30, 4)) + 0.1, np.arange(30) % 3
    KernelPCA(kernel=kernel).fit(X)
    for model in (KernelPCA(), KernelLDA(), ReGEC()):
        few = model.set_params(kernel=kernel, approximation="cholesky", n_landmarks=5)
        with pytest.raises(ValueError, match="at most zero for every sample with itself"):
            few.fit(X, y)
