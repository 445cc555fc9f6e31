"""What a stream must remember: exactly as much as the pencil needs, and it adds up.

Nothing is smaller than the rows themselves while there are few of them (:class:`Rows`, the case
of ``fit`` too). Beyond that a factor R of the centred scatter of [X G] takes their place
(:class:`Factor`), with G the part of the target that a row has by itself or, for targets that
have none, one indicator column per distinct label set:

    R'R = [X G]c' [X G]c,   H = R_G M,   M from sums over all samples

so (R_X, H) states the same pencil as the rows did, with nothing squared: R is stacked and
factored by QR. Two summaries merge by stacking their factors and one row for the difference
of their means. Streams, batches and merged models are this one addition, in any order
(:class:`eigenkit.moments.Moments`: a factor of what is old, and recent rows as they came).

A stream may forget: a row that has seen a more after it counts 2^(-a / half_life). Sums of
weights fade by that factor, R by its root.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import (
    ROUNDING,
    Centered,
    CenteredKernel,
    centered_columns,
    column_sums,
    one_sample,
)
from eigenkit.linalg import Array
from eigenkit.pencil import Pencil
from eigenkit.targets import Labels, Target

# Rows and label sets that count less than this part of a sample are forgotten.
NEGLIGIBLE = 1e-12

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
    """Rows of data: X (dense or CSR), Y (n x k) and positive weights or None.

    ``fade`` holds what is left of each row in a stream that forgets, as a factor.
    """

    X: Any
    Y: np.ndarray
    weight: Array | None
    fade: Array | None = None

    @property
    def n_rows(self) -> int:
        return len(self.Y)

    @property
    def n_bytes(self) -> int:
        """The room that X and Y take."""
        X = self.X
        parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        return int(sum(part.nbytes for part in parts) + self.Y.nbytes)

    def check(self, d: int, k: int) -> None:
        """That these are rows of d features and k labels, as far as it costs nothing."""
        n = len(self.Y)
        fits = self.X.shape == (n, d) and self.Y.shape == (n, k)
        each = [column for column in (self.weight, self.fade) if column is not None]
        if not fits or any(column.shape != (n,) for column in each):
            raise ValueError(f"these are no rows of {d} features and {k} labels")

    def compact(self) -> Rows:
        """The same rows as they are kept: labels in bytes where they are zeros and ones.

        All in the order that files keep: other orders of the same numbers may round otherwise.
        """
        with np.errstate(invalid="ignore"):
            small = self.Y.astype(np.uint8)
        Y = small if np.array_equal(small, self.Y) else self.Y
        X = self.X if sparse.issparse(self.X) else np.ascontiguousarray(self.X)
        return replace(self, X=X, Y=np.ascontiguousarray(Y))

    def faded(self, fade: Array | float) -> Rows:
        """The same rows, each counting that much less; without those that hardly count."""
        fade = np.ones(len(self.Y)) * fade * (1.0 if self.fade is None else self.fade)
        keep = fade >= NEGLIGIBLE
        weight = None if self.weight is None else self.weight[keep]
        if keep.all():
            return replace(self, fade=fade)
        return replace(self, X=self.X[keep], Y=self.Y[keep], weight=weight, fade=fade[keep])

    @property
    def effective(self) -> Array | None:
        """The weights that the rows count with."""
        return self.weight if self.fade is None else self.weights() * self.fade

    @property
    def counted(self) -> bool:
        """Whether the weights, before anything faded, are integers and count repetitions."""
        return self.weight is None or one_sample(self.weight) == 1.0

    @property
    def count(self) -> float:
        """The number of rows, as far as they have not faded."""
        return float(len(self.Y) if self.fade is None else self.fade.sum())

    def centered(self) -> Any:
        """The centred, weighted data Z."""
        return Centered(self.X, self.effective)

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        """State the pencil of ``target`` on these rows."""
        Z, weight = self.centered(), self.effective
        Y = self.Y.astype(np.float64, copy=False)
        G = target.local(Y, edge_weight)
        _, factor = centered_columns(G, weight)
        if weight is not None:
            factor *= np.sqrt(weight)[:, None]
        one = 1.0 if self.counted else Z.total / self.count
        labels = Labels(column_sums(Y, weight), factor, edge_weight, one, len(Y))
        if target.linear:  # the centred H comes from the centred G, and Y may be far from zero
            pencil = Pencil(Z, target.finish(factor, labels), alpha)
        else:
            pencil = Pencil.state(Z, target.finish(G, labels), alpha)
        return Problem(pencil, labels, Z.mean, Z.total, len(Y))

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
            X = np.vstack([dense(self.X), dense(other.X)])
        weight, fade = (
            None if mine is None and theirs is None else np.concatenate([a, b])
            for mine, theirs, a, b in (
                (self.weight, other.weight, self.weights(), other.weights()),
                (self.fade, other.fade, self.fades(), other.fades()),
            )
        )
        return Rows(X, np.vstack([self.Y, other.Y]), weight, fade)

    def fades(self) -> Array:
        return np.ones(len(self.Y)) if self.fade is None else self.fade

    def weights(self) -> Array:
        return np.ones(len(self.Y)) if self.weight is None else self.weight

    def blocks(self, size: int) -> Iterator[Rows]:
        """Consecutive blocks of at most ``size`` rows."""
        for start in range(0, len(self.Y), size):
            part = slice(start, start + size)
            weight, fade = (None if w is None else w[part] for w in (self.weight, self.fade))
            yield Rows(self.X[part], self.Y[part], weight, fade)


@dataclass(frozen=True)
class KernelMatrix(Rows):
    """Rows of which only the kernel matrix X (n x n, may be overwritten) is known."""

    def centered(self) -> Any:
        return CenteredKernel(self.X, self.weight, overwrite=True)


<<<<<<< HEAD:src/eigenkit/moments.py
@dataclass(frozen=True)
class Factor:
    """The summary of many rows of d features (see the module's docstring).

    ``degree`` holds the sums of Y; ``sets`` the distinct rows of Y that the columns of G stand
    for, None where G is the local part of a target. ``count`` is the number of rows as far as
    they have not faded, ``counted`` says that their weights were integers (:func:`one_sample`).
    """

    d: int
    total: float
    count: float
    n_rows: int
    mean: Array
    R: Array
    degree: Array
    sets: Array | None
    counted: bool

    @classmethod
    def of(cls, rows: Rows, G: Array, sets: Array | None) -> Factor:
        """The summary of some rows, with the columns G beside X."""
        joint = np.hstack([_dense(rows.X).astype(np.float64), G])
        weight = rows.weights() * rows.fades()
        total = float(weight.sum())
        mean = weight @ joint / total
        joint -= mean
        drift = weight @ joint / total
        R = np.sqrt(weight)[:, None] * (joint - drift)
        d, n, degree = rows.X.shape[1], len(joint), weight @ rows.Y
        return cls(d, total, rows.count, n, mean + drift, R, degree, sets, rows.counted)

    def check(self, d: int, k: int) -> None:
        """That this is a summary of d features and k labels, as far as it costs nothing."""
        m = self.R.shape[1] - d
        fits = m >= 0 and self.d == d and self.mean.shape == (d + m,) and self.degree.shape == (k,)
        fits = fits and (self.sets is None or self.sets.shape == (m, k))
        if not fits or not self.total > 0 or not self.count > 0:
            raise ValueError(f"this is no summary of {d} features and {k} labels")

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        """State the pencil of ``target`` on the rows summarized here."""
        R = self.without_rounding().R
        RX, RG = R[:, : self.d], R[:, self.d :]
        one = 1.0 if self.counted else self.total / self.count
        sets = self.sets
        factor = RG if sets is None else RG @ target.local(sets, edge_weight)
        labels = Labels(self.degree, factor, edge_weight, one, self.n_rows)
        H = target.finish(RG, labels) if sets is None else RG @ target.rows(sets, labels)
        pencil = Pencil(Centered(RX, center=False, n_samples=self.n_rows), H, alpha)
        return Problem(pencil, labels, self.mean[: self.d].copy(), self.total, self.n_rows)

    def without_rounding(self) -> Factor:
        """The same, with zeros for columns that are constant up to the rounding of their sums."""
        spread = np.sqrt(np.einsum("ij,ij->j", self.R, self.R) / self.total)
        noise = spread <= STREAM_ROUNDING * np.abs(self.mean)
        return replace(self, R=np.where(noise, 0.0, self.R)) if noise.any() else self

    def merge(self, other: Factor) -> Factor:
        """The summary of the rows of both."""
        a, b = _with_common_sets(self, other)
        total = a.total + b.total
        between = np.sqrt(a.total * b.total / total) * (b.mean - a.mean)
        R = np.vstack([a.R, b.R, between])
        return replace(
            a,
            total=total,
            count=a.count + b.count,
            n_rows=a.n_rows + b.n_rows,
            mean=a.mean + (b.total / total) * (b.mean - a.mean),
            R=R,
            degree=a.degree + b.degree,
            counted=a.counted and b.counted,
        ).triangular()

    def triangular(self) -> Factor:
        """The same summary in as few rows as it takes."""
        small = len(self.R) <= self.R.shape[1] or not self.R.size
        # In the order that files keep: other orders of the same numbers may round otherwise.
        return self if small else replace(self, R=np.ascontiguousarray(triangular_factor(self.R)))

    def spread(self, sets: Array, columns: np.ndarray) -> Factor:
        """The same summary with its label columns put in their places among more label sets."""
        d, width = self.d, self.d + len(sets)
        mean, R = np.zeros(width), np.zeros((len(self.R), width))
        mean[:d], R[:, :d] = self.mean[:d], self.R[:, :d]
        mean[d + columns], R[:, d + columns] = self.mean[d:], self.R[:, d:]
        return replace(self, mean=mean, R=R, sets=sets)

    def faded(self, fade: float) -> Factor | None:
        """The same summary, counting that much less; without label sets that hardly count."""
        if self.count * fade < NEGLIGIBLE**2:
            return None  # long before its square leaves the range of floating point
        sums = {name: getattr(self, name) * fade for name in ("total", "count", "degree")}
        faded = replace(self, R=self.R * np.sqrt(fade), **sums)
        if self.sets is None:
            return faded
        keep = self.mean[self.d :] * faded.count >= NEGLIGIBLE
        columns = np.append(np.ones(self.d, dtype=bool), keep)
        mean, R, sets = faded.mean[columns], faded.R[:, columns], self.sets[keep]
        return replace(faded, mean=mean, R=R, sets=sets)


def _with_common_sets(a: Factor, b: Factor) -> tuple[Factor, Factor]:
    """Both, with the same label columns."""
    if a.sets is None or b.sets is None:
        return a, b
    sets, index = np.unique(np.vstack([a.sets, b.sets]), axis=0, return_inverse=True)
    index = np.ravel(index)
    return a.spread(sets, index[: len(a.sets)]), b.spread(sets, index[len(a.sets) :])


def _dense(X: Any) -> np.ndarray:
=======
def dense(X: Any) -> np.ndarray:
>>>>>>> main:src/eigenkit/moments/rows.py
    return np.asarray(X.toarray() if sparse.issparse(X) else X)
