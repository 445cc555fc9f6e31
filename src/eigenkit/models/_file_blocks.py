"""Blocks of files, and what their labels are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from eigenkit.data import arrays_of
from eigenkit.files import Block, Data, Source, Target, read
from eigenkit.files._reading import are_names, rows_per_block
from eigenkit.files._targets import check_all_complete, join_labels, target_in
from eigenkit.models._features import complete, learn_features
from eigenkit.models._preparing import Blocks
from eigenkit.models._scratch import Scratch, Stored

Tick = Callable[[str, int], None]


def unsaid(*told: Any) -> None:
    """The default of ``tick`` and ``say``: do nothing."""


def in_memory(source: Source, data: Data | None, tick: Tick) -> Blocks:
    block = (data or read(source, lambda n: tick("reading", n))).block()
    return lambda: [block]


def in_blocks(source: Source, tick: Tick) -> Blocks:
    def blocks() -> Iterator[Block]:
        for block in source.blocks(rows_per_block(source)):
            tick("reading", len(block))
            yield block

    return blocks


def labels_of(
    source: Source, blocks: Blocks, missing: str, see: Callable[[Block], Any] = unsaid
) -> tuple[Any, list[Any]]:
    """The labels of all rows, and what ``see`` gives for each of their blocks.

    Whether digits are names is known when all labels are: if they are, the rows are read again.
    """
    labels, seen = [], []
    for block in blocks():
        if missing != "drop":
            check_all_complete(source, block)
        if len(block):
            labels.append(block.labels)
            seen.append(see(block))
    if not seen:
        raise source.no_rows("every row has a missing value: nothing is left to fit.")
    joined = join_labels(labels)
    if are_names(source, joined):
        return labels_of(source, blocks, missing, see)
    return joined, seen


def note(digest: Any, block: Block) -> None:
    """Put the numbers and words of a block into a checksum."""
    X = block.X
    digest.update(b"%d " % len(block))  # the same rows in other blocks are another stream
    for part in arrays_of(X):
        digest.update(np.ascontiguousarray(part).tobytes())
    for cells in block.text.values():
        digest.update("\0".join(cells).encode("utf-8", "surrogatepass"))


def parsed(
    source: Source,
    scale: str,
    missing: str,
    folder: str | None,
    *,
    part: bool = False,
) -> tuple[list[Stored], Target | None]:
    """The rows of a file, or of a part of all, in a scratch file, and what their labels are.

    The file is parsed once if nothing is learned from the features (scales, means in place of
    missing values, words), and otherwise once more for each of those.
    """
    task = source.options.task
    if task == "classes":
        source.take_labels_as_words()
    scratch = Scratch(folder)
    blocks = partial(complete, in_blocks(source, unsaid), missing, source.named_cells)
    simple = scale == "none" and missing == "error" and not source.text_names

    def keep(block: Block) -> tuple[tuple[str, Any, int], Stored | None]:
        X = None
        if simple:  # which refuses a missing value by its row and column
            plain = learn_features(source, partial(iter, [block]))
            X = Stored.of(scratch, plain.matrix(source.path, block))
        return (block.path or source.path, block.labels, block.start), X

    labels, kept = labels_of(source, blocks, missing, keep)
    found, stored = zip(*kept, strict=True)
    target = None if labels is None else target_in(source, labels, task, part=part)
    if not simple:
        features = learn_features(source, blocks, scale=scale, missing=missing)
        some = (features.matrix(source.path, block) for block in blocks() if len(block))
        stored = tuple(Stored.of(scratch, X) for X in some)
    if target is None:
        return list(stored), None
    pairs = zip(stored, found, strict=True)
    return [block.with_y(target, target.encode(*labels)) for block, labels in pairs], target
