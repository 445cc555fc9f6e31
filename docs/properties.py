"""Who can do what, found out by trying: ``python docs/properties.py`` prints the table.

Every cell is an experiment on a few rows: the estimator is fitted on sparse data, on data with
gaps, on blocks, on every kind of y, and what it refuses it cannot do. Nothing is declared here, so
nothing can be out of date; ``tests/test_docs_properties.py`` compares the findings with what the
registry and scikit-learn's tags promise.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

import eigenkit
from eigenkit.analysis import permutation_test
from eigenkit.estimators.registry import METHODS

YES, NO = "✓", "·"
WITH_SETTING = f"({YES})"
rng = np.random.default_rng(0)
X = np.abs(rng.normal(size=(40, 6)))
CLASSES = np.array(["a", "b", "c"])[np.arange(40) % 3]  # not numbers: those would be regressed
X[:, 0] += np.arange(40) % 3
LABELS = (rng.random((40, 4)) < 0.4).astype(float)
LABELS[:8] = np.tile(np.eye(4), (2, 1))  # no label without samples
NUMBERS = X[:, :2] + rng.normal(size=(40, 2))
KINDS = {"classes": CLASSES, "labels": LABELS, "numbers": NUMBERS}
# What an estimator that cannot do a thing says when it is asked to.
REFUSALS = (ValueError, TypeError, AttributeError)
# Settings under which an estimator can do what it cannot do by default.
GAPS = ({"algorithm": "nipals"}, {"solver": "nipals"})
PROBABILITIES = {"probability": True}


def estimators() -> list[type]:
    """Every public estimator that is a method, not a search over one or a wrapper of one."""
    found = [getattr(eigenkit, name) for name in eigenkit.__all__]
    classes = [c for c in found if inspect.isclass(c) and issubclass(c, BaseEstimator)]
    return [c for c in classes if not _wraps(c) and "fit" in dir(c)]


def _wraps(cls: type) -> bool:
    given = inspect.signature(cls).parameters.get("estimator")
    return given is not None and given.default is inspect.Parameter.empty


def works(trial: Callable[[], Any]) -> bool:
    """Whether it runs; what is refused in a sentence does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial()
    except REFUSALS:
        return False
    return True


def supervised(cls: type) -> bool:
    """Whether it must have a y."""
    return bool(get_tags(cls()).target_tags.required)


@functools.cache
def kinds(cls: type) -> tuple[str, ...]:
    """The kinds of y that it learns from; none if it needs no y."""
    if not supervised(cls):
        return ()
    return tuple(
        name for name, y in KINDS.items() if works(lambda y=y: cls().fit(X, _shaped(cls, y)))
    )


def _shaped(cls: type, y: Any) -> Any:
    """Numbers come as one column where an estimator is for one response."""
    return y[:, 0] if y is NUMBERS and get_tags(cls()).target_tags.single_output else y


def some_y(cls: type) -> Any:
    """A y that it takes."""
    return _shaped(cls, KINDS[kinds(cls)[0]]) if kinds(cls) else None


def fits(cls: type, data: Any, **params: Any) -> bool:
    return works(lambda: cls(**params).fit(data, some_y(cls)))


def knows(cls: type, setting: dict[str, Any]) -> bool:
    """Whether the constructor has these parameters."""
    return set(setting) <= set(inspect.signature(cls).parameters)


def written(setting: dict[str, Any]) -> str:
    """As it is typed."""
    return ", ".join(f"`{name}={value!r}`" for name, value in setting.items())


def takes_sparse(cls: type) -> bool:
    return fits(cls, sparse.csr_array(X))


def takes_gaps(cls: type) -> str:
    """Missing values in X, perhaps under a setting."""
    holed = X.copy()
    holed[3, 2] = np.nan
    if fits(cls, holed):
        return YES
    able = [written(way) for way in GAPS if knows(cls, way) and fits(cls, holed, **way)]
    return able[0] if able else NO


