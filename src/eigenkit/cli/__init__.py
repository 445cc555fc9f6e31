"""The command line: arguments in, library calls, one result out.

Exit codes: 0 done, 1 bad data or failed work, 2 bad usage, 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import signal

import click

import eigenkit
from eigenkit.cli._commands import COMMANDS
from eigenkit.cli._console import speak_any_encoding, terminate
from eigenkit.cli._parsing import Group
from eigenkit.cli._start import keep_memory

_ABOUT = "Supervised dimensionality reduction by generalized eigenvalue problems."
_VERSION = {"message": "eigenkit %(version)s", "help": "Show the version."}

app = Group("eigenkit", COMMANDS, help=_ABOUT)
click.version_option(eigenkit.__version__, **_VERSION)(app)


def run() -> None:
    """Run the command line as a program of its own."""
    signal.signal(signal.SIGTERM, terminate)
    speak_any_encoding()
    keep_memory()
    atexit.register(gc.freeze)  # all memory goes at once: nothing need be searched for garbage
    app()
