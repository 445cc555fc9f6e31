"""The one home of costs: how fast products are, and how much memory things may take.

On these rests the choice of a method. Sizes at which a single algorithm changes its way stand
there.
"""

from __future__ import annotations

# -- rates: in seconds of a two-core machine; only their ratios matter ---------------------

# Multiply-adds a second: in dense products, in products of a sparse matrix with a dense
# block, and in products of two sparse matrices.
DENSE_RATE = 5e10
BLOCK_RATE = 4.5e9
SPARSE_RATE = 1e8
# Numbers a second that a pass over dense data reads.
READ_RATE = 1e9

# -- limits: far below what a laptop has, so that an error comes before memory runs out ------

# The largest Gram matrix (one of n x n or d x d numbers) that a fit may allocate.
GRAM_LIMIT_BYTES = 2**30

# Sparse data up to this size may be made dense where that gains accuracy; never beyond.
DENSE_LIMIT_BYTES = 2**23

# The largest kernel matrix that a fit may allocate (its factor takes as much again).
KERNEL_LIMIT_BYTES = 2**31

# All kernel matrices together, which are kept while their weights are learned.
BANK_LIMIT_BYTES = 2**32

# The most that a stream may keep, as a factor or as rows.
STREAM_LIMIT_BYTES = 2**30

# What a test keeps of the data, and what all draws of a bootstrap take together.
ANALYSIS_LIMIT_BYTES = 2**31


def fits(side: int) -> bool:
    """Whether a Gram matrix of this order may be allocated."""
    return 8 * side * side <= GRAM_LIMIT_BYTES


def may_be_dense(shape: tuple[int, int]) -> bool:
    """Whether sparse data of this shape may be made dense."""
    return 8 * shape[0] * shape[1] <= DENSE_LIMIT_BYTES
