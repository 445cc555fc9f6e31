"""Blocks of rows: the model of all rows in memory, whatever the blocks come from."""

from __future__ import annotations

import gc
import tracemalloc
import warnings
from contextlib import nullcontext
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

from conftest import ESTIMATORS, labels_for, some_of
from eigenkit import (
    CCA,
    LDA,
    PCA,
    CanonicalRidge,
    GraphRegularized,
    HypergraphSpectral,
    KernelLDA,
    LeastSquaresProjection,
    MultilabelLDA,
    OrthonormalizedPLS,
    RowBlocks,
)
from eigenkit.estimators.registry import METHODS
from eigenkit.files import FileError, Reading
from eigenkit.files._reading import open_files
from eigenkit.models import fit_model
from eigenkit.targets import TARGETS

N, D = 120, 5
MAKERS = {**ESTIMATORS, "pca": PCA, "ridge": CanonicalRidge, "mlda": MultilabelLDA}


def _data(name, rng, kind="dense"):
    X = rng.normal(size=(N, D)) + 2.0
    if kind == "sparse":
        X = sparse.csr_array(X * (rng.random(X.shape) < 0.5))
    if kind == "float32":
        X = X.astype(np.float32)
    return X, labels_for(name, N, rng)


def _rows(cuts=(7, 40, 41, 90)):
    return np.split(np.arange(N), cuts)


def _parts(X, y):
    return [(X[rows], y[rows]) for rows in _rows()]


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("small", [False, True], ids=["rows", "factor"])
@pytest.mark.parametrize("name", MAKERS)
def test_the_model_is_that_of_all_rows(name, small, kind, rng, monkeypatch):
    if small:
        monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
    X, y = _data(name, rng, kind)
    whole = MAKERS[name]().fit(X, y)
    model = MAKERS[name]().fit(RowBlocks.from_arrays(_parts(X, y)))
    tol = 1e-10 if kind != "float32" else 1e-4
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=tol, atol=tol)
    np.testing.assert_allclose(model.transform(X), whole.transform(X), atol=10 * tol)
    assert model.components_.dtype == whole.components_.dtype
    assert "_intake_" not in vars(model)  # a fit, not a stream


FORMS = {
    "frames": lambda X, y: (pd.DataFrame(X, columns=list("abcde")), pd.DataFrame(y).squeeze()),
    "polars": lambda X, y: (pl.DataFrame(X, schema=list("abcde"), orient="row"), pl.DataFrame(y)),
    "lists": lambda X, y: (X.tolist(), y.tolist()),
    "coo": lambda X, y: (sparse.coo_array(X), sparse.coo_array(y)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["star", "pca", "cca", "lda"])
def test_blocks_may_be_whatever_fit_takes(name, form, rng):
    X, y = _data(name, rng)
    given = FORMS[form](X, y)
    if name == "lda":  # classes are a vector, which is not sparse
        given = given[0], {"polars": pl.Series, "coo": list}.get(form, pd.Series)(y)
    whole = MAKERS[name]().fit(X, y)
    for blocks in (
        RowBlocks.from_arrays([given], block_bytes=1000),
        RowBlocks.from_arrays([lambda: given]),
        RowBlocks(lambda: [given]),
    ):
        model = MAKERS[name]().fit(blocks)
        np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
        assert hasattr(model, "feature_names_in_") == (form in ("frames", "polars"))
    train, test = next(RowBlocks.from_arrays([given]).folds(3))
    assert sum(len(model.transform(X)) for X, _ in (*train, *test)) == N


def test_blocks_of_frames_must_have_the_same_columns(rng):
    X, y = _data("lda", rng)
    frame = pd.DataFrame(X, columns=list("abcde"))
    parts = [(frame[:60], y[:60]), (frame[60:][list("baced")], y[60:])]
    with pytest.raises(ValueError, match="feature names"):
        LDA().fit(RowBlocks.from_arrays(parts))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (([[1.0], [2.0, 3.0]], [0, 1]), "X is a ragged list"),
        (({"a": 1}, [0, 1]), "X is a dict: give an array"),
        ((np.ones((3, 2)), [0, 1]), "part 0 has 3 rows of X and 2 of y"),
        ((sparse.eye_array(3), sparse.eye_array(2)), "part 0 has 3 rows of X and 2 of y"),
    ],
)
def test_parts_that_are_no_rows_are_named(part, message):
    with pytest.raises((ValueError, TypeError), match=message):
        RowBlocks.from_arrays([part])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rank", [2, "auto"])
