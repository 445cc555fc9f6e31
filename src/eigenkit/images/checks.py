"""What a user gives to the annotator: right, or answered by one sentence."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from eigenkit.exceptions import ImageWarning
from eigenkit.images.arrays import Array
from eigenkit.images.descriptors import Descriptor
from eigenkit.images.extraction import Vectors
from eigenkit.images.files import ImageSet
from eigenkit.shell import shown


def check_size(size: Any) -> tuple[int, int]:
    """Height and width, large enough for the patches of local descriptors."""
    try:
        height, width = (int(side) for side in size)
    except (TypeError, ValueError):
        height = width = 0
    if not (16 <= height <= 4096 and 16 <= width <= 4096):
        raise ValueError(
            f"size={size!r} is not valid: give height and width between 16 and 4096 pixels."
        )
    return height, width


def check_sets(sets: Any) -> list[ImageSet]:
    """The sets as a list, if that is what they are."""
    found = list(sets) if isinstance(sets, Sequence) and not isinstance(sets, str) else [sets]
    if not found:
        raise ValueError("sets is empty: give at least one set.")
    if not all(isinstance(one, ImageSet) for one in found):
        raise TypeError("sets is not a list of ImageSet: give what read_sets returns.")
    empty = next((one for one in found if not len(one)), None)
    if empty is not None:
        raise ValueError(f"set {shown(empty.name)} holds no image: give at least one.")
    return found


def check_vectors(vectors: Vectors) -> None:
    """Some picture has a vector: nothing can be learned from a descriptor that sees nothing."""
    for name, own in vectors.items():
        if not any(v.size for pictures in own for v in pictures):
            raise ValueError(f"descriptor {name!r} gave no vector for any image: leave it out.")


def check_patches(descriptors: Sequence[Descriptor], size: tuple[int, int]) -> None:
    """Images must be as large as the patches that are cut out of them."""
    for d in descriptors:
        if d.radius is not None and min(size) < 2 * d.radius:
            raise ValueError(
                f"size={size} is too small for {d.name}, whose patches are {2 * d.radius} pixels "
                "wide: give a larger size, or leave it out."
            )


def check_groups(groups: Any, n: int) -> np.ndarray:
    """A name or number for every set."""
    given = np.asarray(groups)
    if given.shape != (n,):
        raise ValueError(f"groups has the shape {given.shape}: give one for each of the {n} sets.")
    if len(np.unique(given)) < 2:
        raise ValueError("groups puts all sets into one group: give at least 2 groups, or none.")
    return given


def check_terms(Y: Any, terms: Sequence[str] | None, n: int) -> tuple[Array, list[str]]:
    """Y as numbers 0, 1 and rows of NaN, and the names of its columns."""
    if terms is None and hasattr(Y, "columns"):
        terms = [str(name) for name in Y.columns]
    try:
        given = np.asarray(Y.toarray() if issparse(Y) else Y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("Y is not a matrix of 0 and 1.") from error
    if given.ndim != 2 or given.shape[0] != n or given.shape[1] == 0:
        raise ValueError(f"Y has the shape {given.shape}: give a row for each of the {n} sets.")
    missing = np.isnan(given)
    if np.any(missing.any(axis=1) != missing.all(axis=1)):
        raise ValueError("a row of Y is NaN in part: a set is labelled or it is not.")
    labelled = given[~missing.any(axis=1)]
    if len(labelled) < 4:
        raise ValueError(f"Y has labels for {len(labelled)} of {n} sets: give at least 4.")
    if not np.all((labelled == 0) | (labelled == 1)):
        raise ValueError("Y holds other numbers than 0 and 1.")
    names = [f"term {j + 1}" for j in range(given.shape[1])] if terms is None else terms
    names = [str(name) for name in names]
    if len(names) != given.shape[1]:
        raise ValueError(f"terms names {len(names)} columns, but Y has {given.shape[1]}.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"terms has {shown(twice)} twice: give every term a name of its own.")
    return given, names


def name_new_views(sets: Sequence[ImageSet], known: set[str | None]) -> None:
    """Warn of a view that no training set has: it is compared with nothing within its view."""
    if known == {None}:
        return
    for one in sets:
        new = [view for view in one.views if view not in known]
        if new:
            warnings.warn(
                f"set {shown(one.name)} has pictures of the view {shown(new[0])}, which no "
                "training set shows: kernels within views leave them out, and a set with no other "
                "picture is annotated as if nothing were known of it",
                ImageWarning,
                stacklevel=5,
            )
            return
