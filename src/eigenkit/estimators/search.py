"""Choosing alpha or a number of components, and following the l1 penalty.

A whole grid costs little more than one fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from eigenkit.data import Centered
from eigenkit.estimators._alphas import (
    ONE_FOLD,
    alpha_path,
    best_of,
    check_alphas,
    check_has_alpha,
    one_standard_error,
)
from eigenkit.estimators._blocks import blocked_rows
from eigenkit.estimators._cross_decomposition import Fit, Pair, decomposed
from eigenkit.estimators._folds import CrossValidated, Samples, Search, score_table
from eigenkit.estimators._streams import like
from eigenkit.estimators.least_squares import LeastSquaresProjection
from eigenkit.estimators.pls import PLSRegression, PLSRegressor
from eigenkit.moments import RESPONSES, BlockedRows, Blocks, Factor, Rows
from eigenkit.numerics.costs import fits
from eigenkit.numerics.linalg import Array, power_of_two
from eigenkit.pencil import Report
from eigenkit.shell import check_choice, check_count, check_real, checked, shown, what_is
from eigenkit.solvers.component_cv import (
    Linear,
    Problem,
    fold_errors,
    linear_model,
    staged_squares,
    whole_gram,
)
from eigenkit.solvers.deflation import Components
from eigenkit.solvers.least_squares import l1_path as _l1_path

ALPHAS = tuple(float(alpha) for alpha in np.logspace(-3, 3, 7))


class AlphaSearchCV(Search):
    """A projection with alpha chosen by cross-validation.

    In every fold the whole grid is fitted at once by :func:`alpha_path`, so that seven alphas
    cost little more than one. The best is fitted again on all samples.

    Parameters
    ----------
    estimator : projection of eigenkit
        Its alpha is replaced; everything else is kept.
    alphas : sequence of float
        The grid.
    {cv}
        Folds of a 0/1 label matrix keep the share of every label
        (:class:`~eigenkit.evaluation.LabelStratifiedKFold`).
    scoring : str or callable, optional
        What to maximize: a scorer of the head, or of the projection itself where it
        predicts. By default their own ``score``.
    head : estimator, optional
        Classifier or regressor fitted on the projected training samples of every fold and
        scored on the held-out ones, for instance a linear SVM. By default a projection that
        predicts is scored as it is; another one by least squares of y on its components
        (of classes: on scaled ones).
    rule : {"min", "one_standard_error"}
        Take the alpha with the least error, or the largest one that is no worse than that by one
        standard error of its mean over the folds.

    Attributes
    ----------
    alpha_ : float
    best_estimator_ : fitted projection
    best_score_ : float
        The mean score of ``alpha_``.
    cv_results_ : dict
        "alpha", "mean_test_score", "std_test_score" and "splitK_test_score", ready for a data
        frame.
    {report}
    classes_, n_features_in_, feature_names_in_
        Those of the best estimator.

    {iris}
    >>> from eigenkit import LDA, AlphaSearchCV
    >>> search = AlphaSearchCV(LDA(), alphas=[0.01, 1.0, 100.0]).fit(X, y)
    >>> search.alpha_ in search.alphas
    True
    >>> search.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        alphas: Sequence[float] = ALPHAS,
        cv: Any = None,
        scoring: Any = None,
        head: Any = None,
        rule: str = "min",
    ) -> None:
        self.estimator = estimator
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.head = head
        self.rule = rule

    def _settings(self) -> list[float]:
        check_has_alpha(self.estimator)
        if self.head is not None and not hasattr(self.head, "fit"):
            raise TypeError(f"head is {what_is(self.head)}: give an estimator, or None.")
        return check_alphas(self.alphas)

    def _solve(self, problem: Samples, settings: list[float]) -> tuple[Array, Array]:
        """The alphas, and scores of every alpha (columns) on every split (rows)."""
        X, y, weight, _ = problem
        if not isinstance(X, Blocks):
            # One look at all the data first: bad input is refused before it is cut into folds.
            clone(self.estimator)._take(X, y, weight)
        judge = self.estimator if self.head is None else self.head
        fitted = (
            (fold, alpha_path(self.estimator, fold.X, fold.y, settings, fold.weight))
            for fold in self._folds(problem, judge)
        )
        return np.array(settings), score_table(fitted, self.scoring, self.head)

    def _keep(self, problem: Samples, solution: tuple[Array, Array]) -> None:
        alphas, scores = solution
        best = best_of(scores, self.rule, 0 if self.rule == "min" else alphas)
        mean = scores.mean(axis=0)
        self.alpha_ = float(alphas[best])
        self.best_score_ = float(mean[best])
        self.cv_results_ = {
            "alpha": alphas,
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=0),
            **{f"split{i}_test_score": row for i, row in enumerate(scores)},
        }
        self._fit_best(problem, alpha=self.alpha_)

    def _chosen(self) -> str:
        tried = len(self.cv_results_["alpha"])
        return f"alpha={self.alpha_:g}, chosen by cross-validation from {tried}"


