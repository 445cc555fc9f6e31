"""Blocks of rows on a cluster: the same bits as here, whatever happens to the workers."""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import Ridge

from eigenkit import (
    CCA,
    LDA,
    PCA,
    AlphaSearchCV,
    HypergraphSpectral,
    KeepSearchCV,
    PLSRegressionCV,
    ProbabilisticCCA,
    RowBlocks,
    SparseCCA,
    SparsePLS,
)
from eigenkit.data import LocalPasses
from eigenkit.models._dask_blocks import INSIDE_BYTES, TASK_BYTES, ClusterPasses, sum_of
from eigenkit.models._dask_fit import _settings, connected

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

pytestmark = pytest.mark.filterwarnings("ignore")


def _part(seed, kind="classes", n=60, d=40):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3))
    y = np.arange(n) % 3 if kind == "classes" else (rng.random((n, 4)) < 0.4).astype(float)
    return X, y


def _slow_part(seed):
    time.sleep(0.05)
    return _part(seed, n=400)


def _here(parts):
    """The same parts in this process."""
    blocks = RowBlocks(lambda: iter(()))
    blocks._parts = lambda: ([(X, y, None)] for X, y in parts)
    return blocks


# On loopback, and without pages: Dask gives those of one scheduler to all later ones of a process.
UNSEEN = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            **UNSEEN,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (LDA(), "classes"),
        (LDA(regression="cg"), "classes"),
        (CCA(), "labels"),
        (HypergraphSpectral(), "labels"),
        (PCA(2), "labels"),
        (SparsePLS(2, keep_x=5), "labels"),
        (SparseCCA(2), "labels"),
        (ProbabilisticCCA(), "labels"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_the_bits_are_those_of_one_process(client, model, kind):
    parts = [dask.delayed(_part)(seed, kind) for seed in range(11)]
    found = model.fit(RowBlocks.from_dask(client, parts))
    components = found.components_.copy()
    local = _here([_part(seed, kind) for seed in range(11)])
    here = model.fit(local)
    np.testing.assert_array_equal(components, here.components_)
    if hasattr(model, "score"):
        assert model.score(RowBlocks.from_dask(client, parts)) == model.score(local)


@pytest.mark.parametrize(
    ("search", "kind"),
    [
        (AlphaSearchCV(LDA(), cv=3), "classes"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                (AlphaSearchCV(LDA(), cv=3, scoring="neg_log_loss"), "classes"),
                (AlphaSearchCV(HypergraphSpectral(), cv=3, head=Ridge()), "labels"),
                (KeepSearchCV(SparsePLS(2), keep_x=[3, 10], cv=3), "labels"),
                (PLSRegressionCV(4, cv=3), "labels"),
            ]
        ),
    ],
    ids=["lda", "scoring", "head", "keep", "pls"],
)
def test_folds_on_a_cluster_are_those_of_one_process(client, search, kind):
    parts = [dask.delayed(_part)(seed, kind) for seed in range(5)]
    there = clone(search).fit(RowBlocks.from_dask(client, parts))
    here = clone(search).fit(_here([_part(seed, kind) for seed in range(5)]))
    np.testing.assert_array_equal(there.transform(_part(9)[0]), here.transform(_part(9)[0]))
    for name, value in getattr(here, "cv_results_", {}).items():
        np.testing.assert_array_equal(there.cv_results_[name], value)


def test_folds_on_a_cluster_are_named_as_others(client):
    blocks = RowBlocks.from_dask(client, [dask.delayed(_part)(seed) for seed in range(2)])
    with pytest.raises(ValueError, match="n=1 leaves no rows to fit: give at least 2 folds"):
        next(blocks.folds(1))
    with pytest.raises(ValueError, match="cv=1 is not valid: give an integer of at least 2"):
        AlphaSearchCV(LDA(), cv=1).fit(blocks)
    train, test = next(blocks.folds(3))
    sizes = [sum(X.shape[0] for X, _, _ in part.triples()) for part in (train, test)]
    assert sum(sizes) == 120
    assert abs(sizes[1] - 40) <= 2


