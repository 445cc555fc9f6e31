"""The rows of each class, in coordinates in which planes can be computed.

Whole, as sums over the rows of each class (of streams of them, and blocks), or as kernel values
with the training samples that span the surfaces.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from eigenkit.data import add_transposed, sparse_product
from eigenkit.estimators._encoding import ONE_EACH, check_two_classes
from eigenkit.estimators._kernel_space import CONSTANT_KERNEL, refuse_overflow
from eigenkit.estimators._row_space import Space
from eigenkit.estimators._streams import Streaming, results
from eigenkit.estimators._validation import NO_VARIANCE
from eigenkit.moments import BlockedRows, ClassMoments, Factor
from eigenkit.numerics.linalg import Array, power_of_two
from eigenkit.numerics.tolerances import EPS, SQUARES_RANGE, TINY, grain
from eigenkit.shell import shown
from eigenkit.solvers.large_planes import PlanePasses
from eigenkit.solvers.planes import class_grams, lower_grams


@dataclass(frozen=True)
class ClassRows:
    """The features of each class, in the coordinates that the planes are computed in.

    ``parts[c] = sqrt(w) [features, 1]``, around ``shift``; a plane z there is the plane R z in the
    coordinates in which its ridge and distances are measured (R None: the same). ``basis`` is what
    the coordinates of the normals are the weights of (None: the features), ``column`` holds the
    factors that landmarks of weights other than one have put on their columns, ``eps`` is the
    precision of the features as they were given.
    """

    parts: list[Any]
    R: Array | None = None
    basis: Array | None = None
    shift: Array | float = 0.0
    column: Array | None = None
    eps: float = EPS

    @classmethod
    def of(cls, F: Any, bounds: np.ndarray, root: Array | None, **known: Any) -> ClassRows:
        """From features sorted by class, and the roots of the weights of their rows."""
        N = with_ones(F, root)
        return cls([N[a:b] for a, b in pairwise(bounds)], **known)

    @property
    def column_weight(self) -> Array | None:
        """How many samples each column counts for; the column of the constant counts for one."""
        return None if self.column is None else np.append(self.column**2, 1.0)

    @property
    def may_be_dense(self) -> bool:
        """Whether products of the rows with dense matrices take no more room than the rows."""
        return not sparse.issparse(self.parts[0])

    def grams(self) -> list[Array]:
        with np.errstate(over="ignore", invalid="ignore"):  # the solver checks the sums
            grams: list[Any] = class_grams(self.parts)
        return grams if self.may_be_dense else [G.toarray() for G in grams]

    def lower_grams(self) -> list[Array]:
        return lower_grams(self.parts) if self.may_be_dense else self.grams()

    def grain(self) -> Array:
        """How long the columns may be by the rounding of the features as they were given."""
        squares = np.sum([np.einsum("ij,ij->j", N, N) for N in self.parts], axis=0)
        if self.R is not None:
            squares[:-1] += squares[-1] * self.R[-1, :-1] ** 2
        squares[-1] = 0.0
        return np.asarray(grain(squares, sum(map(len, self.parts)), self.eps))

    def normals(self, Z: Array) -> Array:
        """The normals of planes, in the units of the features."""
        found = Z[:, :-1] if self.R is None else Z @ self.R[:-1].T
        return found if self.basis is None else found @ self.basis

    def to_normal(self) -> Array:
        """The map from z to the normal of the plane."""
        order = self.parts[0].shape[1]
        return np.eye(order)[:-1] if self.R is None else self.R[:-1]


def with_ones(F: Any, root: Array | None) -> Any:
    """sqrt(w) [F, 1]."""
    n, d = F.shape
    if sparse.issparse(F):
        last = F.indptr[1:]  # the one is the last number of its row
        data = np.insert(F.data.astype(np.float64), last, 1.0)
        column = np.insert(F.indices, last, d)
        indptr = F.indptr + np.arange(n + 1, dtype=F.indptr.dtype)
        if root is not None:
            data *= np.repeat(root, np.diff(indptr))
        return sparse.csr_array((data, column, indptr), shape=(n, d + 1))
    N = np.empty((n, d + 1))
    N[:, :-1] = F
    N[:, -1] = 1.0
    if root is not None:
        N *= root[:, None]
    return N


def check_varied(K: Array) -> None:
    if np.array_equal(K[0], K[1]) and np.all(K[0] == K):
        raise ValueError(CONSTANT_KERNEL)


def kernel_unit(K: Array) -> float:
    """1, or a power of two that brings kernel values of extreme size near 1."""
    (low, high), size = SQUARES_RANGE, max(float(K.max()), -float(K.min()))
    return 1.0 if low < size < high else float(power_of_two(np.array(size)))


def check_class_counts(classes: np.ndarray, present: np.ndarray, n: int, absent: str) -> None:
    """Refuse fewer than two classes, one without rows, and one sample of each."""
    k = len(classes)
    check_two_classes(np.ones(k))
    if not np.all(present):
        raise ValueError(absent.format(shown(classes[np.argmin(present)])))
    if n <= k:
        raise ValueError(ONE_EACH.format(k, n))


@dataclass(frozen=True)
class ClassSums:
    """A factor of the rows of each class, which is all that planes depend on."""

    factors: list[Factor]

    @classmethod
    def of(cls, moments: ClassMoments, classes: np.ndarray) -> ClassSums:
        found = moments.factors()
        present = np.array([factor is not None for factor in found])
        check_class_counts(classes, present, moments.n_rows, "no row of the class {} has arrived.")
        return cls([factor for factor in found if factor is not None])

    def around_mean(self) -> ClassRows:
        """Rows with the same products as the rows [(X - mean) / unit, 1].

        Of each class these are the rows of its centred factor, with a constant of 0, and one more
        row for its mean.
        """
        whole = reduce(Factor.merge, self.factors).without_rounding()
        size, shift = whole.spread(), whole.mean
        if not size.any():
            raise ValueError(NO_VARIANCE)
        inside, ones = [], []
        for factor in self.factors:
            root = np.sqrt(factor.total)
            inside += [factor.without_rounding().R, root * (factor.mean - shift)[None]]
            ones.append(np.append(np.zeros(len(factor.R)), root))
        Z = np.where(size == 0, 0.0, np.vstack(inside))
        space = Space.of(Z, shift, size, whole.total, whole.eps)
        rows = np.column_stack([space.coordinates, np.concatenate(ones)])
        parts = np.split(rows, np.cumsum([len(part) for part in ones])[:-1])
        return ClassRows(parts, space.R, space.basis, shift, eps=whole.eps)


def plane_sums(rows: BlockedRows, classes: np.ndarray) -> tuple[int, PlanePasses]:
    """The number of rows, and what planes need of sparse blocks too wide for a Gram matrix.

    Every product with the rows is a pass over the blocks.
    """
    k = len(classes)
    counts, sums, squares = rows.first.run(class_sums, k)
    absent = "no row of the class {} has arrived."
    check_class_counts(classes, counts > 0, int(counts.sum()), absent)

    def products(V: Array) -> Array:
        found: Array = rows.passes.run(plane_images, np.ascontiguousarray(V))
        return found.T.reshape(2, k, -1)

    return int(counts.sum()), PlanePasses(sums, squares, products)


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


def _takes_parts(model: Any) -> bool:
    for fine, given, instead in (
        (model._is_linear, f"kernel={model.kernel!r}", "kernel='linear'"),
        (not model.probability, "probability=True", "probability=False"),
    ):
        if not fine:
            raise AttributeError(
                f"{type(model).__name__}({given}) needs all samples at once: streams and blocks of "
                f"rows are for {instead}."
            )
    return True


class PlaneStreams(Streaming):
    """``partial_fit`` and ``merge`` for planes in the space of X."""

    coef_, intercept_, eigenvalues_, n_iter_, _center_, _bias_ = results(6)
    classes_: np.ndarray

    partial_fit = available_if(_takes_parts)(Streaming.partial_fit)
    merge = available_if(_takes_parts)(Streaming.merge)

    def _kind(self) -> tuple[Any, ...]:
        return ()

    def _no_moments(self) -> ClassMoments:
        return ClassMoments.begin(len(self.classes_))

    _last_result = "intercept_"


# Rows of a kernel that agree in this many digits belong to equal samples.
DIGITS = 12


def landmark_rows(model: Any, X: Any, root: Array | None) -> tuple[np.ndarray, Array, Array | None]:
    """Landmarks (rows of X), K(X, landmarks), and the roots of what each landmark counts for.

    Without ``approximation`` all distinct samples are landmarks. Equal ones share a column, as
    the difference of two equal columns is a surface that vanishes everywhere; the shared one
    counts for all of them (None: every landmark for one). ``root`` holds the roots of the
    sample weights, X the kernel itself where it is precomputed.
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
    if root is None and len(first) == n:
        return first, K, None
    weight = np.bincount(group, None if root is None else root**2)
    return first, K, np.sqrt(weight)


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
