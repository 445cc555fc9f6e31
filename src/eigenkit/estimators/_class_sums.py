"""Planes from sums over the rows of each class: streams of them, and blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from eigenkit.data.sparse_rows import add_transposed, product
from eigenkit.estimators._class_rows import ClassRows, to_planes
from eigenkit.estimators._streams import Result, Streaming
from eigenkit.estimators._validation import NO_VARIANCE
from eigenkit.linalg import Array, power_of_two
from eigenkit.moments import BlockedRows, ClassMoments, Factor
from eigenkit.shell import shown
from eigenkit.solvers.large_planes import PlanePasses


def check_class_counts(classes: np.ndarray, present: np.ndarray, n: int, absent: str) -> None:
    """Refuse fewer than two classes, one without rows, and one sample of each."""
    k = len(classes)
    if k < 2:
        raise ValueError(f"y holds {k} class, but at least two are needed to separate.")
    if not np.all(present):
        raise ValueError(absent.format(shown(classes[np.argmin(present)])))
    if n <= k:
        raise ValueError(
            f"y holds {k} classes for {n} samples: some class needs more than one sample."
        )


@dataclass(frozen=True)
class ClassSums:
    """A factor of the rows of each class, which is all that planes depend on."""

    factors: list[Factor]

    @classmethod
    def of(cls, moments: ClassMoments, classes: np.ndarray) -> ClassSums:
        found = moments.factors()
        present = np.array([factor is not None for factor in found])
        check_class_counts(classes, present, moments.n_rows, "no row of the class {} has come.")
        return cls([factor for factor in found if factor is not None])

    def standardized(self) -> tuple[Array, ClassRows]:
        """The mean, and rows with the sums of those of (X - mean) / unit, 1.

        They are those of the centred factor, which say nothing of the constant, and one more for
        the mean of the class.
        """
        whole = reduce(Factor.merge, self.factors).without_rounding()
        size = np.sqrt(np.einsum("ij,ij->j", whole.R, whole.R) / whole.total)
        if not size.any():
            raise ValueError(NO_VARIANCE)
        shift, unit = whole.mean, power_of_two(size)
        parts = []
        for factor in self.factors:
            around = (factor.mean - shift) / unit
            inside = np.vstack([factor.without_rounding().R / unit, np.sqrt(factor.total) * around])
            inside[:, size == 0] = 0.0
            ones = np.append(np.zeros(len(factor.R)), np.sqrt(factor.total))
            parts.append(np.column_stack([inside, ones]))
        return shift, ClassRows(parts, to_planes(shift, unit, size == 0), eps=whole.eps)


def plane_sums(rows: BlockedRows, classes: np.ndarray) -> PlanePasses:
    """What planes ask of sparse blocks too wide for a matrix of their columns; a pass each."""
    k = len(classes)
    counts, sums, squares = rows.first.run(class_sums, k)
    absent = "no row of the class {} has come."
    check_class_counts(classes, counts > 0, int(counts.sum()), absent)

    def products(V: Array) -> Array:
        found: Array = rows.passes.run(plane_images, np.ascontiguousarray(V))
        return found.T.reshape(2, k, -1)

    return PlanePasses(sums, squares, products)


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
    """Of vectors (k, d + 1) the images by the rows of other classes, and of their own."""
    k, d = len(V), V.shape[1] - 1
    slope, drift = np.zeros((d, 2 * k)), np.zeros((1, 2 * k))
    for X, Y, weight in blocks:
        X = sparse.csr_array(X, dtype=np.float64)
        U = product(X, V[:, :-1].T) + V[:, -1]
        U = U if weight is None else U * weight[:, None]
        own = np.arange(k) == Y
        sides = np.hstack([np.where(own, 0, U), np.where(own, U, 0)])
        add_transposed(slope, X, sides)
        drift += sides.sum(axis=0)
    return np.vstack([slope, drift])


def _is_linear(model: Any) -> bool:
    name = type(model).__name__
    if not model._is_linear:
        raise AttributeError(
            f"{name}(kernel={model.kernel!r}) needs all samples at once: streams and blocks of "
            "rows are for kernel='linear'."
        )
    if model.probability:
        raise AttributeError(
            f"{name}(probability=True) needs all samples at once: streams and blocks of rows are "
            "for probability=False."
        )
    return True


class PlaneStreams(Streaming):
    """``partial_fit`` and ``merge`` for planes in the space of X."""

    coef_ = Result()
    intercept_ = Result()
    eigenvalues_ = Result()
    n_iter_ = Result()
    _center_ = Result()
    _bias_ = Result()
    classes_: np.ndarray

    partial_fit = available_if(_is_linear)(Streaming.partial_fit)
    merge = available_if(_is_linear)(Streaming.merge)

    def _kind(self) -> tuple[Any, ...]:
        return ()

    def _no_moments(self) -> ClassMoments:
        return ClassMoments.begin(len(self.classes_))

    @property
    def _is_solved(self) -> bool:
        return "intercept_" in vars(self)