def test_only_sums_come_to_the_client(client, monkeypatch):
    sizes = []
    before = distributed.Future.result

    def result(self, *args, **options):
        found = before(self, *args, **options)
        arrays = found if isinstance(found, tuple) else (found,)
        sizes.append(max((a.size for a in arrays if isinstance(a, np.ndarray)), default=0))
        return found

    monkeypatch.setattr(distributed.Future, "result", result)
    parts = [dask.delayed(_part)(seed, "labels", n=3000) for seed in range(3)]
    CCA(regression="cg").fit(RowBlocks.from_dask(client, parts))
    assert max(sizes) <= 40 * 40


def test_scores_of_parts_are_parts_which_the_workers_hold(client):
    blocks = RowBlocks.from_dask(client, [dask.delayed(_part)(seed) for seed in range(3)])
    assert repr(blocks) == f"RowBlocks(3 parts on {client.scheduler.address})"
    model = LDA(alpha=1.0).fit(blocks)
    right = LDA().fit(_here([(model.transform(X), y) for X, y in map(_part, range(3))]))
    found = LDA().fit(model.transform(blocks))
    np.testing.assert_array_equal(found.components_, right.components_)


def test_a_function_is_applied_to_every_block_of_parts_as_of_blocks_here(client):
    X, y = _part(0)
    parts = [[(X[:20], y[:20]), (X[:0], y[:0])], [(X[20:], y[20:])]]
    blocks = RowBlocks.from_dask(client, [dask.delayed(part) for part in parts])
    here = _here([block for part in parts for block in part])
    for found in (blocks, here):
        assert [*found.apply(np.shape)] == [(20, 40), (0, 40), (40, 40)]


def test_files_of_words_beside_files_of_numbers_on_a_cluster(client, tmp_path):
    for i, cells in enumerate((["yes", "no"], [1, 0])):
        rows = "".join(f"{j},{j % 3},{cells[j % 2]}\n" for j in range(6))
        (tmp_path / f"{i}.csv").write_text(f"a,b,class\n{rows}")
    with pytest.raises(ValueError, match=r"0\.csv: its labels are words such as"):
        RowBlocks.from_dask(client, str(tmp_path / "*.csv"), labels="class")


def test_arrays_and_frames_of_dask(client):
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), np.arange(300) % 3
    whole = LDA().fit(X, y)
    arrays = da.from_array(X, chunks=(70, -1)), da.from_array(y, chunks=70)
    model = LDA().fit(RowBlocks.from_dask(client, *arrays))
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-11)
    with pytest.raises(ValueError, match="X is cut between columns"):
        RowBlocks.from_dask(client, arrays[0].rechunk((70, 2)), arrays[1])
    with pytest.raises(ValueError, match="unknown lengths"):
        RowBlocks.from_dask(client, arrays[0][arrays[0][:, 0] > 0], arrays[1])
    with pytest.raises(ValueError, match="5 chunks of rows and y has 3"):
        RowBlocks.from_dask(client, arrays[0], arrays[1].rechunk(100))
    with pytest.raises(ValueError, match="chunk 1 has 70 rows of X and 60 of y: rechunk y"):
        RowBlocks.from_dask(client, arrays[0], arrays[1].rechunk(((70, 60, 80, 70, 20),)))


def test_what_is_no_part_is_refused(client):
    X, y = _part(0)
    with pytest.raises(TypeError, match=r"give delayed pairs .*from_arrays"):
        RowBlocks.from_dask(client, [(X, y)])
    with pytest.raises(ValueError, match="parts is empty"):
        RowBlocks.from_dask(client, [])
    mixed = [dask.delayed(_part)(0), dask.delayed(_part)(1, d=41)]
    with pytest.raises(ValueError, match="features"):
        LDA().fit(RowBlocks.from_dask(client, mixed))


@pytest.mark.parametrize(
    ("part", "message"),
    [(None, "X is a NoneType"), ("abc", "X is a str"), ((0, 0, 0, 0), "a block is no")],
    ids=str,
)
def test_what_is_made_and_is_no_part_is_refused(client, part, message):
    with pytest.raises((TypeError, ValueError), match=message):
        LDA().fit(RowBlocks.from_dask(client, [dask.delayed(part)]))


def test_frames_with_other_columns_are_refused(client):
    pd = pytest.importorskip("pandas")
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
    frames = [(pd.DataFrame(X, columns=list(names)), y) for names in ("ab", "ba")]
    with pytest.raises(ValueError, match="feature names"):
        LDA().fit(RowBlocks.from_dask(client, [dask.delayed(each) for each in frames]))


