"""One direction much longer than all others: what stands beside it is found, and no more."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

from eigenkit import (
    LDA,
    PLSDA,
    PLSSVD,
    SIMPLS,
    CanonicalRidge,
    KernelLDA,
    KernelPLS,
    OrthogonalPLS,
    PLSCanonical,
    PLSRegression,
    PLSRegressionCV,
    RowBlocks,
    SparsePLS,
)
from eigenkit.estimators.plsda import on_simplex
from eigenkit.exceptions import ConditionWarning, DegenerateDataWarning


def exact_pls(X, Y, new, l, scale=(True, False)):
    """Predictions of PLS2 in 60 digits."""
    scale_x, scale_y = (scale, scale) if isinstance(scale, bool) else scale
    sizes = []
    with mp.workdps(60):
        A, B, N = (mp.matrix(each.tolist()) for each in (X, Y, new))
        for M, also, scaled in ((A, (N,), scale_x), (B, (), scale_y)):
            for j in range(M.cols):
                column = [M[i, j] for i in range(M.rows)]
                mean = mp.fsum(column) / M.rows
                size = mp.sqrt(mp.fsum((v - mean) ** 2 for v in column) / (M.rows - 1))
                sizes.append(size if scaled else mp.mpf(1))
                for each in (M, *also):
                    for i in range(each.rows):
                        each[i, j] = (each[i, j] - mean) / sizes[-1]
        out = mp.zeros(N.rows, B.cols)
        for _ in range(l):
            S = A.T * B
            values, V = mp.eigsy(S.T * S)
            w = S * V[:, len(values) - 1]
            w /= mp.norm(w)
            t, t_new = A * w, N * w
            tt = (t.T * t)[0]
            p, q = A.T * t / tt, B.T * t / tt
            A -= t * p.T
            B -= t * q.T
            N -= t_new * p.T
            out += t_new * q.T
        out = out * mp.diag(sizes[A.cols :])
        return np.array(out.tolist(), dtype=float) + Y.mean(axis=0)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(32, 5))
    return X, X[:, :2] + rng.normal(size=(32, 2)), rng.normal(size=(8, 5))


@pytest.mark.parametrize("size", [1e6, 1e9])
def test_pls_beside_a_long_row(rows, size):
    X, Y, new = rows
    X[3] *= size
    expected = exact_pls(X, Y, new, 3)
    spread = np.abs(expected - Y.mean(axis=0)).max()
    for given in (X, sparse.csr_array(X), RowBlocks.from_arrays([(X[:9], Y[:9]), (X[9:], Y[9:])])):
        y = None if isinstance(given, RowBlocks) else Y
        model = PLSRegression(3, scale=(True, False)).fit(given, y)
        assert model.n_components_ == 3
        assert np.abs(model.predict(new) - expected).max() < 1e-14 * size * spread


def _common_factor(size, seed=0):
    """X and Y with a factor in common that is ``size`` times as long as the rest of both."""
    rng = np.random.default_rng(seed)
    factor, second, rest = rng.normal(size=40), rng.normal(size=40), rng.normal(size=(40, 5))
    X = rest + np.outer(second, [1, 0, 0, 1, -1]) + size * np.outer(factor, [1, 2, -1, 0.5, 1.5])
    Y = 0.3 * rng.normal(size=(40, 3)) + np.outer(second, [1, 0.5, 0])
    return X, Y + size * np.outer(factor, [1, -1, 2])


SIZES = pytest.mark.parametrize("size", [1e4, 1e6, 1e7, 1e8, 1e10])


def _exactly_centred(A):
    M = mp.matrix(A.tolist())
    return M - mp.ones(M.rows, 1) * (mp.ones(1, M.rows) * M) / M.rows


def _exact(X, Y, deflation, l=3):
    """x-weights in 60 digits, X and Y centred and not scaled."""
    with mp.workdps(60):
        A, B = _exactly_centred(X), _exactly_centred(Y)
        weights = []
        S, basis = A.T * B, []
        for _ in range(l):
            U, s, C = mp.svd_r(S)
            w, c = U[:, 0], C[0, :].T
            t, u = A * w, B * c
            weights.append([float(v) for v in w])
            p = A.T * t / (t.T * t)[0]
            if deflation == "svd":
                S -= s[0] * w * c.T
                continue
            if deflation == "simpls":
                for before in basis:
                    p -= before * (before.T * p)[0]
                basis.append(p / mp.norm(p))
                S -= basis[-1] * (basis[-1].T * S)
                continue
            A -= t * p.T
            by = t if deflation == "regression" else u
            B -= by * (B.T * by).T / (by.T * by)[0]
            S = A.T * B
        return np.array(weights).T


@SIZES
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("algorithm", ["kernel", "nipals"])
def test_pls_beside_a_long_common_factor(size, scale, algorithm):
    X, Y = _common_factor(size)
    expected = exact_pls(X, Y, X, 3, scale)
    model = PLSRegression(3, scale=scale, algorithm=algorithm).fit(X, Y)
    assert model.n_components_ == 3
    assert np.abs(model.predict(X) - expected).max() < 1e-10 + 1e-14 * size


@SIZES
def test_streams_and_blocks_beside_a_long_common_factor(size):
    X, Y = _common_factor(size)
    expected = exact_pls(X, Y, X, 3, True)
    stream = PLSRegression(3)
    for part in (slice(0, 13), slice(13, 40)):
        stream.partial_fit(X[part], Y[part])
    blocks = RowBlocks.from_arrays([(X[:9], Y[:9]), (X[9:], Y[9:])])
    for model in (
        stream,
        PLSRegression(3).fit(blocks),
        PLSRegression(3).fit(sparse.csr_array(X), Y),
    ):
        assert model.n_components_ == 3
        assert np.abs(model.predict(X) - expected).max() < 1e-10 + 1e-14 * size


@SIZES
@pytest.mark.parametrize(
    ("make", "deflation"),
    [
        (lambda: PLSRegression(3, scale=False), "regression"),
        (lambda: SparsePLS(3, scale=False, tol=1e-13, max_iter=9999), "regression"),
        (lambda: PLSCanonical(3, scale=False), "canonical"),
        (lambda: PLSCanonical(3, scale=False, algorithm="nipals"), "canonical"),
        (lambda: SIMPLS(3, scale=False), "simpls"),
        (lambda: PLSSVD(3, scale=False), "svd"),
        (lambda: CanonicalRidge(3, gamma_x=1, gamma_y=1), "svd"),
    ],
    ids=["regression", "sparse", "canonical", "canonical nipals", "simpls", "svd", "ridge"],
)
def test_weights_beside_a_long_common_factor(make, deflation, size):
    X, Y = _common_factor(size)
    W = _exact(X, Y, deflation)
    found = make().fit(X, Y)
    assert found.n_components_ == 3
    off = 1 - np.abs(np.sum(W * found.x_weights_, axis=0))
    assert np.sqrt(np.abs(off)).max() < 3e-8 + 1e-14 * size


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("long", ["X", "Y", "XY"])
@pytest.mark.parametrize(
    "model", [PLSSVD(3, scale=False), CanonicalRidge(3, gamma_x=1, gamma_y=1)], ids=["svd", "ridge"]
)
def test_largest_covariances_beside_long_columns_have_all_digits(model, long, size, rng):
    X = rng.normal(size=(40, 5))
    Y = X[:, :3] + rng.normal(size=(40, 3))
    X[:, 0] *= size if "X" in long else 1.0
    Y[:, 1] *= size if "Y" in long else 1.0
    W, found = _exact(X, Y, "svd"), model.fit(X, Y).x_weights_
    np.testing.assert_allclose(found * np.sign(np.sum(found * W, axis=0)), W, atol=1e-14)


def test_a_response_that_says_nothing_new_is_no_pair(rng):
    """Beside a response of any size: what counts as rounding is relative to each of them."""
    X = rng.normal(size=(40, 5))
    for size in (1.0, 1e6, 1e12):
        Y = np.c_[X[:, 0] + X[:, 1], size * X[:, 2], rng.normal(size=40)]
        Y = np.c_[Y, Y[:, 0] - 2 * Y[:, 2]]
        for model in (PLSSVD(None, scale=False), CanonicalRidge(gamma_x=1, gamma_y=1)):
            assert model.fit(X, Y).n_components_ == 3


@pytest.mark.parametrize("size", [1e3, 1e4, 1e5, 1e6])
def test_kernel_pls_beside_a_long_common_factor(size):
    """A kernel has the squares of the lengths, and half of the digits."""
    X, Y = _common_factor(size)
    model = KernelPLS(3, kernel="linear").fit(X, Y)
    expected = exact_pls(X, Y, X, 3, False)
    assert np.abs(model.predict(X) - expected).max() < 1e-10 + 2e-15 * size**2


def test_kernel_pls_where_a_long_factor_leaves_only_rounding_of_the_kernel():
    X, Y = _common_factor(1e9)
    assert KernelPLS(None, kernel="linear").fit(X, Y).n_components_ == 1
    with pytest.raises(ValueError, match=r"exceeds 1, the rank of .* share beyond rounding"):
        KernelPLS(3, kernel="linear").fit(X, Y)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_kernel_pls_makes_no_component_of_rounding(offset):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=(30, 2))
        X, Y = (factors @ rng.normal(size=(2, size)) + offset for size in (6, 3))
        assert KernelPLS(None, kernel="linear").fit(X, Y).n_components_ <= 2


def _exact_orthogonal(X, Y, l, count):
    """W, orthogonal weights and the fitted Y of PLS with orthogonal signal correction."""
    with mp.workdps(60):
        A, B = _exactly_centred(X), _exactly_centred(Y)
        W, out = mp.svd_r(A.T * B)[0][:, :l], []
        for _ in range(count):
            P = A.T * (A * W)
            w = mp.svd_r(P - W * (W.T * P))[0][:, 0]
            t = A * w
            A -= t * (A.T * t / (t.T * t)[0]).T
            out.append([float(v) for v in w])
        T = A * W
        fitted = T * (mp.inverse(T.T * T) * (T.T * B))
        W, fitted = (np.array(M.tolist(), dtype=float) for M in (W, fitted))
        return W, np.array(out).T, fitted + Y.mean(axis=0)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6, 1e8, 1e10])
@pytest.mark.parametrize(("l", "count"), [(1, 1), (2, 2), (3, 1), (3, 2)])
def test_orthogonal_pls_beside_a_long_common_factor(size, l, count):
    X, Y = _common_factor(size)
    W, out, fitted = _exact_orthogonal(X, Y, l, count)
    model = OrthogonalPLS(l, n_orthogonal=count, scale=False).fit(X, Y)
    assert (model.n_components_, model.n_orthogonal_) == (l, count)
    # Its predictive components span the singular vectors of X'Y.
    outside = model.x_weights_ - W @ (W.T @ model.x_weights_)
    found = model.orthogonal_weights_ * np.sign(np.sum(model.orthogonal_weights_ * out, axis=0))
    assert np.abs(outside).max() < 1e-14 * (1 + size)
    assert np.abs(found - out).max() < 1e-14 * (1 + size)
    assert np.abs(model.predict(X) - fitted).max() < 1e-14 * (1 + size)


@pytest.mark.parametrize("size", [1.0, 1e6, 1e10])
def test_no_orthogonal_component_is_made_of_rounding(size):
    """Where y determines all of X, nothing of it is orthogonal to y."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 6))
        X += size * np.outer(rng.normal(size=30), rng.normal(size=6))
        Y = X @ rng.normal(size=(6, 4))
        with pytest.warns(DegenerateDataWarning, match="X holds 0 components"):
            model = OrthogonalPLS(4, n_orthogonal=1, scale=False).fit(X, Y)
        assert model.n_orthogonal_ == 0


