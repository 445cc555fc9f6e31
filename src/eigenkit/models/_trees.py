"""Fitted estimators as JSON trees with arrays on the side, and back.

Only values of a few plain kinds are stored. Classes are named, and looked up in a fixed list
when they are read: those of :data:`eigenkit.estimators.registry.METHODS` and :data:`CLASSES`. A
class is imported when a file names it, not before.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse

from eigenkit.estimators._streams import Intake, Result
from eigenkit.estimators.registry import METHODS
from eigenkit.files import FileError
from eigenkit.late import named
from eigenkit.models._container import damaged
from eigenkit.shell import is_fitted_name, with_article

# Frozen records and parts of estimators that are kept beside the methods themselves.
_HOMES = {
    "eigenkit.pencil": "Report",
    "eigenkit.solvers.two_views": "SharedLatent",
    "eigenkit.solvers": "Choice",
    "eigenkit.kernels": "Kernel PrecomputedKernel",
    "eigenkit.estimators._streams": "Intake",
    "eigenkit.moments": "Rows Factor Moments ClassMoments",
    "eigenkit.estimators._estimator": "Estimator",  # a view of several
    "eigenkit.estimators": "PLSCanonical PLSSVD ShrinkageRegression",  # streams without a method
    "eigenkit.solvers.shrinkage": "Spectrum",
    "eigenkit.solvers.kernel_weights": "Step",
    "eigenkit.kernels.sets": "PyramidMatch MeanMap FisherVectors Pooled VisualWords",
    "eigenkit.kernels.sets._pyramid": "UniformBins",
    "eigenkit.kernels.sets._vocabulary": "Vocabulary",
    "eigenkit.kernels.sets._fisher": "Mixture",
    "eigenkit.images": "ImageAnnotator Descriptor Plan TermReport",
    "eigenkit.images.kernels": "ViewKernel Preparation",
    "eigenkit.images.ridge": "Targets Ridge Second",
}
CLASSES = {name: f"{home}:{name}" for home, names in _HOMES.items() for name in names.split()}
# Parameters that estimators no longer have, but earlier files hold; predictions do not need them.
RETIRED = {"penalty", "l1_ratio"}
# Parameters that earlier files lack: their models were fitted with the defaults.
ADDED = {
    "label_rank",
    "probability",
    "random_state",
    "rule",
    "shrinkage",
    "store_covariance",
    "svd_solver",
}


class TreeError(ValueError):
    """A tree that no version of eigenkit wrote."""


@functools.cache
def trusted(name: str) -> Any:
    """The class that a model file may mean by a name; None for a name that it may not use."""
    path = _paths().get(name)
    return None if path is None else named(path)


@functools.cache
def _paths() -> dict[str, str]:
    return {**{m.path.rpartition(":")[2]: m.path for m in METHODS.values()}, **CLASSES}


# -- writing ----------------------------------------------------------------------------


def to_tree(value: Any, arrays: list[np.ndarray]) -> Any:
    """The value as JSON; numeric arrays are appended to ``arrays``."""
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        return {"t": "float", "v": str(float(value))}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return _array_to_tree(value, arrays)
    if isinstance(value, np.dtype):
        return {"t": "dtype", "v": value.str}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {"t": kind, "v": [to_tree(v, arrays) for v in value]}
    if isinstance(value, dict):
        return {
            "t": "dict",
            "v": [[to_tree(k, arrays), to_tree(v, arrays)] for k, v in value.items()],
        }
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        parts = (csr.data, csr.indices, csr.indptr, np.array(csr.shape))
        return {"t": "csr", "v": [to_tree(part, arrays) for part in parts]}
    return _object_to_tree(value, arrays)


def _array_to_tree(value: Any, arrays: list[np.ndarray]) -> Any:
    scalar = isinstance(value, np.generic)
    array = np.asarray(value)
    if array.dtype.kind in "OU" and all(isinstance(v, str) for v in array.ravel()):
        kind = "objects" if array.dtype.kind == "O" else "strings"
        return {"t": kind, "v": [str(v) for v in array.ravel()], "shape": list(array.shape)}
    arrays.append(array)
    return {"t": "scalar" if scalar else "array", "v": len(arrays) - 1}


def _object_to_tree(value: Any, arrays: list[np.ndarray]) -> Any:
    name = type(value).__name__
    if trusted(name) is not type(value):
        kind = with_article(f"{type(value).__module__}.{name}")
        raise TypeError(f"{kind} cannot be stored in a model file")
    if dataclasses.is_dataclass(value):
        state = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    else:
        state = vars(value)
    tree = {k: to_tree(v, arrays) for k, v in state.items()}
    return {"t": "object", "class": name, "v": tree}


# -- reading ----------------------------------------------------------------------------


@contextmanager
def putting_together(path: str) -> Iterator[None]:
    """For making objects from the parts of a file and trying them: a failure means damage."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except TreeError as error:
        raise damaged(path, str(error)) from error
    except RecursionError as error:
        raise damaged(path, "it is nested too deeply") from error
    except (FileError, ImportError):
        raise
    except Exception as error:  # whatever a forged state causes in an estimator
        raise damaged(path, "its parts do not fit together") from error