_TRIES = []


def _unequal():
    _TRIES.append("part")
    X, y = _part(0)
    return X, y[1:]


def test_what_is_wrong_is_said_at_once(client):
    _TRIES.clear()
    with pytest.raises(ValueError, match="60 rows of X, 59 of y"):
        LDA().fit(RowBlocks.from_dask(client, [dask.delayed(_unequal, pure=False)()]))
    assert len(_TRIES) == 1


@pytest.mark.parametrize(
    ("error", "tries"), [(OSError("the disk is away"), 3), (ValueError("no rows"), 1)], ids=repr
)
def test_a_file_is_tried_again_where_the_disk_fails(error, tries, tmp_path, monkeypatch):
    from eigenkit.files import Reading
    from eigenkit.models import _dask_fit

    def fails(*_):
        _TRIES.append("file")
        raise error

    _TRIES.clear()
    monkeypatch.setattr(_dask_fit, "PAUSE", 0.0)
    monkeypatch.setattr(_dask_fit, "open_file", fails)
    with pytest.raises(type(error), match=str(error)):
        _dask_fit.looked("a.csv", Reading())
    assert len(_TRIES) == tries


def _late(seed):
    raise TimeoutError("the disk does not answer")


def test_a_time_out_of_a_part_is_its_error(client):
    with pytest.raises(TimeoutError, match="the disk does not answer"):
        LDA().fit(RowBlocks.from_dask(client, [dask.delayed(_late)(0)]))


def test_too_many_numbers_in_one_part(client, monkeypatch):
    monkeypatch.setattr("eigenkit.models._dask_fit.MOST_STORED", 10)
    with pytest.raises(ValueError, match="more than 10: make smaller parts"):
        LDA().fit(RowBlocks.from_dask(client, [dask.delayed(_part)(0)]))


def test_sizes_of_sparse_arrays_are_known():
    from dask.sizeof import sizeof

    from eigenkit.models._dask_fit import register_sizes

    register_sizes()
    X, _ = _part(0)
    assert sizeof(X) == X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def test_files_are_read_by_the_workers(client, tmp_path):
    parts = [_part(seed) for seed in range(4)]
    for i, (X, y) in enumerate(parts):
        dump_svmlight_file(X[:, : 40 - i], y, str(tmp_path / f"p{i}.svm"), zero_based=False)
    pattern = str(tmp_path / "*.svm")
    model = LDA().fit(RowBlocks.from_dask(client, pattern, task="classes"))
    here = LDA().fit(RowBlocks.from_files(pattern, task="classes"))
    np.testing.assert_allclose(model.coef_, here.coef_, rtol=1e-8, atol=1e-10)
    assert model.classes_.tolist() == here.classes_.tolist()


@pytest.mark.parametrize("in_columns", [True, False])
def test_labels_of_files_have_the_same_order_as_here(in_columns, client, tmp_path):
    for i, names in enumerate((("2", "10"), ("2", "10", "9"))):
        rows = [f"{j % 5},{j % 7},{'|'.join(names[: j % 3 + 1])}\n" for j in range(30)]
        (tmp_path / f"p{i}.csv").write_text("a,b,tags\n" + "".join(rows))
        marks = [f"{j % 5},{j % 7},{j % 2},{j % 3 // 2}\n" for j in range(30)]
        (tmp_path / f"q{i}.csv").write_text("a,b,tag_2,tag_10\n" + "".join(marks))
    files = str(tmp_path / ("q*.csv" if in_columns else "p*.csv"))
    how = {"labels": "tag_*"} if in_columns else {"labels": "tags", "label_separator": "|"}
    there, here = RowBlocks.from_dask(client, files, **how), RowBlocks.from_files(files, **how)
    for (_, y, _), (_, expected) in zip(there.triples(), here, strict=True):
        np.testing.assert_array_equal(y, expected)


