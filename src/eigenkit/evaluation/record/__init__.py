"""The record of a run: plain data from which every view of it is drawn.

An evaluation makes a :class:`eigenkit.evaluation.record.schema.Run`, :func:`to_dict` turns it into
what JSON can hold, and :func:`from_dict` reads it back with every value checked. The report knows
nothing else. What a record holds is described in :mod:`eigenkit.evaluation.record.schema`.
"""

from eigenkit.evaluation.record.files import (
    RecordError,
    from_dict,
    model_from_dict,
    read_record,
    to_dict,
    write_atomically,
    write_record,
)

__all__ = [
    "RecordError",
    "from_dict",
    "model_from_dict",
    "read_record",
    "to_dict",
    "write_atomically",
    "write_record",
]
