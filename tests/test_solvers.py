"""All solvers solve the pencil, and they agree: the equivalence theorems of the papers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg as sla
from scipy import sparse

from conftest import ZOO, dense, labels_for, make_X, projector_distance, some_of
from eigenkit.data import Centered
from eigenkit.exceptions import ConditionWarning, ConvergenceWarning
from eigenkit.moments import Rows
from eigenkit.numerics.costs import GRAM_LIMIT_BYTES
from eigenkit.pencil import Pencil
from eigenkit.solvers import REGRESSIONS, Choice, Settings, choose, solve, solve_path, stages
from eigenkit.solvers.krylov import block_cg, block_cg_mixed, block_lsqr, largest_eigenpairs
from eigenkit.solvers.least_squares import l1_path, targets
from eigenkit.targets import TARGETS

ALPHAS = [0.0, *(10.0**e for e in range(-6, 7))]


def pencil_of(kind: str, target: str, alpha: float, rng: np.random.Generator) -> Pencil:
    X = make_X(kind, rng)
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    Y = labels_for(target, X.shape[0], rng)
    Y = np.eye(3)[Y] if target == "lda" else Y
    return Rows(X, Y, None).problem(TARGETS[target], 1.0, alpha).pencil


def explicit(pencil: Pencil) -> tuple[np.ndarray, np.ndarray]:
    """A and B written out."""
    Z = pencil.Z.toarray()
    A = Z.T @ pencil.H @ pencil.H.T @ Z
    return A, Z.T @ Z + pencil.alpha * np.eye(Z.shape[1])


@pytest.mark.parametrize(("target", "kind"), some_of(TARGETS, ZOO))
def test_two_stage_equals_direct(target, kind, rng):
    pencil = pencil_of(kind, target, 0.0, rng)
    for alpha in ALPHAS:
        problem = Pencil(pencil.Z, pencil.H, alpha)
        direct, two_stage = solve(problem, Settings("direct")), solve(problem)
        assert direct.W.shape == two_stage.W.shape
        assert projector_distance(two_stage.W, direct.W) < 1e-10, alpha
        np.testing.assert_allclose(
            two_stage.eigenvalues, direct.eigenvalues, atol=1e-10 * direct.eigenvalues.max()
        )


@pytest.mark.parametrize("method", REGRESSIONS)
@pytest.mark.parametrize("kind", ["tall", "wide", "rank-deficient", "sparse tall", "sparse wide"])
@pytest.mark.parametrize("alpha", [0.0, 1e-2, 1.0, 1e4])
def test_every_regression_reaches_the_same_answer(method, kind, alpha, rng):
    pencil = pencil_of(kind, "star", alpha, rng)
    reference = solve(pencil, Settings("direct"))
    solution = solve(pencil, Settings("two_stage", method, tol=1e-14))
    assert projector_distance(solution.W, reference.W) < 1e-9
    if alpha > 0:  # without a ridge wide data tie eigenvalues at 1: compare spaces only
        np.testing.assert_allclose(solution.W, reference.W, atol=1e-7 * np.abs(reference.W).max())


@pytest.mark.parametrize("kind", ZOO)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_defining_equations(kind, target, alpha, rng):
    pencil = pencil_of(kind, target, alpha, rng)
    solution = solve(pencil)
    A, B = explicit(pencil)
    W, values = solution.W, solution.eigenvalues
    size = np.linalg.norm(A @ W) + np.linalg.norm(B @ W * values)
    assert np.linalg.norm(A @ W - B @ W * values) <= 1e-9 * size
    np.testing.assert_allclose(W.T @ B @ W, np.eye(len(values)), atol=1e-8)
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    assert np.all(W[np.abs(W).argmax(axis=0), np.arange(len(values))] > 0)
    assert solution.report.residual < 1e-9
    assert solution.report.orthogonality < 1e-8


def test_eigenvalues_are_those_of_scipy(rng):
    pencil = pencil_of("tall", "opls", 2.0, rng)
    A, B = explicit(pencil)
    expected = sla.eigh(A, B, eigvals_only=True)[::-1][:4]
    np.testing.assert_allclose(solve(pencil).eigenvalues, expected, rtol=1e-10)


def test_least_norm_without_a_ridge(rng):
    """alpha = 0: W lies in the row space of the centred data."""
    for kind in ("wide", "rank-deficient", "sparse wide"):
        pencil = pencil_of(kind, "cca", 0.0, rng)
        Z = pencil.Z.toarray()
        W = solve(pencil).W
        np.testing.assert_allclose(np.linalg.pinv(Z) @ (Z @ W), W, atol=1e-9)


def test_l1_path_starts_empty_and_obeys_the_optimality_conditions(rng):
    pencil = pencil_of("tall", "star", 0.0, rng)
    Z = pencil.Z.toarray()
    T = targets(pencil.H)
    for method in ("lars", "cd"):
        paths = l1_path(pencil, method, 30, 1e-10, 1000)
        assert len(paths) == 4
        for alphas, coefs in paths:
            assert not coefs[:, 0].any()
            assert np.all(np.diff(alphas) < 0)
            assert np.count_nonzero(coefs[:, -1]) == 8
    alphas, coefs = l1_path(pencil, "lars", 30, 1e-10, 1000)[0]
    assert _optimal(Z, T[:, 0], coefs[:, 3], alphas[3])


def _optimal(Z, t, w, alpha):
    """Subgradient of ||Z w - t||^2 + alpha |w|_1 at w."""
    gradient = 2 * Z.T @ (t - Z @ w)
    active = w != 0
    fine = np.abs(gradient) <= alpha + 1e-8
    return bool(fine.all() and np.allclose(gradient[active], alpha * np.sign(w[active]), atol=1e-8))


# -- relations between the methods (MATH section 4) --------------------------------------


def test_cca_and_opls_span_the_same_space_with_all_components(rng):
    X, Y = make_X("tall", rng), rng.normal(size=(60, 3))
    for alpha in (0.0, 1.0):
        W = [
            solve(Rows(X, Y, None).problem(TARGETS[t], 1.0, alpha).pencil).W
            for t in ("cca", "opls")
        ]
        Q = [np.linalg.qr(w)[0] for w in W]
        assert projector_distance(*Q) < 1e-10
        first = [np.linalg.qr(w[:, :1])[0] for w in W]
        assert projector_distance(*first) > 1e-3


def test_lda_equals_cca_on_the_indicator_matrix(rng):
    X, J = make_X("tall", rng), np.eye(3)[np.arange(60) % 3]
    for alpha in (0.0, 1.0):
        W, W0 = (
            solve(Rows(X, J, None).problem(TARGETS[t], 1.0, alpha).pencil).W for t in ("lda", "cca")
        )
        np.testing.assert_allclose(W, W0, atol=1e-10)


# -- metamorphic relations ----------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), target=st.sampled_from(sorted(TARGETS)))
def test_rotation_and_order_do_not_matter(seed, target):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6))
    Y = labels_for(target, 40, rng)
    Y = np.eye(3)[Y] if target == "lda" else Y
    reference = solve(Rows(X, Y, None).problem(TARGETS[target], 1.0, 0.5).pencil)
    Q, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    rotated = solve(Rows(X @ Q, Y, None).problem(TARGETS[target], 1.0, 0.5).pencil)
    assert projector_distance(Q @ rotated.W, reference.W) < 1e-10
    order = rng.permutation(40)
    shuffled = solve(Rows(X[order], Y[order], None).problem(TARGETS[target], 1.0, 0.5).pencil)
    assert projector_distance(shuffled.W, reference.W) < 1e-10


@pytest.mark.parametrize("power", [-300, -40, 7, 60, 300])
@pytest.mark.parametrize("kind", ["tall", "wide", "rank-deficient", "sparse tall", "sparse wide"])
def test_powers_of_two_change_no_bit(power, kind, rng):
    pencil = pencil_of(kind, "star", 0.0, rng)
    for alpha in (0.0, 1.0):
        factor = 2.0**power
        scaled = Pencil(Centered(pencil.Z.X * factor), pencil.H, alpha * factor**2)
        reference = Pencil(pencil.Z, pencil.H, alpha)
        np.testing.assert_array_equal(solve(scaled).W * factor, solve(reference).W)


def test_same_input_same_bits(rng):
    for kind in ("tall", "wide", "sparse wide"):
        pencil = pencil_of(kind, "cca", 0.1, rng)
        for method in REGRESSIONS:
            first = solve(pencil, Settings(regression=method)).W
            np.testing.assert_array_equal(solve(pencil, Settings(regression=method)).W, first)


# -- grids, choice, failure ---------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", *REGRESSIONS])
@pytest.mark.parametrize("kind", ["tall", "wide", "sparse wide"])
def test_a_path_equals_single_fits(method, kind, rng):
    pencil = pencil_of(kind, "zhou", 1.0, rng)
    alphas = [0.01, 1.0, 100.0]
    for alpha, solution in zip(
        alphas, solve_path(pencil, alphas, Settings(regression=method, tol=1e-13)), strict=True
    ):
        single = solve(Pencil(pencil.Z, pencil.H, alpha), Settings(regression=method, tol=1e-13))
        np.testing.assert_allclose(solution.W, single.W, atol=1e-8 * np.abs(single.W).max())


def test_choice_follows_the_shape(rng):
    assert choose(Centered(rng.normal(size=(500, 20))), 3, [1.0], 1e-8).regression == "cholesky"
    assert (
        choose(Centered(rng.normal(size=(20, 500))), 3, [1.0], 1e-8).regression == "dual_cholesky"
    )
    large = sparse.random_array((20_000, 30_000), density=1e-4, rng=rng, format="csr")
    assert GRAM_LIMIT_BYTES < 8 * 20_000**2
    assert choose(Centered(large), 3, [1.0], 1e-8).regression == "cg"
    choice = choose(Centered(large), 3, [0.0], 1e-8)
    assert choice.regression == "lsqr"
    assert "alpha is 0" in choice.reason


def test_conjugate_gradients_are_not_chosen_where_rounding_keeps_them_from_tol(rng):
    Z = Centered(sparse.random_array((3000, 4000), density=0.01, rng=rng, format="csr"))
    assert choose(Z, 3, [1.0], 1e-8).regression == "cg"
    assert "cg" not in choose(Z, 3, [1e-9, 1.0], 1e-8).costs
    large = Centered(sparse.random_array((20_000, 30_000), density=1e-4, rng=rng, format="csr"))
    assert choose(large, 3, [1e-9], 1e-8).regression == "cg"  # nothing else fits
    assert "cg" not in choose(large, 3, [0.0, 1.0], 1e-8).costs  # where any alpha is 0


@pytest.mark.slow
def test_large_sparse_problem_by_the_iterative_solvers(rng):
    X = sparse.random_array((3000, 4000), density=2e-3, rng=rng, format="csr")
    Y = (rng.random((3000, 5)) < 0.2).astype(float)
    for alpha in (0.0, 1.0):
        pencil = Rows(X, Y, None).problem(TARGETS["star"], 1.0, alpha).pencil
        exact = solve(pencil, Settings(regression="dual_cholesky")).W
        for method in ("lsqr",) if alpha == 0 else ("cg", "lsqr"):
            solution = solve(pencil, Settings(regression=method, tol=1e-12))
            assert solution.report.converged
            assert projector_distance(solution.W[:200], exact[:200]) < 1e-6


def test_a_solver_that_does_not_converge_says_so(rng):
    pencil = pencil_of("sparse wide", "star", 1e-6, rng)
    for method in ("cg", "lsqr"):
        with pytest.warns(ConvergenceWarning, match=r"stopped after 1 iterations .* max_iter"):
            solution = solve(pencil, Settings(regression=method, max_iter=1))
        assert not solution.report.converged


def test_cg_chosen_that_does_not_converge_gives_way_to_a_factorization(rng, monkeypatch):
    pencil = pencil_of("sparse wide", "star", 1e-6, rng)
    costs = {"cg": 1.0, "dual_cholesky": 2.0}
    monkeypatch.setattr(stages, "choose", lambda *given: Choice("cg", "cg is cheap", costs))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        found = solve(pencil, Settings(max_iter=1))
    assert found.report.regression == "dual_cholesky"
    assert "cg is cheap, but it did not converge: dual_cholesky" in found.report.reason
    exact = solve(pencil, Settings(regression="dual_cholesky"))
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-12)
    with pytest.warns(ConvergenceWarning, match="or leave regression at 'auto'"):
        solve(pencil, Settings(regression="cg", max_iter=1))


def test_ill_conditioned_data_are_named(rng):
    hilbert = sla.hilbert(12)[:, :9]
    Y = rng.normal(size=(12, 2))
    with pytest.warns(ConditionWarning, match="condition number of .* increase alpha"):
        solve(Rows(hilbert, Y, None).problem(TARGETS["opls"], 1.0, 0.0).pencil)


def test_nothing_shared_gives_a_zero_eigenvalue():
    X = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    Y = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    solution = solve(Rows(X, Y, None).problem(TARGETS["cca"], 1.0, 0.0).pencil)
    assert solution.eigenvalues.tolist() == [0.0]
    assert np.isfinite(solution.W).all()


def test_gram_falls_back_where_it_cannot_be_trusted(rng):
    pencil = pencil_of("rank-deficient", "cca", 0.0, rng)
    report = solve(pencil, Settings(regression="cholesky")).report
    assert report.regression == "svd"
    assert "singular to rounding" in report.reason


@pytest.mark.parametrize("alpha", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize("n_components", [None, 1])
def test_errors_by_dual_coefficients_are_those_of_the_directions(alpha, n_components, rng):
    X = sparse.random_array((40, 300), density=0.1, rng=rng, format="csr")
    Y = (rng.random((40, 5)) < 0.4).astype(float)
    pencil = Rows(X, Y, None).problem(TARGETS["opls"], 1.0, alpha).pencil
    for tol in (1e-2, 1e-9):
        how = Settings(regression="cg", tol=tol, n_components=n_components)
        found = solve(pencil, how)
        A, B = explicit(pencil)
        AW, BW = A @ found.W, B @ found.W * found.eigenvalues
        gap = np.linalg.norm(AW - BW) / (np.linalg.norm(AW) + np.linalg.norm(BW))
        assert found.report.residual == pytest.approx(gap, rel=1e-6, abs=1e-13)
        assert found.report.orthogonality < 1e-12
        np.testing.assert_allclose(found.W.T @ B @ found.W, np.eye(found.W.shape[1]), atol=1e-10)
        cross = np.asarray(pencil.H).T @ pencil.Z.toarray() @ found.W
        np.testing.assert_allclose(cross, found.cross, atol=1e-10 * np.abs(cross).max())


def test_the_regression_itself_follows_from_dual_coefficients(rng):
    pencil = pencil_of("sparse wide", "opls", 0.5, rng)
    (found,) = REGRESSIONS["cg"]([pencil], 1e-12, 100)
    assert found.dual is not None
    np.testing.assert_allclose(pencil.forms(found.W1)[0], pencil.C, atol=1e-9)


# -- Krylov methods on their own ----------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 4), k=st.integers(1, 5))
def test_block_cg_solves_every_shift(seed, rank, k):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(12, 9))
    G, B = M @ M.T, rng.normal(size=(12, rank)) @ rng.normal(size=(rank, k))
    for solver in (block_cg, block_cg_mixed):
        runs = solver(lambda V: G.astype(V.dtype) @ V, B, [0.5, 3.0], 1e-12, 200)
        for shift, run in zip([0.5, 3.0], runs, strict=True):
            assert run.converged
            X = np.linalg.solve(G + shift * np.eye(12), B)
            np.testing.assert_allclose(run.X, X, atol=1e-8)
            if run.image is not None:
                np.testing.assert_allclose(run.image, G @ run.X, rtol=1e-12, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 6), k=st.integers(1, 5))
def test_block_lsqr_gives_the_least_norm_solution(seed, rank, k):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(12, rank)) @ rng.normal(size=(rank, 9))
    B = rng.normal(size=(12, k))
    X, _, done, _ = block_lsqr(lambda V: A @ V, lambda U: A.T @ U, B, 1e-12, 200)
    assert done
    np.testing.assert_allclose(X, np.linalg.pinv(A) @ B, atol=1e-6 * np.linalg.norm(X))


def test_no_right_hand_side_no_work():
    runs = block_cg(lambda V: V, np.zeros((5, 2)), [1.0], 1e-8, 10)
    assert not runs[0].X.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, n_iter, done, _ = block_lsqr(lambda V: V, lambda U: U, np.zeros((5, 2)), 1e-8, 10)
    assert (n_iter, done) == (0, True)
    assert dense(X).shape == (5, 2)


@pytest.mark.parametrize(("noise", "refined"), [(10.0, False), (0.3, True)])
def test_residuals_are_computed_for_all_columns_only_where_one_lacks_digits(
    noise, refined, rng, monkeypatch
):
    """Ten factors and noise: the Gram matrix of X loses digits as the noise gets smaller."""
    X = 30 * rng.normal(size=(400, 10)) @ rng.normal(size=(10, 40)) + noise * rng.normal(
        size=(400, 40)
    )
    Y = (X[:, :8] + 30 * rng.normal(size=(400, 8)) > 0).astype(float)
    pencil = Rows(X, Y, None).problem(TARGETS["cca"], 1.0, 0.0).pencil
    monkeypatch.setattr("eigenkit.solvers.regression.MIXED", 4)
    widths = []
    gradient = type(pencil.Z).gradient

    def counted(Z, V, H=None):
        widths.append(V.shape[1])
        return gradient(Z, V, H)

    monkeypatch.setattr(type(pencil.Z), "gradient", counted)
    found = solve(pencil, Settings(regression="cholesky"))
    assert found.report.regression == "cholesky"
    assert 1e-9 < 1 / found.report.condition < 1e-3
    assert (max(widths) > 1) is refined
    exact = solve(pencil, Settings(solver="direct"))
    assert projector_distance(found.W, exact.W) < 1e-11


def test_a_small_ridge_is_no_bargain_for_conjugate_gradients(rng):
    """Rounding keeps blocks going after they have spanned the space: the forecast must not stop."""
    X = sparse.random_array((4000, 6000), density=0.01, format="csr", rng=rng)
    costs = [choose(Centered(X), 50, [alpha], 1e-6).costs for alpha in (1.0, 1e-2, 1e-4)]
    assert costs[0]["dual_cholesky"] == costs[2]["dual_cholesky"]
    assert costs[1]["cg"] > 1.5 * costs[0]["cg"]
    assert costs[2]["cg"] > 1.5 * costs[1]["cg"]


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_eigenvalue_of_a_difference_that_nearly_vanishes(seed):
    """Rounding of the parts is larger than that of the result: no direction may be kept twice."""
    rng = np.random.default_rng(seed)
    H = np.linalg.qr(rng.normal(size=(40, 30)))[0]
    H -= H.mean(axis=0)
    HV = H @ np.linalg.eigh(H.T @ H)[1][:, 1:]
    true = np.linalg.eigvalsh(H @ H.T - HV @ HV.T)[-1]
    found = largest_eigenpairs(lambda U: H @ (H.T @ U) - HV @ (HV.T @ U), 40, 1, 0.01, 200)
    assert found.converged
    np.testing.assert_allclose(found.values, [true], rtol=0.02)