def test_a_model_file_is_fitted_on_a_cluster(client, tmp_path, monkeypatch):
    from contextlib import contextmanager

    from click.testing import CliRunner

    from eigenkit.cli import app
    from eigenkit.models import _dask_fit, load

    @contextmanager
    def connected(address, *, unencrypted=False):
        yield client

    for i in range(3):
        X, y = _part(i)
        dump_svmlight_file(X, y, str(tmp_path / f"p{i}.svm"), zero_based=False)
    pattern, out = str(tmp_path / "*.svm"), str(tmp_path / "m.ek")
    command = ["fit", pattern, "--method", "lda", "--out", out, "--dask"]
    refused = CliRunner().invoke(app, [*command, "tcp://10.0.0.1:8786"])
    assert "tcp://10.0.0.1:8786 is not encrypted" in refused.output
    monkeypatch.setattr(_dask_fit, "connected", connected)
    found = CliRunner().invoke(app, [*command, "local"])
    assert found.exit_code == 0, found.output
    here = LDA().fit(RowBlocks.from_files(pattern, task="classes"))
    model = load(out)
    np.testing.assert_allclose(model.estimator.coef_, here.coef_, rtol=1e-8, atol=1e-10)
    assert model.how["n_rows"] == 180
    predicted = CliRunner().invoke(app, ["predict", out, str(tmp_path / "p0.svm")])
    assert predicted.exit_code == 0, predicted.output


def test_files_on_a_cluster_are_read_as_the_command_says(client, tmp_path):
    from eigenkit.files import Reading
    from eigenkit.models._dask_fit import fit_on_cluster

    rng = np.random.default_rng(0)
    for i, classes in enumerate((["1e3", "1000"], ["1000", "x"])):
        rows = [f"{j}|{rng.normal()}|{rng.normal()}|{classes[j % 2]}\n" for j in range(20)]
        (tmp_path / f"p{i}.csv").write_text("id|a|b|class\n" + "".join(rows))
    options = Reading(labels=("class",), ignore=("id",), delimiter="|")
    model = fit_on_cluster(client, str(tmp_path / "*.csv"), "lda", options)
    assert model.estimator.n_features_in_ == 2
    assert set(model.target.names) == {"1e3", "1000", "x"}


@pytest.mark.parametrize(
    ("header", "cell", "message"),
    [("b,a,class", "1.5", "columns are not those of"), ("a,b,class", "2020-01-0{}", "holds dates")],
    ids=["columns", "dates"],
)
def test_files_on_a_cluster_must_have_the_same_columns(client, tmp_path, header, cell, message):
    """In another order, they would be taken for each other."""
    (tmp_path / "p0.csv").write_text("a,b,class\n" + "1,2,u\n3,1,v\n" * 5)
    rows = "".join(f"{cell.format(i + 1)},{i},{'uv'[i % 2]}\n" for i in range(9))
    (tmp_path / "p1.csv").write_text(f"{header}\n{rows}")
    with pytest.raises(ValueError, match=rf"p1\.csv.*{message}"):
        RowBlocks.from_dask(client, str(tmp_path / "*.csv"), labels="class")


@pytest.mark.parametrize("classifier", ["svm", "gaussian"])
@pytest.mark.parametrize(("method", "labels"), [("star", "tag_*"), ("opls", "class")])
def test_a_classifier_on_top_is_that_of_a_fit_here(
    client, tmp_path, method, labels, classifier, monkeypatch
):
    from eigenkit.files import Reading, open_file
    from eigenkit.models import fit_model
    from eigenkit.models._dask_fit import fit_on_cluster

    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    tags = (X[:, :2] + 0.3 * noise > 0).astype(int)
    rows = [
        f"{','.join(f'{x:.6f}' for x in row)},{a},{b},{'uvw'[a + b]}\n"
        for row, (a, b) in zip(X, tags, strict=True)
    ]
    names = "f,g,h,tag_a,tag_b,class\n"
    for i in range(3):
        (tmp_path / f"p{i}.csv").write_text(names + "".join(rows[20 * i : 20 * i + 20]))
    (tmp_path / "all.csv").write_text(names + "".join(rows))
    ignored = ("class",) if labels == "tag_*" else ("tag_*",)
    options = Reading(labels=(labels,), ignore=ignored)
    if classifier == "gaussian":  # which needs only sums to come here
        monkeypatch.delattr("eigenkit.models._dask_blocks.DaskBlocks.scores")
    how = {"classifier": classifier}
    found = fit_on_cluster(client, str(tmp_path / "p*.csv"), method, options, **how)
    here = fit_model(open_file(str(tmp_path / "all.csv"), options), method, **how)
    np.testing.assert_allclose(found.linear.weights, here.linear.weights, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.linear.intercept, here.linear.intercept, atol=1e-7)


