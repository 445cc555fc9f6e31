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
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_array, validate_data

from eigenkit.data import SAFE_RANGE, check_finite, check_size
from eigenkit.exceptions import DegenerateDataWarning
from eigenkit.linalg import Array
from eigenkit.moments import Blocks
from eigenkit.shell import check_choice, check_count


def check_solver(value: Any, choices: Any) -> str:
    """``value``, one of ``choices``, which all reach the same answer."""
    if isinstance(value, str) and value == "least_squares":
        raise ValueError(
            "solver='least_squares' would be another model: use LeastSquaresProjection, or choose "
            f"one of {', '.join(repr(choice) for choice in choices)}."
        )
    return check_choice("solver", value, choices)


def check_label_rank(value: Any) -> int | str | None:
    """None, "auto" or a count."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    return check_count("label_rank", value, hint=", 'auto' or None for all")


# -- data -------------------------------------------------------------------------------


def check_X(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    min_samples: int = 1,
    finite: bool = True,
    own: bool = False,
) -> Any:
    """X as a float array (float32 and float64 stay) or CSR array of finite numbers.

    ``finite=False`` leaves that last check to :class:`Centered`, which has the sums anyway.
    ``own=True`` is for what a model keeps: the result shares no memory with the caller's X.
    """
    given = X
    X = _tabular(X)
    _refuse("X", X)
    _refuse_names(X)
    with plain_words("X"):
        X = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=min_samples,
        )
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    if finite:
        check_finite("X", X.data if sparse.issparse(X) else X)
    return owned(X, given) if own else X


@contextmanager
def plain_words(name: str) -> Iterator[None]:
    """What numpy and scikit-learn say in several lines, as one sentence about the argument."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        if said.startswith("could not convert string to float: "):
            what = said.removeprefix("could not convert string to float: ")
            what = what.removeprefix("np.str_(").removesuffix(")")
            raise ValueError(
                f"{name} holds the string {what}, which is not a number: encode or remove it."
            ) from error
        if said.startswith("Complex data not supported"):
            raise ValueError(
                f"{name} is complex (Complex data not supported): give real and imaginary parts as "
                "columns of their own."
            ) from error
        if said.startswith("Expected 2D array, got 1D array instead"):
            raise ValueError(
                f"{name} has one dimension (Expected 2D array, got 1D array instead). Reshape your "
                f"data: {name}.reshape(-1, 1) is one column, {name}.reshape(1, -1) one row."
            ) from error
        if "inhomogeneous" in said or said.startswith("setting an array element with a sequence"):
            raise ValueError(f"{name} is a ragged list: give rows of one length.") from error
        raise


def check_scores(name: str, scores: Any, l: int) -> Array:
    """Scores as :meth:`transform` gives them, to be mapped back: finite, one column each of l."""
    _refuse(name, scores)
    with plain_words(name):
        scores = check_array(
            _tabular(scores),
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            input_name=name,
        )
    if scores.shape[1] != l:
        raise ValueError(
            f"{name} has {scores.shape[1]} columns, but the model has {l} components: give scores "
            "as transform returns them."
        )
    check_finite(name, scores)
    return np.asarray(scores)


def owned(A: Any, given: Any) -> Any:
    """A, which came of what the caller gave; a copy of it where the two may share memory."""
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


def as_labels(y: Any, name: str = "y") -> Any:
    """y as an array (or the sparse matrix that it is), nothing else checked yet."""
    y = _tabular(y)
    _refuse(name, y)
    if sparse.issparse(y):
        return y
    try:
        y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    except ValueError as error:
        raise ValueError(
            f"{name} is a ragged list: encode lists of labels with MultiLabelBinarizer."
        ) from error
    if y.dtype.kind != "O":
        return y
    # pandas' missing value answers no comparison: as NaN it is found like the others.
    missing = [type(value).__name__ == "NAType" for value in y.ravel()]
    return np.where(np.reshape(missing, y.shape), np.nan, y) if any(missing) else y


