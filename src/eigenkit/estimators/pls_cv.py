"""PLS regression whose number of components is chosen by exact, fast cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenkit.estimators._cross_decomposition import Fit, Pair, decomposed
from eigenkit.estimators._folds import RULES, CrossValidated, one_standard_error
from eigenkit.estimators.pls import PLSRegression, PLSRegressor
from eigenkit.linalg import Array, power_of_two
from eigenkit.moments import Rows
from eigenkit.shell import check_choice
from eigenkit.solvers.component_cv import Problem, fold_errors, whole_gram
from eigenkit.solvers.deflation import Components


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
    cv : int, splitter or iterable
        As in scikit-learn; None is 5 folds.
    rule : {"one_standard_error", "min"}
        The fewest components whose error is within one standard error of the least, or those
        of the least error.
    scale : bool or (bool, bool)
        Whether to divide X and y by the standard deviations of their columns.

    Attributes
    ----------
    n_components_ : int
        The chosen number (at least 1).
    fold_errors_ : array of shape (n_folds, n_components + 1)
        Mean squared error (over rows and targets) with 0, 1, ... components; rows of zero weight
        are left out, and all others count alike.
    n_components_min_, n_components_one_standard_error_ : int
        What the two rules choose; 0 says that no component is better than the mean of y.
    x_weights_, x_loadings_, x_rotations_, x_scores_, coef_, intercept_, ...
        As in :class:`PLSRegression`, with n_components_ components.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from eigenkit import PLSRegressionCV
    >>> X, y = load_diabetes(return_X_y=True)
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
        sample_weight, to_splitter = self._routed(sample_weight, groups)
        rows = super()._sample(X, y, sample_weight)
        self._split_ = self._weighted_splits(rows, to_splitter)
        return rows

    def _settings(self) -> tuple[bool, bool]:
        check_choice("rule", self.rule, RULES)
        return super()._settings()

    def _decompose(self, pair: Pair, scale: tuple[bool, bool], l: int) -> Fit:
        rows = pair.rows
        folds = self._split_
        del self._split_  # not a part of the model
        l = min(l, min(len(train) for train, _ in folds) - 1)
        # Squared errors of responses in extreme units would leave the range of numbers.
        unit = float(power_of_two(np.max(np.abs(rows.Y))))
        problem = Problem(rows.X, rows.Y / unit, rows.weight, scale, l, self._deflation)
        G = whole_gram(pair.X, l, len(folds))
        chosen = max(1, self._choose(fold_errors(problem, folds, pair.X, G), unit))
        return decomposed(pair.X, pair.Y, scale, chosen, self._deflation, G=G)

    def _choose(self, errors: Array, unit: float) -> int:
        with np.errstate(over="ignore", under="ignore"):
            self.fold_errors_ = errors * unit * unit
        least, fewest = int(np.argmin(errors.mean(axis=0))), one_standard_error(errors)
        self.n_components_min_, self.n_components_one_standard_error_ = least, fewest
        return least if self.rule == "min" else fewest

    def _n_wanted(self, rows: Rows, n: int) -> int:
        bound = min(rows.X.shape)
        return int(bound if self.n_components is None else min(bound, int(self.n_components)))

    def _check_found(self, found: Components, wanted: int) -> None:
        super()._check_found(found, min(wanted, len(found)))

    def _weighted_splits(
        self, rows: Rows, to_splitter: dict[str, Any]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """The folds, counted among the rows that have a weight."""
        y = rows.Y[:, 0] if rows.Y.shape[1] == 1 else rows.Y
        keep = np.ones(len(y), bool) if rows.weight is None else rows.weight > 0
        place = np.cumsum(keep) - 1  # rows of zero weight are in no fold
        folds = [
            (place[train[keep[train]]], place[test[keep[test]]])
            for train, test in self._splits(rows.X, y, to_splitter)
        ]
        folds = [(train, test) for train, test in folds if len(train) > 1 and len(test) > 0]
        if len(folds) < 2:
            raise ValueError(
                f"cv={self.cv!r} gives {len(folds)} folds with rows in them, but 2 are needed."
            )
        return folds

    _y_scores = PLSRegression._y_scores