def from_tree(tree: Any, arrays: list[np.ndarray]) -> Any:
    """The value from which :func:`to_tree` made a tree; TreeError for anything else."""
    if isinstance(tree, float) and not np.isfinite(tree):  # 1e999 is JSON
        raise TreeError("a number is not finite")
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    read = _READ.get(str(tree.get("t"))) if isinstance(tree, dict) else None
    if read is None or "v" not in tree:
        raise TreeError("it holds a value of an unknown kind")
    return read(tree, arrays)


def _items(tree: Any, arrays: Any) -> list[Any]:
    if not isinstance(tree["v"], list):
        raise TreeError("a list is not a list")
    return [from_tree(item, arrays) for item in tree["v"]]


def _dict(tree: Any, arrays: Any) -> dict[Any, Any]:
    pairs = tree["v"]
    if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
        raise TreeError("a dictionary is not one")
    return {from_tree(k, arrays): from_tree(v, arrays) for k, v in pairs}


def _array(tree: Any, arrays: Any) -> Any:
    index = tree["v"]
    if type(index) is not int or not 0 <= index < len(arrays):
        raise TreeError("an array is missing")
    return arrays[index]


def _scalar(tree: Any, arrays: Any) -> Any:
    value = _array(tree, arrays)
    if value.ndim:
        raise TreeError("a number is an array")
    return value[()]


def _strings(tree: Any, arrays: Any) -> Any:
    cells, shape = tree["v"], tree.get("shape")
    if not isinstance(cells, list) or not all(isinstance(c, str) for c in cells):
        raise TreeError("an array of text holds something else")
    dtype = object if tree["t"] == "objects" else str
    return np.array(cells, dtype=dtype).reshape(shape)


def _csr(tree: Any, arrays: Any) -> Any:
    data, indices, indptr, shape = _items(tree, arrays)
    matrix = sparse.csr_array((data, indices, indptr), shape=tuple(int(s) for s in shape))
    matrix.check_format(full_check=True)
    return matrix


def _dtype(tree: Any, arrays: Any) -> Any:
    if tree["v"] not in ("<f8", "<f4"):
        raise TreeError("a type of numbers is unknown")
    return np.dtype(tree["v"])


def _float(tree: Any, arrays: Any) -> float:
    if tree["v"] not in ("nan", "inf", "-inf"):
        raise TreeError("a number is unknown")
    return float(tree["v"])


def _object(tree: Any, arrays: Any) -> Any:
    cls: Any = trusted(str(tree.get("class")))
    if cls is None:
        raise TreeError(f"it names the class {str(tree.get('class'))[:60]!r}, which is not ours")
    if not isinstance(tree["v"], dict):
        raise TreeError("an object has no state")
    state = {str(k): from_tree(v, arrays) for k, v in tree["v"].items()}
    if cls.__name__ not in ("Report", "TermReport"):  # in which NaN stands for what is unknown
        _check_finite(state)
    if not hasattr(cls, "_get_param_names"):  # a record, and no estimator
        return cls(**state)
    gone = RETIRED - set(cls._get_param_names())
    state = _added(cls) | {name: v for name, v in state.items() if name not in gone}
    _check_names(cls, state)
    intake = state.get("_intake_")
    if intake is not None and not (isinstance(intake, Intake) and type(intake.model) is cls):
        raise TreeError("a stream is not one")
    if intake is not None:
        intake.check()
    value = cls.__new__(cls)
    for name, part in state.items():
        setattr(value, name, part)
    return value


def _added(cls: Any) -> dict[str, Any]:
    given = signature(cls.__init__).parameters
    return {name: given[name].default for name in ADDED & set(cls._get_param_names())}


def _check_finite(value: Any) -> None:
    if isinstance(value, float) and not np.isfinite(value):
        raise TreeError("a number is not finite")
    parts = value.values() if isinstance(value, dict) else value
    for part in parts if isinstance(value, dict | list | tuple) else ():
        _check_finite(part)


def _check_names(cls: Any, state: dict[str, Any]) -> None:
    """A state holds all parameters, and else only what fitting leaves; it hides no method."""
    params = set(cls._get_param_names())
    if not params <= set(state):
        raise TreeError("a parameter is missing")
    for name in set(state) - params:
        hides = not isinstance(getattr(cls, name, Result()), Result)
        if not is_fitted_name(name) or hides:
            raise TreeError(f"an estimator has the attribute {name[:60]!r}")


_READ = {
    "float": _float,
    "list": _items,
    "tuple": lambda tree, arrays: tuple(_items(tree, arrays)),
    "dict": _dict,
    "array": _array,
    "scalar": _scalar,
    "strings": _strings,
    "objects": _strings,
    "csr": _csr,
    "dtype": _dtype,
    "object": _object,
}
