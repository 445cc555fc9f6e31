"""Sets of images from folders, and their terms and groups from tables.

Nothing outside the folder is read, nothing too large decoded.
"""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from unicodedata import normalize

import numpy as np

from eigenkit.exceptions import ImageWarning
from eigenkit.files import FileError
from eigenkit.files._cells import is_missing
from eigenkit.files._common import composed
from eigenkit.images.files import MAX_PIXELS, ImageSet, Picture, Sets, look_at, readable, tell_names
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_choice, shown

# What systems put into folders by themselves, and nobody means: archives of a Mac, previews.
LEFT_BY_SYSTEMS = ("__macosx", "@eadir", "thumbs.db", "desktop.ini", "$recycle.bin")
SEPARATORS = "|;,"
SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")


def read_sets(
    folder: str | os.PathLike[str],
    *,
    table: str | os.PathLike[str] | None = None,
    unreadable: str = "error",
    max_pixels: int = MAX_PIXELS,
) -> list[ImageSet]:
    """Sets of images from a folder of folders, or as a table groups files.

    ``folder/<set>/<file>`` is an image of a set, ``folder/<set>/<view>/<file>`` one of a view of
    it. PNG, JPEG, TIFF and WebP are read, whatever their names say, and other files are left
    alone with a warning; hidden ones, and what systems leave in folders (``__MACOSX``,
    ``Thumbs.db``), without. Headers are checked now, pixels are decoded when they are needed.

    Parameters
    ----------
    folder : path
    table : path, optional
        A CSV file with the columns ``file`` (relative to the folder), ``set`` and, if there are
        views, ``view``; the folder may then have any shape. The order of its rows does not
        count; a file may be in a set once, and a warning names files of several sets.
    unreadable : {"error", "skip"}
        Refuse a file that cannot be read, or leave it out with a warning.
    max_pixels : int
        Images with more pixels are refused before they are decoded.

    Returns
    -------
    list of ImageSet
        In the order of their names, their pictures by view and file.
    """
    check_choice("unreadable", unreadable, ("error", "skip"))
    root = Path(folder)
    if not root.is_dir():
        file = "it is a file: give the folder of images." if root.exists() else ""
        raise FileError(folder, file or "there is no such folder.")
    listed = _from_table(root, Path(table)) if table is not None else _from_folder(root)
    sets: dict[str, list[Picture]] = {}
    dark: list[str] = []
    for name, view, path in listed:
        picture = _checked(root, path, view, unreadable, max_pixels, dark)
        if picture is not None:
            sets.setdefault(name, []).append(picture)
    what = (
        "pictures of 16 bits without a pixel above 4095 become nearly black: if their pixels have "
        "12 bits, multiply them by 16"
    )
    tell_names(dark, what, stacklevel=3)
    if not sets:
        raise FileError(
            folder,
            "it holds no set of images: give a folder with a folder of images for every set, or a "
            "table that says which files are a set.",
        )
    return [ImageSet(name, tuple(sets[name])) for name in sorted(sets)]


def _checked(
    root: Path, path: Path, view: str, unreadable: str, max_pixels: int, dark: list[str]
) -> Picture | None:
    try:
        if _leads_out(root, path):
            raise FileError(path, "it is a link that leads out of the folder: copy it instead.")
        if os.path.exists(path) and not os.path.isfile(path):
            raise FileError(path, "it is not a file: remove it.")
        picture, is_dark = look_at(path, view, max_pixels, whole=unreadable == "skip")
    except FileError as error:
        if unreadable == "error":
            raise
        warnings.warn(f"left out: {error}", ImageWarning, stacklevel=3)
        return None
    if is_dark:
        dark.append(picture.name)
    return picture


def _from_folder(root: Path) -> Iterator[tuple[str, str, Path]]:
    strange: list[Path] = []
    names: dict[str, Path] = {}
    for child in _listed(root):
        if not child.is_dir():
            strange.append(child)
            continue
        name = readable(child.name)
        if names.setdefault(name, child) != child:
            raise FileError(child, f"there are two folders named {shown(name)}: rename one.")
        if _leads_out(root, child):
            yield name, "", child
        else:
            yield from ((name, view, path) for view, path in _of_set(root, child, strange))
    tell_names(
        [readable(path.name) for path in strange],
        "files in no folder of a set, below the folders of views or with other names than "
        f"{', '.join(SUFFIXES)} are left alone",
        stacklevel=4,
    )


def _of_set(root: Path, folder: Path, strange: list[Path]) -> list[tuple[str, Path]]:
    found = [*_images(root, folder, "", strange)]
    for view in _folders(root, folder):
        found += _images(root, view, readable(view.name), strange)
        for deeper in _folders(root, view):
            below = (path for path in sorted(deeper.rglob("*")) if path.is_file())
            strange += [p for p in below if all(map(_is_meant, p.relative_to(deeper).parts))]
    if not found:
        raise FileError(
            folder,
            "this set holds no image (PNG, JPEG, TIFF or WebP), nor do the folders of its views: "
            "remove the folder or fill it.",
        )
    return found


