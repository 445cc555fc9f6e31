"""Columns of numbers: their sums and means, what is constant, and the limits of floating point."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import ROUNDING

# Blocks of rows: large enough for fast products, small enough for the cache.
BLOCK_BYTES = 2**23

# Subtracting the means after the product costs (mean / std)^2 in relative accuracy.
OFFSET_LIMIT = 10.0

# The largest number of X must lie here: outside, even a factor cannot bring X near 1 without
# overflow of its sums or loss of its digits.
SCALABLE = (1e-303, 1e305)


# Fourth powers of numbers inside this range (norms of Gram matrices and of their inverses)
# neither overflow nor vanish.
SAFE_RANGE = (1e-60, 1e60)

# A column of which less is stored (by weight) has a mean below OFFSET_LIMIT times its spread:
# mean^2 <= share E[x^2] and E[x^2] = mean^2 + spread^2.
FULL = OFFSET_LIMIT**2 / (1 + OFFSET_LIMIT**2)


def row_slices(shape: tuple[int, ...], size: int) -> list[slice]:
    """Consecutive rows of a float64 matrix of this shape, each slice of about ``size`` bytes."""
    step = max(1, size // (8 * max(1, shape[1])))
    return [slice(start, start + step) for start in range(0, shape[0], step)]


def stored(X: Any) -> np.ndarray:
    """The numbers that X holds; of sparse X those that are not zero by their absence."""
    return np.asarray(X.data if sparse.issparse(X) else X)


def arrays_of(X: Any) -> tuple[np.ndarray, ...]:
    """The arrays that a CSR matrix consists of; of dense X, X itself."""
    return (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)


def as_dense(X: Any) -> np.ndarray:
    """X as an array, of any size: whoever asks knows that it is small enough."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def column_sums(X: Any, weight: Array | None = None) -> Array:
    """w'X by BLAS, which is several times as fast as ``X.sum(axis=0)``."""
    return np.asarray((np.ones(X.shape[0]) if weight is None else weight) @ X)


def constant_columns(X: Any) -> np.ndarray:
    """Which columns hold numbers that are all equal up to rounding."""
    if sparse.issparse(X) and X.has_canonical_format:
        # A column that holds both zeros and other numbers varies: only full ones need a look.
        filled = np.bincount(X.indices[X.data != 0], minlength=X.shape[1])
        constant = np.asarray(filled == 0)
        full = np.flatnonzero((filled == X.shape[0]) & ~constant)
        constant[full] = _flat(X[:, full].toarray()) if len(full) else False
        return constant
    return _flat(X)


def _flat(X: Any) -> np.ndarray:
    high, low = as_dense(X.max(axis=0)), as_dense(X.min(axis=0))
    with np.errstate(over="ignore"):
        return np.ravel(high - low <= ROUNDING * np.maximum(np.abs(high), np.abs(low)))


