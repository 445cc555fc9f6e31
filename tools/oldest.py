"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

python tools/oldest.py > oldest.txt && pip install --editable ".[cli,test]" -c oldest.txt
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
# Tools that check the source, not what runs: make test uses them as they are today.
TOOLS = {"mypy", "ruff"}
_BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*>=\s*(?P<version>[0-9.]+)")


def lowest(project: dict[str, Any]) -> Iterator[str]:
    """``name==version`` for every bound, the highest where a package has several."""
    found: dict[str, str] = {}
    for requirement in _requirements(project):
        match = _BOUND.match(requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} has no lower bound: give it one in pyproject.toml.")
        name, version = match["name"].lower(), match["version"]
        found[name] = max(found.get(name, version), version, key=_key)
    return (f"{name}=={found[name]}" for name in sorted(found) if name not in TOOLS)


def _requirements(project: dict[str, Any]) -> Iterable[str]:
    yield from project["dependencies"]
    for extra in project["optional-dependencies"].values():
        yield from extra


def _key(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


if __name__ == "__main__":
    print("\n".join(lowest(tomllib.loads(PYPROJECT.read_text())["project"])))
