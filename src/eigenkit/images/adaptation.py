"""A model brought to new sets of another kind: another camera, another maker."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from eigenkit.images.annotator import ImageAnnotator
from eigenkit.images.checks import check_sets
from eigenkit.images.files import ImageSet
from eigenkit.numerics.linalg import Array

# Fewer sets say too little of how scores of their kind are spread.
FEWEST = 30
# Scores of a term that differ by less, relatively, are the same: how they are spread says nothing.
SAME = 1e-9


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
    known = _differ(mean, deviation) & _differ(own_mean, own_deviation)
    slopes = np.where(known, deviation, 1) / np.where(known, own_deviation, 1)
    return _on_lines(model, slopes, mean - slopes * own_mean)


def _differ(mean: Array, deviation: Array) -> np.ndarray:
    return np.asarray(deviation > SAME * (1 + np.abs(mean)))


def _on_lines(model: ImageAnnotator, slopes: Array, offsets: Array) -> ImageAnnotator:
    """A model whose scores are lines of the present ones, of sets left out in fit as well."""
    changed = copy(model)
    changed._coefficients_ = slopes * model._coefficients_
    changed._intercept_ = slopes * model._intercept_ + offsets
    changed._targets_ = [replace(t, back=slopes * t.back) for t in model._targets_]
    second = model._second_
    changed._second_ = None if second is None else second.calibrated(slopes, offsets)
    changed._held_out_ = slopes * model._held_out_ + offsets
    return changed
