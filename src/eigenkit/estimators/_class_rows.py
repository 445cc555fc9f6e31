"""The rows of each class as data, and the coordinates in which planes are computed.

All rows are one :class:`~eigenkit.data.Data` Z, those of a class after those of another, beside
``ones``, what the constant 1 is in them. With N = [Z, ones], N_c'N_c has the products of the rows
[X - mean, 1] of class c, times the units of Z. Samples in memory have Z centred on the mean of all
and the roots of their weights as ones; of a stream the factors of the classes are the rows, and
a kernel's rows are its values, as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import Centered, Data, add_transposed, sparse_product
from eigenkit.estimators._encoding import ONE_EACH, check_two_classes
from eigenkit.estimators._kernel_space import refuse_overflow
from eigenkit.estimators._validation import NO_VARIANCE
from eigenkit.moments import BlockedRows, ClassMoments, Factor, Rows
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.tolerances import ROUNDING, TINY
from eigenkit.shell import shown
from eigenkit.solvers.large_planes import PlanePasses, roots
from eigenkit.solvers.planes import (
    Planes,
    lower_grams,
    regec_from_grams,
    regec_from_rows,
    regec_from_singular_grams,
)

# Data with this many times more columns than rows are turned into the space that the rows span.
WIDE = 2
# A rotation costs small columns their digits: beside others so many times as large they keep their
# own units, unless these would be too many for a matrix of their order.
UNLIKE, TOO_MANY = 1e4, 2000

ABSENT = "no row of the class {} has arrived."


@dataclass(frozen=True)
class ClassRows:
    """N_c = [F_c, ones_c] of each class, in the coordinates that the planes are computed in.

    Class c has the rows bounds[c] to bounds[c + 1]. The plane z = [v; b] is ``[unit v; b -
    offset'v]`` in the coordinates in which its ridge and distances are measured (unit None: the
    same), which are weights of the rows of ``basis`` (None: of the features), around ``shift``.
    Columns of a length up to ``grain`` are rounding; ``column`` holds the factors that landmarks
    of weights other than one have put on theirs.
    """

    F: Array
    ones: Array
    bounds: np.ndarray
    unit: Array | None
    grain: Array
    offset: Array | float = 0.0
    basis: Array | None = None
    shift: Array | float = 0.0
    column: Array | None = None

    @classmethod
    def of(cls, Z: Centered, ones: Array, bounds: np.ndarray, X: Any = None) -> ClassRows:
        """From the rows of all classes.

        The mean is a rounded number: with X, rows are around that very number, as new ones will be.
        """
        if Z.constant.all():
            raise ValueError(NO_VARIANCE)
        # Constant features are left out: with them, the plane could move at a smaller penalty.
        unit = Z.units
        mean = np.where(Z.constant, 0.0, Z.mean * unit)
        # Rows are turned into their space if they are few, or too large to be decomposed. Columns
        # that are smaller than others by far must keep their own units.
        n, d = Z.shape
        wide = d >= WIDE * n or not Z.decomposable
        if wide and d <= TOO_MANY and Z.decomposable:
            squares = Z.column_squares()[~Z.constant]
            wide = bool(squares.max() <= UNLIKE**2 * squares.min())
        if wide:
            F, basis = _own_space(Z, mean)
            grain, unit = np.append(Z.floor(basis.T), 0.0), np.full(len(basis), unit[0])
            return cls(F, ones, bounds, unit, grain, basis @ mean, basis, Z.mean)
        F = Z.toarray() if X is None else Z.weighted(Z.rows(X))
        return cls(F, ones, bounds, unit, np.append(Z.grain(), 0.0), mean, shift=Z.mean)

    @cached_property
    def parts(self) -> list[Array]:
        """N_c."""
        N = np.column_stack([self.F, self.ones])
        return [N[a:b] for a, b in pairwise(self.bounds)]

    def lower_grams(self) -> list[Array]:
        return lower_grams(self.parts)

    def unregularized(self) -> Planes:
        """Planes without a ridge, by Gram matrices, which are fast, where that costs few digits."""
        # Of more rows than columns they may be of full rank.
        if self.basis is None and self.F.shape[0] > self.F.shape[1]:
            each = [(self.F[a:b], self.ones[a:b]) for a, b in pairwise(self.bounds)]
            grams = [bordered(F.T @ F, ones @ F, float(ones @ ones)) for F, ones in each]
            found = regec_from_grams(grams, lambda: self.parts, self.grain)
            if found is not None:
                return found
        R = np.eye(self.F.shape[1] + 1) if self.R is None else self.R
        return regec_from_rows(self.parts, R[:-1], self.grain)

    @cached_property
    def R(self) -> Array | None:
        """The map of planes into the coordinates in which they are measured."""
        if self.unit is None:
            return None
        R = np.diag([*self.unit, 1.0])
        R[-1, :-1] = -np.asarray(self.offset)
        return R

    def normals(self, Z: Array) -> Array:
        """The normals of planes, in the units of the features."""
        found = Z[:, :-1] if self.unit is None else Z[:, :-1] * self.unit
        return found if self.basis is None else found @ self.basis


class ClassGrams:
    """N_c'N_c alone, of data too large to be decomposed; in the units of X, around zero."""

    shift, R, column = 0.0, None, None
    parts: list[Array]  # there are none

    def __init__(self, pieces: list[Centered]) -> None:
        """From the uncentred rows of each class."""
        self.products = []
        for Z in pieces:
            gram, sums = Z.from_X(Z.from_X(Z.gram()).T), Z.from_X(Z.rmatmat(roots(Z))[:, 0])
            self.products.append(bordered(gram, sums, Z.total))

    def lower_grams(self) -> list[Array]:
        return self.products

    def unregularized(self) -> Planes:
        return regec_from_grams(self.products) or regec_from_singular_grams(self.products)

    def normals(self, Z: Array) -> Array:
        return Z[:, :-1]


