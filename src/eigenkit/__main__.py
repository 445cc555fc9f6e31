"""``python -m eigenkit`` and the command ``eigenkit``."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line; the demonstration needs no extra package."""
    try:
        import typer  # noqa: F401
    except ImportError:
        if sys.argv[1:] == ["demo"]:
            from eigenkit.demo import main as demo

            sys.exit(demo())
        sys.exit("The command line needs two more packages: pip install rich typer.")
    gc.disable()  # until all is imported: eigenkit.cli._start.started says why
    from eigenkit.cli import run

    run()


if __name__ == "__main__":
    main()
