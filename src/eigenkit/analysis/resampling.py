"""How sure weights, loadings and coefficients are, and how often features are selected."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from eigenkit.analysis._draws import Progress, generator, in_parallel, root_seed, sizes
from eigenkit.analysis._features import Features
from eigenkit.estimators import PLSCanonical
from eigenkit.estimators._validation import (
    as_labels,
    check_count,
    check_real,
    check_weight,
    check_X,
)
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.linalg import Array

# Fits that one task makes: enough to outweigh the cost of a task.
BATCH = 20

# A resample on which the method cannot be fitted is drawn again, so many times at most.
TRIES = 20

# Two roots count as tied unless their gap exceeds this many (root mean square) standard
# deviations: the gap of two equal roots is sqrt(2) times a Rayleigh variable of that scale,
# and stays below with probability 0.95.
TIED = float(np.sqrt(-4 * np.log(0.05)))

# Weights below this share of the largest of their component are zero.
ZERO = 1e-12

# What all draws together may take.
LIMIT_BYTES = 2**31

ROOTS = ("canonical_correlations_", "singular_values_", "eigenvalues_", "explained_variance_")


@dataclass(frozen=True, repr=False)
class Intervals:
    """Estimates with percentile intervals, arrays of one shape.

    Attributes
    ----------
    estimate : of the fit on all samples
    lower, upper : bounds of the interval; NaN for components that are tied
    std : standard deviation over the resamples; NaN likewise
    """

    estimate: Array
    lower: Array
    upper: Array
    std: Array

    @property
    def nonzero(self) -> np.ndarray:
        """Where the interval leaves zero out."""
        return (self.lower > 0) | (self.upper < 0)

    def __repr__(self) -> str:
        return f"<Intervals of shape {self.estimate.shape}, {int(self.nonzero.sum())} without zero>"


@dataclass(frozen=True, repr=False)
class Bootstrap:
    """What resampling says about a projection.

    Attributes
    ----------
    weights : Intervals of shape (n_features, n_components)
        Of the projection of X.
    y_weights : Intervals of shape (n_targets, n_components), or None
        Of the projection of y, where there is one.
    loadings : Intervals of shape (n_features, n_components)
        Correlations of the features with the scores.
    coef : Intervals of the shape of ``coef_``, or None
        Coefficients of the regression or classifier, where there is one.
    tied : list of tuple of int
        Groups of components whose roots cannot be told apart. Their axes are arbitrary, so
        they have no intervals of their own.
    takes_part : array of bool of shape (n_features, n_components)
        Whether the interval of the weight leaves zero out; for tied components whether the
        feature takes part in the space that they span.
    selection : array of shape (n_features, n_components)
        The share of resamples in which the weight is not zero: of interest for sparse methods.
    level : float
    n_bootstraps, n_redrawn : int
    """

    weights: Intervals
    y_weights: Intervals | None
    loadings: Intervals
    coef: Intervals | None
    tied: list[tuple[int, ...]]
    takes_part: np.ndarray
    selection: Array
    level: float
    n_bootstraps: int
    n_redrawn: int
    method: str = ""

    def summary(self) -> str:
        """What was found, component by component."""
        d, l = self.weights.estimate.shape
        lines = [
            f"Bootstrap of {self.method}: {self.n_bootstraps} resamples, {self.level:.0%} intervals"
        ]
        for j in range(l):
            group = next((g for g in self.tied if j in g), None)
            what = "have a weight other than zero"
            if group:
                names = ", ".join(str(i + 1) for i in group)
                what = f"take part in the space of the tied components {names}"
            lines.append(
                f"component {j + 1}: {int(self.takes_part[:, j].sum())} of {d} features {what}"
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        d, l = self.weights.estimate.shape
        return f"<Bootstrap of {self.method}: {d} features, {l} components, tied {self.tied}>"


def bootstrap(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    n_bootstraps: int = 500,
    level: float = 0.95,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> Bootstrap:
    """Percentile intervals of the weights, loadings and coefficients of a projection.

    Components of resamples are matched with those of the fit on all samples by their order,
    and by sign; nothing is rotated, as that would take away real variation. Where two roots
    cannot be told apart the axes are arbitrary: such components are reported as ``tied``, and
    instead of intervals there is a test of whether a feature takes part in their space, by
    the length of its weights within it.

    Parameters
    ----------
    estimator : projection
        CCA, CanonicalRidge, SparseCCA, MultiviewCCA, OrthonormalizedPLS, LDA,
        HypergraphSpectral, the PLS family, PCA, ...: with ``sample_weight`` in ``fit``. It need
        not be fitted. Kernel methods have no weights of features.
    X, y
        As in its ``fit``.
    sample_weight : array of shape (n_samples,), optional
        Weights, which are multiplied with how often a sample is drawn.
    groups : array of shape (n_samples,), optional
        Groups of dependent samples, which are drawn as a whole.
    n_bootstraps : int
    level : float
        Coverage of the intervals.
    random_state, n_jobs, progress
        As in :func:`permutation_test`.

    Returns
    -------
    Bootstrap

    Notes
    -----
    Classes keep their sizes: where y is one class per sample, each class is resampled by
    itself, so none is missed. Any other resample on which the method cannot be fitted is drawn
    again (``n_redrawn`` counts them).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenkit import PCA
    >>> from eigenkit.analysis import bootstrap
    >>> X, _ = load_iris(return_X_y=True)
    >>> result = bootstrap(PCA(1), X, n_bootstraps=100)
    >>> result.weights.nonzero.ravel()
    array([ True,  True,  True,  True])
    >>> result.tied
    []
    """
    check_count("n_bootstraps", n_bootstraps)
    if not 0 < check_real("level", level, high=1.0) < 1:
        raise ValueError(f"level={level!r} is not valid: give a number between 0 and 1.")
    _refuse(estimator)
    asked = clone(estimator).fit(X, y, **_weighted(sample_weight))
    l = _width(asked)
    model = _one_more(asked, X, y, sample_weight)
    task = Resampling(
        estimator=clone(model).set_params(n_components=_width(model)),
        asked=clone(asked).set_params(n_components=l) if _needs_both(asked, model) else None,
        X=X,
        y=y,
        weight=check_weight(sample_weight, _n_rows(X)),
        strata=_strata(model, y, groups, _n_rows(X)),
        features=Features(_table(model, X)),
        scores=np.asarray(model.transform(X), dtype=np.float64),
    )
    found = task.measure(model, asked, None)
    _check_size(found, n_bootstraps)
    root = root_seed(random_state)
    counts = sizes(n_bootstraps, BATCH)
    tasks = [(count, (root, i)) for i, count in enumerate(counts)]
    draws = [d for part in in_parallel(task, tasks, counts, n_jobs, progress) for d in part]
    stacked = {name: np.array([d[name] for d in draws]) for name in draws[0]}
    return _summarized(found, stacked, l, float(level), type(estimator).__name__)


# -- one resample -----------------------------------------------------------------------


@dataclass(frozen=True)
class Resampling:
    """All that a task needs to fit resamples and to measure them against the whole fit.

    ``estimator`` may have a component more than was asked for, to see ties; ``asked`` has not,
    and is there where coefficients depend on that.
    """

    estimator: Any
    asked: Any
    X: Any
    y: Any
    weight: Array | None
    strata: list[Any]
    features: Features
    scores: Array

    def __call__(self, count: int, seed: tuple[int, ...]) -> list[dict[str, Array]]:
        rng = generator(*seed)
        return [self.one(rng) for _ in range(count)]

    def one(self, rng: np.random.Generator) -> dict[str, Array]:
        """What a resample gives; drawing with replacement is an integer weight."""
        for attempt in range(TRIES):
            weight = self._drawn(rng)
            try:
                model = self._fit(self.estimator, weight)
                asked = model if self.asked is None else self._fit(self.asked, weight)
            except ValueError as error:
                failure = error
                continue
            if _width(model) == self.scores.shape[1]:
                return self.measure(model, asked, weight) | {"redrawn": np.array(attempt)}
            failure = ValueError("a resample has fewer components")
        raise ValueError(
            f"{TRIES} resamples in a row cannot be fitted ({failure}): ask for fewer components."
        ) from failure

    def _fit(self, estimator: Any, weight: Array) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)
            return clone(estimator).fit(self.X, self.y, sample_weight=weight)

    def _drawn(self, rng: np.random.Generator) -> Array:
        """How often each sample is drawn, times its weight."""
        counts = np.zeros(len(self.scores))
        for members in self.strata:
            m = members.shape[0]
            counts += np.bincount(rng.integers(0, m, size=m), minlength=m) @ members
        return counts if self.weight is None else counts * self.weight

    def measure(self, model: Any, asked: Any, weight: Array | None) -> dict[str, Array]:
        """Weights, loadings, coefficients and roots, with the signs of the whole fit."""
        T = np.asarray(model.transform(self.X), dtype=np.float64)
        w = self._weight() if weight is None else weight
        overlap = _correlations(T, self.scores, self._weight())
        sign = np.where(np.diag(overlap) < 0, -1.0, 1.0)
        parts = {name: part * sign for name, part in _parts(model).items()}
        if hasattr(asked, "coef_"):
            parts["coef"] = np.asarray(asked.coef_, dtype=np.float64)
        return parts | {
            "loadings": self.features.correlations(T, w) * sign,
            "roots": _roots(model, T, w),
            "overlap": overlap * sign[:, None],
        }

    def _weight(self) -> Array:
        return np.ones(len(self.scores)) if self.weight is None else self.weight


def _correlations(A: Array, B: Array, weight: Array) -> Array:
    """Correlations of the columns of A (rows of the result) with those of B."""
    A, B = A - weight @ A / weight.sum(), B - weight @ B / weight.sum()
    size = np.sqrt(np.outer(weight @ A**2, weight @ B**2))
    return np.divide((A * weight[:, None]).T @ B, size, out=np.zeros_like(size), where=size > 0)


def _parts(model: Any) -> dict[str, Array]:
    """The weights of X, and of y where it has some."""
    W = model.components_.T if hasattr(model, "components_") else model.x_rotations_
    parts = {"weights": np.asarray(W, dtype=np.float64)}
    for name in ("y_rotations_", "y_weights_"):
        if hasattr(model, name):
            return parts | {"y_weights": np.asarray(getattr(model, name), dtype=np.float64)}
    return parts


def _width(model: Any) -> int:
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
    if len(model.y_loadings_) == 1:  # one response: nothing to choose from, so no ties
        return np.full(T.shape[1], np.nan)
    return np.linalg.norm(model.y_loadings_, axis=0) * (weight @ T**2)


# -- preparing --------------------------------------------------------------------------


def _refuse(estimator: Any) -> None:
    name = type(estimator).__name__
    if hasattr(estimator, "kernel") or hasattr(estimator, "kernels"):
        raise TypeError(f"estimator is a {name}, which weighs samples and not features.")
    fit = getattr(estimator, "fit", None)
    if fit is None or "sample_weight" not in signature(fit).parameters:
        raise TypeError(f"estimator is a {name}: bootstrap needs a fit with sample_weight.")
    if "n_components" not in estimator.get_params():
        raise TypeError(f"estimator is a {name}: bootstrap needs a projection with n_components.")


def _weighted(sample_weight: Any) -> dict[str, Any]:
    return {} if sample_weight is None else {"sample_weight": sample_weight}


def _one_more(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """The model with one component more if there is one: the last may be tied with the next."""
    more = clone(model).set_params(n_components=_width(model) + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            more.fit(X, y, **_weighted(sample_weight))
    except ValueError:
        return model
    return more if _width(more) > _width(model) else model


def _needs_both(asked: Any, model: Any) -> bool:
    """Whether one component more changes the coefficients."""
    return hasattr(asked, "coef_") and not np.allclose(asked.coef_, model.coef_)


def _n_rows(X: Any) -> int:
    if isinstance(X, list | tuple) and len(X) and hasattr(X[0], "shape") and X[0].ndim == 2:
        return int(X[0].shape[0])
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def _table(model: Any, X: Any) -> Any:
    """X as one matrix, views side by side."""
    joint: Callable[..., Any] | None = getattr(model, "_joint", None)
    return joint(X, reset=False) if joint else check_X(BaseEstimator(), X, reset=True)


def _strata(model: Any, y: Any, groups: Any, n: int) -> list[Any]:
    """What is drawn: for each stratum a matrix with the samples of each of its members."""
    if groups is not None:
        groups = as_labels(groups)
        if groups.shape != (n,):
            raise ValueError(
                f"groups has shape {groups.shape}: give one group for each of {n} samples."
            )
        return [_indicator(groups)]
    each = sparse.eye_array(n, format="csr")
    if not hasattr(model, "classes_") or as_labels(y).ndim != 1:
        return [each]
    labels = as_labels(y)
    return [each[np.flatnonzero(labels == c)] for c in np.unique(labels)]


def _indicator(groups: np.ndarray) -> Any:
    names, index = np.unique(groups, return_inverse=True)
    n = len(groups)
    return sparse.csr_array((np.ones(n), (index, np.arange(n))), shape=(len(names), n))


def _check_size(found: dict[str, Array], n_bootstraps: int) -> None:
    needed = 8 * n_bootstraps * sum(part.size for part in found.values())
    if needed > LIMIT_BYTES:
        raise ValueError(
            f"{n_bootstraps} resamples need {needed / 2**30:.1f} GB (the limit is "
            f"{LIMIT_BYTES / 2**30:g} GB): ask for fewer components or resamples."
        )


# -- all resamples ----------------------------------------------------------------------


def _summarized(
    found: dict[str, Array], draws: dict[str, Array], l: int, level: float, method: str
) -> Bootstrap:
    groups = _tied_groups(found["roots"], draws["roots"])
    loose = [j for group in groups for j in group if j < l]

    def intervals(name: str) -> Intervals:
        return _intervals(found[name][:, :l], draws[name][:, :, :l], level, loose)

    weights = intervals("weights")
    takes_part = weights.nonzero
    for group in groups:
        columns = [j for j in group if j < l]
        takes_part[:, columns] = _in_space(found, draws, list(group), level)[:, None]
    size = np.abs(draws["weights"][:, :, :l])
    return Bootstrap(
        weights=weights,
        y_weights=intervals("y_weights") if "y_weights" in found else None,
        loadings=intervals("loadings"),
        coef=_intervals(found["coef"], draws["coef"], level, []) if "coef" in found else None,
        tied=[group for group in groups if group[0] < l],
        takes_part=takes_part,
        selection=np.mean(size > ZERO * size.max(axis=1, keepdims=True), axis=0),
        level=level,
        n_bootstraps=len(size),
        n_redrawn=int(draws["redrawn"].sum()),
        method=method,
    )


def _tied_groups(roots: Array, draws: Array) -> list[tuple[int, ...]]:
    """Runs of components of which each cannot be told from the next."""
    spread = draws.std(axis=0)
    near = np.diff(-roots) < TIED * np.sqrt((spread[1:] ** 2 + spread[:-1] ** 2) / 2)
    runs = np.split(np.arange(len(roots)), np.flatnonzero(~near) + 1)
    return [tuple(int(j) for j in run) for run in runs if len(run) > 1]


def _in_space(
    found: dict[str, Array], draws: dict[str, Array], group: list[int], level: float
) -> np.ndarray:
    """Whether the weights of a feature within a group of components are longer than chance.

    Within the group the draws are turned to the whole fit, as only the space matters; the
    length of a row of weights is compared with how far rows move over the draws.
    """
    P, _, Qt = np.linalg.svd(draws["overlap"][:, group][:, :, group])
    turned = draws["weights"][:, :, group] @ (P @ Qt)
    W = found["weights"][:, group]
    moved = np.linalg.norm(turned - W, axis=2)
    return np.asarray(np.linalg.norm(W, axis=1) > np.quantile(moved, level, axis=0))


def _intervals(estimate: Array, draws: Array, level: float, loose: list[int]) -> Intervals:
    """Percentile intervals, but not of the columns ``loose``."""
    tail = (1 - level) / 2
    lower, upper = np.quantile(draws, [tail, 1 - tail], axis=0)
    std = draws.std(axis=0, ddof=min(1, len(draws) - 1))
    for part in (lower, upper, std):
        part[:, loose] = np.nan
    return Intervals(estimate, lower, upper, std)
