"""Names that are imported when they are asked for (whatever only lists them costs nothing), and
the versions of what was imported."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def named(path: str) -> Any:
    """What ``"module:name"`` stands for, imported now."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def late_names(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package, for names that live in modules.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    modules : dict of str to sequence of str
        The names that each module defines; modules are named from here, as in ``".cca"``.

    Returns
    -------
    pair of functions
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name in homes:
            found = getattr(import_module(homes[name], package), name)
            setattr(sys.modules[package], name, found)  # so that it is asked for once
            return found
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names


def versions() -> dict[str, str]:
    """What a model or a run was made with."""
    import numpy
    import scipy
    import sklearn

    import eigenkit  # the version lives at the top, which imports all below

    packages = {"numpy": numpy, "scipy": scipy, "scikit-learn": sklearn}
    found = {name: str(package.__version__) for name, package in packages.items()}
    return {"eigenkit": eigenkit.__version__, **found, "python": platform.python_version()}
