"""Streams and blocks of rows for the PLS family: X'X, X'Y and Y'Y are all that it needs."""

from __future__ import annotations

from typing import Any

from eigenkit.estimators._cross_decomposition import CrossDecomposition, Fit, Pair
from eigenkit.estimators._streams import Result, Streaming
from eigenkit.moments import Rows
from eigenkit.targets import TARGETS, Target

_NO_SCORES = "a stream keeps no rows, use transform"


class StreamedPLS(Streaming, CrossDecomposition):
    """What can be fitted to rows as they come, or to blocks of them."""

    x_mean_ = Result()
    y_mean_ = Result()
    x_std_ = Result()
    y_std_ = Result()
    x_weights_ = Result()
    y_weights_ = Result()
    x_rotations_ = Result()
    y_rotations_ = Result()
    x_loadings_ = Result()
    y_loadings_ = Result()
    x_explained_variance_ratio_ = Result()
    y_explained_variance_ratio_ = Result()
    x_scores_ = Result(_NO_SCORES)
    y_scores_ = Result(_NO_SCORES)
    n_components_ = Result()
    _score_std_ = Result()
    _n_samples_ = Result()
    coef_ = Result()
    intercept_ = Result()
    n_iter_ = Result()
    singular_values_ = Result()

    def _target(self) -> Target:
        return TARGETS["opls"]

    def _edge_weight(self, n_labels: int) -> float:
        return 1.0

    @property
    def _is_solved(self) -> bool:
        return "n_components_" in vars(self)

    def _state(self, sample: Any) -> Pair:
        if sample.whole is not None:
            return super()._state(sample.whole)
        summary = sample.summary(self._target()).without_rounding()
        X, Y = summary.sides()
        rows = Rows(X.toarray(), Y.toarray(), None)
        return Pair(None, rows, None, X, Y)

    def _keep_scores(self, pair: Pair, fit: Fit) -> None:
        if pair.given is not None:
            super()._keep_scores(pair, fit)
