"""Fitting to blocks of rows: the first one says what the columns are, the passes do the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from eigenkit.data import Steady, Through
from eigenkit.estimators._validation import check_weight, check_X, has_no_rows
from eigenkit.moments import BlockedRows, Blocks, Rows


def blocked_rows(model: Any, blocks: Blocks, y: Any, sample_weight: Any) -> BlockedRows:
    """The rows of ``blocks`` as ``model`` reads them; it learns from the first what they are."""
    if not hasattr(model, "partial_fit"):
        refuse_blocks(model, blocks)
    if sample_weight is not None or (y is not None and np.size(y)):
        raise ValueError("X is blocks of rows: y and weights come with them, as (X, y, weight).")
    passes, classes = blocks.passes(), blocks.classes()
    X, y, weight = blocks.head()
    model._rows(X, y, weight, classes, reset=True, min_samples=1)
    reader = clone(model)
    for name, value in vars(model).items():
        setattr(reader, name, value)
    seen: list[Any] = []
    first, later, bare = (
        Steady(Through(passes, _Reading(reader, classes, *how)), seen)
        for how in ((True, True), (False, True), (False, model._y_chooses_rows))
    )
    return BlockedRows(first, later, bare, not model._in_passes, sparse.issparse(X))


def refuse_blocks(model: Any, X: Any) -> None:
    """What needs all rows says so."""
    if isinstance(X, Blocks):
        raise TypeError(f"{type(model).__name__} needs all samples at once, not blocks of rows.")


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
        if not self.labels:
            n = X.shape[0]
            rows = Rows(X, np.empty((n, 0)), check_weight(weight, n)).positive()
            return rows.X, rows.Y, rows.weight
        given = X, y, weight, self.classes
        rows = self.model._rows(*given, reset=False, min_samples=1, block=True)
        return rows.X, rows.Y, rows.weight


def _is_plain(X: Any) -> bool:
    """Whether X is what validation would make of it."""
    known = isinstance(X, np.ndarray) or (
        isinstance(X, sparse.csr_array) and X.has_canonical_format
    )
    return known and X.dtype in (np.float64, np.float32)
