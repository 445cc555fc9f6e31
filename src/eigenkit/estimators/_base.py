"""The shell around the spine: validate, state the pencil, solve, keep.

A projection method is a subclass of :class:`Projection` that names its target and encodes y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import project
from eigenkit.estimators._described import described
from eigenkit.estimators._estimator import Transformer
from eigenkit.estimators._streams import Streaming, like, results
from eigenkit.estimators._validation import check_X, check_X_varies, check_y_varies
from eigenkit.linalg import Array
from eigenkit.moments import BlockedRows, Moments, Problem, Rows
from eigenkit.pencil import Pencil, Solution
from eigenkit.shell import (
    check_all_or_count,
    check_at_most,
    check_choice,
    check_count,
    check_real,
    what_is,
)
from eigenkit.solvers import REGRESSIONS, SOLVERS, Choice, Settings, choose, solve_path
from eigenkit.targets import Target

# Fitted attributes with one entry per feature of X, and the axis of the features.
_FEATURE_AXIS = {"components_": 1, "mean_": 0, "coef_": 1, "means_": 1}


@described
class Projection(Streaming, Transformer):
    """Supervised projection by the pencil of a target; see the subclasses."""

    components_, eigenvalues_, mean_ = results(3)
    n_components_, n_iter_, solver_, regression_, report_ = results(5)
    # The ridges, and what each of them is at most.
    _ridges: ClassVar = {"alpha": np.inf}
    # Whether components beyond n_components are used.
    _uses_all_components = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        label_rank: int | str | None = None,
        alpha: float = 1.0,
        solver: str = "auto",
        regression: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.label_rank = label_rank
        self.alpha = alpha
        self.solver = solver
        self.regression = regression
        self.tol = tol
        self.max_iter = max_iter

    # -- what a subclass says ----------------------------------------------------------

    _target: Target  # how the encoded y becomes H

    # Whether fit needs nothing but products with the data, which may then come in blocks.
    _in_passes = True

    def _solve(self, problem: Problem, settings: Settings) -> Solution:
        """The answer to the pencil."""
        return self._solve_path(problem, [problem.pencil.alpha], settings)[0]

    def _solve_path(
        self, problem: Problem, alphas: Sequence[float], settings: Settings
    ) -> list[Solution]:
        """The answers for other alphas: one each, at little more than the cost of one."""
        return solve_path(problem.pencil, alphas, settings)

    def _keep_more(self, problem: Problem, solution: Solution) -> None:
        """Attributes beyond the common ones."""

    # -- fitting -----------------------------------------------------------------------

    def _take(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The rows of positive weight, without columns that hold nothing."""
        rows, columns = self._rows(X, y, sample_weight).positive().occurring()
        if columns is not None:
            self._columns_ = columns
        return rows

    def plan(self, X: Any, y: Any = None, sample_weight: Any = None) -> Choice:
        """How :meth:`fit` would solve stage one on these data, and why, without fitting.

        Where B then turns out singular to rounding, the fit goes on to another method; its
        ``report_`` says so.
        """
        settings = self._settings()
        trial: Projection = clone(self)
        problem: Problem = trial._problem(trial._sample(X, y, sample_weight))
        return trial._choice(problem.pencil, settings)

    def _choice(self, pencil: Pencil, settings: Settings) -> Choice:
        """The method that :meth:`_solve` takes."""
        if settings.solver == "direct":
            return Choice("svd", "solver='direct'", {})
        if settings.regression != "auto":
            return Choice(settings.regression, "as asked", {})
        return choose(pencil.Z, pencil.H.shape[1], [pencil.alpha], settings.tol)

    def _settings(self) -> Settings:
        """The computational choices, all parameters checked."""
        check_all_or_count("n_components", self.n_components)
        for name, most in self._ridges.items():
            check_real(name, getattr(self, name), high=most)
        if isinstance(self.solver, str) and self.solver == "least_squares":
            raise ValueError(
                "solver='least_squares' would be another model: use LeastSquaresProjection, or "
                f"choose one of {', '.join(map(repr, SOLVERS))}."
            )
        if not isinstance(self.label_rank, str | None) or self.label_rank not in ("auto", None):
            check_count("label_rank", self.label_rank, hint=", 'auto' or None for all")
        return Settings(
            solver=check_choice("solver", self.solver, SOLVERS),
            regression=check_choice("regression", self.regression, ("auto", *REGRESSIONS)),
            tol=check_real("tol", self.tol),
            max_iter=check_count("max_iter", self.max_iter),
            n_components=None if self._uses_all_components else self.n_components,
            label_rank=self.label_rank,
            by_eigenvalues=self._target.whitened,
        )

    def _state(self, moments: Rows | Moments | BlockedRows) -> Problem:
        return moments.problem(self._target, self._edge_weight, float(self.alpha))

    # -- keeping -----------------------------------------------------------------------

    def _keep(self, problem: Problem, solution: Solution) -> None:
        n_found = solution.W.shape[1]
        shared = "the rank of what X and y share"
        l = check_at_most("n_components", self.n_components, n_found, shared)
        self._set(
            mean_=problem.mean,
            eigenvalues_=solution.eigenvalues[:l],
            n_components_=l,
            report_=solution.report,
            solver_=solution.report.solver,
            regression_=solution.report.regression,
            n_iter_=max(1, solution.report.n_iter),
        )
        with problem.pencil.Z.own_threads():
            self._keep_more(problem, solution)
        # Last, as its presence says that all is there.
        self.components_ = self._cast(solution.W[:, :l].T)
        self._spread_columns()

    def _spread_columns(self) -> None:
        """Give fitted attributes an entry for each column of X, where empty ones were left out."""
        found = vars(self)
        for name in _FEATURE_AXIS.keys() & found.keys():
            setattr(self, name, self._spread(found[name], _FEATURE_AXIS[name]))

    def _spread(self, A: Array, axis: int) -> Array:
        """A, row-major, with zeros for the empty columns of X: zero is their mean, their weight."""
        columns = getattr(self, "_columns_", None)
        if columns is None:
            return np.ascontiguousarray(A)
        whole = np.zeros((*A.shape[:axis], self.n_features_in_, *A.shape[axis + 1 :]), A.dtype)
        for part, given in zip(whole, A, strict=True) if axis else ((whole, A),):
            part[columns] = given
        return whole

    def _check_informative(self, problem: Problem) -> None:
        check_X_varies(problem.pencil.Z)
        check_y_varies(problem.pencil.H)

    # -- using -------------------------------------------------------------------------

    def transform(self, X: Any) -> Array:
        """Project new samples: ``(X - mean_) @ components_.T``.

        {scores_of_samples}
        """
        return self._projected(X)

    def _projected(self, X: Any) -> Array:
        """The scores as an array: ``transform`` may have been told to give a frame."""
        check_is_fitted(self)
        return project(self._features(X), self.mean_, self.components_.T)

    def _features(self, X: Any) -> Any:
        """New samples in the coordinates of ``components_``; for kernels not those of X."""
        return check_X(self, X, reset=False)