def test_errors_of_folds_beside_a_long_common_factor():
    X, Y = _common_factor(1e7)
    folds = list(KFold(4).split(X))
    model = PLSRegressionCV(3, cv=folds, rule="min").fit(X, Y)
    for (train, test), found in zip(folds, model.fold_errors_, strict=True):
        expected = exact_pls(X[train], Y[train], X[test], 3, True)
        assert found[3] == pytest.approx(np.mean((Y[test] - expected) ** 2), rel=1e-6)


def test_a_common_factor_and_nothing_else():
    """What is left of data of rank one is rounding, and no component."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        factor = rng.normal(size=30)
        X, Y = np.outer(factor, rng.normal(size=6)), np.outer(factor, rng.normal(size=3))
        for cls in (PLSRegression, SIMPLS, PLSCanonical, PLSSVD):
            assert cls(None).fit(X, Y).n_components_ == 1
        for cls in (PLSRegression, PLSCanonical):
            assert cls(None, algorithm="nipals").fit(X, Y).n_components_ == 1


def test_plsda_beside_a_long_row(rows):
    X, _, new = rows
    X[3] *= 1e9
    y = np.arange(32) % 3
    expected = exact_pls(X, np.eye(3)[y], new, 3)
    found = PLSDA(3).fit(X, y).decision_function(new)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(7, 7), (30, 8)])
@pytest.mark.parametrize("small", [1e-5, 1e-6, 1e-7])
def test_pls_makes_no_component_of_rounding(shape, small):
    n, d = shape
    for seed in range(8):
        rng = np.random.default_rng(seed)
        U = np.linalg.qr(np.c_[np.ones(n), rng.normal(size=(n, 6))])[0][:, 1:]
        V = np.linalg.qr(rng.normal(size=(d, 6)))[0]
        X = U * np.r_[rng.uniform(1, 3, 5), small] @ V.T
        Y = rng.normal(size=(n, 3))
        for given in (X, np.asfortranarray(X), X[:, ::-1]):
            assert PLSRegression(None).fit(given, Y).n_components_ == 6


@pytest.mark.parametrize(
    "make", [LDA, lambda **p: KernelLDA(kernel="linear", **p)], ids=["lda", "kernel"]
)
@pytest.mark.parametrize(("n", "d"), [(20, 20), (21, 20), (8, 7)])
def test_classes_that_are_told_apart_exactly_go_to_the_nearest_mean(make, n, d):
    """Of scatter within the classes there is only rounding, which must not decide."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
        y = np.r_[0, 1, 2, rng.integers(0, 3, n - 3)]
        new = rng.normal(size=(40, d)) * X.std(axis=0)
        model = make(alpha=0).fit(X, y)
        order = rng.permutation(n)
        again = make(alpha=0).fit(X[order], y[order])
        np.testing.assert_array_equal(model.predict(new), again.predict(new))
        means = np.array([model.transform(X[y == c]).mean(axis=0) for c in range(3)])
        far = ((model.transform(new)[:, None] - means) ** 2).sum(axis=2)
        np.testing.assert_array_equal(model.predict(new), far.argmin(axis=1))


