"""Rules of the core that only show at other sizes, after more steps, or in a forecast."""

from __future__ import annotations

import re
from dataclasses import replace
from math import lgamma, log, pi
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from eigenkit import PLSCanonical, SparsePLS
from eigenkit.data import Blocked, Centered, Data, Linked, LocalPasses, Rescaled, passes, survey_of
from eigenkit.data.centered import correlations
from eigenkit.data.matrices import largest
from eigenkit.moments import Rows, graph
from eigenkit.numerics import linalg
from eigenkit.numerics.costs import DENSE_RATE
from eigenkit.numerics.linalg import (
    first_triplets,
    largest_first,
    orthonormalize,
    signs,
    symmetric_whitener,
    whitener,
)
from eigenkit.numerics.tolerances import EPS
from eigenkit.solvers import (
    component_cv,
    coordinates,
    krylov,
    large_planes,
    multiview,
    planes,
    shrinkage,
    sparse_latent,
    sparse_pairs,
    spectral,
)
from eigenkit.solvers import lasso as lasso_module
from eigenkit.solvers.deflation import CrossProducts
from eigenkit.solvers.lasso import Sparsity
from eigenkit.solvers.regression import Regression
from eigenkit.solvers.sparse_pairs import Request, View
from eigenkit.solvers.spectral import correct
from eigenkit.solvers.stages import choose


def test_without_scaling_all_columns_have_the_unit_of_the_largest(rng):
    X = rng.normal(size=(20, 3)) * [1e120, 1.0, 1e-120]
    Z = Centered(X)
    assert np.ndim(Z.ridge(1.0)) == 1
    A = Rescaled.of(Z, False, Z.column_squares())
    centred = (X - X.mean(axis=0)) * A.unit
    assert 0.1 < np.abs(centred).max() <= 4.0
    np.testing.assert_allclose(A.toarray(), centred, rtol=1e-9)
    np.testing.assert_array_equal(A.std, 1.0)


def _minka(spectrum, k, n):
    """Laplace's approximation of the evidence, term by term (Minka, 2000)."""
    d, noise = len(spectrum), np.mean(spectrum[k:])
    u = -k * log(2) + sum(lgamma((d - i) / 2) - (d - i) / 2 * log(pi) for i in range(k))
    fit = -n / 2 * (sum(map(log, spectrum[:k])) + (d - k) * log(noise))
    smooth = [*spectrum[:k], *[noise] * (d - k)]
    A = sum(
        log((1 / smooth[j] - 1 / smooth[i]) * (spectrum[i] - spectrum[j]) * n)
        for i in range(k)
        for j in range(i + 1, d)
    )
    m = d * k - k * (k + 1) / 2
    return u + fit + (m + k) / 2 * log(2 * pi) - A / 2 - k / 2 * log(n)


@pytest.mark.parametrize("n", [7, 50])
def test_the_evidence_of_components_is_minkas(n, rng):
    spectrum = np.sort(rng.uniform(0.5, 5.0, 6))[::-1]
    for k in range(1, 6):
        assert spectral._evidence(spectrum, k, n) == pytest.approx(_minka(spectrum, k, n))
    best = max(range(1, 6), key=lambda k: _minka(spectrum, k, n))
    assert spectral.minka(spectrum, n, 6) == best


@pytest.mark.parametrize("n", [10, 300])
def test_a_krylov_space_ends_with_the_distinct_values(n, rng):
    for values in ([3.0], [3.0, 1.0], [1e6, 2e5, 1e-1]):
        diagonal = np.sort(rng.choice(values, n))[::-1]
        diagonal[: len(values)] = values
        diagonal = np.sort(diagonal)[::-1]
        Q, mu = shrinkage.lanczos(diagonal, rng.normal(size=n), 8)
        np.testing.assert_allclose(np.sort(mu)[::-1], values, rtol=1e-6)
        np.testing.assert_allclose(Q @ Q.T, np.eye(len(values)), atol=1e-10)


class _Forecast(Data):
    """Data of a shape of which only the costs are known."""

    def __init__(self, shape, gram=0.0, outer=0.0, passes=0.0):
        self.shape, self.costs = shape, (gram, outer, passes)

    def seconds_for_gram(self):
        return self.costs[0]

    def seconds_for_outer(self):
        return self.costs[1]

    def seconds_for_passes(self, k):
        return self.costs[2] * k


