"""What a judge without the source found behind the public face: sentences, both sides, reasons."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

import eigenkit as ek

X = np.random.default_rng(0).normal(size=(30, 4))
NUMBERS, LABELS, CLASSES = X[:, :2] + 1, (X[:, :3] > 0).astype(int), np.arange(30) % 3


@pytest.mark.parametrize(
    "search",
    [
        ek.AlphaSearchCV(ek.CCA(1)),
        ek.KeepSearchCV(ek.SparsePLS(1)),
        ek.GraphRegularized(ek.CCA(1)),
    ],
)
def test_searches_project_both_sides_where_their_estimator_does(search: Any) -> None:
    model = search.fit(X, NUMBERS)
    both = model.transform(X, NUMBERS)
    expected = model.best_estimator_.transform(X, NUMBERS)
    for found, own in zip(both, expected, strict=True):
        np.testing.assert_array_equal(found, own)
    np.testing.assert_array_equal(model.transform(X), both[0])


@pytest.mark.parametrize("approximation", [None, "cholesky"])
def test_a_kernel_says_why_its_method_was_taken(approximation: str | None) -> None:
    model = ek.KernelLDA(approximation=approximation, n_landmarks=10).fit(X, CLASSES)
    reason = "the kernel matrix is known" if approximation is None else "of landmarks are few"
    assert reason in model.report_.reason


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (ek.LDA(), CLASSES + 1j, "y is complex"),
        (ek.ReGEC(), CLASSES + 1j, "y is complex"),
        (ek.ShrinkageRegression(), NUMBERS + 1j, "y is complex"),
        (ek.LDA(), np.zeros((30, 0)), "y has no columns"),
        (ek.RGCCA(1, groups=[0, 0, 1, 1]), np.ones(30), "y is constant"),
    ],
)
def test_sentences(model: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_sparse_columns_that_are_filled_with_something_else_than_zero() -> None:
    frame = pd.DataFrame({f"c{j}": pd.arrays.SparseArray(X[:, j]) for j in range(4)})
    with pytest.raises(ValueError, match=r"fill value is not 0: give X.sparse.to_dense\(\)"):
        ek.LDA().fit(frame, CLASSES)


def test_many_labels_ask_a_pipeline_for_eigenvalues_not_for_weights() -> None:
    with pytest.raises(TypeError, match="estimator is a Pipeline, whose components have no eigen"):
        ek.ManyLabelClassifier(make_pipeline(ek.CCA())).fit(X, LABELS)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("cls", [ek.ReGEC, ek.GEPSVM])
def test_landmarks_of_planes_among_few_samples(cls: Any, kernel: str) -> None:
    model = cls(0.1, kernel=kernel, approximation="cholesky", n_landmarks=5).fit(X, CLASSES)
    assert len(np.unique(model.landmarks_)) == 5
    every = np.arange(30)
    K = model.kernel_(X)
    assert model.landmarks_[0] in every[np.isclose(K.diagonal(), K.diagonal().max())]


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_pairs_of_many_responses_are_those_of_the_singular_value_decomposition(store: Any) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(90, 12)) * (rng.random((90, 12)) < 0.5)
    Y = (rng.random((90, 80)) < 0.2).astype(float)
    few, every = (ek.PLSSVD(l, scale=False).fit(store(A), Y) for l in (3, 12))
    W, s, Ct = np.linalg.svd((A - A.mean(axis=0)).T @ (Y - Y.mean(axis=0)), full_matrices=False)
    for model, l in ((few, 3), (every, 12)):
        np.testing.assert_allclose(np.abs(np.sum(model.x_weights_ * W[:, :l], axis=0)), 1.0)
        np.testing.assert_allclose(np.abs(np.sum(model.y_weights_ * Ct[:l].T, axis=0)), 1.0)
    ridge = ek.CanonicalRidge(3, gamma_x=1, gamma_y=1).fit(store(A), store(Y))
    np.testing.assert_allclose(ridge.eigenvalues_, s[:3] ** 2)


def test_reports_name_the_products_and_only_iterations_that_were_made() -> None:
    assert "products with X" in str(ek.PCA(2).fit(sparse.csr_array(X)).report_)
    for weights, steps in (("uniform", False), ("best", False), ("silp", True)):
        model = ek.MultipleKernelProjection(kernels=["rbf", "linear"], weights=weights).fit(
            X, LABELS
        )
        assert ("iterations" in str(model.report_)) is steps


@pytest.mark.parametrize("most", [2**31, 2**63, 10**400])
def test_more_components_than_memory_holds_are_refused_by_their_number(most: int) -> None:
    with pytest.raises(ValueError, match="exceeds 29, the rank of what X and y share"):
        ek.KernelPLS(most).fit(X, NUMBERS)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int64])
def test_counts_in_small_integers_are_counts(kind: type) -> None:
    many = np.random.default_rng(1).normal(size=(300, 5))
    expected = ek.KernelPLS(10).fit(many, many[:, :2]).transform(many)
    found = ek.KernelPLS(kind(10)).fit(many, many[:, :2]).transform(many)
    np.testing.assert_array_equal(found, expected)
    votes = [ek.ManyLabelClassifier(n_neighbors=k).fit(X, LABELS).predict(X) for k in (2, kind(2))]
    np.testing.assert_array_equal(*votes)


@pytest.mark.parametrize("side", ["keep_x", "keep_y"])
def test_numbers_to_keep_are_at_least_as_many_as_components(side: str) -> None:
    """More of them are for more components, as in searches for their number."""
    given = {"keep_x": 2, "keep_y": 1, side: [2, 1]}
    for model in (ek.SparseCCA(3), ek.SparsePLS(3)):
        with pytest.raises(ValueError, match=f"{side} has 2 numbers for 3 components"):
            model.set_params(**given).fit(X, NUMBERS)
    for few, made in ((ek.SparseCCA(1), ek.SparseCCA), (ek.SparsePLS(1), ek.SparsePLS)):
        found = few.set_params(**given).fit(X, NUMBERS).transform(X)
        expected = made(1, **{**given, side: 2}).fit(X, NUMBERS).transform(X)
        np.testing.assert_array_equal(found, expected)


def test_a_search_for_variables_of_x_keeps_those_of_y() -> None:
    model = ek.KeepSearchCV(ek.SparsePLS(2, keep_y=[2, 1]), keep_x=[2, 4]).fit(X, NUMBERS)
    assert model.n_components_ == len(model.keep_x_)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("cls", [ek.PLSRegression, ek.SIMPLS])
def test_spectra_in_single_precision_keep_their_substances(cls: type, scale: bool) -> None:
    """The rounding of numbers near 100 is small beside what 14 substances leave of y."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        amounts, at = rng.gamma(2, size=(240, 14)), np.linspace(0, 1, 200)
        pure = np.array([np.exp(-(((at - rng.random()) / 0.07) ** 2)) for _ in range(14)])
        spectra = amounts @ pure + 1e-3 * rng.normal(size=(240, 200)) + 100
        y = amounts[:, :3] @ rng.normal(size=(3, 2))
        single = spectra.astype(np.float32)
        model = cls(14, scale=scale).fit(single[:120], y[:120])
        assert model.n_components_ == 14
        assert model.score(single[120:], y[120:]) > 0.9999 - 1e-4