def _is_meant(name: str) -> bool:
    return not name.startswith(".") and name.lower() not in LEFT_BY_SYSTEMS


def _listed(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _is_meant(path.name))


def _folders(root: Path, folder: Path) -> list[Path]:
    return [path for path in _listed(folder) if path.is_dir() and not _leads_out(root, path)]


def _images(root: Path, folder: Path, view: str, strange: list[Path]) -> Iterator[tuple[str, Path]]:
    """Files with image names, and links to folders outside, which are refused unopened."""
    for path in _listed(folder):
        if path.is_dir():
            if _leads_out(root, path):
                yield view, path
        elif path.suffix.lower() in SUFFIXES:
            yield view, path
        else:
            strange.append(path)


def _leads_out(root: Path, path: Path) -> bool:
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _from_table(root: Path, table: Path) -> list[tuple[str, str, Path]]:
    """Set, view and file of every row, in the order of a folder, on which models depend."""
    names, rows = read_table(table, "file", "set")
    found: dict[tuple[str, str], tuple[str, str, Path]] = {}
    for line, cells in rows:
        row = dict(zip(names, cells, strict=False))
        if not row.get("file") or not row.get("set"):
            raise FileError(table, "a row needs a file and a set.", line=line)
        file, name = row["file"], composed(row["set"])
        # Accents are stored with their letters or apart.
        forms = (root / form for form in (file, composed(file), normalize("NFD", file)))
        path = next(filter(os.path.exists, forms), root / file)
        # What the table itself says; where links lead is a matter of the file.
        if not Path(os.path.abspath(path)).is_relative_to(os.path.abspath(root)):
            raise FileError(table, f"{shown(file)} is not in the folder.", line=line)
        place = os.path.relpath(path, root)
        if (name, place) in found:
            message = f"{shown(place)} is in the set {shown(name)} already: give it once."
            raise FileError(table, message, line=line)
        found[name, place] = name, composed(row.get("view") or ""), path
    times = Counter(place for _, place in found)
    shared = [place for place, n in times.items() if n > 1]
    tell_names(shared, "files are in more than one set", stacklevel=4)
    return sorted(found.values())


Rows = Iterator[tuple[int, list[str]]]  # numbers of lines, and cells
Given = dict[str, tuple[int, list[str]]]  # name of a set -> line and cells


def read_table(table: Path, *wanted: str) -> tuple[list[str], Rows]:
    """The columns of a CSV file, some of which must be there, and its rows."""
    rows = _read_rows(table)
    line, names = next(rows, (1, []))
    names = list(map(composed, names))
    for name in wanted:
        if name not in names:
            message = f"it has no column {name!r}: its columns are {names}."
            raise FileError(table, message, line=line)
    return names, rows


def _read_rows(table: Path) -> Rows:
    try:
        text = table.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(table, "it is not UTF-8: save it as UTF-8.") from error
    except OSError as error:
        raise FileError(table, f"it cannot be read ({error.strerror}).") from error
    mark = max(",;\t", key=text.split("\n", 1)[0].count)
    reader = csv.reader(io.StringIO(text), delimiter=mark)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise FileError(table, f"it is not a CSV file ({error}).", line=reader.line_num) from error


def read_labels(
    path: str | os.PathLike[str], sets: Sequence[ImageSet], separator: str | None = None
) -> tuple[Array, list[str]]:
    """The terms of sets, from a table with a column ``set``.

    The other columns are either terms with 0 or 1 in every row, or one column ``terms`` with the
    names of the terms of a set, between them ``|``, ``;`` or ``,``. An empty cell of ``terms``
    says that a set carries no term, and a warning counts these sets. ``NA``, ``NaN``, ``?`` and
    the like (or, in columns of 0 and 1, a row of empty cells) say that the terms are not known.

    Parameters
    ----------
    path : path
        A CSV file.
    sets : sequence of ImageSet
    separator : str, optional
        Between terms; by default the first of ``|``, ``;``, ``,`` that occurs.

    Returns
    -------
    Y : array of shape (n_sets, n_terms)
        0 and 1; rows of NaN for sets that the table does not name, or of which nothing is known.
    terms : list of str
    """
    table = Path(path)
    names, rows = read_table(table, "set")
    columns = [name for name in names if name != "set"]
    if len(set(names)) < len(names):
        raise FileError(table, "two columns have the same name: rename one.", line=1)
    if "terms" in columns and len(columns) > 1:
        other = next(name for name in columns if name != "terms")
        message = f"it has the column {shown(other)} beside 'terms': keep one of them."
        raise FileError(table, message, line=1)
    lists = columns == ["terms"]  # where an empty cell says something
    given = {
        name: (number, cells)
        for name, (number, cells) in _by_set(table, names, rows).items()
        if not all(is_missing(cell) and (cell or not lists) for cell in cells)
    }
    _compare_names(table, given, sets, "labels", "have no labels and are kept as unlabelled")
    if lists:
        found, columns = _from_lists(table, given, sets, separator)
    elif columns:
        there = [one.name for one in sets if one.name in given]
        found = {name: _as_truths(table, columns, *given[name]) for name in there}
    else:
        raise FileError(table, "it has no column of terms beside 'set'.")
    unknown = [np.nan] * len(columns)
    return np.array([found.get(one.name, unknown) for one in sets], dtype=np.float64), columns


