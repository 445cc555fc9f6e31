"""New sets with views that no training set shows: another camera, another maker.

What is chosen on sets that were left out holds for new sets of the same views. Where new ones show
others, every view is left out in turn, together with half of the sets: sets that show it alone are
annotated by the other half without it, as new ones will be.

Every view of a set is a row of the regression. With one row for a set, only the mean score of its
pictures has to be right; with a row for every view, the score of each has to be, so that what tells
views from each other counts less.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from eigenkit.images.extraction import Vectors, subset
from eigenkit.images.files import ImageSet, view_in_words
from eigenkit.images.kernels import Plan, fit_kernels
from eigenkit.images.weights import Trial, folds_of
from eigenkit.numerics.linalg import Array


def views_apart(sets: Sequence[ImageSet]) -> tuple[list[ImageSet], np.ndarray]:
    """Every view of every set as a set of its own, and the place of the set that it is of."""
    parts, of = [], []
    for i, one in enumerate(sets):
        for view in one.views:
            name = f"{one.name}, {view_in_words(view)}" if len(one.views) > 1 else one.name
            parts.append(ImageSet(name, tuple(p for p in one.pictures if p.view == view)))
            of.append(i)
    return parts, np.array(of, dtype=np.intp)


def rows_of_views(
    sets: Sequence[ImageSet], vectors: Vectors, Y: Array, groups: Any
) -> tuple[list[ImageSet], Vectors, Array, np.ndarray]:
    """Every view of every set as a row; those of one set are of one group."""
    parts, of = views_apart(sets)
    rows = [(sets[i], part.views, i) for i, part in zip(of, parts, strict=True)]
    return parts, _shown(rows, vectors), Y[of], of if groups is None else groups[of]


def _shown(rows: Sequence[tuple[ImageSet, Sequence[str], int]], vectors: Vectors) -> Vectors:
    """The vectors of pictures of some views, for rows of a set, these views and its place."""
    kept = [(i, [p.view in views for p in one.pictures]) for one, views, i in rows]
    return {
        name: [list(compress(given[i], shown)) for i, shown in kept]
        for name, given in vectors.items()
    }


def unseen_trials(
    plans: Sequence[Plan],
    places: dict[str, Array | None],
    sets: Sequence[ImageSet],
    vectors: Vectors,
    Y: Array,
    groups: Any,
    seed: int,
) -> list[Trial]:
    """For every view, sets that show it annotated by other sets without it."""
    seen = sorted({view for one in sets for view in one.views})
    if len(seen) < 2:
        raise ValueError(
            "views='unseen' leaves out one view after the other, and these sets show one only: "
            "give sets with two views or more, or views=False."
        )
    trials = []
    for view in seen:
        alone = _part(sets, vectors, [view])
        others = _part(sets, vectors, [other for other in seen if other != view])
        for train, check in folds_of(Y, groups, 2, seed):
            train, check = _filled(others[0], train), _filled(alone[0], check)
            if not (len(train) and len(check)):
                continue
            kernels, K = fit_kernels(plans, [None], *_rows(others, train), places, seed)
            new, own = _rows(alone, check)
            K_new = [
                kernel.transform(new, own[kernel.plan.descriptor], places[kernel.plan.descriptor])
                for kernel in kernels
            ]
            known = None if groups is None else groups[train]
            ones = np.ones((len(K), len(check)))
            trials.append(Trial(K, np.array(K_new), ones, Y[train], Y[check], check, known))
    return trials


Part = tuple[list[ImageSet], Vectors]


def _part(sets: Sequence[ImageSet], vectors: Vectors, views: list[str]) -> Part:
    """The sets with their pictures of some views only; some may be left empty."""
    pictures = [
        ImageSet(one.name, tuple(p for p in one.pictures if p.view in views)) for one in sets
    ]
    return pictures, _shown([(one, views, i) for i, one in enumerate(sets)], vectors)


def _filled(sets: list[ImageSet], rows: np.ndarray) -> np.ndarray:
    return np.array([i for i in rows if len(sets[i])], dtype=np.intp)


def _rows(part: Part, rows: np.ndarray) -> Part:
    sets, vectors = part
    return [sets[int(i)] for i in rows], subset(vectors, rows)
