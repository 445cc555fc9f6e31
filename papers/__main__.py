"""``python -m papers``: run the experiments of the papers again and show ours beside theirs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from papers import EXPERIMENTS, RESULTS, Result, run_papers


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m papers",
        description="Run the experiments of the papers again and show ours beside theirs. Data are "
        "looked for in the folder that EIGENKIT_DATA names, then fetched. What is computed is "
        "kept as long as the code that computed it stays the same.",
    )
    made.add_argument("--only", nargs="+", metavar="NAME", help="experiments; by default all")
    made.add_argument("--list", action="store_true", help="list the experiments")
    much = made.add_mutually_exclusive_group()
    much.add_argument("--quick", action="store_true", help="data at hand, few repetitions")
    much.add_argument("--full", action="store_true", help="as many partitions as the papers have")
    made.add_argument("--fresh", action="store_true", help="compute again what is there")
    made.add_argument("--seed", type=int, default=0, help="seed of all random choices")
    made.add_argument("--out", type=Path, default=RESULTS, help="folder of the page")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Exit code: 0 done, 2 bad usage, 130 interrupted."""
    reader = parser()
    chosen = reader.parse_args(arguments)
    if chosen.list:
        print("\n".join(f"{e.name:24} {e.title} ({e.source})" for e in EXPERIMENTS.values()))
        return 0
    try:
        results = run_papers(
            chosen.only,
            out=chosen.out,
            quick=chosen.quick,
            full=chosen.full,
            seed=chosen.seed,
            fresh=chosen.fresh,
            progress=_tell,
        )
    except ValueError as error:
        if chosen.only and not set(chosen.only) <= set(EXPERIMENTS):
            reader.error(str(error))
        raise
    except KeyboardInterrupt:
        kept = chosen.out / "cells"
        print(f"\ninterrupted: what was computed is kept in {kept}", file=sys.stderr)
        return 130
    print(_told(results, chosen.out))
    return 0


def _tell(done: int, total: int, message: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{done + 1}/{total} {message}"[:100], end="", file=sys.stderr, flush=True)


def _told(results: list[Result], out: Path) -> str:
    lines = [f"{r.name:24} {len(r.blocks):3} blocks {r.seconds:8.0f} s" for r in results]
    lines += [f"not run, {r.name}: {reason}" for r in results for reason in r.missing]
    return "\n".join([*lines, f"wrote {out / 'papers.html'} and {out / 'papers.md'}"])


if __name__ == "__main__":
    sys.exit(main())
