"""A sample as rows, and the problem that it states; the package says what streams keep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import Centered, CenteredKernel, column_sums, one_sample, sparse_labels
from eigenkit.linalg import Array
from eigenkit.pencil import Pencil
from eigenkit.targets import Labels, Target
from eigenkit.tolerances import EPS, precision

# Rows and label sets that count less than this part of a sample are forgotten.
NEGLIGIBLE = 1e-12


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
    """Rows of data: X and Y (n x k), both dense or CSR, and weights or None.

    Problems are stated on rows of positive weight (:meth:`positive`).

    ``fade`` holds what is left of each row in a stream that forgets, as a factor.
    """

    X: Any
    Y: Any
    weight: Array | None
    fade: Array | None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def whole(self) -> Rows | None:
        """All rows, for what their sums do not tell; a stream and blocks have None."""
        return self

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
            raise ValueError(f"these are not rows of {d} features and {k} labels")

    def positive(self) -> Rows:
        """The rows that have a weight above zero."""
        if self.weight is None or np.all(self.weight > 0):
            return self
        return self.take(np.flatnonzero(self.weight > 0))

    def take(self, index: np.ndarray | slice) -> Rows:
        """Some of the rows."""
        weight, fade = (None if w is None else w[index] for w in (self.weight, self.fade))
        return replace(self, X=self.X[index], Y=self.Y[index], weight=weight, fade=fade)

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
        fade = np.ones(self.n_rows) * fade * (1.0 if self.fade is None else self.fade)
        keep = fade >= NEGLIGIBLE
        faded = replace(self, fade=fade)
        return faded if keep.all() else faded.take(np.flatnonzero(keep))

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
        return float(self.n_rows if self.fade is None else self.fade.sum())

    def centered(self) -> Any:
        """The centred, weighted data Z."""
        return Centered(self.X, self.effective)

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        """State the pencil of ``target`` on these rows."""
        Z, n = self.centered(), self.n_rows
        with Z.own_threads():
            one = 1.0 if self.counted else Z.total / self.count
            Y = self._labels(target)
            G = target.local(Y, edge_weight)
            factor = Pencil.state(Z, G, alpha).H
            degree = column_sums(Y, Z.weight)
            labels = Labels(degree, factor, edge_weight, one, n, Z.total, precision(self.Y))
            if target.linear and not sparse.issparse(Y):
                # The centred H comes from the centred G, as Y may be far from zero.
                pencil = Pencil(Z, target.finish(factor, labels), alpha)
            else:
                pencil = Pencil.state(Z, target.finish(G, labels), alpha)
        return Problem(pencil, labels, Z.mean, Z.total, n)

    def _labels(self, target: Target) -> Any:
        """Y in float64; sparse as it came, or where it has hardly anything but zeros."""
        Y = self.Y.astype(np.float64, copy=False)
        if sparse.issparse(Y):
            return Y if target.sparse else Y.toarray()
        found = sparse_labels(Y) if target.sparse else None
        return Y if found is None else found

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

    def as_precise_as(self, other: Rows) -> bool:
        """Whether both came in the same precision, which one matrix of both can then have."""
        pairs = (self.X, other.X), (self.Y, other.Y)
        return all(precision(mine) == precision(theirs) for mine, theirs in pairs)

    def relabelled(self, columns: np.ndarray, k: int) -> Rows:
        """The same rows with their labels put in their places among k."""
        return replace(self, Y=among(self.Y, columns, k))

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
        return np.ones(self.n_rows) if self.fade is None else self.fade

    def weights(self) -> Array:
        return np.ones(self.n_rows) if self.weight is None else self.weight

    def blocks(self, size: int) -> Iterator[Rows]:
        """Consecutive blocks of at most ``size`` rows."""
        for start in range(0, len(self.Y), size):
            yield self.take(slice(start, start + size))


@dataclass(frozen=True)
class KernelMatrix(Rows):
    """Rows of which only the kernel matrix X (n x n, may be overwritten) is known.

    ``rounding`` and ``eps`` are what is known of the rounding of the samples, and of the kernel.
    """

    rounding: float = 0.0
    eps: float = EPS

    def centered(self) -> Any:
        known = {"rounding": self.rounding, "eps": self.eps}
        return CenteredKernel(self.X, self.weight, overwrite=True, **known)

    def _labels(self, target: Target) -> Any:
        """As they are: H is among the directions of a kernel."""
        return self.Y.astype(np.float64, copy=False)


def among(Y: np.ndarray, columns: np.ndarray, k: int) -> np.ndarray:
    """Y with its columns put in their places among k; zeros in the others."""
    out = np.zeros((*Y.shape[:-1], k), dtype=Y.dtype)
    out[..., columns] = Y
    return out


def dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)
