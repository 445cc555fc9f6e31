"""Planes and many views from rows as they come, from several sites, and from blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from eigenkit import GEPSVM, MultiviewCCA, ReGEC, RowBlocks, Stream
from eigenkit.models._container import from_tree, to_tree

N, D = 160, 6
GROUPS = [0, 0, 1, 1, 2, 2]
MAKERS = {
    "regec": lambda: ReGEC(),
    "ridge": lambda: ReGEC(0.1, regularization="ridge"),
    "gepsvm": lambda: GEPSVM(0.1),
    "bare": lambda: GEPSVM(0.0),
    "views": lambda: MultiviewCCA(2, groups=GROUPS),
    "ridges": lambda: MultiviewCCA(2, alpha=[0.5, 2.0, 0.0], groups=GROUPS),
}
PLANES = ("regec", "ridge", "gepsvm", "bare")
FITTED = ("coef_", "intercept_", "components_", "mean_", "eigenvalues_")


def _data(name, rng, kind="dense", k=3):
    shared = rng.normal(size=(N, 1))
    X = rng.normal(size=(N, D)) + 3.0 + shared * [1, 0, 1, 0, 1, 0]
    y = np.arange(N) % k
    X[:, 1] += 2.0 * y
    if kind == "sparse":
        X = sparse.csr_array(X * (rng.random(X.shape) < 0.6))
    if kind == "float32":
        X = X.astype(np.float32)
    return X, y if name in PLANES else None


def _take(y, rows):
    return None if y is None else y[rows]


def _close(model, whole, tol=1e-10):
    for name in FITTED:
        if hasattr(whole, name):
            mine, theirs = getattr(model, name), getattr(whole, name)
            if name in ("coef_", "intercept_"):  # a plane has two normals
                mine, theirs = np.abs(mine), np.abs(theirs)
            np.testing.assert_allclose(mine, theirs, rtol=tol, atol=tol, err_msg=name)


def _fed(name, X, y, w=None, cuts=(1, 40, 90), **how):
    model, classes = MAKERS[name](), None if y is None else np.unique(y)
    for rows in np.split(np.arange(N), cuts):
        model.partial_fit(X[rows], _take(y, rows), _take(w, rows), classes=classes, **how)
    return model


@pytest.mark.parametrize("weights", ["none", "counts", "shares"])
@pytest.mark.parametrize("small", [False, True], ids=["rows", "factor"])
@pytest.mark.parametrize("name", MAKERS)
def test_batches_give_the_model_of_all_rows(name, small, weights, rng, monkeypatch):
    if small:
        monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
    X, y = _data(name, rng)
    factor = {"none": None, "counts": 1.0, "shares": 0.37}[weights]
    w = None if factor is None else rng.integers(1, 4, N) * factor
    model, whole = _fed(name, X, y, w), MAKERS[name]().fit(X, y, w)
    _close(model, whole)
    if y is not None:
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))
        np.testing.assert_allclose(model.distances(X), whole.distances(X), atol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("name", MAKERS)
def test_blocks_give_the_model_of_all_rows(name, kind, k, rng):
    X, y = _data(name, rng, kind, k)
    part = (X,) if y is None else (X, y)
    model = MAKERS[name]().fit(RowBlocks.from_arrays([part], block_bytes=1500))
    whole = MAKERS[name]().fit(X, y)
    _close(model, whole, 2e-3 if kind == "float32" else 1e-10)
    assert model.eigenvalues_.dtype == whole.eigenvalues_.dtype
    assert "_intake_" not in vars(model)


@pytest.mark.parametrize("name", MAKERS)
def test_two_sites(name, rng):
    X, y = _data(name, rng)
    classes = None if y is None else range(3)
    halves = (slice(0, None, 2), slice(1, None, 2))
    left, right = (
        MAKERS[name]().partial_fit(X[rows], _take(y, rows), classes=classes) for rows in halves
    )
    _close(left.merge(right), MAKERS[name]().fit(X, y))


@pytest.mark.parametrize("name", MAKERS)
def test_forgetting_is_weighing(name, rng):
    X, y = _data(name, rng)
    w = np.exp2(-np.arange(N - 1.0, -1.0, -1.0) / 30)
    _close(_fed(name, X, y, half_life=30), MAKERS[name]().fit(X, y, w), 1e-9)


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_stored_goes_on(name, tmp_path, rng):
    X, y = _data(name, rng)
    state, classes = tmp_path / "state.ek", {} if y is None else {"classes": [0, 1, 2]}
    for position, rows in enumerate((slice(0, 70), slice(70, N))):
        with Stream(MAKERS[name](), state) as stream:
            assert stream.update(X[rows], _take(y, rows), position=position, **classes)
    _close(stream.estimator, MAKERS[name]().fit(X, y))


def test_lists_of_views_stream_and_are_stored(rng):
    X, _ = _data("views", rng)
    views = [X[:, [0, 1]], X[:, [2, 3]], X[:, [4, 5]]]
    model = MultiviewCCA(2)
    for rows in np.split(np.arange(N), [1, 70]):
        model.partial_fit([view[rows] for view in views])
    arrays: list = []
    again = from_tree(to_tree(model, arrays), arrays)
    for each in (model, again):
        _close(each, MAKERS["views"]().fit(X))
        np.testing.assert_allclose(each.transform(views), model.transform(views))
    with pytest.raises(ValueError, match="2 views, but fit was given 3"):
        model.partial_fit(views[:2])


def test_the_bits_do_not_depend_on_threads(rng, monkeypatch):
    X, y = _data("regec", rng)
    blocks = RowBlocks.from_arrays([(X, y)], block_bytes=700)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr("eigenkit.data.passes.available", lambda threads=threads: threads)
        found.append(ReGEC().fit(blocks).coef_)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("make", [ReGEC, GEPSVM])
def test_wide_sparse_blocks_are_only_multiplied_with(make, weights, rng, monkeypatch):
    monkeypatch.setattr("eigenkit.estimators._planes.LARGE_ORDER", 30)
    monkeypatch.setattr("eigenkit.numerics.costs.DENSE_LIMIT_BYTES", 0)
    X = sparse.random_array((N, 60), density=0.2, rng=rng, format="csr")
    y = np.arange(N) % 3
    w = rng.integers(1, 4, N).astype(float) if weights else None
    rows = [slice(0, 50), slice(50, 51), slice(51, N)]
    parts = [(X[r], y[r]) if w is None else (X[r], y[r], w[r]) for r in rows]
    model, whole = make(1.0).fit(RowBlocks.from_arrays(parts)), make(1.0).fit(X, y, w)
    assert whole.n_iter_ == model.n_iter_ > 1
    _close(model, whole, 1e-8)


def test_what_cannot_be_solved_yet_says_why(rng):
    X, y = _data("regec", rng)
    model = ReGEC().partial_fit(X[:9:3], y[:9:3], classes=[0, 1, 2])
    assert not hasattr(model, "coef_")
    with pytest.raises(NotFittedError, match="no row of the class 1 has arrived"):
        model.predict(X)
    with pytest.raises(ValueError, match="which the model does not know"):
        model.partial_fit(X, y + 1)
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.5


def test_what_needs_all_samples_has_no_stream(rng):
    X, y = _data("regec", rng)
    for model, why in (
        (ReGEC(kernel="rbf"), "for kernel='linear'"),
        (GEPSVM(probability=True), "for probability=False"),
    ):
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError) as caught:
            model.partial_fit(X, y)
        assert why in str(caught.value.__cause__)
        with pytest.raises(TypeError, match=f"needs all samples at once: .* {why}"):
            model.fit(RowBlocks.from_arrays([(X, y)]))


def test_constant_features_are_left_out(rng):
    X, y = _data("regec", rng)
    X[:, 3] = 0.1
    X[y == 0, 4] = 7.3  # one class lies on a plane
    model, whole = _fed("regec", X, y), ReGEC().fit(X, y)
    np.testing.assert_allclose(model.distances(X), whole.distances(X), atol=1e-7)
    without = ReGEC().fit(np.delete(X, 3, axis=1), y)
    np.testing.assert_allclose(
        whole.distances(X), without.distances(np.delete(X, 3, axis=1)), atol=1e-9
    )
    with pytest.raises(NotFittedError, match="zero variance"):
        _fed("regec", np.full((N, 2), 0.1), y).predict(np.ones((1, 2)))


def test_sums_that_do_not_fit_are_refused(rng, monkeypatch):
    X, y = _data("regec", rng)
    monkeypatch.setattr("eigenkit.moments.stream.STREAM_LIMIT_BYTES", 100)
    with pytest.raises(ValueError, match=r"the sums of 3 classes take .* use fewer features"):
        ReGEC().partial_fit(X, y)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("make", [ReGEC, GEPSVM])
def test_few_rows_of_many_columns_have_the_planes_of_memory(make, weights, rng, monkeypatch):
    """What is regularized by itself depends on the rows, not on how they come."""
    monkeypatch.setattr("eigenkit.estimators._planes.LARGE_ORDER", N)
    monkeypatch.setattr("eigenkit.numerics.costs.DENSE_LIMIT_BYTES", 0)
    X = sparse.random_array((N, N + 50), density=0.2, rng=rng, format="csr")
    y = np.arange(N) % 3
    w = rng.integers(1, 4, N).astype(float) if weights else np.ones(N)
    blocks = RowBlocks.from_arrays([(X[r], y[r], w[r]) for r in (slice(0, 50), slice(50, N))])
    model, whole = make(1e-3).fit(blocks), make(1e-3).fit(X, y, w)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, atol=1e-12)
    _close(model, whole, 1e-8)
