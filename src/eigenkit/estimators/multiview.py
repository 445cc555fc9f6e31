"""Canonical correlation analysis of more than two views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenkit.data import Centered
from eigenkit.estimators._many_views import ManyViews, per_view
from eigenkit.estimators._streams import Result, Streaming
from eigenkit.estimators._validation import check_X_varies
from eigenkit.pencil import Solution
from eigenkit.shell import check_at_most, check_count
from eigenkit.solvers.multiview import solve_views
from eigenkit.targets import TARGETS, Target


@dataclass(frozen=True)
class Views:
    """Centred data, the columns of each view, and their ridges."""

    Z: Centered
    columns: list[np.ndarray]
    alphas: list[float]


class MultiviewCCA(Streaming, ManyViews):
    """Canonical correlation analysis of two or more views of the same samples.

    Finds projections under which all views agree, by the block pencil

    ``sum_{j != i} Xi'Xj w_j = lambda (Xi'Xi + alpha_i I) w_i``   for every view i

    (views centred). Two views give :class:`CCA` with ``alpha`` and ``alpha_y``.

    Parameters
    ----------
    n_components : int, optional
        Number of components; all with a positive eigenvalue by default.
    alpha : float or sequence of float
        Ridge, on the scale of scikit-learn's Ridge, for all views or one for each.
    groups : array of shape (n_features,), optional
        Which view each column belongs to, where X is one array; views are in the order of
        the sorted labels. None makes every column a view of its own (without a ridge that is
        PCA of the correlation matrix). Not used where X is a list of views.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features)
        Projections of all views side by side, divided by the number of views, so that
        ``transform(X) = (X - mean_) @ components_.T`` is the mean of the views' scores.
    view_components_ : list of array of shape (n_components_, n_features of the view)
        The projection of each view; over the views, ``w_i'(Xi'Xi + alpha_i I)w_i`` is 1 on
        average.
    eigenvalues_ : array of shape (n_components_,)
    canonical_correlations_ : array of shape (n_components_,)
        ``eigenvalues_ / (n_views - 1)``: the correlation of two views, on average.
    mean_ : array of shape (n_features,)
    n_components_, n_views_, n_features_in_, feature_names_in_
    report_
        How it was solved; see :class:`eigenkit.pencil.Report`.

    Notes
    -----
    A list or tuple of matrices is taken as views, any other X as one table. Sparse views are
    never made dense.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit import MultiviewCCA
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=(200, 1))
    >>> views = [shared @ rng.normal(size=(1, d)) + rng.normal(size=(200, d)) for d in (4, 5, 6)]
    >>> model = MultiviewCCA(1).fit(views)
    >>> model.canonical_correlations_.round(2)
    array([0.8])
    >>> groups = np.repeat([0, 1, 2], [4, 5, 6])
    >>> same = MultiviewCCA(1, groups=groups).fit(np.hstack(views))
    >>> bool(np.allclose(same.transform(np.hstack(views)), model.transform(views)))
    True
    """

    def __init__(
        self, n_components: int | None = None, *, alpha: Any = 1.0, groups: Any = None
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.groups = groups

    def _settings(self) -> int | None:
        if self.n_components is None:
            return None
        return check_count("n_components", self.n_components, hint=", or None for all")

    components_ = Result()
    view_components_ = Result()
    mean_ = Result()
    n_components_ = Result()
    n_views_ = Result()
    _columns_ = Result()
    eigenvalues_ = Result()
    canonical_correlations_ = Result()
    report_ = Result()

    def _target(self) -> Target:
        return TARGETS["opls"]  # of no labels: nothing stands beside X

    def _state(self, sample: Any) -> Views:
        columns = self._columns(self.n_features_in_)
        alphas = per_view("alpha", self.alpha, len(columns))
        if sample.whole is None:
            Z, _ = sample.summary(self._target()).without_rounding().sides()
        else:
            Z = Centered(sample.X, sample.weight)
        return Views(Z, columns, alphas)

    def _check_informative(self, problem: Views) -> None:
        Z = problem.Z
        if sum(not Z.constant[own].all() for own in problem.columns) == 1:
            raise ValueError(
                "only one view varies over the samples: at least two views are needed."
            )
        check_X_varies(Z)

    def _solve(self, problem: Views, settings: int | None) -> Solution:
        solution = solve_views(problem.Z, problem.columns, problem.alphas, settings)
        shared = "the number of components that the views share"
        check_at_most("n_components", settings, len(solution.eigenvalues), shared)
        return solution

    def _keep(self, problem: Views, solution: Solution) -> None:
        self._keep_views(problem.columns, solution.W, problem.Z.mean)
        self.eigenvalues_ = self._cast(solution.eigenvalues)
        self.canonical_correlations_ = self.eigenvalues_ / (self.n_views_ - 1)
        self.report_ = solution.report
