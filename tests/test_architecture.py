"""Imports point downwards, and nothing below the command line prints."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import eigenkit

PACKAGE = Path(eigenkit.__file__).parent

# Lower layers first; a module imports from its own layer (packages: their own files) or below.
LAYERS = [
    {"exceptions", "threads", "linalg", "compiled", "shell"},
    {"data", "targets"},
    {"kernels", "pencil"},
    {"moments"},
    {"solvers"},
    {"estimators"},
    {"registry", "files"},
    {"record"},
    {"datasets", "models", "evaluation", "analysis"},
    {"report"},
    {"images"},
    {"__init__"},
    {"demo"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MAY_PRINT = {"demo", "__main__", "cli"}
FILES = sorted(PACKAGE.rglob("*.py"))


def _part(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def _imports(tree: ast.AST) -> set[str]:
    names = {
        f"{node.module}.{alias.name}" if node.module == "eigenkit" else str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    parts = {name.split(".")[1] for name in names if name.startswith("eigenkit.")}
    return {part if part in RANK else "__init__" for part in parts}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    part = _part(path)
    assert part in RANK, f"give {part} a layer"
    upward = [name for name in _imports(ast.parse(path.read_text())) if RANK[name] > RANK[part]]
    assert not upward, f"{path.name} imports from above: {upward}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_command_line_prints(path: Path) -> None:
    calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    prints = any(isinstance(call.func, ast.Name) and call.func.id == "print" for call in calls)
    assert not prints or _part(path) in MAY_PRINT


# Questions that only a kind of data may ask of itself.
KIND = re.compile(
    r"isinstance\([^()]*\b(Centered|CenteredKernel|Dense|Sparse)\b|\bZ[xy]?\.(sparse|m|r|shift|delta)\b"
)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_nobody_asks_what_kind_of_data_it_is(path: Path) -> None:
    if _part(path) != "data":
        asked = KIND.search(path.read_text())
        assert asked is None, f"{path.name} asks {asked[0]!r}: use a verb of eigenkit.data.Data"
