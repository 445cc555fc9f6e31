"""What y may be, and the matrix Y that it becomes; classes are remembered by the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.estimators._validation import (
    as_labels,
    check_classes,
    check_indicator,
    check_numeric_Y,
    check_sparse_Y,
    indicator_matrix,
)
from eigenkit.linalg import Array


def encode_classes(model: Any, y: Any, n: int, classes: Any, reset: bool, instead: str) -> Array:
    """One class per sample as indicator columns of ``model.classes_``."""
    return np.asarray(class_columns(model, y, n, classes, reset, instead).toarray())


def class_columns(
    model: Any, y: Any, n: int, classes: Any, reset: bool, instead: str
) -> sparse.csr_array:
    """The same as a sparse matrix."""
    y = check_classes(y, n, instead=instead)
    if reset:
        model.classes_ = np.unique(y if classes is None else np.asarray(classes))
    return indicator_matrix(y, model.classes_)


def encode_labels(model: Any, y: Any, n: int, classes: Any, reset: bool) -> Any:
    """A 0/1 matrix as it is, sparse if it was; a vector of classes as indicator columns."""
    if y.ndim == 2:
        return check_indicator(y, n)
    return encode_classes(model, y, n, classes, reset, instead="give a 0/1 matrix")


def encode_responses(model: Any, y: Any, n: int, classes: Any, reset: bool) -> Any:
    """Numbers as they are, sparse if they were; strings as indicator columns of their classes."""
    if y.ndim == 1 and y.dtype.kind in "OUT" and all(isinstance(v, str) for v in y):
        return encode_classes(model, y, n, classes, reset, instead="encode them as columns")
    Y = check_sparse_Y(y, n) if sparse.issparse(y) else check_numeric_Y(y, n)
    if reset:
        model._one_response_ = y.ndim == 1
    return Y


def as_numbers(model: Any, y: Any) -> Any:
    """y as what ``predict`` gives: of strings the indicator columns of the model's classes."""
    if not hasattr(model, "classes_"):
        return y
    labels = as_labels(y)
    return encode_classes(model, labels, len(labels), None, False, instead="give one string each")


def check_two_classes(degree: Array) -> None:
    """Refuse y unless at least two of its classes have samples."""
    present = int(np.sum(degree > 0))
    if present < 2:
        raise ValueError(f"y holds {present} class, but at least two are needed to separate.")