def _predicted(Z, k):
    method, reason = spectral.cheapest(Z, k)
    costs = {
        name: float(s) for name, s in re.findall(r"(\w+) is predicted to take (\S+) s", reason)
    }
    assert costs[method] == min(costs.values())
    return costs


@pytest.mark.parametrize("shape", [(10_000, 2000), (2000, 10_000)])
def test_forecasts_of_spectra_add_up(shape):
    """An eigensolver takes 3 n^3 multiplications; Lanczos keeps 6 vectors a component and 80 more,
    each of which takes a pass and is made orthogonal to all others."""
    near = {"rel": 0.06}  # of two digits
    eigen = 3 * 2000**3 / DENSE_RATE
    assert _predicted(_Forecast(shape), 100)["gram"] == pytest.approx(eigen, **near)
    tall = shape[0] > shape[1]
    own = {"gram" if tall else "outer": 7.0, "outer" if tall else "gram": 1e9}
    assert _predicted(_Forecast(shape, **own), 100)["gram"] == pytest.approx(7 + eigen, **near)
    for k in (10, 500):
        free = _predicted(_Forecast(shape), k)["lanczos"]
        assert free == pytest.approx((6 * k + 80) * 8 * k * 2000 / DENSE_RATE, **near)
        passes = _predicted(_Forecast(shape, passes=1.0), k)["lanczos"]
        assert passes == pytest.approx(6 * k + 80, **near)
    assert "lanczos" not in _predicted(_Forecast(shape), 501)  # more than a quarter
    assert "lanczos" not in _predicted(_Forecast(shape), None)


# -- the search for components ---------------------------------------------------------------------


def _bounds(monkeypatch, values):
    """An ascent whose bound takes these values, one at every look."""
    looks = iter(values)
    for name in ("update", "latent"):
        monkeypatch.setattr(sparse_latent, name, lambda *given: None)
    monkeypatch.setattr(sparse_latent, "bound", lambda *given: next(looks))


def test_an_ascent_looks_at_the_bound_every_tenth_step(monkeypatch):
    _bounds(monkeypatch, [0.0, 100.0, 100.5, 100.50001])
    run = sparse_latent.ascend(None, None, 1e-3, 1000)
    assert (run.n_iter, run.bound) == (40, 100.50001)
    assert run.change == pytest.approx(1e-6)


@pytest.mark.parametrize(("beat", "steps"), [(599.0, 30), (601.0, 20)])
def test_an_ascent_ends_where_fifty_more_steps_would_not_be_enough(beat, steps, monkeypatch):
    _bounds(monkeypatch, [0.0, 100.0, 100.0])  # by ten a step: 600 in fifty more
    run = sparse_latent.ascend(None, None, 1e-3, 1000, beat)
    assert run.n_iter == steps


# -- nothing but ratios counts -----------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-25, 1e25])
def test_rank_order_and_ties_are_relative(unit, rng):
    Q, P = np.linalg.qr(rng.normal(size=(6, 6)))[0], np.linalg.qr(rng.normal(size=(5, 5)))[0]
    s = np.array([1.0, 0.5, 1e-3, 1e-9, 0.0])
    _, found, _ = first_triplets(unit * (Q[:, :5] * s) @ P, None)
    np.testing.assert_allclose(found, unit * s[:3], rtol=1e-9)
    D = unit * (P * [1.0, 0.5, 1e-3, 1e-14, 0.0]) @ P.T
    pencil = SimpleNamespace(Z=Data(), C=np.eye(5), forms=lambda W: (W, None))
    _, values, _ = Regression(pencil, lambda: D).components(None)
    np.testing.assert_allclose(values, unit * s[:3], rtol=1e-9)
    assert largest_first(unit * np.array([1.0, 3.0, 2.0, 3.0])).tolist() == [1, 3, 2, 0]
    assert largest(unit * np.array([-3.0, 2.0])) == 3 * unit
    assert largest(unit * np.array([3.0, -2.0])) == 3 * unit
    assert largest(unit * np.array([-3.0, -2.0])) == 3 * unit
    W = unit * np.array([[0.1, -0.5], [-0.3, 0.2]])
    assert signs(W).tolist() == [-1.0, -1.0]
    basis, R = orthonormalize(W @ [[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]])
    assert basis.shape[1] == len(R) == 1
    np.testing.assert_allclose(basis @ R, W @ [[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]], atol=1e-15 * unit)


