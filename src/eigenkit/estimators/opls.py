"""Orthonormalized partial least squares."""

from __future__ import annotations

from eigenkit.estimators._described import described
from eigenkit.estimators._responses import ResponseProjection
from eigenkit.moments import Problem
from eigenkit.pencil import Solution
from eigenkit.targets import TARGETS, Target


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

    def _target(self) -> Target:
        return TARGETS["opls"]

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        self._keep_coefficients(problem, solution, None)
