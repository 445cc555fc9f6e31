"""Planes close to one class and far from the others: the numerics of GEPSVM and ReGEC.

Rows of class c, times the roots of the sample weights, form N_c = sqrt(w) [features, 1], so
that N_c z with z = [v; b] holds the signed distances of its samples to the plane
``x'v + b = 0``, times |v|. With G_c = N_c'N_c and S their sum, the plane of class c minimizes

    z'(G_c + a D(S - G_c)) z / z'(S - G_c + a D(G_c)) z   ReGEC with a kernel, D the diagonal
    z'(G_c + a R'R) z / z'(S - G_c + a R'R) z      ReGEC with a ridge
    z'G_c z / z'(S - G_c) z                        ReGEC without (the linear case)
    z'(G_c + a R'R) z / z'(S - G_c) z              GEPSVM

R maps z to the coordinates in which the ridge is measured (the identity for kernels).

Where S may be singular, the numerator is taken against the *sum* of numerator and
denominator: by Theorem 3.1 of the ReGEC paper that leaves the eigenvectors as they are and
puts the eigenvalues into [0, 1], so that S can be whitened on its range (outside it the
quotient is 0/0) and one symmetric matrix has the planes of two classes at its two ends. The
same theorem says why the paper's regularization of the linear problem, G + a H against
H + a G, does not move its planes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg as sla
from scipy.linalg import blas, lapack

from eigenkit.numerics import linalg, tolerances
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import blas_threads
from eigenkit.pencil import Report

# After one Cholesky step rows must be this well conditioned for a second to repair them.
REPAIRED = 0.5

# Up to this order a dense eigenvalue solver is as fast as Lanczos steps.
DENSE_ORDER = 64

# Lanczos steps before the dense solver takes over, and the residual that ends them.
LANCZOS_STEPS = 60
LANCZOS_TOL = 1e-10

DENSE = Report("planes", "dense", "Lanczos steps would not be faster")
LANCZOS = f"the matrices of the classes are of an order above {DENSE_ORDER}"


@dataclass(frozen=True)
class Planes:
    """One plane per class."""

    Z: Array  # Z[c] = [v; b] of x'v + b = 0, of any scale
    shares: Array  # the minimized numerator / (numerator + denominator)
    report: Report = field(default=DENSE, compare=False)


def _joined(found: Sequence[tuple[float, Array, int]]) -> Planes:
    """From the share, the plane and the Lanczos steps of every class."""
    shares, vectors, steps = zip(*found, strict=True)
    report = Report("planes", "lanczos", LANCZOS, sum(steps)) if any(steps) else DENSE
    return Planes(np.array(vectors), np.clip(shares, 0.0, 1.0), report)


def class_grams(rows: Sequence[Array]) -> list[Array]:
    """G_c = N_c'N_c of each class."""
    return [N.T @ N for N in rows]


def lower_grams(rows: Sequence[Array]) -> list[Array]:
    """The same, lower triangles only: for large orders, where mirroring them takes time."""
    with blas_threads(rows[0].shape[1]):
        return [blas.dsyrk(1.0, N.T, lower=1) for N in rows]


# -- ReGEC without a ridge --------------------------------------------------------------


def regec_from_grams(
    grams: Sequence[Array],
    rows: Callable[[], Sequence[Array]] | None = None,
    grain: Array | float = 0.0,
) -> Planes | None:
    """Planes of the unregularized pencil, or None where it is close to singular or tied.

    Where S is well conditioned but for the units of the features, Gram matrices cost no more
    than a few digits of sixteen. Elsewhere the Cholesky factor of S makes the ``rows`` of the
    classes nearly orthonormal, and their new Gram matrices repair what the first ones lost. Columns
    of a length up to ``grain`` are rounding, and so may some direction be.
    """
    S = np.sum(grams, axis=0)
    diagonal, (low, high) = S.diagonal(), tolerances.SQUARES_RANGE
    if not (diagonal.min() > low and diagonal.max() < high):
        return None
    F, rcond = _inverse_root(S)
    if rcond < max(tolerances.EPS, float(np.sum(np.square(grain) / diagonal))):
        return None
    root, tie = F, 10 * tolerances.EPS / tolerances.TEN_DIGITS
    if rcond < tolerances.TEN_DIGITS:
        if rows is None:
            return None
        grams, tie = class_grams([N @ F for N in rows()]), tolerances.EIGENVALUE_TIE
        root, rcond = _inverse_root(np.sum(grams, axis=0))
        if rcond < REPAIRED / len(S):
            return None
        F = F @ root
    spectra = _spectra(grams, lambda G: root.T @ G @ root)
    tied = any(values[1] <= values[0] + tie for values, _ in spectra)
    return None if tied else _ends(spectra, F)


