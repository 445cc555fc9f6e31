"""papers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, progress, table


def papers(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Names of experiments, with commas; by default all."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Bundled and generated data, few repetitions: two minutes."),
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    out: Annotated[
        str, typer.Option("--out", "-o", help="Folder of the page, its figures and what is done.")
    ] = "papers",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Compute again what an earlier run has left.")
    ] = False,
    seed: o.Seed = 0,
    as_json: o.Json = False,
    debug: o.Debug = False,
) -> Result:
    """Run the experiments of the papers again and show ours beside theirs.

    Data are looked for in the folder that the environment variable EIGENKIT_DATA names, then
    fetched. What is computed is kept: a run that was interrupted goes on where it was.
    """
    from eigenkit.papers import EXPERIMENTS, run_papers

    if show:
        listed = list(EXPERIMENTS.values())
        rows = [[e.name, e.source, e.title] for e in listed]
        record = [{"name": e.name, "source": e.source, "title": e.title} for e in listed]
        return Result({"experiments": record}, table(["name", "paper", "what it shows"], rows))
    names = o.split(only) if only else None
    try:
        with progress("running", as_json) as advance:
            results = run_papers(
                names, out=out, quick=quick, seed=seed, fresh=fresh, progress=advance
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"what was computed is kept in {out}/cells, give the same command to go on"
        ) from None
    return _told(results, out)


def _told(results: list[Any], out: str) -> Result:
    pages = [f"{out}/papers.html", f"{out}/papers.md"]
    done = [{"name": r.name, "seconds": r.seconds, "missing": r.missing} for r in results]
    rows = [[r.name, len(r.blocks), f"{r.seconds:.0f}"] for r in results]
    text = table(["experiment", "blocks", "seconds"], rows, right=(1, 2))
    wrote = f"wrote {clean(pages[0])} and {clean(pages[1])}"
    missing = [f"{r.name}: {reason}" for r in results for reason in r.missing]
    return Result({"experiments": done, "pages": pages}, f"{text}\n{wrote}", missing)
