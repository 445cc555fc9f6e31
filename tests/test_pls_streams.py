"""What needs only sums over the rows: from rows as they come, from several sites, from blocks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from conftest import some_of
from eigenkit import (
    PLSDA,
    PLSSVD,
    RGCCA,
    SIMPLS,
    BayesianCCA,
    MultiviewCCA,
    OrthogonalPLS,
    PLSCanonical,
    PLSRegression,
    ProbabilisticCCA,
    RowBlocks,
    ShrinkageRegression,
    SparseCCA,
    SparsePLS,
    SparsePLSDA,
    Stream,
)

VIEWS = {"groups": [0, 0, 0, 1, 1, 1]}
FEW = {"keep_x": 3, "keep_y": 1, "tol": 1e-13}
MAKERS = {
    "pls": lambda: PLSRegression(2),
    "nipals": lambda: PLSRegression(2, algorithm="nipals", tol=1e-14),
    "unscaled": lambda: PLSRegression(2, scale=False),
    "simpls": lambda: SIMPLS(2),
    "canonical": lambda: PLSCanonical(2),
    "svd": lambda: PLSSVD(2),
    "orthogonal": lambda: OrthogonalPLS(2, n_orthogonal=2),
    "sparse": lambda: SparsePLS(2, keep_x=3, tol=1e-13),
    "sparse canonical": lambda: SparsePLS(2, penalty_x=0.4, mode="canonical", tol=1e-13),
    "pmd": lambda: SparseCCA(2, method="pmd", **FEW),
    "alternating": lambda: SparseCCA(2, method="alternating", **FEW),
    "greedy": lambda: SparseCCA(2, method="greedy", **FEW),
    "lasso": lambda: SparseCCA(2, method="least_squares", scale=False, **FEW),
    "probabilistic": lambda: ProbabilisticCCA("bic", alpha=0.5),
    "likelihood": lambda: ProbabilisticCCA(2, alpha=0.0),
    "bayesian": lambda: BayesianCCA(1),
    "views": lambda: MultiviewCCA(2, **VIEWS),
    "blocks": lambda: RGCCA(2, tau=0.5, **VIEWS),
    "blocks with y": lambda: RGCCA(2, design=0.3, **VIEWS),
    "blocks with classes": lambda: RGCCA(2, **VIEWS),
    "ols": lambda: ShrinkageRegression("ols"),
    "krylov": lambda: ShrinkageRegression("pls", n_components=3),
    "plsda": lambda: PLSDA(2),
    "reduced": lambda: PLSDA(2, coding="reduced"),
    "between": lambda: PLSDA(2, coding="between"),
    "sparse plsda": lambda: SparsePLSDA(2, keep_x=4, tol=1e-13),
}
DA = ("plsda", "reduced", "between", "sparse plsda", "blocks with classes")
NO_Y = ("views", "blocks")
N = 200


def _data(name, rng, kind="dense"):
    X = rng.normal(size=(N, 6)) + 3.0
    if kind == "sparse":
        X = X * (rng.random(X.shape) < 0.5)
    if name in DA:
        y = np.array(["a", "b", "c"])[np.arange(N) % 3]
        X[:, 1] += np.arange(N) % 3
    else:
        y = X[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(N, 2))
        y = y[:, 0] if name in ("ols", "krylov") else y
    return sparse.csr_array(X) if kind == "sparse" else X, None if name in NO_Y else y


def _parts(*given, cuts=(1, 40, 90)):
    """Some rows of all that is given."""
    for rows in np.split(np.arange(N), cuts):
        yield tuple(None if A is None else A[rows] for A in given)


def _fed(name, parts):
    model, known = MAKERS[name](), {"classes": ["a", "b", "c"]} if name in DA else {}
    for part in parts:
        model.partial_fit(*part, **known)
    return model


def _close(model, whole, X):
    """All that a fit finds, but for what has one entry per row, and how long it took."""
    for name, value in vars(whole).items():
        if name.endswith("_") and name not in ("x_scores_", "y_scores_", "n_iter_", "classes_"):
            if not isinstance(value, np.ndarray | float) or value is whole._dtype_:
                continue
            np.testing.assert_allclose(
                getattr(model, name), value, rtol=1e-8, atol=1e-10, err_msg=name
            )
    for method in ("transform", "predict"):
        if hasattr(whole, method) and not hasattr(whole, "classes_"):
            found, right = getattr(model, method)(X), getattr(whole, method)(X)
            np.testing.assert_allclose(found, right, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("name", "weights"), some_of(MAKERS, ["none", "counts", "shares"]))
def test_batches_give_the_model_of_all_rows(name, weights, rng, monkeypatch):
    if weights != "none":  # and rows are put into the factor early
        monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
    X, y = _data(name, rng)
    factor = {"none": None, "counts": 1.0, "shares": 0.37}[weights]
    w = None if factor is None else rng.integers(1, 4, N) * factor
    model = _fed(name, _parts(X, y, w))
    whole = MAKERS[name]().fit(X, y, w)
    _close(model, whole, X)
    if hasattr(whole, "x_scores_"):
        with pytest.raises(AttributeError, match="use transform"):
            model.x_scores_


@pytest.mark.parametrize(("name", "kind"), some_of(MAKERS, ["dense", "sparse", "float32"], every=2))
def test_blocks_give_the_model_of_all_rows(name, kind, rng):
    if name == "nipals" and kind == "sparse":
        pytest.skip("NIPALS deflates X, and refuses sparse X")
    X, y = _data(name, rng, kind)
    w = rng.integers(0, 3, N).astype(float)
    if kind == "float32":  # sums are in double precision, whatever the rows are in
        X = X.astype(np.float32)
        model = MAKERS[name]().fit(RowBlocks.from_arrays(list(_parts(X, y, w))))
        assert vars(model)[model._last_result] is not None
        scores = model.transform(X) if hasattr(model, "transform") else model.predict(X)
        assert np.asarray(scores).dtype == np.float32
        return
    model = MAKERS[name]().fit(RowBlocks.from_arrays(list(_parts(X, y, w))))
    _close(model, MAKERS[name]().fit(X, y, w), X)


@pytest.mark.parametrize("name", MAKERS)
def test_two_sites(name, rng):
    X, y = _data(name, rng)
    left, right = (_fed(name, [(X[i::2], None if y is None else y[i::2])]) for i in (0, 1))
    _close(left.merge(right), MAKERS[name]().fit(X, y), X)


@pytest.mark.parametrize("name", MAKERS)
def test_threads_do_not_change_the_bits(name, rng, monkeypatch):
    X, y = _data(name, rng)
    blocks = RowBlocks.from_arrays(list(_parts(X, y, cuts=range(9, N, 30))))
    found = []
    for threads in (1, 4):
        monkeypatch.setattr("eigenkit.data.passes.available", lambda n=threads: n)
        model = MAKERS[name]().fit(blocks)
        scores = model.transform(X) if hasattr(model, "transform") else model.predict(X)
        found.append(np.asarray(scores).tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("make", [MAKERS["likelihood"], MAKERS["bayesian"]])
def test_rows_with_gaps_are_for_a_fit_of_all_rows(make, rng):
    X, y = _data("likelihood", rng)
    holed, missing = X.copy(), y.copy()
    holed[50, 1] = missing[50, 1] = np.nan
    for A, B, name in ((holed, y, "X"), (X, missing, "y")):
        with pytest.raises(ValueError, match=f"block 2 of X cannot be read: {name} contains NaN"):
            make().fit(RowBlocks.from_arrays(list(_parts(A, B))))
        model = make().partial_fit(X, y)
        with pytest.raises(ValueError, match=f"{name} contains NaN"):
            model.partial_fit(A, B)
        np.testing.assert_allclose(model.mean_, make().fit(X, y).mean_)


def test_views_with_y_in_some_batches_only_are_refused(rng):
    X, y = _data("blocks with y", rng)
    model = RGCCA(2, **VIEWS).partial_fit(X, y)
    with pytest.raises(ValueError, match="y has 0 columns, the first batch had 2"):
        model.partial_fit(X)
    with pytest.raises(ValueError, match="y has 0 columns, the first batch had 2"):
        RGCCA(2, **VIEWS).fit(RowBlocks.from_arrays([(X, y), X]))


def test_forgetting_is_weighing(rng):
    X, y = _data("pls", rng)
    model = PLSRegression(2)
    for rows in np.split(np.arange(N), [50, 120]):
        model.partial_fit(X[rows], y[rows], half_life=30)
    w = np.exp2(-np.arange(N - 1.0, -1.0, -1.0) / 30)
    whole = PLSRegression(2, scale=False).fit(X, y, w)
    model.set_params(scale=False)
    np.testing.assert_allclose(
        PLSRegression(2, scale=False).merge(model).coef_, whole.coef_, rtol=1e-9
    )


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_forgetting_is_weighing_for_densities(alpha, rng):
    X, y = _data("likelihood", rng)
    model = ProbabilisticCCA(2, alpha=alpha)
    for rows in np.split(np.arange(N), [50, 120]):
        model.partial_fit(X[rows], y[rows], half_life=30)
    w = np.exp2(-np.arange(N - 1.0, -1.0, -1.0) / 30)
    whole = ProbabilisticCCA(2, alpha=alpha).fit(X, y, w)
    for name in ("canonical_correlations_", "x_loadings_", "x_noise_covariance_"):
        np.testing.assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-8)


@pytest.mark.parametrize("name", MAKERS)
def test_a_stream_survives(name, tmp_path, rng):
    X, y = _data(name, rng)
    state, known = tmp_path / "state.ek", {"classes": ["a", "b", "c"]} if name in DA else {}
    for position, part in enumerate(_parts(X, y)):
        with Stream(MAKERS[name](), state) as stream:
            assert stream.position == (position - 1 if position else None)
            stream.update(*part, position=position, **known)
    _close(stream.estimator, MAKERS[name]().fit(X, y), X)


def test_what_cannot_be_solved_yet_says_why(rng):
    X, y = _data("pls", rng)
    model = PLSRegression(2).partial_fit(X[:1], y[:1])
    with pytest.raises(NotFittedError, match="cannot be solved from the 1 rows"):
        model.predict(X)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("scale", [True, False])
def test_explained_shares_are_shares(kind, scale, rng):
    X, y = _data("pls", rng, kind)
    model = PLSRegression(2, scale=scale).fit(100.0 * X, y)
    dense = X.toarray() if kind == "sparse" else X
    centred = dense - dense.mean(axis=0)
    centred = centred / centred.std(axis=0) if scale else centred
    T = centred @ model.x_rotations_
    P = centred.T @ T / np.sum(T**2, axis=0)
    shares = np.sum(T**2, axis=0) * np.sum(P**2, axis=0) / np.sum(centred**2)
    np.testing.assert_allclose(model.x_explained_variance_ratio_, shares, rtol=1e-9)


@pytest.mark.parametrize("model", [PLSRegression(2), SIMPLS(1), SparsePLS(1), PLSDA(1)])
def test_sides_that_share_nothing_but_rounding_are_refused(model):
    """As in a fit of all rows: the factor of a stream has rounding where X'y has zeros."""
    X = np.repeat([[1.0], [-1.0]], 10, axis=0) * [1.0, 2.0, 3.0]
    y = np.tile([1, 0], 10)
    for rows in (slice(0, 10), slice(10, None)):
        model.partial_fit(X[rows], y[rows], **({"classes": [0, 1]} if "DA" in str(model) else {}))
    with pytest.raises(NotFittedError, match="X and y have nothing in common"):
        model.transform(X)


@pytest.mark.parametrize("cls", [PLSRegression, PLSCanonical])
def test_a_stream_for_nipals_takes_no_gaps(rng, cls):
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    model = cls(1, algorithm="nipals").partial_fit(X, Y)
    before = model.coef_
    holed = np.where(np.arange(4) == 2, np.nan, X)
    with pytest.raises(ValueError, match="X contains NaN"):
        model.partial_fit(holed, Y)
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ValueError, match="X contains NaN"):
        cls(1, algorithm="nipals").fit(RowBlocks(lambda: [(holed, Y)]))
