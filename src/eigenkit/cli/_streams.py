"""follow and merge: models of rows that keep arriving, and of several sites."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, clean, saying
from eigenkit.cli._data import reading
from eigenkit.cli._inspect import describe, summary
from eigenkit.files._writing import Lock
from eigenkit.models import Model, load, merge_models, save
from eigenkit.models._follow import Follower
from eigenkit.shell import counted


def follow(given: o.Given) -> Result:
    data, model, checkpoint = given.data, given.model, given.checkpoint
    o.choice("--on-error", given.on_error, ("raise", "skip"))
    o.check_apart([data], [model, checkpoint])
    stopped = "the end of the file"
    with Lock(model):  # before it is read, so that nothing is lost that another process adds
        fitted = load(model)
        # The stream skips bad rows, not the reader.
        how = {"stream": True, "expected": fitted.expected(), "on_error": "raise"}
        options = fitted.target.as_read(reading(given, **how))
        told = {name: getattr(given, name) for name in ("every", "half_life", "on_error")}
        follower = Follower(fitted, model, checkpoint, options, **told)
        try:
            follower.follow(data, once=given.once, say=saying())
        except KeyboardInterrupt:
            stopped = "an interrupt"
    stream, source = follower.stream, "standard input" if data == "-" else clean(data)
    skipped = [{"position": p, "problem": m} for p, m in stream.skipped]
    lines = [f"followed {source} to {stopped}: {counted(stream.n_rows, 'row')} in {clean(model)}"]
    if stream.n_skipped:
        lines.append(f"bad rows skipped: {stream.n_skipped}, the last of them:")
        lines += [f"- {clean(s['problem'])}" for s in skipped[-5:]]
    counts = {"rows": stream.n_rows, "rows_before": follower.n_held, "position": stream.position}
    record = {**counts, "model": model, "n_skipped": stream.n_skipped, "skipped": skipped}
    return Result(record, "\n".join(lines))


def merge(given: o.Given) -> Result:
    models = given.models
    if len(models) < 2 and not given.no_rows:
        raise o.bad("MODELS", "give at least two models, or one and --no-rows.")
    (place,) = o.outputs(models, given.force, given.out)
    loaded = [(name, load(name)) for name in models]
    held = _check_distinct(loaded)
    merged = merge_models(loaded, keep_rows=not given.no_rows)
    merged.how["holds"] = held
    save(merged, place)
    record = {"model": str(place), **describe(merged)}
    return Result(record, f"{summary(merged)}\nwrote {clean(place)}")


def _check_distinct(models: Sequence[tuple[str, Model]]) -> list[str]:
    """Refuse rows that are given twice; the contents of all files that the models are made from.

    The same model may come under two names, or as a part of another one.
    """
    first: dict[str, str] = {}
    for name, model in models:
        held = model.how.get("holds")  # from a file, which may hold anything
        own = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        for mark in (own, *(map(str, held) if isinstance(held, list) else ())):
            if mark in first:
                same = f"{clean(name)} holds the same rows as {clean(first[mark])}"
                raise o.bad("MODELS", f"{same}: its rows would count twice.")
            first[mark] = name
    return sorted(first)
