"""Compiled products of sparse rows and of dense rows with few columns, and cells out of text:
one C file, one loader, one switch.

Where there is a C compiler, installing eigenkit builds ``products.c`` (see ``hatch_build.py``).
It takes less than half the time of scipy's product, which is built for the oldest processors, and
two thirds of that of BLAS, which is built for many columns. Where it is missing, switched off
(``EIGENKIT_COMPILED=0`` in the environment) or compiled from another ``products.c`` (a warning says
so), scipy, BLAS and numpy do the work: the same sums, up to rounding, and the same numbers.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

LIBRARY = Path(__file__).with_name("products.so")

# The largest power of ten by which a number of a table is multiplied or divided, as in products.c.
_WIDEST_EXPONENT = 250

# The most columns that the dense functions take, and the sparse gradient, as in products.c.
WIDEST, WIDEST_SPARSE = 64, 16

# Bytes of a cache line.
LINE = 64


def available() -> bool:
    """Whether the library is there and switched on."""
    return os.environ.get("EIGENKIT_COMPILED", "1") != "0" and _library() is not None


def takes_gradients() -> bool:
    """Whether the processor has what the gradients and the sums of dense rows are compiled for."""
    usable: Any = getattr(_library(), "dense_rows_usable", None)
    return available() and usable is not None and bool(usable())


def product_of(X: Any) -> Any:
    """The function with which :func:`rows_product` does products with this CSR matrix, or None."""
    name = f"csr_product_{X.dtype.name}_{X.indices.dtype.name}"
    if X.indptr.dtype != X.indices.dtype or not available() or not hasattr(_library(), name):
        return None
    index = "i" if X.indices.dtype == np.int32 else "q"
    return _typed(name, f"{index}{index}ppppqp")


def rows_product(X: Any, V: np.ndarray, out: np.ndarray) -> Callable[[slice], None] | None:
    """What does ``out[rows] = X[rows] @ V`` with a CSR matrix X for a slice of rows, if it can be.

    ``out`` is C-contiguous; rows and indices are known to be in range. What all rows have in common
    is looked at once, as they come in blocks.
    """
    arrays = X.indptr, X.indices, X.data, V, out
    one_kind = X.dtype == V.dtype == out.dtype and _plain(arrays)
    call = product_of(X) if one_kind else None
    if call is None:
        return None
    *given, end = (array.ctypes.data for array in arrays)
    k, stride = V.shape[1], out.strides[0]

    def fill(rows: slice) -> None:
        call(rows.start, rows.stop, *given, k, end + rows.start * stride)

    return fill


def for_gradient(V: np.ndarray) -> np.ndarray:
    """V as :func:`add_gradient` wants it, with columns of zeros; itself where that cannot be."""
    (d, k), width = V.shape, -(-V.shape[1] // 4) * 4
    if width > WIDEST_SPARSE or not takes_gradients():
        return V
    wide = lined_up((d, width))
    wide[:, :k], wide[:, k:] = V, 0.0
    return wide


def lined_up(shape: tuple[int, int]) -> np.ndarray:
    """An empty matrix that begins at a cache line: rows across two take a quarter longer."""
    size = shape[0] * shape[1]
    memory = np.empty(size + LINE // 8)
    start = -memory.ctypes.data % LINE // 8
    return memory[start : start + size].reshape(shape)


def add_gradient(
    X: Any,
    V: np.ndarray,
    offset: np.ndarray,
    r: np.ndarray | None,
    S: np.ndarray,
    drift: np.ndarray,
    square: np.ndarray,
) -> bool:
    """With Z = diag(r) (X V - 1 offset') for a CSR matrix X, adds X'diag(r) Z to S, the sums of the
    columns of diag(r) Z to drift, and Z'Z to square; False, and nothing done, if it cannot be.

    All are float64; V, S, drift and square are C-contiguous; indices are known to be in range.
    """
    k, given = V.shape[1], (X.indptr, X.indices, X.data, V, offset, r, S, drift, square)
    fits = k % 4 == 0 and 0 < k <= WIDEST_SPARSE
    if not (fits and takes_gradients() and product_of(X) and _plain(given)):
        return False
    if any(A is not None and A.dtype != np.float64 for A in given[2:]):
        return False
    places = [None if A is None else A.ctypes.data for A in given]
    call = _typed(f"sparse_gradient_{X.indices.dtype.name}_t", "qqppppppppp")
    call(k, X.shape[0], *places)
    return True


def dense_gradient(
    X: np.ndarray,
    V: np.ndarray | None,
    offset: np.ndarray | None,
    H: np.ndarray | None = None,
    slope: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Z = X V - 1 offset' and X'(Z - H), for what :func:`takes_dense` takes; X'H without V.

    V, offset (of one row) and H have as many columns. ``slope=False`` is for Z alone.
    """
    n, d = X.shape
    k = next(A.shape[1] for A in (V, H) if A is not None)
    V, offset, H = map(_in_fours, (V, offset, H))
    width = -(-k // 4) * 4
    Z = np.empty((0 if V is None else n, width))
    S = np.zeros((d if slope else 0, width))
    stride = X.strides[0] // X.itemsize
    given = V, offset, H, Z, S if slope else None
    arrays = [None if A is None else A.ctypes.data for A in given]
    _typed("dense_gradient", "qqpqqppppp")(n, d, X.ctypes.data, stride, width, *arrays)
    return Z[:, :k], S[:, :k]


def _in_fours(A: np.ndarray | None) -> np.ndarray | None:
    """A with columns of zeros up to a multiple of four, in float64 and in the order of rows."""
    if A is None:
        return None
    n, k = A.shape
    if k % 4 == 0:
        return np.ascontiguousarray(A, dtype=np.float64)
    wide = np.zeros((n, -(-k // 4) * 4))
    wide[:, :k] = A
    return wide


def dense_sums(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums and sums of squares of the columns, for what :func:`takes_dense` takes."""
    total, squares = np.zeros((2, X.shape[1]))
    stride = X.strides[0] // X.itemsize
    call = _typed("dense_sums", "qqpqpp")
    call(*X.shape, X.ctypes.data, stride, total.ctypes.data, squares.ctypes.data)
    return total, squares


def takes_dense(X: np.ndarray, k: int = 2) -> bool:
    """Whether the dense functions take X with k columns; with one, BLAS copies nothing."""
    plain = X.dtype == np.float64 and X.dtype.isnative and X.flags.aligned
    whole_rows = X.strides[1] == X.itemsize and X.strides[0] % X.itemsize == 0
    return 1 < k <= WIDEST and plain and whole_rows and takes_gradients()


# What the columns of a table are to :func:`read_table`.
TEXT, NUMBER, NOTHING = range(3)


def after_lines(text: bytes, at: int, end: int, most: int | None = None) -> tuple[int, int]:
    """How many lines begin in ``text[at:end]``, ``most`` at most, and where the last one ends.

    >>> after_lines(b"a\\nb\\nc", 2, 5)
    (2, 5)
    """
    most = len(text) if most is None else most
    if available():
        place = ctypes.c_int64()
        call = _typed("after_lines", "pqqqp", ctypes.c_int64)
        return int(call(text, at, end, most, ctypes.byref(place))), place.value
    count = 0
    while count < most and at < end:
        at = text.find(b"\n", at, end) + 1 or end
        count += 1
    return count, at


def read_table(
    text: bytes, mark: str, kinds: Sequence[int], decimal: str = "."
) -> tuple[np.ndarray, list[list[str]]] | None:
    """The numbers in the lines of a text in UTF-8, and the cells of its columns of TEXT.

    None where lines differ in their number of cells, a NUMBER is none, or quotes stand inside of
    cells. Empty cells and words such as NA are NaN, as are columns that hold no numbers; every
    number is the float64 nearest to what is written.
    """
    if not (len(kinds) and text and available()):
        return None
    roles = np.array(kinds, dtype=np.int8)
    most = after_lines(text, 0, len(text))[0]
    table = np.empty((most, len(kinds)))
    cells = np.empty((most, np.sum(roles == TEXT), 2), dtype=np.int64)
    call = _typed("read_cells", "pqccqpqppp", ctypes.c_int64)
    marks = mark.encode(), decimal.encode(), len(kinds), roles.ctypes.data, most
    rows = call(text, len(text), *marks, *(A.ctypes.data for A in (_powers(), table, cells)))
    if rows < 0:
        return None
    return table[:rows], [_slices(text, cells[:rows, j]) for j in range(cells.shape[1])]


def _slices(text: bytes, places: np.ndarray) -> list[str]:
    bounds = zip(*places.T.tolist(), strict=True)
    if text.isascii():
        whole = text.decode()
        return [whole[begin:end] for begin, end in bounds]
    return [text[begin:end].decode() for begin, end in bounds]


@cache
def _powers() -> np.ndarray:
    """Powers of ten, each as a sum of two float64."""
    powers = [10**k for k in range(_WIDEST_EXPONENT + 1)]
    return np.array([[float(p), float(p - int(float(p))), 1 / p] for p in powers])


_KINDS: dict[str, Any] = {
    "i": ctypes.c_int32,
    "q": ctypes.c_int64,
    "p": ctypes.c_void_p,
    "c": ctypes.c_char,
}


@cache
def _typed(name: str, kinds: str, result: Any = None) -> Any:
    """A function of integers (i, q), addresses (p) and characters (c)."""
    function: Any = getattr(_library(), name)
    function.argtypes = [_KINDS[kind] for kind in kinds]
    function.restype = result
    return function


def _plain(arrays: Iterable[np.ndarray | None]) -> bool:
    """Whether C can read the arrays as they are; those that are not given are no obstacle."""
    given = [array for array in arrays if array is not None]
    return all(A.flags.c_contiguous and A.flags.aligned and A.dtype.isnative for A in given)


@cache
def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError:
        return None
    if _is_current(library, LIBRARY.with_suffix(".c")):
        return library
    warnings.warn(
        f"{LIBRARY} was compiled from another products.c, so it is not used and products are "
        "slower: compile it again with 'python hatch_build.py', or install eigenkit again.",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def _is_current(library: Any, source: Path) -> bool:
    """Whether a library was compiled from this text; without the text there is nothing to doubt."""
    if not source.exists():
        return True
    made = getattr(library, "compiled_from", None)
    return made is not None and made() & 0xFFFFFFFF == crc32(source.read_bytes())