@pytest.mark.parametrize(
    "model",
    [
        *(OrthonormalizedPLS(), CCA(), MultilabelLDA()),
        *(
            HypergraphSpectral(expansion=e)
            for e in ("star", "clique", "zhou", "bolla", "rodriguez")
        ),
    ],
    ids=repr,
)
def test_fewer_targets_on_blocks_are_those_of_all_rows(model, rank, weighted, rng):
    X, Y = _data("star", rng)
    weight = rng.uniform(0.5, 2.0, N) if weighted else None
    model = clone(model).set_params(label_rank=rank)
    whole = clone(model).fit(X, Y, sample_weight=weight)
    cuts = np.split(np.arange(N), (7, 40, 90))
    parts = [(X[c], Y[c], None if weight is None else weight[c]) for c in cuts]
    model.fit(RowBlocks.from_arrays(parts))
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-8)
    assert model.report_.label_rank == whole.report_.label_rank
    np.testing.assert_allclose(
        model.report_.label_bound, whole.report_.label_bound, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("target", list(TARGETS))
def test_least_squares_models_are_those_of_all_rows(target, l1_ratio, rng):
    X, y = _data("lda" if target == "lda" else "star", rng)
    make = partial(LeastSquaresProjection, target=target, l1_ratio=l1_ratio, alpha=0.5, tol=1e-10)
    weight = rng.integers(1, 4, N).astype(float)
    whole = make().fit(X, y, weight)
    parts = [(*part, weight[rows]) for part, rows in zip(_parts(X, y), _rows(), strict=True)]
    model = make().fit(RowBlocks.from_arrays(parts))
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(whole.transform(X)), atol=1e-8)


@pytest.mark.parametrize(
    ("seed", "target"), some_of(range(6), ["lda", "zhou", "cca", "star", "opls"], every=9)
)
def test_a_class_that_the_others_determine_is_no_direction_of_its_own(seed, target, monkeypatch):
    """The columns of H are dependent: products of rows, and sums of many, must not hide that."""
    monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 900)
    X = rng.normal(size=(900, 3)) + y[:, None] * [1.0, 0.0, 0.5]
    labels = y if target == "lda" else np.eye(3)[y]
    make = partial(LeastSquaresProjection, target=target, l1_ratio=1.0, tol=1e-12)
    whole, stream = make().fit(X, labels), make()
    parts = [(X[i : i + 9], labels[i : i + 9]) for i in range(0, 900, 9)]
    for part in parts:
        stream.partial_fit(*part, **({"classes": [0, 1, 2]} if target == "lda" else {}))
    for model in (make().fit(RowBlocks.from_arrays(parts)), stream):
        np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
        np.testing.assert_allclose(model.components_, whole.components_, atol=1e-10)


def test_the_same_blocks_give_the_same_bits(rng):
    X, y = _data("cca", rng)
    blocks = RowBlocks.from_arrays(_parts(X, y))
    models = [CCA().fit(blocks) for _ in range(2)]
    np.testing.assert_array_equal(models[0].components_, models[1].components_)


def test_classes_that_come_late_and_scores_block_by_block(rng):
    X, y = _data("lda", rng)
    order = np.argsort(y)
    blocks = RowBlocks.from_arrays(_parts(X[order], y[order]))
    model = LDA().fit(blocks)
    np.testing.assert_allclose(model.coef_, LDA().fit(X, y).coef_, atol=1e-9)
    found = list(blocks.apply(model.predict))
    assert [len(part) for part in found] == [7, 33, 1, 49, 30]
    np.testing.assert_array_equal(np.concatenate(found), model.predict(X[order]))


