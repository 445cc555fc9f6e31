"""Writing files: all or nothing, and one writer at a time.

A file is written beside its place under a temporary name, synced, and renamed: at any time the old
file or the new one is there, never half of one.
"""

from __future__ import annotations

import csv
import glob
import io
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from eigenkit.files._errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# More seconds than pass between making a temporary file and locking it.
_YOUNG = 60.0
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_output(path: str | Path, force: bool = False) -> Path:
    """Refuse an output that exists, or a folder that does not, before any work is done."""
    place = Path(path)
    if str(path) == "-":
        raise FileError("standard output", "this output needs a file: name one.")
    if place.is_dir():
        raise FileError(path, "this is a folder: name a file.")
    _check_replaceable(place)
    if place.exists() and not force:
        raise FileError(path, "the file exists: give --force to replace it.")
    if not place.absolute().parent.is_dir():
        raise FileError(path, "its folder does not exist: make it first.")
    if not os.access(place.absolute().parent, os.W_OK):
        raise FileError(path, "its folder is not writable: name another place.")
    return place


def _check_replaceable(place: Path) -> None:
    """Refuse a device, a pipe or a socket, which a file would take the place of."""
    if place.exists() and not place.is_file():
        raise FileError(place, "this is a device or a pipe, not a file: name another place.")


@contextmanager
def atomic(path: str | Path) -> Iterator[IO[bytes]]:
    """A binary file that takes its place at the end, if all went well."""
    place = Path(path).absolute()
    if not place.parent.is_dir():
        raise FileError(path, f"there is no folder {place.parent}: make it first.")
    _check_replaceable(place)
    _remove_stale(place)
    # The name is known before the file exists, so that it is removed whenever an interrupt comes.
    name = place.with_name(f".{place.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with open(name, "xb", opener=partial(os.open, mode=0o600)) as stream:
            lock(stream.fileno())
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _mode(place))
        os.replace(name, place)
        _sync_folder(place.parent)
    except BaseException as error:
        with suppress(OSError):
            name.unlink()
        # Others are about files that are read meanwhile.
        if isinstance(error, OSError) and error.filename in (None, str(name)):
            raise FileError(path, f"it cannot be written ({error.strerror or error}).") from error
        raise


