"""What a stream must remember: exactly as much as the pencil needs, and it adds up.

While there are fewer rows than columns nothing is smaller than the rows themselves
(:class:`Rows`, the case of one batch too). Beyond that a factor R of the centred scatter of
[X G] takes their place (:class:`Factor`), with G the labels or, for targets that are not
linear in Y, one indicator column per distinct label set:

    R'R = [X G]c' [X G]c,   H = R_G M,   M = target rows of the identity (of the label sets)

so (R_X, R_G M) states the same pencil as the rows did, with nothing squared: R is stacked and
factored by QR. Two summaries merge by stacking their factors and one row for the difference
of their means. Streams, batches and merged models are this one addition, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.kernels import CenteredKernel
from eigenkit.linalg import Array, triangular_factor
from eigenkit.operators import ROUNDING, Centered, centered_columns, column_sums, one_sample
from eigenkit.pencil import KernelPencil, Pencil
from eigenkit.targets import Labels, Target

# The largest factor that a stream may keep.
FACTOR_LIMIT_BYTES = 2**30

# A column with a smaller spread, relative to its mean, is constant up to the rounding of sums of
# sums: the means are rounded once more with every merge.
STREAM_ROUNDING = 8 * ROUNDING

# Columns are left out of a problem when no more than this share of them holds anything.
WORTH_KEEPING = 0.9


@dataclass(frozen=True)
class Problem:
    """A pencil together with what an estimator keeps of the data."""

    pencil: Pencil
    labels: Labels
    mean: Array
    total: float
    n_rows: int


@dataclass(frozen=True)
class Rows:
    """All rows so far: X (dense or CSR), Y (n x k) and positive weights or None."""

    X: Any
    Y: Array
    weight: Array | None
    form = Pencil

    @property
    def n_rows(self) -> int:
        return len(self.Y)

    def check(self, d: int, k: int) -> None:
        """That these are rows of d features and k labels, as far as it costs nothing."""
        n = len(self.Y)
        fits = self.X.shape == (n, d) and self.Y.shape == (n, k)
        if not fits or not (self.weight is None or self.weight.shape == (n,)):
            raise ValueError(f"these are no rows of {d} features and {k} labels")

    def centered(self) -> Any:
        """The centred, weighted data Z."""
        return Centered(self.X, self.weight)

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        """State the pencil of ``target`` on these rows."""
        Z = self.centered()
        _, factor = centered_columns(self.Y, self.weight)
        if self.weight is not None:
            factor *= np.sqrt(self.weight)[:, None]
        one = one_sample(self.weight)
        labels = Labels(column_sums(self.Y, self.weight), factor, edge_weight, one)
        if target.linear:  # the centred H comes from the centred Y, and Y may be far from zero
            pencil = self.form(Z, target.rows(factor, labels), alpha)
        else:
            pencil = self.form.state(Z, target.rows(self.Y, labels), alpha)
        return Problem(pencil, labels, Z.mean, Z.total, len(self.Y))

    def occurring(self) -> tuple[Rows, np.ndarray | None]:
        """The rows without the columns of sparse X that hold nothing, and which are left.

        None where hardly any are empty. In text most words of a vocabulary may not occur, and
        everything that has one row per feature costs accordingly.
        """
        if not sparse.issparse(self.X):
            return self, None
        d = self.X.shape[1]
        (columns,) = np.nonzero(np.bincount(self.X.indices, minlength=d))
        if len(columns) == 0 or len(columns) > WORTH_KEEPING * d:
            return self, None
        place = np.zeros(d, dtype=self.X.indices.dtype)
        place[columns] = np.arange(len(columns))
        parts = self.X.data, place[self.X.indices], self.X.indptr
        X = sparse.csr_array(parts, shape=(self.X.shape[0], len(columns)))
        return replace(self, X=X), columns

    def append(self, other: Rows) -> Rows:
        """Both sets of rows, one after the other."""
        if sparse.issparse(self.X) and sparse.issparse(other.X):
            X = sparse.csr_array(sparse.vstack([self.X, other.X], format="csr"))
        else:
            X = np.vstack([_dense(self.X), _dense(other.X)])
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([self.weights(), other.weights()])
        return Rows(X, np.vstack([self.Y, other.Y]), weight)

    def weights(self) -> Array:
        return np.ones(len(self.Y)) if self.weight is None else self.weight

    def blocks(self, size: int) -> Iterator[Rows]:
        """Consecutive blocks of at most ``size`` rows."""
        for start in range(0, len(self.Y), size):
            part = slice(start, start + size)
            weight = None if self.weight is None else self.weight[part]
            yield Rows(self.X[part], self.Y[part], weight)


@dataclass(frozen=True)
class KernelMatrix(Rows):
    """Rows of which only the kernel matrix X (n x n, may be overwritten) is known."""

    form = KernelPencil

    def centered(self) -> Any:
        return CenteredKernel(self.X, self.weight, overwrite=True)


@dataclass(frozen=True)
class Factor:
    """The summary of many rows (see the module's docstring).

    ``sets`` holds the distinct rows of Y that the columns of G stand for; ``counted`` says that
    all weights were integers, which count repetitions (see :func:`one_sample`).
    """

    total: float
    n_rows: int
    mean: Array
    R: Array
    sets: Array
    counted: bool

    def check(self, d: int, k: int) -> None:
        """That this is a summary of d features and k labels, as far as it costs nothing."""
        width = d + len(self.sets)
        fits = self.mean.shape == (width,) and self.R.shape[1:] == (width,)
        if not fits or self.sets.shape[1:] != (k,) or not self.total > 0:
            raise ValueError(f"this is no summary of {d} features and {k} labels")

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        """State the pencil of ``target`` on the rows summarized here."""
        d = len(self.mean) - len(self.sets)
        count = self.total * self.mean[d:]
        R = self._without_rounding()
        one = 1.0 if self.counted else self.total / self.n_rows
        labels = Labels(count @ self.sets, R[:, d:] @ self.sets, edge_weight, one)
        H = R[:, d:] @ target.rows(self.sets, labels)
        pencil = Pencil(Centered(R[:, :d], center=False), H, alpha)
        return Problem(pencil, labels, self.mean[:d].copy(), self.total, self.n_rows)

    def _without_rounding(self) -> Array:
        """R, with zeros for columns that are constant up to the rounding of their sums."""
        spread = np.sqrt(np.einsum("ij,ij->j", self.R, self.R) / self.total)
        noise = spread <= STREAM_ROUNDING * np.abs(self.mean)
        return np.where(noise, 0.0, self.R) if noise.any() else self.R

    def merge(self, other: Factor) -> Factor:
        """The summary of the rows of both."""
        sets, columns_self, columns_other = _union(self.sets, other.sets)
        a = self._spread(columns_self, len(sets))
        b = other._spread(columns_other, len(sets))
        total = a.total + b.total
        mean = a.mean + (b.total / total) * (b.mean - a.mean)
        between = np.sqrt(a.total * b.total / total) * (b.mean - a.mean)
        R = np.vstack([a.R, b.R, between])
        if len(R) > 2 * R.shape[1]:
            R = triangular_factor(R)
        return Factor(total, a.n_rows + b.n_rows, mean, R, sets, a.counted and b.counted)

    def _spread(self, columns: np.ndarray, m: int) -> Factor:
        """The same summary with its label columns put in their places among ``m``."""
        d = len(self.mean) - len(self.sets)
        mean, R = np.zeros(d + m), np.zeros((len(self.R), d + m))
        mean[:d], R[:, :d] = self.mean[:d], self.R[:, :d]
        mean[d + columns], R[:, d + columns] = self.mean[d:], self.R[:, d:]
        return replace(self, mean=mean, R=R)


Moments = Rows | Factor


def merge(a: Moments | None, b: Moments, linear: bool) -> Moments:
    """Everything that ``a`` and ``b`` know, summarized as soon as that is smaller."""
    if a is None:
        return b
    if isinstance(a, Rows) and isinstance(b, Rows):
        both = a.append(b)
        return summarize(both, linear) if len(both.Y) > 2 * _width(both) else both
    a = summarize(a, linear) if isinstance(a, Rows) else a
    b = summarize(b, linear) if isinstance(b, Rows) else b
    return a.merge(b)


def summarize(rows: Rows, linear: bool) -> Factor:
    """The factor of some rows, taken in block by block so that no large copy is made."""
    check_factor_size(_width(rows))
    parts = (_factor_of(part, linear) for part in rows.blocks(_width(rows)))
    summary = next(parts)
    for part in parts:
        summary = summary.merge(part)
    return summary


def check_factor_size(width: int) -> None:
    """Refuse a stream whose summary would be too large to keep."""
    if 8 * width * width > FACTOR_LIMIT_BYTES:
        raise ValueError(
            f"X and Y have {width} columns together: once there are more rows than that, "
            f"partial_fit would keep {width} x {width} numbers ({8 * width**2 / 2**30:.1f} GB, the "
            f"limit is {FACTOR_LIMIT_BYTES / 2**30:g} GB); use fit, which needs no such matrix, or "
            "fewer features"
        )


def _factor_of(rows: Rows, linear: bool) -> Factor:
    if linear:
        sets, G = np.eye(rows.Y.shape[1]), rows.Y
    else:
        sets, index = np.unique(rows.Y, axis=0, return_inverse=True)
        G = np.eye(len(sets))[np.ravel(index)]
    joint = np.hstack([_dense(rows.X).astype(np.float64), G])
    weight = rows.weights()
    total = float(weight.sum())
    mean = weight @ joint / total
    joint -= mean
    drift = weight @ joint / total
    R = np.sqrt(weight)[:, None] * (joint - drift)
    counted = rows.weight is None or one_sample(rows.weight) == 1.0
    return Factor(total, len(joint), mean + drift, R, sets, counted)


def _union(a: Array, b: Array) -> tuple[Array, np.ndarray, np.ndarray]:
    """The distinct rows of both, and where the rows of each are among them."""
    sets, index = np.unique(np.vstack([a, b]), axis=0, return_inverse=True)
    index = np.ravel(index)
    return sets, index[: len(a)], index[len(a) :]


def _width(rows: Rows) -> int:
    return int(rows.X.shape[1] + rows.Y.shape[1])


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)