def l1_path(
    estimator: LeastSquaresProjection,
    X: Any,
    y: Any,
    *,
    method: str = "lars",
    n_alphas: int = 100,
    tol: float = 1e-6,
    max_iter: int = 1000,
    sample_weight: Any = None,
) -> list[tuple[Array, Array]]:
    """The lasso of a least squares model for all alphas (LS-X_1 of the papers).

    Minimizes ``||Xc w - t||^2 + alpha ||w||_1`` for every target t of the model, from the alpha
    at which the first feature enters to where all have.

    Parameters
    ----------
    estimator : LeastSquaresProjection
        Gives the targets; need not be fitted, and its penalty does not matter.
    X, y, sample_weight
        As in ``fit``.
    method : {"lars", "cd"}
        Least angle regression: every alpha at which a feature enters or leaves, exactly, from
        the d x d matrix X'X. Or coordinate descent on a grid, which needs no such matrix.
    n_alphas : int
        Size of the grid of "cd".
    tol, max_iter : float, int
        For "cd" the duality gap and number of sweeps; for "lars" the number of steps.

    Returns
    -------
    list of (alphas, coefs)
        One pair per target, in the order of the labels or classes (one for two classes):
        alphas decreasing, coefs of shape (n_features, len(alphas)).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenkit import LeastSquaresProjection, l1_path
    >>> X, y = load_iris(return_X_y=True)
    >>> alphas, coefs = l1_path(LeastSquaresProjection(target="lda"), X, y)[0]
    >>> (coefs != 0).sum(axis=0)[:3]
    array([0, 1, 2])
    """
    check_choice("method", method, ("lars", "cd"))
    if not isinstance(estimator, LeastSquaresProjection):
        raise TypeError(
            f"estimator is {what_is(estimator)}: l1_path needs a LeastSquaresProjection, "
            "whose target says what to regress."
        )
    model = clone(estimator)
    checked(model)._settings()
    rows = model._rows(X, y, sample_weight).positive()
    d = rows.X.shape[1]
    if method == "lars" and not fits(d):
        raise ValueError(
            f"X has {d} features: method='lars' would need {d} x {d} numbers "
            f"({8 * d * d / 2**30:.1f} GB); use method='cd'."
        )
    problem = model._state(rows)
    model._check_informative(problem)
    n_alphas, max_iter = check_count("n_alphas", n_alphas), check_count("max_iter", max_iter)
    return _l1_path(problem.pencil, method, n_alphas, check_real("tol", tol), max_iter)


@dataclass(frozen=True)
class _FoldSums:
    """The rows of every fold, and their sums; together they are the whole sample."""

    rows: list[BlockedRows]
    sums: list[Factor]
    whole: ClassVar[Rows | None] = None

    @classmethod
    def of(cls, reader: Any, folds: Iterable[Any], *given: Any) -> _FoldSums:
        """Blocks of every fold, as ``reader`` reads them; each row is summed up once."""
        rows = [blocked_rows(reader, test, *given) for _, test in folds]
        try:
            return cls(rows, [each.summary(RESPONSES) for each in rows])
        except ValueError as error:
            raise ValueError(f"one of the {len(rows)} folds cannot be used: {error}") from error

    def sides(self) -> tuple[Centered, Centered]:
        """X and Y as centred data of the same products."""
        return reduce(Factor.merge, self.sums).sides()

    @property
    def fewest(self) -> int:
        """The smallest number of rows that a fold is fitted on."""
        sizes = [each.n_rows for each in self.sums]
        return sum(sizes) - max(sizes)

    def errors(self, scale: tuple[bool, bool], l: int, deflation: str, unit: float) -> Array:
        """As :func:`~eigenkit.solvers.component_cv.fold_errors`, in a unit of y."""
        errors = np.empty((len(self.rows), l + 1))
        for i, rows in enumerate(self.rows):
            others = reduce(Factor.merge, [*self.sums[:i], *self.sums[i + 1 :]])
            model = linear_model(*others.sides(), scale, l, deflation)
            squares, size = rows.passes.run(_squares, model, l, unit)
            errors[i] = squares / size
        return errors


def _squares(blocks: Iterable[Any], model: Linear, l: int, unit: float) -> tuple[Array, int]:
    """Squared errors of all rows, which count alike, and the number of entries of Y."""
    squares, size = np.zeros(l + 1), 0
    for X, Y, _ in blocks:
        squares += staged_squares(model, X, Y, l, unit)
        size += Y.size
    return squares, size


