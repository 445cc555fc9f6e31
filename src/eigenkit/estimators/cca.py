"""Orthonormalized PLS, canonical correlation analysis, and the family that leads from it to PLS."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from eigenkit.estimators._both_sides import MapsBack
from eigenkit.estimators._heads import ResponseProjection, beyond_rounding_of_y, regression
from eigenkit.estimators._streams import results
from eigenkit.exceptions import ConditionWarning
from eigenkit.moments import BlockedRows, Moments, Problem, Rows
from eigenkit.numerics.linalg import Array, ratio
from eigenkit.pencil import Pencil, Solution
from eigenkit.shell import UNCHANGED, check_real, check_share, take_parameters
from eigenkit.solvers import Choice, Settings, solve
from eigenkit.solvers.spectral import IDENTITY, covariance_axes
from eigenkit.targets import TARGETS, Target, whitened_with_ridge


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

    {linnerud}
    >>> from eigenkit import OrthonormalizedPLS
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


class CCA(MapsBack, ResponseProjection):
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
        Ridge, on the scale of scikit-learn's Ridge. 0 is textbook CCA; with no more samples than
        features it then finds correlations of 1 in any data, and warns.
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

    {linnerud}
    >>> from eigenkit import CCA
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
        take_parameters(self, locals())

    alpha_y: float
    _rules: ClassVar = {"alpha_y": check_real}
    _ridge_of_x = "alpha"
    x_scores_, y_scores_ = results(2, "no scores of samples are kept; use transform")
    canonical_correlations_, y_rotations_, y_loadings_, y_mean_, _x_loadings_ = results(5)
    # Whether n_iter_ has a number per component, as scikit-learn's CCA has.
    _counts_by_component = True

    def _x_penalty(self) -> tuple[float, float]:
        """(a, b) of the matrix a Xc'Xc + b I that normalizes the projection of X."""
        return 1.0, float(self.alpha)

    def _y_penalty(self) -> tuple[float, float]:
        """(a, b) of the matrix a Yc'Yc + b I that normalizes the projection of y."""
        return 1.0, float(self.alpha_y)

    @property
    def _target(self) -> Target:  # type: ignore[override]
        return whitened_with_ridge(*self._y_penalty())

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        l = self.n_components_
        W, values, basis = solution.W[:, :l], solution.eigenvalues[:l], solution.basis[:, :l]
        F, to_y = problem.labels.penalized(*self._y_penalty()).whiteners
        factor, W_y = problem.labels.factor, F @ basis
        YtU = (factor.T @ factor) @ W_y
        self._keep_regression(problem, regression(solution, l) @ to_y)
        self._set(
            canonical_correlations_=np.sqrt(values),
            y_rotations_=W_y,
            _x_loadings_=self._x_loadings(problem, W, values, basis),
            y_loadings_=YtU @ np.linalg.pinv(W_y.T @ YtU),  # for the scores U = Yc W_y
            y_mean_=self._y_mean_,
        )
        if self._counts_by_component:
            self.n_iter_ = [self.n_iter_] * l
        self._warn_of_exact_fit(problem.n_rows, len(problem.mean))

    def _warn_of_exact_fit(self, n: int, d: int) -> None:
        """Warn where X has so many features that it fits any y."""
        if n > d + 1 or self._x_penalty()[1] > 0:
            return
        name, ridge_of_y = self._ridge_of_x, self._y_penalty()[1]
        what = "are 1 by construction, whatever the data"
        if ridge_of_y > 0:
            what = "depend on y alone, whatever X holds"
        warnings.warn(
            f"with {n} samples, {d} features and {name}=0 canonical correlations {what}: "
            f"set {name} > 0",
            ConditionWarning,
            stacklevel=3,
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
        alpha = pencil.alpha
        part = np.sqrt(alpha) * W  # alpha W'W is at most I, whatever the units of X
        inverse = np.linalg.pinv((np.eye(len(there)) - part.T @ part) * there * there[:, None])
        to_C = ratio(basis, np.sqrt(values), there)
        loadings = C @ (to_C @ inverse)
        loadings -= W @ (alpha * inverse)
        return np.asarray(loadings)


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
    the number of samples, so with many samples only a gamma close to 1 has an effect.

    Parameters
    ----------
    n_components : int, optional
        Number of components, at most the rank of Xc'Yc; all by default.
    gamma_x, gamma_y : float between 0 and 1
        Position in the family, for X and for y: 0 maximizes correlation, 1 covariance.
    label_rank : int or "auto", optional
        Keep this many directions of y, those of the largest eigenvalues; "auto" as many as hold
        99 % of their sum. By default nothing is left out.
    solver : {"auto", "two_stage", "direct"}
        How the pencil is solved; for ``gamma_x=1`` it is a singular value decomposition.
    {stage_one}

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

    {linnerud}
    >>> from eigenkit import CanonicalRidge
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
        take_parameters(self, locals())

    gamma_x: float
    gamma_y: float
    _rules: ClassVar = {"gamma_x": check_share, "gamma_y": check_share}
    _ridge_of_x = "gamma_x"
    _counts_by_component = False

    def _x_penalty(self) -> tuple[float, float]:
        return 1.0 - float(self.gamma_x), float(self.gamma_x)

    def _y_penalty(self) -> tuple[float, float]:
        return 1.0 - float(self.gamma_y), float(self.gamma_y)

    def _state(self, moments: Rows | Moments | BlockedRows) -> Problem:
        share = 1.0 - float(self.gamma_x)
        alpha = float(self.gamma_x) / share if share else np.inf
        return moments.problem(self._target, 1.0, alpha)

    def _choice(self, pencil: Pencil, settings: Settings) -> Choice:
        if self.gamma_x == 1:
            return Choice("svd", IDENTITY, {})
        return super()._choice(pencil, settings)

    def _solve(self, problem: Problem, settings: Settings) -> Solution:
        share = 1.0 - float(self.gamma_x)
        if share == 0:
            factor = self._target.finish(problem.labels.factor, problem.labels)
            found = covariance_axes(problem.pencil, factor, settings.count)
            some, report = settings.cut(found.eigenvalues, found.report)
            solution = replace(found.components(some), report=report)
        else:
            solution = solve(problem.pencil, settings)
            # The pencil has Xc'Xc + gamma / (1 - gamma) I, which is too large by this factor.
            values, report = solution.eigenvalues / share, solution.report
            report = replace(report, label_bound=report.label_bound / share)
            W = solution.W / np.sqrt(share)
            solution = replace(solution, W=W, eigenvalues=values, report=report)
        # y is predicted by least squares on the scores
        solution = replace(solution, gram=_normal(problem, solution.W)[1])
        if share > 0 and self.gamma_y == 0:
            return solution  # whitening has left out what is rounding of y
        F, labels = problem.labels.penalized(*self._y_penalty()).whiteners[0], problem.labels
        lengths = np.sqrt(solution.gram.diagonal())  # type: ignore[union-attr]
        return solution.components(beyond_rounding_of_y(labels, solution, lengths, F))

    def _x_loadings(self, problem: Problem, W: Array, values: Array, basis: Array) -> Array:
        slope, square = _normal(problem, W)
        return np.asarray(problem.of_samples.Z.from_X(slope @ np.linalg.pinv(square)))


def _normal(problem: Problem, W: Array) -> tuple[Array, Array]:
    """Z'T and T'T for the scores T = Xc W (with the roots of the weights), W in units of X."""
    Z = problem.of_samples.Z
    slope, square = Z.gradient(Z.from_X(W))
    return slope, square
