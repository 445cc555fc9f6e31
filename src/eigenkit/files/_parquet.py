"""Parquet, through pyarrow (the extra ``parquet``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from eigenkit.files._cells import is_code, split_labels
from eigenkit.files._common import Block, Reading, check_unique, composed
from eigenkit.files._errors import FileError
from eigenkit.files._roles import Table
from eigenkit.files._streams import Origin, guarded, held

_MICROSECONDS = 86400e6  # of a day
_DAMAGED = "the Parquet data are damaged."


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
        kinds = self._settle_kinds(self._kinds())
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

    def _kinds(self) -> dict[int, str | None]:
        types, kinds = self.arrow.types, self._schema.types
        dates = [j for j in self.roles.features if types.is_temporal(kinds[j])]
        truth = [j for j in self.roles.features if types.is_boolean(kinds[j])]
        return {**dict.fromkeys(dates, "date"), **dict.fromkeys(truth, "yes or no")}

    def _check_kind(self, j: int, values: np.ndarray) -> None:
        """Refuse a column that does not hold what it held when the model was fitted."""
        kind, type_ = self.kinds[j], self._schema.types[j]
        is_date = self.arrow.types.is_temporal(type_)
        other = not np.all((values == 0) | (values == 1) | np.isnan(values))
        if (kind == "date" and not is_date) or (kind == "yes or no" and (is_date or other)):
            raise self.error(
                f"it holds {type_}, but held {kind.replace('date', 'dates')} when the model was "
                "fitted: convert it.",
                column=self.names[j],
            )

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
        return np.asarray(
            column.cast(self.arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        )

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
            raise self.error(
                f"{len(self.label_names)} label columns do not hold numbers: name one column.",
                column=self.label_names[0],
            )
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
