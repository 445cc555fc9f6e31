"""What is rounding of the numbers as given is no component, for any method and kind of data.

X = L + offset has the rank of L once its means are subtracted, but its numbers were rounded at
the size of the offset: what is left beside L is that rounding. On data of full rank nothing
may be lost, as long as the numbers have digits left beside the offset.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import eigenkit as ek
from conftest import some_of
from eigenkit.exceptions import DegenerateDataWarning

N, D, RANK = 60, 6, 2
REGRESSIONS = ("cholesky", "dual_cholesky", "svd", "cg", "lsqr")

# Method, what y it takes, and how many components it can have on data of full rank.
METHODS: dict[str, tuple[Callable[[], Any], str, int]] = {
    "CCA": (lambda: ek.CCA(alpha=0), "numbers", 4),
    "CCA, direct": (lambda: ek.CCA(alpha=0, solver="direct"), "numbers", 4),
    "CanonicalRidge": (lambda: ek.CanonicalRidge(gamma_x=0, gamma_y=0), "numbers", 4),
    "CanonicalRidge, PLS": (lambda: ek.CanonicalRidge(gamma_x=1, gamma_y=1), "numbers", 4),
    "OrthonormalizedPLS": (lambda: ek.OrthonormalizedPLS(alpha=0), "numbers", 4),
    "LDA": (lambda: ek.LDA(alpha=0), "classes", 3),
    "MultilabelLDA": (lambda: ek.MultilabelLDA(alpha=0), "labels", 3),
    "star": (lambda: ek.HypergraphSpectral(alpha=0), "labels", 4),
    "clique": (lambda: ek.HypergraphSpectral(alpha=0, expansion="clique"), "labels", 4),
    "zhou": (lambda: ek.HypergraphSpectral(alpha=0, expansion="zhou"), "labels", 4),
    "LeastSquaresProjection": (
        lambda: ek.LeastSquaresProjection(target="cca", alpha=0),
        "numbers",
        4,
    ),
    "CanonicalRidge, OPLS": (lambda: ek.CanonicalRidge(gamma_x=0, gamma_y=1), "numbers", 4),
    "OPLS by least squares": (
        lambda: ek.LeastSquaresProjection(target="opls", alpha=0),
        "numbers",
        4,
    ),
    "KernelOrthonormalizedPLS": (
        lambda: ek.KernelOrthonormalizedPLS(kernel="linear", alpha=0),
        "numbers",
        4,
    ),
    "PCA": (ek.PCA, "none", 6),
    "PCA, gram": (lambda: ek.PCA(solver="gram"), "none", 6),
    "PCA, nipals": (lambda: ek.PCA(solver="nipals"), "none", 6),
    "PLSRegression": (lambda: ek.PLSRegression(4), "numbers", 4),
    "PLSCanonical": (lambda: ek.PLSCanonical(4), "numbers", 4),
    "SIMPLS": (lambda: ek.SIMPLS(4), "numbers", 4),
    "PLSSVD": (lambda: ek.PLSSVD(4), "numbers", 4),
    "KernelCCA": (lambda: ek.KernelCCA(kernel="linear", alpha=0), "numbers", 4),
    "KernelLDA": (lambda: ek.KernelLDA(kernel="linear", alpha=0), "classes", 3),
    "KernelPCA": (lambda: ek.KernelPCA(kernel="linear"), "none", 6),
    "KernelCCA, landmarks": (
        lambda: ek.KernelCCA(kernel="linear", alpha=0, approximation="cholesky"),
        "numbers",
        4,
    ),
    "KernelPCA, landmarks": (
        lambda: ek.KernelPCA(kernel="linear", approximation="nystroem", n_landmarks=40),
        "none",
        6,
    ),
    **{
        f"CCA, {name}": (lambda name=name: ek.CCA(alpha=0, regression=name), "numbers", 4)
        for name in REGRESSIONS
    },
}


def _y(kind: str) -> Any:
    rng = np.random.default_rng(5)
    if kind == "classes":
        return np.arange(N) % 4
    if kind == "labels":
        Y = (rng.random((N, 4)) < 0.4).astype(float)
        Y[:8] = np.tile(np.eye(4), (2, 1))
        return Y
    return rng.normal(size=(N, 4)) if kind == "numbers" else None


def _in_parts(X: np.ndarray, y: Any) -> list[Any]:
    rows = (slice(0, 20), slice(20, 45), slice(45, N))
    return [(X[part],) if y is None else (X[part], y[part]) for part in rows]


def _blocks(model: Any, X: np.ndarray, y: Any) -> Any:
    parts = _in_parts(X, y)
    return model.fit(ek.RowBlocks.from_arrays([p if len(p) > 1 else p[0] for p in parts]))


def _stream(model: Any, X: np.ndarray, y: Any) -> Any:
    for part in _in_parts(X, y):
        model.partial_fit(*part)
    return model


KINDS: dict[str, Callable[[Any, np.ndarray, Any], Any]] = {
    "dense": lambda model, X, y: model.fit(X, y),
    "float32": lambda model, X, y: model.fit(X.astype(np.float32), y),
    "sparse": lambda model, X, y: model.fit(sparse.csr_array(X), y),
    "weighted": lambda model, X, y: model.fit(X, y, sample_weight=np.linspace(0.5, 2, N)),
    "blocks": _blocks,
    "float32 blocks": lambda model, X, y: _blocks(model, X.astype(np.float32), y),
    "stream": _stream,
    "float32 stream": lambda model, X, y: _stream(model, X.astype(np.float32), y),
}
TABLE = [
    combination
    for combination in some_of(METHODS, KINDS, every=5)
    for name, kind in [combination.values]
    if not (name.startswith("Kernel") and ("blocks" in kind or "stream" in kind))
    and not (name == "PCA, nipals" and kind not in ("dense", "float32", "weighted"))
    and not (name == "CCA, dual_cholesky" and "blocks" in kind)
]


def _fitted(name: str, kind: str, X: np.ndarray) -> int:
    make, y, _ = METHODS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KINDS[kind](make(), X, _y(y))
        return int(model.n_components_)


@pytest.mark.parametrize(("name", "kind"), TABLE)
def test_rounding_at_the_size_of_an_offset_is_no_component(name: str, kind: str) -> None:
    offsets = (0.0, 1.0, 1e4) if "32" in kind else (0.0, 1e4, 1e8, 1e11)
    for seed, offset in enumerate(offsets):
        rng = np.random.default_rng(seed)
        low = rng.normal(size=(N, RANK)) @ rng.normal(size=(RANK, D))
        assert _fitted(name, kind, low + offset) == RANK, offset


@pytest.mark.parametrize(("name", "kind"), TABLE)
def test_nothing_is_lost_beside_a_large_offset(name: str, kind: str) -> None:
    # Three to four digits are left of the numbers in the last case.
    offsets = (0.0, 1e3) if "32" in kind else (0.0, 1e6, 1e12)
    for seed, offset in enumerate(offsets):
        if name.startswith("Kernel") and offset == 1e12 and kind == "sparse":
            continue  # a mean of stored entries is what sparse kernels are shifted by
        X = np.random.default_rng(seed).normal(size=(N, D)) + offset
        assert _fitted(name, kind, X) == METHODS[name][2], offset


WITH_RIDGE = [
    *("CCA", "LDA", "star", "OrthonormalizedPLS", "LeastSquaresProjection"),
    *("KernelCCA", "KernelLDA", *(f"CCA, {name}" for name in REGRESSIONS)),
]


@pytest.mark.parametrize(("name", "alpha"), some_of(WITH_RIDGE, [1e-8, 1e-3, 1.0]))
def test_a_ridge_makes_no_components_of_rounding(name: str, alpha: float) -> None:
    make, y, most = METHODS[name]
    rng = np.random.default_rng(0)
    low, full = rng.normal(size=(N, RANK)) @ rng.normal(size=(RANK, D)), rng.normal(size=(N, D))
    # Kernels with a ridge that is far above the rounding know only that of the matrix.
    for offset in (0.0, 1e4, 1e8) if "Kernel" in name else (0.0, 1e4, 1e8, 1e11):
        for X, rank in ((low, RANK), (full, most)):
            model = make().set_params(alpha=alpha).fit(X + offset, _y(y))
            assert model.n_components_ == rank, offset


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_what_is_orthogonal_to_y_is_no_rounding_either(kind: Any, dtype: str) -> None:
    for seed, offset in enumerate((0.0, 1.0, 1e4) if dtype == "f4" else (0.0, 1e4, 1e8, 1e11)):
        rng = np.random.default_rng(seed)
        low = rng.normal(size=(N, RANK)) @ rng.normal(size=(RANK, D)) + offset
        with pytest.warns(DegenerateDataWarning, match="n_orthogonal=4, but X holds 1"):
            model = ek.OrthogonalPLS(1, n_orthogonal=4).fit(kind(low.astype(dtype)), _y("numbers"))
        assert model.n_orthogonal_ == RANK - 1
        with pytest.raises(ValueError, match=f"exceeds {RANK}"):
            ek.KernelPLS(4, kernel="linear").fit(kind(low.astype(dtype)), _y("numbers"))


@pytest.mark.parametrize("seed", range(95, 127, 2))
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_orthogonal_components_are_no_rounding_of_weights_that_go_along_with_little_of_y(
    kind: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rank = 1 + seed % 3
    X, y = rng.normal(size=(94, rank)) @ rng.normal(size=(rank, 33)), rng.normal(size=94)
    T = np.linalg.qr(X - X.mean(axis=0))[0][:, :rank]
    y -= (1 - 10.0 ** -(seed % 5)) * (T @ (T.T @ y))  # a covariance of almost nothing
    with pytest.warns(DegenerateDataWarning, match=f"but X holds {rank - 1} components"):
        model = ek.OrthogonalPLS(1, n_orthogonal=rank + 1, scale=False).fit(kind(X), y)
    assert (model.n_components_, model.n_orthogonal_) == (1, rank - 1)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_one_column_far_from_zero_does_not_hide_the_others(scale: float) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, D)) * scale, _y("numbers")
    near = ek.CCA(alpha=0).fit(X, Y).canonical_correlations_
    X[:, 0] += 1e9
    far = ek.CCA(alpha=0).fit(X, Y).canonical_correlations_
    np.testing.assert_allclose(far, near, rtol=1e-3)


@pytest.mark.parametrize("regression", REGRESSIONS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted", "blocks", "stream"])
def test_one_column_far_from_zero_does_not_hide_smaller_ones(kind: str, regression: str) -> None:
    """The rounding of the first column is larger than all that the others have."""
    if (kind, regression) == ("blocks", "dual_cholesky"):
        pytest.skip("blocks are for many rows")
    found = []
    for offset in (0.0, 1e9):
        X = np.random.default_rng(0).normal(size=(N, D)) * [1.0, *[1e-6] * (D - 1)]
        X[:, 0] += offset
        model = KINDS[kind](ek.CCA(alpha=0, regression=regression), X, _y("numbers"))
        found.append(model.canonical_correlations_)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3)


# Those of which no component may come from the rounding of y.
OF_Y = (
    *("CCA", "CCA, direct", "CanonicalRidge", "CanonicalRidge, PLS", "CanonicalRidge, OPLS"),
    *("PLSSVD", "PLSCanonical", "OrthonormalizedPLS", "LeastSquaresProjection"),
    *("OPLS by least squares", "KernelCCA", "KernelOrthonormalizedPLS"),
)
# The precision of y, and how far it may be from zero.
PRECISIONS_OF_Y = [
    *(("f8", offset) for offset in (0.0, 1e4, 1e8, 1e11)),
    *(("f4", offset) for offset in (0.0, 1.0, 1e4)),
]
KINDS_OF_Y = ("dense", "float32", "sparse", "weighted", "blocks", "stream")


@pytest.mark.parametrize(
    ("precision", "name", "kind"),
    [
        combination
        for combination in some_of(PRECISIONS_OF_Y, OF_Y, KINDS_OF_Y, every=7)
        for _, name, kind in [combination.values]
        if not (name.startswith("Kernel") and kind in ("blocks", "stream"))
    ],
)
def test_rounding_of_y_is_no_component_either(
    precision: tuple[str, float], name: str, kind: str
) -> None:
    dtype, offset = precision
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, D))
    Y = rng.normal(size=(N, RANK)) @ rng.normal(size=(RANK, 4)) + offset
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert KINDS[kind](METHODS[name][0](), X, Y.astype(dtype)).n_components_ == RANK


@pytest.mark.parametrize(("dtype", "offset"), [("f8", 1e12), ("f4", 0.0), ("f4", 1e4)])
@pytest.mark.parametrize("name", OF_Y)
def test_nothing_of_y_is_lost_beside_a_large_offset(name: str, dtype: str, offset: float) -> None:
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(N, D)), rng.normal(size=(N, 4)) + offset
    assert METHODS[name][0]().fit(X, Y.astype(dtype)).n_components_ == 4


@pytest.mark.filterwarnings("ignore:n_components=4")
@pytest.mark.parametrize("name", ["CCA", "PLSCanonical", "OrthonormalizedPLS"])
@pytest.mark.parametrize("order", [1, -1])
def test_one_batch_in_single_precision_is_enough(name: str, order: int) -> None:
    """However small the batches are, and whether their rows are kept or only their factor."""
    rng = np.random.default_rng(3)
    low = rng.normal(size=(N, RANK)) @ rng.normal(size=(RANK, D)) + 1e4
    halves = [(low[:30].astype("f4"), slice(0, 30)), (low[30:], slice(30, N))]
    model, y = METHODS[name][0](), _y("numbers")
    for X, rows in halves[::order]:
        model.partial_fit(X, y[rows])
    assert model.n_components_ == RANK
    swapped = METHODS[name][0]()
    for Y, _ in halves[::order]:
        swapped.partial_fit(rng.normal(size=(30, D)), Y[:, :4])
    assert swapped.n_components_ == RANK


def test_numbers_of_y_count_in_double_precision() -> None:
    """In whatever precision they come: only what is rounding is judged by that."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, D)), (rng.normal(size=(N, 4)) + 100).astype("f4")
    for name in OF_Y:
        single, double = (METHODS[name][0]().fit(X, y) for y in (Y, Y.astype("f8")))
        np.testing.assert_array_equal(single.transform(X), double.transform(X))


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, 1e11])
def test_views_with_offsets(offset: float) -> None:
    rng = np.random.default_rng(4)
    views = [rng.normal(size=(N, RANK)) @ rng.normal(size=(RANK, D)) + offset for _ in range(3)]
    found = ek.MultiviewCCA(alpha=0).fit(views)
    # Three views of rank 2 have 6 directions together, of which those of lambda > 0 are kept.
    assert found.n_components_ < 3 * RANK
    np.testing.assert_array_less(np.abs(found.components_), 10.0)
    with pytest.raises(ValueError, match=f"exceeds {RANK}"):
        ek.RGCCA(4, tau=0).fit(views)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, 1e11])
