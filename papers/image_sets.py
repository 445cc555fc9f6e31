"""Image sets with terms, written as folders of pictures and read again; and their 23 kernels."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from eigenkit.images import Descriptor, ImageSet, make_shapes, read_labels, read_sets
from eigenkit.images.extraction import Cache, cache_folder, extract, fitted
from eigenkit.images.kernels import Plan, fit_kernels
from eigenkit.images.shapes import write_folder
from eigenkit.numerics.linalg import Array
from papers.annotation_trial import Numbers


def patterns(
    arrays: Mapping[str, np.ndarray], *, unlabelled: bool = False
) -> tuple[list[ImageSet], Array, list[str]]:
    """The pictures of every annotated gene in the data set bdgp_patterns, and its terms.

    ``unlabelled``: after them also all other genes, whose terms are NaN.
    """
    mask, group, annotated = (arrays[key] for key in ("mask", "group", "annotated"))
    known = np.unique(group[annotated])
    others = np.setdiff1d(group, known)[: None if unlabelled else 0]
    sets, Y = [], []
    for gene in (*known, *others):
        rows = np.flatnonzero((group == gene) & (annotated | ~np.isin(group, known)))
        pictures = []
        for i in rows:
            image = np.zeros(mask.shape)
            image.T[mask.T] = arrays["X"][i]
            pictures.append(np.clip(image, 0, 1))
        sets.append(ImageSet.from_arrays(f"gene {gene}", pictures))
        terms = arrays["Y"][rows].max(axis=0)
        Y.append(terms if gene in known else np.full(len(terms), np.nan))
    return sets, np.array(Y, dtype=float), arrays["label_names"].tolist()


def shapes(seed: int) -> tuple[list[ImageSet], Array, list[str]]:
    """Drawn ones, where everything must come from data at hand."""
    return make_shapes(40, size=64, random_state=seed)


@dataclass(frozen=True, eq=False)
class ImageSets:
    """Sets with terms, brought to one size, with one pyramid match kernel for every descriptor."""

    sets: Sequence[ImageSet]
    Y: Array
    terms: Sequence[str]
    names: Sequence[str]
    size: tuple[int, int]

    @classmethod
    def from_folder(
        cls,
        given: tuple[list[ImageSet], Array, list[str]],
        names: Sequence[str],
        size: tuple[int, int],
        folder: Path,
    ) -> ImageSets:
        """Written as pictures to a folder, and what the reader makes of it."""
        table = write_folder(*given, folder)
        sets = read_sets(folder / "images")
        Y, terms = read_labels(table, sets)
        return cls(sets, Y, terms, list(names), size)

    @cached_property
    def kernels(self) -> np.ndarray:
        """The kernels between all sets (n_kernels, n_sets, n_sets); terms are not looked at."""
        made = fitted(self.sets, [Descriptor(name) for name in self.names], self.size)
        many = len(self.sets) > 100
        cache = Cache(cache_folder()) if many else None  # a run that was interrupted goes on
        vectors = extract(self.sets, made, self.size, cache=cache, n_jobs=-1 if many else None)
        places = {d.name: d.places(self.size) for d in made}
        plans = [Plan(name, "pyramid") for name in self.names]
        return fit_kernels(plans, [None], self.sets, vectors, places, 0)[1]

    @cached_property
    def pictures(self) -> list[np.ndarray]:
        """Grey levels of the pictures of every set."""
        return [
            np.array([p.pixels(self.size).mean(axis=2) / 255 for p in one.pictures])
            for one in self.sets
        ]

    def choose(self, n_terms: int, n_sets: int, seed: int) -> tuple[Numbers, Numbers]:
        """The most frequent terms, and the sets that carry at least one of them."""
        terms = np.sort(np.argsort(-self.Y.sum(axis=0), kind="stable")[:n_terms])
        carried = np.flatnonzero(self.Y[:, terms].any(axis=1))
        return terms, np.random.default_rng([seed, n_terms]).permutation(carried)[:n_sets]


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="eigenkit-images-")
