"""Against fifty digits: nothing squared where it must not be."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from conftest import projector_distance
from eigenkit import CCA, OrthonormalizedPLS


def _ill_conditioned(condition: float, rng: np.random.Generator) -> np.ndarray:
    """Centred X (30 x 5) with singular values from 1 to 1/condition."""
    U = rng.normal(size=(30, 5))
    U, _ = np.linalg.qr(U - U.mean(axis=0))
    V, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    return U * np.geomspace(1, 1 / condition, 5) @ V.T


def _reference(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W of orthonormalized PLS at alpha = 0, Xc W W'Xc'Yc and the eigenvalues, in 50 digits."""
    with mp.workdps(50):
        Xm, Ym = _centered(X), _centered(Y)
        inverse = mp.inverse(mp.cholesky(Xm.T * Xm))
        M = inverse * (Xm.T * Ym)
        values, vectors = mp.eigsy(M * M.T)
        top = sorted(range(len(values)), key=lambda i: -values[i])[: Y.shape[1]]
        W = inverse.T * mp.matrix([[vectors[i, j] for j in top] for i in range(X.shape[1])])
        fitted = Xm * (W * (W.T * (Xm.T * Ym)))
        return _floats(W), _floats(fitted), np.array([float(values[j]) for j in top])


def _centered(A: np.ndarray) -> mp.matrix:
    M = mp.matrix(A.tolist())
    for j in range(M.cols):
        mean = mp.fsum(M[:, j]) / M.rows
        for i in range(M.rows):
            M[i, j] -= mean
    return M


def _floats(M: mp.matrix) -> np.ndarray:
    return np.array(M.tolist(), dtype=float)


@pytest.mark.parametrize(
    ("condition", "bound"), [(1e2, 1e-10), (1e4, 1e-10), (1e6, 1e-10), (1e8, 1e-6)]
)
@pytest.mark.parametrize("solver", ["auto", "direct"])
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.ConditionWarning")
def test_digits_kept(condition, bound, solver, rng):
    """Fitted values and eigenvalues keep their digits.

    W itself is determined by the data only to cond(X) eps: changing the last bit of X moves it
    by as much, and that is what it is held to.
    """
    X = _ill_conditioned(condition, rng)
    Y = np.linalg.qr(rng.normal(size=(30, 2)))[0]
    W0, fitted, values = _reference(X, Y)
    model = OrthonormalizedPLS(alpha=0.0, solver=solver).fit(X, Y)
    np.testing.assert_allclose(model.predict(X) - Y.mean(axis=0), fitted, atol=bound)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=bound)
    limit = max(bound, 20 * condition * np.finfo(float).eps)
    assert projector_distance(model.components_.T, W0) < limit
    cca = CCA(alpha=0.0, solver=solver).fit(X, Y)
    np.testing.assert_allclose(cca.predict(X) - Y.mean(axis=0), fitted, atol=bound)
