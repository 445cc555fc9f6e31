"""The factor of many rows: their centred scatter, and what merges of it; see the package."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from eigenkit.data import Centered
from eigenkit.linalg import Array, distinct_rows, triangular_factor
from eigenkit.moments.rows import NEGLIGIBLE, Problem, Rows, among, dense
from eigenkit.pencil import Pencil
from eigenkit.targets import Labels, Target
from eigenkit.tolerances import EPS, STREAM_ROUNDING, precision


@dataclass(frozen=True)
class Factor:
    """The summary of many rows of d features (see the module's docstring).

    ``degree`` holds the sums of Y; ``sets`` the distinct rows of Y that the columns of G stand
    for, None where G is the local part of a target. ``count`` is the number of rows as far as
    they have not faded, ``counted`` says that their weights were integers (:func:`one_sample`),
    ``eps`` and ``eps_y`` are the precisions of X and Y as they were given.
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
    eps: float = EPS
    eps_y: float = EPS

    @classmethod
    def of(cls, rows: Rows, G: Array, sets: Array | None) -> Factor:
        """The summary of some rows, with the columns G beside X."""
        joint = np.hstack([dense(rows.X).astype(np.float64), G])
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
        """That this is a summary of d features and k labels, as far as it costs nothing."""
        m = self.R.shape[1] - d
        fits = m >= 0 and self.d == d and self.mean.shape == (d + m,) and self.degree.shape == (k,)
        fits = fits and (self.sets is None or self.sets.shape == (m, k))
        if not fits or not self.total > 0 or not self.count > 0:
            raise ValueError(f"this is not a summary of {d} features and {k} labels")

    @property
    def one(self) -> float:
        """What one sample weighs."""
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
        known, d = (self.total, self.one, self.n_rows), self.d
        X = Centered.behind(self.R[:, :d], self.mean[:d], *known, self.eps)
        return X, Centered.behind(self.R[:, d:], self.mean[d:], *known, self.eps_y)

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
        """The same summary with the labels put in their places among k."""
        degree = among(self.degree, columns, k)
        if self.sets is not None:
            return replace(self, degree=degree, sets=among(self.sets, columns, k))
        return replace(self.placed(columns, k), degree=degree)

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
    sets, index = distinct_rows(np.vstack([a.sets, b.sets]))
    places = np.split(index, [len(a.sets)])
    a, b = (f.placed(own, len(sets)) for f, own in zip((a, b), places, strict=True))
    return replace(a, sets=sets), replace(b, sets=sets)
