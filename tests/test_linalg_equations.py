"""Small dense algebra and columns of numbers against what they are defined by."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import sparse

from eigenkit.data import SparseTarget, project, scaled
from eigenkit.data.blocked import _assembled
from eigenkit.data.matrices import FULL, check_finite, column_sums, shifted, sum_of_squares
from eigenkit.data.passes import Marks, _mark, _some
from eigenkit.numerics.linalg import (
    Cholesky,
    _lengths,
    add_gram,
    eigenpairs,
    fill_upper,
    first_triplets,
    graded_svd,
    graded_whitener,
    orthonormalize,
    plus_product,
    power_of_two,
    signs,
    symmetric_whitener,
    triangular_factor,
    whitener,
)
from eigenkit.numerics.tolerances import ENTRY_TIE


def _turned(rng, n, d, s):
    U, V = np.linalg.qr(rng.normal(size=(n, d)))[0], np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (U * s) @ V.T


# -- products and factors --------------------------------------------------------------------


def test_products_are_added_in_place(rng):
    A, B = rng.normal(size=(5, 3)), rng.normal(size=(3, 4))
    for dtype, near in ((np.float64, 1e-13), (np.float32, 1e-5)):
        C = rng.normal(size=(5, 4)).astype(dtype)
        true = C + A @ B
        found = plus_product(C, A.astype(dtype), B)
        np.testing.assert_allclose(found, true, atol=near)
        assert found.dtype == dtype
        assert np.shares_memory(found, C)
    C = np.ones((5, 4))
    assert plus_product(C, np.empty((5, 0)), np.empty((0, 4))) is C
    empty = np.empty((5, 0))
    assert plus_product(empty, A, np.empty((3, 0))) is empty
    G = np.zeros((3, 3))
    add_gram(G, A)
    add_gram(G, A)
    np.testing.assert_allclose(fill_upper(G), 2 * A.T @ A, atol=1e-13)


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_eigenpairs_and_triplets_have_no_unit(unit, rng):
    s = np.array([8.0, 4.0, 2.0, 1.0, 0.5, 0.25])
    M = unit * _turned(rng, 20, 6, s)
    values, V = eigenpairs((M.T / unit) @ M)
    np.testing.assert_allclose(values / unit, s**2, rtol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(6), atol=1e-12)
    if unit == 1.0:
        for count in (None, 1, 2, 3, 6):
            U, found, W = first_triplets(M, count)
            few = count if count is not None and 2 * count < 6 else 6
            np.testing.assert_allclose(found, s[:few], rtol=1e-12)
            np.testing.assert_allclose(M @ W, U * found, atol=1e-12)
            np.testing.assert_allclose(W.T @ W, np.eye(few), atol=1e-12)
        assert len(first_triplets(_turned(rng, 9, 3, [1.0, 1e-5, 1e-7]), None)[1]) == 2


def test_the_first_of_the_largest_entries_is_positive():
    W = np.array([[-1.0, 1.0, 0.2, 0.0], [1.0, -1.0, -3.0, 0.0]])
    assert signs(W).tolist() == [-1.0, 1.0, -1.0, 1.0]
    near = np.array([[1 - 0.5 * ENTRY_TIE, 1 - 2 * ENTRY_TIE], [-1.0, -1.0]])
    assert signs(near).tolist() == [1.0, -1.0]
    assert power_of_two(np.array([0.0, 1.0, -3.0, 0.3])).tolist() == [1.0, 2.0, 4.0, 0.5]


def test_lengths_have_no_limits():
    A = np.array([[3e-200, 3e200, 3.0, 0.0], [4e-200, 4e200, 4.0, 0.0]])
    np.testing.assert_allclose(_lengths(A), [5e-200, 5e200, 5.0, 1.0])
    np.testing.assert_allclose(_lengths(A[:, 2:3]), [5.0])


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1.0, 1e60])
def test_lengths_and_whiteners_at_any_scale(unit, rng):
    A = rng.normal(size=(20, 4)) * [1.0, unit, 1.0, 1.0]
    size = np.array([1.0, unit, 1.0, 1.0])
    lengths = np.linalg.norm(A / size, axis=0)
    np.testing.assert_allclose(_lengths(A) / size, lengths)
    for F in (whitener(A), graded_whitener(A)[0], symmetric_whitener(A)[0]):
        np.testing.assert_allclose(
            (A / size @ (F * size[:, None])).T @ (A / size @ (F * size[:, None])),
            np.eye(4),
            atol=1e-10,
        )
    for F, back in (graded_whitener(A), symmetric_whitener(A)):
        again = A / size @ (F * size[:, None]) @ (back / size)
        np.testing.assert_allclose(again, A / size, atol=1e-10)
    R = (A / size / lengths).T @ (A / size / lengths)
    values, V = np.linalg.eigh(R)
    root = V * values**-0.5 @ V.T  # the inverse root of the correlations, symmetric
    np.testing.assert_allclose(F * (size * lengths)[:, None], root, atol=1e-9)
    zero = np.column_stack([A, np.zeros(20)])
    assert _lengths(zero)[4] == 1.0
    assert whitener(zero).shape == (5, 4)


def test_columns_up_to_their_grain_have_no_part_in_whiteners(rng):
    A = np.linalg.qr(rng.normal(size=(20, 3)))[0] * [1.0, 1e-4, 1e-8]
    for grain, rank in ((0.0, 3), (0.9e-8, 3), (1.1e-8, 2), ([0, 1.1e-4, 0], 2), ([0, 0, 1e-3], 2)):
        assert whitener(A, np.asarray(grain)).shape == (3, rank)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("condition", [3.0, 50.0, 1e4, 1e9])
def test_bases_span_and_are_orthonormal(dtype, condition, rng):
    eps = float(np.finfo(dtype).eps)
    W = _turned(rng, 40, 4, np.geomspace(1, 1 / condition, 4)).astype(dtype)
    Q, R = orthonormalize(W)
    assert Q.dtype == dtype
    assert R.dtype == np.float64
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=100 * eps)
    np.testing.assert_allclose(Q @ R, W, atol=100 * eps)
    assert Q.shape[1] == (4 if condition * eps < 1e-3 else Q.shape[1])
    if 1e3 < condition < 1e-3 / eps:  # far from each other, and from rounding
        assert orthonormalize(W, 0.25 / condition)[0].shape[1] == 4
        assert orthonormalize(W, 30.0 / condition)[0].shape[1] in (2, 3)
    assert orthonormalize(W, 2.0)[0].shape == (40, 0)
    assert orthonormalize(np.zeros((5, 2), dtype))[0].shape == (5, 0)


def test_a_cholesky_factor_by_halves(rng):
    size = np.array([1.0, 1e-5, 1e5, 3.0])
    A = rng.normal(size=(20, 4)) * size
    B, C = A.T @ A, rng.normal(size=(4, 2)) * size[:, None]
    factor = Cholesky.of(B.copy())
    half = factor.half(C)
    np.testing.assert_allclose(half.T @ half, C.T @ np.linalg.solve(B, C), rtol=1e-10)
    np.testing.assert_allclose(B @ factor.solve(C), C, rtol=1e-9, atol=1e-9)
    U = rng.normal(size=(4, 2))
    back = factor.back(U)
    np.testing.assert_allclose(back.T @ B @ back, U.T @ U, rtol=1e-9, atol=1e-12)
    scaled_B = B / factor.scale / factor.scale[:, None]
    assert np.all((scaled_B.diagonal() >= 0.25) & (scaled_B.diagonal() < 1.0))
    least = np.linalg.eigvalsh(scaled_B)[0]
    assert least / 5 < factor.smallest <= least * 1.01
    assert factor.rcond == pytest.approx(1 / np.linalg.cond(scaled_B, 1), rel=0.5)
    assert Cholesky.of(np.diag([1.0, 0.0])) is None
    assert Cholesky.of(np.array([[1.0, 2.0], [2.0, 1.0]])) is None


@pytest.mark.parametrize("again", [False, True])
def test_triangles_are_assembled_from_gram_matrices(again, rng):
    """Of Z with one empty column, and of targets that Z does not explain."""
    live = np.array([True, False, True, True])
    Z, H = rng.normal(size=(30, 4)) * live, rng.normal(size=(30, 2))
    R = np.linalg.cholesky(Z[:, live].T @ Z[:, live]).T
    E = np.hstack([Z[:, live] @ np.linalg.inv(R) if again else Z[:, live], H])
    G = E.T @ E
    found = _assembled(R, G, live, np.linalg.cholesky(G[:3, :3]).T if again else None)
    joint = np.hstack([Z, H])
    np.testing.assert_allclose(found.T @ found, joint.T @ joint, atol=1e-10)
    T = triangular_factor(joint[:, [0, 2, 3, 4, 5]])
    assert T.shape == (5, 5)
    np.testing.assert_allclose(T, np.triu(T))


# -- columns ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sparse_target_is_the_centred_matrix(weighted, rng):
    S = sparse.random_array((25, 5), density=0.3, rng=rng, format="csr")
    S = sparse.csr_array(np.column_stack([S.toarray(), np.full(25, 2.0)]))
    w = rng.uniform(0.5, 2, 25) if weighted else np.ones(25)
    H = SparseTarget(S, w if weighted else None)
    A = S.toarray()
    D = np.sqrt(w)[:, None] * (A - w @ A / w.sum())
    D[:, 5] = 0.0
    T, U = rng.normal(size=(6, 2)), rng.normal(size=(25, 2))
    np.testing.assert_allclose(np.asarray(H), D, atol=1e-12)
    np.testing.assert_allclose(H @ T, D @ T, atol=1e-12)
    np.testing.assert_allclose(H.T @ U, D.T @ U, atol=1e-12)
    np.testing.assert_allclose(H.T @ H, D.T @ D, atol=1e-12)
    np.testing.assert_allclose(H.column_squares(), np.sum(D**2, axis=0), atol=1e-12)
    np.testing.assert_allclose(H.counted().toarray(), w[:, None] * A * [1, 1, 1, 1, 1, 0])
    assert H.any()
    assert not SparseTarget(sparse.csr_array(np.ones((4, 2)))).any()
    rows, columns = rng.normal(size=25), rng.normal(size=6)
    for X in (S, A):
        found = scaled(X, rows, columns)
        assert sparse.issparse(found) is sparse.issparse(X)
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_allclose(found, rows[:, None] * A * columns)
        assert scaled(X) is X or sparse.issparse(X)


def test_rows_less_a_shift_and_their_projections(rng):
    A = np.where(rng.random((300, 4)) < 0.3, rng.normal(size=(300, 4)), 0.0)
    A[:, 1] = rng.normal(size=300) + 1e6
    A[7, 1] = 0.0
    A[:, 3] = 5.0
    X, shift = sparse.csr_array(A), np.array([0.0, 1e6, 0.0, 5.0])
    found = shifted(X, shift)
    np.testing.assert_allclose(found.toarray(), A - shift)
    assert found.nnz <= X.nnz + 1
    mean, W = A.mean(axis=0), rng.normal(size=(4, 2))
    for given in (X, A):
        np.testing.assert_allclose(project(given, mean, W), (A - mean) @ W, atol=1e-8)
    # Columns that are not nearly full are not filled up: their means are subtracted afterwards.
    assert pytest.approx(100 / 101) == FULL
    np.testing.assert_allclose(column_sums(A), A.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        sum_of_squares(A.astype(np.float32)), np.sum(A**2, axis=0), rtol=1e-5
    )
    assert sum_of_squares(np.full((9, 1), 1e30, np.float32)).dtype == np.float64


def test_numbers_that_are_none_are_refused_and_large_ones_are_not():
    for values in (np.array([1e308, 1e308]), np.full((3, 2), 1e308), np.arange(3), np.empty(0)):
        check_finite("X", values)
    for bad, word in ((np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")):
        for values in (np.array([1.0, bad]), np.array([[1.0, 2.0], [bad, 0.0]])):
            with pytest.raises(ValueError, match=f"X contains {word}"):
                check_finite("X", values)


def test_marks_of_blocks_see_any_number_that_is_sampled(rng):
    X, Y, w = rng.normal(size=(9, 3)), rng.normal(size=(9, 2)), rng.random(9)
    mark = _mark((X, Y, w))
    assert mark[0] == 9
    assert _mark((X, None, w)) == _mark((X, Y[:, :0], w)) == (*mark[:2], None)
    for place in ((0, 0), (8, 2), (4, 1)):
        other = X.copy()
        other[place] += 1.0
        assert _mark((other, Y, w))[1] != mark[1]
        assert _mark((sparse.csr_array(other), Y, w)) != _mark((sparse.csr_array(X), Y, w))
    assert _mark((X, Y + 1.0, w))[2] != mark[2]
    assert _mark((X, Y, w + 1.0))[1] != mark[1]
    assert _mark((X, Y, None))[1] != mark[1]
    large = rng.normal(size=(2000, 3))
    assert len(_some(large)) == 256 * 8
    assert len(_some(large[:10])) == 30 * 8
    first = Marks((mark,))
    first.compare(Marks((mark,)))
    first.compare(Marks(((*mark[:2], None),)))
    both = first.merge(Marks((mark,), complete=False))
    assert (both.blocks, both.complete) == ((mark, mark), False)
    assert first.merge(first).complete
    with pytest.raises(ValueError, match="hold 9 rows in the first pass and 18"):
        first.compare(both)
    with pytest.raises(ValueError, match="block 1 of X holds other numbers"):
        both.compare(Marks((mark, (9, mark[1] + 1, mark[2]))))
    with pytest.raises(ValueError, match="block 1 of X holds other numbers"):
        Marks((mark, (4, 1, 2), (5, 1, 2))).compare(both)


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 1), (1, 5), (3, 0), (0, 3)])
def test_singular_values_of_long_rows_and_columns(shape, rng):
    """D1 B D2 with B well conditioned: every value has its digits, whatever D1 and D2 are."""
    B, (n, d) = rng.normal(size=shape), shape
    A = B * 10.0 ** rng.integers(-9, 9, n)[:, None] * 10.0 ** rng.integers(-9, 9, d)
    U, s, V = graded_svd(A)
    with mp.workdps(60):
        true = mp.svd_r(mp.matrix(A.tolist()), compute_uv=False) if A.size else []
        np.testing.assert_allclose(s, np.array([float(v) for v in true]), rtol=1e-13)
    assert (U.shape, V.shape) == ((n, min(shape)), (d, min(shape)))
    np.testing.assert_allclose(U * s @ V.T, A, atol=1e-15 * s.max(initial=0.0))


def test_singular_values_of_any_size(rng):
    A = rng.normal(size=(5, 3))
    _, s, _ = graded_svd(A)
    for size in (2.0**-900, 2.0**900):
        np.testing.assert_allclose(graded_svd(A * size)[1] / size, s, rtol=1e-14)
    np.testing.assert_array_equal(graded_svd(0 * A)[1], 0.0)
