"""A fitted linear model as one affine map of the features.

    scores = x A + b

The map is read off the model: b is its value at zero, and the rows of A are its values at the
unit vectors, minus b. Models that are not affine are refused: kernels and nearest planes by their
class (far from the data they look flat), all others if they disagree with the map elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenkit.estimators._planes import ProximalPlanes
from eigenkit.linalg import Array, ratio
from eigenkit.models._model import Model

_ROWS = 256
# How far from affine a map may be for rounding, relative to its size.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Affine:
    """``x A + b`` for features x as they stand in the file, missing values filled in."""

    A: Array
    b: Array

    def __call__(self, X: Array) -> Array:
        """The map on rows."""
        return np.asarray(X @ self.A + self.b)


def components_map(model: Model) -> Affine:
    """From features to components."""
    if not model.projects:
        raise ValueError(f"{model.method} has no components.")
    return _map_of(model, lambda X: np.asarray(model.estimator.transform(X)))


def scores_map(model: Model) -> Affine:
    """From features to the scores of classes or labels, or to the numbers predicted."""
    if model.linear is not None:
        to_components, head = components_map(model), model.linear
        B = head.weights
        return Affine(to_components.A @ B, (to_components.b - head.mean) @ B + head.intercept)
    if model.target.kind == "numbers":
        return _map_of(model, lambda X: np.asarray(model.estimator.predict(X)))
    if not hasattr(model.estimator, "decision_function"):
        raise ValueError(f"{model.method} has no scores that add up from features.")
    return _map_of(model, lambda X: np.asarray(model.own_scores(X)))


def through_components(model: Model, to_scores: Affine) -> Array | None:
    """What a unit of every component adds to the scores; None if they depend on more than those."""
    if model.linear is not None:
        return model.linear.weights
    if not model.projects:
        return None
    A = components_map(model).A
    length = np.linalg.norm(A, axis=0)  # components may be of very different lengths
    B = np.linalg.lstsq(A / np.where(length > 0, length, 1.0), to_scores.A)[0]
    B = ratio(B, length[:, None])
    error, size = np.abs(A @ B - to_scores.A), np.abs(A) @ np.abs(B) + np.abs(to_scores.A).max()
    return B if np.all(error <= _ROUNDING * size) else None


def _map_of(model: Model, function: Callable[[Array], Array]) -> Affine:
    """A and b of a function of the scaled features, for features as they are."""
    _check_straight(model)
    d, scale = model.features.n_features, model.features.scale
    unit = scale if len(scale) else np.ones(d)

    def values(X: Array) -> Array:
        return np.asarray(function(X), dtype=np.float64).reshape(len(X), -1)

    b = values(np.zeros((1, d)))[0]
    parts = []
    for start in range(0, d, _ROWS):
        X = np.zeros((min(_ROWS, d - start), d))
        X[np.arange(len(X)), start + np.arange(len(X))] = 1.0
        parts.append(values(X) - b)
    found = Affine(np.vstack(parts), b)
    _check_affine(model, found, values, d)
    return Affine(found.A / unit[:, None], found.b)


def _check_straight(model: Model) -> None:
    params = model.estimator.get_params(deep=False)
    has_kernel = params.get("kernel", "linear") != "linear" or "kernels" in params
    if has_kernel or isinstance(model.estimator, ProximalPlanes):
        raise _bent(model)


def _bent(model: Model) -> ValueError:
    return ValueError(
        f"{model.method} is not an affine map of the features, which this needs: use a linear "
        "method, one without kernels or planes."
    )


def _check_affine(model: Model, found: Affine, values: Callable[[Array], Array], d: int) -> None:
    X = np.random.default_rng(0).normal(size=(3, d))
    true = values(X)
    size = np.abs(X) @ np.abs(found.A) + np.abs(found.b) + np.abs(true)
    if not np.all(np.abs(found(X) - true) <= _ROUNDING * size + 1e-300):
        raise _bent(model)
