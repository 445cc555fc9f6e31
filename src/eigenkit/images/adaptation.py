"""A model brought to new sets of another kind: another camera, another maker."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from eigenkit.images.annotator import ImageAnnotator
from eigenkit.images.checks import check_sets
from eigenkit.images.files import ImageSet

# Fewer sets say too little of how scores of their kind are spread.
FEWEST = 30


def adapt(model: ImageAnnotator, sets: Sequence[ImageSet]) -> ImageAnnotator:
    """A model whose scores are spread over new sets as over the training sets, being left out.

    A kernel that knows other cameras or makers finds new sets unlike all others, and gives all of
    them scores near the mean. For every term, a line brings the mean and the deviation of the
    scores of these sets to those that thresholds were chosen by. Their order stays as it is; what
    changes is how terms compare with each other, and which are predicted. This takes for granted
    that the terms are about as frequent in the new sets as in the training sets.

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
    >>> new = make_shapes(30, size=32, seed=1)[0]
    >>> adapt(model, new).predict(new).shape
    (30, 9)
    """
    sets = check_sets(sets)
    if len(sets) < FEWEST:
        raise ValueError(
            f"adapt was given {len(sets)} sets, too few to tell how their scores are spread: "
            f"give at least {FEWEST} new sets, or predict without it."
        )
    S = model.decision_function(sets)
    mean, deviation = model._spread_
    spread = S.std(axis=0)
    told_apart = spread > 1e-9 * (1 + np.abs(S).max(axis=0))
    slopes = np.where(told_apart, deviation / np.where(told_apart, spread, 1), 1)
    adapted = copy(model)
    adapted._coefficients_ = slopes * model._coefficients_
    adapted._intercept_ = slopes * (model._intercept_ - S.mean(axis=0)) + mean
    return adapted
