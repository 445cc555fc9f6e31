"""``python -m eigenkit demo``."""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> int:
    """Run the command named first."""
    if arguments != ["demo"]:
        print("usage: python -m eigenkit demo", file=sys.stderr)
        return 2
    from eigenkit.demo import main as demo

    return demo()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