@pytest.mark.parametrize("unit", [1e-200, 1e-25, 1e25, 1e200])
def test_whitened_columns_may_have_any_length(unit, rng):
    A = rng.normal(size=(20, 3)) * [unit, 1.0, 0.0]
    for white in (A @ whitener(A), A @ symmetric_whitener(A)[0][:, :2]):
        np.testing.assert_allclose(white.T @ white, np.eye(2), atol=1e-9)


@pytest.mark.parametrize("unit", [1e-25, 1.0, 1e25])
def test_eigenpairs_by_lanczos_have_the_unit_of_the_operator(unit, rng):
    Q = np.linalg.qr(rng.normal(size=(150, 150)))[0]
    true = np.zeros(150)
    true[:20] = np.linspace(1.0, 0.1, 20)
    G = unit * (Q * true) @ Q.T
    found = krylov.largest_eigenpairs(lambda V: G @ V, 150, 5, 1e-10, 200)
    np.testing.assert_allclose(found.values, unit * true[:5], rtol=1e-8)
    assert found.converged
    all_of_them = krylov.largest_eigenpairs(lambda V: G @ V, 150, 30, 1e-10, 200)
    assert len(all_of_them.values) == 20


@pytest.mark.parametrize("size", [2e-304, 2e305])
@pytest.mark.parametrize("shape", [(9, 2), (2, 9)])
def test_numbers_that_no_unit_can_help_are_refused(size, shape, rng):
    with pytest.raises(ValueError, match="leave the range of floating point"):
        Centered(rng.uniform(0.5, 1.0, shape) * size)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_a_lasso_is_as_exact_for_small_targets(unit, rng):
    A = rng.normal(size=(30, 6))
    c = A.T @ rng.normal(size=30)
    G = A.T @ A
    plain, small = (
        lasso_module._proximal(lambda w: G @ w, 80.0, u * c, 0.1 * u, False, np.zeros(6))
        for u in (1.0, unit)
    )
    np.testing.assert_allclose(small, unit * plain, rtol=1e-7)


# -- planes ------------------------------------------------------------------------------------


def test_one_plane_that_is_not_found_is_told(monkeypatch):
    squares = np.array([[4.0, 6.0, 2.0], [1.0, 1.0, 2.0]])
    rows = large_planes.Sums(np.ones((2, 3)), squares, np.ones(3))

    def found(rows, ridges, tol, max_iter):
        return np.array([3.0, 1.0]), np.ones((2, 3)), max_iter, residuals

    monkeypatch.setattr(large_planes, "largest_quotients", found)
    residuals = np.array([0.5, 1e-4])
    # Rows have a mean squared length of 12 / 4.
    with pytest.warns(ConvergenceWarning, match=r"a row, 3: try values from 30 on"):
        planes_found = large_planes.planes_from_products(rows, 0.1, 0.0)
    np.testing.assert_allclose(planes_found.shares, [0.25, 0.5])
    residuals = np.array([1e-2, 1e-4])  # nothing to tell
    large_planes.planes_from_products(rows, 0.1, 0.0)


@pytest.mark.parametrize("unit", [1e-75, 1e75])
def test_planes_from_products_are_left_alone_where_squares_leave_their_range(unit, rng):
    rows = [np.column_stack([rng.normal(size=(15, 2)) + c, np.ones(15)]) for c in (0.0, 1.0)]
    assert planes.regec_from_grams(planes.class_grams(rows)) is not None
    far = [N * [1.0, unit, 1.0] for N in rows]
    assert planes.regec_from_grams(planes.class_grams(far), far) is None
    both = [N * [1 / unit, unit, 1.0] for N in rows]
    assert planes.regec_from_grams(planes.class_grams(both), both) is None


# -- limits ------------------------------------------------------------------------------------


