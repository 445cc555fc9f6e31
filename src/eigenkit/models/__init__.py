"""Fitted pipelines from file to labels, and model files that run no code when read."""

from __future__ import annotations

from eigenkit.late import versions
from eigenkit.models._choosing import ComponentsCV
from eigenkit.models._features import MISSING, SCALES, TEXT_KINDS, Features, Preparation, TextColumn
from eigenkit.models._fitting import fit_model
from eigenkit.models._linear import Linear
from eigenkit.models._model import Model, load, merge_models, save
from eigenkit.models._row_blocks import RowBlocks
from eigenkit.models._stream import Stream

__all__ = [
    "MISSING",
    "SCALES",
    "TEXT_KINDS",
    "ComponentsCV",
    "Features",
    "Linear",
    "Model",
    "Preparation",
    "RowBlocks",
    "Stream",
    "TextColumn",
    "fit_model",
    "load",
    "merge_models",
    "save",
    "versions",
]
