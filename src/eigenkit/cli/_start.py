"""A quick start: what scikit-learn and scipy import needlessly is imported when it is used.

scikit-learn imports pandas and scipy.stats for a few of its functions, scipy all of numpy with
f2py and its tests: together they take longer than all the rest. Stand-ins take their places.
"""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import Any

from eigenkit.late import named

HELD = ["asyncio", "numpy.f2py", "numpy.polynomial", "numpy.testing", "pandas", "pydoc"]
HELD += ["scipy.special", "scipy.stats"]

# Parameters of glibc's mallopt: blocks up to the one are cut from memory that the program keeps,
# and so much of that is kept when it is free.
_FROM_KEPT, _KEPT = (-3, 32 * 2**20), (-1, 128 * 2**20)


def keep_memory() -> None:
    """Keep freed memory for reuse.

    glibc gives large blocks back to the system, which clears them before it gives them out again:
    for a file that is read block by block this takes as long as the parsing.
    """
    with suppress(AttributeError, OSError, TypeError):  # other systems have no such setting
        setting = ctypes.CDLL(None).mallopt
        for parameter, value in (_FROM_KEPT, _KEPT):
            setting(parameter, value)


def started() -> None:
    """Turn garbage collection on, for what is made from now on.

    What was imported at the start stays: to search it again and again, and once more at the end,
    takes a quarter of the time of a small command. A program that embeds us keeps its own setting.
    From now on an interruption is an exception, so that work can tidy up.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
        if callable(signal.getsignal(signal.SIGINT)):  # and not ignored
            signal.signal(signal.SIGINT, signal.default_int_handler)


class _StandIn(ModuleType):
    """A module that is imported when the first of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        _withdraw(self)
        return getattr(import_module(self.__name__), name)


@contextmanager
def stand_ins(*names: str) -> Iterator[None]:
    """Within, imports of these modules get stand-ins."""
    held = [_StandIn(name) for name in names if name not in sys.modules]
    for module in held:
        sys.modules[module.__name__] = module
        parent, _, name = module.__name__.rpartition(".")
        if parent:
            setattr(import_module(parent), name, module)
    try:
        yield
    finally:
        for module in held:
            _withdraw(module)


def _withdraw(module: _StandIn) -> None:
    """Make way for the module itself."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
    parent, _, name = module.__name__.rpartition(".")
    if parent and vars(sys.modules[parent]).get(name) is module:
        delattr(sys.modules[parent], name)


def quickly(path: str) -> Any:
    """What ``"module:name"`` stands for, imported without the modules in HELD."""
    known = path.partition(":")[0] in sys.modules
    with stand_ins(*(() if known else HELD)):
        return named(path)
