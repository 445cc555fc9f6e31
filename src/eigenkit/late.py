"""Names that are imported when they are asked for (whatever only lists them costs nothing), and
the versions of what was imported."""

from __future__ import annotations

import ast
import difflib
import platform
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def named(path: str) -> Any:
    """What ``"module:name"`` stands for, imported now."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def look_up(what: str, name: Any, known: Mapping[str, T]) -> T:
    """The value of that name among those known; a misspelt name gets a suggestion."""
    if name in known:
        return known[name]
    near = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(known)}."
    raise ValueError(f"{what} {str(name)[:80]!r} is not known: {hint}")


def late_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names live in its modules.

    ``homes`` has the module of every name, as in ``".cca"``; see :func:`homes_in_stub`.
    """

    def get(name: str) -> Any:
        if name in homes:
            found = getattr(import_module(homes[name], package), name)
            setattr(sys.modules[package], name, found)  # so that it is asked for once
            return found
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names, sorted(homes)


def homes_in_stub(package_file: str) -> dict[str, str]:
    """The module of every name that a package exports, by the imports in the stub beside its file.

    Type checkers read the stub (``__init__.pyi``), so that the names are listed once.
    """
    stub = Path(package_file).with_suffix(".pyi").read_text(encoding="utf-8")
    return {
        alias.name: "." * node.level + str(node.module)
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def versions() -> dict[str, str]:
    """What a model or a run was made with."""
    import numpy
    import scipy
    import sklearn

    import eigenkit  # the version lives at the top, which imports all below

    packages = {"numpy": numpy, "scipy": scipy, "scikit-learn": sklearn}
    found = {name: str(package.__version__) for name, package in packages.items()}
    return {"eigenkit": eigenkit.__version__, **found, "python": platform.python_version()}
