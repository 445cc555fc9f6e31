"""One image and what several descriptors need of it, made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Concatenate, ParamSpec

import numpy as np
import scipy
from numpy.lib.stride_tricks import sliding_window_view

from eigenkit.numerics.linalg import Array

# A patch whose grey levels deviate less than this is flat: a quarter of one step of a byte.
FLAT = 1e-3


More = ParamSpec("More")
OfFrame = Callable[Concatenate["Frame", More], Array]


def once(make: OfFrame[More]) -> OfFrame[More]:
    """A decorator: what several descriptors need of an image is made once."""

    @wraps(make)
    def kept(frame: Frame, /, *more: More.args, **named: More.kwargs) -> Array:
        key = (make.__name__, *more, *named.items())
        if key not in frame.kept:
            frame.kept[key] = make(frame, *more, **named)
        return frame.kept[key]

    return kept


class Frame:
    """Grey levels, gradients, edges and patches of one image, as single precision."""

    def __init__(self, pixels: np.ndarray) -> None:
        self.pixels = pixels  # (height, width, 3), unsigned bytes
        self.kept: dict[tuple[object, ...], Array] = {}

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.pixels.shape[0], self.pixels.shape[1]

    @cached_property
    def grey(self) -> Array:
        """Luminance in [0, 1]."""
        weights = np.array([0.299, 0.587, 0.114], dtype=np.float32) / 255
        return np.asarray(self.pixels.astype(np.float32) @ weights)

    @cached_property
    def hsv(self) -> Array:
        """Hue in turns, saturation, value, each in [0, 1]: (3, height, width)."""
        channels = np.moveaxis(self.pixels.astype(np.float32) / 255, 2, 0)
        r, g, b = channels
        top, low = channels.max(axis=0), channels.min(axis=0)
        span = top - low
        safe = np.where(span > 0, span, 1)
        hue = np.where(
            top == r, (g - b) / safe, np.where(top == g, 2 + (b - r) / safe, 4 + (r - g) / safe)
        )
        return np.stack([(hue / 6) % 1, span / np.where(top > 0, top, 1), top])

    @cached_property
    def lab(self) -> Array:
        """CIE L*a*b* (D65) of sRGB: (3, height, width), L in [0, 100]."""
        x = self.pixels.astype(np.float32) / 255
        linear = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
        to_xyz = np.array(
            [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
        )
        t = linear @ (to_xyz / to_xyz.sum(axis=1, keepdims=True)).T.astype(np.float32)
        x, y, z = np.moveaxis(np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116), 2, 0)
        return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])

    @once
    def gradient(self, r: int) -> Array:
        """Derivatives along x and y (2, height, width) at the scale of patches of radius r."""
        return gradient(smoothed(self.grey, r / 10))

    @once
    def colour_gradient(self, sigma: float) -> Array:
        """Of the colour channel with the strongest gradient, at every pixel."""
        channels = np.moveaxis(self.pixels.astype(np.float32) / 255, 2, 0)
        if sigma:
            channels = np.stack([smoothed(channel, sigma) for channel in channels])
        g = np.stack([gradient(channel) for channel in channels])
        best = np.hypot(g[:, 0], g[:, 1]).argmax(axis=0)
        return np.asarray(np.take_along_axis(g, best[None, None], axis=0)[0])

    def patches(self, maps: Array, r: int, step: int = 0) -> Array:
        """Squares of side 2r around the grid points: (n_points, n_maps, 4 r^2)."""
        step = step or r
        windows = sliding_window_view(maps, (2 * r, 2 * r), axis=(1, 2))[:, ::step, ::step]
        m, rows, columns = windows.shape[:3]
        cut = np.ascontiguousarray(np.moveaxis(windows, 0, 2))
        return cut.reshape(rows * columns, m, 4 * r * r)

    @once
    def standard_patches(self, r: int) -> Array:
        """Patches of grey levels with mean 0 and deviation 1; flat ones are 0."""
        return standardized(self.patches(self.grey[None], r)[:, 0])


def grid(size: tuple[int, int], r: int, step: int = 0) -> Array:
    """Centres (x, y) of the patches of radius r: from r to the side less r, in steps of r.

    Examples
    --------
    >>> from eigenkit.images.descriptors.frame import grid
    >>> len(grid((128, 320), 16)), len(grid((128, 320), 32))
    (133, 27)
    """
    rows, columns = (np.arange(r, side - r + 1, step or r) for side in size)
    y, x = np.meshgrid(rows, columns, indexing="ij")
    return np.column_stack([x.ravel(), y.ravel()]).astype(np.float32)


def smoothed(grey: Array, sigma: float) -> Array:
    return np.asarray(scipy.ndimage.gaussian_filter(grey, sigma, mode="nearest", truncate=3.0))


def gradient(grey: Array) -> Array:
    """Central differences along x and y."""
    dy, dx = np.gradient(grey)
    return np.stack([dx, dy])


def orientations(g: Array, n: int, *, signed: bool = True) -> Array:
    """Strength of the gradient shared linearly between the two nearest of n directions."""
    strength = np.hypot(*g)
    turn = np.arctan2(g[1], g[0]) / (2 * np.pi if signed else np.pi) * n
    low = np.floor(turn)
    share = turn - low
    low = low.astype(np.intp) % n
    maps = np.zeros((n, *strength.shape), dtype=np.float32)
    rows, columns = np.indices(strength.shape, sparse=True)
    maps[low, rows, columns] = (1 - share) * strength
    maps[(low + 1) % n, rows, columns] += share * strength
    return maps


def standardized(vectors: Array) -> Array:
    """Rows with mean 0 and deviation 1; rows that are flat become 0."""
    centred = vectors - vectors.mean(axis=-1, keepdims=True)
    deviation = centred.std(axis=-1, keepdims=True)
    return np.where(deviation > FLAT, centred / np.maximum(deviation, FLAT), 0).astype(np.float32)


def unit(vectors: Array) -> Array:
    """Rows of length 1; rows that are (nearly) nothing stay so."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-6), dtype=np.float32)