def _by_set(table: Path, names: list[str], rows: Rows) -> Given:
    """The cells of every set, without its name."""
    found: Given = {}
    for line, cells in rows:
        if len(cells) != len(names):
            raise FileError(table, f"it has {len(cells)} cells, expected {len(names)}.", line=line)
        name = composed(cells.pop(names.index("set")))
        if name in found:
            raise FileError(table, f"set {shown(name)} has a row already.", line=line)
        found[name] = line, cells
    return found


def _as_truths(table: Path, columns: list[str], line: int, cells: list[str]) -> list[bool]:
    for column, cell in zip(columns, cells, strict=True):
        if cell not in ("0", "1"):
            message = f"{shown(cell)} is neither 0 nor 1."
            raise FileError(table, message, line=line, column=column)
    return [cell == "1" for cell in cells]


def read_groups(path: str | os.PathLike[str], sets: Sequence[ImageSet]) -> list[str]:
    """The group of every set, from a CSV file with the columns ``set`` and ``group``.

    A set without a row is a group of its own, and a warning says so.
    """
    table = Path(path)
    names, rows = read_table(table, "set", "group")
    given: dict[str, str] = {}
    for line, cells in rows:
        row = dict(zip(names, map(composed, cells), strict=False))
        name, group = row.get("set", ""), row.get("group", "")
        if not name or is_missing(group):
            raise FileError(table, "a row needs a set and a group.", line=line)
        if given.setdefault(name, group) != group:
            message = f"set {shown(name)} is in the group {shown(given[name])} already."
            raise FileError(table, message, line=line)
    if not given:
        raise FileError(table, "it names no set.")
    _compare_names(table, given, sets, "groups", "have no group and are groups of their own")
    return [f"group {given[s.name]}" if s.name in given else f"set {s.name}" for s in sets]


def _compare_names(
    table: Path, given: Collection[str], sets: Sets, rows: str, without: str
) -> None:
    """Compare the sets of a table with those of the folder: none in common is an error."""
    known = {one.name for one in sets}
    if given and known.isdisjoint(given):
        raise FileError(
            table,
            f"it names none of the sets: it has {shown(next(iter(given)))}, the folder "
            f"{shown(sets[0].name)}; give the folder whose folders are the sets.",
        )
    unknown = [name for name in given if name not in known]
    left = [one.name for one in sets if one.name not in given]
    tell_names(unknown, f"rows of the {rows} name sets without images", stacklevel=4)
    tell_names(left, f"sets {without}", stacklevel=4)


def _from_lists(
    table: Path, given: Given, sets: Sets, separator: str | None
) -> tuple[dict[str, list[bool]], list[str]]:
    text = "".join(cells[0] for _, cells in given.values())
    mark = separator or next((c for c in SEPARATORS if c in text), "|")
    carried: dict[str, set[str]] = {}
    for name, (line, cells) in given.items():
        carried[name] = {composed(part.strip()) for part in cells[0].split(mark)} - {""}
        unknown = next(filter(is_missing, carried[name]), None)
        if unknown is not None:
            message = f"{shown(unknown)} stands for a missing value: leave it out of the terms."
            raise FileError(table, message, line=line)
    terms = sorted(set().union(*carried.values()))
    if not terms:
        raise FileError(table, "it names no term.")
    bare = [one.name for one in sets if one.name in carried and not carried[one.name]]
    tell_names(bare, "sets carry no term, as their cells are empty", stacklevel=4)
    return {name: [term in own for term in terms] for name, own in carried.items()}, terms


def read_known(path: str | os.PathLike[str], sets: Sets, terms: Sequence[str]) -> Array:
    """The terms of sets in a model's order; a note names terms that the model does not know."""
    Y, names = read_labels(path, sets)
    unknown = [name for name in names if name not in terms]
    what = "terms of the labels are not known to the model and do not count"
    tell_names(unknown, what, stacklevel=3)
    place = {name: j for j, name in enumerate(names)}
    none = 0 * Y[:, 0]  # NaN stays NaN
    return np.column_stack([Y[:, place[term]] if term in place else none for term in terms])
