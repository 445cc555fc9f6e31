"""Kernel matrices for the classifiers by planes: names, callables, precomputed."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from eigenkit.linalg import Array, power_of_two

# Entries of a precomputed kernel may differ from their mirror image by this, relatively.
ASYMMETRY = 1e-8


def check_kernel_parameters(model: Any) -> None:
    """Refuse what no kernel takes, before any data are looked at."""
    kernel, gamma = model.kernel, model.gamma
    known = ("precomputed", *sorted(PAIRWISE_KERNEL_FUNCTIONS))
    if not callable(kernel) and kernel not in known:
        names = ", ".join(repr(name) for name in known)
        raise ValueError(f"kernel={kernel!r} is not known: give a function or one of {names}.")
    fine = isinstance(gamma, numbers.Real) and not isinstance(gamma, bool | np.bool_)
    if gamma is not None and not (fine and 0 < float(gamma) < np.inf):
        raise ValueError(f"gamma={gamma!r} is not valid: give a positive number, or None.")


def gram(model: Any, X: Any, C: Any) -> Array:
    """K(X, C) as a float64 matrix of finite numbers."""
    if model.kernel == "rbf" and not sparse.issparse(X) and not sparse.issparse(C):
        return gaussian(X, C, model.gamma)
    if callable(model.kernel):
        K = _called(model, X, C)
    else:
        parameters = {"gamma": model.gamma, "degree": model.degree, "coef0": model.coef0}
        K = pairwise_kernels(X, C, metric=model.kernel, filter_params=True, **parameters)
    K = np.asarray(K, dtype=np.float64)
    if not np.isfinite(K.sum()):
        raise ValueError(f"kernel={model.kernel!r} gives NaN or infinity on these data: scale X.")
    return K


def _called(model: Any, X: Any, C: Any) -> Any:
    """A callable maps two samples to a number, or two matrices of samples to a matrix."""
    parameters = model.kernel_params or {}
    try:
        K = np.asarray(model.kernel(X, C, **parameters), dtype=np.float64)
    except (TypeError, ValueError, IndexError):
        K = np.empty(0)
    if K.shape == (X.shape[0], C.shape[0]):
        return K
    try:
        return pairwise_kernels(X, C, metric=model.kernel, **parameters)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"kernel={model.kernel!r} gives neither a number for two samples nor a matrix of "
            f"shape {(X.shape[0], C.shape[0])} for two matrices of samples."
        ) from error


def gaussian(X: Array, C: Array, gamma: float | None) -> Array:
    """exp(-gamma |x - c|^2), with gamma = 1 / n_features by default.

    Distances are taken around the mean of C, so that a common offset costs no digits.
    """
    center = C.mean(axis=0, dtype=np.float64)
    same = C is X
    X = X - center
    C = X if same else C - center
    gamma = 1.0 / X.shape[1] if gamma is None else float(gamma)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        K = X @ (2 * gamma * C.T)
        K -= gamma * np.einsum("ij,ij->i", X, X)[:, None]
        K -= gamma * np.einsum("ij,ij->i", C, C)
        if not np.isfinite(K.sum()):
            K = -_scaled_distances(X, C, gamma)
        np.minimum(K, 0.0, out=K)
        return np.exp(K, out=K)


def _scaled_distances(X: Array, C: Array, gamma: float) -> Array:
    """gamma |x - c|^2 where squares of the numbers overflow: 0 and infinity stay right."""
    unit = float(power_of_two(max(np.abs(X).max(), np.abs(C).max())))
    D = cdist(X / unit, C / unit, "sqeuclidean")
    for factor in (unit, unit, gamma):
        D *= factor
    return np.asarray(D)


def check_square(K: Array) -> None:
    """A precomputed kernel between the training samples must be square and symmetric."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"X has shape {K.shape}, but with kernel='precomputed' it is the square matrix of "
            "kernel values between the training samples."
        )
    if np.max(np.abs(K - K.T), initial=0.0) > ASYMMETRY * np.max(np.abs(K), initial=0.0):
        raise ValueError("X is not symmetric, as a kernel between the training samples must be.")
