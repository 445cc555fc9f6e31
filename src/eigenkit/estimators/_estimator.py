"""One way in and one ``fit`` for every estimator.

    parameters  ->  sample  ->  problem  ->  solution  ->  model

An estimator says what its steps are; what they share (that y is there, that X is numbers, that an
error leaves the model as it was) stands here and nowhere else.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    is_classifier,
)
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from eigenkit.data import project
from eigenkit.estimators._blocks import ROW_BY_ROW, blocked_rows, take_blocks
from eigenkit.estimators._described import described
from eigenkit.estimators._encoding import labels_of
from eigenkit.estimators._notebook import fitted_table
from eigenkit.estimators._validation import check_weight, check_X, owned
from eigenkit.late import named
from eigenkit.moments import Blocks, Rows, dense
from eigenkit.shell import Instead, check_choice, lacks, unchanged_on_error
from eigenkit.threads import threads_for

# The displays of eigenkit.analysis, by what they are called here.
PICTURES = {
    "scores": "ScoresDisplay",
    "weights": "WeightsDisplay",
    "loadings": "LoadingsDisplay",
    "biplot": "BiplotDisplay",
    "circle": "CorrelationCircleDisplay",
    "scree": "ScreeDisplay",
    "coefficients": "CoefficientsDisplay",
    "regions": "RegionsDisplay",
}


def check_y_given(model: Any, y: Any) -> None:
    """Refuse a missing y, in the words that scikit-learn's checks look for."""
    if y is None:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
        )


class Estimator(Instead, BaseEstimator):
    """What is fitted to samples; see the module."""

    # Whether y is asked for; otherwise it is ignored.
    _supervised = True
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
        take_blocks(cls, ROW_BY_ROW)

    # -- what a subclass says ----------------------------------------------------------

    def _settings(self) -> Any:
        """The computational choices, all parameters checked."""
        lacks(self, "_settings")

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

    # -- fitting -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Sparse X is never made dense. A precomputed kernel is square, and dense. Or
            :class:`RowBlocks`, with which y comes along, for what fits blocks of rows.
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
        settings = self._settings()
        with unchanged_on_error(self, anew=True), threads_for(X, y):
            self._learn(self._sample(X, y, sample_weight, **more), settings)
        return self

    def _sample(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """All rows at once, or blocks of them."""
        if isinstance(X, Blocks):
            return blocked_rows(self, X, y, sample_weight)
        return self._take(X, y, sample_weight)

    def _take(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The sample: the rows of positive weight."""
        return self._rows(X, y, sample_weight).positive()

    def _learn(self, sample: Any, settings: Any) -> None:
        """State the problem, solve it, keep what is found."""
        problem = self._problem(sample)
        self._keep(problem, self._solve(problem, settings))

    def _problem(self, sample: Any) -> Any:
        """The problem that a sample states, if there is anything to learn from it."""
        problem = self._state(sample)
        self._check_informative(problem)
        return problem

    # -- the sample --------------------------------------------------------------------

    def _rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any = None,
        *,
        reset: bool = True,
        min_samples: int = 2,
        block: bool = False,
    ) -> Rows:
        """Checked rows. The batch of a stream may be one row, and shares no memory with the caller.

        ``block`` says that X has been checked already, and is not kept.
        """
        if self._supervised:
            check_y_given(self, y)
        stays = min_samples == 1 and not block
        if not block:
            given = X
            X = self._check_X(X, reset=reset, min_samples=min_samples)
            X = owned(X, given) if stays or self._keeps_samples else X
        n = X.shape[0]
        Y: Any = np.empty((n, 0))
        if self._supervised:
            Y = self._encode(labels_of(self, y, reset=reset), n, classes, reset)
        if sparse.issparse(Y) and (min_samples == 1 or not self._sparse_labels):
            Y = Y.toarray()
        weight = check_weight(sample_weight, n)
        if stays:
            Y = owned(Y, y) if self._supervised else Y
            weight = None if weight is None else owned(weight, sample_weight)
        if reset:
            self._n_labels_, self._dtype_ = Y.shape[1], X.dtype
        elif Y.shape[1] != self._n_labels_:
            raise ValueError(
                f"y has {Y.shape[1]} columns, the first batch had {self._n_labels_}: give the same."
            )
        return Rows(X, Y, weight)

    def _check_X(self, X: Any, *, reset: bool, min_samples: int = 1) -> Any:
        """X as numbers; in a whole sample, the means will show whether all are finite."""
        finite = min_samples == 1
        return check_X(self, X, reset=reset, min_samples=min_samples, finite=finite)

    # -- showing -----------------------------------------------------------------------

    def plot(self, kind: str = "scores", *samples: Any, **options: Any) -> Any:
        """Draw the fitted model by a display of :mod:`eigenkit.analysis`.

        Parameters
        ----------
        kind : str
            Which display: "scores", "weights", "loadings", "biplot", "circle", "scree",
            "coefficients" or "regions".
        *samples
            X, and y for its colours, of displays that show samples.
        **options
            What else the display's ``from_estimator`` takes, such as ``ax``.

        Returns
        -------
        Display
            With ``ax_`` and ``figure_``.
        """
        name = PICTURES[check_choice("kind", kind, PICTURES)]
        return named(f"eigenkit.analysis:{name}").from_estimator(self, *samples, **options)

    def _html_repr(self) -> str:
        """What a notebook shows: scikit-learn's diagram, and a table of fitted attributes."""
        return f"<div>{estimator_html_repr(self)}{fitted_table(self)}</div>"

    # -- keeping -----------------------------------------------------------------------

    def _cast(self, value: Any) -> Any:
        """Arrays in the precision of X; other values as they are."""
        return value.astype(self._dtype_, copy=False) if isinstance(value, np.ndarray) else value

    def _set(self, **found: Any) -> None:
        """Attributes by their names, all :meth:`_cast`."""
        for name, value in found.items():
            setattr(self, name, self._cast(value))


class Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """An estimator with components, of which every sample has scores."""

    n_components_: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)  # where scikit-learn's set_output comes in
        take_blocks(cls, ("transform",))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._supervised
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@described
class ScoresByName:
    """``score`` for a y of several columns, whose names must be those of the fit.

    Comes before scikit-learn's mixin that says how predictions are scored.
    """

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination of the predictions; of a classifier their accuracy.

        {scored}
        """
        scored: Any = super()
        labels = labels_of(self, y, reset=False)
        labels = labels if is_classifier(self) else dense(labels)
        return float(scored.score(X, labels, sample_weight=sample_weight))


class BothSides(Transformer):
    """X and y both have scores: :meth:`transform` gives one or both."""

    y_mean_: Any
    y_rotations_: Any

    def _scores_of_x(self, X: Any) -> Any:
        lacks(self, "_scores_of_x")

    def _scores_of_y(self, Y: Any) -> Any:
        """The scores of y, given as numbers with the columns that it had in fit."""
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
        check_is_fitted(self)
        x_scores = self._scores_of_x(X)
        if y is None:
            return x_scores
        Y = self._encode(labels_of(self, y, reset=False), len(x_scores), None, reset=False)
        if Y.shape[1] != self._n_labels_:
            raise ValueError(
                f"y has {Y.shape[1]} columns, but {type(self).__name__} was fitted with "
                f"{self._n_labels_}."
            )
        return x_scores, self._cast(self._scores_of_y(Y))
