"""Folds of rows that come in blocks: predictions for all rows of a fold, and its sums."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce, wraps
from types import MethodType
from typing import Any, ClassVar

import numpy as np

from eigenkit.data import Centered, as_dense
from eigenkit.estimators._blocks import blocked_rows
from eigenkit.moments import RESPONSES, BlockedRows, Blocks, Factor, Rows
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_count
from eigenkit.solvers.component_cv import Linear, linear_model, staged_squares


def block_folds(blocks: Any, cv: Any) -> Iterator[tuple[Any, Any]]:
    """Blocks to fit on and to score on, of as many folds as ``cv`` says."""
    found: Iterator[tuple[Any, Any]] = blocks.folds(5 if cv is None else check_count("cv", cv))
    return found


def refuse_groups(groups: Any) -> None:
    """Refuse groups: folds of blocks are drawn within each block, and would divide them."""
    if groups is not None:
        raise ValueError("groups are for arrays: folds of blocks do not keep groups together.")


def answering(model: Any, X: Any) -> Any:
    """The model; for blocks a copy that predicts for all of their rows at once, as scorers need."""
    if not isinstance(X, Blocks):
        return model
    found = copy.copy(model)
    for name in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, name):
            setattr(found, name, _over_blocks(getattr(model, name)))
    found.score = MethodType(model.score.__wrapped__, found)  # as of rows in memory
    return found


def gathered(function: Any, X: Any, y: Any, weight: Any = None) -> tuple[Any, Any, Any]:
    """``function(X)``, which has few columns, with y and weights; blocks hold their own."""
    return _together(X, function) if isinstance(X, Blocks) else (function(X), y, weight)


def labels_in(blocks: Any) -> Array:
    """y of all rows of positive weight."""
    return _together(blocks, _nothing)[1]


def _nothing(X: Any) -> Array:
    """The same rows without columns."""
    return np.empty((X.shape[0], 0))


def _over_blocks(method: Any) -> Any:
    @wraps(method)  # scikit-learn knows methods by their names
    def answer(blocks: Any) -> Array:
        return _together(blocks, method)[0]

    return answer


def _together(blocks: Any, function: Any) -> tuple[Array, Array, Array | None]:
    """``function(X)``, y and the weights of all rows of positive weight, in memory."""
    found: list[list[Array]] = []
    for T, y, weight in blocks.map(function).triples():
        given = [T, y] if weight is None else [T, y, weight]
        there = slice(None) if weight is None else np.asarray(weight) > 0
        found.append([as_dense(each)[there] for each in given])
    if not found:
        raise ValueError("X holds so few rows that a fold has none: give fewer folds (cv).")
    T, y, *weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return T, y, weights[0] if weights else None


@dataclass(frozen=True)
class FoldSums:
    """The rows of every fold, and their sums; together they are the whole sample."""

    rows: list[BlockedRows]
    sums: list[Factor]
    whole: ClassVar[Rows | None] = None

    @classmethod
    def of(cls, reader: Any, blocks: Any, cv: Any, *given: Any) -> FoldSums:
        """The folds of blocks as ``reader`` reads them; each row is summed up once."""
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
        """The smallest number of rows that a fold is fitted on."""
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
