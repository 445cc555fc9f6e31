"""A file of one JSON tree and some arrays, with a checksum over all of it.

    8 bytes    EIGENKIT
    8 bytes    length of the JSON text, little endian
    n bytes    JSON text: {"format": 1, "arrays": [[dtype, shape], ...], "tree": ...}
    arrays     one after the other, each at a multiple of 64 bytes, little endian, C order
    32 bytes   SHA-256 of everything before

Nothing is compressed, so a file is as large as what it holds: all sizes are known, and must
add up to the length of the file, before memory is allocated. Reading runs no code.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from eigenkit.files import FileError

MAGIC = b"EIGENKIT"
FORMAT = 1
_ALIGN = 64
_DIGEST = 32
_LONGEST_TEXT = 2**28
_DTYPES = {"<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "|u1", "<u2", "<u4", "<u8", "|b1"}


def write_container(stream: IO[bytes], tree: Any, arrays: list[np.ndarray]) -> None:
    """Write a tree and its arrays."""
    plain = [np.asarray(a, dtype=a.dtype.newbyteorder("<"), order="C") for a in arrays]
    described = [[a.dtype.str, list(a.shape)] for a in plain]
    strange = [d for d, _ in described if d not in _DTYPES]
    if strange:
        raise TypeError(f"an array of {strange[0]} cannot be stored in a model file")
    if not all(_finite(a) for a in plain):
        raise ValueError("an array of the model holds numbers that are not finite: it is not kept.")
    head = {"format": FORMAT, "arrays": described, "tree": tree}
    text = json.dumps(head, allow_nan=False, separators=(",", ":")).encode("ascii")
    digest = hashlib.sha256()
    for piece in _pieces(text, plain):
        stream.write(piece)
        digest.update(piece)
    stream.write(digest.digest())


def _pieces(text: bytes, arrays: list[np.ndarray]) -> Iterator[bytes | memoryview]:
    yield MAGIC + len(text).to_bytes(8, "little") + text
    position = 16 + len(text)
    for array in arrays:
        yield bytes(-position % _ALIGN)
        position += -position % _ALIGN + array.nbytes
        yield array.tobytes()


def read_container(path: str, max_bytes: int) -> tuple[Any, list[np.ndarray]]:
    """The tree and the arrays, after all checks that need no knowledge of their meaning."""
    try:
        with open(path, "rb") as stream:
            length = os.fstat(stream.fileno()).st_size
            _check_begin(path, stream.read(16), length, max_bytes)
            stream.seek(0)
            data = stream.read(length)
    except IsADirectoryError:
        raise FileError(path, "this is a folder: give a model file.") from None
    except FileNotFoundError:
        standard = "a model is read from a file: name one."
        raise FileError(path, standard if path == "-" else "there is no such file.") from None
    if hashlib.sha256(memoryview(data)[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise damaged(path, "its checksum is wrong")
    return _parse(path, data)


def damaged(path: str, why: str) -> FileError:
    """The refusal of a model file that is not as it was written."""
    return FileError(path, f"the model file is damaged or was tampered with: {why}.")


def _check_begin(path: str, begin: bytes, length: int, max_bytes: int) -> None:
    if begin[:8] != MAGIC:
        pickled = begin[:1] == b"\x80"
        what = "it is a Python pickle, which can run code: it is not read"
        other = "it is not a model file of eigenkit: give one that fit wrote"
        raise FileError(path, f"{what if pickled else other}.")
    if length > max_bytes:
        raise FileError(path, f"it holds {length} bytes, the limit is {max_bytes}.")
    text = int.from_bytes(begin[8:16], "little")
    if len(begin) < 16 or text > _LONGEST_TEXT or 16 + text + _DIGEST > length:
        raise damaged(path, "it is shorter than it says")


def _parse(path: str, data: bytes) -> tuple[Any, list[np.ndarray]]:
    n = int.from_bytes(data[8:16], "little")
    try:
        head = json.loads(data[16 : 16 + n], parse_constant=_no_number)
        version, described, tree = head["format"], head["arrays"], head["tree"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(path, "its description cannot be read") from error
    if version != FORMAT:
        raise FileError(
            path,
            f"its format is {version!r}, this version of eigenkit reads {FORMAT}: "
            "use a later eigenkit.",
        )
    return tree, _arrays(path, data, 16 + n, described)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _finite(array: np.ndarray) -> bool:
    """Whether no number is NaN or inf; -inf is the logarithm of the share of an empty class."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return True
    return bool(np.all(array < np.inf))


def _arrays(path: str, data: bytes, position: int, described: Any) -> list[np.ndarray]:
    arrays = []
    for dtype, shape in _checked(path, described):
        position += -position % _ALIGN
        count = math.prod(shape)
        if position + count * dtype.itemsize > len(data) - _DIGEST:
            raise damaged(path, "an array is longer than the file")
        flat = np.frombuffer(data, dtype, count, position)
        if not _finite(flat):
            raise damaged(path, "an array holds numbers that are not finite")
        arrays.append(flat.reshape(shape).astype(dtype.newbyteorder("=")))
        position += count * dtype.itemsize
    if position != len(data) - _DIGEST:
        raise damaged(path, "its parts do not add up to its length")
    return arrays


def _checked(path: str, described: Any) -> list[tuple[np.dtype, tuple[int, ...]]]:
    found = []
    items: list[Any] = described if isinstance(described, list) else [None]
    for item in items:
        fine = isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)
        fine = fine and item[0] in _DTYPES and isinstance(item[1], list) and len(item[1]) <= 8
        if not fine or not all(type(s) is int and 0 <= s < 2**48 for s in item[1]):
            raise damaged(path, "an array has no sensible description")
        found.append((np.dtype(item[0]), tuple(item[1])))
    return found
