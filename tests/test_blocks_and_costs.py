"""What nobody sees in an answer: sizes of blocks, what is formed, what a method is said to cost."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eigenkit import PCA
from eigenkit.data import (
    Blocked,
    Centered,
    LocalPasses,
    Targets,
    blocked,
    matrices,
    project,
    survey_of,
)
from eigenkit.data import dense as dense_data
from eigenkit.data.blocked import Frame
from eigenkit.data.passes import Survey
from eigenkit.moments import stream
from eigenkit.numerics.costs import BLOCK_RATE, DENSE_RATE, GRAM_LIMIT_BYTES, READ_RATE, fits
from eigenkit.numerics.threads import FAN_IN, tree_sum
from eigenkit.solvers import choose, krylov, spectral
from eigenkit.solvers.stages import _factorization_costs, _iteration_cost, _iterations

SIZE = 1000  # bytes of a block


def _fill(lengths: list[int], row_bytes: int) -> None:
    """Blocks hold as many rows as SIZE allows, and not one more."""
    most = max(1, SIZE // row_bytes)
    assert set(lengths[:-1]) <= {most}
    assert 0 < lengths[-1] <= most


@pytest.mark.parametrize("d", [1, 3, 7, 200])
@pytest.mark.parametrize("part", [None, slice(5, 44)])
def test_blocks_of_dense_rows_are_as_large_as_they_may_be(d, part, rng):
    Z = Centered(rng.normal(size=(50, d)))
    for weighted in (False, True):
        found = list(Z._blocks(part, SIZE, weighted))
        first, last = (0, 50) if part is None else (5, 44)
        assert [rows.start for rows, _ in found] == [first, *(r.stop for r, _ in found)][:-1]
        assert found[-1][0].stop == last
        _fill([rows.stop - rows.start for rows, _ in found], 8 * d)


def test_rows_as_they_are_come_in_one_block_and_changed_ones_in_several(rng, monkeypatch):
    monkeypatch.setattr(dense_data, "BLOCK_BYTES", SIZE)
    X = rng.normal(size=(50, 3))
    assert len(list(Centered(X)._blocks())) == 1
    assert len(list(Centered(X)._blocks(weighted=True))) == 1
    for Z in (Centered(X + 1e5), Centered(X.astype(np.float32)), Centered(X * 1e-100)):
        assert len(list(Z._blocks())) == 2
    weighted = Centered(X, np.arange(1.0, 51.0))
    assert len(list(weighted._blocks())) == 1
    assert len(list(weighted._blocks(weighted=True))) == 2


def _spied(monkeypatch, owner, name, lengths, of):
    """Note the size of what a function is given, each time."""
    before = getattr(owner, name)

    def spy(*given, **named):
        lengths.append(of(*given))
        return before(*given, **named)

    monkeypatch.setattr(owner, name, spy)


def test_pieces_of_blocks_projections_and_kernels_of_rows_keep_to_their_size(rng, monkeypatch):
    X = rng.normal(size=(50, 7))
    monkeypatch.setattr(blocked, "BLOCK_BYTES", SIZE)
    pieces = list(Frame(None, None, np.zeros(7)).pieces([(X, X, np.arange(50.0))]))
    _fill([len(P) for P, _, _ in pieces], 8 * 7)
    np.testing.assert_array_equal(np.vstack([P for P, _, _ in pieces]), X)
    np.testing.assert_array_equal(np.vstack([Y for _, Y, _ in pieces]), X)
    np.testing.assert_allclose(np.concatenate([r for *_, r in pieces]) ** 2, np.arange(50.0))
    monkeypatch.setattr(matrices, "BLOCK_BYTES", SIZE)
    lengths: list[int] = []
    _spied(monkeypatch, matrices.np, "matmul", lengths, lambda A, B, **_: len(A))
    mean, W = rng.normal(size=7), rng.normal(size=(7, 2))
    np.testing.assert_allclose(project(X, mean, W), (X - mean) @ W, atol=1e-12)
    _fill(lengths, 8 * 7)
    lengths = []
    monkeypatch.setattr(dense_data, "BLOCK_BYTES", SIZE)
    _spied(monkeypatch, dense_data, "moved", lengths, lambda *given: given[3].stop - given[3].start)
    Z = Centered(X.T.copy())
    np.testing.assert_allclose(Z.outer(), Z.toarray() @ Z.toarray().T, atol=1e-12)
    assert set(lengths) == {4 * SIZE // (8 * 7)}


def test_sums_are_added_in_place_where_the_types_allow(rng, monkeypatch):
    """scipy's product would be as large as the whole result."""
    if matrices.csc_matvecs is None:
        pytest.skip("this scipy has no such function")
    X = sparse.random_array((20, 6), density=0.3, rng=rng, format="csr")
    calls: list[int] = []
    _spied(monkeypatch, matrices, "csc_matvecs", calls, lambda d, n, *_: n)
    U = rng.normal(size=(20, 2))
    for rows, used in ((slice(None), 20), (slice(3, 9), 6)):
        out = np.ones((6, 2))
        matrices.add_transposed(out, X, U[rows], rows)
        np.testing.assert_allclose(out, 1 + X[rows].T @ U[rows], atol=1e-12)
        assert calls.pop() == used
    mixed = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr), shape=X.shape)
    mixed.indices, mixed.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int32)
    for S, V in ((X, U.astype(np.float32)), (X.astype(np.float32), U), (mixed, U)):
        out = np.zeros((6, 2))
        matrices.add_transposed(out, S, V)
        np.testing.assert_allclose(out, X.T @ U, atol=1e-5)
        assert not calls


