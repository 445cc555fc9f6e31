"""Planes of very large sparse data: products only, nothing of order d x d or n x n is formed.

With N_c = sqrt(w) [features, 1] the rows of class c, the plane of a class maximizes

    z'(S - G_c + b I) z / z'(G_c + a I) z,   G_c = N_c'N_c,  S the sum over all classes

(b = a: ReGEC with a ridge; b = 0: GEPSVM). The largest eigenpair is found by the locally optimal
conjugate gradients of Knyazev (LOBPCG): the best vector of the span of the present one, its
residual and the last step. The residual is taken in units in which the diagonal of the denominator
is 1, which for words that some documents share and most do not is most of it.

The planes of all classes go forward together. One product of all rows with one vector for each
class, and one of its transpose with what each vector gives on its own rows and on the others, are
all that a step reads of the data: a product with a few columns takes hardly longer than with one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from eigenkit.data.sparse_rows import SparseRows
from eigenkit.exceptions import ConvergenceWarning
from eigenkit.linalg import Array
from eigenkit.solvers.planes import Planes
from eigenkit.tolerances import EPS

# Vectors of all problems, (k, d), to their images by both sides of each pencil, (2, k, d).
Products = Callable[[Array], Array]

# The residual relative to its parts that ends the iteration, and the steps that end it too. The
# quotient is off by about the square of the residual.
TOL = 1e-2
STEPS = 300
# The ridge, in mean squared lengths of a row, from which on some tens of steps are enough.
ENOUGH = 10


@dataclass(frozen=True)
class PlaneSums:
    """What planes ask of rows: products, and of every class (k, d) the sums and squares of N_c."""

    products: Products
    sums: Array
    squares: Array

    @classmethod
    def of(cls, N: sparse.csr_array, bounds: np.ndarray) -> PlaneSums:
        """Of rows sorted by class: the class c has the rows bounds[c] to bounds[c + 1]."""
        rows, k = SparseRows(N), len(bounds) - 1
        own = np.repeat(np.arange(k), np.diff(bounds))[:, None] == np.arange(k)
        squared = sparse.csr_array(N.T)
        squared.data = squared.data**2
        member = own.astype(np.float64)
        return cls(_both_sides(rows, own), (rows.T @ member).T, (squared @ member).T)


def planes_from_products(rows: PlaneSums, alpha: float, below: float) -> Planes:
    """One plane per class; ``alpha`` is the ridge of its own side, ``below`` of the other."""
    scale, sums = rows.squares + alpha, rows.sums
    # Towards the other classes, and any fixed vector, should that miss the plane.
    start = np.stack([(sums.sum(axis=0) - sums) / scale, _waves(scale.shape[1]) / np.sqrt(scale)])
    found, Z, steps, residuals = largest_quotients(
        rows.products, (below, alpha), scale, start, TOL, STEPS
    )
    worst = float(residuals.max())
    if worst > TOL:
        # The last column of N holds the roots of the weights.
        length = float(rows.squares[:, :-1].sum() / rows.squares[:, -1].sum())
        warnings.warn(
            f"the planes are not exact: after {STEPS} steps the residual of a plane is {worst:.0e} "
            f"of its parts; alpha={alpha:g} is small beside the mean squared length of a row, "
            f"{length:.2g}: try values from {ENOUGH * length:.2g} on",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Planes(Z, 1 / (1 + found), steps)


def _waves(n: int) -> Array:
    return np.asarray(np.cos(np.arange(1.0, n + 1.0)))


def _both_sides(N: SparseRows, own: np.ndarray) -> Products:
    """Products with the Gram matrices of the rows of other classes, and of the class itself.

    ``own``, (n, k), tells which rows are of which class.
    """

    def images(V: Array) -> Array:
        U = N @ V.T
        sides = np.hstack([np.where(own, 0, U), np.where(own, U, 0)])
        return np.asarray((N.T @ sides).T.reshape(2, own.shape[1], -1))

    return images


def largest_quotients(
    products: Products,
    ridges: tuple[float, float],
    scale: Array,
    start: Array,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, int, Array]:
    """Of k pencils ``(A_c + b I) z = value (B_c + a I) z`` the largest values, z, steps, residuals.

    ``products`` are with A and B, ``ridges`` are b and a; ``scale``, (k, d), is the diagonal of
    B + a I, in whose units residuals are measured and taken as directions. They are relative to
    A z: a ridge on both sides, however large, does not make them look small. ``start`` holds
    vectors to begin with, (any number, k, d).
    """
    ridge = np.array(ridges)[:, None, None]

    def with_images(V: Array) -> Array:
        return np.concatenate([V[None], products(V) + ridge * V])

    # Of every problem some vectors and their images by both sides, (3, k, vectors, d).
    known = np.stack([with_images(V) for V in start], axis=2)
    for step in range(1, max_iter + 1):
        values, weights = _best(known[1:] @ np.swapaxes(known[0], -1, -2))
        # The best vector, and the step that led there: what is left of it without the one before.
        pair = np.stack([weights, weights], axis=1)
        pair[:, 1, 0] = 0.0
        kept, known = known, np.empty((*known.shape[:2], 3, known.shape[3]))
        np.matmul(pair, kept, out=known[:, :, :2])
        z, Az, Bz = known[:, :, 0]
        r = Az - values[:, None] * Bz
        new = r / scale
        whole = Az - ridge[0] * z
        residuals = np.sqrt(_inner(r, new) / _inner(whole, whole / scale))
        if step == max_iter or residuals.max() <= tol:
            break
        new *= _inverse_root(_inner(new, new))[:, None]
        known[:, :, 2] = with_images(new)
    return values, z, step, residuals


def _inner(U: Array, V: Array) -> Array:
    return np.asarray(np.einsum("kd,kd->k", U, V))


def _inverse_root(squares: Array) -> Array:
    """1 / sqrt, and 0 for lengths of zero: a plane that is found has no step and no residual."""
    there = squares > np.finfo(np.float64).tiny
    return np.where(there, 1 / np.sqrt(np.where(there, squares, 1.0)), 0.0)


def _best(forms: Array) -> tuple[Array, Array]:
    """Rayleigh and Ritz: of k pairs of forms the largest quotients and their weights."""
    unit = _inverse_root(np.diagonal(forms[1], axis1=-2, axis2=-1))
    a, b = (forms + np.swapaxes(forms, -1, -2)) / 2 * unit[:, None] * unit[..., None]
    sizes, axes = np.linalg.eigh(b)
    # Directions that the others span as well are left out: they would get a quotient of 0/0.
    kept = sizes > EPS * 10 * b.shape[-1] * sizes[:, -1:]
    F = axes * _inverse_root(np.where(kept, sizes, 0.0))[:, None]
    values, vectors = np.linalg.eigh(np.swapaxes(F, -1, -2) @ a @ F)
    return values[:, -1], unit * (F @ vectors[..., -1:])[..., 0]
