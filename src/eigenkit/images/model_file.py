"""A fitted annotator as a file of plain arrays and JSON, which runs no code when it is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenkit.files import FileError, atomic
from eigenkit.images.annotator import ImageAnnotator
from eigenkit.images.descriptors import DESCRIPTORS, Descriptor, check_own
from eigenkit.images.files import ImageSet
from eigenkit.models import versions
from eigenkit.models._container import (
    TreeError,
    from_tree,
    putting_together,
    read_container,
    to_tree,
    write_container,
)
from eigenkit.shell import filled

MAX_BYTES = 4 * 2**30
# What belongs to a run and not to the model.
_NOT_KEPT: dict[str, Any] = {"cache": None, "n_jobs": None, "progress": None, "descriptors": ()}


described = filled(
    {
        "kept": """
Examples
--------
>>> from eigenkit.images import ImageAnnotator, load_annotator, make_shapes, save_annotator
>>> sets, Y, terms = make_shapes(30, size=32)
>>> model = ImageAnnotator(["hsv", "thumbnail"], size=(32, 32)).fit(sets, Y, terms)
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     save_annotator(model, f"{folder}/shapes.ek")
...     again = load_annotator(f"{folder}/shapes.ek")
>>> bool((again.predict_proba(sets) == model.predict_proba(sets)).all())
True
"""
    }
)


@described
def save_annotator(model: ImageAnnotator, path: str | os.PathLike[str]) -> None:
    """Write a fitted annotator to a file, completely or not at all.

    Descriptors of your own are kept by name only: give them to :func:`load_annotator` again.

    Parameters
    ----------
    model : ImageAnnotator
    path : path

    {kept}
    """
    check_is_fitted(model)
    kept = ImageAnnotator()
    for name, value in {**vars(model), **_NOT_KEPT}.items():
        setattr(kept, name, value)
    kept._descriptors_ = [copy(d).set_params(function=None) for d in model._descriptors_]
    arrays: list[np.ndarray] = []
    tree = {"kind": "images", "model": to_tree(kept, arrays), "versions": versions()}
    with atomic(os.fspath(path)) as stream:
        write_container(stream, tree, arrays)


@described
def load_annotator(
    path: str | os.PathLike[str],
    descriptors: Sequence[Descriptor] = (),
    max_bytes: int = MAX_BYTES,
) -> ImageAnnotator:
    """Read an annotator that :func:`save_annotator` wrote.

    Parameters
    ----------
    path : path
    descriptors : sequence of Descriptor
        Those of your own that it was fitted with.
    max_bytes : int
        Files larger than this are refused before they are read.

    Returns
    -------
    ImageAnnotator

    {kept}
    """
    name, own = str(os.fspath(path)), check_own(descriptors)
    tree, arrays = read_container(name, max_bytes)
    if not isinstance(tree, dict) or tree.get("kind") != "images":
        raise FileError(name, "it is not a model of image sets: use eigenkit predict.")
    with putting_together(name):
        model = from_tree(tree.get("model"), arrays)
        if not isinstance(model, ImageAnnotator):
            raise TreeError("it holds something other than an annotator")
        if not hasattr(model, "unlearned_"):
            raise FileError(name, "an earlier version of eigenkit wrote it: fit it again.")
        _give_functions(name, model, own)
        _try_out(model)
    return model


def _give_functions(path: str, model: ImageAnnotator, own: Mapping[str, Descriptor]) -> None:
    for i, d in enumerate(model._descriptors_):
        if d.name in own:
            model._descriptors_[i] = own[d.name]
        elif d.name not in DESCRIPTORS:
            raise FileError(
                path,
                f"it was fitted with the descriptor {d.name!r}, which is not ours: give it to "
                "load_annotator.",
            )


def _try_out(model: ImageAnnotator) -> None:
    """A blank image goes through: the parts fit together, or this says so."""
    h, w = (int(side) for side in model.size_)
    if not (0 < h <= 4096 and 0 < w <= 4096):
        raise TreeError("its images have no sensible size")
    blank = np.full((h, w, 3), 255, dtype=np.uint8)
    view = next((k.view for k in model._kernels_ if k.view is not None), "")
    P = model.predict_proba([ImageSet.from_arrays("blank", [blank], [view])])
    if P.shape != (1, len(model.terms_)) or not np.all(np.isfinite(P)):
        raise TreeError("it predicts nothing sensible")
