"""What is fitted to several views of the same samples: a list of matrices, or one with groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import SideBySide, project
from eigenkit.estimators._estimator import Estimator, Transformer
from eigenkit.linalg import Array
from eigenkit.shell import check_real


class ManyViews(Transformer):
    """Views side by side; a subclass finds ``view_components_`` and ``components_``."""

    _supervised = False
    groups: Any
    mean_: Array
    components_: Array
    view_components_: list[Array]
    n_components_: int
    _columns_: list[np.ndarray]

    def _keep_views(self, columns: list[np.ndarray], W: Array, mean: Array) -> None:
        """The weights W of all views, one below the other, and the means of X."""
        self.n_views_, self.n_components_ = len(columns), W.shape[1]
        self._columns_ = columns
        self.mean_ = self._cast(mean)
        self.view_components_ = [self._cast(np.ascontiguousarray(W[own].T)) for own in columns]
        self.components_ = self._cast(np.ascontiguousarray(W.T / len(columns)))

    # -- input -------------------------------------------------------------------------

    def _check_X(self, X: Any, *, reset: bool, min_samples: int = 1) -> Any:
        """All views side by side."""
        if not _is_views(X):
            return super()._check_X(X, reset=reset, min_samples=min_samples)
        views = self._checked_views(X, reset, min_samples)
        if reset:
            self.n_features_in_ = sum(view.shape[1] for view in views)
        if any(sparse.issparse(view) for view in views):
            return sparse.csr_array(sparse.hstack(views, format="csr"))
        return np.hstack(views) if min_samples == 1 else SideBySide(views)

    def _checked_views(self, X: Any, reset: bool, min_samples: int) -> list[Any]:
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
                views.append(shape._check_X(view, reset=reset, min_samples=min_samples))
            except (ValueError, TypeError) as error:
                raise type(error)(f"view {i}: {error}") from error
            if views[i].shape[0] != views[0].shape[0]:
                raise ValueError(
                    f"the views have inconsistent numbers of samples: {views[0].shape[0]} rows in "
                    f"view 0, {views[i].shape[0]} in view {i}."
                )
        return views

    def _columns(self, d: int) -> list[np.ndarray]:
        """The columns of each view."""
        if hasattr(self, "_views_"):
            widths = [shape.n_features_in_ for shape in self._views_]
            columns = np.split(np.arange(d), np.cumsum(widths)[:-1])
        else:
            groups = np.arange(d) if self.groups is None else np.asarray(self.groups)
            if groups.shape != (d,):
                raise ValueError(
                    f"groups has shape {groups.shape}: give one label for each of the {d} columns."
                )
            columns = [np.flatnonzero(groups == label) for label in np.unique(groups)]
        if len(columns) < 2:
            raise ValueError(
                f"X has {d} feature(s) in {len(columns)} view: at least two views are needed."
            )
        return columns

    # -- using -------------------------------------------------------------------------

    def transform(self, X: Any) -> Array:
        """The mean over the views of their scores.

        Parameters
        ----------
        X : list of matrices, or one matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        return project(self._check_X(X, reset=False), self.mean_, self.components_.T)

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
    return isinstance(X, list | tuple) and len(X) > 0 and all(_is_matrix(view) for view in X)


def _is_matrix(view: Any) -> bool:
    if hasattr(view, "shape"):
        return len(view.shape) == 2
    return isinstance(view, list) and len(view) > 0 and isinstance(view[0], list | tuple)


def per_view(name: str, given: Any, n_views: int) -> list[float]:
    """One number for each view, from one for all or a sequence of them."""
    if np.ndim(given) == 0:
        return [check_real(name, given)] * n_views
    if len(given) != n_views:
        raise ValueError(f"{name} has {len(given)} values for {n_views} views: give one for each.")
    return [check_real(name, value) for value in given]
