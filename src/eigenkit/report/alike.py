"""Curves that coincide in a figure, and orders of labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from eigenkit.evaluation.record.schema import Method, Run
from eigenkit.report.cells import listed, visible

# Curves closer than this, relative to their largest value, cannot be told apart by eye.
_CLOSE = 1e-3

Curve = Sequence[float | None]


def coinciding(
    methods: list[Method],
    curve: Callable[[Method], Curve | None],
    what: str = "The curves",
) -> str:
    """A sentence about methods whose curves coincide; empty if all can be seen."""
    groups: list[tuple[np.ndarray, list[Method]]] = []
    for method in methods:
        points = curve(method)
        if points is None or not len(points):
            continue
        values = np.array([np.nan if v is None else v for v in points], dtype=float)
        for known, members in groups:
            if _close(known, values):
                members.append(method)
                break
        else:
            groups.append((values, [method]))
    found = [listed([visible(m.name) for m in members]) for _, members in groups if members[1:]]
    return " ".join(f"{what} of {names} coincide." for names in found)


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape:
        return False
    unit = float(np.nanmax(np.abs(a), initial=0.0)) or 1.0
    return bool(np.allclose(a, b, rtol=0, atol=_CLOSE * unit, equal_nan=True))


def natural(names: Sequence[str]) -> list[int]:
    """Positions in natural order: 2 before 10.

    >>> natural(["x10", "x2", "a"])
    [2, 1, 0]
    """

    def key(i: int) -> list[tuple[int, int, str]]:
        parts = re.split(r"([0-9]+)", names[i].casefold())
        return [(0, int(p), "") if p.isdecimal() and p.isascii() else (1, 0, p) for p in parts if p]

    return sorted(range(len(names)), key=key)


def clustered(run: Run) -> list[int]:
    """Positions in ``run.data.shown`` such that labels that occur together stand together."""
    k = len(run.data.co_occurrence)
    C = np.array(run.data.co_occurrence, dtype=float).reshape(k, k)
    own = np.sqrt(np.maximum(np.diag(C), 1.0))
    return _leaves(1.0 - C / own / own[:, None])


def clustered_rows(method: Method) -> list[int]:
    """The same for the labels that are correlated with components, by their correlations."""
    if method.model is None or not method.model.label_correlations:
        return []
    rows = np.nan_to_num(np.array(method.model.label_correlations, dtype=float).T)
    return _leaves(np.linalg.norm(rows[:, None] - rows[None], axis=2))


def _leaves(distances: np.ndarray) -> list[int]:
    if len(distances) < 3:
        return list(range(len(distances)))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    D = np.maximum(distances, 0.0)
    np.fill_diagonal(D, 0.0)
    tree = linkage(squareform(D, checks=False), "average", optimal_ordering=True)
    return [int(i) for i in leaves_list(tree)]
