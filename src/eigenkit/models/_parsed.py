"""Files parsed once: from then on they are numbers in a scratch file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from eigenkit.files import Block, FileError, Source, Target
from eigenkit.files._many import widened
from eigenkit.files._reading import are_names, join_labels, rows_per_block
from eigenkit.files._targets import check_complete, target_in
from eigenkit.models._features import drop_missing, learn_features
from eigenkit.models._scratch import Scratch, Stored

Tick = Callable[[str, int], None]


def parsed(
    sources: Sequence[Source],
    task: str | None,
    scale: str,
    missing: str,
    folder: str | None,
    *,
    part: bool = False,
) -> tuple[list[Stored], Target | None]:
    """The rows of some files, or of a part of all, in a scratch file, and what their labels are.

    The files are parsed once where nothing must be learned of the features before they are known
    (scales, means in place of missing values, words); otherwise once more for each of those.
    """
    scratch, first = Scratch(folder), sources[0]
    for source in sources if task == "classes" else ():
        source.take_labels_as_words()
    simple = scale == "none" and missing == "error" and not first.text_names
    kept: list[tuple[str, Any]] = []
    stored: list[Stored] = []
    width = 0
    for path, block in _rows(sources, missing):
        width = max(width, block.X.shape[1])
        if missing != "drop":
            check_complete(path, block.labels, block.start)
        if len(block):
            kept.append((path, block.labels))
        if simple and len(block):  # what is missing or not a number is refused by its place
            plain = learn_features(first, partial(iter, [block]))
            stored.append(Stored.of(scratch, plain.matrix(path, block)))
    labels = join_labels(cells for _, cells in kept)
    if are_names(sources, labels):
        return parsed(sources, task, scale, missing, folder, part=part)
    if not kept:
        raise FileError(first.path, "every row has a missing value: nothing is left to fit.")
    target = None if labels is None else target_in(first, labels, task, part=part)
    if not simple:
        wide = partial(_rows, sources, missing, width)
        blocks = lambda: (block for _, block in wide())  # noqa: E731
        features = learn_features(first, blocks, scale=scale, missing=missing)
        some = ((path, block) for path, block in wide() if len(block))
        stored = [Stored.of(scratch, features.matrix(path, block)) for path, block in some]
    found = [
        replace(block, **_y_of(scratch, target, path, cells))
        for block, (path, cells) in zip(stored, kept, strict=True)
    ]
    return found, target


def _rows(sources: Sequence[Source], missing: str, width: int = 0) -> Iterator[tuple[str, Block]]:
    """The blocks of all files with the names of the files; sparse ones as wide as the widest."""
    for source in sources:
        for block in numbered(source.blocks(rows_per_block(source))):
            block = replace(block, X=widened(block.X, width))
            names = sources[0].categorical_names
            yield source.path, drop_missing(block, names) if missing == "drop" else block


def _y_of(scratch: Scratch, target: Target | None, path: str, labels: Any) -> dict[str, Any]:
    return {} if target is None else stored_y(scratch, target, target.encode(path, labels))


def stored_y(scratch: Scratch, target: Target, y: np.ndarray) -> dict[str, Any]:
    """Encoded labels in as few bytes as they take, as fields of :class:`Stored`."""
    if target.kind == "classes":
        place = {name: i for i, name in enumerate(target.names)}
        codes = np.array([place[str(cell)] for cell in y], dtype=np.int32)
        return {"y": scratch.put(codes), "names": np.array(target.names)}
    return {"y": scratch.put(y.astype(np.uint8) if target.kind == "labels" else y)}


def numbered(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks of a file, each of which knows how many rows come before it."""
    start = 0
    for block in blocks:
        yield block if block.path else replace(block, start=start)
        start += len(block)
