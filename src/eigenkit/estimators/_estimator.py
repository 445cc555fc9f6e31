"""One way in and one ``fit`` for every estimator, and the projections by a pencil.

    parameters  ->  sample  ->  problem  ->  solution  ->  model

An estimator says what its steps are; what they share (that y is there, that X is numbers, that an
error leaves the model as it was) stands here and nowhere else. A projection method is a subclass of
:class:`Projection`, which has all steps, and names its target and encodes y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import as_dense, project
from eigenkit.estimators._blocks import ROW_BY_ROW, blocked_rows, score_of_blocks, take_blocks
from eigenkit.estimators._described import Shown, described
from eigenkit.estimators._encoding import labels_of
from eigenkit.estimators._streams import Streaming, results
from eigenkit.estimators._validation import (
    check_weight,
    check_X,
    check_X_varies,
    check_y_varies,
    owned,
)
from eigenkit.moments import BlockedRows, Blocks, Moments, Problem, Rows
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import threads_for
from eigenkit.pencil import Pencil, Report, Solution
from eigenkit.shell import (
    RULES,
    Instead,
    Rule,
    check_at_most,
    check_choice,
    checked,
    lacks,
    unchanged_on_error,
)
from eigenkit.solvers import REGRESSIONS, SOLVERS, Choice, Settings, choose, solve_path
from eigenkit.targets import Target

# Fitted attributes with one entry per feature of X, and the axis of the features.
_FEATURE_AXIS = {"components_": 1, "mean_": 0, "coef_": 1, "means_": 1}


class Estimator(Shown, Instead, BaseEstimator):
    """What is fitted to samples; see the module."""

    # Whether y must be given; and if not, whether a given y is used, or ignored.
    _supervised, _y_is_optional = True, False
    # Whether y decides which rows are left out, or what they weigh.
    _y_chooses_rows = False
    # Whether X itself becomes part of the model.
    _keeps_samples = False
    # Whether fit leaves sparse labels sparse.
    _sparse_labels = False
    _n_labels_: int
    _dtype_: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        described(cls)  # first: what wraps methods takes over what is said of them
        take_blocks(cls, *ROW_BY_ROW, "score")

    # -- what a subclass says ----------------------------------------------------------

    _score_of_blocks = score_of_blocks  # what ``score`` is for blocks

    # What the values of parameters must be, where they mean something else than elsewhere.
    _rules: ClassVar[dict[str, Rule]] = RULES

    def _settings(self) -> Any:
        """The computational choices; refuses parameters that do not go together."""

    def _encode(self, y: Any, n: int, classes: Any, reset: bool) -> Any:
        """y as the matrix Y (n x k); with ``reset`` remember what its columns mean."""
        raise TypeError(f"{type(self).__name__} encodes no y")

    def _state(self, sample: Any) -> Any:
        """The problem that a sample states."""
        return sample

    def _check_informative(self, problem: Any) -> None:
        """Refuse a problem without anything to learn, before it is solved."""

    def _solve(self, problem: Any, settings: Any) -> Any:
        """The solution of the problem."""
        lacks(self, "_solve")

    def _keep(self, problem: Any, solution: Any) -> None:
        """The attributes of the fitted model."""
        lacks(self, "_keep")

    def _report(self, solution: Any) -> Report:
        """How the solution was found."""
        found: Report = solution.report
        return found

    # -- fitting -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Sparse X is not made dense (above 8 MiB). A precomputed kernel is square, and dense.
            Or :class:`RowBlocks`, with which y comes along, for what fits blocks of rows.
        y : array, frame or sparse matrix
            Labels or responses, as the class says; ignored by classes that need none.
        sample_weight : array of shape (n_samples,), optional
            Integer weights count repetitions, zero leaves a row out. Other weights compare the
            rows; their unit matters only beside ``alpha``, where there is one.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> Self:
        """What every fit does; ``more`` holds further arguments of a subclass's :meth:`fit`."""
        settings = checked(self)._settings()
        with unchanged_on_error(self, anew=True), threads_for(X, y):
            self._learn(self._sample(X, y, sample_weight, **more), settings)
        return self

    def _sample(self, X: Any, y: Any, sample_weight: Any, graph: Any = None) -> Any:
        """All rows at once, or blocks of them; or what a ``graph`` over all rows makes of them."""
        if isinstance(X, Blocks):
            return blocked_rows(self, X, y, sample_weight)
        if graph is not None:
            return graph(self._every_row(X, y, sample_weight))
        return self._take(X, y, sample_weight)

    def _take(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The sample: the rows of positive weight."""
        return self._rows(X, y, sample_weight).positive()

    def _every_row(self, X: Any, y: Any, weight: Array) -> Rows:
        """All rows in the coordinates of the components, also those that have no ``weight``."""
        return self._rows(X, y, None)

    def _learn(self, sample: Any, settings: Any) -> None:
        """State the problem; if there is anything to learn, solve it, and keep what is found."""
        problem = self._state(sample)
        self._check_informative(problem)
        solution = self._solve(problem, settings)
        self._keep(problem, solution)
        self.report_ = self._report(solution)

    # -- the sample --------------------------------------------------------------------

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """All rows of a sample, checked."""
        given = X
        X = self._check_X(X, reset=True, min_samples=2, weight=sample_weight)
        X = owned(X, given) if self._keeps_samples else X
        rows = self._labelled(X, y, sample_weight, None, reset=True)
        return rows if self._sparse_labels else replace(rows, Y=as_dense(rows.Y))

    def _batch(self, X: Any, y: Any, sample_weight: Any, classes: Any, reset: bool) -> Rows:
        """One batch (at least one row) whose X is already checked; only rows of positive weight."""
        rows = self._labelled(X, y, sample_weight, classes, reset)
        return replace(rows, Y=as_dense(rows.Y)).positive()

    def _labelled(self, X: Any, y: Any, sample_weight: Any, classes: Any, reset: bool) -> Rows:
        n = X.shape[0]
        Y: Any = np.empty((n, 0))
        if self._supervised or (self._y_is_optional and y is not None):
            Y = self._encode(labels_of(self, y, reset=reset), n, classes, reset)
        if reset:
            self._n_labels_, self._dtype_ = Y.shape[1], X.dtype
        elif Y.shape[1] != self._n_labels_:
            raise ValueError(
                f"y has {Y.shape[1]} columns, the first batch had {self._n_labels_}: give the same."
            )
        return Rows(X, Y, check_weight(sample_weight, n))

    def _check_X(self, X: Any, *, reset: bool, min_samples: int = 1, weight: Any = None) -> Any:
        """X as numbers; in a whole sample, the means will show whether all are finite."""
        how: dict[str, Any] = {"weight": weight, "finite": min_samples == 1}
        return check_X(self, X, reset=reset, min_samples=min_samples, **how)

    # -- keeping -----------------------------------------------------------------------

    def _cast(self, value: Any) -> Any:
        """Arrays in the precision of X, and row-major as in files; other values as they are."""
        is_array = isinstance(value, np.ndarray)
        return np.asarray(value, self._dtype_, order="C") if is_array else value

    def _set(self, **found: Any) -> None:
        """Attributes by their names, all :meth:`_cast`."""
        for name, value in found.items():
            setattr(self, name, self._cast(value))


def stated(model: Any, X: Any, y: Any, weight: Any, **new: Any) -> tuple[Any, Problem, Any]:
    """A copy with new parameters, and the problem and settings that its fit would solve."""
    trial = clone(model).set_params(**new)
    settings = checked(trial)._settings()
    problem = trial._state(trial._sample(X, y, weight))
    trial._check_informative(problem)
    return trial, problem, settings


class Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """An estimator with components, of which every sample has scores."""

    n_components_: int
    mean_: Any
    components_: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)  # where scikit-learn's set_output comes in
        take_blocks(cls, "transform")

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _projected(self, X: Any) -> Array:
        """The scores as an array: ``transform`` may have been told to give a frame."""
        check_is_fitted(self)
        return project(self._features(X), self.mean_, self.components_.T)

    def _features(self, X: Any) -> Any:
        """New samples in the coordinates of ``components_``; for kernels not those of X."""
        return check_X(self, X, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._supervised
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_solver(name: str, value: Any) -> None:
    """``value`` is one of the ways to the same answer."""
    if isinstance(value, str) and value == "least_squares":
        raise ValueError(
            f"{name}='least_squares' would be another model: use LeastSquaresProjection, or "
            f"choose one of {', '.join(map(repr, SOLVERS))}."
        )
    check_choice(name, value, SOLVERS)


class Projection(Streaming, Transformer):
    """Supervised projection by the pencil of a target; see the subclasses."""

    components_, eigenvalues_, mean_ = results(3)
    n_components_, n_iter_, solver_, regression_ = results(4)
    _rules: ClassVar = {"solver": check_solver, "regression": ("auto", *REGRESSIONS)}
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
    _in_passes = True

    def _solve(self, problem: Problem, settings: Settings) -> Solution:
        """The answer to the pencil."""
        return problem.judged(self._solve_path(problem, [problem.pencil.alpha], settings)[0])

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
            self._occurring_ = columns
        return rows

    def plan(self, X: Any, y: Any = None, sample_weight: Any = None) -> Choice:
        """How :meth:`fit` would solve stage one on these data, and why, without fitting.

        Where B then turns out singular to rounding, the fit goes on to another method; its
        ``report_`` says so.
        """
        trial, problem, settings = stated(self, X, y, sample_weight)
        choice: Choice = trial._choice(problem.pencil, settings)
        return choice

    def _choice(self, pencil: Pencil, settings: Settings) -> Choice:
        """The method that :meth:`_solve` takes."""
        if settings.solver == "direct":
            return Choice("svd", "solver='direct'", {})
        if settings.regression != "auto":
            return Choice(settings.regression, settings.reason, {})
        return choose(pencil.Z, pencil.H.shape[1], [pencil.alpha], settings.tol)

    def _settings(self) -> Settings:
        return Settings(
            solver=self.solver,
            regression=self.regression,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            n_components=None if self._uses_all_components else self.n_components,
            label_rank=self.label_rank,
            by_eigenvalues=self._target.whitened,
        )

    def _state(self, moments: Rows | Moments | BlockedRows) -> Problem:
        return moments.problem(self._target, self._edge_weight, float(self.alpha))

    # -- keeping -----------------------------------------------------------------------

    def _keep(self, problem: Problem, solution: Solution) -> None:
        n_found = solution.W.shape[1]
        shared = "the rank of what X and y share beyond rounding"
        if (rank := getattr(self, "label_rank", None)) is not None:
            shared += f" with label_rank={rank!r}"
        l = check_at_most("n_components", self.n_components, n_found, shared)
        self._set(
            mean_=problem.mean,
            eigenvalues_=solution.eigenvalues[:l],
            n_components_=l,
            solver_=solution.report.solver,
            regression_=solution.report.regression,
            n_iter_=max(1, solution.report.n_iter),
        )
        with problem.pencil.Z.threads:
            self._keep_more(problem, solution)
        # Last, as its presence says that all is there.
        self.components_ = self._cast(solution.W[:, :l].T)
        if hasattr(self, "_occurring_"):
            self._spread_columns()

    def _spread_columns(self) -> None:
        """Give fitted attributes an entry for each column of X, where empty ones were left out."""
        found = vars(self)
        for name in _FEATURE_AXIS.keys() & found.keys():
            setattr(self, name, self._spread(found[name], _FEATURE_AXIS[name]))

    def _spread(self, A: Array, axis: int) -> Array:
        """A with zeros for the empty columns of X: zero is their mean, their weight."""
        columns = getattr(self, "_occurring_", None)
        if columns is None:
            return A
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
