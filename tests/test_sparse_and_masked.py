"""Sparse y and folds given as masks, on the paths beside ``fit``: searches, scores, draws."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_linnerud, load_wine
from sklearn.model_selection import KFold, cross_val_score

import eigenkit as ek

X, classes = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
# The last label is not that of a class, so that rows have several, or none.
J = np.column_stack([classes == 0, classes == 1, X[:, 0] > 0]).astype(int)
A, B = load_linnerud(return_X_y=True)

MASKS = [(np.arange(178) % 3 != j, np.arange(178) % 3 == j) for j in range(3)]
NUMBERS = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in MASKS]
WEIGHT = (np.arange(178) % 5 > 0).astype(float)


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize(
    ("search", "y", "found"),
    [
        (lambda cv: ek.ManyLabelClassifier(n_neighbors=5, cv=cv), J, "thresholds_"),
        (lambda cv: ek.AlphaSearchCV(ek.CCA(), cv=cv), J, "best_score_"),
        (lambda cv: ek.KeepSearchCV(ek.SparsePLS(1), keep_x=[2, 9], cv=cv), J, "fold_scores_"),
        (lambda cv: ek.PLSRegressionCV(cv=cv), J, "fold_errors_"),
    ],
)
def test_folds_may_be_masks(search: Any, y: Any, found: str, weight: Any) -> None:
    by_mask, by_number = (search(cv).fit(X, y, sample_weight=weight) for cv in (MASKS, NUMBERS))
    assert np.array_equal(getattr(by_mask, found), getattr(by_number, found))


@pytest.mark.parametrize(
    "model",
    [
        ek.AlphaSearchCV(ek.HypergraphSpectral(), alphas=[0.1, 10.0]),
        ek.AlphaSearchCV(ek.OrthonormalizedPLS(), alphas=[0.1, 10.0]),
        ek.KeepSearchCV(ek.SparsePLS(1), keep_x=[2, 9]),
    ],
)
def test_searches_take_sparse_labels(model: Any) -> None:
    dense, thin = (clone(model).fit(X, y) for y in (J, sparse.csr_array(J)))
    assert np.allclose(dense.transform(X), thin.transform(X))


@pytest.mark.parametrize("model", [ek.CCA(), ek.OrthonormalizedPLS(), ek.PLSRegression(2)])
def test_scores_take_sparse_labels(model: Any) -> None:
    fitted = clone(model).fit(X, J)
    assert fitted.score(X, sparse.csr_array(J)) == pytest.approx(fitted.score(X, J), rel=1e-12)


def test_many_labels_by_a_search_and_by_classes() -> None:
    search = ek.AlphaSearchCV(ek.OrthonormalizedPLS(), alphas=[0.1, 10.0])
    assert ek.ManyLabelClassifier(search, n_neighbors=5).fit(X, J).predict(X).shape == J.shape
    by_classes = ek.ManyLabelClassifier(ek.LDA(), n_neighbors=5).fit(X, classes)
    assert by_classes.score(X, classes) > 0.95
    with pytest.raises(TypeError, match="estimator is a PLSRegression, whose components have no"):
        ek.ManyLabelClassifier(ek.PLSRegression(2)).fit(X, J)


@pytest.mark.parametrize("measure", ["f1_macro", "roc_auc", "accuracy"])
def test_many_labels_are_measured_by_name(measure: str) -> None:
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(ek.ManyLabelClassifier(n_neighbors=5), X, J, scoring=measure, cv=folds)
    assert np.all(scores > 0.4)


def test_variables_are_drawn_for_label_matrices_too() -> None:
    how: dict[str, Any] = {"n_resamples": 4, "random_state": 0}
    model = ek.SparsePLSDA(1, keep_x=3)
    dense, thin = (ek.selection_frequency(model, X, y, **how) for y in (J, sparse.csr_array(J)))
    assert np.array_equal(dense.overall, thin.overall)
    assert dense.overall.sum() >= 3
    responses = ek.selection_frequency(ek.SparsePLS(1, keep_x=1), A, sparse.csr_array(B), **how)
    assert responses.overall.sum() >= 1


def test_label_powerset_of_sparse_labels() -> None:
    found, sets = ek.label_powerset(sparse.csr_array(J))
    assert np.array_equal(sets[found], J)


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
@pytest.mark.parametrize("y", [classes, J, np.array(list("abc"))[classes]])
def test_written_labels_are_read_as_labels(tmp_path: Path, kind: str, y: Any) -> None:
    path = tmp_path / f"rows.{kind}"
    assert ek.RowBlocks.from_arrays([(X, y)]).write(path) == 178
    wanted = {} if kind == "npz" else {"labels": "y" if y.ndim == 1 else "y*"}
    blocks = ek.RowBlocks.from_files(path, **wanted)
    read = [np.concatenate(each) for each in zip(*blocks, strict=True)]
    assert np.allclose(read[0], X)
    assert np.array_equal(read[1], y)


def test_a_name_cannot_stand_for_two_columns(tmp_path: Path) -> None:
    blocks = ek.RowBlocks.from_arrays([(X[:, :2], classes)])
    with pytest.raises(ValueError, match="two columns are named 'y': rename one"):
        blocks.write(tmp_path / "rows.csv", names=["y", "z"])


@pytest.mark.parametrize("task", ["classes", None])
@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_long_whole_numbers_are_names_of_classes(tmp_path: Path, kind: str, task: Any) -> None:
    pandas = pytest.importorskip("pandas")
    path, long = tmp_path / f"rows.{kind}", np.array([2**60, 2**60 + 1, 7])[classes]
    if kind == "npz":
        np.savez(path, X=X, y=long)
    else:
        pandas.DataFrame(X).rename(columns=str).assign(y=long).to_parquet(path)
    blocks = ek.RowBlocks.from_files(path, labels="y", task=task)
    assert np.array_equal(np.concatenate([y for _, y in blocks]), long.astype(str))


def test_bytes_in_parquet_are_text(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "rows.parquet"
    pandas.DataFrame({"a": X[:, 0], "y": np.array([b"x", b"y", b"z"])[classes]}).to_parquet(path)
    blocks = ek.RowBlocks.from_files(path, labels="y")
    assert {name for _, y in blocks for name in y.tolist()} == {"x", "y", "z"}


@pytest.mark.parametrize(
    "package", ["", ".kernels", ".kernels.sets", ".analysis", ".evaluation", ".models", ".data"]
)
def test_every_exported_name_is_there(package: str) -> None:
    module = importlib.import_module(f"eigenkit{package}")
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert not missing
