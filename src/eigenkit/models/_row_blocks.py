"""Rows that do not fit into memory, in blocks that are read as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.data import LocalPasses, Passes
from eigenkit.estimators._validation import has_no_rows
from eigenkit.files import Reading, atomic, output_format, write_table
from eigenkit.files._common import check_unique, listed
from eigenkit.files._errors import hinting, python_words
from eigenkit.files._reading import open_files
from eigenkit.files._targets import class_values
from eigenkit.models import _blocks
from eigenkit.moments import Blocks
from eigenkit.moments.blocked import NO_BLOCK
from eigenkit.shell import check_count, counted, what_is

Parts = Callable[[], Iterable[Iterable[Any]]]


class RowBlocks(Blocks):
    """Rows of X with their y, one block at a time.

    Every method that needs only sums over rows can be fitted to it in place of X (y travels with
    the rows), in a few passes, and gives the same model as all rows in memory, up to rounding. One
    block and a matrix of d x d numbers, for d features, are in memory at a time. The same blocks
    are always summed in the same order. ``transform`` and ``predict`` then give blocks for blocks,
    ``score`` a number. Make one with :meth:`from_arrays` or :meth:`from_files`.

    Parameters
    ----------
    blocks : callable
        Gives a new iterable of (X, y) or (X, y, weight) at every call; y may be None.
    classes : array, optional
        All classes, where y holds one for every row; by default they are found by one more pass.

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
    skipped_: dict[str, Any]
    _about: str
    _parts: Parts

    def __init__(
        self, blocks: Callable[[], Iterable[tuple[Any, ...]]], classes: np.ndarray | None = None
    ) -> None:
        ask = _blocks.anew(blocks)
        self._parts = lambda: ([_blocks.triple(block)] for block in ask())
        self._classes, self._about = classes, "from a function"

    def __repr__(self) -> str:
        return f"RowBlocks({self._about})"

    @classmethod
    def _of(cls, parts: Parts, about: str, classes: np.ndarray | None = None) -> RowBlocks:
        """From a function that gives blocks in parts, for threads to share."""
        made = cls(tuple, classes)
        made._parts, made._about = parts, about
        return made

    def passes(self) -> Passes:
        return LocalPasses(self._parts)

    def head(self) -> tuple[Any, Any, Any]:
        for block in chain.from_iterable(self._parts()):
            X, y, weight = _blocks.triple(block)
            if not has_no_rows(X, y, weight):
                return X, y, weight
        raise ValueError(NO_BLOCK)

    def classes(self) -> np.ndarray | None:
        return super().classes() if self._classes is None else self._classes

    @classmethod
    def from_arrays(
        cls, parts: Sequence[Any], *, block_bytes: int = _blocks.BLOCK_BYTES
    ) -> RowBlocks:
        """From arrays, memory maps, sparse matrices, frames or lists, which are cut into blocks
        where they are large.

        Parameters
        ----------
        parts : sequence of (X, y) or (X, y, weight), or of X alone
            Or of functions that return one of these: each is one block, and is called whenever
            the block is needed, by several threads.
        block_bytes : int
            About the size of a block.

        Returns
        -------
        RowBlocks
        """
        if not hasattr(parts, "__len__"):
            what = f"parts is {what_is(parts)}, which can be read only once"
            raise TypeError(f"{what}: give a list of (X, y), or of functions that give them.")
        if not len(parts):
            raise ValueError("parts is empty: give a list of (X, y), or of X.")
        block_bytes = check_count("block_bytes", block_bytes)
        given = [part if isinstance(part, tuple) else (part,) for part in parts]
        if all(callable(part[0]) for part in given):
            about = counted(len(given), "block")
            return cls._of(lambda: (_asked(part[0]) for part in given), f"{about} from functions")
        triples = [_blocks.sliceable(*_blocks.triple(part)) for part in given]
        for i, (X, *others) in enumerate(triples):
            for name, other in zip(("y", "weights"), others, strict=True):
                n, m = X.shape[0], X.shape[0] if other is None else other.shape[0]
                if n != m:
                    both = f"{n} rows of X and {m} of {name}"
                    raise ValueError(f"part {i} has {both}: give the same number.")
        pieces = [(part, *piece) for part in triples for piece in _blocks.cut(part[0], block_bytes)]
        groups = _blocks.grouped(pieces, [size for _, size, _ in pieces])
        shapes = [X.shape for X, *_ in triples]
        about = f"{_sizes(shapes, len(pieces))} from arrays"

        def blocks_in(group: Sequence[Any]) -> Iterator[Any]:
            return (tuple(_blocks.taken(A, rows) for A in part) for part, _, rows in group)

        return cls._of(lambda: map(blocks_in, groups), about)

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
        on_error: str = "raise",
        **reading: Any,
    ) -> RowBlocks:
        """From files with the same columns: CSV, svmlight, NPZ, Parquet, ARFF.

        Classes are whole numbers if all of them are, and strings otherwise. Features are known
        by their order: blocks, and models fitted to them, do not keep their names.

        The files are parsed once, into a scratch file without a name, which vanishes with the
        blocks or the process; ``scratch_`` says where it is and how large.

        Parameters
        ----------
        files : str or list of str
            Names, or patterns such as ``"parts/*.csv"``, whose files are sorted by name.
        labels : str or list of str
            The columns of the labels: names, patterns or positions.
        task : {"classes", "labels", "numbers"}, optional
            What the labels are; found out by default.
        scale : {"none", "standard", "maxabs"}
            Divide features by their standard deviation or largest absolute value.
        missing : {"error", "drop", "mean", "median", "keep"}
            What to do about missing values.
        scratch : str, optional
            A folder for the scratch file; by default that for temporary files (``TMPDIR``).
        on_error : {"raise", "skip"}
            What to do about bad rows, which cannot be read or have values or labels that would be
            refused. "skip" leaves them out; ``skipped_`` then says how many there were (``n``), in
            which ``files``, for what ``reasons``, and describes the ``first`` ones.
        **reading
            Further fields of :class:`eigenkit.files.Reading`.

        Returns
        -------
        RowBlocks
        """
        names = (labels,) if isinstance(labels, str) else tuple(labels)
        reading |= {"task": task, "missing": missing, "on_error": on_error}
        options = Reading(labels=names, stream=True, **reading)
        with python_words(), hinting():
            source = open_files(files, options)
            blocks, target = _blocks.parsed(source, scale, missing, scratch)
        classes = None
        if target is not None and target.kind == "classes":
            values = class_values(target.names)
            blocks, classes = [replace(block, names=values) for block in blocks], np.unique(values)
        made = cls.stored(blocks, classes)
        given = [files] if isinstance(files, str | Path) else files
        made._about += f" from {listed([str(each) for each in given])}"
        if on_error == "skip":
            bad = source.skipped
            made.skipped_ = bad.described()
            made._about += f", {counted(bad.n, 'bad row')} skipped" if bad.n else ""
        return made

    @classmethod
    def from_dask(
        cls,
        client: Any,
        parts: Any,
        y: Any = None,
        labels: str | Sequence[str] = (),
        *,
        classes: Any = None,
        **reading: Any,
    ) -> Blocks:
        """Rows that the workers of a Dask cluster hold; only sums over them come here.

        Parameters
        ----------
        client : distributed.Client
        parts : list, dask array or dataframe, str or list of str
            Delayed pairs (X, y) or triples with weights; a collection cut between rows, with y
            cut alike; or files (names or patterns), which the workers read: they must see them.
        y : dask array, dataframe or series, optional
        labels : str or list of str
            The columns of the labels of files.
        classes : array, optional
            All classes, where y holds one for every row; by default they are found by one more
            pass.
        **reading
            With files: ``task``, ``on_error``, and further fields of
            :class:`eigenkit.files.Reading`.

        Returns
        -------
        Blocks
            What ``fit`` takes. Parts are added in the order given: the same parts give the same
            bits as :meth:`from_arrays`, whatever the number of workers.
        """
        from eigenkit.models._dask_fit import blocks_of

        names = (labels,) if isinstance(labels, str) else tuple(labels)
        known = None if classes is None else np.asarray(classes)
        with python_words(), hinting():
            options = Reading(labels=names, stream=True, **reading)
            return blocks_of(client, parts, y, known, options)

    @classmethod
    def stored(
        cls, blocks: Sequence[_blocks.Stored], classes: np.ndarray | None = None
    ) -> RowBlocks:
        """From blocks in a scratch file."""
        width = max((block.shape[1] for block in blocks), default=0)
        groups = _blocks.grouped(blocks, [block.n_bytes for block in blocks])
        about = _sizes([(block.shape[0], width) for block in blocks], len(blocks))
        made = cls._of(lambda: ((b.read(width) for b in group) for group in groups), about, classes)
        if blocks:
            made.scratch_ = blocks[0].scratch.folder, blocks[0].scratch.n_bytes
        return made

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of X and y."""
        return ((X, y) for X, y, _ in self.triples())

    def triples(self) -> Iterator[tuple[Any, Any, Any]]:
        """X, y and the weights of every block; None where there are none."""
        for part in self._parts():
            yield from part

    def folds(
        self, n: int = 5, *, random_state: int = 0, of: np.ndarray | None = None
    ) -> Iterator[tuple[RowBlocks, RowBlocks]]:
        """Pairs of blocks: all rows but those of one of n folds, and those of this fold.

        Rows are assigned at random within their blocks, always alike for the same blocks and
        ``random_state``, unless ``of`` gives the fold of every row, from 0 to n - 1.
        """
        assigned = _blocks.drawn(n, random_state) if of is None else self._as_said(of)

        def chosen(fold: int, held_out: bool) -> RowBlocks:
            about = f"{'' if held_out else 'all but '}fold {fold} of {self!r}"
            which = assigned, fold, held_out
            return RowBlocks._of(
                lambda: (_blocks.in_fold(part, p, *which) for p, part in enumerate(self._parts())),
                about,
                self.classes(),
            )

        for i in range(n):
            yield chosen(i, False), chosen(i, True)

    def _as_said(self, of: np.ndarray) -> _blocks.Assigned:
        """The given folds of all rows, by block."""
        begins: dict[tuple[int, int], int] = {}
        n = 0
        for p, part in enumerate(self._parts()):
            for b, block in enumerate(part):
                begins[p, b], n = n, n + block[0].shape[0]
        return lambda p, b, there: of[begins[p, b] : begins[p, b] + len(there)]

    def apply(self, function: Callable[[Any], Any]) -> Iterator[Any]:
        """``function`` of the X of every block: a model's ``transform`` or ``predict``."""
        for X, _ in self:
            yield function(X)

    def map(self, function: Callable[[Any], Any]) -> RowBlocks:
        """Blocks with ``function`` of X in place of X, computed whenever they are read.

        With a model's ``transform``, X becomes its scores, to which another model can be fitted, or
        which :meth:`write` writes; y and weights stay with their rows.
        """

        def mapped(part: Iterable[Any]) -> Iterator[Any]:
            given = (_blocks.triple(block) for block in part)
            return ((function(X), y, w) for X, y, w in given if not has_no_rows(X, y, w))

        about = f"{getattr(function, '__name__', 'a function')} of {self!r}"
        return RowBlocks._of(lambda: (mapped(part) for part in self._parts()), about, self._classes)

    def write(self, path: str | Path, names: Sequence[str] | None = None) -> int:
        """Write X and y, without weights, as a table: as a whole or not at all.

        Parameters
        ----------
        path : str or Path
            Ends in .csv or .tsv, which are written block by block, or in .npz or .parquet, for
            which all rows are gathered first.
        names : sequence of str, optional
            Of the columns of X (a model's ``get_feature_names_out()``); x0, x1, ... by default.

        Returns
        -------
        int
            The number of rows.
        """
        kind = output_format(path)
        X, y, _ = self.head()
        columns = list(names) if names is not None else _names("x", X)
        if len(columns) != len(_columns(X)):
            raise ValueError(f"names has {len(columns)} names for {len(_columns(X))} columns of X.")
        labels = [] if y is None else _names("y", y)
        check_unique(path, columns + labels)
        with atomic(path) as stream:
            tables = ([*_columns(X), *([] if y is None else _columns(y))] for X, y in self)
            return write_table(stream, kind, columns + labels, tables, n_labels=len(labels))


def _sizes(shapes: Sequence[tuple[int, ...]], n_blocks: int) -> str:
    rows, columns = sum(shape[0] for shape in shapes), max((s[1] for s in shapes), default=0)
    table = f"{counted(rows, 'row')} x {counted(columns, 'column')}"
    return f"{table} in {counted(n_blocks, 'block')}"


def _asked(function: Callable[[], Any]) -> Iterator[tuple[Any, Any, Any]]:
    found = function()
    yield _blocks.triple(found if isinstance(found, tuple) else (found,))


def _columns(A: Any) -> list[np.ndarray]:
    """The columns of a dense matrix, or a vector as one."""
    if sparse.issparse(A):
        raise TypeError("X or y is sparse: write is for tables, such as scores or classes.")
    A = np.asarray(A)
    return [A] if A.ndim == 1 else list(A.T)


def _names(letter: str, A: Any) -> list[str]:
    return [letter] if np.ndim(A) == 1 else [f"{letter}{j}" for j in range(A.shape[1])]
