"""The canonical ridge family: from CCA to PLS."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from eigenkit.estimators._described import described
from eigenkit.estimators._responses import beyond_rounding_of_y
from eigenkit.estimators.cca import CCA
from eigenkit.linalg import Array
from eigenkit.moments import BlockedRows, Moments, Problem, Rows
from eigenkit.pencil import Pencil, Solution
from eigenkit.shell import check_real
from eigenkit.solvers import Choice, Settings, solve
from eigenkit.solvers.label_rank import cut
from eigenkit.solvers.spectral import IDENTITY, covariance_axes


@described
class CanonicalRidge(CCA):
    """Canonical ridge analysis: CCA, orthonormalized PLS and PLS as corners of one family.

    Solves, with both projections normalized by the matrices that are inverted,

    ``Xc'Yc ((1-gamma_y) Yc'Yc + gamma_y I)^+ Yc'Xc w = lambda ((1-gamma_x) Xc'Xc + gamma_x I) w``

    ========================== ============ =======
    method                     gamma_x      gamma_y
    ========================== ============ =======
    CCA                        0            0
    regularized CCA            a / (1 + a)  0
    orthonormalized PLS        0            1
    regularized OPLS           a / (1 + a)  1
    PLS (PLSSVD)               1            1
    ========================== ============ =======

    with ``a`` the ``alpha`` of :class:`CCA` and :class:`OrthonormalizedPLS`. Xc'Xc grows with
    the number of samples, so on many samples only a gamma close to 1 is felt.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the rank of Xc'Yc; all by default.
    gamma_x, gamma_y : float between 0 and 1
        Where in the family: 0 looks for correlation, 1 for covariance, on either side.
    label_rank : int or "auto", optional
        Keep this many directions of y, those of the largest eigenvalues; "auto" as many as hold
        99 % of their sum. By default nothing is left out.
    solver : {"auto", "two_stage", "direct"}
        How the pencil is solved; for ``gamma_x=1`` it is a singular value decomposition.
    regression : {"auto", "cholesky", "dual_cholesky", "svd", "cg", "lsqr"}
        The method of the first stage.
    tol, max_iter : float, int
        Relative residual and number of iterations at which iterative methods stop.

    Attributes
    ----------
    canonical_correlations_ : array of shape (n_components_,)
        Square roots of the eigenvalues: correlations at one end, covariances (not divided by
        the number of samples) at the other.
    x_rotations_, y_rotations_, x_weights_, y_weights_, x_loadings_, y_loadings_
        As in :class:`CCA`.
    components_ : array of shape (n_components_, n_features)
    eigenvalues_ : array of shape (n_components_,)
    mean_, y_mean_ : array
    coef_, intercept_ : array
        Least squares of y on the scores of X.
    {what_was_done}

    Notes
    -----
    With y a 0/1 label matrix, ``gamma_y=1`` and ``gamma_x=1``
    it is MDDM with orthonormal projections; ``gamma_x=1-mu`` is MDDM with its weight mu.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenkit import CanonicalRidge
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> CanonicalRidge(gamma_x=0, gamma_y=0).fit(X, Y).canonical_correlations_.round(2)
    array([0.8 , 0.2 , 0.07])
    >>> CanonicalRidge(2, gamma_x=1, gamma_y=1).fit_transform(X, Y).shape
    (20, 2)
    """

    _instead: ClassVar = {
        **CCA._instead,
        "alpha": "use gamma_x = alpha / (1 + alpha)",
        "alpha_y": "use gamma_y = alpha_y / (1 + alpha_y)",
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        gamma_x: float = 0.5,
        gamma_y: float = 0.5,
        label_rank: int | str | None = None,
        solver: str = "auto",
        regression: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.gamma_x = gamma_x
        self.gamma_y = gamma_y
        self.label_rank = label_rank
        self.solver = solver
        self.regression = regression
        self.tol = tol
        self.max_iter = max_iter

    def _check_ridges(self) -> None:
        check_real("gamma_x", self.gamma_x, high=1.0)
        check_real("gamma_y", self.gamma_y, high=1.0)

    def _x_penalty(self) -> tuple[float, float]:
        return 1.0 - float(self.gamma_x), float(self.gamma_x)

    def _y_penalty(self) -> tuple[float, float]:
        return 1.0 - float(self.gamma_y), float(self.gamma_y)

    def _state(self, moments: Rows | Moments | BlockedRows) -> Problem:
        share = 1.0 - float(self.gamma_x)
        alpha = float(self.gamma_x) / share if share else np.inf
        return moments.problem(self._target(), 1.0, alpha)

    def _choice(self, pencil: Pencil, settings: Settings) -> Choice:
        if self.gamma_x == 1:
            return Choice("svd", IDENTITY, {})
        return super()._choice(pencil, settings)

    def _solve(self, problem: Problem, settings: Settings) -> Solution:
        share = 1.0 - float(self.gamma_x)
        if share == 0:
            solution = cut(covariance_axes(problem.pencil), settings.label_rank)
        else:
            solution = solve(problem.pencil, settings)
            # The pencil has Xc'Xc + gamma / (1 - gamma) I: divide by what it is too large.
            values, report = solution.eigenvalues / share, solution.report
            report = replace(report, label_bound=report.label_bound / share)
            W = solution.W / np.sqrt(share)
            solution = replace(solution, W=W, eigenvalues=values, report=report)
        # y is predicted by least squares on the scores
        solution = replace(solution, gram=_normal(problem, solution.W)[1])
        if share > 0 and self.gamma_y == 0:
            return solution  # whitening has left out what is rounding of y
        F, labels = problem.labels.penalized(*self._y_penalty()).whitener, problem.labels
        lengths = np.sqrt(solution.gram.diagonal())  # type: ignore[union-attr]
        return solution.components(beyond_rounding_of_y(labels, solution, lengths, F))

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        super()._keep_more(problem, solution)
        self.n_iter_ = self.n_iter_[0]

    def _x_loadings(self, problem: Problem, W: Array, values: Array, basis: Array) -> Array:
        slope, square = _normal(problem, W)
        return np.asarray(problem.pencil.Z.from_X(slope @ np.linalg.pinv(square)))


def _normal(problem: Problem, W: Array) -> tuple[Array, Array]:
    """Z'T and T'T for the scores T = Xc W (with the roots of the weights), W in units of X."""
    Z = problem.pencil.Z
    slope, square = Z.gradient(Z.from_X(W))
    return slope, square