@pytest.mark.parametrize("method", ["greedy", "least_squares", "alternating"])
def test_sparse_pairs_with_offsets(method: str, offset: float) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N, RANK)) @ rng.normal(size=(RANK, D)) + offset
    given = {"keep_x": D, "keep_y": 4} if method == "greedy" else {}
    for kind in ("dense", "sparse"):
        with pytest.raises(ValueError, match=f"exceeds {RANK}"):
            KINDS[kind](ek.SparseCCA(4, method=method, **given), X, _y("numbers"))


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, 1e11])
def test_coefficients_stay_small(offset: float) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, RANK)) @ rng.normal(size=(RANK, D)) + offset
    y = _y("numbers")[:, 0]
    model = ek.ShrinkageRegression("ols").fit(X, y)
    assert len(model.singular_values_) == RANK
    assert np.abs(model.coef_).max() < 10


# -- kernels -----------------------------------------------------------------------------

KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "square": {"kernel": "poly", "degree": 2},
    "cube": {"kernel": "poly", "degree": 3},
    "cosine": {"kernel": "cosine"},
    "rbf": {"kernel": "rbf"},
    "wide rbf": {"kernel": "rbf", "gamma": 0.01},
    "laplacian": {"kernel": "laplacian"},
    "chi2": {"kernel": "chi2"},
    "additive_chi2": {"kernel": "additive_chi2"},
}