def test_targets_are_decomposed_as_a_whole_up_to_their_limits(monkeypatch):
    taken: list[str] = []

    def way(name, n_answers):
        def found(*_):
            taken.append(name)
            return (np.ones(2), np.eye(2), 2.0)[:n_answers]

        monkeypatch.setattr(coordinates, name, found)

    for name, n_answers in (("_by_rows", 3), ("_by_gram", 3), ("_lanczos", 2)):
        way(name, n_answers)
    most = coordinates.MANY
    ways = {
        (2**11, 2**12): "_by_rows",  # FEW_ENTRIES
        (2**11, 2**12 + 1): "_lanczos",
        (2**11, 2**11): "_lanczos",  # as tall as wide
        (most, 2 * most): "_by_rows",
        (10 * most, most): "_by_gram",
        (most + 1, most + 1): "_lanczos",
        (most, 2 * most + 1): "_by_rows",
        (2**12, most): "_by_gram",
        (2 * most, most + 1): "_lanczos",
    }
    Z = SimpleNamespace(has_rows=True, within=lambda H: H, squares_of=lambda H: 2.0)
    for shape in ways:
        coordinates._directions(Z, SimpleNamespace(shape=shape), 1)
    assert taken == list(ways.values())
    taken.clear()
    monkeypatch.setattr(coordinates, "FEW_ENTRIES", 0)
    for shape in ((most, 2 * most), (most, 2 * most + 1)):
        coordinates._directions(Z, SimpleNamespace(shape=shape), 1)
    assert taken == ["_by_gram", "_lanczos"]
    Z.has_rows = False
    coordinates._directions(Z, SimpleNamespace(shape=(10 * most, 10 * most)), 1)
    assert taken[2:] == ["_by_gram"]


def test_rows_of_a_graph_may_be_dense_up_to_the_limit(rng, monkeypatch):
    X = sparse.csr_array(rng.normal(size=(10, 4)))
    N = graph.incidence(graph.laplacian(np.ones((10, 10)) - np.eye(10)))
    needed = 8 * 4 * (45 + 10)  # a row for every edge and every sample
    for limit, dense in ((needed, True), (needed - 1, False)):
        monkeypatch.setattr("eigenkit.numerics.costs.DENSE_LIMIT_BYTES", limit)
        Z = Linked(Centered(X), np.ones(10, dtype=bool), None, N)
        assert Z.decomposable is dense


def test_marks_are_made_of_a_few_numbers_of_a_block():
    few = passes.SAMPLED
    assert len(passes._some(np.ones((1000, 7)))) == 8 * few
    assert len(passes._some(np.ones((3, 5)))) == 8 * 15
    for n, held in ((5000, few), (10, 10)):
        A = sparse.csr_array(np.ones((n, 1)))
        assert len(passes._some(A)) == 8 + held * (8 + A.indices.itemsize)


def test_sweeps_are_free_for_twenty_and_averaged_from_then_on(rng, monkeypatch):
    """Scores that go back and forth between two settle on what they have in common."""
    x, y = (View.of(Centered(rng.normal(size=(20, 3))), True) for _ in range(2))
    both = np.linalg.qr(rng.normal(size=(20, 2)))[0].T
    given = []

    def regressed(view, fit, target, start):
        if view is x:
            return rng.normal(size=3), both[len(given) % 2]
        given.append(target)
        return rng.normal(size=3), both[0]

    monkeypatch.setattr(sparse_pairs, "_regressed", regressed)
    sparse_pairs.alternating(x, y, Request(Sparsity(0.1), Sparsity(0.1), 1e-9, 40))
    for sweep, t in enumerate(given[:20]):
        np.testing.assert_allclose(t, both[sweep % 2], atol=1e-12)
    np.testing.assert_allclose(given[20], (both[0] + both[1]) / np.sqrt(2), atol=1e-12)
    assert np.abs(given[39] - given[38]).max() < 0.5  # and no longer from one to the other


# -- data -----------------------------------------------------------------------------------------


def test_what_is_rounding_of_scores_is_a_sum_of_squares(rng):
    Z = Centered(rng.normal([0.0, 1e8, 3.0], size=(12, 3)))
    V = rng.normal(size=(3, 2)) * 100
    grain = np.asarray(Z.grain())
    for ridge in (0.0, 9.0, np.array([1.0, 4.0, 9.0])):
        damped = np.broadcast_to(ridge, 3) @ V**2
        np.testing.assert_allclose(Z.rounded_squares(V, ridge), grain**2 @ V**2 + damped)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("unit", [1.0, 1e-100])