def pooled(maps: Array, rows: int, columns: int) -> Array:
    """Means over a grid of cells of the last two axes; a cell between pixels has the next one."""
    sides = zip(maps.shape[-2:], (rows, columns), strict=True)
    (y, heights), (x, widths) = (_cells(side, n) for side, n in sides)
    total = np.add.reduceat(np.add.reduceat(maps, y, axis=-2), x, axis=-1)
    return np.asarray(total / np.outer(heights, widths).astype(maps.dtype))


def _cells(side: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """First pixels and lengths of n cells of a side; with fewer pixels than cells, some share."""
    starts = np.linspace(0, side, n + 1)[:-1].round().astype(int)
    starts = np.minimum(starts, side - 1)
    return starts, np.maximum(np.diff(starts, append=side), 1)


def canny(g: Array, low: float = 0.1, high: float = 0.25) -> Array:
    """Edges by strength: ridges of the gradient above ``low`` connected to one above ``high``.

    Both are shares of the largest gradient of the image. Elsewhere it is zero.
    """
    strength = np.hypot(*g)
    top = float(strength.max())
    if top < FLAT:
        return np.zeros_like(strength)
    # A ridge is not below its two neighbours along the gradient (of eight).
    padded = np.pad(strength, 1)
    octant = np.round(np.arctan2(g[1], g[0]) / (np.pi / 4)).astype(int) % 4
    h, w = strength.shape
    is_ridge = np.zeros(strength.shape, dtype=bool)
    for k, (dy, dx) in enumerate([(0, 1), (1, 1), (1, 0), (1, -1)]):
        ahead = padded[1 + dy : 1 + dy + h, 1 + dx : 1 + dx + w]
        behind = padded[1 - dy : 1 - dy + h, 1 - dx : 1 - dx + w]
        is_ridge |= (octant == k) & (strength >= ahead) & (strength > behind)
    ridge = strength * is_ridge * (strength > low * top)
    labels, _ = scipy.ndimage.label(ridge > 0, structure=np.ones((3, 3)))
    strong = np.unique(labels[ridge > high * top])
    return np.asarray(ridge * np.isin(labels, strong[strong > 0]))
