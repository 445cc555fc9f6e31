"""What CCA and orthonormalized PLS share: real-valued y, and predicting it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from eigenkit.estimators._base import Projection
from eigenkit.estimators._described import described
from eigenkit.estimators._encoding import as_numbers, encode_responses
from eigenkit.estimators._heads import regression
from eigenkit.estimators._streams import Result
from eigenkit.linalg import Array
from eigenkit.moments import Problem
from eigenkit.pencil import Solution
from eigenkit.targets import Labels
from eigenkit.tolerances import along


def beyond_rounding_of_y(
    labels: Labels, solution: Solution, lengths: Array | float, F: Array | None = None
) -> np.ndarray:
    """Which components X shares with more than the rounding of y; F takes Yc to H.

    The covariance of two scores, the root of an eigenvalue, is no more than the product of their
    lengths: of those of X, given, and of what may be rounding in those of y.
    """
    directions = solution.basis if F is None else F @ solution.basis
    found = np.sqrt(solution.eigenvalues) > along(directions, labels.grain) * lengths
    found[:1] |= not found.any()
    return np.asarray(found)


@described
class ResponseProjection(MultiOutputMixin, RegressorMixin, Projection):
    """A projection of X towards responses, and the reduced-rank regression that goes with it."""

    _uses_all_components = False

    _encode = encode_responses

    intercept_ = Result()
    _to_y_ = Result()
    _y_mean_ = Result()

    def _keep_coefficients(self, problem: Problem, solution: Solution, to_y: Array | None) -> None:
        """Regress y on the scores that are kept; ``to_y`` takes H to Yc, None where it is that."""
        on_H = regression(solution, self.n_components_)
        self._keep_regression(problem, on_H if to_y is None else on_H @ to_y)

    def _keep_regression(self, problem: Problem, to_y: Array) -> None:
        """Keep what takes scores to y (l x k): few numbers, where coef_ may be very many."""
        self._to_y_ = self._cast(to_y)
        self._y_mean_ = problem.labels.degree / problem.total
        self.intercept_ = self._cast(self._y_mean_)

    @property
    def coef_(self) -> Array:
        """Coefficients of the regression of y on X, computed when asked for."""
        return np.asarray(self._to_y_.T @ self.components_)

    def predict(self, X: Any) -> Array:
        """Predict y by ridge regression through the components.

        With all components this is ridge regression on X itself.

        {samples}

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
        """
        prediction = self._projected(X) @ self._to_y_ + self.intercept_
        one = getattr(self, "_one_response_", False)
        return np.asarray(prediction[:, 0] if one else prediction, dtype=self._dtype_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination; of strings that of the columns that stand for them.

        {scored}
        """
        return float(super().score(X, as_numbers(self, y), sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