def test_constant_columns_of_blocks_are_exactly_zero(storage, unit, rng):
    X = unit * rng.normal(size=(30, 4))
    X[:, 1], X[:, 2] = 0.1 * unit, 0.0
    X[::2, 1] = np.nextafter(0.1 * unit, 1)  # up to rounding
    blocks = [[(storage(X[part]), np.zeros((15, 0)), None)] for part in (slice(15), slice(15, 30))]
    rows = LocalPasses(lambda: blocks)
    Z = Blocked(rows, rows.run(survey_of))
    assert Z.constant.tolist() == [False, True, True, False]
    G = Z.gram()
    assert not G[1:3].any()
    assert not G[:, 1:3].any()
    assert np.all(G.diagonal()[[0, 3]] > 0)
    V = rng.normal(size=(4, 2))
    np.testing.assert_allclose(Z.normal(V), G @ V, rtol=1e-9)


def test_the_trace_of_a_fold_is_that_of_all_rows_in_its_units(rng, monkeypatch):
    X, Y = rng.normal(size=(40, 3)) * [1.0, 10.0, 0.1], rng.normal(size=(40, 1))
    traces = []

    def noted(X, xy, yy, trace, *given, **more):
        traces.append(trace)
        return CrossProducts(X, xy, yy, trace, *given, **more)

    monkeypatch.setattr(component_cv, "CrossProducts", noted)
    Z, train = Centered(X), np.arange(30)
    for scale in (False, True):
        problem = component_cv.Problem(Rows(X, Y, None), (scale, scale), 1, "regression")
        component_cv.fold_errors(problem, [(train, np.arange(30, 40))], Z, Z.gram())
        unit = X[train].std(axis=0, ddof=1) if scale else 1.0
        assert traces.pop() == pytest.approx(np.sum(((X - X.mean(axis=0)) / unit) ** 2))


def test_the_condition_of_nothing_but_a_ridge_is_one():
    """Conjugate gradients are tried where a rounding of the condition is below tol."""

    class Ridge(_Forecast):
        has_rows = True
        ridge, spectral_norm_squared = (lambda self, alpha: alpha), (lambda self: 0.0)

    Z = Ridge((1000, 1000), gram=1e6, outer=1e6, passes=1e-9)
    assert choose(Z, 1, [1.0], 1.5 * EPS).regression == "cg"
    assert choose(Z, 1, [1.0], 0.5 * EPS).regression != "cg"


def test_orthogonal_weights_are_orthogonal_however_little_is_left(rng):
    """Of loadings that lie in the span of W but for 1e-8 of their length."""
    A = rng.normal(size=(30, 4)) * [1.0, 1e-8, 1e-8, 1e-8]
    A[:, 1:] += 1e-8 * A[:, :1]
    R = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    Z = Centered(A @ R)
    # X'y lies in the span of W for y orthogonal to all other scores.
    W, others = R.T[:, :1], np.linalg.qr(Z.toarray() @ R.T[:, 1:])[0]
    t = Z.toarray() @ W
    y = t - others @ (others.T @ t)
    F = correct(Rescaled.of(Z, False, Z.column_squares()), W, y, 0.0, 1)
    assert len(F.w) == 1
    assert abs(R[0] @ F.w[0]) < 1e-13
    assert np.linalg.norm(F.w[0]) == pytest.approx(1.0)


@pytest.mark.parametrize(("grain", "alike"), [(1e-12, False), (1e-3, True)])
def test_responses_that_differ_by_rounding_are_one(grain, alike, rng):
    """Two columns of unit length that differ by 1e-4: more than the first grain, not the second."""
    X = rng.normal(size=(40, 5))
    y = X[:, :1] + rng.normal(size=(40, 1))
    x = View.of(Centered(X), True)
    both = View.of(Centered(np.hstack([y, y + 1e-4 * rng.normal(size=(40, 1))])), True)
    request = Request(Sparsity(0.1), Sparsity(0.0), 1e-6, 100)
    found = sparse_pairs._least_squares(x, replace(both, grain=np.full(2, grain)), 1, request)
    W = found.W_y[:, 0]
    assert bool(abs(W[0] - W[1]) < 1e-3 * np.abs(W).max()) is alike


