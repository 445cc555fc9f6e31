"""Which column of a table is what: features, text, labels, names of rows."""

from __future__ import annotations

import difflib
import fnmatch
import glob
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from eigenkit.files._cells import (
    example_of,
    fits,
    how_to_write,
    is_code,
    is_missing,
    is_number,
    looks_marked,
    marks_of,
    name_rows,
    repeats,
)
from eigenkit.files._common import Expected, Reading, Source, composed, listed
from eigenkit.files._errors import FileError
from eigenkit.shell import shown

_POSITION = re.compile(r"-?[0-9]{1,9}")


class Table(Source):
    """A file whose columns have names and roles."""

    names: list[str]
    kinds: dict[int, str]  # "date" or "yes or no", of features that do not hold numbers

    def _assign(self, found: Roles) -> None:
        self.roles = found
        if len(found.features) > self.options.max_features:
            raise self.error(
                f"it has {len(found.features)} columns of features: raise --max-features if "
                "that is right."
            )
        self.feature_names = self._named(found.features)
        self.label_names, self.text_names = self._named(found.labels), self._named(found.text)
        self.categorical_names = self._named(found.categorical)
        self.kept_names = self._named(found.kept)

    def _settle_kinds(self, here: dict[int, str | None]) -> dict[str, str | None]:
        """Settle which features hold dates or yes and no, as found here or known from the model.

        The kinds are returned by name, None for those of which no cell tells.
        """
        kinds, model = dict(here), self.options.expected
        known = {} if model is None else model.kinds or {}
        fitted = () if model is None or model.kinds is None else model.features or ()
        for j, name in zip(self.roles.features, fitted, strict=False):
            if name not in known and kinds.get(j) == "date":
                raise self.error(
                    "it holds dates, but held numbers when the model was fitted: write numbers.",
                    column=self.names[j],
                )
            kinds |= {j: known[name]} if known.get(name) else {}
        self.kinds = {j: kind for j, kind in kinds.items() if kind is not None}
        return {self.names[j]: kind for j, kind in kinds.items()}

    def _no_feature(self, j: int, why: str) -> FileError:
        """The refusal of a column as a feature."""
        ways = "name it with --labels, --categorical or --text, or leave it out with --ignore."
        if self.options.expected is not None:
            ways = "the model was fitted on numbers there."
        return self.error(f"{why}: {ways}", column=self.names[j])

    def _not_numbers(self, columns: dict[str, list[str]]) -> FileError:
        """The error about all columns that hold text, with what to add to the command."""
        names = list(columns)
        what, them = f"{len(names)} columns hold text ({listed(names)})", "them"
        if len(names) == 1:
            example = shown(example_of(columns[names[0]]))
            what, them = f"column {shown(names[0])} holds text ({example})", "it"
        hints = {name: how_to_write(example_of(cells)) for name, cells in columns.items()}
        marked = [n for n in names if not hints[n] and looks_marked(example_of(columns[n]))]
        marks = marks_of(*(cell for name in marked for cell in columns[name]))
        if marked and (marks or marked == names):
            example = shown(example_of(columns[marked[0]]))
            hint = f"if {example} is a number, give {marks or '--decimal or --thousands'}"
            hints |= dict.fromkeys(marked, hint)
            if marked == names:
                return self.error(f"{what}: {hint}.")
        if self.options.expected is not None:  # the columns of a model are fixed
            steps = dict.fromkeys(filter(None, hints.values())) or ["correct the file"]
            return self.error(f"{what}, but the model takes numbers: {', '.join(steps)}.")
        add = how_to_read({name: columns[name] for name in names if not hints[name]})
        steps = [*([f"add {add}"] if add else []), *dict.fromkeys(filter(None, hints.values()))]
        return self.error(
            f"{what}: {', '.join(steps)}, name {them} with --labels, or leave {them} out with "
            "--ignore."
        )

    def _named(self, columns: Iterable[int]) -> list[str]:
        return [self.names[j] for j in columns]


@dataclass(frozen=True)
class Roles:
    """Which column (by position) is what."""

    features: list[int]
    text: list[int]
    labels: list[int]
    index: int | None = None
    like_labels: tuple[str, ...] = ()  # features whose names suggest that they are labels, too
    kept: tuple[int, ...] = ()
    categorical: tuple[int, ...] = ()


def items_of(given: Iterable[str], names: Sequence[str]) -> list[str]:
    """The names in a list with commas; a column may have a comma in its name."""
    known, found = {*map(composed, names)}, list[str]()
    for item in given:
        parts = [item] if composed(item) in known else item.split(",")
        found += [part.strip() for part in parts if part.strip()]
    return found


