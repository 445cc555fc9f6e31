"""What a stream must remember of every class by itself: planes need the scatter of each.

    N_c'N_c = sum over the class of w [x, 1] [x, 1]'

which the factor of its centred rows, its mean and its weight have between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from eigenkit.moments.factor import Factor
from eigenkit.moments.rows import Rows
from eigenkit.moments.stream import LIMIT_BYTES, Moments
from eigenkit.targets import TARGETS

# The factors hold X alone: any linear target will do.
_KIND = TARGETS["opls"], 1.0


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
        """That these are moments of d features, as far as it costs nothing."""
        for part in self.parts:
            part.check(d, 0)

    def add(self, rows: Rows, half_life: float | None = None) -> ClassMoments:
        """With some more rows; all others are older by as many."""
        n, parts = rows.n_rows, self.parts
        if half_life is not None:
            rows = rows.faded(np.exp2(-np.arange(n - 1.0, -1.0, -1.0) / half_life))
            parts = tuple(part.faded(float(np.exp2(-n / half_life))) for part in parts)
        own = [np.flatnonzero(rows.Y[:, 0] == c) for c in range(len(parts))]
        bare = replace(rows, Y=np.empty((rows.n_rows, 0)))
        added = (
            part.add(bare.take(index), *_KIND) if len(index) else part
            for part, index in zip(parts, own, strict=True)
        )
        return ClassMoments(tuple(added), self.n_rows + n)._checked()

    def merge(self, other: ClassMoments) -> ClassMoments:
        """With everything that another stream has seen."""
        pairs = zip(self.parts, other.parts, strict=True)
        parts = tuple(a.merge(b, *_KIND) for a, b in pairs)
        return ClassMoments(parts, self.n_rows + other.n_rows)._checked()

    def relabelled(self, columns: np.ndarray, k: int) -> ClassMoments:
        """The same with the classes put in their places among k; the others were never seen."""
        parts = list(ClassMoments.begin(k).parts)
        for place, part in zip(columns, self.parts, strict=True):
            parts[place] = part
        return replace(self, parts=tuple(parts))

    def _checked(self) -> ClassMoments:
        held = sum(part.n_bytes for part in self.parts)
        if held > LIMIT_BYTES:
            raise ValueError(
                f"the sums of {len(self.parts)} classes take {held / 2**30:.1f} GB, a matrix of "
                f"the features for each, and the limit is {LIMIT_BYTES / 2**30:g} GB: use fewer "
                "features."
            )
        return self

    def factors(self) -> list[Factor | None]:
        """The factor of every class; None where no row has come, or none is left."""
        return [
            part.summary(_KIND[0]) if part.recent or part.factor else None for part in self.parts
        ]

    def by_class(self, k: int) -> ClassMoments:
        """As blocks of rows are asked."""
        return self


def class_moments(blocks: Iterable[Any], k: int) -> ClassMoments:
    """The moments of k classes in some blocks (X, Y, weight)."""
    found = ClassMoments.begin(k)
    for X, Y, weight in blocks:
        found = found.add(Rows(X, Y, weight))
    return found
