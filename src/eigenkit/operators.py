"""Centred data as an operator: the one home of centring, row weights and column scale.

A data matrix X (n x d, dense or sparse) with row weights w stands for

    Z = diag(r) (X - 1 mean') diag(m),        r = sqrt(w),  mean = w'X / sum(w)

so that Z'Z is the weighted scatter matrix. m is 1 except where a column is constant (0) or
the numbers are so large or small that their squares would leave the range of floating
point (a power of two). Z itself is never formed for sparse X. Dense X is read in row blocks
that are centred while they are in the cache; where the means are no larger than the spread,
the products are made from X as it is and the rank-one term of the means is subtracted
(sparse X: in Z V and Z'U as the projection I - r r'/sum(w) on their n x k side). A column of
sparse X whose mean dwarfs its spread has hardly any zeros; the rest of it is stored too, and
its mean subtracted from what is stored:

    P = diag(r) (X - 1 shift') diag(m),   Z = P - r delta',   delta = (mean - shift) m
    Z V  = P V - r (delta'V)
    Z'U  = P'U - delta (r'U)
    Z'Z  = P'P - sum(w) delta delta'
    Z Z' = P P' - r q' - q r' + (delta'delta) r r',   q = P delta
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.linalg import EPS, Array, power_of_two
from eigenkit.sparse_rows import BLOCK_BYTES, SparseRows
from eigenkit.threads import blas_threads

# Sparse data up to this size may be made dense where that gains accuracy; never beyond.
DENSE_LIMIT_BYTES = 2**23

# Subtracting the means after the product costs (mean / std)^2 in relative accuracy.
OFFSET_LIMIT = 10.0

# The largest number of X must lie here: outside, even a factor cannot bring X near 1 without
# overflow of its sums or loss of its digits.
SCALABLE = (1e-303, 1e305)

# Numbers that differ by no more than this, relative to their size, are equal up to rounding: a
# few units in the last place, as a shift and a scale have been computed with.
ROUNDING = 8 * EPS

# Fourth powers of numbers inside this range (norms of Gram matrices and of their inverses)
# neither overflow nor vanish.
SAFE_RANGE = (1e-60, 1e60)

# A column of which less is stored (by weight) has a mean below OFFSET_LIMIT times its spread:
# mean^2 <= share E[x^2] and E[x^2] = mean^2 + spread^2.
FULL = OFFSET_LIMIT**2 / (1 + OFFSET_LIMIT**2)


class Centered:
    """The centred, weighted data matrix Z of the module's docstring.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Not copied, not changed. NaN and infinity show in the means, and are refused.
    weight : ndarray of shape (n,), optional
        Positive row weights.
    center : bool
        False takes X as centred already (a factor of a scatter matrix).
    one_unit : bool
        Whether one factor must serve all columns, as where their units matter (PCA). So it is
        anyway with fewer samples than features.
    n_samples : int, optional
        The number of samples that such a factor stands for: what is rounding in it follows from
        that, not from its number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> Z = Centered(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> Z.toarray()
    array([[-1.,  0.],
           [ 1.,  0.]])
    >>> Z.constant
    array([False,  True])
    """

    def __init__(
        self,
        X: Any,
        weight: Array | None = None,
        *,
        center: bool = True,
        one_unit: bool = False,
        n_samples: int | None = None,
    ) -> None:
        self.sparse = sparse.issparse(X)
        self.X = X.astype(np.float64, copy=False) if self.sparse else X
        self.shape: tuple[int, int] = X.shape
        self.n_samples: int = X.shape[0] if n_samples is None else n_samples
        self.center = center
        self.weight = weight
        self.r = None if weight is None else np.sqrt(weight)
        self.total = float(X.shape[0] if weight is None else weight.sum())
        self.freedom = self.total - one_sample(weight)
        self._rows: Any = SparseRows(self.X) if self.sparse else None
        self.shift: Array | None = None
        self.m: Array | None = None
        self.unit: float | Array = 1.0
        self.constant = np.zeros(X.shape[1], dtype=bool)
        self.mean = self._mean() if center else np.zeros(X.shape[1])
        check_finite("X", self.X.data if self.sparse else X, self.mean)
        self._tame_scale(center, one_unit or X.shape[0] <= X.shape[1])
        if center:
            self._tame_offset()
        else:
            self.constant = self._column_sizes() == 0.0
        self.delta = self.column_scaled(self.mean - (0.0 if self.shift is None else self.shift))

    def ridge(self, alpha: float) -> float | Array:
        """The ridge alpha in the units of Z: a number, or one per column."""
        if alpha == 0:
            return 0.0
        with np.errstate(over="ignore", under="ignore"):
            ridge = alpha * self.unit * self.unit
        if not np.all(np.isfinite(ridge)):
            raise ValueError(
                f"alpha={alpha:g} is beyond floating point in the units of X, whose squares are so "
                "much smaller: scale X to sizes near 1, or give a smaller alpha."
            )
        return ridge

    # -- what the data look like -------------------------------------------------------

    def _mean(self) -> Array:
        weight = np.ones(self.shape[0]) if self.weight is None else self.weight
        if self.sparse:
            return np.asarray(self.X.T @ weight) / self.total
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.zeros(self.shape[1])
            for rows, P in self._blocks():
                total += weight[rows] @ P
            return total / self.total

    def _tame_scale(self, center: bool, one_unit: bool) -> None:
        """Set m where squares of the numbers would overflow or vanish, judged from all rows."""
        if self._is_safe():
            return
        sizes = self._column_sizes()
        judged = sizes.max(initial=0.0) if one_unit else sizes
        if np.all((judged == 0) | (judged > SAFE_RANGE[0]) & (judged < SAFE_RANGE[1])):
            return
        check_size("X", float(sizes.max(initial=0.0)), SCALABLE)
        self.unit = 1.0 / power_of_two(judged)
        self.m = np.broadcast_to(self.unit, sizes.shape)
        if center and not self.sparse:
            self.mean = self._mean() / self.m

    def _is_safe(self) -> bool:
        """A quick answer: True is certain, False may be a column of zeros."""
        if self.sparse:
            sizes = np.abs(self.X.data)
            low = float(sizes.min(initial=1.0, where=sizes > 0))
            return bool(low > SAFE_RANGE[0] and sizes.max(initial=0.0) < SAFE_RANGE[1])
        low, high = SAFE_RANGE[0] ** 2, SAFE_RANGE[1] ** 2
        return bool(np.all((self._squares > low) & (self._squares < high)))

    @cached_property
    def _squares(self) -> Array:
        """sum(x^2) of every column of dense X as it is, infinite where it overflows."""
        with np.errstate(over="ignore", under="ignore"):
            return sum_of_squares(self.X)

    def _column_sizes(self) -> Array:
        if self.sparse:
            return np.asarray(abs(self.X).max(axis=0).toarray()).ravel()
        size = np.zeros(self.shape[1])
        for _, P in self._blocks():
            np.maximum(size, np.abs(P).max(axis=0), out=size)
        return size

    def _tame_offset(self) -> None:
        """Set shift where the means dwarf the spread, and find the constant columns."""
        if self.sparse:
            self._tame_sparse_offset()
            return
        squares = self._squares
        if self.m is not None or self.weight is not None:
            squares = sum((sum_of_squares(P) for _, P in self._blocks(weighted=True)), np.zeros(1))
        mean = self.column_scaled(self.mean)
        if np.all(self.total * mean * mean < FULL * squares):
            return
        self.shift = self.mean
        # The shift is a rounded sum, so what is constant shows in differences, not in sizes.
        high, low = np.full((2, self.shape[1]), [[-np.inf], [np.inf]])
        drift = np.zeros(self.shape[1])
        for rows, P in self._blocks():
            np.maximum(high, P.max(axis=0), out=high)
            np.minimum(low, P.min(axis=0), out=low)
            drift += P.sum(axis=0) if self.weight is None else self.weight[rows] @ P
        noise = ROUNDING * np.abs(self.column_scaled(self.shift))
        self.mean = self.shift + drift / self.total / (1.0 if self.m is None else self.m)
        self._drop_constant(high - low <= noise)

    def _tame_sparse_offset(self) -> None:
        X, d = self.X, self.shape[1]
        w = None if self.weight is None else np.repeat(self.weight, np.diff(X.indptr))
        count = np.bincount(X.indices, minlength=d)
        share = (count if w is None else np.bincount(X.indices, w, d)) / self.total
        far = np.flatnonzero(share > FULL)
        far = far[self._dwarfs(far, w)]
        constant = count == 0
        if len(far):
            self.shift = np.zeros(d)
            self.shift[far] = self.mean[far]
            self.X = shifted(X, self.shift)
            self._rows = SparseRows(self.X)
            left = self.X[:, far]
            weight = np.ones(self.shape[0]) if self.weight is None else self.weight
            self.mean[far] += left.T @ weight / self.total
            spread = (left.max(axis=0) - left.min(axis=0)).toarray().ravel()
            constant[far] = spread <= ROUNDING * np.abs(self.shift[far])
        self._drop_constant(constant)

    def _dwarfs(self, columns: np.ndarray, w: Array | None) -> np.ndarray:
        """Which of these columns of sparse X have means that dwarf their spread."""
        if not len(columns):
            return np.zeros(0, dtype=bool)
        among = np.zeros(self.shape[1], dtype=bool)
        among[columns] = True
        stored = among[self.X.indices]
        index, values = self.X.indices[stored], self.X.data[stored]
        values = values if self.m is None else values * self.m[index]
        squares = values * values if w is None else values * values * w[stored]
        mean = self.column_scaled(self.mean)
        squares = np.bincount(index, squares, self.shape[1])
        return (self.total * mean * mean >= FULL * squares)[columns]

    def _drop_constant(self, constant: np.ndarray) -> None:
        self.constant = constant
        if self.mean[constant].any() or self.shift is not None:
            self.m = np.where(constant, 0.0, 1.0 if self.m is None else self.m)

    # -- the pieces of the products ----------------------------------------------------

    def column_scaled(self, V: Array) -> Array:
        """diag(m) V."""
        if self.m is None:
            return V
        m = self.m.astype(V.dtype, copy=False)
        return V * (m if V.ndim == 1 else m[:, None])

    def _row_weighted(self, U: Array) -> Array:
        """diag(r) U."""
        return U if self.r is None else U * self.r.astype(U.dtype, copy=False)[:, None]

    def _project(self, U: Array) -> Array:
        """U - r r'U / sum(w): centring where only n x k numbers are touched."""
        if not self.center:
            return U
        r = self._r().astype(U.dtype)
        means = (r @ U) / U.dtype.type(self.total)
        return U - means if self.r is None else U - np.outer(r, means)

    def _r(self) -> Array:
        return np.ones(self.shape[0]) if self.r is None else self.r

    def _blocks(self, weighted: bool = False) -> Iterator[tuple[slice, Array]]:
        """Row slices and blocks of P, in float64; the whole of X at once when P is X."""
        as_is = self.shift is None and self.m is None and not (weighted and self.r is not None)
        if as_is and self.X.dtype == np.float64:
            yield slice(None), self.X
            return
        step = max(1, BLOCK_BYTES // (8 * self.shape[1]))
        for start in range(0, self.shape[0], step):
            rows = slice(start, min(start + step, self.shape[0]))
            P = self.X[rows].astype(np.float64)
            if self.shift is not None:
                P -= self.shift
            if self.m is not None:
                P *= self.m
            if weighted and self.r is not None:
                P *= self.r[rows, None]
            yield rows, P

    # -- the products ------------------------------------------------------------------

    def matmat(self, V: Array) -> Array:
        """Z V."""
        if self.sparse:
            return self._project(self._row_weighted(self._rows @ self.column_scaled(V)))
        out = np.empty((self.shape[0], V.shape[1]))
        for rows, P in self._blocks():
            np.matmul(P, V, out=out[rows])
        out -= self.delta @ V
        return self._row_weighted(out)

    def rmatmat(self, U: Array) -> Array:
        """Z'U."""
        if self.sparse:
            return self.column_scaled(self._rows.T @ self._row_weighted(self._project(U)))
        U = self._row_weighted(U)
        product = np.outer(U.sum(axis=0), -self.delta)
        for rows, P in self._blocks():
            product += U[rows].T @ P
        return product.T

    def gradient(self, V: Array, H: Array | None = None) -> tuple[Array, Array]:
        """Z'(Z V - H), the gradient of ||Z V - H||^2 / 2, and (Z V)'(Z V).

        Dense data are read once: each block is used for both products while it is in the cache.
        """
        if self.sparse:
            ZV = self.matmat(V)
            return self.rmatmat(ZV if H is None else ZV - H), ZV.T @ ZV
        slope, drift, square = np.zeros(V.shape[::-1]), 0.0, np.zeros((V.shape[1],) * 2)
        offset = self.delta @ V
        for rows, P in self._cached_blocks():
            ZV = P @ V
            ZV -= offset
            if self.r is not None:
                ZV *= self.r[rows, None]
            square += ZV.T @ ZV
            gap = ZV if H is None else ZV - H[rows]
            if self.r is not None:
                gap = gap * self.r[rows, None]
            slope += gap.T @ P
            drift = drift + gap.sum(axis=0)
        slope -= np.outer(drift, self.delta)
        return slope.T, square

    def _cached_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of P that stay in the cache while they are used twice."""
        step = max(1, BLOCK_BYTES // (8 * self.shape[1]))
        for rows, P in self._blocks():
            if rows != slice(None):
                yield rows, P
                continue
            for start in range(0, self.shape[0], step):
                part = slice(start, min(start + step, self.shape[0]))
                yield part, P[part]

    def gram(self) -> Array:
        """Z'Z (d x d)."""
        if self.sparse:
            P, Pt = self._sparse_pair()
            G = SparseRows(Pt).product(P, _gram_work(P))
        else:
            G = np.zeros((1, 1))
            for _, P in self._blocks(weighted=True):
                G = G + P.T @ P if G.shape == (1, 1) else np.add(G, P.T @ P, out=G)
        if self.delta.any():
            G -= np.outer(self.total * self.delta, self.delta)
        return G

    def outer(self) -> Array:
        """Z Z' (n x n)."""
        if self.sparse:
            P, Pt = self._sparse_pair()
            K, q = SparseRows(P).product(Pt, _gram_work(Pt)), P @ self.delta
        else:
            K, q = self._outer_dense()
        r = self._r()
        K -= np.outer(r, q)
        K -= np.outer(q, r)
        K += np.outer((self.delta @ self.delta) * r, r)
        return K

    def _sparse_pair(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """P and P' as CSR, for sparse X."""
        P = self._sparse_P()
        return P, self._rows.T.X if P is self.X else P.T.tocsr()

    def _sparse_P(self) -> sparse.csr_array:
        if self.r is None and self.m is None:
            return self.X
        data = self.X.data.copy()
        if self.r is not None:
            data *= np.repeat(self.r, np.diff(self.X.indptr))
        if self.m is not None:
            data *= self.m[self.X.indices]
        return sparse.csr_array((data, self.X.indices, self.X.indptr), shape=self.shape)

    def _outer_dense(self) -> tuple[Array, Array]:
        n, d = self.shape
        K = np.zeros((n, n))
        q = np.zeros(n)
        step = max(1, 4 * BLOCK_BYTES // (8 * n))
        for start in range(0, d, step):
            columns = slice(start, start + step)
            P = self._columns(columns)
            K += P @ P.T
            q += P @ self.delta[columns]
        return K, q

    def _columns(self, columns: slice) -> Array:
        P = np.array(self.X[:, columns], dtype=np.float64)
        if self.shift is not None:
            P -= self.shift[columns]
        if self.m is not None:
            P *= self.m[columns]
        return P if self.r is None else P * self.r[:, None]

    def column_squares(self) -> Array:
        """The diagonal of Z'Z: squared lengths of the columns, without the rest of it."""
        if self.sparse:
            P = self._sparse_P()
            sums = np.bincount(P.indices, P.data * P.data, self.shape[1]).astype(np.float64)
        else:
            sums = np.zeros(self.shape[1])
            for _, P in self._blocks(weighted=True):
                sums += np.einsum("ij,ij->j", P, P)
        return np.maximum(sums - self.total * self.delta**2, 0.0)

    def toarray(self) -> Array:
        """Z as a dense matrix; the caller has checked that it fits."""
        if self.sparse:
            dense = self.X.toarray() - (self.mean - (0.0 if self.shift is None else self.shift))
            return self._row_weighted(dense if self.m is None else dense * self.m)
        out = np.empty(self.shape)
        for rows, P in self._blocks(weighted=True):
            out[rows] = P
        out -= np.outer(self._r(), self.delta)
        return out

    def own_threads(self) -> AbstractContextManager[Any]:
        """While products with sparse X run in threads of ours, BLAS keeps to one thread.

        Otherwise its idle threads, which wait actively, take the cores from ours.
        """
        return blas_threads(0) if self.sparse else nullcontext()

    @property
    def fast_in_single(self) -> bool:
        """Whether products in float32 are offered: sparse X with numbers well inside its range."""
        if not self.sparse or np.ndim(self.unit) or self.unit != 1.0:
            return False
        size = np.abs(self.X.data)
        return bool(size.max(initial=0.0) < 1e9 and size.min(initial=1.0, where=size > 0) > 1e-9)

    # -- facts a choice of solver rests on ---------------------------------------------

    @property
    def nnz(self) -> int:
        return int(self.X.nnz if self.sparse else self.shape[0] * self.shape[1])

    @property
    def may_be_dense(self) -> bool:
        """Whether Z may be formed: X is dense anyway, or small."""
        return not self.sparse or 8 * self.shape[0] * self.shape[1] <= DENSE_LIMIT_BYTES

    def spectral_norm_squared(self) -> float:
        """An estimate (from below) of the largest eigenvalue of Z'Z, by a few power steps."""
        v = np.cos(np.arange(1.0, self.shape[1] + 1.0))[:, None]
        value = 0.0
        for _ in range(4):
            size = float(np.linalg.norm(v))
            if size == 0.0:
                break
            v = self.rmatmat(self.matmat(v / size))
            value = float(np.linalg.norm(v))
        return value

    def gram_work(self) -> tuple[float, float]:
        """Multiplications that Z'Z and Z Z' take."""
        n, d = self.shape
        if not self.sparse:
            return float(n) * d * d, float(n) * n * d
        columns = np.bincount(self.X.indices, minlength=d).astype(np.float64)
        return _gram_work(self.X), float(columns @ columns)


def _gram_work(X: sparse.csr_array) -> float:
    """Multiplications in X'X: the sum of squared row counts."""
    counts = np.diff(X.indptr).astype(np.float64)
    return float(counts @ counts)


def one_sample(weight: Array | None) -> float:
    """What one sample weighs: degrees of freedom are the total weight less this.

    Integer weights count repetitions, and a sample weighs 1. All other weights only compare
    the rows: a sample weighs their mean, and the unit of the weights does not matter.
    """
    if weight is None or np.all(weight == np.rint(weight)):
        return 1.0
    return float(weight.mean())


def column_sums(X: np.ndarray, weight: Array | None = None) -> Array:
    """w'X by BLAS, which is several times as fast as ``X.sum(axis=0)``."""
    return (np.ones(len(X)) if weight is None else weight) @ X


def constant_columns(X: Any) -> np.ndarray:
    """Which columns hold numbers that are all equal up to rounding."""
    high, low = X.max(axis=0), X.min(axis=0)
    if sparse.issparse(X):
        high, low = high.toarray(), low.toarray()
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
    largest = np.maximum(centred.max(axis=0, initial=0.0), -centred.min(axis=0, initial=0.0))
    centred[:, largest <= ROUNDING * np.abs(mean)] = 0.0
    return mean + drift, centred


def check_finite(name: str, values: np.ndarray, total: Any = None) -> None:
    """Refuse NaN and infinity by one fast pass: a finite sum has finite terms.

    ``total`` saves the pass where the sums are known already.
    """
    if values.size == 0 or values.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if total is None:
            total = (
                values.sum() if values.ndim == 1 else np.ones(len(values), values.dtype) @ values
            )
    if np.all(np.isfinite(total)) or np.all(np.isfinite(values)):
        return
    what = "NaN" if np.isnan(values).any() else "infinity"
    raise ValueError(f"{name} contains {what}: remove or impute such entries.")


def sum_of_squares(X: np.ndarray) -> Array:
    """x'x of every column, in float64."""
    if X.dtype == np.float64:
        return np.einsum("ij,ij->j", X, X)
    return np.einsum("ij,ij->j", X, X, dtype=np.float64)


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
    step = max(1, BLOCK_BYTES // (8 * max(1, X.shape[1])))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        np.matmul(X[rows] - mean, W, out=out[rows])
    return out
