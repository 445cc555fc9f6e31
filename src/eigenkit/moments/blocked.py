"""The problem that blocks of rows state: one pass for the sums, the rest when it is asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

import numpy as np
from scipy import sparse

from eigenkit.data import Blocked, Centered, Passes, Survey, Targets
from eigenkit.data.blocked import Block
from eigenkit.moments.rows import RESPONSES, Factor, Problem, Rows
from eigenkit.moments.stream import ClassMoments, class_moments
from eigenkit.numerics.linalg import Array, graded_whitener
from eigenkit.numerics.threads import merged, plus
from eigenkit.pencil import Pencil
from eigenkit.shell import shown
from eigenkit.targets import Labels, Target

# The kinds of numpy's types that are numbers.
NUMBERS = "biuf"

NO_BLOCK = "X holds no block with rows of positive weight: there is nothing to learn from."


class Blocks(ABC):
    """Rows that can be read again and again, block by block, for an X that is too large."""

    @abstractmethod
    def passes(self) -> Passes:
        """Over blocks (X, y, weight), where y and weight may be None."""

    @abstractmethod
    def head(self) -> tuple[Any, Any, Any]:
        """The first block."""

    @abstractmethod
    def map(self, function: Callable[[Any], Any]) -> Blocks:
        """Blocks with ``function`` of X in the place of X."""

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: functions that make an array of their input, as scikit-learn's do, end here."""
        raise TypeError(
            "blocks of rows are no array: give them to models of eigenkit (fit, transform, "
            "predict, score) or to AlphaSearchCV, and loop over them for anything else (for X, y "
            "in blocks; for train, test in blocks.folds(5))."
        )

    def classes(self) -> np.ndarray | None:
        """All classes, where y holds one for every row; found by a pass over the rows."""
        y = self.head()[1]
        if np.ndim(y) != 1 or np.asarray(y).dtype.kind == "f":
            return None
        found = self.passes().run(_classes)
        if found is None:
            raise ValueError(
                "X holds no block with rows of positive weight in a second pass: give blocks that "
                "are the same in every pass."
            )
        values: np.ndarray = found.values
        return values


@dataclass(frozen=True)
class _Classes:
    """Distinct values, which can be put together."""

    values: np.ndarray

    def merge(self, other: _Classes) -> _Classes:
        if (self.values.dtype.kind in NUMBERS) != (other.values.dtype.kind in NUMBERS):
            raise ValueError(
                f"y holds classes such as {shown(self.values[0])} in some blocks and such as "
                f"{shown(other.values[0])} in others: give all of them as numbers, or all as words."
            )
        return _Classes(np.unique(np.concatenate([self.values, other.values])))


def _classes(blocks: Iterable[Any]) -> _Classes | None:
    given = (np.asarray(y) for _, y, _ in blocks if np.size(y) and y is not None)
    return merged(_Classes(np.unique(y)) for y in given)


