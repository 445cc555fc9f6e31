"""``python -m papers``: run the experiments of the papers again and show ours beside theirs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from papers import EXPERIMENTS, RESULTS, Progress, Result, run_papers


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
    made.add_argument("--times", action="store_true", help="measure times again, nothing else")
    made.add_argument("--remark", default="", help="a sentence about this run, for the page")
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
            times=chosen.times,
            remark=chosen.remark,
            progress=_teller(),
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


def _teller() -> Progress:
    """Every cell in one line of a terminal; in a log a line for every experiment."""
    told: set[int] = set()

    def tell(done: int, total: int, message: str) -> None:
        place = f"{min(done + 1, total)}/{total}"
        if sys.stderr.isatty():
            line = f"\r\x1b[K{place} {message}"[:100]
            print(line, end="\n" if done == total else "", file=sys.stderr, flush=True)
        elif done not in told and done < total:
            told.add(done)
            print(f"{place} {message.split(':')[0]}", file=sys.stderr, flush=True)

    return tell


def _told(results: list[Result], out: Path) -> str:
    lines = [f"{r.name:24} {len(r.blocks):3} blocks {r.seconds:8.0f} s" for r in results]
    lines.append(f"{'together':24} {sum(r.seconds for r in results) / 60:21.0f} min")
    lines += [f"not run, {r.name}: {reason}" for r in results for reason in r.missing]
    return "\n".join([*lines, f"wrote {out / 'papers.html'} and {out / 'papers.md'}"])


if __name__ == "__main__":
    sys.exit(main())
