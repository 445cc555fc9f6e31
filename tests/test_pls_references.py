"""Agreement with R's pls; tests/references/pls.R made the numbers, and says how."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from eigenkit import SIMPLS, PLSRegression, PLSRegressionCV

R = json.loads((Path(__file__).parent / "references" / "pls.json").read_text())


def _data():
    i, j = np.mgrid[1:16, 1:7]
    X = np.sin(i * j) + np.cos(3 * i + j) * j
    s = np.arange(1, 16)
    Y = np.column_stack([X[:, 0] - X[:, 2] + np.sin(s), 2 * X[:, 1] + np.cos(s), np.sin(2 * s)])
    return X, Y


def _array(name, *shape):
    return np.reshape(R[name], shape, order="F")


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("method", ["kernelpls", "oscorespls", "simpls", "widekernelpls"])
def test_coefficients_for_every_number_of_components(method, scaled):
    cls = SIMPLS if method == "simpls" else PLSRegression
    model = cls(4, scale=(scaled, False)).fit(*_data())
    expected = _array(f"{method}_{'scaled' if scaled else 'plain'}", 6, 3, 4)
    # Two of R's methods iterate, and stop after a relative change of about 1e-9.
    rtol = 1e-7 if method in ("oscorespls", "widekernelpls") else 1e-10
    path = model.coef_path_ * model.x_std_
    np.testing.assert_allclose(path.transpose(2, 1, 0), expected, rtol=rtol, atol=rtol)


def test_weights_loadings_and_variance():
    model = PLSRegression(4, scale=False).fit(*_data())
    weights, loadings = _array("loading_weights", 6, 4), _array("loadings", 6, 4)
    sign = np.sign(np.sum(weights * model.x_weights_, axis=0))
    np.testing.assert_allclose(model.x_weights_ * sign, weights, atol=1e-12)
    np.testing.assert_allclose(model.x_loadings_ * sign, loadings, atol=1e-11)
    np.testing.assert_allclose(100 * model.x_explained_variance_ratio_, R["x_variance"])


def test_cross_validation():
    X, Y = _data()
    folds = [(np.r_[0 : 3 * i, 3 * i + 3 : 15], np.r_[3 * i : 3 * i + 3]) for i in range(5)]
    model = PLSRegressionCV(4, cv=folds, scale=False).fit(X, Y[:, 0])
    np.testing.assert_allclose(3 * model.fold_errors_.sum(axis=0)[1:], R["press"])


@pytest.mark.skipif("EIGENKIT_DATA" not in os.environ, reason="needs EIGENKIT_DATA")
def test_spectra():
    folder = Path(os.environ["EIGENKIT_DATA"])
    gas = np.load(folder / "gasoline.npz", allow_pickle=False)
    model = PLSRegression(10, scale=False).fit(gas["X"], gas["y"])
    ours = [model.predict(gas["X"][:5], n_components=l) for l in (2, 5, 10)]
    np.testing.assert_allclose(np.ravel(ours), R["gasoline_fitted"], rtol=1e-9)
    yarn = np.load(folder / "yarn.npz", allow_pickle=False)
    train, test = np.ravel(yarn["train"]), np.ravel(yarn["test"])
    model = PLSRegression(6, scale=False).fit(yarn["X"][train], yarn["y"][train])
    np.testing.assert_allclose(model.predict(yarn["X"][test]), R["yarn_predicted"], rtol=1e-8)
