"""GEPSVM and ReGEC: the quotients they minimize, the paper's theorem, and hostile input."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg as sla
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenkit import GEPSVM, ReGEC
from eigenkit.datasets import make_ndc
from eigenkit.kernels import pivots
from eigenkit.solvers.planes import regec_with_ridge, smallest_pair

BOTH = [ReGEC, GEPSVM]


def data(n=120, d=5, k=2, seed=0):
    X, y = make_classification(n, d, n_informative=d, n_redundant=0, n_classes=k, random_state=seed)
    return X + 3.0, y


def gram(X, w=None):
    N = np.column_stack([X, np.ones(len(X))])
    return N.T @ N if w is None else (N.T * w) @ N


def same_plane(model, c, z, tol=1e-8):
    """Whether plane c of a linear or kernel model is z = [v; b] up to its scale."""
    coef = model.coef_ if hasattr(model, "coef_") else model.dual_coef_
    ours = np.append(coef[c], model.intercept_[c])
    scale = np.linalg.norm(z[:-1]) * np.sign(ours @ z)
    np.testing.assert_allclose(ours, z / scale, rtol=0, atol=tol * np.abs(ours).max())


# -- what is minimized ------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.3, 5.0])
def test_linear_regec_has_the_eigenvectors_of_the_unregularized_pencil(alpha):
    X, y = data()
    G, H = gram(X[y == 0]), gram(X[y == 1])
    _, Z = sla.eig(G, H)
    values = np.array([z @ G @ z / (z @ H @ z) for z in Z.T.real])
    model = ReGEC(alpha).fit(X, y)
    same_plane(model, 0, Z.real[:, values.argmin()])
    same_plane(model, 1, Z.real[:, values.argmax()])


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.3])
def test_eigenvalues_are_those_of_the_regularized_pencil(alpha):
    X, y = data()
    G, H = gram(X[y == 0]), gram(X[y == 1])
    values = sla.eigvalsh(G + alpha * H, H + alpha * G)
    model = ReGEC(alpha).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, [values[0], 1 / values[-1]], rtol=1e-8)


@pytest.mark.parametrize("k", [2, 3])
def test_linear_planes_with_a_ridge(k):
    X, y = data(k=k)
    for c in range(k):
        G, H = gram(X[y == c]), gram(X[y != c])
        eye = 0.5 * np.eye(len(G))
        same_plane(
            ReGEC(0.5, regularization="ridge").fit(X, y), c, sla.eigh(G + eye, H + eye)[1][:, 0]
        )
        same_plane(GEPSVM(0.5).fit(X, y), c, sla.eigh(H, G + eye)[1][:, -1])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("n", [40, 150])  # dense solver, Lanczos
def test_kernel_planes(k, n):
    X, y = data(n=n, k=k)
    K = rbf_kernel(X, gamma=0.1)
    order = np.argsort(y, kind="stable")
    a = 1e-2
    for c in range(k):
        G, H = gram(K[y == c][:, order]), gram(K[y != c][:, order])
        eye, DG, DH = a * np.eye(len(G)), a * np.diag(G.diagonal()), a * np.diag(H.diagonal())
        regec = ReGEC(a, kernel="rbf", gamma=0.1)
        np.testing.assert_array_equal(regec.fit(X, y).landmarks_, order)
        same_plane(regec, c, sla.eigh(G + DH, H + DG)[1][:, 0], 1e-6)
        ridge = ReGEC(a, kernel="rbf", gamma=0.1, regularization="ridge").fit(X, y)
        same_plane(ridge, c, sla.eigh(G + eye, H + eye)[1][:, 0], 1e-6)
        gepsvm = GEPSVM(a, kernel="rbf", gamma=0.1).fit(X, y)
        same_plane(gepsvm, c, sla.eigh(H, G + eye)[1][:, -1], 1e-6)


def test_lanczos_and_the_dense_solver_agree():
    random = np.random.default_rng(0)
    A, B = (M @ M.T + 0.1 * np.eye(200) for M in random.standard_normal((2, 200, 30)))
    fast, dense = smallest_pair(A, B), smallest_pair(A, B, fast=False)
    assert fast[2] > 0
    assert dense[2] == 0
    np.testing.assert_allclose(fast[0], dense[0], rtol=1e-9)
    cosine = fast[1] @ dense[1] / np.linalg.norm(fast[1]) / np.linalg.norm(dense[1])
    np.testing.assert_allclose(abs(cosine), 1, atol=1e-12)


def test_two_classes_have_reciprocal_pencils():
    X, y = data(n=30)
    planes = regec_with_ridge([gram(X[y == c]) for c in (0, 1)], 0.1)
    swapped = regec_with_ridge([gram(X[y == c]) for c in (1, 0)], 0.1)
    np.testing.assert_allclose(planes.shares, swapped.shares[::-1])


@pytest.mark.parametrize("model", [ReGEC(), GEPSVM(), ReGEC(kernel="rbf"), GEPSVM(kernel="rbf")])
def test_distances_decide(model):
    X, y = data(k=3)
    model.fit(X, y)
    distances = model.distances(X)
    np.testing.assert_array_equal(model.predict(X), distances.argmin(axis=1))
    np.testing.assert_array_equal(model.decision_function(X), -distances)
    if hasattr(model, "coef_"):
        np.testing.assert_allclose(distances, np.abs(X @ model.coef_.T + model.intercept_))
        np.testing.assert_allclose(np.linalg.norm(model.coef_, axis=1), 1)


def test_decision_function_of_two_classes_is_the_difference_of_distances():
    X, y = data()
    model = ReGEC().fit(X, y)
    d = model.distances(X)
    np.testing.assert_allclose(model.decision_function(X), d[:, 0] - d[:, 1])
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))


# -- singular pencils -------------------------------------------------------------------


@pytest.mark.parametrize("wide", [False, True])
def test_a_singular_pencil_gives_the_planes_of_its_range(wide):
    """Duplicated, constant and linearly dependent features move no plane."""
    X, y = data(n=60, d=4)
    more = np.column_stack([X, X[:, :2], np.full(60, 7.0), X @ np.ones(4)])
    if wide:
        more = np.column_stack([more, np.zeros((60, 80))])
    plain, singular = ReGEC().fit(X, y), ReGEC().fit(more, y)
    np.testing.assert_allclose(singular.eigenvalues_, plain.eigenvalues_, rtol=1e-8)
    ratio = singular.distances(more) / plain.distances(X)
    np.testing.assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape), rtol=1e-6)


def test_a_class_on_many_planes_takes_the_one_farthest_from_the_rest():
    # Class 0 is one line in three dimensions: all planes through it have quotient zero.
    t = np.linspace(-1, 1, 9)
    line = np.column_stack([t, 0 * t, 0 * t])
    rest = np.array(
        [[0.0, 3.0, 0.1], [1.0, 3.1, -0.1], [-1.0, 2.9, 0.2], [0.5, 3.0, -0.3], [0.2, 3.3, 0.0]]
    )
    model = ReGEC().fit(np.vstack([line, rest]), np.repeat([0, 1], [9, 5]))
    N = rest[:, 1:]
    best = np.linalg.svd(N)[2][0]
    np.testing.assert_allclose(abs(model.coef_[0] @ np.append(0.0, best)), 1, atol=1e-8)
    np.testing.assert_allclose(model.distances(line)[:, 0], 0, atol=1e-12)


@pytest.mark.parametrize("shape", [(20, 40), (60, 9)])
@pytest.mark.parametrize("sizes", [0.0, 6.0])
def test_planes_of_rows_that_do_not_span_the_space(rng, shape, sizes):
    # Of all planes with the same quotient that of the largest distances, in the units of X: as
    # if X had been turned into its own span, whatever the units and weights of its columns.
    n, d = shape
    X = rng.normal(size=(n, 5 if n > d else n)) @ rng.normal(size=(5 if n > d else n, d))
    X = (X - X.mean(axis=0)) * 10.0 ** rng.uniform(-sizes / 2, sizes / 2, size=d)
    y = np.arange(n) % 3
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    T = X @ Vt[s > 1e-12 * s[0]].T
    ours = ReGEC().fit(X, y).distances(X)
    np.testing.assert_allclose(ours, ReGEC().fit(T, y).distances(T), atol=1e-9 * ours.max())
    w = rng.integers(1, 4, size=n)
    weighted = ReGEC().fit(X, y, sample_weight=w).distances(X)
    repeated = ReGEC().fit(np.repeat(X, w, axis=0), np.repeat(y, w)).distances(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-9 * repeated.max())


@pytest.mark.parametrize("cls", BOTH)
def test_more_features_than_samples(cls):
    X, y = make_classification(30, 200, n_informative=5, random_state=1)
    dense = cls().fit(X, y)
    assert np.isfinite(dense.coef_).all()
    assert dense.score(X, y) == 1.0
    wide = np.column_stack([X, np.zeros((30, 40_000))])
    np.testing.assert_allclose(
        np.sort(cls(1.0).fit(sparse.csr_array(wide), y).eigenvalues_),
        np.sort(cls(1.0).fit(X, y).eigenvalues_),
        rtol=1e-6,
        atol=1e-9,
    )


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_duplicated_points(cls, kernel):
    X, y = data(n=20)
    X, y = np.repeat(X, 5, axis=0), np.repeat(y, 5)
    model = cls(kernel=kernel).fit(X, y)
    assert np.isfinite(model.distances(X)).all()
    assert np.isfinite(model.eigenvalues_).all()


def test_kernel_pencil_that_lanczos_cannot_factor():
    """Equal samples far from the other class make the numerator exactly singular."""
    X = np.repeat(np.array([[0.0], [1e3], [2e3], [3e3]]), 25, axis=0)
    model = ReGEC(kernel="rbf", gamma=1.0).fit(X, np.repeat([0, 0, 1, 1], 25))
    assert np.isfinite(model.distances(X)).all()


# -- weights ----------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    kernel=st.sampled_from(["linear", "rbf"]),
    cls=st.sampled_from(BOTH),
)
def test_integer_weights_are_repeated_rows(seed, kernel, cls):
    X, y = data(n=40, d=3, seed=seed % 7)
    w = np.random.default_rng(seed).integers(0, 4, 40)
    w[np.r_[np.argmax(y == 0), np.argmax(y == 1)]] = 3
    model = cls(1e-2, kernel=kernel)
    weighted = clone(model).fit(X, y, sample_weight=w)
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weighted.distances(X), repeated.distances(X), rtol=1e-4, atol=1e-6)


# -- metamorphic ------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-8, 1e8, 1e200, 1e300])
def test_linear_regec_does_not_depend_on_units(scale):
    X, y = data()
    plain, scaled = ReGEC().fit(X, y), ReGEC().fit(X * scale, y)
    np.testing.assert_allclose(scaled.eigenvalues_, plain.eigenvalues_, rtol=1e-8)
    np.testing.assert_array_equal(scaled.predict(X * scale), plain.predict(X))


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e300])
def test_which_of_many_planes_is_farthest_does_not_depend_on_units(scale, rng):
    X, y = rng.normal(size=(20, 300)), np.arange(20) % 2
    plain, scaled = ReGEC().fit(X, y).distances(X), ReGEC().fit(X * scale, y).distances(X * scale)
    np.testing.assert_allclose(scaled / scale, plain, atol=1e-10 * plain.max())


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("model", [GEPSVM(), ReGEC(kernel="rbf"), GEPSVM(kernel="rbf")])
def test_extreme_units_stay_finite(model, scale):
    X, y = data()
    try:
        clone(model).fit(X * scale, y)
    except ValueError as error:
        assert "alpha" in str(error) or "zero variance" in str(error)  # noqa: PT017
        return
    assert np.isfinite(clone(model).fit(X * scale, y).distances(X * scale)).all()


def test_a_large_offset_costs_few_digits():
    X, y = data()
    plain, moved = ReGEC().fit(X, y), ReGEC().fit(X + 1e7, y)
    np.testing.assert_allclose(moved.eigenvalues_, plain.eigenvalues_, rtol=1e-6)
    np.testing.assert_array_equal(moved.predict(X + 1e7), plain.predict(X))


def test_ill_conditioned_features_against_exact_numbers():
    # An orthogonal mixture of features of spread 1 and 1e-6: rows, not Gram matrices.
    random = np.random.default_rng(3)
    X, y = data(n=200, d=4)
    Q, _ = np.linalg.qr(random.standard_normal((4, 4)))
    mixed = (X * [1, 1, 1e-6, 1e-6]) @ Q
    np.testing.assert_allclose(
        ReGEC().fit(mixed, y).eigenvalues_, ReGEC().fit(X, y).eigenvalues_, rtol=1e-7
    )


@pytest.mark.parametrize("cls", BOTH)
def test_order_of_samples_and_names_of_classes(cls):
    X, y = data(k=3)
    order = np.random.default_rng(0).permutation(len(X))
    names = np.array(["c", "a", "b"])
    model, other = cls().fit(X, y), cls().fit(X[order], names[y][order])
    np.testing.assert_array_equal(other.predict(X), names[model.predict(X)])


def test_large_sparse_data_stay_sparse(monkeypatch):
    X, y = data(n=400, d=6)
    empty = sparse.csr_array(np.column_stack([X, np.zeros((400, 4))]))
    expected = {cls: cls().fit(empty, y).eigenvalues_ for cls in BOTH}
    monkeypatch.setattr("eigenkit.numerics.costs.DENSE_LIMIT_BYTES", 0)
    monkeypatch.setattr(sparse.csr_array, "toarray", _refuse_large(sparse.csr_array.toarray))
    for cls, values in expected.items():
        np.testing.assert_allclose(cls().fit(empty, y).eigenvalues_, values, rtol=1e-6)


def _refuse_large(toarray):
    def checked(self, *args, **kwargs):
        assert max(self.shape) < 100
        return toarray(self, *args, **kwargs)

    return checked


# -- kernels and landmarks --------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
def test_precomputed_and_callable_kernels_equal_the_named_one(cls):
    X, y = data(k=3)
    named = cls(kernel="rbf", gamma=0.2).fit(X[:80], y[:80])
    expected = named.distances(X[80:])
    K = rbf_kernel(X, X[:80], gamma=0.2)
    given_ = cls(kernel="precomputed").fit(K[:80], y[:80])
    np.testing.assert_allclose(given_.distances(K[80:]), expected, rtol=1e-6, atol=1e-9)

    def of_matrices(A, B, scale):
        return rbf_kernel(A, B, gamma=scale)

    def of_samples(a, b, scale):
        return np.exp(-scale * np.sum((a - b) ** 2))

    for kernel in (of_matrices, of_samples):
        called = cls(kernel=kernel, kernel_params={"scale": 0.2}).fit(X[:80], y[:80])
        np.testing.assert_allclose(called.distances(X[80:]), expected, rtol=1e-6, atol=1e-9)


def test_kernel_planes_do_not_depend_on_the_scale_of_the_kernel():
    X, y = data()
    K = rbf_kernel(X, gamma=0.2)
    plain = ReGEC(kernel="precomputed").fit(K, y)
    for scale in (1e-200, 7.0, 1e200):
        scaled = ReGEC(kernel="precomputed").fit(K * scale, y)
        np.testing.assert_allclose(scaled.eigenvalues_, plain.eigenvalues_, rtol=1e-6)


@pytest.mark.parametrize("approximation", ["cholesky", "nystroem"])
@pytest.mark.parametrize("cls", BOTH)
def test_landmarks(cls, approximation):
    X, y = make_moons(400, noise=0.15, random_state=0)
    full = cls(kernel="rbf", gamma=2.0).fit(X, y)
    how = {"kernel": "rbf", "gamma": 2.0, "approximation": approximation}
    few = cls(**how, n_landmarks=40, random_state=0)
    few.fit(X, y)
    assert few.dual_coef_.shape == (2, 40)
    np.testing.assert_array_equal(few.X_fit_, X[few.landmarks_])
    assert few.score(X, y) > 0.9
    every = cls(**how, n_landmarks=400).fit(X, y)
    np.testing.assert_allclose(every.eigenvalues_, full.eigenvalues_, rtol=1e-6)


def test_landmarks_of_a_precomputed_kernel():
    X, y = make_moons(200, noise=0.15, random_state=0)
    few = ReGEC(kernel="rbf", gamma=2.0, approximation="cholesky", n_landmarks=30).fit(X, y)
    K = rbf_kernel(X, gamma=2.0)
    same = ReGEC(kernel="precomputed", approximation="cholesky", n_landmarks=30).fit(K, y)
    np.testing.assert_array_equal(np.sort(same.landmarks_), np.sort(few.landmarks_))
    np.testing.assert_array_equal(same.predict(K), few.predict(X))


def test_pivoted_cholesky_stops_at_the_rank():
    X = np.random.default_rng(0).standard_normal((50, 3))
    K = X @ X.T
    chosen = pivots(lambda index: K[:, index], K.diagonal(), 20)
    assert len(chosen) == 3
    C = K[:, chosen]
    np.testing.assert_allclose(C @ np.linalg.solve(K[np.ix_(chosen, chosen)], C.T), K, atol=1e-10)


# -- scikit-learn -----------------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
def test_pipelines_grid_search_and_calibration(cls):
    X, y = data(k=3)
    pipe = make_pipeline(StandardScaler(), cls(kernel="rbf"))
    name = cls.__name__.lower()
    grid = {f"{name}__alpha": [1e-3, 1e-1], f"{name}__gamma": [0.05, 0.2]}
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    probability = CalibratedClassifierCV(cls(), cv=3).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)


def test_precomputed_kernels_are_sliced_on_both_sides():
    X, y = data()
    search = GridSearchCV(ReGEC(kernel="precomputed"), {"alpha": [1e-3, 1e-1]}, cv=3)
    assert search.fit(rbf_kernel(X, gamma=0.1), y).best_score_ > 0.7


# -- hostile input ----------------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, np.zeros_like(y)), "y holds 1 class, but at least two are needed"),
        (lambda X, y: (X[:2], np.array([0, 1])), "2 classes for 2 samples: some class needs more"),
        (lambda X, y: (np.ones_like(X), y), "zero variance"),
        (lambda X, y: (np.where(X[3, 1] == X, np.nan, X), y), "X contains NaN"),
        (lambda X, y: (np.where(X[3, 1] == X, np.inf, X), y), "X contains infinity"),
        (lambda X, y: (X, y[:-1]), "120 rows of X, 119 of y"),
        (lambda X, y: (X, y + 0.5 * X[:, 0]), "y must hold classes, not measurements"),
        (lambda X, y: (X, np.where(y == 1, None, 0)), "missing class"),
        (lambda X, y: (X[:, :0], y), "0 feature"),
        (lambda X, y: (X[:, 0], y), "Expected 2D array"),
    ],
)
def test_bad_data(cls, kernel, change, message):
    X, y = data()
    model = cls(kernel=kernel).fit(X, y)
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match=message):
        model.fit(*change(X, y))
    assert model.__dict__ == before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, "alpha=-1.0 is not valid: give a finite number of at least 0"),
        ({"alpha": "much"}, "alpha='much' is not valid"),
        ({"kernel": "gauss"}, "kernel='gauss' is not known: choose one of"),
        ({"gamma": 0.0}, "gamma=0 is not valid: it makes all samples alike"),
        ({"gamma": -2}, "gamma=-2 is not valid"),
        ({"n_landmarks": 0}, "n_landmarks=0 is not valid"),
        ({"approximation": "all"}, "approximation='all' is not known"),
        ({"regularization": "l1"}, "regularization='l1' is not known"),
        ({"regularization": "diagonal"}, "is for kernels, but kernel='linear'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        ReGEC(**parameters).fit(*data())


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((4, 3)), "give the square matrix of inner products"),
        (np.triu(np.ones((4, 4))), "kernel, is not symmetric"),
        (np.full((4, 4), np.nan), "X, the precomputed kernel, contains NaN"),
        (np.zeros((4, 4)), "is zero for every pair of samples"),
    ],
)
def test_bad_kernels(K, message):
    with pytest.raises(ValueError, match=message):
        ReGEC(kernel="precomputed").fit(K, [0, 0, 1, 1])


def test_bad_callables():
    X, y = data(n=20)
    for kernel in (lambda A, B: np.ones((3, 3)), lambda A, B: "x"):
        with pytest.raises(
            ValueError,
            match=r"must return a matrix of shape .*, or two samples and return a number",
        ):
            ReGEC(kernel=kernel).fit(X, y)
    with pytest.raises(TypeError, match="what kernel returned is complex: give real numbers"):
        ReGEC(kernel=lambda A, B: A @ B.T + 1j).fit(X, y)


def test_indefinite_kernels_are_no_obstacle():
    X, y = data()
    model = ReGEC(kernel="sigmoid", gamma=0.5).fit(X, y)
    assert np.isfinite(model.distances(X)).all()


def test_weights_that_leave_a_class_out():
    X, y = data()
    with pytest.raises(ValueError, match="zero for every sample of the class"):
        ReGEC().fit(X, y, sample_weight=(y == 0).astype(float))


def test_a_ridge_lost_to_rounding_is_named():
    X, y = data(n=100)
    with pytest.raises(ValueError, match="alpha is too small"):
        GEPSVM(1e-30, kernel="rbf", gamma=1e-6).fit(X, y)


# -- data and pictures ------------------------------------------------------------------


def test_ndc_is_nearly_separable():
    scores = [
        ReGEC().fit(X, y).score(X, y) for X, y in (make_ndc(random_state=i) for i in range(5))
    ]
    assert 0.8 < np.mean(scores) < 0.97
    X, y = make_ndc(2, 3, random_state=0)
    assert X.shape == (2, 3)
    assert set(y) == {-1, 1}
    with pytest.raises(ValueError, match="n_clusters=1"):
        make_ndc(n_clusters=1)


def test_picture_of_decision_regions():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    X, y = data(d=2 + 1)
    model = ReGEC(kernel="rbf").fit(X[:, :2], y)
    _, ax = plt.subplots()
    assert model.plot("regions", X[:, :2], y, ax=ax, resolution=20).ax_ is ax
    drawn = sum(len(c.get_offsets()) for c in ax.collections if len(c.get_offsets()) > 1)
    assert drawn == len(X)
    plt.close("all")


@pytest.mark.parametrize("make", [ReGEC, GEPSVM], ids=lambda make: make.__name__)
def test_gamma_of_the_scale_counts_repetitions(make, rng):
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    weight = rng.integers(1, 5, size=30)
    model = make(kernel="rbf", gamma="scale")
    ours, again = clone(model).fit(X, y, weight), np.repeat(np.arange(30), weight)
    repeated = clone(model).fit(X[again], y[again])
    np.testing.assert_allclose(ours.kernel_.gamma, repeated.kernel_.gamma)
    np.testing.assert_allclose(ours.distances(X), repeated.distances(X), atol=1e-6)


def test_samples_in_several_planes_go_to_the_first_class_however_it_was_fitted(rng):
    X = rng.normal(size=(90, 4))
    X[:, 3] = 0.0
    y = np.arange(90) % 3
    X[y == 2, 3] = 1.0  # the first two classes lie in one plane
    whole = ReGEC().fit(X, y)
    stream = ReGEC()
    for part in (slice(0, 45), slice(45, 90)):
        stream.partial_fit(X[part], y[part], classes=[0, 1, 2])
    exact = np.all(whole.distances(X[y < 2])[:, :2] == 0, axis=0)
    assert exact.all()
    np.testing.assert_array_equal(whole.predict(X), stream.predict(X))


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_distances_are_those_of_the_kernel_that_was_fitted(cls, kernel):
    X, y = load_iris(return_X_y=True)
    X = X @ X.T if kernel == "precomputed" else X
    model = cls(kernel=kernel).fit(X, y)
    expected = model.distances(X)
    for other in ("linear", "rbf", "precomputed"):
        np.testing.assert_array_equal(model.set_params(kernel=other).distances(X), expected)


@pytest.mark.parametrize("offset", [0.0, 5.0])
@pytest.mark.parametrize(
    "model",
    [ReGEC(), ReGEC(0), ReGEC(0.1, regularization="ridge"), GEPSVM(), GEPSVM(1.0), GEPSVM(0)],
    ids=str,
)
def test_planes_of_few_wide_rows_are_those_of_their_space(model, offset, rng):
    """A rotation of the columns turns the planes, whatever the number of columns is."""
    X = rng.normal(size=(12, 8)) + offset
    y, weight = np.arange(12) % 3, rng.integers(1, 4, 12)
    basis = np.linalg.qr(rng.normal(size=(500, 8)))[0].T
    narrow = clone(model).fit(X, y, sample_weight=weight)
    for wide in (X @ basis, sparse.csr_array(X @ basis)):
        found = clone(model).fit(wide, y, sample_weight=weight)
        np.testing.assert_allclose(found.eigenvalues_, narrow.eigenvalues_, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(found.distances(wide), narrow.distances(X), atol=1e-7)


@pytest.mark.parametrize("model", [ReGEC(), ReGEC(regularization="ridge"), GEPSVM()], ids=str)
def test_five_rows_of_many_columns_take_no_matrix_of_the_columns(model, rng):
    X, y = rng.normal(size=(5, 20000)), np.array([0, 1, 0, 1, 1])
    whole = clone(model).fit(X, y)
    np.testing.assert_array_equal(whole.predict(X), y)
    stream = clone(model).partial_fit(X[:3], y[:3]).partial_fit(X[3:], y[3:])
    np.testing.assert_allclose(stream.distances(X), whole.distances(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("model", [ReGEC(), GEPSVM()], ids=str)
def test_a_large_column_of_wide_rows_does_not_hide_the_others(model, rng):
    X, y = rng.normal(size=(10, 40)), np.arange(10) % 2
    X[:, 0] *= 1e10
    assert model.fit(X, y).score(X, y) == 1.0
    assert clone(model).partial_fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e8, 1e16])
def test_a_ridge_of_the_size_of_the_rows_keeps_all_digits(scale):
    """The ridge on the constant is then as large: in the coordinates of the planes, a long row."""
    r = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = r.normal(size=(60, 3)) * [1, 2, 3] + y[:, None] * [1, 0, 2]
    alpha = float(np.mean(np.sum(X**2, axis=1)))
    for make in (lambda a: ReGEC(a, regularization="ridge"), GEPSVM):
        found = make(alpha * scale**2).fit(X * scale, y)
        order = r.permutation(60)
        again = make(alpha * scale**2).fit(X[order] * scale, y[order])
        np.testing.assert_allclose(again.eigenvalues_, found.eigenvalues_, rtol=1e-12)
        np.testing.assert_allclose(again.coef_, found.coef_, rtol=1e-9, atol=1e-12)
        G, H = (gram(X[y == c] * scale) for c in (0, 1))
        assert _ridge_values(make, G, H, alpha * scale**2) == pytest.approx(
            found.eigenvalues_, rel=1e-9
        )


def _ridge_values(make, G, H, a):
    """In the units of X the pencil is as well conditioned as it gets, once both are scaled."""
    ridge = a * np.eye(len(G))
    values = []
    for A, B in ((G, H), (H, G)):
        A, B = (A + ridge, B + ridge) if make is not GEPSVM else (A + ridge, B)
        unit = np.sqrt(A.diagonal())
        values.append(1 / sla.eigvalsh(B / unit / unit[:, None], A / unit / unit[:, None])[-1])
    return values


@pytest.mark.parametrize("mean", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_a_ridge_on_data_far_from_zero_loses_no_more_than_the_data_have_lost(alpha, mean):
    r = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = r.normal(size=(40, 2)) + y[:, None] * [1, 2] + mean
    with mp.workdps(60):
        Z = mp.matrix(np.c_[X, np.ones(40)].tolist())
        G, H = (
            sum((Z[i, :].T * Z[i, :] for i in range(40) if y[i] == c), mp.zeros(3)) for c in (0, 1)
        )
        A, B = (M + alpha * mp.eye(3) for M in (G, H))
        L = mp.cholesky(B) ** -1
        values = mp.eigsy(L * A * L.T, eigvals_only=True)
        expected = [float(min(values)), float(1 / max(values))]
    model = ReGEC(alpha, regularization="ridge").fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-14 * mean + 1e-12)
    half = ReGEC(alpha, regularization="ridge").partial_fit(X[:20], y[:20], classes=[0, 1])
    stream = half.partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(stream.eigenvalues_, expected, rtol=1e-14 * mean + 1e-12)
