"""Kernels as functions of two samples, and how far the rounding of samples changes them.

A kernel is an inner product k(x, z) = phi(x)'phi(z) of features that are never formed. With the
centred features Z of :mod:`eigenkit.data.kernel`, row weights w, r = sqrt(w) and s = sum(w), a
direction Z'A gives a new sample x the score

    (phi(x) - mean)' Z'A = (k(x, X) - w'K/s) diag(r) A        wherever r'A = 0

so that k(x, X) serves as the row of features of x and w'K/s as their mean.

Every number x of a sample is off by up to ``step`` |x|, so that it moves by up to d with
|d| = step |x|. Its features move by the root of

    k(x, x) + k(x + d, x + d) - 2 k(x, x + d)

which is known for the kernels that have a name. Eigenvalues of the kernel matrix up to the square
of the norm of all these moves are rounding (:func:`rounding`).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import sparse

from eigenkit.data import as_dense, check_size, shifted
from eigenkit.numerics.linalg import Array, power_of_two, real_numbers
from eigenkit.numerics.tolerances import grain, precision, step

# Squared lengths of samples, times gamma, from which on their rounding would show in exp(-gamma
# |x - y|^2): then distances are computed from differences.
FAR = 1e5

# Positive semidefinite by construction, for any parameters.
_POSITIVE = {"linear", "rbf", "laplacian", "cosine", "chi2", "additive_chi2"}
_UNIT_DIAGONAL = {"rbf", "laplacian", "chi2"}
_TRANSLATED = {"linear", "rbf"}
#: The kernels that are known by name, those of scikit-learn.
KERNELS = tuple(sorted(_POSITIVE | {"poly", "polynomial", "sigmoid"}))


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters, on all columns of X or on some.

    Parameters
    ----------
    kernel : str or callable
        A name of scikit-learn's ("rbf", "poly", "laplacian", ...), or a function of two sets
        of samples (n x d and m x d) that returns the n x m matrix of inner products, or of two
        samples that returns a number.
    gamma : float or "scale", optional
        For rbf, laplacian, poly, sigmoid and chi2; by default 1 / n_features. "scale" is
        1 / (n_features * X.var()).
    degree, coef0 : float
        For poly and sigmoid.
    params : dict, optional
        Keyword arguments for a callable.
    columns : slice, list of int or mask, optional
        The columns of X that this kernel sees; all by default.
    shift : array, optional
        Subtracted from the samples first: set by :meth:`fitted` where the centred kernel does
        not depend on it, so that a large offset of the data costs no digits.

    Examples
    --------
    >>> import numpy as np
    >>> Kernel("rbf", gamma=0.5, columns=[0])(np.array([[0.0, 9.0], [2.0, 5.0]])).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """

    kernel: Any = "rbf"
    gamma: Any = None
    degree: float = 3
    coef0: float = 1
    params: dict[str, Any] | None = None
    columns: Any = None
    shift: Any = None

    def fitted(self, X: Any, weight: Array | None = None) -> Kernel:
        """This kernel with what it takes from the training data: gamma and shift."""
        X, gamma = self._seen(X), self.gamma
        weight = np.ones(X.shape[0]) if weight is None else weight
        if gamma is None:
            gamma = 1.0 / X.shape[1]
        elif isinstance(gamma, str):
            gamma = _scale_gamma(X, weight)
        # Lists and arrays that the caller may change later are kept as they are now.
        params, columns = deepcopy(self.params), deepcopy(self.columns)
        shift = _shift(X, weight) if self.kernel in _TRANSLATED else None
        return replace(self, gamma=gamma, shift=shift, params=params, columns=columns)

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """The kernel between the rows of X and those of Y (X itself by default), in float64."""
        X = self.prepared(X)
        Y = None if Y is None else self.prepared(Y)
        if callable(self.kernel):
            return _called(self.kernel, X, X if Y is None else Y, self.params or {})
        if self.kernel == "rbf" and not sparse.issparse(X) and not sparse.issparse(Y):
            return gaussian(X, X if Y is None else Y, self.gamma)
        gamma = None if isinstance(self.gamma, str) else self.gamma
        named = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0, "filter_params": True}
        with np.errstate(over="ignore", invalid="ignore"):
            K = sklearn.metrics.pairwise_kernels(X, Y, metric=self.kernel, **named)
        return as_dense(K).astype(np.float64, copy=False)

    def diagonal(self, X: Any) -> Array:
        """k(x, x) for every row of X."""
        if self.kernel in _UNIT_DIAGONAL:
            return np.ones(X.shape[0])
        step = 128
        blocks = (X[start : start + step] for start in range(0, X.shape[0], step))
        return np.concatenate([self(block).diagonal() for block in blocks])

    @property
    def positive(self) -> bool:
        """Whether the centred kernel is positive semidefinite by construction."""
        if self.kernel in ("poly", "polynomial"):
            return float(self.degree).is_integer() and self.coef0 >= 0
        return isinstance(self.kernel, str) and self.kernel in _POSITIVE

    def _seen(self, X: Any) -> Any:
        return X if self.columns is None else X[:, self.columns]

    def prepared(self, X: Any) -> Any:
        """What a named kernel is computed from: its columns of X in float64, less the shift."""
        X = self._seen(X)
        if callable(self.kernel):
            return X
        X = X.astype(np.float64, copy=False)
        if self.shift is None:
            return X
        with np.errstate(over="ignore"):  # what becomes infinite is refused with the kernel
            if sparse.issparse(X):  # little is filled in: most of the columns that move is stored
                return shifted(sparse.csr_array(X), self.shift)
            return X - self.shift


