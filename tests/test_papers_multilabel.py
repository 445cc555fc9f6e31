"""The multi-label experiments: their parts by equations, and one quick run of each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eigenkit import CCA, alpha_path
from eigenkit.datasets import Dataset
from eigenkit.evaluation.samples import read_samples
from papers import (
    Figure,
    Table,
    hypergraph_rivals,
    hypergraph_text,
    l1,
    run_papers,
    training_size,
)
from papers import multilabel as ml
from papers.rank_svm import RankSVM, _pair_weights, best_thresholds, ranking_loss


def _words(n: int = 120, d: int = 30, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.uniform(0.1, 1.0, d), (n, d)).astype(float)
    Y = (X[:, :3] + rng.normal(size=(n, 3)) > 0.8).astype(int)
    return Dataset("words", sparse.csr_array(X), np.column_stack([Y, np.arange(n) < 10]))


# -- parts -------------------------------------------------------------------------------


def test_rare_labels_are_left_out():
    data = _words(200)
    kept = ml.labels(data)
    assert kept.shape[1] == np.sum(data.target.sum(axis=0) >= 50) < 4
    assert kept.sum(axis=0).min() >= 50


def test_partitions_have_the_asked_size_and_differ():
    Y = ml.labels(_words(200))
    found = ml.partitions(Y, 70, 3, seed=1)
    for train, test in found:
        assert len(train) == 70
        assert len(test) == 130
        assert not np.intersect1d(train, test).size
    assert not np.array_equal(found[0][0], found[1][0])
    again = ml.partitions(Y, 70, 3, seed=1)
    np.testing.assert_array_equal(found[2][0], again[2][0])


def test_features_of_training_documents_do_not_depend_on_test_documents():
    data = _words()
    train, test = np.arange(60), np.arange(60, 120)
    changed = data.X.toarray()
    changed[test] = changed[test][:, ::-1] * 3
    other = Dataset("changed", sparse.csr_array(changed), data.target)
    mine, theirs = (ml.text_samples(d, train, n_terms=12).X for d in (data, other))
    assert mine.shape == (120, 12)
    np.testing.assert_array_equal(mine[train].toarray(), theirs[train].toarray())
    frequency = np.sort((data.X.toarray()[train] > 0).sum(axis=0))
    held = np.sort((mine.toarray()[train] > 0).sum(axis=0))
    np.testing.assert_array_equal(held, frequency[-12:])


@pytest.mark.slow
def test_without_ridge_both_ways_are_one_where_rank_is_full():
    data = ml.small_planted(0)
    samples = read_samples(data.X, ml.labels(data))
    (split,) = ml.partitions(samples.Y, 80, 1, seed=0)  # 80 - 1 <= 105 features
    found = ml.all_versions(CCA(), samples, split, scale=True, seed=0, jobs=1)
    assert found["{}"][0] == pytest.approx(found["LS-{}"][0], abs=1e-4)
    assert found["r{}"][1] in ml.GAMMAS
    assert found["{}"][1] is None


def test_an_error_of_a_method_is_told():
    data = ml.small_planted(0)
    samples = read_samples(data.X, ml.labels(data))
    (split,) = ml.partitions(samples.Y, 80, 1, seed=0)
    with pytest.raises(RuntimeError, match="n_components"):
        ml.trial(CCA(n_components=99), "{}", samples, split, scale=True, seed=0)


def test_gaps_split_the_sizes_at_the_number_of_features():
    found = {
        "{}": [0.5, 0.6, 0.7],
        "r{}": [0.6, 0.7, 0.8],
        "LS-{}": [0.5, 0.61, 0.68],
        "LS-{}_2": [0.6, 0.7, 0.75],
    }
    values = training_size.gaps((10, 20, 30), 15, found)
    np.testing.assert_allclose(values, [0.0, 0.02, 0.05, 0.07, 0.1], atol=1e-12)
    assert training_size.gaps((10, 20), 99, {k: v[:2] for k, v in found.items()})[1] is None


def test_the_largest_penalty_is_where_the_first_term_enters():
    data = _words(200)
    Y = ml.labels(data)
    largest = l1.largest_penalty("Star", data.X, Y)
    models = alpha_path(l1.sparse_model("Star"), data.X, Y, [largest * 1.001, largest * 0.98])
    assert [l1.n_terms(model) for model in models] == [0, 1]


def test_fewest_terms_that_reach_a_level():
    path = np.array([[2.0, 0.6], [10.0, 0.72], [40.0, 0.71]])
    assert l1.fewest(path, 0.7) == 10
    assert l1.fewest(path, 0.8) is None


def test_the_other_ridge_cca_is_the_same_model():
    pytest.importorskip("cca_zoo")
    data = _words(200)
    X, Y = data.X.toarray(), ml.labels(data)
    ours = CCA(alpha=5.0).fit(X, Y).transform(X)
    theirs = hypergraph_rivals.ZooCCA(alpha=5.0).fit(X, Y).transform(X)
    np.testing.assert_allclose(np.abs(theirs), np.abs(ours), atol=1e-6)


def test_rank_and_smallest_singular_value_are_of_the_centred_data():
    rng = np.random.default_rng(0)
    U, _ = np.linalg.qr(rng.normal(size=(40, 4)))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    X = U @ np.diag([5.0, 3.0, 1.0, 0.01]) @ np.linalg.qr(rng.normal(size=(7, 4)))[0].T + 2.0
    rank, smallest = hypergraph_text.spectrum(X)
    assert rank == 4
    assert smallest == pytest.approx(0.01)


def test_selections_of_documents_are_halves_by_length():
    data = _words(100)
    found = list(hypergraph_text.selections(data, 50, seed=0).values())
    length = (data.X.toarray() > 0).sum(axis=1)
    assert [len(rows) for rows in found] == [100, 50, 50, 50]
    assert length[found[2]].min() >= length[found[3]].max()
    assert not np.intersect1d(found[2], found[3]).size


# -- quick runs --------------------------------------------------------------------------


def _quick(name, folder):
    (result,) = run_papers([name], quick=True, out=folder)
    assert not result.missing
    page = (folder / "papers.md").read_text(encoding="utf-8")
    tables = [block for block in result.blocks if isinstance(block, Table)]
    figures = [block for block in result.blocks if isinstance(block, Figure)]
    assert all(table.title in page for table in tables)
    assert all((folder / "figures" / f"{figure.name}.svg").is_file() for figure in figures)
    return tables, figures


@pytest.mark.slow
def test_hypergraph_auc(tmp_path):
    tables, figures = _quick("hypergraph-auc", tmp_path)
    main = {row[0]: values for row, values in zip(tables[0].rows, tables[0].ours, strict=True)}
    assert len(main) == 17
    assert min(main["Rank-SVM"]) > 0.5
    for technique in ml.TECHNIQUES:
        assert main[f"r{technique}"][1] > main[technique][1]
    assert all(0.4 < value < 1 for row, values in main.items() for value in values if value)
    beyond = next(t for t in tables if "instead" in t.title)
    shown = {row[0]: values for row, values in zip(beyond.rows, beyond.ours, strict=True)}
    assert shown["rStar"] == main["rStar"]
    if "cca-zoo RidgeCCA" in shown:
        assert shown["cca-zoo RidgeCCA"] == pytest.approx(shown["rCCA"], abs=5e-3)
    assert len(figures) == 2


@pytest.mark.slow
def test_training_size(tmp_path):
    tables, figures = _quick("training-size", tmp_path)
    assert [row[1] for row in tables[0].rows] == ["CCA", "HSL-Star", "LDA"]
    assert max(values[0] for values in tables[0].ours) < 1e-3
    assert len(figures) == 2


@pytest.mark.slow
def test_sparse_terms(tmp_path):
    tables, figures = _quick("sparse-terms", tmp_path)
    found = {row[0]: values for row, values in zip(tables[0].rows, tables[0].ours, strict=True)}
    for name in l1.NAMES:
        assert found[f"LS-{name}_1"][1] <= found[f"LS-{name}_2"][1]
    assert len(figures) == 2


# -- Rank-SVM --------------------------------------------------------------------------------


def test_the_loss_of_rank_svm_and_its_gradient(rng):
    S, carried = rng.normal(size=(6, 4)), rng.random((6, 4)) < 0.5
    carried[0], carried[1] = True, False  # all labels, and none: no pairs
    weight = _pair_weights(carried)
    loss, slope = ranking_loss(S, carried, weight)
    by_pairs = sum(
        weight[i] * max(0.0, 1 - S[i, p] + S[i, q]) ** 2
        for i in range(6)
        for p in np.flatnonzero(carried[i])
        for q in np.flatnonzero(~carried[i])
    )
    assert loss == pytest.approx(by_pairs)
    step = 1e-6 * rng.normal(size=S.shape)
    ahead, back = (ranking_loss(S + s * step, carried, weight)[0] for s in (1, -1))
    assert (ahead - back) / 2 == pytest.approx(float(np.sum(slope * step)), rel=1e-5)


def test_rank_svm_ranks_labels_that_features_tell(rng):
    X = rng.normal(size=(200, 6))
    Y = (X[:, :3] > 0).astype(float)
    scores = RankSVM(C=10.0).fit(X, Y).decision_function(X)
    ahead = scores[:, :, None] > scores[:, None, :]
    pairs = (Y[:, :, None] > 0) & (Y[:, None, :] == 0)
    assert ahead[pairs].mean() > 0.97


def test_the_best_threshold_errs_least(rng):
    S, carried = rng.normal(size=(30, 5)), rng.random((30, 5)) < 0.4
    t = best_thresholds(S, carried)
    errors = np.sum((t[:, None] < S) != carried, axis=1)
    for i in range(30):
        tried = [np.sum((S[i] > u) != carried[i]) for u in (*(S[i] + 1e-9), S[i].min() - 1)]
        assert errors[i] == min(tried)
