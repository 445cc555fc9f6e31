"""Rows that outgrow memory: blocks of them, from arrays or files, asked for as often as needed."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.data import LocalPasses, Passes
from eigenkit.files import FileError, Reading, Source, open_file
from eigenkit.models._parsed import parsed
from eigenkit.models._scratch import Stored
from eigenkit.moments import Blocks

# Arrays are cut into blocks of about this size.
BLOCK_BYTES = 2**24
# Blocks are put together in at least so many parts, of at most this size.
PARTS = 32
PART_BYTES = 2**29


class RowBlocks(Blocks):
    """Rows of X with their y, one block at a time.

    ``fit`` of every projection takes it in place of X (y travels with the rows) and gives the
    model of all rows in memory, to rounding: one pass for what is needed of them, with one block
    and a matrix of d x d numbers in memory for d features. For the same blocks the sums are made
    in the same order. Make one by :meth:`from_arrays` or :meth:`from_files`.

    Parameters
    ----------
    blocks : callable
        Gives an iterable of (X, y) or (X, y, weight) whenever it is called; y may be None.
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

    scratch_: tuple[str, int]

    def __init__(
        self, blocks: Callable[[], Iterable[tuple[Any, ...]]], classes: np.ndarray | None = None
    ) -> None:
        self._parts: Callable[[], Iterable[Iterable[Any]]]
        self._parts = lambda: ([_triple(block)] for block in blocks())
        self._classes = classes

    def passes(self) -> Passes:
        return LocalPasses(self._parts)

    def head(self) -> tuple[Any, Any, Any]:
        for block in chain.from_iterable(self._parts()):
            return _triple(block)
        raise ValueError("X holds no block of rows: there is nothing to learn from.")

    def classes(self) -> np.ndarray | None:
        return super().classes() if self._classes is None else self._classes

    @classmethod
    def from_arrays(cls, parts: Sequence[Any], *, block_bytes: int = BLOCK_BYTES) -> RowBlocks:
        """From arrays, memory maps or sparse matrices, which are cut into blocks where they are
        large.

        Parameters
        ----------
        parts : sequence of (X, y) or (X, y, weight), or of X alone
        block_bytes : int
            About the size of a block.

        Returns
        -------
        RowBlocks
        """
        given = [_triple(part if isinstance(part, tuple) else (part,)) for part in parts]
        if not given:
            raise ValueError("parts is empty: give a list of (X, y), or of X.")
        for i, (X, *others) in enumerate(given):
            for name, other in zip(("y", "weights"), others, strict=True):
                n, n_other = X.shape[0], X.shape[0] if other is None else len(other)
                if n != n_other:
                    raise ValueError(
                        f"part {i} has {n} rows of X and {n_other} of {name}: give as many."
                    )
        blocks = cls(lambda: ())
        cut = [piece for part in given for piece in _cut(*part, block_bytes)]
        groups = grouped(cut, [size for size, _ in cut])
        blocks._parts = lambda: ((make() for _, make in group) for group in groups)
        return blocks

    @classmethod
    def from_files(
        cls,
        files: str | Path | Sequence[str | Path],
        labels: str | Sequence[str] = (),
        *,
        task: str | None = None,
        scale: str = "none",
        missing: str = "error",
        scratch: str | None = None,
        **reading: Any,
    ) -> RowBlocks:
        """From files of the same columns: CSV, svmlight, NPZ, Parquet, ARFF.

        They are parsed once, into a scratch file without a name that vanishes with the blocks, or
        with the process; ``scratch_`` says where it is and how large.

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
        scratch : str, optional
            A folder for the scratch file; by default that for temporary files (``TMPDIR``).
        **reading
            Further fields of :class:`eigenkit.files.Reading`.

        Returns
        -------
        RowBlocks
        """
        names = (labels,) if isinstance(labels, str) else tuple(labels)
        options = Reading(labels=names, stream=True, **reading)
        sources = [open_file(path, options) for path in paths(files)]
        _check_columns(sources)
        blocks, target = parsed(sources, task, scale, missing, scratch)
        by_class = target is not None and target.kind == "classes"
        return cls.stored(blocks, np.array(target.names) if target and by_class else None)

    @classmethod
    def stored(cls, blocks: Sequence[Stored], classes: np.ndarray | None = None) -> RowBlocks:
        """From blocks in a scratch file."""
        made = cls(lambda: (), classes)
        width = max((block.shape[1] for block in blocks), default=0)
        groups = grouped(blocks, [block.n_bytes for block in blocks])
        made._parts = lambda: ((block.read(width) for block in group) for group in groups)
        if blocks:
            made.scratch_ = blocks[0].scratch.folder, blocks[0].scratch.n_bytes
        return made

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of X and y."""
        for part in self._parts():
            for X, y, _ in part:
                yield X, y

    def apply(self, function: Callable[[Any], Any]) -> Iterator[Any]:
        """``function`` of the X of every block: a model's ``transform`` or ``predict``."""
        for X, _ in self:
            yield function(X)


def _triple(block: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """(X, y, weight) of what may lack the last, or the last two."""
    if not isinstance(block, tuple | list) or not 1 <= len(block) <= 3:
        raise ValueError("a block is no (X, y) or (X, y, weight): give tuples of them.")
    X, y, weight = (*block, None, None)[:3]
    return X, y, weight


def _cut(X: Any, y: Any, weight: Any, block_bytes: int) -> Iterator[tuple[int, Callable[[], Any]]]:
    """Blocks of rows, each by its size and a function that gives it."""
    n = X.shape[0]
    size = X.nnz * 12 if hasattr(X, "nnz") else n * X.shape[1] * X.dtype.itemsize
    step = max(1, int(n * block_bytes / max(size, 1)))

    def rows_of(start: int) -> Callable[[], tuple[Any, Any, Any]]:
        rows = slice(start, start + step)
        return lambda: (X[rows], *(None if each is None else each[rows] for each in (y, weight)))

    for start in range(0, n, step):
        yield size * min(step, n - start) // n, rows_of(start)


def grouped(items: Sequence[Any], sizes: Sequence[int]) -> list[list[Any]]:
    """Consecutive items in parts of about equal sizes, which depend on nothing but the sizes.

    Many parts keep threads busy; large ones make up for a sum of their own in every part.
    """
    most = min(max(sum(sizes) // PARTS, 1), PART_BYTES)
    groups: list[list[Any]] = [[]]
    held = 0
    for item, size in zip(items, sizes, strict=True):
        if groups[-1] and held + size > most:
            groups.append([])
            held = 0
        groups[-1].append(item)
        held += size
    return groups


def paths(files: str | Path | Sequence[str | Path]) -> list[str]:
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
