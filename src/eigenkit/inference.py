"""How many components are real, and how sure their weights are.

:func:`permutation_test` tests every canonical component in turn, :func:`bootstrap_weights`
gives confidence intervals of the weights of any projection. Both run in parallel by joblib,
tell how far they are, and give the same result for the same ``random_state`` whatever the
number of jobs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import linalg as sla
from sklearn.base import clone
from sklearn.utils import check_random_state

from eigenkit.estimators._validation import (
    as_labels,
    check_choice,
    check_count,
    check_numeric_Y,
    check_real,
    check_X,
)
from eigenkit.estimators.cca import CCA
from eigenkit.linalg import EPS, Array
from eigenkit.operators import Centered
from eigenkit.solvers.regression import singular_triplets

Progress = bool | Callable[[int, int], Any] | None

STATISTICS = ("wilks", "roy")
ALIGNMENTS = ("rotation", "sign")

# Draws that one task of joblib makes: enough to outweigh the cost of a task.
BATCH = 20


# -- permutations ----------------------------------------------------------------------


@dataclass(frozen=True)
class PermutationTest:
    """Is each canonical component more than chance?

    Attributes
    ----------
    correlations : array of shape (n_components,)
        Canonical correlations of the data.
    statistics : array of shape (n_components,)
        Observed statistic of each step.
    p_values : array of shape (n_components,)
        Never decreasing: a component counts only if all before it do, which keeps the
        family-wise error at the level.
    n_permutations : int
    """

    correlations: Array
    statistics: Array
    p_values: Array
    n_permutations: int

    def n_significant(self, level: float = 0.05) -> int:
        """How many leading components have a p-value of at most ``level``."""
        return int(np.sum(self.p_values <= level))


def permutation_test(
    estimator: CCA,
    X: Any,
    y: Any,
    *,
    n_permutations: int = 999,
    statistic: str = "wilks",
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> PermutationTest:
    """Stepwise permutation tests of all canonical components.

    Component k is tested with the components before it removed from both sides: the rows of
    the canonical variates k, k+1, ... of X are permuted against those of y, with the
    variates of X or y that have no partner kept in. Permuting whole data sets instead would
    be valid for the first component only: each permuted set lacks the strong first
    components that the real one has. With penalties the variates are not quite uncorrelated,
    and the levels of the later steps hold approximately.

    Parameters
    ----------
    estimator : CCA or CanonicalRidge
        Its penalties are used; it need not be fitted.
    X, y
        As in its ``fit``.
    n_permutations : int
    statistic : {"wilks", "roy"}
        Wilks' ``-sum log(1 - r_i^2)`` over i >= k, or the largest ``r_k`` alone.
    random_state : int, RandomState or None
    n_jobs : int, optional
        As in joblib.
    progress : bool or callable, optional
        True draws a bar on stderr where that is a terminal; a function is called with the
        numbers done and to do.

    Returns
    -------
    PermutationTest

    References
    ----------
    A. M. Winkler, O. Renaud, S. M. Smith, T. E. Nichols: Permutation inference for canonical
    correlation analysis. NeuroImage 220, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenkit import CCA
    >>> from eigenkit.inference import permutation_test
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> test = permutation_test(CCA(alpha=0), X, Y, n_permutations=199)
    >>> test.p_values.shape
    (3,)
    """
    check_count("n_permutations", n_permutations)
    check_choice("statistic", statistic, STATISTICS)
    U, V, correlations = _variates(estimator, X, y)
    U = _bounded(estimator, U, statistic)
    observed = _stepwise(U.T @ V, statistic)

    def batch(seeds: Sequence[list[int]]) -> Array:
        return np.array([_permuted(U, V, statistic, seed) for seed in seeds])

    draws = _parallel(batch, n_permutations, random_state, n_jobs, progress)
    reached = np.vstack(draws) >= observed * (1 - 1e-12)
    p_values = (1 + reached.sum(axis=0)) / (1 + n_permutations)
    p_values = np.maximum.accumulate(p_values)
    return PermutationTest(correlations, observed, p_values, int(n_permutations))


def _variates(estimator: Any, X: Any, y: Any) -> tuple[Array, Array, Array]:
    """All canonical variates of both sides, and the correlations; V is the narrower side."""
    if not isinstance(estimator, CCA):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}: permutation_test needs a CCA or "
            "CanonicalRidge."
        )
    model = clone(estimator).set_params(n_components=None).fit(X, y)
    X = check_X(clone(estimator), X, reset=True, min_samples=2)
    Y = model._encode(as_labels(y), X.shape[0], None, reset=False)
    P = _whitened(Centered(X), *model._x_penalty())
    Q = _whitened(Centered(Y), *model._y_penalty())
    A, r, Bt = sla.svd(P.T @ Q)
    U, V = P @ A, Q @ Bt.T
    return (U, V, r) if U.shape[1] >= V.shape[1] else (V, U, r)


def _bounded(estimator: CCA, U: Array, statistic: str) -> Array:
    """U at a scale at which the roots are at most 1, as Wilks' statistic needs."""
    share = estimator._x_penalty()[0] * estimator._y_penalty()[0]
    if statistic == "wilks" and share == 0:
        raise ValueError(
            "statistic='wilks' is made of correlations, and gamma_x=1 or gamma_y=1 looks for "
            "covariance: use statistic='roy'."
        )
    return U * np.sqrt(share) if share else U


