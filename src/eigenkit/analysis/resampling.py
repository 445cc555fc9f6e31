"""How certain weights, loadings and coefficients are, and how often features are selected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenkit.analysis._draws import Measures, Progress, Resampling, check_room, root_seed, width
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_count, check_share

# Two roots count as tied unless their gap exceeds this many (root mean square) standard
# deviations. The gap of two equal roots is sqrt(2) times a Rayleigh variable of that scale, so it
# stays below with probability 0.98. As the deviations are themselves estimated, with nu degrees of
# freedom, the probability is 1 - (1 - 2 log(0.02) / nu)^(-nu / 2): 0.95 for nu = 12.
TIED = float(np.sqrt(-4 * np.log(0.02)))

# Weights below this share of the largest of their component are zero.
ZERO = 1e-12


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
        """Where the interval excludes zero."""
        return (self.lower > 0) | (self.upper < 0)

    def __repr__(self) -> str:
        return f"<Intervals of shape {self.estimate.shape}, {int(self.nonzero.sum())} without zero>"


@dataclass(frozen=True, repr=False)
class Bootstrap:
    """Intervals and selection frequencies of a projection, as :func:`bootstrap` returns them.

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
        Whether the interval of the weight excludes zero; for tied components, whether the
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
        resamples = f"{self.n_bootstraps} resamples, {self.level:.0%} intervals"
        lines = [f"Bootstrap of {self.method}: {resamples}"]
        for j in range(l):
            group = next((g for g in self.tied if j in g), None)
            what = "have a weight other than zero"
            if group:
                names = ", ".join(str(i + 1) for i in group)
                what = f"take part in the space of the tied components {names}"
            n = int(self.takes_part[:, j].sum())
            lines.append(f"component {j + 1}: {n} of {d} features {what}")
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
    and by sign; nothing is rotated, as that would remove real variation. If two roots cannot be
    told apart, the axes are arbitrary: such components are reported as ``tied``, and instead of
    intervals there is a test of whether a feature takes part in their space, by the length of
    its weights within it.

    Parameters
    ----------
    estimator : projection
        CCA, CanonicalRidge, SparseCCA, MultiviewCCA, OrthonormalizedPLS, LDA,
        HypergraphSpectral, the PLS family, PCA, ...: with ``sample_weight`` in ``fit``. It need
        not be fitted. Kernel methods have no weights of features.
    X, y
        As in its ``fit``.
    sample_weight : array of shape (n_samples,), optional
        Weights, which are multiplied by how often a sample is drawn.
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
    Classes keep their sizes: if y is one class per sample, each class is resampled separately, so
    none is missing. Any other resample on which the method cannot be fitted is drawn again
    (``n_redrawn`` counts them).

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
    if not 0 < check_share("level", level) < 1:
        raise ValueError(f"level={level!r} is not valid: give a number between 0 and 1.")
    resampling = Resampling(estimator, X, y, sample_weight, groups)
    found = resampling.whole()
    l = width(resampling.model)

    numbers = n_bootstraps * sum(part.size for part in found.values())
    check_room(f"{n_bootstraps} resamples need", numbers, "ask for fewer components or resamples")
    how = int(n_bootstraps), root_seed(random_state), n_jobs, progress
    draws = resampling.draws(*how)
    more = resampling.with_one_more()
    if more is not None:
        last, after = more.whole()["roots"][-2:]
        if last - after < TIED * draws["roots"][:, -1].std():  # they cannot be told apart
            # Their space needs the weights of both; coefficients stay those of the model.
            found, draws = more.whole() | _coef(found), more.draws(*how) | _coef(draws)
    return _summarized(found, draws, l, float(level), type(estimator).__name__)


# -- all resamples ----------------------------------------------------------------------


def _coef(measures: Measures) -> Measures:
    return {"coef": measures["coef"]} if "coef" in measures else {}


def _summarized(found: Measures, draws: Measures, l: int, level: float, method: str) -> Bootstrap:
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
    """Runs of components, each of which cannot be told apart from the next."""
    spread = draws.std(axis=0)
    near = np.diff(-roots) < TIED * np.sqrt((spread[1:] ** 2 + spread[:-1] ** 2) / 2)
    runs = np.split(np.arange(len(roots)), np.flatnonzero(~near) + 1)
    return [tuple(int(j) for j in run) for run in runs if len(run) > 1]


def _in_space(found: Measures, draws: Measures, group: list[int], level: float) -> np.ndarray:
    """Whether the weights of a feature within a group of components are longer than chance.

    Within the group the draws are turned to the whole fit, as only the space matters; the
    length of a row of weights is compared with how far rows move over the draws.
    """
    P, _, Qt = np.linalg.svd(draws["overlap"][:, group][:, :, group])
    turned = draws["weights"][:, :, group] @ (P @ Qt)
    W = found["weights"][:, group]
    moved = np.linalg.norm(turned - W, axis=2)
    return np.asarray(np.linalg.norm(W, axis=1) > _quantile(moved, level))


def _quantile(draws: Array, share: float) -> Array:
    """The draw of rank (B + 1) share among B: a further draw is below it with probability share.

    numpy's default would leave out half a draw more on either side.
    """
    return np.asarray(np.quantile(draws, share, axis=0, method="weibull"))


def _intervals(estimate: Array, draws: Array, level: float, loose: list[int]) -> Intervals:
    """Percentile intervals, except for the columns ``loose``."""
    tail = (1 - level) / 2
    lower, upper = _quantile(draws, tail), _quantile(draws, 1 - tail)
    std = draws.std(axis=0, ddof=min(1, len(draws) - 1))
    for part in (lower, upper, std):
        part[:, loose] = np.nan
    return Intervals(estimate, lower, upper, std)
