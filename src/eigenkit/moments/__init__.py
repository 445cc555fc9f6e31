"""What a stream must remember: exactly as much as the pencil needs, and it adds up.

Nothing is smaller than the rows themselves while there are few of them (:class:`Rows`, the case
of ``fit`` too). Beyond that a factor R of the centred scatter of [X G] takes their place
(:class:`Factor`), with G the part of the target that a row has by itself or, for targets that
have none, one indicator column per distinct label set:

    R'R = [X G]c' [X G]c,   H = R_G M,   M from sums over all samples

so (R_X, H) states the same pencil as the rows did, with nothing squared: R is stacked and
factored by QR. Two summaries merge by stacking their factors and one row for the difference
of their means. Streams, batches and merged models are this one addition, in any order
(:class:`eigenkit.moments.Moments`: a factor of what is old, and recent rows as they came).

A stream may forget: a row that has seen a more after it counts 2^(-a / half_life). Sums of
weights fade by that factor, R by its root.
"""

from eigenkit.moments.blocked import BlockedRows, Blocks
from eigenkit.moments.graph import GraphRows, SparseGraphRows
from eigenkit.moments.rows import RESPONSES, Factor, KernelMatrix, Problem, Rows
from eigenkit.moments.stream import ClassMoments, Moments

__all__ = [
    "RESPONSES",
    "BlockedRows",
    "Blocks",
    "ClassMoments",
    "Factor",
    "GraphRows",
    "KernelMatrix",
    "Moments",
    "Problem",
    "Rows",
    "SparseGraphRows",
]