@pytest.mark.parametrize("offset", [0.0, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("name", KERNELS)
def test_what_a_kernel_keeps_of_single_precision_is_there_in_double(name, offset):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.random((N, RANK)) @ rng.random((RANK, 4)) + 0.1 + offset
        kept = ek.KernelPCA(**KERNELS[name]).fit(X.astype(np.float32)).eigenvalues_
        K = ek.Kernel(**KERNELS[name]).fitted(X)(X)
        K = K - K.mean(axis=0) - (K.mean(axis=0) - K.mean())[:, None]
        true = np.linalg.eigvalsh(K)[::-1][: len(kept)]
        assert len(kept) >= RANK
        np.testing.assert_allclose(true, kept, rtol=0.1)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_sum_of_kernels_has_the_rank_of_the_samples(dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(N, RANK)) @ rng.normal(size=(RANK, 3)) + 1).astype(dtype)
    Y = rng.normal(size=(N, 8))
    kernels = ["linear", ek.Kernel("linear", columns=[0, 1])]
    model = ek.MultipleKernelProjection(ek.KernelCCA(alpha=1e-12), kernels, weights="uniform")
    assert model.fit(X, Y).n_components_ == RANK


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_samples_that_are_far_apart_stay_so_however_they_are_rounded(kernel, dtype):
    """The rounding of numbers of 1e20 is far wider than the kernel, but no two are near."""
    X = (np.random.default_rng(0).normal(size=(40, 5)) * 1e20).astype(dtype)
    model = ek.KernelLDA(kernel=kernel, gamma=1.0).fit(X, np.arange(40) % 3)
    assert model.n_components_ == 2
    np.testing.assert_allclose(model.explained_variance_ratio_, 0.5)


def test_classes_with_the_same_means_have_no_variance_between_them():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]] * 2)
    model = ek.LDA().fit(X, [0, 0, 1, 1] * 2)
    np.testing.assert_allclose(model.explained_variance_ratio_, 0.0, atol=1e-15)


