"""LDA as scikit-learn's users know it: shrinkage, covariances, scalings, priors."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from eigenkit import (
    LDA,
    PLSDA,
    AlphaSearchCV,
    KernelLDA,
    LeastSquaresProjection,
    ReGEC,
    RowBlocks,
)
from eigenkit.exceptions import EigenkitWarning


def wide(seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [12, 9, 15])
    return rng.normal(size=(36, 50)) * np.linspace(0.1, 5, 50) + y[:, None], y


@pytest.mark.parametrize("data", [lambda: load_wine(return_X_y=True), wide], ids=["wine", "wide"])
@pytest.mark.parametrize("shrinkage", [0.1, 0.7, "auto"])
def test_shrinkage_is_that_of_scikit_learn(data, shrinkage):
    X, y = data()
    X = X[:, :10] if len(X) > 100 else X
    theirs = LinearDiscriminantAnalysis("eigen", shrinkage=shrinkage).fit(X, y)
    ours = LDA(shrinkage=shrinkage, store_covariance=True).fit(X, y)
    scale = np.abs(theirs.covariance_).max()
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, atol=1e-10 * scale)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    # Scores have variance 1 within classes; scikit-learn's directions are not compared, as its
    # "eigen" shrinks the scatter between classes too.
    scores = (X - ours.xbar_) @ ours.scalings_
    shares = np.bincount(y) / len(y)
    means = np.array([scores[y == j].mean(axis=0) for j in range(3)])
    centred = means - shares @ means
    between = (centred.T * shares) @ centred
    within = ours.scalings_.T @ theirs.covariance_ @ ours.scalings_
    np.testing.assert_allclose(within, np.eye(2), atol=1e-8)
    ratio = between.diagonal() / np.trace(between)
    np.testing.assert_allclose(between, np.diag(between.diagonal()), atol=1e-8 * between.max())
    np.testing.assert_allclose(ours.explained_variance_ratio_, ratio, atol=1e-8)


def test_covariances_without_shrinkage():
    X, y = load_iris(return_X_y=True)
    theirs = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    ours = LDA(alpha=0, store_covariance=True).fit(X, y)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, atol=1e-12)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-10
    )
    one = LDA(1, alpha=0).fit(X, y)
    np.testing.assert_allclose(
        one.explained_variance_ratio_, ours.explained_variance_ratio_[:1], atol=1e-12
    )
    ridge = LDA(alpha=30.0, store_covariance=True).fit(X, y).covariance_
    np.testing.assert_allclose(ridge, ours.covariance_ + 0.2 * np.eye(4), atol=1e-12)
    scores = (X - ours.xbar_) @ ours.scalings_
    within = sum(np.cov(scores[y == j].T, bias=True) for j in range(3)) / 3
    np.testing.assert_allclose(within, np.eye(2), atol=1e-10)
    with pytest.raises(AttributeError, match="fit with store_covariance=True to keep it"):
        one.covariance_
    np.testing.assert_allclose(ours.xbar_, theirs.xbar_, rtol=1e-12)


def test_a_number_works_for_sparse_data_and_streams():
    X, y = load_iris(return_X_y=True)
    expected = LDA(shrinkage=0.3, store_covariance=True).fit(X, y)
    stream = LDA(shrinkage=0.3, store_covariance=True)
    for own in (slice(0, 60), slice(60, 150)):
        stream.partial_fit(X[own], y[own], classes=[0, 1, 2])
    for model in (stream, LDA(shrinkage=0.3, store_covariance=True).fit(sparse.csr_array(X), y)):
        np.testing.assert_allclose(model.covariance_, expected.covariance_, atol=1e-10)
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-9)


@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.DegenerateDataWarning")
def test_features_that_never_occur_have_the_covariance_of_the_ridge():
    X, y = load_iris(return_X_y=True)
    empty = np.hstack([np.zeros((150, 20)), X])
    for how in ({"shrinkage": 0.3}, {"alpha": 2.0}):
        model = LDA(store_covariance=True, **how).fit(sparse.csr_array(empty), y)
        dense = LDA(store_covariance=True, **how).fit(empty + 0.0, y)
        np.testing.assert_allclose(model.covariance_, dense.covariance_, atol=1e-12)


def test_auto_counts_weights_as_repetition():
    X, y = wide(1)
    weight = np.arange(36) % 3
    weighted = LDA(shrinkage="auto").fit(X, y, weight)
    repeated = LDA(shrinkage="auto").fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(
    ("shrinkage", "message"),
    [
        (1, "shrinkage=1 leaves nothing of the covariance"),
        (-0.1, "shrinkage=-0.1 is not valid: give a finite number from 0 to 1"),
        ("ledoit", "shrinkage='ledoit' is not known: choose one of 'auto'"),
    ],
)
def test_shrinkage_that_is_none(shrinkage, message):
    with pytest.raises(ValueError, match=message):
        LDA(shrinkage=shrinkage).fit(*load_iris(return_X_y=True))


def test_what_auto_cannot_do_is_said():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="X is sparse, but shrinkage='auto' needs dense"):
        LDA(shrinkage="auto").fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="shrinkage='auto' needs all rows at once"):
        LDA(shrinkage="auto").partial_fit(X[::2], y[::2])
    with pytest.raises(ValueError, match=r"shrinkage=0\.5 takes the place of alpha"):
        AlphaSearchCV(LDA(shrinkage=0.5)).fit(X, y)


@pytest.mark.parametrize("way", ["weights", "stream", "kernel"])
def test_a_class_of_which_no_row_counts_has_no_prior(way):
    """It has no mean, so nothing can be said of how near a sample is to it."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 4)) + y[:, None]
    counts = y > 0

    def model(priors):
        if way == "stream":
            return LDA(priors=priors).partial_fit(X[counts], y[counts], classes=[0, 1, 2])
        return (LDA if way == "weights" else KernelLDA)(priors=priors).fit(X, y, counts * 1.0)

    with pytest.raises(ValueError, match=r"priors\[0\]=0.8 is the probability of a class without"):
        model([0.8, 0.1, 0.1]).predict(X)
    found = model([0.0, 0.5, 0.5])
    assert not np.any(found.predict(X) == 0)
    np.testing.assert_array_equal(found.predict_proba(X)[:, 0], 0.0)


