"""What y may be, and the matrix Y that it becomes; classes are remembered by the model."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_array

from eigenkit.data import SAFE_RANGE, as_dense, check_finite, check_size, largest
from eigenkit.estimators._validation import (
    COMPLEX,
    PRECISIONS,
    plain_words,
    readable,
    refuse_lazy,
    tabular,
)
from eigenkit.numerics.linalg import Array
from eigenkit.numerics.threads import thread_map
from eigenkit.shell import shown

# How much of y is compared with 0 and 1 at a time.
FEW_BYTES = 2**18

ONE_EACH = "y holds {} classes for {} samples: some class needs more than one sample."


def check_y_given(model: Any, y: Any) -> None:
    """Refuse a missing y, in the words that scikit-learn's checks look for."""
    if y is None:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
        )


def as_labels(y: Any, name: str = "y") -> Any:
    """y as an array (or the sparse matrix that it is), nothing else checked yet."""
    y = readable(name, y)
    if sparse.issparse(y):
        return y
    try:
        y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    except ValueError as error:
        raise ValueError(
            f"{name} is a ragged list: encode lists of labels with MultiLabelBinarizer."
        ) from error
    if y.dtype.kind == "T":
        y = y.astype(object)  # numpy's strings of any length, which scikit-learn cannot sort out
    if y.dtype.kind == "c":
        raise ValueError(COMPLEX.format(name=name))
    if y.dtype.kind != "O":
        return y if y.dtype.isnative else y.astype(y.dtype.newbyteorder("="))
    kinds = set(map(type, y.ravel()))
    if kinds and kinds <= {bool, np.bool_}:
        return y.astype(bool)  # as they come from pandas' columns that may have gaps
    if kinds and all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        return np.array(y.tolist())  # as they come from tables with columns of several kinds
    # pandas' missing value answers no comparison: as NaN it is found like the others.
    if not any(kind.__name__ == "NAType" for kind in kinds):
        return y
    missing = [type(value).__name__ == "NAType" for value in y.ravel()]
    return np.where(np.reshape(missing, y.shape), np.nan, y)


def labels_of(model: Any, y: Any, *, reset: bool) -> Any:
    """y as an array whose columns are those that the model knows; ``reset`` makes it know them."""
    check_y_given(model, y)
    check_y_names(model, y, reset=reset)
    return as_labels(y)


def check_y_names(model: Any, y: Any, *, reset: bool = False) -> None:
    """Refuse a frame with columns of other names than y had in the fit; ``reset`` keeps its own."""
    refuse_lazy("y", y)
    if reset:
        vars(model).pop("_y_names_", None)
    names, known = list(getattr(tabular(y), "columns", ())), vars(model).get("_y_names_")
    if not names or not all(isinstance(name, str) for name in names):
        return
    if reset:
        model._y_names_ = np.array(names)
    elif known is not None and not np.array_equal(known, np.array(names)):
        raise ValueError(
            f"y has the columns {shown(names)}, but {type(model).__name__} was fitted with "
            f"{shown(known.tolist())}: give the same in the same order."
        )


def check_numeric_Y(
    Y: Any, n: int, limits: tuple[float, float] = SAFE_RANGE, *, gaps: bool = False
) -> Array:
    """Y as a matrix of real numbers (n x k), one column for one response.

    In single precision only if it came so: then its rounding is larger. Its largest number must
    lie within the limits: wider ones are for methods that scale y. With ``gaps`` NaN stands for
    entries that are missing.
    """
    Y = _float_matrix(Y, n)
    _check_numbers(np.nan_to_num(Y, posinf=np.inf, neginf=-np.inf) if gaps else Y, limits)
    return np.asarray(Y)


def _float_matrix(Y: Any, n: int) -> Array:
    if sparse.issparse(Y):
        Y = Y.toarray()
    how: dict[str, Any] = {"ensure_2d": False, "allow_nd": True, "ensure_all_finite": False}
    with plain_words("y"):
        Y = check_array(Y, dtype=PRECISIONS, input_name="y", **how)
    if Y.ndim > 2:
        raise ValueError(f"y has {Y.ndim} dimensions: give one response, or a matrix of them.")
    Y = Y.reshape(len(Y), -1)
    check_same_rows(n, len(Y))
    return np.asarray(Y)


def _check_numbers(Y: Array, limits: tuple[float, float] = SAFE_RANGE) -> None:
    check_finite("y", Y)
    check_size("y", largest(Y), limits)


def check_sparse_Y(Y: Any, n: int) -> sparse.csr_array:
    """Sparse Y as a CSR matrix of real numbers (n x k), by what is stored."""
    if Y.dtype.kind not in "biuf":
        raise ValueError(f"y is a sparse matrix of {Y.dtype}: give real numbers.")
    Y = sparse.csr_array(Y, dtype=Y.dtype if Y.dtype in PRECISIONS else np.float64)
    if not Y.has_canonical_format:
        Y = Y.copy()
        Y.sum_duplicates()
    check_same_rows(n, Y.shape[0])
    _check_numbers(Y.data)
    return Y


