"""Blocks of rows in the place of X: the first says what the columns are, the passes do the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from inspect import getattr_static, isfunction
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from eigenkit.data import Passes, Steady, Through
from eigenkit.estimators._streams import like
from eigenkit.estimators._validation import Y_COMES_WITH_BLOCKS, check_weight, check_X, has_no_rows
from eigenkit.moments import BlockedRows, Blocks, Rows

# Methods whose rows follow from those of X, one by one.
ROW_BY_ROW = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "distances"),
    *("transform_orthogonal", "correct", "inverse_transform", "score_samples", "predict_top"),
)


Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


def take_blocks(cls: type, names: Iterable[str], how: Wrapper | None = None) -> None:
    """Methods of a class, or of its mixins, also take blocks: by default they give blocks."""
    for name in names:
        method: Any = getattr_static(cls, name, None)
        if isfunction(method) and not hasattr(method, "for_blocks"):
            setattr(cls, name, _marked(method, how or _for_blocks))
        elif hasattr(method, "fn") and not hasattr(method.fn, "for_blocks"):  # hidden at times
            method.fn = _marked(method.fn, how or _for_blocks)


def _marked(method: Callable[..., Any], how: Wrapper) -> Callable[..., Any]:
    made = how(method)
    vars(made)["for_blocks"] = True
    return made


def _for_blocks(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def taking(self: Any, X: Any, *others: Any, **options: Any) -> Any:
        if not isinstance(X, Blocks) or others or options:
            return method(self, X, *others, **options)
        return X.map(getattr(self, method.__name__))

    return taking


def blocked_rows(model: Any, blocks: Blocks, y: Any, sample_weight: Any) -> BlockedRows:
    """The rows of ``blocks`` as ``model`` reads them; it learns from the first what they are."""
    if not hasattr(model, "partial_fit"):
        refuse_blocks(model, blocks)
    if sample_weight is not None or (y is not None and np.size(y)):
        raise ValueError(Y_COMES_WITH_BLOCKS)
    passes, classes = blocks.passes(), blocks.classes()
    X, y, weight = blocks.head()
    model._rows(X, y, weight, classes, reset=True, min_samples=1)
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
            X = check_X(self.model, X, reset=False)
        if self.labels:
            given = X, y, weight, self.classes
            rows = self.model._rows(*given, reset=False, min_samples=1, block=True).positive()
        else:
            n = X.shape[0]
            rows = Rows(X, np.empty((n, 0)), check_weight(weight, n)).positive()
        return rows.X, rows.Y, rows.weight


def _is_plain(X: Any) -> bool:
    """Whether X is what validation would make of it."""
    known = isinstance(X, np.ndarray) or (
        isinstance(X, sparse.csr_array) and X.has_canonical_format
    )
    return known and X.dtype in (np.float64, np.float32)


@dataclass(frozen=True)
class _Named(Passes):
    """The first pass: where a block cannot be read, one more finds out which it is."""

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
