"""Small rules of the core, each by itself: what is rounding, when a search ends, what a step is."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from eigenkit.data import (
    SAFE_RANGE,
    Blocked,
    Centered,
    LocalPasses,
    Targets,
    blocked,
    centered_columns,
    check_size,
    constant_columns,
    matrices,
    survey_of,
)
from eigenkit.data.matrices import MANY_COLUMNS, SPARSE_SHARE, sparse_labels
from eigenkit.data.passes import Survey
from eigenkit.moments import Factor, Rows, stream
from eigenkit.moments.stream import Moments
from eigenkit.numerics.compiled import WIDEST
from eigenkit.numerics.costs import DENSE_LIMIT_BYTES, GRAM_LIMIT_BYTES, STREAM_LIMIT_BYTES
from eigenkit.numerics.threads import PARTS, SMALL, in_parts, threads_for
from eigenkit.numerics.tolerances import DIFFERENCE, EPS, ROUNDING
from eigenkit.solvers import component_cv, kernel_weights, planes, sparse_latent
from eigenkit.solvers import sparse_pairs as pairs
from eigenkit.solvers.deflation import rounding
from eigenkit.solvers.krylov import _solve_triangle
from eigenkit.solvers.sparse_latent import Run, search
from eigenkit.solvers.sparse_pairs import View
from eigenkit.solvers.spectral import singular_pairs
from eigenkit.solvers.two_views import SingularView, closed_form
from eigenkit.targets import TARGETS


def test_rounding_grows_with_the_number_of_terms():
    np.testing.assert_allclose(rounding(5.0, 2, 3.0), EPS**2 / DIFFERENCE * 3.0 * 5.0)
    np.testing.assert_allclose(rounding(100.0, 100, 1.0), (100 * ROUNDING) ** 2 * 100)
    np.testing.assert_allclose(rounding(400.0, 400, 1.0), 64 * rounding(100.0, 100, 1.0))
    np.testing.assert_allclose(rounding(9.0, 2, 1.0), 9 * rounding(1.0, 2, 1.0))


def test_a_pivot_that_is_rounding_is_no_pivot():
    """Beside 1 the pivot 1e-17 says that a direction is solved for already."""
    for pivot, x in ((1e-17, [0.5, 0.5]), (1e-3, [1.0, 0.0])):
        found = _solve_triangle(np.array([[1.0, 1.0], [0.0, pivot]]), np.array([[1.0], [0.0]]))
        np.testing.assert_allclose(found[:, 0], x, atol=1e-12)


# -- sparse pairs: lengths are compared with lengths ---------------------------------------


def _view(rng, grain):
    A = np.linalg.qr(rng.normal(size=(30, 4)) - 0.0)[0]
    view = View.of(Centered(A), True)
    return replace(view, grain=np.full(4, grain))


@pytest.mark.parametrize(("left", "free"), [(1e-4, True), (1e-7, False)])
def test_what_is_left_of_a_variable_is_compared_with_its_grain(left, free, rng):
    """A grain of 1e-3 is a length: squares from 1e-6 on are more than that."""
    view = _view(rng, 1e-3)
    squares = np.array([1.0, left, 1.0, 1.0])
    side = pairs._Side(replace(view, whole=squares), 4)
    assert (side.free() > 0).tolist() == [True, free, True, True]
    only = replace(view, squares=np.full(4, left), whole=np.full(4, left))
    assert only.is_exhausted is not free
    found = pairs._best_pair(only, only)
    assert (found is not None) is free
    half = pairs._best_pair(only, view)
    assert (half is not None) is free


# -- the number of latent variables --------------------------------------------------------


def _searched(monkeypatch, bounds, most):
    """Search where the runs of K components end at these bounds, start by start."""
    q, given = object(), {k: list(each) for k, each in bounds.items()}
    monkeypatch.setattr(sparse_latent, "principal", lambda data, K: np.zeros((3, K)))
    monkeypatch.setattr(sparse_latent, "varimax", lambda W: W + 1)
    monkeypatch.setattr(sparse_latent, "start", lambda data, W: W.shape[1])
    monkeypatch.setattr(sparse_latent, "_without_views", lambda data, best, *_: (best, 7))
    monkeypatch.setattr(
        sparse_latent, "ascend", lambda data, K, *_: Run(q, given[K].pop(0), 10 + K, 0.0)
    )
    found = search(object(), most, 1e-6, 100)
    return found, {k: len(bounds[k]) - len(given[k]) for k in bounds}


def test_the_number_of_components_grows_while_the_best_start_raises_the_bound(monkeypatch):
    bounds = {0: [0.0], 1: [1.0], 2: [3.0, 5.0], 3: [4.0, 4.5], 4: [6.0, 2.0], 5: [1, 1], 6: [1, 2]}
    bounds[7] = [9.0, 9.0]
    found, used = _searched(monkeypatch, bounds, 7)
    assert found.bound == 6.0  # four components, by the first of their starts
    assert used == {0: 1, 1: 1, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 7: 0}  # two in vain, and no more
    assert found.n_iter == 10 + 11 + 2 * (12 + 13 + 14 + 15 + 16) + 7
    found, used = _searched(monkeypatch, {0: [0.0], 1: [-1.0], 2: [-3.0, -0.5], 3: [8, 8]}, 3)
    assert (found.bound, used[3]) == (0.0, 0)
    assert _searched(monkeypatch, {0: [0.0], 1: [1.0]}, 1)[0].bound == 1.0
    # One number that does not help is passed over.
    assert _searched(monkeypatch, {0: [0.0], 1: [-1.0], 2: [5.0, 4.0]}, 2)[0].bound == 5.0


# -- blocks of rows ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "ways"),
    [
        (3.0, ["_joint_gram"]),
        (1e5, ["_joint_gram", "_joint_gram"]),
        (1e13, ["_joint_gram", "_stacked"]),
    ],
)
def test_a_triangle_takes_one_pass_two_or_the_long_way(condition, ways, rng):
    U, V = np.linalg.qr(rng.normal(size=(60, 4)))[0], np.linalg.qr(rng.normal(size=(4, 4)))[0]
    X = np.linalg.qr(U - U.mean(axis=0))[0] * np.geomspace(1, 1 / condition, 4) @ V.T
    Y = np.empty((60, 0))
    blocks = LocalPasses(
        lambda: [[(X[rows], Y[rows], None)] for rows in (slice(25), slice(25, 60))]
    )
    Z = Blocked(blocks, blocks.run(survey_of))
    taken: list[str] = []

    class Counted:
        def run(self, function, *shared):
            taken.append(function.__name__)
            return blocks.run(function, *shared)

    R = blocked._triangle(Counted(), Z.frame, Targets(lambda Y: Y, (60, 0)), ~Z.constant)
    C = X - X.mean(axis=0)
    np.testing.assert_allclose(R.T @ R, C.T @ C, atol=1e-12)
    assert taken == ways


def test_limits_are_said_in_gigabytes():
    assert STREAM_LIMIT_BYTES == GRAM_LIMIT_BYTES == 2**30
    words = Moments.begin(TARGETS["opls"], 1.0)._too_large(20_000, 5 * 2**30)
    assert "20000 x 20000 numbers (3.0 GB)" in words
    assert "(5.0 GB), and the limit is 1 GB" in words


# -- planes and kernels --------------------------------------------------------------------


def test_steps_of_lanczos_are_its_products(rng, monkeypatch):
    n = 120
    A = np.diag(np.r_[np.linspace(0, 1, n - 1), 4.0])
    calls: list[int] = []
    before = planes.blas.dsymv
    monkeypatch.setattr(
        planes.blas, "dsymv", lambda *given, **named: calls.append(1) or before(*given, **named)
    )
    value, z, steps = planes._lanczos(A, np.eye(n))
    assert steps == len(calls)
    assert value == pytest.approx(4.0)
    assert abs(z[-1]) == pytest.approx(1.0)


def test_where_least_squares_fail_a_step_stays_among_the_weights(rng, monkeypatch):
    monkeypatch.setattr(kernel_weights, "_least_distance", lambda G, h: None)
    center, feasible = np.array([0.5, 0.3, 0.2]), np.array([0.0, 0.0, 1.0])
    mu = kernel_weights.nearest(rng.random((4, 3)), 0.1, center, feasible)
    np.testing.assert_allclose(mu, (center + feasible) / 2)


# -- cross-validation by updates -----------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [(True, True), (False, True), (False, False)])
def test_a_fold_by_update_is_the_fold_from_its_rows(weighted, scale, rng, monkeypatch):
    X, Y = rng.normal(size=(40, 5)) + 0.5, rng.normal(size=(40, 2)) - 1.0
    X[:, 0] *= 100
    weight = rng.uniform(0.5, 2, 40) if weighted else None
    problem = component_cv.Problem(Rows(X, Y, weight), scale, 3, "regression")
    Z = Centered(X, weight)
    update = component_cv._Updated(problem, Z, Z.gram())
    given: list[object] = []
    before = component_cv.decompose
    monkeypatch.setattr(
        component_cv, "decompose", lambda cross, *more: given.append(cross) or before(cross, *more)
    )
    train = np.flatnonzero(np.arange(40) % 4)
    mine, theirs = (
        update.fit(train),
        component_cv.linear_model(*problem.rows.take(train).sides(), scale, 3, "regression"),
    )
    for name in ("mean", "y_mean"):
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-10)
    np.testing.assert_allclose(mine.R @ mine.Q.T, theirs.R @ theirs.Q.T, rtol=1e-8, atol=1e-12)
    cross = given[0]
    V = rng.normal(size=(5, 1))
    from_rows = cross.sides()[0].gradient(V)[0]
    np.testing.assert_allclose(from_rows, cross.gram @ V, rtol=1e-9, atol=1e-9)
    held = np.arange(0, 40, 4)
    errors = [component_cv.staged_squares(m, X[held], Y[held], 3) for m in (mine, theirs)]
    np.testing.assert_allclose(*errors, rtol=1e-9)
    assert update.fit(np.r_[train, train[:30]]) is None  # rows that count twice


# -- limits: what is exactly at one, and what is beyond ------------------------------------


def test_a_matrix_of_labels_is_taken_as_sparse_up_to_its_share():
    Y = np.zeros((100, MANY_COLUMNS))
    Y.flat[: int(SPARSE_SHARE * Y.size)] = 1.0
    np.testing.assert_array_equal(sparse_labels(Y).toarray(), Y)
    assert sparse_labels(Y[:, 1:]) is None  # too few columns
    Y.flat[-1] = 1.0
    assert sparse_labels(Y) is None


def test_labels_in_several_blocks_are_in_their_places(rng, monkeypatch):
    monkeypatch.setattr(matrices, "BLOCK_BYTES", 8 * 3 * MANY_COLUMNS)
    Y = (rng.random((20, MANY_COLUMNS)) < SPARSE_SHARE / 2).astype(float)
    np.testing.assert_array_equal(sparse_labels(Y).toarray(), Y)


def test_means_far_from_zero_have_all_their_digits(rng):
    """The mean of what is left of the first one takes away its rounding."""
    X = rng.normal(size=(4001, 3)) + 1e9 * np.array([1.0, -3.0, 0.7])
    exact = np.array([math.fsum(column) for column in X.T]) / len(X)
    np.testing.assert_allclose(Survey.of(X, None).mean, exact, rtol=EPS)


def test_sparse_data_may_be_dense_up_to_the_limit():
    side = int(np.sqrt(DENSE_LIMIT_BYTES / 8))
    assert side == 1024  # eight megabytes
    assert Centered(sparse.csr_array((side, side))).decomposable
    assert not Centered(sparse.csr_array((side, side + 1))).decomposable


@pytest.mark.parametrize(("held", "kept"), [(9, 9), (10, None), (1, 1), (0, None)])
def test_empty_columns_are_left_out_where_a_tenth_is_empty(held, kept):
    X = np.zeros((3, 10))
    X[1, :held] = 1.0
    rows, columns = Rows(sparse.csr_array(X), np.zeros((3, 1)), None).occurring()
    assert (None if columns is None else len(columns)) == kept
    np.testing.assert_array_equal(rows.X.toarray(), X if columns is None else X[:, columns])
    assert Rows(X, np.zeros((3, 1)), None).occurring()[1] is None


def test_products_are_split_where_they_are_large_tall_and_narrow():
    n, d, k = 10_000, 100, 10
    assert in_parts(n, d, k)
    assert not in_parts(n - 1, d, k)
    assert not in_parts(n, d, n // PARTS + 1)
    assert in_parts(n, d, n // PARTS)
    assert in_parts(n, SMALL, k)
    assert not in_parts(n, SMALL + 1, k)
    X = np.zeros((n, d))
    assert not isinstance(threads_for(X, np.zeros((n, WIDEST))), nullcontext)
    assert isinstance(threads_for(X, np.zeros((n, WIDEST + 1))), nullcontext)
    assert isinstance(threads_for(X[:50]), nullcontext)
    assert isinstance(threads_for(sparse.csr_array(X)), nullcontext)
    assert not isinstance(threads_for([X[:, :50], X[:, 50:]]), nullcontext)


def test_rows_are_forgotten_below_a_share_of_a_sample():
    rows = Rows(np.arange(4.0)[:, None], np.zeros((4, 1)), None)
    left = rows.faded(np.array([1.0, 1e-12, 0.99e-12, 1e-13]))
    np.testing.assert_array_equal(left.X[:, 0], [0.0, 1.0])
    assert left.count == pytest.approx(1.0)
    again = left.faded(0.5)
    np.testing.assert_allclose(again.fade, [0.5])


def test_recent_rows_are_kept_as_digits_of_a_number():
    def rows(n):
        return Rows(np.ones((n, 2)), np.ones((n, 1)), None)

    recent: tuple[Rows, ...] = ()
    for n, sizes in (
        (1, [1]),
        (1, [2]),
        (1, [2, 1]),
        (1, [4]),
        (3, [4, 3]),
        (2, [4, 3, 2]),
        (3, [12]),
    ):
        recent = stream._pushed(recent, rows(n))
        assert [part.n_rows for part in recent] == sizes


def test_numbers_beyond_the_range_are_refused():
    low, high = SAFE_RANGE
    check_size("X", 0.0)
    check_size("X", np.nextafter(low, 1))
    check_size("X", np.nextafter(high, 0))
    for size in (low, high, 1e300, 1e-300):
        with pytest.raises(ValueError, match="leave the range of floating point"):
            check_size("X", size)


def test_columns_are_constant_up_to_rounding():
    base = np.full((6, 3), 1e3)
    base[0, 1] += 0.5e3 * ROUNDING
    base[0, 2] += 4e3 * ROUNDING
    for X in (base, sparse.csr_array(base), -base):
        assert constant_columns(X).tolist() == [True, True, False]
    holes = sparse.csr_array(np.array([[1.0, 0.0, 2.0], [1.0, 0.0, 0.0]]))
    assert constant_columns(holes).tolist() == [True, True, False]
    mean, centred = centered_columns(base)
    assert not centred[:, :2].any()
    assert centred[:, 2].any()
    np.testing.assert_allclose(mean, base.mean(axis=0), rtol=1e-15)
    w = np.array([1.0, 2, 1, 1, 3, 1])
    Y = np.random.default_rng(0).normal(size=(6, 2)) + 1e6
    mean, centred = centered_columns(Y, w)
    np.testing.assert_allclose(mean, w @ Y / 9, rtol=1e-14)
    np.testing.assert_allclose(w @ centred, 0.0, atol=1e-9)
    np.testing.assert_allclose(centred, Y - mean, atol=1e-9)


# -- what is full, what is sparse, what is a summary ---------------------------------------


def test_only_full_columns_of_sparse_rows_are_shifted(rng, monkeypatch):
    """A shift of the others would fill them: the product with their means comes after."""
    X = sparse.random_array((50, 30), density=0.1, rng=rng, format="csr")
    mean, W, given = X.mean(axis=0), rng.normal(size=(30, 2)), []
    before = matrices.shifted
    monkeypatch.setattr(
        matrices, "shifted", lambda X, shift: given.append(shift) or before(X, shift)
    )
    expected = (X.toarray() - mean) @ W
    np.testing.assert_allclose(matrices.project(X, mean, W), expected, rtol=1e-12, atol=1e-14)
    assert given == []
    full = sparse.csr_array(sparse.hstack([X, np.full((50, 1), 1e6)]))
    matrices.project(full, np.append(mean, 1e6), np.vstack([W, W[:1]]))
    assert np.flatnonzero(given[0]).tolist() == [30]


def test_blocks_of_both_kinds_count_as_sparse():
    blocks = [(np.eye(3), None, None), (sparse.csr_array(np.eye(3)), None, None)]
    assert survey_of(blocks).is_sparse
    assert survey_of(blocks[::-1]).is_sparse
    assert not survey_of(blocks[:1]).is_sparse


@pytest.mark.parametrize("weight", [1e-3, 1.0])
def test_summaries_of_rows_that_weigh_little_are_summaries(weight, rng):
    rows = Rows(rng.normal(size=(9, 2)), rng.normal(size=(9, 1)), np.full(9, weight / 9))
    factor = Factor.of(rows, np.asarray(rows.Y), None)
    factor.check(2, 1)
    factor.faded(0.01).check(2, 1)
    for wrong in (replace(factor, total=0.0), replace(factor, count=0.0), replace(factor, d=3)):
        with pytest.raises(ValueError, match="this is not a summary of 2 features and 1 labels"):
            wrong.check(2, 1)


def test_a_view_is_singular_to_the_rounding_of_its_sums_or_of_its_numbers(rng):
    """Numbers near 1e8 hide what is smaller than 1e-8; among numbers near 0 that is a variable."""
    views = rng.normal(size=(200, 4))
    views[:, 1] = views[:, 0] + 1e-9 * views[:, 1]
    R = np.linalg.qr(views - views.mean(axis=0))[1] / np.sqrt(200)
    closed_form(np.zeros(4), R, 2, 1)
    with pytest.raises(SingularView):
        closed_form(np.full(4, 1e8), R, 2, 1)
    R[1, 1] = 1e-17
    with pytest.raises(SingularView):
        closed_form(np.zeros(4), R, 2, 1, (0.0, 0.0))


def test_small_covariances_with_many_responses_keep_their_digits(rng):
    """The last of those asked for tells whether a plain decomposition is enough."""
    Q = np.linalg.qr(rng.normal(size=(40, 5)) - 0.0)[0]
    Q -= Q.mean(axis=0)
    turned = Q @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
    Y = np.zeros((40, 70))
    Y[:, :3] = turned[:, :3] * [1e-13, 1.0, 0.5]
    Y -= Y.mean(axis=0)
    _, s, _ = singular_pairs(Centered(Q), Y, Y, 3)
    assert len(s) == 3
    c = Centered(Q).rmatmat(Y[:, :3] * [1e13, 1.0, 1.0])
    others = np.linalg.qr(c[:, 1:])[0]
    expected = np.linalg.norm(c[:, 0] - others @ (others.T @ c[:, 0])) * 1e-13
    assert s[2] == pytest.approx(expected, rel=1e-6)


def test_label_sets_in_the_factor_count_as_columns(rng):
    """Sets seen before count once, those that come later as well."""
    target = TARGETS["star"]
    first, later = (Rows(rng.normal(size=(4, 3)), Y, None) for Y in (np.eye(4), np.eye(4)[::-1]))
    begun = Moments.begin(target, 1.0).add(first, target, 1.0)
    folded = begun._folded(target)
    assert folded.add(later, target, 1.0)._width() == 3 + 4
    other = replace(later, Y=np.ones((4, 4)))
    assert folded.add(other, target, 1.0)._width() == 3 + 4 + 1