def test_large_arrays_are_cut(rng):
    X, y = _data("lda", rng)
    blocks = RowBlocks.from_arrays([(X, y)], block_bytes=1000)
    sizes = [len(part) for part, _ in blocks]
    assert max(sizes) * D * 8 <= 1000
    assert sum(sizes) == N
    assert [len(part) for part, _ in RowBlocks.from_arrays([X])] == [N]


def test_a_memory_map_is_not_copied(tmp_path, rng):
    n, d = 60000, 40
    path = tmp_path / "X.npy"
    np.save(path, rng.normal(size=(n, d)).astype(np.float32))
    X, y = np.load(path, mmap_mode="r"), np.arange(n) % 4
    blocks = RowBlocks.from_arrays([(X, y)], block_bytes=2**17)
    LDA().fit(RowBlocks.from_arrays([(X[:100], y[:100])]))  # what is imported at first use
    tracemalloc.start()
    model = LDA().fit(blocks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 2  # a copy in float64 would take twice as much
    np.testing.assert_allclose(model.means_[0], X[y == 0].mean(axis=0), atol=1e-5)


# -- what comes out ---------------------------------------------------------------------


def test_scores_are_blocks_again(rng):
    X, y = _data("lda", rng)
    blocks = RowBlocks.from_arrays(_parts(X, y))
    first = PCA(3).fit(blocks)
    scores = blocks.map(first.transform)
    chained = LDA().fit(scores)
    np.testing.assert_allclose(chained.coef_, LDA().fit(first.transform(X), y).coef_, atol=1e-9)
    assert [len(part) for part, _ in scores] == [7, 33, 1, 49, 30]


@pytest.mark.parametrize("kind", ["csv", "tsv", "npz", "parquet"])
def test_scores_and_classes_are_written(kind, tmp_path, rng):
    X, y = _data("lda", rng)
    blocks = RowBlocks.from_arrays(_parts(X, np.array(["a", "=b", "c"])[y]))
    model = LDA().fit(blocks)
    place = tmp_path / f"scores.{kind}"
    names = model.get_feature_names_out()
    assert blocks.map(model.transform).write(place, names) == N
    read = {"csv": pd.read_csv, "tsv": partial(pd.read_csv, sep="\t"), "parquet": pd.read_parquet}
    if kind == "npz":
        stored = np.load(place)
        table = {**dict(zip(names, stored["X"].T, strict=True)), "y": stored["y"]}
    else:
        table = read[kind](place)
    for j, name in enumerate(names):
        np.testing.assert_allclose(table[name], model.transform(X)[:, j], rtol=1e-12)
    assert [v.strip("'") for v in table["y"]] == np.array(["a", "=b", "c"])[y].tolist()
    bare = RowBlocks.from_arrays([X[:50], X[50:]])
    assert bare.map(model.predict).write(tmp_path / f"classes.{kind}") == N


def test_what_fails_leaves_no_file(tmp_path, rng):
    X, y = _data("lda", rng)
    blocks = RowBlocks.from_arrays(_parts(X, y))
    place = tmp_path / "scores.csv"
    place.write_text("old")
    calls = []

    def fails(X):
        calls.append(len(X))
        if len(calls) == 4:
            raise KeyError("here")
        return X

    with pytest.raises(KeyError, match="here"):
        blocks.map(fails).write(place)
    assert place.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["scores.csv"]
    with pytest.raises(FileError, match=r"must end in \.csv"):
        blocks.write(tmp_path / "scores.txt.gz")
    with pytest.raises(ValueError, match="names has 1 names for 5 columns"):
        blocks.write(place, ["one"])
    with pytest.raises(FileError, match=f"there is no folder {tmp_path / 'no'}: make it first"):
        blocks.write(tmp_path / "no" / "scores.csv")
    with pytest.raises(TypeError, match="write is for tables"):
        RowBlocks.from_arrays([sparse.csr_array(X)]).write(place)


# -- files ------------------------------------------------------------------------------


def _write(folder, kind, X, y):
    names = [f"x{j}" for j in range(D)]
    for i, (part, classes) in enumerate(_parts(X, y)):
        place = folder / f"part{i}.{kind}"
        frame = pd.DataFrame(part, columns=names).assign(c=[f"c{k}" for k in classes])
        if kind == "csv":
            frame.to_csv(place, index=False)
        elif kind == "parquet":
            frame.to_parquet(place)
        elif kind == "npz":
            np.savez(place, X=part, y=classes)
        else:
            dump_svmlight_file(part, classes, str(place), zero_based=False)
    return str(folder / f"*.{kind}")


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz", "svm"])
def test_files_of_every_kind(kind, tmp_path, rng):
    X, y = _data("lda", rng)
    X = X.round(6)
    X[7:40, -1] = 0.0  # the second sparse file has one feature less
    options = {"labels": "c"} if kind in ("csv", "parquet") else {}
    blocks = RowBlocks.from_files(_write(tmp_path, kind, X, y), task="classes", **options)
    model, whole = LDA().fit(blocks), LDA().fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    found = np.concatenate(list(blocks.apply(model.predict)))
    if kind in ("csv", "parquet"):
        np.testing.assert_array_equal(found, [f"c{k}" for k in whole.predict(X)])
    else:  # whole numbers are what they are in memory
        np.testing.assert_array_equal(found, whole.predict(X))
        assert model.score(X, y) == whole.score(X, y)


@pytest.mark.parametrize("kind", ["npz", "svm", "csv", "parquet"])
@pytest.mark.parametrize("classes", [(0, 1, 2), (-1, 2, 10)], ids=str)
def test_whole_numbers_in_files_are_whole_numbers_in_models(kind, classes, tmp_path, rng):
    X, y = _data("lda", rng)
    y = np.array(classes)[y]
    path = tmp_path / f"a.{kind}"
    if kind == "npz":
        np.savez(path, X=X, y=y)
    elif kind == "svm":
        dump_svmlight_file(X, y, str(path), zero_based=False)
    else:
        frame = pd.DataFrame(X, columns=list("abcde")).assign(k=y)
        (frame.to_csv if kind == "csv" else frame.to_parquet)(path, index=False)
    labels = {"labels": "k"} if kind in ("csv", "parquet") else {}
    model = LDA().fit(RowBlocks.from_files(path, task="classes", **labels))
    whole = LDA().fit(X, y)
    np.testing.assert_array_equal(model.classes_, whole.classes_)
    assert model.classes_.dtype.kind == "i"
    assert model.score(X, y) == whole.score(X, y)


def test_files_may_be_scaled(tmp_path, rng):
    X, y = _data("lda", rng)
    pattern = _write(tmp_path, "csv", X.round(6), y)
    model = LDA().fit(RowBlocks.from_files(pattern, "c", scale="standard"))
    whole = LDA().fit(X.round(6) / X.round(6).std(axis=0), y)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-2)


