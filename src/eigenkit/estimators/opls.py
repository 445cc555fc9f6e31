"""Orthonormalized partial least squares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eigenkit.estimators._described import described
from eigenkit.estimators._heads import ResponseProjection, beyond_rounding_of_y, regression
from eigenkit.moments import Problem
from eigenkit.pencil import Solution
from eigenkit.solvers import Settings
from eigenkit.targets import TARGETS


@described
class OrthonormalizedPLS(ResponseProjection):
    """Orthonormalized partial least squares: the best few directions for regressing y on X.

    Solves ``Xc'Yc Yc'Xc w = lambda (Xc'Xc + alpha I) w``. With all components,
    :meth:`predict` is ridge regression; with fewer it is reduced-rank ridge regression. Any
    target matrix H of your own can be passed as y.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the rank of Xc'Yc; all by default.
    {ridge}

    Attributes
    ----------
    {components}
    {coefficients}
    {what_was_done}

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenkit import OrthonormalizedPLS
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> OrthonormalizedPLS(n_components=2).fit_transform(X, Y).shape
    (20, 2)
    """

    _sparse_labels = True

    _target = TARGETS["opls"]

    def _solve_path(
        self, problem: Problem, alphas: Sequence[float], settings: Settings
    ) -> list[Solution]:
        found = super()._solve_path(problem, alphas, settings)
        return [self._without_rounding(problem, solution) for solution in found]

    @staticmethod
    def _without_rounding(problem: Problem, solution: Solution) -> Solution:
        # Scores of X are no longer than 1, which is usually enough to decide.
        if not beyond_rounding_of_y(problem.labels, solution, 1.0).all():
            Z = problem.pencil.Z
            lengths = np.sqrt(Z.gradient(Z.from_X(solution.W))[1].diagonal())
            keep = beyond_rounding_of_y(problem.labels, solution, lengths)
            solution = solution.components(keep)
        return solution

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        self._keep_regression(problem, regression(solution, self.n_components_))
