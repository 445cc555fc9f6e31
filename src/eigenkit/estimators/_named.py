"""``score`` for a y of several columns, whose names must be those of the fit."""

from __future__ import annotations

from typing import Any

from eigenkit.estimators._described import described
from eigenkit.estimators._encoding import labels_of


@described
class ScoresByName:
    """Comes before scikit-learn's mixin that says how predictions are scored."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination of the predictions; of a classifier their accuracy.

        {scored}
        """
        scored: Any = super()
        labels = labels_of(self, y, reset=False)
        return float(scored.score(X, labels, sample_weight=sample_weight))
