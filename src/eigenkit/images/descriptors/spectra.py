"""Descriptors of whole images that stay the same when what is shown moves.

The strengths of the frequencies of an image do not depend on where things are. Where things are
turned or grow, strengths turn and shrink: over angles and the logarithms of frequencies, both are
shifts, and the strengths of a second transform do not depend on them either (Fourier and Mellin).
"""

from __future__ import annotations

import numpy as np
import scipy

from eigenkit.images.descriptors.frame import Frame, orientations, pooled
from eigenkit.images.descriptors.whole import gradient_of, one_row
from eigenkit.numerics.linalg import Array

# Frequencies (times the shorter side) and angles that a spectrum is read at.
RADII, ANGLES = np.geomspace(1, 28, 16), np.pi * np.arange(32) / 32
COLOURS, DISTANCES = 4, (1, 3, 6, 12)


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
    maps = pooled(orientations(gradient_of(frame), 9, signed=False), 32, 32)
    return one_row(np.log1p(_strengths(100 * maps, 7)))


def spectrum_turned(frame: Frame) -> Array:
    """What stays of the spectra of L*a*b* when things turn, and when they grow as well: 561."""
    side = min(frame.size)
    h, w = (round(64 * length / side) for length in frame.size)
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
    shares = [_meetings(colour, d) / (2 * colour.size) for d in DISTANCES]
    return one_row(np.sqrt(np.concatenate(shares)))


def _meetings(colour: np.ndarray, d: int) -> np.ndarray:
    """Of every colour, the pairs of cells at a distance along either axis that both have it."""
    pairs = ((colour[d:], colour[:-d]), (colour[:, d:], colour[:, :-d]))
    same = np.concatenate([one[one == other] for one, other in pairs])
    return np.bincount(same, minlength=COLOURS**3)
