"""Data behind one protocol: solvers multiply, and never ask what kind it is.

:class:`Data` is the protocol, with weights and units. ``Centered(X, weight)`` is dense or sparse
data by what X is, :class:`CenteredKernel` the features of a kernel. A kind says how to multiply,
and is known once it is imported here.
"""

from eigenkit.data.blocked import Blocked
from eigenkit.data.centered import Centered, correlations
from eigenkit.data.dense import SideBySide
from eigenkit.data.derived import Linked, Rescaled
from eigenkit.data.kernel import CenteredKernel
from eigenkit.data.matrices import (
    SAFE_RANGE,
    SCALABLE,
    add_transposed,
    arrays_of,
    as_dense,
    centered_columns,
    check_finite,
    check_size,
    constant_columns,
    largest,
    one_sample,
    project,
    scaled,
    shifted,
    sparse_labels,
    sparse_product,
    stored,
)
from eigenkit.data.passes import LocalPasses, Passes, Steady, Survey, Through, survey_of
from eigenkit.data.protocol import Data, SparseTarget, Targets

__all__ = [
    "SAFE_RANGE",
    "SCALABLE",
    "Blocked",
    "Centered",
    "CenteredKernel",
    "Data",
    "Linked",
    "LocalPasses",
    "Passes",
    "Rescaled",
    "SideBySide",
    "SparseTarget",
    "Steady",
    "Survey",
    "Targets",
    "Through",
    "add_transposed",
    "arrays_of",
    "as_dense",
    "centered_columns",
    "check_finite",
    "check_size",
    "constant_columns",
    "correlations",
    "largest",
    "one_sample",
    "project",
    "scaled",
    "shifted",
    "sparse_labels",
    "sparse_product",
    "stored",
    "survey_of",
]
