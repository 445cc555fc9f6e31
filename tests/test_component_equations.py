"""Components of PLS, PCA and regressions, piece by piece against what defines them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from conftest import near
from eigenkit import PLSRegression
from eigenkit.data import (
    Blocked,
    Centered,
    CenteredKernel,
    Data,
    LocalPasses,
    Rescaled,
    SparseTarget,
    Targets,
    survey_of,
)
from eigenkit.pencil import Pencil, Report
from eigenkit.solvers import (
    REGRESSIONS,
    Settings,
    component_cv,
    krylov,
    regression,
    solve,
)
from eigenkit.solvers.deflation import Components, CrossProducts, decompose
from eigenkit.solvers.nipals import _regress, skip_missing_scores
from eigenkit.solvers.spectral import covariance_axes, largest_covariances, principal
from eigenkit.targets import TARGETS, Labels

# -- products for partial least squares ----------------------------------------------------


class _Known(Data):
    """A matrix, and what its columns may have by rounding."""

    def __init__(self, A, grain=0.0):
        self.A, self.shape, self.n_samples = A, A.shape, len(A)
        self.grains = grain * np.ones(A.shape[1])

    def matmat(self, V):
        return self.A @ V

    def rmatmat(self, U):
        return self.A.T @ U

    def grain(self, squares=None):
        return self.grains

    def toarray(self):
        return self.A

    def column_squares(self):
        return np.sum(self.A**2, axis=0)


def _cross(X, Y, grain=0.0, grain_y=0.0, gram=True):
    grains = grain_y * np.ones(Y.shape[1])
    return CrossProducts.of(_Known(X, grain), Y, grains, X.T @ X if gram else None)


def _components(X, Y, l, deflation, grain=0.0, grain_y=0.0):
    if deflation == "svd":
        return largest_covariances(_Known(X, grain), _Known(Y, grain_y), l)
    return decompose(_cross(X, Y, grain, grain_y), l, deflation)


def test_scores_are_rounding_up_to_the_grain_of_either_side(rng):
    X, Y = rng.normal(size=(2, 30, 4))
    w, c = np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    s, t = np.linalg.norm(X @ w), np.linalg.norm(Y @ c)
    for gram in (True, False):
        for covariance in (0.1, 1.0, 10.0):
            for share in (0.99, 1.01):
                # the grain of X beside scores of Y, and the other way round
                x = _cross(X, Y, grain=share * covariance / t, gram=gram)
                assert x.is_rounding(w, c, covariance, x.yy) is (share > 1)
                y = _cross(X, Y, grain_y=share * covariance / s, gram=gram)
                assert y.is_rounding(w, c, covariance, y.yy) is (share > 1)
    whole = np.sqrt(np.sum(X**2))
    sure = _cross(X, Y, grain_y=0.99 / whole, gram=False)
    sure = replace(sure, sides=None)  # no data
    assert sure.is_rounding(w, c, 1.0, sure.yy) is False


def test_small_scores_are_multiplied_from_the_data(rng):
    X, Y = rng.normal(size=(2, 30, 4))
    X[:, 3] = X[:, 0] + 1e-5 * X[:, 3]
    calls: list[int] = []
    cross = _cross(X, Y)
    cross = replace(cross, sides=lambda: calls.append(1) or (cross.X, Y))
    large, small = np.array([1.0, 0, 0, 0]), np.array([1.0, 0, 0, -1])
    for r, used in ((large, 0), (1e-4 * large, 0), (small, 1), (1e-9 * small, 1), (1e9 * small, 1)):
        g, square = cross.apply(r)
        np.testing.assert_allclose(g, X.T @ (X @ r), rtol=1e-9)
        assert square == near(np.sum((X @ r) ** 2), 1e-6)
        assert len(calls) == used
        calls.clear()


def test_products_with_the_data_are_made_in_their_threads(rng):
    for gram in (True, False):
        cross, entered = _cross(*rng.normal(size=(2, 9, 3)), gram=gram), []
        cross.X.threads = ExitStack()
        cross.X.threads.callback(entered.append, "left")
        decompose(cross, 1, "regression")
        assert bool(entered) is not gram


def _scaling(Z, squares, freedom, scale):
    found = Rescaled.of(Z, scale, squares, freedom)
    return found.factor, found.std, found.unit


def test_factors_of_columns_that_vary_and_of_those_that_do_not(rng):
    X = rng.normal(size=(20, 4)) * [1.0, 5.0, 1.0, 1.0] + 3.0
    X[:, 2] = 4.0
    Z = Centered(X)
    squares = Z.column_squares()
    std = X.std(axis=0, ddof=1)
    factor, found, unit = _scaling(Z, squares, 19.0, True)
    live = [0, 1, 3]
    np.testing.assert_allclose(factor[live], 1 / std[live])
    np.testing.assert_allclose(found[live], std[live])
    assert (factor[2], found[2], unit) == (0.0, 1.0, 1.0)
    factor, found, unit = _scaling(Z, squares, 19.0, False)
    assert (factor.tolist(), found.tolist(), unit) == ([1, 1, 0, 1], [1] * 4, 1.0)
    tiny = Centered(X * [1e-90, 1e90, 1.0, 1.0])
    factor, found, unit = _scaling(tiny, tiny.column_squares(), 19.0, True)
    np.testing.assert_allclose(found[live], (std * [1e-90, 1e90, 1, 1])[live])
    np.testing.assert_allclose(np.sqrt(tiny.column_squares()[live] / 19) * factor[live], 1.0)
    factor, found, unit = _scaling(tiny, tiny.column_squares(), 19.0, False)
    lengths = np.sqrt(tiny.column_squares() / 19) * factor
    np.testing.assert_allclose(
        lengths[live] / lengths[1], (std * [1e-180, 1, 0, 1e-90])[live] / std[1]
    )
    np.testing.assert_allclose(lengths[1], std[1] * 1e90 * unit)
    still = Centered(np.ones((5, 2)))
    factor, _, unit = _scaling(still, still.column_squares(), 4.0, False)
    assert (factor.tolist(), unit) == ([0, 0], 1.0)


@pytest.mark.parametrize("deflation", ["regression", "canonical", "simpls", "svd"])
def test_the_first_components_are_those_of_fewer(deflation, rng):
    X, Y = rng.normal(size=(30, 5)), rng.normal(size=(30, 3))
    three, two = (_components(X, Y, l, deflation) for l in (3, 2))
    assert (len(three), len(two)) == (3, 2)
    for name in {field.name for field in fields(Components)} - {"report"}:
        mine, theirs = (np.asarray(getattr(found, name)) for found in (three, two))
        np.testing.assert_allclose(mine[..., :2], theirs, atol=1e-10)


def test_rotations_of_y_give_scores_of_deflated_blocks(rng):
    model = PLSRegression(2, scale=False).fit(rng.normal(size=(30, 5)), rng.normal(size=(30, 3)))
    W, P = model.y_weights_, model.y_loadings_
    np.testing.assert_allclose(model.y_rotations_ @ (P.T @ W), W, atol=1e-10)


@pytest.mark.parametrize("deflation", ["regression", "canonical", "simpls", "svd"])
def test_squares_of_cross_products_stay_in_range(deflation, rng):
    X, Y = rng.normal(size=(30, 5)), rng.normal(size=(30, 3))
    plain, tiny = (_components(X * s, Y * s, 2, deflation) for s in (1.0, 2.0**-280))
    np.testing.assert_array_equal(tiny.x_weights, plain.x_weights)
    np.testing.assert_array_equal(tiny.singular_values, plain.singular_values * 2.0**-560)


@pytest.mark.parametrize("deflation", ["canonical", "svd"])
def test_components_end_where_either_side_is_rounding(deflation, rng):
    """Y of rank two, and a grain above what the second and third have in common."""
    X, Y = rng.normal(size=(30, 5)), rng.normal(size=(30, 2)) @ rng.normal(size=(2, 3))
    grain_y = 1e-15 * np.linalg.norm(Y)
    assert len(_components(X, Y, 3, deflation, 0.0, grain_y)) == 2
    values = _components(X, Y, 2, deflation).singular_values
    assert len(_components(X, Y, 3, deflation, 1e3 * values[0])) == 0
    assert len(_components(X, Y, 3, deflation, 0.0, 1e3 * values[0])) == 0


def test_regressions_over_what_is_there(rng):
    A, b = rng.normal(size=(6, 9)), rng.normal(size=9)
    M = (rng.random((6, 9)) < 0.7).astype(float)
    M[2] = 0.0
    found = _regress(A * M, b, M)
    for i in range(6):
        on = M[i] > 0
        true = np.linalg.lstsq(b[on, None], A[i, on])[0][0] if on.any() else 0.0
        assert found[i] == pytest.approx(true)
    np.testing.assert_allclose(_regress(A, b, None), A @ b / (b @ b))
    W, P = np.linalg.qr(rng.normal(size=(9, 2)))[0], rng.normal(size=(9, 2))
    T = skip_missing_scores(A * M, M > 0, W, P)
    rest = A * M
    for j in range(2):
        t = _regress(rest, W[:, j], M)
        np.testing.assert_allclose(T[:, j], t)
        rest = rest - M * np.outer(t, P[:, j])


def test_a_gram_matrix_is_updated_where_that_pays(rng, monkeypatch):
    tall, wide = Centered(rng.normal(size=(400, 5))), Centered(rng.normal(size=(20, 400)))
    assert component_cv.whole_gram(wide, 1, 2) is None
    np.testing.assert_allclose(component_cv.whole_gram(tall, 20, 10), tall.gram())
    asked: list[int] = []
    monkeypatch.setattr(component_cv, "gram_pays", lambda Z, n: asked.append(n) or False)
    component_cv.whole_gram(tall, 3, 10)
    assert asked == [15]  # half a fit for every fold


# -- inner products only -------------------------------------------------------------------


@pytest.mark.parametrize("deflation", ["regression", "canonical", "simpls"])
def test_partial_least_squares_from_inner_products(deflation, rng):
    """The loop of linear PLS, on a linear kernel."""
    Z = Centered(rng.normal(size=(20, 6)))
    kernel = CenteredKernel(Z.outer()).with_scores()
    H = rng.normal(size=(20, 3))
    H -= H.mean(axis=0)
    true, found = (decompose(CrossProducts.of(X, H, 0.0, None), 3, deflation) for X in (Z, kernel))
    if deflation == "regression":  # by its definition, from products with all of K
        K, Y = Z.outer(), H.copy()
        T = kernel.matmat(found.x_rotations)
        for i in range(3):
            values, C = np.linalg.eigh(Y.T @ K @ Y)
            assert found.singular_values[i] ** 2 == pytest.approx(values[-1])
            t = K @ Y @ C[:, -1]
            assert abs(t @ T[:, i]) == pytest.approx(np.linalg.norm(t) * np.linalg.norm(T[:, i]))
            np.testing.assert_allclose(found.y_loadings[:, i], H.T @ T[:, i] / (T[:, i] @ T[:, i]))
            P = np.eye(20) - np.outer(t, t) / (t @ t)
            K, Y = P @ K @ P, P @ Y
    np.testing.assert_allclose(found.singular_values, true.singular_values)
    sign = np.sign(np.sum(found.y_loadings * true.y_loadings, axis=0))
    for name in ("y_weights", "y_rotations", "y_loadings"):
        np.testing.assert_allclose(getattr(found, name) * sign, getattr(true, name), atol=1e-10)
    for name in ("x_norms", "x_taken", "y_taken"):
        np.testing.assert_allclose(getattr(found, name), getattr(true, name))
    for name in ("x_weights", "x_rotations", "x_loadings"):
        duals = getattr(found, name) * sign
        np.testing.assert_allclose(Z.rmatmat(duals[:20]), getattr(true, name), atol=1e-10)
        np.testing.assert_allclose(duals[20:], Z.matmat(getattr(true, name)), atol=1e-9)
    one = CrossProducts.of(kernel, np.outer(Z.toarray()[:, 0], [1.0, 2.0]), 0.0, None)
    assert len(decompose(one, 9, deflation)) <= 6
    assert len(decompose(CrossProducts.of(kernel, 0 * H, 0.0, None), 2, deflation)) == 0


@pytest.mark.parametrize("shape", [(30, 5), (8, 20)])
@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
def test_principal_components_in_the_units_of_the_features(shape, unit, rng):
    X = rng.normal(size=shape) * np.linspace(1, 3, shape[1])
    C = X - X.mean(axis=0)
    _, s, Vt = np.linalg.svd(C, full_matrices=False)
    W, values, total = principal(Centered(unit * X), 3).found
    np.testing.assert_allclose(values / unit / unit, s[:3] ** 2, rtol=1e-9)
    assert total / unit / unit == pytest.approx(np.sum(s**2))
    np.testing.assert_allclose(np.abs(np.sum(W.T * Vt[:3], axis=1)), 1.0, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1.0, rtol=1e-9)


def test_covariances_whose_squares_are_no_numbers_are_refused(rng):
    X, H = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    for units in ([1e-152, 1e-163], [1e160, 1.0], [1e-170, 1e-170]):
        pencil = Pencil.state(Centered(X * units), H, 0.0)
        with pytest.raises(ValueError, match="leave the range of floating point"):
            covariance_axes(pencil, H)
    found = covariance_axes(Pencil.state(Centered(1e120 * X), H, 0.0), H)
    C = (X - X.mean(axis=0)).T @ (H - H.mean(axis=0))
    s = np.linalg.svd(C, compute_uv=False)
    np.testing.assert_allclose(found.eigenvalues / 1e240, s**2, rtol=1e-10)


# -- regressions -----------------------------------------------------------------------------


def test_methods_without_iterations_report_none(rng):
    X, H = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    for name in ("cholesky", "dual_cholesky", "svd"):
        pencil = Pencil.state(Centered(X), H, 0.5)
        report = solve(pencil, Settings(regression=name)).report
        assert (report.n_iter, report.converged, report.label_rank) == (0, True, None)
        assert (report.label_bound, report.equivalent) == (0.0, True)
    for name in ("cg", "lsqr"):
        report = solve(pencil, Settings(regression=name)).report
        assert report.n_iter >= 1
        assert report.converged
    assert solve(pencil, Settings(solver="direct")).report.n_iter == 0
    plain = Report("a", "b", "c")
    assert (plain.n_iter, plain.converged, plain.label_bound, plain.equivalent) == (0, 1, 0, 1)


def test_the_condition_is_that_of_the_penalized_products(rng):
    X, H = rng.normal(size=(30, 4)) * [1.0, 1.1, 0.9, 1.0], rng.normal(size=(30, 2))
    for alpha in (0.5, 50.0):
        pencil = Pencil.state(Centered(X), H, alpha)
        true = np.linalg.cond(pencil.Z.gram() + alpha * np.eye(4))
        assert solve(pencil, Settings(solver="direct")).report.condition == pytest.approx(true)
        assert solve(pencil, Settings(regression="svd")).report.condition == pytest.approx(true)
        found = solve(pencil, Settings(regression="cholesky")).report.condition
        assert true / 5 < found < true * 5
    assert np.isnan(solve(pencil, Settings(regression="lsqr")).report.condition)


def test_the_error_of_a_mixture_is_its_first_step_of_refinement(rng):
    X, H = rng.normal(size=(30, 5)), rng.normal(size=(30, 3))
    pencil = Pencil.state(Centered(X), H, 0.5)
    B = pencil.Z.gram() + 0.5 * np.eye(5)
    normal = regression._primal(pencil, pencil.Z.gram())
    T = rng.normal(size=(3, 4))
    W = np.linalg.solve(B, pencil.C @ T)
    assert normal.error(W, T) < 1e-14
    E = 1e-4 * rng.normal(size=W.shape)
    mix = np.array([1.0, -1.0, -1.0, -1.0]) / np.linalg.norm(W + E, axis=0)
    step = np.linalg.norm(E @ mix) / np.linalg.norm((W + E) @ mix)
    assert normal.error(W + E, T) == pytest.approx(step, rel=1e-6)
    for found in (normal.refined(W, T), normal.settled(W, T)):
        np.testing.assert_allclose(found.W, W, atol=1e-12)
        np.testing.assert_allclose(found.BW, B @ W, atol=1e-11)
        np.testing.assert_allclose(found.square, W.T @ B @ W, atol=1e-11)
    near = normal.refined(W + 1e-5 * E, T)  # one step, and no residual after it
    np.testing.assert_allclose(near.W, W, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(near.BW, B @ W, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(near.square, W.T @ B @ W, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("method", list(REGRESSIONS))
@pytest.mark.parametrize("units", [(1.0, 1.0, 1.0), (1e-80, 1.0, 1e80)])
def test_ridges_in_units_of_their_own(method, units, rng):
    """W1 in the units of X minimizes the penalized squares in those units."""
    A, H = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    Z = Centered(A * units)
    if method in ("cg", "dual_cholesky") and np.ndim(Z.ridge(0.7)):
        pytest.skip("takes one ridge for all columns")
    pencil = Pencil.state(Z, H, 0.7)
    answers = REGRESSIONS[method]([pencil, pencil.at(0.0)], 1e-12, 500)
    for alpha, answer in zip((0.7, 0.0), answers, strict=True):
        D, C = A - A.mean(axis=0), (A - A.mean(axis=0)).T @ (H - H.mean(axis=0))
        ridge = alpha / np.array(units) / np.array(units)  # of coefficients times their units
        true = np.linalg.solve(D.T @ D + np.diag(ridge), C)
        if answer is None:  # it gives up, and another method takes over
            assert alpha == 0.0 or method == "lsqr"
            continue
        T = np.eye(2)
        W = answer.settle(T).W
        np.testing.assert_allclose(Z.to_X(W) * np.array(units)[:, None], true, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("offset", "least", "certain"), [(0.0, 1e-8, True), (1e11, 1.0, True), (1e11, 1e-8, False)]
)
def test_a_sample_that_weighs_less_than_the_rounding_of_others(offset, least, certain, rng):
    """Without a ridge the smallest sample decides what of the dual coefficients is certain."""
    weight = np.array([least, 1.0, 1.0, 1.0, 1.0, 1.0])
    Z = Centered(rng.normal(size=(6, 10)) + offset, weight)
    pencil = Pencil.state(Z, rng.normal(size=(6, 2)), 0.0)
    (answer,) = REGRESSIONS["dual_cholesky"]([pencil], 1e-8, 100)
    assert (answer is not None) is certain


@pytest.mark.parametrize(
    ("offset", "apart", "certain"), [(0.0, 1e-4, True), (1e12, 1.0, True), (1e12, 1e-4, False)]
)
def test_a_column_whose_rounding_may_hide_a_direction(offset, apart, certain, rng):
    """The column with most rounding decides, whichever columns are close to each other."""
    X = rng.normal(size=(30, 4))
    X[:, 1] = X[:, 0] + apart * X[:, 1]
    X[:, 3] += offset
    pencil = Pencil.state(Centered(X), rng.normal(size=(30, 2)), 0.0)
    (answer,) = REGRESSIONS["cholesky"]([pencil], 1e-8, 100)
    assert (answer is not None) is certain


@pytest.mark.parametrize("possible", [True, False])
def test_columns_hidden_by_rounding_are_looked_for_where_that_is_possible(possible):
    for least, hidden in ((0.9e-6, True), (1.1e-6, False)):
        Z = SimpleNamespace(
            column_squares=lambda least=least: np.array([1.0, 0.0, least]),
            grain=lambda: np.array([0.0, 1e-3, 1e-5]),
            decomposable=possible,
        )
        assert krylov._hidden(Z) is (hidden and possible)


@pytest.mark.parametrize("side", [9, 20_000])
def test_blocks_may_be_decomposed_where_their_triangle_fits(side):
    X = sparse.csr_array(([1.0], ([0], [0])), shape=(3, side))
    passes = LocalPasses(lambda: [[(X, np.ones((3, 1)), None)]])
    assert Blocked(passes, passes.run(survey_of)).decomposable is (side == 9)


def test_blocks_solve_with_columns_in_units_of_their_own(rng):
    A, H = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    for storage in (np.asarray, sparse.csr_array):
        X = storage(A * [1e-80, 1.0, 1e80])
        passes = LocalPasses(lambda X=X: [[(X[:15], H[:15], None)], [(X[15:], H[15:], None)]])
        Z = Blocked(passes, passes.run(survey_of))
        T = Targets(lambda Y: Y - H.mean(axis=0), (40, 2))
        whole = Pencil.state(Centered(X), H, 0.3)
        for name in ("cholesky", "svd", "lsqr"):
            mine = solve(Pencil(Z, T, 0.3), Settings(regression=name))
            theirs = solve(whole, Settings(regression=name))
            np.testing.assert_allclose(mine.eigenvalues, theirs.eigenvalues, rtol=1e-7)


# -- what targets say of themselves ----------------------------------------------------------


@pytest.mark.parametrize("name", TARGETS)
def test_targets_are_as_sparse_and_as_white_as_they_say(name, rng):
    J = (rng.random((40, 4)) < 0.4).astype(float)
    if name == "lda":
        J = np.eye(4)[rng.integers(0, 4, 40)]
    target, C = TARGETS[name], J - J.mean(axis=0)
    labels = Labels(J.sum(axis=0), C)
    H = target.rows(J, labels)
    assert target.sparse is bool(np.array_equal(H != 0, J != 0))
    if target.sparse:
        S = target.rows(sparse.csr_array(J), labels)
        assert sparse.issparse(S)
        np.testing.assert_allclose(S.toarray(), H, atol=1e-12)
    G = target.rows(C, labels) if target.linear and target.local is TARGETS["opls"].local else H
    s = np.linalg.svd(G - G.mean(axis=0), compute_uv=False)
    s = s[s > 1e-9]
    assert target.whitened is bool(s[0] - s[-1] < 1e-9)
    assert (labels.weight, labels.one, labels.n_rows) == (1.0, 1.0, 0)


@pytest.mark.parametrize("n_rows", [0, 10, 40, 1000])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_rounding_of_labels_is_that_of_as_many_samples_as_there_are(n_rows, storage, rng):
    J = (rng.random((40, 4)) < 0.4).astype(float)
    C = J - J.mean(axis=0)
    factor = C if storage == "dense" else SparseTarget(sparse.csr_array(J))
    single = float(np.finfo(np.float32).eps)
    labels = Labels(J.sum(axis=0), factor, n_rows=n_rows, total=40.0, eps=single)
    squares = np.sum(C**2, axis=0) + J.sum(axis=0) ** 2 / 40  # as far from zero as they were
    np.testing.assert_allclose(squares, J.sum(axis=0), rtol=1e-12)
    step = 2 * single * (1 + np.sqrt(4 / max(n_rows, 40)))
    np.testing.assert_allclose(labels.grain, step * np.sqrt(squares), rtol=1e-6)


def test_a_penalty_on_labels_is_added_to_their_products(rng):
    C = rng.normal(size=(30, 3))
    labels = Labels(np.zeros(3), C)
    assert labels.penalized(1.0, 0.0) is labels
    for share, ridge in ((0.5, 0.0), (1.0, 2.0), (0.3, 0.7)):
        found = labels.penalized(share, ridge)
        B = share * C.T @ C + ridge * np.eye(3)
        np.testing.assert_allclose(found.factor.T @ found.factor, B, atol=1e-12)
        np.testing.assert_allclose(
            found.whiteners[0].T @ B @ found.whiteners[0], np.eye(3), atol=1e-12
        )
        np.testing.assert_allclose(found.whiteners[1] @ found.whiteners[0], np.eye(3), atol=1e-12)
