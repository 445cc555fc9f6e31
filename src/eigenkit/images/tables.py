"""Tables of files, terms and groups: CSV files with the numbers of their lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from eigenkit.files import FileError


def read_rows(table: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the numbers of their lines."""
    try:
        text = table.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(table, "it is not UTF-8: save it as UTF-8.") from error
    except OSError as error:
        raise FileError(table, f"it cannot be read ({error.strerror}).") from error
    first = text.split("\n", 1)[0]
    mark = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=mark)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise FileError(table, f"it is not a CSV file ({error}).", line=reader.line_num) from error
