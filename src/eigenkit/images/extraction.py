"""Images to vectors: in several processes, from a cache where there is one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed

from eigenkit.files import FileError, atomic
from eigenkit.images.descriptors import PCA_IMAGES, Descriptor
from eigenkit.images.descriptors.frame import Frame
from eigenkit.images.files import Picture, Sets, digest
from eigenkit.models._blocks import Place, Scratch
from eigenkit.models._container import read_container, write_container
from eigenkit.numerics.linalg import Array

# Pictures that one process takes at a time; progress is reported between them.
BATCH = 16
# The most that a file of the cache may hold.
_MOST_CACHED = 2**30

T = TypeVar("T")
Tell = Callable[[int, int, str], None] | None  # called as tell(done, total, message)
Vectors = dict[str, list[list[Array]]]  # descriptor -> set -> picture -> matrix


def watched(step: str, items: Iterable[T], total: int, tell: Tell) -> Iterator[T]:
    """The items, reporting progress after each of them."""
    for done, item in enumerate(items, 1):
        yield item
        if tell is not None:
            tell(done, total, f"{step}: {done} of {total}")


def extract(
    sets: Sets,
    descriptors: Sequence[Descriptor],
    size: tuple[int, int],
    *,
    cache: Cache | None = None,
    n_jobs: int | None = None,
    tell: Tell = None,
) -> Vectors:
    """Vectors of all pictures of all sets, by descriptor, set and picture.

    They lie in files, so that they need room on disk (where ``TMPDIR`` says), not in memory.
    """
    unique = list({p.digest: p for one in sets for p in one.pictures}.values())
    files = {d.name: Scratch() for d in descriptors}
    places: dict[str, dict[str, Place]] = {name: {} for name in files}
    jobs = n_jobs if n_jobs and len(unique) > BATCH else 1
    parallel = Parallel(n_jobs=jobs, return_as="generator", batch_size=BATCH)
    work = (delayed(_vectors)(picture, descriptors, size, cache) for picture in unique)
    computed = watched("descriptors", parallel(work), len(unique), tell)
    for picture, vectors in zip(unique, computed, strict=True):
        for name, file in files.items():
            place = places[name][picture.digest] = file.put(np.asarray(vectors[name], np.float32))
            first = next(iter(places[name].values()))
            if first.shape[1] != place.shape[1]:
                raise ValueError(
                    f"descriptor {name!r} gave vectors of {first.shape[1]} and of "
                    f"{place.shape[1]} numbers: return vectors of one length for all images."
                )
    found = {}
    for name, file in files.items():
        own = file.views(places[name])
        found[name] = [[own[p.digest] for p in one.pictures] for one in sets]
    return found


def subset(vectors: Vectors, rows: Iterable[int]) -> Vectors:
    """The vectors of some sets."""
    return {name: [own[int(i)] for i in rows] for name, own in vectors.items()}


def fitted(
    sets: Sets, descriptors: Sequence[Descriptor], size: tuple[int, int]
) -> list[Descriptor]:
    """The descriptors, those that learn having seen some of the images."""
    if not any(d.learns for d in descriptors):
        return list(descriptors)
    pictures = [picture for one in sets for picture in one.pictures]
    step = max(1, len(pictures) // PCA_IMAGES)
    images = [picture.pixels(size) for picture in pictures[::step][:PCA_IMAGES]]
    return [Descriptor(d.name, d.function).fit(images) for d in descriptors]


def _vectors(
    picture: Picture, descriptors: Sequence[Descriptor], size: tuple[int, int], cache: Cache | None
) -> dict[str, Array]:
    known = cache.get(picture.digest, size) if cache else {}
    found = {d.name: known[d.key] for d in descriptors if d.function is None and d.key in known}
    missing = [d for d in descriptors if d.name not in found]
    if missing:
        frame = Frame(picture.pixels(size))
        fresh = {d.name: d.vectors(frame) for d in missing}
        # The versions of a function of the user's cannot be told apart.
        kept = {d.key: fresh[d.name] for d in missing if d.function is None}
        if cache and kept:
            cache.put(picture.digest, size, kept)
        found |= fresh
    return found


def common_size(sets: Sets) -> tuple[int, int]:
    """Height and width that suit most images: the median shape, its shorter side 128 pixels."""
    pictures = [picture for one in sets for picture in one.pictures]
    shapes = np.array([p.shape for p in pictures[:: max(1, len(pictures) // 200)]], dtype=float)
    ratio = float(np.clip(np.median(shapes[:, 1] / shapes[:, 0]), 1 / 4, 4))
    longer = round(128 * max(ratio, 1 / ratio) / 16) * 16
    return (128, longer) if ratio >= 1 else (longer, 128)


# -- descriptors on disk, by the hash of what they were computed from ---------------------


def cache_folder() -> Path:
    """``eigenkit/images`` in the user's cache (``XDG_CACHE_HOME``, or ``~/.cache``)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "eigenkit/images"


@contextmanager
def in_cache(folder: str | os.PathLike[str]) -> Iterator[None]:
    """What a system says of a place that cannot be written becomes a sentence about the cache."""
    try:
        yield
    except (FileError, OSError) as error:
        cause = error.__cause__ or error
        reason = getattr(cause, "strerror", None) or cause
        raise FileError(
            folder,
            f"the cache cannot be written there ({reason}): name another folder, or do without "
            "a cache.",
        ) from error


class Cache:
    """Vectors by the content of an image, its size and the key of a descriptor.

    One file per image and size, in the container of model files: plain arrays, a checksum over all,
    written beside its place and renamed. An interrupted run finds what it had computed; what a
    damaged file should hold is computed again. The folder is made when the first file is written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def get(self, picture: str, size: tuple[int, int]) -> dict[str, Array]:
        """All vectors that are kept of an image, by its digest."""
        try:
            names, arrays = read_container(str(self._place(picture, size)), _MOST_CACHED)
        except (FileError, OSError):  # not there, or damaged
            return {}
        if not isinstance(names, list) or len(names) != len(arrays):
            return {}
        return {str(name): array for name, array in zip(names, arrays, strict=True)}

    def put(self, picture: str, size: tuple[int, int], vectors: Mapping[str, Array]) -> None:
        """Add vectors of an image to those that are known."""
        place = self._place(picture, size)
        together = {**self.get(picture, size), **vectors}
        with in_cache(self.folder):
            place.parent.mkdir(parents=True, exist_ok=True)
            with atomic(place) as stream:
                write_container(stream, list(together), list(together.values()))

    def _place(self, picture: str, size: tuple[int, int]) -> Path:
        name = digest(f"{picture}/{size[0]}x{size[1]}".encode())
        return self.folder / name[:2] / f"{name[2:]}.ek"
