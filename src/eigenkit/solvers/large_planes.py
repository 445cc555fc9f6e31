"""Planes of very large sparse data: products only, nothing of order d x d or n x n is formed.

With N_c = sqrt(w) [features, 1] the rows of class c, the plane of a class maximizes

    z'(S - G_c + b I) z / z'(G_c + a I) z,   G_c = N_c'N_c,  S the sum over all classes

(b = a: ReGEC with a ridge; b = 0: GEPSVM). The largest eigenpair is found by the locally optimal
conjugate gradients of Knyazev (LOBPCG): the best vector of the span of the present one, its
preconditioned residual and the last step. Two things are most of the denominator: the mean of the
class, which all of its rows share, and words that some rows share and most do not. So the
preconditioner is the inverse of what one step of Cholesky on the column of the constant leaves of
G_c + a I, with a diagonal in place of the rest:

    G_c = m m' + rest,   m = G_c e / sqrt(e'G_c e)

The planes of all classes are improved together: a product with a few columns takes hardly longer
than with one. The values N z of every vector at the rows are kept, from which all forms
follow; only residuals need the transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from eigenkit.data import Data
from eigenkit.exceptions import warn_of_stopping
from eigenkit.numerics.linalg import Array, fixed_start
from eigenkit.numerics.tolerances import EPS
from eigenkit.pencil import Report
from eigenkit.solvers.planes import Planes

# The relative residual that ends the iteration, and the largest number of steps. The
# quotient is off by about the square of the residual.
TOL = 1e-2
STEPS = 300
# The ridge, in mean squared lengths of a row, from which on some tens of steps are enough.
ENOUGH = 10
# The smallest relative pivot of Cholesky: below it, a pivot is rounding.
LEAST = 1e-6

PRODUCTS = "the rows are sparse, and too many and too wide for a matrix of either order"


@dataclass(frozen=True)
class Sums:
    """What the computation of planes needs from the rows; (k, ...) has an entry for each class.

    Every kind has three functions: ``marks`` (k, any number) of vectors (k, d), which are linear in
    them, and, computed from marks, the ``images`` (S - G_c) z and G_c z, (2, k, d), of one vector z
    of each class, and the ``forms`` V'(S - G_c) V and V'G_c V, (2, k, m, m), of m vectors of each.
    """

    sums: Array  # (k, d), the last column of every G_c
    squares: Array  # (k, d), its diagonal
    units: Array  # (d,), times a vector: the plane of X, in which ridges are measured
    shift = 0.0
    column = None

    def normals(self, Z: Array) -> Array:
        """The normals of planes, in the units of the features."""
        return (Z * self.units)[:, :-1]


def roots(Z: Data) -> Array:
    """The roots of the weights of the rows, (n, 1)."""
    return Z.weighted(np.ones((Z.shape[0], 1)))


@dataclass(frozen=True)
class PlaneRows(Sums):
    """N = [Z, ones] in memory, sorted by class: c has the rows bounds[c] to bounds[c + 1]."""

    Z: Data
    ones: Array
    bounds: np.ndarray

    @classmethod
    def of(cls, Z: Data, pieces: Sequence[Data]) -> PlaneRows:
        """From all rows as uncentred data, and from those of each class, in units of their own."""
        sums = [Z.units * own.from_X(own.rmatmat(roots(own))[:, 0]) for own in pieces]
        lengths = [Z.units * own.from_X(np.sqrt(own.column_squares())) for own in pieces]
        totals = np.array([[own.total] for own in pieces])
        each = [np.hstack([np.array(part), totals]) for part in (sums, np.square(lengths))]
        bounds = np.cumsum([0, *(own.shape[0] for own in pieces)])
        return cls(each[0], each[1], np.append(Z.units, 1.0), Z, roots(Z)[:, 0], bounds)

    def marks(self, V: Array) -> Array:
        return (self.Z.matmat(V[:, :-1].T) + np.outer(self.ones, V[:, -1])).T

    def images(self, marks: Array) -> Array:
        """N'(N z), summed over the rows of other classes and over those of the class."""
        k, n = marks.shape
        sides = np.zeros((n, 2, k))
        sides[:, 0] = marks.T
        for c, (begin, end) in enumerate(pairwise(self.bounds)):
            sides[begin:end, :, c] = sides[begin:end, ::-1, c]
        both = sides.reshape(n, 2 * k)
        return np.vstack([self.Z.rmatmat(both), self.ones @ both]).T.reshape(2, k, -1)

    def forms(self, V: Array, marks: Array) -> Array:
        """Sums over the rows before and after those of the class, and over its own."""
        found = np.empty((2, len(V), V.shape[1], V.shape[1]))
        for c, (begin, end) in enumerate(pairwise(self.bounds)):
            before, own, after = np.split(marks[c], [begin, end], axis=1)
            found[:, c] = before @ before.T + after @ after.T, own @ own.T
        return found


@dataclass(frozen=True)
class PlanePasses(Sums):
    """Rows that outgrow memory: one pass gives both images (2, k, d) of vectors (k, d)."""

    products: Callable[[Array], Array]

    def marks(self, V: Array) -> Array:
        return np.swapaxes(self.products(V), 0, 1).reshape(len(V), -1)

    def images(self, marks: Array) -> Array:
        return np.swapaxes(marks.reshape(len(marks), 2, -1), 0, 1)

    def forms(self, V: Array, marks: Array) -> Array:
        images = marks.reshape(*V.shape[:2], 2, -1)
        return np.stack([V @ np.swapaxes(images[:, :, side], -1, -2) for side in (0, 1)])


