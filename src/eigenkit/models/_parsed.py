"""Files parsed once: from then on they are numbers in a scratch file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eigenkit.files import Block, FileError, Source, Target, target_of
from eigenkit.files._many import widened
from eigenkit.files._reading import are_names, join_labels, rows_per_block
from eigenkit.files._targets import check_complete
from eigenkit.models._features import Features, drop_missing, learn_features
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
    scratch = Scratch(folder)
    first = sources[0]
    for source in sources if task == "classes" else ():
        source.take_labels_as_words()
    simple = scale == "none" and missing == "error" and not first.text_names
    kept: list[tuple[str, Stored]] = []
    labels: list[Any] = []
    width = 0
    for path, block in blocks_of(sources):
        block = drop_missing(block, first.categorical_names) if missing == "drop" else block
        width = max(width, block.X.shape[1])
        if missing != "drop":
            check_complete(path, block.labels, block.start)
        labels.append(block.labels)
        if simple and len(block):
            if not kept:
                plain = learn_features(first, lambda block=block: [block])  # type: ignore[misc]
            X = _plain_matrix(plain, path, block)
            kept.append((path, Stored.of(scratch, X)))
    seen = join_labels(labels)
    if are_names(sources, seen):
        return parsed(sources, task, scale, missing, folder, part=part)
    if seen is not None and len(seen) == 0:
        raise FileError(first.path, "every row has a missing value: nothing is left to fit.")
    target = None
    if seen is not None:
        how = task, first.options.label_separator
        target = target_of(first.path, seen, first.label_names, *how, part=part)
    if simple:
        cells = [part for part in labels if part is None or len(part)]
        found = [
            replace(block, **_y_of(scratch, target, path, part))
            for (path, block), part in zip(kept, cells, strict=True)
        ]
        return found, target

    def wide() -> Iterator[Block]:
        return (replace(block, X=widened(block.X, width)) for _, block in blocks_of(sources))

    features = learn_features(first, wide, scale=scale, missing=missing)
    stored = []
    for path, block in blocks_of(sources):
        block = replace(block, X=widened(block.X, width))
        block = drop_missing(block, first.categorical_names) if missing == "drop" else block
        if len(block):
            held = Stored.of(scratch, features.matrix(path, block))
            stored.append(replace(held, **_y_of(scratch, target, path, block.labels)))
    return stored, target


def _plain_matrix(features: Features, path: str, block: Block) -> Any:
    """X, with what is missing or not a number refused by its place."""
    wider = replace(features, n_numbers=block.X.shape[1])
    return wider.matrix(path, block)


def _y_of(scratch: Scratch, target: Target | None, path: str, labels: Any) -> dict[str, Any]:
    return {} if target is None else stored_y(scratch, target, target.encode(path, labels))


def stored_y(scratch: Scratch, target: Target, y: np.ndarray) -> dict[str, Any]:
    """Encoded labels in as few bytes as they take, as fields of :class:`Stored`."""
    if target.kind == "classes":
        place = {name: i for i, name in enumerate(target.names)}
        codes = np.array([place[str(cell)] for cell in y], dtype=np.int32)
        return {"y": scratch.put(codes), "names": np.array(target.names)}
    return {"y": scratch.put(y.astype(np.uint8) if target.kind == "labels" else y)}


def blocks_of(sources: Sequence[Source]) -> Iterator[tuple[str, Block]]:
    """The blocks of all files, with the names of the files."""
    for source in sources:
        for block in numbered(source.blocks(rows_per_block(source))):
            yield source.path, block


def numbered(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks of a file, each of which knows how many rows come before it."""
    start = 0
    for block in blocks:
        yield block if block.path else replace(block, start=start)
        start += len(block)
