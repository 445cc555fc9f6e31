"""Small parts of the core where they change their mind: empty, just above, just below, far out."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from eigenkit import RGCCA, PLSRegression, PLSRegressionCV, SparseCCA, SparsePLS
from eigenkit.data import Blocked, Centered, CenteredKernel, LocalPasses, survey_of
from eigenkit.moments import Factor, Rows
from eigenkit.numerics.linalg import plus_product
from eigenkit.numerics.tolerances import EPS
from eigenkit.pencil import Pencil
from eigenkit.solvers import REGRESSIONS, Settings, coordinates, solve, spectral
from eigenkit.solvers.krylov import block_cg
from eigenkit.solvers.least_squares import targets
from eigenkit.solvers.regression import _refined
from eigenkit.solvers.spectral import covariance_axes


@pytest.mark.parametrize("inner", [0, 1, 2])
def test_a_product_is_added_whatever_its_size(inner, rng):
    for rows, columns in ((1, 1), (3, 1), (1, 2), (3, 2)):
        C, A, B = (rng.normal(size=s) for s in ((rows, columns), (rows, inner), (inner, columns)))
        np.testing.assert_allclose(plus_product(C.copy(), A, B), C + A @ B, rtol=1e-13)


@pytest.mark.parametrize(
    ("unit", "floor", "exact"),
    [
        (1.0, 0.0, True),
        (1.0, 1e-4, True),
        (1.0, 1e-2, False),
        (1e-4, 1e-6, True),
        (1e-4, 1e-4, False),
    ],
)
def test_directions_below_the_floor_of_products_are_rounding(unit, floor, exact):
    # The residual after a step is as long as the spread of the two eigenvalues, 4e-3 units; the
    # floor counts in the root of the largest.
    values, b = unit * np.array([4.0, 4.008]), np.ones((2, 1))
    (run,) = block_cg(lambda Q: values[:, None] * Q, b, [0.0], 1e-14, 50, (0.0, floor))
    assert np.allclose(run.X[:, 0], 1 / values, rtol=1e-12) is exact


@pytest.mark.parametrize("scale", [False, True])
def test_the_units_of_both_sides_are_taken_out_of_errors(scale, rng):
    X = rng.normal(size=(40, 4))
    Y = X[:, :2] @ rng.normal(size=(2, 2)) + 0.1 * rng.normal(size=(40, 2))
    plain = PLSRegressionCV(3, cv=4, scale=scale).fit(X, Y)
    for x_unit, y_unit in ((2.0**300, 2.0**-250), (2.0**-300, 1.0), (1.0, 2.0**-300)):
        found = PLSRegressionCV(3, cv=4, scale=scale).fit(x_unit * X, y_unit * Y)
        np.testing.assert_allclose(
            found.fold_errors_, np.multiply(plain.fold_errors_, y_unit**2), rtol=1e-9
        )


def test_a_response_that_is_far_smaller_than_others_adds_no_error(rng):
    X = rng.normal(size=(40, 4))
    y = X[:, :2] @ rng.normal(size=(2, 2)) + 0.1 * rng.normal(size=(40, 2))
    small, smaller = (PLSRegressionCV(3, cv=4).fit(X, y * [1.0, unit]) for unit in (1e-30, 1e-150))
    np.testing.assert_allclose(smaller.fold_errors_, small.fold_errors_, rtol=1e-12)


class _Steps:
    """A factor whose solutions are given."""

    def __init__(self, *lengths: float) -> None:
        self.lengths = iter(lengths)

    def solve(self, R):
        return np.full_like(R, next(self.lengths))


@pytest.mark.parametrize(
    ("lengths", "end"),
    [
        ((0.51,), None),  # a first step of half the answer: nothing of it is certain
        ((0.49, 0.4), None),  # shrinks by less than half from here, at far too large a step
        ((0.1, 4e-7, 3e-7), 1.1 + 4e-7),  # as little is gained, but next to nothing is lacking
        ((1e-8,), 1 + 1e-8),  # the next would be below the last digit
        ((0.25, 0.05, 1e-3, 1e-10), 1.301 + 1e-10),
    ],
)
def test_refinement_goes_on_while_steps_shrink(lengths, end):
    found = _refined(_Steps(*lengths), np.ones((1, 1)), lambda W: W)
    if end is None:
        assert found is None
    else:
        assert found[0, 0] == pytest.approx(end, rel=1e-15)


@pytest.mark.parametrize("method", ["pmd", "alternating", "greedy"])
def test_a_sample_at_the_mean_of_both_views_changes_nothing(method, rng):
    X = rng.integers(-8, 9, size=(20, 5)) * 1.0
    Y = np.round(X[:, :3] + rng.integers(-4, 5, size=(20, 3)))
    mirrored = [np.vstack([A, -A]) for A in (X, Y)]
    zero = [np.vstack([A, np.zeros((1, A.shape[1]))]) for A in mirrored]
    how = {"keep_x": 2, "keep_y": 2} if method == "greedy" else {"penalty_x": 0.3}
    make = partial(SparseCCA, 1, method=method, scale=False, tol=1e-9, **how)
    a, b = (make().fit(*views) for views in (mirrored, zero))
    assert a.n_iter_ == b.n_iter_
    directions = [m.x_weights_ / np.linalg.norm(m.x_weights_) for m in (a, b)]
    np.testing.assert_allclose(directions[1], directions[0], atol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("method", REGRESSIONS)
def test_the_size_of_the_target_is_that_of_the_eigenvalues(method, offset, rng):
    X, H = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    Z, H = Centered(X + offset), H - H.mean(axis=0)
    plain = solve(Pencil(Centered(X), H, 0.0), Settings("direct")).eigenvalues
    for size in (2.0**-30, 1.0, 2.0**30):
        found = solve(Pencil(Z, size * H, 0.0), Settings("two_stage", method, tol=1e-13))
        np.testing.assert_allclose(found.eigenvalues, size**2 * plain, rtol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse", "blocks", "factor"])
def test_means_far_from_zero_are_right_to_the_last_digit(kind, rng):
    X = rng.uniform(1e8, 1.0001e8, size=(400, 30))
    empty = np.empty((400, 0))
    blocks = [(X[i : i + 1], empty[i : i + 1], None) for i in range(400)]
    passes = LocalPasses(lambda: [[block] for block in blocks])
    Z = {
        "dense": lambda: Centered(X),
        "sparse": lambda: Centered(sparse.csr_array(X)),
        "blocks": lambda: Blocked(passes, passes.run(survey_of)),
        "factor": lambda: Factor.of(Rows(X, empty, None), empty, None),
    }[kind]()
    exact = np.array([math.fsum(column) / 400 for column in X.T])
    assert np.all(np.abs(Z.mean - exact) <= np.spacing(exact))


def test_pairs_come_by_correlation_and_not_by_the_length_of_targets(rng):
    X = rng.normal(size=(200, 4))
    strong, weak = X[:, 0] + 0.3 * rng.normal(size=200), X[:, 1] + 0.8 * rng.normal(size=200)
    # Each of two equal responses is a shorter target than one that stands alone.
    Y = np.column_stack([weak, strong, strong])
    model = SparseCCA(2, method="least_squares", penalty_x=0.5).fit(X, Y)
    assert np.abs(model.x_weights_).argmax(axis=0).tolist() == [0, 1]


@pytest.mark.parametrize("shape", [(200, 150), (150, 200)])
def test_main_directions_of_many_labels_are_nearly_the_best(shape, rng, monkeypatch):
    for name, value in (("MANY", 0), ("FEW_ENTRIES", 0), ("MOST", 40)):
        monkeypatch.setattr(coordinates, name, value)
    s = 0.9 ** np.arange(150)
    U, V = (np.linalg.qr(rng.normal(size=(m, 150)))[0] for m in shape)
    H = (U * s) @ V.T
    _, T, _ = coordinates.reduced(Pencil(Centered(rng.normal(size=(shape[0], 2))), H, 1.0), "auto")
    r = int(np.searchsorted(np.cumsum(s**2) / np.sum(s**2), 0.99)) + 1
    assert T.shape[1] == r
    assert np.linalg.norm(H - H @ T @ T.T, 2) <= 1.01 * s[r]


def test_targets_do_not_depend_on_the_size_of_labels(rng):
    H = rng.normal(size=(30, 3))
    H[:, 2] = H[:, 0]  # one target for both
    for size in (2.0**-40, 2.0**40):
        np.testing.assert_allclose(targets(size * H), targets(H), atol=1e-12)
    assert targets(H).shape == (30, 2)


@pytest.mark.parametrize("method", ["gram", "svd", "lanczos"])
def test_only_an_iterative_answer_is_measured(method, rng):
    X = rng.normal(size=(60, 20))
    report = spectral.principal_axes(Centered(X), 3, method, 1e-10, 100).report
    assert np.isnan(report.residual) == (method != "lanczos")


def test_pairs_that_are_not_iterated_for_take_one_step(rng):
    model = PLSRegression(2).fit(rng.normal(size=(20, 4)), rng.normal(size=(20, 3)))
    assert list(model.n_iter_) == [1, 1]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_kernel_of_large_entries_is_centred_to_the_digits_of_small_ones(weighted, rng):
    F = rng.normal(size=(30, 4))
    weight = rng.integers(1, 4, 30) * 1.0 if weighted else None
    K = CenteredKernel(F @ F.T + 1e10, weight).K
    r = np.ones(30) if weight is None else np.sqrt(weight)
    assert np.abs(r @ K).max() < 1e-11


def test_a_kernel_vanishes_up_to_rounding():
    assert CenteredKernel(np.zeros((2, 2))).vanishes
    found = [CenteredKernel(np.ones((2, 2)) + np.eye(2) * gap).vanishes for gap in (8e-16, 1e-14)]
    assert found == [True, False]


def test_what_sums_over_many_rows_leave_is_no_target(rng):
    H = rng.normal(size=(2000, 3))
    for gap, rank in ((40, 2), (1e5, 3)):
        H[:, 2] = H[:, 0] + H[:, 1] + gap * EPS * rng.normal(size=2000)
        assert np.linalg.matrix_rank(targets(H), tol=1e-3) == rank


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_axes_of_covariance_do_not_depend_on_the_size_of_the_target(offset, rng):
    low, H = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 5)), rng.normal(size=(40, 3))
    Z, H = Centered(low + offset), H - H.mean(axis=0)
    for size in (2.0**-30, 1.0, 2.0**30):
        found = covariance_axes(Pencil(Z, size * H, 0.0), size * H)
        true = np.linalg.svd((low - low.mean(axis=0)).T @ H, compute_uv=False)[:2]
        np.testing.assert_allclose(found.eigenvalues, (size * true) ** 2, rtol=1e-6)


def test_blocks_of_unlike_size_have_the_pair_of_blocks_of_one_size(rng):
    X, groups = rng.normal(size=(40, 6)), [0, 0, 0, 1, 1, 1]
    plain = RGCCA(1, groups=groups).fit(X).view_components_
    unlike = RGCCA(1, groups=groups).fit(X * 2.0 ** np.repeat([200, -200], 3)).view_components_
    for a, b in zip(plain, unlike, strict=True):
        np.testing.assert_allclose(b / np.linalg.norm(b), a / np.linalg.norm(a), atol=1e-10)


@pytest.mark.parametrize("sizes", [(1e155, 1e150), (1e-158, 1e-164)])
def test_one_squared_covariance_beyond_the_range_is_enough_to_be_refused(sizes, rng):
    H = rng.normal(size=(20, 2))
    H = np.linalg.qr(H - H.mean(axis=0))[0]
    in_range = Pencil(Centered(H * [1.0, 1e-5]), H, 0.0)
    assert len(covariance_axes(in_range, H).eigenvalues) == 2
    with pytest.raises(ValueError, match="leave the range of floating point"):
        covariance_axes(Pencil(Centered(H * sizes), H, 0.0), H)


def test_what_is_near_enough_at_once_took_one_step(rng):
    X, Y = rng.normal(size=(20, 4)), rng.normal(size=(20, 3))
    assert SparsePLS(2, keep_x=2, tol=10.0).fit(X, Y).n_iter_ == 1
    for method in ("pmd", "alternating"):
        assert SparseCCA(1, method=method, tol=10.0).fit(X, Y).n_iter_ == 1
