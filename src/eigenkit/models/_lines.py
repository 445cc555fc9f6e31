"""Which files grow by lines, so that they can be followed."""

from __future__ import annotations

import re

from eigenkit.files import FileError

# How files begin that do not grow line by line.
_OTHERS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"PK\x03\x04": "NPZ",
    b"PAR1": "Parquet",
}
# How ARFF files do: comments and blank lines may come first.
_ARFF = re.compile(rb"([^\S\n]*(%.*)?\n)*[^\S\n]*@relation", re.IGNORECASE)
# Bytes in which that shows.
_HEAD = 4096


def check_lines(path: str, text: bytes | None = None) -> None:
    """Refuse what is not lines of text, by how it begins."""
    if text is None:
        with open(path, "rb") as stream:
            text = stream.read(_HEAD)
    for begins, kind in _OTHERS.items():
        if text.startswith(begins):
            raise not_lines(path, kind)
    if _ARFF.match(text[:_HEAD]):
        raise not_lines(path, "ARFF")


def not_lines(path: str, kind: str) -> FileError:
    """The error that says so."""
    return FileError(
        path,
        f"{kind} files cannot be followed: give a text file that grows by lines (CSV, TSV or "
        "svmlight, not compressed), or fit this one.",
    )
