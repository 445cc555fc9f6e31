"""Folds of rows that come in blocks: the sums of every fold, and so of all folds but one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from eigenkit.data import Centered
from eigenkit.estimators._blocks import blocked_rows
from eigenkit.estimators._folds import block_folds
from eigenkit.linalg import Array
from eigenkit.moments import RESPONSES, BlockedRows, Factor, Rows
from eigenkit.solvers.component_cv import Linear, linear_model, staged_squares


@dataclass(frozen=True)
class FoldSums:
    """The rows of every fold, and their sums; a sample of all of them."""

    rows: list[BlockedRows]
    sums: list[Factor]
    whole: ClassVar[Rows | None] = None

    @classmethod
    def of(cls, reader: Any, blocks: Any, cv: Any, *given: Any) -> FoldSums:
        """Of blocks as ``reader`` reads them; each row is in one fold, and is summed up once."""
        rows = [blocked_rows(reader, test, *given) for _, test in block_folds(blocks, cv)]
        try:
            return cls(rows, [each.summary(RESPONSES) for each in rows])
        except ValueError as error:
            raise ValueError(f"one of the {len(rows)} folds cannot be used: {error}") from error

    def sides(self) -> tuple[Centered, Centered]:
        """X and Y as centred data of the same products."""
        return reduce(Factor.merge, self.sums).sides()

    @property
    def fewest(self) -> int:
        """The rows that the fits of a fold have, at least."""
        sizes = [each.n_rows for each in self.sums]
        return sum(sizes) - max(sizes)

    def errors(self, scale: tuple[bool, bool], l: int, deflation: str, unit: float) -> Array:
        """As :func:`~eigenkit.solvers.component_cv.fold_errors`, in a unit of y."""
        errors = np.empty((len(self.rows), l + 1))
        for i, rows in enumerate(self.rows):
            others = reduce(Factor.merge, [*self.sums[:i], *self.sums[i + 1 :]])
            model = linear_model(*others.sides(), scale, l, deflation)
            squares, size = rows.passes.run(_squares, model, l, unit)
            errors[i] = squares / size
        return errors


def _squares(blocks: Iterable[Any], model: Linear, l: int, unit: float) -> tuple[Array, int]:
    """Squared errors of all rows, which count alike, and the number of entries of Y."""
    squares, size = np.zeros(l + 1), 0
    for X, Y, _ in blocks:
        squares += staged_squares(model, X, Y, l, unit)
        size += Y.size
    return squares, size