def check_has_alpha(estimator: Any) -> None:
    """Refuse what :func:`alpha_path` cannot fit."""
    if not isinstance(estimator, Projection) or "alpha" not in estimator.get_params():
        raise TypeError(
            f"estimator is {what_is(estimator)}: alpha_path needs a projection of "
            "eigenkit that has an alpha."
        )
    if getattr(estimator, "shrinkage", None) is not None:
        raise ValueError(
            f"shrinkage={estimator.shrinkage!r} takes the place of alpha: set it to None to try "
            "several alphas."
        )


def alpha_path(
    estimator: Projection,
    X: Any,
    y: Any = None,
    alphas: Sequence[float] = (),
    sample_weight: Any = None,
) -> list[Any]:
    """Fitted copies of a projection, one per alpha, for little more than the cost of one.

    The Gram matrix, singular value decomposition or Krylov space that does not depend on
    alpha is computed once.

    Parameters
    ----------
    estimator : Projection
        Unfitted; its own alpha is not used.
    X, y, sample_weight
        As in ``fit``.
    alphas : sequence of float

    Returns
    -------
    list of fitted estimators

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenkit import LDA, alpha_path
    >>> X, y = load_iris(return_X_y=True)
    >>> [model.alpha for model in alpha_path(LDA(), X, y, [0.1, 10.0])]
    [0.1, 10.0]
    """
    check_has_alpha(estimator)
    alphas = [check_real("alphas", alpha) for alpha in alphas]
    if not alphas:
        raise ValueError("alphas is empty: give at least one value.")
    first = clone(estimator).set_params(alpha=min(alphas))
    settings = first._settings()
    problem = first._problem(first._sample(X, y, sample_weight))
    solutions = first._solve_path(problem, alphas, settings)
    models = [like(first, clone(estimator).set_params(alpha=alpha)) for alpha in alphas]
    for model, alpha, solution in zip(models, alphas, solutions, strict=True):
        model._keep(replace(problem, pencil=problem.pencil.at(alpha)), solution)
    return models


def path_of_alphas(estimator: Any, X: Any, y: Any, alphas: Sequence[float]) -> list[Any]:
    """The same for any estimator with an alpha; what is no projection is fitted for each."""
    if isinstance(estimator, Projection):
        return alpha_path(estimator, X, y, alphas)
    return [clone(estimator).set_params(alpha=alpha).fit(X, y) for alpha in alphas]
