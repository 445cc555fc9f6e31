"""Finished folds of a comparison on disk: an interrupted run continues after them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eigenkit.evaluation.comparing import identity
from eigenkit.files import FileError, atomic
from eigenkit.images.annotator import ImageAnnotator
from eigenkit.images.extraction import in_cache
from eigenkit.images.files import ImageSet
from eigenkit.images.model_file import load_annotator, save_annotator
from eigenkit.models import versions
from eigenkit.numerics.linalg import Array

# Parameters that do not change the result.
_OF_THE_RUN = ("cache", "n_jobs", "progress")


@dataclass(frozen=True)
class Finished:
    """The measures and seconds of every rival on one fold."""

    measures: dict[str, list[float]]
    seconds: dict[str, float]


class FinishedFolds:
    """The folds of one comparison, which a key tells from others: a model and figures each.

    They are kept in the cache of the annotator. Nothing is kept without a cache, or with functions
    of the user's, whose versions cannot be told apart.
    """

    def __init__(self, annotator: ImageAnnotator, key: str) -> None:
        self.given = annotator.descriptors
        own = any(d.function is not None for d in self.given)
        keeps = annotator.cache is not None and not own
        self.folder = Path(annotator.cache) / "folds" / key if keeps else None

    def get(self, number: int) -> tuple[ImageAnnotator, Finished] | None:
        """The fold of that number; None where it has not been finished, or is damaged."""
        if self.folder is None or not self._place(number, ".json").exists():
            return None
        try:
            model = load_annotator(self._place(number, ".ek"), self.given)
            figures = json.loads(self._place(number, ".json").read_text())
            return model, Finished(**figures)
        except (FileError, OSError, ValueError, TypeError):
            return None

    def put(self, number: int, model: ImageAnnotator, found: Finished) -> None:
        """Keep a fold; the figures are written last, so where they are, the model is too."""
        if self.folder is None:
            return
        with in_cache(self.folder.parents[1]):
            self.folder.mkdir(parents=True, exist_ok=True)
            save_annotator(model, self._place(number, ".ek"))
            with atomic(self._place(number, ".json")) as stream:
                stream.write(json.dumps(asdict(found)).encode())

    def forget(self) -> None:
        """Remove the files when all folds are finished."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _place(self, number: int, ending: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{number}{ending}"


def comparison_key(
    sets: Sequence[ImageSet], Y: Array, annotator: ImageAnnotator, *settings: Any
) -> str:
    """A hash of pictures, terms, parameters, settings, versions and the code itself."""
    params = {k: v for k, v in annotator.get_params().items() if k not in _OF_THE_RUN}
    pictures = [(one.name, [(p.digest, p.view) for p in one.pictures]) for one in sets]
    code = (file.read_bytes() for file in sorted(Path(__file__).parents[1].rglob("*.py")))
    return identity(pictures, Y, params, settings, versions(), *code)
