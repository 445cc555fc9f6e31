"""Data behind one protocol: solvers multiply, and never ask what kind it is.

:class:`Data` is the protocol. ``Centered(X, weight)`` is dense or sparse data by what X is,
:class:`CenteredKernel` the features of a kernel. Centring, weights and units stand once, in
:mod:`eigenkit.data.centered`; a kind says how to multiply.
"""

from eigenkit.data.blocked import Blocked, Targets
from eigenkit.data.centered import Centered, correlations
from eigenkit.data.columns import (
    SAFE_RANGE,
    SCALABLE,
    arrays_of,
    as_dense,
    centered_columns,
    check_finite,
    check_size,
    column_sums,
    constant_columns,
    largest,
    project,
    scaled,
    shifted,
    stored,
    sum_of_squares,
)
from eigenkit.data.dense import SideBySide
from eigenkit.data.kernel import CenteredKernel
from eigenkit.data.passes import LocalPasses, Passes, Steady, Survey, Through, survey_of
from eigenkit.data.protocol import DENSE_LIMIT_BYTES, Data, one_sample
from eigenkit.data.sparse import SparseRows, add_transposed, sparse_product

__all__ = [
    "DENSE_LIMIT_BYTES",
    "SAFE_RANGE",
    "SCALABLE",
    "Blocked",
    "Centered",
    "CenteredKernel",
    "Data",
    "LocalPasses",
    "Passes",
    "SideBySide",
    "SparseRows",
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
    "column_sums",
    "constant_columns",
    "correlations",
    "largest",
    "one_sample",
    "project",
    "scaled",
    "shifted",
    "sparse_product",
    "stored",
    "sum_of_squares",
    "survey_of",
]
