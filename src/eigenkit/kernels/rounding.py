"""How far the rounding of samples moves their features, and so which eigenvalues it may explain.

Every number x is off by up to ``step`` |x|, so that a sample moves by up to d with
|d| = step |x|. Its features move by the root of

    k(x, x) + k(x + d, x + d) - 2 k(x, x + d)

which is known for the kernels that have a name. Eigenvalues of the kernel matrix up to the square
of the norm of all these moves are rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.kernels.functions import Kernel
from eigenkit.linalg import Array
from eigenkit.tolerances import grain, precision, step


def rounding(kernel: Kernel, X: Any, K: Array, weight: Array) -> float:
    """Eigenvalues of the weighted kernel matrix K of the samples X that may be their rounding.

    Zero where nothing is known of the kernel, or where squares of X leave floating point.
    """
    if not isinstance(kernel.kernel, str):
        return 0.0
    X, eps = kernel._seen(X), precision(X)
    X = X.astype(np.float64, copy=False)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        found, name = _bound(kernel, X, weight, eps), kernel.kernel
        if name in ("rbf", "chi2", "laplacian") and found > eps * len(K):
            # Else the kernel's own rounding is larger.
            found = min(found, _change(K, weight, found, 1.0 if name == "laplacian" else 0.5))
    return float(found) if np.isfinite(found) else 0.0


def _bound(kernel: Kernel, X: Any, weight: Array, eps: float) -> float:
    """The square of the norm of all moves, from above."""
    if kernel.kernel in ("linear", "rbf"):
        # The features are the samples themselves, or at a distance of as much.
        widen = 1.0 if kernel.kernel == "linear" else 2 * kernel.gamma
        return float(widen * np.max(grain(weight @ _squared(X), len(weight), eps)) ** 2)
    # Their sum is far above the norm: half of the step is enough. Those of the Laplacian kernel
    # are in directions of their own, as the steps of a random walk are.
    moves = weight * _moves(kernel, X, step(eps) / 2)
    return float(np.max(moves) if kernel.kernel == "laplacian" else np.sum(moves))


def _change(K: Array, weight: Array, square: float, power: float) -> float:
    """How much K = exp(-u) changes, as a matrix, where features move so far: u is then known.

    The root of u (``power`` 0.5), or u itself, changes by no more than features move: samples that
    are far apart stay so.
    """
    u = -np.log(np.maximum(K, np.finfo(np.float64).tiny))
    change = K * (np.sqrt(square / weight.sum() * u) * 2 if power == 0.5 else square)
    np.fill_diagonal(change, 0.0)
    root = np.sqrt(weight)
    return float(np.linalg.norm(change * root * root[:, None]))


def _moves(kernel: Kernel, X: Any, step: float) -> Array:
    """The squares of how far the features of every sample may move."""
    name, gamma = kernel.kernel, kernel.gamma
    if name == "cosine":
        return np.full(X.shape[0], step**2)
    if name == "laplacian":
        return np.asarray(2 * gamma * step * _sums(abs(X)))
    if name in ("chi2", "additive_chi2"):
        return np.asarray((gamma if name == "chi2" else 1.0) * step**2 * _sums(abs(X)))
    squares = _sums(_squared(X))
    inner = gamma * squares + kernel.coef0
    if name == "sigmoid":
        value = np.tanh(inner)
        slope, bend = 1 - value**2, 2 * np.abs(value) * (1 - value**2)
    else:
        p = kernel.degree
        slope, bend = p * np.abs(inner) ** (p - 1), p * abs(p - 1) * np.abs(inner) ** (p - 2)
    return np.asarray((gamma * slope + gamma**2 * squares * bend) * step**2 * squares)


def _squared(X: Any) -> Any:
    return X.multiply(X) if sparse.issparse(X) else X * X


def _sums(X: Any) -> Array:
    return np.asarray(X.sum(axis=1)).ravel()