def test_steps_of_planes_are_told_where_one_class_took_any():
    share, plane = 0.1, np.ones(3)
    found = planes._joined([(share, plane, 0), (share, plane, 5)])
    assert (found.report.regression, found.report.n_iter) == ("lanczos", 5)
    assert planes._joined([(share, plane, 0)] * 2).report == planes.DENSE


@pytest.mark.parametrize(
    "method", [SparsePLS(keep_x=3, scale=False), PLSCanonical(algorithm="nipals", scale=False)]
)
def test_the_report_tells_the_steps_of_the_slowest_component(method, rng):
    X = np.linalg.qr(rng.normal(size=(60, 8)))[0]
    Y = X[:, :4] * [10.0, 1.1, 1.05, 1.0] + 0.05 * rng.normal(size=(60, 4))  # the first stands out
    models = [clone(method).set_params(n_components=k).fit(X, Y) for k in (1, 2, 3, 4)]
    steps = [model.report_.n_iter for model in models]
    assert steps == sorted(steps)
    assert steps[0] < steps[-1]


def test_tied_eigenvectors_that_lapack_loses_are_looked_for_again(rng, monkeypatch):
    G = np.diag([3.0, 3.0, *np.linspace(1.0, 0.1, 18)])
    eigh = linalg.sla.eigh

    def forgetful(A, subset_by_index=None, **how):
        values, vectors = eigh(A, subset_by_index=subset_by_index, **how)
        lost = slice(None) if subset_by_index is None else slice(1, None)
        return values[lost], vectors[:, lost]

    monkeypatch.setattr(linalg.sla, "eigh", forgetful)
    values, vectors = linalg.eigenpairs(G, 2)
    np.testing.assert_allclose(values, [3.0, 3.0], rtol=1e-12)
    np.testing.assert_allclose(G @ vectors, 3.0 * vectors, atol=1e-12)


def test_views_that_share_less_than_is_wanted_have_fewer_components(rng):
    n, own = 40, 3
    Q = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, 3 * own))]))[0][:, 1:]
    columns = [np.arange(own) + own * v for v in range(3)]
    nothing = multiview.solve_views(Centered(Q), columns, [0.0] * 3, 3)
    assert nothing.eigenvalues.size == 0
    shared = Q.copy()
    shared[:, own] = shared[:, 0]  # one direction of two views
    found = multiview.solve_views(Centered(shared), columns, [0.0] * 3, 3)
    np.testing.assert_allclose(found.eigenvalues, [1.0], rtol=1e-10)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_an_operator_of_small_rank_has_no_more_eigenpairs(unit, rng):
    A = unit * rng.normal(size=(300, 5))
    found = krylov.largest_eigenpairs(lambda V: A @ (A.T @ V), 300, 9, 1e-10, 300)
    exact = np.linalg.eigvalsh(A.T @ A)[::-1]
    np.testing.assert_allclose(found.values, exact, rtol=1e-10)


@pytest.mark.parametrize("unit", [1.0, 1e-6])
@pytest.mark.parametrize("wrong", ["a correlation", "a variable"])
def test_a_lasso_path_that_rounding_led_astray_is_walked_no_further(wrong, unit, rng, monkeypatch):
    X = unit * rng.normal(size=(20, 80))
    Z = Centered(X)
    c = Z.rmatmat(X[:, :1] - X[:, :1].mean())[:, 0]
    fit = lasso_module.lasso(Z, Sparsity(0.3))
    right = fit(c, np.zeros(80))
    until = lasso_module._Path.until

    def astray(path, most):
        w = until(path, most)
        strongest = np.argmax(np.abs(w))
        if wrong == "a variable":
            w[strongest] = 0.0
        else:  # a fit a little too long has correlations that are too small inside, none outside
            w *= 1.0 + 1e-4
        return w

    monkeypatch.setattr(lasso_module._Path, "until", astray)
    np.testing.assert_allclose(fit(c, np.zeros(80)), right, atol=1e-6 * np.abs(right).max())


def test_constant_columns_correlate_with_nothing(rng):
    X, T = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    X[:, 1] = 0.1
    found = correlations(X, T)
    np.testing.assert_array_equal(found[1], 0.0)
    np.testing.assert_allclose(found[0], np.corrcoef(X[:, 0], T.T)[0, 1:], rtol=1e-10)
