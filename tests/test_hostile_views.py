"""Hostile input to PCA, CanonicalRidge, MultiviewCCA, SparseCCA and MultilabelLDA.

Every case ends in finite numbers or in one sentence, leaves the input as it was, and where it is
refused leaves the model as it was too.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from eigenkit import PCA, CanonicalRidge, MultilabelLDA, MultiviewCCA, SparseCCA

rng = np.random.default_rng(17)
LATENT = rng.normal(size=(60, 3))
X = LATENT @ rng.normal(size=(3, 6)) + rng.normal(size=(60, 6))
J = (LATENT + 0.3 * rng.normal(size=(60, 3)) > 0).astype(float)

MODELS = [
    PCA(2),
    PCA(2, solver="lanczos"),
    CanonicalRidge(2),
    CanonicalRidge(2, gamma_x=1, gamma_y=1),
    MultiviewCCA(2, groups=[0, 0, 0, 1, 1, 2]),
    SparseCCA(2),
    SparseCCA(2, method="alternating"),
    SparseCCA(2, method="greedy", keep_x=2, keep_y=2),
    SparseCCA(2, method="least_squares"),
    MultilabelLDA(2),
]
IDS = [str(m).replace("\n", "") for m in MODELS]
each_model = pytest.mark.parametrize("model", MODELS, ids=IDS)


def fresh(model):
    return type(model)(**model.get_params())


def bad(position, value):
    A = X.copy()
    A[position] = value
    return A


REFUSED = {
    "nan": (bad((3, 2), np.nan), "NaN"),
    "inf": (bad((3, 2), np.inf), "infinity"),
    "-inf": (bad((3, 2), -np.inf), "infinity"),
    "nan in csr": (sparse.csr_array(bad((3, 2), np.nan)), "NaN"),
    "strings": (np.full((60, 6), "a"), "X holds the string 'a'"),
    "complex": (X + 1j, "Complex data"),
    "dates": (np.full((60, 6), np.datetime64("2020-01-01")), "dates"),
    "masked": (np.ma.masked_array(X, X > 1), "masked array"),
    "structured": (np.zeros(60, dtype=[("a", float)]), "structured"),
    "no rows": (X[:0], "0 sample"),
    "no columns": (X[:, :0], "0 feature"),
    "one sample": (X[:1], "minimum of 2"),
    "vector": (X[:, 0], "Reshape"),
    "cube": (X[None], "dim 3"),
    "constant": (np.ones((60, 6)), "zero variance|constant"),
    "zero": (np.zeros((60, 6)), "zero variance|constant"),
}


@pytest.mark.slow
@each_model
@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_sentence(model, case) -> None:
    A, message = REFUSED[case]
    model = fresh(model).fit(X, J)
    before = model.components_.copy()
    with pytest.raises(ValueError, match=message):
        model.fit(A, J[: np.shape(A)[0]])
    assert np.array_equal(model.components_, before)


@each_model
def test_wrong_kinds_of_objects(model) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's own, about np.matrix
        with pytest.raises(TypeError, match=r"np\.matrix"):
            fresh(model).fit(np.matrix(X), J)
    with pytest.raises(TypeError, match="generator"):
        fresh(model).fit((row for row in X), J)
    corrupt = sparse.csr_array(X)
    corrupt.indices = corrupt.indices.copy()
    corrupt.indices[0] = 99
    with pytest.raises(ValueError, match="corrupt sparse matrix"):
        fresh(model).fit(corrupt, J)
    with pytest.raises(NotFittedError):
        fresh(model).transform(X)
    with pytest.raises(ValueError, match="5 features"):
        fresh(model).fit(X, J).transform(X[:, :5])


def unaligned() -> np.ndarray:
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(np.float64).reshape(X.shape)
    view[:] = X
    return view


SAME = {
    "fortran": lambda: np.asfortranarray(X),
    "strided": lambda: np.repeat(X, 2, axis=1)[:, ::2],
    "negative strides": lambda: X[::-1].copy()[::-1],
    "big-endian": lambda: X.astype(">f8"),
    "unaligned": unaligned,
    "longdouble": lambda: X.astype(np.longdouble),
    "list": lambda: X.tolist(),
    "pandas": lambda: pd.DataFrame(X, columns=list("abcdef")),
    "polars": lambda: pl.DataFrame(X, schema=list("abcdef")),
    "csr": lambda: sparse.csr_array(X),
    "csc matrix": lambda: sparse.csc_matrix(X),
    "coo": lambda: sparse.coo_array(X),
    "lil": lambda: sparse.lil_array(X),
}


@pytest.mark.slow
@each_model
@pytest.mark.parametrize("case", SAME)
def test_containers_do_not_matter(model, case) -> None:
    reference = fresh(model).fit(X, J).components_
    A = SAME[case]()
    assert np.allclose(fresh(model).fit(A, J).components_, reference, atol=1e-6)


@each_model
def test_read_only_input_is_not_changed(model) -> None:
    A, B = X.copy(), J.copy()
    A.setflags(write=False)
    B.setflags(write=False)
    fresh(model).fit(A, B)
    assert np.array_equal(A, X)
    unsorted = sparse.csr_array(X)
    unsorted.indices, unsorted.data = unsorted.indices.copy(), unsorted.data.copy()
    unsorted.indices[:6], unsorted.data[:6] = unsorted.indices[:6][::-1], unsorted.data[:6][::-1]
    unsorted.has_sorted_indices = False
    unsorted.has_canonical_format = False
    before = unsorted.indices.copy()
    found = fresh(model).fit(unsorted, J)
    assert np.array_equal(unsorted.indices, before)
    assert np.allclose(found.components_, fresh(model).fit(X, J).components_, atol=1e-6)


@each_model
@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float16])
def test_other_kinds_of_numbers(model, kind) -> None:
    A = np.abs(X * 3).astype(kind) if kind is not bool else X > 0
    reference = fresh(model).fit(A.astype(np.float64), J).components_
    assert np.allclose(fresh(model).fit(A, J).components_, reference, atol=1e-2)


@each_model
def test_degenerate_but_meaningful(model) -> None:
    twice = fresh(model).fit(np.vstack([X, X]), np.vstack([J, J]))
    assert np.all(np.isfinite(twice.components_))
    if getattr(model, "solver", "") != "lanczos":  # squares resolve sizes within 1e8 only
        outlier = bad((0, 0), 1e12)
        assert np.all(np.isfinite(fresh(model).fit(outlier, J).transform(X)))
    minus = np.where(np.abs(X) < 0.3, -0.0, X)
    plus = np.where(np.abs(X) < 0.3, 0.0, X)
    assert np.array_equal(
        fresh(model).fit(minus, J).components_, fresh(model).fit(plus, J).components_
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = fresh(model).fit(X[:5], J[:5])
        assert np.all(np.isfinite(few.components_))
        duplicated = fresh(model)
        if not isinstance(model, MultiviewCCA):
            duplicated.fit(np.hstack([X, X]), J)
            assert np.all(np.isfinite(duplicated.components_))


@each_model
def test_weights_are_checked_and_threads_agree(model) -> None:
    for weight, message in [
        (np.full(60, -1.0), "negative or non-finite"),
        (np.full(60, np.nan), "negative or non-finite"),
        (np.zeros(60), "zero for every sample"),
        (np.ones(5), "one weight per row"),
    ]:
        with pytest.raises(ValueError, match=message):
            fresh(model).fit(X, J, sample_weight=weight)
    fitted = fresh(model).fit(X, J)
    with ThreadPoolExecutor(8) as pool:
        scores = list(pool.map(fitted.transform, [X] * 8))
    assert all(np.array_equal(s, scores[0]) for s in scores)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-100, 1e30, 1e100, 1e160, 1e300])
@pytest.mark.parametrize(
    "model",
    [
        CanonicalRidge(2, gamma_x=0, gamma_y=0),
        MultiviewCCA(2, alpha=0, groups=[0, 0, 0, 1, 1, 2]),
        SparseCCA(2),
        SparseCCA(2, method="greedy", keep_x=2, keep_y=2),
        MultilabelLDA(2, alpha=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_scale_free_methods_at_any_scale(model, scale) -> None:
    a, b = fresh(model).fit(X, J), fresh(model).fit(X * scale, J)
    for name in ("eigenvalues_", "canonical_correlations_"):
        if hasattr(a, name):
            assert np.allclose(getattr(a, name), getattr(b, name), rtol=1e-8)
    assert np.allclose(a.transform(X), b.transform(X * scale), atol=1e-8)
