"""What one pass finds out about the columns of X, block by block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.linalg import Array
from eigenkit.tolerances import precision


@dataclass(frozen=True)
class Survey:
    """Counts, means, squares and ranges of columns; two of them merge.

    ``mean`` and ``squares`` (sums of w x^2) are weighted, ``low`` and ``high`` are the smallest
    and largest numbers, ``filled`` the weight of the rows in which a column holds something,
    ``eps`` the least precision of a block.
    """

    n_rows: int
    n_stored: int
    total: float
    counted: bool
    mean: Array
    squares: Array
    low: Array
    high: Array
    filled: Array
    is_sparse: bool
    squared_rows: float
    eps: float

    @classmethod
    def of(cls, X: Any, weight: Array | None, m: Array | None = None) -> Survey:
        """Of some rows; of X diag(m) where m is given."""
        found = _of_sparse if sparse.issparse(X) else _of_dense
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            columns = found(X, weight, m)
        counted = weight is None or bool(np.all(weight == np.rint(weight)))
        total, eps = _total(X, weight), precision(X)
        return cls(n_rows=X.shape[0], total=total, counted=counted, eps=eps, **columns)

    def merge(self, other: Survey) -> Survey:
        """Of the rows of both."""
        total = self.total + other.total
        with np.errstate(over="ignore", invalid="ignore"):
            mean = self.mean + (other.total / total) * (other.mean - self.mean)
            squares = self.squares + other.squares
        return Survey(
            self.n_rows + other.n_rows,
            self.n_stored + other.n_stored,
            total,
            self.counted and other.counted,
            mean,
            squares,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.filled + other.filled,
            self.is_sparse or other.is_sparse,
            self.squared_rows + other.squared_rows,
            max(self.eps, other.eps),
        )

    @property
    def sizes(self) -> Array:
        """The largest number of each column, in absolute value."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def survey_of(blocks: Iterable[Any], m: Array | None = None) -> Survey | None:
    """Of blocks (X, Y, weight); None of nothing."""
    found = None
    for X, _, weight in blocks:
        one = Survey.of(X, weight, m)
        found = one if found is None else found.merge(one)
    return found


def _total(X: Any, weight: Array | None) -> float:
    return float(X.shape[0] if weight is None else weight.sum())


def _of_dense(X: Any, weight: Array | None, m: Array | None) -> dict[str, Any]:
    P = np.asarray(X, dtype=np.float64)
    P = P if m is None else P * m
    total, d = _total(X, weight), P.shape[1]
    w = np.ones(len(P)) if weight is None else weight
    mean = w @ P / total
    return {
        "n_stored": P.size,
        "mean": mean + w @ (P - mean) / total,
        "squares": np.einsum("ij,ij,i->j", P, P, w),
        "low": P.min(axis=0),
        "high": P.max(axis=0),
        "filled": np.full(d, total),
        "is_sparse": False,
        "squared_rows": float(len(P)) * d * d,
    }


def _of_sparse(X: Any, weight: Array | None, m: Array | None) -> dict[str, Any]:
    d, index = X.shape[1], X.indices.astype(np.intp, copy=False)  # once, not in every sum
    data = X.data.astype(np.float64, copy=False)
    data = data if m is None else data * m[index]
    counts = np.diff(X.indptr)
    rows = np.bincount(index, minlength=d)
    # Few arrays of this size: where each is allocated afresh, they cost more than the sums.
    each = None if weight is None else np.repeat(weight, counts)
    weighted = data if each is None else each * data
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    np.minimum.at(low, index, data)
    np.maximum.at(high, index, data)
    gap = rows < X.shape[0]
    return {
        "n_stored": len(data),
        "mean": np.bincount(index, weighted, d) / _total(X, weight),
        "squares": np.bincount(index, weighted * data, d),
        "low": np.where(gap, np.minimum(low, 0.0), low),
        "high": np.where(gap, np.maximum(high, 0.0), high),
        "filled": rows.astype(np.float64) if each is None else np.bincount(index, each, d),
        "is_sparse": True,
        "squared_rows": float(counts.astype(np.float64) @ counts),
    }
