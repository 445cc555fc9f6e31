"""Steps of a comparison, kept in a file as they are done: a run that ended early is taken up again.

A line of JSON for every step, after a first one that says of which run they are. A line that a
crash has cut short, and what follows it, counts as not done.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.evaluation.detail import Detail
from eigenkit.evaluation.trial import Outcome
from eigenkit.record import model_from_dict, to_dict
from eigenkit.record.schema import Model

Step = tuple[int, str]


def identity(*parts: Any) -> str:
    """A short hash of what makes a run what it is."""
    digest = hashlib.sha256()
    for part in parts:
        # The text of a long array leaves out most of it.
        whole = part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode()
        digest.update(whole + b"\0")
    return digest.hexdigest()[:32]


class KeptSteps:
    """Outcomes and models by split and method, in memory and, with a path, in a file.

    Parameters
    ----------
    path : path, optional
    run : str
        The :func:`identity` of the run; a file of another run is begun anew.
    """

    def __init__(self, path: str | os.PathLike[str] | None, run: str) -> None:
        self.path = None if path is None else Path(path)
        self._known: dict[Step, tuple[Outcome, Model | None]] = {}
        if self.path is None:
            return
        lines = [json.dumps({"run": run})]
        for line, step, value in self._read(run):
            self._known[step] = value
            lines.append(line)
        self.path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def __len__(self) -> int:
        return len(self._known)

    def get(self, split: int, method: str) -> tuple[Outcome, Model | None] | None:
        """What is known of a step."""
        return self._known.get((split, method))

    def add(self, split: int, method: str, outcome: Outcome, model: Model | None) -> None:
        """Keep a step; it is in the file when this returns."""
        self._known[split, method] = (outcome, model)
        if self.path is None:
            return
        line = {"split": split, "method": method, "outcome": dataclasses.asdict(outcome)}
        line["model"] = to_dict(model)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def forget(self) -> None:
        """Remove the file: the run is complete."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _read(self, run: str) -> Iterator[tuple[str, Step, tuple[Outcome, Model | None]]]:
        assert self.path is not None
        if not self.path.exists():
            return
        first, *lines = self.path.read_text(encoding="utf-8", errors="replace").split("\n")
        try:
            if json.loads(first).get("run") != run:
                return
            for line in lines:
                yield line, *_step(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError):
            return


def _step(found: dict[str, Any]) -> tuple[Step, tuple[Outcome, Model | None]]:
    outcome = Outcome(**found["outcome"])
    if outcome.detail is not None:
        outcome.detail = Detail(**outcome.detail)  # type: ignore[arg-type]
    model = None if found["model"] is None else model_from_dict(found["model"])
    return (int(found["split"]), str(found["method"])), (outcome, model)