def _inverse_root(S: Array) -> tuple[Array, float]:
    """F with F'SF = I, and the reciprocal condition number of S (0: no F)."""
    scale = 1.0 / np.sqrt(S.diagonal())
    L, info = lapack.dpotrf(S * scale * scale[:, None], lower=1)
    if info:
        return S, 0.0
    # With a unit diagonal the norm is at most the order: the estimate errs on the safe side.
    rcond = lapack.dpocon(L, len(L), uplo="L")[0]
    return lapack.dtrtri(L, lower=1)[0].T * scale[:, None], float(rcond)


def regec_from_singular_grams(grams: Sequence[Array]) -> Planes:
    """The same on the numerical range of S, where the rows are too many to be made dense."""
    S = np.sum(grams, axis=0)
    unit = linalg.power_of_two(np.sqrt(S.diagonal()))
    values, vectors = linalg.eigenpairs(S / unit / unit[:, None])
    keep = values > values[0] * tolerances.PRODUCTS_RANK_TOL
    F = vectors[:, keep] / np.sqrt(values[keep]) / unit[:, None]
    spectra = _spectra(grams, lambda G: F.T @ G @ F)
    planes = F if F.shape[1] == len(F) else _shortest(F, S @ F, np.ones(len(S) - 1))
    return _ends(spectra, planes, planes[:-1], 10 * tolerances.EPS / tolerances.PRODUCTS_RANK_TOL)


def regec_from_rows(rows: Sequence[Array], R: Array, grain: Array | float = 0.0) -> Planes:
    """Planes of the unregularized pencil, singular or not, from the rows of each class.

    Where several planes have the same quotient (a class that lies on many planes), the one
    whose distance to the other classes is largest is taken; R maps z to the normal in the
    coordinates in which distances are measured. Columns of a length up to ``grain`` are rounding.
    """
    N = np.vstack(rows)
    F = linalg.whitener(N, grain)
    spectra = _spectra(rows, lambda part: class_grams([part @ F])[0])
    if F.shape[1] < len(F):
        F = _shortest(F, N.T @ (N @ F), R.diagonal())
    return _ends(spectra, F, R @ F, tolerances.EIGENVALUE_TIE)


def _shortest(F: Array, span: Array, unit: Array) -> Array:
    """Planes with the same values at every row as F, and with the shortest normals of all such.

    ``span`` = S F spans the rows, and normals are ``unit`` times all of z but its last: what is
    shortest in the units in which the rank of F was found need not be so in those of distances.
    """
    slope, constant = span[:-1], span[-1]
    without = sla.qr(constant[:, None])[0][:, 1:]  # the constant is free: no penalty
    C = slope / unit[:, None] @ without
    # With large rows first and pivots, columns of any units keep their digits.
    order = np.argsort(-np.max(np.abs(C), axis=1, initial=0.0), kind="stable")
    Q = np.empty_like(C)
    Q[order] = sla.qr(C[order], mode="economic", pivoting=True)[0]
    normals = Q @ (Q.T @ (unit[:, None] * F[:-1])) / unit[:, None]
    moved = constant @ (slope.T @ (normals - F[:-1])) / (constant @ constant)
    return np.vstack([normals, F[-1] - moved])