PlaneSums = PlaneRows | PlanePasses


def planes_from_products(rows: PlaneSums, alpha: float, below: float) -> Planes:
    """One plane per class; ``alpha`` is the ridge of its own side, ``below`` of the other."""
    found, Z, steps, residuals = largest_quotients(rows, (below, alpha), TOL, STEPS)
    worst = float(residuals.max())
    if worst > TOL:
        # The last column of N holds the roots of the weights.
        squares = (rows.squares / rows.units**2).sum(axis=0)
        length = float(squares[:-1].sum() / squares[-1])
        warn_of_stopping(
            f"the planes are not exact: after {STEPS} steps the residual of a plane is {worst:.0e} "
            f"of its parts; alpha={alpha:g} is small beside the mean squared length of a row, "
            f"{length:.2g}: try values from {ENOUGH * length:.2g} on"
        )
    report = Report("planes", "products", PRODUCTS, steps, worst <= TOL, residual=worst)
    return Planes(Z, 1 / (1 + found), report)


def largest_quotients(
    rows: PlaneSums, ridges: tuple[float, float], tol: float, max_iter: int
) -> tuple[Array, Array, int, Array]:
    """The largest v of k pencils ``(S - G_c + b I) z = v (G_c + a I) z``, z, steps and residuals.

    ``ridges`` are b and a. Residuals, where the diagonal of G_c + a I is 1, are relative to
    (S - G_c) z: a ridge on both sides, however large, does not make them look small.
    """
    below, ridge = ridges
    size = rows.units**2  # of a ridge of 1
    unit, solved = 1 / (rows.squares + ridge * size), preconditioner(rows, ridge * size)
    # Towards the other classes, and any fixed vector, should that miss the plane.
    waves = fixed_start(unit.shape[1]) * np.sqrt(unit)
    V = np.stack([solved(rows.sums.sum(axis=0) - rows.sums), waves], axis=1)
    marks = np.stack([rows.marks(V[:, i]) for i in range(V.shape[1])], axis=1)
    for step in range(1, max_iter + 1):
        lengths = (V * size) @ np.swapaxes(V, -1, -2)
        forms = rows.forms(V, marks) + np.multiply.outer(np.array(ridges), lengths)
        values, weights = _best(forms)
        # The best vector, and the step that led there: what is left of it without the one before.
        pair = np.stack([weights, weights], axis=1)
        pair[:, 1, 0] = 0.0
        V, marks = _turned(pair, V), _turned(pair, marks)
        z, (Az, Bz) = V[:, 0], rows.images(marks[:, 0])
        r = Az - values[:, None] * Bz + (below - ridge * values)[:, None] * (size * z)
        residuals = np.sqrt(_inner(r, r * unit) / _inner(Az, Az * unit))
        if step == max_iter or residuals.max() <= tol:
            break
        new = solved(r)
        new *= _inverse_root(_inner(new, new))[:, None]
        V[:, 2], marks[:, 2] = new, rows.marks(new)
    return values, z, step, residuals


def preconditioner(rows: PlaneSums, ridge: Array | float) -> Callable[[Array], Array]:
    """The inverse of diag(rest) + m m' (see above), by the formula of Sherman and Morrison."""
    m = rows.sums / np.sqrt(rows.squares[:, -1:])
    rest = np.maximum(rows.squares - m * m, LEAST * rows.squares) + ridge
    inverse = 1 / rest
    along = m * inverse
    share = 1 / (1 + _inner(m, along))
    return lambda r: r * inverse - (share * _inner(along, r))[:, None] * along


def _turned(pair: Array, kept: Array) -> Array:
    """The two vectors of each problem that are kept, and room for a third."""
    found = np.empty((len(kept), 3, kept.shape[2]))
    np.matmul(pair, kept, out=found[:, :2])
    return found


def _inner(U: Array, V: Array) -> Array:
    return np.asarray(np.einsum("kd,kd->k", U, V))


def _inverse_root(squares: Array) -> Array:
    """1 / sqrt, and 0 for lengths of zero: a plane that is found has no step and no residual."""
    there = squares > np.finfo(np.float64).tiny
    return np.where(there, 1 / np.sqrt(np.where(there, squares, 1.0)), 0.0)


def _best(forms: Array) -> tuple[Array, Array]:
    """Rayleigh-Ritz: the largest quotient of each of k pairs of forms, and its weights."""
    unit = _inverse_root(np.diagonal(forms[1], axis1=-2, axis2=-1))
    a, b = (forms + np.swapaxes(forms, -1, -2)) / 2 * unit[:, None] * unit[..., None]
    sizes, axes = np.linalg.eigh(b)
    # Directions that the others span as well are left out: they would get a quotient of 0/0.
    kept = sizes > EPS * 10 * b.shape[-1] * sizes[:, -1:]
    F = axes * _inverse_root(np.where(kept, sizes, 0.0))[:, None]
    values, vectors = np.linalg.eigh(np.swapaxes(F, -1, -2) @ a @ F)
    return values[:, -1], unit * (F @ vectors[..., -1:])[..., 0]
