"""Sparse pairs and the lasso against what defines them, written out with dense matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg as sla
from scipy import sparse

from eigenkit.data import Centered
from eigenkit.numerics.linalg import fixed_start, power_norm
from eigenkit.pencil import Report
from eigenkit.solvers import lasso as lasso_module
from eigenkit.solvers import sparse_pairs as module
from eigenkit.solvers.lasso import Sparsity, lasso, soft, thresholded
from eigenkit.solvers.sparse_pairs import FINDERS, METHODS, Request, View, sparse_pairs


def _views(rng, n=40, dx=6, dy=4):
    """Two views that share two latent variables; some rows are at the mean exactly."""
    z = rng.normal(size=(n // 2, 2))
    X = z @ rng.normal(size=(2, dx)) + 0.5 * rng.normal(size=(n // 2, dx))
    Y = z @ rng.normal(size=(2, dy)) + 0.5 * rng.normal(size=(n // 2, dy))
    rows = [[A, -A, np.zeros((2, A.shape[1]))] for A in (X * np.linspace(1, 9, dx), Y)]
    return tuple(np.vstack(parts) for parts in rows)


def _unit(A):
    A = A - A.mean(axis=0)
    return A / np.linalg.norm(A, axis=0)


SHARE = Sparsity(0.3)


def _request(x=SHARE, y=SHARE, tol=1e-12, max_iter=2000):
    return Request(x, y, tol, max_iter)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("scale", [True, False])
def test_a_view_is_the_matrix_without_the_scores_taken_out(storage, scale, rng):
    X, _ = _views(rng)
    Z = Centered(sparse.csr_array(X) if storage == "sparse" else X)
    view = View.of(Z, scale)
    A = (
        _unit(X)
        if scale
        else (X - X.mean(axis=0)) / np.linalg.norm(X - X.mean(axis=0), axis=0).max()
    )
    assert view.width == 6
    np.testing.assert_allclose(view.squares, np.sum(A * A, axis=0), rtol=1e-12)
    whole, whole_gram = view.squares, A.T @ A
    for _ in range(3):
        np.testing.assert_allclose(view.toarray(), A, atol=1e-12)
        V, U = rng.normal(size=(6, 2)), rng.normal(size=(42, 2))
        np.testing.assert_allclose(view.matmat(V), A @ V, atol=1e-12)
        np.testing.assert_allclose(view.rmatmat(U), A.T @ U, atol=1e-12)
        np.testing.assert_allclose(view.X.gram(), whole_gram, atol=1e-12)
        np.testing.assert_allclose(view.squares, np.sum(A * A, axis=0), atol=1e-12)
        np.testing.assert_allclose(view.whole, whole)
        np.testing.assert_allclose(X @ view.X.to_X(V), X @ (V * view.X.factor[:, None]))
        assert not view.is_exhausted
        t = A @ rng.normal(size=6)
        view = view.without(7.0 * t)
        A = A - np.outer(t, t @ A) / (t @ t)
    for _ in range(3):
        view = view.without(view.matmat(rng.normal(size=(6, 1)))[:, 0])
    assert view.is_exhausted


@pytest.mark.parametrize("nonnegative", [False, True])
def test_pmd_is_a_fixed_point_of_thresholds(rng, nonnegative):
    X, Y = _views(rng)
    x, y = View.of(Centered(X), True), View.of(Centered(Y), True)
    request = _request(y=Sparsity(0.3, nonnegative=nonnegative))
    u, v, sweeps, done = module.pmd(x, y, request)
    C = _unit(X).T @ _unit(Y)
    for found, c, sparsity in ((u, C @ v, request.x), (v, C.T @ u, request.y)):
        size = np.maximum(c, 0) if sparsity.nonnegative else np.abs(c)
        kept = np.maximum(size - 0.3 * size.max(), 0) * np.sign(c)
        np.testing.assert_allclose(found, kept / np.linalg.norm(kept), atol=1e-10)
    assert done
    assert 2 <= sweeps < 200
    *_, sweeps, done = module.pmd(x, y, _request(tol=0.0, max_iter=3))
    assert (sweeps, done) == (3, False)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_alternating_lassos_are_each_others_answer(rng, share):
    X, Y = _views(rng)
    x, y = View.of(Centered(X), True), View.of(Centered(Y), True)
    a, b, sweeps, done = module.alternating(x, y, _request(Sparsity(share), Sparsity(share), 1e-10))
    assert done
    assert sweeps > 2
    A, B = _unit(X), _unit(Y)
    np.testing.assert_allclose([np.linalg.norm(A @ a), np.linalg.norm(B @ b)], 1.0, rtol=1e-12)
    for M, w, other in ((A, a, B @ b), (B, b, A @ a)):
        c = M.T @ other
        on, level = w != 0, share * np.abs(c).max()
        # c - s G w = level sign(w) where w is not zero, for the size s that w had
        s = np.linalg.lstsq((M.T @ M @ w)[on, None], (c - level * np.sign(w))[on])[0][0]
        rest = c - s * (M.T @ M @ w)
        np.testing.assert_allclose(rest[on], level * np.sign(w[on]), atol=1e-6)
        assert np.all(np.abs(rest[~on]) <= level + 1e-6)
    *_, sweeps, done = module.alternating(x, y, _request(tol=0.0, max_iter=3))
    assert (sweeps, done) == (3, False)


def _first_correlation(A, B):
    Qa, Qb = np.linalg.qr(A)[0], np.linalg.qr(B)[0]
    return np.linalg.svd(Qa.T @ Qb, compute_uv=False)[0]


@pytest.mark.parametrize("seed", range(3))
def test_greedy_takes_what_adds_most(seed):
    X, Y = _views(np.random.default_rng(seed))
    A, B = _unit(X), _unit(Y)
    i, j = np.unravel_index(np.argmax(np.abs(A.T @ B)), (6, 4))
    left, right = [int(i)], [int(j)]
    while len(left) < 3 or len(right) < 2:
        grown = [([*left, k], right) for k in range(6) if k not in left and len(left) < 3]
        grown += [(left, [*right, k]) for k in range(4) if k not in right and len(right) < 2]
        left, right = max(grown, key=lambda g: _first_correlation(A[:, g[0]], B[:, g[1]]))
    given = _request(Sparsity(0.0, 3), Sparsity(0.0, 2))
    x, y = View.of(Centered(X), True), View.of(Centered(Y), True)
    a, b, steps, done = module.greedy(x, y, given)
    assert (steps, done) == (4, True)
    assert np.flatnonzero(a).tolist() == sorted(left)
    assert np.flatnonzero(b).tolist() == sorted(right)
    r = np.corrcoef(A @ a, B @ b)[0, 1]
    assert abs(r) == pytest.approx(_first_correlation(A[:, left], B[:, right]), rel=1e-10)


def test_chosen_variables_have_one_orthonormal_vector_each(rng):
    X, Y = _views(rng)
    A = _unit(X)
    x, y = View.of(Centered(X), True), View.of(Centered(Y), True)
    side, other = module._Side(x, 9), module._Side(y, 9)
    for count, index in enumerate((2, 0, 5), 1):
        side.add(index, other)
        assert (side.limit, len(side.chosen)) == (6, count)
        assert side.Q.shape == (42, count)
        np.testing.assert_allclose(side.Q.T @ side.Q, np.eye(count), atol=1e-12)
        outside = A - side.Q @ (side.Q.T @ A)
        np.testing.assert_allclose(outside[:, side.chosen], 0.0, atol=1e-12)
        np.testing.assert_allclose(side.onto_own, A.T @ side.Q, atol=1e-12)
        np.testing.assert_allclose(other.onto_other, _unit(Y).T @ side.Q, atol=1e-12)
        np.testing.assert_allclose(side.free(), np.sum(outside**2, axis=0), atol=1e-12)
    score = A[:, [2, 0, 5]] @ [1.0, -2.0, 0.5]
    np.testing.assert_allclose(side.weights(score), [-2.0, 0, 1.0, 0, 0, 0.5], atol=1e-10)


@pytest.mark.parametrize("left", [1.0, 1e-8])
def test_what_is_left_is_compared_with_the_most_that_is_left(left, rng):
    x = View.of(Centered(rng.normal(size=(30, 4))), True)
    squares = left * np.array([1.0, 0.5, 0.99e-10, 1.01e-10])
    side = module._Side(replace(x, whole=squares, grain=np.zeros(4)), 4)
    assert (side.free() > 0).tolist() == [True, True, False, True]


def test_nearly_equal_variables_are_orthogonal_to_rounding(rng):
    """One subtraction leaves rounding as large as the difference is small."""
    X = rng.normal(size=(40, 3))
    X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    x = View.of(Centered(X), True)
    side = module._Side(x, 3)
    for index in range(3):
        side.add(index, module._Side(x, 3))
    np.testing.assert_allclose(side.Q.T @ side.Q, np.eye(3), atol=1e-14)


def test_greedy_stops_where_the_views_are_used_up(rng):
    X, Y = _views(rng)
    x, y = View.of(Centered(X), True), View.of(Centered(Y), True)
    a, b, steps, _ = module.greedy(x, y, _request(Sparsity(0.0, 50), Sparsity(0.0, 50)))
    assert steps == 6 + 4 - 1
    assert np.count_nonzero(a) == 6
    assert np.count_nonzero(b) == 4
    r = np.corrcoef(_unit(X) @ a, _unit(Y) @ b)[0, 1]
    assert r == pytest.approx(_first_correlation(_unit(X), _unit(Y)), rel=1e-10)
    apart = View.of(Centered(np.eye(8)[:, :2]), True), View.of(Centered(np.zeros((8, 2))), True)
    a, b, steps, _ = module.greedy(*apart, _request(Sparsity(0.0, 1), Sparsity(0.0, 1)))
    assert (a.any(), b.any(), steps) == (False, False, 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [True, False])
def test_pairs_have_unit_scores_that_earlier_ones_do_not_explain(method, scale, rng):
    X, Y = _views(rng)
    count = Sparsity(0.0, 3) if method == "greedy" else Sparsity(0.2)
    found = sparse_pairs(
        Centered(X), Centered(Y), method, [_request(count, count, 1e-9)] * 2, scale
    )
    S, T = (X - X.mean(axis=0)) @ found.W_x, (Y - Y.mean(axis=0)) @ found.W_y
    np.testing.assert_allclose(np.linalg.norm(S, axis=0), 1.0, rtol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(T, axis=0), 1.0, rtol=1e-10)
    assert np.all(np.sum(S * T, axis=0) > 0)
    lengths = np.linalg.norm(X - X.mean(axis=0), axis=0) if scale else np.ones(6)
    W = found.W_x * lengths[:, None]
    assert np.all(W[np.argmax(np.abs(W), axis=0), [0, 1]] > 0)
    assert found.report.converged
    assert (found.report.n_iter >= 1) == (method in FINDERS)
    if method in FINDERS:  # the second pair is that of views without the scores of the first
        x, y = View.of(Centered(X), scale), View.of(Centered(Y), scale)
        x, y = x.without(S[:, 0]), y.without(T[:, 0])
        a, b, *_ = FINDERS[method](x, y, _request(count, count, 1e-9))
        for w, v, W in ((a, x, found.W_x), (b, y, found.W_y)):
            expected = v.X.to_X(w[:, None])[:, 0]
            cosine = expected @ W[:, 1] / np.linalg.norm(expected) / np.linalg.norm(W[:, 1])
            assert abs(cosine) == pytest.approx(1.0, abs=1e-6)


def test_opposed_scores_are_turned_where_weights_may_be_negative(rng):
    X, Y = _views(rng)
    x, y = View.of(Centered(X), True), View.of(Centered(Y), True)
    a = rng.normal(size=6)
    b = np.linalg.lstsq(_unit(Y), _unit(X) @ a)[0]
    for turn in (1.0, -1.0):
        for free in (True, False):
            request = _request(y=Sparsity(0.0, nonnegative=not free))
            found = module._finish(x, y, [(a, turn * b)], request, Report("one by one"))
            S, T = (X - X.mean(axis=0)) @ found.W_x, (Y - Y.mean(axis=0)) @ found.W_y
            assert np.sign(S[:, 0] @ T[:, 0]) == (1.0 if free else turn)
            np.testing.assert_allclose([np.sum(S**2), np.sum(T**2)], 1.0)
            w = found.W_x[:, 0] / x.X.factor
            assert w[np.argmax(np.abs(w))] > 0


@pytest.mark.parametrize("method", METHODS)
def test_pairs_end_with_the_rank(method, rng):
    """Views of rank 3 and 2 have two pairs, however many are asked for."""
    X, Y = _views(rng)
    X = X @ rng.normal(size=(6, 3)) @ rng.normal(size=(3, 6))
    Y = Y @ rng.normal(size=(4, 2)) @ rng.normal(size=(2, 4))
    count = Sparsity(0.0, 4) if method == "greedy" else Sparsity(0.0)
    found = sparse_pairs(Centered(X), Centered(Y), method, [_request(count, count, 1e-9)] * 6, True)
    assert found.W_x.shape == (6, 2)
    assert found.W_y.shape == (4, 2)


@pytest.mark.parametrize("method", METHODS)
def test_large_views_give_the_pairs_of_small_ones(method, rng, monkeypatch):
    """Beyond their limits X'Y and X'X are not kept: products take their place."""
    X, Y = _views(rng)
    count = Sparsity(0.0, 3)
    request = _request(count, count, 1e-10)
    kept = sparse_pairs(Centered(X), Centered(Y), method, [request] * 2, True)
    monkeypatch.setattr(module, "CROSS_LIMIT", 7)
    monkeypatch.setattr(lasso_module, "GRAM_ORDER", 3)
    found = sparse_pairs(Centered(X), Centered(Y), method, [request] * 2, True)
    np.testing.assert_allclose(found.W_x, kept.W_x, atol=1e-6 * np.abs(kept.W_x).max())
    np.testing.assert_allclose(found.W_y, kept.W_y, atol=1e-6 * np.abs(kept.W_y).max())


def test_sweeps_are_those_of_the_longest_pair_and_converged_means_all(rng):
    X, Y = _views(rng)
    given = Centered(X), Centered(Y), "pmd"
    free = sparse_pairs(*given, [_request(tol=1e-10)] * 2, True)
    each = []
    x, y = View.of(given[0], True), View.of(given[1], True)
    for _ in range(2):
        a, b, sweeps, _ = module.pmd(x, y, _request(tol=1e-10))
        each.append(sweeps)
        x, y = x.without(x.matmat(a[:, None])[:, 0]), y.without(y.matmat(b[:, None])[:, 0])
    assert free.report.n_iter == max(each)
    assert free.report.converged
    assert len(set(each)) == 2
    between = sparse_pairs(*given, [_request(tol=1e-10, max_iter=min(each))] * 2, True)
    assert not between.report.converged
    assert between.report.n_iter == min(each)


def test_columns_in_the_span_of_earlier_ones_are_passed_over(rng):
    S = rng.normal(size=(20, 5))
    S[:, 2] = S[:, 0] - 2 * S[:, 1]
    T = rng.normal(size=(20, 5))
    T[:, 4] = 3 * T[:, 3]
    assert module._independent([0, 1, 2, 3, 4], 5, S, T) == [0, 1, 3]
    assert module._independent([2, 0, 1, 4, 3], 5, S, T) == [2, 0, 4]
    assert module._independent([0, 1, 2, 3, 4], 2, S, T) == [0, 1]
    S[:, 2] += 1e-3 * rng.normal(size=20)
    assert module._independent([0, 1, 2, 3, 4], 5, S, T) == [0, 1, 2, 3]


def test_least_squares_takes_the_best_correlated_targets(rng):
    X, Y = _views(rng)
    A, B = _unit(X), _unit(Y)
    values, V = np.linalg.eigh(B.T @ B)
    root = V / np.sqrt(values) @ V.T
    fit = lasso(View.of(Centered(X), True).X, Sparsity(0.25))
    W = np.array([fit(c, np.zeros(6)) for c in (A.T @ B @ root).T]).T
    r = np.sum(A @ W * (B @ root), axis=0) / np.linalg.norm(A @ W, axis=0)
    order = np.argsort(-np.abs(r))[:2]
    request = _request(Sparsity(0.25), Sparsity(0.0))
    found = sparse_pairs(Centered(X), Centered(Y), "least_squares", [request] * 2, True)
    for column, j in enumerate(order):
        score = (X - X.mean(axis=0)) @ found.W_x[:, column]
        expected = A @ W[:, j] / np.linalg.norm(A @ W[:, j])
        assert abs(score @ expected) == pytest.approx(1.0, abs=1e-8)
        assert abs(np.corrcoef(Y @ found.W_y[:, column], B @ root[:, j])[0, 1]) > 1 - 1e-10


# -- thresholds and the lasso --------------------------------------------------------------------


class _Matrix:
    def __init__(self, A):
        self.shape, self.A = A.shape, A

    def toarray(self):
        return self.A

    def normal(self, V):
        return self.A.T @ (self.A @ V)

    def gram(self):
        return self.A.T @ self.A


def test_thresholds_keep_the_largest(rng):
    c = np.array([3.0, -2.0, 0.5, -4.0, 1.0])
    np.testing.assert_allclose(soft(c, 1.5, False), [1.5, -0.5, 0, -2.5, 0])
    np.testing.assert_allclose(soft(c, 1.5, True), [1.5, 0, 0, 0, 0])
    np.testing.assert_allclose(thresholded(c, Sparsity(0.5)), [1, 0, 0, -2, 0])
    np.testing.assert_allclose(thresholded(c, Sparsity(0.5, nonnegative=True)), [1.5, 0, 0, 0, 0])
    for count in (1, 2, 3, 4):
        kept = thresholded(c, Sparsity(0.0, count))
        assert np.count_nonzero(kept) == count
        level = np.sort(np.abs(c))[::-1][count]
        np.testing.assert_allclose(kept, soft(c, level, False))
    np.testing.assert_allclose(thresholded(c, Sparsity(0.0, 5)), c)
    np.testing.assert_allclose(thresholded(c, Sparsity(0.0, 9, True)), np.maximum(c, 0))
    tied = np.array([1.0, -2.0, 2.0, 2.0])
    np.testing.assert_allclose(thresholded(tied, Sparsity(0.0, 2)), [0, -1, 1, 0])
    assert not thresholded(-np.abs(c), Sparsity(0.0, 2, True)).any()


def _conditions(A, c, w, level, nonnegative, tol):
    rest, on = c - A.T @ (A @ w), w != 0
    np.testing.assert_allclose(rest[on], level * np.sign(w[on]), atol=tol)
    assert np.all((rest if nonnegative else np.abs(rest))[~on] <= level + tol)
    assert not nonnegative or np.all(w >= 0)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("limit", [0, 3000])
def test_the_lasso_obeys_its_conditions(nonnegative, limit, rng, monkeypatch):
    monkeypatch.setattr(lasso_module, "GRAM_ORDER", limit)
    for shape in ((30, 8), (10, 25)):
        A, t = rng.normal(size=shape), rng.normal(size=shape[0])
        c = A.T @ t
        largest = (c if nonnegative else np.abs(c)).max()
        for share in (0.05, 0.4, 0.9):
            fit = lasso(_Matrix(A), Sparsity(share, nonnegative=nonnegative))
            for start in (np.zeros(shape[1]), np.ones(shape[1])):
                w = fit(c, start)
                _conditions(A, c, w, share * largest, nonnegative, 1e-6 * largest)
        last = np.inf
        for count in range(1, min(shape)):
            w = lasso(_Matrix(A), Sparsity(0.0, count, nonnegative))(c, np.zeros(shape[1]))
            on = np.flatnonzero(w)
            assert 1 <= len(on) <= count
            level = np.abs(c - A.T @ (A @ w))[on].max()
            _conditions(A, c, w, level, nonnegative, 1e-9 * largest)
            assert level <= last * (1 + 1e-9)
            last = level


def test_the_lasso_of_nothing_is_nothing(rng):
    for sparsity in (Sparsity(0.3), Sparsity(0.0, 2), Sparsity(0.3, nonnegative=True)):
        fit = lasso(_Matrix(np.zeros((5, 3))), sparsity)
        assert not fit(np.ones(3), np.zeros(3)).any()
        fit = lasso(_Matrix(rng.normal(size=(5, 3))), sparsity)
        assert not fit(np.zeros(3), np.ones(3)).any()


def test_the_largest_eigenvalue_of_products_is_bounded(rng):
    A = rng.normal(size=(30, 6))
    found = power_norm(lambda v: A.T @ (A @ v), fixed_start(6), lasso_module.POWER_STEPS)
    true = np.linalg.norm(A, 2) ** 2
    assert 0.95 * true <= found <= true * (1 + 1e-12)
    assert power_norm(lambda v: 0 * v, fixed_start(6), lasso_module.POWER_STEPS) == 0.0


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_the_lasso_has_no_unit(unit, rng):
    A, t = rng.normal(size=(30, 8)), rng.normal(size=30)
    for sparsity in (Sparsity(0.3), Sparsity(0.0, 3)):
        plain = lasso(_Matrix(A), sparsity)(A.T @ t, np.zeros(8))
        scaled = lasso(_Matrix(unit * A), sparsity)(unit * A.T @ t, np.zeros(8))
        np.testing.assert_allclose(unit * scaled, plain, atol=1e-7)


def test_scores_are_judged_by_their_own_lengths():
    """What both views share is 1e-7 as long as what they do not."""
    own, shared, other = sla.hadamard(8)[:, 1:4].T
    X, Y = (np.column_stack([long, 1e-7 * shared]) for long in (own, other))
    found = sparse_pairs(Centered(X), Centered(Y), "pmd", [_request()], scale=False)
    np.testing.assert_array_equal(found.W_x[:, 0] != 0, [False, True])