def test_bad_files_are_named(tmp_path, rng):
    X, y = _data("lda", rng)
    pattern = _write(tmp_path, "csv", X, y)
    with pytest.raises(FileError, match="no file matches the pattern"):
        RowBlocks.from_files(str(tmp_path / "*.tsv"), "c")
    bad = tmp_path / "part3.csv"
    text = bad.read_text().splitlines()
    text[5] = "," + text[5].split(",", 1)[1]
    bad.write_text("\n".join(text))
    with pytest.raises(FileError, match=r"part3\.csv.* row 5, column 'x0' is missing"):
        LDA().fit(RowBlocks.from_files(pattern, "c"))
    bad.write_text("a,b,c\n1,2,u\n")
    with pytest.raises(FileError, match=r"part3\.csv.*columns are not those of .*part0\.csv"):
        RowBlocks.from_files(pattern, "c")


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("kind", ["csv", "parquet", "npz", "svm"])
def test_files_are_closed_also_after_an_error(kind, gap, tmp_path, rng):
    X, y = _data("lda", rng)
    X[-1, 0] = np.nan if gap and kind != "svm" else 1.0
    options = {"labels": "c"} if kind in ("csv", "parquet") else {}
    files = _write(tmp_path, kind, X, y)
    if gap and kind == "svm":
        (tmp_path / "part9.svm").write_text("1 x:3\n")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ResourceWarning)
        with pytest.raises(FileError) if gap else nullcontext():
            LDA().fit(RowBlocks.from_files(files, task="classes", **options))
        gc.collect()
    assert [str(w.message) for w in found if w.category is ResourceWarning] == []


