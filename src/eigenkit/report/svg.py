"""Small pictures drawn without scripts, for pages that have few of them."""

from __future__ import annotations

from html import escape

import numpy as np

_WIDTH, _ROW, _LEFT, _RIGHT = 640, 30, 170, 20


def dots(
    names: list[str], series: list[list[tuple[float, float] | None]], alt: str, x_title: str
) -> str:
    """A row for every name with one mark (value, deviation) for every series."""
    known = [mark for row in series for mark in row if mark is not None]
    if not known:
        return ""
    low = min(value - deviation for value, deviation in known)
    high = max(value + deviation for value, deviation in known)
    room = 0.05 * (high - low) or 0.5
    low, high = low - room, high + room
    height = _ROW * len(names) + 46
    parts = [_axis(low, high, height, x_title)]
    for i, name in enumerate(names):
        y = _ROW * i + 24
        parts.append(f'<text x="{_LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        for k, row in enumerate(series):
            mark = row[i]
            if mark is not None:
                parts.append(_mark(mark, y + 5 * (k - (len(series) - 1) / 2), k, low, high))
    return _picture(parts, height, alt)


def line(x: list[float], y: list[float], chosen: float | None, alt: str, titles: list[str]) -> str:
    """A curve with its points; the one at ``chosen`` is larger. x goes by its order, evenly."""
    low, high = min(y), max(y)
    room = 0.08 * (high - low) or 0.5
    low, high, height = low - room, high + room, 220
    across = np.linspace(_LEFT, _WIDTH - _RIGHT, len(x)) if len(x) > 1 else [(_LEFT + _WIDTH) / 2]
    down = [30 + (height - 80) * (high - v) / (high - low) for v in y]
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
    parts = [f'<polyline points="{points}" class="s0"/>']
    every = max(1, -(-len(x) // 12))
    for i, (a, b, value) in enumerate(zip(across, down, x, strict=True)):
        parts.append(
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{6 if value == chosen else 3}" class="m0"/>'
        )
        if i % every == 0:
            parts.append(
                f'<text x="{a:.1f}" y="{height - 28}" text-anchor="middle">{value:g}</text>'
            )
    for v in (min(y), max(y)):
        b = 30 + (height - 80) * (high - v) / (high - low)
        parts.append(f'<text x="{_LEFT - 14}" y="{b + 4:.1f}" text-anchor="end">{v:.3g}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{height - 6}" text-anchor="middle">{escape(titles[0])}</text>'
    )
    parts.append(f'<text x="12" y="18">{escape(titles[1])}</text>')
    return _picture(parts, height, alt)


def _picture(parts: list[str], height: int, alt: str) -> str:
    return (
        f'<svg class="picture" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(alt)}">{"".join(parts)}</svg>'
    )


def _place(value: float, low: float, high: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - low) / (high - low)


def _axis(low: float, high: float, height: int, title: str) -> str:
    step = 10.0 ** np.floor(np.log10((high - low) / 3))
    step *= next(k for k in (1, 2, 5, 10) if (high - low) / (k * step) <= 6)
    parts = []
    for value in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step:
        x = _place(float(value), low, high)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{height - 36}" class="grid"/>')
        label = f"{value:.10g}"
        parts.append(f'<text x="{x:.1f}" y="{height - 22}" text-anchor="middle">{label}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{height - 4}" text-anchor="middle">{escape(title)}</text>')
    return "".join(parts)


def _mark(mark: tuple[float, float], y: float, k: int, low: float, high: float) -> str:
    value, deviation = mark
    a, b = (_place(value + side * deviation, low, high) for side in (-1, 1))
    x = _place(value, low, high)
    return (
        f'<line x1="{a:.1f}" x2="{b:.1f}" y1="{y:.1f}" y2="{y:.1f}" class="s{k % 8}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="m{k % 8}"/>'
    )
