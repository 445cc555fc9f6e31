"""How good a model is on rows that come in blocks: sums over them, so that none must be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from eigenkit.estimators._encoding import as_numbers, check_y_given
from eigenkit.estimators._validation import Y_COMES_WITH_BLOCKS, has_no_rows
from eigenkit.moments import Blocks, dense
from eigenkit.numerics.linalg import Array, ratio
from eigenkit.numerics.tolerances import ROUNDING

NO_ROW = "X holds no row that counts: there is nothing to score."


@dataclass(frozen=True)
class Paired:
    """Pairs of columns of two matrices: means (2 x k), centred squares and products (3 x k)."""

    n_rows: int
    total: float
    mean: Array
    squares: Array

    @classmethod
    def of(cls, A: Array, B: Array, weight: Array | None) -> Paired:
        w = np.ones(len(A)) if weight is None else np.asarray(weight, dtype=np.float64)
        total = float(w.sum())
        mean = np.array([w @ A, w @ B]) / total
        A, B = A - mean[0], B - mean[1]
        return cls(len(A), total, mean, np.array([w @ A**2, w @ B**2, w @ (A * B)]))

    def merge(self, other: Paired) -> Paired:
        """Of the rows of both."""
        total, step = self.total + other.total, other.mean - self.mean
        between = np.array([step[0] ** 2, step[1] ** 2, step[0] * step[1]])
        return Paired(
            self.n_rows + other.n_rows,
            total,
            self.mean + other.total / total * step,
            self.squares + other.squares + self.total * other.total / total * between,
        )

    def determination(self) -> float:
        """The mean coefficient of determination, where B is what is left of A by predictions."""
        if self.n_rows < 2:
            return float("nan")
        left = self.squares[1] + self.total * self.mean[1] ** 2
        varies = self.squares[0] > self.total * (ROUNDING * self.mean[0]) ** 2
        each = np.where(varies, 1.0, left == 0) - ratio(left, self.squares[0], varies)
        return float(np.mean(each))

    def correlation(self) -> float:
        """The mean correlation of the pairs; 0 for one that does not vary."""
        return float(np.mean(ratio(self.squares[2], np.sqrt(self.squares[0] * self.squares[1]))))


def for_score(method: Callable[..., Any]) -> Callable[..., Any]:
    """``score`` that also takes blocks, with which y and weights come."""

    @wraps(method)
    def scoring(self: Any, X: Any, *others: Any, **options: Any) -> Any:
        if not isinstance(X, Blocks):
            return method(self, X, *others, **options)
        if any(each is not None for each in (*others, *options.values())):
            raise ValueError(Y_COMES_WITH_BLOCKS)
        return self._score_of_blocks(X)

    return scoring


def score_of_blocks(model: Any, blocks: Blocks) -> float:
    """A model's own score: of a regression by sums of squares, of others the mean over the rows."""
    if is_regressor(model):
        return paired(blocks, residuals, model).determination()
    weighs = "sample_weight" in signature(model.score).parameters
    score, total = blocks.passes().run(_sums, model, weighs) or (0.0, 0.0)
    if not total:
        raise ValueError(NO_ROW)
    return float(score / total)


def paired(blocks: Blocks, sides: Callable[..., tuple[Array, Array]], model: Any) -> Paired:
    """The sums of ``sides(model, X, y)``, two matrices, over all rows."""
    found: Paired | None = blocks.passes().run(_paired, sides, model)
    if found is None:
        raise ValueError(NO_ROW)
    return found


def residuals(model: Any, X: Any, y: Any) -> tuple[Array, Array]:
    """y as numbers, and what predictions leave of it."""
    check_y_given(model, y)
    truth, told = (
        np.asarray(A, dtype=np.float64).reshape(len(A), -1)
        for A in (dense(as_numbers(model, y)), model.predict(X))
    )
    return truth, truth - told


def _rows(blocks: Iterable[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Those blocks of which a row counts."""
    for X, y, weight in blocks:
        if not has_no_rows(X, y, weight):
            yield X, y, weight


def _paired(blocks: Iterable[Any], sides: Callable[..., Any], model: Any) -> Paired | None:
    found = None
    for X, y, weight in _rows(blocks):
        A, B = sides(model, X, y)
        one = Paired.of(A, B, weight)
        found = one if found is None else found.merge(one)
    return found


def _sums(blocks: Iterable[Any], model: Any, weighs: bool) -> tuple[float, float]:
    """The sum of scores, and that of weights."""
    total = score = 0.0
    for X, y, weight in _rows(blocks):
        given = {"sample_weight": weight} if weighs and weight is not None else {}
        own = float(np.sum(weight)) if given else float(np.shape(X)[0])
        total, score = total + own, score + own * model.score(X, y, **given)
    return score, total
