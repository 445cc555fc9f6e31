"""What is done with a fitted annotator: written to a file, read again, brought to other sets.

Files are plain arrays and JSON, and run no code when they are read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenkit.files import FileError, atomic
from eigenkit.images.annotator import ImageAnnotator
from eigenkit.images.checks import check_sets
from eigenkit.images.descriptors import DESCRIPTORS, Descriptor, check_own
from eigenkit.images.files import ImageSet
from eigenkit.models import _container, versions
from eigenkit.shell import filled

MAX_BYTES = 4 * 2**30
# Fewer sets say too little of how scores of their kind are spread.
FEWEST = 30
# Scores of a term that differ by less, relatively, are the same: how they are spread says nothing.
SAME = 1e-9
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
    vars(kept).update({**vars(model), **_NOT_KEPT})
    kept._descriptors_ = [copy(d).set_params(function=None) for d in model._descriptors_]
    arrays: list[np.ndarray] = []
    tree = {"kind": "images", "model": _container.to_tree(kept, arrays), "versions": versions()}
    with atomic(os.fspath(path)) as stream:
        _container.write_container(stream, tree, arrays)


@described
def load_annotator(
    path: str | os.PathLike[str], descriptors: Sequence[Descriptor] = (), max_bytes: int = MAX_BYTES
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
    tree, arrays = _container.read_container(name, max_bytes)
    if not isinstance(tree, dict) or tree.get("kind") != "images":
        raise FileError(name, "it is not a model of image sets: use eigenkit predict.")
    with _container.putting_together(name):
        model = _container.from_tree(tree.get("model"), arrays)
        if not isinstance(model, ImageAnnotator):
            raise _container.TreeError("it holds something other than an annotator")
        if not hasattr(model, "unlearned_"):
            raise FileError(name, "an earlier version of eigenkit wrote it: fit it again.")
        for i, d in enumerate(model._descriptors_):
            if d.name in own:
                model._descriptors_[i] = own[d.name]
            elif d.name not in DESCRIPTORS:
                raise FileError(
                    name,
                    f"it was fitted with the descriptor {d.name!r}, which is not ours: give it to "
                    "load_annotator.",
                )
        _try_out(model)
    return model


def _try_out(model: ImageAnnotator) -> None:
    """A blank image goes through: the parts fit together, or this says so."""
    h, w = (int(side) for side in model.size_)
    if not (0 < h <= 4096 and 0 < w <= 4096):
        raise _container.TreeError("its images have no sensible size")
    blank = np.full((h, w, 3), 255, dtype=np.uint8)
    view = next((k.view for k in model._kernels_ if k.view is not None), "")
    P = model.predict_proba([ImageSet.from_arrays("blank", [blank], [view])])
    if P.shape != (1, len(model.terms_)) or not np.all(np.isfinite(P)):
        raise _container.TreeError("it predicts nothing sensible")


def adapt(model: ImageAnnotator, sets: Sequence[ImageSet]) -> ImageAnnotator:
    """A model whose scores suit new sets of another kind.

    A kernel that knows other cameras or makers finds new sets unlike all others, and gives them
    scores near the mean: below most thresholds, and nearer to it for some terms than for others,
    so that the terms of a set are in the wrong order, too. A line for every term gives its scores
    the mean and the deviation over these sets that they had over the sets left out in fit, by
    which probabilities and thresholds were found. The order of the sets stays as it is. This
    takes for granted that the terms are about as frequent in the new sets as in the training sets.
    For sets of a kind that the model knows it does harm: their spread is uncertain.

    Parameters
    ----------
    model : ImageAnnotator
        A fitted one; it is not changed.
    sets : sequence of ImageSet
        At least 30 new sets. Their terms need not be known.

    Returns
    -------
    ImageAnnotator

    Examples
    --------
    >>> from eigenkit.images import ImageAnnotator, adapt, make_shapes
    >>> model = ImageAnnotator(["thumbnail"], size=(32, 32)).fit(*make_shapes(30, size=32))
    >>> new = make_shapes(30, size=32, random_state=1)[0]
    >>> adapt(model, new).predict(new).shape
    (30, 9)
    """
    sets = check_sets(sets)
    if len(sets) < FEWEST:
        raise ValueError(
            f"adapt was given {len(sets)} sets, too few to estimate how their scores are spread: "
            f"give at least {FEWEST} new sets, or predict without it."
        )
    S = model.decision_function(sets)
    (mean, deviation), (own_mean, own_deviation) = model._spread_, (S.mean(axis=0), S.std(axis=0))
    known = deviation > SAME * (1 + np.abs(mean))
    known &= own_deviation > SAME * (1 + np.abs(own_mean))
    slopes = np.where(known, deviation, 1) / np.where(known, own_deviation, 1)
    offsets = mean - slopes * own_mean
    changed = copy(model)
    changed._coefficients_ = slopes * model._coefficients_
    changed._intercept_ = slopes * model._intercept_ + offsets
    changed._targets_ = [replace(t, back=slopes * t.back) for t in model._targets_]
    second = model._second_
    changed._second_ = None if second is None else second.calibrated(slopes, offsets)
    changed._held_out_ = slopes * model._held_out_ + offsets
    return changed
