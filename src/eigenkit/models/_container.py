"""A file of one JSON tree and some arrays, with a checksum over all of it.

    8 bytes    EIGENKIT
    8 bytes    length of the JSON text, little endian
    n bytes    JSON text: {"format": 1, "arrays": [[dtype, shape], ...], "tree": ...}
    arrays     one after the other, each at a multiple of 64 bytes, little endian, C order
    32 bytes   SHA-256 of everything before

Nothing is compressed, so a file is as large as what it holds: all sizes are known, and must
add up to the length of the file, before memory is allocated. Reading runs no code.

Trees hold only values of a few plain kinds. Classes are named, and looked up in a fixed list when
they are read: those of :data:`eigenkit.estimators.registry.METHODS` and :data:`CLASSES`. A class is
imported when a file names it, not before.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from itertools import chain
from typing import IO, Any

import numpy as np
from scipy import sparse

from eigenkit.estimators._streams import Intake, Result
from eigenkit.estimators.registry import METHODS
from eigenkit.files import FileError
from eigenkit.late import named
from eigenkit.shell import is_fitted_name, with_article

MAGIC = b"EIGENKIT"
FORMAT = 1
_ALIGN = 64
_DIGEST = 32
_LONGEST_TEXT = 2**28
_DTYPES = {"<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "|u1", "<u2", "<u4", "<u8", "|b1"}


def write_container(stream: IO[bytes], tree: Any, arrays: list[np.ndarray]) -> None:
    plain = [np.asarray(a, dtype=a.dtype.newbyteorder("<"), order="C") for a in arrays]
    described = [[a.dtype.str, list(a.shape)] for a in plain]
    strange = [d for d, _ in described if d not in _DTYPES]
    if strange:
        raise TypeError(f"an array of {strange[0]} cannot be stored in a model file")
    if not all(_finite(a) for a in plain):
        raise ValueError("an array of the model holds numbers that are not finite: it is not kept.")
    head = {"format": FORMAT, "arrays": described, "tree": tree}
    text = json.dumps(head, allow_nan=False, separators=(",", ":")).encode("ascii")
    digest, position = hashlib.sha256(), 0
    begin = MAGIC + len(text).to_bytes(8, "little") + text
    for piece in chain([begin], (array.tobytes() for array in plain)):
        for part in (bytes(-position % _ALIGN), piece):
            stream.write(part)
            digest.update(part)
            position += len(part)
    stream.write(digest.digest())


def read_container(path: str, max_bytes: int) -> tuple[Any, list[np.ndarray]]:
    """The tree and the arrays, after all checks that need no knowledge of their meaning."""
    try:
        with open(path, "rb") as stream:
            length = os.fstat(stream.fileno()).st_size
            _check_begin(path, stream.read(16), length, max_bytes)
            stream.seek(0)
            data = stream.read(length)
    except IsADirectoryError:
        raise FileError(path, "this is a folder: give a model file.") from None
    except FileNotFoundError:
        standard = "a model is read from a file: name one."
        raise FileError(path, standard if path == "-" else "there is no such file.") from None
    if hashlib.sha256(memoryview(data)[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise damaged(path, "its checksum is wrong")
    n = int.from_bytes(data[8:16], "little")
    try:
        head = json.loads(data[16 : 16 + n], parse_constant=_no_number)
        version, described, tree = head["format"], head["arrays"], head["tree"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(path, "its description cannot be read") from error
    if version != FORMAT:
        ours = f"this version of eigenkit reads {FORMAT}: use a later eigenkit."
        raise FileError(path, f"its format is {version!r}, {ours}")
    return tree, _arrays(path, data, 16 + n, described)


def damaged(path: str, why: str) -> FileError:
    """The refusal of a model file that is not as it was written."""
    return FileError(path, f"the model file is damaged or was tampered with: {why}.")


def _check_begin(path: str, begin: bytes, length: int, max_bytes: int) -> None:
    if begin[:8] != MAGIC:
        if begin[:1] == b"\x80":
            raise FileError(path, "it is a Python pickle, which can run code: it is not read.")
        raise FileError(path, "it is not a model file of eigenkit: give one that fit wrote.")
    if length > max_bytes:
        raise FileError(path, f"it holds {length} bytes, the limit is {max_bytes}.")
    text = int.from_bytes(begin[8:16], "little")
    if len(begin) < 16 or text > _LONGEST_TEXT or 16 + text + _DIGEST > length:
        raise damaged(path, "it is shorter than it says")


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _finite(array: np.ndarray) -> bool:
    """Whether no number is NaN or inf; -inf is the logarithm of the share of an empty class."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return True
    return bool(np.all(array < np.inf))