# -- a column that is the sum of others --------------------------------------------------


def _with_total(seed: int, offset: float) -> np.ndarray:
    """Three columns far from zero, and their rounded sum."""
    B = np.random.default_rng(seed).normal(size=(40, 3)) + offset
    return np.column_stack([B, B.sum(axis=1)])


@pytest.mark.parametrize("offset", [0.0, 100.0, 1e4])
@pytest.mark.parametrize("seed", range(5))
def test_a_total_of_y_is_no_component(seed, offset):
    Y = _with_total(seed, offset)
    X = np.random.default_rng(seed + 50).normal(size=(40, 8))
    for model in (ek.CCA(), ek.CanonicalRidge(gamma_y=0), ek.CanonicalRidge(gamma_x=1, gamma_y=1)):
        assert model.fit(X, Y).n_components_ == 3
    assert ek.PLSSVD().fit(X, Y).n_components_ == 3


@pytest.mark.parametrize("offset", [0.0, 100.0, 1e4])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_total_is_no_plane(offset, streamed, dtype):
    X, y = _with_total(0, 0.0), np.arange(40) % 2
    X[y == 1, 0] *= 3
    X = X[:, :3] + offset
    X = np.column_stack([X, X.sum(axis=1)]).astype(dtype)
    model = ek.ReGEC().partial_fit(X, y) if streamed else ek.ReGEC().fit(X, y)
    normals = model.coef_ / np.linalg.norm(model.coef_, axis=-1, keepdims=True)
    total = np.array([1.0, 1.0, 1.0, -1.0]) / 2
    assert np.abs(normals @ total).max() < 0.01


