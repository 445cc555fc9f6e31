"""Bytes and lines of files: compression, standard input, encodings, and limits."""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import io
import os
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from eigenkit.files._common import Reading, composed, size
from eigenkit.files._errors import FileError
from eigenkit.numerics.compiled import after_lines

# The longest line that is read, in characters: a million numbers fit.
LONGEST_LINE = 64 * 2**20
_CHUNK = 2**20
_HEAD = 256 * 1024
# Marks at the beginning of a text, those of 32 bits first: one of them begins with one of 16.
_BOMS = {codecs.BOM_UTF8: "utf-8-sig"}
_BOMS |= dict.fromkeys((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "utf-32")
_BOMS |= dict.fromkeys((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "utf-16")
# Encodings that contain ASCII unchanged.
_HAVE_ASCII = {"ascii", "utf-8", "utf-8-sig", "cp1252", "latin-1", "iso8859-1"}
# Bytes that are not text become this one if bad lines are left out and not refused.
NO_TEXT = "\0"
codecs.register_error("eigenkit.no_text", lambda error: (NO_TEXT, cast(Any, error).end))
# The first bytes of files that are not text.
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"PK\x03\x04": "npz", b"PAR1": "parquet"}


class Origin:
    """A file, standard input kept in a temporary file, or a ``text``: to be opened repeatedly."""

    errors = "strict"  # what decoding does about bytes that are not text

    def __init__(self, path: str, max_bytes: int, text: bytes | None = None) -> None:
        self._kept: IO[bytes] | None = None
        self.path, self.max_bytes, self._text = path, max_bytes, text
        self.is_file = text is None
        if self.is_file and path == "-":
            self._kept = held(self, _spool(path, sys.stdin.buffer, max_bytes))
        elif self.is_file:
            if Path(path).is_dir():
                raise FileError(path, "this is a folder: give a file.")
            if not Path(path).exists():
                raise FileError(path, "there is no such file.")
        with self.raw() as stream:
            magic = stream.read(4)
            self.n_bytes = stream.seek(0, io.SEEK_END)
        if not magic:
            raise FileError(path, "the file is empty.")
        kind = begins_as(magic)
        self.compression = kind if kind in ("gzip", "bz2") else None

    def raw(self) -> IO[bytes]:
        """The bytes as they are stored."""
        if self._text is not None:
            return io.BytesIO(self._text)
        if self._kept is not None:
            self._kept.seek(0)
            return os.fdopen(os.dup(self._kept.fileno()), "rb")
        return open(self.path, "rb")

    def open(self) -> IO[bytes]:
        """The bytes, decompressed."""
        stream = self.raw()
        if self.compression == "gzip":
            return cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
        if self.compression == "bz2":
            return cast("IO[bytes]", bz2.BZ2File(stream))
        return stream

    def seekable(self) -> IO[bytes]:
        """The bytes, decompressed, in a stream that can be read in any order."""
        if self.compression is None:
            return self.raw()
        with self.open() as stream:
            return _spool(self.path, stream, self.max_bytes)

    def head(self) -> bytes:
        """The first bytes, decompressed."""
        with self.open() as stream:
            return bytes(self._read(stream, _HEAD))

    def share(self, n_bytes: int) -> float:
        """The share of the file that this many bytes are; 0 if it is compressed."""
        return 0.0 if self.compression else min(n_bytes / self.n_bytes, 1.0)

    def _read(self, stream: Any, n: int) -> Any:
        try:
            return stream.read(n)
        except (EOFError, zlib.error, OSError) as error:
            # An OSError of gzip or bz2 has no number, unlike one of the disk.
            if isinstance(error, OSError) and (not self.compression or error.errno is not None):
                raise
            raise FileError(self.path, f"the {self.compression} data are damaged.") from error
        except UnicodeError as error:
            what = f"it is not in {getattr(error, 'encoding', 'its encoding')}"
            remedy = "name another with --encoding (latin-1)."
            raise FileError(self.path, f"{what}: {remedy}") from error

    def text(self, encoding: str) -> Iterator[bytes]:
        """The text in UTF-8, in pieces that end with a line; line ends become ``\\n``.

        Every letter is one character, so that a name has one spelling.
        """
        with self.open() as binary:
            for piece in self._pieces(_Decoded(binary, encoding, self.errors)):
                yield piece if piece.isascii() else composed(piece.decode()).encode()

    def bytes_(self) -> Iterator[bytes]:
        """The bytes in pieces that end with a line."""
        with self.open() as stream:
            yield from self._pieces(stream)

    def _pieces(self, stream: Any) -> Iterator[bytes]:
        rest = b""
        while piece := self._read(stream, _CHUNK):
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield b"".join([rest, memoryview(piece)[:cut]])
                rest = piece[cut:]
            else:
                rest += piece
            if len(rest) > LONGEST_LINE:
                longest = size(LONGEST_LINE)
                what = f"it holds a line of more than {longest}: this is not a table."
                raise FileError(self.path, what)
        if rest:
            yield rest


class _Decoded:
    """Text in UTF-8 from bytes in any encoding, in large pieces.

    Most files are ASCII for most of their length, which is UTF-8 as it stands.
    """

    def __init__(self, binary: IO[bytes], encoding: str, errors: str) -> None:
        self._binary = binary
        decoder = codecs.getincrementaldecoder(encoding)(errors)
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._has_ascii = encoding in _HAVE_ASCII

    def read(self, n: int) -> bytes:
        """The text of the next bytes: at least one character, until they end."""
        while piece := self._binary.read(n):
            nothing_held = self._decoder.getstate() == (b"", 0)  # of earlier bytes
            if self._has_ascii and nothing_held and piece.isascii() and b"\r" not in piece:
                return piece
            if text := self._decoder.decode(piece):
                return text.encode()
        return self._decoder.decode(b"", final=True).encode()


class Lines:
    """Text in whole lines, as UTF-8, with their numbers; blocks never cut a quoted cell in two."""

    def __init__(self, origin: Origin, encoding: str) -> None:
        self._pieces = origin.text(encoding)
        self.number, self._piece, self._at = 0, b"", 0

    def take(self, n: int) -> tuple[int, bytes]:
        """The number of the first line, and about ``n`` lines."""
        first, last = self.number + 1, self.number + n
        parts: list[bytes] = []
        quotes = 0
        # An odd number of quotes: the last cell goes on in the next line.
        while self.number < last or (quotes % 2 and self.number < last + n + 1000):
            part = self._part(max(last - self.number, 1))
            if not part:
                break
            parts.append(part)
            quotes += part.count(b'"') if b'"' in part else 0  # most have none
        return first, b"".join(parts)

    def skip(self, n: int) -> None:
        """Go on after line ``n``, whatever quotes there are before."""
        while self.number < n and self._part(n - self.number):
            pass

    def _part(self, n: int) -> bytes:
        """At most ``n`` lines of the current piece."""
        if self._at == len(self._piece):
            self._piece, self._at = next(self._pieces, b""), 0
        begin = self._at
        count, self._at = after_lines(self._piece, begin, len(self._piece), n)
        self.number += count
        return self._piece[begin : self._at]


def split_lines(text: bytes) -> list[str]:
    """The lines, which end only at line feeds: str.splitlines knows eight more characters."""
    return list(io.StringIO(text.decode()))


def without_lines(text: bytes, mark: str | None) -> bytes:
    """The text, with empty lines in place of those that begin with a mark, if there is one."""
    if not mark:
        return text
    begin = mark.encode(errors="surrogateescape")
    return b"".join(b"\n" if line.startswith(begin) else line for line in io.BytesIO(text))


def held(owner: Any, stream: IO[bytes]) -> IO[bytes]:
    """A stream that is closed when its owner is deleted, even after an error."""
    weakref.finalize(owner, stream.close)
    return stream


def _spool(path: str, stream: Any, max_bytes: int) -> IO[bytes]:
    """Copy a stream to a temporary file without a name, which vanishes with its handle."""
    kept = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the source
    left = max_bytes
    while left > 0 and (piece := stream.read(min(left, _CHUNK))):
        kept.write(piece)
        left -= len(piece)
    if left <= 0 and stream.read(1):
        kept.close()
        what = f"it expands to more than {size(max_bytes)}"
        raise FileError(path, f"{what}: raise --max-memory if that is right.")
    kept.seek(0)
    return kept


def begins_as(head: bytes) -> str | None:
    """The kind of a file that is not text, by its first bytes."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def guess_encoding(origin: Origin, options: Reading) -> str:
    """The encoding that was asked for, or that the first bytes suggest."""
    if options.encoding is not None:
        try:
            return codecs.lookup(options.encoding).name
        except LookupError:
            what = f"encoding {options.encoding!r} is not known"
            raise FileError(origin.path, f"{what}: try utf-8 or latin-1.") from None
    head = origin.head()
    for mark, name in _BOMS.items():
        if head.startswith(mark):
            return name
    told = options.expected.told.get("encoding") if options.expected else None
    if told is not None and (head.isascii() or not _is_utf8(head)):
        return codecs.lookup(told).name
    first = head if origin.errors == "strict" else head.partition(b"\n")[0]
    if origin.is_file and b"\x00" in first:
        what = "it holds binary data, not text"
        raise FileError(origin.path, f"{what}: name its format with --format.")
    if _is_utf8(head):
        return "utf-8"
    return "cp1252" if not set(head) & {0x81, 0x8D, 0x8F, 0x90, 0x9D} else "latin-1"


def _is_utf8(head: bytes) -> bool:
    """Whether most lines that show their encoding are in UTF-8: a few may be damaged."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        lines = [line for line in head.split(b"\n") if not line.isascii()]
        fine = sum(line.decode(errors="ignore").encode() == line for line in lines)
        return 2 * fine >= len(lines)
    return True


@contextmanager
def guarded(path: Any, problem: str) -> Iterator[None]:
    """Turn whatever another package's reader raises on a damaged file into one sentence of ours.

    The list is long: bad zip files, unknown compression, passwords, headers that do not parse,
    absurd sizes. Errors of the disk pass through unchanged.
    """
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        # A seek to a negative offset (EINVAL) means that the file is damaged.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise FileError(path, problem) from error
