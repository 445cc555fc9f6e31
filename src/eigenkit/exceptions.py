"""Warnings of eigenkit, so that they can be silenced or turned into errors by class."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning


class EigenkitWarning(UserWarning):
    """Base class of all warnings that eigenkit gives."""


class ConvergenceWarning(EigenkitWarning, _SklearnConvergenceWarning):
    """An iterative solver stopped before it reached its tolerance."""


class DegenerateDataWarning(EigenkitWarning):
    """Part of the data carries no information (a constant feature, an empty label)."""


class ConditionWarning(EigenkitWarning):
    """The answer is determined by the data only to few digits, or by construction."""