def test_priors_that_do_not_sum_to_one_are_normalized_with_a_warning():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(EigenkitWarning, match="priors sum to 2, not to 1"):
        model = LDA(priors=[1.0, 0.5, 0.5]).fit(X, y)
    np.testing.assert_allclose(model.priors_, [0.5, 0.25, 0.25])


@pytest.mark.parametrize("n", [7, 11, 13, 23])
def test_auto_shrinkage_knows_columns_that_are_constant_in_a_class(n, rng):
    X, y = rng.standard_normal((2 * n, 4)), np.repeat([0, 1], n)
    X[y == 0, 2] = 0.0
    expected = LDA(shrinkage="auto").fit(X, y)
    for shift in (0.1, 0.7, 1000 / 3):
        found = LDA(shrinkage="auto").fit(X + np.array([0, 0, shift, 0]), y)
        np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-10)


def test_classes_of_several_types_are_named():
    X = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(ValueError, match="y holds strings and other classes"):
        LDA().fit(X, np.array(["a", 1] * 15, dtype=object))
    both = np.array(["a", np.str_("b")] * 15, dtype=object)
    assert list(LDA().fit(X, both).classes_) == ["a", "b"]


@pytest.mark.parametrize("make", [LDA, KernelLDA, ReGEC, PLSDA])
def test_integers_as_objects_and_strings_of_any_length_are_classes(make):
    X, y = load_iris(return_X_y=True)
    expected = make().fit(X, y)
    for as_objects in (y.astype(object), np.array(y.tolist(), dtype=object)):
        model = make().fit(X, as_objects)
        assert model.classes_.dtype.kind == "i"
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))
        assert model.score(X, as_objects) == expected.score(X, y)
    if hasattr(np.dtypes, "StringDType"):
        words = np.array(["x", "y", "zz"], dtype=np.dtypes.StringDType())[y]
        predicted = make().fit(X, words).predict(X)
        np.testing.assert_array_equal(predicted, words.astype(object)[expected.predict(X) * 50])


def test_objects_that_are_no_classes_are_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"y holds objects \(float\): give classes as strings"):
        LDA().fit(X, np.array([0.5, 1.5, 2.5], dtype=object)[y])


def test_classes_that_were_not_declared_are_refused_for_blocks_too():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"not know: .* pass classes= .* or to RowBlocks"):
        LDA().fit(RowBlocks(lambda: [(X, y)], classes=np.array([0, 1])))


def test_a_stream_takes_no_blocks():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="X is a collection of blocks: give it to fit"):
        LDA().partial_fit(RowBlocks.from_arrays([(X, y)]))


@pytest.mark.parametrize("make", [LDA, ReGEC, PLSDA, partial(LeastSquaresProjection, target="lda")])
def test_a_stream_keeps_the_classes_that_it_began_with(make):
    X, y = load_iris(return_X_y=True)
    model = make().partial_fit(X[::2], y[::2], classes=[0, 1, 2])
    expected = pickle.loads(pickle.dumps(model)).partial_fit(X[1::2], y[1::2]).predict(X)
    for classes in ([0, 1], [0, 1, 2, 3], ["a", "b", "c"]):
        with pytest.raises(
            ValueError, match=r"is not the same as on the first call to partial_fit"
        ):
            model.partial_fit(X[1::2], y[1::2], classes=classes)
    model.partial_fit(X[1::2], y[1::2], classes=[2, 1, 0])
    np.testing.assert_array_equal(model.predict(X), expected)
