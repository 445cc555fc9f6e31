"""Estimators with a y of several columns: its names, and scores of y beside those of X."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import Centered, project
from eigenkit.estimators._described import described
from eigenkit.estimators._encoding import as_numbers, labels_of
from eigenkit.estimators._estimator import Transformer
from eigenkit.estimators._streams import Streaming
from eigenkit.estimators._validation import check_scores, check_sides_vary, check_weight


@described
class ScoresByName:
    """``score`` for a y of several columns, whose names must be those of the fit.

    Comes before scikit-learn's mixin that says how predictions are scored.
    """

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination of the predictions; of a classifier their accuracy.

        Where y holds strings and no classes are predicted, their indicator columns are scored.

        {scored}
        """
        scored: Any = super()
        labels = labels_of(self, y, reset=False) if is_classifier(self) else as_numbers(self, y)
        weight = check_weight(sample_weight, labels.shape[0])
        return float(scored.score(X, labels, sample_weight=weight))


class CentredSides(Streaming):
    """Estimators that need nothing but X and y as centred data."""

    def _state(self, sample: Any) -> tuple[Centered, Centered]:
        sides: tuple[Centered, Centered] = sample.sides()
        return sides

    def _check_informative(self, problem: tuple[Centered, Centered]) -> None:
        check_sides_vary(*problem)


class BothSides(Transformer):
    """X and y both have scores: :meth:`transform` gives one or both."""

    y_mean_: Any
    y_rotations_: Any

    def _scores_of_x(self, X: Any) -> Any:
        return self._projected(X)

    def _scores_of_y(self, Y: Any) -> Any:
        """The scores of y, given as :meth:`_new_y` returns it."""
        return project(Y, self.y_mean_, self.y_rotations_)

    def transform(self, X: Any, y: Any = None) -> Any:
        """Scores of X, and of y too if given.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            With ``kernel="precomputed"`` inner products with the training samples.
        y : array of shape (n_samples,) or (n_samples, n_targets), optional

        Returns
        -------
        array of shape (n_samples, n_components_), or a tuple of two of them
        """
        x_scores = self._scores_of_x(X)
        if y is None:
            return x_scores
        return x_scores, self._cast(self._scores_of_y(self._new_y(y, len(x_scores))))

    def _new_y(self, y: Any, n: int) -> Any:
        """y of n new samples as numbers, with the columns that it had in fit."""
        Y = self._encode(labels_of(self, y, reset=False), n, None, reset=False)
        if Y.shape[1] != self._n_labels_:
            raise ValueError(
                f"y has {Y.shape[1]} columns, but {type(self).__name__} was fitted with "
                f"{self._n_labels_}."
            )
        return Y


class MapsBack(BothSides):
    """X and y are regressed on their scores too: :meth:`inverse_transform` maps scores back."""

    x_loadings_: Any
    y_loadings_: Any

    def inverse_transform(self, X: Any, y: Any = None) -> Any:
        """Map scores back: the best approximation of X (and y) from them.

        Parameters
        ----------
        X : array of shape (n_samples, n_components_)
            Scores of X.
        y : array of shape (n_samples, n_components_), optional
            Scores of y.

        Returns
        -------
        array of shape (n_samples, n_features), or a tuple with the approximation of y
        """
        check_is_fitted(self)
        l = self.n_components_
        # What X and y were divided by, where that was done.
        x_unit, y_unit = (getattr(self, name, 1.0) for name in ("x_std_", "y_std_"))
        x_back = check_scores("X", X, l) @ self.x_loadings_.T * x_unit + self.mean_
        if y is None:
            return x_back
        return x_back, check_scores("y", y, l) @ self.y_loadings_.T * y_unit + self.y_mean_
