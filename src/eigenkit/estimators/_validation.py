"""Everything that turns a user's input into clean arrays, or into one clear sentence.

Checks that scikit-learn makes are left to it; what it lets through (masked arrays, dates,
corrupt sparse matrices) or words badly is caught here.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array, validate_data

from eigenkit.data import SAFE_RANGE, check_finite
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.moments import Blocks
from eigenkit.numerics.linalg import Array, power_of_two, real_numbers
from eigenkit.shell import what_is

# Types in which numbers are kept; all others are converted to the first.
PRECISIONS = [np.float64, np.float32]

# -- data -------------------------------------------------------------------------------


def check_X(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    min_samples: int = 1,
    weight: Any = None,
    finite: bool = True,
    own: bool = False,
) -> Any:
    """X as a float array (float32 and float64 stay) or CSR array of finite numbers.

    Rows of zero ``weight`` may hold any numbers.
    ``finite=False`` leaves that last check to :class:`Centered`, which has the sums anyway.
    ``own=True`` is for what a model keeps: the result shares no memory with the caller's X.
    """
    given = X
    X = readable("X", X)
    names = list(getattr(X, "columns", ()))
    if len(set(names)) < len(names):  # they could not be told apart when new samples come
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(
            f"X has several columns named {twice!r}: give each column a different name."
        )
    with plain_words("X"):
        X = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=PRECISIONS,
            ensure_all_finite=False,
            ensure_min_samples=min_samples,
        )
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    if finite:
        check_finite("X", counted(X, weight))
    return owned(X, given) if own else X


# What numpy and scikit-learn say, and what we say instead; {what} is the rest of theirs.
_RAGGED = "{name} is a ragged list: give rows of one length."
COMPLEX = (
    "{name} is complex (Complex data not supported): give real and imaginary parts as separate "
    "columns."
)
_SENTENCES = {
    "fill value must be 0 when converting to COO matrix": "{name} has sparse columns whose fill "
    "value is not 0: give {name}.sparse.to_dense(), or columns with a fill value of 0.",
    "float() argument must be a string or a real number": "{name} holds objects that are not "
    "numbers ({said}): encode or remove them.",
    "could not convert string to float: ": "{name} holds the string {what}, which is not a number: "
    "encode or remove it.",
    "Complex data not supported": COMPLEX,
    "Expected 2D array, got 1D array instead": "{name} has one dimension (Expected 2D array, got "
    "1D array instead). Reshape your data: {name}.reshape(-1, 1) is one column, "
    "{name}.reshape(1, -1) one row.",
    "Sparse data was passed": "{name} is a sparse matrix: give a dense array, as "
    "{name}.toarray() is.",
    "Found array with 0 sample(s)": "{name} has no rows (0 samples): give at least one.",
    "inhomogeneous": _RAGGED,
    "setting an array element with a sequence": _RAGGED,
}


@contextmanager
def plain_words(name: str) -> Iterator[None]:
    """Turn errors of numpy and scikit-learn into one sentence about the argument ``name``."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"{name} holds a number beyond float64: give smaller ones.") from error
    except (TypeError, ValueError) as error:
        said = str(error)
        found = next((start for start in _SENTENCES if start in said), None)
        if found is None:
            raise
        what = said.partition(found)[2].removesuffix(")")
        what = what.removeprefix("np.str_(").removeprefix("np.bytes_(")
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(_SENTENCES[found].format(name=name, said=said, what=what)) from error


def numbers_in(name: str, values: Any) -> Array:
    """An array of floats, or one sentence about the argument ``name``."""
    with plain_words(name):
        return real_numbers(name, values)


Y_COMES_WITH_BLOCKS = "X is a collection of blocks: put y and weights into it, as (X, y, weight)."


def has_no_rows(X: Any, y: Any = None, weight: Any = None) -> bool:
    """Whether X and y have no rows, or all weights are zero."""
    if weight is not None and np.size(weight) and not np.any(weight):
        return True
    given = [A for A in (X, y) if A is not None]
    return bool(given) and all(map(_is_empty, given))


def _is_empty(A: Any) -> bool:
    """Whether a table has no rows; or a list of rows, or of views."""
    if isinstance(A, list | tuple):
        return all(len(getattr(each, "shape", ())) == 2 and _is_empty(each) for each in A)
    return bool(getattr(A, "shape", ())[:1] == (0,))


