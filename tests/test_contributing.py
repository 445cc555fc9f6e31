"""The examples of CONTRIBUTING are code that works: a kind of data, a target, an estimator."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from eigenkit.data import Centered
from eigenkit.pencil import Pencil
from eigenkit.solvers import Settings, solve
from eigenkit.targets import TARGETS

GUIDE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def examples():
    before = dict(TARGETS)
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL):
        exec(compile(block, "CONTRIBUTING.md", "exec"), scope)
    yield scope
    TARGETS.clear()
    TARGETS.update(before)


def test_the_kind_of_data_is_solved_like_the_others(examples):
    rng = np.random.default_rng(0)
    X, H = rng.normal(size=(40, 6)) + 1.0, rng.normal(size=(40, 2))
    settings = Settings(regression="lsqr", tol=1e-12)
    found = [
        solve(Pencil.state(data, H, 0.5), settings)
        for data in (examples["Products"](aslinearoperator(X)), Centered(X))
    ]
    np.testing.assert_allclose(found[0].eigenvalues, found[1].eigenvalues, rtol=1e-10)
    np.testing.assert_allclose(np.abs(found[0].W), np.abs(found[1].W), rtol=1e-7)


def test_the_target_and_the_estimator_fit_streams_and_samples_alike(examples):
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(60, 5)), (rng.random((60, 3)) < 0.3).astype(float)
    whole = examples["RareLabels"]().fit(X, Y)
    stream = examples["RareLabels"]().partial_fit(X[:25], Y[:25]).partial_fit(X[25:], Y[25:])
    np.testing.assert_allclose(whole.transform(X), stream.transform(X), rtol=1e-8, atol=1e-10)
    # H H' is what the target says, and the first component is the direction that it asks for.
    Hc = Y / Y.sum(axis=0) - (Y / Y.sum(axis=0)).mean(axis=0)
    Xc = X - X.mean(axis=0)
    A, B = Xc.T @ Hc @ Hc.T @ Xc, Xc.T @ Xc + np.eye(5)
    w = whole.components_[0]
    np.testing.assert_allclose(A @ w, whole.eigenvalues_[0] * (B @ w), rtol=1e-8, atol=1e-12)
