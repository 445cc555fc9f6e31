"""The rows that a model is fitted to: in memory, or made anew for every pass over a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files import Block, Data, Source, Target, read
from eigenkit.files._common import size
from eigenkit.files._reading import rows_per_block
from eigenkit.models._choosing import folds_in_memory
from eigenkit.models._features import Blocks, Features, complete
from eigenkit.models._parsed import Tick, numbered, stored_y
from eigenkit.models._row_blocks import RowBlocks
from eigenkit.models._scratch import Scratch, Stored


def unsaid(sentence: str) -> None:
    pass


def in_memory(source: Source, data: Data | None, tick: Tick) -> Blocks:
    block = (data or read(source, lambda n: tick("reading", n))).block()
    return lambda: [block]


def in_blocks(source: Source, tick: Tick) -> Blocks:
    def blocks() -> Iterator[Block]:
        for block in numbered(source.blocks(rows_per_block(source))):
            tick("reading", len(block))
            yield block

    return blocks


def noted(blocks: Iterable[Block], digest: Any) -> Iterator[Block]:
    """The blocks, whose numbers and words go into a checksum on their way."""
    for block in blocks:
        X = block.X
        for part in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
            digest.update(np.ascontiguousarray(part).tobytes())
        for cells in block.text.values():
            digest.update("\0".join(cells).encode("utf-8", "surrogatepass"))
        yield block


class FitRows:
    """X and y of the file; made once in memory, made anew for every pass over a stream."""

    def __init__(
        self, path: str, blocks: Blocks, features: Features, target: Target, stream: bool
    ) -> None:
        self.path, self.features, self.target = path, features, target
        self._blocks, self.stream = blocks, stream
        self.checkpoint: str | Path | None = None
        self.fingerprint = ""
        self.say: Callable[[str], None] = unsaid
        self.seconds = 0.0  # that one pass over the file takes
        self.n = 0
        self._kept: Any = None if stream else list(self._make())

    def _make(self) -> Iterator[tuple[Any, np.ndarray]]:
        self.n = 0
        for block in complete(self._blocks, self.features.missing):
            if len(block):
                y = self.target.encode(self.path, block.labels)
                self.n += len(y)
                yield self.features.matrix(self.path, block), y

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        return iter(self._kept) if self._kept is not None else self._make()

    @property
    def width(self) -> int:
        """Columns of X and y together."""
        return self.features.n_features + len(self.target.names)

    @property
    def shape(self) -> tuple[int, int]:
        """Of X."""
        return self.n, self.features.n_features

    def folds(self, n: int, seed: int) -> Iterator[tuple[Any, Any]]:
        """Rows to fit on and to measure on, as blocks (X, y)."""
        if self.stream:
            return self.store().folds(n, seed=seed)
        ((X, y),) = self
        return folds_in_memory(self.target.kind, X, y, n, seed)

    def store(self) -> RowBlocks:
        """All rows in a scratch file, as blocks that are read from there from now on."""
        if isinstance(self._kept, RowBlocks):
            return self._kept
        scratch = Scratch()
        self.say(
            f"{self.width} columns: the rows are parsed into a scratch file in {scratch.folder}, "
            f"which takes about {time_of(self.seconds)}"
        )
        held = [
            replace(Stored.of(scratch, X), **stored_y(scratch, self.target, y))
            for X, y in self._make()
        ]
        classes = np.array(self.target.names) if self.target.kind == "classes" else None
        blocks = RowBlocks.stored(held, classes)
        self.say(f"{self.n} rows take {size(scratch.n_bytes)} there, until the fit ends")
        self._kept = blocks
        return blocks


def time_of(seconds: float) -> str:
    """A time to read."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