def test_triangles_are_made_of_rows_that_are_few_at_a_time(rng, monkeypatch):
    X, Y = rng.normal(size=(90, 4)), rng.normal(size=(90, 2))
    blocks = [(X[i : i + 10], Y[i : i + 10], None) for i in range(0, 90, 10)]
    stack = blocked._stacked(
        blocks, Frame(None, None, np.zeros(4)), Targets(lambda Y: Y, (90, 2)), 6
    )
    joint = np.hstack([X, Y])
    np.testing.assert_allclose(stack.R.T @ stack.R, joint.T @ joint, atol=1e-10)
    lengths: list[int] = []
    _spied(monkeypatch, blocked, "triangular_factor", lengths, len)
    blocked._stacked(blocks, Frame(None, None, np.zeros(4)), Targets(lambda Y: Y, (90, 2)), 6)
    # Ten rows at a time until there are four times the six columns; then with the triangle before.
    assert lengths == [30, 36, 36, 6]


def test_sums_are_a_tree(monkeypatch):
    """No sum has more than a few terms, whatever the number of values: rounding stays small."""
    deepest = 0

    class Term:
        def __init__(self, depth=0, count=1):
            self.depth, self.count = depth, count

        def merge(self, other):
            nonlocal deepest
            found = Term(max(self.depth, other.depth) + 1, self.count + other.count)
            deepest = max(deepest, found.depth)
            return found

    for n in (1, 7, 8, 9, 64, 65, 500):
        assert tree_sum(Term() for _ in range(n)).count == n
    assert deepest <= 3 * FAN_IN
    assert tree_sum([]) is None
    assert tree_sum([None, 2, None, 3]) == 5


def test_a_stream_factors_rows_as_soon_as_that_takes_less_room():
    for width in (1, 30, 100, 400, 1000, 2000, 5000):
        factor = 8 * width * width
        size = stream._block_bytes(width)
        assert size >= max(factor, stream.BLOCK_BYTES)
        assert size <= max(factor, stream.BLOCK_BYTES, 64 * stream.BLOCK_BYTES)
        if stream.BLOCK_BYTES <= 4 * factor <= 64 * stream.BLOCK_BYTES:
            assert size == 4 * factor
        if factor <= 64 * stream.BLOCK_BYTES <= 4 * factor:
            assert size == 64 * stream.BLOCK_BYTES