# -- refusals ---------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, "3", 2.5])
def test_sizes_and_folds_are_counts(value, rng):
    X, y = _data("lda", rng)
    with pytest.raises(ValueError, match=f"block_bytes={value!r} is not valid"):
        RowBlocks.from_arrays([(X, y)], block_bytes=value)
    with pytest.raises(ValueError, match=f"n={value!r} is not valid"):
        list(RowBlocks.from_arrays([(X, y)]).folds(value))


def test_what_blocks_cannot_do_is_said(rng):
    X, y = _data("lda", rng)
    with pytest.raises(ValueError, match="n=1 leaves no rows to fit"):
        list(RowBlocks.from_arrays([(X, y)]).folds(1))
    blocks = RowBlocks.from_arrays(_parts(X, y))
    with pytest.raises(TypeError, match="KernelLDA needs all samples at once"):
        KernelLDA().fit(blocks)
    with pytest.raises(ValueError, match="put y and weights into it"):
        LDA().fit(blocks, y)
    with pytest.raises(TypeError, match=r"X is a collection of blocks, .* blocks\.apply"):
        CCA().fit(RowBlocks.from_arrays([(X, y)])).transform(blocks, y)
    with pytest.raises(ValueError, match="LDA requires y to be passed"):
        LDA().fit(RowBlocks.from_arrays([X]))
    with pytest.raises(ValueError, match="part 0 has 120 rows of X and 3 of y"):
        RowBlocks.from_arrays([(X, y[:3])])
    with pytest.raises(ValueError, match="parts is empty"):
        RowBlocks.from_arrays([])
    with pytest.raises(ValueError, match="X holds no block"):
        LDA().fit(RowBlocks(lambda: iter([])))


@pytest.mark.parametrize("name", ["lda", "pca", "mlda", "cca"])
def test_blocks_without_rows_are_left_out(name, rng):
    X, y = _data(name, rng)
    parts = _parts(X, y)
    gaps = [(X[:0], y[:0]), *parts[:2], (X[:0], y[:0]), *parts[2:], (X[:0], y[:0])]
    whole = MAKERS[name]().fit(X, y)
    for blocks in (RowBlocks.from_arrays(gaps), RowBlocks(lambda: gaps)):
        model = MAKERS[name]().fit(blocks)
        np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
        if name == "lda":
            assert model.classes_.dtype == y.dtype
    with pytest.raises(ValueError, match="X holds no block with rows"):
        MAKERS[name]().fit(RowBlocks(lambda: [(X[:0], y[:0])]))


def test_blocks_without_labels_are_left_out(rng):
    X, Y = _data("mlda", rng)
    Y[:40] = 0
    model = MultilabelLDA().fit(RowBlocks(lambda: _parts(X, Y)))
    whole = MultilabelLDA().fit(X, Y)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    with pytest.raises(ValueError, match="X holds no row that counts"):
        MultilabelLDA().fit(RowBlocks(lambda: _parts(X, 0 * Y)))


