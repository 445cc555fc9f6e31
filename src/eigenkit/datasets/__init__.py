"""Data sets by name, and data that are drawn.

:func:`load_dataset` takes a set from the data folder, draws it, or fetches it from its public
source, and gives a :class:`Dataset`; the ``make_`` functions draw data of any size.
"""

from __future__ import annotations

from eigenkit.datasets._generators import make_ndc, make_noise, make_planted
from eigenkit.datasets._load import (
    Dataset,
    data_folder,
    dataset_names,
    describe_dataset,
    load_dataset,
)
from eigenkit.exceptions import DatasetNotFound

__all__ = [
    "Dataset",
    "DatasetNotFound",
    "data_folder",
    "dataset_names",
    "describe_dataset",
    "load_dataset",
    "make_ndc",
    "make_noise",
    "make_planted",
]
