"""Which way an answer is found, and whether what is reported of it is true.

All ways lead to one answer, so the answer does not tell: calls are counted here.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eigenkit.data import Centered
from eigenkit.numerics.linalg import Cholesky, fill_upper, orthonormalize, whitener
from eigenkit.numerics.tolerances import REPAIRABLE, TOLD_APART, TWELVE_DIGITS
from eigenkit.pencil import Pencil, Report
from eigenkit.solvers import REGRESSIONS, krylov, planes, spectral, stages
from eigenkit.solvers.krylov import BLOCK, block_cg, block_cg_mixed, block_lsqr, largest_eigenpairs
from eigenkit.solvers.regression import Directions


def _spied(monkeypatch, owner, name, calls):
    before = getattr(owner, name)

    def spy(*given, **named):
        calls.append(name)
        return before(*given, **named)

    monkeypatch.setattr(owner, name, spy)


def _with_condition(rng, n, d, condition):
    """Centred rows whose singular values fall from 1 to 1 / condition."""
    U, V = np.linalg.qr(rng.normal(size=(n, d)))[0], np.linalg.qr(rng.normal(size=(d, d)))[0]
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    return (U * np.geomspace(1, 1 / condition, d)) @ V.T


# -- stage one -----------------------------------------------------------------------------


def test_passes_over_the_data_are_made_only_where_digits_are_lacking(rng, monkeypatch):
    seen = set()
    for condition in (3.0, 1e3, 1e4, 1e5, 1e6, 1e9):
        X = _with_condition(rng, 60, 6, condition)
        pencil = Pencil.state(Centered(X), rng.normal(size=(60, 2)), 0.0)
        factor = Cholesky.of(pencil.Z.gram())
        rcond = 0.0 if factor is None else factor.rcond
        calls: list[str] = []
        with monkeypatch.context() as patch:
            _spied(patch, type(pencil.Z), "gradient", calls)
            (answer,) = REGRESSIONS["cholesky"]([pencil], 1e-8, 100)
            before = len(calls)
            if rcond < REPAIRABLE:
                assert answer is None
                seen.add("refused")
                continue
            T = np.eye(2)
            settled = answer.settle(T)
        true = np.linalg.lstsq(pencil.Z.toarray(), pencil.H)[0]
        np.testing.assert_allclose(settled.W, true, atol=1e-9 * np.abs(true).max())
        BW, WBW = pencil.forms(settled.W)
        np.testing.assert_allclose(settled.BW, BW, atol=1e-10 * np.abs(BW).max())
        np.testing.assert_allclose(settled.square, WBW, atol=1e-10 * np.abs(WBW).max())
        assert answer.rcond == pytest.approx(rcond)
        if rcond > TWELVE_DIGITS:
            assert not calls
            seen.add("plain")
        elif rcond > TOLD_APART:
            assert before == 0 < len(calls)
            seen.add("later")
        else:
            assert before > 0
            seen.add("at once")
    assert seen == {"plain", "later", "at once", "refused"}


@pytest.mark.parametrize("shape", [(50, 12), (12, 50)])
def test_conjugate_gradients_run_on_the_smaller_side(shape, rng, monkeypatch):
    X = sparse.csr_array(rng.normal(size=shape) * (rng.random(shape) < 0.6))
    pencil = Pencil.state(Centered(X), rng.normal(size=(shape[0], 2)), 1.0)
    sides: list[int] = []
    for name in ("block_cg", "block_cg_mixed"):
        before = getattr(krylov, name)

        def spy(product, B, *given, before=before):
            sides.append(len(B))
            return before(product, B, *given)

        monkeypatch.setattr(krylov, name, spy)
    (answer,) = REGRESSIONS["cg"]([pencil], 1e-10, 200)
    Z = pencil.Z.toarray()
    true = np.linalg.solve(Z.T @ Z + np.eye(shape[1]), Z.T @ pencil.H)
    np.testing.assert_allclose(answer.W1, true, atol=1e-8)
    assert set(sides) == {12}


def test_single_precision_is_used_for_one_ridge_or_few_digits(rng, monkeypatch):
    X = sparse.csr_array(rng.normal(size=(60, 12)) * (rng.random((60, 12)) < 0.6))
    pencil = Pencil.state(Centered(X), rng.normal(size=(60, 2)), 1.0)
    calls: list[str] = []
    _spied(monkeypatch, krylov, "block_cg_mixed", calls)
    for alphas, tol, mixed in (
        ([1.0], 1e-10, True),
        ([1.0, 2.0], 1e-10, False),
        ([1.0, 2.0], 1e-4, True),
        ([0.0], 1e-10, False),
    ):
        calls.clear()
        REGRESSIONS["cg"]([pencil.at(alpha) for alpha in alphas], tol, 200)
        assert bool(calls) is mixed
    dense = Pencil.state(Centered(X.toarray()), rng.normal(size=(60, 2)), 1.0)
    calls.clear()
    REGRESSIONS["cg"]([dense], 1e-10, 200)
    assert not calls


# -- Krylov spaces -------------------------------------------------------------------------


def _counted(G):
    calls: list[int] = []

    def product(V):
        calls.append(V.shape[1])
        return (G @ V).astype(V.dtype)

    return product, calls


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-9, 1e-13])
def test_rounds_in_single_precision_ask_for_no_more_than_they_can_give(tol, rng, monkeypatch):
    """And the last one for half of what is lacking, so that rounding does not ask for another."""
    A = rng.normal(size=(60, 40))
    G, B = A.T @ A, rng.normal(size=(40, 2))
    asked: list[tuple[str, float, float]] = []
    before, left = krylov.block_cg, [0.0]

    def product(V):
        if V.dtype == np.float64:  # for a residual
            left[0] = float(np.linalg.norm(B - G @ V - 0.5 * V))
        return G.astype(V.dtype) @ V

    def spy(product, rhs, shifts, need, max_iter, *more):
        asked.append((rhs.dtype.name, need, left[0]))
        return before(product, rhs, shifts, need, max_iter, *more)

    monkeypatch.setattr(krylov, "block_cg", spy)
    (run,) = block_cg_mixed(product, B, [0.5], tol, 500)
    assert run.converged
    assert np.linalg.norm(G @ run.X + 0.5 * run.X - B) <= tol * np.linalg.norm(B) * 1.01
    assert asked[0][:2] == ("float32", max(tol, krylov.ROUND))
    assert {name for name, _, _ in asked} == {"float32"}
    assert len(asked) == {1e-2: 1, 1e-5: 2, 1e-9: 2, 1e-13: 3}[tol]
    for _, need, size in asked[1:]:
        assert need == pytest.approx(max(krylov.ROUND, tol * np.linalg.norm(B) / size / 2))


def test_iterations_are_products_and_the_tolerance_is_kept(rng):
    n, k = 40, 3
    A = rng.normal(size=(n, n))
    G, B = A @ A.T / n, rng.normal(size=(n, k))
    product, calls = _counted(G)
    shifts = [0.05, 1.0, 20.0]
    for tol in (1e-4, 1e-10):
        calls.clear()
        runs = block_cg(product, B, shifts, tol, 100)
        assert len(calls) == max(run.n_iter for run in runs)
        for shift, run in zip(shifts, runs, strict=True):
            assert run.converged
            rest = np.linalg.norm(B - G @ run.X - shift * run.X)
            assert rest <= 1.5 * tol * np.linalg.norm(B)
        counts = [run.n_iter for run in runs]
        assert counts[0] >= counts[1] >= counts[2]
        assert counts[2] < counts[0]
    for run in block_cg(product, B, shifts, 1e-12, 2):
        assert (run.n_iter, run.converged) == (2, False)
        assert np.abs(run.X).max() > 0
    calls.clear()
    (found,) = block_cg_mixed(product, B, [1.0], 1e-11, 200)
    assert found.converged
    assert np.linalg.norm(B - G @ found.X - found.X) <= 1e-11 * np.linalg.norm(B)
    (rough,) = block_cg_mixed(product, B, [1.0], 1e-3, 200)
    assert rough.converged
    assert rough.n_iter < found.n_iter
    (short,) = block_cg_mixed(product, B, [1e-3], 1e-11, 4)
    assert not short.converged
    assert short.n_iter >= 4


def test_a_space_that_is_used_up_ends_the_iteration(rng):
    G = np.diag(np.repeat([1.0, 2.0, 5.0], 10))
    product, _ = _counted(G)
    B = rng.normal(size=(30, 2))
    (run,) = block_cg(product, B, [0.5], 1e-15, 100)
    assert run.n_iter <= 4
    np.testing.assert_allclose(run.X, B / (np.diag(G)[:, None] + 0.5), atol=1e-12)
    (run,) = block_cg(product, np.zeros((30, 2)), [0.5], 1e-8, 9)
    assert (run.n_iter, run.converged) == (0, True)


def test_least_squares_steps_count_and_converge(rng):
    A, B = rng.normal(size=(30, 12)), rng.normal(size=(30, 2))
    forward: list[int] = []

    def multiplied(V):
        forward.append(1)
        return A @ V

    X, n_iter, done, _ = block_lsqr(multiplied, lambda U: A.T @ U, B, 1e-10, 100)
    assert done
    assert n_iter == len(forward) <= 7
    np.testing.assert_allclose(X, np.linalg.lstsq(A, B)[0], atol=1e-8)
    X, n_iter, done, _ = block_lsqr(lambda V: A @ V, lambda U: A.T @ U, B, 1e-10, 2)
    assert (n_iter, done) == (2, False)
    loose = block_lsqr(lambda V: A @ V, lambda U: A.T @ U, B, 1e-1, 100)
    slope = np.linalg.norm(A.T @ (B - A @ loose[0]))
    assert slope <= 1.1e-1 * np.linalg.norm(A.T @ B)
    assert loose[1] < 7


def test_lanczos_multiplies_as_often_as_it_says(rng):
    values = np.concatenate([[50.0, 40.0, 30.0], np.linspace(1, 0.1, 297)])
    product, calls = _counted(np.diag(values))
    found = largest_eigenpairs(product, 300, 3, 1e-10, 200)
    np.testing.assert_allclose(found.values, values[:3], rtol=1e-10)
    assert found.converged
    assert found.n_iter == len(calls)
    assert set(calls) == {BLOCK}
    off = values[:, None] * found.vectors - found.vectors * found.values
    assert np.linalg.norm(off, axis=0).max() <= 1e-9 * 50
    hard = np.linspace(1, 0.5, 300)
    product, calls = _counted(np.diag(hard))
    found = largest_eigenpairs(product, 300, 3, 1e-10, 9)
    assert (found.n_iter, len(calls), found.converged) == (9, 9, False)
    longer = largest_eigenpairs(product, 300, 3, 1e-10, 400)
    assert longer.converged
    np.testing.assert_allclose(longer.values, hard[:3], rtol=1e-10)
    loose = largest_eigenpairs(product, 300, 3, 1e-3, 400)
    assert loose.n_iter < longer.n_iter


# -- small matrices ------------------------------------------------------------------------


def test_estimates_of_the_condition_are_near_the_truth(rng):
    for condition in (1.0, 1e2, 1e5):
        A = _with_condition(rng, 40, 8, condition)
        B = A.T @ A * np.outer(10.0 ** np.arange(8), 10.0 ** np.arange(8))
        factor = Cholesky.of(B.copy())
        S = B / np.outer(factor.scale, factor.scale)
        inverse = np.linalg.inv(S)
        true = 1 / (np.abs(S).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max())
        assert true * (1 - 1e-6) <= factor.rcond <= 3 * true
        assert factor.smallest == pytest.approx(factor.rcond * np.abs(S).sum(axis=0).max())
        L = np.tril(factor.L)
        np.testing.assert_allclose(L @ L.T, S, atol=1e-12)
        assert np.all((S.diagonal() > 0.2) & (S.diagonal() <= 1.0))
        C = factor.scale[:, None] * rng.normal(size=(8, 2))
        off = (B @ factor.solve(C) - C) / factor.scale[:, None]
        assert np.abs(off).max() <= 1e-13 / factor.rcond


def test_bases_take_the_passes_that_their_condition_asks_for(rng, monkeypatch):
    from eigenkit.numerics import linalg

    for condition, expected in ((2.0, 1), (1e3, 2), (1e9, "pivots")):
        W = _with_condition(rng, 50, 4, condition)
        calls: list[str] = []
        with monkeypatch.context() as patch:
            _spied(patch, linalg.sla.lapack, "dpotrf", calls)
            _spied(patch, linalg, "_pivoted_qr", calls)
            Q, R = orthonormalize(W)
        np.testing.assert_allclose(Q @ R, W, atol=1e-12)
        np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-13)
        way = "pivots" if "_pivoted_qr" in calls else len(calls)
        assert way == expected
    low = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 4))
    for floor, rank in ((0.0, 2), (1e-3, 2), (1e6, 0)):
        Q, R = orthonormalize(low, floor)
        assert Q.shape == (50, rank)
    Q, R = orthonormalize(np.diag([1.0, 1.0, 1e-3, 1e-8])[:, :4].astype(float), 1e-5)
    assert Q.shape == (4, 3)


@pytest.mark.parametrize("order", [1, 255, 256, 257, 600])
def test_both_halves_are_filled(order, rng):
    A = rng.normal(size=(order, order))
    full = np.tril(A) + np.tril(A, -1).T
    np.testing.assert_array_equal(fill_upper(np.tril(A) + np.triu(np.ones_like(A), 1)), full)


def test_whiteners_of_columns_of_any_condition(rng):
    for condition in (2.0, 1e4, 1e9):
        A = _with_condition(rng, 40, 5, condition) * 10.0 ** np.arange(-2.0, 3.0)
        white = A @ whitener(A)
        np.testing.assert_allclose(white.T @ white, np.eye(5), atol=1e-6)
    A[:, 4] = A[:, :2] @ [1.0, 2.0]
    assert whitener(A).shape == (5, 4)
    assert whitener(np.diag([1.0, 1e-9]), np.array([1e-12, 1e-6])).shape == (2, 1)


# -- what is reported ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the answer has a residual")  # one is put in
@pytest.mark.parametrize("error", [0.0, 1e-6, 1e-2])
def test_residuals_are_those_of_the_answer(error, rng):
    pencil = Pencil.state(Centered(rng.normal(size=(50, 6))), rng.normal(size=(50, 3)), 0.7)
    (direct,) = REGRESSIONS["svd"]([pencil], 0.0, 0)
    span, values, basis = direct.components(None)
    W = span.W + error * rng.normal(size=span.W.shape)
    report = Report("any", "any", "a test")
    found = stages.finish(Directions(pencil, W.copy()), values, basis, report)
    B = pencil.Z.gram() + 0.7 * np.eye(6)
    AW, BW = pencil.C @ (pencil.C.T @ W), (B @ W) * values
    residual = np.linalg.norm(AW - BW) / (np.linalg.norm(AW) + np.linalg.norm(BW))
    assert found.report.residual == pytest.approx(residual, rel=1e-6, abs=1e-14)
    off = np.abs(W.T @ B @ W - np.eye(3)).max()
    assert found.report.orthogonality == pytest.approx(off, rel=1e-6, abs=1e-13)


def test_an_axis_of_lanczos_is_measured_against_the_data(rng):
    Z = Centered(rng.normal(size=(80, 60)))
    found = spectral.principal_axes(Z, 3, "lanczos", 1e-4, 100)
    G, V, s = Z.gram(), found.W, found.eigenvalues
    off = np.linalg.norm(G @ V - V * s**2, axis=0).max() / s[0] ** 2
    assert found.report.residual == pytest.approx(off, rel=1e-6)
    assert 0 < found.report.residual < 1e-3
    assert found.report.orthogonality == pytest.approx(np.abs(V.T @ V - np.eye(3)).max(), abs=1e-13)


@pytest.mark.parametrize("method", ["gram", "svd", "lanczos"])
@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_a_spectrum_holds_what_is_asked_for_and_there(method, shape, rng):
    X = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    for k in (2, 4):
        found = spectral.principal_axes(Centered(X), k, method, 1e-10, 100)
        assert len(found.eigenvalues) == min(k, 3)
        true = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
        np.testing.assert_allclose(found.eigenvalues, true[: len(found.eigenvalues)], rtol=1e-8)


# -- planes --------------------------------------------------------------------------------


def test_gram_matrices_of_planes_are_used_as_far_as_they_can_be_trusted(rng):
    def rows(condition, shift=0.0):
        A = _with_condition(rng, 60, 4, condition) * 8 + shift
        return [np.hstack([part, np.ones((30, 1))]) for part in (A[:30], A[30:] + 0.3 * A[:30])]

    well = rows(3.0)
    plain = planes.regec_from_grams(planes.class_grams(well))
    exact = planes.regec_from_rows(well, np.eye(5)[:4])
    for found in (plain, planes.regec_from_grams(planes.class_grams(well), lambda: well)):
        for z, true in zip(found.Z, exact.Z, strict=True):
            assert abs(z @ true) / np.linalg.norm(z) / np.linalg.norm(true) > 1 - 1e-10
        np.testing.assert_allclose(found.shares, exact.shares, atol=1e-10)
    # Worse ones need the rows, and the worst are left to other solvers.
    poor = rows(1e6)
    assert planes.regec_from_grams(planes.class_grams(poor)) is None
    repaired = planes.regec_from_grams(planes.class_grams(poor), lambda: poor)
    np.testing.assert_allclose(
        repaired.shares, planes.regec_from_rows(poor, np.eye(5)[:4]).shares, atol=1e-6
    )
    singular = [N @ np.diag([1.0, 1, 1, 0, 1]) + 0 * N for N in well]
    assert planes.regec_from_grams(planes.class_grams(singular), lambda: singular) is None
    huge = [N * 1e170 for N in well]
    with np.errstate(over="ignore", invalid="ignore"):
        assert planes.regec_from_grams(planes.class_grams(huge), lambda: huge) is None


@pytest.mark.parametrize("order", [planes.DENSE_ORDER, planes.DENSE_ORDER + 1])
def test_steps_of_planes_are_counted_where_there_are_any(order, rng):
    rows = [rng.normal(size=(80, order)) + shift for shift in (0.0, 0.5)]
    grams = planes.lower_grams(rows)
    found = planes.regec_with_ridge(grams, 1.0)
    assert (found.report.n_iter > 0) is (order > planes.DENSE_ORDER)
    assert found.report.regression == ("lanczos" if order > planes.DENSE_ORDER else "dense")
    for z, own, other in zip(found.Z, rows, rows[::-1], strict=True):
        A, B = own.T @ own + np.eye(order), other.T @ other + np.eye(order)
        value = (z @ A @ z) / (z @ B @ z)
        smallest = 1 / np.linalg.eigvals(np.linalg.solve(A, B)).real.max()
        assert value == pytest.approx(smallest, rel=1e-6)