def test_kernel_weights_with_a_ridge_beyond_its_square() -> None:
    kernels = [ek.Kernel("rbf", gamma=0.1), ek.Kernel("linear")]
    model = ek.MultipleKernelProjection(kernels=kernels, alpha=1e300).fit(X, LABELS)
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("model", [ek.MultiviewCCA(), ek.RGCCA()])
@pytest.mark.parametrize(
    ("view", "message"),
    [
        (X[:, 0], "view 0: X has one dimension"),
        (None, "view 0: X is a NoneType"),
        (X[:, :0], "view 0: Found array with 0 feature.* required by (MultiviewCCA|RGCCA)"),
    ],
)
def test_a_view_that_is_no_matrix_is_named(model: Any, view: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit([view, X])


@pytest.mark.parametrize("model", [ek.ShrinkageRegression(), ek.PLSRegression(), ek.LDA()])
def test_scores_check_y_and_weights_in_words_of_ours(model: Any) -> None:
    y = CLASSES if isinstance(model, ek.LDA) else NUMBERS[:, 0]
    model.fit(X, y)
    assert model.score(X, y, sample_weight=2.0) == model.score(X, y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.score(X, None)
    with pytest.raises(ValueError, match="sample_weight holds a negative"):
        model.score(X, y, sample_weight=-np.ones(30))


def test_a_constant_column_of_large_numbers_is_no_overflow() -> None:
    large = np.column_stack([1e170 * X, np.full(30, 7e170)])
    y = CLASSES == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        blocks = ek.ReGEC().fit(ek.RowBlocks.from_arrays([(large, y)]))
    whole = ek.ReGEC().fit(large, y)
    np.testing.assert_array_equal(blocks.predict(large), whole.predict(large))


@pytest.mark.parametrize("weights", ["uniform", "best", [1.0, 3.0]])
def test_weights_that_are_given_need_no_iterations(weights: Any) -> None:
    kernels = [ek.Kernel("rbf", gamma=0.1), ek.Kernel("linear")]
    model = ek.MultipleKernelProjection(kernels=kernels, weights=weights).fit(X, LABELS)
    assert model.converged_
    assert model.n_iter_ == 1
