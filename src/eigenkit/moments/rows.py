"""A sample as rows, or as a factor of many, and the problem that it states.

See the docstring of the package for what a stream keeps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import Centered, CenteredKernel
from eigenkit.data.matrices import arrays_of, as_dense, column_sums, one_sample, sparse_labels
from eigenkit.numerics.linalg import Array, distinct_rows, power_of_two, triangular_factor
from eigenkit.numerics.tolerances import EPS, STREAM_ROUNDING, precision
from eigenkit.pencil import Pencil, Solution
from eigenkit.targets import TARGETS, Labels, Target

# Rows and label sets that count less than this part of a sample are forgotten.
NEGLIGIBLE = 1e-12

# Y as it is, beside X.
RESPONSES = TARGETS["opls"]

# Columns are left out of a problem when no more than this share of them holds anything.
WORTH_KEEPING = 0.9


@dataclass(frozen=True)
class Problem:
    """A pencil together with what an estimator keeps of the data; ``labelled`` is the pencil of the
    samples that have labels, where Z holds more than these."""

    pencil: Pencil
    labels: Labels
    mean: Array
    total: float
    n_rows: int
    labelled: Pencil | None = None

    @property
    def of_samples(self) -> Pencil:
        """The pencil of the samples that have labels."""
        return self.labelled or self.pencil

    def judged(self, solution: Solution) -> Solution:
        """With W'B W of the samples alone, for what is fitted on the scores: with the penalty of a
        graph, they would seem to spread more than they do."""
        if self.labelled is None:
            return solution
        gram = self.labelled.forms(self.labelled.Z.from_X(solution.W))[1]
        return replace(solution, gram=gram)


@dataclass(frozen=True)
class Rows:
    """Rows of data; problems are stated on those of positive weight (:meth:`positive`)."""

    X: Any  # dense or CSR, as is Y (n x k)
    Y: Any
    weight: Array | None
    fade: Array | None = None  # what is left of each row in a stream that forgets, as a factor

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def whole(self) -> Rows | None:
        """All rows, where sums of them are not enough; None for streams and blocks."""
        return self

    @property
    def n_bytes(self) -> int:
        """The room that X and Y take."""
        return int(sum(part.nbytes for part in (*arrays_of(self.X), self.Y)))

    def check(self, d: int, k: int) -> None:
        """Check that these are rows of d features and k labels (cheap checks only)."""
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
        """The same rows as they are kept: small labels in bytes, and all in the order of files, as
        other orders of the same numbers may round otherwise."""
        with np.errstate(invalid="ignore"):
            small = self.Y.astype(np.uint8)
        Y = small if np.array_equal(small, self.Y) else self.Y
        X = self.X if sparse.issparse(self.X) else np.ascontiguousarray(self.X)
        return replace(self, X=X, Y=np.ascontiguousarray(Y))

    def faded(self, fade: Array | float) -> Rows:
        """The same rows, each counting that much less; without those that hardly count."""
        fade = fade * self.fades()
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

    def sides(self) -> tuple[Centered, Centered]:
        """X and Y as centred data."""
        return self.centered(), Centered(self.Y, self.effective)

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        """State the pencil of ``target`` on these rows."""
        Z, n = self.centered(), self.X.shape[0]
        with Z.threads:
            one = 1.0 if self.counted else Z.total / self.count
            Y = self._labels(target)
            G = target.local(Y, edge_weight)
            # Only linear targets use it.
            factor = Z.target(G) if target.linear else np.empty((0, G.shape[1]))
            degree = column_sums(Y, Z.weight)
            labels = Labels(degree, factor, edge_weight, one, n, Z.total, precision(self.Y))
            if target.linear and not sparse.issparse(Y):
                # The centred H comes from the centred G, as Y may be far from zero.
                H = target.finish(factor, labels)
            else:
                H = Z.target(target.finish(G, labels))
        return Problem(Pencil(Z, H, alpha), labels, Z.mean, Z.total, n)

    def _labels(self, target: Target) -> Any:
        """Y in float64; sparse as it came, or where it has hardly anything but zeros."""
        Y = self.Y.astype(np.float64, copy=False)
        if sparse.issparse(Y):
            return Y if target.sparse else Y.toarray()
        found = sparse_labels(Y) if target.sparse else None
        return Y if found is None else found

    def occurring(self) -> tuple[Rows, np.ndarray | None]:
        """The rows without the columns of sparse X that hold nothing, and which are left; None
        where hardly any are empty. In text most words of a vocabulary may not occur."""
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
            X = np.vstack([as_dense(self.X), as_dense(other.X)])
        weight = fade = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([self.weights(), other.weights()])
        if self.fade is not None or other.fade is not None:
            fade = np.concatenate([self.fades(), other.fades()])
        return Rows(X, np.vstack([self.Y, other.Y]), weight, fade)

    def fades(self) -> Array:
        return np.ones(self.X.shape[0]) if self.fade is None else self.fade

    def weights(self) -> Array:
        return np.ones(self.X.shape[0]) if self.weight is None else self.weight


@dataclass(frozen=True)
class KernelMatrix(Rows):
    """Rows of which only the kernel matrix X (n x n, may be overwritten) is known."""

    rounding: float = 0.0  # of the samples
    eps: float = EPS  # of the kernel

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


# -- many rows as a factor of their centred scatter ------------------------------------


@dataclass(frozen=True)
class Factor:
    """The summary of many rows of d features (see the module's docstring)."""

    d: int
    total: float
    count: float  # of rows as far as they have not faded
    n_rows: int
    mean: Array
    R: Array
    degree: Array  # the sums of Y
    # The distinct rows of Y that the columns of G stand for; None: G is the local part of a target.
    sets: Array | None
    counted: bool  # whether the weights were integers (one_sample)
    eps: float = EPS  # the precisions of X and Y as they were given
    eps_y: float = EPS

    @classmethod
    def of(cls, rows: Rows, G: Array, sets: Array | None) -> Factor:
        """The summary of some rows, with the columns G beside X."""
        joint = np.hstack([as_dense(rows.X).astype(np.float64), G])
        weight = rows.weights() * rows.fades()
        total = float(weight.sum())
        mean = weight @ joint / total
        joint -= mean
        drift = weight @ joint / total
        R = np.sqrt(weight)[:, None] * (joint - drift)
        d, n, degree = rows.X.shape[1], len(joint), weight @ rows.Y
        sums = total, rows.count, n, mean + drift, R, degree
        return cls(d, *sums, sets, rows.counted, precision(rows.X), precision(rows.Y))

    def check(self, d: int, k: int) -> None:
        m = self.R.shape[1] - d
        fits = m >= 0 and self.d == d and self.mean.shape == (d + m,) and self.degree.shape == (k,)
        fits = fits and (self.sets is None or self.sets.shape == (m, k))
        if not fits or not self.total > 0 or not self.count > 0:
            raise ValueError(f"this is not a summary of {d} features and {k} labels")

    @property
    def one(self) -> float:
        return 1.0 if self.counted else self.total / self.count

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        """State the pencil of ``target`` on the rows summarized here."""
        R = self.without_rounding().R
        RX, RG, sets, mean = R[:, : self.d], R[:, self.d :], self.sets, self.mean[: self.d].copy()
        factor = RG if sets is None else RG @ target.local(sets, edge_weight)
        labels = self.labels(factor, edge_weight)
        H = target.finish(RG, labels) if sets is None else RG @ target.rows(sets, labels)
        Z = Centered.behind(RX, mean, self.total, self.one, self.n_rows, self.eps)
        return Problem(Pencil(Z, H, alpha), labels, mean, self.total, self.n_rows)

    def labels(self, factor: Array, edge_weight: Array | float) -> Labels:
        """What a target may know of the rows, with this factor of its local part."""
        known = self.n_rows, self.total, self.eps_y
        return Labels(self.degree, factor, edge_weight, self.one, *known)

    def sides(self) -> tuple[Centered, Centered]:
        """X and G as centred data of the same products, with the means and freedom of the rows."""
        known, d, R = (self.total, self.one, self.n_rows), self.d, self.without_rounding().R
        X = Centered.behind(R[:, :d], self.mean[:d], *known, self.eps)
        return X, Centered.behind(R[:, d:], self.mean[d:], *known, self.eps_y)

    def spread(self) -> Array:
        """The standard deviations of the columns, whose squares may leave the range."""
        unit = power_of_two(np.abs(self.R).max(axis=0, initial=0.0))
        R = self.R / unit
        return np.asarray(unit * np.sqrt(np.einsum("ij,ij->j", R, R) / self.total))

    def without_rounding(self) -> Factor:
        """The same, with zeros for columns that are constant up to the rounding of their sums."""
        noise = self.spread() <= STREAM_ROUNDING * np.abs(self.mean)
        return replace(self, R=np.where(noise, 0.0, self.R)) if noise.any() else self

    def merge(self, other: Factor) -> Factor:
        """The summary of the rows of both."""
        a, b = _with_common_sets(self, other)
        total, gap = a.total + b.total, b.mean - a.mean
        return replace(
            a,
            total=total,
            count=a.count + b.count,
            n_rows=a.n_rows + b.n_rows,
            mean=a.mean + (b.total / total) * gap,
            R=np.vstack([a.R, b.R, np.sqrt(a.total * b.total / total) * gap]),
            degree=a.degree + b.degree,
            counted=a.counted and b.counted,
            eps=max(a.eps, b.eps),
            eps_y=max(a.eps_y, b.eps_y),
        ).triangular()

    def triangular(self) -> Factor:
        """The same summary in as few rows as it takes."""
        small = len(self.R) <= self.R.shape[1] or not self.R.size
        # In the order that files keep: other orders of the same numbers may round otherwise.
        return self if small else replace(self, R=np.ascontiguousarray(triangular_factor(self.R)))

    def placed(self, columns: np.ndarray, k: int) -> Factor:
        """The same summary with its label columns put in their places among k."""
        d = self.d
        mean = np.append(self.mean[:d], among(self.mean[d:], columns, k))
        R = np.hstack([self.R[:, :d], among(self.R[:, d:], columns, k)])
        return replace(self, mean=mean, R=R)

    def relabelled(self, columns: np.ndarray, k: int) -> Factor:
        degree = among(self.degree, columns, k)
        if self.sets is not None:
            return replace(self, degree=degree, sets=among(self.sets, columns, k))
        return replace(self.placed(columns, k), degree=degree)

    def faded(self, fade: float) -> Factor | None:
        """The same summary, counting that much less; without label sets that hardly count."""
        if self.count * fade < NEGLIGIBLE**2:
            return None  # long before its square leaves the range of floating point
        total, count, degree = self.total * fade, self.count * fade, self.degree * fade
        R = self.R * np.sqrt(fade)
        faded = replace(self, total=total, count=count, degree=degree, R=R)
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
    sets, index = distinct_rows(np.vstack([a.sets, b.sets]))
    places = np.split(index, [len(a.sets)])
    a, b = (f.placed(own, len(sets)) for f, own in zip((a, b), places, strict=True))
    return replace(a, sets=sets), replace(b, sets=sets)
