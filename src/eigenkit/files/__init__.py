"""Data files: tables, sparse files and archives in; tables and archives out.

Readers give blocks of rows (:class:`Block`), so that a file larger than memory can be used
where the method can use blocks; :func:`read` puts them together. Nothing here runs code from
a file, and sizes are checked before memory is taken.
"""

from __future__ import annotations

from eigenkit.files._common import Block, Expected, Reading, Source, size
from eigenkit.files._errors import FileError, TooLargeError
from eigenkit.files._reading import FORMATS, Data, open_file, read
from eigenkit.files._targets import Target, target_of
from eigenkit.files._writing import atomic, check_output, output_format, write_table

__all__ = [
    "FORMATS",
    "Block",
    "Data",
    "Expected",
    "FileError",
    "Reading",
    "Source",
    "Target",
    "TooLargeError",
    "atomic",
    "check_output",
    "open_file",
    "output_format",
    "read",
    "size",
    "target_of",
    "write_table",
]
