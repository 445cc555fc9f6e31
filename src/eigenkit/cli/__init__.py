"""The command line: arguments in, library calls, one result out.

Exit codes: 0 done, 1 bad data or failed work, 2 bad usage, 130 interrupted. Everything heavy
is imported inside the commands, so that help comes at once.
"""

from __future__ import annotations

import atexit
import gc
import signal
from functools import partial

import click

import eigenkit
from eigenkit.cli._console import command, speak_any_encoding, terminate
from eigenkit.cli._parsing import Group
from eigenkit.cli._start import keep_memory
from eigenkit.late import named

_WITHOUT_MODELS = {
    "demo": "_compare:demo",
    "example": "_example:example",
    "methods": "_compare:methods",
    "report": "_report:report",
}
_WITH_MODELS = {
    "compare": "_compare:compare",
    "fit": "_fit:fit",
    "transform": "_apply:transform",
    "predict": "_apply:predict",
    "score": "_apply:score",
    "explain": "_explain:explain",
    "inspect": "_inspect:inspect",
    "export": "_explain:export",
    "follow": "_streams:follow",
    "merge": "_streams:merge",
    "test": "_significance:significance",
}
app = click.version_option(
    eigenkit.__version__, message="eigenkit %(version)s", help="Show the version."
)(
    Group(
        "eigenkit",
        {
            **{name: partial(command, name, home, False) for name, home in _WITHOUT_MODELS.items()},
            **{name: partial(command, name, home) for name, home in _WITH_MODELS.items()},
            "annotate": partial(named, "eigenkit.cli._annotate:app"),
        },
        help="Supervised dimensionality reduction by generalized eigenvalue problems.",
    )
)


def run() -> None:
    """Run the command line as a program of its own."""
    signal.signal(signal.SIGTERM, terminate)
    speak_any_encoding()
    keep_memory()
    atexit.register(gc.freeze)  # all memory goes at once: nothing need be searched for garbage
    app()