# -- surveys ---------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("weights", [None, "integers", "shares", "one share"])
@pytest.mark.parametrize("scaled", [False, True])
def test_a_survey_says_what_the_columns_are(storage, weights, scaled, rng):
    A = np.where(rng.random((30, 4)) < 0.5, rng.normal(size=(30, 4)), 0.0)
    A[:, 3] = rng.normal(size=30) + 4.0
    w = rng.random(30) if weights == "shares" else rng.integers(1, 4, 30) * 1.0
    if weights == "one share":
        w[20] = 1.5
    w = w if weights else None
    m = np.array([2.0, 4.0, 0.5, 1.0]) if scaled else None
    X = sparse.csr_array(A) if storage == "sparse" else A
    cuts = [slice(0, 11), slice(11, 12), slice(12, 30)]
    blocks = [(X[rows], None, None if w is None else w[rows]) for rows in cuts]
    s = survey_of(iter(blocks), m)
    P, u = A if m is None else A * m, np.ones(30) if w is None else w
    assert (s.n_rows, s.counted, s.is_sparse) == (
        30,
        weights in (None, "integers"),
        storage == "sparse",
    )
    assert s.total == pytest.approx(u.sum())
    np.testing.assert_allclose(s.mean, u @ P / u.sum(), atol=1e-13)
    np.testing.assert_allclose(s.squares, u @ P**2, atol=1e-12)
    np.testing.assert_array_equal(s.low, P.min(axis=0))
    np.testing.assert_array_equal(s.high, P.max(axis=0))
    np.testing.assert_array_equal(s.sizes, np.abs(P).max(axis=0))
    stored = np.count_nonzero(A, axis=1) if storage == "sparse" else np.full(30, 4)
    assert s.n_stored == stored.sum()
    assert s.squared_rows == np.sum(stored**2)
    filled = u @ (A != 0) if storage == "sparse" else np.full(4, u.sum())
    np.testing.assert_allclose(s.filled, filled)
    single = Survey.of(X.astype(np.float32), w)
    assert single.eps == s.merge(single).eps == np.finfo(np.float32).eps


# -- which matrix is formed --------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gram", "lanczos", "auto"])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_of_two_gram_matrices_the_smaller_one_is_formed(solver, storage, rng, monkeypatch):
    formed: list[tuple[int, ...]] = []
    for name in ("gram", "outer"):
        _spied(monkeypatch, Centered, name, formed, lambda Z, name=name: (name, *Z.shape))
    A = rng.normal(size=(30, 200)) * (rng.random((30, 200)) < 0.3)
    for X in (A, A.T.copy()):
        X = sparse.csr_array(X) if storage == "sparse" else X
        PCA(3, solver=solver).fit(X)
    assert not {("gram", 30, 200), ("outer", 200, 30)} & set(formed)
    assert not formed or solver != "lanczos"


def test_a_few_components_are_looked_for_on_the_smaller_side(rng, monkeypatch):
    sides: list[int] = []
    _spied(monkeypatch, spectral, "largest_eigenpairs", sides, lambda product, n, *_: n)
    A = sparse.random_array((60, 300), density=0.2, rng=rng, format="csr")
    for X in (A, sparse.csr_array(A.T)):
        PCA(3, solver="lanczos").fit(X)
    assert sides == [60, 60]


