"""Several views of the same samples, a list of matrices or one with groups, and their CCA."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import Centered, SideBySide, project
from eigenkit.estimators._encoding import check_groups
from eigenkit.estimators._estimator import Estimator, Transformer
from eigenkit.estimators._streams import Streaming, results
from eigenkit.estimators._validation import check_X_varies
from eigenkit.exceptions import ConditionWarning
from eigenkit.numerics.linalg import Array
from eigenkit.pencil import Solution
from eigenkit.shell import check_at_most, check_numbers, is_sequence
from eigenkit.solvers.multiview import solve_views


class ManyViews(Streaming, Transformer):
    """Views side by side; a subclass finds ``view_components_`` and ``components_``."""

    components_, view_components_, mean_, n_components_, n_views_, _columns_ = results(6)
    _supervised = False
    groups: Any

    def _keep_views(self, columns: list[np.ndarray], W: Array, mean: Array) -> None:
        """The weights W of all views, one below the other, and the means of X."""
        self.n_views_, self.n_components_ = len(columns), W.shape[1]
        self._columns_ = columns
        self.mean_ = self._cast(mean)
        self.view_components_ = [self._cast(W[own].T) for own in columns]
        self.components_ = self._cast(W.T / len(columns))

    def _check_X(self, X: Any, *, reset: bool, min_samples: int = 1, **how: Any) -> Any:
        if not _is_views(X):
            return super()._check_X(X, reset=reset, min_samples=min_samples, **how)
        views = self._checked_views(X, reset, min_samples=min_samples, **how)
        if reset:
            self.n_features_in_ = sum(view.shape[1] for view in views)
        if any(sparse.issparse(view) for view in views):
            return sparse.csr_array(sparse.hstack(views, format="csr"))
        return np.hstack(views) if min_samples == 1 else SideBySide(views)

    def _checked_views(self, X: Any, reset: bool, **how: Any) -> list[Any]:
        """Each view checked like an X of its own; what it looked like in fit is remembered."""
        if reset:
            if self.groups is not None:
                raise ValueError("X is a list of views, so groups must be None.")
            self._views_ = [Estimator() for _ in X]
        shapes = getattr(self, "_views_", [])
        if len(shapes) != len(X):
            expected = f"{len(shapes)} views" if shapes else "one matrix"
            raise ValueError(f"X is a list of {len(X)} views, but fit was given {expected}.")
        views = []
        for i, (shape, view) in enumerate(zip(shapes, X, strict=True)):
            try:
                views.append(shape._check_X(view, reset=reset, **how))
            except (ValueError, TypeError) as error:
                words = str(error).replace(" Estimator", f" {type(self).__name__}")
                raise type(error)(f"view {i}: {words}") from error
            if views[i].shape[0] != views[0].shape[0]:
                raise ValueError(
                    f"the views have inconsistent numbers of samples: {views[0].shape[0]} rows in "
                    f"view 0, {views[i].shape[0]} in view {i}."
                )
        return views

    def _columns(self) -> list[np.ndarray]:
        """The columns of each view."""
        d = self.n_features_in_
        if hasattr(self, "_views_"):
            widths = [shape.n_features_in_ for shape in self._views_]
            columns = np.split(np.arange(d), np.cumsum(widths)[:-1])
        else:
            groups = np.arange(d)
            if self.groups is not None:
                groups = check_groups(self.groups, d, "label for each of the {n} columns")
            columns = [np.flatnonzero(groups == label) for label in np.unique(groups)]
        if len(columns) < 2:
            raise ValueError(
                f"X has {d} feature(s) in {len(columns)} view: at least two views are needed."
            )
        return columns

    def transform(self, X: Any) -> Array:
        """The mean over the views of their scores.

        Parameters
        ----------
        X : list of matrices, or one matrix of shape (n_samples, n_features)

        {scores}
        """
        return self._projected(X)

    def _features(self, X: Any) -> Any:
        return self._check_X(X, reset=False)

    def transform_views(self, X: Any) -> list[Array]:
        """The scores of every view.

        Parameters
        ----------
        X : list of matrices, or one matrix of shape (n_samples, n_features)

        Returns
        -------
        list of array of shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        joint = self._check_X(X, reset=False)
        return [
            project(joint[:, own], self.mean_[own], W.T)
            for own, W in zip(self._columns_, self.view_components_, strict=True)
        ]


def _is_views(X: Any) -> bool:
    """Whether X is a list of matrices rather than a table."""
    return isinstance(X, list | tuple) and any(_is_matrix(view) for view in X)


def _is_matrix(view: Any) -> bool:
    if hasattr(view, "shape"):
        return len(view.shape) == 2
    return isinstance(view, list) and len(view) > 0 and isinstance(view[0], list | tuple)


def per_view(name: str, given: Any, n_views: int) -> list[float]:
    """One number for each view, from one for all or a sequence of them."""
    if not is_sequence(given):
        return [float(given)] * n_views
    if len(given) != n_views:
        raise ValueError(f"{name} has {len(given)} values for {n_views} views: give one for each.")
    return [float(value) for value in given]


def warn_of_exact_fits(name: str, ridges: list[float], columns: list[np.ndarray], n: int) -> None:
    """Warn of views that would agree with any other: that says nothing about the data."""
    for view, (ridge, own) in enumerate(zip(ridges, columns, strict=True)):
        if ridge == 0 and n <= len(own) + 1:
            warnings.warn(
                f"with {n} samples, {len(own)} features and {name}=0 view {view} agrees with any "
                f"other by construction, whatever the data: set {name} > 0",
                ConditionWarning,
                stacklevel=4,
            )


@dataclass(frozen=True)
class Views:
    """Centred data, the columns of each view, and their ridges."""

    Z: Centered
    columns: list[np.ndarray]
    alphas: list[float]


class MultiviewCCA(ManyViews):
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

    _rules: ClassVar = {"alpha": check_numbers}

    eigenvalues_, canonical_correlations_ = results(2)

    def _state(self, sample: Any) -> Views:
        columns = self._columns()
        alphas = per_view("alpha", self.alpha, len(columns))
        return Views(sample.sides()[0], columns, alphas)

    def _check_informative(self, problem: Views) -> None:
        Z = problem.Z
        if sum(not Z.constant[own].all() for own in problem.columns) == 1:
            raise ValueError(
                "only one view varies over the samples: at least two views are needed."
            )
        check_X_varies(Z)

    def _solve(self, problem: Views, settings: None) -> Solution:
        solution = solve_views(problem.Z, problem.columns, problem.alphas, self.n_components)
        warn_of_exact_fits("alpha", problem.alphas, problem.columns, problem.Z.n_samples)
        shared = "the number of components that the views share"
        check_at_most("n_components", self.n_components, len(solution.eigenvalues), shared)
        return solution

    def _keep(self, problem: Views, solution: Solution) -> None:
        self._keep_views(problem.columns, solution.W, problem.Z.mean)
        self.eigenvalues_ = self._cast(solution.eigenvalues)
        self.canonical_correlations_ = self.eigenvalues_ / (self.n_views_ - 1)
