"""Correlations of features with scores, under any weights of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.linalg import Array, power_of_two
from eigenkit.tolerances import EPS

# Columns of sparse X whose mean exceeds this many deviations are centred before they are
# multiplied: subtracting means from products costs the square of it in relative accuracy.
OFFSET = 10.0

# A feature that keeps no more than this share of its squares about its mean is constant.
CONSTANT = 1e-12


class Features:
    """The features of a table, in units of the order of 1 and dense ones centred.

    Sparse features stay sparse unless their mean is large.
    """

    def __init__(self, X: Any) -> None:
        self.shape = X.shape
        self.far = _far(X) if sparse.issparse(X) else np.ones(X.shape[1], dtype=bool)
        self.dense = _centered(X[:, self.far])
        self.near = _in_units(X[:, ~self.far]) if sparse.issparse(X) else None

    def correlations(self, T: Array, weight: Array) -> Array:
        """Weighted correlations of every feature with the columns of T."""
        T = T - weight @ T / weight.sum()
        size = np.sqrt(weight @ T**2)
        T = T * weight[:, None] / np.where(size > 0, size, 1.0)
        out = np.empty((self.shape[1], T.shape[1]))
        out[self.far] = _divided(self.dense.T @ T, self.dense, weight)
        if self.near is not None:
            out[~self.far] = _divided(self.near.T @ T, self.near, weight)
        return out


def _centered(X: Any) -> Array:
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    X = X / power_of_two(np.abs(X).max(axis=0, initial=0.0))
    X -= X.mean(axis=0, keepdims=True)
    X[:, np.abs(X).max(axis=0, initial=0.0) <= 8 * EPS] = 0.0  # constant but for rounding
    return np.asarray(X)


def _in_units(X: Any) -> Any:
    X = sparse.csc_array(X, dtype=np.float64)
    unit = power_of_two(np.asarray(abs(X).max(axis=0).toarray()).ravel())
    X.data /= np.repeat(unit, np.diff(X.indptr))
    return X


def _far(X: Any) -> np.ndarray:
    """Columns whose mean exceeds OFFSET deviations: their squares would lose digits to it."""
    X = _in_units(X)
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray(X.power(2).mean(axis=0)).ravel()
    return np.asarray(mean**2 * (1 + OFFSET**-2) > square)


def _divided(cross: Array, X: Any, weight: Array) -> Array:
    """Cross products divided by the length of each feature; 0 where it is constant."""
    raw = np.asarray(X.power(2).T @ weight if sparse.issparse(X) else weight @ X**2)
    squares = raw - (X.T @ weight) ** 2 / weight.sum()
    varies = squares > CONSTANT * raw
    root = np.sqrt(np.where(varies, squares, 1.0))
    return np.where(varies, 1.0 / root, 0.0)[:, None] * cross
