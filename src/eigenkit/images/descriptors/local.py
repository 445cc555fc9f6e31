"""Nine descriptors of patches on a regular grid.

All but the spin image are one mechanism: maps of the image (grey levels, gradients, edges),
cut into patches, times fixed weights over the pixels of a patch, and a last step that makes
the vector. With x, y the place in the patch over its radius r:

    name                  maps                       weights                     numbers
    sift                  8 directions of gradient   4 x 4 cells, Gaussian       128
    pca_sift              gradient                   16 x 16 cells               36 of 512
    shape_context         edges in 4 directions      9 log-polar cells           36
    spin                  grey levels                5 rings x 10 levels         50
    steerable             grey levels                Gaussian derivatives 1..4   14
    differential          grey levels                the same along the gradient 14
    complex               grey levels                (x+iy)^m (x-iy)^n G         15
    moments               gradient and its square    x^p y^q, 0 < p + q <= 2     20
    correlation           grey levels                9 x 9 cells                 81
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from eigenkit.images.descriptors.frame import Frame, canny, orientations, standardized, unit
from eigenkit.numerics.linalg import Array

JET_ORDER = 4
_POWERS = [(n - k, k) for n in range(JET_ORDER + 1) for k in range(n + 1)]
_COMPLEX = [(m, n) for s in range(1, 7) for n in range(s // 2 + 1) for m in [s - n]]


# -- weights over the pixels of a patch -------------------------------------------------


def offsets(r: int) -> tuple[Array, Array]:
    """x and y of the pixels of a patch from its centre."""
    side = np.arange(-r, r, dtype=np.float32) + 0.5
    y, x = np.meshgrid(side, side, indexing="ij")
    return x.ravel(), y.ravel()


@cache
def cells(r: int, n: int) -> Array:
    """Means over n x n cells (4r^2 x n^2)."""
    x, y = offsets(r)
    column, row = (np.minimum((u + r) * n // (2 * r), n - 1).astype(int) for u in (x, y))
    W = np.eye(n * n, dtype=np.float32)[row * n + column]
    return np.asarray(W / W.sum(axis=0))


@cache
def soft_cells(r: int, n: int = 4) -> Array:
    """n x n cells that share pixels linearly, under a Gaussian of deviation r."""
    x, y = offsets(r)
    at = [u / (2 * r / n) + (n - 1) / 2 for u in (x, y)]
    middles = np.arange(n, dtype=np.float32)
    share_x, share_y = (np.maximum(0, 1 - np.abs(u[:, None] - middles)) for u in at)
    window = np.exp(-(x**2 + y**2) / (2 * r**2))
    W = share_y[:, :, None] * share_x[:, None, :] * window[:, None, None]
    return np.asarray(W.reshape(len(x), n * n), dtype=np.float32)


@cache
def log_polar(r: int) -> np.ndarray:
    """A disc of radius 6/15 r, and two rings up to 11/15 r and r in four sectors each."""
    x, y = offsets(r)
    distance = np.hypot(x, y) / r
    sector = np.floor(np.arctan2(y, x) / (np.pi / 2)).astype(int) % 4
    ring = np.digitize(distance, [6 / 15, 11 / 15, 1.0])
    W = np.zeros((len(x), 9), dtype=np.float32)
    W[ring == 0, 0] = 1
    for k in (1, 2):
        inside = ring == k
        W[inside, 1 + 4 * (k - 1) + sector[inside]] = 1
    return W


@cache
def jet(r: int) -> Array:
    """Derivatives of a Gaussian of deviation r/3, orders 0 to 4 (15), times its powers."""
    x, y = (u / (r / 3) for u in offsets(r))
    G = np.exp(-(x**2 + y**2) / 2)
    G /= G.sum()
    hermite, one = np.polynomial.hermite_e.hermeval, np.eye(JET_ORDER + 1)
    W = [hermite(x, one[i]) * hermite(y, one[j]) * G for i, j in _POWERS]
    W = [w - G * w.sum() * (k > 0) for k, w in enumerate(W)]  # blind to a constant
    return np.column_stack(W).astype(np.float32)


@cache
def complex_filters(r: int) -> np.ndarray:
    """(x + iy)^m (x - iy)^n G for 0 < m + n <= 6, m >= n: 15 of them."""
    x, y = (u / (r / 3) for u in offsets(r))
    z, G = x + 1j * y, np.exp(-(x**2 + y**2) / 2)
    W = np.column_stack([z**m * np.conj(z) ** n * G for m, n in _COMPLEX])
    return np.asarray(W / np.linalg.norm(W, axis=0), dtype=np.complex64)


@cache
def monomials(r: int) -> Array:
    """x^p y^q for 0 < p + q <= 2, as means over the patch."""
    powers = [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    x, y = (u / r for u in offsets(r))
    return np.column_stack([x**p * y**q for p, q in powers]).astype(np.float32) / len(x)


@cache
def rings(r: int) -> Array:
    """Five soft rings around the centre."""
    x, y = offsets(r)
    W = np.exp(-((np.hypot(x, y)[:, None] - np.linspace(0, r, 5)) ** 2) / (2 * (r / 8) ** 2))
    return np.asarray(W / W.sum(axis=0), dtype=np.float32)


# -- descriptors ------------------------------------------------------------------------


def sift(frame: Frame, r: int, step: int = 0) -> Array:
    """Gradients in 8 directions over 4 x 4 cells; unit length, clipped at 0.2, unit length."""
    R = frame.patches(orientations(frame.gradient(r), 8), r, step) @ soft_cells(r)
    v = unit(np.moveaxis(R, 1, 2).reshape(len(R), -1))
    return unit(np.minimum(v, 0.2))


def gradient_patches(frame: Frame, r: int) -> Array:
    """Gradients over 16 x 16 cells, of unit length: what PCA-SIFT projects.

    The cells of all patches are squares of one grid, whose means are taken once.
    """
    g = frame.gradient(r)
    side = r // 8
    h, w = (length // side for length in frame.size)
    means = g[:, : h * side, : w * side].reshape(2, h, side, w, side).mean(axis=(2, 4))
    R = frame.patches(means, 8)
    return unit(R.reshape(len(R), -1))


def shape_context(frame: Frame, r: int) -> Array:
    """Edges in 4 directions, counted by strength over 9 log-polar cells; unit length."""
    g = frame.gradient(r)
    along = orientations(g * (canny(g) > 0), 4, signed=False)
    R = frame.patches(along, r) @ log_polar(r)
    return unit(np.moveaxis(R, 1, 2).reshape(len(R), -1))


def spin(frame: Frame, r: int) -> Array:
    """Histograms of 10 grey levels (from -2 to 2 deviations of the patch) over 5 rings."""
    P = frame.standard_patches(r)
    levels = np.linspace(-2, 2, 10, dtype=np.float32)
    width = levels[1] - levels[0]
    H = np.empty((len(P), 5, 10), dtype=np.float32)
    for k, level in enumerate(levels):
        H[:, :, k] = np.exp(-0.5 * ((P - level) / width) ** 2) @ rings(r)
    return np.asarray((H / H.sum(axis=2, keepdims=True)).reshape(len(P), 50))


def steerable(frame: Frame, r: int) -> Array:
    """Gaussian derivatives of the orders 1 to 4 along the axes."""
    return np.asarray(frame.standard_patches(r) @ jet(r)[:, 1:])


def differential(frame: Frame, r: int) -> Array:
    """The mean, and derivatives along the gradient and across it, which rotation leaves alone.

    Of the orders 0 to 4 there are 15; the first across the gradient is zero and left out.
    """
    J = frame.standard_patches(r) @ jet(r)
    angle = np.arctan2(J[:, 2], J[:, 1])
    found = [J[:, :1], np.hypot(J[:, 1], J[:, 2])[:, None]]
    for n in range(2, JET_ORDER + 1):
        start = n * (n + 1) // 2  # after the derivatives of lower orders
        found.append(_turned(J[:, start : start + n + 1], angle))
    return np.hstack(found).astype(np.float32)


def _turned(derivatives: Array, angle: Array) -> Array:
    """Derivatives of one order n along w^(n-k) v^k, with w at the angle and v across it.

    d/dw = c d/dx + s d/dy and d/dv = -s d/dx + c d/dy, so that w^(n-k) v^k is a polynomial in
    d/dx and d/dy whose coefficients weigh the derivatives.
    """
    n = derivatives.shape[1] - 1
    c, s = np.cos(angle), np.sin(angle)
    columns = []
    for k in range(n + 1):
        polynomial = np.ones((len(angle), 1))
        for first, second in [(c, s)] * (n - k) + [(-s, c)] * k:
            zero = np.zeros((len(angle), 1))
            polynomial = np.hstack([polynomial * first[:, None], zero]) + np.hstack(
                [zero, polynomial * second[:, None]]
            )
        columns.append(np.sum(polynomial * derivatives, axis=1))
    return np.column_stack(columns)


def complex_moduli(frame: Frame, r: int) -> Array:
    """Moduli of the responses to complex filters, which rotation leaves alone."""
    P = frame.standard_patches(r)
    W = complex_filters(r)
    return np.asarray(np.hypot(P @ W.real, P @ W.imag))


def moments(frame: Frame, r: int) -> Array:
    """Means of x^p y^q g^a for both derivatives g, a = 1 and 2 (the second as roots)."""
    g = frame.gradient(r)
    R = frame.patches(np.concatenate([g, g**2]), r) @ monomials(r)
    R[:, 2:] = np.sign(R[:, 2:]) * np.sqrt(np.abs(R[:, 2:]))  # in the unit of the others
    return np.asarray(R.reshape(len(R), 20))


def correlation(frame: Frame, r: int) -> Array:
    """Grey levels over 9 x 9 cells with mean 0 and deviation 1."""
    return standardized(frame.patches(frame.grey[None], r)[:, 0] @ cells(r, 9))


def colours(frame: Frame, r: int, step: int = 0) -> Array:
    """Means and deviations of L*a*b* over 4 x 4 cells."""
    maps = frame.lab
    R = frame.patches(np.concatenate([maps, maps**2]), r, step) @ cells(r, 4)
    deviations = np.sqrt(np.maximum(R[:, 3:] - R[:, :3] ** 2, 0))
    return np.hstack([R[:, :3].reshape(len(R), -1), deviations.reshape(len(R), -1)])


# What each computes, and what it looks at in words.
LOCAL: dict[str, tuple[Callable[..., Array], str]] = {
    "sift": (sift, "edges in patches"),
    "pca_sift": (gradient_patches, "edges in patches"),
    "shape_context": (shape_context, "outlines in patches"),
    "spin": (spin, "brightness in rings"),
    "steerable": (steerable, "ridges and corners in patches"),
    "differential": (differential, "ridges and corners in patches, however they are turned"),
    "complex": (complex_moduli, "forms in patches, however they are turned"),
    "moments": (moments, "gradients in patches"),
    "correlation": (correlation, "brightness in patches"),
}
