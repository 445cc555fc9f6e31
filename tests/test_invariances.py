"""What no answer may depend on: units, the basis of a space, the way that data are stored.

Most of these were written because a changed operator went unnoticed (``make test-mutants``).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition._pca import _assess_dimension

from conftest import near
from eigenkit import LeastSquaresProjection, SparseCCA
from eigenkit.data import Blocked, Centered, LocalPasses, SparseTarget, survey_of
from eigenkit.numerics.costs import DENSE_RATE
from eigenkit.numerics.linalg import (
    eigenpairs,
    orthonormalize,
    power_of_two,
    symmetric_whitener,
    whitener,
)
from eigenkit.pencil import Pencil
from eigenkit.solvers import coordinates, planes
from eigenkit.solvers.kernel_weights import lower_bound
from eigenkit.solvers.krylov import _solve_triangle, largest_eigenpairs
from eigenkit.solvers.regression import Directions, _Reduced, _refined
from eigenkit.solvers.shrinkage import lanczos
from eigenkit.solvers.spectral import _evidence
from eigenkit.solvers.stages import rayleigh_ritz

# Powers of two: no digit may change.
UNITS = pytest.mark.parametrize("unit", [2.0**-60, 2.0**60])


def _blocked(X):
    blocks = [(X[:7], np.zeros((7, 0)), None), (X[7:], np.zeros((X.shape[0] - 7, 0)), None)]
    passes = LocalPasses(lambda: [[block] for block in blocks])
    return Blocked(passes, passes.run(survey_of))


# -- units ------------------------------------------------------------------------------


def _components(F, M):
    span, values, V = _Reduced(None, None, F=F, M=M).components(None)
    return span.W, values, V


@UNITS
def test_components_are_chosen_relative_to_the_largest(unit, rng):
    F, M = np.eye(6), rng.normal(size=(6, 2)) @ rng.normal(size=(2, 5))
    W, values, V = _components(F, M)
    scaled = _components(F, unit * M)
    assert W.shape == (6, 2)
    np.testing.assert_allclose(scaled[1], unit**2 * values, rtol=1e-12)
    np.testing.assert_allclose(np.abs(scaled[0].T @ W), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(np.abs(scaled[2].T @ V), np.eye(2), atol=1e-12)


@UNITS
def test_lanczos_steps_end_where_a_space_is_exhausted(unit, rng):
    """Rank 3 in units of any size: three pairs, and no fourth out of rounding."""
    V = np.linalg.qr(rng.normal(size=(90, 3)))[0]
    G = unit * (V * [3.0, 2.0, 1.0]) @ V.T
    found = largest_eigenpairs(lambda W: G @ W, 90, 5, 1e-10, 200)
    np.testing.assert_allclose(found.values, unit * np.array([3.0, 2.0, 1.0]), rtol=1e-10)
    assert found.converged


@UNITS
def test_krylov_spaces_of_few_eigenvalues_are_small(unit):
    diagonal = unit * np.repeat([4.0, 1.0, 0.5], [3, 30, 7])
    Q, mu = lanczos(diagonal, np.ones(40), 10)
    assert Q.shape == (3, 40)
    np.testing.assert_allclose(np.sort(mu), unit * np.array([0.5, 1.0, 4.0]), rtol=1e-10)


@UNITS
def test_the_linear_program_of_the_weights_has_no_unit(unit, rng):
    cuts = rng.random((6, 4)) + 3.0
    bound, mu = lower_bound(cuts)
    scaled, same = lower_bound(unit * cuts)
    assert scaled == near(unit * bound)
    np.testing.assert_allclose(same, mu, atol=1e-9)
    assert np.max(cuts @ mu) == pytest.approx(bound, rel=1e-9)


@UNITS
def test_bases_have_no_unit(unit, rng):
    A = rng.normal(size=(30, 4))
    A[:, 3] = A[:, 0] + A[:, 1]
    Q, R = orthonormalize(unit * A)
    np.testing.assert_allclose(Q @ R, unit * A, atol=1e-12 * unit)
    assert Q.shape == (30, 3)
    for make in (whitener, lambda B: symmetric_whitener(B)[0]):
        white = A @ make(A)
        np.testing.assert_allclose(unit * A @ make(unit * A), white, atol=1e-9)
    values, _ = eigenpairs(unit * A.T @ A)
    np.testing.assert_allclose(values, unit * eigenpairs(A.T @ A)[0], atol=1e-12 * values[0])


@pytest.mark.parametrize("unit", [2.0**-260, 2.0**260])
def test_blocks_of_extreme_numbers_have_the_units_of_the_whole(unit, rng):
    X = unit * rng.normal(size=(20, 3))
    blocks, whole = _blocked(X), Centered(X)
    alpha = 0.7 * unit**2
    W = rng.normal(size=(3, 2))
    np.testing.assert_allclose(blocks.to_X(blocks.from_X(W)) / unit, W / unit, rtol=1e-12)
    np.testing.assert_allclose(blocks.ridge(alpha) / np.trace(blocks.gram()) * 3, _share(X, alpha))
    np.testing.assert_allclose(whole.ridge(alpha) / np.trace(whole.gram()) * 3, _share(X, alpha))
    in_X = np.sqrt(np.trace(blocks.gram())) / blocks.units[0] / unit
    centred = (X - X.mean(axis=0)) / unit
    np.testing.assert_allclose(in_X, np.linalg.norm(centred), rtol=1e-10)


def _share(X, alpha):
    size = np.abs(X).max()
    Z = (X - X.mean(axis=0)) / size
    return 3 * (alpha / size / size) / np.sum(Z * Z)


# -- the basis of a space ---------------------------------------------------------------


def test_rayleigh_ritz_finds_the_same_in_any_basis(rng):
    Z, H = Centered(rng.normal(size=(40, 6))), rng.normal(size=(40, 3))
    pencil = Pencil.state(Z, H, 0.5)
    B = Z.gram() + 0.5 * np.eye(6)
    W = np.linalg.solve(B, pencil.C)  # the eigenvectors lie in its span
    answers = []
    for turn in (np.eye(3), np.triu(rng.normal(size=(3, 3)), 1) + np.diag([1.0, 40.0, 0.02])):
        V = W @ turn
        span = Directions(pencil, V, B @ V, V.T @ B @ V)
        answers.append(rayleigh_ritz(span, np.zeros(3), np.eye(3)))
    for found, values, basis in answers:
        X, BX = found.W, found.BW
        np.testing.assert_allclose(X.T @ BX, np.eye(3), atol=1e-10)
        np.testing.assert_allclose(pencil.C @ (pencil.C.T @ X), BX * values, atol=1e-9)
        np.testing.assert_allclose(pencil.C.T @ X, basis * np.sqrt(values), atol=1e-9)


def test_sparse_pairs_have_their_largest_weight_of_x_positive(rng):
    x = rng.normal(size=80)
    X = np.column_stack([-3 * x, x, rng.normal(size=80)]) + 0.1 * rng.normal(size=(80, 3))
    Y = np.column_stack([x, -2 * x, rng.normal(size=80)]) + 0.1 * rng.normal(size=(80, 3))
    for sign_x in (1, -1):
        for sign_y in (1, -1):
            model = SparseCCA(n_components=1).fit(sign_x * X, sign_y * Y)
            w = model.components_[0] * X.std(axis=0)  # the rule is for scaled variables
            assert w[np.argmax(np.abs(w))] > 0
            scores = model.transform(sign_x * X, sign_y * Y)
            assert np.corrcoef(scores[0][:, 0], scores[1][:, 0])[0, 1] > 0.9


# -- the way that data are stored -------------------------------------------------------


def test_costs_are_those_of_the_multiplications(rng):
    n, d = 30, 40
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    dense, blocks = Centered(X), _blocked(X)
    assert dense.seconds_for_gram() == pytest.approx(n * d * d / DENSE_RATE)
    assert dense.seconds_for_outer() == pytest.approx(Centered(X.T.copy()).seconds_for_gram())
    assert blocks.seconds_for_gram() == pytest.approx(dense.seconds_for_gram())
    for k in (1, 1000):
        assert blocks.seconds_for_passes(k) == pytest.approx(dense.seconds_for_passes(k))
    # Two products with so many vectors are two Gram matrices.
    assert dense.seconds_for_passes(1000) == pytest.approx(2 * 1000 / d * dense.seconds_for_gram())


def test_costs_of_sparse_data_are_those_of_what_is_stored(rng):
    X = sparse.csr_array(sparse.random(300, 200, 0.02, random_state=1))
    X, T = Centered(X), Centered(sparse.csr_array(X.T))
    assert X.seconds_for_outer() == pytest.approx(T.seconds_for_gram())
    assert X.seconds_for_gram() == pytest.approx(T.seconds_for_outer())
    assert X.seconds_for_gram() != pytest.approx(T.seconds_for_gram())


@pytest.mark.parametrize("weighted", [False, True])
def test_a_label_that_all_samples_carry_is_no_target(weighted, rng):
    S = sparse.csr_array(np.column_stack([np.full(7, 0.1), rng.random(7), np.full(7, 1 / 3)]))
    H = SparseTarget(S, rng.random(7) + 0.5 if weighted else None)
    assert np.array_equal(np.asarray(H)[:, [0, 2]], np.zeros((7, 2)))
    assert np.all(np.asarray(H)[:, 1] != 0)
    assert not (H.T @ H)[[0, 2]].any()


def test_labels_without_main_directions_are_all_taken(monkeypatch, rng):
    """As many targets as Lanczos steps can find, where no few hold the share that is asked for."""
    monkeypatch.setattr(coordinates, "MANY", 4)
    Q = np.linalg.qr(rng.normal(size=(40, 30)))[0]
    pencil = Pencil.state(Centered(rng.normal(size=(40, 5))), Q - Q.mean(axis=0), 1.0)
    small, V, rest = coordinates.reduced(pencil, "auto")
    assert small.H.shape == (40, 29)
    assert V.shape == (30, 29)
    assert 0 < rest <= 1 + 1e-9


# -- formulas ---------------------------------------------------------------------------


def test_the_evidence_of_a_number_of_components_is_that_of_scikit_learn(rng):
    spectrum = np.sort(rng.gamma(0.5, size=8))[::-1] + 0.1
    for n in (30, 400):
        ours = np.array([_evidence(spectrum, k, n) for k in range(1, 7)])
        theirs = np.array([_assess_dimension(spectrum, k, n) for k in range(1, 7)])
        np.testing.assert_allclose(np.diff(ours), np.diff(theirs), rtol=1e-9)


# -- ways that are taken seldom ----------------------------------------------------------


def test_powers_of_two_reach_to_the_ends_of_the_range():
    for x in (2.0**-1021, 0.75 * 2.0**-1020, 0.75 * 2.0**1020, 2.0**1019):
        assert x < power_of_two(x) <= 2 * x
    assert power_of_two(0.0) == 1.0


def test_a_triangle_without_a_pivot_is_solved_by_the_shortest_solution():
    R = np.array([[2.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(_solve_triangle(R, np.array([5.0, 0.0])), [2.0, 1.0], rtol=1e-12)
    np.testing.assert_allclose(_solve_triangle(R + np.eye(2), np.array([5.0, 1.0])), [4 / 3, 1.0])


@pytest.mark.parametrize("error", [0.1, 1e-3])
def test_refinement_restores_all_digits(error, rng):
    B = np.eye(6) + 0.1 * rng.normal(size=(6, 6))
    b = rng.normal(size=(6, 2))

    class Off:
        """A factorization of B that is off by a relative error."""

        def solve(self, r):
            return (1 + error) * np.linalg.solve(B, r)

    found = _refined(Off(), Off().solve(b), lambda W: b - B @ W)
    np.testing.assert_allclose(found, np.linalg.solve(B, b), rtol=1e-13)


def test_refinement_that_does_not_converge_says_so(rng):
    class Useless:
        def solve(self, r):
            return -3.0 * r

    b = rng.normal(size=(4, 1))
    assert _refined(Useless(), 2 * b, lambda W: b - W) is None


@pytest.mark.parametrize("k", [20, 40])
def test_main_directions_of_labels_do_not_depend_on_the_shape(k, rng):
    """Fewer samples than labels go another way than more."""
    Z, H = Centered(rng.normal(size=(30, 3))), rng.normal(size=(30, k))
    V, rest = coordinates._directions(Z, H, 4)
    _, s, Vt = np.linalg.svd(H, full_matrices=False)
    np.testing.assert_allclose(rest, s[4] ** 2, rtol=1e-10)
    np.testing.assert_allclose(np.abs(Vt[:4] @ V), np.eye(4), atol=1e-10)
    for squares, V, total in (coordinates._by_rows(H), coordinates._by_gram(H.T @ H)):
        np.testing.assert_allclose(squares[:5], s[:5] ** 2, rtol=1e-10)
        np.testing.assert_allclose(total, np.sum(s**2), rtol=1e-12)
        np.testing.assert_allclose(np.abs(Vt[:4] @ V[:, :4]), np.eye(4), atol=1e-10)


def test_lanczos_of_planes_finds_the_largest_or_gives_up(rng):
    n = 300
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    apart, together = np.r_[np.linspace(0, 1, n - 1), 3.0], 1 - 1e-9 * np.arange(n)
    value, z, steps = planes._lanczos((Q * apart) @ Q.T, 2 * np.eye(n))
    np.testing.assert_allclose(value, 1.5, rtol=1e-9)
    np.testing.assert_allclose(abs(z @ Q[:, -1]), np.linalg.norm(z), rtol=1e-6)
    np.testing.assert_allclose(2 * z @ z, 1.0, rtol=1e-9)
    assert steps <= planes.LANCZOS_STEPS
    assert planes._lanczos((Q * together) @ Q.T + np.diag(np.linspace(0, 1, n)), np.eye(n)) is None


def test_sweeps_are_those_of_the_target_that_takes_most(rng):
    X = rng.normal(size=(60, 8)) + 3 * rng.normal(size=(60, 1))
    Y = X @ rng.normal(size=(8, 2)) + 0.1 * rng.normal(size=(60, 2))
    assert LeastSquaresProjection(target="opls", alpha=0.1, l1_ratio=0.5).fit(X, Y).n_iter_ > 5