class _Anywhere:
    """A client of workers that hold parts as they like."""

    def __init__(self, held, n_threads, n_bytes=1):
        self.held, self.n_threads, self.n_bytes = held, n_threads, n_bytes
        self.n_asked = 0

    def who_has(self, futures):
        self.n_asked += 1
        return {future.key: self.held.get(future.key, ()) for future in futures}

    def nthreads(self):
        return {"a": self.n_threads}

    def nbytes(self, keys, summary):
        return dict.fromkeys(keys, self.n_bytes)

    def get(self, tasks, key, **options):
        self.n_tasks = len(tasks)
        return _Done(dask.get(tasks, key))


class _Done:
    def __init__(self, value):
        self.value = value

    def result(self, timeout):
        return self.value


class _Held(list):
    """A part with a key."""

    key = ""


def _first_number(blocks):
    return next(iter(blocks))


def _parts_anywhere(values):
    parts = [_Held([value]) for value in values]
    for i, part in enumerate(parts):
        part.key = str(i)
    return parts


@pytest.mark.parametrize("n_threads", [1, 2, 5, 40])
@pytest.mark.parametrize("n", [1, 2, 8, 9, 70])
def test_wherever_parts_are_they_are_added_in_the_same_order(rng, n, n_threads):
    values = [np.float64(x) for x in rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n)]
    right = LocalPasses(lambda: ([value] for value in values)).run(_first_number)
    held = {str(i): (f"worker {rng.integers(3)}",) for i in range(n) if rng.random() < 0.9}
    passes = ClusterPasses(_Anywhere(held, n_threads), _parts_anywhere(values))
    assert passes.run(_first_number) == right


def test_a_worker_gets_one_task_for_several_small_parts():
    held = {str(i): ("ab"[i % 2],) for i in range(8)}
    parts = _parts_anywhere(np.ones(8))
    assert ClusterPasses(_Anywhere(held, 2), parts)._tasks() == [[[0, 2, 4, 6], [1, 3, 5, 7]]]
    assert ClusterPasses(_Anywhere(held, 4), parts)._tasks() == [[[0, 2], [1, 3], [4, 6], [5, 7]]]
    large = ClusterPasses(_Anywhere(held, 1, TASK_BYTES), parts)
    assert large._tasks() == [[[i] for i in range(8)]]
    assert ClusterPasses(_Anywhere({}, 1), parts)._tasks() == [[[i] for i in range(8)]]


def _first_number_of(blocks, shared):
    return next(iter(blocks))


def test_what_is_small_travels_inside_of_tasks_and_else_as_the_result_of_one():
    client = _Anywhere({str(i): ("ab"[i % 2],) for i in range(8)}, 2)
    passes = ClusterPasses(client, _parts_anywhere(np.ones(8)))
    assert passes.run(_first_number_of, np.zeros(10)) == 8
    assert client.n_tasks == 3  # two and their sum
    assert passes.run(_first_number_of, np.zeros(INSIDE_BYTES // 8)) == 8
    assert client.n_tasks == 4


def test_the_place_of_parts_is_not_asked_for_in_every_pass():
    client = _Anywhere({str(i): ("a",) for i in range(8)}, 1)
    passes = ClusterPasses(client, _parts_anywhere(np.ones(8)))
    for _ in range(3):
        passes.run(_first_number)
    assert client.n_asked == 1
    some = _Anywhere({"0": ("a",)}, 1)  # the others are about to come
    passes = ClusterPasses(some, _parts_anywhere(np.ones(8)))
    for _ in range(3):
        passes.run(_first_number)
    assert some.n_asked == 3


def test_a_sum_on_a_worker_leaves_what_it_adds_as_it_was():
    a, b, c = (np.full(3, value) for value in (1.0, 2.0, 4.0))
    found = sum_of([(a, None, 1), (b, None, 2), (c, b, 4)], None)
    np.testing.assert_array_equal(found[0], 7.0)
    assert found[1] is b
    assert found[2] == 7
    assert sum_of([None, a], None) is a
    assert sum_of([None], None) is None
    for array, value in zip((a, b, c), (1.0, 2.0, 4.0), strict=True):
        np.testing.assert_array_equal(array, value)


def _unlike(seed):
    return sparse.csr_array(np.random.default_rng(seed).normal(size=(50, 30001))), None


@pytest.mark.slow
def test_arrays_come_from_other_processes_at_whole_addresses():
    """A sum of numbers at odd addresses has other digits."""
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, **UNSEEN) as one,
        distributed.Client(one) as client,
    ):
        passes = RowBlocks.from_dask(client, [dask.delayed(_unlike)(0)]).passes()
        for _ in range(3):
            assert passes.run(_sums_of_columns).flags.aligned


