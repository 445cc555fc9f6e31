"""What a user gives to the annotator: right, or answered by one sentence."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse

from eigenkit.estimators._encoding import check_groups as groups_of_samples
from eigenkit.exceptions import ImageWarning
from eigenkit.files._common import composed
from eigenkit.images.descriptors import check_once
from eigenkit.images.extraction import Vectors
from eigenkit.images.files import ImageSet, Sets, view_in_words
from eigenkit.images.weights import WEIGHTS
from eigenkit.numerics.linalg import Array, real_numbers
from eigenkit.shell import check_choice, check_seed, counted, refuse, shown


def check_size(size: Any) -> tuple[int, int]:
    """Height and width, large enough for the patches of local descriptors."""
    sides = list(size) if isinstance(size, Iterable) else []
    if len(sides) != 2 or not all(isinstance(s, Integral) and 16 <= int(s) <= 4096 for s in sides):
        refuse("size", size, "height and width between 16 and 4096 pixels")
    return int(sides[0]), int(sides[1])


def check_settings(model: Any) -> None:
    """Parameters of an annotator that say how, not what."""
    check_choice("weights", model.weights, WEIGHTS)
    if not isinstance(model.views, bool):
        check_choice("views", model.views, ("auto", "unseen", True, False))
    check_seed("random_state", model.random_state)


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


def check_groups(groups: Any, sets: Sets) -> Any:
    """A number for every set, the same for those of one group; none without groups."""
    if groups is None:
        return None
    given = by_name("groups", groups, sets)
    numbers = groups_of_samples(given, len(sets), "for each of the {n} sets")
    if len(np.unique(numbers)) < 2:
        raise ValueError("groups puts all sets into one group: give at least 2 groups, or none.")
    return numbers


def by_name(what: str, given: Any, sets: Sets) -> Any:
    """A frame or series in the order of the sets, where its index has names; others as they are."""
    index = list(given.index) if hasattr(given, "iloc") else []
    if not index or not all(isinstance(name, str) for name in index):
        return given
    place = {composed(name): i for i, name in enumerate(index)}
    missing = next((one.name for one in sets if one.name not in place), None)
    if missing is not None:
        raise ValueError(
            f"the index of {what} has names, and {shown(missing)} is not among them: give a row "
            "for every set, or an index of numbers to go by their order."
        )
    if len(place) < len(index):
        raise ValueError(f"the index of {what} has a name twice: give every set one row.")
    return given.iloc[[place[one.name] for one in sets]]


def check_terms(Y: Any, terms: Sequence[str] | None, sets: Sets) -> tuple[Array, list[str]]:
    """Y as numbers 0, 1 and rows of NaN, and the names of its columns; sets have a name each."""
    check_once("sets", [one.name for one in sets])
    if terms is None and hasattr(Y, "columns"):
        terms = [str(name) for name in Y.columns]
    Y, n = by_name("Y", Y, sets), len(sets)
    try:
        given = real_numbers("Y", Y.toarray() if issparse(Y) else Y)
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
    names = [composed(str(name)) for name in names]
    if len(names) != given.shape[1]:
        raise ValueError(f"terms names {len(names)} columns, but Y has {given.shape[1]}.")
    check_once("terms", names)
    odd = next((name for name in names if not name or "|" in name), None)
    if odd is not None:
        raise ValueError(
            f"terms has {shown(odd)}, which cannot be told apart from others in a list "
            "separated by |: give it another name."
        )
    return given, names


def name_new_views(sets: Sets, known: set[str | None]) -> None:
    """Warn of a view that no training set has: it is compared with nothing within its view."""
    new = [(one.name, view) for one in sets for view in one.views if view not in known]
    if new and known != {None}:
        n, (name, view) = len({name for name, _ in new}), new[0]
        warnings.warn(
            f"views that no training set shows are in {n} of {counted(len(sets), 'set')}, such as "
            f"{shown(view_in_words(view))} of set {shown(name)}: kernels within views leave their "
            "pictures out, and a set with no other picture is annotated as if nothing were known "
            "of it",
            ImageWarning,
            stacklevel=5,
        )
