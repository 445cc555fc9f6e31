"""Matrices of numbers, dense or CSR: their columns, the limits of floating point, and products.

Products with CSR matrices run in threads: scipy releases the interpreter while it multiplies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

try:  # adds to what is there: a product of its own would be as large as the whole result
    from scipy.sparse._sparsetools import csc_matvecs
except ImportError:  # pragma: no cover - a name that scipy does not promise
    csc_matvecs = None

from eigenkit.numerics import compiled
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import WORTH_THREADS, available, thread_map
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

# A matrix of labels with a smaller share of non-zeros, and at least this many columns, is worth
# taking as a sparse one.
SPARSE_SHARE = 0.1
MANY_COLUMNS = 64


# -- columns ----------------------------------------------------------------------------


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


def one_sample(weight: Array | None) -> float:
    """What one sample weighs: degrees of freedom are the total weight less this.

    Integer weights count repetitions, and a sample weighs 1. All other weights only compare
    the rows: a sample weighs their mean, and the unit of the weights does not matter.
    """
    if weight is None or np.all(weight == np.rint(weight)):
        return 1.0
    return float(weight.mean())


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

    A column whose numbers are equal up to rounding becomes exactly zero, so that nothing that
    follows (whitening above all) makes a variable out of rounding. The means are subtracted twice,
    as the first carry the rounding of sums of numbers far from zero.
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
    """Refuse infinity, and NaN unless dense X may have ``gaps``: a finite sum has finite terms."""
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
    """x'x of every column of a matrix, or of what knows its own columns, in float64."""
    if sparse.issparse(X):
        return np.bincount(X.indices, X.data * X.data, X.shape[1]).astype(np.float64)
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
    """X - 1 shift', stored where X is and in all of the columns whose shift is not zero."""
    out = sparse.csr_array((X.data - shift[X.indices], X.indices, X.indptr), shape=X.shape)
    count = np.bincount(X.indices, minlength=X.shape[1])
    gaps = np.flatnonzero((shift != 0) & (count < X.shape[0]))
    if not len(gaps):
        return out
    there = sparse.csr_array((np.ones(X.nnz, dtype=bool), X.indices, X.indptr), shape=X.shape)
    rows, place = np.nonzero(~there[:, gaps].toarray())
    rest = sparse.coo_array((-shift[gaps[place]], (rows, gaps[place])), shape=X.shape)
    return sparse.csr_array(out + rest)


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


def sparse_labels(Y: Array) -> sparse.csr_array | None:
    """A dense matrix of labels, read in blocks that stay in the cache, as a sparse one; None where
    that is not worth it, as soon as that is known."""
    n, k = Y.shape
    if k < MANY_COLUMNS:
        return None
    most, counts = SPARSE_SHARE * Y.size, [0]

    def places(rows: slice) -> np.ndarray:
        found = np.flatnonzero(Y[rows if sum(counts) <= most else slice(0)] != 0)
        counts.append(len(found))
        return np.asarray(found + rows.start * k)

    place = np.concatenate(thread_map(places, row_slices(Y.shape, BLOCK_BYTES)))
    if sum(counts) > most:
        return None
    rows, columns = np.divmod(place, k)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return sparse.csr_array((Y[rows, columns], columns, ends), shape=Y.shape)


# -- products with a CSR matrix ---------------------------------------------------------


@dataclass(eq=False)
class SparseRows:
    """Products with a CSR matrix and with its transpose, in threads over blocks of rows.

    Every row of a product is computed by one thread in one order, so their number does not change a
    bit of the result. The transpose is kept as CSR too once it is used, as that is as fast as the
    matrix itself, and so is a copy in float32, for products with blocks of that precision.
    """

    X: sparse.csr_array

    @cached_property
    def _blocks(self) -> list[slice]:
        """Consecutive row slices with about equal numbers of non-zeros."""
        X = self.X
        cuts = np.searchsorted(X.indptr, np.linspace(0, X.nnz, 4 * available() + 1)[1:-1])
        edges = np.unique(np.concatenate([[0], cuts, [X.shape[0]]]))
        return [slice(int(a), int(b)) for a, b in pairwise(edges)]

    @cached_property
    def T(self) -> SparseRows:
        return SparseRows(self.X.T.tocsr())

    @cached_property
    def _single(self) -> SparseRows:
        data = self.X.data.astype(np.float32)
        return SparseRows(sparse.csr_array((data, self.X.indices, self.X.indptr), self.X.shape))

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        if V.dtype == np.float32 and self.X.dtype != np.float32:
            return self._single @ V
        few = self.X.nnz * V.shape[1] < WORTH_THREADS
        return sparse_product(self.X, V, None if few else self._blocks)

    def product(self, other: sparse.csr_array) -> Array:
        """``X @ other`` for sparse ``other``, as a dense matrix, block by block."""
        out = np.empty((self.X.shape[0], other.shape[1]))

        def fill(rows: slice) -> None:
            (self.X[rows] @ other).toarray(out=out[rows])

        # Twice the room: the product is there as sparse and as dense numbers.
        blocks = row_slices((len(out), 2 * out.shape[1]), BLOCK_BYTES)
        thread_map(fill, blocks, float(self.X.nnz) * other.nnz / max(1, other.shape[0]))
        return out


def _row_slice(X: sparse.csr_array, rows: slice) -> sparse.csr_array:
    """Some rows, sharing memory with X: scipy's constructor would copy a small part of an array."""
    indptr = X.indptr[rows.start : rows.stop + 1]
    stored = slice(indptr[0], indptr[-1])
    part = sparse.csr_array((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    part.data, part.indices, part.indptr = X.data[stored], X.indices[stored], indptr - indptr[0]
    return part


def sparse_product(X: sparse.csr_array, V: Array, blocks: list[slice] | None = None) -> Array:
    """``X @ V``, in threads where blocks of rows are given."""
    V = np.ascontiguousarray(V)
    out = np.empty((X.shape[0], V.shape[1]), dtype=V.dtype)

    def by_scipy(rows: slice) -> None:
        out[rows] = _row_slice(X, rows) @ V

    fill = compiled.rows_product(X, V, out) or by_scipy
    if blocks is None:
        fill(slice(0, X.shape[0]))
    else:
        thread_map(fill, blocks)
    return out


def add_transposed(out: Array, X: Any, U: Array, rows: slice = slice(None)) -> None:
    """``out += X[rows].T @ U`` in this thread; for CSR X, into C-contiguous and large ``out``."""
    one_kind = sparse.issparse(X) and X.dtype == U.dtype == out.dtype
    if csc_matvecs is None or not one_kind or X.indices.dtype != X.indptr.dtype:
        out += X[rows].T @ U
        return
    U = np.ascontiguousarray(U)
    first, last, _ = rows.indices(X.shape[0])
    indptr, (d, k) = X.indptr[first : last + 1], out.shape
    csc_matvecs(d, last - first, k, indptr, X.indices, X.data, U.ravel(), out.reshape(-1))
