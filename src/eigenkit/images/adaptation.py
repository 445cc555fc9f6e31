"""A model brought to new sets of another kind: another camera, another maker."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from eigenkit.images.annotator import NEVER, ImageAnnotator
from eigenkit.images.checks import check_sets
from eigenkit.images.files import ImageSet

# Fewer sets say too little of how scores of their kind are spread.
FEWEST = 30


def adapt(model: ImageAnnotator, sets: Sequence[ImageSet]) -> ImageAnnotator:
    """A model whose thresholds suit new sets of another kind.

    A kernel that knows other cameras or makers finds new sets unlike all others, and gives them
    scores near the mean, below most thresholds. Each threshold goes to where it lies among the
    scores of these sets as it did among those that it was chosen by: as many deviations from
    their mean. Scores and probabilities stay as they are. This takes for granted that the terms
    are about as frequent in the new sets as in the training sets.

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
    >>> model = ImageAnnotator(["hog-4"], size=(32, 32)).fit(*make_shapes(30, size=32))
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
    mean, deviation = model._spread_
    known = deviation > 1e-9 * (1 + np.abs(mean))
    slopes = np.where(known, S.std(axis=0) / np.where(known, deviation, 1), 1)
    learned = np.abs(model.thresholds_) < NEVER
    away = np.where(learned, model.thresholds_, mean) - mean
    adapted = copy(model)
    # Among these scores the new thresholds lie: adapting to the same sets again changes nothing.
    adapted._spread_ = np.array([S.mean(axis=0), np.where(known, S.std(axis=0), deviation)])
    adapted.thresholds_ = np.where(learned, S.mean(axis=0) + slopes * away, model.thresholds_)
    return adapted