def _spectra(
    parts: Sequence[Array], whitened: Callable[[Array], Array]
) -> list[tuple[Array, Array]]:
    """Eigenvalues and vectors of the whitened numerator of each class; two classes share one."""
    found = []
    for part in parts[:1] if len(parts) == 2 else parts:
        values, vectors, _ = lapack.dsyevd(whitened(part))
        found.append((values, vectors))
        if len(parts) == 2:  # what is smallest for one is largest for the other
            found.append((1 - values[::-1], vectors[:, ::-1]))
    return found


def _ends(
    spectra: list[tuple[Array, Array]], F: Array, length: Array | None = None, tie: float = 0.0
) -> Planes:
    """The planes of the smallest eigenvalues; of tied ones that of shortest normal."""
    Z = []
    for values, vectors in spectra:
        v = vectors[:, 0]
        tied = int(np.sum(values <= values[0] + tie))
        if length is not None and tied > 1:
            # All have unit norm in S: the shorter the normal, the larger the distances.
            lengths = length @ vectors[:, :tied]
            lengths /= linalg.power_of_two(np.abs(lengths).max())
            v = vectors[:, :tied] @ linalg.eigenpairs(lengths.T @ lengths)[1][:, -1]
        Z.append(F @ v)
    return Planes(np.array(Z), np.clip([values[0] for values, _ in spectra], 0.0, 1.0))


# -- ReGEC, regularized -----------------------------------------------------------------


def regec_ridge_from_rows(rows: Sequence[Array], alpha: float, R: Array) -> Planes:
    """Planes of the pencil with alpha R'R on both sides, from the rows of each class.

    A ridge on the constant is one on its value at the origin: seen from a mean far away, or in
    small units, it is a row of R that is so long that it would drown others in Gram matrices.
    """
    rows = [linalg.triangular_factor(N) if len(N) > N.shape[1] else N for N in rows]
    # Of both sides together, which are the same for all classes.
    Q, F = linalg.row_graded_whitener(np.vstack([*rows, np.sqrt(2 * alpha) * R]))
    *parts, ridge = np.split(Q, np.cumsum([len(N) for N in rows]))
    half = ridge.T @ ridge / 2
    return _ends(_spectra(parts, lambda P: P.T @ P + half), F)


def regec_with_ridge(grams: Sequence[Array], alpha: float, R: Array | None = None) -> Planes:
    """Planes of the pencil with alpha R'R on both sides, from the lower triangles of the G_c."""
    ridge = alpha * (np.eye(len(grams[0])) if R is None else R.T @ R)
    return _regularized(grams, lambda G, rest: (G + ridge, rest + ridge))


def regec_with_diagonals(
    grams: Sequence[Array], alpha: float, weight: Array | None = None
) -> Planes:
    """Planes of G + alpha diag(H) against H + alpha diag(G), from lower triangles of the G_c; the
    coefficient of a column that stands for ``weight`` equal ones costs that much less."""
    share = 1.0 if weight is None else 1.0 / weight
    # A column that is zero for all samples decides nothing: any ridge keeps it out.
    unseen = np.sum([G.diagonal() for G in grams], axis=0) == 0

    def sides(G: Array, rest: Array) -> tuple[Array, Array]:
        across = [alpha * np.where(unseen, 1.0, side.diagonal() * share) for side in (rest, G)]
        return _plus_diagonal(G, across[0]), _plus_diagonal(rest, across[1])

    return _regularized(grams, sides)


def _plus_diagonal(G: Array, diagonal: Array | float) -> Array:
    G = G.copy(order="K")
    G[np.diag_indices(len(G))] += diagonal
    return G


def _regularized(
    grams: Sequence[Array], sides: Callable[[Array, Array], tuple[Array, Array]], fast: bool = True
) -> Planes:
    """From the numerator and denominator that ``sides`` makes of a class and the rest."""
    if fast and len(grams) == 2:  # of ReGEC: each other's, exchanged, so one pencil at both ends
        A, B = sides(*grams)
        if len(A) <= DENSE_ORDER:
            values, Z = _dense_pairs(A, A + B, None)
            return _joined([(values[0], Z[:, 0], 0), (1 - values[-1], Z[:, -1], 0)])
        problems: Iterable[tuple[Array, Array]] = [(A, B), (B, A)]
    else:
        total = sum(grams[1:], start=grams[0])
        problems = (sides(G, total - G) for G in grams)
    with blas_threads(len(grams[0])):
        return _joined([smallest_pair(*problem, fast=fast) for problem in problems])


