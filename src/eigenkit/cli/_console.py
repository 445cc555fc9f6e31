"""What all commands print: one result, as text or JSON; on failure, one sentence."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import sys
import textwrap
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import click

from eigenkit.cli._options import bad
from eigenkit.cli._parsing import Command, Option, print_error, width
from eigenkit.cli._start import quickly, started

FAILED, INTERRUPTED, TERMINATED = 1, 130, 143

# Characters that an old code page may lack: ours, and those that word processors insert.
_PLAIN = {
    "│": "|",
    "±": "+/-",
    "…": "...",
    "≤": "<=",
    "²": "2",
    **dict.fromkeys("─━\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u2018\u2019\u201a\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u2033", '"'),
    **dict.fromkeys("\u00a0\u2009\u202f", " "),
}


def speak_any_encoding() -> None:
    """Replace characters that the terminal cannot show, instead of failing."""
    codecs.register_error("eigenkit", _in_other_letters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="eigenkit")


def _in_other_letters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    shown = (_PLAIN.get(c, c.encode("ascii", "backslashreplace").decode()) for c in lacking)
    return "".join(shown), error.end


class Terminated(KeyboardInterrupt):
    """Stopped by a signal, handled like Ctrl-C: unfinished files are removed first."""


def terminate(number: int, frame: Any) -> None:
    raise Terminated


@contextmanager
def keeping(path: str | None) -> Iterator[None]:
    """If the work inside is stopped, say that what is done so far is kept in a file."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if path is None or not os.path.exists(path):
            raise
        raise type(stop)(
            f"what is done so far is kept in {path}, and the same command continues from there"
        ) from None


@dataclass
class Result:
    """The result of a command: plain values, text for reading, and the exit code."""

    record: dict[str, Any]
    text: str = ""
    code: int = 0


def clean(text: Any, length: int = 4000) -> str:
    """One line for a terminal: control characters escaped, not too long.

    >>> clean("\\x1b[31mred\\n")
    '\\\\x1b[31mred\\\\n'
    """
    text = str(text)
    text = text if len(text) <= length else text[: length - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cell(text: Any) -> str:
    """The same, cut to fit a column of a table."""
    return clean(text, 48)


def command(home: str, words: str, options: Mapping[str, Option], name: str) -> Command:
    """The command done by ``"module:function"``, which is given values and returns a Result."""

    def call(**values: Any) -> None:
        lists = {key: list(value) or None for key, value in values.items() if type(value) is tuple}
        _run(home, SimpleNamespace(**values | lists))

    params = [option.made(key) for key, option in options.items()]
    return Command(name, params=params, callback=call, help=words)


def _run(home: str, given: SimpleNamespace) -> None:
    try:
        with warnings.catch_warnings(record=True) as told:
            # Those for authors of libraries (deprecations, open files) do not concern users.
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", UserWarning)
            warnings.simplefilter("default", RuntimeWarning)
            work = quickly(f"eigenkit.cli.{home}")
            started()
            result = work(given)
        _print(result, list(dict.fromkeys(" ".join(str(w.message).split()) for w in told)))
        if result.code:
            raise click.exceptions.Exit(result.code)
    except (click.BadParameter, click.Abort, click.exceptions.Exit):
        raise
    except KeyboardInterrupt as stop:
        killed, left = isinstance(stop, Terminated), clean(stop) or "no output was written"
        what, code = ("terminated", TERMINATED) if killed else ("interrupted", INTERRUPTED)
        _fail(f"{what}: {left}.", code)
    except BrokenPipeError:
        _let_go()
        raise click.exceptions.Exit(FAILED) from None
    except Exception as error:
        if given.debug:
            traceback.print_exc()
        if (usage := about_an_option(error)) is not None:
            raise usage from None
        _fail(sentence(error), FAILED)


def _let_go() -> None:
    """Drop output that cannot be delivered; otherwise the interpreter complains at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Parameters of the library that options call by other names.
_CALLED = {"n_components": "components", "n_jobs": "jobs"}


def about_an_option(error: Exception) -> click.BadParameter | None:
    """An error of the library about a parameter, as one about the option that gave it, if one did.

    Such errors begin with the parameter and its value. On the command line, None means leaving the
    option out.
    """
    ours = type(error) in (ValueError, TypeError)  # and not one about a file
    said = re.match(r"(\w+)=(.+)", str(error), re.DOTALL) if ours else None
    context = click.get_current_context(silent=True)
    if said is None or context is None:
        return None
    name = said[1]
    if any(item.startswith(f"{name}=") for item in context.params.get("set_") or ()):
        return bad("--set", sentence(error))
    name = _CALLED.get(name, name)
    options = {p.name: p.opts[0] for p in context.command.params if isinstance(p, click.Option)}
    if context.params.get(name) == "cv":  # the values to choose from were given
        name = f"{name}s"
    if name not in options or context.params[name] is None:
        return None
    return bad(options[name], clean(re.sub(r"\bNone\b", "leave it out", said[2])))


def sentence(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this: try --max-memory, --dtype float32 or --stream."
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return clean(f"{where}{error.strerror.lower()}.")
    text = clean(" ".join(str(error).split()))
    known = isinstance(error, ValueError | TypeError | ArithmeticError)
    return text if known and text else f"{type(error).__name__}: {text} (--debug shows where)."


def _print(result: Result, notes: list[str]) -> None:
    if in_json():
        from eigenkit.evaluation.record import to_dict  # what is no number is null

        told = to_dict({**result.record, "notes": notes})
        print(json.dumps(told, ensure_ascii=True, allow_nan=False, default=str))
    else:
        for note in notes:
            _print_beside(f"note: {clean(note)}")
        if result.text:
            print("\n".join(map(fitted, result.text.split("\n"))))
    sys.stdout.flush()  # here, where an error still becomes a sentence


def _print_beside(line: str) -> None:
    """Print to standard error: wrapped on a terminal, on one line elsewhere."""
    print(fitted(line) if sys.stderr.isatty() else line, file=sys.stderr)


def _fail(message: str, code: int) -> None:
    if in_json():
        with suppress(OSError):  # which may be what has failed
            print_error(message, code)
    _let_go()
    _print_beside(f"error: {message}")
    raise click.exceptions.Exit(code) from None


def table(titles: list[str], rows: list[list[Any]], right: tuple[int, ...] = ()) -> str:
    """Plain columns, as wide as they need to be; the last one is wrapped rather than cut."""
    cells = [titles, *[[*map(cell, row[:-1]), clean(row[-1])] for row in rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(titles))]
    room = width() - sum(widths[:-1]) - 2 * (len(widths) - 1)
    if room < min(20, widths[-1]):
        return _as_list(titles, cells[1:])
    widths[-1] = min(widths[-1], room)
    lines = [_row(row, widths, right) for row in cells]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def _row(row: list[str], widths: list[int], right: tuple[int, ...]) -> str:
    first, *more = textwrap.wrap(row[-1], widths[-1]) or [""]
    padded = [
        value.rjust(w) if j in right else value.ljust(w)
        for j, (value, w) in enumerate(zip([*row[:-1], first], widths, strict=True))
    ]
    indent = " " * (sum(widths[:-1]) + 2 * (len(widths) - 1))
    return "\n".join(["  ".join(padded).rstrip(), *(indent + line for line in more)])


def _as_list(titles: list[str], rows: list[list[str]]) -> str:
    lines = []
    for row in rows:
        lines.append(row[0])
        for title, value in zip(titles[1:], row[1:], strict=True):
            lines.append(wrapped(f"{title}: {value}"))
    return "\n".join(lines)


def wrapped(text: str) -> str:
    """An indented entry of a list, in lines that fit the terminal."""
    return textwrap.fill(text, width(), initial_indent="  ", subsequent_indent="    ")


def fitted(line: str) -> str:
    """A sentence wrapped to the terminal; indented lines, such as commands, stay whole."""
    if len(line) <= width() or line[0].isspace():
        return line
    return textwrap.fill(line, width(), break_long_words=False, break_on_hyphens=False)


def in_json() -> bool:
    """Whether the running command prints its result as JSON, without progress."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.params.get("json"))


def saying() -> Callable[[str], None]:
    """A function that prints to standard error; with --json, one that prints nothing."""
    quiet = in_json()
    return lambda line: None if quiet else click.echo(fitted(clean(line)), err=True)


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int | None, str], None]]:
    """``advance(done, total, message)``: a bar on a terminal, elsewhere a line now and then."""
    if in_json() or not sys.stderr.isatty():
        yield (lambda *told: None) if in_json() else _Lines().advance
        return
    from rich import progress as rich
    from rich.console import Console

    times = rich.TimeElapsedColumn(), rich.TimeRemainingColumn()
    columns = rich.TextColumn("{task.description}", markup=False), rich.BarColumn(), *times
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def advance(done: int, total: int | None, message: str) -> None:
            bar.update(task, completed=done, total=total, description=clean(message, 60))

        yield advance


