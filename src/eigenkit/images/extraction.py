"""Images to vectors: in several processes, from a cache where there is one."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO

import numpy as np
from joblib import Parallel, delayed

from eigenkit.images.arrays import Array
from eigenkit.images.cache import Cache
from eigenkit.images.descriptors import PCA_IMAGES, Descriptor, Frame
from eigenkit.images.files import ImageSet, Picture

# Pictures that one process takes at a time; progress is reported between them.
BATCH = 16


@dataclass(frozen=True)
class Progress:
    """How far a step has come: so many of so many, for so long, and how long it may take."""

    step: str
    done: int
    total: int
    elapsed: float

    @property
    def remaining(self) -> float:
        """Seconds, if it goes on as before."""
        return self.elapsed / self.done * (self.total - self.done) if self.done else float("nan")


Tell = Callable[[Progress], None]
Vectors = dict[str, list[list[Array]]]  # descriptor -> set -> picture -> matrix


def extract(
    sets: Sequence[ImageSet],
    descriptors: Sequence[Descriptor],
    size: tuple[int, int],
    *,
    cache: Cache | None = None,
    n_jobs: int | None = None,
    tell: Tell | None = None,
) -> Vectors:
    """Vectors of all pictures of all sets, by descriptor, set and picture; they lie in files."""
    unique = list({p.digest: p for one in sets for p in one.pictures}.values())
    start = time.monotonic()
    with ExitStack() as open_files:
        files = [
            _File(d.name, open_files.enter_context(tempfile.TemporaryFile())) for d in descriptors
        ]
        computed = _computed(unique, descriptors, size, cache, n_jobs)
        for done, (digest, vectors) in enumerate(computed, 1):
            for file in files:
                file.put(digest, vectors[file.name])
            if tell is not None:
                tell(Progress("descriptors", done, len(unique), time.monotonic() - start))
        found = {file.name: file.vectors() for file in files}
    return {
        name: [[own[p.digest] for p in one.pictures] for one in sets] for name, own in found.items()
    }


def subset(vectors: Vectors, rows: Iterable[int]) -> Vectors:
    """The vectors of some sets."""
    return {name: [own[int(i)] for i in rows] for name, own in vectors.items()}


class _File:
    """Vectors of one descriptor below each other in a nameless file, which lasts as its views do.

    So the vectors of all pictures need room on disk (where ``TMPDIR`` says), not in memory.
    """

    def __init__(self, name: str, stream: IO[bytes]) -> None:
        self.name, self.stream = name, stream
        self.rows: dict[str, tuple[int, int]] = {}
        self.total, self.width = 0, 0

    def put(self, digest: str, vectors: Array) -> None:
        """Add those of one picture."""
        rows, width = vectors.shape
        if self.rows and width != self.width:
            raise ValueError(
                f"descriptor {self.name!r} gave vectors of {self.width} and of {width} numbers: "
                "return vectors of one length for all images."
            )
        self.stream.write(np.ascontiguousarray(vectors, dtype=np.float32).data)
        self.rows[digest] = (self.total, self.total + rows)
        self.total, self.width = self.total + rows, width

    def vectors(self) -> dict[str, Array]:
        """By picture: views of the file."""
        self.stream.flush()
        shape = (self.total, self.width)
        if not self.total * self.width:
            everything: Array = np.zeros(shape, dtype=np.float32)
        else:
            everything = np.asarray(np.memmap(self.stream, np.float32, "r", shape=shape))
        return {digest: everything[start:stop] for digest, (start, stop) in self.rows.items()}


def fitted(
    sets: Sequence[ImageSet], descriptors: Sequence[Descriptor], size: tuple[int, int]
) -> list[Descriptor]:
    """The descriptors, those that learn having seen some of the images."""
    if not any(d.learns for d in descriptors):
        return list(descriptors)
    pictures = [picture for one in sets for picture in one.pictures]
    step = max(1, len(pictures) // PCA_IMAGES)
    images = [picture.pixels(size) for picture in pictures[::step][:PCA_IMAGES]]
    return [Descriptor(d.name, d.function).fit(images) for d in descriptors]


def _computed(
    pictures: Sequence[Picture],
    descriptors: Sequence[Descriptor],
    size: tuple[int, int],
    cache: Cache | None,
    n_jobs: int | None,
) -> Iterator[tuple[str, dict[str, Array]]]:
    batches = [pictures[i : i + BATCH] for i in range(0, len(pictures), BATCH)]
    if n_jobs in (None, 1) or len(batches) == 1:
        for picture in pictures:
            yield picture.digest, _vectors(picture, descriptors, size, cache)
        return
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    work = (delayed(_batch)(batch, descriptors, size, cache) for batch in batches)
    for batch, answers in zip(batches, parallel(work), strict=True):
        yield from zip((p.digest for p in batch), answers, strict=True)


def _batch(
    pictures: Sequence[Picture],
    descriptors: Sequence[Descriptor],
    size: tuple[int, int],
    cache: Cache | None,
) -> list[dict[str, Array]]:
    return [_vectors(picture, descriptors, size, cache) for picture in pictures]


def _vectors(
    picture: Picture,
    descriptors: Sequence[Descriptor],
    size: tuple[int, int],
    cache: Cache | None,
) -> dict[str, Array]:
    known = cache.get(picture.digest, size) if cache else {}
    found = {d.name: known[d.key] for d in descriptors if d.function is None and d.key in known}
    missing = [d for d in descriptors if d.name not in found]
    if missing:
        frame = Frame(picture.pixels(size))
        fresh = {d.name: d.vectors(frame) for d in missing}
        # A function of the user's has no name that would tell its versions apart.
        kept = {d.key: fresh[d.name] for d in missing if d.function is None}
        if cache and kept:
            cache.put(picture.digest, size, kept)
        found |= fresh
    return found


def common_size(sets: Sequence[ImageSet]) -> tuple[int, int]:
    """Height and width that suit most images: the median shape, its shorter side 128 pixels."""
    pictures = [picture for one in sets for picture in one.pictures]
    shapes = np.array([p.shape for p in pictures[:: max(1, len(pictures) // 200)]], dtype=float)
    ratio = float(np.clip(np.median(shapes[:, 1] / shapes[:, 0]), 1 / 4, 4))
    longer = round(128 * max(ratio, 1 / ratio) / 16) * 16
    return (128, longer) if ratio >= 1 else (longer, 128)
