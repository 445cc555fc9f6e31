"""Warnings and errors of eigenkit, so that they can be told apart by class."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning


class EigenkitWarning(UserWarning):
    """Base class of all warnings that eigenkit gives."""


class ConvergenceWarning(EigenkitWarning, _SklearnConvergenceWarning):
    """An iterative solver stopped before it reached its tolerance."""


def warn_of_stopping(said: str) -> None:
    """Warn, where the solver was called, that it stopped early: in a sentence of what to do."""
    warnings.warn(said, ConvergenceWarning, stacklevel=3)


class DegenerateDataWarning(EigenkitWarning):
    """Part of the data carries no information (a constant feature, an empty label)."""


class ConditionWarning(EigenkitWarning):
    """The answer is determined by the data only to few digits, or by construction."""


class RepeatedBatchWarning(EigenkitWarning):
    """A batch of a stream came twice; it counts once."""


class ImageWarning(EigenkitWarning):
    """Something about images or their terms that the user should know."""


class DatasetNotFound(OSError):
    """A known data set is not available here, and cannot be fetched."""
