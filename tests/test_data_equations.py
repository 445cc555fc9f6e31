"""Data of every kind, in extreme units and far from zero, against the matrix written out."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from conftest import near
from eigenkit import PCA, RowBlocks
from eigenkit.data import (
    Blocked,
    Centered,
    CenteredKernel,
    LocalPasses,
    Targets,
    blocked,
    correlations,
    matrices,
    survey_of,
)
from eigenkit.data import dense as dense_data
from eigenkit.data.blocked import Frame
from eigenkit.data.centered import Sparse
from eigenkit.data.matrices import SparseRows
from eigenkit.exceptions import ConditionWarning
from eigenkit.numerics.threads import own_threads

UNITS = {"plain": 1.0, "each its own": np.array([1e-90, 1e80, 1.0, 1e70, 1.0]), "tiny": 1e-100}
KINDS = ["dense", "sparse", "blocks", "sparse blocks"]


def _sample(n=150):
    """Columns: plain, nearly full and far from zero, constant, with many gaps, and empty."""
    rng = np.random.default_rng(5)
    A = rng.normal(size=(n, 5))
    A[:, 4] = 0.0
    A[:, 1] += 4096.0
    A[:, 2] = 7.0
    A[:, 3] *= rng.random(n) < 0.6
    A[3, 1] = 0.0
    return A


def _data(kind, A, units, weight, **how):
    X = A * units
    X = sparse.csr_array(X) if "sparse" in kind else X
    if "blocks" not in kind:
        return Centered(X, weight, **how)
    Y = np.column_stack([np.arange(len(A)), A[:, 0] > 0]).astype(float)
    cuts = [slice(0, 11), slice(11, 12), slice(12, len(A))]
    blocks = [(X[c], Y[c], None if weight is None else weight[c]) for c in cuts]
    passes = LocalPasses(lambda: [blocks[:2], blocks[2:]])
    return Blocked(passes, passes.run(survey_of), **how)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("weighted", [False, True])
def test_products_are_those_of_the_matrix_in_the_units_of_the_data(kind, units, weighted):
    A = _sample()
    w = np.linspace(0.5, 2.0, len(A)) if weighted else None
    u, scale = np.ones(len(A)) if w is None else w, np.broadcast_to(UNITS[units], 5)
    mean = u @ A / u.sum()
    Z = _data(kind, A, scale, w)
    factor = Z.to_X(np.ones((5, 1)))[:, 0]
    live = np.array([True, True, False, True, False])
    np.testing.assert_array_equal(Z.constant, ~live)
    np.testing.assert_allclose(Z.mean / scale, mean, rtol=1e-12)
    D = np.sqrt(u)[:, None] * (A - mean) * np.where(live, factor * scale, 0.0)
    near = {"rtol": 1e-9, "atol": 1e-10 * np.abs(D).max() ** 2}
    V, U = np.random.default_rng(6).normal(size=(2, 150, 3))
    V = V[:5]
    np.testing.assert_allclose(Z.gram(), D.T @ D, **near)
    np.testing.assert_allclose(Z.column_squares(), np.sum(D * D, axis=0), **near)
    np.testing.assert_allclose(Z.normal(V), D.T @ D @ V, **near)
    given = u @ (A * factor * scale) ** 2
    steps = Z.grain()[live] / np.sqrt(given[live])
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    assert 1e-16 < steps[0] < 1e-14
    assert not Z.grain()[~live].any()
    np.testing.assert_allclose(np.broadcast_to(Z.ridge(3.0), 5)[live], 3.0 * factor[live] ** 2)
    assert Z.ridge(0.0) == 0.0
    np.testing.assert_allclose(Z.from_X(Z.to_X(V))[live], V[live])
    one = 1.0 if w is None else w.mean()
    assert Z.freedom == pytest.approx(u.sum() - one)
    if "blocks" in kind:
        H = Targets(lambda Y: Y + 2.0, (150, 2))
        rows = np.column_stack([np.arange(150), A[:, 0] > 0]) + 2.0
        centred = np.sqrt(u)[:, None] * (rows - u @ rows / u.sum())
        np.testing.assert_allclose(Z.rmatmat(H), D.T @ centred, rtol=1e-8, atol=near["atol"])
        np.testing.assert_allclose(Z.within(H), centred.T @ centred, rtol=1e-10)
        assert Z.squares_of(H) == pytest.approx(np.sum(centred**2))
        assert Z.spectral_norm_squared() == pytest.approx(np.sum(D * D))
        return
    np.testing.assert_allclose(Z.toarray(), D, atol=1e-11 * np.abs(D).max())
    np.testing.assert_allclose(Z.matmat(V), D @ V, **near)
    np.testing.assert_allclose(Z.rmatmat(U), D.T @ U, **near)
    np.testing.assert_allclose(Z.outer(), D @ D.T, **near)
    more = A[:5] + 1.0
    new = sparse.csr_array(more * scale) if kind == "sparse" else more * scale
    expected = (more - mean) * np.where(live, factor * scale, 0.0)
    np.testing.assert_allclose(Z.rows(new), expected, atol=1e-11 * np.abs(D).max())
    some = Z.columns(np.array([3, 1]))
    turn = some.to_X(np.ones((2, 1)))[:, 0] * scale[[3, 1]]
    E = np.sqrt(u)[:, None] * (A - mean)[:, [3, 1]] * turn
    np.testing.assert_allclose(some.gram(), E.T @ E, **near)
    np.testing.assert_allclose(some.mean / scale[[3, 1]], mean[[3, 1]], rtol=1e-12)
    assert some.freedom == Z.freedom


@pytest.mark.parametrize("kind", KINDS)
def test_one_column_far_from_zero_costs_no_digits(kind, rng):
    """Whatever the others are: with means subtracted afterwards none would be left."""
    base = np.rint(rng.normal(size=(60, 3)) * 2**20) / 2**20
    Z = _data(kind, base + np.array([0.0, 2.0**28, 0.0]), 1.0, None)
    C = base - base.mean(axis=0)
    np.testing.assert_allclose(Z.gram(), C.T @ C, atol=1e-10)
    np.testing.assert_allclose(Z.column_squares(), np.sum(C**2, axis=0), rtol=1e-12)
    V = rng.normal(size=(3, 2))
    np.testing.assert_allclose(Z.normal(V), C.T @ (C @ V), atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_one_unit_for_all_columns_is_that_of_the_largest(kind):
    A = _sample()
    for power in (-100, 100):
        units = 10.0 ** (power + np.array([-3, 0, 0, 2, 0]))
        Z = _data(kind, A, units, None).in_one_unit()
        assert np.ndim(Z.ridge(1.0)) == 0
        factor = Z.from_X(np.ones((5, 1)))[0, 0]
        D = (A - A.mean(axis=0)) * units / factor
        assert 1e-3 < np.abs(D).max() < 1e5
        near = {"rtol": 1e-8, "atol": 1e-9 * np.abs(D).max() ** 2}
        np.testing.assert_allclose(Z.gram(), D.T @ D, **near)
        s = np.sqrt(np.linalg.eigvalsh(Z.gram())[::-1][:2])
        true = np.linalg.svd((A - A.mean(axis=0)) * (units / units[1]), compute_uv=False)[:2]
        np.testing.assert_allclose(s / Z.units[0] / units[1], true, rtol=1e-8)


def test_principal_components_of_blocks_in_extreme_units_are_those_in_memory():
    for units in ([1e-100, 1e-103, 1e-99, 1e-98], [1e-100, 1.0, 1.0, 1.0]):
        X = np.random.default_rng(8).normal(size=(40, 4)) * units
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConditionWarning)
            whole = PCA(2).fit(X)
            model = PCA(2).fit(RowBlocks.from_arrays([X[:15], X[15:]]))
        np.testing.assert_allclose(model.singular_values_, whole.singular_values_, rtol=1e-10)
        np.testing.assert_allclose(model.components_, whole.components_, atol=1e-10)


def test_data_without_centring_are_taken_as_they_are():
    A = _sample()
    A[:, 2] = 0.0
    for X in (A, sparse.csr_array(A)):
        Z = Centered(X, center=False, n_samples=1000)
        np.testing.assert_allclose(Z.toarray(), A)
        np.testing.assert_allclose(Z.gram(), A.T @ A)
        np.testing.assert_allclose(Z.matmat(np.eye(5)), A)
        np.testing.assert_array_equal(Z.constant, [False, False, True, False, True])
        assert not Z.mean.any()
        assert Z.noise(1.0) == 1000 * np.finfo(float).eps
    R = np.linalg.qr(A - A.mean(axis=0))[1]
    Z = Centered.behind(R, A.mean(axis=0), 150.0, 2.5, 150, np.finfo(np.float32).eps)
    assert Z.freedom == 147.5
    squares = np.sum(R * R, axis=0) + 150.0 * A.mean(axis=0) ** 2
    step = 2 * np.finfo(np.float32).eps * (1 + np.sqrt(5 / 150))
    np.testing.assert_allclose(Z.grain()[[0, 1, 3]], (step * np.sqrt(squares))[[0, 1, 3]])


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_in_threads_are_all_rows_once(weighted, monkeypatch):
    """With rows that PARTS does not divide."""
    monkeypatch.setattr("eigenkit.numerics.threads.WORTH_PARTS", 1)
    parts: list[slice] = []
    before = dense_data.thread_map

    def spy(function, items):
        parts[:] = items
        return before(function, items)

    monkeypatch.setattr(dense_data, "thread_map", spy)
    rng = np.random.default_rng(7)
    A, V, U = rng.normal(size=(43, 3)) + 1.0, rng.normal(size=(3, 2)), rng.normal(size=(43, 2))
    w = rng.uniform(1, 2, 43) if weighted else np.ones(43)
    D = np.sqrt(w)[:, None] * (A - w @ A / w.sum())
    with own_threads():
        Z = Centered(A, w if weighted else None)
        for product, true in (
            (lambda: Z.matmat(V), D @ V),
            (lambda: Z.rmatmat(U), D.T @ U),
            (Z.gram, D.T @ D),
            (lambda: Z.gradient(V, U)[0], D.T @ (D @ V - U)),
        ):
            np.testing.assert_allclose(product(), true, atol=1e-12)
            assert [part.start for part in parts] == [0, 10, 21, 32]
            assert [part.stop for part in parts] == [10, 21, 32, 43]
            parts.clear()
    np.testing.assert_allclose(Z.matmat(V), D @ V, atol=1e-12)
    assert parts == [slice(0, 43)]  # all rows at once, where nobody holds our threads


@pytest.mark.parametrize("shape", [(9, 5), (5, 9)])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_triplets_by_the_smaller_gram_matrix(shape, storage, monkeypatch, rng):
    X = rng.normal(size=shape)
    X[:, 0] = X[:, 1]
    Z = Centered(X if storage == "dense" else sparse.csr_array(X), rng.uniform(1, 2, shape[0]))
    monkeypatch.setattr(type(Z), "decomposable", False)
    E = Z.toarray()
    formed: list[str] = []
    for name in ("gram", "outer"):
        matrix = getattr(Z, name)()
        monkeypatch.setattr(
            Z, name, lambda name=name, matrix=matrix: formed.append(name) or matrix, raising=True
        )
    U, s, V = Z.triplets()
    assert formed == ["gram" if shape[1] < shape[0] else "outer"]
    np.testing.assert_allclose(s, np.linalg.svd(E, compute_uv=False)[:4], rtol=1e-10)
    np.testing.assert_allclose(E @ V, U * s, atol=1e-10)
    for Q in (U, V):
        np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-9)
    assert np.all(np.diff(s) < 0)


# -- kernels -------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1.0, 1e-80, 1e80])
@pytest.mark.parametrize("weighted", [False, True])
def test_dual_coefficients_in_the_units_of_the_kernel(unit, weighted, rng):
    X = rng.normal(size=(12, 3)) + 2.0
    K, w = X @ X.T, rng.uniform(0.5, 2, 12) if weighted else None
    u = np.ones(12) if w is None else w
    Z = CenteredKernel(unit * K, w)
    D = np.sqrt(u)[:, None] * (X - u @ X / u.sum())
    size = Z.unit * unit
    np.testing.assert_allclose(Z.K, size * (D @ D.T), atol=1e-12 * size * np.abs(K).max())
    assert Z.ridge(3.0) == near(3.0 * Z.unit)
    np.testing.assert_allclose(Z.mean / unit, u @ K / u.sum(), rtol=1e-12)
    # Scores of the samples from rows of the kernel as it was given, centred and weighted.
    A = rng.normal(size=(12, 2))
    scores = (unit * K) @ Z.to_X(A)
    scores = np.sqrt(u)[:, None] * (scores - u @ scores / u.sum())
    np.testing.assert_allclose(scores, Z.matmat(A), atol=1e-10 * np.abs(Z.matmat(A)).max())
    r = np.sqrt(u)
    plain = A - np.outer(r, r @ A) / (r @ r)
    np.testing.assert_allclose(Z.from_X(Z.to_X(A)), plain, atol=1e-12)
    s = np.linalg.svd(D, compute_uv=False)
    found = np.sqrt(np.linalg.eigvalsh(Z.K)[::-1][:3]) / Z.units[0]
    np.testing.assert_allclose(found / np.sqrt(unit), s, rtol=1e-9)


def test_what_is_rounding_in_a_kernel(rng):
    X, eps = rng.normal(size=(25, 3)), np.finfo(np.float64).eps
    K = X @ X.T
    largest = np.abs(K).max()
    assert CenteredKernel(K).noise(1.0) == near((25 + 16 * 5) * eps * largest)
    single = float(np.finfo(np.float32).eps)
    assert CenteredKernel(K, eps=single).noise(1.0) == near((25 * eps + 80 * single) * largest)
    w = np.linspace(1, 3, 25)
    assert CenteredKernel(K, w).noise(1.0) == near(3 * 105 * eps * largest)
    assert CenteredKernel(K, rounding=0.25).noise(1.0) == 0.25
    assert CenteredKernel(1e80 * K, rounding=1e79).noise(1.0) == pytest.approx(
        1e79 * CenteredKernel(1e80 * K).unit
    )
    flat = np.ones((6, 6))
    assert CenteredKernel(flat).vanishes
    assert CenteredKernel(flat + 3 * eps * np.eye(6)).vanishes
    assert not CenteredKernel(flat + 1e-12 * np.eye(6)).vanishes
    V = rng.normal(size=(25, 2))
    squares = np.sum(V * V, axis=0)
    Z = CenteredKernel(K)
    lengths = np.sum(V * (Z.K @ V), axis=0)
    np.testing.assert_allclose(
        Z.rounded_squares(V, 2.0), Z.noise(0.0) * squares + 2.0 * lengths, rtol=1e-9, atol=1e-12
    )


# -- sparse rows ---------------------------------------------------------------------------


def test_indices_beyond_32_bits_are_refused_where_others_cannot_take_them(rng):
    def original(nnz, shape):
        X = SimpleNamespace(indices=np.empty(0, np.int64), nnz=nnz, shape=shape)
        return Sparse.original(SimpleNamespace(X=X, center=True))

    for nnz, shape in ((2**31, (5, 5)), (3, (2**31, 5)), (3, (5, 2**31))):
        with pytest.raises(ValueError, match="coordinate descent cannot take"):
            original(nnz, shape)
    S = sparse.random_array((8, 6), density=0.4, rng=rng, format="csr")
    Z = Centered(S)
    Z.X.indices, Z.X.indptr = Z.X.indices.astype(np.int64), Z.X.indptr.astype(np.int64)
    X, center = Z.original()
    assert center
    assert X.indices.dtype == X.indptr.dtype == np.int32
    np.testing.assert_array_equal(X.toarray(), S.toarray())


def test_numbers_in_units_of_their_own_are_beyond_single_precision(rng):
    A = rng.normal(size=(30, 2))
    A[np.abs(A) < 0.1] = 0.0
    for units, fast in (([1.0, 1.0], True), ([1e-80, 1.0], False), ([1.0, 1e80], False), (1e80, 0)):
        assert Centered(sparse.csr_array(A * units)).fast_in_single is bool(fast)


def test_blocks_of_sparse_rows_hold_about_as_much_each(monkeypatch, rng):
    S = sparse.random_array((500, 40), density=0.2, rng=rng, format="csr")
    monkeypatch.setattr("eigenkit.data.matrices.available", lambda: 3)
    blocks = SparseRows(S)._blocks
    assert [b.start for b in blocks] == [0, *(b.stop for b in blocks[:-1])]
    assert blocks[-1].stop == 500
    assert len(blocks) == 12
    stored = [S.indptr[b.stop] - S.indptr[b.start] for b in blocks]
    assert max(stored) - min(stored) <= 2 * np.diff(S.indptr).max()


@pytest.mark.parametrize(("size", "rows"), [(10, 1), (16 * 40, 1), (3 * 16 * 40, 3), (10**6, 1562)])
def test_products_of_two_sparse_matrices_keep_to_their_size(size, rows, rng, monkeypatch):
    """Sixteen bytes an entry, as the product is there as sparse and as dense numbers."""
    X = sparse.random_array((40, 30), density=0.2, rng=rng, format="csr")
    monkeypatch.setattr(matrices, "BLOCK_BYTES", size)
    starts: list[int] = []
    monkeypatch.setattr(matrices, "thread_map", lambda f, items, work: [
        starts.append(item.start) or f(item) for item in items
    ])  # fmt: skip
    found = SparseRows(X).product(sparse.csr_array(X.T))
    np.testing.assert_allclose(found, (X @ X.T).toarray(), atol=1e-12)
    assert starts == list(range(0, 40, rows))


@pytest.mark.parametrize(("size", "most"), [(10, 1), (8 * 30 * 4, 4), (10**6, 30)])
def test_sparse_rows_are_added_to_a_gram_matrix_some_columns_at_a_time(
    size, most, rng, monkeypatch
):
    X = sparse.random_array((40, 30), density=0.2, rng=rng, format="csr")
    monkeypatch.setattr(blocked, "BLOCK_BYTES", size)
    widths: list[int] = []

    slices = blocked.row_slices

    def noted(shape, size):
        found = slices(shape, size)
        widths.extend(len(range(*rows.indices(30))) for rows in found)
        return found

    monkeypatch.setattr(blocked, "row_slices", noted)
    G = blocked._gram([(X, X, None)], Frame(None, None, np.zeros(30)))
    np.testing.assert_allclose(G, (X.T @ X).toarray(), atol=1e-12)
    assert max(widths) == most


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_correlations_are_those_of_repeated_rows(storage, offset, rng):
    X, weight = rng.normal(size=(30, 5)), rng.integers(0, 3, 30).astype(float)
    X[:, 1] *= X[:, 1] > 0
    T = X[:, :2] + rng.normal(size=(30, 2)) + 5.0
    X[:, 4] = 0.1  # which has no binary digits of its own
    X += offset
    rows = np.repeat(np.arange(30), weight.astype(int))
    expected = np.corrcoef(X[rows, :4].T, T[rows].T)[:4, 4:]
    found = correlations(storage(X), np.column_stack([T, np.full(30, 0.7)]), weight)
    np.testing.assert_allclose(found[:4, :2], expected, atol=1e-8 if offset else 1e-12)
    np.testing.assert_array_equal(found[4], 0.0)
    np.testing.assert_array_equal(found[:, 2], 0.0)
    plain = correlations(storage(X), T)
    np.testing.assert_allclose(plain[:4], np.corrcoef(X[:, :4].T, T.T)[:4, 4:], atol=1e-8)
