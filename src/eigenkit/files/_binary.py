"""Binary files: NPZ, and Parquet through pyarrow (the extra ``parquet``).

NPZ holds a dense ``X`` or CSR parts ``X_data, X_indices, X_indptr, X_shape``, and ``Y`` or ``y``.

Every size is taken from the header of its array, and checked against the directory of the archive
and the limit, before memory is allocated. Arrays of Python objects are not read.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from eigenkit.files._cells import hold_codes, is_code, split_labels
from eigenkit.files._common import Block, Reading, Source, check_unique, composed
from eigenkit.files._errors import FileError
from eigenkit.files._roles import Table
from eigenkit.files._streams import Origin, guarded, held
from eigenkit.shell import shown

_CSR = ("data", "indices", "indptr", "shape")
_MICROSECONDS = 86400e6  # of a day
_DAMAGED = "the Parquet data are damaged."


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

    def _find_X(self) -> None:
        whole = (p for p in ("", "X_") if all(p + part in self._members for part in _CSR))
        self._prefix = next(whole, None)
        if self._prefix is not None:
            shape = self._array(self._prefix + "shape").ravel()
            if shape.size != 2 or shape.dtype.kind not in "iu" or shape.min() < 0:
                raise self.error(f"{self._prefix}shape is not two sizes.")
            self.shape = (int(shape[0]), int(shape[1]))
        elif "X" in self._members:
            with self._member("X") as stream:
                sizes, _, _ = self._header("X", stream)
            if len(sizes) != 2:
                raise self.error(f"X has {len(sizes)} dimensions: it must be a matrix.")
            self.shape = sizes[0], sizes[1]
        else:
            parts, names = ", ".join(f"X_{part}" for part in _CSR), sorted(self._members)[:8]
            raise self.error(f"it holds neither X nor CSR parts {parts}: {', '.join(names)}.")
        self.n_features = self.shape[1]
        self._check_model()
        self.feature_names = self._names("feature_names", self.shape[1])

    def _check_model(self) -> None:
        model, d = self.options.expected, self.shape[1]
        if model is not None and model.n_features != d:
            raise self.error(f"X has {d} columns, but the model was fitted on {model.n_features}.")
        if d > self.options.max_features:
            raise self.error(f"X claims {d} columns: raise --max-features if that is right.")

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
        self.label_names = [keys[0]]
        if labels.ndim == 2:
            columns = [f"{keys[0]}{j + 1}" for j in range(labels.shape[1])]
            self.label_names = self._names("label_names", len(columns)) or columns
        if labels.dtype.kind in "iu" and labels.size == len(labels):
            written = labels.astype(str)
            if self.options.words or hold_codes(set(written.ravel().tolist()), len(labels)):
                return written
        return labels

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        damaged = f"array {shown(name)} is damaged."
        with guarded(self.path, damaged), self._zip.open(self._members[name]) as stream:
            yield stream

    def _header(self, name: str, stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
        """Shape, order and type of an array, checked against the size of its member."""
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(stream)
        if dtype.hasobject:
            what = "Python objects, which can run code"
            raise self.error(f"array {name!r} holds {what}: it is not read.")
        claimed = int(np.prod([int(s) for s in shape], dtype=object)) * dtype.itemsize
        stored = self._members[name].file_size - stream.tell()
        if claimed != stored or min(shape, default=0) < 0:
            sizes = f"{claimed} bytes, but {stored} are stored"
            raise self.error(f"array {name!r} claims {sizes}: it is damaged.")
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

    def _blocks(self, n_rows: int) -> Iterator[Block]:
        if self.shape[0] == 0:
            raise self.error("X has no rows.")
        start = 0
        for X in self._rows(n_rows):
            n, labels = X.shape[0], None
            if self._labels is not None:
                some = self._labels[start : start + n]
                words = some.dtype.kind == "U"
                labels = some.ravel().tolist() if words else some.reshape(n, -1).astype(float)
            yield Block(X, labels=labels)
            start += n

    def _rows(self, n_rows: int) -> Iterator[Any]:
        starts = range(0, self.shape[0], n_rows)
        if self._prefix is not None:
            data, indices, indptr, _ = (self._array(f"{self._prefix}{part}") for part in _CSR)
            X = checked_csr(self.path, data.astype(self.options.dtype), indices, indptr, self.shape)
            for start in starts:
                yield X[start : start + n_rows] if len(starts) > 1 else X
            return
        with self._member("X") as stream:
            _, fortran, dtype = self._header("X", stream)
            if dtype.kind not in "biuf":
                raise self.error(f"array 'X' holds {dtype}, not plain numbers.")
            if not fortran:
                width = self.shape[1] * dtype.itemsize
                for start in starts:
                    n = min(n_rows, self.shape[0] - start)
                    rows = np.frombuffer(stream.read(n * width), dtype).reshape(n, -1)
                    yield rows.astype(self.options.dtype)
                return
        X = self._array("X")
        yield from (X[i : i + n_rows].astype(self.options.dtype) for i in starts)


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


# -- Parquet ---------------------------------------------------------------------------


def pyarrow_modules(path: str) -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet, or an error that says how to get them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise FileError(path, "Parquet needs pyarrow: pip install pyarrow.") from None
    return pyarrow, pyarrow.parquet


class Parquet(Table):
    """A Parquet file; see :func:`eigenkit.files.open_file`."""

    def __init__(self, origin: Origin, options: Reading) -> None:
        super().__init__(origin.path, options)
        self.arrow, parquet = pyarrow_modules(self.path)
        with guarded(self.path, _DAMAGED):
            self._file = parquet.ParquetFile(held(self, origin.seekable()))
            self._schema = self._file.schema_arrow
            self.names = list(self._schema.names)
        check_unique(self.path, self.names)
        self._assign()
        if options.words:
            self.take_labels_as_words()
        self._check()
        is_a, types, features = self.arrow.types, self._schema.types, self.roles.features
        here: dict[int, str | None] = {j: "date" for j in features if is_a.is_temporal(types[j])}
        here |= {j: "yes or no" for j in features if is_a.is_boolean(types[j])}
        kinds = self._settle_kinds(here)
        self.found = {"format": "parquet", "columns": len(self.names), "kinds": kinds}

    def _check(self) -> None:
        rows = self._file.metadata.num_rows
        if rows == 0:
            raise self.error("it holds no rows.")
        if not self.options.stream:
            claimed = 8.0 * rows * len(self.names)
            self.options.check_size(self.path, claimed, f"{rows} rows of {len(self.names)} columns")
        for j in self.roles.features:
            if not self._is_number(j):
                raise self._no_feature(j, f"it holds {self._schema.types[j]}, not numbers")

    def _check_kind(self, j: int, values: np.ndarray) -> None:
        """Refuse a column that does not hold what it held when the model was fitted."""
        kind, type_ = self.kinds[j], self._schema.types[j]
        is_date = self.arrow.types.is_temporal(type_)
        other = not np.all((values == 0) | (values == 1) | np.isnan(values))
        if (kind == "date" and not is_date) or (kind == "yes or no" and (is_date or other)):
            before = f"held {kind.replace('date', 'dates')} when the model was fitted"
            problem = f"it holds {type_}, but {before}: convert it."
            raise self.error(problem, column=self.names[j])

    def _is_number(self, j: int) -> bool:
        types, kind = self.arrow.types, self._schema.types[j]
        plain = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
        return bool(plain or types.is_decimal(kind) or types.is_temporal(kind))

    def _blocks(self, n_rows: int) -> Iterator[Block]:
        names = self.feature_names or (), self.text_names, self.label_names, self.kept_names
        wanted = list(dict.fromkeys(chain.from_iterable(names)))
        with guarded(self.path, _DAMAGED):
            for batch in self._file.iter_batches(batch_size=n_rows, columns=wanted):
                yield self._block(batch)

    def _block(self, batch: Any) -> Block:
        X = np.empty((batch.num_rows, len(self.roles.features)), self.options.dtype)
        for p, j in enumerate(self.roles.features):
            X[:, p] = self._numbers(batch.column(self.names[j]))
            if j in self.kinds:
                self._check_kind(j, X[:, p])
        text = {name: self._cells(batch, name) for name in self.text_names}
        kept = {name: self._cells(batch, name) for name in self.kept_names}
        return Block(X, text, self._labels(batch), kept)

    def _cells(self, batch: Any, name: str) -> list[str]:
        return [_text(value) for value in batch.column(name).to_pylist()]

    def _numbers(self, column: Any) -> np.ndarray:
        if self.arrow.types.is_temporal(column.type):  # days, as in tables of text
            column = column.cast(self.arrow.timestamp("us"), safe=False).cast(self.arrow.int64())
            return np.asarray(column.to_numpy(zero_copy_only=False) / _MICROSECONDS)
        column = column.cast(self.arrow.float64(), safe=False)
        return np.asarray(column.to_numpy(zero_copy_only=False))

    def _labels(self, batch: Any) -> Any:
        if not self.label_names:
            return None
        types, kinds = self.arrow.types, [self._schema.types[j] for j in self.roles.labels]
        if len(kinds) == 1 and types.is_integer(kinds[0]):
            written = self._cells(batch, self.label_names[0])
            if not self.numeric_labels:
                return written
            self.whole_labels |= set(filter(is_code, written))
        if all(self._is_number(j) for j in self.roles.labels):
            return np.column_stack([self._numbers(batch.column(n)) for n in self.label_names])
        if len(self.label_names) > 1:
            problem = f"{len(kinds)} label columns do not hold numbers: name one column."
            raise self.error(problem, column=self.label_names[0])
        cells = batch.column(self.label_names[0]).to_pylist()
        if types.is_list(kinds[0]):
            return [tuple(map(_text, cell or ())) for cell in cells]
        cells = [_text(cell) for cell in cells]
        separator = self.options.label_separator
        return cells if separator is None else [split_labels(c, separator) for c in cells]


def _text(value: Any) -> str:
    """A cell as text; bytes are taken for UTF-8."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return "" if value is None else composed(str(value))
