"""NPZ: dense ``X`` or CSR parts ``X_data, X_indices, X_indptr, X_shape``, and ``Y`` or ``y``.

Every size is taken from the header of its array, and checked against the directory of the archive
and the limit, before memory is allocated. Arrays of Python objects are not read.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from eigenkit.files._cells import hold_codes
from eigenkit.files._common import Block, Reading, Source
from eigenkit.files._errors import FileError
from eigenkit.files._streams import Origin, guarded, held
from eigenkit.shell import shown

_CSR = ("data", "indices", "indptr", "shape")


class Npz(Source):
    """A NPZ file; see :func:`eigenkit.files.open_file`."""

    def __init__(self, origin: Origin, options: Reading) -> None:
        super().__init__(origin.path, options)
        self._stream = held(self, origin.seekable())
        with guarded(self.path, "the archive is damaged."):
            self._zip = zipfile.ZipFile(self._stream)
        self._members = {i.filename.removesuffix(".npy"): i for i in self._zip.infolist()}
        if not any(i.filename.endswith(".npy") for i in self._members.values()):
            raise self.error("it is a zip archive, which is not read: unpack it first.")
        self._find_X()
        self._labels = self._find_labels()
        self.found = {"format": "npz", "sparse": self._prefix is not None, "columns": self.shape[1]}

    # -- what is there -----------------------------------------------------------------

    def _find_X(self) -> None:
        self._prefix: str | None = None
        for prefix in ("X_", ""):
            if all(prefix + part in self._members for part in _CSR):
                self._prefix = prefix
        if self._prefix is not None:
            shape = self._array(self._prefix + "shape").ravel()
            if shape.size != 2 or shape.dtype.kind not in "iu" or shape.min() < 0:
                raise self.error(f"{self._prefix}shape is not two sizes.")
            self.shape = (int(shape[0]), int(shape[1]))
        elif "X" in self._members:
            self.shape = self._dense_shape()
        else:
            names = ", ".join(sorted(self._members)[:8])
            raise self.error(
                f"it holds neither X nor CSR parts X_data, X_indices, X_indptr, X_shape: {names}."
            )
        self.n_features = self.shape[1]
        self._check_model()
        self.feature_names = self._names("feature_names", self.shape[1])

    def _dense_shape(self) -> tuple[int, int]:
        with self._member("X") as stream:
            shape, _, _ = self._header("X", stream)
        if len(shape) != 2:
            raise self.error(f"X has {len(shape)} dimensions: it must be a matrix.")
        return shape[0], shape[1]

    def _check_model(self) -> None:
        model = self.options.expected
        if model is not None and model.n_features != self.shape[1]:
            raise self.error(
                f"X has {self.shape[1]} columns, but the model was fitted on {model.n_features}."
            )
        if self.shape[1] > self.options.max_features:
            raise self.error(
                f"X claims {self.shape[1]} columns: raise --max-features if that is right."
            )

    def _names(self, key: str, n: int) -> list[str] | None:
        if key not in self._members:
            return None
        names = [str(name) for name in self._array(key, kinds="U").ravel()]
        if len(names) != n:
            raise self.error(f"{key} holds {len(names)} names for {n} columns.")
        return names

    def _find_labels(self) -> np.ndarray | None:
        model = self.options.expected
        wanted = self.options.labels[0] if self.options.labels else None
        keys = [wanted] if wanted else [key for key in ("Y", "y") if key in self._members]
        if not keys or (model is not None and not self.options.truth):
            return None
        if keys[0] not in self._members:
            raise self.error(f"it holds no array {keys[0]!r} (--labels).")
        labels = self._array(keys[0], kinds="biufU")
        if labels.ndim not in (1, 2) or len(labels) != self.shape[0]:
            raise self.error(f"{keys[0]} has shape {labels.shape}, but X has {self.shape[0]} rows.")
        self.label_names = self._label_names(keys[0], labels)
        if labels.dtype.kind in "iu" and labels.size == len(labels):
            written = labels.astype(str)
            if self.options.words or hold_codes(set(written.ravel().tolist()), len(labels)):
                return written
        return labels

    def _label_names(self, key: str, labels: np.ndarray) -> list[str]:
        if labels.ndim == 1:
            return [key]
        k = labels.shape[1]
        return self._names("label_names", k) or [f"{key}{j + 1}" for j in range(k)]

    # -- arrays ------------------------------------------------------------------------

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        """The bytes of one array."""
        damaged = f"array {shown(name)} is damaged."
        with guarded(self.path, damaged), self._zip.open(self._members[name]) as stream:
            yield stream

    def _header(self, name: str, stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
        """Shape, order and type of an array, checked against the size of its member."""
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(stream)
        if dtype.hasobject:
            raise self.error(
                f"array {name!r} holds Python objects, which can run code: it is not read."
            )
        claimed = int(np.prod([int(s) for s in shape], dtype=object)) * dtype.itemsize
        stored = self._members[name].file_size - stream.tell()
        if claimed != stored or min(shape, default=0) < 0:
            raise self.error(
                f"array {name!r} claims {claimed} bytes, but {stored} are stored: it is damaged."
            )
        return shape, fortran, dtype

    def _array(self, name: str, kinds: str = "biuf") -> np.ndarray:
        info = self._members[name]
        self.options.check_size(self.path, info.file_size, f"array {name!r}")
        with self._member(name) as stream:
            shape, fortran, dtype = self._header(name, stream)
            if dtype.kind not in kinds:
                raise self.error(f"array {name!r} holds {dtype}, not plain numbers.")
            flat = np.frombuffer(stream.read(info.file_size), dtype=dtype)
            return flat.reshape(shape, order="F" if fortran else "C")

    # -- reading -----------------------------------------------------------------------

    def _blocks(self, n_rows: int) -> Iterator[Block]:
        if self.shape[0] == 0:
            raise self.error("X has no rows.")
        parts = self._dense_blocks(n_rows) if self._prefix is None else self._csr_blocks(n_rows)
        start = 0
        for X in parts:
            labels = None if self._labels is None else self._labels[start : start + X.shape[0]]
            yield Block(X, labels=_as_cells(labels))
            start += X.shape[0]

    def _dense_blocks(self, n_rows: int) -> Iterator[np.ndarray]:
        with self._member("X") as stream:
            _, fortran, dtype = self._header("X", stream)
            if dtype.kind not in "biuf":
                raise self.error(f"array 'X' holds {dtype}, not plain numbers.")
            if not fortran:
                width = self.shape[1] * dtype.itemsize
                for start in range(0, self.shape[0], n_rows):
                    n = min(n_rows, self.shape[0] - start)
                    rows = np.frombuffer(stream.read(n * width), dtype).reshape(n, -1)
                    yield rows.astype(self.options.dtype)
                return
        X = self._array("X")
        for start in range(0, self.shape[0], n_rows):
            yield X[start : start + n_rows].astype(self.options.dtype)

    def _csr_blocks(self, n_rows: int) -> Iterator[Any]:
        data, indices, indptr, _ = (self._array(f"{self._prefix}{part}") for part in _CSR)
        X = checked_csr(self.path, data.astype(self.options.dtype), indices, indptr, self.shape)
        for start in range(0, self.shape[0], n_rows):
            yield X[start : start + n_rows] if self.shape[0] > n_rows else X


def checked_csr(path: str, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """A CSR matrix, after checking that its parts fit together; scipy does not check."""
    whole = indices.dtype.kind in "iu" and indptr.dtype.kind in "iu"
    if not whole or data.ndim != 1 or indices.ndim != 1 or indptr.ndim != 1:
        raise FileError(path, "the CSR parts of X are damaged: indices are not whole numbers.")
    try:
        X = sparse.csr_array((data, indices, indptr), shape=shape)
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise FileError(path, f"the CSR parts of X are damaged: {error}.") from error
    X.sum_duplicates()
    return X


def _as_cells(labels: Any) -> Any:
    if labels is None:
        return None
    if labels.dtype.kind == "U":
        return [str(v) for v in labels.ravel()]
    return labels.reshape(len(labels), -1).astype(float)
