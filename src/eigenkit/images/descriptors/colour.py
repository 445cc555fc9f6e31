"""Colours: sRGB as hue, saturation and value, and as L*a*b*."""

from __future__ import annotations

import numpy as np

from eigenkit.images.arrays import Array


def hsv(rgb: np.ndarray) -> Array:
    """Hue in turns, saturation, value, each in [0, 1]: (3, height, width)."""
    channels = np.moveaxis(rgb.astype(np.float32) / 255, 2, 0)
    r, g, b = channels
    top, low = channels.max(axis=0), channels.min(axis=0)
    span = top - low
    safe = np.where(span > 0, span, 1)
    hue = np.where(
        top == r, (g - b) / safe, np.where(top == g, 2 + (b - r) / safe, 4 + (r - g) / safe)
    )
    saturation = span / np.where(top > 0, top, 1)
    return np.stack([(hue / 6) % 1, saturation, top])


def lab(rgb: np.ndarray) -> Array:
    """CIE L*a*b* (D65) of sRGB: (3, height, width), L in [0, 100]."""
    x = rgb.astype(np.float32) / 255
    linear = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    t = linear @ (to_xyz / to_xyz.sum(axis=1, keepdims=True)).T.astype(np.float32)
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.stack(
        [116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])]
    )
