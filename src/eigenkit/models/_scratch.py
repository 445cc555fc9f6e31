"""Parsed rows as numbers in a scratch file."""

from __future__ import annotations

import errno
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.files import FileError, Target
from eigenkit.files._common import size
from eigenkit.files._streams import held


@dataclass(frozen=True)
class Place:
    """Where an array is in the file."""

    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


class Scratch:
    """Arrays in a temporary file without a name, which vanishes with its handle or process.

    By default it is in the folder for temporary files (``TMPDIR``).
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder or tempfile.gettempdir()
        self.n_bytes = 0
        self._lock = threading.Lock()
        try:
            file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise FileError(
                self.folder, f"no scratch file can be made there ({error.strerror})."
            ) from error
        self._file: Any = held(self, file)

    def put(self, array: np.ndarray) -> Place:
        """Keep a copy of an array of numbers."""
        array = np.ascontiguousarray(array)
        place = Place(self.n_bytes, array.dtype, array.shape)
        left = _bytes_of(array)
        try:
            while left.nbytes:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._file.close()
            raise FileError(self.folder, self._full(error)) from error
        self.n_bytes += array.nbytes
        return place

    def _full(self, error: OSError) -> str:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return f"the scratch file cannot be written ({error.strerror})."
        return (
            f"the disk is full after {size(self.n_bytes)} of parsed rows: set TMPDIR, or scratch=, "
            "to a folder with more room."
        )

    def get(self, place: Place) -> np.ndarray:
        """Read an array back."""
        array = np.empty(place.shape, dtype=place.dtype)
        left = _bytes_of(array)
        with self._lock:
            self._file.seek(place.offset)
            while left.nbytes:
                n = self._file.readinto(left)
                if not n:
                    raise FileError(self.folder, "the scratch file has become shorter.")
                left = left[n:]
        return array

    def views(self, places: Mapping[str, Place]) -> dict[str, np.ndarray]:
        """Arrays mapped from the file, which lasts as long as they do."""
        mapped = np.memmap(self._file, np.uint8, "r") if self.n_bytes else np.empty(0, np.uint8)
        stored = np.asarray(mapped)
        return {
            name: stored[p.offset : p.offset + p.n_bytes].view(p.dtype).reshape(p.shape)
            for name, p in places.items()
        }


@dataclass(frozen=True)
class Stored:
    """One block in a scratch file; y holds positions in ``names`` if these are given."""

    scratch: Scratch
    X: tuple[Place, ...]
    shape: tuple[int, int]
    y: Place | None = None
    names: np.ndarray | None = None

    @classmethod
    def of(cls, scratch: Scratch, X: Any) -> Stored:
        """Keep the X of a block."""
        parts: tuple[np.ndarray, ...] = (X,)
        if sparse.issparse(X):
            small = X.shape[1] < 2**31 and X.nnz < 2**31
            index = np.int32 if small else np.int64
            parts = X.data, X.indices.astype(index), X.indptr.astype(index)
        return cls(scratch, tuple(scratch.put(part) for part in parts), X.shape)

    def with_y(self, target: Target, y: np.ndarray) -> Stored:
        """With the encoded labels, in as few bytes as they need."""
        if target.kind != "classes":
            kept = self.scratch.put(y.astype(np.uint8) if target.kind == "labels" else y)
            return replace(self, y=kept)
        place = {name: i for i, name in enumerate(target.names)}
        codes = np.array([place[str(cell)] for cell in y], dtype=np.int32)
        return replace(self, y=self.scratch.put(codes), names=np.array(target.names))

    @property
    def n_bytes(self) -> int:
        return sum(place.n_bytes for place in self.X)

    def read(self, width: int) -> tuple[Any, Any, Any]:
        """(X, y, weight), with X of ``width`` columns; rows of files have no weights."""
        parts = [self.scratch.get(place) for place in self.X]
        X: Any = parts[0]
        if len(parts) == 3:
            X = sparse.csr_array(tuple(parts), shape=(self.shape[0], width))
        y = None if self.y is None else self.scratch.get(self.y)
        return X, y if self.names is None or y is None else self.names[y], None


def _bytes_of(array: Any) -> memoryview:
    return memoryview(array).cast("B") if array.size else memoryview(b"")
