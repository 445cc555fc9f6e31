"""Descriptors of images by name: local ones on grids, and global ones.

Each is a transformer: a list of images in, a list of matrices out, with a row per point of the
grid or one row per image.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from eigenkit.images.descriptors import local, whole
from eigenkit.images.descriptors.frame import Frame, grid, once, unit
from eigenkit.late import look_up
from eigenkit.numerics.linalg import Array, real_numbers
from eigenkit.shell import shown

# Changes when a descriptor changes, so that nothing old is taken from a cache.
VERSION = 2

RADII = (16, 32)
# Beside the thesis: on patches that overlap by half.
DENSE = ("dense_sift", "dense_colours")
PCA_IMAGES = 100


class Descriptor(TransformerMixin, BaseEstimator):
    """A function from an image to vectors, with a name.

    Parameters
    ----------
    name : str
        One of :data:`DESCRIPTORS`, or any other name with a function of your own.
    function : callable, optional
        From an image (height, width, 3; unsigned bytes) to a vector, or to a matrix with a row
        per vector, for instance the features of a neural network.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.images import Descriptor
    >>> image = np.zeros((128, 320, 3), dtype=np.uint8)
    >>> [v.shape for v in Descriptor("sift-16").transform([image])]
    [(133, 128)]
    >>> Descriptor("mine", lambda image: image.mean(axis=(0, 1))).transform([image])[0]
    array([[0., 0., 0.]], dtype=float32)
    """

    def __init__(self, name: str, function: Callable[[np.ndarray], Any] | None = None) -> None:
        self.name = name
        self.function = function

    @property
    def radius(self) -> int | None:
        """The radius of the patches of a local descriptor; None for a global one."""
        kind, _, r = self.name.rpartition("-")
        patches = kind in {*local.LOCAL, *DENSE} and r.isdecimal() and self.function is None
        return int(r) if patches else None

    @property
    def learns(self) -> bool:
        """Whether it must see images before it can be used."""
        return self.function is None and self.name.startswith("pca_sift")

    @property
    def key(self) -> str:
        """What tells its results from others, for a cache."""
        learned = getattr(self, "components_", None)
        more = "" if learned is None else hashlib.sha256(learned.tobytes()).hexdigest()
        return f"{self.name}/{VERSION}/{more}"

    def fit(self, X: Sequence[np.ndarray], y: Any = None) -> Self:
        """Learn the projection of PCA-SIFT from some images; others learn nothing."""
        if self.learns:
            V = np.vstack([self._compute(Frame(x)) for x in X[:PCA_IMAGES]]).astype(np.float64)
            _, P = np.linalg.eigh(V.T @ V)  # gradients have no preferred sign: no centring
            self.components_ = np.ascontiguousarray(P[:, ::-1][:, :36].T, dtype=np.float32)
        return self

    def transform(self, X: Sequence[np.ndarray]) -> list[Array]:
        """Vectors of each image."""
        return [self.vectors(Frame(np.asarray(image))) for image in X]

    def vectors(self, frame: Frame) -> Array:
        """Vectors of one image."""
        V = self._compute(frame)
        return V @ self.components_.T if self.learns else V

    def _compute(self, frame: Frame) -> Array:
        if self.function is None:
            return _found(frame, self.name)
        given = self.function(frame.pixels)
        rows = "return a vector, or a matrix with a row per vector."
        try:
            if isinstance(given, str | bytes):  # "1" would be a number
                raise TypeError
            vectors = np.atleast_2d(real_numbers(self.name, given, np.float32))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"descriptor {self.name!r} gave something that is not an array of real numbers "
                f"({type(given).__name__}): {rows}"
            ) from error
        if vectors.ndim != 2 or not np.all(np.isfinite(vectors)):
            raise ValueError(
                f"descriptor {self.name!r} gave an array of shape {np.shape(given)} or numbers "
                f"that are not finite: {rows}"
            )
        return vectors

    def places(self, size: tuple[int, int]) -> Array | None:
        """Centres of the patches, relative to the sides (x, y); None for a global one."""
        if self.radius is None:
            return None
        step = self.radius // (2 if self.name.startswith("dense") else 1)
        return grid(size, self.radius, step) / np.array(size[::-1], dtype=np.float32)


def _joined(frame: Frame) -> Array:
    """Global ones side by side, each of unit length: what a plain machine would be given."""
    names = ("hog-8", "hog-4", "hsv", "lab", "thumbnail", "gabor-fine", "lbp")
    return np.hstack([unit(_found(frame, name)) for name in names])


# What each computes, and what it looks at in words: those of the thesis, and others.
Known = dict[str, tuple[Callable[[Frame], Array], str]]
_THESIS: Known = {
    **{
        f"{name}-{r}": (partial(compute, r=r), words)
        for name, (compute, words) in local.LOCAL.items()
        for r in RADII
    },
    "gabor-coarse": (partial(whole.gabor, rows=2, columns=8), "texture, place by place"),
    "gabor-fine": (partial(whole.gabor, rows=6, columns=18), "texture, place by place"),
    "pixels-2": (partial(whole.pixels, factor=2), "brightness, place by place"),
    "pixels-4": (partial(whole.pixels, factor=4), "brightness, place by place"),
    "pixels-8": (partial(whole.pixels, factor=8), "brightness, place by place"),
}
_KNOWN: Known = {
    **_THESIS,
    "dense_sift-16": (partial(local.sift, r=16, step=8), "edges in patches"),
    "dense_colours-16": (partial(local.colours, r=16, step=8), "colours in patches"),
    "hog-8": (partial(whole.hog, cells=8), "edges, place by place"),
    "hog-4": (partial(whole.hog, cells=4), "edges, place by place"),
    "hog_smooth": (partial(whole.hog, cells=4, smooth=1 / 32), "coarse edges, place by place"),
    "pattern": (whole.pattern, "dark and bright places"),
    "hsv": (whole.hsv_histogram, "colours"),
    "lab": (whole.lab_histogram, "colours"),
    "thumbnail": (whole.thumbnail, "colours, place by place"),
    "lbp": (whole.lbp, "fine texture"),
    "spectrum": (whole.spectrum, "patterns, wherever they are"),
    "spectrum_edges": (whole.spectrum_edges, "edges, wherever they are"),
    "spectrum_turned": (whole.spectrum_turned, "patterns, however they are turned"),
    "correlogram": (whole.correlogram, "spread of colours"),
    "joined": (_joined, "edges, colours and texture"),
}
THESIS = tuple(_THESIS)
DESCRIPTORS = {name: compute for name, (compute, _) in _KNOWN.items()}


@once
def _found(frame: Frame, name: str) -> Array:
    """A descriptor of an image, which may be a part of another one."""
    return np.asarray(look_up("descriptor", name, DESCRIPTORS)(frame), dtype=np.float32)


def sees(name: str) -> str:
    """What a descriptor of that name looks at, in words; "" where it is not one of ours."""
    return _KNOWN[name][1] if name in _KNOWN else ""


def check_own(descriptors: Any) -> dict[str, Descriptor]:
    """The user's descriptors by name; each must be a Descriptor with a name of its own."""
    given = list(descriptors) if isinstance(descriptors, Iterable) else [descriptors]
    wrong = next((d for d in given if not isinstance(d, Descriptor)), None)
    if wrong is not None:
        raise TypeError(
            f"descriptors has {shown(wrong)}, which is not a Descriptor: give a list of "
            "Descriptor; names of built-in ones go into kernels."
        )
    taken = next((d.name for d in given if d.function and d.name in DESCRIPTORS), None)
    if taken is not None:
        raise ValueError(
            f"descriptor {taken!r} has the name of a built-in one: give yours another name."
        )
    check_once("descriptors", [d.name for d in given])
    return {d.name: d for d in given}


def check_once(what: str, names: Sequence[str]) -> None:
    """No two of them share a name: results are kept by name."""
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise ValueError(
            f"{what} has {shown(twice)} twice: give each once, under a name of its own."
        )
