"""The former home of :mod:`eigenkit.data`."""

from eigenkit.data import *  # noqa: F403
from eigenkit.sparse_rows import BLOCK_BYTES as BLOCK_BYTES
