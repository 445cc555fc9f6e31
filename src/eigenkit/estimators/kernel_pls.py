"""Partial least squares in the space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenkit.estimators._described import described
from eigenkit.estimators._kernel_space import DualCoefficients, KernelProjection
from eigenkit.estimators._responses import ResponseProjection
from eigenkit.moments import Problem
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.shell import check_count
from eigenkit.solvers import Choice, Settings
from eigenkit.solvers.kernel import deflated, primal
from eigenkit.targets import TARGETS, Target

ONE_BY_ONE = "one component after the other"


@described
class KernelPLS(DualCoefficients, ResponseProjection, KernelProjection):
    """Partial least squares regression in the space of a kernel.

    Every component has the direction of largest covariance with y in the space of features;
    kernel and y are then freed of its scores (PLS2). With a linear kernel these are the
    scores and predictions of PLS regression without scaling.

    Parameters
    ----------
    n_components : int
        Number of components.
    {kernel}
    {landmarks}

    Attributes
    ----------
    {kernel_attributes}
    eigenvalues_ : array of shape (n_components_,)
        Squared covariances of the components with what was left of y.
    y_loadings_ : array of shape (n_targets, n_components_)
    {dual_coefficients}

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenkit import KernelPLS
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> KernelPLS(n_components=2, gamma="scale").fit(X, Y).predict(X).shape
    (20, 3)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Any = None,
        approximation: str | None = None,
        n_landmarks: int = 500,
        random_state: Any = None,
    ) -> None:
        self.n_components: Any = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    # There is no ridge, and one way to solve.
    alpha: Any = 0.0
    solver: Any = "auto"
    label_rank: Any = None

    def _target(self) -> Target:
        return TARGETS["opls"]

    def _settings(self) -> Settings:
        check_count("n_components", self.n_components)
        return super()._settings()

    def _solve(self, problem: Problem, settings: Settings) -> Solution:
        Z, H = problem.pencil.Z.in_one_unit(), np.asarray(problem.pencil.H)
        R, loadings, values = deflated(Z, H, self.n_components)
        report = Report("deflation", "kernel", ONE_BY_ONE, len(values))
        return Solution(primal(Z, R), values, loadings, report)

    def _choice(self, pencil: Pencil, settings: Settings) -> Choice:
        return Choice("kernel", ONE_BY_ONE, {})

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        self.y_loadings_ = solution.basis
        self._keep_regression(problem, solution.basis.T)