def centered_columns(Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """The (weighted) column means of Y, and Y without them.

    A column whose numbers are equal up to rounding becomes exactly zero: so whether it varies can
    be asked by comparing with zero, and nothing that follows (whitening above all) makes a
    variable out of rounding. The means are subtracted twice, as the first carry the rounding of
    sums of numbers far from zero.
    """
    total = float(len(Y) if weight is None else weight.sum())
    mean = column_sums(Y, weight) / total
    centred = Y - mean
    drift = column_sums(centred, weight) / total
    centred -= drift
    noise = ROUNDING * np.abs(mean)
    with np.errstate(over="ignore", under="ignore"):
        # The largest is at least the root mean square: few columns need a closer look.
        small = np.flatnonzero(~(sum_of_squares(centred) > len(Y) * noise**2))
    constant = np.abs(centred[:, small]).max(axis=0, initial=0.0) <= noise[small]
    centred[:, small[constant]] = 0.0
    return mean + drift, centred


def check_finite(name: str, X: Any, *, gaps: bool = False) -> None:
    """Refuse NaN and infinity by one fast pass: a finite sum has finite terms.

    With ``gaps`` dense X may hold NaN.
    """
    values = X.data if sparse.issparse(X) else np.asarray(X)
    if values.size == 0 or values.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum() if values.ndim == 1 else np.ones(len(values), values.dtype) @ values
    if np.all(np.isfinite(total)) or np.all(np.isfinite(values)):
        return
    gaps = gaps and not sparse.issparse(X)
    what = "NaN" if not gaps and np.isnan(values).any() else "infinity"
    if not gaps or np.isinf(values).any():
        raise ValueError(f"{name} contains {what}: remove or impute such entries.")


def sum_of_squares(X: Any) -> Array:
    """x'x of every column of an array, or of what knows its own columns, in float64."""
    if not isinstance(X, np.ndarray):
        return np.asarray(X.column_squares())
    if X.dtype == np.float64:
        return np.asarray(np.einsum("ij,ij->j", X, X))
    return np.asarray(np.einsum("ij,ij->j", X, X, dtype=np.float64))


def scaled(S: Any, rows: Array | None = None, columns: Array | None = None) -> Any:
    """diag(rows) S diag(columns) for an array or a CSR matrix, which stays one."""
    if rows is None and columns is None:
        return S
    if not sparse.issparse(S):
        S = S if rows is None else rows[:, None] * S
        return S if columns is None else S * columns
    data = S.data if rows is None else S.data * np.repeat(rows, np.diff(S.indptr))
    data = data if columns is None else data * columns[S.indices]
    return sparse.csr_array((data, S.indices, S.indptr), shape=S.shape)


def moved(P: Array, shift: Array | None, m: Array | None, own: slice = slice(None)) -> Array:
    """(P - 1 shift') diag(m) in the memory of P, which may hold some of the columns."""
    if shift is not None:
        P -= shift[own]
    if m is not None:
        P *= m[own]
    return P


def shifted(X: sparse.csr_array, shift: np.ndarray) -> sparse.csr_array:
    """X - 1 shift', stored where X is and in the rest of the columns with a shift.

    For columns that are nearly full; a shift of zero leaves a column as it is.
    """
    out = sparse.csr_array((X.data - shift[X.indices], X.indices, X.indptr), shape=X.shape)
    count = np.bincount(X.indices, minlength=X.shape[1])
    gaps = np.flatnonzero((shift != 0) & (count < X.shape[0]))
    if not len(gaps):
        return out
    stored = sparse.csc_array(X[:, gaps])
    empty = [
        np.setdiff1d(np.arange(X.shape[0]), stored.indices[a:b], assume_unique=True)
        for a, b in pairwise(stored.indptr)
    ]
    columns = np.repeat(gaps, [len(rows) for rows in empty])
    place = np.concatenate(empty), columns
    return sparse.csr_array(out + sparse.coo_array((-shift[columns], place), shape=X.shape))


def largest(A: Array) -> float:
    """The largest absolute entry, without a copy."""
    return max(float(A.max(initial=0.0)), -float(A.min(initial=0.0)))


def check_size(name: str, largest: float, limits: tuple[float, float] = SAFE_RANGE) -> None:
    """Refuse numbers whose squares leave the range of floating point."""
    if largest and not limits[0] < largest < limits[1]:
        raise ValueError(
            f"{name} holds numbers of at most {largest:.2g}, whose products leave the range of "
            f"floating point: scale {name} to sizes near 1."
        )


def project(X: Any, mean: np.ndarray, W: np.ndarray) -> np.ndarray:
    """(X - 1 mean') W; sparse X stays sparse, dense X is centred block by block."""
    if sparse.issparse(X):
        full = np.bincount(X.indices, minlength=X.shape[1]) > FULL * X.shape[0]
        shift = np.where(full, mean, 0)
        X = shifted(X, shift) if shift.any() else X
        return np.asarray(X @ W - (mean - shift) @ W)
    out = np.empty((X.shape[0], W.shape[1]), dtype=np.result_type(X.dtype, W.dtype))
    for rows in row_slices(X.shape, BLOCK_BYTES):
        np.matmul(X[rows] - mean, W, out=out[rows])
    return out
