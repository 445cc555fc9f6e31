"""Commands of click, made from functions and a table of what each takes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import click


def width() -> int:
    """The width of the terminal in columns, or 100 where there is none."""
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def print_error(message: str, code: int) -> None:
    print(json.dumps({"error": message, "code": code}, ensure_ascii=True))


class Option:
    """An option, named after its parameter and of the type of its default; ``others`` name it, too.

    ``more`` are the limits of a number (``min``, ``max_open``, ...), and settings of click. What is
    not off already can be turned ``off``.
    """

    def __init__(
        self, words: str, *others: str, kind: Any = str, default: Any = None, **more: Any
    ) -> None:
        self.words, self.others, self.default = words, others, default
        self.kind = kind if default is None else type(default)
        self.off = more.pop("off", self.kind is bool and default is not False)
        self.limits = {key: more.pop(key) for key in [*more] if key.startswith(("min", "max"))}
        self.more = more if more.get("required") else {"default": default, **more}

    def made(self, name: str) -> click.Parameter:
        """The option (or argument) of click for a parameter."""
        dashed, flag = name.rstrip("_").replace("_", "-"), self.kind is bool
        names = f"--{dashed}/--no-{dashed}" if self.off else f"--{dashed}", *self.others
        kind: Any = self.kind
        if self.limits:
            kind = {int: click.IntRange, float: click.FloatRange}[kind](**self.limits)
            kind.name = "integer" if self.kind is int else "number"  # as errors call it
        given = {"is_flag": True} if flag else {"type": kind}
        return click.Option([*names, name], help=self.words, **given, **self.more)


class Argument(Option):
    def __init__(self, words: str, *, required: bool = True, **more: Any) -> None:
        super().__init__(words, required=required, **more)

    def made(self, name: str) -> click.Parameter:
        found = _Argument([name], **self.more)
        found.words = self.words
        return found


class _Argument(click.Argument):
    """An argument that the help describes, which click itself can do only since 8.5."""

    words = ""

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """The value, which names something."""
        if value == "" or (isinstance(value, tuple) and "" in value):
            raise click.BadParameter("the name is empty.", ctx, self)
        return super().process_value(ctx, value)


class _Described(click.Command):
    """A command or group with our help."""

    def __init__(self, name: str, **more: Any) -> None:
        settings = {"help_option_names": ["-h", "--help"], "show_default": True}
        super().__init__(name, context_settings=settings, **more)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Help is as wide as our messages; that of click has at least 50 columns."""
        return super().make_context(*args, terminal_width=min(width(), 100), **extra)

    def get_short_help_str(self, limit: int = 45) -> str:
        """The whole first sentence: the list of commands is wrapped, so nothing has to be cut."""
        return super().get_short_help_str(1000)


class Group(_Described, click.Group):
    """Commands in the order of a day's work, each made when it is needed."""

    def __init__(
        self, name: str, makers: Mapping[str, Callable[[str], click.Command]], **more: Any
    ) -> None:
        super().__init__(name, **more)
        self.makers = makers

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.makers)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; with --json, wrong usage is printed as JSON as well."""
        asked = ctx.parent is None and "--json" in ctx.args
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if asked:
                with suppress(OSError):  # where nothing can be written, the sentence is enough
                    print_error(error.format_message(), error.exit_code)
            raise

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command; for an unknown name all are made, so that click can suggest one of them."""
        for name in [cmd_name] if cmd_name in self.makers else self.makers:
            if name not in self.commands:
                self.add_command(self.makers[name](name))
        return super().get_command(ctx, cmd_name)


class Command(_Described):
    """A command that describes its arguments, and whose ``--views`` takes several values."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each of its values, as click expects."""
        if "--views" in args and any("--views" in p.opts for p in self.params):
            args = _repeated("--views", args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments, then options."""
        taken = [p for p in self.params if isinstance(p, _Argument)]
        if taken:
            with formatter.section("Arguments"):
                formatter.write_dl([(p.human_readable_name, p.words) for p in taken])
        super().format_options(ctx, formatter)


def _repeated(option: str, args: list[str]) -> list[str]:
    """The arguments, with the option repeated before each of its values.

    >>> _repeated("--views", ["a.csv", "--views", "a_*", "b_*", "-o", "m.ek"])
    ['a.csv', '--views', 'a_*', '--views', 'b_*', '-o', 'm.ek']
    """
    found: list[str] = []
    inside = False
    for word in args:
        if word.startswith("-"):
            inside = word == option
        elif inside and found[-1] != option:
            found.append(option)
        found.append(word)
    return found
