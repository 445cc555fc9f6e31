"""Which column of a table is what: features, text, labels, names of rows."""

from __future__ import annotations

import difflib
import fnmatch
import glob
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, filterfalse

from eigenkit.files import _cells
from eigenkit.files._common import Expected, Reading, Source, composed, listed
from eigenkit.files._errors import FileError
from eigenkit.shell import shown

_POSITION = re.compile(r"-?[0-9]{1,9}")


class Table(Source):
    """A file whose columns have names and roles."""

    names: list[str]
    header = True  # whether the file names its columns
    kinds: dict[int, str]  # "date" or "yes or no", of features that do not hold numbers

    def _assign(self) -> None:
        """Find out which column plays which role."""
        model = self.options.expected
        self.roles = found = self._roles_given() if model is None else self._roles_in(model)
        if len(found.features) > self.options.max_features:
            what = f"it has {len(found.features)} columns of features"
            raise self.error(f"{what}: raise --max-features if that is right.")
        columns = found.features, found.labels, found.text, found.categorical, found.kept
        named = ([self.names[j] for j in each] for each in columns)
        self.feature_names, self.label_names, self.text_names, *others = named
        self.categorical_names, self.kept_names = others

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
        # With other marks than ours, cells that look like numbers to us may be those at fault.
        strange = {n: next(filterfalse(_cells.is_number, columns[n]), columns[n][0]) for n in names}
        what, them = f"{len(names)} columns hold text ({listed(names)})", "them"
        if len(names) == 1:
            what, them = f"column {shown(names[0])} holds text ({shown(strange[names[0]])})", "it"
        hints = {name: _cells.how_to_write(cell) for name, cell in strange.items()}
        marked = [n for n in names if not hints[n] and _cells.MARKED.fullmatch(strange[n].strip())]
        marks = _cells.marks_of(*(cell for name in marked for cell in columns[name]))
        if marked and (marks or marked == names):
            example, options = shown(strange[marked[0]]), marks or "--decimal or --thousands"
            hint = f"if {example} is a number, give {options}"
            hints |= dict.fromkeys(marked, hint)
            if marked == names:
                return self.error(f"{what}: {hint}.")
        if self.options.expected is not None:  # the columns of a model are fixed
            steps = dict.fromkeys(filter(None, hints.values())) or ["correct the file"]
            return self.error(f"{what}, but the model takes numbers: {', '.join(steps)}.")
        add = how_to_read({name: columns[name] for name in names if not hints[name]})
        steps = [*([f"add {add}"] if add else []), *dict.fromkeys(filter(None, hints.values()))]
        steps += [f"name {them} with --labels", f"or leave {them} out with --ignore."]
        return self.error(f"{what}: {', '.join(steps)}")

    def _roles_given(self) -> Roles:
        """The roles that the options say, and what is left as features."""
        named, ignored = self._named()
        labels, groups = named["labels"], named["groups"]
        if len(groups) > 1:
            named_so = f"--groups {self.options.groups} names {len(groups)} columns"
            raise self.error(f"{named_so}: give one.")
        for what, columns in named.items():
            for j in sorted(set(labels) & set(columns)) if what != "labels" else ():
                raise self._twice(j, "labels", what)
        text, categorical = (
            [j for j in named[what] if j not in groups] for what in ("text", "categorical")
        )
        text += [j for j in categorical if j not in text]
        # A first column without a name names the rows.
        nameless = self.header and len(self.names) > 1
        nameless = nameless and self.names[0].strip() in ("", "Unnamed: 0")
        index = named["index"][0] if named["index"] else 0 if nameless else None
        index = None if index in {*labels, *text, *groups} else index
        taken = {*labels, *text, *groups, *ignored, index}
        features = [j for j in range(len(self.names)) if j not in taken]
        # Features whose names begin like those of the labels (tag_a, tag_b), unless most do.
        stems = {stem for j in labels if self.header and (stem := _stem(self.names[j]))}
        alike = tuple(self.names[j] for j in features if _stem(self.names[j]) in stems)
        alike = alike if 2 * len(alike) < len(features) else ()
        return Roles(features, text, labels, index, alike, tuple(groups), tuple(categorical))

    def _named(self) -> tuple[dict[str, list[int]], list[int]]:
        """The columns that every option names, and those that are left out.

        A name is more certain than a pattern, and of two patterns that of --ignore counts.
        """
        found: dict[str, list[int]] = {}
        left_out = self._pick(items_of(self.options.ignore, self.names), "--ignore")
        for what in ("labels", "text", "categorical", "groups", "index"):
            given = getattr(self.options, what) or ()
            items = [given] if isinstance(given, str) else items_of(given, self.names)
            columns = self._pick(items, f"--{what}")
            for j in sorted(j for j, by_name in columns.items() if by_name and left_out.get(j)):
                raise self._twice(j, what, "ignore")
            found[what] = [j for j, by_name in columns.items() if by_name or j not in left_out]
            if columns and not found[what]:
                raise self.error(f"--ignore leaves out all columns that --{what} names.")
        return found, list(left_out)

    def _twice(self, j: int, one: str, other: str) -> FileError:
        name = shown(self.names[j])
        return self.error(f"column {name} is named by --{one} and by --{other}: choose one.")

    def _pick(self, wanted: Iterable[str], what: str) -> dict[int, bool]:
        """Columns by name, pattern or position; whether each is named by more than a pattern."""
        found: dict[int, bool] = {}
        names = [*map(composed, self.names)]
        for item in map(composed, wanted):
            hits = [j for j, name in enumerate(names) if name == item]
            by_name = bool(hits) or not glob.has_magic(item)
            hits = hits or [j for j, name in enumerate(names) if fnmatch.fnmatchcase(name, item)]
            position = int(item) if _POSITION.fullmatch(item) else 0
            if not hits and 1 <= abs(position) <= len(names):
                hits = [position - 1 if position > 0 else len(names) + position]
            if not hits:
                near = difflib.get_close_matches(item, names, n=1)
                why = f"no column is named {shown(item)} ({what})"
                hint = f"did you mean {shown(near[0])}?" if near else ""
                raise self.error(f"{why}: {hint or f'the columns are {listed(names)}.'}")
            found |= {j: by_name or found.get(j, False) for j in hits}
        return found

    def _roles_in(self, model: Expected) -> Roles:
        """The roles that columns had when the model was fitted."""
        names, d, labels = self.names, model.n_features, list[int]()
        if (model.features is None or not self.header) and len(names) == d + len(model.text):
            features, text = list(range(d)), list(range(d, len(names)))
        elif model.features is None:
            raise self.error(f"it has {len(names)} columns, but the model was fitted on {d}.")
        else:
            wanted = [*model.features, *model.text]
            place = self._places(wanted, "columns that the model was fitted on")
            features, text = ([place[n] for n in each] for each in (model.features, model.text))
            if self.options.truth and _places_of(names, model.labels):
                labels = [*self._places(model.labels, "labels").values()]
        kept = tuple(self._pick(items_of(self.options.keep, names), "--keep"))
        return Roles(features, text, labels, kept=kept)

    def _places(self, wanted: Sequence[str], what: str) -> dict[str, int]:
        """The positions of the columns wanted, all of which must be there."""
        found = _places_of(self.names, wanted)
        absent = [name for name in wanted if name not in found]
        if absent:
            hint = "" if self.header else "; if its first row holds names, give --header"
            if self.header and all(map(_cells.is_number, self.names)):
                hint = "; if its first row holds no names, give --no-header"
            lacks = f"{len(absent)} of the {len(wanted)} {what} are not there: {listed(absent)}"
            raise self.error(f"{lacks}; it has {listed(self.names)}{hint}.")
        return found


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


