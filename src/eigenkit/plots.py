"""Pictures of fitted classifiers; needs matplotlib (the extra ``plot``), loaded when called."""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenkit.linalg import Array

# Classes are told apart by more than colour, and colours are safe for the colour-blind.
MARKERS = "o^sDvP"
COLORS = ("#00609c", "#d55e00", "#00805c", "#b5508c", "#a97300", "#2f9bd6", "#6b4fa0", "#5c6670")


def plot_decision_regions(
    model: Any, X: Any, y: Any, *, ax: Any = None, resolution: int = 200, margin: float = 0.05
) -> Any:
    """Colour the plane by the class that a fitted classifier predicts, and draw the samples.

    Parameters
    ----------
    model : fitted classifier of two features
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,)
    ax : matplotlib axes, optional
        New ones by default.
    resolution : int
        Points of the grid along each axis.
    margin : float
        Width of the frame around the samples, relative to their extent.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import make_moons
    >>> from eigenkit import ReGEC
    >>> from eigenkit.plots import plot_decision_regions
    >>> X, y = make_moons(noise=0.1, random_state=0)
    >>> model = ReGEC(kernel="rbf", gamma=2).fit(X, y)
    >>> plot_decision_regions(model, X, y).get_xlabel()
    'feature 0'
    """
    check_is_fitted(model)
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"X has shape {X.shape}: regions can be drawn for two features only.")
    if y.shape != X.shape[:1]:
        raise ValueError(f"y has shape {y.shape}: give one class for each of {len(X)} samples.")
    plt = _pyplot()
    ax = plt.subplots()[1] if ax is None else ax
    grid = _grid(X, resolution, margin)
    codes = np.searchsorted(
        model.classes_, model.predict(np.column_stack([g.ravel() for g in grid]))
    )
    edges = np.arange(len(model.classes_) + 1) - 0.5
    colors = list(islice(cycle(COLORS), len(model.classes_)))
    regions = codes.reshape(grid[0].shape)
    ax.contourf(*grid, regions, levels=edges, colors=colors, alpha=0.25)
    for label, color, marker in zip(model.classes_, colors, cycle(MARKERS), strict=False):
        points = {"s": 12, "marker": marker, "edgecolors": "black", "linewidths": 0.3}
        ax.scatter(*X[y == label].T, label=str(label), color=color, **points)
    ax.set(xlabel="feature 0", ylabel="feature 1", title=type(model).__name__)
    ax.legend()
    return ax


def _grid(X: Array, resolution: int, margin: float) -> list[Array]:
    low, high = X.min(axis=0), X.max(axis=0)
    frame = margin * np.where(high > low, high - low, 1.0)
    axes = [np.linspace(a, b, resolution) for a, b in zip(low - frame, high + frame, strict=True)]
    return list(np.meshgrid(*axes))


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'eigenkit[plot]'.") from error
    return plt