def test_probabilities_of_distant_rows(rng):
    far = rng.normal(size=(50, 3)) * 10.0 ** rng.uniform(0, 300, size=(50, 1))
    found = on_simplex(far)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.argmax(axis=1), far.argmax(axis=1))
    X = rng.normal(size=(30, 4))
    for y in (np.arange(30) % 3, np.eye(3)[np.arange(30) % 3].astype(int)):
        told = PLSDA().fit(X, y).predict_proba(1e18 * X)
        for each in told if isinstance(told, list) else [told]:
            np.testing.assert_allclose(each.sum(axis=1), 1.0)


def test_a_kernel_that_drowns_its_ridge_is_said(rng):
    X = np.floor(3 * np.exp(2 * rng.normal(size=(40, 6))))  # counts with heavy tails
    X[0] = 900
    y = np.arange(40) % 3
    with pytest.warns(ConditionWarning, match="the answer has a residual of .* beside alpha=0.5"):
        KernelLDA(kernel="poly", gamma=0.3, alpha=0.5).fit(X, y)


def test_all_components_of_kernel_pls(rows):
    X, Y, new = rows
    kernel = KernelPLS(None, kernel="linear").fit(X, Y)
    plain = PLSRegression(None, scale=False).fit(X, Y)
    assert kernel.n_components_ == plain.n_components_ == 5
    np.testing.assert_allclose(kernel.predict(new), plain.predict(new))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("decades", [0, 4, 7])
def test_covariances_of_rounding_are_no_pairs(rank, decades):
    """Where neither side has scores beyond its rounding, Cauchy and Schwarz hold no longer."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=(30, rank)) * np.logspace(0, -decades, rank)
        X, Y = factors @ rng.normal(size=(rank, 6)), factors @ rng.normal(size=(rank, 4))
        for scale in (True, False):
            assert PLSSVD(None, scale=scale).fit(X, Y).n_components_ == rank
