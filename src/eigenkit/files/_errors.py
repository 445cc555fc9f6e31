"""Errors with their place in a file, and a summary of the bad rows that are left out."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from eigenkit.shell import shown


class FileError(ValueError):
    """Something wrong with a file: one sentence that begins with the place.

    Examples
    --------
    >>> from eigenkit.files import FileError
    >>> print(FileError("a.csv", "'x' is not a number.", line=3, column="age"))
    a.csv, line 3, column 'age': 'x' is not a number.
    """

    def __init__(
        self, path: Any, problem: str, *, line: int | None = None, column: str | int | None = None
    ) -> None:
        where = str(path) if str(path) != "-" else "standard input"
        if line is not None:
            where += f", line {line}"
        if column is not None:
            where += f", column {shown(column) if isinstance(column, str) else column}"
        super().__init__(f"{where}: {problem}")
        self.path, self.problem, self.line, self.column = str(path), problem, line, column

    def __reduce__(self) -> tuple[Any, ...]:  # workers of a cluster send errors
        return partial(type(self), line=self.line, column=self.column), (self.path, self.problem)

    def with_problem(self, problem: str) -> FileError:
        """The same in other words."""
        return type(self)(self.path, problem, line=self.line, column=self.column)

    def _parts(self) -> tuple[str, str]:
        """What is wrong, and the remedy, which follows the last colon."""
        problem = self.problem.rstrip(".")
        what, mark, remedy = problem.rpartition(": ")
        return (what, remedy) if mark and remedy.count("'") % 2 == 0 else (problem, "")

    def without_remedy(self) -> FileError:
        """The error without its remedy."""
        return self.with_problem(f"{self._parts()[0]}.")

    def skippable(self) -> FileError:
        """The error with one more remedy: to leave the row out."""
        if re.search("leave (such rows out|out rows)", self.problem):  # perhaps in another way
            return self
        mark = ", or" if self._parts()[1] else ": correct it, or"
        return self.with_problem(f"{self.problem.rstrip('.')}{mark} {SKIP}.")


class TooLargeError(FileError):
    """A file whose numbers would not fit into the memory allowed."""


SKIP = "leave such rows out with --on-error skip"
# Errors about one row whose line is not known.
_OF_A_ROW = re.compile(r"\brow \d+")


@contextmanager
def hinting() -> Iterator[None]:
    """Errors about one row say that it can be left out; line 1 may hold the names."""
    try:
        yield
    except FileError as error:
        if (error.line or 0) > 1 or _OF_A_ROW.search(error.problem):
            raise error.skippable() from error
        raise


# An option of the command line, and its value if it is one of these.
_OPTION = re.compile(
    r"--([a-z]+(?:-[a-z]+)*)"
    r"(?: (none|mean|keep|drop|skip|standard|classes|comma|point|space|apostrophe|'[^']*'))?"
)


@contextmanager
def python_words() -> Iterator[None]:
    """Errors that name options (--missing mean) name arguments instead (missing='mean')."""
    try:
        yield
    except FileError as error:
        raise error.with_problem(_OPTION.sub(_argument, error.problem)) from error
    except ValueError as error:
        raise ValueError(_OPTION.sub(_argument, str(error))) from error


def _argument(option: re.Match[str]) -> str:
    name, value = option.groups()
    return f"{name.replace('-', '_')}={repr(value.strip(chr(39))) if value else ''}"


# The parts in which errors of one kind differ: words in quotes, and numbers.
_OWN = re.compile(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|-?\b\d[\d.e+-]*\b")
# How many bad rows are described one by one, and how many reasons are; all are counted.
_TOLD, _MOST = 100, 20


@dataclass
class Skipped:
    """Bad rows that were left out: how many, from which files, why, and the first ones."""

    n: int = 0
    files: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, list[Any]] = field(default_factory=dict)  # how many, and where the first is
    first: list[FileError] = field(default_factory=list)

    def extend(self, errors: Iterable[FileError]) -> None:
        """Add rows by what is wrong with each."""
        for error in map(FileError.without_remedy, errors):
            reason = _OWN.sub("…", error.problem.rstrip("."))
            name = os.path.basename(error.path)
            where = str(FileError(name, "", line=error.line, column=error.column))[:-2]
            self.with_more(Skipped(1, Counter([error.path]), {reason: [1, where]}, [error]))

    def with_more(self, other: Skipped) -> Skipped:
        """These with those of another file added."""
        self.n += other.n
        self.files.update(other.files)
        for reason, (count, where) in other.reasons.items():
            known = reason if reason in self.reasons or len(self.reasons) < _MOST else "other"
            self.reasons.setdefault(known, [0, where])[0] += count
        self.first += other.first[: _TOLD - len(self.first)]
        return self

    @classmethod
    def as_told(cls, told: dict[str, Any]) -> Skipped:
        """From the result of :meth:`told`."""
        reasons = {each["reason"]: [each["n"], each["first"]] for each in told["reasons"]}
        return cls(told["n"], Counter(told["files"]), reasons)

    def described(self) -> dict[str, Any]:
        """The result of :meth:`told`, with the messages of the first rows."""
        return {**self.told(), "first": self.messages()}

    def messages(self) -> list[str]:
        """The messages of the first rows."""
        return [str(error) for error in self.first]

    def words(self) -> str:
        """How many for each reason, in words."""
        return ", ".join(f"{each['n']} {each['reason']}" for each in self.told()["reasons"])

    def told(self) -> dict[str, Any]:
        """As plain values, the most frequent reason first; no cell of a bad row is among them."""
        files = self.files.most_common(_TOLD)
        reasons = sorted(self.reasons.items(), key=lambda each: -each[1][0])
        told = [{"n": n, "reason": why, "first": at} for why, (n, at) in reasons]
        names = {os.path.basename(path): n for path, n in sorted(files)}
        return {"n": self.n, "files": names, "reasons": told}
