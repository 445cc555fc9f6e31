"""Generated sets of pictures with planted terms: shapes in colours and places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from eigenkit.files import atomic, write_table
from eigenkit.images.files import ImageSet, pillow
from eigenkit.numerics.linalg import Array

SHAPES = ("bar", "disc", "ring", "cross")
COLOURS = {"red": (200, 50, 45), "green": (40, 140, 70), "blue": (40, 80, 190)}
PLACES = ("left", "right")
TERMS = (*SHAPES, *COLOURS, *PLACES)


def make_shapes(
    n_sets: int = 120, *, size: int = 96, random_state: int = 0
) -> tuple[list[ImageSet], Array, list[str]]:
    """Sets of two to four pictures, each of one shape in a colour and a place.

    A set shows one or two things. Every picture shows one of them, a little moved, turned and
    shaded, on a noisy ground; the terms are those of all things of the set.

    Parameters
    ----------
    n_sets : int
    size : int
        Height and width of the pictures.
    random_state : int

    Returns
    -------
    sets : list of ImageSet
    Y : array of shape (n_sets, 9)
    terms : list of str

    Examples
    --------
    >>> from eigenkit.images import make_shapes
    >>> sets, Y, terms = make_shapes(10)
    >>> len(sets), Y.shape
    (10, (10, 9))
    """
    rng = np.random.default_rng(random_state)
    sets, Y = [], np.zeros((n_sets, len(TERMS)))
    for i in range(n_sets):
        things = [_thing(rng) for _ in range(rng.integers(1, 3))]
        shown = [*things, *(things[rng.integers(len(things))] for _ in range(rng.integers(1, 3)))]
        Y[i] = [any(term in thing for thing in things) for term in TERMS]
        sets.append(ImageSet.from_arrays(f"set{i:04d}", [_draw(t, size, rng) for t in shown]))
    return sets, Y, list(TERMS)


def _thing(rng: np.random.Generator) -> tuple[str, str, str]:
    kinds = (SHAPES, tuple(COLOURS), PLACES)
    shape, colour, place = (names[rng.integers(len(names))] for names in kinds)
    return shape, colour, place


def _draw(thing: tuple[str, str, str], size: int, rng: np.random.Generator) -> np.ndarray:
    """Membership of every pixel from its distance to the shape; then colour and noise."""
    shape, colour, place = thing
    x0 = size * ((0.29 if place == "left" else 0.71) + rng.uniform(-0.04, 0.04))
    y0 = size * (0.5 + rng.uniform(-0.12, 0.12))
    r = size * rng.uniform(0.17, 0.21)
    turn = rng.uniform(-0.25, 0.25)
    y, x = np.mgrid[:size, :size]
    u = ((x - x0) * np.cos(turn) + (y - y0) * np.sin(turn)) / r
    v = ((y - y0) * np.cos(turn) - (x - x0) * np.sin(turn)) / r
    inside = np.clip(0.5 - _distance(shape, u, v) * r, 0, 1)[:, :, None]
    ink = np.array(COLOURS[colour]) + rng.uniform(-25, 25, 3)
    ground = 225 + rng.uniform(-15, 15) + rng.normal(0, 8, (size, size, 1))
    return np.clip((1 - inside) * ground + inside * ink, 0, 255).astype(np.uint8)


def _distance(shape: str, u: Array, v: Array) -> Array:
    """From the outline, in units of the radius; negative inside."""
    if shape == "disc":
        return np.asarray(np.hypot(u, v) - 1)
    if shape == "ring":
        return np.asarray(np.abs(np.hypot(u, v) - 0.78) - 0.22)
    bar = np.maximum(np.abs(u) - 0.3, np.abs(v) - 1.1)
    if shape == "bar":
        return np.asarray(bar)
    return np.minimum(bar, np.maximum(np.abs(v) - 0.3, np.abs(u) - 1.1))


def write_folder(sets: list[ImageSet], Y: Any, terms: list[str], folder: Path) -> Path:
    """The pictures as PNG files, a folder for every set; the path of the table of terms."""
    for one in sets:
        for picture in one.pictures:
            place = folder / "images" / one.name / picture.view
            place.mkdir(parents=True, exist_ok=True)
            pillow().fromarray(picture.pixels()).save(place / f"{picture.name}.png")
    carried = ["|".join(t for t, has in zip(terms, y, strict=True) if has) for y in Y]
    with atomic(folder / "labels.csv") as stream:
        columns = [one.name for one in sets], carried
        write_table(stream, "csv", ["set", "terms"], [columns], keep_formulas=True)
    return folder / "labels.csv"