def check_scores(name: str, scores: Any, l: int) -> Array:
    """Scores as :meth:`transform` gives them, to be mapped back: finite, one column each of l."""
    with plain_words(name):
        scores = check_array(
            readable(name, scores), dtype=PRECISIONS, ensure_all_finite=False, input_name=name
        )
    if scores.shape[1] != l:
        raise ValueError(
            f"{name} has {scores.shape[1]} columns, but the model has {l} components: give scores "
            "as transform returns them."
        )
    check_finite(name, scores)
    return np.asarray(scores)


def owned(A: Any, given: Any) -> Any:
    """A, made from the caller's ``given``; copied where the two may share memory."""
    if isinstance(given, list | tuple):
        return A
    mine, theirs = _memory(A), _memory(given)
    apart = theirs and not any(np.may_share_memory(a, b) for a in mine for b in theirs)
    return A if apart else A.copy()


def _memory(A: Any) -> list[np.ndarray]:
    """The arrays that hold A; none where that cannot be told, as for frames."""
    if sparse.issparse(A):
        parts = (getattr(A, name, None) for name in ("data", "indices", "indptr", "row", "col"))
        return [part for part in parts if isinstance(part, np.ndarray)]
    return [A] if isinstance(A, np.ndarray) else []


def check_weight(sample_weight: Any, n: int) -> Array | None:
    """Weights as float64, None if all are one."""
    if sample_weight is None:
        return None
    refuse_lazy("sample_weight", sample_weight)
    with plain_words("sample_weight"):
        weight = np.asarray(sample_weight)
    for kind, found in (
        ("complex", weight.dtype.kind == "c"),
        ("a masked array", isinstance(sample_weight, np.ma.MaskedArray)),
        ("a sparse matrix", sparse.issparse(sample_weight)),
    ):
        if found:
            raise ValueError(f"sample_weight is {kind}: give plain real numbers, one per row of X.")
    with plain_words("sample_weight"):
        weight = weight.astype(np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar: sample_weight has shape {weight.shape}, "
            "give one number per row of X."
        )
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected ({n},): one weight per row of X."
        )
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise ValueError("sample_weight holds a negative or non-finite number: give weights >= 0.")
    if not np.any(weight > 0):
        raise ValueError("sample_weight is zero for every sample: give some a positive weight.")
    if not SAFE_RANGE[0] < weight.max() < SAFE_RANGE[1]:
        raise ValueError(
            f"sample_weight is at most {weight.max():.2g}, and sums of squares with such weights "
            "leave the range of floating point: scale the weights to sizes near 1."
        )
    return None if np.all(weight == 1) else weight


def counted(X: Any, sample_weight: Any) -> Any:
    """The rows of X that have a weight: nothing is known of the numbers in the others."""
    weight = check_weight(sample_weight, X.shape[0])
    return X if weight is None or weight.all() else X[weight > 0]


def warn_degenerate(constant: np.ndarray, what: str) -> None:
    """Warn once, with the number of features or labels that carry no information."""
    if constant.any():
        first = int(np.argmax(constant))
        warnings.warn(
            f"{int(constant.sum())} of {constant.size} {what} (the first has index {first})",
            DegenerateDataWarning,
            stacklevel=3,
        )


# -- is there anything to learn? ---------------------------------------------------------
# Asked of centred data before anything is solved: Centered and centered_columns have decided
# by then, relative to the size of the numbers, what is constant up to rounding.


NO_VARIANCE = "X has zero variance: every feature is constant over the samples."
NO_DIGITS = (
    "X varies by no more than the rounding of its numbers, which are large beside that. "
    "Subtract the means before the numbers are rounded, or give float64."
)


def check_X_varies(Z: Any) -> None:
    """Refuse data without any variance; say how many dense features have none."""
    if Z.constant.all():
        raise ValueError(NO_VARIANCE)
    if Z.names_constant:
        warn_degenerate(Z.constant, "features are constant and get zero weight")