@dataclass(frozen=True)
class BlockedRows:
    """Rows in blocks of encoded (X, Y, weight), as :class:`~eigenkit.moments.Rows` are."""

    first: Passes  # for the first pass, in which the rows are checked
    passes: Passes  # for the others
    bare: Passes  # for those without Y
    small: bool = False  # the problem on the triangle of the rows, for solvers that need rows
    sparse_passes: bool = False  # X is sparse, and can be passed over as often as needed
    whole: ClassVar[Rows | None] = None

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        stated, _, factor = self._stated(target, edge_weight, alpha)
        if not self.small:
            return stated
        Z = stated.pencil.Z
        R, H = _triangle(stated.pencil, factor)
        small = Centered.behind(R, stated.mean, Z.total, Z.one, Z.n_samples, Z.eps)
        return replace(stated, pencil=Pencil(small, H, alpha))

    def summary(self, target: Target) -> Factor:
        """The factor of all rows, with the local part of a linear target."""
        stated, sums, factor = self._stated(target, 1.0, 0.0)
        Z = stated.pencil.Z
        R = np.hstack(_triangle(stated.pencil, factor))
        mean = np.append(stated.mean, sums.mean)
        return replace(sums, d=Z.shape[1], mean=mean, R=R, eps=Z.eps)

    def sides(self) -> tuple[Centered, Centered]:
        return self.summary(RESPONSES).sides()

    def by_class(self, k: int) -> ClassMoments:
        """The moments of the rows of k classes, whose numbers are Y, in one pass."""
        found: ClassMoments = self.first.run(class_moments, k)
        return found

    def gathered(self) -> Rows:
        """All rows at once: for those who know that they are few."""
        X, Y, weight = zip(*self.passes.run(_gathered), strict=True)
        whole = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)
        return Rows(whole, np.vstack(Y), np.concatenate(weight))

    def _stated(
        self, target: Target, edge_weight: Array | float, alpha: float
    ) -> tuple[Problem, Factor, Array]:
        """The problem, the sums of the labels, and a factor of H'H where that will be needed."""
        survey, sums = self.first.run(_sums, target, edge_weight)
        if sums is None or sums.n_rows < 2:
            held = "no row that counts" if sums is None else "one row"
            raise ValueError(f"X holds {held}: a fit needs at least 2 samples.")
        sums = sums.without_rounding()
        labels = sums.labels(sums.R, edge_weight)
        rows = TargetRows(target, labels, sums.mean if target.linear else 0.0)
        factor = target.finish(sums.R, labels) if target.linear else sums.R
        if self.small and not target.linear:
            whole = self.passes.run(_targets, rows)
            rows, factor = replace(rows, mean=whole.mean), whole.R
        k = rows(np.zeros((1, len(sums.degree)))).shape[1]
        H = Targets(rows, (sums.n_rows, k), bool(sums.R.any()))
        pencil = Pencil(Blocked(self.passes, survey, bare=self.bare), H, alpha)
        problem = Problem(pencil, labels, pencil.Z.mean, sums.total, sums.n_rows)
        return problem, sums, np.asarray(factor)


def _gathered(blocks: Iterable[Block]) -> list[tuple[Any, ...]]:
    """Copies, as a source may use its memory again."""
    weights = ((X, Y, np.ones(len(Y)) if w is None else w) for X, Y, w in blocks)
    return [tuple(part.copy() for part in block) for block in weights]


def _triangle(pencil: Pencil, factor: Array) -> tuple[Array, Array]:
    """Fewer rows of X (centred, in its units) and H with the same products; factor'factor = H'H.

    A triangle that comes from products of rows knows lengths to half of their digits. The columns
    of H F are orthonormal, so that only the part which Z does not explain is affected. Taken of H
    itself, the triangle would make a direction out of every label that the others determine, as
    the last of the classes is.
    """
    if factor.size:
        F, back = graded_whitener(factor, pencil.Z.n_samples)
        Z, Q = pencil.Z.compress(pencil.H @ F)
        H = Q @ back
    else:
        Z, H = pencil.Z.compress(pencil.H)
    return Z.toarray() / pencil.Z.units, H


@dataclass(frozen=True)
class TargetRows:
    """Rows of H from rows of Y, given the sums over all."""

    target: Target
    labels: Labels
    center: Array | float  # subtracted before rows are finished, where the target is linear
    # Of the rows of other targets: it takes a pass of its own, which products with centred Z spare.
    mean: Array | float = 0.0

    def __call__(self, Y: Array) -> Array:
        G = self.target.local(Y.astype(np.float64, copy=False), self.labels.weight)
        return np.asarray(self.target.finish(G - self.center, self.labels) - self.mean)


def _targets(blocks: Iterable[Block], rows: TargetRows) -> Factor | None:
    """The mean of the rows of H, and their triangle."""
    each = ((rows(Y), weight) for _, Y, weight in blocks)
    found = (Factor.of(Rows(np.empty((len(H), 0)), H, w), H, None).triangular() for H, w in each)
    return merged(found)


def _sums(
    blocks: Iterable[Block], target: Target, edge_weight: Array | float
) -> tuple[Survey | None, Factor | None]:
    """What the columns of X look like, and the sums of the labels."""
    survey = labels = None
    for X, Y, weight in blocks:
        rows = Rows(np.empty((len(Y), 0)), Y, weight)
        G = target.local(Y.astype(np.float64, copy=False), edge_weight)
        labels = plus(labels, Factor.of(rows, G, None).triangular())
        survey = plus(survey, Survey.of(X, weight))
    return survey, labels
