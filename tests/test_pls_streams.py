"""The PLS family from rows as they come, from several sites, and from blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from eigenkit import PLSDA, PLSSVD, SIMPLS, PLSCanonical, PLSRegression, RowBlocks, Stream

MAKERS = {
    "pls": lambda: PLSRegression(2),
    "nipals": lambda: PLSRegression(2, algorithm="nipals", tol=1e-14),
    "unscaled": lambda: PLSRegression(2, scale=False),
    "simpls": lambda: SIMPLS(2),
    "canonical": lambda: PLSCanonical(2),
    "svd": lambda: PLSSVD(2),
    "plsda": lambda: PLSDA(2),
    "reduced": lambda: PLSDA(2, coding="reduced"),
    "between": lambda: PLSDA(2, coding="between"),
}
DA = ("plsda", "reduced", "between")
N = 200


def _data(name, rng, kind="dense"):
    X = rng.normal(size=(N, 6)) + 3.0
    if kind == "sparse":
        X = X * (rng.random(X.shape) < 0.5)
    y = (
        np.arange(N) % 3
        if name in DA
        else X[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(N, 2))
    )
    return sparse.csr_array(X) if kind == "sparse" else X, y


def _close(model, whole, X):
    names = ["x_mean_", "x_std_", "y_mean_", "x_weights_", "x_rotations_", "coef_", "intercept_"]
    names += ["y_weights_", "y_rotations_", "y_loadings_", "_score_whitener_"]
    for name in [*names, "x_explained_variance_ratio_", "y_explained_variance_ratio_"]:
        if hasattr(whole, name):
            mine, theirs = getattr(model, name), getattr(whole, name)
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(model.transform(X), whole.transform(X), atol=1e-9)


@pytest.mark.parametrize("weights", ["none", "counts", "shares"])
@pytest.mark.parametrize("small", [False, True], ids=["rows", "factor"])
@pytest.mark.parametrize("name", MAKERS)
def test_batches_give_the_model_of_all_rows(name, small, weights, rng, monkeypatch):
    if small:
        monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
    X, y = _data(name, rng)
    factor = {"none": None, "counts": 1.0, "shares": 0.37}[weights]
    w = None if factor is None else rng.integers(1, 4, N) * factor
    model = MAKERS[name]()
    for rows in np.split(np.arange(N), [1, 40, 90]):
        classes = [0, 1, 2] if name in DA else None
        part = None if w is None else w[rows]
        model.partial_fit(X[rows], y[rows], part, classes=classes)
    whole = MAKERS[name]().fit(X, y, w)
    _close(model, whole, X)
    if hasattr(whole, "predict"):
        np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-9, atol=1e-9)
    with pytest.raises(AttributeError, match="use transform"):
        model.x_scores_


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", MAKERS)
def test_blocks_give_the_model_of_all_rows(name, kind, rng):
    if name == "nipals" and kind == "sparse":
        pytest.skip("NIPALS deflates X, and refuses sparse X")
    X, y = _data(name, rng, kind)
    model = MAKERS[name]().fit(RowBlocks.from_arrays([(X, y)], block_bytes=1500))
    _close(model, MAKERS[name]().fit(X, y), X)


@pytest.mark.parametrize("name", MAKERS)
def test_two_sites(name, rng):
    X, y = _data(name, rng)
    classes = [0, 1, 2] if name in DA else None
    left, right = (MAKERS[name]().partial_fit(X[i::2], y[i::2], classes=classes) for i in (0, 1))
    _close(left.merge(right), MAKERS[name]().fit(X, y), X)


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


def test_a_stream_of_pls_survives(tmp_path, rng):
    X, y = _data("pls", rng)
    state = tmp_path / "state.ek"
    with Stream(PLSRegression(2), state) as stream:
        stream.update(X[:90], y[:90], position=0)
    with Stream(PLSRegression(2), state) as stream:
        assert stream.position == 0
        stream.update(X[90:], y[90:], position=1)
    _close(stream.estimator, PLSRegression(2).fit(X, y), X)


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
