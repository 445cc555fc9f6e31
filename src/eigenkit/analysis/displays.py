"""Pictures of any fitted projection, in the manner of scikit-learn's displays.

``from_estimator`` computes and draws; a display holds what it shows, and ``plot`` draws it again.
matplotlib is loaded when something is drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import cycle
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from eigenkit.analysis.diagnostics import described
from eigenkit.analysis.plots import COLORS, MARKERS, new_axes
from eigenkit.data import correlations
from eigenkit.numerics.linalg import Array

# The names of more arrows than this would overlap.
_NAMED = 12

Rows = np.ndarray[Any, np.dtype[np.intp]]


class Display(ABC):
    """What all displays share: drawing on axes, and keeping them."""

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        self.ax_: Any = new_axes(ax)
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on the axes."""


def scores_of(estimator: Any, X: Any, components: tuple[int, ...] | None) -> Array:
    """Some columns of the scores of X: by default the first two, or the only one."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "transform"):
        raise ValueError(f"{type(estimator).__name__} has no components: give a projection.")
    Z = np.asarray(estimator.transform(X), dtype=np.float64)
    if components is None:
        return Z[:, :2]
    for i in components:
        if not 0 <= i < Z.shape[1]:
            there = f"there are {Z.shape[1]}, counted from 0"
            one = "there is one component, which ScoresDisplay and LoadingsDisplay draw"
            raise ValueError(
                f"components={components!r} is not valid: {one if Z.shape[1] == 1 else there}."
            )
    return Z[:, list(components)]


def feature_names(estimator: Any, X: Any) -> list[str]:
    """The names that the estimator or the frame has, or numbers."""
    known = getattr(estimator, "feature_names_in_", getattr(X, "columns", None))
    n = np.shape(X)[1]
    return [f"feature {j}" for j in range(n)] if known is None else [str(name) for name in known]


def _correlations(X: Any, Z: Array) -> Array:
    """Of the columns of X with those of Z (d x 2); 0 for a column that does not vary."""
    return correlations(X.tocsr() if issparse(X) else np.asarray(X, dtype=np.float64), Z)


def _in_colours(y: Any, n: int) -> tuple[dict[str, Rows], Array | None]:
    """The rows of every class, or the values of y if these are numbers, more than colours."""
    values = np.asarray(y)
    if values.shape == (n,) and values.dtype.kind == "f" and len(np.unique(values)) > len(COLORS):
        return groups_of(None, n), values
    return groups_of(y, n), None


def groups_of(y: Any, n: int) -> dict[str, Rows]:
    """The rows of every class, or all rows without y."""
    if y is None:
        return {"": np.arange(n)}
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y has shape {labels.shape}: give one class for each of {n} samples.")
    return {str(label): np.flatnonzero(labels == label) for label in np.unique(labels)}


def _draw_samples(ax: Any, Z: Array, groups: dict[str, Rows], values: Array | None) -> None:
    if values is not None:
        ax.scatter(*Z.T, s=14, c=values)
        return
    styles = zip(groups.items(), cycle(COLORS), cycle(MARKERS), strict=False)
    for (name, rows), color, marker in styles:
        ax.scatter(*Z[rows].T, s=14, color=color, marker=marker, label=name or None, alpha=0.8)
    if len(groups) > 1:
        ax.legend()


def _draw_arrows(ax: Any, tips: Array, names: list[str]) -> None:
    order = np.argsort(-np.linalg.norm(tips, axis=1), kind="stable")
    for place, j in enumerate(order):
        ax.annotate("", tips[j], (0, 0), arrowprops={"arrowstyle": "->", "color": "#56606e"})
        if place < _NAMED:
            side = "right" if tips[j, 0] < 0 else "left"
            ax.annotate(names[j], tips[j], ha=side, va="center", fontsize="small")


def _label_axes(ax: Any, components: tuple[int, ...]) -> None:
    a, b = components
    ax.set(xlabel=f"component {a + 1}", ylabel=f"component {b + 1}")


def draw_bars(ax: Any, values: Array, names: list[str], words: str) -> None:
    """A bar for every name, the first on top, coloured by its sign; ``words`` say what it is."""
    places = np.arange(len(values))
    ax.barh(places, values, color=[COLORS[int(value < 0)] for value in values])
    ax.axvline(0.0, color="#56606e", linewidth=0.8)
    ax.set_yticks(places, names)
    ax.set(xlabel=words)
    ax.invert_yaxis()


@described
@dataclass(eq=False, repr=False)
class ScoresDisplay(Display):
    """Samples in the plane of two components, or along one beside their class or y.

    Parameters
    ----------
    scores : array of shape (n_samples, 2) or (n_samples, 1)
    groups : dict of class to row numbers
    values : array of shape (n_samples,), or None
        Numbers that colour the samples in place of classes.
    components : tuple of int

    {iris}
    >>> from eigenkit.analysis import ScoresDisplay
    >>> ScoresDisplay.from_estimator(model, X, y).ax_.get_xlabel()
    'component 1'
    """

    scores: Array
    groups: dict[str, Rows]
    values: Array | None
    components: tuple[int, ...]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        components: tuple[int, ...] | None = None,
        ax: Any = None,
    ) -> Self:
        """Project X with a fitted estimator and draw it, coloured by classes or numbers in y.

        By default the first two components are drawn, or the only one.
        """
        Z = scores_of(estimator, X, components)
        shown = tuple(range(Z.shape[1])) if components is None else components
        return cls(Z, *_in_colours(y, len(Z)), shown).plot(ax)

    def _draw(self, ax: Any) -> None:
        if len(self.components) == 1:
            self._draw_along(ax)
            return
        _draw_samples(ax, self.scores, self.groups, self.values)
        _label_axes(ax, self.components)

    def _draw_along(self, ax: Any) -> None:
        """One component: samples of a class are spread over a band, others lie at their y."""
        beside = np.empty(len(self.scores))
        for place, rows in enumerate(self.groups.values()):
            beside[rows] = place + 0.6 * (np.arange(len(rows)) * 0.618034 % 1 - 0.5)
        if self.values is not None:
            beside = self.values
        _draw_samples(ax, np.column_stack([self.scores, beside]), self.groups, self.values)
        ax.set(xlabel=f"component {self.components[0] + 1}")
        if self.values is None:
            ax.set_yticks(range(len(self.groups)), self.groups)
        else:
            ax.set(ylabel="y")


@described
@dataclass(eq=False, repr=False)
class CorrelationCircleDisplay(Display):
    """Features by their correlations with two components; those on the circle are fully explained.

    Parameters
    ----------
    correlations : array of shape (n_features, 2)
    names : list of str
    components : (int, int)

    {iris}
    >>> from eigenkit.analysis import CorrelationCircleDisplay
    >>> CorrelationCircleDisplay.from_estimator(model, X).correlations.shape
    (4, 2)
    """

    correlations: Array
    names: list[str]
    components: tuple[int, int]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, components: tuple[int, int] = (0, 1), ax: Any = None
    ) -> Self:
        """Correlate the columns of X with its scores and draw them."""
        R = _correlations(X, scores_of(estimator, X, components))
        return cls(R, feature_names(estimator, X), components).plot(ax)

    def _draw(self, ax: Any) -> None:
        turn = np.linspace(0, 2 * np.pi, 181)
        ax.plot(np.cos(turn), np.sin(turn), color="#b9c0c8", linewidth=1)
        _draw_arrows(ax, self.correlations, self.names)
        _label_axes(ax, self.components)
        ax.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal")


@described
@dataclass(eq=False, repr=False)
class BiplotDisplay(Display):
    """Samples in the plane of two components, with arrows for the correlations of the features.

    Arrows are correlations, stretched to the extent of the samples.

    Parameters
    ----------
    scores : ScoresDisplay
    circle : CorrelationCircleDisplay

    {iris}
    >>> from eigenkit.analysis import BiplotDisplay
    >>> BiplotDisplay.from_estimator(model, X, y).scores.scores.shape
    (150, 2)
    """

    scores: ScoresDisplay
    circle: CorrelationCircleDisplay

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        components: tuple[int, int] = (0, 1),
        ax: Any = None,
    ) -> Self:
        """Project X and draw it with its features."""
        Z = scores_of(estimator, X, components)
        scores = ScoresDisplay(Z, *_in_colours(y, len(Z)), components)
        names = feature_names(estimator, X)
        circle = CorrelationCircleDisplay(_correlations(X, Z), names, components)
        return cls(scores, circle).plot(ax)

    def _draw(self, ax: Any) -> None:
        Z = self.scores.scores
        middle = Z.mean(axis=0)
        _draw_samples(ax, Z - middle, self.scores.groups, self.scores.values)
        _draw_arrows(ax, self.circle.correlations * np.abs(Z - middle).max(), self.circle.names)
        _label_axes(ax, self.scores.components)


@described
@dataclass(eq=False, repr=False)
class ScreeDisplay(Display):
    """Eigenvalues by component.

    Parameters
    ----------
    eigenvalues : array of shape (n_components,)
    name : str
        Of the estimator.

    {iris}
    >>> from eigenkit.analysis import ScreeDisplay
    >>> ScreeDisplay.from_estimator(model).ax_.get_ylabel()
    'eigenvalue'
    """

    eigenvalues: Array
    name: str

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the eigenvalues of a fitted estimator."""
        check_is_fitted(estimator)
        name = type(estimator).__name__
        if not hasattr(estimator, "eigenvalues_"):
            raise ValueError(f"{name} has no eigenvalues_: give one that solves an eigenproblem.")
        return cls(np.asarray(estimator.eigenvalues_, dtype=np.float64).ravel(), name).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.plot(np.arange(1, len(self.eigenvalues) + 1), self.eigenvalues, "o-", color=COLORS[0])
        ax.set(xlabel="component", ylabel="eigenvalue", title=self.name)
        ax.set_ylim(bottom=min(0.0, float(self.eigenvalues.min(initial=0.0))))
        ax.xaxis.get_major_locator().set_params(integer=True)


