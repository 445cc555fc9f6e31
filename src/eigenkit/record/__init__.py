"""The record of a run: plain data from which every view of it is drawn.

An evaluation makes a :class:`Run`, :func:`to_dict` turns it into what JSON can hold, and
:func:`from_dict` reads it back with every value checked. The report knows nothing else.
"""

from eigenkit.record.files import read_record, write_atomically, write_record
from eigenkit.record.reading import RecordError, from_dict, model_from_dict, to_dict
from eigenkit.record.schema import (
    SCHEMA,
    VERSION,
    AlphaSearch,
    Column,
    ComponentScores,
    Curve,
    Data,
    Failure,
    Feature,
    Hypergraph,
    Label,
    LabelScore,
    LabelSet,
    Loading,
    Method,
    Model,
    Points,
    Protocol,
    Run,
    Score,
    Solved,
    Worst,
)

__all__ = [
    "SCHEMA",
    "VERSION",
    "AlphaSearch",
    "Column",
    "ComponentScores",
    "Curve",
    "Data",
    "Failure",
    "Feature",
    "Hypergraph",
    "Label",
    "LabelScore",
    "LabelSet",
    "Loading",
    "Method",
    "Model",
    "Points",
    "Protocol",
    "RecordError",
    "Run",
    "Score",
    "Solved",
    "Worst",
    "from_dict",
    "model_from_dict",
    "read_record",
    "to_dict",
    "write_atomically",
    "write_record",
]
