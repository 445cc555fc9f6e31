"""Which code made a number: a digest of the sources an experiment reaches, and their commit."""

from __future__ import annotations

import ast
import hashlib
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("eigenkit", "papers")
# What only shows numbers cannot change them.
PICTURES = ("eigenkit.analysis.plots", "eigenkit.analysis.displays", "eigenkit.analysis.regions")
SHOWING = ("papers.blocks", "papers.drawing", "papers.words", "eigenkit.report", *PICTURES)


def digest(module: str) -> str:
    """A hash of a module and of all it imports from here, blind to comments and docstrings."""
    text = "\n".join(f"{name}: {_meaning(_text(name))}" for name in sorted(reached(module)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def reached(module: str) -> set[str]:
    """The module and those of PACKAGES that it imports, directly or not, except for SHOWING."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found and not name.startswith(SHOWING):
            found.add(name)
            waiting += _imports(name, _text(name))
    return found


def _text(module: str) -> str:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{module} has no source")
    stub = Path(spec.origin).with_suffix(".pyi")  # the imports of a package that makes them late
    files = [Path(spec.origin), *([stub] if stub.exists() else [])]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@cache
def _imports(module: str, text: str) -> list[str]:
    return [name for node in ast.walk(ast.parse(text)) for name in _named(node, module)]


def _named(node: ast.AST, module: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if _ours(alias.name)]
    if isinstance(node, ast.ImportFrom):
        # Only the stub of a package names modules relative to itself.
        source = f"{module}.{node.module}" if node.level else str(node.module)
        # A name is a module of that package, or something that the package itself defines.
        inner = [f"{source}.{alias.name}" for alias in node.names if _ours(source)]
        return [name if _is_module(name) else source for name in inner]
    return []


def _ours(name: str) -> bool:
    return name.split(".")[0] in PACKAGES


@cache
def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is a module, not a package
        return False


@cache
def _meaning(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def commit() -> str:
    """The commit of the sources that run, and whether they were changed since; "" without git."""
    try:
        found = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--", "src", "papers")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{found} and changes that are not committed" if changed else found


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
