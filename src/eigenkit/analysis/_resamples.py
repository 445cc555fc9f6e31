"""Draw resamples, fit them, and compare each with the fit on all samples."""

from __future__ import annotations

import warnings
from copy import copy
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from eigenkit.analysis._draws import refuse_blocks
from eigenkit.analysis._sides import what_it_is
from eigenkit.data import correlations
from eigenkit.estimators import PLSCanonical, PLSRegressionCV
from eigenkit.estimators._encoding import as_labels, check_groups
from eigenkit.estimators._validation import check_weight, check_X
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.numerics.linalg import Array

# How often to draw again if the method cannot be fitted on a resample.
TRIES = 20

ROOTS = ("canonical_correlations_", "singular_values_", "eigenvalues_", "explained_variance_")

Measures = dict[str, Array]


class Resampling:
    """What a task needs to fit resamples and to compare them with the fit on all samples."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        refuse_blocks(X)
        self.X, self.y = X, y
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.model = clone(estimator).fit(X, y, **weight)
        # X as one matrix, views side by side.
        check = getattr(self.model, "_check_X", None)
        self.table = check(X, reset=False) if check else check_X(BaseEstimator(), X, reset=True)
        n = self.table.shape[0]
        checked = check_weight(sample_weight, n)
        self.weight = np.ones(n) if checked is None else checked
        self.strata = _strata(self.model, y, groups, n)
        self.scores = np.asarray(self.model.transform(X), dtype=np.float64)

    def with_one_more(self) -> Resampling | None:
        """The same with one more component, if there is one."""
        more = copy(self)
        more.model = clone(self.model).set_params(n_components=width(self.model) + 1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                more.model.fit(self.X, self.y, sample_weight=self.weight)
        except ValueError:
            return None
        more.scores = np.asarray(more.model.transform(self.X), dtype=np.float64)
        return more if width(more.model) > width(self.model) else None

    def whole(self) -> Measures:
        """The measures of the fit on all samples."""
        return self._measured(self.model, self.weight)

    def __call__(self, count: int, seed: tuple[int, ...]) -> list[Measures]:
        rng = np.random.default_rng(seed)
        estimator = clone(self.model).set_params(n_components=width(self.model))
        return [self._one(estimator, rng) for _ in range(count)]

    def _one(self, estimator: Any, rng: np.random.Generator) -> Measures:
        """The measures of one resample; drawing with replacement gives integer weights."""
        failure = ValueError("they have fewer components")
        for attempt in range(TRIES):
            weight = self._drawn(rng)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DegenerateDataWarning)
                    model = clone(estimator).fit(self.X, self.y, sample_weight=weight)
            except ValueError as error:
                failure = error
                continue
            if width(model) == width(self.model):
                return self._measured(model, weight) | {"redrawn": np.array(attempt)}
        raise ValueError(
            f"{TRIES} resamples in a row cannot be fitted ({failure}): ask for fewer components."
        ) from failure

    def _drawn(self, rng: np.random.Generator) -> Array:
        """How often each sample was drawn, times its weight."""
        counts = np.zeros(len(self.scores))
        for members in self.strata:
            m = members.shape[0]
            counts += np.bincount(rng.integers(0, m, size=m), minlength=m) @ members
        return counts * self.weight

    def _measured(self, model: Any, weight: Array) -> Measures:
        """Weights, loadings, coefficients and roots, with the signs of the fit on all samples."""
        T = np.asarray(model.transform(self.X), dtype=np.float64)
        overlap = correlations(T, self.scores, self.weight)
        sign = np.where(np.diag(overlap) < 0, -1.0, 1.0)
        found = {name: part * sign for name, part in _parts(model).items()}
        if hasattr(model, "coef_"):
            found["coef"] = np.asarray(model.coef_, dtype=np.float64)
        return found | {
            "loadings": correlations(self.table, T, weight) * sign,
            "roots": _roots(model, T, weight),
            "overlap": overlap * sign[:, None],
        }


def _parts(model: Any) -> dict[str, Array]:
    """The weights of X, and those of y if there are any."""
    # Of the two, that without the units of the features.
    W = model.x_rotations_ if hasattr(model, "x_rotations_") else model.components_.T
    parts = {"weights": np.asarray(W, dtype=np.float64)}
    for name in ("y_rotations_", "y_weights_"):
        if hasattr(model, name):
            return parts | {"y_weights": np.asarray(getattr(model, name), dtype=np.float64)}
    return parts


def width(model: Any) -> int:
    """The number of components."""
    return int(_parts(model)["weights"].shape[1])


def _roots(model: Any, T: Array, weight: Array) -> Array:
    """What each component shares or explains; for PLS the covariance that it maximizes."""
    for name in ROOTS:
        if hasattr(model, name):
            return np.asarray(getattr(model, name), dtype=np.float64)
    T = T - weight @ T / weight.sum()
    if isinstance(model, PLSCanonical):
        return np.abs(weight @ (T * np.asarray(model.y_scores_, dtype=np.float64)))
    loadings = getattr(model, "y_loadings_", ())
    if len(loadings) < 2:  # nothing to choose from, so no ties
        return np.full(T.shape[1], np.nan)
    return np.asarray(np.linalg.norm(loadings, axis=0) * (weight @ T**2))


def refuse(estimator: Any) -> None:
    name = what_it_is(estimator)
    projects = hasattr(estimator, "transform")
    if projects and (hasattr(estimator, "kernel") or hasattr(estimator, "kernels")):
        raise TypeError(f"estimator is {name}, which has weights of samples, not of features.")
    if hasattr(estimator, "graph"):
        raise TypeError(f"estimator is {name}, whose graph joins samples: these cannot be redrawn.")
    if hasattr(estimator, "estimator"):
        raise TypeError(f"estimator is {name}, which fits another: give its best_estimator_.")
    if isinstance(estimator, PLSRegressionCV):
        raise TypeError(
            f"estimator is {name}, which chooses the number of components anew in every resample: "
            "give a PLSRegression with the number that it chose (n_components_)."
        )
    fit = getattr(estimator, "fit", None)
    if fit is None or "sample_weight" not in signature(fit).parameters:
        raise TypeError(f"estimator is {name}: bootstrap needs a fit with sample_weight.")
    if isinstance(estimator, type) or not projects:
        raise TypeError(f"estimator is {name}: bootstrap needs a projection, with transform.")


def _strata(model: Any, y: Any, groups: Any, n: int) -> list[Any]:
    """What is drawn: for each stratum, a matrix from its members to their samples."""
    if groups is not None:
        return [sparse.csr_array((np.ones(n), (check_groups(groups, n), np.arange(n))))]
    each = sparse.eye_array(n, format="csr")
    if not hasattr(model, "classes_") or as_labels(y).ndim != 1:
        return [each]
    labels = as_labels(y)
    return [each[np.flatnonzero(labels == c)] for c in np.unique(labels)]