def bordered(gram: Array, sums: Array, total: float) -> Array:
    """[[gram, sums], [sums', total]]."""
    G = np.empty((len(sums) + 1,) * 2)
    G[:-1, :-1] = gram
    G[:-1, -1] = G[-1, :-1] = sums
    G[-1, -1] = total
    return G


def _own_space(Z: Data, mean: Array) -> tuple[Array, Array]:
    """Coordinates of the rows of Z in the space that they and their mean span, and its basis.

    With a normal orthogonal to both, a plane has the same distances to all rows, but a larger
    penalty.
    """
    U, s, V = Z.triplets()
    if not s.size:
        raise ValueError(NO_VARIANCE)
    F, basis, aside = U * s, V.T, mean
    for _ in range(2):
        aside = aside - basis.T @ (basis @ aside)
    length = np.linalg.norm(aside)
    if length > ROUNDING * np.linalg.norm(mean):
        basis = np.vstack([basis, aside / length])
        F = np.column_stack([F, np.zeros(len(F))])
    return F, basis


# -- where the rows come from -----------------------------------------------------------


def check_class_counts(classes: np.ndarray, present: np.ndarray, n: int, absent: str) -> None:
    """Refuse fewer than two classes, one without rows, and one sample of each."""
    k = len(classes)
    check_two_classes(np.ones(k))
    if not np.all(present):
        raise ValueError(absent.format(shown(classes[np.argmin(present)])))
    if n <= k:
        raise ValueError(ONE_EACH.format(k, n))


