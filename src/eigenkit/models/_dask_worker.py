"""What the workers of a cluster do: make parts, pass over them, and add results.

Nothing in here knows the cluster. A part is a list of blocks (X, y, weight).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files import Reading, Target, open_file
from eigenkit.models._blocks import drawn, in_fold, parsed, sliceable, triple
from eigenkit.numerics.threads import blas_threads, plus

# Products count with 32 bit indices.
MOST_STORED = 2**31 - 1
# How often a file is tried if a disk or network fails, and the seconds in between.
TRIES, PAUSE = 3, 1.0


def itself(value: Any) -> Any:
    """The value that a task was sent with, as its result."""
    return value


def on_parts(
    function: Callable[..., Any],
    shared: tuple[Any, ...],
    parts: list[list[Any]],
    first: bool,
    alone: bool,
) -> Any:
    """The results of some parts as a list: added up if they are the ``first`` parts of a group,
    and without the list if they are ``alone`` in it.
    """
    with blas_threads(0):  # as in threads: the same bits
        shared = aligned(shared)
        found = (function(iter(aligned(part)), *shared) for part in parts)
        results = [reduce(plus, found)] if first else list(found)
    return results[0] if alone else results


def aligned(value: Any) -> Any:
    """Arrays that begin at a multiple of their item size, as they did before they travelled.

    Products of others are computed by other routines, whose last digits differ.
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if sparse.issparse(value) and value.format == "csr":
        given = value.data, value.indices, value.indptr
        if all(part.flags.aligned for part in given):
            return value
        return sparse.csr_array(aligned(given), shape=value.shape)
    if isinstance(value, list | tuple):
        return type(value)(map(aligned, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: aligned(getattr(value, f.name)) for f in fields(value)})
    return value


def sum_of(values: Sequence[Any], order: list[int] | None) -> Any:
    """The sum of values, or of those in lists, in their order.

    As ``plus`` adds them, but without changing one: another task may need them again.
    """
    if order is not None:
        listed = list(itertools.chain.from_iterable(values))
        values = [listed[i] for i in order]
    found = [value for value in values if value is not None]
    if found and isinstance(found[0], tuple):
        return tuple(sum_of(each, None) for each in zip(*found, strict=True))
    if len(found) > 1:
        first, second, *found = found
        found.insert(0, first.merge(second) if hasattr(first, "merge") else first + second)
    return reduce(plus, found, None)


def first_rows(blocks: list[Any]) -> tuple[Any, Any, Any] | None:
    """The first rows of a part; None if it is empty."""
    for X, *others in blocks:
        if X.shape[0]:
            y, weight = (None if each is None else each[:2] for each in others)
            return X[:2], y, weight
    return None


def mapped(blocks: list[Any], function: Callable[[Any], Any]) -> list[Any]:
    return [(function(X), *others) for X, *others in blocks if X.shape[0]]


def of_fold(blocks: list[Any], p: int, n: int, seed: int, fold: int, held_out: bool) -> list[Any]:
    return list(in_fold(aligned(blocks), p, drawn(n, seed), fold, held_out))


# -- making parts -----------------------------------------------------------------------


@dataclass(frozen=True)
class Looked:
    """What must agree between files, the size, and what was skipped."""

    path: str
    feature_names: list[str] | None
    label_names: list[str]
    found: dict[str, Any]
    target: Target | None
    words: bool  # whether the labels are words
    width: int
    n_rows: int
    skipped: Any

    @property
    def names(self) -> tuple[str, ...]:
        """Of the labels."""
        return () if self.target is None else self.target.names


def looked(path: str, options: Reading) -> Looked:
    blocks, target, source = _parsed(path, options)
    return Looked(
        path,
        source.feature_names,
        source.label_names,
        source.found,
        target,
        not source.numeric_labels,
        max(block.shape[1] for block in blocks),
        sum(block.shape[0] for block in blocks),
        source.skipped,
    )


def _parsed(path: str, options: Reading, tries: int = TRIES) -> Any:
    try:
        source = open_file(path, options)
        return *parsed(source, "none", "error", None, part=True), source
    except OSError:  # other errors would occur again
        if tries == 1:
            raise
    time.sleep(PAUSE)
    return _parsed(path, options, tries - 1)


def read_part(
    path: str, options: Reading, known: list[str], values: np.ndarray | None, width: int
) -> list[Any]:
    blocks, target, _ = _parsed(path, options)
    part = []
    for block in blocks:
        if values is not None:
            block = replace(block, names=values[[known.index(name) for name in target.names]])
        X, y, weight = block.read(width if len(block.X) == 3 else block.shape[1])
        if target is not None and target.kind == "labels":
            given, y = y, np.zeros((len(y), len(known)))
            y[:, [known.index(name) for name in target.names]] = given
        part.append((X, y, weight))
    return checked_part(part)


def checked_part(part: Any) -> list[Any]:
    """A part as a list of blocks (X, y, weight), with sizes that products can count."""
    blocks = part if isinstance(part, list) else [part]
    made = []
    for block in blocks:
        X, y, weight = sliceable(*triple(block if isinstance(block, tuple) else (block,)))
        if sparse.issparse(X):
            X = sparse.csr_array(X)
            if X.nnz > MOST_STORED:
                raise ValueError(
                    f"a part holds {X.nnz} numbers, more than {MOST_STORED}: make smaller parts."
                )
        made.append((X, y, weight))
    return made