def test_messages_about_files_name_arguments(tmp_path, rng):
    X, y = _data("lda", rng)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(k=y, word="x")
    frame.iloc[3, 0] = np.nan
    gaps, words = tmp_path / "gaps.csv", tmp_path / "words.csv"
    frame.drop(columns="word").to_csv(gaps, index=False)
    frame.to_csv(words, index=False)
    with pytest.raises(FileError, match="is missing: give missing='mean'") as first:
        RowBlocks.from_files(gaps, "k")
    with pytest.raises(FileError, match="labels=") as second:
        RowBlocks.from_files(words, "k", missing="mean")
    for caught in (first, second):
        assert "--" not in str(caught.value)
    assert LDA().fit(RowBlocks.from_files(gaps, "k", missing="mean")).classes_.tolist() == [0, 1, 2]


def test_classes_are_shown_as_they_would_be_typed(rng):
    X, y = _data("lda", rng)
    with pytest.raises(ValueError, match="y holds the class 2, which the model does not know"):
        LDA().partial_fit(X[:2], y[:2]).partial_fit(X, y)


@pytest.mark.parametrize("make", [LDA, CCA, PCA])
def test_blocks_that_lose_rows_between_passes_are_refused(make):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), np.arange(60) % 3

    def fit(whole):
        asked = []

        def blocks():
            asked.append(1)
            n = 60 if len(asked) < whole else 40
            return iter([(X[:20], y[:20]), (X[20:n], y[20:n])])

        make().fit(RowBlocks(blocks))
        return len(asked)

    last = fit(whole=100)
    with pytest.raises(ValueError, match="60 rows in the first pass and 40 in a later one"):
        fit(whole=last)


@pytest.mark.parametrize("change", ["one column of X", "rows in another order", "y", "weights"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("make", [LDA, CCA])
def test_blocks_whose_numbers_change_between_passes_are_refused(make, kind, change):
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(90, 5)), np.arange(90) % 3, np.ones(90)
    X[rng.random(X.shape) < 0.3] = 0.0

    def fit(steady):
        asked = []

        def blocks():
            asked.append(1)
            parts = [X.copy(), y.copy(), weight.copy()]
            if len(asked) >= steady:
                if change == "one column of X":
                    parts[0][30:60, 3] *= 1.5
                elif change == "y":
                    parts[1][30:60] = 0
                elif change == "weights":
                    parts[2][40] = 2.0
                else:
                    parts[0][30:60] = X[rng.permutation(np.arange(30, 60))]
            parts[0] = sparse.csr_array(parts[0]) if kind == "sparse" else parts[0]
            return iter([tuple(p[a : a + 30] for p in parts) for a in (0, 30, 60)])

        make().fit(RowBlocks(blocks))
        return len(asked)

    last = fit(steady=100) - (change == "y")  # the last pass, for X'X, does not look at y
    with pytest.raises(ValueError, match="block 1 of X holds other numbers in a later pass"):
        fit(steady=last)


def test_sparse_blocks_may_have_their_entries_in_any_order():
    rng = np.random.default_rng(0)
    X, y = sparse.csr_array(np.round(3 * rng.random((60, 5)))), np.arange(60) % 3
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(X.indptr)])
    odd = sparse.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)
    twice = sparse.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    whole = PCA(2).fit(X).explained_variance_
    for rows in (odd, twice):
        parts = [(rows[:30], y[:30]), (rows[30:], y[30:])]
        found = LDA(alpha=0).fit(RowBlocks.from_arrays(parts))
        np.testing.assert_allclose(found.eigenvalues_, LDA(alpha=0).fit(X, y).eigenvalues_)
        pca = PCA(2).fit(RowBlocks.from_arrays([rows[:30], rows[30:]]))
        np.testing.assert_allclose(pca.explained_variance_, whole)