def streams(cls: type) -> bool:
    """Two batches one after the other, and a result."""
    y = some_y(cls)

    def feed() -> None:
        model = cls()
        known = {"classes": ["a", "b", "c"]} if y is CLASSES else {}
        for part in (slice(0, 20), slice(20, 40)):
            model.partial_fit(*(A[part] for A in (X, y) if A is not None), **known)
        model.transform(X) if hasattr(model, "transform") else model.predict(X)

    return hasattr(cls, "partial_fit") and works(feed)


def takes_blocks(cls: type) -> bool:
    y, halves = some_y(cls), (slice(0, 20), slice(20, 40))
    parts = [X[rows] if y is None else (X[rows], y[rows]) for rows in halves]
    return works(lambda: cls().fit(eigenkit.RowBlocks.from_arrays(parts)))


def kernel_of(cls: type) -> str:
    """Whether it takes a kernel, or the name of its version that does."""
    if {"kernel", "kernels"} & set(inspect.signature(cls).parameters):
        return YES
    version = f"Kernel{cls.__name__}"
    return f"{{class}}`{YES} <eigenkit.{version}>`" if version in eigenkit.__all__ else NO


def takes_weights(cls: type) -> bool:
    return works(lambda: cls().fit(X, some_y(cls), sample_weight=np.arange(1.0, 41.0)))


def can_be_tested(cls: type) -> bool:
    """Whether the permutation test of components takes it."""
    return works(lambda: permutation_test(cls(), X, some_y(cls), n_permutations=9))


def predicts(cls: type) -> bool:
    return works(lambda: cls().fit(X, some_y(cls)).predict(X))


def probabilities(cls: type) -> str:
    """Probabilities of classes, perhaps under a setting."""

    def tell(**params: Any) -> bool:
        return works(lambda: cls(**params).fit(X, some_y(cls)).predict_proba(X))

    if tell():
        return YES
    return written(PROBABILITIES) if knows(cls, PROBABILITIES) and tell(**PROBABILITIES) else NO


def commands(cls: type) -> str:
    """Its names on the command line."""
    names = [m.name for m in METHODS.values() if m.estimator_class() is cls]
    return ", ".join(f"`{name}`" for name in names) or NO


def mark(found: bool) -> str:
    return YES if found else NO


COLUMNS: dict[str, Callable[[type], str]] = {
    "estimator": lambda c: f"{{class}}`~eigenkit.{c.__name__}`",
    **{kind: (lambda c, kind=kind: mark(kind in kinds(c))) for kind in KINDS},
    "no y": lambda c: mark(not supervised(c)),
    "sparse X": lambda c: mark(takes_sparse(c)),
    "missing values": takes_gaps,
    "weights": lambda c: mark(takes_weights(c)),
    "streams": lambda c: mark(streams(c)),
    "blocks": lambda c: mark(takes_blocks(c)),
    "kernel": kernel_of,
    "predicts": lambda c: mark(predicts(c)),
    "probabilities": probabilities,
    "tests": lambda c: mark(can_be_tested(c)),
    "command line": commands,
}


def table() -> str:
    """Estimators in rows, properties in columns, as Markdown; settings that are needed below."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|---|{':-:|' * (len(COLUMNS) - 2)}---|"]
    needed: dict[str, list[str]] = {}
    for cls in sorted(estimators(), key=lambda c: c.__name__.lower()):
        cells = {name: cell(cls) for name, cell in COLUMNS.items()}
        for name in ("missing values", "probabilities"):
            if cells[name] not in (YES, NO):
                setting = f"`{cls.__name__}({cells[name].strip('`')})`"
                needed.setdefault(name, []).append(setting)
                cells[name] = WITH_SETTING
        lines.append(f"| {' | '.join(cells.values())} |")
    settings = "; ".join(f"for {name}, {', '.join(ways)}" for name, ways in needed.items())
    lines += ["", f"{WITH_SETTING} means: with this setting. It is {settings}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table())
