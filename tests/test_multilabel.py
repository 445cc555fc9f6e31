"""Multi-label helpers: balanced LDA, copies, label sets, and the recipes of the docs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg as sla
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline

from eigenkit import (
    LDA,
    MultilabelLDA,
    OrthonormalizedPLS,
    copy_transformation,
    label_powerset,
)
from eigenkit.exceptions import DegenerateDataWarning

X, Y = make_multilabel_classification(120, n_features=8, n_classes=4, random_state=2)
X = X + np.random.default_rng(0).normal(size=X.shape)


def scatters():
    """(1.8) to (1.11), with the outer product that (1.8) lacks."""
    counts = Y.sum(axis=0)
    means = (Y.T @ X) / counts[:, None]
    m = (Y @ np.ones(4)) @ X / Y.sum()
    Sb = sum(n * np.outer(mj - m, mj - m) for n, mj in zip(counts, means, strict=True))
    Sw = sum(((X - means[j]) * Y[:, [j]]).T @ (X - means[j]) for j in range(4))
    return Sb, Sw, m


@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_defining_equation(alpha) -> None:
    Sb, Sw, m = scatters()
    model = MultilabelLDA(alpha=alpha).fit(X, Y)
    W = model.components_.T
    assert model.n_components_ == 3
    assert np.allclose(Sb @ W, (Sb + Sw + alpha * np.eye(8)) @ W * model.eigenvalues_, atol=1e-7)
    assert np.allclose(model.mean_, m)
    values = sla.eigh(Sb, Sb + Sw + alpha * np.eye(8), eigvals_only=True)[::-1]
    assert np.allclose(model.eigenvalues_, values[:3])


def test_it_is_lda_on_copies() -> None:
    copies, labels, _ = copy_transformation(X, Y)
    assert len(copies) == Y.sum()
    direct = LDA(alpha=1.0).fit(copies, labels)
    assert np.allclose(MultilabelLDA(alpha=1.0).fit(X, Y).components_, direct.components_)


def test_one_label_each_is_lda() -> None:
    y = Y.argmax(axis=1)
    assert np.allclose(MultilabelLDA().fit(X, y).components_, LDA().fit(X, y).components_)


def test_samples_without_labels_do_not_count() -> None:
    some = Y.sum(axis=1) > 0
    assert not some.all()
    a, b = MultilabelLDA().fit(X, Y), MultilabelLDA().fit(X[some], Y[some])
    assert np.allclose(a.components_, b.components_)


def test_degenerate_labels() -> None:
    with pytest.warns(DegenerateDataWarning, match="1 of 5 labels are carried by no sample"):
        model = MultilabelLDA().fit(X, np.c_[Y, np.zeros(120)])
    assert np.allclose(model.components_, MultilabelLDA().fit(X, Y).components_)
    with pytest.raises(ValueError, match="no label at all"):
        MultilabelLDA().fit(X, np.zeros((120, 3)))
    with pytest.raises(ValueError, match="at least two are needed"):
        MultilabelLDA().fit(X, np.ones((120, 1)))
    with pytest.raises(ValueError, match="y holds 2: as a label matrix"):
        MultilabelLDA().fit(X, Y * 2)


def test_copies_of_sparse_data_and_their_weights() -> None:
    copies, labels, weight = copy_transformation(sparse.csr_array(X), Y)
    dense, labels_again, _ = copy_transformation(X, Y)
    assert sparse.issparse(copies)
    assert np.array_equal(copies.toarray(), dense)
    assert np.array_equal(labels, labels_again)
    assert np.isclose(weight.sum(), np.sum(Y.sum(axis=1) > 0))


def test_label_powerset_comes_back() -> None:
    classes, label_sets = label_powerset(Y)
    assert np.array_equal(label_sets[classes], Y)
    assert len(np.unique(label_sets, axis=0)) == len(label_sets)
    predicted = LogisticRegression(max_iter=2000).fit(X, classes).predict(X)
    assert label_sets[predicted].shape == Y.shape


def test_binary_relevance_is_scikit_learns() -> None:
    pipe = make_pipeline(MultilabelLDA(), MultiOutputClassifier(LogisticRegression()))
    assert pipe.fit(X, Y).score(X, Y) > 0.2


def test_mlsi_is_opls_towards_data_and_labels() -> None:
    """MLSI: X'((1-b) X X' + b Y Y') X w = lambda (X'X + alpha I) w."""
    beta, alpha = 0.3, 2.0
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    target = np.hstack([np.sqrt(1 - beta) * X, np.sqrt(beta) * Y])
    model = OrthonormalizedPLS(3, alpha=alpha).fit(X, target)
    A = Xc.T @ ((1 - beta) * Xc @ Xc.T + beta * Yc @ Yc.T) @ Xc
    values = sla.eigh(A, Xc.T @ Xc + alpha * np.eye(8), eigvals_only=True)[::-1]
    assert np.allclose(model.eigenvalues_, values[:3])
