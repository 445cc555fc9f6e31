"""The compiled product of sparse rows with a dense block: one C file, one loader, one switch.

Where there is a C compiler, installing eigenkit builds ``csr_product.c`` (see ``hatch_build.py``).
It takes less than half the time of scipy's product, which is built for the oldest processors.
Where it is missing, or switched off by the environment variable ``EIGENKIT_COMPILED=0``, scipy
does the work: the same sums in the same order, up to the rounding of fused multiply-adds.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

LIBRARY = Path(__file__).with_name("csr_product.so")


def available() -> bool:
    """Whether the compiled product is there and switched on."""
    return os.environ.get("EIGENKIT_COMPILED", "1") != "0" and _library() is not None


def takes(X: Any) -> bool:
    """Whether :func:`rows_product` does products with this CSR matrix."""
    same = X.indptr.dtype == X.indices.dtype
    return same and available() and _function(X.dtype.name, X.indices.dtype.name) is not None


def rows_product(X: Any, rows: slice, V: np.ndarray, out: np.ndarray) -> bool:
    """``out[rows] = X[rows] @ V`` for a CSR matrix X; False, and nothing done, if it cannot be.

    ``out`` is a C-contiguous matrix; the rows and the indices of X are known to be in range.
    """
    arrays = X.indptr, X.indices, X.data, V, out
    one_kind = X.dtype == V.dtype == out.dtype and all(_plain(array) for array in arrays)
    if not one_kind or not takes(X):
        return False
    function = _function(X.dtype.name, X.indices.dtype.name)
    assert function is not None
    function(rows.start, rows.stop, X.indptr, X.indices, X.data, V, V.shape[1], out[rows])
    return True


def _plain(array: np.ndarray) -> bool:
    return array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative


@cache
def _library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(str(LIBRARY))
    except OSError:
        return None


@cache
def _function(real: str, index: str) -> Any:
    """The function for these types; numpy checks types and layout of what it is called with."""
    function: Any = getattr(_library(), f"csr_product_{real}_{index}", None)
    if function is None:
        return None
    number = {"int32": ctypes.c_int32, "int64": ctypes.c_int64}[index]

    indices, numbers = (np.ctypeslib.ndpointer(np.dtype(t), flags="C") for t in (index, real))
    arrays = [indices, indices, numbers, numbers]
    function.argtypes = [number, number, *arrays, ctypes.c_int64, numbers]
    function.restype = None
    return function