def _sums_of_columns(blocks):
    return sum(np.asarray(X.sum(axis=0)) for X, _, _ in blocks)


@pytest.mark.slow
def test_workers_know_the_sizes_of_sparse_parts():
    """In a process of its own, as workers are."""
    code = (
        "from dask.sizeof import sizeof; from scipy import sparse; "
        "from eigenkit.models import _dask_fit as made; "
        "part = made._sized(made.checked_part, (sparse.eye_array(50000, format='csr'), None)); "
        "print(sizeof(part))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) > 50000 * 12


def test_workers_of_our_own_keep_their_memory_and_are_not_watched():
    name = "distributed.nanny.pre-spawn-environ"
    before = dask.config.get(name)
    settings = _settings()
    assert set(before) - set(settings.pop(name)) == {"MALLOC_TRIM_THRESHOLD_"}
    assert settings == {"distributed.worker.profile.enabled": False}
    assert all(dask.config.get(each) is True for each in settings)  # it is what Dask calls it


def test_what_was_found_is_let_go_after_the_next_pass_was_sent():
    """Dask keeps a message back for 10 ms that follows another one."""
    passes = ClusterPasses(_Anywhere({"0": ("a",)}, 1), _parts_anywhere([1.0]))
    passes.run(_first_number)
    first = weakref.ref(passes._last)
    alive = []
    get = passes.client.get

    def sent(*given, **how):
        alive.append(first() is not None)
        return get(*given, **how)

    passes.client.get = sent
    passes.run(_first_number)
    assert alive == [True]
    assert first() is None


def _listening():
    import psutil

    own = psutil.Process()
    processes = own, *own.children(recursive=True)
    found = [each for process in processes for each in process.net_connections("inet")]
    return {each.laddr for each in found if each.status == "LISTEN"}


@pytest.mark.slow
def test_a_local_cluster_listens_to_nobody_else_and_shows_no_page():
    from urllib.error import HTTPError
    from urllib.request import urlopen

    before = _listening()
    with connected("local") as client:
        assert {address.ip for address in _listening() - before} == {"127.0.0.1"}
        with pytest.raises(HTTPError, match="404"):
            urlopen(client.dashboard_link)


# -- workers that die -------------------------------------------------------------------


def _work(address):
    async def work():
        async with distributed.Worker(address, nthreads=1, dashboard=False) as worker:
            await worker.finished()

    logging.disable()
    asyncio.run(work())


class Workers:
    """Workers as processes of our own; whoever is killed is replaced at once.

    A nanny would wait for ever for a worker that was killed while it was starting. They are forked
    from a process that has imported what they need: starting one takes no time.
    """

    def __init__(self, address, n):
        self.address, self.context = address, multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["distributed", "eigenkit"])
        self.processes = [self._start() for _ in range(n)]

    def _start(self):
        process = self.context.Process(target=_work, args=(self.address,), daemon=True)
        process.start()
        return process

    def kill(self, i):
        """kill -9, whether it works, waits or starts."""
        self.processes[i].kill()
        self.processes[i].join()
        self.processes[i] = self._start()

    def kill_some(self, n, rng, stop):
        """That many at random moments; how many it were when ``stop`` was set."""
        for killed in range(n):
            if stop.wait(rng.uniform(0.02, 0.4)):
                return killed
            self.kill(rng.randrange(len(self.processes)))
        return n

    def revive(self, stop):
        """Replace whoever has ended, until ``stop`` is set."""
        while not stop.wait(0.1):
            for i, process in enumerate(self.processes):
                if not process.is_alive():
                    self.processes[i] = self._start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.processes:
            process.kill()
            process.join()


