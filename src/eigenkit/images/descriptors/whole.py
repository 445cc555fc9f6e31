"""Descriptors of whole images: one vector each."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy

from eigenkit.images.descriptors.frame import Frame, once, orientations, pooled, unit
from eigenkit.numerics.linalg import Array

SCALES, ORIENTATIONS = 4, 6
# Frequencies (times the shorter side) and angles that a spectrum is read at.
RADII, ANGLES = np.geomspace(1, 28, 16), np.pi * np.arange(32) / 32
# Levels of each of the three colours, and distances, of correlograms.
COLOURS, DISTANCES = 4, (1, 3, 6, 12)


def one_row(values: Array) -> Array:
    return values.reshape(1, -1).astype(np.float32)


# -- Gabor ------------------------------------------------------------------------------


@cache
def gabor_bank(size: tuple[int, int]) -> np.ndarray:
    """24 Gaussians in the half plane of frequencies: 4 octaves from 0.4 down, 6 directions.

    A one-sided filter gives a complex response, whose modulus is the local strength. The
    deviation is a third of the frequency along, and what makes neighbours meet across.
    """
    v, u = np.meshgrid(np.fft.fftfreq(size[0]), np.fft.fftfreq(size[1]), indexing="ij")
    across = np.tan(np.pi / (2 * ORIENTATIONS)) / np.sqrt(2 * np.log(2))
    bank = []
    for scale in range(SCALES):
        f = 0.4 / 2**scale
        for k in range(ORIENTATIONS):
            c, s = np.cos(np.pi * k / ORIENTATIONS), np.sin(np.pi * k / ORIENTATIONS)
            along, beside = c * u + s * v, c * v - s * u
            squares = (along - f) ** 2 / (f / 3) ** 2 + (beside / (across * f)) ** 2
            bank.append(np.exp(-squares / 2))
    found = np.array(bank, dtype=np.float32)
    found[:, 0, 0] = 0  # blind to a constant
    return found


@once
def gabor_moduli(frame: Frame) -> Array:
    """Strengths of the 24 responses (24, height, width); the image is continued periodically."""
    spectrum = scipy.fft.fft2(frame.grey - frame.grey.mean())
    return np.asarray(np.abs(scipy.fft.ifft2(gabor_bank(frame.size) * spectrum)))


def gabor(frame: Frame, rows: int, columns: int) -> Array:
    """Mean strengths of 24 Gabor filters over a grid of cells."""
    return one_row(pooled(gabor_moduli(frame), rows, columns))


def pixels(frame: Frame, factor: int) -> Array:
    """Grey levels of the image made smaller by a factor, as means of squares."""
    h, w = frame.size
    return one_row(pooled(frame.grey, max(h // factor, 1), max(w // factor, 1)))


def pattern(frame: Frame, cells: int = 8) -> Array:
    """Where it is dark and where bright: grey levels over cells from their mean, of unit length.

    The shorter side has ``cells`` cells. Neither the background nor the contrast counts.
    """
    levels = pooled(frame.grey, *_in_cells(frame.size, cells))
    return unit(one_row(levels - levels.mean()))


def _in_cells(size: tuple[int, int], cells: int) -> tuple[int, int]:
    """Rows and columns of about square cells, so many along the shorter side."""
    side = min(size) / cells
    return round(size[0] / side), round(size[1] / side)


# -- colour ----------------------------------------------------------------------------


def _histograms(channels: Array, bins: tuple[int, int, int]) -> Array:
    """Roots of the shares of colours in the whole image and its four quarters.

    Channels are in [0, 1].
    """
    pairs = zip(channels, bins, strict=True)
    levels = (np.clip((channel * n).astype(np.intp), 0, n - 1) for channel, n in pairs)
    index = np.ravel_multi_index(tuple(levels), bins)
    _, h, w = channels.shape
    halves = (slice(0, h // 2), slice(h // 2, h)), (slice(0, w // 2), slice(w // 2, w))
    parts = [index, *(index[y, x] for y in halves[0] for x in halves[1])]
    n_bins = int(np.prod(bins))
    shares = [np.bincount(part.ravel(), minlength=n_bins) / part.size for part in parts]
    return one_row(np.sqrt(np.concatenate(shares)))


def hsv_histogram(frame: Frame) -> Array:
    """12 hues x 4 saturations x 4 values, whole and quarters: 960 numbers."""
    return _histograms(frame.hsv, (12, 4, 4))


def lab_histogram(frame: Frame) -> Array:
    """5 x 6 x 6 cells of L*a*b*, whole and quarters: 900 numbers."""
    L, a, b = frame.lab
    return _histograms(np.stack([L / 100, (a + 90) / 180, (b + 90) / 180]), (5, 6, 6))


def thumbnail(frame: Frame) -> Array:
    """Colours in L*a*b* of the image made 16 x 16."""
    return one_row(pooled(frame.lab, 16, 16))


# -- texture and form -------------------------------------------------------------------


def hog(frame: Frame, cells: int, smooth: float = 0.0) -> Array:
    """Histograms of directions (18 signed, 9 unsigned) over cells, relative to their blocks.

    The shorter side has ``cells`` cells. Every cell is divided by the root mean energy of the
    four 2 x 2 blocks that it is in, clipped at 0.2 each, and their mean is taken. ``smooth`` is the
    deviation of a Gaussian before, as a share of the shorter side: of forms, not of outlines.
    """
    H = pooled(directions(frame, smooth * min(frame.size)), *_in_cells(frame.size, cells))
    both = np.concatenate([H, H[:9] + H[9:]])
    energy = np.pad(np.sum(both[18:] ** 2, axis=0), 1, mode="edge")
    blocks = energy[:-1, :-1] + energy[1:, :-1] + energy[:-1, 1:] + energy[1:, 1:]
    norms = np.sqrt(blocks) + 1e-3
    corners = [norms[i : i + H.shape[1], j : j + H.shape[2]] for i in (0, 1) for j in (0, 1)]
    return one_row(sum(np.minimum(both / norm, 0.2) for norm in corners) / 4)


@once
def directions(frame: Frame, sigma: float) -> Array:
    """Strengths of the gradient in 18 directions."""
    return orientations(frame.colour_gradient(sigma), 18)


def lbp(frame: Frame, step: int = 2, cells: int = 4) -> Array:
    """Local binary patterns: which of eight neighbours are brighter, over cells x cells.

    Roots of the shares of 59 uniform patterns.
    """
    grey = pooled(frame.grey, frame.size[0] // step, frame.size[1] // step)
    h, w = grey.shape
    around = np.pad(grey, 1, mode="edge")
    ring = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
    code = sum(
        (around[1 + dy : 1 + dy + h, 1 + dx : 1 + dx + w] > grey + 1 / 255).astype(np.intp) << k
        for k, (dy, dx) in enumerate(ring)
    )
    # Of the 256 codes, the 58 with at most two changes; 58 for the rest.
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    uniform = np.sum(bits != np.roll(bits, 1, axis=1), axis=1) <= 2
    which = np.where(uniform, np.cumsum(uniform) - 1, 58)
    maps = np.eye(59, dtype=np.float32)[which[code]]
    return one_row(np.sqrt(pooled(np.moveaxis(maps, 2, 0), cells, cells)))


# -- what stays the same when what is shown moves ----------------------------------------

# The strengths of the frequencies of an image do not depend on where things are. Where things are
# turned or grow, strengths turn and shrink: over angles and the logarithms of frequencies, both are
# shifts, and the strengths of a second transform do not depend on them either (Fourier and Mellin).


def _strengths(maps: Array, n: int) -> Array:
    """Of the frequencies below n along both axes, of real maps (n_maps, height, width)."""
    F = np.abs(scipy.fft.rfft2(maps))[:, :, :n]
    return np.concatenate([F[:, :n], F[:, 1 - n :]], axis=1)


def _centred(frame: Frame, rows: int, columns: int) -> Array:
    maps = pooled(frame.lab, rows, columns)
    return np.asarray(maps - maps.mean(axis=(1, 2), keepdims=True))


def spectrum(frame: Frame) -> Array:
    """Logarithms of the strengths of low frequencies of L*a*b*: 828 numbers."""
    return one_row(np.log1p(_strengths(_centred(frame, 32, 32), 12)))


def spectrum_edges(frame: Frame) -> Array:
    """The same of the strengths of edges in 9 directions: 819 numbers."""
    maps = pooled(orientations(frame.colour_gradient(0.0), 9, signed=False), 32, 32)
    return one_row(np.log1p(_strengths(100 * maps, 7)))


def spectrum_turned(frame: Frame) -> Array:
    """What stays of the spectra of L*a*b* when things turn, and when they grow as well: 561."""
    h, w = (round(64 * length / min(frame.size)) for length in frame.size)
    F = np.abs(scipy.fft.fftshift(scipy.fft.fft2(_centred(frame, h, w)), axes=(1, 2)))
    y, x = np.sin(ANGLES) * h / 64, np.cos(ANGLES) * w / 64
    at = [h // 2 + RADII[:, None] * y, w // 2 + RADII[:, None] * x]
    read = [scipy.ndimage.map_coordinates(f, at, order=1) for f in np.log1p(F)]
    turned = np.abs(scipy.fft.rfft(read, axis=2))[:, :, :6]
    both = _strengths(np.array(read), 7)
    return one_row(np.log1p(np.concatenate([turned.ravel(), both.ravel()]) / 10))


def correlogram(frame: Frame) -> Array:
    """How often 64 colours meet themselves at four distances, as roots of shares: 256 numbers."""
    L, a, b = pooled(frame.lab, 64, 64)
    levels = (np.clip(v, 0, COLOURS - 1).astype(np.intp) for v in (L / 25, a / 30 + 2, b / 30 + 2))
    colour = np.ravel_multi_index(tuple(levels), (COLOURS,) * 3)
    shares = []
    for d in DISTANCES:
        # The pairs of cells at a distance along either axis that both have a colour.
        pairs = ((colour[d:], colour[:-d]), (colour[:, d:], colour[:, :-d]))
        same = np.concatenate([one[one == other] for one, other in pairs])
        shares.append(np.bincount(same, minlength=COLOURS**3) / (2 * colour.size))
    return one_row(np.sqrt(np.concatenate(shares)))
