"""demo and methods: what there is, without any numbers for the list."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, in_json, table
from eigenkit.estimators.registry import METHODS


def demo(given: o.Given) -> Result:

    from eigenkit.demo import main

    with redirect_stdout(sys.stderr) if in_json() else nullcontext():
        main()
    return Result({"demo": "done"})


# Written out, as nothing that numbers need is imported for a list.
_SETS = (
    "Terms for sets of images: eigenkit annotate, by kernels between sets of vectors.\n"
    "--kernels descriptor:kind names one; kinds are pyramid, mean_map, fisher, words and pooled."
)


def methods(given: o.Given) -> Result:
    rows = [[m.name, m.kind, ", ".join(m.targets), m.description] for m in METHODS.values()]
    titles = ["method", "kind", "learns from", "what it is"]
    keys = ("name", "kind", "targets", "description")
    record = [{key: getattr(m, key) for key in keys} for m in METHODS.values()]
    return Result({"methods": record}, f"{table(titles, rows)}\n{_SETS}")
