"""Small dense linear algebra: order, sign and rank rules, each written once.

Everything here works on matrices that fit in memory many times over (k x k, d x d or
n x k); products with the data live in :mod:`eigenkit.data`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as sla

from eigenkit.numerics import tolerances
from eigenkit.numerics.threads import blas_threads

Array = NDArray[np.float64]

# Above these pivots, W'W of columns of unit length has a factor that a second pass makes exact.
LEAST_PIVOT = {"float64": 1e-6, "float32": 1e-2}


def real_numbers(name: str, values: Any, dtype: Any = np.float64) -> Array:
    """An array of floats; complex numbers, whose imaginary parts would be lost, are refused."""
    if hasattr(values, "tocsr"):
        raise TypeError(f"{name} is a sparse matrix: give an array.")
    given = np.asarray(values)
    if given.dtype.kind == "c":
        raise TypeError(f"{name} is complex: give real numbers.")
    return np.asarray(given, dtype=dtype)


def power_of_two(x: Array | float) -> Array:
    """The power of two just above ``|x|`` (1 for zeros): dividing by it rounds nothing."""
    x = np.asarray(x, dtype=np.float64)
    _, exponent = np.frexp(x)
    return np.where(x == 0, 1.0, np.ldexp(1.0, np.clip(exponent, -1020, 1020)))


def ratio(a: np.ndarray | float, b: Array, where: np.ndarray | None = None) -> Array:
    """a / b, and 0 where b is not above zero (or not ``where``)."""
    out = np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b)))
    return np.divide(a, b, out=out, where=b > 0 if where is None else where)


def normalized(v: Array) -> Array:
    """v at unit length; zero stays zero."""
    size = float(np.linalg.norm(v))
    return v / size if size else v


def add_gram(G: Array, A: Array) -> None:
    """Add A'A to the lower half of ``G``, without a second matrix of its size."""
    # The transpose of a row-major array is the column-major one that BLAS overwrites.
    sla.blas.dsyrk(1.0, A.T, beta=1.0, c=G.T, overwrite_c=1)