def check_numeric_Y(
    Y: Any, n: int, limits: tuple[float, float] = SAFE_RANGE, *, gaps: bool = False
) -> Array:
    """Y as a float64 matrix of real numbers (n x k), one column for one response.

    Its largest number must lie within the limits: wider ones are for methods that scale y. With
    ``gaps`` NaN stands for entries that are missing.
    """
    if sparse.issparse(Y):
        Y = Y.toarray()
    how: dict[str, Any] = {"ensure_2d": False, "allow_nd": True, "ensure_all_finite": False}
    with plain_words("y"):
        Y = check_array(Y, dtype=np.float64, input_name="y", **how)
    if Y.ndim > 2:
        raise ValueError(f"y has {Y.ndim} dimensions: give one response, or a matrix of them.")
    Y = Y.reshape(len(Y), -1)
    check_same_rows(n, len(Y))
    known = np.nan_to_num(Y, posinf=np.inf, neginf=-np.inf) if gaps else Y
    check_finite("y", known)
    check_size("y", float(max(known.max(initial=0.0), -known.min(initial=0.0))), limits)
    return np.asarray(Y)


def check_sparse_Y(Y: Any, n: int) -> sparse.csr_array:
    """Sparse Y as a CSR matrix of real numbers (n x k), by what is stored."""
    if Y.dtype.kind not in "biuf":
        raise ValueError(f"y is a sparse matrix of {Y.dtype}: give real numbers.")
    Y = sparse.csr_array(Y, dtype=np.float64)
    if not Y.has_canonical_format:
        Y = Y.copy()
        Y.sum_duplicates()
    check_same_rows(n, Y.shape[0])
    check_finite("y", Y.data)
    check_size("y", float(np.abs(Y.data).max(initial=0.0)), SAFE_RANGE)
    return Y


def check_indicator(Y: Any, n: int) -> Any:
    """Y as a float64 0/1 matrix (n x k), sparse if it was."""
    Y = check_sparse_Y(Y, n) if sparse.issparse(Y) else check_numeric_Y(Y, n)
    stored = Y.data if sparse.issparse(Y) else Y
    fine = (stored == 0) | (stored == 1)
    if not fine.all():
        raise ValueError(
            f"y holds {stored[~fine][0]:g}: as a label matrix it must hold only 0 and 1 "
            "(encode lists of labels with MultiLabelBinarizer)."
        )
    return Y


def check_classes(y: Any, n: int, *, instead: str) -> np.ndarray:
    """y as one class per sample; ``instead`` says what to use for several."""
    if sparse.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
        raise ValueError(f"y has several columns, but each sample has one class here: {instead}.")
    if y.ndim == 2:
        warnings.warn(_column_vector_warning(), stacklevel=2)
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"y has {y.ndim} dimensions: give one class per sample.")
    check_same_rows(n, len(y))
    if y.dtype.kind == "O" and any(v is None or v != v for v in y):
        raise ValueError("y holds a missing class (None or NaN): give every sample a class.")
    if y.dtype.kind == "f":
        check_finite("y", y)
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"Unknown label type: {kind}: y must hold classes, not measurements.")
    return np.asarray(y)


def _column_vector_warning() -> Any:
    from sklearn.exceptions import DataConversionWarning

    return DataConversionWarning(
        "A column-vector y was passed when a 1d array was expected: give y with shape (n,)."
    )


def check_same_rows(n: int, n_y: int) -> None:
    """X and y must describe the same samples."""
    if n != n_y:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {n} rows of X, {n_y} of y."
        )


def check_groups(groups: Any, n: int) -> np.ndarray:
    """The group of every sample, as a number."""
    groups = as_labels(groups, "groups")
    if groups.shape != (n,):
        raise ValueError(
            f"groups has shape {groups.shape}: give one group for each of {n} samples."
        )
    if any(group is None or group != group for group in groups):
        raise ValueError("groups holds a missing value (None or NaN): give every row a group.")
    names = {name: i for i, name in enumerate(dict.fromkeys(groups.tolist()))}
    return np.array([names[name] for name in groups.tolist()])


