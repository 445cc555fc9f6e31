"""Collections of others that are cut into chunks of rows; what is cut otherwise is refused."""

from __future__ import annotations

from typing import Any

import numpy as np


def row_chunks(name: str, collection: Any) -> list[Any]:
    """The chunks of an array or a frame of Dask, each still to be made."""
    delayed = collection.to_delayed()
    if not hasattr(collection, "chunks"):
        return list(delayed)
    chunks = collection.chunks
    if any(np.isnan(size) for size in chunks[0]):
        raise ValueError(
            f"{name} has chunks of unknown lengths: call {name}.compute_chunk_sizes() first."
        )
    if len(chunks) > 1 and len(chunks[1]) > 1:
        raise ValueError(
            f"{name} is cut between columns ({len(chunks[1])} chunks): rechunk it to whole rows, "
            f"{name}.rechunk({{1: -1}})."
        )
    return list(np.ravel(delayed))
