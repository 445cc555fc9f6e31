"""Write the reference of commands in cli.md from the program: ``python docs/commands.py``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from eigenkit.cli import app

PAGE = Path(__file__).parent / "cli.md"
MARK = "<!-- below: written by docs/commands.py -->\n"
SHARED = "Shared options"
SEVERAL = 3  # commands that have an option in the same words


def reference() -> str:
    """All commands with their arguments and options, as Markdown."""
    commands = dict(_flat(app))
    shared = _shared(commands.values())
    return "\n".join(
        [
            _overview(commands),
            *(_command(name, command, shared) for name, command in commands.items()),
            f"## {SHARED}\n",
            *shared,
            "",
        ]
    )


def _flat(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Commands and those of groups, with their whole names."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _flat(command, f"{before}{name} ")
        else:
            yield before + name, command


def _overview(commands: dict[str, Any]) -> str:
    lines = ["| command | what it does |", "|---|---|"]
    for name, command in commands.items():
        first = _help(command).split(". ")[0].removesuffix(".")
        lines.append(f"| [{name}](#{name.replace(' ', '-')}) | {first} |")
    return "\n".join(lines) + "\n"


def _shared(commands: Iterable[Any]) -> dict[str, str]:
    """Lines of options that several commands have, with the names in them, as they come up."""
    params = [p for command in commands for p in _options(command) if not p.required]
    lines = [(_line(_option(p), p), _option(p)) for p in params]
    times = Counter(line for line, _ in lines)
    return {line: name for line, name in lines if times[line] >= SEVERAL}


def _command(name: str, command: Any, shared: dict[str, str]) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join(["eigenkit", name, *(p.name.upper() for p in arguments), "[OPTIONS]"])
    options = [_line(_option(p), p) for p in _options(command)]
    parts = [f"## {name}\n", _help(command) + "\n", f"```text\n{usage}\n```\n"]
    parts += [_line(f"`{p.name.upper()}`", p) for p in arguments]
    parts += [line for line in options if line not in shared]
    elsewhere = ", ".join(shared[line] for line in options if line in shared)
    parts += [f"- [{SHARED}](#{SHARED.lower().replace(' ', '-')}): {elsewhere}."]
    return "\n".join(parts) + "\n"


def _options(command: Any) -> list[Any]:
    return [p for p in command.params if p.param_type_name != "argument" and p.name != "help"]


def _option(param: Any) -> str:
    names = [*param.opts, *param.secondary_opts]
    return ", ".join(f"`{name}`" for name in sorted(names, key=len))


def _help(described: Any) -> str:
    words = described.words if hasattr(described, "words") else described.help
    return " ".join((words or "").split())


def _line(title: str, param: Any) -> str:
    default = f" Default: `{param.default}`."
    if param.default is True:
        default = " On by default."
    if param.default in (None, False, ()) or param.required:
        default = ""
    required = " Required." if param.required and title.startswith("`-") else ""
    return f"- {title}: {_help(param)}{default}{required}"


def page() -> str:
    """The page with the reference as it should be."""
    return PAGE.read_text(encoding="utf-8").split(MARK)[0] + MARK + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
