"""Parts of the solvers, each against its definition: what is asked for, and no more of it."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import scipy
from scipy import linalg as sla

from eigenkit.data import Centered, Data
from eigenkit.exceptions import ConvergenceWarning
from eigenkit.pencil import Pencil, Report
from eigenkit.solvers import coordinates, kernel_weights, stages
from eigenkit.solvers.deflation import sparse_pair
from eigenkit.solvers.kernel_weights import KernelBank, lower_bound, nearest, silp
from eigenkit.solvers.krylov import block_cg, block_lsqr, largest_eigenpairs
from eigenkit.solvers.lasso import Sparsity
from eigenkit.solvers.multiview import Cross, Rule, _ascend
from eigenkit.solvers.nipals import nipals, nipals_axes
from eigenkit.solvers.regression import Directions, Dual, reductions
from eigenkit.solvers.sparse_pairs import Request, View, alternating, pmd
from eigenkit.solvers.spectral import Filter, correct


def _spd(rng, n, condition=100.0):
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return (Q * np.geomspace(1, 1 / condition, n)) @ Q.T


# -- iterations that are used up -----------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_iterations_end_at_their_limit_and_say_so(limit, rng):
    G, B = _spd(rng, 40, 1e8), rng.normal(size=(40, 2))
    products = 0

    def product(V):
        nonlocal products
        products += 1
        return G @ V

    (run,) = block_cg(product, B, [1e-9], 1e-14, limit)
    assert (run.n_iter, run.converged, products) == (limit, False, limit)
    products = 0
    pairs = largest_eigenpairs(product, 40, 3, 1e-14, limit)
    assert (pairs.n_iter, products) == (limit, limit)
    assert pairs.converged is (limit == 5)  # five blocks of eight are the whole space
    A = rng.normal(size=(60, 30))
    _, n_iter, done, _ = block_lsqr(
        lambda V: A @ V, lambda U: A.T @ U, B.repeat(2, 0)[:60], 0.0, limit
    )
    assert (n_iter, done) == (limit, False)
    axes = nipals_axes(A, rng.random(A.shape) < 0.9, 2, tol=0.0, max_iter=limit)
    assert (axes.n_iter, axes.converged) == ((limit, limit), False)
    with pytest.warns(ConvergenceWarning, match=f"max_iter={limit}"):
        found = nipals(A, rng.normal(size=(60, 3)), 2, "canonical", tol=0.0, max_iter=limit)
    assert (found.n_iter, found.report.converged) == ((limit, limit), False)
    with pytest.warns(ConvergenceWarning, match=f"max_iter={limit}"):
        *_, steps, settled = sparse_pair(A, Sparsity(0.1), Sparsity(0.1), -1.0, limit)
    assert (steps, settled) == (limit, False)
    cross = Cross.of([A[:, :10], A[:, 10:]], 60.0)
    rule = Rule(1.0 - np.eye(2), "factorial", -1.0, limit)
    _, n_iter, done = _ascend(cross, rng.normal(size=30), rule)
    assert (n_iter, done) == (limit, False)
    bank = _bank(rng, 4, 12)
    with pytest.warns(ConvergenceWarning, match=f"after {limit} iterations"):
        weights = silp(bank, -1.0, limit)
    assert (len(weights.history), weights.converged) == (limit, False)
    assert [step.iteration for step in weights.history] == list(range(1, limit + 1))


def test_an_iteration_with_nothing_to_do_takes_no_step():
    w, c, sigma, *how = sparse_pair(np.zeros((4, 3)), Sparsity(0.1), Sparsity(0.1), 1e-6, 9)
    assert (w.any(), c.any(), sigma, *how) == (False, False, 0.0, 1, True)
    X, n_iter, done, _ = block_lsqr(
        np.zeros((5, 3)).dot, np.zeros((3, 5)).dot, np.ones((5, 1)), 0, 9
    )
    assert (X.any(), n_iter, done) == (False, 0, True)


def test_a_change_of_zero_is_within_a_tolerance_of_zero(rng):
    """Of one variable there is one direction: nothing moves after the first steps."""
    x, Y = rng.normal(size=(20, 1)), rng.normal(size=(20, 3))
    x, Y = x - x.mean(), Y - Y.mean(axis=0)
    assert nipals_axes(x, None, 1, tol=0.0, max_iter=9).converged
    assert nipals(x, Y, 1, "regression", tol=0.0, max_iter=9).n_iter[0] < 9
    assert sparse_pair(x.T @ Y, Sparsity(0.0), Sparsity(0.0), 0.0, 9)[3] < 9
    rule = Rule(1.0 - np.eye(2), "horst", 0.0, 9)
    assert _ascend(Cross.of([x, Y[:, :1]], 20.0), np.ones(2), rule)[2]
    views = View.of(Centered(x), True), View.of(Centered(x + 0.0), True)
    request = Request(Sparsity(0.0), Sparsity(0.0), 0.0, 9)
    for find in (pmd, alternating):
        *_, sweeps, done = find(*views, request)
        assert done
        assert sweeps < 9


def test_axes_are_as_many_as_are_asked_for_and_there(rng):
    X = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 6))
    X -= X.mean(axis=0)
    _, s, Vt = np.linalg.svd(X)
    for k, count in ((1, 1), (2, 2), (3, 3), (5, 3), (None, 3)):
        axes = nipals_axes(X, None, k, tol=1e-12, max_iter=500)
        assert axes.V.shape == (6, count)
        assert (len(axes.s), len(axes.n_iter), axes.converged) == (count, count, True)
        np.testing.assert_allclose(axes.s, s[:count], rtol=1e-8)
        np.testing.assert_allclose(np.abs(np.sum(axes.V.T * Vt[:count], axis=1)), 1.0, rtol=1e-8)
    assert nipals_axes(X, None, None, tol=1e-9, max_iter=500, grain=s[2] * 1.01).V.shape == (6, 2)


# -- the second stage ----------------------------------------------------------------------


def _ritz(B, C):
    """T, eigenvalues and basis on a span with W'B W = B and W'C = C."""
    span = SimpleNamespace(square=B, cross=C, turned=lambda T: T)
    return stages.rayleigh_ritz(span, None, None)


def test_ritz_solves_the_pencil_on_a_span(rng):
    B, C = _spd(rng, 4), rng.normal(size=(4, 6))
    T, values, basis = _ritz(B, C)
    np.testing.assert_allclose(T.T @ B @ T, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(C.T @ T, basis * np.sqrt(values), atol=1e-10)
    np.testing.assert_allclose(values, sla.eigvalsh(C @ C.T, B)[::-1], rtol=1e-9)
    C[:, :] = np.outer(rng.normal(size=4), C[0])  # one direction
    T, values, basis = _ritz(B, C)
    assert T.shape == (4, 1)
    assert basis.shape == (6, 1)
    assert _ritz(-B, C)[1:] == (None, None)  # as they were
    assert _ritz(np.empty((0, 0)), np.empty((0, 6)))[1:] == (None, None)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [3, 30])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_reduced_pencils_are_white_on_the_row_space(rank, n, ridge, rng):
    """In the units of the data, which differ: of all F with these scores that of least norm."""
    A = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, 4)) * [1.0, 8.0, 0.125, 1.0]
    pencil = Pencil.state(Centered(A), rng.normal(size=(n, 2)), ridge)
    Z = pencil.Z.toarray()
    ((F, M, root),) = reductions(pencil, [ridge])
    r = min(rank, n - 1)
    assert F.shape == (4, r)
    np.testing.assert_allclose(F.T @ (Z.T @ Z + ridge * np.eye(4)) @ F, np.eye(r), atol=1e-10)
    np.testing.assert_allclose(M, F.T @ pencil.C, atol=1e-10)
    unseen = sla.null_space(Z, rcond=1e-9)
    assert unseen.shape == (4, 4 - r)
    np.testing.assert_allclose(unseen.T @ F, 0.0, atol=1e-10)
    if ridge or n == 3:
        s = np.linalg.svd(Z, compute_uv=False)[:r]
        rcond = np.hypot(s[-1], ridge**0.5) / np.hypot(s[0], ridge**0.5)
        assert root[-1] / root[0] == pytest.approx(rcond)


def test_where_nothing_is_shared_one_direction_of_unit_scores_is_left(rng):
    X = np.column_stack([rng.normal(size=(9, 2)), np.full(9, 3.0)])
    pencil = Pencil(Centered(X), np.zeros((9, 2)), 0.5)
    span, values, basis = stages._any_direction(pencil)
    W = span.W
    assert W[2] == 0.0
    assert W[0] == W[1] > 0
    B = pencil.Z.gram() + 0.5 * np.eye(3)
    assert (W.T @ B @ W).item() == pytest.approx(1.0)
    assert values.tolist() == [0.0]
    np.testing.assert_array_equal(basis, np.zeros((2, 1)))


def test_what_is_rounding_is_left_out_of_an_answer(rng, monkeypatch):
    """With its part of the products of the scores, where those are not the identity."""
    pencil = Pencil.state(Centered(rng.normal(size=(20, 3))), rng.normal(size=(20, 2)), 0.0)
    W, values = rng.normal(size=(3, 3)), np.array([3.0, 2.0, 1.0])
    basis, gram = rng.normal(size=(2, 3)), W.T @ pencil.Z.gram() @ W
    keep = np.array([True, False, True])
    monkeypatch.setattr(stages, "_beyond_rounding", lambda *_: keep)
    given = values, basis, Report("", "", ""), gram
    found = stages.finish(Directions(pencil, W.copy()), *given)
    sign = np.sign(np.sum(found.W * W[:, keep], axis=0))
    np.testing.assert_allclose(found.W, W[:, keep] * sign)
    np.testing.assert_allclose(found.gram, gram[np.ix_(keep, keep)] * np.outer(sign, sign))
    np.testing.assert_allclose(found.basis, basis[:, keep] * sign)
    assert found.eigenvalues.tolist() == [3.0, 1.0]
    # Measured without what is left out, also where B W is known for all.
    residual = Directions(pencil, W[:, keep]).errors(values[keep])[0]
    assert found.report.residual == pytest.approx(residual)
    found = stages.finish(Directions(pencil, W.copy(), pencil.forms(W)[0]), *given)
    assert found.report.residual == pytest.approx(residual)


@pytest.mark.parametrize(
    ("ridge", "grain", "values", "looked"),
    [
        (np.array([1e-20, 1.0]), 1e-5, [1.0, 2.0], True),  # the smallest ridge holds least down
        (1.0, 1e-5, [1.0, 2.0], False),
        (1.0, np.array([1e-9, 2.0]), [1.0, 2.0], True),  # the column with most rounding
        (1.0, 1e-5, [1e-12, 1.0], True),  # the smallest eigenvalue
        (0.0, 0.0, [1.0, 2.0], True),
    ],
)
def test_a_ridge_settles_what_is_rounding_where_it_is_large_enough(ridge, grain, values, looked):
    Z = SimpleNamespace(
        ridge=lambda alpha: ridge,
        grain=lambda: grain,
        noise=lambda largest: 0.0,
        squares_of=lambda H: 0.9,
        rounded_squares=lambda W, ridge: np.array([0.99, 1.0]),
    )
    Z.worst_rounding = partial(Data.worst_rounding, Z)
    pencil = Pencil(Z, np.zeros((3, 1)), 1.0)
    span, values = Directions(pencil, np.zeros((2, 2))), np.array(values)
    assert stages._beyond_rounding(span, values, None).tolist() == [True, not looked]
    gram = np.diag([0.5, 1.0])  # squares up to those of the scores are none
    assert stages._beyond_rounding(span, values, gram).tolist() == [False, True]


@pytest.mark.parametrize("solver", ["two_stage", "direct"])
@pytest.mark.parametrize("regression", ["cholesky", "cg"])
def test_directions_by_eigenvalues_are_the_first_components(solver, regression, rng):
    pencil = Pencil.state(Centered(rng.normal(size=(8, 12))), rng.normal(size=(8, 5)), 0.5)
    given = {"solver": solver, "regression": regression, "tol": 1e-12, "by_eigenvalues": True}
    whole = stages.solve(pencil, stages.Settings(**given))
    assert whole.report.label_rank is None
    for rank in (2, 5, "auto"):
        found = stages.solve(pencil, stages.Settings(**given, label_rank=rank))
        r, rest = coordinates.leading(whole.eigenvalues, rank)
        assert found.report.label_rank == found.W.shape[1] == found.basis.shape[1] == r
        np.testing.assert_allclose(found.eigenvalues, whole.eigenvalues[:r], rtol=1e-8)
        np.testing.assert_allclose(found.W, whole.W[:, :r], atol=1e-7)
        assert found.report.label_bound == pytest.approx(rest, rel=1e-8)


# -- many labels ---------------------------------------------------------------------------


def test_directions_are_enough_for_a_share():
    squares = np.array([50.0, 40.0, 9.0, 0.6, 0.4])
    assert coordinates._enough(squares, 100.0) == 3  # exactly the share of 0.99
    assert coordinates._enough(squares, 100.5) == 4
    assert coordinates._enough(squares, 50.0) == 1
    assert coordinates.leading(squares, 2) == (2, 9.0)
    assert coordinates.leading(squares, "auto") == (3, 0.6)
    assert coordinates.leading(squares, 5) == (5, 0.0)
    assert coordinates.leading(squares, 8) == (5, 0.0)


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
@pytest.mark.parametrize("way", ["all at once", "a few"])
@pytest.mark.parametrize("rank", [3, "auto"])
def test_fewer_targets_leave_out_what_they_say(shape, way, rank, rng, monkeypatch):
    n, k = shape
    s = 2.0 ** -np.arange(min(shape))
    U, V = (np.linalg.qr(rng.normal(size=(m, min(shape))))[0] for m in shape)
    H = (U * s) @ V.T
    if way == "a few":
        for name, value in (("MANY", 0), ("FEW_ENTRIES", 0), ("MOST", 6)):
            monkeypatch.setattr(coordinates, name, value)
    Z = Centered(rng.normal(size=(n, 5)))
    small, T, rest = coordinates.reduced(Pencil(Z, H, 1.0), rank)
    r = 3 if rank == 3 else int(np.searchsorted(np.cumsum(s**2) / np.sum(s**2), 0.99)) + 1
    assert T.shape == (k, r)
    np.testing.assert_allclose(T.T @ T, np.eye(r), atol=1e-10)
    np.testing.assert_allclose(np.asarray(small.H), H @ T, atol=1e-12)
    near = 1e-9 if way == "all at once" or rank == 3 else 0.03
    left = np.linalg.norm(H - H @ T @ T.T, 2) ** 2
    assert left == pytest.approx(s[r] ** 2, rel=near)
    assert rest == pytest.approx(left, rel=near)
    assert rest >= left * (1 - 1e-9)


def test_labels_of_small_rank_leave_nothing_out(rng):
    H = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 8))
    for n in (30, 6):
        Z = Centered(rng.normal(size=(n, 4)))
        for rank in (5, 8):
            _, T, rest = coordinates.reduced(Pencil(Z, H[:n], 1.0), rank)
            assert T.shape == (8, 2)
            assert rest < 1e-12 * np.sum(H * H)
    full = rng.normal(size=(30, 4))
    assert coordinates.reduced(Pencil(Centered(full), full, 1.0), 4)[2] < 1e-12 * np.sum(full**2)


# -- weights of kernels --------------------------------------------------------------------


def _bank(rng, p, n):
    bank = KernelBank(p, n)
    for j in range(p):
        A = rng.normal(size=(n, 3))
        bank.put(j, A @ A.T)
    return bank.aim(rng.normal(size=(n, 2)), 0.7)


def test_cuts_touch_the_objective_and_lie_below_it(rng):
    bank, kernels = KernelBank(3, 10), []
    for j in range(3):
        A = rng.normal(size=(10, 4))
        kernels.append(A @ A.T)
        bank.put(j, kernels[-1])
    H, S = rng.normal(size=(10, 2)), _spd(rng, 10)
    bank.aim(H, 0.7)

    def F(mu):
        K = sum(m * K for m, K in zip(mu, kernels, strict=True))
        return 0.7 * np.trace(H.T @ np.linalg.solve(K + 0.7 * np.eye(10), H))

    mu = rng.dirichlet(np.ones(3))
    np.testing.assert_allclose(bank.mix(mu), sum(m * K for m, K in zip(mu, kernels, strict=True)))
    np.testing.assert_allclose(bank.inner(S), [np.trace(K @ S) for K in kernels])
    objective, values = bank.cut(mu)
    assert objective == pytest.approx(F(mu))
    assert values @ mu == pytest.approx(F(mu))
    for nu in rng.dirichlet(np.ones(3), 20):
        assert F(nu) >= values @ nu - 1e-12
    best = kernel_weights.best_single(bank)
    assert best.objective == pytest.approx(min(F(e) for e in np.eye(3)))
    assert F(best.weights) == pytest.approx(best.objective)
    assert best.bound <= silp(bank, 1e-8, 200).objective <= best.objective


def test_of_one_kernel_the_first_step_is_the_last(rng):
    """The cut there is the objective: a gap of zero is no more than a tolerance of zero."""
    found = silp(_bank(rng, 1, 8), 0.0, 9)
    assert (len(found.history), found.converged, found.gap) == (1, True, 0.0)


def test_every_step_but_the_first_is_at_the_nearest_point(rng, monkeypatch):
    calls: list[int] = []
    before = kernel_weights.nearest
    monkeypatch.setattr(kernel_weights, "nearest", lambda *given: calls.append(1) or before(*given))
    bank = _bank(rng, 4, 12)
    found = silp(bank, 1e-6, 200)
    assert len(calls) == len(found.history) - 1 > 0
    # At the corners of the program, without a level, the same is found, with more steps.
    monkeypatch.setattr(kernel_weights, "nearest", lambda cuts, level, center, corner: corner)
    plain = silp(bank, 1e-6, 200)
    assert found.objective == pytest.approx(plain.objective, rel=1e-5)


def test_the_nearest_point_below_a_level(rng):
    for _ in range(5):
        cuts, center = rng.normal(size=(4, 5)), rng.dirichlet(np.ones(5))
        bound, corner = lower_bound(cuts)
        assert (cuts @ corner).max() == pytest.approx(bound, abs=1e-8)
        assert np.all(corner >= 0)
        assert corner.sum() == pytest.approx(1.0)
        level = bound + 0.3 * ((cuts @ center).max() - bound)
        found = nearest(cuts, level, center, corner)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1.0)
        assert (cuts @ found).max() <= level + 1e-8
        constraints = [
            {"type": "ineq", "fun": lambda mu, cuts=cuts, level=level: level - cuts @ mu},
            {"type": "eq", "fun": lambda mu: mu.sum() - 1},
        ]
        true = scipy.optimize.minimize(
            lambda mu, center=center: np.sum((mu - center) ** 2),
            corner,
            bounds=[(0, 1)] * 5,
            constraints=constraints,
            options={"ftol": 1e-14},
        ).x
        np.testing.assert_allclose(found, true, atol=1e-5)


# -- orthogonal signal correction ------------------------------------------------------------


def test_a_filter_is_the_product_of_its_factors(rng):
    w, p = rng.normal(size=(2, 3, 5))
    F = Filter(list(w), list(p))
    matrix = np.eye(5)
    for a, b in zip(w, p, strict=True):
        matrix = matrix @ (np.eye(5) - np.outer(a, b))
    V = rng.normal(size=(5, 2))
    np.testing.assert_allclose(F.apply(V), matrix @ V, atol=1e-10)
    np.testing.assert_allclose(F.adjoint(V), matrix.T @ V, atol=1e-10)


def test_rotations_are_the_weights_after_the_filter_before_them(rng):
    W = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    found = correct(Centered(rng.normal(size=(30, 6))), W, rng.normal(size=(30, 2)), 0.0, 3)
    assert len(found.r) == len(found.w) == 3
    for i, (w, r) in enumerate(zip(found.w, found.r, strict=True)):
        before = Filter(found.w[:i], found.p[:i])
        np.testing.assert_allclose(r, before.apply(w[:, None])[:, 0], atol=1e-12)


@pytest.mark.parametrize("unit", [0.1, 10.0])
def test_orthogonal_components_end_at_the_grain_of_the_columns(unit, rng):
    A = unit * rng.normal(size=(20, 4))
    W = np.linalg.qr(rng.normal(size=(4, 1)))[0]

    def found(grain):
        X = SimpleNamespace(matmat=A.__matmul__, rmatmat=A.T.__matmul__)
        X.floor = lambda V: grain * np.linalg.norm(V, axis=0)
        return correct(X, W, A @ np.linalg.lstsq(A.T @ A, W)[0], 0.0, 1)

    (size,) = found(0.0).norms
    (w,) = found(0.0).w
    assert size == pytest.approx(np.sum((A @ w) ** 2))
    np.testing.assert_allclose([W[:, 0] @ w, w @ w], [0.0, 1.0], atol=1e-12)
    # Neither the score nor what the predictive one has of it may be rounding.
    length = np.sqrt(size)
    ends = min(length, abs(w @ A.T @ A @ W[:, 0]) / length)
    assert len(found(0.99 * ends).norms) == 1
    assert len(found(1.01 * ends).norms) == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_any_directions_are_those_of_the_definition(weighted, rng):
    """Also of directions that are no answer, by the directions and by their coefficients."""
    X, H = rng.normal(size=(9, 20)), rng.normal(size=(9, 3))
    weight = rng.uniform(0.5, 2.0, 9) if weighted else None
    pencil = Pencil.state(Centered(X, weight), H, 0.7)
    Z, H = pencil.Z.toarray(), np.asarray(pencil.H)
    A, values = rng.normal(size=(9, 2)), np.array([0.9, 0.4])
    W = Z.T @ A
    B = Z.T @ Z + 0.7 * np.eye(20)
    left, right = Z.T @ H @ H.T @ Z @ W, B @ W * values
    orthogonality = np.abs(W.T @ B @ W - np.eye(2)).max()
    residual = sla.norm(left - right) / (sla.norm(left) + sla.norm(right))
    for span in (Directions(pencil, W), Dual(pencil, H, A, Z @ W, 0.7)):
        np.testing.assert_allclose(span.errors(values), (residual, orthogonality), rtol=1e-9)