class Forecast:
    """Predicts how long work will take: roughly at first, better after the first of equal parts."""

    enough, worth_saying = 10.0, 5.0

    def __init__(self, parts: int, part: str, say: Callable[[str], None]) -> None:
        self.parts, self.part, self.say = parts, part, say
        self.begun: tuple[float, int] | None = None
        self.said = False

    def roughly(self, low: float, high: float, rows: int) -> None:
        """A first guess, from a trial on a few rows."""
        from eigenkit.shell import time_of

        if high > self.worth_saying:
            times = " to ".join(dict.fromkeys(map(time_of, (low, high))))
            self.say(f"a trial on {rows} rows suggests roughly {times} in all")

    def along(self, advance: Callable[[int, int, str], None]) -> Callable[[int, int, str], None]:
        """``advance``, after what there is to say."""

        def step(done: int, total: int, message: str) -> None:
            self.at(done, total)
            advance(done, total, message)

        return step

    def at(self, done: int, total: int) -> None:
        """Say how much time is left, once enough of the work is done to tell."""
        now = time.monotonic()
        if self.begun is None:
            self.begun = now, done
        spent, steps = now - self.begun[0], done - self.begun[1]
        whole_part = steps * self.parts >= total
        if self.said or steps < 1 or not (whole_part or spent > self.enough):
            return
        from eigenkit.shell import time_of

        self.said = True
        left = spent * (total - done) / steps
        if left > self.worth_saying:
            what = f"the first {self.part}" if whole_part else f"{steps} of {total} steps"
            self.say(f"{what} took {spent:.0f} s: about {time_of(left)} more")


class _Lines:
    """Progress without a bar: a line every half a minute."""

    every = 30.0

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()
        self.before: int | None = None

    def advance(self, done: int, total: int | None, message: str) -> None:
        """Print how far the work is, if it is time for a line."""
        now = time.monotonic()
        self.before = done if self.before is None else self.before
        if now - self.last < self.every:
            return
        self.last = now
        left, here = "", done - self.before
        if total and here > 0:
            left = f", about {(now - self.start) * (total - done) / here:.0f} s left"
        print(f"{clean(message, 60)} ({now - self.start:.0f} s{left})", file=sys.stderr, flush=True)
