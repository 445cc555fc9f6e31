"""Blocks of rows in the place of X.

The first block says what the columns are; a fit is passes over all of them. Methods of one row at a
time give blocks again, and a score is summed over the blocks, so that no block must be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from inspect import getattr_static, isfunction, signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_regressor

from eigenkit.data import Passes, Steady, Through
from eigenkit.estimators._encoding import as_numbers
from eigenkit.estimators._streams import like
from eigenkit.estimators._validation import Y_COMES_WITH_BLOCKS, check_weight, check_X, has_no_rows
from eigenkit.moments import BlockedRows, Blocks, Rows
from eigenkit.numerics.linalg import Array, ratio
from eigenkit.numerics.threads import merged
from eigenkit.numerics.tolerances import ROUNDING

# Methods that return one row for every row of X.
ROW_BY_ROW = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "distances"),
    *("transform_orthogonal", "correct", "inverse_transform", "score_samples", "predict_top"),
)


def take_blocks(cls: type, *names: str) -> None:
    """Methods of a class or its mixins also take blocks: ``score`` sums, the others give blocks."""
    for name in names:
        method: Any = getattr_static(cls, name, None)
        if isfunction(method) and not hasattr(method, "for_blocks"):
            setattr(cls, name, _taking_blocks(method))
        elif hasattr(method, "fn") and not hasattr(method.fn, "for_blocks"):  # by available_if
            method.fn = _taking_blocks(method.fn)


def _taking_blocks(method: Callable[..., Any]) -> Callable[..., Any]:
    name = method.__name__

    @wraps(method)
    def taking(self: Any, X: Any, *others: Any, **options: Any) -> Any:
        if not isinstance(X, Blocks):
            return method(self, X, *others, **options)
        if name == "score":
            if any(each is not None for each in (*others, *options.values())):
                raise ValueError(Y_COMES_WITH_BLOCKS)
            return self._score_of_blocks(X)
        if others or options:
            return method(self, X, *others, **options)
        return X.map(getattr(self, name))

    vars(taking)["for_blocks"] = True
    return taking


def blocked_rows(model: Any, blocks: Blocks, y: Any, sample_weight: Any) -> BlockedRows:
    """The rows of ``blocks`` as ``model`` reads them; it learns from the first what they are."""
    if hasattr(model, "_check_in_parts"):
        model._check_in_parts()
    if not hasattr(model, "partial_fit"):
        refuse_blocks(model, blocks)
    if sample_weight is not None or (y is not None and np.size(y)):
        raise ValueError(Y_COMES_WITH_BLOCKS)
    passes, classes = blocks.passes(), blocks.classes()
    X, y, weight = blocks.head()
    model._batch(model._check_X(X, reset=True, weight=weight), y, weight, classes, reset=True)
    reader = like(model, clone(model))
    seen: list[Any] = []
    hows = (True, True), (False, True), (False, model._y_chooses_rows)
    first, later, bare = (_Reading(reader, classes, *how) for how in hows)
    steady = [Steady(Through(passes, reading), seen) for reading in (first, later, bare)]
    named = _Named(passes, steady[0], first)
    return BlockedRows(named, steady[1], steady[2], not model._in_passes, sparse.issparse(X))


def refuse_blocks(model: Any, X: Any) -> None:
    """Refuse blocks for a model that needs all rows at once."""
    if isinstance(X, Blocks):
        raise TypeError(
            f"{type(model).__name__} needs all samples at once, not blocks of rows: give arrays, "
            "or use a method that takes blocks (the table of methods says which do)."
        )


@dataclass(frozen=True)
class _Reading:
    """A block (X, y, weight) as the estimator reads it; X is checked when it first passes.

    Without ``labels`` y is not encoded: that takes longer than a product with sparse rows.
    """

    model: Any
    classes: Any
    check: bool
    labels: bool

    def __call__(self, block: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        X, y, weight = block
        if has_no_rows(X, y, weight):
            return np.empty((0, 0)), None, None  # which the passes leave out
        if self.check or not _is_plain(X):
            X = check_X(self.model, X, reset=False, weight=weight)
        if self.labels:
            rows = self.model._batch(X, y, weight, self.classes, reset=False).positive()
        else:
            n = X.shape[0]
            rows = Rows(X, np.empty((n, 0)), check_weight(weight, n)).positive()
        return rows.X, rows.Y, rows.weight


def _is_plain(X: Any) -> bool:
    """Whether X is already of a type that validation would make it."""
    known = isinstance(X, np.ndarray) or (
        isinstance(X, sparse.csr_array) and X.has_canonical_format
    )
    return known and X.dtype in (np.float64, np.float32)


@dataclass(frozen=True)
class _Named(Passes):
    """The first pass; if a block cannot be read, a second pass finds out which one."""

    given: Passes
    passes: Passes
    reading: _Reading

    def run(self, function: Callable[..., Any], *shared: Any) -> Any:
        try:
            return self.passes.run(function, *shared)
        except (TypeError, ValueError) as error:
            fault = self.given.run(_fault, self.reading)
            if fault is None or fault.what != str(error):
                raise
            raise type(error)(f"block {fault.n_before} of X cannot be read: {error}") from error


@dataclass(frozen=True)
class _Fault:
    """What is wrong with a block, and how many come before it; ``what`` is None for no fault."""

    n_before: int
    what: str | None = None

    def merge(self, other: _Fault) -> _Fault:
        if self.what is not None:
            return self
        return _Fault(self.n_before + other.n_before, other.what)


def _fault(blocks: Iterable[Any], reading: _Reading) -> _Fault:
    n = 0
    for block in blocks:
        try:
            reading(block)
        except (TypeError, ValueError) as error:
            return _Fault(n, str(error))
        n += 1
    return _Fault(n)


# -- how good a model is on blocks ---------------------------------------------------------

NO_ROW = "X holds no row that counts: there is nothing to score."


@dataclass(frozen=True)
class Paired:
    """Pairs of columns of two matrices: means (2 x k), centred squares and products (3 x k)."""

    n_rows: int
    total: float
    mean: Array
    squares: Array

    @classmethod
    def of(cls, pair: tuple[Array, Array], weight: Array | None) -> Paired:
        A, B = pair
        w = np.ones(len(A)) if weight is None else np.asarray(weight, dtype=np.float64)
        total = float(w.sum())
        mean = np.array([w @ A, w @ B]) / total
        A, B = A - mean[0], B - mean[1]
        return cls(len(A), total, mean, np.array([w @ A**2, w @ B**2, w @ (A * B)]))

    def merge(self, other: Paired) -> Paired:
        """The sums over the rows of both."""
        total, step = self.total + other.total, other.mean - self.mean
        between = np.array([step[0] ** 2, step[1] ** 2, step[0] * step[1]])
        return Paired(
            self.n_rows + other.n_rows,
            total,
            self.mean + other.total / total * step,
            self.squares + other.squares + self.total * other.total / total * between,
        )

    def determination(self) -> float:
        """The mean coefficient of determination, where B holds the residuals of A."""
        if self.n_rows < 2:
            return float("nan")
        left = self.squares[1] + self.total * self.mean[1] ** 2
        varies = self.squares[0] > self.total * (ROUNDING * self.mean[0]) ** 2
        each = np.where(varies, 1.0, left == 0) - ratio(left, self.squares[0], varies)
        return float(np.mean(each))

    def correlation(self) -> float:
        """The mean correlation of the pairs; 0 for one that does not vary."""
        return float(np.mean(ratio(self.squares[2], np.sqrt(self.squares[0] * self.squares[1]))))


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
    truth, told = (
        np.asarray(A, dtype=np.float64).reshape(len(A), -1)
        for A in (as_numbers(model, y), model.predict(X))
    )
    return truth, truth - told


def _rows(blocks: Iterable[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """The blocks with at least one row of positive weight."""
    for X, y, weight in blocks:
        if not has_no_rows(X, y, weight):
            yield X, y, weight


def _paired(blocks: Iterable[Any], sides: Callable[..., Any], model: Any) -> Paired | None:
    return merged(Paired.of(sides(model, X, y), weight) for X, y, weight in _rows(blocks))


def _sums(blocks: Iterable[Any], model: Any, weighs: bool) -> tuple[float, float]:
    """The sum of scores, and that of weights."""
    total = score = 0.0
    for X, y, weight in _rows(blocks):
        given = {"sample_weight": weight} if weighs and weight is not None else {}
        own = float(np.sum(weight)) if given else float(np.shape(X)[0])
        total, score = total + own, score + own * model.score(X, y, **given)
    return score, total
