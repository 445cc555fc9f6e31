"""The command line: arguments in, library calls, one result out.

Exit codes: 0 done, 1 bad data or failed work, 2 bad usage, 130 interrupted. Everything heavy
is imported inside the commands, so that help comes at once.
"""

from __future__ import annotations

import atexit
import gc
import signal
from typing import Annotated

import typer

import eigenkit
from eigenkit.cli import _annotate
from eigenkit.cli._apply import predict, score, transform
from eigenkit.cli._compare import compare, demo, methods
from eigenkit.cli._console import command, speak_any_encoding, terminate
from eigenkit.cli._example import example
from eigenkit.cli._explain import explain, export
from eigenkit.cli._fit import fit
from eigenkit.cli._inspect import inspect
from eigenkit.cli._report import report
from eigenkit.cli._significance import significance
from eigenkit.cli._start import keep_memory
from eigenkit.cli._streams import follow, merge

app = typer.Typer(
    name="eigenkit",
    help="Supervised dimensionality reduction by generalized eigenvalue problems.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help comes twice as fast, and wraps better
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"eigenkit {eigenkit.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


_WITHOUT_MODELS = (demo, example, methods, report)
_COMMANDS = (*_WITHOUT_MODELS, compare, fit, transform, predict, score, explain)
for _function in (*_COMMANDS, inspect, export, follow, merge):
    command(app, _function.__name__, _function not in _WITHOUT_MODELS)(_function)
command(app, "test")(significance)


app.add_typer(_annotate.app, name="annotate")


def run() -> None:
    """Run the command line as a program of its own."""
    signal.signal(signal.SIGTERM, terminate)
    speak_any_encoding()
    keep_memory()
    atexit.register(gc.freeze)  # all memory goes at once: nothing need be searched for garbage
    app()
