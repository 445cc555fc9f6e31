"""Measures of rankings against their definitions written out, and scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import ndcg_score

from eigenkit.evaluation import (
    f1_by_frequency,
    inverse_propensities,
    ndcg_at_k,
    precision_at_k,
    propensity_scored_precision_at_k,
    top_labels,
)


@pytest.fixture
def ranked(rng):
    Y = (rng.random((40, 12)) < 0.2).astype(float)
    Y[0] = 0.0
    return Y, rng.normal(size=(40, 12))


def sparse_like(S):
    return sparse.csr_array(S - S.min() + 1.0)


@pytest.mark.parametrize("k", [1, 3, 5, 12])
def test_precision_counts_hits_among_the_first(ranked, k):
    Y, S = ranked
    by_hand = np.mean([Y[i, np.argsort(-S[i])[:k]].sum() / k for i in range(len(Y))])
    assert precision_at_k(Y, S, k) == pytest.approx(by_hand)
    assert precision_at_k(sparse.csr_array(Y), sparse_like(S), k) == pytest.approx(by_hand)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_ndcg_is_that_of_scikit_learn(ranked, k):
    Y, S = ranked
    assert ndcg_at_k(Y, S, k) == pytest.approx(ndcg_score(Y, S, k=k))


def test_labels_that_are_not_scored_come_last_and_missing_places_are_misses():
    S = sparse.csr_array(np.array([[0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]))
    assert top_labels(S, 3).tolist() == [[1, 3, -1], [-1, -1, -1]]
    assert precision_at_k([[0, 1, 0, 0], [1, 0, 0, 0]], S, 1) == 0.5
    assert top_labels(np.array([[0.5, 0.5]]), 3).tolist() == [[0, 1, -1]]


def test_propensities_follow_the_published_formula(ranked):
    Y, S = ranked
    weight = inverse_propensities(Y, a=0.6, b=2.6)
    C = (np.log(40) - 1) * 3.6**0.6
    np.testing.assert_allclose(weight, 1 + C * (Y.sum(axis=0) + 2.6) ** -0.6)
    for k in (1, 3):
        got = sum((Y[i] * weight)[np.argsort(-S[i])[:k]].sum() for i in range(40))
        best = sum(np.sort(Y[i] * weight)[::-1][:k].sum() for i in range(40))
        found = propensity_scored_precision_at_k(Y, S, weight, k)
        assert found == pytest.approx(got / best)
    assert propensity_scored_precision_at_k(Y, Y, weight, 1) < 1.0  # ties: not the rarest first
    assert propensity_scored_precision_at_k(Y, Y * weight, weight, 1) == pytest.approx(1.0)


def test_f1_by_frequency_averages_within_classes_of_frequency(ranked):
    Y, S = ranked
    P = (S > 0.5).astype(float)
    frequency = np.array([0, 1, 5, 9, 10, 50, 99, 100, 500, 3, 20, 7])
    found = f1_by_frequency(Y, sparse.csr_array(P), frequency)
    f1 = 2 * (Y * P).sum(axis=0) / (Y + P).sum(axis=0)
    assert list(found) == ["1 to 9", "10 to 99", "100 and more"]
    assert found["10 to 99"] == pytest.approx(f1[(frequency >= 10) & (frequency < 100)].mean())


def test_shapes_that_do_not_fit_are_refused(ranked):
    Y, S = ranked
    with pytest.raises(ValueError, match=r"Y has shape \(39, 12\) and S \(40, 12\)"):
        precision_at_k(Y[1:], S)
    with pytest.raises(ValueError, match=r"Y has shape \(40, 3\) and S \(40, 12\)"):
        precision_at_k(Y[:, :3], S, 12)


MEASURES = {
    "precision": precision_at_k,
    "ndcg": ndcg_at_k,
    "propensity": lambda Y, S, k: propensity_scored_precision_at_k(Y, S, [1.0, 2.0], k),
}
NAN = float("nan")


@pytest.mark.parametrize("measure", MEASURES)
def test_complex_labels_are_refused(measure):
    with pytest.raises(TypeError, match="Y is complex: give real numbers"):
        MEASURES[measure](np.array([[1 + 1j, 0]]), np.array([[0.2, 0.1]]), 1)


@pytest.mark.parametrize("form", [np.array, sparse.coo_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("Y", "S", "k", "message"),
    [
        ([[1, 0]], [[NAN, NAN]], 1, "S holds NaN, which cannot be ranked"),
        ([[1, 0]], [[0.1, NAN]], 1, "S holds NaN, which cannot be ranked"),
        ([[2, 1]], [[2.0, 1.0]], 1, "Y holds 2: give a matrix of 0 and 1"),
        ([[1, -1]], [[2.0, 1.0]], 1, "Y holds -1: give a matrix of 0 and 1"),
        ([[1, NAN]], [[2.0, 1.0]], 1, "Y holds nan: give a matrix of 0 and 1"),
        ([[1, 0]], [[0.2]], 1, r"Y has shape \(1, 2\) and S \(1, 1\)"),
        ([[1, 0]], [[0.2, 0.1, 3.0]], 1, r"Y has shape \(1, 2\) and S \(1, 3\)"),
        ([[1, 0]], [[0.2, 0.1]] * 2, 1, r"Y has shape \(1, 2\) and S \(2, 2\)"),
        *(([[1, 0]], [[1.0, 2.0]], k, f"k={k} is not valid: give an int") for k in (0, -1, 1.5)),
    ],
)
def test_what_cannot_be_ranked_is_refused(measure, Y, S, k, message, form):
    with pytest.raises(ValueError, match=message):
        MEASURES[measure](form(Y), form(S), k)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: precision_at_k([1, 0], [0.1, 0.2]), "give a row of labels for every sample"),
        (lambda: precision_at_k([[1, 0]], [0.1, 0.2]), "S has 1 dimensions"),
        (lambda: precision_at_k([["a", "b"]], [[0.1, 0.2]]), "Y holds the string 'a'"),
        (lambda: ndcg_at_k(np.empty((0, 2)), np.empty((0, 2))), r"Y has shape \(0, 2\)"),
        (lambda: top_labels([[0.1, NAN]], 1), "S holds NaN"),
        (lambda: top_labels([[0.1, 0.2]], 0), "k=0 is not valid"),
        (lambda: inverse_propensities([[2, 0]]), "Y holds 2"),
        (lambda: inverse_propensities([[1, 0]], a=NAN), "a=nan is not valid"),
        (lambda: propensity_scored_precision_at_k([[1]], [[1]], [1, 2]), "weight is not valid"),
        (lambda: propensity_scored_precision_at_k([[1]], [[1]], [NAN]), "weight is not valid"),
        (lambda: f1_by_frequency([[1]], [[2]], [1]), "P holds 2"),
        (lambda: f1_by_frequency([[1]], [[1, 0]], [1]), r"Y has shape \(1, 1\) and P \(1, 2\)"),
        (lambda: f1_by_frequency([[1]], [[1]], [1, 2]), "frequency is not valid"),
        (lambda: f1_by_frequency([[1]], [[1]], [1], bounds=(9, 3)), r"bounds=\(9, 3\) is not"),
    ],
)
def test_measures_name_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_whole_numbers_of_any_kind_are_ranked():
    for kind in (bool, np.uint8, np.int64):
        np.testing.assert_array_equal(top_labels(np.array([[0, 1]], dtype=kind), 2), [[1, 0]])