def lock(handle: int) -> bool | None:
    """Lock a file until it is closed or its process ends; False where another one holds it, or the
    file system has no locks, None where no file can be locked (Windows).
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_stale(place: Path) -> None:
    """Remove what killed saves of this file have left.

    A save holds a lock on its temporary file: one that can be locked belongs to nobody, unless
    it was made only now, hence the age.
    """
    for left in place.parent.glob(f".{glob.escape(place.name[:100])}.*.part"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime < _YOUNG:
                continue
            with left.open("rb") as stream:
                if lock(stream.fileno()):
                    left.unlink()


def _mode(place: Path) -> int:
    """The permissions of the file to be replaced, or those of any new file."""
    with suppress(OSError):
        return place.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every system can open a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def output_format(path: str | Path) -> str:
    """The format that the name of an output asks for."""
    suffix = Path(path).suffix.lower()
    known = {".csv": "csv", ".tsv": "tsv", ".txt": "csv", ".npz": "npz", ".parquet": "parquet"}
    if str(path) != "-" and suffix not in known:
        raise FileError(path, "its name must end in .csv, .tsv, .npz or .parquet.")
    return known.get(suffix, "csv")


def safe_cell(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula, with an apostrophe before it.

    >>> safe_cell("=1+1"), safe_cell("-5"), safe_cell("a=b"), safe_cell(-5)
    ("'=1+1", '-5', 'a=b', -5)
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return "'" + value
    return value


def write_table(
    stream: IO[bytes],
    kind: str,
    names: Sequence[str],
    blocks: Iterable[Sequence[Any]],
    keep_formulas: bool = False,
    n_labels: int = 0,
) -> int:
    """Write blocks of columns, arrays or lists, as a table; return how many rows there were.

    CSV and TSV are written block by block, in which ``keep_formulas`` leaves text that begins with
    = + - @ as it is. The last ``n_labels`` columns are labels, which NPZ keeps apart from X.
    """
    mark = {"csv": ",", "tsv": "\t"}.get(kind)
    if mark is not None:
        return _write_delimited(stream, mark, names, blocks, keep_formulas)
    parts = list(blocks)
    columns = [_joined([part[j] for part in parts]) for j in range(len(names))]
    if kind == "npz":
        _write_npz(stream, names, columns, n_labels)
    else:
        from eigenkit.files._binary import pyarrow_modules

        arrow, parquet = pyarrow_modules("the output")
        table = arrow.table([arrow.array(column) for column in columns], names=list(names))
        parquet.write_table(table, stream)
    return len(columns[0]) if columns else 0


def _write_delimited(
    stream: IO[bytes], mark: str, names: Sequence[str], blocks: Any, keep: bool
) -> int:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=mark, lineterminator="\n")
    writer.writerow(names if keep else map(safe_cell, names))
    n = 0
    try:
        for block in blocks:
            columns = [A.tolist() if isinstance(A, np.ndarray) else list(A) for A in block]
            columns = columns if keep else [[*map(safe_cell, cells)] for cells in columns]
            writer.writerows(zip(*columns, strict=True))
            text.flush()
            n += len(columns[0])
    finally:
        text.detach()  # otherwise it would close the stream
    return n


def _joined(parts: list[Any]) -> Any:
    if all(isinstance(part, np.ndarray) and part.dtype.kind in "biuf" for part in parts):
        return np.concatenate(parts)
    return [value for part in parts for value in part]


def _write_npz(stream: IO[bytes], names: Sequence[str], columns: list[Any], n_labels: int) -> None:
    """Numbers as one matrix ``X`` with ``feature_names``, text as arrays of strings.

    Labels that are numbers: one column of them as ``y``, several as ``Y`` with ``label_names``.
    """
    text: dict[str, Any] = {}
    numbers: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    for i, (name, column) in enumerate(zip(names, columns, strict=True)):
        if isinstance(column, np.ndarray):
            numbers[i >= len(columns) - n_labels][name] = column
        else:
            text[name] = np.array([str(v) for v in column], dtype=str)
    X, Y = numbers
    arrays: dict[str, Any] = {}
    if X:
        arrays |= {"X": np.column_stack(list(X.values())), "feature_names": np.array(list(X))}
    if len(Y) == 1:
        (arrays["y"],) = Y.values()
    elif Y:
        arrays |= {"Y": np.column_stack(list(Y.values())), "label_names": np.array(list(Y))}
    for name in {*arrays, "file"} & {*text}:  # numpy has an argument "file"
        raise FileError(
            "the output", f"NPZ has no place for a column named {name!r}: write CSV or Parquet."
        )
    np.savez_compressed(stream, **text, **arrays)


class Lock(AbstractContextManager["Lock"]):
    """The right to write a file, from now until :meth:`release` or the end of the process.

    The system itself holds the lock and releases it when the process ends, however that happens:
    a lock file that a killed process left behind locks nothing. Where files cannot be locked
    (Windows), nothing is protected.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        place = Path(path).absolute()
        self._place = place.with_name(f".{place.name[:100]}.lock")
        self._handle: int | None = self._taken()

    def _taken(self) -> int:
        while True:
            try:
                handle = os.open(self._place, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                raise FileError(self._path, f"it cannot be locked ({error.strerror}).") from error
            if lock(handle) is False:
                holder = os.read(handle, 20).decode("ascii", "replace").strip()
                os.close(handle)
                who = f"another process ({holder})" if holder else "another process"
                remedy = "end that one first, or name another file."
                raise FileError(self._path, f"{who} is writing it: {remedy}")
            same = False
            with suppress(OSError):  # its last holder may just have removed it
                same = os.path.samestat(os.fstat(handle), os.stat(self._place))
            if same:
                os.truncate(handle, 0)
                os.write(handle, str(os.getpid()).encode("ascii"))
                return handle
            os.close(handle)

    @property
    def held(self) -> bool:
        """Whether it has not been released."""
        return self._handle is not None

    def release(self) -> None:
        """Let others write."""
        if self._handle is not None:
            with suppress(OSError):
                self._place.unlink()
            os.close(self._handle)
            self._handle = None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.release()