def plus_product(C: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """C + A B, in the memory of C where that is row-major: no product has to be kept beside it."""
    if A.size == 0 or B.size == 0:  # nothing to add, which BLAS would complain about
        return C
    gemm = sla.blas.dgemm if C.dtype == np.float64 else sla.blas.sgemm
    # Of row-major arrays BLAS sees the transposes: C' + B'A'.
    return np.asarray(gemm(1.0, B.astype(C.dtype, copy=False).T, A.T, 1.0, C.T, overwrite_c=1).T)


def fill_upper(G: Array) -> Array:
    """Copy the lower half of ``G`` to the upper, in place."""
    step = 256
    for start in range(0, len(G), step):
        stop = start + step
        corner = G[start:stop, start:stop]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        G[start:stop, stop:] = G[stop:, start:stop].T
    return G


def lapack(order: int, routine: Callable[..., Any], *given: Any, **how: Any) -> Any:
    """What a routine finds for matrices of this order, in one BLAS thread where that is small."""
    with blas_threads(order):
        return routine(*given, **how)


def eigenpairs(D: Array, k: int | None = None) -> tuple[Array, Array]:
    """The k largest eigenvalues (decreasing; all for None) and their eigenvectors of a symmetric
    matrix given up to rounding."""
    n = len(D)
    scale = float(power_of_two(np.max(np.abs(D), initial=0.0)))
    D = D / scale
    D = (D + D.T) / 2  # so that eigh sees both triangles alike
    # A few have a solver of their own, which takes a fraction of the time.
    few = None if k is None or k > n // 4 else [n - k, n - 1]
    with blas_threads(n):
        values, vectors = sla.eigh(D, subset_by_index=few, driver="evr" if few else None)
        if few and len(values) < few[1] - few[0] + 1:  # LAPACK can lose tied ones, and says nothing
            values, vectors = sla.eigh(D)
    return values[::-1][:k] * scale, vectors[:, ::-1][:, :k]


def fixed_start(n: int) -> Array:
    """A vector to begin iterations with: equal inputs give equal outputs."""
    return np.asarray(np.cos(np.arange(1.0, n + 1.0)))


def power_norm(product: Callable[[Array], Array], v: Array, steps: int) -> float:
    """About the largest eigenvalue of a positive semidefinite operator, from below."""
    value = float(np.linalg.norm(v))
    for _ in range(steps):
        if value == 0.0:
            break
        v = product(v / value)
        value = float(np.linalg.norm(v))
    return value


def first_triplets(M: Array, count: int | None) -> tuple[Array, Array, Array]:
    """The largest singular values of M that are not rounding, with U and V: ``count``, or all."""
    # On the span of the first eigenvectors of M'M a few have all their digits.
    few = count is not None and 2 * count < min(M.shape)
    span = eigenpairs(M.T @ M)[1][:, :count] if few else None
    inside = M if span is None else M @ span
    U, s, Vt = lapack(min(M.shape), sla.svd, inside, full_matrices=False)
    keep = s**2 > tolerances.RANK_TOL * s.max(initial=0.0) ** 2
    V = Vt[keep].T
    return U[:, keep], s[keep], V if span is None else span @ V


def truncated_svd(A: Array, n: int, grain: Array | float) -> tuple[Array, Array, Array]:
    """U, s, V of A without the singular values that are rounding.

    LAPACK rounds in proportion to the n samples that A stands for; rounding before made columns of
    zeros as long as ``grain``.
    """
    U, s, Vt = lapack(min(A.shape), sla.svd, A, full_matrices=False)
    keep = tolerances.above_rounding(s, n, *A.shape) & (s > tolerances.along(Vt.T, grain))
    return U[:, keep], s[keep], Vt[keep].T


def graded_svd(A: Array) -> tuple[Array, Array, Array]:
    """U, s, V of A by Jacobi's method: small ones keep their digits beside long rows or columns."""
    if A.shape[0] < A.shape[1]:
        V, s, U = graded_svd(A.T)
        return U, s, V
    if not A.size:  # LAPACK would complain on standard output
        return A, np.zeros(A.shape[1]), np.zeros((A.shape[1], A.shape[1]))
    # With row pivots, thin factors and no perturbation.
    s, U, V, scale, _, info = lapack(A.shape[1], sla.lapack.dgejsv, A, 2, 0, 0, jobp=0)
    if info:
        raise np.linalg.LinAlgError(f"LAPACK's dgejsv failed on a matrix of {A.shape}: {info}")
    return U, s * (scale[0] / scale[1]), V


def largest_first(values: Array) -> np.ndarray:
    """The order of decreasing values; those that are equal up to rounding stay as they come.

    >>> largest_first(np.array([0.1, 0.5, 0.2, 0.5 + 1e-16, 0.2 + 1e-16]))
    array([1, 3, 2, 4, 0])
    """
    order = np.argsort(-values, kind="stable")
    gaps = -np.diff(values[order], prepend=np.max(values, initial=0.0))
    steps = np.cumsum(gaps > tolerances.EIGENVALUE_TIE * np.max(np.abs(values), initial=0.0))
    return np.asarray(order[np.lexsort((order, steps))])


def signs(W: Array) -> Array:
    """+1 or -1 per column, such that ``W * signs(W)`` has its largest entries positive."""
    size = np.abs(W)
    # Among entries equal up to rounding the first one decides, so that two solvers agree.
    first = np.argmax(size >= (1 - tolerances.ENTRY_TIE) * size.max(axis=0, initial=0.0), axis=0)
    return np.where(W[first, np.arange(W.shape[1])] < 0, -1.0, 1.0)


def distinct_rows(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of A in order, and for every row of A which of them it is."""
    rows, which = np.unique(A, axis=0, return_inverse=True)
    return rows, which.ravel()  # numpy 2.0.0 gives it a second axis


def triangular_factor(A: Array) -> Array:
    """The triangle R of ``A = Q R``: R'R = A'A, and as accurate as A itself."""
    found = lapack(A.shape[1], sla.qr, A, mode="r", check_finite=False)
    return np.asarray(found[0][: A.shape[1]])


def whitener(factor: Array, grain: Array | float = 0.0) -> Array:
    """F such that ``factor @ F`` has orthonormal columns that span the range of ``factor``; units
    do not decide what counts as rank, columns of a length up to ``grain`` are rounding."""
    scale = power_of_two(_lengths(factor))
    s, Vt = _right_singular(factor, scale, grain)
    return np.asarray((Vt / s[:, None]).T / scale[:, None])


def graded_whitener(factor: Array, n: int = 0) -> tuple[Array, Array]:
    """F (k x r) and back (r x k): ``factor @ F`` is orthonormal, and ``factor @ F @ back`` factor.

    The directions of ``factor``, which may stand for n rows, are kept apart, so that rounding of a
    long one, in its place in ``factor @ F``, does not get into short ones on the way back.
    """
    length = _lengths(factor)
    s, Vt = _right_singular(factor, length, 0.0, n)
    return np.asarray((Vt / s[:, None]).T / length[:, None]), s[:, None] * Vt * length


def row_graded_whitener(A: Array) -> tuple[Array, Array]:
    """Q and F with A F = Q orthonormal, for A of full rank whose rows may be of any sizes.

    With large rows first and pivots, Householder's QR is exact but for the rounding of every row
    by itself (Cox and Higham): a long row costs short ones no digits.
    """
    unit = power_of_two(np.abs(A).max(axis=0))
    A = A / unit
    order = np.argsort(-np.max(np.abs(A), axis=1), kind="stable")
    Q = np.empty_like(A)
    Q[order], T, columns = sla.qr(A[order], mode="economic", pivoting=True)
    F = np.empty_like(T)
    F[columns] = sla.solve_triangular(T, np.eye(len(T)))
    return Q, F / unit[:, None]


def symmetric_whitener(
    factor: Array, grain: Array | float = 0.0, n: int = 0
) -> tuple[Array, Array]:
    """F and its inverse F^+, both k x k: among all whiteners the one closest to the columns.

    With D the lengths of the columns and R = D^-1 factor'factor D^-1 their correlations,
    F = D^-1 R^(-1/2) and F^+ = R^(1/2) D. Column j of ``factor @ F`` stands for column j of
    ``factor``, whatever the order of the columns; their units change nothing in ``factor @ F``.
    ``factor`` may stand for n rows; columns of a length up to ``grain`` are rounding.
    """
    length = _lengths(factor)
    s, Vt = _right_singular(factor, length, grain, n)
    root, inverse_root = (np.asarray(Vt.T @ (p[:, None] * Vt)) for p in (s, 1 / s))
    return inverse_root / length[:, None], root * length


def _lengths(A: Array) -> Array:
    """Norms of the columns, at any scale; 1 for columns of zeros."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->j", A, A)
    if np.all((squares > tolerances.SQUARES_RANGE[0]) & (squares < tolerances.SQUARES_RANGE[1])):
        return np.asarray(np.sqrt(squares))
    unit = power_of_two(np.abs(A).max(axis=0, initial=0.0))
    A = A / unit
    length = unit * np.sqrt(np.einsum("ij,ij->j", A, A))
    return np.where(length > 0, length, 1.0)


def _right_singular(
    A: Array, scale: Array, grain: Array | float, n: int = 0
) -> tuple[Array, Array]:
    """Singular values and right vectors above rounding of A / scale (columns about unit length)."""
    with blas_threads(A.shape[1]), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        L, info = sla.lapack.dpotrf(A.T @ A / scale / scale[:, None], lower=1)
        trusted = info == 0 and np.min(L.diagonal(), initial=1.0) > 1e-2
        small = L.T if trusted else triangular_factor(A / scale)
    _, s, V = truncated_svd(small, max(n, len(A)), grain / scale)
    return s, V.T


def orthonormalize(W: np.ndarray, floor: float = 0.0) -> tuple[np.ndarray, Array]:
    """Q, R with ``W = Q R``, Q'Q = I and as many columns as W has rank.

    Cholesky of W'W, and once more unless W is well conditioned; where it is close to losing rank,
    QR with column pivoting instead, without the columns that are rounding: relative to the largest,
    or below ``floor``. Q has the precision of W, R is float64.
    """
    limit = LEAST_PIVOT[W.dtype.name]
    R = np.eye(W.shape[1])
    if not len(R):  # LAPACK would complain on standard output
        return W, R
    Q = W
    for _ in range(2):
        G = (Q.T @ Q).astype(np.float64)
        scale = power_of_two(np.sqrt(G.diagonal()))
        L, info = sla.lapack.dpotrf(G / scale / scale[:, None], lower=1)
        pivots = L.diagonal()
        if info or pivots.min(initial=1.0) < limit or np.any(pivots * scale <= floor):
            return _pivoted_qr(W, floor)
        inverse, _ = sla.lapack.dtrtri(L, lower=1)
        Q = Q @ np.ascontiguousarray(inverse.T / scale[:, None], dtype=W.dtype)
        R = (L.T * scale) @ R
        if pivots.min(initial=1.0) > 0.1:
            break
        floor = 0.0
    return Q, R


def _pivoted_qr(W: np.ndarray, floor: float) -> tuple[np.ndarray, Array]:
    Q, R, order = sla.qr(W, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diag(R))
    noise = size.max(initial=0.0) * np.finfo(W.dtype).eps * max(W.shape)
    rank = int(np.sum(size > max(floor, noise)))
    unpermuted = np.empty((rank, W.shape[1]))
    unpermuted[:, order] = R[:rank]
    return np.ascontiguousarray(Q[:, :rank]), unpermuted


@dataclass(frozen=True)
class Cholesky:
    """``B = S L L' S`` with S powers of two that bring B to unit diagonal.

    Cholesky itself does not care about the scale of the variables; the estimate of the
    condition number and the range of floating point do.
    """

    L: Array
    scale: Array
    rcond: float
    smallest: float  # eigenvalue at unit diagonal: an estimate from below

    @classmethod
    def of(cls, B: Array) -> Cholesky | None:
        """Factor ``B`` (overwritten), or None if it is not numerically positive definite."""
        diagonal = B.diagonal()
        if not np.all(diagonal > 0):
            return None
        scale = power_of_two(np.sqrt(diagonal))
        B /= scale
        B /= scale[:, None]
        norm = np.abs(B).sum(axis=0).max()
        # B is symmetric: its transpose is the column-major array that LAPACK overwrites.
        how = {"lower": 1, "clean": 0, "overwrite_a": 1}
        L, info = lapack(len(B), sla.lapack.dpotrf, B.T, **how)
        if info:
            return None
        rcond, _ = lapack(len(B), sla.lapack.dpocon, L, norm, uplo="L")
        return cls(L, scale, float(rcond), float(rcond * norm))

    def solve(self, C: Array) -> Array:
        """``B^-1 C``."""
        return self.back(self.half(C))

    def half(self, C: Array) -> Array:
        """``(S L)^-1 C``."""
        scaled = C / self.scale[:, None]
        return np.asarray(lapack(len(self.L), sla.lapack.dtrtrs, self.L, scaled, lower=1)[0])

    def back(self, U: Array) -> Array:
        """``(L' S)^-1 U``."""
        found = lapack(len(self.L), sla.lapack.dtrtrs, self.L, U, lower=1, trans=1)[0]
        return np.asarray(found / self.scale[:, None])
