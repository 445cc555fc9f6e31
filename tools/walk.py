"""How far a reader walks through one fit: functions, files, jumps between files, and calls.

    python tools/walk.py [--list HypergraphSpectral] ...

A jump is a pair of a caller and a function in another file. Comprehensions are part of the function
they stand in. Every fit is run twice and the second is measured, so that imports and caches do not
count. ``--list`` names the functions of a fit, in the order in which they are first called.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from scipy import sparse

import eigenkit as ek

ROOT = str(Path(ek.__file__).parent)

# Frames of their own in some versions of Python.
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")

# A file, and a function in it.
Place = tuple[str, str]


@dataclass
class Walk:
    """The functions of the library that were called, and which of them called which."""

    calls: Counter[Place] = field(default_factory=Counter)
    jumps: set[tuple[Place, Place]] = field(default_factory=set)

    @classmethod
    def through(cls, work: Callable[[], Any]) -> Walk:
        """The walk through a piece of work."""
        walk = cls()
        sys.setprofile(walk._note)
        try:
            work()
        finally:
            sys.setprofile(None)
        return walk

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or (here := _place(frame)) is None:
            return
        self.calls[here] += 1
        before, caller = None, frame.f_back
        while caller is not None and before is None:  # other libraries lie between
            before, caller = _place(caller), caller.f_back
        if before is not None and before[0] != here[0]:
            self.jumps.add((before, here))

    def counts(self) -> tuple[int, int, int, int]:
        """Functions, files, jumps and calls."""
        files = {file for file, _ in self.calls}
        return len(self.calls), len(files), len(self.jumps), self.calls.total()


def _place(frame: FrameType) -> Place | None:
    code = frame.f_code
    if not code.co_filename.startswith(ROOT) or code.co_name in COMPREHENSIONS:
        return None
    return code.co_filename[len(ROOT) + 1 :], code.co_qualname


def fits() -> dict[str, Callable[[], Any]]:
    """Six fits of different families to 200 samples."""
    rng = np.random.default_rng(0)
    S = sparse.random_array((200, 60), density=0.1, rng=rng, format="csr")
    Y = (rng.random((200, 5)) < 0.3).astype(int)
    X, y = rng.standard_normal((200, 20)), np.arange(200) % 3

    def stream() -> None:
        model = ek.LDA().partial_fit(X[:100], y[:100], classes=[0, 1, 2])
        model.partial_fit(X[100:], y[100:]).transform(X)

    return {
        "HypergraphSpectral": lambda: ek.HypergraphSpectral().fit(S, Y),
        "LDA, a stream": stream,
        "KernelCCA": lambda: ek.KernelCCA(2).fit(X, Y),
        "PLSRegression": lambda: ek.PLSRegression(2).fit(X, Y),
        "ReGEC": lambda: ek.ReGEC().fit(X, y > 0),
        "MultiviewCCA": lambda: ek.MultiviewCCA(2).fit([X[:, :10], X[:, 10:]]),
    }


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="count the functions on the way of one fit")
    parser.add_argument("--list", action="append", default=[], metavar="FIT", choices=[*fits()])
    listed = parser.parse_args(arguments).list
    print(f"{'fit':20}{'functions':>10}{'files':>7}{'jumps':>7}{'calls':>7}")
    for name, work in fits().items():
        work()
        walk = Walk.through(work)
        functions, files, jumps, calls = walk.counts()
        print(f"{name:20}{functions:10}{files:7}{jumps:7}{calls:7}")
        for (file, function), count in walk.calls.items() if name in listed else ():
            print(f"    {file} {function} {count}")


if __name__ == "__main__":
    main()
