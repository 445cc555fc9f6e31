"""Hostile input: a correct finite result, or one clear sentence; never a crash, NaN or hang.

Every case runs in a process of its own, so that a crash or a hang is a failure like any other.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from conftest import ESTIMATORS, labels_for
from eigenkit.exceptions import EigenkitWarning


def _base(name: str, n: int = 40, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    y = labels_for(name, n, rng)
    J = np.eye(3)[y] if name == "lda" else y
    X = rng.normal(size=(n, d))
    X[:, : J.shape[1]] += J[:, :d]
    return X, y


def outcome(name: str, case: Any, alpha: float = 1.0) -> tuple[str, bool, Any, str]:
    """V, whether all is finite, the scores; or E, whether nothing changed, and the error.

    A crash takes the process along, and pytest's fault handler says in which case.
    """
    model = ESTIMATORS[name](alpha=alpha)
    before = dict(vars(model))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EigenkitWarning)
            X, y, *rest = case(*_base(name))
            keywords = rest[0] if rest else {}
            model.set_params(**{k: v for k, v in keywords.items() if k != "sample_weight"})
            before = dict(vars(model))
            weight = {k: v for k, v in keywords.items() if k == "sample_weight"}
            model.fit(X, y, **weight)
            Z = np.asarray(model.transform(X))
    except Exception as error:
        return "E", vars(model).keys() == before.keys(), type(error).__name__, str(error)
    finite = bool(np.isfinite(Z).all() and np.isfinite(model.eigenvalues_).all())
    return "V", finite, Z.astype(float), ""


def _with(X: np.ndarray, value: Any) -> np.ndarray:
    X = X.copy()
    X[2, 1] = value
    return X


def _csr(X: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))


def _corrupt(X: np.ndarray, what: str) -> sparse.csr_array:
    S = _csr(X)
    if what == "index too large":
        S.indices[3] = 10**6
    elif what == "negative index":
        S.indices[3] = -5
    elif what == "indptr decreases":
        S.indptr[5] = S.indptr[7] + 3
    else:
        S.indptr[-1] = 10**6
    return S


# name -> (function of (X, y) giving (X, y[, parameters]), part of the message)
ERRORS: dict[str, tuple[Any, str]] = {
    "NaN in X": (lambda X, y: (_with(X, np.nan), y), "X contains NaN"),
    "inf in X": (lambda X, y: (_with(X, np.inf), y), "X contains infinity"),
    "-inf in X": (lambda X, y: (_with(X, -np.inf), y), "X contains infinity"),
    "NaN in CSR": (lambda X, y: (_csr(X) * np.nan, y), "X contains NaN"),
    "inf in CSR": (lambda X, y: (_csr(X) * np.inf, y), "X contains"),
    "None in X": (lambda X, y: (_with(X.astype(object), None), y), "X"),
    "strings": (lambda X, y: (np.full(X.shape, "a"), y), "string"),
    "complex X": (lambda X, y: (X + 1j, y), "Complex data not supported"),
    "dates": (lambda X, y: (X.astype("datetime64[s]"), y), "X holds dates"),
    "time spans": (lambda X, y: (X.astype("timedelta64[s]"), y), "X holds dates"),
    "structured": (
        lambda X, y: (np.zeros(len(X), dtype=[("a", float), ("b", float)]), y),
        "structured array",
    ),
    "masked": (lambda X, y: (np.ma.masked_less(X, 0), y), "masked array"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "0 sample"),
    "no columns": (lambda X, y: (X[:, :0], y), "0 feature"),
    "one sample": (lambda X, y: (X[:1], y[:1]), "1"),
    "1-D X": (lambda X, y: (X[:, 0], y), "Reshape your data"),
    "3-D X": (lambda X, y: (X[None], y), "dim 3"),
    "other number of rows": (lambda X, y: (X[:-1], y), "39 rows of X, 40 of y"),
    "3-D y": (lambda X, y: (X, np.zeros((len(X), 2, 2))), "y"),
    "no y": (lambda X, y: (X, None), "requires y"),
    "n_components 0": (lambda X, y: (X, y, {"n_components": 0}), "n_components=0"),
    "n_components -1": (lambda X, y: (X, y, {"n_components": -1}), "n_components=-1"),
    "n_components 1.5": (lambda X, y: (X, y, {"n_components": 1.5}), "n_components=1.5"),
    "n_components a": (lambda X, y: (X, y, {"n_components": "a"}), "n_components='a'"),
    "n_components 99": (lambda X, y: (X, y, {"n_components": 99}), "n_components=99 exceeds"),
    "alpha -1": (lambda X, y: (X, y, {"alpha": -1.0}), "alpha=-1.0"),
    "alpha NaN": (lambda X, y: (X, y, {"alpha": np.nan}), "alpha=nan"),
    "alpha text": (lambda X, y: (X, y, {"alpha": "1"}), "alpha='1'"),
    "unknown solver": (lambda X, y: (X, y, {"solver": "magic"}), "choose one of 'auto'"),
    "unknown regression": (lambda X, y: (X, y, {"regression": "x"}), "choose one of 'auto'"),
    "tol NaN": (lambda X, y: (X, y, {"tol": np.nan}), "tol=nan"),
    "max_iter 0": (lambda X, y: (X, y, {"max_iter": 0}), "max_iter=0"),
    "ragged X": (lambda X, y: ([[1.0, 2.0], [3.0]] * 20, y), ""),
    "generator": (lambda X, y: (iter(X), y), "give an array"),
    "constant X": (lambda X, y: (np.full_like(X, 0.1), y), "zero variance"),
    "zero X": (lambda X, y: (np.zeros_like(X), y), "zero variance"),
    "zero CSR": (lambda X, y: (sparse.csr_array(X.shape), y), "zero variance"),
    "identical rows": (lambda X, y: (np.tile(X[0], (len(X), 1)), y), "zero variance"),
    "np.matrix": (lambda X, y: (X.view(np.matrix), y), "np.matrix is not supported"),
    "pd.NA": (lambda X, y: (pd.DataFrame(_with(X, np.nan)).astype("Float64"), y), "X"),
    "categories": (
        lambda X, y: (pd.DataFrame({"a": pd.Categorical(["u", "v"] * 20)}), y),
        "holds the string",
    ),
    "mixed names": (lambda X, y: (pd.DataFrame(X, columns=[1, "b", "c", "d", "e"]), y), "names"),
    "1-D sparse": (lambda X, y: (sparse.coo_array(X[:, 0]), y), "1 dimension"),
    "index too large": (lambda X, y: (_corrupt(X, "index too large"), y), "corrupt"),
    "negative index": (lambda X, y: (_corrupt(X, "negative index"), y), "corrupt"),
    "indptr decreases": (lambda X, y: (_corrupt(X, "indptr decreases"), y), "corrupt"),
    "indptr too large": (lambda X, y: (_corrupt(X, "indptr too large"), y), "corrupt"),
    "negative weight": (lambda X, y: (X, y, {"sample_weight": -np.ones(len(X))}), "sample_weight"),
    "NaN weight": (lambda X, y: (X, y, {"sample_weight": np.full(len(X), np.nan)}), "sample_w"),
    "text weights": (lambda X, y: (X, y, {"sample_weight": ["a"] * len(X)}), "sample_weight holds"),
    "zero weights": (lambda X, y: (X, y, {"sample_weight": np.zeros(len(X))}), "sample_weight"),
    "short weights": (lambda X, y: (X, y, {"sample_weight": np.ones(3)}), "expected (40,)"),
}

VALUES: dict[str, Any] = {
    "bool X": lambda X, y: (X > 0, y),
    "uint8": lambda X, y: ((X * 20 + 128).astype(np.uint8), y),
    "large int64": lambda X, y: ((X * 2.0**58).astype(np.int64), y),
    "float16": lambda X, y: (X.astype(np.float16), y),
    "float32 large": lambda X, y: ((X * 1e30).astype(np.float32), y, {"alpha": 0.0}),
    "float32 small": lambda X, y: ((X * 1e-30).astype(np.float32), y, {"alpha": 0.0}),
    "longdouble": lambda X, y: (X.astype(np.longdouble), y),
    "negative zero": lambda X, y: (np.where(X < 0, -0.0, X), y),
    "outlier": lambda X, y: (_with(X, 1e12), y),
    "one feature": lambda X, y: (X[:, :1], y),
    "wide": lambda X, y: (np.tile(X, (1, 200))[:12], y[:12]),
    "two constant columns": lambda X, y: (np.hstack([X, np.full((len(X), 2), 7.3)]), y),
    "duplicated features": lambda X, y: (np.hstack([X, X]), y),
    "every sample twice": lambda X, y: (np.vstack([X, X]), np.concatenate([y, y])),
    "rank two": lambda X, y: (X[:, :2] @ np.arange(10.0).reshape(2, 5), y),
    "nearly collinear": lambda X, y: (np.hstack([X, X[:, :1] * (1 + 1e-12)]), y),
    "offset 1e9": lambda X, y: (X + 1e9, y),
    "read-only": lambda X, y: (_readonly(X), y),
    "negative strides": lambda X, y: (X[::-1][::-1], y),
    "strided": lambda X, y: (np.repeat(X, 2, axis=1)[:, ::2], y),
    "big-endian": lambda X, y: (X.astype(">f8"), y),
    "frame": lambda X, y: (pd.DataFrame(X, columns=list("abcde")), y),
    "extension types": lambda X, y: (pd.DataFrame(X).add_prefix("c").astype("Float64"), y),
    "sparse frame": lambda X, y: (pd.DataFrame.sparse.from_spmatrix(_csr(X)).add_prefix("c"), y),
    "arrow-backed frame": lambda X, y: (
        pd.DataFrame(X).add_prefix("c").astype("double[pyarrow]"),
        y,
    ),
    "polars": lambda X, y: (pl.DataFrame(X), y),
    "arrow table": lambda X, y: (pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])}), y),
    "list of lists": lambda X, y: (X.tolist(), y.tolist()),
    "explicit zeros": lambda X, y: (_explicit_zeros(X), y),
    "int64 indices": lambda X, y: (_int64_indices(X), y),
    "empty rows and columns": lambda X, y: (_empty_parts(X), y),
    "int CSR": lambda X, y: (_csr(X * 5).astype(np.int64), y),
    "bool CSR": lambda X, y: (_csr(X).astype(bool), y),
    "two samples": lambda X, y: (X[:2], y[:2]),
}


def _readonly(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def _explicit_zeros(X: np.ndarray) -> sparse.csr_array:
    S = _csr(X)
    S.data[::3] = 0.0
    return S


def _int64_indices(X: np.ndarray) -> sparse.csr_array:
    S = _csr(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


def _empty_parts(X: np.ndarray) -> sparse.csr_array:
    X = X.copy()
    X[5], X[:, 2] = 0.0, 0.0
    return _csr(X)


@pytest.mark.parametrize("name", ["cca", "opls", "lda", "star"])
@pytest.mark.parametrize("case", ERRORS)
def test_refused_with_a_sentence(name: str, case: str) -> None:
    make, part = ERRORS[case]
    kind, same, error, message = outcome(name, make)
    assert kind == "E", "accepted"
    assert error in ("ValueError", "TypeError")
    assert part.lower() in message.lower()
    assert same, "a failed fit changed the estimator"


@pytest.mark.parametrize("name", list(ESTIMATORS))
@pytest.mark.parametrize("case", VALUES)
def test_finite_result(name: str, case: str) -> None:
    if case == "two samples" and name in ("lda", "clique"):
        # Nothing varies within classes, and no two samples share a label: refused.
        assert outcome(name, VALUES[case])[0] == "E"
        return
    kind, finite, _, message = outcome(name, VALUES[case])
    assert kind == "V", message
    assert finite


LABEL_ERRORS: dict[str, tuple[Any, dict[str, str]]] = {
    "NaN in Y": (lambda Y: _with(Y, np.nan), {"cca": "y contains NaN", "star": "y contains NaN"}),
    "inf in Y": (lambda Y: _with(Y, np.inf), {"cca": "y contains inf", "star": "y contains inf"}),
    "complex Y": (lambda Y: Y + 1j, {"cca": "Complex", "opls": "Complex", "star": "Complex"}),
    "constant Y": (lambda Y: np.ones_like(Y), {"cca": "constant", "opls": "y is constant"}),
    "Y of 2": (lambda Y: 2 * Y, {"star": "only 0 and 1", "zhou": "only 0 and 1"}),
    "no label at all": (lambda Y: 0 * Y, {"star": "no label", "clique": "no label"}),
    "lists of labels": (lambda Y: [["a"], ["a", "b"]] * 20, {"star": "MultiLabelBinarizer"}),
}


@pytest.mark.parametrize("case", LABEL_ERRORS)
def test_bad_label_matrix(case: str) -> None:
    change, expected = LABEL_ERRORS[case]
    for name, part in expected.items():
        kind, same, error, message = outcome(name, lambda X, y: (X, change(y)))
        assert (kind, error, same) == ("E", "ValueError", True), (name, message)
        assert part in message


LDA_ERRORS: dict[str, tuple[Any, str]] = {
    "one class": (lambda y: np.zeros_like(y), "class"),
    "as many classes as samples": (lambda y: np.arange(len(y)), "40 classes for 40 samples"),
    "NaN class": (lambda y: np.where(y == 0, np.nan, y), "NaN"),
    "None class": (lambda y: np.where(y == 0, None, y), "missing class"),
    "continuous": (lambda y: y + 0.123, "Unknown label type"),
    "several labels": (lambda y: np.eye(3)[y], "HypergraphSpectral"),
    "infinite": (lambda y: np.where(y == 0, np.inf, y), "infinity"),
}


@pytest.mark.parametrize("case", LDA_ERRORS)
def test_bad_classes(case: str) -> None:
    change, part = LDA_ERRORS[case]
    kind, same, error, message = outcome("lda", lambda X, y: (X, change(y)))
    assert (kind, error, same) == ("E", "ValueError", True), message
    assert part in message


GOOD_LABELS: dict[str, Any] = {
    "empty label": lambda Y: np.hstack([Y, np.zeros((len(Y), 1))]),
    "label of all": lambda Y: np.hstack([np.ones((len(Y), 1)), Y]),
    "label of one": lambda Y: np.hstack([Y, np.eye(len(Y))[:, :1]]),
    "samples without labels": lambda Y: Y * (np.arange(len(Y)) > 8)[:, None],
    "duplicated labels": lambda Y: np.hstack([Y, Y]),
    "sparse": lambda Y: sparse.csr_array(Y),
    "frame": lambda Y: pd.DataFrame(Y, columns=list("wxyz")),
    "polars": lambda Y: pl.DataFrame(Y),
    "bool": lambda Y: Y.astype(bool),
    "one column": lambda Y: Y[:, :1],
    "strings": lambda Y: np.array(["one", "two"])[Y[:, 0].astype(int)],
}


@pytest.mark.parametrize("case", GOOD_LABELS)
@pytest.mark.parametrize("name", ["cca", "opls", "star", "clique", "zhou"])
def test_unusual_labels_work(name: str, case: str) -> None:
    kind, finite, _, message = outcome(name, lambda X, y: (X, GOOD_LABELS[case](y)))
    assert kind == "V", message
    assert finite


@pytest.mark.parametrize(
    "classes", [["a", "b", "c"], [-5, 3, 0], [True, False, True], [2.0, 7.0, 9.0]]
)
def test_unusual_classes_work(classes: list) -> None:
    values = np.array(classes)
    kind, finite, _, message = outcome("lda", lambda X, y: (X, values[y]))
    assert kind == "V", message
    assert finite


@pytest.mark.parametrize(
    "scale", [1e-300, 1e-200, 1e-160, 1e-150, 1e-100, 1e100, 1e150, 1e200, 1e300]
)
@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_scores_do_not_depend_on_units(name: str, scale: float) -> None:
    _, _, reference, _ = outcome(name, lambda X, y: (X, y), alpha=0.0)
    kind, _, scaled, message = outcome(name, lambda X, y: (X * scale, y), alpha=0.0)
    assert kind == "V", message
    np.testing.assert_allclose(np.abs(scaled), np.abs(reference), atol=1e-8)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_columns_on_wildly_different_scales(name: str) -> None:
    spread = 10.0 ** np.array([-150, -75, 0, 75, 150])
    _, _, reference, _ = outcome(name, lambda X, y: (X, y), alpha=0.0)
    kind, _, scaled, message = outcome(name, lambda X, y: (X * spread, y), alpha=0.0)
    assert kind == "V", message
    np.testing.assert_allclose(np.abs(scaled), np.abs(reference), atol=1e-8)
    kind, finite, _, message = outcome(name, lambda X, y: (X * spread, y), alpha=1.0)
    assert (kind, finite) == ("V", True), message


@pytest.mark.parametrize("name", list(ESTIMATORS))
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_constant_columns_count_for_nothing(name: str, alpha: float) -> None:
    def with_constants(X: np.ndarray, y: Any) -> Any:
        return np.insert(X, [0, 3], [0.1, 1e6], axis=1), y

    _, _, reference, _ = outcome(name, lambda X, y: (X, y), alpha)
    _, _, padded, _ = outcome(name, with_constants, alpha)
    np.testing.assert_allclose(np.abs(padded), np.abs(reference), atol=1e-9)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_large_offset_costs_little(name: str) -> None:
    _, _, reference, _ = outcome(name, lambda X, y: (X, y), alpha=0.0)
    _, _, shifted, _ = outcome(name, lambda X, y: (X + 1e9, y), alpha=0.0)
    np.testing.assert_allclose(np.abs(shifted), np.abs(reference), atol=1e-6)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_formats_give_the_same_bits(form: str, kind: str) -> None:
    def convert(X: np.ndarray, y: Any) -> Any:
        S = _csr(X) if kind == "array" else sparse.csr_matrix(_csr(X))
        return S.asformat(form), y

    _, _, reference, _ = outcome("star", lambda X, y: (_csr(X), y))
    result, _, Z, message = outcome("star", convert)
    assert result == "V", message
    np.testing.assert_array_equal(Z, reference)


def test_unsorted_indices_are_read_and_left_alone(rng: np.random.Generator) -> None:
    X, y = _base("star")
    S = _csr(X)
    for i in range(S.shape[0]):
        part = slice(S.indptr[i], S.indptr[i + 1])
        S.indices[part], S.data[part] = S.indices[part][::-1].copy(), S.data[part][::-1].copy()
    S.has_sorted_indices = False
    before = S.indices.copy(), S.data.copy()
    Z = ESTIMATORS["star"]().fit(S, y).transform(S)
    np.testing.assert_allclose(Z, ESTIMATORS["star"]().fit(_csr(X), y).transform(_csr(X)))
    np.testing.assert_array_equal(S.indices, before[0])
    np.testing.assert_array_equal(S.data, before[1])


def test_huge_declared_width_stays_sparse() -> None:
    def wide(X: np.ndarray, y: Any) -> Any:
        S = _csr(X).tocoo()
        return sparse.csr_array((S.data, (S.row, S.col * 10**5)), shape=(len(X), 10**6)), y

    kind, finite, _, message = outcome("star", wide)
    assert (kind, finite) == ("V", True), message
