"""Imports point downwards, and nothing below the command line prints."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import eigenkit

PACKAGE = Path(eigenkit.__file__).parent

# Lower layers first; a module imports from its own layer (packages: their own files) or below.
LAYERS = [
    {"exceptions", "late", "numerics", "shell"},
    {"data", "targets"},
    {"kernels", "pencil"},
    {"moments"},
    {"solvers"},
    {"estimators"},
    {"files"},
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


@cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in FILES}


@cache
def _nodes(tree: ast.AST) -> list[ast.AST]:
    """Of a whole file, which several tests look through."""
    return list(ast.walk(tree))


def _part(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def _imports(tree: ast.AST) -> set[str]:
    names = {
        f"{node.module}.{alias.name}" if node.module == "eigenkit" else str(node.module)
        for node in _nodes(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names |= {a.name for n in _nodes(tree) if isinstance(n, ast.Import) for a in n.names}
    parts = {name.split(".")[1] for name in names if name.startswith("eigenkit.")}
    return {part if part in RANK else "__init__" for part in parts}


def _named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_imports_point_downwards() -> None:
    assert {_part(path) for path in FILES} <= RANK.keys(), "give every part a layer"
    upward = [
        f"{_named(path)} imports {name}"
        for path, tree in _trees().items()
        for name in _imports(tree)
        if RANK[name] > RANK[_part(path)]
    ]
    assert upward == []


def _module(path: Path) -> str:
    return ".".join(("eigenkit", *path.relative_to(PACKAGE).with_suffix("").parts))


def _files_imported(tree: ast.AST, modules: dict[str, Path]) -> set[Path]:
    """Within functions and for annotations too; of a package a file of it, where that is named."""
    found = {a.name for n in _nodes(tree) if isinstance(n, ast.Import) for a in n.names}
    for node in _nodes(tree):
        if isinstance(node, ast.ImportFrom):
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inside if inside <= modules.keys() else {str(node.module)}
    return {modules[name] for name in found & modules.keys()}


def _union(imports: dict[Path, set[Path]]) -> set[Path]:
    return set().union(*imports.values())


def test_no_files_import_each_other() -> None:
    """Nor in a circle of several: a file can be read after those that it imports."""
    modules = {_module(path).removesuffix(".__init__"): path for path in FILES}
    left = {path: _files_imported(tree, modules) for path, tree in _trees().items()}
    del left[PACKAGE / "__init__.py"]  # the front door: what asks it for a name asks the others
    # What imports nothing that is left, or is imported by nothing that is left, is in no circle.
    while free := left.keys() - ({p for p in left if left[p] & left.keys()} & _union(left)):
        for path in free:
            del left[path]
    assert sorted(_named(path) for path in left) == []


def test_only_the_command_line_prints() -> None:
    calls = [
        (path, node.func)
        for path, tree in _trees().items()
        for node in _nodes(tree)
        if isinstance(node, ast.Call)
    ]
    prints = {p for p, call in calls if isinstance(call, ast.Name) and call.id == "print"}
    assert [_named(path) for path in sorted(prints) if _part(path) not in MAY_PRINT] == []


# Questions that only a kind of data may ask of itself.
KIND = re.compile(
    r"isinstance\([^()]*\b(Centered|CenteredKernel|Dense|Sparse|Rows|KernelMatrix|Moments|BlockedRows)\b"
    r"|\b(rows|data)\.sparse\b|\bZ[xy]?\.(sparse|K|X|m|r|unit|center|shift|delta)\b"
)


def test_nobody_asks_what_kind_of_data_it_is() -> None:
    """There is a verb of eigenkit.data.Data, or of what holds the rows, for what must be known."""
    others = [path for path in FILES if _part(path) not in ("data", "moments")]
    asked = [(_named(path), KIND.search(path.read_text())) for path in others]
    assert [(name, question[0]) for name, question in asked if question] == []


def test_no_file_is_too_long_to_read_at_once() -> None:
    assert [_named(path) for path in FILES if path.read_text().count("\n") > 400] == []


# The parts that compute.
CORE = {
    "numerics",
    "kernels",
    "analysis",
    "data",
    "targets",
    "pencil",
    "moments",
    "solvers",
    "estimators",
}


def _unnamed(tree: ast.Module) -> list[ast.Constant]:
    """Small numbers outside the names of a module or class and the defaults of functions."""
    bodies = [tree, *(node for node in _nodes(tree) if isinstance(node, ast.ClassDef))]
    each = [node for body in bodies for node in body.body]
    named = [node for node in each if isinstance(node, ast.Assign | ast.AnnAssign)]
    functions = [node for node in _nodes(tree) if isinstance(node, ast.FunctionDef)]
    given = [d for f in functions for d in [*f.args.defaults, *f.args.kw_defaults] if d]
    fine = {id(node) for one in [*named, *given] for node in ast.walk(one)}
    numbers = [node for node in _nodes(tree) if isinstance(node, ast.Constant)]
    return [
        n
        for n in numbers
        if isinstance(n.value, float) and 0 < n.value < 1e-4 and id(n) not in fine
    ]


def test_every_tolerance_has_a_name_and_a_reason() -> None:
    """In eigenkit.numerics.tolerances, or above the algorithm that it belongs to."""
    found = [
        f"{_named(path)}:{number.lineno}: {number.value:g}"
        for path, tree in _trees().items()
        if _part(path) in CORE
        for number in _unnamed(tree)
    ]
    assert found == []
