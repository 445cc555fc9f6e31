"""Weights of kernels: optimality, the gap, baselines, and hostile input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from eigenkit import (
    Kernel,
    KernelCCA,
    KernelHypergraphSpectral,
    KernelLDA,
    KernelOrthonormalizedPLS,
    KernelPCA,
    MultipleKernelProjection,
)
from eigenkit.data import CenteredKernel
from eigenkit.exceptions import ConvergenceWarning
from eigenkit.solvers.kernel_weights import (
    KernelBank,
    best_of,
    best_single,
    lower_bound,
    nearest,
    silp,
)


def bank(seed: int = 0, n: int = 30, p: int = 5, alpha: float = 1.0) -> tuple[KernelBank, Any]:
    """A bank of kernels on different features, some of which explain the target."""
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, 3))
    H -= H.mean(axis=0)
    found = KernelBank(p, n).aim(H, alpha)
    kernels = np.empty((p, n, n))
    for j in range(p):
        X = H @ rng.normal(size=(3, 4)) * (j % 2) + rng.normal(size=(n, 4))
        K = CenteredKernel(Kernel("rbf", 0.05 * 2**j)(X)).K
        kernels[j] = K * n / np.trace(K)
        found.put(j, kernels[j])
    return found, kernels


def objective(kernels: np.ndarray, H: np.ndarray, alpha: float, weights: np.ndarray) -> float:
    K = np.tensordot(weights, kernels, 1)
    return alpha * float(np.sum(H * np.linalg.solve(K + alpha * np.eye(len(K)), H)))


# -- the numbers ------------------------------------------------------------------------


@given(seed=st.integers(0, 1000), alpha=st.sampled_from([0.05, 1.0, 20.0]))
@settings(max_examples=20, deadline=None)
def test_cuts_are_tight_where_made_and_below_everywhere(seed: int, alpha: float) -> None:
    found, kernels = bank(seed, n=15, p=4, alpha=alpha)
    rng = np.random.default_rng(seed)
    here, there = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
    value, cut = found.cut(here)
    np.testing.assert_allclose(value, objective(kernels, found.H, alpha, here), rtol=1e-9)
    assert cut @ there <= objective(kernels, found.H, alpha, there) * (1 + 1e-9)


def test_the_cut_is_that_of_the_thesis() -> None:
    """S_j of equation 6.5, with r_j = 1 for weights that sum to one, up to its sign."""
    found, kernels = bank(alpha=0.7)
    weights = np.full(5, 0.2)
    Psi = 2 * np.linalg.solve(np.eye(30) + np.tensordot(weights, kernels, 1) / 0.7, found.H)
    S = [
        np.sum(Psi * Psi) / 4 + np.sum(Psi * (K @ Psi)) / (4 * 0.7) - np.sum(Psi * found.H)
        for K in kernels
    ]
    np.testing.assert_allclose(found.cut(weights)[1], -np.array(S), rtol=1e-10)


def test_mixing_and_inner_products_from_one_triangle() -> None:
    found, kernels = bank()
    weights = np.array([0.5, 0.0, 0.2, 0.3, 0.0])
    np.testing.assert_allclose(found.mix(weights), np.tensordot(weights, kernels, 1), atol=1e-12)
    S = found.H @ found.H.T
    np.testing.assert_allclose(found.inner(S), [np.sum(K * S) for K in kernels], rtol=1e-10)


@pytest.mark.parametrize("alpha", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_optimum_equals_that_of_a_general_solver(seed: int, alpha: float) -> None:
    found, kernels = bank(seed, alpha=alpha)
    answer = silp(found, tol=1e-7, max_iter=300)
    general = minimize(
        lambda w: objective(kernels, found.H, alpha, w),
        np.full(5, 0.2),
        method="SLSQP",
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert answer.converged
    np.testing.assert_allclose(answer.objective, general.fun, rtol=1e-6)
    assert answer.bound <= general.fun * (1 + 1e-9)
    np.testing.assert_allclose(answer.weights, general.x, atol=5e-3)


@pytest.mark.parametrize("level", [0.1, 0.3, 0.5])
def test_levels_reach_one_optimum_and_the_gap_is_true(level: float, monkeypatch: Any) -> None:
    found, _ = bank(3, p=8)
    exact = silp(found, tol=1e-7, max_iter=500)
    monkeypatch.setattr("eigenkit.solvers.kernel_weights.LEVEL", level)
    rough = silp(found, tol=1e-3, max_iter=500)
    assert rough.bound <= exact.objective <= rough.objective
    assert rough.gap <= 1e-3
    np.testing.assert_allclose(rough.gap, (rough.objective - rough.bound) / rough.objective)


def test_history_closes_in_from_both_sides() -> None:
    found, _ = bank(1, p=8)
    seen: list[Any] = []
    answer = silp(found, 1e-6, 300, progress=seen.append)
    assert tuple(seen) == answer.history
    assert np.all(np.diff([s.objective for s in seen]) <= 0)
    assert np.all(np.diff([s.bound for s in seen]) >= -1e-9 * answer.objective)
    assert [s.iteration for s in seen] == list(range(1, len(seen) + 1))


def test_weights_are_a_distribution_and_no_worse_than_the_baselines() -> None:
    found, _ = bank(2)
    learned, single = silp(found, 1e-6, 300), best_single(found)
    same = best_of(found, [np.full(5, 0.2)])
    np.testing.assert_allclose(learned.weights.sum(), 1.0)
    assert np.all(learned.weights >= 0)
    assert learned.objective <= min(single.objective, same.objective) * (1 + 1e-9)
    assert sorted(single.weights) == [0, 0, 0, 0, 1]
    assert max(single.bound, same.bound) <= learned.objective


def test_one_kernel_needs_one_step() -> None:
    found, _ = bank(p=1)
    answer = silp(found, 1e-12, 5)
    assert answer.weights.tolist() == [1.0]
    assert len(answer.history) == 1


def test_stopping_early_warns_with_the_gap() -> None:
    found, _ = bank(p=8)
    with pytest.warns(ConvergenceWarning, match=r"duality gap of .* after 2 iterations, above tol"):
        answer = silp(found, 1e-12, 2)
    assert not answer.converged


@given(seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_bound_and_nearest_point_of_random_cuts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cuts = rng.normal(size=(4, 3)) + 2
    bound, corner = lower_bound(cuts)
    grid = rng.dirichlet(np.ones(3), size=2000)
    heights = (grid @ cuts.T).max(axis=1)
    assert bound <= heights.min() + 1e-9
    np.testing.assert_allclose((cuts @ corner).max(), bound, rtol=1e-6)
    center, level = np.full(3, 1 / 3), bound + 0.5 * (heights.max() - bound)
    point = nearest(cuts, level, center, corner)
    assert (cuts @ point).max() <= level + 1e-7
    inside = grid[heights <= level]
    distances = np.linalg.norm(inside - center, axis=1)
    assert np.linalg.norm(point - center) <= distances.min(initial=np.inf) + 1e-7


# -- the estimator ----------------------------------------------------------------------


def data(seed: int = 0, n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    Y = (np.sin(2 * X[:, :3]) + 0.3 * rng.normal(size=(n, 3)) > 0).astype(float)
    return X, Y, rng.normal(size=(7, 6))


VIEWS = [
    Kernel("rbf", 0.5, columns=slice(0, 3)),
    Kernel("rbf", 0.5, columns=[3, 4, 5]),
    "linear",
]
ESTIMATORS = [
    KernelHypergraphSpectral(expansion="star"),
    KernelHypergraphSpectral(expansion="clique"),
    KernelHypergraphSpectral(expansion="zhou"),
    KernelCCA(),
    KernelOrthonormalizedPLS(),
    KernelLDA(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_any_target_finds_the_view_that_matters(estimator: Any) -> None:
    X, Y, X_new = data()
    y = Y.argmax(axis=1) if isinstance(estimator, KernelLDA) else Y
    model = MultipleKernelProjection(estimator, VIEWS, tol=1e-5).fit(X, y)
    assert model.weights_[0] > 0.5
    assert model.gap_ <= 1e-5
    assert model.n_iter_ == len(model.history_)
    K = model.kernel_matrix(X)
    np.testing.assert_allclose(np.trace(CenteredKernel(K).K), len(X), rtol=1e-9)
    inner = clone(estimator).set_params(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        model.transform(X_new), inner.transform(model.kernel_matrix(X_new)), atol=1e-8
    )
    if hasattr(estimator, "predict"):
        assert model.score(X, y) > 0.5


def test_learned_weights_maximize_what_the_projection_explains() -> None:
    """The objective is tr(H'H) minus the sum of the eigenvalues: less of it, more of them."""
    X, Y, _ = data()
    sums = {
        how: MultipleKernelProjection(kernels=VIEWS, weights=how, tol=1e-6).fit(X, Y)
        for how in ("silp", "uniform", "best")
    }
    total = {how: m.objective_ + m.eigenvalues_.sum() for how, m in sums.items()}
    np.testing.assert_allclose(list(total.values()), total["silp"], rtol=1e-8)
    assert sums["silp"].eigenvalues_.sum() >= sums["uniform"].eigenvalues_.sum()
    assert sums["silp"].eigenvalues_.sum() >= sums["best"].eigenvalues_.sum() - 1e-9


def test_matrices_names_and_weights_agree() -> None:
    X, Y, X_new = data()
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    by_name = MultipleKernelProjection(kernels=VIEWS).fit(X, Y, sample_weight=weight)
    kernels = [Kernel("rbf", 0.5, columns=slice(0, 3)), VIEWS[1], Kernel("linear")]
    by_matrix = MultipleKernelProjection(kernels="precomputed")
    by_matrix.fit([k(X) for k in kernels], Y, sample_weight=weight)  # type: ignore[operator]
    np.testing.assert_allclose(by_matrix.weights_, by_name.weights_, atol=1e-6)
    new = [k(X_new, X) for k in kernels]  # type: ignore[operator]
    np.testing.assert_allclose(by_matrix.transform(new), by_name.transform(X_new), atol=1e-4)


def test_given_weights_are_used_and_sparse_data_stay_sparse() -> None:
    X, Y, X_new = data()
    model = MultipleKernelProjection(kernels=VIEWS, weights=[2, 0, 2]).fit(X, Y)
    np.testing.assert_allclose(model.weights_, [0.5, 0, 0.5])
    thin = clone(model).fit(sparse.csr_array(X), Y)
    assert sparse.issparse(thin.X_fit_)
    np.testing.assert_allclose(thin.transform(X_new), model.transform(X_new), atol=1e-8)


def test_progress_is_silent_unless_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    X, Y, _ = data()
    MultipleKernelProjection(kernels=VIEWS).fit(X, Y)
    assert capfd.readouterr() == ("", "")
    MultipleKernelProjection(kernels=VIEWS, verbose=True).fit(X, Y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "kernel weights, iteration 1: objective" in err
    steps: list[Any] = []
    model = MultipleKernelProjection(kernels=VIEWS, verbose=steps.append).fit(X, Y)
    assert steps == model.history_


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"weights": [0, 0, 0]}, ValueError, "weights are zero for every kernel"),
        ({"weights": [1, 1]}, ValueError, "give 3 numbers >= 0, one per kernel"),
        ({"weights": [1, -1, 1]}, ValueError, "give 3 numbers >= 0"),
        ({"weights": "equal"}, ValueError, "weights='equal' is not known"),
        ({"kernels": []}, ValueError, "give a list of kernels, or 'precomputed'"),
        ({"kernels": "rbf"}, ValueError, "give a list of kernels, or 'precomputed'"),
        ({"kernels": 3}, ValueError, "give a list of kernels, or 'precomputed'"),
        ({"kernels": ["gauss"]}, ValueError, "kernel='gauss' is not known"),
        ({"kernels": [Kernel("rbf", -1.0)]}, ValueError, "gamma=-1.0 is not valid"),
        ({"kernels": [lambda A, B: A]}, ValueError, "kernel returned shape"),
        ({"estimator": KernelPCA()}, TypeError, "estimator is a KernelPCA"),
        ({"estimator": KernelCCA(alpha=0.0)}, ValueError, "alpha above 0"),
        ({"tol": -1}, ValueError, "tol=-1 is not valid"),
        ({"max_iter": 0}, ValueError, "max_iter=0 is not valid"),
    ],
)
def test_bad_parameters_are_named(params: dict[str, Any], error: Any, message: str) -> None:
    X, Y, _ = data()
    model = MultipleKernelProjection(kernels=VIEWS).set_params(**params)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_bad_matrices_are_named_by_their_number() -> None:
    X, Y, X_new = data()
    good = X @ X.T
    skew, holed = good.copy(), good.copy()
    skew[0, 1] += 1
    holed[0, 0] = np.nan
    model = MultipleKernelProjection(kernels="precomputed")
    bad = {
        r"kernels\[1\] is not symmetric": skew,
        r"kernels\[1\] contains NaN": holed,
        r"kernels\[1\] is zero": 0 * good,
        r"kernels\[1\] is constant": np.ones_like(good),
        r"kernels\[1\] is not positive semidefinite": -good,
        "kernels of shapes": good[:, :5],
    }
    for message, K in bad.items():
        with pytest.raises(ValueError, match=message):
            model.fit([good, K], Y)
    with pytest.raises(ValueError, match="of none"):
        model.fit([], Y)
    with pytest.raises(ValueError, match="give the square matrix"):
        model.fit([good[:, :5]], Y)
    model.fit([good, good @ good], Y)
    with pytest.raises(ValueError, match="X holds 1 kernels with 60 columns: give 2"):
        model.transform([X_new @ X.T])