def pick(path: Any, wanted: Iterable[str], names: Sequence[str], what: str) -> list[int]:
    """Positions of the columns named, by name, pattern or position."""
    found: list[int] = []
    names = [*map(composed, names)]
    for item in map(composed, wanted):
        found += [j for j in _matches(path, item, names, what) if j not in found]
    return found


def _matches(path: Any, item: str, names: Sequence[str], what: str) -> list[int]:
    if item in names:
        return [j for j, name in enumerate(names) if name == item]
    hits = [j for j, name in enumerate(names) if fnmatch.fnmatchcase(name, item)]
    if hits:
        return hits
    position = int(item) if _POSITION.fullmatch(item) else 0
    if 1 <= abs(position) <= len(names):
        return [position - 1 if position > 0 else len(names) + position]
    near = difflib.get_close_matches(item, names, n=1)
    hint = f"did you mean {shown(near[0])}?" if near else f"the columns are {listed(names)}."
    raise FileError(path, f"no column is named {shown(item)} ({what}): {hint}")


def are_names(first: Sequence[str], options: Reading) -> bool:
    """Whether the first row holds names that the user or the model knows.

    A number, such as a wavelength, counts if it cannot be a position or, with a model, if most of
    its columns are there.
    """
    model = options.expected
    if model is None:
        given = (options.labels, options.text, options.ignore, options.categorical)
        wanted = {*items_of(chain(*given), first), options.index, options.groups}
        return any(c in wanted and not is_missing(c) and not _POSITION.fullmatch(c) for c in first)
    known = [*(model.features or ()), *model.text]
    if any(c in {*known, *model.labels, *options.keep} and not is_number(c) for c in first):
        return True
    there = {*map(_spelt, first)}
    return 2 * len(there & {*map(_spelt, known)}) > len(known) and len(there) == len(first)


def _spelt(name: str) -> str:
    """A name, with numbers in one spelling: 1100.0 and 1100 are the same wavelength."""
    plain = is_number(name) and not is_missing(name) and not is_code(name)
    return f"{float(name):.17g}" if plain else composed(name)


def units_in(rows: Sequence[Sequence[str]], columns: Iterable[int], convert: Any) -> str:
    """The words in the first row of columns of numbers, which are probably units."""
    if len(rows) < 3:
        return ""
    cells = [rows[0][j] for j in columns if j < len(rows[0]) and not is_missing(rows[0][j])]
    return "" if any(fits(convert, cell) for cell in cells) else ", ".join(cells)


def how_to_read(columns: dict[str, list[str]]) -> str:
    """Options for columns of text; numbered names that repeat may be groups."""
    few = [name for name, cells in columns.items() if repeats(cells)]
    rows = [name for name, cells in columns.items() if name_rows(cells)]
    text = [name for name in columns if name not in (*few, *rows)]
    by_name = "--index" if len(rows) == 1 else "--ignore"
    options = [("--categorical", few), ("--text", text), (by_name, rows)]
    add = " ".join(f"{option} {_argument(names)}" for option, names in options if names)
    names = [n for n in few if all(any(map(str.isdigit, cell)) for cell in columns[n])]
    if not names:
        return add
    name = _argument(names[:1])
    return f"--groups {name} if rows of one {name} belong together, --index {name}, or {add}"


def _argument(names: list[str]) -> str:
    """Names of columns as a shell takes them, or COLUMNS if they are too long to read."""
    quoted = shlex.quote(",".join(names))
    return quoted if len(quoted) <= 200 else "COLUMNS"


def roles(path: Any, names: Sequence[str], header: bool, options: Reading) -> Roles:
    """Which column of a table plays which role."""
    if options.expected is not None:
        found = _expected_roles(path, names, header, options.expected)
        if options.truth and found.labels:
            _places(path, names, header, options.expected.labels, "labels")
        kept = tuple(pick(path, items_of(options.keep, names), names, "--keep"))
        return replace(found, labels=found.labels if options.truth else [], kept=kept)
    named, ignored = _named(path, names, options)
    labels, groups = named["labels"], named["groups"]
    if len(groups) > 1:
        raise FileError(path, f"--groups {options.groups} names {len(groups)} columns: give one.")
    for what, columns in named.items():
        for j in sorted(set(labels) & set(columns)) if what != "labels" else ():
            raise FileError(path, _twice(names[j], "labels", what))
    text, categorical = (
        [j for j in named[what] if j not in groups] for what in ("text", "categorical")
    )
    text += [j for j in categorical if j not in text]
    index = named["index"][0] if named["index"] else _nameless(names, header)
    index = None if index in {*labels, *text, *groups} else index
    taken = {*labels, *text, *groups, *ignored, index}
    features = [j for j in range(len(names)) if j not in taken]
    alike = _like_labels(names, labels, features, header)
    return Roles(features, text, labels, index, alike, tuple(groups), tuple(categorical))


