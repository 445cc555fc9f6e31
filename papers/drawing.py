"""Pictures in the manner of the papers, as SVG text that is the same in every run."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from papers.blocks import Figure

# Distinct in print and for readers who see few colours: told apart by marker and dash too.
COLORS = ("#00609c", "#d55e00", "#00805c", "#b5508c", "#a97300", "#2f9bd6", "#6b4fa0", "#5c6670")
MARKERS = "os^Dv<>P"
STYLE: Any = {
    "svg.fonttype": "path",
    "font.size": 9,
    "axes.grid": True,
    "grid.color": "#dfe3e8",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.markersize": 4,
    "lines.linewidth": 1.3,
}


def svg(figure: Figure) -> str:
    """Draw a figure; needs matplotlib (the extra ``plot``)."""
    try:
        import matplotlib
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise ImportError("the papers' figures need matplotlib: pip install matplotlib.") from error
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": figure.name}):
        canvas = Canvas(figsize=figure.size, layout="constrained")
        figure.draw(canvas)
        out = io.StringIO()
        canvas.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def lines(
    ax: Any,
    x: Sequence[float],
    curves: Mapping[str, Sequence[float | None]],
    *,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    xscale: str = "linear",
    yscale: str = "linear",
) -> None:
    """One curve per name; None leaves a gap."""
    for i, (name, values) in enumerate(curves.items()):
        y = np.array([np.nan if v is None else v for v in values], dtype=float)
        look = {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)]}
        ax.plot(x, y, label=name, linestyle="-" if i % 2 == 0 else "--", fillstyle="none", **look)
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
    ax.legend()


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent p of y ~ x^p, by least squares on the logarithms."""
    return float(np.polyfit(np.log(np.asarray(x)), np.log(np.asarray(y)), 1)[0])
