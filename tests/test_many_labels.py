"""Many labels: votes of neighbours among the scores, top labels, thresholds, sparse throughout."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score

from eigenkit import HypergraphSpectral, ManyLabelClassifier, OrthonormalizedPLS
from eigenkit.estimators.many_labels import best_thresholds
from eigenkit.evaluation import precision_at_k


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(600, 30, n_classes=12, random_state=0)
    return X[:400], Y[:400], X[400:], Y[400:]


def test_votes_are_those_of_the_nearest_scores(data):
    X, Y, X_new, _ = data
    projection = OrthonormalizedPLS(4)
    model = ManyLabelClassifier(projection, n_neighbors=7).fit(X, Y)
    fitted = OrthonormalizedPLS(4).fit(X, Y)
    root = np.sqrt(fitted.eigenvalues_)
    Z, z = fitted.transform(X) * root, fitted.transform(X_new[:1]) * root
    distance = np.linalg.norm(Z - z, axis=1)
    near = np.argsort(distance)[:7]
    weight = np.exp(-((distance[near] / distance[near[-1]]) ** 2))
    np.testing.assert_allclose(
        model.decision_function(X_new[:1])[0], weight @ Y[near] / weight.sum(), rtol=1e-6
    )


def test_it_finds_labels_better_than_their_frequency_does(data):
    X, Y, X_new, truth = data
    model = ManyLabelClassifier(n_neighbors=20).fit(X, Y)
    frequent = np.tile(Y.mean(axis=0), (len(truth), 1))
    votes = model.decision_function(X_new)
    assert precision_at_k(truth, votes) > precision_at_k(truth, frequent) + 0.15
    tuned = f1_score(truth, model.predict(X_new), average="macro", zero_division=0)
    half = f1_score(truth, votes > 0.5, average="macro", zero_division=0)
    assert tuned > half


def test_sparse_and_dense_labels_give_the_same(data):
    X, Y, X_new, _ = data
    dense = ManyLabelClassifier(HypergraphSpectral(), n_neighbors=9).fit(X, Y)
    thin = ManyLabelClassifier(HypergraphSpectral(), n_neighbors=9).fit(
        sparse.csr_array(X), sparse.csc_matrix(Y)
    )
    assert sparse.issparse(thin.predict(X_new))
    assert sparse.issparse(thin.decision_function(X_new))
    np.testing.assert_array_equal(thin.predict(X_new).toarray(), dense.predict(X_new))


def test_top_labels_come_with_their_votes(data):
    X, Y, X_new, _ = data
    model = ManyLabelClassifier(n_neighbors=3).fit(X, Y)
    labels, votes = model.predict_top(X_new, 12)
    every = model.decision_function(X_new)
    assert np.all(np.diff(votes, axis=1) <= 0)
    for row, best, share in zip(every, labels, votes, strict=True):
        some = best >= 0
        np.testing.assert_allclose(row[best[some]], share[some])
        assert np.count_nonzero(row) == some.sum()


def test_blocks_of_new_samples_change_nothing(data, monkeypatch):
    X, Y, X_new, _ = data
    model = ManyLabelClassifier(n_neighbors=5).fit(X, Y)
    whole = model.decision_function(X_new)
    monkeypatch.setattr("eigenkit.estimators.many_labels.BLOCK_NEIGHBORS", 5 * 7)
    np.testing.assert_allclose(model.decision_function(X_new), whole, atol=1e-12)


@pytest.mark.parametrize("n_neighbors", [4, 500])
def test_a_sample_of_weight_two_is_two_neighbours(data, n_neighbors):
    X, Y, X_new, _ = data
    weight = np.arange(len(X)) % 3
    twice = np.repeat(np.arange(len(X)), weight)
    first = np.arange(len(X)) < 250  # folds that do not cut repeated rows apart
    model = ManyLabelClassifier(n_neighbors=n_neighbors)
    weighted = clone(model).set_params(cv=_halves(first)).fit(X, Y, sample_weight=weight)
    repeated = model.set_params(cv=_halves(first[twice])).fit(X[twice], Y[twice])
    votes = [m.decision_function(X_new) for m in (weighted, repeated)]
    np.testing.assert_allclose(*votes, atol=1e-10)


def _halves(first: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    a, b = np.flatnonzero(first), np.flatnonzero(~first)
    return [(a, b), (b, a)]


def test_rows_of_zero_weight_are_not_there(data):
    X, Y, X_new, _ = data
    some = np.arange(len(X)) % 5 > 0
    model = ManyLabelClassifier(n_neighbors=9)
    weighted = clone(model).fit(X, Y, sample_weight=some)
    alone = model.fit(X[some], Y[some])
    np.testing.assert_allclose(weighted.thresholds_, alone.thresholds_)
    np.testing.assert_array_equal(weighted.predict(X_new), alone.predict(X_new))


def test_votes_do_not_depend_on_the_unit_of_weights(data):
    X, Y, X_new, _ = data
    weight = 0.5 + np.arange(len(X)) % 5
    model = ManyLabelClassifier(OrthonormalizedPLS(alpha=0.0), n_neighbors=9)
    found = [clone(model).fit(X, Y, sample_weight=unit * weight) for unit in (1.0, 1e-7)]
    votes = [m.decision_function(X_new) for m in found]
    np.testing.assert_allclose(*votes, atol=1e-8)
    assert np.abs(votes[0] - model.fit(X, Y).decision_function(X_new)).max() > 0.01


def test_thresholds_maximize_f1(rng):
    S = rng.random((80, 3))
    Y = (S + 0.3 * rng.normal(size=S.shape) > 0.7).astype(float)
    found = best_thresholds(sparse.csc_array(Y), sparse.csc_array(S))
    for j in range(3):
        told = S[:, j] > np.linspace(0, 1, 400)[:, None]
        grid = 2 * (told & (Y[:, j] == 1)).sum(axis=1) / (told.sum(axis=1) + Y[:, j].sum())
        assert f1_score(Y[:, j], S[:, j] > found[j]) >= max(grid) - 1e-12


def test_a_label_that_is_rare_takes_the_common_threshold(rng):
    S = rng.random((200, 2))
    Y = (S > 0.6).astype(float)
    Y[:, 1] = 0.0
    Y[:4, 1] = 1.0
    rare = best_thresholds(sparse.csc_array(Y), sparse.csc_array(S))[1]
    alone = best_thresholds(sparse.csc_array(Y[:, :1]), sparse.csc_array(S[:, :1]))[0]
    assert rare > 0.3
    assert alone == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"cv": -1}, "cv=-1"),
    ],
)
def test_bad_parameters_are_named(data, change, message):
    with pytest.raises(ValueError, match=message):
        ManyLabelClassifier(**change).fit(data[0], data[1])


def test_bad_labels_are_named(data):
    with pytest.raises(ValueError, match="y holds 2"):
        ManyLabelClassifier().fit(data[0], sparse.csr_array(2 * data[1]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ManyLabelClassifier().fit(data[0], sparse.csr_array(data[1][:-1]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.DegenerateDataWarning")
def test_thousands_of_labels_need_no_matrix_of_features_and_labels(rng):
    n, d, k = 200, 4000, 20_000
    X = sparse.random_array((n, d), density=20 / d, rng=rng, format="csr")
    Y = sparse.random_array((n, k), density=3 / k, rng=rng, format="csr")
    Y.data[:] = 1.0
    tracemalloc.start()
    model = ManyLabelClassifier(n_neighbors=5).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * d * k / 4
    # fewer than the 200 main directions asked for: samples without any label are alike
    labels = Y.toarray()
    rank = np.linalg.matrix_rank(labels - labels.mean(axis=0))
    assert model.estimator_.report_.label_rank == rank < 200
    assert model.predict(X).shape == (n, k)


def test_what_was_called_projection_is_the_estimator():
    with pytest.raises(TypeError, match="takes no projection: give estimator"):
        ManyLabelClassifier(projection=OrthonormalizedPLS())