def test_constant_y_and_wrong_lengths_are_refused() -> None:
    X, Y, _ = data()
    with pytest.raises(ValueError, match="no label at all"):
        MultipleKernelProjection(kernels=VIEWS).fit(X, 0 * Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples: 60 rows of X, 50 of y"):
        MultipleKernelProjection(kernels=VIEWS).fit(X, Y[:50])


def test_a_bank_that_does_not_fit_is_refused() -> None:
    X = sparse.eye_array(20_000, 3, format="csr")
    with pytest.raises(ValueError, match=r"5 kernels of 20000 samples would need 7\.5 GB"):
        MultipleKernelProjection().fit(X, (np.arange(20_000) % 2).reshape(-1, 1))


# -- by name ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["star", "clique", "zhou", "cca", "opls"])
def test_a_target_by_name_is_the_estimator_itself(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (X + rng.normal(size=X.shape) > 0).astype(float)
    made = {
        "cca": KernelCCA(2, alpha=3.0),
        "opls": KernelOrthonormalizedPLS(2, alpha=3.0),
    }.get(name) or KernelHypergraphSpectral(2, expansion=name, alpha=3.0)
    by_name = MultipleKernelProjection(name, n_components=2, alpha=3.0).fit(X, Y)
    given = MultipleKernelProjection(made).fit(X, Y)
    np.testing.assert_array_equal(by_name.weights_, given.weights_)
    np.testing.assert_array_equal(by_name.transform(X), given.transform(X))


def test_an_unknown_name():
    with pytest.raises(ValueError, match="estimator='stra' is not known"):
        MultipleKernelProjection("stra").fit(np.eye(4), np.eye(4))


def test_the_kernel_matrix_is_the_weighted_sum_of_the_kernels_themselves(rng):
    """Not that of samples without their means, which only a centred kernel does not notice."""
    X, new = rng.normal(size=(30, 4)) + 3, rng.normal(size=(7, 4)) + 3
    Y = X[:, :2] + rng.normal(size=(30, 2))
    kernels = [Kernel("rbf", 0.05), "linear"]
    model = MultipleKernelProjection(KernelCCA(1), kernels, weights=[0.5, 0.5]).fit(X, Y)
    expected = model.theta_[0] * rbf_kernel(new, X, gamma=0.05) + model.theta_[1] * new @ X.T
    np.testing.assert_allclose(model.kernel_matrix(new), expected, rtol=1e-12)
