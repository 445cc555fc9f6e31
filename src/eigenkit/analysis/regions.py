"""Pictures of predictions: coefficients of features, and the regions of classes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenkit.analysis import displays
from eigenkit.analysis.diagnostics import described
from eigenkit.analysis.displays import Rows
from eigenkit.analysis.plots import COLORS, MARKERS
from eigenkit.numerics.linalg import Array


@dataclass(eq=False, repr=False)
class CoefficientsDisplay(displays.Display):
    """The features with the largest coefficients for one response or class.

    Parameters
    ----------
    coefficients : array of shape (n_shown,)
    names : list of str
    target : str
        The response or class.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenkit import PLSRegression
    >>> from eigenkit.analysis import CoefficientsDisplay
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> shown = CoefficientsDisplay.from_estimator(PLSRegression(2).fit(X, Y), target=1)
    >>> shown.ax_.get_xlabel()
    'coefficient for response 1'
    """

    coefficients: Array
    names: list[str]
    target: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, target: int = 0, top: int = 15, ax: Any = None
    ) -> Self:
        """Draw the largest entries of a row of ``coef_``, by their number or that of the class."""
        check_is_fitted(estimator)
        name = type(estimator).__name__
        coef = getattr(estimator, "coef_", None)
        if coef is None:
            raise ValueError(f"{name} has no coef_: give a model that is linear in the features.")
        rows = np.atleast_2d(coef)
        shown = displays.largest_entries(estimator, rows, "target", target, top)
        classes = getattr(estimator, "classes_", None)
        if classes is None:
            return cls(*shown, f"response {target}").plot(ax)
        # Two classes have one row of coefficients, which is that of the second.
        return cls(*shown, str(classes[target if len(classes) == len(rows) else -1])).plot(ax)

    def _draw(self, ax: Any) -> None:
        displays.draw_bars(ax, self.coefficients, self.names, f"coefficient for {self.target}")


@described
@dataclass(eq=False, repr=False)
class RegionsDisplay(displays.Display):
    """The plane coloured by the predicted class, and the samples in it.

    With two features the plane is theirs. With more it is that of two components: its points
    are the samples nearest to the mean that have these scores, and 0 in all other components.

    Parameters
    ----------
    grid : list of two arrays of shape (resolution, resolution)
        Coordinates.
    regions : array of shape (resolution, resolution)
        Numbers of classes.
    points : array of shape (n_samples, 2)
    groups : dict of class to row numbers
    classes : list of str
    axes : (str, str)
        What the coordinates are.

    {iris}
    >>> from eigenkit.analysis import RegionsDisplay
    >>> shown = RegionsDisplay.from_estimator(model, X, y)
    >>> shown.ax_.get_xlabel(), shown.regions.shape
    ('component 1', (200, 200))
    """

    grid: list[Array]
    regions: np.ndarray
    points: Array
    groups: dict[str, Rows]
    classes: list[str]
    axes: tuple[str, str]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        components: tuple[int, int] = (0, 1),
        resolution: int = 200,
        margin: float = 0.05,
        ax: Any = None,
    ) -> Self:
        """Predict a grid in the plane of two features or components, and draw it with X."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "classes_") or not hasattr(estimator, "predict"):
            raise ValueError(f"{type(estimator).__name__} predicts no classes: give a classifier.")
        if np.shape(X)[1] == 2:
            points = np.asarray(X, dtype=np.float64)
            a, b = displays.feature_names(estimator, X)
        else:
            points = displays.scores_of(estimator, X, components)
            a, b = (f"component {i + 1}" for i in components)
        grid = _grid(points, resolution, margin)
        flat = np.column_stack([g.ravel() for g in grid])
        rows = flat if np.shape(X)[1] == 2 else _samples_at(estimator, flat, components)
        with warnings.catch_warnings():  # the columns of the grid need no names
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            told = np.searchsorted(estimator.classes_, estimator.predict(rows))
        classes = [str(c) for c in estimator.classes_]
        groups = displays.groups_of(y, len(points))
        return cls(grid, told.reshape(grid[0].shape), points, groups, classes, (a, b)).plot(ax)

    def _draw(self, ax: Any) -> None:
        colors = dict(zip(self.classes, islice(cycle(COLORS), len(self.classes)), strict=True))
        edges = np.arange(len(self.classes) + 1) - 0.5
        ax.contourf(*self.grid, self.regions, levels=edges, colors=[*colors.values()], alpha=0.25)
        for (name, rows), marker in zip(self.groups.items(), cycle(MARKERS), strict=False):
            style = {"s": 12, "marker": marker, "edgecolors": "black", "linewidths": 0.3}
            color = colors.get(name, "#56606e")  # a class that the model never saw
            ax.scatter(*self.points[rows].T, label=name, color=color, **style)
        ax.set(xlabel=self.axes[0], ylabel=self.axes[1])
        ax.legend()


def _samples_at(estimator: Any, Z: Array, components: tuple[int, int]) -> Array:
    """The samples nearest to the mean with these scores in two components, and 0 in others."""
    W = getattr(estimator, "components_", None)
    mean = getattr(estimator, "mean_", None)
    kernel = hasattr(estimator, "kernel_")
    if kernel or W is None or mean is None or np.shape(W)[1] != estimator.n_features_in_:
        raise ValueError(
            f"{type(estimator).__name__} is not a linear projection of the features: regions can "
            "be drawn for two features only."
        )
    back = np.linalg.pinv(np.asarray(W, dtype=np.float64))[:, list(components)]
    return np.asarray(Z @ back.T + np.asarray(mean, dtype=np.float64))


def _grid(X: Array, resolution: int, margin: float) -> list[Array]:
    low, high = X.min(axis=0), X.max(axis=0)
    frame = margin * np.where(high > low, high - low, 1.0)
    axes = [np.linspace(a, b, resolution) for a, b in zip(low - frame, high + frame, strict=True)]
    return list(np.meshgrid(*axes))
