"""How many variables a sparse component keeps, and how sure it is of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing, indexable

from eigenkit.data import as_dense
from eigenkit.estimators._alphas import best_of
from eigenkit.estimators._encoding import as_labels
from eigenkit.estimators._folds import Fold, Samples, Search, score_table
from eigenkit.estimators.selective_pls import SparsePLS, SparsePLSDA
from eigenkit.estimators.sparse_cca import SparseCCA
from eigenkit.numerics.linalg import Array
from eigenkit.shell import check_count, check_sequence, check_share, random_of, what_is


class KeepSearchCV(Search):
    """Sparse PLS with the numbers of variables and of components chosen by cross-validation.

    Component by component: with the choices for earlier components held fixed, every number of the
    grid is scored on held-out samples, and one is chosen. The same rule then chooses the number of
    components.

    Parameters
    ----------
    estimator : SparsePLS or SparsePLSDA
        Its ``keep_x`` is replaced; its ``n_components`` is the largest number to try.
    keep_x : sequence of int, optional
        The grid; by default 1, 2, 4, ... and all features.
    {cv}
    rule : {"one_standard_error", "min"}
        The fewest variables whose mean score is within one standard error of the best, or
        those of the best score (the least error).
    scoring : str or callable, optional
        What to maximize; by default the estimator's ``score``, for classes the balanced
        accuracy.

    Attributes
    ----------
    keep_x_ : list of int
        What each component keeps.
    n_components_ : int
    best_estimator_ : fitted SparsePLS or SparsePLSDA
    fold_scores_ : array of shape (n_components, n_folds, n_grid)
        Score with 1, 2, ... components, on every fold, for every number of the grid.
    grid_ : array of shape (n_grid,)
    {report}
    classes_, n_features_in_, feature_names_in_
        Those of the best estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit import KeepSearchCV, SparsePLS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 50))
    >>> y = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=100)
    >>> search = KeepSearchCV(SparsePLS(1), keep_x=[1, 3, 10, 50]).fit(X, y)
    >>> search.keep_x_
    [3]
    """

    def __init__(
        self,
        estimator: Any,
        *,
        keep_x: Sequence[int] | None = None,
        cv: Any = None,
        rule: str = "one_standard_error",
        scoring: Any = None,
    ) -> None:
        self.estimator = estimator
        self.keep_x = keep_x
        self.cv = cv
        self.rule = rule
        self.scoring = scoring

    def _settings(self) -> None:
        if not isinstance(self.estimator, SparsePLS | SparsePLSDA):
            raise TypeError(
                f"estimator is {what_is(self.estimator)}: KeepSearchCV takes SparsePLS and "
                "SparsePLSDA."
            )

    def _solve(self, problem: Samples, settings: None) -> list[int]:
        """What each component keeps, of as many components as are best."""
        whole = clone(self.estimator).fit(problem.X, problem.y, problem.weight)
        self.grid_ = self._grid(whole.n_features_in_)
        folds = list(self._folds(problem, self.estimator))
        keep: list[int] = []
        paths, scores, scoring = [], [], self.scoring
        if scoring is None and is_classifier(whole) and not whole._multilabel_:
            scoring = "balanced_accuracy"
        for _ in range(whole.n_components_):
            found = score_table(((fold, self._fitted(fold, keep)) for fold in folds), scoring)
            chosen = best_of(found, self.rule)
            keep.append(int(self.grid_[chosen]))
            scores.append(found)
            paths.append(found[:, chosen])
        self.fold_scores_ = np.array(scores)
        return keep[: 1 + best_of(np.column_stack(paths), self.rule)]

    def _keep(self, problem: Samples, keep: list[int]) -> None:
        self.n_components_, self.keep_x_ = len(keep), keep
        self._fit_best(problem, n_components=len(keep), keep_x=keep)

    def _chosen(self) -> str:
        return f"keep_x={self.keep_x_}, chosen by cross-validation"

    def _grid(self, d: int) -> np.ndarray:
        """Numbers to try, increasing: the rule prefers the first ones."""
        if self.keep_x is None:
            powers = 2 ** np.arange(int(np.log2(d)) + 1)
            return np.unique(np.append(powers, d))
        given = check_sequence("keep_x", self.keep_x, "numbers of variables to try")
        grid = [check_count("keep_x", n, hint=" in the grid") for n in given]
        return np.unique(np.minimum(grid, d))

    def _fitted(self, fold: Fold, before: list[int]) -> Iterator[Any]:
        """Models of a fold, with every number of the grid after those before."""
        for count in self.grid_:
            keep = [*before, int(count)]
            model = clone(self.estimator).set_params(n_components=len(keep), keep_x=keep)
            yield model.fit(fold.X, fold.y, fold.weight)


@dataclass(frozen=True)
class Selection:
    """Shares of the resamples in which a variable was kept.

    ``by_component`` has shape (n_features, n_components), ``overall`` (n_features,) counts a
    variable that is in any component.
    """

    by_component: Array
    overall: Array


def selection_frequency(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_resamples: int = 100,
    fraction: float = 0.5,
    random_state: Any = None,
) -> Selection:
    """How often each variable of X is selected on random parts of the samples.

    A variable that is selected in nearly every draw matters; one that comes and goes is one of
    many that would do as well. Samples are drawn without replacement, within each class where they
    have one.

    Parameters
    ----------
    estimator : SparsePLS, SparsePLSDA or SparseCCA
        With a number for ``n_components``; need not be fitted.
    X, y
        As in its ``fit``.
    n_resamples : int
        Number of draws.
    fraction : float between 0 and 1
        The part of the samples in each.
    random_state : int, RandomState or None

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit import SparsePLS, selection_frequency
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 40))
    >>> y = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=80)
    >>> found = selection_frequency(SparsePLS(1, keep_x=2), X, y, random_state=0)
    >>> np.flatnonzero(found.overall > 0.9)
    array([0, 1])
    """
    if not isinstance(estimator, SparsePLS | SparsePLSDA | SparseCCA):
        raise TypeError(
            f"estimator is {what_is(estimator)}: selection_frequency takes "
            "SparsePLS, SparsePLSDA and SparseCCA."
        )
    check_count("n_resamples", n_resamples)
    check_share("fraction", fraction)
    check_count("n_components", estimator.n_components)
    X, y = indexable(X, as_dense(as_labels(y)))
    random = random_of(random_state)
    one_class = is_classifier(estimator) and y.size == len(y)
    strata = np.unique(y, return_inverse=True)[1].ravel() if one_class else np.zeros(len(y))
    members = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    draws = []
    for _ in range(n_resamples):
        sizes = (min(len(own), max(2, round(fraction * len(own)))) for own in members)
        drawn = [random.choice(*each, replace=False) for each in zip(members, sizes, strict=True)]
        rows = np.sort(np.concatenate(drawn))
        model = clone(estimator).fit(_safe_indexing(X, rows), _safe_indexing(y, rows))
        kept = model.x_weights_ != 0
        missing = np.zeros((len(kept), model.n_components - kept.shape[1]), dtype=bool)
        draws.append(np.column_stack([kept, missing, kept.any(axis=1)]))
    share = np.mean(draws, axis=0)
    return Selection(share[:, :-1], share[:, -1])
