"""Descriptors of images on disk, by the hash of what they were computed from.

One file per image and size, in the container of model files: plain arrays, a checksum over all,
written beside its place and renamed. A run that was interrupted finds what it had computed;
a file that is damaged is computed again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from eigenkit.files import FileError, atomic
from eigenkit.images.arrays import Array
from eigenkit.models._container import read_container, write_container

MAX_BYTES = 2**30


def cache_folder() -> Path:
    """``eigenkit/images`` in the user's cache (``XDG_CACHE_HOME``, or ``~/.cache``)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "eigenkit/images"


class Cache:
    """Vectors by the content of an image, its size and the key of a descriptor.

    Parameters
    ----------
    folder : path
        Made when the first file is written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def get(self, digest: str, size: tuple[int, int]) -> dict[str, Array]:
        """All vectors that are known of an image."""
        try:
            names, arrays = read_container(str(self._place(digest, size)), MAX_BYTES)
        except FileError:  # not there, or damaged
            return {}
        if not isinstance(names, list) or len(names) != len(arrays):
            return {}
        return {str(name): array for name, array in zip(names, arrays, strict=True)}

    def put(self, digest: str, size: tuple[int, int], vectors: Mapping[str, Array]) -> None:
        """Add vectors of an image to those that are known."""
        place = self._place(digest, size)
        place.parent.mkdir(parents=True, exist_ok=True)
        together = {**self.get(digest, size), **vectors}
        arrays = [np.asarray(array) for array in together.values()]
        with atomic(place) as stream:
            write_container(stream, list(together), arrays)

    def _place(self, digest: str, size: tuple[int, int]) -> Path:
        name = hashlib.sha256(f"{digest}/{size[0]}x{size[1]}".encode()).hexdigest()
        return self.folder / name[:2] / f"{name[2:]}.ek"