def _whitened(Z: Centered, share: float, ridge: float) -> Array:
    """Z F with F'(share Z'Z + ridge I) F = I."""
    U, s, _ = singular_triplets(Z)
    return U * (s / np.sqrt(share * s**2 + np.max(Z.ridge(ridge))))


def _permuted(U: Array, V: Array, statistic: str, seed: list[int]) -> Array:
    order = np.random.default_rng(seed).permutation(len(U))
    return _stepwise(U[order].T @ V, statistic)


def _stepwise(M: Array, statistic: str) -> Array:
    """The statistic of M[k:, k:] for every k; M'M is built up row by row from the last."""
    K = M.shape[1]
    G = M[K:].T @ M[K:]
    out = np.empty(K)
    for k in range(K - 1, -1, -1):
        G += np.outer(M[k], M[k])
        squares = np.linalg.eigvalsh(G[k:, k:])
        if statistic == "roy":
            out[k] = np.sqrt(max(float(squares[-1]), 0.0))
        else:
            # A correlation of 1 up to rounding: a large number instead of infinity.
            out[k] = -np.sum(np.log(np.maximum(1 - squares, EPS)))
    return out


# -- bootstrap -------------------------------------------------------------------------


@dataclass(frozen=True)
class Intervals:
    """Weights of one side, each array of shape (n_variables, n_components).

    Attributes
    ----------
    weights : of the fit on all samples
    lower, upper : bounds of the percentile interval
    std : standard deviation over the resamples
    """

    weights: Array
    lower: Array
    upper: Array
    std: Array

    @property
    def nonzero(self) -> np.ndarray:
        """Where the interval leaves zero out."""
        return (self.lower > 0) | (self.upper < 0)


@dataclass(frozen=True)
class BootstrapWeights:
    """Weights with confidence intervals.

    Attributes
    ----------
    x : Intervals
        Weights of the features.
    y : Intervals or None
        Weights of the targets, where the estimator projects y too.
    level : float
    n_bootstraps : int
    """

    x: Intervals
    y: Intervals | None
    level: float
    n_bootstraps: int