def _named(
    path: Any, names: Sequence[str], options: Reading
) -> tuple[dict[str, list[int]], list[int]]:
    """The columns that every option names, and those that are left out.

    A name is more certain than a pattern, and of two patterns that of --ignore counts.
    """
    found: dict[str, list[int]] = {}
    ignored = items_of(options.ignore, names)
    left_out, left_out_by_name = (
        pick(path, ignored, names, "--ignore"),
        _by_name(path, ignored, names),
    )
    for what in ("labels", "text", "categorical", "groups", "index"):
        given = getattr(options, what) or ()
        items = [given] if isinstance(given, str) else items_of(given, names)
        columns, sure = pick(path, items, names, f"--{what}"), _by_name(path, items, names)
        for j in sorted(sure & left_out_by_name):
            raise FileError(path, _twice(names[j], what, "ignore"))
        found[what] = [j for j in columns if j in sure or j not in left_out]
        if columns and not found[what]:
            raise FileError(path, f"--ignore leaves out all columns that --{what} names.")
    return found, left_out


def _by_name(path: Any, items: Iterable[str], names: Sequence[str]) -> set[int]:
    """The columns given by name or position, and not by a pattern."""
    return set(pick(path, [i for i in items if i in names or not glob.has_magic(i)], names, ""))


def _twice(name: str, one: str, other: str) -> str:
    return f"column {shown(name)} is named by --{one} and by --{other}: choose one."


def _nameless(names: Sequence[str], header: bool) -> int | None:
    """A first column without a name, which names the rows."""
    nameless = header and names and names[0].strip() in ("", "Unnamed: 0")
    return 0 if nameless and len(names) > 1 else None


def _like_labels(
    names: Sequence[str], labels: list[int], features: list[int], header: bool
) -> tuple[str, ...]:
    """Features whose names begin like those of the labels (tag_a, tag_b), unless most do."""
    stems = {stem for j in labels if header and (stem := _stem(names[j]))}
    alike = tuple(names[j] for j in features if _stem(names[j]) in stems)
    return alike if 2 * len(alike) < len(features) else ()


def _stem(name: str) -> str:
    """The part that related names share: ``tag_`` of ``tag_red``, ``y`` of ``y3``."""
    found = re.match(r"(.+[_.:\-/])[^_.:\-/]+$|(\D+)\d+$", name)
    return (found[1] or found[2]) if found else ""


def _expected_roles(path: Any, names: Sequence[str], header: bool, model: Expected) -> Roles:
    wanted = [*(model.features or ()), *model.text]
    nameless = model.features is None or not header
    if nameless and len(names) == model.n_features + len(model.text):
        d = model.n_features
        return Roles(list(range(d)), list(range(d, len(names))), [])
    if model.features is None:
        raise FileError(
            path, f"it has {len(names)} columns, but the model was fitted on {model.n_features}."
        )
    place = _places(path, names, header, wanted, "columns that the model was fitted on")
    labels = _places_of(names, model.labels)
    return Roles(
        [place[n] for n in model.features], [place[n] for n in model.text], [*labels.values()]
    )


def _places(
    path: Any, names: Sequence[str], header: bool, wanted: Sequence[str], what: str
) -> dict[str, int]:
    """The positions of the columns wanted, all of which must be there."""
    found = _places_of(names, wanted)
    absent = [name for name in wanted if name not in found]
    if absent:
        hint = "" if header else "; if its first row holds names, give --header"
        if header and all(map(is_number, names)):
            hint = "; if its first row holds no names, give --no-header"
        raise FileError(
            path,
            f"{len(absent)} of the {len(wanted)} {what} are not there: {listed(absent)}; "
            f"it has {listed(names)}{hint}.",
        )
    return found


def _places_of(names: Sequence[str], wanted: Iterable[str]) -> dict[str, int]:
    """The positions of those columns wanted that are there."""
    there = {_spelt(name): j for j, name in enumerate(names)}
    there |= {composed(name): j for j, name in enumerate(names)}
    both = ((name, key) for name in wanted for key in (_spelt(name), composed(name)))
    return {name: there[key] for name, key in both if key in there}