def check_indicator(Y: Any, n: int) -> Any:
    """Y as a float64 0/1 matrix (n x k), sparse if it was."""
    Y = check_sparse_Y(Y, n) if sparse.issparse(Y) else _float_matrix(Y, n)
    values = Y.data if sparse.issparse(Y) else Y
    # Blocks stay in the cache, and what is 0 or 1 needs no other check.
    step = max(1, FEW_BYTES * len(values) // max(1, values.nbytes))
    parts = [values[i : i + step] for i in range(0, len(values), step)]
    others = thread_map(lambda part: part[(part != 0) & (part != 1)], parts, values.size)
    if any(map(len, others)):
        _check_numbers(values)
        raise ValueError(
            f"y holds {np.concatenate(others)[0]:g}: as a label matrix it must hold only 0 and 1 "
            "(encode lists of labels with MultiLabelBinarizer)."
        )
    return Y.astype(np.float64, copy=False)


def check_classes(y: Any, n: int, *, instead: str) -> np.ndarray:
    """y as one class per sample; ``instead`` says what to use for several."""
    if y.dtype.kind in "iub" and y.shape == (n,):
        return np.asarray(y)
    if sparse.issparse(y) and y.shape[1] == 1:
        raise ValueError("y is a sparse matrix: give an array of one class per sample.")
    if y.ndim == 2 and y.shape[1] == 0:
        raise ValueError("y has no columns: give one class per sample.")
    if sparse.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
        raise ValueError(f"y has several columns, but each sample has one class here: {instead}.")
    if y.ndim == 2:
        said = "A column-vector y was passed when a 1d array was expected: give y with shape (n,)."
        warnings.warn(said, DataConversionWarning, stacklevel=2)
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"y has {y.ndim} dimensions: give one class per sample.")
    check_same_rows(n, len(y))
    types = set(map(type, y)) if y.dtype.kind == "O" else set()
    strings = types == {str}
    if y.dtype.kind == "O" and not strings and any(v is None or v != v for v in y):
        raise ValueError("y holds a missing class (None or NaN): give every sample a class.")
    if y.dtype.kind == "S" or bytes in types:
        raise ValueError("y holds bytes: decode them to text first, as numpy.char.decode does.")
    if len({issubclass(kind, str) for kind in types}) > 1:
        raise ValueError(
            "y holds strings and other classes, which have no order: make all of them strings."
        )
    if y.dtype.kind == "f":
        check_finite("y", y)
    plain = strings or y.dtype.kind in "iub"
    kind = "multiclass" if plain else type_of_target(y, input_name="y")
    if kind == "unknown":
        found = ", ".join(sorted(each.__name__ for each in types))
        raise ValueError(
            f"Unknown label type: y holds objects ({found}): give classes as strings or integers."
        )
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"Unknown label type: {kind}: y must hold classes, not measurements.")
    return np.asarray(y)


def check_same_rows(n: int, n_y: int) -> None:
    """X and y must describe the same samples."""
    if n != n_y:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {n} rows of X, {n_y} of y."
        )


def check_groups(groups: Any, n: int, each: str = "group for each of {n} samples") -> np.ndarray:
    """The group of every sample, as a number in the order of the groups, as scikit-learn has them.

    Groups of several kinds, which have no order, are counted as they come.
    """
    groups = as_labels(groups, "groups")
    if groups.shape != (n,):
        raise ValueError(f"groups has shape {groups.shape}: give one {each.format(n=n)}.")
    if any(group is None or group != group for group in groups):
        raise ValueError("groups holds a missing value (None or NaN): give every one a group.")
    names = list(dict.fromkeys(groups.tolist()))
    with suppress(TypeError):
        names.sort()
    place = {name: i for i, name in enumerate(names)}
    return np.array([place[name] for name in groups.tolist()])


def distinct_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes in their order, and the place of every sample's among them.

    Objects are looked up, which is many times as quick as sorting all of them.
    """
    if y.dtype.kind != "O":
        classes, index = np.unique(y, return_inverse=True)
        return classes, index
    values = y.tolist()
    classes = np.unique(np.fromiter(dict.fromkeys(values), dtype=object))
    place = {name: j for j, name in enumerate(classes.tolist())}
    return classes, np.fromiter(map(place.__getitem__, values), np.intp, len(values))


def class_numbers(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The place of every class of y among all; one that is not among them is an error."""
    index = np.searchsorted(classes, y)
    index[index == len(classes)] = 0
    unseen = classes[index] != y
    if np.any(unseen):
        raise ValueError(
            f"y holds the class {shown(y[unseen][0])}, which the model does not know: fit it with "
            "rows of all classes, or pass classes= to the first partial_fit or to RowBlocks."
        )
    return index


