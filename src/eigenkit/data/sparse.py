"""Sparse data: never made dense, unless small."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data.centered import Centered
from eigenkit.data.matrices import FULL, SparseRows, as_dense, column_sums, scaled, shifted
from eigenkit.numerics import compiled
from eigenkit.numerics.costs import BLOCK_RATE, SPARSE_RATE, may_be_dense
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import one_blas_thread
from eigenkit.numerics.tolerances import ROUNDING

# Numbers between this and its inverse, and their products, are well inside the range of float32.
SMALLEST_SINGLE = 1e-9


class Sparse(Centered):
    """A CSR matrix. Centring is the projection I - r r'/sum(w) on the n x k side of products."""

    X: sparse.csr_array
    takes = (sparse.sparray, sparse.spmatrix)
    names_constant = False
    keeps = np.float64
    # While products run in our threads, BLAS keeps to one thread: its idle threads busy-wait, and
    # would take the cores from ours.
    threads = one_blas_thread

    @cached_property
    def _rows(self) -> SparseRows:
        return SparseRows(self.X)

    def original(self) -> tuple[Any, bool]:
        """X with 32-bit indices, which is all that foreign solvers take."""
        X = self.X
        if X.indices.dtype != np.int32:
            if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
                raise ValueError(
                    f"X stores {X.nnz} numbers, more than 2^31, which coordinate descent cannot "
                    "take: set l1_ratio=0, or fit fewer rows."
                )
            index = X.indices.astype(np.int32), X.indptr.astype(np.int32)
            X = sparse.csr_array((X.data, *index), shape=X.shape)
        return X, self.center

    # -- what the data look like -------------------------------------------------------

    def _mean(self) -> Array:
        return column_sums(scaled(self.X, columns=self.m), self.weight) / self.total

    def _within(self, low: float, high: float) -> bool:
        sizes = np.abs(self.X.data)
        fine = sizes.max(initial=0.0) < high and sizes.min(initial=1.0, where=sizes > 0) > low
        return bool(fine)

    def _column_sizes(self) -> Array:
        return as_dense(abs(self.X).max(axis=0)).ravel()

    def _tame_offset(self) -> None:
        X, d = self.X, self.shape[1]
        w = None if self.weight is None else np.repeat(self.weight, np.diff(X.indptr))
        count = np.bincount(X.indices, minlength=d)
        share = (count if w is None else np.bincount(X.indices, w, d)) / self.total
        far = np.flatnonzero(share > FULL)
        if len(far):  # of these, those with means that dwarf their spread
            mean = self.to_X(self.mean)
            squares = scaled(X, columns=self.m).data ** 2
            squares = np.bincount(X.indices, squares if w is None else squares * w, d)
            far = far[(self.total * mean * mean >= FULL * squares)[far]]
        self.constant = count == 0
        if len(far):
            self.shift = np.zeros(d)
            self.shift[far] = self.mean[far]
            self.X = shifted(X, self.shift)
            left = self.X[:, far]
            self.drift = self.mean.copy()
            self.drift[far] = column_sums(left, self.weight) / self.total
            self.mean[far] += self.drift[far]
            spread = as_dense(left.max(axis=0) - left.min(axis=0)).ravel()
            self.constant[far] = spread <= ROUNDING * np.abs(self.shift[far])

    # -- the products ------------------------------------------------------------------

    def matmat(self, V: Array) -> Array:
        """Z V."""
        U = self.weighted(self._rows @ self.to_X(V))
        return self._project(U, out=U)

    def rmatmat(self, U: Array) -> Array:
        """Z'U."""
        return self.to_X(self._rows.T @ self.weighted(self._project(U)))

    def _sparse_cross(self, H: Any) -> Array:
        S, Xt = H.counted(), self._rows.T
        per_row = S.nnz / max(1, S.shape[0])
        narrow = S.shape[1] * SPARSE_RATE < per_row * BLOCK_RATE
        C = Xt @ S.toarray() if narrow else Xt.product(S)
        C = self.to_X(C)
        C -= np.outer(self.delta, H.sums)
        return C

    def _project(self, U: Array, out: Array | None = None) -> Array:
        """U - r r'U / sum(w): centring where only n x k numbers are touched."""
        if not self.center:
            return U
        r = np.ones(len(U), U.dtype) if self.r is None else self.r.astype(U.dtype)
        means = (r @ U) / U.dtype.type(self.total)
        return np.subtract(U, means if self.r is None else np.outer(r, means), out=out)

    def _plain_gram(self) -> Array:
        P = self._weighted_rows()
        return P.T.product(P.X)

    def _plain_outer(self) -> tuple[Array, Array]:
        P = self._weighted_rows()
        return P.product(P.T.X), P.X @ self.delta

    def _weighted_rows(self) -> SparseRows:
        """P."""
        if self.weight is None and self.m is None:
            return self._rows
        return SparseRows(scaled(self.X, self.r, self.m))

    def column_squares(self) -> Array:
        """The diagonal of Z'Z."""
        P = self._weighted_rows().X
        sums = np.bincount(P.indices, P.data * P.data, self.shape[1]).astype(np.float64)
        return np.maximum(sums - self.total * self.delta**2, 0.0)

    def toarray(self) -> Array:
        """Z; the caller has checked that it fits."""
        dense = self.X.toarray() - (self.mean if self.shift is None else self.drift)
        return self.weighted(dense if self.m is None else dense * self.m)

    @property
    def fast_in_single(self) -> bool:  # type: ignore[override]
        """Whether the numbers, which no unit has changed then, are well inside of float32."""
        return self._within(SMALLEST_SINGLE, 1 / SMALLEST_SINGLE)

    @property
    def products(self) -> str:  # type: ignore[override]
        """Whether there is a compiled product, and it takes indices of this type."""
        return "compiled" if compiled.product_of(self.X) else "scipy"

    # -- costs -------------------------------------------------------------------------

    @property
    def decomposable(self) -> bool:  # type: ignore[override]
        """Only what is small, as it is made dense."""
        return may_be_dense(self.shape)

    def seconds_for_passes(self, k: int) -> float:
        """Every stored number counts."""
        return 2 * int(self.X.nnz) * k / BLOCK_RATE

    def seconds_for_gram(self) -> float:
        """Squares of what is stored in the rows."""
        rows = np.diff(self.X.indptr).astype(np.float64)
        return float(rows @ rows) / SPARSE_RATE

    def seconds_for_outer(self) -> float:
        """Squares of what is stored in the columns."""
        columns = np.bincount(self.X.indices, minlength=self.shape[1]).astype(np.float64)
        return float(columns @ columns) / SPARSE_RATE