def _shift(X: Any, w: Array) -> Array | None:
    """The means of columns; of sparse ones the means of the entries where most are stored."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not sparse.issparse(X):
            mean = (w / w.sum()) @ X.astype(np.float64, copy=False)
        else:
            X, d = X.tocsr(), X.shape[1]
            entry = np.repeat(w, np.diff(X.indptr))
            stored = np.bincount(X.indices, entry, minlength=d)
            most = 2 * stored > w.sum()
            if not most.any():
                return None
            total = np.bincount(X.indices, entry * X.data, minlength=d)
            mean = np.where(most, total / np.where(most, stored, 1.0), 0.0)
    return np.where(np.isfinite(mean), mean, 0.0)


def _scale_gamma(X: Any, w: Array) -> float:
    """1 / (d var), with the variance of all entries of X around their one mean."""
    d = X.shape[1]
    check_size("X", float(abs(X).max()))
    X, total = X.astype(np.float64), d * w.sum()
    if sparse.issparse(X):
        X = X.tocsr()
        stored = np.diff(X.indptr)
        entry = np.repeat(w, stored)
        mean = float(entry @ X.data) / total
        squares = float(entry @ (X.data - mean) ** 2 + w @ (d - stored) * mean**2)
    else:
        mean = float((w @ X).sum()) / total
        squares = float((w @ (X - mean) ** 2).sum())
    variance = squares / total
    return 1.0 / (d * variance) if variance > 0 else 1.0


def _called(function: Callable[..., Any], X: Any, Y: Any, params: dict[str, Any]) -> Array:
    """The matrix that a function of two sets of samples gives, or one of two samples."""
    n, m = X.shape[0], Y.shape[0]
    try:
        K = function(X, Y, **params)
        shape, why = np.shape(K), None
    except (TypeError, ValueError, IndexError) as error:
        shape, why = None, error
    if shape != (n, m):
        try:
            K = sklearn.metrics.pairwise_kernels(X, Y, metric=function, **params)
        except (TypeError, ValueError, IndexError):
            got = f"returned shape {shape}" if why is None else f"raised {type(why).__name__}"
            raise ValueError(
                f"kernel {got} for {n} and {m} samples: a callable gets two sets of samples and "
                f"must return a matrix of shape ({n}, {m}), or two samples and return a number."
            ) from why
    return real_numbers("what kernel returned", K.toarray() if sparse.issparse(K) else K)


def gaussian(X: Array, Y: Array, gamma: float | None) -> Array:
    """exp(-gamma |x - y|^2), gamma = 1 / n_features by default, by one matrix product."""
    gamma = 1.0 / X.shape[1] if gamma is None else float(gamma)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        a, b = (gamma * np.einsum("ij,ij->i", A, A) for A in (X, Y))
        if max(a.max(initial=0.0), b.max(initial=0.0)) < FAR:
            K = X @ (2 * gamma * Y.T)
            K -= a[:, None]
            K -= b
        else:  # from differences; the unit keeps 0 and infinity right where squares overflow
            unit = float(power_of_two(max(np.abs(X).max(), np.abs(Y).max())))
            K = -scipy.spatial.distance.cdist(X / unit, Y / unit, "sqeuclidean")
            for factor in (unit, unit, gamma):
                K *= factor
        np.minimum(K, 0.0, out=K)
        if Y is X:
            K.flat[:: len(K) + 1] = 0.0
        return np.exp(K, out=K)


class PrecomputedKernel:
    """Inner products that the user has computed: samples are rows of them, Y their columns."""

    positive = False
    kernel = gamma = None

    def __call__(self, X: Any, Y: Any) -> Array:
        """Columns Y (indices of training samples) of the rows X."""
        return np.asarray(X[:, Y], dtype=np.float64)


class KernelRows:
    """Rows k(x, X_fit) of new samples as a matrix, of which slices are evaluated when asked for."""

    dtype = np.dtype(np.float64)

    def __init__(self, kernel: Callable[[Any, Any], Array], X: Any, X_fit: Any) -> None:
        self.kernel, self.X, self.X_fit = kernel, X, X_fit
        self.shape = (X.shape[0], X_fit.shape[0])

    def __getitem__(self, rows: slice) -> Array:
        return self.kernel(self.X[rows], self.X_fit)


# -- how far the rounding of samples moves their features ------------------------------


def rounding(kernel: Kernel, X: Any, K: Array, weight: Array) -> float:
    """Eigenvalues of the weighted kernel matrix K of the samples X that may be their rounding.

    Zero for kernels without a name, and where squares of X leave the range of floating point.
    """
    name = kernel.kernel
    if not isinstance(name, str):
        return 0.0
    eps, X = precision(X), kernel._seen(X).astype(np.float64, copy=False)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        if name in ("linear", "rbf"):
            # The features are the samples, or their distances are bounded by those of the samples.
            widen = 1.0 if name == "linear" else 2 * kernel.gamma
            found = float(widen * np.max(grain(weight @ _squared(X), len(weight), eps)) ** 2)
        else:
            # Their sum is far above the norm: half of the step is enough. Those of the Laplacian
            # kernel are in directions of their own, as the steps of a random walk are.
            moves = weight * _moves(kernel, X, step(eps) / 2)
            found = float(np.max(moves) if name == "laplacian" else np.sum(moves))
        if name in ("rbf", "chi2", "laplacian") and found > eps * len(K):
            # Else the kernel's own rounding is larger. Samples that are far apart stay far apart.
            found = min(found, _change(K, weight, found, squared=name != "laplacian"))
    return found if np.isfinite(found) else 0.0


def _change(K: Array, weight: Array, square: float, *, squared: bool) -> float:
    """How much K = exp(-u) changes, as a matrix, if u (or its root) does as the features move."""
    u = -np.log(np.maximum(K, np.finfo(np.float64).tiny))
    change = K * (np.sqrt(square / weight.sum() * u) * 2 if squared else square)
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
