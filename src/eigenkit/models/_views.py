"""Columns that belong together: the views of a sample, as patterns of names say them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from eigenkit.files import FileError
from eigenkit.files._common import listed
from eigenkit.registry import METHODS, Method
from eigenkit.shell import shown


def view_columns(path: str, names: Sequence[str], views: Sequence[str]) -> list[list[int]] | None:
    """The features of every view: each in one of them, and two views at least; None for no views.

    Examples
    --------
    >>> from eigenkit.models._views import view_columns
    >>> view_columns("a.csv", ["a_1", "b_1", "a_2"], ["a_*", "b_*"])
    [[0, 2], [1]]
    """
    if not views:
        return None
    found = [[j for j, name in enumerate(names) if fnmatchcase(name, view)] for view in views]
    for view, columns in zip(views, found, strict=True):
        if not columns:
            raise FileError(path, f"no feature is named {shown(view)} (--views).")
    count = np.bincount([j for columns in found for j in columns], minlength=len(names))
    for wrong, what, advice in (
        (count > 1, "several views", "give patterns that do not overlap"),
        (count == 0, "no view", "add a pattern, or leave them out with --ignore"),
    ):
        if wrong.any():
            which = listed([str(names[int(j)]) for j in np.flatnonzero(wrong)], 4)
            raise FileError(path, f"in {what} (--views) are the features {which}: {advice}.")
    if len(views) < 2:
        raise FileError(path, "one view (--views): give a pattern for each of two or more.")
    return found


def view_params(method: Method, columns: Sequence[Sequence[int]] | None) -> dict[str, Any]:
    """The parameters that tell a method its views; none if it does not use views."""
    if columns is None:
        return {}
    if method.views == "groups":
        groups = np.empty(sum(map(len, columns)), dtype=np.int64)
        for i, own in enumerate(columns):
            groups[list(own)] = i
        return {"groups": groups}
    if method.views == "kernels":
        from eigenkit.kernels import Kernel

        return {"kernels": [Kernel("rbf", gamma="scale", columns=list(own)) for own in columns]}
    return {}


def methods_with_views() -> list[str]:
    """The names of the methods that have a use for views."""
    return [method.name for method in METHODS.values() if method.views]