def bootstrap_weights(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    n_bootstraps: int = 500,
    level: float = 0.95,
    align: str = "rotation",
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> BootstrapWeights:
    """Percentile bootstrap intervals of the weights of a projection.

    A component is determined only up to its sign, and components of similar eigenvalues only
    up to a rotation among them. So the weights W_b of each resample are first turned by the
    orthogonal R (or only by signs) for which the scores X W_b R are nearest to those of the
    fit on all samples; scores of y count alike where the estimator has them.

    Parameters
    ----------
    estimator : projection
        CCA, CanonicalRidge, MultiviewCCA on one array, OrthonormalizedPLS, LDA, PCA, ...: with
        ``components_``, and ``sample_weight`` in ``fit``. It need not be fitted.
    X, y
        As in its ``fit``.
    n_bootstraps : int
    level : float
        Coverage of the intervals.
    align : {"rotation", "sign"}
    random_state, n_jobs, progress
        As in :func:`permutation_test`.

    Returns
    -------
    BootstrapWeights

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenkit import PCA
    >>> from eigenkit.inference import bootstrap_weights
    >>> X, _ = load_iris(return_X_y=True)
    >>> result = bootstrap_weights(PCA(1), X, n_bootstraps=100)
    >>> result.x.nonzero.ravel()
    array([ True,  True,  True,  True])
    """
    check_count("n_bootstraps", n_bootstraps)
    check_choice("align", align, ALIGNMENTS)
    if not 0 < check_real("level", level, high=1.0) < 1:
        raise ValueError(f"level={level!r} is not valid: give a number between 0 and 1.")
    model = clone(estimator).fit(X, y)
    reference = _weights(model)
    anchors = _anchors(model, X, y, reference)
    replicate = clone(estimator).set_params(n_components=reference[0].shape[1])
    n = _n_rows(X)

    def batch(seeds: Sequence[list[int]]) -> list[list[Array]]:
        return [_resampled(replicate, X, y, n, anchors, align, seed) for seed in seeds]

    draws = _parallel(batch, n_bootstraps, random_state, n_jobs, progress)
    sides = [np.array([draw[i] for part in draws for draw in part]) for i in range(len(reference))]
    found = [_intervals(W, draws, level) for W, draws in zip(reference, sides, strict=True)]
    y_side = found[1] if len(found) > 1 else None
    return BootstrapWeights(found[0], y_side, float(level), int(n_bootstraps))


def _weights(model: Any) -> list[Array]:
    """W_x, and W_y where there is one."""
    sides = [np.asarray(model.components_, dtype=np.float64).T]
    for name in ("y_rotations_", "y_weights_"):
        if hasattr(model, name):
            return [*sides, np.asarray(getattr(model, name), dtype=np.float64)]
    return sides


def _anchors(model: Any, X: Any, y: Any, weights: list[Array]) -> list[Array]:
    """X'X W (and Y'Y W_y): the inner products of scores with those of the whole fit."""
    X = check_X(clone(model), X, reset=True, min_samples=2)
    data = [Centered(X)]
    if len(weights) > 1:
        y = as_labels(y)
        encode = getattr(model, "_encode", None)
        Y = encode(y, X.shape[0], None, False) if encode else check_numeric_Y(y, X.shape[0])
        data.append(Centered(Y))
    return [_gram_times(Z, W) for Z, W in zip(data, weights, strict=True)]


def _gram_times(Z: Centered, W: Array) -> Array:
    """Xc'Xc W in the units of X, up to a common factor."""
    unit = np.broadcast_to(Z.unit, Z.shape[1:])
    return Z.rmatmat(Z.matmat(W / unit[:, None])) * (unit.min() / unit)[:, None]


def _n_rows(X: Any) -> int:
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def _resampled(
    estimator: Any, X: Any, y: Any, n: int, anchors: list[Array], align: str, seed: list[int]
) -> list[Array]:
    """The weights of one resample, aligned; drawing with replacement is an integer weight."""
    rng = np.random.default_rng(seed)
    counts = np.bincount(rng.integers(0, n, size=n), minlength=n)
    weights = _weights(clone(estimator).fit(X, y, sample_weight=counts))
    overlap = sum(W.T @ A / np.abs(A).max() for W, A in zip(weights, anchors, strict=True))
    if align == "sign":
        R = np.diag(np.where(np.diag(overlap) < 0, -1.0, 1.0))
    else:
        P, _, Qt = sla.svd(overlap)
        R = P @ Qt
    return [W @ R for W in weights]


def _intervals(weights: Array, draws: Array, level: float) -> Intervals:
    tail = (1 - level) / 2
    lower, upper = np.quantile(draws, [tail, 1 - tail], axis=0)
    return Intervals(weights, lower, upper, draws.std(axis=0, ddof=min(1, len(draws) - 1)))


# -- draws in parallel -----------------------------------------------------------------


def _parallel(
    batch: Callable[[Sequence[list[int]]], Any],
    n_draws: int,
    random_state: Any,
    n_jobs: int | None,
    progress: Progress,
) -> list[Any]:
    """Results of ``batch`` on all draws; each has a seed of its own, so jobs do not matter."""
    root = int(check_random_state(random_state).randint(2**31 - 1))
    seeds = [[root, i] for i in range(n_draws)]
    parts = [seeds[i : i + BATCH] for i in range(0, n_draws, BATCH)]
    tasks = (delayed(batch)(part) for part in parts)
    results = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    return list(_watched(results, parts, n_draws, progress))


def _watched(
    results: Any, parts: list[list[list[int]]], total: int, progress: Progress
) -> Iterator[Any]:
    done = 0
    report = _bar if progress is True else progress
    for result, part in zip(results, parts, strict=True):
        done += len(part)
        if callable(report):
            report(done, total)
        yield result


def _bar(done: int, total: int) -> None:
    """One line on stderr, only where someone watches."""
    if not sys.stderr.isatty():
        return
    filled = 30 * done // total
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {done}/{total}{end}")
    sys.stderr.flush()