@pytest.mark.parametrize("model", [GraphRegularized(LDA()), KernelLDA()], ids=["graph", "kernel"])
def test_what_needs_all_rows_says_so(model, rng):
    X, y = _data("lda", rng)
    with pytest.raises(TypeError, match="needs all samples at once, not blocks of rows: give arr"):
        model.fit(RowBlocks.from_arrays([(X, y)]))


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.streams])
def test_blocks_of_constant_numbers_hold_nothing_to_learn(name, rng):
    method = METHODS[name]
    X, y = np.ones((60, 4)), np.arange(60) % 3
    y = np.array(["a", "b", "c"])[y] if "classes" in method.targets else np.eye(3)[y]
    model = method.make(**({"groups": [0, 0, 1, 1]} if method.views else {}))
    parts = [(X[i : i + 20], y[i : i + 20]) for i in (0, 20, 40)]
    with pytest.raises(ValueError, match="X has zero variance: every feature is constant"):
        model.fit(RowBlocks.from_arrays(parts))


@pytest.mark.parametrize("regression", ["cg", "cholesky"])
def test_rows_without_labels_are_left_out_of_every_pass(rng, regression):
    X = sparse.csr_array(rng.normal(size=(300, 20)) * (rng.random((300, 20)) < 0.3))
    Y = (rng.random((300, 3)) < 0.3).astype(float)
    weight = rng.integers(0, 3, 300).astype(float)
    assert not Y.any(axis=1).all()
    model = MultilabelLDA(alpha=1.0, regression=regression, tol=1e-12)
    for given in ((X, Y), (X, Y, weight)):
        parts = [tuple(A[i : i + 60] for A in given) for i in range(0, 300, 60)]
        found = clone(model).fit(RowBlocks.from_arrays(parts))
        right = clone(model).fit(*given[:2], sample_weight=None if len(given) == 2 else weight)
        np.testing.assert_allclose(found.components_, right.components_, atol=1e-9)


def _class_files(tmp_path, *classes):
    for i, cells in enumerate(classes):
        rows = [f"{(7 * j + i) % 5},{(3 * j + 2 * i) % 4},{cell}" for j, cell in enumerate(cells)]
        (tmp_path / f"{i}.csv").write_text("\n".join(["a,b,class", *rows]) + "\n")
    return RowBlocks.from_files(str(tmp_path / "*.csv"), labels="class")


def test_classes_are_numbers_in_some_files_and_words_in_others(tmp_path):
    blocks = _class_files(tmp_path, [1, 2] * 10, [1, 2, "cat"] * 10)
    assert LDA(alpha=1.0).fit(blocks).classes_.tolist() == ["1", "2", "cat"]


def test_a_missing_label_is_named_by_its_own_file_and_row(tmp_path):
    with pytest.raises(FileError, match=r"1\.csv: row 5 has a label that is missing"):
        _class_files(tmp_path, [1, 2] * 10, [1, 2, 1, 2, "", 1])


def test_blocks_that_differ_in_y_are_answered(rng):
    X, y = _data("lda", rng)
    words = np.array(["a", "b", "c"])[y % 3]
    with pytest.raises(ValueError, match="requires y"):
        LDA().fit(RowBlocks.from_arrays([(X, y), X]))
    with pytest.raises(ValueError, match="all of them as numbers, or all as words"):
        LDA().fit(RowBlocks.from_arrays([(X, y), (X, words)]))
    PCA(2).fit(RowBlocks.from_arrays([(X, y), X]))


@pytest.mark.parametrize("model", [LDA(), PCA()], ids=repr)
@pytest.mark.parametrize("generator", [True, False])
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_blocks_that_can_be_asked_once_are_refused(model, generator, n_blocks, rng):
    X, y = _data("lda", rng)
    once = iter([(X, y)] * n_blocks)
    once = (block for block in once) if generator else once
    with pytest.raises(ValueError, match=r"blocks gives the same .* twice: give a function that"):
        clone(model).fit(RowBlocks(lambda: once))
    with pytest.raises(TypeError, match=r"blocks is a .*: give a function that makes a new"):
        RowBlocks(once)


