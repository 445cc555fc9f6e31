"""What things cost: one home for rates and limits, on which the choice of a method rests.

Seconds of a two-core machine; only their ratios matter.
"""

from __future__ import annotations

# Multiply-adds a second: in dense products, in products of a sparse matrix with a dense
# block, and in products of two sparse matrices.
DENSE_RATE = 5e10
BLOCK_RATE = 4.5e9
SPARSE_RATE = 1e8
# Numbers a second that a pass over dense data reads.
READ_RATE = 1e9

# The largest Gram matrix (one of n x n or d x d numbers) that a fit may allocate.
GRAM_LIMIT_BYTES = 2**30

# Sparse data up to this size may be made dense where that gains accuracy; never beyond.
DENSE_LIMIT_BYTES = 2**23


def fits(side: int) -> bool:
    """Whether a Gram matrix of this order may be allocated."""
    return 8 * side * side <= GRAM_LIMIT_BYTES