def check_weight(sample_weight: Any, n: int) -> Array | None:
    """Weights as float64, None if all are one."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight)
    if isinstance(sample_weight, np.ma.MaskedArray) or weight.dtype.kind == "c":
        kind = "complex" if weight.dtype.kind == "c" else "a masked array"
        raise ValueError(f"sample_weight is {kind}: give plain real numbers, one per row of X.")
    weight = weight.astype(np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
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


def indicator_matrix(y: np.ndarray, classes: np.ndarray) -> sparse.csr_array:
    """Sparse 0/1 matrix with a column per class; a class that is not declared is an error."""
    index = np.searchsorted(classes, y)
    index[index == len(classes)] = 0
    unseen = classes[index] != y
    if np.any(unseen):
        raise ValueError(
            f"y holds the class {y[unseen][0]!r}, which the first call did not declare: "
            "pass classes= with all of them to the first partial_fit."
        )
    n, k = len(y), len(classes)
    return sparse.csr_array((np.ones(n), index, np.arange(n + 1)), shape=(n, k))


def warn_degenerate(constant: np.ndarray, what: str) -> None:
    """Say once how many features or labels carry no information."""
    if constant.any():
        first = int(np.argmax(constant))
        warnings.warn(
            f"{int(constant.sum())} of {constant.size} {what} (the first is number {first})",
            DegenerateDataWarning,
            stacklevel=3,
        )


# -- is there anything to learn? ---------------------------------------------------------
# Asked of centred data before anything is solved: Centered and centered_columns have decided
# by then, relative to the size of the numbers, what is constant up to rounding.


NO_VARIANCE = "X has zero variance: every feature is constant over the samples."


def check_X_varies(Z: Any) -> None:
    """Refuse data without any variance; say how many dense features have none."""
    if Z.constant.all():
        raise ValueError(NO_VARIANCE)
    if Z.names_constant:
        warn_degenerate(Z.constant, "features are constant and get zero weight")


def check_y_varies(centred: Any) -> None:
    """Refuse a centred y of zeros."""
    if not centred.any():
        raise ValueError("y is constant: there is nothing to learn from it.")


# -- kinds of objects -------------------------------------------------------------------


def _tabular(X: Any) -> Any:
    """A frame of a kind that scikit-learn does not read, as one that it does."""
    if type(X).__module__.startswith("pyarrow") and hasattr(X, "to_pandas"):
        return X.to_pandas()
    return X


def _refuse(name: str, X: Any) -> None:
    """Objects that would be misread as numbers, or that crash compiled code."""
    if isinstance(X, Iterator):
        raise TypeError(
            f"{name} is a {type(X).__name__}: give an array, a frame or a list of rows."
        )
    if type(X).__module__.split(".")[0] == "dask":
        raise TypeError(
            f"{name} is a dask collection, which is not in memory: give {name}.compute(), or call "
            "partial_fit block by block."
        )
    if isinstance(X, Blocks):
        raise TypeError(f"{name} is blocks of rows: give them one by one, as blocks.apply does.")
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array: fill in or drop the masked entries first.")
    if sparse.issparse(X):
        _check_sparse(name, X)
        return
    if X is None or isinstance(X, dict | set | frozenset | str | bytes):
        raise TypeError(
            f"{name} is a {type(X).__name__}: give an array, a frame or a list of rows."
        )
    if isinstance(X, numbers.Number) or getattr(X, "ndim", None) == 0:
        raise ValueError(f"{name} is a single number: give one row for every sample.")
    kinds = [getattr(t, "kind", "O") for t in _dtypes(X)]
    if "M" in kinds or "m" in kinds:
        raise ValueError(f"{name} holds dates or time spans: turn them into numbers first.")
    if getattr(X, "dtype", None) is not None and getattr(X.dtype, "names", None):
        raise ValueError(f"{name} is a structured array: give a plain matrix of numbers.")


def _refuse_names(X: Any) -> None:
    """Two columns of one name cannot be told apart when new samples come."""
    names = list(X.columns) if hasattr(X, "columns") else []
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(
            f"X has several columns named {twice!r}: give every column a name of its own."
        )


def _dtypes(X: Any) -> list[Any]:
    if hasattr(X, "dtypes"):
        dtypes = X.dtypes
        return list(dtypes) if np.iterable(dtypes) else [dtypes]
    return [X.dtype] if hasattr(X, "dtype") else []


def _check_sparse(name: str, X: Any) -> None:
    """scipy's products trust the indices of a sparse matrix; a corrupt one crashes them."""
    if X.ndim != 2:
        raise ValueError(f"{name} is a sparse array with {X.ndim} dimension: give a matrix.")
    if X.format not in ("csr", "csc", "bsr"):
        return
    try:
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{name} is a corrupt sparse matrix: {error}.") from error