class PLSRegressionCV(CrossValidated, PLSRegressor):
    """PLS regression with the number of components chosen by cross-validation.

    Every fold is fitted with its own means and scales, exactly as a grid search over
    :class:`PLSRegression` would, but its cross-products are those of all rows less those of
    the rows left out, and one fit serves every number of components.

    Parameters
    ----------
    n_components : int or None
        The largest number of components to try (at most the number of features and one less
        than the samples of a fold); None for all.
    {cv}
    rule : {"one_standard_error", "min"}
        The fewest components whose error is within one standard error of the least, or those
        of the least error, for which a single fold is enough.
    {scale}

    Attributes
    ----------
    n_components_ : int
        The chosen number (at least 1).
    fold_errors_ : array of shape (n_folds, n_components + 1)
        Mean squared error (over rows and targets) with 0, 1, ... components; rows of zero weight
        are left out, and all others count alike.
    n_components_min_, n_components_one_standard_error_ : int
        What the two rules choose; 0 says that no component is better than the mean of y. A single
        fold has no standard error: both are then the number of the least error.
    x_weights_, x_loadings_, x_rotations_, x_scores_, coef_, intercept_, ...
        As in :class:`PLSRegression`, with n_components_ components.
    {report_and_names}

    {diabetes}
    >>> from eigenkit import PLSRegressionCV
    >>> model = PLSRegressionCV(n_components=8, cv=10).fit(X, y)
    >>> model.fold_errors_.shape
    (10, 9)
    """

    _deflation = "regression"

    def __init__(
        self,
        n_components: int | None = 10,
        *,
        cv: Any = None,
        rule: str = "one_standard_error",
        scale: bool | tuple[bool, bool] = True,
    ) -> None:
        super().__init__(n_components, scale=scale)
        self.cv = cv
        self.rule = rule

    def _sample(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> Any:
        sample_weight, to_splitter = self._routed(X, sample_weight, groups)
        if isinstance(X, Blocks):
            reader = PLSRegression(scale=self.scale)
            self._split_: Any = _FoldSums.of(reader, self._block_folds(X), y, sample_weight)
            like(reader, self)
            return self._split_
        rows: Rows = super()._sample(X, y, sample_weight)
        Y = rows.Y[:, 0] if rows.Y.shape[1] == 1 else rows.Y
        splits = self._splits(rows.X, Y, rows.weight, to_splitter)
        place = np.cumsum(rows.weights() > 0) - 1  # rows of zero weight are in no fold
        folds = [(place[train], place[test]) for train, test in splits]
        folds = [(train, test) for train, test in folds if len(train) > 1 and len(test) > 0]
        if not folds:
            raise ValueError(f"cv={shown(self.cv)} gives no fold with rows in it.")
        if len(folds) < 2 and self.rule != "min":
            raise ValueError(f"cv={shown(self.cv)} gives 1 fold with rows in it. {ONE_FOLD}")
        self._split_ = folds
        return rows

    def _decompose(self, pair: Pair, scale: tuple[bool, bool], l: int) -> Fit:
        rows, folds, G = pair.rows, self._split_, None
        del self._split_  # not a part of the model
        # Squared errors of responses in extreme units would leave the range of numbers.
        unit = float(power_of_two(np.max(np.abs(rows.Y))))
        if isinstance(folds, _FoldSums):
            l = min(l, folds.fewest - 1)
            errors = folds.errors(scale, l, self._deflation, unit)
        else:
            l = min(l, min(len(train) for train, _ in folds) - 1)
            problem = Problem(replace(rows, Y=rows.Y / unit), scale, l, self._deflation)
            G = whole_gram(pair.X, l, len(folds))
            errors = fold_errors(problem, folds, pair.X, G)
        with np.errstate(over="ignore", under="ignore"):
            self.fold_errors_ = errors * unit * unit
        least = int(np.argmin(errors.mean(axis=0)))
        fewest = one_standard_error(errors) if len(errors) > 1 else least
        self.n_components_min_, self.n_components_one_standard_error_ = least, fewest
        chosen = max(1, least if self.rule == "min" else fewest)
        return decomposed(pair.X, pair.Y, scale, chosen, self._deflation, G=G)

    def _report(self, solution: Fit) -> Report:
        chosen = f"n_components={self.n_components_}, chosen by cross-validation"
        return super()._report(solution).noting(chosen)

    def _n_wanted(self, n: int, d: int, k: int) -> int:
        bound = min(n, d)
        return int(bound if self.n_components is None else min(bound, int(self.n_components)))

    def _check_found(self, found: Components, wanted: int) -> None:
        super()._check_found(found, min(wanted, len(found)))

    _y_scores = PLSRegression._y_scores