def are_names(first: Sequence[str], options: Reading) -> bool:
    """Whether the first row holds names that the user or the model knows.

    A number, such as a wavelength, counts if it cannot be a position or, with a model, if most of
    its columns are there.
    """
    model = options.expected
    if model is None:
        given = (options.labels, options.text, options.ignore, options.categorical)
        wanted = {*items_of(chain(*given), first), options.index, options.groups}
        sure = (cell for cell in first if cell in wanted and not _POSITION.fullmatch(cell))
        return not all(map(_cells.is_missing, sure))
    known = [*(model.features or ()), *model.text]
    if any(c in {*known, *model.labels, *options.keep} and not _cells.is_number(c) for c in first):
        return True
    there = {*map(_spelt, first)}
    return 2 * len(there & {*map(_spelt, known)}) > len(known) and len(there) == len(first)


def _spelt(name: str) -> str:
    """A name, with numbers in one spelling: 1100.0 and 1100 are the same wavelength."""
    plain = _cells.is_number(name) and not _cells.is_missing(name) and not _cells.is_code(name)
    return f"{float(name):.17g}" if plain else composed(name)


def how_to_read(columns: dict[str, list[str]]) -> str:
    """Options for columns of text; numbered names that repeat may be groups."""
    few, rows, text = list[str](), list[str](), list[str]()
    for name, cells in columns.items():
        n = len(cells)
        if 2 * len({cell.strip() for cell in cells}) <= n:  # a few values that repeat
            few.append(name)
        elif n > 3 and len({*cells}) == n and all(len(cell.split()) < 2 for cell in cells):
            rows.append(name)  # all differ, and none is several words
        else:
            text.append(name)
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


def _stem(name: str) -> str:
    """The part that related names share: ``tag_`` of ``tag_red``, ``y`` of ``y3``."""
    found = re.match(r"(.+[_.:\-/])[^_.:\-/]+$|(\D+)\d+$", name)
    return (found[1] or found[2]) if found else ""


def _places_of(names: Sequence[str], wanted: Iterable[str]) -> dict[str, int]:
    """The positions of those columns wanted that are there."""
    there = {_spelt(name): j for j, name in enumerate(names)}
    there |= {composed(name): j for j, name in enumerate(names)}
    both = ((name, key) for name in wanted for key in (_spelt(name), composed(name)))
    return {name: there[key] for name, key in both if key in there}
