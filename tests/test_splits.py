"""Folds that keep the share of every label, also where samples belong together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV, cross_val_score

from eigenkit import LDA, AlphaSearchCV, HypergraphSpectral
from eigenkit.evaluation import LabelStratifiedKFold, stratify


@pytest.fixture
def labels(rng):
    return (rng.random((200, 10)) < np.linspace(0.03, 0.5, 10)).astype(float)


def test_every_label_is_spread_evenly(labels):
    for train, test in LabelStratifiedKFold(4).split(labels, labels):
        share = labels[test].sum(axis=0) / labels.sum(axis=0)
        assert np.all(np.abs(labels[test].sum(axis=0) - labels.sum(axis=0) / 4) <= 4), share
        assert len(test) == 50
        assert not np.intersect1d(train, test).size


def test_sparse_labels_give_the_same_folds(labels):
    parts = [
        stratify(Y, [1, 2], np.random.default_rng(3)) for Y in (labels, sparse.csr_array(labels))
    ]
    assert np.array_equal(*parts)


def test_stored_zeros_of_the_caller_stay_where_they_are(labels):
    Y = sparse.csr_array(labels[:, ::-1])
    Y.data[::3] = 0.0
    before = [A.copy() for A in (Y.data, Y.indices, Y.indptr)]
    stratify(Y, [1, 2], np.random.default_rng(3))
    for A, B in zip((Y.data, Y.indices, Y.indptr), before, strict=True):
        np.testing.assert_array_equal(A, B)


def test_groups_stay_together_and_labels_stay_even(labels, rng):
    groups = rng.integers(0, 40, size=200)
    for train, test in LabelStratifiedKFold(4).split(labels, labels, groups):
        assert not np.intersect1d(groups[train], groups[test]).size
        frequent = labels.sum(axis=0) > 40
        share = labels[test].sum(axis=0) / labels.sum(axis=0)
        assert np.all(np.abs(share[frequent] - 0.25) < 0.1)


def test_the_same_seed_gives_the_same_folds(labels):
    first, again, other = (
        [
            test.tolist()
            for _, test in LabelStratifiedKFold(3, random_state=seed).split(labels, labels)
        ]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_it_works_where_splitters_of_scikit_learn_do(rng):
    X = rng.normal(size=(60, 5))
    y = np.arange(60) % 3
    X[:, 0] += y
    folds = LabelStratifiedKFold(3)
    assert len(cross_val_score(LDA(), X, y, cv=folds)) == 3
    assert GridSearchCV(LDA(), {"alpha": [0.1, 1.0]}, cv=folds).fit(X, y).best_score_ > 0.4
    Y = np.eye(3)[y]
    assert AlphaSearchCV(HypergraphSpectral(), alphas=[0.1, 1.0], cv=folds).fit(X, Y).alpha_ > 0


@pytest.mark.parametrize(
    ("y", "n_splits", "groups", "message"),
    [
        (None, 3, None, "y is None"),
        (np.arange(9) % 3, 1, None, "n_splits=1 is not valid: give from 2 to 9 folds"),
        (np.arange(9) % 3, 10, None, "n_splits=10 is not valid"),
        (np.linspace(0, 1, 9), 3, None, "y holds measurements"),
        (np.arange(9) % 3, 3, np.arange(9) % 2, "groups holds 2 groups"),
    ],
)
def test_what_cannot_be_split_is_refused(y, n_splits, groups, message):
    with pytest.raises(ValueError, match=message):
        list(LabelStratifiedKFold(n_splits).split(np.zeros((9, 1)), y, groups))