def smallest_pair(A: Array, B: Array, *, fast: bool = True) -> tuple[float, Array, int]:
    """The smallest share value / (1 + value) of ``A z = value B z``, z, and Lanczos steps.

    Both are positive semidefinite, and known by their lower triangles. ``fast`` tries Lanczos on B
    against A first, where the wanted eigenvalue is the largest and far from all others.
    """
    if fast and len(A) > DENSE_ORDER:
        found = _lanczos(B, A)
        if found is not None:
            value, z, steps = found
            return 1 / (1 + value), z, steps
    shares, vectors = _dense_pairs(A, A + B, [0, 0])
    return max(float(shares[0]), 0.0), vectors[:, 0], 0


def _dense_pairs(A: Array, B: Array, subset: list[int] | None) -> tuple[Array, Array]:
    try:
        values, vectors = sla.eigh(A, B, subset_by_index=subset, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "alpha is too small for these data: the regularized problem is singular to working "
            "precision; give a larger alpha."
        ) from error
    return values, vectors


def _lanczos(A: Array, B: Array) -> tuple[float, Array, int] | None:
    """Lanczos with full reorthogonalization on L^-1 A L^-T, B = L L'; None if it is slow."""
    n = len(A)
    A = np.asfortranarray(A)
    L, info = lapack.dpotrf(B.copy(order="F"), lower=1, clean=0, overwrite_a=1)
    if info:
        return None
    Q = np.empty((LANCZOS_STEPS + 1, n))
    T = np.zeros((LANCZOS_STEPS + 1, LANCZOS_STEPS + 1))
    q = linalg.fixed_start(n)
    Q[0] = q / np.linalg.norm(q)
    for k in range(min(LANCZOS_STEPS, n - 1)):
        t = blas.dtrsv(L, Q[k], lower=1, trans=1)
        t = blas.dtrsv(L, blas.dsymv(1.0, A, t, lower=1), lower=1, overwrite_x=1)
        T[k, k] = Q[k] @ t
        for _ in range(2):
            t -= (Q[: k + 1] @ t) @ Q[: k + 1]
        beside = blas.dnrm2(t)
        if (k > 6 and k % 3 == 2) or beside <= LANCZOS_TOL * abs(T[0, 0]):
            values, vectors, _ = lapack.dsyevd(T[: k + 1, : k + 1], lower=1)
            if beside * abs(vectors[-1, -1]) <= LANCZOS_TOL * values[-1]:
                z = blas.dtrsv(L, vectors[:, -1] @ Q[: k + 1], lower=1, trans=1)
                return float(values[-1]), z, k + 1
        T[k + 1, k] = beside
        Q[k + 1] = t / beside
    return None


# -- GEPSVM -----------------------------------------------------------------------------


def gepsvm_from_grams(grams: Sequence[Array], alpha: float) -> Planes:
    """Planes of GEPSVM from lower triangles of the G_c: one dense eigenproblem per class."""
    return _regularized(grams, lambda G, rest: (_plus_diagonal(G, alpha), rest), fast=False)


def gepsvm_from_rows(rows: Sequence[Array], alpha: float, R: Array) -> Planes:
    """Planes of GEPSVM from rows: raw features would make ill-conditioned Gram matrices."""
    found = []
    for c, own in enumerate(rows):
        _, F = linalg.row_graded_whitener(np.vstack([own, np.sqrt(alpha) * R]))
        rest = [N @ F for i, N in enumerate(rows) if i != c]
        values, vectors = linalg.eigenpairs(np.sum(class_grams(rest), axis=0))
        found.append((1 / (1 + max(float(values[0]), 0.0)), F @ vectors[:, 0], 0))
    return _joined(found)