def check_declared(model: Any, classes: Any) -> None:
    """Refuse other classes than a stream began with."""
    known = vars(model).get("classes_")
    if classes is None or known is None:
        return
    given = np.unique(as_labels(classes, "classes"))
    if not np.array_equal(given, known):
        raise ValueError(
            f"classes={shown(given.tolist())} is not the same as on the first call to partial_fit, "
            f"which knew {shown(known.tolist())}: give the same, or none."
        )


def indicator_matrix(index: np.ndarray, k: int) -> sparse.csr_array:
    """Sparse 0/1 matrix with a column for each of k classes, whose numbers are given."""
    n = len(index)
    return sparse.csr_array((np.ones(n), index, np.arange(n + 1)), shape=(n, k))


def encode_classes(model: Any, y: Any, n: int, classes: Any, reset: bool, instead: str) -> Array:
    """One class per sample as indicator columns of ``model.classes_``."""
    return np.asarray(class_columns(model, y, n, classes, reset, instead).toarray())


def class_columns(model: Any, *given: Any) -> sparse.csr_array:
    """The same as a sparse matrix."""
    index = class_index(model, *given)
    return indicator_matrix(index, len(model.classes_))


def class_index(model: Any, y: Any, n: int, classes: Any, reset: bool, instead: str) -> np.ndarray:
    """The number of every sample's class among ``model.classes_``."""
    y = check_classes(y, n, instead=instead)
    if reset and classes is None:
        model.classes_, index = distinct_classes(y)
        return index
    if reset:
        model.classes_ = np.unique(as_labels(classes, "classes"))
    return class_numbers(y, model.classes_)


def encode_labels(model: Any, y: Any, n: int, classes: Any, reset: bool) -> Any:
    """A 0/1 matrix as it is, sparse if it was; a vector of classes as indicator columns."""
    if y.ndim == 2:
        return check_indicator(y, n)
    return encode_classes(model, y, n, classes, reset, instead="give a 0/1 matrix")


def encode_responses(model: Any, y: Any, n: int, classes: Any, reset: bool) -> Any:
    """Numbers as they are, sparse if they were; strings as indicator columns of their classes."""
    words = y.ndim == 1 and y.dtype.kind in "OUT" and all(isinstance(v, str) for v in y)
    if words and (reset or hasattr(model, "classes_")):
        return encode_classes(model, y, n, classes, reset, instead="encode them as columns")
    Y = check_sparse_Y(y, n) if sparse.issparse(y) else check_numeric_Y(y, n)
    if reset:
        model._one_response_ = y.ndim == 1
    return Y


def as_numbers(model: Any, y: Any) -> Any:
    """y in the form that ``predict`` returns: strings as indicator columns of the classes."""
    labels = labels_of(model, y, reset=False)
    if not hasattr(model, "classes_"):
        return as_dense(labels)
    return encode_classes(model, labels, len(labels), None, False, instead="give one string each")


def check_two_classes(degree: Array) -> int:
    """How many classes of y have samples, which must be at least two."""
    present = int(np.sum(degree > 0))
    if present < 2:
        raise ValueError(f"y holds {present} class, but at least two are needed to separate.")
    return present


# -- samples without labels -----------------------------------------------------------------


def marked(y: Any, labelled: Any = None, *, responses: bool = False) -> np.ndarray:
    """Which rows of y have labels: all but those marked by -1, NaN or None, or as told.

    Among responses -1 is a number like others.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenkit.estimators._encoding import marked
    >>> marked(np.array([0, 1, -1, 1]))
    array([ True,  True, False,  True])
    >>> marked(np.array([[1.0, 0.0], [np.nan, np.nan], [0.0, 0.0]]))
    array([ True, False,  True])
    """
    n = y.shape[0]
    if labelled is not None:
        known = np.asarray(labelled)
        if known.dtype != bool or known.shape != (n,):
            raise ValueError(f"labelled must hold True or False for each of the {n} rows.")
    else:
        known = unmarked(y, responses)
    check_enough(known)
    return known


def unmarked(y: Any, responses: bool) -> np.ndarray:
    """Which rows of y carry no mark."""
    if sparse.issparse(y):
        return np.ones(y.shape[0], dtype=bool)
    if y.ndim == 2:
        return ~(np.isnan(y).all(axis=1) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool))
    if y.dtype.kind in "iu":
        return np.asarray((y != -1) | responses)
    return np.array([not _is_mark(v, responses) for v in y.tolist()], dtype=bool)


def check_enough(known: np.ndarray) -> None:
    """Refuse fewer than two rows that have labels."""
    if known.sum() < 2:
        count = int(known.sum())
        raise ValueError(f"y has labels for {count} sample{'s' * (count != 1)}: give two or more.")


def _is_mark(value: Any, responses: bool) -> bool:
    """None, pandas' NA, NaN (which differs from itself) or, of classes, -1."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return bool(value != value or (not responses and (value == -1) is True))
