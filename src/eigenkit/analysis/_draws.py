"""Random draws, and resamples with their fits, in parallel: the same for any number of jobs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from copy import copy
from inspect import signature
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from eigenkit.data import correlations
from eigenkit.estimators import PLSCanonical, PLSRegressionCV
from eigenkit.estimators._encoding import as_labels, check_groups
from eigenkit.estimators._validation import check_weight, check_X
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.moments import Blocks
from eigenkit.numerics.costs import ANALYSIS_LIMIT_BYTES
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import blas_threads
from eigenkit.shell import check_jobs, random_of, with_article

# The statistics of more would take more than a gigabyte.
MOST_DRAWS = 100_000_000

Progress = bool | Callable[[int, int, str], Any] | None


def root_seed(random_state: Any) -> int:
    """One number from which all seeds of a run are made."""
    return int(random_of(random_state).randint(2**31 - 1))


def refuse_blocks(X: Any) -> None:
    if isinstance(X, Blocks):
        raise TypeError("X is a collection of blocks, but rows are drawn from all: give arrays.")


def what_it_is(estimator: Any) -> str:
    """The class of an estimator, and its package unless that is ours."""
    kind = estimator if isinstance(estimator, type) else type(estimator)
    package = kind.__module__.partition(".")[0]
    ours = package in ("eigenkit", "builtins")
    what = f"class {kind.__name__} itself" if kind is estimator else kind.__name__
    return with_article(what if ours else f"{what} of {package}")


def check_room(what: str, count: int, remedy: str) -> None:
    """Refuse so many numbers where they would not fit in memory."""
    if 8 * count > ANALYSIS_LIMIT_BYTES:
        raise ValueError(
            f"{what} {8 * count / 2**30:.1f} GB (the limit is {ANALYSIS_LIMIT_BYTES / 2**30:g} "
            f"GB): {remedy}."
        )


def sizes(n_draws: int, batch: int) -> list[int]:
    """How many draws each batch makes; too many draws for memory are refused."""
    if n_draws > MOST_DRAWS:
        raise ValueError(f"{n_draws:.3g} draws are too many: ask for at most {MOST_DRAWS:,}.")
    return [min(batch, n_draws - start) for start in range(0, n_draws, batch)]


def in_parallel(
    work: Callable[..., Any], tasks: list[Any], what: str, n_jobs: int | None, progress: Progress
) -> list[Any]:
    """The results of ``work``, in order; every task begins with its number of draws."""
    check_jobs("n_jobs", n_jobs)
    jobs = (delayed(_alone)(work, task) for task in tasks)
    report = _bar if progress is True else progress
    results = Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    done, total, found = 0, sum(task[0] for task in tasks), []
    for task, result in zip(tasks, results, strict=True):
        done += task[0]
        found.append(result)
        if callable(report):
            report(done, total, f"{done} of {total} {what}")
    return found


def _alone(work: Callable[..., Any], task: tuple[Any, ...]) -> Any:
    """Use one BLAS thread, because the number of threads changes rounding."""
    with blas_threads(0):
        return work(*task)


def _bar(done: int, total: int, message: str) -> None:
    """A bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        return
    filled = 30 * done // total
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {message}{end}")
    sys.stderr.flush()


# -- resamples ----------------------------------------------------------------------------

# How often to draw again if the method cannot be fitted on a resample.
TRIES = 20
# Fits that one task makes: enough to outweigh the cost of a task.
BATCH = 20

ROOTS = ("canonical_correlations_", "singular_values_", "eigenvalues_", "explained_variance_")

Measures = dict[str, Array]


class Resampling:
    """What a task needs to fit resamples and to compare them with the fit on all samples."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        _refuse(estimator)
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

    def draws(self, count: int, root: int, n_jobs: int | None, progress: Progress) -> Measures:
        """The measures of so many resamples, stacked."""
        tasks = [(size, (root, i)) for i, size in enumerate(sizes(count, BATCH))]
        parts = in_parallel(self, tasks, "resamples", n_jobs, progress)
        every = [one for part in parts for one in part]
        return {name: np.array([one[name] for one in every]) for name in every[0]}

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


def _refuse(estimator: Any) -> None:
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