def warn_lost_features(Z: Any, directions: np.ndarray, lengths: np.ndarray) -> None:
    """Warn of features that vary, but by less than what rounding leaves of the others.

    ``directions`` and ``lengths`` are all singular pairs of Z that were found, in the units of X.
    They give back the length of a feature, or, of one that is lost, only their rounding.
    """
    if len(lengths) >= min(Z.n_samples - 1, Z.shape[1] - int(Z.constant.sum())):
        return
    length = np.sqrt(Z.column_squares())
    there = ~Z.constant & (length > 100 * Z.grain())
    unit = power_of_two(lengths.max(initial=0.0))  # squares may leave the range
    whole = Z.from_X(length)
    found = unit * np.linalg.norm(directions * (lengths / unit), axis=1)
    lost = there & ((found < whole / 2) | (found > 2 * whole))
    warn_degenerate(lost, "features vary too little beside the others to count: scale the features")


def check_y_varies(centred: Any) -> None:
    """Refuse a centred y of zeros."""
    if not centred.any():
        raise ValueError("y is constant: there is nothing to learn from it.")


def check_sides_vary(X: Any, Y: Any) -> None:
    """Refuse centred X or y without any variance."""
    check_X_varies(X)
    check_y_varies(~Y.constant)


# -- kinds of objects -------------------------------------------------------------------


# Packages whose collections may not be in memory, and the method that brings one there.
_LAZY = {"dask": "compute", "polars": "collect"}


def refuse_lazy(name: str, X: Any) -> None:
    """Refuse what is not in memory, before it is asked for anything else."""
    package = type(X).__module__.split(".")[0]
    verb = _LAZY.get(package)
    if verb and hasattr(type(X), verb):  # not of X itself: a frame has its columns as attributes
        kind = f"{package} {type(X).__name__}"
        raise TypeError(f"{name} is a {kind}, which is not in memory: give {name}.{verb}().")


def tabular(X: Any) -> Any:
    """A frame of a kind that scikit-learn does not read, as one that it does."""
    if type(X).__module__.startswith("pyarrow") and hasattr(X, "to_pandas"):
        return X.to_pandas()
    return X


def readable(name: str, X: Any) -> Any:
    """X as numbers can be read from it; refused where they would be misread, or crash a product."""
    refuse_lazy(name, X)
    X = tabular(X)
    if isinstance(X, Iterator):
        raise TypeError(f"{name} is {what_is(X)}: give an array, a frame or a list of rows.")
    if isinstance(X, Blocks):
        raise TypeError(
            f"{name} is a collection of blocks, and this needs arrays: give the blocks one by one, "
            "as blocks.apply does, or all rows at once."
        )
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array: fill in or drop the masked entries first.")
    if sparse.issparse(X):
        if X.ndim != 2:
            raise ValueError(f"{name} is a sparse array with {X.ndim} dimension: give a matrix.")
        if X.format in ("csr", "csc", "bsr"):
            try:  # scipy's products trust the indices; corrupt ones crash them
                X.check_format(full_check=True)
            except (ValueError, TypeError, IndexError) as error:
                raise ValueError(f"{name} is a corrupt sparse matrix: {error}.") from error
        return X
    if X is None or isinstance(X, dict | set | frozenset | str | bytes):
        raise TypeError(f"{name} is {what_is(X)}: give an array, a frame or a list of rows.")
    if isinstance(X, numbers.Number) or getattr(X, "ndim", None) == 0:
        raise ValueError(f"{name} is a single number: give one row for every sample.")
    dtypes = getattr(X, "dtypes", getattr(X, "dtype", ()))
    each = list(dtypes) if np.iterable(dtypes) else [dtypes]
    if any(getattr(dtype, "kind", "O") in "Mm" for dtype in each):
        raise ValueError(f"{name} holds dates or time spans: turn them into numbers first.")
    if getattr(X, "dtype", None) is not None and getattr(X.dtype, "names", None):
        raise ValueError(f"{name} is a structured array: give a plain matrix of numbers.")
    return X


def part_of(model: Any, X: Any, rows: np.ndarray, fitted: np.ndarray) -> Any:
    """Rows of X for a model fitted to the rows ``fitted``: the columns of a precomputed kernel."""
    part = _safe_indexing(X, rows)
    pairwise = model is not None and model.__sklearn_tags__().input_tags.pairwise
    return _safe_indexing(part, fitted, axis=1) if pairwise else part
