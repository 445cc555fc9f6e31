"""Planes of very large sparse data: products only, nothing of order d x d or n x n is formed.

With N_c = sqrt(w) [features, 1] the rows of class c, the plane of a class maximizes

    z'(S - G_c + b I) z / z'(G_c + a I) z,   G_c = N_c'N_c,  S the sum over all classes

(b = a: ReGEC with a ridge; b = 0: GEPSVM). The largest eigenpair is found by the locally optimal
conjugate gradients of Knyazev (LOBPCG): the best vector of the span of the present one, its
residual and the last step. The diagonal of the denominator is the preconditioner, which for words
that some documents share and most do not is most of it: in units where that diagonal is 1 there is
nothing else to precondition.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

from eigenkit.data.sparse_rows import SparseRows
from eigenkit.exceptions import ConvergenceWarning
from eigenkit.linalg import EPS, Array
from eigenkit.solvers.planes import Planes

Product = Callable[[Array], Array]

# The residual relative to its two parts that ends the iteration, and the steps that end it too.
TOL = 1e-4
STEPS = 300


def planes_from_products(rows: Sequence[sparse.csr_array], alpha: float, below: float) -> Planes:
    """One plane per class; ``alpha`` is the ridge of its own side, ``below`` of the other."""
    found = [_plane(rows, c, alpha, below) for c in range(len(rows))]
    worst = max(residual for _, _, _, residual in found)
    if worst > TOL:
        warnings.warn(
            f"the planes are not exact: after {STEPS} steps the residual of a plane is {worst:.0e} "
            "of its parts; a larger alpha, or rows of unit length, converge sooner",
            ConvergenceWarning,
            stacklevel=2,
        )
    shares = np.array([1 / (1 + value) for value, _, _, _ in found])
    return Planes(np.array([z for _, z, _, _ in found]), shares, max(n for _, _, n, _ in found))


def _plane(
    rows: Sequence[sparse.csr_array], c: int, alpha: float, below: float
) -> tuple[float, Array, int, float]:
    unit = 1 / np.sqrt(_squares(rows[c]) + alpha)
    scaled = [SparseRows(sparse.csr_array(N * unit)) for N in rows]
    own, others = scaled[c], [N for i, N in enumerate(scaled) if i != c]
    ridge = (unit**2)[:, None]

    def numerator(V: Array) -> Array:
        return np.asarray(sum(N.T @ (N @ V) for N in others) + below * ridge * V)

    def denominator(V: Array) -> Array:
        return np.asarray(own.T @ (own @ V) + alpha * ridge * V)

    value, z, steps, residual = largest_quotient(numerator, denominator, len(unit), TOL, STEPS)
    return value, z * unit, steps, residual


def _squares(N: sparse.csr_array) -> Array:
    return np.asarray(N.power(2).sum(axis=0), dtype=np.float64).ravel()


def largest_quotient(
    A: Product, B: Product, n: int, tol: float, max_iter: int
) -> tuple[float, Array, int, float]:
    """The largest value of ``A z = value B z``, z, steps, and ||Az - value Bz|| relative to both.

    The products take and give blocks of columns; B is positive definite.
    """
    # Any fixed start: equal inputs give equal outputs.
    basis = np.cos(np.arange(1.0, n + 1.0))[:, None]
    images = np.stack([A(basis), B(basis)])
    for step in range(1, max_iter + 1):
        value, weights = _best(basis, images)
        z, (Az, Bz) = basis @ weights, images @ weights
        r = Az - value * Bz
        size = float(np.linalg.norm(Az) + value * np.linalg.norm(Bz))
        residual = float(np.linalg.norm(r)) / size
        if residual <= tol or step == max_iter:
            break
        # The step that led here, without the vector itself: the third direction.
        last = np.r_[0.0, weights[1:]]
        columns = [z, basis @ last] if basis.shape[1] > 1 else [z]
        known = [[Az, Bz], list(images @ last)] if basis.shape[1] > 1 else [[Az, Bz]]
        basis = np.column_stack([*columns, r])
        new = r[:, None]
        images = np.stack(
            [
                np.column_stack([*(k[i] for k in known), product(new)])
                for i, product in enumerate((A, B))
            ]
        )
    return value, z, step, residual


def _best(basis: Array, images: Array) -> tuple[float, Array]:
    """Rayleigh and Ritz in the span of the basis: the largest value and its weights."""
    a, b = basis.T @ images[0], basis.T @ images[1]
    unit = 1 / np.sqrt(np.diag(b))
    a, b = (unit * (M + M.T) / 2 * unit[:, None] for M in (a, b))
    sizes, axes = np.linalg.eigh(b)
    kept = sizes > EPS * len(b) * sizes[-1] * 10
    F = unit[:, None] * axes[:, kept] / np.sqrt(sizes[kept])
    values, vectors = np.linalg.eigh(F.T @ (a / unit / unit[:, None]) @ F)
    return float(values[-1]), np.asarray(F @ vectors[:, -1])
