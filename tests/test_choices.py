"""Small decisions of the core: how many are asked for, in which order, in which units."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import eigsh

from eigenkit.data import Centered, CenteredKernel, LocalPasses, matrices
from eigenkit.moments import BlockedRows, Rows, stream
from eigenkit.numerics import costs
from eigenkit.numerics.linalg import orthonormalize
from eigenkit.numerics.tolerances import EPS
from eigenkit.pencil import Pencil
from eigenkit.solvers import (
    REGRESSIONS,
    Settings,
    krylov,
    multiview,
    planes,
    sparse_pairs,
    spectral,
    stages,
)
from eigenkit.solvers.kernel_weights import lower_bound, nearest
from eigenkit.solvers.sparse_latent import Loadings, Observed, above, bound, latent
from eigenkit.solvers.sparse_pairs import View
from eigenkit.targets import TARGETS


def test_one_component_more_than_the_rank_shows_what_is_left_out():
    assert Settings(label_rank=3, by_eigenvalues=True).count == 4
    assert Settings(label_rank="auto", by_eigenvalues=True).count is None
    assert Settings(label_rank=3).count is None
    more = Settings(n_components=3).count
    assert more is not None
    assert more > 3  # near ties with the last are resolved among more


def test_the_order_and_signs_of_components_leave_the_evidence(rng):
    data = Observed.of(rng.normal(size=(20, 5)), np.array([0, 0, 0, 1, 1]), np.ones(20))
    W, shape = rng.normal(size=(5, 3)), (2, 3)
    some = [rng.uniform(1, 2, size) for size in (shape, shape, shape, shape, (5,), (5,))]
    active = rng.uniform(0.2, 0.9, (5, 3))
    q = Loadings(W, rng.uniform(0.1, 1, (5, 3)), active, tuple(some[:2]), tuple(some[2:4]),
                 tuple(some[4:]))  # fmt: skip
    for other in (q.ordered(np.array([2, 0, 1])), replace(q, mean=q.mean * [1.0, -1.0, -1.0])):
        assert bound(data, latent(data, other), other) == pytest.approx(
            bound(data, latent(data, q), q), rel=1e-12
        )
        assert not np.array_equal(other.mean, q.mean)
        again = above(data, latent(data, other), other)
        assert bound(data, latent(data, again), again) > bound(data, latent(data, q), q)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e5])
def test_the_unit_of_cuts_moves_no_weights(unit, rng):
    cuts, center = rng.normal(size=(5, 4)) + 1.0, np.full(4, 0.25)
    value, corner = lower_bound(cuts)
    scaled, same = lower_bound(unit * cuts)
    assert scaled == pytest.approx(unit * value, rel=1e-9)
    np.testing.assert_allclose(same, corner, atol=1e-9)
    level = value + 0.5 * ((cuts @ center).max() - value)
    found, again = (
        nearest(cuts, level, center, corner),
        nearest(unit * cuts, unit * level, center, corner),
    )
    np.testing.assert_allclose(again, found, atol=1e-9)
    assert (cuts @ found).max() == pytest.approx(level, rel=1e-9)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_cuts_that_are_all_alike_say_their_value():
    value, weights = lower_bound(np.full((3, 2), 2.5))
    assert value == pytest.approx(2.5)
    assert weights.sum() == pytest.approx(1.0)


# -- streams ---------------------------------------------------------------------------------


def _stream(name, monkeypatch, block_bytes):
    monkeypatch.setattr(stream, "BLOCK_BYTES", block_bytes)
    return stream.Moments.begin(TARGETS[name], 1.0)


def test_a_stream_factors_blocks_of_the_size_that_it_says(rng, monkeypatch):
    rows = Rows(rng.normal(size=(500, 3)), rng.normal(size=(500, 2)), None)
    target = TARGETS["opls"]
    held = _stream("opls", monkeypatch, 2**30).add(rows, target, 1.0)
    monkeypatch.setattr(stream, "BLOCK_BYTES", 4000)
    assert [part.n_rows for part in held._block_factors(target)] == [100] * 5  # of 40 bytes
    monkeypatch.setattr(stream, "BLOCK_BYTES", 1)
    assert [part.n_rows for part in held._block_factors(target)] == [5] * 100  # as many as columns


def test_label_sets_are_counted_when_their_rows_have_doubled(rng, monkeypatch):
    counted = []
    width = stream.Moments._width
    monkeypatch.setattr(
        stream.Moments, "_width", lambda self: counted.append(len(self.recent)) or width(self)
    )
    held = _stream("star", monkeypatch, 1)
    monkeypatch.setattr(stream, "_block_bytes", lambda width: 2**20)  # nothing is factored
    for _ in range(8):
        Y = rng.integers(0, 2, (4, 3)) * 1.0
        held = held.add(Rows(rng.normal(size=(4, 2)), Y, None), TARGETS["star"], 1.0)
    assert counted == [1, 1, 1, 1]  # after 1, 2, 4 and 8 batches
    assert held.factor is None


@pytest.mark.parametrize(("rows", "limit", "kept"), [(500, 0, True), (500, 1, False)])
def test_what_may_not_be_kept_is_refused(rows, limit, kept, rng, monkeypatch):
    """Rows that take less room than a factor of them stay, up to the limit."""
    held = _stream("opls", monkeypatch, 1)
    batch = Rows(rng.normal(size=(rows, 3)), rng.normal(size=(rows, 2)), None)
    monkeypatch.setattr(stream, "_block_bytes", lambda width: batch.n_bytes)
    monkeypatch.setattr(stream, "STREAM_LIMIT_BYTES", batch.n_bytes - limit)
    if kept:
        assert held.add(batch, TARGETS["opls"], 1.0).n_bytes == batch.n_bytes
    else:
        with pytest.raises(ValueError, match="the limit is"):
            held.add(batch, TARGETS["opls"], 1.0)


@pytest.mark.parametrize(("limit", "fits"), [(0, True), (1, False)])
def test_a_factor_may_be_as_large_as_the_limit(limit, fits, rng, monkeypatch):
    held = _stream("opls", monkeypatch, 1)
    batch = Rows(rng.normal(size=(50, 3)), rng.normal(size=(50, 2)), None)
    monkeypatch.setattr(stream, "_block_bytes", lambda width: 8 * width)
    monkeypatch.setattr(stream, "STREAM_LIMIT_BYTES", 8 * 5 * 5 - limit)
    if fits:
        assert held.add(batch, TARGETS["opls"], 1.0).n_bytes == 8 * 5 * 5
    else:
        with pytest.raises(ValueError, match="5 x 5 numbers"):
            held.add(batch, TARGETS["opls"], 1.0)


@pytest.mark.parametrize(("n", "limit", "hidden"), [(5, 0, False), (6, 0, True), (6, 1, False)])
def test_rows_are_hidden_in_sums_where_they_outnumber_the_columns(
    n, limit, hidden, rng, monkeypatch
):
    opls = TARGETS["opls"]
    held = stream.Moments.begin(opls, 1.0)
    assert held.without_rows(opls, 1.0) is held
    held = held.add(Rows(rng.normal(size=(n, 3)), rng.normal(size=(n, 2)), None), opls, 1.0)
    monkeypatch.setattr(stream, "STREAM_LIMIT_BYTES", 8 * 5 * 5 - limit)
    if hidden:
        found = held.without_rows(opls, 1.0)
        assert (found.recent, found.factor.R.shape, found.n_rows) == ((), (5, 5), n)
        again = found.without_rows(opls, 1.0)
        np.testing.assert_allclose(again.factor.R, found.factor.R, rtol=1e-12)
    else:
        with pytest.raises(ValueError, match="cannot be hidden"):
            held.without_rows(opls, 1.0)


# -- ranks and spectra ------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3000, 2), (2, 3000)])
def test_what_counts_as_rank_depends_on_the_longer_side(shape, rng):
    """Ten roundings for every row or column, whichever are more."""
    short, long = min(shape), max(shape)
    for size, rank in ((0.5, 1), (2.0, 2)):
        Q = np.linalg.qr(rng.normal(size=(long, short)))[0]
        T = Q * [1.0, size * 10 * EPS * long]
        block = multiview.Block(T if shape[0] == long else T.T, 0.5, 0.5, 10.0)
        P, F = block.whitened()
        assert P.shape[1] == F.shape[1] == rank


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_basis_has_as_many_vectors_as_are_above_the_rounding_of_all_rows(dtype, rng):
    eps = np.finfo(dtype).eps
    for size, rank in ((0.2, 1), (5.0, 2)):
        Q = np.linalg.qr(rng.normal(size=(3000, 2)))[0]
        W = (Q @ [[1.0, 1.0], [0.0, size * 3000 * eps]]).astype(dtype)
        basis, R = orthonormalize(W)
        assert basis.shape[1] == len(R) == rank


@pytest.mark.parametrize("method", ["gram", "svd"])
@pytest.mark.parametrize("shape", [(20, 4), (4, 20)])
def test_all_components_are_those_with_variance(method, shape, rng):
    found = spectral.principal_axes(Centered(rng.normal(size=shape)), None, method, 1e-8, 100)
    assert len(found.eigenvalues) == (4 if shape[0] > 4 else 3)


# -- blocks of sparse rows ---------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_blocks_of_sparse_rows_are_all_rows_once_and_alike(threads, rng, monkeypatch):
    monkeypatch.setattr(matrices, "available", lambda: threads)
    for shape, density in (((200, 30), 0.2), ((3, 50), 0.5), ((40, 5), 0.0)):
        X = sparse.random_array(shape, density=density, format="csr", random_state=1)
        blocks = matrices.SparseRows(X)._blocks
        rows = [i for block in blocks for i in range(block.start, block.stop)]
        assert rows == list(range(shape[0]))
        assert len(blocks) <= 4 * threads
        held = [X.indptr[b.stop] - X.indptr[b.start] for b in blocks]
        assert max(held) <= X.nnz / (4 * threads) + np.diff(X.indptr).max()


# -- what stands behind numbers -----------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "counts", "shares"])
@pytest.mark.parametrize("small", [False, True])
def test_blocks_have_the_freedom_and_the_grain_of_their_rows(weights, small, rng):
    X, Y = rng.normal(size=(30, 3)) + 5.0, rng.normal(size=(30, 2))
    X[:, 1] = 7.0
    w = {None: None, "counts": rng.integers(1, 4, 30) * 1.0, "shares": rng.random(30)}[weights]
    parts = [slice(0, 12), slice(12, 30)]
    blocks = [[(X[p], Y[p], None if w is None else w[p])] for p in parts]
    passes = LocalPasses(lambda: blocks)
    target = TARGETS["opls"]
    plain = Rows(X, Y, w).problem(target, 1.0, 0.5)
    found = BlockedRows(passes, passes, passes, small).problem(target, 1.0, 0.5)
    Z, own = found.pencil.Z, plain.pencil.Z
    assert Z.freedom == pytest.approx(own.freedom, rel=1e-12)
    assert Z.total == pytest.approx(own.total, rel=1e-12)
    assert found.labels.one == pytest.approx(plain.labels.one, rel=1e-12)
    np.testing.assert_allclose(Z.grain(), own.grain(), rtol=1e-6)
    assert Z.grain()[1] == own.grain()[1] == 0.0  # which no rounding can make vary


@pytest.mark.parametrize("unit", [1e-25, 1.0, 1e25])
@pytest.mark.parametrize("shape", [(30, 4), (4, 30)])
@pytest.mark.parametrize("kind", ["dense", "sparse", "kernel"])
def test_singular_values_have_the_unit_of_the_data(kind, shape, unit, rng, monkeypatch):
    monkeypatch.setattr(costs, "DENSE_LIMIT_BYTES", 0)
    X = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    given = {"dense": X, "sparse": sparse.csr_array(X), "kernel": X @ X.T}[kind]
    Z = CenteredKernel(unit**2 * given) if kind == "kernel" else Centered(unit * given)
    U, s, V = Z.triplets()
    true = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:3]
    np.testing.assert_allclose(s / Z.units[0], unit * true, rtol=1e-6)
    np.testing.assert_allclose(Z.matmat(V), U * s, atol=1e-6 * s[0])


def test_corrections_end_with_the_steps_that_are_left(rng):
    G, B = np.diag(np.arange(1.0, 7.0)), rng.normal(size=(6, 1))
    calls = []

    def product(V):
        calls.append(1)
        return G @ V

    for used, made in ((5, 1), (4, 3)):  # of five steps: none is left, or one
        calls.clear()
        run = krylov._polish(product, B, 0.5, np.zeros((6, 1)), used, 1e-12, 5)
        assert (run.n_iter, run.converged, len(calls)) == (5, False, made)
    exact = krylov._polish(product, 1.5 * np.eye(6, 1), 0.5, np.eye(6, 1), 0, 0.0, 5)
    assert (exact.n_iter, exact.converged) == (0, True)  # nothing is left, and no more is asked


def test_no_distance_is_told_from_a_small_one():
    """A level that is just below the value at the centre is a short way off, not out of reach."""
    cuts, center = np.array([[2.0, 1.0]]), np.array([0.5, 0.5])
    for way in (1e-3, 1e-6):
        found = nearest(cuts, 1.5 - way, center, np.array([0.0, 1.0]))
        np.testing.assert_allclose(found, [0.5 - way, 0.5 + way], atol=1e-3 * way)
    out_of_reach = nearest(cuts, 0.5, center, np.array([0.0, 1.0]))
    np.testing.assert_allclose(out_of_reach, [0.25, 0.75])


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_rank_on_a_span_does_not_depend_on_the_unit_of_the_target(unit, rng):
    WBW, WC = 4 * np.eye(3), 2 * np.diag([1.0, 1e-4, 1e-8])[:, :3]
    span = SimpleNamespace(square=WBW, cross=unit * WC, turned=lambda T: T)
    T, values, basis = stages.rayleigh_ritz(span, None, None)
    np.testing.assert_allclose(values, unit**2 * np.array([1.0, 1e-8]), rtol=1e-9)
    assert T.shape == basis.shape == (3, 2)


def test_few_of_many_components_of_a_kernel_come_from_lanczos(monkeypatch, rng):
    asked = []
    monkeypatch.setattr(spectral, "LANCZOS_ORDER", 20)
    monkeypatch.setattr(
        spectral, "eigsh", lambda *given, **more: asked.append(given[1]) or eigsh(*given, **more)
    )
    A = rng.normal(size=(40, 40))
    true = np.linalg.eigvalsh(A @ A.T)[::-1]
    for few in (1, 4, 5, None):
        values, V, report = spectral._largest(A @ A.T, few)
        assert report.regression == ("lanczos" if few in (1, 4) else "gram")
        np.testing.assert_allclose(values, true[:few], rtol=1e-9)
        np.testing.assert_allclose(A @ A.T @ V, V * values, atol=1e-8 * true[0])
    spectral._largest(np.eye(19), 1)
    assert asked == [1, 4]  # at most a tenth, and of more than LANCZOS_ORDER


# -- planes and pairs --------------------------------------------------------------------------


@pytest.mark.parametrize(("gap", "tied"), [(1e-9, True), (1e-8, False)])
def test_planes_from_products_are_tied_within_their_digits(gap, tied, rng):
    """Ten roundings over the least condition that is trusted: 2e-9."""
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    G = (Q * [0.2, 0.2 + gap, 0.5, 0.9]) @ Q.T
    found = planes.regec_from_grams([G, np.eye(4) - G])
    assert (found is None) is tied
    if found is not None:
        np.testing.assert_allclose(found.shares, [0.2, 0.1], atol=1e-7)


@pytest.mark.parametrize(("gap", "tied"), [(1e-6, True), (1e-4, False)])
def test_of_tied_planes_the_one_of_shortest_normal_is_taken(gap, tied):
    """From products of dependent columns shares are known to 2e-5; the last entry is the offset."""
    G = np.diag([0.3, 0.2 + gap, 0.6, 0.2])
    rest = np.eye(4) - G
    both = [np.pad(part, ((0, 1), (0, 1))) for part in (G, rest)]  # and a column of zeros
    order = [0, 1, 4, 2, 3]
    found = planes.regec_from_singular_grams([part[np.ix_(order, order)] for part in both])
    z = np.abs(found.Z[0]) / np.abs(found.Z[0]).max()
    np.testing.assert_allclose(z, [0, 0, 0, 0, 1], atol=1e-3)
    wide = [
        part[np.ix_([4, 3, 0, 2, 1], [4, 3, 0, 2, 1])] for part in both
    ]  # the offset is .2 + gap
    z = np.abs(planes.regec_from_singular_grams(wide).Z[0])
    np.testing.assert_allclose(z / z.max(), [0, 0, 0, 0, 1] if tied else [0, 1, 0, 0, 0], atol=1e-3)


def test_lanczos_looks_at_its_values_every_third_step(rng, monkeypatch):
    sizes = []

    class Lapack:
        def __getattr__(self, name):
            return getattr(lapack, name)

        def dsyevd(self, T, **more):
            sizes.append(len(T))
            return lapack.dsyevd(T, **more)

    monkeypatch.setattr(planes, "lapack", Lapack())
    Q = np.linalg.qr(rng.normal(size=(90, 90)))[0]
    A = (Q * np.linspace(0.0, 1.0, 90)) @ Q.T
    A += 3 * np.outer(Q[:, 0], Q[:, 0])
    value, z, steps = planes._lanczos(A, np.eye(90))
    assert value == pytest.approx(3.0, rel=1e-9)
    assert sizes == list(range(9, steps + 1, 3))
    np.testing.assert_allclose(A @ z, 3 * z, atol=1e-8 * np.linalg.norm(z))


class _Wide:
    """A view of this width, which notes what is asked of it."""

    def __init__(self, width):
        self.width, self.asked = width, []

    def toarray(self):
        self.asked.append("toarray")
        return np.zeros((1, 1))

    def rmatmat(self, U):
        self.asked.append(U.shape)
        return np.zeros((1, 1))


@pytest.mark.parametrize(("width", "kept"), [(10**4, True), (10**4 + 1, False)])
def test_products_of_views_are_kept_up_to_ten_million(width, kept):
    x, y = _Wide(10**3), _Wide(width)
    sparse_pairs._cross(x, y)
    assert (y.asked == ["toarray"]) is kept


def test_the_best_pair_is_found_block_by_block(rng, monkeypatch):
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 7))
    Y[:, 5] = X[:, 2] + 0.1 * Y[:, 5]
    x, y = View.of(Centered(X), True), View.of(Centered(Y), True)
    widths = []
    inner = View.rmatmat
    monkeypatch.setattr(
        View, "rmatmat", lambda self, U: widths.append(U.shape[1]) or inner(self, U)
    )
    for limit, blocks in ((8, [2, 2, 2, 1]), (4, [1] * 7), (3, [1] * 7), (100, [7])):
        widths.clear()
        monkeypatch.setattr(sparse_pairs, "CROSS_LIMIT", limit)
        assert sparse_pairs._best_pair(x, y) == (2, 5)
        assert widths == blocks


def test_changed_rows_take_no_more_memory_than_there_are(rng):
    Z = Centered(rng.normal(size=(10, 3)) + 1e6)
    for part in (None, slice(2, 6)):
        for rows, P in Z._blocks(part):
            assert len(P.base) == (10 if part is None else 4)
            assert rows.stop - rows.start == len(P)


@pytest.mark.parametrize("smallest", [1.0, 1e-3, 3e-5])
def test_digits_that_products_of_few_rows_have_lost_are_restored(smallest, rng):
    """Z Z' has the square of the condition of Z: residuals from the data restore twelve digits."""
    U, V = np.linalg.qr(rng.normal(size=(9, 9)))[0], np.linalg.qr(rng.normal(size=(20, 9)))[0]
    Z = Centered((U * np.geomspace(1.0, smallest, 9)) @ V.T)
    H = rng.normal(size=(9, 2))
    pencil = Pencil(Z, H - H.mean(axis=0), 0.0)
    found, exact = (REGRESSIONS[name]([pencil], 1e-12, 100)[0] for name in ("dual_cholesky", "svd"))
    gap = np.linalg.norm(found.W1 - exact.W1) / np.linalg.norm(exact.W1)
    assert gap < 1e-11