def test_blocks_that_are_gone_in_the_second_pass_are_refused(rng):
    X, y = _data("lda", rng)
    left = [[(X, y)]]
    with pytest.raises(
        ValueError, match="X holds no block with rows of positive weight in a second pass"
    ):
        LDA().fit(RowBlocks(lambda: left.pop() if left else []))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("cut", [RowBlocks.from_arrays, lambda parts: RowBlocks(lambda: parts)])
def test_a_block_that_cannot_be_read_is_named(bad, cut, rng):
    X, y = _data("lda", rng)
    parts = [(X.copy(), y) for _ in range(5)]
    parts[3][0][1, 0] = bad
    with pytest.raises(ValueError, match=r"^block 3 of X cannot be read: X contains"):
        LDA().fit(cut(parts))


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.views])
def test_models_give_blocks_for_blocks(name, rng):
    """Whatever has rows for rows gives them block by block, made when they are asked for."""
    model, X = METHODS[name].make(), np.abs(rng.normal(size=(60, 4)))
    X[:, 0] += np.arange(60) % 3
    y = np.arange(60) % 3
    model.fit(X, y if "classes" in METHODS[name].targets else np.eye(3)[y])
    blocks = RowBlocks.from_arrays([(X[:25], y[:25]), (X[25:], y[25:]), (X[:0], y[:0])])
    for method in ("transform", "predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            found = getattr(model, method)(blocks)
            right = getattr(model, method)(X)
            assert isinstance(found, RowBlocks)
            rows = np.concatenate([np.asarray(rows) for rows, _ in found])
            np.testing.assert_allclose(rows, right, rtol=1e-9, atol=1e-9)
            assert np.concatenate([labels for _, labels in found]).tolist() == y.tolist()


def test_scores_of_blocks_may_be_frames(rng):
    X, y = _data("lda", rng)
    model = LDA().set_output(transform="pandas").fit(X, y)
    scores, _ = next(iter(model.transform(RowBlocks.from_arrays([(X, y)]))))
    assert list(scores) == list(model.get_feature_names_out())


def test_blocks_say_what_they_are(tmp_path, rng):
    X, y = _data("lda", rng)
    blocks = RowBlocks.from_arrays([(X, y), (X, y)])
    assert repr(blocks) == "RowBlocks(240 rows x 5 columns in 2 blocks from arrays)"
    scores = LDA().fit(blocks).transform(blocks)
    assert repr(scores) == f"RowBlocks(transform of {blocks!r})"
    files = _class_files(tmp_path, ["a", "b"] * 3)
    assert repr(files).startswith("RowBlocks(6 rows x 2 columns in 1 block from '")
    assert repr(RowBlocks.from_arrays([lambda: (X, y)])) == "RowBlocks(1 block from functions)"
    assert repr(RowBlocks(lambda: [(X, y)])) == "RowBlocks(from a function)"
    assert "fold 1 of RowBlocks(240" in repr(list(blocks.folds(3))[1][1])


def test_files_of_words_beside_files_of_numbers_are_refused(tmp_path):
    with pytest.raises(
        FileError, match=r"0\.csv: its labels are words such as '(yes|no)', and .*1"
    ):
        _class_files(tmp_path, ["yes", "no"] * 4, [1, 0] * 4)
    blocks = RowBlocks.from_files(str(tmp_path / "*.csv"), labels="class", task="classes")
    assert LDA(alpha=1.0).fit(blocks).classes_.tolist() == ["0", "1", "no", "yes"]


@pytest.mark.parametrize("labels", [["a", "b", "a", ""], [1, 2, 1, ""]], ids=["words", "numbers"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_row_without_a_class_is_named_by_its_file(labels, stream, tmp_path):
    for i, cells in enumerate([labels[:3], labels]):
        rows = "".join(f"{j},{j % 2},{cell}\n" for j, cell in enumerate(cells))
        (tmp_path / f"{i}.csv").write_text(f"a,b,class\n{rows}")
    source = open_files(str(tmp_path / "*.csv"), Reading(labels=("class",), stream=stream))
    with pytest.raises(FileError, match=r"1\.csv: row 4 has"):
        fit_model(source, "lda", stream=stream)