def by_class(rows: Rows, classes: np.ndarray) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Rows of positive weight sorted by class, their places among all rows, and the bounds.

    Class c has the rows bounds[c] to bounds[c + 1]. Fewer than two classes are refused, and one
    sample of each.
    """
    k, codes = len(classes), rows.Y[:, 0]
    order = np.argsort(codes, kind="stable")
    if rows.weight is not None:
        order = order[rows.weight[order] > 0]
    counts = np.bincount(codes[order], minlength=k)
    absent = "sample_weight is zero for every sample of the class {}."
    check_class_counts(classes, counts > 0, len(order), absent)
    return rows.take(order), order, np.concatenate([[0], np.cumsum(counts)])


def class_factors(moments: ClassMoments, classes: np.ndarray) -> ClassRows:
    """From the factors of the rows of each class, which is all that planes depend on.

    Of each class the rows are those of its centred factor, with a constant of 0, and one more for
    its mean.
    """
    found = moments.factors()
    present = np.array([factor is not None for factor in found])
    check_class_counts(classes, present, moments.n_rows, ABSENT)
    factors = [factor for factor in found if factor is not None]
    whole = reduce(Factor.merge, factors).without_rounding()
    inside, ones = [], []
    for factor in factors:
        root = np.sqrt(factor.total)
        inside += [factor.without_rounding().R, root * (factor.mean - whole.mean)[None]]
        ones.append(np.append(np.zeros(len(factor.R)), root))
    rows = np.where(whole.R.any(axis=0), np.vstack(inside), 0.0)
    known = whole.mean, whole.total, whole.one, whole.n_rows, whole.eps
    bounds = np.cumsum([0, *map(len, ones)])
    return ClassRows.of(Centered.behind(rows, *known), np.concatenate(ones), bounds)


def plane_sums(rows: BlockedRows, classes: np.ndarray) -> tuple[int, PlanePasses]:
    """The number of rows, and what planes need of sparse blocks too wide for a Gram matrix.

    Every product with the rows is a pass over the blocks.
    """
    k = len(classes)
    counts, sums, squares = rows.first.run(class_sums, k)
    check_class_counts(classes, counts > 0, int(counts.sum()), ABSENT)

    def products(V: Array) -> Array:
        found: Array = rows.passes.run(plane_images, np.ascontiguousarray(V))
        return found.T.reshape(2, k, -1)

    return int(counts.sum()), PlanePasses(sums, squares, np.ones(sums.shape[1]), products)


def class_sums(blocks: Iterable[Any], k: int) -> tuple[Array, Array, Array]:
    """Of every class the number of rows, and the weighted sums of [x, 1] and of its squares."""
    counts, found = np.zeros(k), None
    for X, Y, weight in blocks:
        own = sparse.csr_array(Y[:, 0] == np.arange(k)[:, None], dtype=np.float64)
        counts += own.sum(axis=1)
        N = sparse.csr_array(sparse.hstack([X, np.ones((X.shape[0], 1))]), dtype=np.float64)
        w = np.ones(X.shape[0]) if weight is None else weight
        both = [own.multiply(w).tocsr() @ A for A in (N, N.power(2))]
        dense = [part.toarray() for part in both]
        found = dense if found is None else [a + b for a, b in zip(found, dense, strict=True)]
    assert found is not None
    return counts, found[0], found[1]


def plane_images(blocks: Iterable[Any], V: Array) -> Array:
    """Vectors (k, d + 1) times the Gram matrix of the rows of other classes, and of their own."""
    k, d = len(V), V.shape[1] - 1
    slope, drift = np.zeros((d, 2 * k)), np.zeros((1, 2 * k))
    for X, Y, weight in blocks:
        X = sparse.csr_array(X, dtype=np.float64)
        U = sparse_product(X, V[:, :-1].T) + V[:, -1]
        U = U if weight is None else U * weight[:, None]
        own = np.arange(k) == Y
        sides = np.hstack([np.where(own, 0, U), np.where(own, U, 0)])
        add_transposed(slope, X, sides)
        drift += sides.sum(axis=0)
    return np.vstack([slope, drift])


# Rows of a kernel that agree in this many digits belong to equal samples.
DIGITS = 12


def landmark_rows(
    model: Any, X: Any, weight: Array | None
) -> tuple[np.ndarray, Array, Array | None]:
    """Landmarks (rows of X), K(X, landmarks), and the roots of what each landmark counts for.

    Without ``approximation`` all distinct samples are landmarks. Equal ones share a column, as
    the difference of two equal columns is a surface that vanishes everywhere; the shared one
    counts for all of them (None: every landmark for one). X is the kernel itself
    where it is precomputed.
    """
    n = X.shape[0]
    if model.approximation is not None and model.n_landmarks < n:
        diagonal = X.diagonal() if model._precomputed else model.kernel_.diagonal(X)
        chosen = model._landmarks(partial(_columns, model, X), diagonal)
        return chosen, _columns(model, X, chosen), None
    if model._precomputed or sparse.issparse(X):
        K = _columns(model, X, np.arange(n))
        first, group = distinct(np.round(K / max(np.abs(K).max(), TINY), DIGITS))
        K = K if len(first) == n else K[:, first]
    else:
        first, group = distinct(X)
        K = _columns(model, X, first)
    if weight is None and len(first) == n:
        return first, K, None
    return first, K, np.sqrt(np.bincount(group, weight))


def _columns(model: Any, X: Any, chosen: np.ndarray) -> Array:
    every = np.array_equal(chosen, np.arange(X.shape[0]))
    if model._precomputed:
        return np.asarray(X if every else X[:, chosen], dtype=np.float64)
    return refuse_overflow(model.kernel_(X) if every else model.kernel_(X, X[chosen]))


def distinct(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first of each kind of row, and the kind of each row.

    Equal rows have equal weighted sums: sorting those brings them together, for far less than
    sorting rows. Where different rows share a sum, equal ones may be kept apart.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sums = (A * np.cos(np.arange(1.0, A.shape[1] + 1.0))).sum(axis=1)
    order = np.argsort(sums, kind="stable")
    fresh = np.ones(len(A), dtype=bool)
    fresh[1:] = sums[order[1:]] != sums[order[:-1]]
    if fresh.all():
        return np.arange(len(A)), np.arange(len(A))
    fresh[1:] |= np.any(A[order[1:]] != A[order[:-1]], axis=1)
    group = np.empty(len(A), dtype=np.intp)
    group[order] = np.cumsum(fresh) - 1
    first = order[fresh]
    rank = np.argsort(np.argsort(first))
    return np.sort(first), rank[group]