@pytest.mark.parametrize("offset", [0.0, 100.0, 1e4])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_total_has_no_density(offset, dtype):
    X = _with_total(0, offset).astype(dtype)
    Y = X[:, :2] + np.random.default_rng(1).normal(size=(40, 2))
    with pytest.raises(ValueError, match="column 3 of X is a combination of others"):
        ek.ProbabilisticCCA(alpha=0).fit(X, Y)
    with pytest.raises(ValueError, match="column 3 of y is a combination of others"):
        ek.ProbabilisticCCA(alpha=0).fit(Y, X)


def test_nothing_is_printed_where_a_rank_is_used_up(capfd):
    X = np.random.default_rng(0).normal(size=(12, 20)) + 100
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ek.CCA(alpha=0, regression="lsqr").fit(X, X[:, :3])
        ek.CCA(alpha=0, regression="cg").fit(X, X[:, :3])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("dtype", "offset"), [("f4", 1e6), ("f8", 1e14)])
def test_numbers_with_a_digit_beside_their_means_are_data(dtype, offset):
    """float32 has steps of 1/16 at 1e6, float64 of 1/64 at 1e14."""
    X = (np.random.default_rng(0).normal(size=(200, 5)) + offset).astype(dtype)
    assert ek.PCA().fit(X).n_components_ == 5
    assert ek.KernelPCA().fit(X).n_components_ == 5
    assert ek.LDA(alpha=0).fit(X, np.arange(200) % 3).n_components_ == 2


def test_numbers_without_digits_are_refused():
    X = (np.random.default_rng(0).normal(size=(200, 5)) + 1e8).astype("f4")
    with pytest.raises(ValueError, match=r"no more than the rounding of its numbers|zero variance"):
        ek.PCA().fit(X)
