"""What a stream has seen: recent rows as they came, and a factor of all that is older.

Planes need the scatter of every class by itself (:class:`ClassMoments`),

    N_c'N_c = sum over the class of w [x, 1] [x, 1]'

which the factor of its centred rows, its mean and its weight together determine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from eigenkit.data import Centered
from eigenkit.moments.rows import RESPONSES, Factor, Problem, Rows
from eigenkit.numerics.costs import STREAM_LIMIT_BYTES
from eigenkit.numerics.linalg import Array, distinct_rows, triangular_factor
from eigenkit.numerics.threads import merged
from eigenkit.targets import Target

# Rows are factored in blocks of at least this size, and kept as they are while they take less.
BLOCK_BYTES = 2**18


@dataclass(frozen=True)
class Moments:
    """Everything that a stream has seen."""

    # What stands beside X in the factor (one column per distinct label set, or the local part of
    # the target), as it was when the stream began.
    by_sets: bool
    edge_weight: Array | float
    n_rows: int = 0
    # In parts of decreasing sizes, like the digits of a number, so that no row is copied more often
    # than the logarithm of their number.
    recent: tuple[Rows, ...] = ()
    factor: Factor | None = None
    # None even while every row is still kept: what can be solved must not depend on when rows are
    # factored.
    whole: ClassVar[Rows | None] = None

    @classmethod
    def begin(cls, target: Target, edge_weight: Array | float) -> Moments:
        """An empty stream for this target."""
        return cls(not target.linear, edge_weight)

    def check(self, d: int, k: int) -> None:
        parts: list[Rows | Factor] = [*self.recent, *self._factors()]
        for part in parts:
            part.check(d, k)
        if any((factor.sets is not None) is not self.by_sets for factor in self._factors()):
            raise ValueError("these moments are inconsistent")

    @property
    def n_bytes(self) -> int:
        rows = sum(part.n_bytes for part in self.recent)
        return rows + sum(factor.R.nbytes for factor in self._factors())

    def _factors(self) -> tuple[Factor, ...]:
        return () if self.factor is None else (self.factor,)

    def agree(self, target: Target, edge_weight: Array | float) -> None:
        """Refuse a target that needs other moments than these."""
        if self.by_sets:
            return
        if not target.linear:
            raise ValueError(
                "this stream began for a target that needs no label sets, and kept none: begin a "
                "new one for expansion='star' or 'clique'."
            )
        if not np.array_equal(self.edge_weight, edge_weight):
            raise ValueError(
                "label_weights differ from those that this stream began with: keep them, or begin "
                "a new stream."
            )

    # -- taking in ---------------------------------------------------------------------

    def add(
        self, rows: Rows, target: Target, edge_weight: Array | float, half_life: float | None = None
    ) -> Moments:
        """These moments and those of further rows, which come after all others."""
        self.agree(target, edge_weight)
        before = self
        if half_life is not None:
            rows, left = _aged(rows, half_life)
            before = self.faded(left)
        rows = rows.positive()
        if not len(rows.Y):  # an empty batch only ages the others
            return before
        recent = _pushed(before.recent, rows.compact())
        return replace(before, n_rows=self.n_rows + rows.n_rows, recent=recent)._settled(target)

    def faded(self, fade: float) -> Moments:
        recent = tuple(part.faded(fade) for part in self.recent)
        factor = None if self.factor is None else self.factor.faded(fade)
        return replace(self, recent=tuple(p for p in recent if len(p.Y)), factor=factor)

    def merge(self, other: Moments, target: Target, edge_weight: Array | float) -> Moments:
        """These moments and those of another stream, added up."""
        for each in (self, other):
            each.agree(target, edge_weight)
        if not self.n_rows:
            return other
        by_sets, n_rows = self.by_sets and other.by_sets, self.n_rows + other.n_rows
        recent = reduce(_pushed, other.recent, self.recent)
        both = Moments(by_sets, edge_weight, n_rows, recent)
        factors = [*self._factors(), *other._factors()]
        if not both.by_sets:
            factors = [_without_sets(factor, target, edge_weight) for factor in factors]
        return replace(both, factor=_sum(factors))._settled(target)

    def relabelled(self, columns: np.ndarray, k: int) -> Moments:
        """The same with the labels put in their places among k; the others were never seen."""
        weight = self.edge_weight
        if np.ndim(weight) and not np.array_equal(columns, np.arange(k)):
            raise ValueError("label_weights belong to labels: models with other labels differ.")
        recent = tuple(part.relabelled(columns, k) for part in self.recent)
        factor = None if self.factor is None else self.factor.relabelled(columns, k)
        return replace(self, recent=recent, factor=factor)

    # -- keeping it small --------------------------------------------------------------

    def _settled(self, target: Target) -> Moments:
        """The same, with recent rows in the factor as soon as that takes less room."""
        size = sum(part.n_bytes for part in self.recent)
        # Label sets are counted when rows have become one part: their number has doubled then.
        due = not self.by_sets or len(self.recent) == 1 or size > STREAM_LIMIT_BYTES
        if size <= BLOCK_BYTES or not due:
            return self
        width = self._width()
        kept = size <= _block_bytes(width)
        room = size if kept else 8 * width**2
        if room > STREAM_LIMIT_BYTES:
            raise ValueError(self._too_large(width, size))
        return self if kept else self._folded(target)

    def _width(self) -> int:
        """Columns of the factor of everything."""
        d, k = self.recent[0].X.shape[1], self.recent[0].Y.shape[1]
        if not self.by_sets:
            return int(d + k)
        known = [factor.sets for factor in self._factors() if factor.sets is not None]
        sets = np.vstack([part.Y for part in self.recent] + known)
        return int(d + len(np.unique(sets, axis=0)))

    def _too_large(self, width: int, size: int) -> str:
        what = "X and the distinct label sets" if self.by_sets else "X and Y"
        remedy = ", expansion='zhou', which keeps no label sets," if self.by_sets else ""
        return (
            f"{what} have {width} columns together: partial_fit would keep {width} x {width} "
            f"numbers ({8 * width**2 / 2**30:.1f} GB), or all {self.n_rows} rows "
            f"({size / 2**30:.1f} GB), and the limit is {STREAM_LIMIT_BYTES / 2**30:g} GB; use "
            f"fit, which needs no such matrix{remedy} or fewer features"
        )

    def _folded(self, target: Target) -> Moments:
        """The same, with all recent rows in the factor."""
        factor = _sum(chain(self._factors(), self._block_factors(target)))
        return replace(self, recent=(), factor=factor)

    def _block_factors(self, target: Target) -> Iterator[Factor]:
        for part in self.recent:
            width = part.X.shape[1] + part.Y.shape[1]
            size = max(width, _block_bytes(width) // (8 * width))
            for start in range(0, part.n_rows, size):
                rows = part.take(slice(start, start + size))
                if self.by_sets:
                    sets, index = distinct_rows(rows.Y)
                    yield Factor.of(rows, np.eye(len(sets))[index], sets.astype(np.float64))
                else:
                    Y = rows.Y.astype(np.float64, copy=False)
                    yield Factor.of(rows, target.local(Y, self.edge_weight), None)

    def without_rows(self, target: Target, edge_weight: Array | float) -> Moments:
        """The same as sums alone, without any original row; refused for too few rows."""
        if not self.recent and self.factor is None:
            return self
        width = self._width() if self.recent else self._factors()[0].R.shape[1]
        if width < self.n_rows and 8 * width**2 <= STREAM_LIMIT_BYTES:
            factor = self.summary(target)
            R = np.ascontiguousarray(triangular_factor(factor.R))
            if len(R) == width:  # fewer where nearly all rows have faded
                return replace(self, recent=(), factor=replace(factor, R=R))
        raise ValueError(
            f"{self.n_rows} rows cannot be hidden in sums of {width} columns: there must be more "
            f"rows than columns, and at most {STREAM_LIMIT_BYTES / 2**30:g} GB of sums; wait for "
            "more rows, or use fewer features."
        )

    def summary(self, target: Target) -> Factor:
        """The factor of everything."""
        if not self.n_rows:
            raise ValueError("none of them counts, as none has a label.")
        factor = self._folded(target).factor
        assert factor is not None
        return replace(factor, n_rows=self.n_rows)

    def sides(self) -> tuple[Centered, Centered]:
        return self.summary(RESPONSES).sides()

    # -- what it amounts to ------------------------------------------------------------

    def problem(self, target: Target, edge_weight: Array | float, alpha: float) -> Problem:
        if self.recent and not self.factor and all(map(self.recent[0].as_precise_as, self.recent)):
            rows = reduce(Rows.append, self.recent)
            return replace(rows.problem(target, edge_weight, alpha), n_rows=self.n_rows)
        return self.summary(target).problem(target, edge_weight, alpha)


def _aged(rows: Rows, half_life: float) -> tuple[Rows, float]:
    """The rows of a batch, each older than the next, and what is left of all that came before."""
    n = rows.n_rows
    faded = rows.faded(np.exp2(-np.arange(n - 1.0, -1.0, -1.0) / half_life))
    return faded, float(np.exp2(-n / half_life))


def _block_bytes(width: int) -> int:
    """Rows that are factored at once: as many as the factor has, or up to four times that.

    Of w x w numbers and n rows that takes about 2 (n + w) w^2 operations, so few rows at a time are
    dear; beyond some megabytes it is memory that counts.
    """
    factor = 8 * width * width
    return max(factor, BLOCK_BYTES, min(4 * factor, 64 * BLOCK_BYTES))


def _pushed(recent: tuple[Rows, ...], rows: Rows) -> tuple[Rows, ...]:
    """Recent rows and some more, with parts of like sizes, and as precise, put together."""
    while recent and len(recent[-1].Y) <= len(rows.Y) and recent[-1].as_precise_as(rows):
        rows, recent = recent[-1].append(rows), recent[:-1]
    return (*recent, rows)


def _sum(factors: Iterable[Factor]) -> Factor | None:
    """The factor of all rows, from one after the other."""
    total = merged(factors)
    return None if total is None else total.triangular()


def _without_sets(factor: Factor, target: Target, edge_weight: Array | float) -> Factor:
    """The same summary with the local part of the target in place of label sets."""
    if factor.sets is None:
        return factor
    d, G = factor.d, target.local(factor.sets, edge_weight)
    mean = np.append(factor.mean[:d], factor.mean[d:] @ G)
    R = np.hstack([factor.R[:, :d], factor.R[:, d:] @ G])
    return replace(factor, mean=mean, R=R, sets=None)


# -- class by class ---------------------------------------------------------------------

# The factors hold X alone, so the target does not matter, if it is linear.
_KIND = RESPONSES, 1.0


@dataclass(frozen=True)
class ClassMoments:
    """The moments of the rows of each class; a row's Y is the number of its class."""

    parts: tuple[Moments, ...]
    n_rows: int = 0
    whole: ClassVar[Rows | None] = None
    sparse_passes: ClassVar[bool] = False  # as blocks of rows may have

    @classmethod
    def begin(cls, k: int) -> ClassMoments:
        """Nothing yet, of k classes."""
        return cls((Moments.begin(*_KIND),) * k)

    def check(self, d: int, k: int) -> None:
        for part in self.parts:
            part.check(d, 0)

    def add(self, rows: Rows, half_life: float | None = None) -> ClassMoments:
        """With some more rows; all others are older by as many."""
        n, parts = rows.n_rows, self.parts
        if half_life is not None:
            rows, left = _aged(rows, half_life)
            parts = tuple(part.faded(left) for part in parts)
        own = [np.flatnonzero(rows.Y[:, 0] == c) for c in range(len(parts))]
        bare = replace(rows, Y=np.empty((rows.n_rows, 0)))
        added = (
            part.add(bare.take(index), *_KIND) if len(index) else part
            for part, index in zip(parts, own, strict=True)
        )
        return ClassMoments(tuple(added), self.n_rows + n)._checked()

    def merge(self, other: ClassMoments) -> ClassMoments:
        pairs = zip(self.parts, other.parts, strict=True)
        parts = tuple(a.merge(b, *_KIND) for a, b in pairs)
        return ClassMoments(parts, self.n_rows + other.n_rows)._checked()

    def relabelled(self, columns: np.ndarray, k: int) -> ClassMoments:
        parts = list(ClassMoments.begin(k).parts)
        for place, part in zip(columns, self.parts, strict=True):
            parts[place] = part
        return replace(self, parts=tuple(parts))

    def without_rows(self) -> ClassMoments:
        """The same as sums alone; refused where a class has too few rows for that."""
        return replace(self, parts=tuple(part.without_rows(*_KIND) for part in self.parts))

    def _checked(self) -> ClassMoments:
        held = sum(part.n_bytes for part in self.parts)
        if held > STREAM_LIMIT_BYTES:
            raise ValueError(
                f"the sums of {len(self.parts)} classes take {held / 2**30:.1f} GB, a matrix of "
                f"the features for each, and the limit is {STREAM_LIMIT_BYTES / 2**30:g} GB: use "
                "fewer features."
            )
        return self

    def factors(self) -> list[Factor | None]:
        """The factor of every class; None where no row has come, or none is left."""
        return [
            part.summary(_KIND[0]) if part.recent or part.factor else None for part in self.parts
        ]

    def by_class(self, k: int) -> ClassMoments:
        """Themselves: what :class:`BlockedRows` makes by a pass."""
        return self


def class_moments(blocks: Iterable[Any], k: int) -> ClassMoments:
    """The moments of k classes in some blocks (X, Y, weight)."""
    found = ClassMoments.begin(k)
    for X, Y, weight in blocks:
        found = found.add(Rows(X, Y, weight))
    return found
