"""The fitted state of an estimator: leaving an earlier one behind, and keeping it on errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def is_fitted_name(name: str) -> bool:
    """Whether an attribute of this name is left by fitting."""
    return name.endswith("_") and not name.endswith("__")


def forget(estimator: Any) -> None:
    """Leave nothing of an earlier fit."""
    for name in [name for name in vars(estimator) if is_fitted_name(name)]:
        delattr(estimator, name)


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Whatever goes wrong inside, Ctrl-C included, the estimator is left as it was."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
