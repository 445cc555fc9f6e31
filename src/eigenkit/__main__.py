"""``python -m eigenkit`` and the command ``eigenkit``."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Any, NoReturn


def _stop(number: int, frame: Any) -> NoReturn:
    """Exit at once: there is nothing to clean up yet, and imports would print tracebacks."""
    os.write(2, b"error: interrupted: no output was written.\n")
    os._exit(128 + number)


def _open_streams() -> None:
    """Where the caller closed a stream, nothing is read and what is written goes nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def main() -> None:
    """Run the command line; the demonstration needs no extra package."""
    _open_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it may be ignored
        signal.signal(signal.SIGINT, _stop)
    try:
        import click  # noqa: F401
    except ImportError:
        if sys.argv[1:] == ["demo"]:
            from eigenkit.demo import main as demo

            sys.exit(demo())
        sys.exit("The command line needs two more packages: pip install click rich.")
    gc.disable()  # until everything is imported; eigenkit.cli._start.started says why
    from eigenkit.cli import run

    run()


if __name__ == "__main__":
    main()
