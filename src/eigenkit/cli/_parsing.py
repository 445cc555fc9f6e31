"""Commands of click, made from the signatures of functions.

``Annotated[kind, Option(...)]`` makes a parameter an option, ``Argument`` makes it a positional
argument. A parameter without a default is required.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from inspect import Parameter
from types import NoneType
from typing import Any, get_args, get_origin

import click

SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}


def width() -> int:
    """The width of the terminal in columns, or 100 where there is none."""
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def print_error(message: str, code: int) -> None:
    """Print an error for programs."""
    print(json.dumps({"error": message, "code": code}, ensure_ascii=True))


class Option:
    """An option; by default it is named after its parameter."""

    def __init__(self, *names: str, help: str, show_default: bool = True, **limits: Any) -> None:
        self.names, self.limits = names, limits
        self.shown = {"help": help, "show_default": show_default}


@dataclass(frozen=True)
class Argument:
    """A positional argument."""

    help: str


class _Argument(click.Argument):
    """An argument that the help describes, which click itself can do only since 8.5."""

    words = ""


class _Help(click.HelpFormatter):
    """Help as wide as our messages; that of click has at least 50 columns."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(width=min(width(), 100))


class _Context(click.Context):
    formatter_class = _Help


class _Described(click.Command):
    """A command or group with our help."""

    context_class = _Context

    def get_short_help_str(self, limit: int = 45) -> str:
        """The whole first sentence: the list of commands is wrapped, so nothing has to be cut."""
        return super().get_short_help_str(1000)


class Group(_Described, click.Group):
    """Commands in the order of a day's work, each made when it is needed."""

    def __init__(
        self, name: str, makers: Mapping[str, Callable[[], click.Command]], **more: Any
    ) -> None:
        super().__init__(name, context_settings=SETTINGS, **more)
        self.makers = makers

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
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
                self.add_command(self.makers[name]())
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
        described = [
            (p.human_readable_name, p.words) for p in self.params if isinstance(p, _Argument)
        ]
        if described:
            with formatter.section("Arguments"):
                formatter.write_dl(described)
        super().format_options(ctx, formatter)


def _repeated(option: str, args: list[str]) -> list[str]:
    """The arguments, with the option repeated before each of its values.

    Examples
    --------
    >>> from eigenkit.cli._parsing import _repeated
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


def command(
    name: str,
    options: Mapping[str, tuple[Any, Any]],
    run: Callable[..., None],
    help: str | None,
) -> click.Command:
    """The command that calls a function by the names of its parameters.

    For every parameter there is an annotation and a default.
    """

    def call(**values: Any) -> None:
        run(**{k: (list(v) or None) if isinstance(v, tuple) else v for k, v in values.items()})

    params = [_parameter(key, *option) for key, option in options.items()]
    return Command(name, params=params, callback=call, help=help, context_settings=SETTINGS)


def _type(of: type, limits: dict[str, Any]) -> Any:
    return {int: click.IntRange, float: click.FloatRange}[of](**limits) if limits else of


def _parameter(name: str, annotation: Any, default: Any) -> click.Parameter:
    """The option or argument for a parameter."""
    kind, said = get_args(annotation)
    if NoneType in get_args(kind):
        kind = next(k for k in get_args(kind) if k is not NoneType)
    many = get_origin(kind) is list
    of = get_args(kind)[0] if many else kind
    required = default is Parameter.empty
    given: dict[str, Any] = {"required": required} | ({} if required else {"default": default})
    if isinstance(said, Argument):
        found = _Argument([name], type=of, nargs=-1 if many else 1, **given)
        found.words = said.help
        return found
    dashed = name.replace("_", "-")
    names = said.names or ((f"--{dashed}/--no-{dashed}",) if of is bool else (f"--{dashed}",))
    given |= {"is_flag": True} if of is bool else {"type": _type(of, said.limits)}
    return click.Option([*names, name], multiple=many, **said.shown, **given)
