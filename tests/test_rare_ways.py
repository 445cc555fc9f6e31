"""Ways through the library that other tests do not take: refusals, and data of rare kinds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression

import eigenkit as ek
from eigenkit import analysis
from eigenkit.models import RowBlocks
from eigenkit.moments import stream


@pytest.fixture
def labelled(rng):
    X = rng.normal(size=(60, 5))
    return X, (X[:, :3] + 0.5 * rng.normal(size=(60, 3)) > 0).astype(float)


def _blocks(X, y):
    return RowBlocks.from_arrays([(X[:30], y[:30]), (X[30:], y[30:])])


def test_a_few_components_of_all_cannot_be_asked_for(rng):
    with pytest.raises(ValueError, match="give n_components as an integer"):
        ek.PCA(solver="lanczos").fit(rng.normal(size=(20, 4)))


def test_the_plan_of_a_shrunken_side_is_that_of_its_pencil(labelled):
    X, Y = labelled
    assert ek.CanonicalRidge(gamma_x=0.3).plan(X, Y).regression == "cholesky"


def test_what_needs_all_rows_says_so_of_blocks(labelled):
    X, Y = labelled
    y = Y[:, 0].astype(int)
    with pytest.raises(ValueError, match="shrinkage='auto' needs all"):
        ek.LDA(shrinkage="auto").fit(_blocks(X, y))
    with pytest.raises(ValueError, match="solver='nipals' needs all rows"):
        ek.PCA(solver="nipals").fit(_blocks(X, y))


def test_streams_with_and_without_label_sets_are_merged(labelled, monkeypatch):
    """One began for the star expansion, and goes on for one that needs no sets."""
    monkeypatch.setattr(stream, "BLOCK_BYTES", 1)
    X, Y = labelled
    begun = ek.HypergraphSpectral(expansion="star").partial_fit(X[:30], Y[:30])
    other = ek.HypergraphSpectral(expansion="zhou").partial_fit(X[30:], Y[30:])
    merged = begun.set_params(expansion="zhou").merge(other)
    whole = ek.HypergraphSpectral(expansion="zhou").fit(X, Y)
    np.testing.assert_allclose(merged.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(merged.components_, whole.components_, atol=1e-9)


def test_labels_stored_twice_count_as_their_sum(labelled):
    X, Y = labelled
    rows, columns = np.nonzero(Y)
    halves = np.full(2 * len(rows), 0.5)
    twice = np.tile(columns, (2, 1)).T.ravel(), 2 * np.cumsum([0, *Y.sum(axis=1)]).astype(int)
    twice = sparse.csr_array((halves, *twice), shape=Y.shape)
    assert not twice.has_canonical_format
    found, expected = (ek.OrthonormalizedPLS().fit(X, y) for y in (twice, Y))
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-12)
    assert twice.nnz == 2 * len(rows)


def test_one_weight_for_all_samples(labelled):
    X, Y = labelled
    found, expected = (ek.CCA().fit(X, Y, weight) for weight in (2.0, np.full(len(X), 2.0)))
    np.testing.assert_array_equal(found.components_, expected.components_)


def test_a_class_whose_rows_have_no_weight_does_not_shrink(labelled):
    X, Y = labelled
    y, weight = Y[:, 0].astype(int), np.ones(len(X))
    y[:5], weight[:5] = 2, 0.0
    found = ek.LDA(shrinkage="auto").fit(X, y, weight)
    expected = ek.LDA(shrinkage="auto").fit(X[5:], y[5:])
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-12)


def test_votes_of_two_classes_are_one_number(labelled):
    X, Y = labelled
    y = Y[:, 0].astype(int)
    model = ek.ManyLabelClassifier(n_neighbors=5).fit(X, y)
    votes = model.decision_function(X)
    assert votes.shape == (60,)
    np.testing.assert_array_equal(model.predict(X)[votes > 0], 1)


def test_alpha_is_chosen_by_a_head_over_blocks(labelled):
    X, Y = labelled
    y = Y[:, 0].astype(int)
    search = ek.AlphaSearchCV(ek.LDA(), alphas=[1e-3, 1e3], head=LogisticRegression(), cv=3)
    search.fit(_blocks(X, y))
    assert search.cv_results_["mean_test_score"].min() > 0.5


@pytest.mark.parametrize(
    "model", [ek.HypergraphClustering(2), ek.RGCCA(1, groups=[0, 0, 1]), ek.SparseCCA(1)]
)
def test_constant_features_say_nothing(model):
    with pytest.raises(ValueError, match=r"zero variance|constant"):
        model.fit(np.ones((8, 3)), np.arange(8.0) % 3)


class _NoWeights(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def test_bootstrap_refuses_what_it_cannot_draw_anew(labelled):
    for estimator, words in (
        (ek.AlphaSearchCV(ek.LDA()), "give its best_estimator_"),
        (_NoWeights(), "needs a fit with sample_weight"),
    ):
        with pytest.raises(TypeError, match=words):
            analysis.bootstrap(estimator, *labelled)


def test_the_trace_of_three_views(rng):
    shared = rng.normal(size=(40, 1))
    views = [shared + 0.3 * rng.normal(size=(40, 2)) for _ in range(3)]
    test = analysis.permutation_test(
        ek.MultiviewCCA(1), views, statistic="trace", n_permutations=39
    )
    assert test.p_values[0] == pytest.approx(1 / 40)


def test_equal_distances_are_their_own_limit(labelled):
    X, Y = labelled
    model = ek.PLSRegression(2).fit(X, Y)
    same = X[[3, 3]]
    assert analysis.spe_limit(model, same) == pytest.approx(analysis.spe(model, same)[0])


def test_pictures_without_classes_and_refusals(rng):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    X = rng.normal(size=(30, 14))
    Y = X[:, :2] + rng.normal(size=(30, 2))
    model = ek.CCA(2).fit(X, Y)
    assert model.plot("scores", X).ax_.get_legend() is None
    assert len(model.plot("circle", X).ax_.texts) == 14 + 12  # arrows, and the longest named
    with pytest.raises(ValueError, match="has no eigenvalues_"):
        ek.PLSRegression(1).fit(X, Y).plot("scree")
    with pytest.raises(ValueError, match="has no components_ of features"):
        ek.ReGEC().fit(X, Y[:, 0] > 0).plot("weights")
    plt.close("all")