def _arrays(path: str, data: bytes, position: int, described: Any) -> list[np.ndarray]:
    arrays = []
    items: list[Any] = described if isinstance(described, list) else [None]
    for item in items:
        fine = isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)
        fine = fine and item[0] in _DTYPES and isinstance(item[1], list) and len(item[1]) <= 8
        if not fine or not all(type(s) is int and 0 <= s < 2**48 for s in item[1]):
            raise damaged(path, "an array has no sensible description")
        dtype, count = np.dtype(item[0]), math.prod(item[1])
        position += -position % _ALIGN
        if position + count * dtype.itemsize > len(data) - _DIGEST:
            raise damaged(path, "an array is longer than the file")
        flat = np.frombuffer(data, dtype, count, position)
        if not _finite(flat):
            raise damaged(path, "an array holds numbers that are not finite")
        arrays.append(flat.reshape(item[1]).astype(dtype.newbyteorder("=")))
        position += count * dtype.itemsize
    if position != len(data) - _DIGEST:
        raise damaged(path, "its parts do not add up to its length")
    return arrays


# -- what trees may hold ----------------------------------------------------------------

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
ADDED = {"label_rank", "probability", "random_state", "rule", "shrinkage"}
ADDED |= {"store_covariance", "svd_solver"}


class TreeError(ValueError):
    """A tree that no version of eigenkit wrote."""


@functools.cache
def trusted(name: str) -> Any:
    """The class that a model file may mean by a name; None for a name that it may not use."""
    ours = {**{m.path.rpartition(":")[2]: m.path for m in METHODS.values()}, **CLASSES}
    return named(ours[name]) if name in ours else None


# -- values as trees -------------------------------------------------------------------


def to_tree(value: Any, arrays: list[np.ndarray]) -> Any:
    """The value as JSON; numeric arrays are appended to ``arrays``."""
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        return {"t": "float", "v": str(float(value))}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        array = np.asarray(value)
        if array.dtype.kind in "OU" and all(isinstance(v, str) for v in array.ravel()):
            kind = "objects" if array.dtype.kind == "O" else "strings"
            return {"t": kind, "v": [str(v) for v in array.ravel()], "shape": list(array.shape)}
        arrays.append(array)
        kind = "scalar" if isinstance(value, np.generic) else "array"
        return {"t": kind, "v": len(arrays) - 1}
    if isinstance(value, np.dtype):
        return {"t": "dtype", "v": value.str}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {"t": kind, "v": [to_tree(v, arrays) for v in value]}
    if isinstance(value, dict):
        pairs = [[to_tree(k, arrays), to_tree(v, arrays)] for k, v in value.items()]
        return {"t": "dict", "v": pairs}
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        parts = (csr.data, csr.indices, csr.indptr, np.array(csr.shape))
        return {"t": "csr", "v": [to_tree(part, arrays) for part in parts]}
    return _object_to_tree(value, arrays)


def _object_to_tree(value: Any, arrays: list[np.ndarray]) -> Any:
    name = type(value).__name__
    if trusted(name) is not type(value):
        kind = with_article(f"{type(value).__module__}.{name}")
        raise TypeError(f"{kind} cannot be stored in a model file")
    if dataclasses.is_dataclass(value):
        state = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    else:
        state = vars(value)
    return {"t": "object", "class": name, "v": {k: to_tree(v, arrays) for k, v in state.items()}}


# -- trees as values -------------------------------------------------------------------


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
    if tree["t"] == "array":
        return arrays[index]
    if arrays[index].ndim:
        raise TreeError("a number is an array")
    return arrays[index][()]


def _strings(tree: Any, arrays: Any) -> Any:
    cells, shape = tree["v"], tree.get("shape")
    if not isinstance(cells, list) or not all(isinstance(c, str) for c in cells):
        raise TreeError("an array of text holds something else")
    return np.array(cells, dtype=object if tree["t"] == "objects" else str).reshape(shape)


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
    params, given = set(cls._get_param_names()), signature(cls.__init__).parameters
    state = {name: v for name, v in state.items() if name not in RETIRED - params}
    state |= {name: given[name].default for name in sorted(ADDED & params - set(state))}
    _check_names(cls, params, state)
    intake = state.get("_intake_")
    if intake is not None and not (isinstance(intake, Intake) and type(intake.model) is cls):
        raise TreeError("a stream is not one")
    if intake is not None:
        intake.check()
    value = cls.__new__(cls)
    for name, part in state.items():
        setattr(value, name, part)
    return value


def _check_finite(value: Any) -> None:
    if isinstance(value, float) and not np.isfinite(value):
        raise TreeError("a number is not finite")
    parts = value.values() if isinstance(value, dict) else value
    for part in parts if isinstance(value, dict | list | tuple) else ():
        _check_finite(part)


def _check_names(cls: Any, params: set[str], state: dict[str, Any]) -> None:
    """A state holds all parameters, and else only what fitting leaves; it hides no method."""
    if not params <= set(state):
        raise TreeError("a parameter is missing")
    for name in set(state) - params:
        hides = not isinstance(getattr(cls, name, Result()), Result)
        if not is_fitted_name(name) or hides:
            raise TreeError(f"an estimator has the attribute {name[:60]!r}")


_READ: dict[str, Callable[[Any, Any], Any]] = {"list": _items, "dict": _dict, "object": _object}
_READ |= {"tuple": lambda tree, arrays: tuple(_items(tree, arrays))}
_READ |= {"array": _array, "scalar": _array, "csr": _csr, "dtype": _dtype, "float": _float}
_READ |= dict.fromkeys(("strings", "objects"), _strings)
