"""Methods that another estimator answers: the best of a search, or one on a sum of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import MetaEstimatorMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eigenkit.estimators._encoding import check_y_names
from eigenkit.estimators._estimator import Estimator
from eigenkit.shell import lacks


def estimator_has(name: str) -> Callable[[Callable[..., Any]], Any]:
    """Methods that there are where the estimator has one of this name."""
    found: Callable[[Callable[..., Any]], Any] = available_if(
        lambda self: hasattr(self._asked(), name)
    )
    return found


class Delegating:
    """Predictions by another estimator, as far as it makes them."""

    def _asked(self) -> Any:
        """The estimator that says which methods there are, fitted or not."""
        lacks(self, "_asked")

    def _handed(self, X: Any) -> tuple[Any, Any]:
        """The fitted estimator, and X as it takes it."""
        lacks(self, "_handed")

    def _answer(self, method: str, X: Any) -> Any:
        estimator, X = self._handed(X)
        return getattr(estimator, method)(X)

    @estimator_has("predict")
    def predict(self, X: Any) -> Any:
        """Predict; see the estimator."""
        return self._answer("predict", X)

    @estimator_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Class probabilities; see the estimator."""
        return self._answer("predict_proba", X)

    @estimator_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Scores of the classes; see the estimator."""
        return self._answer("decision_function", X)

    @estimator_has("score")
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The estimator's own score."""
        check_y_names(self, y)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        estimator, X = self._handed(X)
        return float(estimator.score(X, y, **weight))


class BestEstimator(Delegating, MetaEstimatorMixin, TransformerMixin, Estimator):
    """A search over an ``estimator`` that leaves ``best_estimator_``; see the subclasses."""

    estimator: Any
    best_estimator_: Any

    def _describe(self) -> None:
        """Take over what the best estimator says of the data."""
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))

    def _asked(self) -> Any:
        return getattr(self, "best_estimator_", self.estimator)

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def _handed(self, X: Any) -> tuple[Any, Any]:
        return self._best(), X

    def transform(self, X: Any) -> Any:
        """Project; see the estimator."""
        return self._best().transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the components; see the estimator."""
        return self._best().get_feature_names_out(input_features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.transformer_tags, tags.target_tags = inner.transformer_tags, inner.target_tags
        tags.input_tags = inner.input_tags
        return tags
