"""Streams as values: what was taken in, and results that are found when they are asked for.

``partial_fit`` adds moments and nothing else. What they amount to is a fit like any other, of a
copy of the estimator with the parameters that it had then (:class:`Intake`); it is made when a
result is first looked at, and the results of the stream are those of that copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from eigenkit.estimators._encoding import check_declared
from eigenkit.estimators._validation import has_no_rows, owned
from eigenkit.moments import RESPONSES, Blocks, ClassMoments, Moments
from eigenkit.shell import check_above_zero, checked, is_fitted_name, unchanged_on_error


@dataclass(eq=False)
class Intake:
    """The moments of a stream, and the estimator as it was when it took them in."""

    model: Any
    moments: Moments | ClassMoments

    def check(self) -> None:
        """Check that the moments belong to the model: both may come from a file."""
        self.moments.check(self.model.n_features_in_, self.model._n_labels_)

    @classmethod
    def of(cls, estimator: Any, moments: Moments | ClassMoments) -> Intake:
        """With a copy of the estimator: its parameters, and what its first batch was like."""
        return cls(like(estimator, clone(estimator)), moments)

    def fitted(self) -> Any:
        """The estimator fitted to the moments, once.

        It takes the place of the unfitted one when it is complete, as other threads may be reading.
        """
        model = self.model
        if not model._is_solved:
            model = like(model, clone(model))
            try:
                model._check_in_parts()  # merge may have brought other parameters
                model._learn(self.moments, model._settings())
            except ValueError as error:
                raise NotFittedError(
                    f"this {type(model).__name__} cannot be solved from the "
                    f"{self.moments.n_rows} rows that it has taken in: {error}"
                ) from error
            self.model = model
        return model


class Result:
    """A fitted attribute: ``fit`` sets it, a stream has it from its :class:`Intake`.

    Where there is none, ``advice`` says what to do.
    """

    def __init__(self, advice: str = "") -> None:
        self.advice = advice

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.__doc__ = None  # the attributes are described by the classes that have them

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        intake = vars(model).get("_intake_")
        found = {} if intake is None else vars(intake.fitted())
        if self.name not in found:
            advice = f": {self.advice}" if self.advice else ""
            raise AttributeError(
                f"{type(model).__name__!r} object has no attribute {self.name!r}{advice}"
            )
        return found[self.name]


def results(count: int, advice: str = "") -> tuple[Result, ...]:
    """Fitted attributes, as many as the assignment has names."""
    return tuple(Result(advice) for _ in range(count))


def like(other: Any, model: Any) -> Any:
    """``model`` with what the first rows of ``other`` were like: its columns, its classes."""
    for name, value in vars(other).items():
        if is_fitted_name(name) and name != "_intake_":
            setattr(model, name, value)
    return model


class Streaming:
    """``partial_fit`` and ``merge``, for an estimator that can ``_learn`` from moments."""

    # What the estimator says: its checked parameters, its target, and a batch as rows.
    _settings: Any
    _target: Any = RESPONSES
    _edge_weight: Any = 1.0  # of the labels
    _learn: Any
    _check_X: Any
    _batch: Any
    _n_labels_: int
    _intake_: Intake

    report_ = Result()

    # Whether fit needs nothing but products with the data, which may then come in blocks.
    _in_passes = False

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        classes: Any = None,
        *,
        half_life: float | None = None,
    ) -> Self:
        """Take in one more batch of rows.

        Any partition of the rows into batches, in any order, gives the projection of
        :meth:`fit` on all rows, to rounding. The pencil is solved when a result is first
        asked for, so small batches cost little, with the parameters of the last call: as with
        :meth:`fit`, ``set_params`` takes effect when data are next taken in. A stream begins
        with the first call after the estimator was made or fitted by :meth:`fit`.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`; one row is enough, and a batch of none, or of weights that are
            all zero, changes nothing.
        classes : array, optional
            All classes that will come, where y holds classes and the first batch may lack
            some; in later calls the same, or none.
        half_life : float, optional
            Forget: everything seen before counts half as much after this many rows. By default
            nothing is forgotten.

        Returns
        -------
        self
        """
        checked(self)._settings()
        self._check_in_parts()
        if half_life is not None:
            half_life = check_above_zero("half_life", half_life, hint=", or None")
        if isinstance(X, Blocks):
            raise TypeError(
                "X is a collection of blocks: give it to fit, or give (X, y) one by one."
            )
        if has_no_rows(X, y, sample_weight):
            return self
        first = "_intake_" not in vars(self)
        with unchanged_on_error(self, anew=first):
            check_declared(self, classes)
            # What a stream keeps shares no memory with the caller.
            X = owned(self._check_X(X, reset=first, weight=sample_weight), X)
            rows = self._batch(X, y, sample_weight, classes, first)
            weight = None if rows.weight is None else owned(rows.weight, sample_weight)
            rows = replace(rows, Y=owned(rows.Y, y), weight=weight)
            moments: Any = self._no_moments() if first else self._intake_.moments
            added = moments.add(rows, *self._kind(), half_life=half_life)
            self._intake_ = Intake.of(self, added)
        return self

    def _check_in_parts(self) -> None:
        """Refuse parameters that need all rows at once, for streams and blocks of rows."""

    def merge(self, other: Self) -> Self:
        """Take in all that ``other`` has learned by :meth:`partial_fit`.

        Both must have been fed by ``partial_fit``, with the same features and labels. A new
        estimator that has not seen any data takes over the stream of ``other``, under its own
        parameters: so a stream is solved with another alpha.

        Returns
        -------
        self
        """
        checked(self)._settings()
        if type(other) is not type(self):
            raise TypeError(
                f"other is of the class {type(other).__name__}: merge needs a model of the class "
                f"{type(self).__name__}, as this one is."
            )
        new = not any(map(is_fitted_name, vars(self)))
        for model, name in ((self, "this model"), (other, "other")):
            if "_intake_" not in vars(model) and not (new and model is self):
                raise ValueError(
                    f"{name} keeps no stream: merge needs models that were fed by "
                    "partial_fit, with at least one row of positive weight."
                )
        with unchanged_on_error(self):
            if new:
                like(other, self)
            _check_alike(self, other)
            moments: Any = self._no_moments() if new else self._intake_.moments
            merged = moments.merge(other._intake_.moments, *self._kind())
            self._intake_ = Intake.of(self, merged)
        return self

    def _kind(self) -> tuple[Any, ...]:
        """What the sums depend on beside the rows."""
        return self._target, self._edge_weight

    def _no_moments(self) -> Any:
        return Moments.begin(*self._kind())

    # The result whose presence says that this model itself has all of them.
    _last_result = "components_"

    @property
    def _is_solved(self) -> bool:
        return self._last_result in vars(self)

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_solved or "_intake_" in vars(self)


def _check_alike(model: Any, other: Any) -> None:
    """Refuse streams of different features, labels or classes."""
    mine, theirs = (vars(each).get("feature_names_in_") for each in (model, other))
    if (mine is None) != (theirs is None) or not np.array_equal(mine, theirs):
        raise ValueError(
            "feature_names_in_ differ: give both streams the same columns in the same order, by "
            "name or without names, to merge them."
        )
    if not np.array_equal(*(vars(each).get("_y_names_") for each in (model, other))):
        raise ValueError(
            "the columns of y have different names in other: feed both streams the same "
            "columns in the same order."
        )
    if not np.array_equal(*(vars(each).get("classes_", []) for each in (model, other))):
        raise ValueError(
            "classes_ differ: pass classes= with all of them to the first partial_fit of both."
        )
    for name, what in (("n_features_in_", "columns of X"), ("_n_labels_", "columns of y")):
        mine, theirs = getattr(model, name), getattr(other, name)
        if mine != theirs:
            raise ValueError(
                f"the {what} differ ({mine} here, {theirs} in other): feed both streams the same."
            )