def pytest_generate_tests(metafunc):
    if "fits" in metafunc.fixturenames:
        metafunc.parametrize("fits", [metafunc.config.getoption("--dask-fits")])


def _check_under_fire(fits, kills):
    """Every fit has the bits of an undisturbed one; how many kills came while it ran."""
    model = LDA(regression="cg", tol=1e-12)
    expected = model.fit(_here([_slow_part(seed) for seed in range(12)])).components_.copy()
    found = []
    with (
        distributed.LocalCluster(n_workers=0, **UNSEEN, host="127.0.0.1") as cluster,
        distributed.Client(cluster) as client,
        Workers(cluster.scheduler_address, 3) as workers,
        ThreadPoolExecutor(1) as pool,
    ):
        client.wait_for_workers(1)
        for seed in range(fits):
            stop = threading.Event()
            killer = pool.submit(workers.kill_some, kills, random.Random(seed), stop)
            try:
                parts = [dask.delayed(_slow_part, pure=False)(i) for i in range(12)]
                components = model.fit(RowBlocks.from_dask(client, parts)).components_
            finally:
                stop.set()
            found.append(killer.result())
            np.testing.assert_array_equal(components, expected)
    return found


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_killed_workers_change_no_bit(fits):
    kills = _check_under_fire(fits, 4)
    print(f"{sum(kills)} kills in {fits} fits")
    assert sum(kills) > 2 * fits


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_cluster_without_workers_ends_in_an_error(monkeypatch):
    monkeypatch.setattr("eigenkit.models._dask_blocks.PATIENCE", 5.0)
    with (
        distributed.LocalCluster(n_workers=0, **UNSEEN, host="127.0.0.1") as cluster,
        distributed.Client(cluster) as client,
    ):
        blocks = RowBlocks.from_dask(client, [dask.delayed(_part)(0)])
        with pytest.raises(RuntimeError, match="there has been no worker for 5 seconds"):
            LDA().fit(blocks)


def _deadly(seed):
    os.kill(os.getpid(), signal.SIGKILL)


def _scheduler(tmp_path):
    """A scheduler as a process of its own, and its address."""
    file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
    command += ["--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # It reads what it is sent, and so must find the functions of this file, and ours where we do.
    options = {
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "20s",
        "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path]),
    }
    process = subprocess.Popen(command, env={**os.environ, **options}, **quiet)
    while not file.exists():
        time.sleep(0.1)
    return process, json.loads(file.read_text())["address"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("part", "every worker that took the task"),
        ("worker", "there has been no worker for 15 seconds"),
        ("scheduler", "the scheduler is gone"),
    ],
)
def test_what_never_returns_ends_in_an_error(what, message, tmp_path, monkeypatch):
    """A part that kills whoever takes it, a worker that stands still, a scheduler that is gone."""
    patience = 60.0 if what == "part" else 15.0  # for workers to be revived
    monkeypatch.setattr("eigenkit.models._dask_blocks.PATIENCE", patience)
    process, address = _scheduler(tmp_path)
    stop = threading.Event()
    try:
        with (
            distributed.Client(address, timeout=60) as client,
            Workers(address, 1) as workers,
            ThreadPoolExecutor(1) as pool,
        ):
            client.wait_for_workers(1, timeout=120)
            part = _deadly if what == "part" else _slow_part
            blocks = RowBlocks.from_dask(client, [dask.delayed(part)(i) for i in range(2)])
            if what == "part":
                pool.submit(workers.revive, stop)
            else:
                LDA().fit(blocks)
                hit = (workers.processes[0] if what == "worker" else process).pid
                os.kill(hit, signal.SIGSTOP if what == "worker" else signal.SIGKILL)
            try:
                with pytest.raises(RuntimeError, match=message):
                    LDA().fit(blocks)
            finally:
                stop.set()
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tls://127.0.0.1:1", "needs certificates, and Dask's configuration names none"),
        ("tcp://127.0.0.1:1", "no scheduler answers at tcp://127.0.0.1:1"),
    ],
)
def test_a_scheduler_that_cannot_be_reached_is_one_sentence(address, said):
    wait = {"distributed.comm.timeouts.connect": "300ms"}
    reached = connected(address, unencrypted=True)
    with dask.config.set(wait), pytest.raises(ValueError, match=said), reached:
        pass