def test_restarts_keep_more_than_is_wanted_and_leave_room():
    for k in (1, 2, 5, 8, 20, 60):
        width = 2 * k + 6 * krylov.BLOCK
        V, S = np.eye(width + 5)[:, :width].copy(), np.eye(width)
        T = np.ones((width, width))
        values = np.arange(width, 0.0, -1.0)
        kept = krylov._restart(V, T, values, S, width, k, width)
        assert k + k // 2 <= kept <= width - 4 * krylov.BLOCK
        assert kept == min(k + k // 2 + krylov.BLOCK, width - 4 * krylov.BLOCK)
        np.testing.assert_array_equal(T[:kept, :kept], np.diag(values[:kept]))
        assert not T[kept:].any()
        assert not T[:, kept:].any()
        assert krylov._restart(V, T, values, S[:k], k, k, width) == k


def test_the_largest_eigenvalue_is_estimated_from_below(rng):
    for shape in ((80, 6), (9, 40)):
        X = rng.normal(size=shape) * np.linspace(3, 0.1, shape[1])
        for Z in (Centered(X), Centered(sparse.csr_array(X)), Centered(X, rng.random(len(X)) + 1)):
            largest = np.linalg.norm(Z.toarray(), 2) ** 2
            assert 0.8 * largest <= Z.spectral_norm_squared() <= largest * (1 + 1e-10)


def test_single_precision_is_for_numbers_of_its_range():
    def single(*numbers):
        return Centered(sparse.csr_array(np.array([numbers, numbers[::-1]]))).fast_in_single

    assert single(1.0, 1e-8, 0.0, 0.0)
    assert single(1e8, -1e-8, 0.0, 0.0)
    assert not single(1.0, 1e-10, 0.0, 0.0)
    assert not single(0.5, -1e-10, 0.0, 0.0)
    assert not single(1e10, 1.0, 0.0, 0.0)
    assert not single(1e-80, 1.0, 0.0, 0.0)


# -- forecasts -----------------------------------------------------------------------------------


def test_a_gram_matrix_fits_up_to_the_limit():
    side = int(np.sqrt(GRAM_LIMIT_BYTES / 8))
    assert fits(side)
    assert not fits(side + 1)


def test_every_stored_number_is_multiplied_twice_a_pass(rng):
    S = sparse.random_array((40, 25), density=0.2, rng=rng, format="csr")
    Z = Centered(S)
    assert Z.seconds_for_passes(7) == pytest.approx(2 * S.nnz * 7 / BLOCK_RATE)
    blocks = LocalPasses(lambda: [[(S, np.zeros((40, 0)), None)]])
    B = Blocked(blocks, blocks.run(survey_of))
    reading = 2 * S.nnz / READ_RATE
    assert B.seconds_for_passes(1) == pytest.approx(reading)
    assert B.seconds_for_passes(70) == pytest.approx(Z.seconds_for_passes(70))
    assert B.seconds_for_gram() == pytest.approx(Z.seconds_for_gram())
    assert B.seconds_for_outer() == np.inf


class _Sized(Centered):
    """Data of which only the shape counts."""

    def __new__(cls, *given):
        return object.__new__(cls)

    def __init__(self, n, d):
        self.shape = n, d

    def seconds_for_passes(self, k):
        return 0.0

    seconds_for_gram = seconds_for_outer = lambda self: 0.0


def test_a_factorization_grows_with_the_cube_of_its_side_and_the_number_of_ridges():
    def cost(side, n_alphas=1):
        found = _factorization_costs(_Sized(3 * side, side), n_alphas)
        assert (
            found["dual_cholesky"]
            == _factorization_costs(_Sized(5, 3 * side), n_alphas)["cholesky"]
        )
        return found["cholesky"]

    one, two, four = cost(300), cost(600), cost(1200)
    # c side^3 + m side^2, with some passes over memory that matter while the side is small
    assert four - 12 * two + 32 * one == pytest.approx(0.0, abs=1e-9 * four)
    cube, square = (two - 4 * one) / 4, (8 * one - two) / 4
    assert cube == pytest.approx(300**3 / 6 / DENSE_RATE)
    assert square == pytest.approx(40 * 300**2 / READ_RATE)
    assert cost(300, 7) == pytest.approx(7 * one)
    assert set(_factorization_costs(_Sized(10**6, 50), 1)) == {"cholesky"}
    assert set(_factorization_costs(_Sized(50, 10**6), 1)) == {"dual_cholesky"}


def test_an_iteration_grows_with_vectors_targets_and_ridges():
    def cost(n, d, k, alphas):
        return _iteration_cost(_Sized(n, d), k, alphas)

    assert cost(500, 900, 4, 1) == cost(900, 500, 4, 1) == cost(500, 10**6, 4, 1)
    assert cost(1000, 2000, 4, 1) == pytest.approx(2 * cost(500, 900, 4, 1))
    per_ridge = cost(500, 900, 4, 2) - cost(500, 900, 4, 1)
    assert cost(500, 900, 4, 1) == pytest.approx(4 * per_ridge)  # six blocks, and two a ridge
    a, b, c = (cost(500, 900, k, 1) for k in (10, 20, 40))
    assert c - 6 * b + 8 * a == pytest.approx(0.0, abs=1e-9 * c)  # k^2 and k
    assert (b - 2 * a) / 2 == pytest.approx(8 * 500 * 100 / DENSE_RATE)
    assert (4 * a - b) / 2 == pytest.approx(8 * 500 * 10 * 2 / READ_RATE)


def test_iterations_grow_with_the_condition_and_the_digits_asked_for():
    Z = _Sized(400, 900)

    def count(condition, tol=1e-8, k=1):
        return _iterations(Z, k, condition, tol) - 3

    assert count(4e2) == pytest.approx(2 * count(1e2))  # the classical bound, while it is small
    assert count(1e2) == pytest.approx(0.2 * np.log(2e8) * 10)
    assert count(1e2, 1e-4) == pytest.approx(count(1e2) * np.log(2e4) / np.log(2e8))
    assert count(1e2, 0.0) == count(1e2, np.finfo(float).eps)
    large = count(1e12, k=4)
    assert large < 0.2 * np.log(2e8) * 1e6
    assert count(16e12, k=4) == pytest.approx(
        2 * large
    )  # beyond the space that blocks span: its root
    assert count(1e12, k=16) == pytest.approx(large / 2)
    assert large == pytest.approx(0.75 * np.sqrt(0.2 * np.log(2e8) * 1e6 * 400 / 4))


def test_the_cheapest_is_chosen_and_the_reason_has_the_numbers(rng):
    choice = choose(Centered(rng.normal(size=(400, 30))), 3, [1.0], 1e-8)
    assert choice.regression == min(choice.costs, key=choice.costs.__getitem__)
    for name, seconds in choice.costs.items():
        assert f"{seconds:.2g} s" in choice.reason
        assert name in choice.reason
    best, reason = spectral.cheapest(Centered(rng.normal(size=(400, 300))), 5)
    assert best in ("gram", "lanczos")
    assert reason.count(" s") == 2
    for k in (75, 76, None):
        _, reason = spectral.cheapest(Centered(rng.normal(size=(400, 300))), k)
        assert ("lanczos" in reason) is (k == 75)  # up to a quarter of the side


def test_why_nothing_but_lsqr_is_left():
    Z = _Sized(20_000, 30_000)
    for alphas, why in (([0.0, 1.0], "alpha is 0"), ([1.0], "the columns have units of their own")):
        Z.unit = 1.0 if min(alphas) == 0 else np.ones(3)
        choice = choose(Z, 3, alphas, 1e-8)
        assert choice.regression == "lsqr"
        assert choice.reason == (
            f"neither 30000 x 30000 nor 20000 x 20000 numbers fit in 1 GB and {why}"
        )


def test_what_cannot_be_held_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="too many for all components at once"):
        spectral.cheapest(_Sized(20_000, 20_000), None)
    assert spectral.cheapest(_Sized(20_000, 20_000), 5)[0] == "lanczos"
    assert spectral.cheapest(_Sized(20_000, 20_000), 5_000)[0] == "lanczos"
    with pytest.raises(ValueError, match="at most a quarter"):
        spectral.cheapest(_Sized(20_000, 20_000), 5_001)