def largest_entries(model: Any, rows: Any, name: str, at: int, top: int) -> tuple[Array, list[str]]:
    """The largest entries of one row, of a number per feature, and the names of these features."""
    if not 0 <= at < len(rows):
        raise ValueError(f"{name}={at!r} is not valid: there are {len(rows)}, from 0.")
    row = np.asarray(rows[at], dtype=np.float64)
    order = np.argsort(-np.abs(row), kind="stable")[:top]
    names = feature_names(model, np.empty((0, len(row))))
    return row[order], [names[j] for j in order]


@described
@dataclass(eq=False, repr=False)
class WeightsDisplay(Display):
    """The features that weigh most in one component.

    Parameters
    ----------
    weights : array of shape (n_shown,)
    names : list of str
    component : int

    {iris}
    >>> from eigenkit.analysis import WeightsDisplay
    >>> WeightsDisplay.from_estimator(model, top=3).names
    ['feature 3', 'feature 2', 'feature 1']
    """

    _words: ClassVar[str] = "weight in component"
    weights: Array
    names: list[str]
    component: int

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, component: int = 0, top: int = 15, ax: Any = None
    ) -> Self:
        """Draw the largest entries of a row of ``components_``."""
        check_is_fitted(estimator)
        W = getattr(estimator, "components_", None)
        if W is None or np.ndim(W) != 2:
            raise ValueError(f"{type(estimator).__name__} has no components_ of features.")
        shown = largest_entries(estimator, W, "component", component, top)
        return cls(*shown, component).plot(ax)

    def _draw(self, ax: Any) -> None:
        draw_bars(ax, self.weights, self.names, f"{self._words} {self.component + 1}")


@described
@dataclass(eq=False, repr=False)
class LoadingsDisplay(WeightsDisplay):
    """The features that correlate most with one component: its loadings.

    A weight says what a feature adds to a component beside all others, a loading how the two rise
    and fall together.

    Parameters
    ----------
    weights : array of shape (n_shown,)
        The correlations.
    names : list of str
    component : int

    {iris}
    >>> from eigenkit.analysis import LoadingsDisplay
    >>> LoadingsDisplay.from_estimator(model, X, top=3).names
    ['feature 2', 'feature 3', 'feature 0']
    """

    _words = "correlation with component"

    @classmethod
    def from_estimator(  # type: ignore[override]
        cls, estimator: Any, X: Any, *, component: int = 0, top: int = 15, ax: Any = None
    ) -> Self:
        """Correlate the columns of X with a column of its scores and draw the largest."""
        R = _correlations(X, scores_of(estimator, X, (component,))).T
        return cls(*largest_entries(estimator, R, "component", 0, top), component).plot(ax)
