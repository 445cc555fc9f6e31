"""What a test permutes: each side of a method as a matrix with one row per sample.

A method normalizes a projection w of X by ``share X'X + ridge I``. In coordinates in which
that is the identity, X (freed of nuisance variables) becomes

    A = U diag(s / sqrt(share s^2 + ridge)),    X = U diag(s) V'

and the method is the singular value decomposition of A'B for its two sides. ``share=1,
ridge=0`` whitens, ``share=0, ridge=1`` leaves covariances. A kernel matrix, or X X' where
there are more features than samples, gives U and s as well, so sparse data stay sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg as sla
from scipy import sparse

from eigenkit.linalg import Array, eigenpairs, power_of_two
from eigenkit.tolerances import EPS

# The largest matrix (samples x the lesser of samples and features) that a test may keep.
LIMIT_BYTES = 2**31

# A column of which no more than this share is left without its mean and the nuisance
# variables has nothing left but rounding.
NOTHING_LEFT = 100 * EPS

# Columns of sparse X whose mean exceeds this many deviations are centred before they are
# multiplied: subtracting means from products costs the square of it in relative accuracy.
OFFSET = 10.0

# How many numbers of such columns are made dense at a time.
BLOCK = 2**22


@dataclass(frozen=True)
class View:
    """One side of a method: its data, and how the method normalizes a projection of them.

    ``data`` is a dense or CSR matrix, or with ``kernel`` a kernel matrix. ``scale`` brings
    the columns to unit variance first.
    """

    data: Any
    share: float
    ridge: float
    scale: bool = False
    kernel: bool = False

    @property
    def whitened(self) -> bool:
        """Whether singular values are correlations, shrunken at most."""
        return self.share > 0

    @property
    def _free_units(self) -> bool:
        """Whether units of the columns do not matter, so that each may have its own."""
        return not self.kernel and (self.scale or self.ridge == 0)

    def rows(self, N: Array) -> tuple[Array, float]:
        """A, and the factor that it lacks: singular values at most 1 if whitened.

        N is an orthonormal basis of the nuisance variables, the constant among them.
        """
        n, d = self.data.shape
        check_size(n, d)
        U, s, unit = self._spectrum(N)
        root = np.sqrt(self.ridge) / unit
        if self.whitened:
            return U * (s / np.hypot(s, root / np.sqrt(self.share))), self.share**-0.5
        largest = float(s.max(initial=0.0)) or 1.0
        return U * (s / largest), largest * unit / np.sqrt(self.ridge)

    def _spectrum(self, N: Array) -> tuple[Array, Array, float]:
        """U, s and a unit: the singular values are s times the unit."""
        if self.kernel:
            return _of_gram(_residual_gram(self.data, N))
        wide = self.data.shape[1] > self.data.shape[0]
        if sparse.issparse(self.data) and wide:
            return self._sparse_spectrum(N)
        # A has as many numbers as X here: nothing is gained by keeping X sparse.
        X = self.data.toarray() if sparse.issparse(self.data) else self.data
        X = np.asarray(X, dtype=np.float64)
        unit = self._units(np.abs(X).max(axis=0, initial=0.0))
        R, factor = self._residuals(X / unit, N)
        U, s, _ = sla.svd(R, full_matrices=False, check_finite=False)
        keep = s > s.max(initial=0.0) * EPS * max(R.shape)
        return U[:, keep], s[keep], factor * self._common(unit)

    def _units(self, size: Array) -> Array:
        """Powers of two that bring the columns, or all of them together, to the order of 1."""
        whole = np.full_like(size, size.max(initial=0.0))
        return power_of_two(size if self._free_units else whole)

    def _common(self, unit: Array) -> float:
        return 1.0 if self._free_units else float(unit[0])

    def _residuals(self, X: Array, N: Array) -> tuple[Array, float]:
        """X freed of N, scaled where that is asked for or does not matter; and a factor."""
        R, size = residuals(X, N)
        if self._free_units:
            R /= np.where(size > 0, size, 1.0)
        return R, float(np.sqrt(len(X) - 1)) if self.scale else 1.0

    def _sparse_spectrum(self, N: Array) -> tuple[Array, Array, float]:
        """From X X', by products of sparse matrices but for columns of a large mean."""
        X = sparse.csc_array(self.data, dtype=np.float64)
        unit = self._units(np.asarray(abs(X).max(axis=0).toarray()).ravel())
        X.data /= np.repeat(unit, np.diff(X.indptr))
        squares, along = np.asarray(X.power(2).sum(axis=0)).ravel(), X.T @ N
        left = squares - np.einsum("ij,ij->i", along, along)
        far = left * (1 + OFFSET**2) <= squares
        near = X[:, ~far]
        if self._free_units:
            near.data /= np.repeat(np.sqrt(left[~far]), np.diff(near.indptr))
        K = np.asarray((near @ near.T).toarray())
        factor = float(np.sqrt(X.shape[0] - 1)) if self.scale else 1.0
        columns = np.flatnonzero(far & (squares > 0))
        step = max(1, BLOCK // X.shape[0])
        for start in range(0, len(columns), step):
            R, factor = self._residuals(X[:, columns[start : start + step]].toarray(), N)
            K += R @ R.T
        U, s, root = _of_gram(_residual_gram(K, N))
        return U, s, root * factor * self._common(unit)


def residuals(X: Array, N: Array) -> tuple[Array, Array]:
    """X - N N'X and the lengths of its columns; zeros where nothing but rounding is left."""
    before = np.linalg.norm(X, axis=0)
    R = X - N @ (N.T @ X)
    R -= N @ (N.T @ R)
    size = np.linalg.norm(R, axis=0)
    gone = size <= NOTHING_LEFT * before
    R[:, gone] = 0.0
    return R, np.where(gone, 0.0, size)


def _residual_gram(K: Array, N: Array) -> Array:
    """(I - N N') K (I - N N'), twice as the first time leaves the rounding of what cancels."""
    for _ in range(2):
        K = K - N @ (N.T @ K)
        K = K - (K @ N) @ N.T
    return K


def _of_gram(K: Array) -> tuple[Array, Array, float]:
    """U, s and a unit from X X'."""
    unit = float(power_of_two(np.max(np.abs(K), initial=0.0)))
    squares, U = eigenpairs(K / unit)
    keep = squares > squares.max(initial=0.0) * EPS * len(K)
    return np.ascontiguousarray(U[:, keep]), np.sqrt(squares[keep]), float(np.sqrt(unit))


def check_size(n: int, d: int) -> None:
    """Refuse what would not fit in memory."""
    needed = 8 * n * min(n, d)
    if needed > LIMIT_BYTES:
        raise ValueError(
            f"{n} samples of {d} features need a matrix of {needed / 2**30:.1f} GB (the limit is "
            f"{LIMIT_BYTES / 2**30:g} GB): test a random part of the samples, or reduce the "
            "features by PCA first."
        )
