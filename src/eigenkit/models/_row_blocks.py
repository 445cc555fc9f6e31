"""Rows that outgrow memory: blocks of them, from arrays or files, asked for as often as needed."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files import Block, FileError, Reading, Source, open_file, target_of
from eigenkit.files._reading import join_labels, rows_per_block
from eigenkit.models._features import complete, drop_missing, learn_features
from eigenkit.moments import Blocks

# Arrays are cut into blocks of about this size.
BLOCK_BYTES = 2**24


class RowBlocks(Blocks):
    """Rows of X with their y, one block at a time.

    ``fit`` of every projection takes it in place of X (y travels with the rows) and gives the
    model of all rows in memory, to rounding: one pass for what is needed of them, with one block
    and a matrix of d x d numbers in memory for d features. For the same blocks the sums are made
    in the same order. Make one by :meth:`from_arrays` or :meth:`from_files`.

    Parameters
    ----------
    blocks : callable
        Gives an iterable of pairs (X, y) whenever it is called; y may be None.
    classes : array, optional
        All classes, where y holds one for every row; by default they are looked for.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit import LDA, RowBlocks
    >>> rng = np.random.default_rng(0)
    >>> parts = [(rng.normal(size=(50, 3)) + [[i % 2, 0, 0]], np.full(50, i % 2)) for i in range(6)]
    >>> blocks = RowBlocks.from_arrays(parts)
    >>> model = LDA().fit(blocks)
    >>> np.concatenate(list(blocks.apply(model.predict))).shape
    (300,)
    """

    def __init__(
        self, blocks: Callable[[], Iterable[tuple[Any, Any]]], classes: np.ndarray | None = None
    ) -> None:
        self._make, self._classes = blocks, classes

    def classes(self) -> np.ndarray | None:
        return super().classes() if self._classes is None else self._classes

    @classmethod
    def from_arrays(cls, parts: Sequence[Any], *, block_bytes: int = BLOCK_BYTES) -> RowBlocks:
        """From arrays, memory maps or sparse matrices, which are cut into blocks where they are
        large.

        Parameters
        ----------
        parts : sequence of (X, y) pairs, or of X alone
        block_bytes : int
            About the size of a block.

        Returns
        -------
        RowBlocks
        """
        pairs = [part if isinstance(part, tuple) else (part, None) for part in parts]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise ValueError("parts is empty or holds no pairs: give a list of (X, y), or of X.")
        for i, (X, y) in enumerate(pairs):
            n, n_y = X.shape[0], X.shape[0] if y is None else np.shape(y)[0]
            if n != n_y:
                raise ValueError(f"part {i} has {n} rows of X and {n_y} of y: give as many.")
        return cls(lambda: chain.from_iterable(_cut(X, y, block_bytes) for X, y in pairs))

    @classmethod
    def from_files(
        cls,
        files: str | Path | Sequence[str | Path],
        labels: str | Sequence[str] = (),
        *,
        task: str | None = None,
        scale: str = "none",
        missing: str = "error",
        **reading: Any,
    ) -> RowBlocks:
        """From files of the same columns: CSV, svmlight, NPZ, Parquet, ARFF.

        Parameters
        ----------
        files : str or list of str
            Names, or patterns as ``"parts/*.csv"``, which are taken in the order of their names.
        labels : str or list of str
            The columns of the labels: names, patterns or positions.
        task : {"classes", "labels", "numbers"}, optional
            What the labels are; found out by default.
        scale, missing
            As for :func:`eigenkit.models.fit_model`.
        **reading
            Further fields of :class:`eigenkit.files.Reading`.

        Returns
        -------
        RowBlocks
        """
        names = (labels,) if isinstance(labels, str) else tuple(labels)
        options = Reading(labels=names, stream=True, **reading)
        sources = [open_file(path, options) for path in _paths(files)]
        _check_columns(sources)

        def raw() -> Iterator[Block]:
            return (block for _, block in _blocks_of(sources))

        first = sources[0]
        seen = join_labels([block.labels for block in complete(raw, missing)])
        target = None
        if seen is not None:
            target = target_of(first.path, seen, first.label_names, task, options.label_separator)
        width = max(block.X.shape[1] for block in raw())

        def wide() -> Iterator[Block]:
            return (replace(block, X=_widened(block.X, width)) for block in raw())

        features = learn_features(first, wide, scale=scale, missing=missing)

        def blocks() -> Iterator[tuple[Any, Any]]:
            for path, block in _blocks_of(sources):
                block = drop_missing(block) if missing == "drop" else block
                if len(block):
                    wider = replace(block, X=_widened(block.X, width))
                    y = None if target is None else target.encode(path, block.labels)
                    yield features.matrix(path, wider), y

        by_class = target is not None and target.kind == "classes"
        return cls(blocks, np.array(target.names) if target and by_class else None)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._make())

    def apply(self, function: Callable[[Any], Any]) -> Iterator[Any]:
        """``function`` of the X of every block: a model's ``transform`` or ``predict``."""
        for X, _ in self:
            yield function(X)


def _cut(X: Any, y: Any, block_bytes: int) -> Iterator[tuple[Any, Any]]:
    n = X.shape[0]
    size = X.nnz * 12 if hasattr(X, "nnz") else n * X.shape[1] * X.dtype.itemsize
    step = max(1, int(n * block_bytes / max(size, 1)))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        yield X[rows], None if y is None else y[rows]


def _blocks_of(sources: Sequence[Source]) -> Iterator[tuple[str, Block]]:
    for source in sources:
        for block in source.blocks(rows_per_block(source)):
            yield source.path, block


def _widened(X: Any, width: int) -> Any:
    """Sparse files are as wide as their highest feature: all as wide as the widest."""
    if not sparse.issparse(X) or X.shape[1] == width:
        return X
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def _paths(files: str | Path | Sequence[str | Path]) -> list[str]:
    given = [files] if isinstance(files, str | Path) else list(files)
    found: list[str] = []
    for item in map(str, given):
        hits = [item] if Path(item).exists() else sorted(glob.glob(item))
        if not hits:
            raise FileError(item, "there is no such file, and no file fits the pattern.")
        found += hits
    return found


def _check_columns(sources: Sequence[Source]) -> None:
    first = sources[0]
    for source in sources[1:]:
        if source.feature_names != first.feature_names or source.label_names != first.label_names:
            raise FileError(
                source.path, f"its columns are not those of {first.path}: give files of one kind."
            )
