"""Write the reference of commands in cli.md from the program: ``python docs/commands.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from eigenkit.cli import app

PAGE = Path(__file__).parent / "cli.md"
MARK = "<!-- below: written by docs/commands.py -->\n"


def reference() -> str:
    """All commands with their arguments and options, as Markdown."""
    group: Any = typer.main.get_command(app)
    return "\n".join(_command(name, command) for name, command in _flat(group))


def _flat(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Commands and those of groups, with their whole names."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _flat(command, f"{before}{name} ")
        else:
            yield before + name, command


def _command(name: str, command: Any) -> str:
    shown = [p for p in command.params if p.name != "help"]
    arguments = [p for p in shown if p.param_type_name == "argument"]
    usage = " ".join(["eigenkit", name, *(p.name.upper() for p in arguments), "[OPTIONS]"])
    parts = [
        f"## {name}\n",
        " ".join((command.help or "").split()) + "\n",
        f"```text\n{usage}\n```\n",
    ]
    parts += [_line(f"`{p.name.upper()}`", p) for p in arguments]
    parts += [_line(_option(p), p) for p in shown if p not in arguments]
    return "\n".join(parts) + "\n"


def _option(param: Any) -> str:
    names = [*param.opts, *param.secondary_opts]
    return ", ".join(f"`{name}`" for name in sorted(names, key=len))


def _line(title: str, param: Any) -> str:
    default = (
        ""
        if param.default in (None, False, ()) or param.required
        else f" Default: `{param.default}`."
    )
    required = " Required." if param.required and title.startswith("`-") else ""
    return f"- {title}: {' '.join((param.help or '').split())}{default}{required}"


def page() -> str:
    """The page with the reference as it should be."""
    return PAGE.read_text(encoding="utf-8").split(MARK)[0] + MARK + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
