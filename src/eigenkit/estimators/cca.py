"""Canonical correlation analysis."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import project
from eigenkit.estimators._described import described
from eigenkit.estimators._estimator import BothSides
from eigenkit.estimators._responses import ResponseProjection
from eigenkit.estimators._streams import Result
from eigenkit.estimators._validation import check_scores, check_X
from eigenkit.exceptions import ConditionWarning
from eigenkit.linalg import Array
from eigenkit.moments import Problem
from eigenkit.pencil import Solution
from eigenkit.shell import UNCHANGED, check_real
from eigenkit.targets import Target, whitened_with_ridge


@described
class CCA(BothSides, ResponseProjection):
    """Canonical correlation analysis with a ridge on either side.

    Solves ``Xc'Yc (Yc'Yc + alpha_y I)^+ Yc'Xc w = lambda (Xc'Xc + alpha I) w`` and the
    projection of y that belongs to it. Scores have unit length rather than unit variance:
    ``x_rotations_' (Xc'Xc + alpha I) x_rotations_ = I`` and ``y_rotations_' (Yc'Yc + alpha_y
    I) y_rotations_ = I``.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the rank of Xc'Yc; all by default.
    {eigen_rank}
    alpha : float
        Ridge, on the scale of scikit-learn's Ridge. 0 is textbook CCA; on no more samples
        than features it then finds correlations of 1 in anything, and says so.
    alpha_y : float
        Ridge on y. With all components it only rotates the projection of X.
    {computation}

    Attributes
    ----------
    {correlations}
    x_rotations_, x_weights_ : array of shape (n_features, n_components_)
        The projection of X (one matrix under both of scikit-learn's names).
    y_rotations_, y_weights_ : array of shape (n_targets, n_components_)
        The projection of y.
    x_loadings_, y_loadings_ : array
        Regression of X and y on their scores, for :meth:`inverse_transform`.
    components_ : array of shape (n_components_, n_features)
        ``x_rotations_.T``.
    eigenvalues_ : array of shape (n_components_,)
    mean_, y_mean_ : array
    {coefficients}
    {what_was_done}

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenkit import CCA
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = CCA(alpha=0).fit(X, Y)
    >>> model.canonical_correlations_.round(2)
    array([0.8 , 0.2 , 0.07])
    >>> x_scores, y_scores = model.transform(X, Y)
    """

    _instead: ClassVar = {
        "copy": UNCHANGED,
        "scale": "correlations do not depend on units; to have alpha count alike for all features, "
        "scale X first (StandardScaler)",
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        label_rank: int | str | None = None,
        alpha: float = 1.0,
        alpha_y: float = 0.0,
        solver: str = "auto",
        regression: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(
            n_components,
            label_rank=label_rank,
            alpha=alpha,
            solver=solver,
            regression=regression,
            tol=tol,
            max_iter=max_iter,
        )
        self.alpha_y = alpha_y

    x_scores_ = Result("no scores of samples are kept; use transform")
    y_scores_ = Result("no scores of samples are kept; use transform")
    canonical_correlations_ = Result()
    y_rotations_ = Result()
    y_loadings_ = Result()
    y_mean_ = Result()
    _x_loadings_ = Result()

    def _check_ridges(self) -> None:
        super()._check_ridges()
        check_real("alpha_y", self.alpha_y)

    def _x_penalty(self) -> tuple[float, float]:
        """(a, b) of the matrix a Xc'Xc + b I that normalizes the projection of X."""
        return 1.0, float(self.alpha)

    def _y_penalty(self) -> tuple[float, float]:
        """(a, b) of the matrix a Yc'Yc + b I that normalizes the projection of y."""
        return 1.0, float(self.alpha_y)

    def _target(self) -> Target:
        return whitened_with_ridge(*self._y_penalty())

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        l = self.n_components_
        W, values, basis = solution.W[:, :l], solution.eigenvalues[:l], solution.basis[:, :l]
        F, to_y = problem.labels.penalized(*self._y_penalty()).whiteners
        factor, W_y = problem.labels.factor, F @ basis
        YtU = (factor.T @ factor) @ W_y
        self._keep_coefficients(problem, solution, to_y)
        found = {
            "canonical_correlations_": np.sqrt(values),
            "y_rotations_": W_y,
            "_x_loadings_": self._x_loadings(problem, W, values, basis),
            "y_loadings_": YtU @ np.linalg.pinv(W_y.T @ YtU),  # for the scores U = Yc W_y
            "y_mean_": self._y_mean_,
        }
        for name, value in found.items():
            setattr(self, name, self._cast(value))
        self.n_iter_ = [self.n_iter_] * l  # scikit-learn's CCA counts by component
        n, d = problem.n_rows, len(problem.mean)
        if n <= d and self._x_penalty()[1] == 0:
            warnings.warn(
                f"with {n} samples, {d} features and alpha=0 canonical correlations are 1 by "
                "construction, whatever the data: set alpha > 0",
                ConditionWarning,
                stacklevel=2,
            )

    @property
    def x_rotations_(self) -> Array:
        """The projection of X, one column per component."""
        return np.asarray(self.components_.T)

    @property
    def x_weights_(self) -> Array:
        """The same as ``x_rotations_``: nothing is deflated here."""
        return self.x_rotations_

    @property
    def y_weights_(self) -> Array:
        """The same as ``y_rotations_``."""
        return np.asarray(self.y_rotations_)

    @property
    def x_loadings_(self) -> Array:
        """Regression of X on its scores, one column per component."""
        return self._spread(self._x_loadings_, 0)

    def _x_loadings(self, problem: Problem, W: Array, values: Array, basis: Array) -> Array:
        """Xc'T (T'T)^+ for the scores T = Xc W, without another pass over the data.

        The pencil gives Xc'T = C basis / sqrt(lambda) - alpha W and T'T = I - alpha W'W.
        """
        pencil, there = problem.pencil, values > 0
        C = pencil.Z.from_X(pencil.C)  # which may be in units of its own
        alpha = self._x_penalty()[1]  # one problem serves a whole path of alphas
        part = np.sqrt(alpha) * W  # alpha W'W is at most I, whatever the units of X
        inverse = np.linalg.pinv((np.eye(len(there)) - part.T @ part) * there * there[:, None])
        to_C = np.divide(basis, np.sqrt(values), out=np.zeros_like(basis), where=there)
        loadings = C @ (to_C @ inverse)
        loadings -= W @ (alpha * inverse)
        return np.asarray(loadings)

    def _scores_of_x(self, X: Any) -> Array:
        return project(check_X(self, X, reset=False), self.mean_, self.x_rotations_)

    def _scores_of_y(self, Y: Any) -> Array:
        return project(Y, self.y_mean_, self.y_rotations_)

    def inverse_transform(self, X: Any, y: Any = None) -> Any:
        """Map scores back: the best approximation of X (and y) from them.

        {back}
        """
        check_is_fitted(self)
        l = self.n_components_
        x_back = check_scores("X", X, l) @ self.x_loadings_.T + self.mean_
        if y is None:
            return x_back
        return x_back, check_scores("y", y, l) @ self.y_loadings_.T + self.y_mean_
