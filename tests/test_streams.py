"""Streams with checkpoints: exactly once, also when the process is killed at any moment."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import random
import resource
import signal
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import IncrementalPCA

import eigenkit
from conftest import ESTIMATORS, labels_for, slow_but, some_of
from eigenkit import CCA, LDA, PCA, HypergraphSpectral, KernelLDA, ReGEC, RowBlocks, Stream
from eigenkit.exceptions import RepeatedBatchWarning
from eigenkit.files import FileError

BATCHES = 24
NAMES = ["pca", *sorted(ESTIMATORS)]


def _make(name):
    return PCA() if name == "pca" else ESTIMATORS[name]()


def _batch(name, i, kind="dense"):
    """Batch i, the same whenever it is asked for."""
    rng = np.random.default_rng(i)
    X = rng.normal(size=(11, 4)) + i % 3
    if kind == "sparse":
        X = sparse.csr_array(X * (rng.random(X.shape) < 0.5))
    elif kind == "fortran":
        X = np.asfortranarray(X)
    elif kind == "float32":
        X = X.astype(np.float32)
    return X, labels_for(name, 11, rng)


def _feed(name, path, kind="dense", upto=BATCHES, **options):
    with Stream(_make(name), path, **options) as stream:
        for i in range(upto):
            stream.update(*_batch(name, i, kind), position=i)
    return stream.estimator


def _undisturbed(name, kind="dense", half_life=None):
    model = _make(name)
    for i in range(BATCHES):
        model.partial_fit(*_batch(name, i, kind), half_life=half_life)
    return model


def _same_bits(a, b):
    np.testing.assert_array_equal(a.components_, b.components_)
    np.testing.assert_array_equal(a.mean_, b.mean_)
    np.testing.assert_array_equal(a.eigenvalues_, b.eigenvalues_)


# -- going on ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "small", "kind"),
    some_of(NAMES, [False, True], ["dense", "sparse", "fortran", "float32"], every=7),
)
def test_a_stream_goes_on_with_the_same_bits(name, small, kind, tmp_path, monkeypatch):
    if small:
        monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
    state = tmp_path / "state.ek"
    for upto in (5, 6, 17, BATCHES):
        model = _feed(name, state, kind, upto)
    _same_bits(model, _undisturbed(name, kind))
    assert model._intake_.moments.n_rows == 11 * BATCHES


def test_the_half_life_belongs_to_the_stream(tmp_path):
    for upto in (9, BATCHES):
        model = _feed("star", tmp_path / "s.ek", upto=upto, half_life=50.0)
    _same_bits(model, _undisturbed("star", half_life=50.0))
    with pytest.raises(FileError, match=r"half_life=50.0, but now it is None: give the same"):
        Stream(_make("star"), tmp_path / "s.ek")


def test_the_estimator_given_gets_what_the_file_holds(tmp_path):
    _feed("lda", tmp_path / "s.ek")
    model = LDA()
    with Stream(model, tmp_path / "s.ek") as stream:
        assert stream.estimator is model
        assert (stream.position, stream.n_rows) == (BATCHES - 1, 11 * BATCHES)
    _same_bits(model, _undisturbed("lda"))
    with pytest.raises(ValueError, match=r"has been fed, and s\.ek holds the state of a stream"):
        Stream(model, tmp_path / "s.ek")


def test_other_parameters_are_refused_by_name(tmp_path):
    _feed("lda", tmp_path / "s.ek", upto=3)
    with pytest.raises(FileError, match=r"with alpha=1.0, but now it is 2.0: give the same"):
        Stream(LDA(alpha=2.0), tmp_path / "s.ek")
    with pytest.raises(FileError, match=r"with class='LDA', but now it is 'CCA'"):
        Stream(CCA(), tmp_path / "s.ek")
    _feed("lda", tmp_path / "s.ek", upto=4)  # the refusals have let go of the lock


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, np.ndarray.tolist])
def test_other_columns_are_refused_in_one_sentence(tmp_path, kind):
    _feed("lda", tmp_path / "s.ek", upto=3)
    X, y = _batch("lda", 3)
    said = r"^the batch up to 3 has 3 columns, but s\.ek began with 4: give the same columns, or"
    with Stream(LDA(), tmp_path / "s.ek") as stream, pytest.raises(ValueError, match=said):
        stream.update(kind(X[:, :3]), y, position=3)
    ragged = [row[: 3 + (i > 0)] for i, row in enumerate(X.tolist())]
    with Stream(LDA(), tmp_path / "s.ek") as stream, pytest.raises(ValueError, match="ragged list"):
        stream.update(ragged, y, position=3)


def test_other_names_of_columns_are_refused_in_one_sentence(tmp_path):
    X, y = _batch("lda", 0)
    with Stream(LDA(), tmp_path / "s.ek") as stream:
        stream.update(pd.DataFrame(X, columns=list("abcd")), y)
    said = r"has the columns 'a', 'b', 'c', 'e', but s\.ek began with 'a', 'b', 'c', 'd': give"
    with Stream(LDA(), tmp_path / "s.ek") as stream, pytest.raises(ValueError, match=said):
        stream.update(pd.DataFrame(X, columns=list("abce")), y)


# -- positions --------------------------------------------------------------------------


def test_positions_count_each_batch_once(tmp_path):
    with Stream(LDA(), tmp_path / "s.ek") as stream:
        assert stream.position is None
        assert stream.update(*_batch("lda", 0), position=0)
        assert stream.update(*_batch("lda", 1))
        assert stream.position == 1
        with pytest.warns(RepeatedBatchWarning, match="position 1 was given twice: it counts once"):
            assert not stream.update(*_batch("lda", 1), position=1)
        with pytest.raises(ValueError, match=r"from 3 to 4 leaves a gap: .* up to 1, so"):
            stream.update(*_batch("lda", 4), position=4)
    with Stream(LDA(), tmp_path / "s.ek") as stream:
        for i in (0, 1):
            assert not stream.update(*_batch("lda", i), position=i)  # known: no warning
        assert stream.update(*_batch("lda", 2), position=2)
        assert stream.n_rows == 33


def test_positions_may_be_rows_or_bytes(tmp_path):
    with Stream(LDA(), tmp_path / "s.ek") as stream:
        assert stream.update(*_batch("lda", 0), position=100, after=0)
        assert stream.update(*_batch("lda", 1), position=250, after=100)
        with pytest.raises(ValueError, match="from 300 to 400 leaves a gap"):
            stream.update(*_batch("lda", 2), position=400, after=300)
        with pytest.raises(ValueError, match=r"from 200 to 300, up to 250: cut"):
            stream.update(*_batch("lda", 2), position=300, after=200)
        with pytest.raises(ValueError, match="after=5 is not before position=5"):
            stream.update(*_batch("lda", 2), position=5, after=5)
        with pytest.raises(TypeError, match=r"position=1.5 is not valid: give an integer"):
            stream.update(*_batch("lda", 2), position=1.5)


# -- bad batches ------------------------------------------------------------------------


def test_a_bad_batch_counts_for_nothing(tmp_path):
    X, y = _batch("lda", 1)
    with Stream(LDA(), tmp_path / "s.ek") as stream:
        stream.update(*_batch("lda", 0), position=0)
        with pytest.raises(ValueError, match="X contains NaN"):
            stream.update(X * np.nan, y, position=1)
        assert stream.position == 0
        stream.update(X, y, position=1)
    expected = LDA().partial_fit(*_batch("lda", 0)).partial_fit(X, y)
    _same_bits(stream.estimator, expected)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_the_bad_row_of_a_batch_is_named(tmp_path, kind):
    X, y = _batch("lda", 1)
    X[[4, 7], 1] = np.nan, np.inf
    named = r"row 4 \(from 0\) of the batch up to 1: X contains"
    with Stream(LDA(), tmp_path / "s.ek") as stream, pytest.raises(ValueError, match=named):
        stream.update(kind(X), y, position=1)


def test_bad_batches_are_skipped_and_reported(tmp_path):
    X, y = _batch("lda", 1)
    with Stream(LDA(), tmp_path / "s.ek", on_error="skip") as stream:
        assert stream.update(*_batch("lda", 0), position=0)
        assert not stream.update(X * np.nan, y, position=1)
        assert not stream.update(X[:, :2], y, position=2)
        assert not stream.update(X, y + 7, position=3)
        assert stream.update(X, y, position=4)
    with Stream(LDA(), tmp_path / "s.ek", on_error="skip") as stream:
        assert stream.n_skipped == 3
        assert [position for position, _ in stream.skipped] == [1, 2, 3]
        assert "X contains NaN" in stream.skipped[0][1]
        assert "2 columns, but s.ek began with 4: give the same" in stream.skipped[1][1]
        assert "pass classes=" in stream.skipped[2][1]
    _same_bits(stream.estimator, LDA().partial_fit(*_batch("lda", 0)).partial_fit(X, y))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"every": -1}, "every=-1 is not valid"),
        ({"half_life": "long"}, "half_life='long' is not valid"),
        ({"half_life": 0}, "half_life=0 is not valid"),
        ({"on_error": "ignore"}, "on_error='ignore' is not known"),
    ],
)
def test_wrong_options_are_refused(options, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        Stream(LDA(), tmp_path / "s.ek", **options)


def test_what_cannot_be_a_stream_is_refused(tmp_path):
    for other in (ReGEC(kernel="rbf"), KernelLDA(), IncrementalPCA(), "LDA"):
        with pytest.raises(TypeError, match=r"give an eigenkit estimator with partial_fit"):
            Stream(other, tmp_path / "s.ek")
    with pytest.raises(TypeError, match="cannot be stored"):
        Stream(LDA(priors=object()), tmp_path / "s.ek")
    with pytest.raises(FileError, match="cannot be locked"):
        Stream(LDA(), tmp_path / "none" / "s.ek")


# -- the file ---------------------------------------------------------------------------


def test_a_damaged_state_is_refused(tmp_path):
    state = tmp_path / "s.ek"
    _feed("lda", state, upto=3)
    whole = state.read_bytes()
    for spoilt in (whole[:-1], whole[:40], b"", whole[:200] + b"?" + whole[201:]):
        state.write_bytes(spoilt)
        with pytest.raises(FileError):
            Stream(LDA(), state)
    state.write_bytes(whole)
    _feed("lda", state, upto=4)


def test_a_model_file_is_no_state(tmp_path):
    from eigenkit.models import load

    _feed("lda", tmp_path / "s.ek", upto=3)
    with pytest.raises(FileError, match="the state of a stream: give the model file"):
        load(tmp_path / "s.ek")


def test_checkpoints_come_in_time_and_at_the_end(tmp_path, monkeypatch):
    now, written = [0.0], []
    monkeypatch.setattr("eigenkit.models._stream.time.monotonic", lambda: now[0])
    original = Stream.checkpoint

    def checkpoint(self):
        written.append(self.position)
        original(self)
        now[0] += 2.0  # a checkpoint takes two seconds
        self._cost, self._written = 2.0, now[0]

    monkeypatch.setattr(Stream, "checkpoint", checkpoint)
    with Stream(LDA(), tmp_path / "s.ek", every=10.0) as stream:
        for i in range(12):
            now[0] += 6.0
            stream.update(*_batch("lda", i), position=i)
    # After 12 s; then not before 40 s have passed, so that two of them are one part in twenty.
    assert written == [1, 8, 11]


def test_a_class_that_has_not_come_does_not_stop_checkpoints(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    with Stream(LDA(), tmp_path / "state.ek") as stream:
        stream.update(X, y, classes=[0, 1, 2])
        assert stream.estimator.intercept_[2] == -np.inf  # the logarithm of its share
    with Stream(LDA(), tmp_path / "state.ek") as again:
        np.testing.assert_array_equal(again.estimator.intercept_, stream.estimator.intercept_)


def test_a_damaged_state_says_what_to_do(tmp_path):
    state = tmp_path / "state.ek"
    for content, said in (
        (b"", "it is not a state"),
        (b"EIGENKIT" + bytes(60), "the state is damaged"),
    ):
        state.write_bytes(content)
        with pytest.raises(FileError, match=f"{said}.*restore a copy of it, or start again"):
            Stream(LDA(), state)


def test_two_writers_are_one_too_many(tmp_path):
    with Stream(LDA(), tmp_path / "s.ek") as stream:
        stream.update(*_batch("lda", 0), position=0)
        with pytest.raises(FileError, match=r"another process \(\d+\) is writing it"):
            Stream(LDA(), tmp_path / "s.ek")
    with Stream(LDA(), tmp_path / "s.ek"):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["s.ek"]


# -- kills ------------------------------------------------------------------------------


def _run(name, path):
    """In a process of its own: feed everything, from where the file says."""
    warnings.simplefilter("ignore")
    with Stream(_make(name), path, every=0.0) as stream:
        begin = 0 if stream.position is None else stream.position + 1
        for i in range(begin, BATCHES):
            stream.update(*_batch(name, i), position=i)


def _killed_until_done(name, path, kills, seed):
    """Start again and again, kill at random moments; how often it was killed."""
    chance, context, killed = random.Random(seed), multiprocessing.get_context("fork"), 0
    code = None
    while code != 0:  # nothing is shared with the process: a lock that it held would stay locked
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # fork in a threaded process
            process = context.Process(target=_run, args=(name, path))
            process.start()
        if killed < kills:
            time.sleep(chance.uniform(0.0, 0.06))
            os.kill(process.pid, signal.SIGKILL)
        process.join(60)
        code = process.exitcode
        killed += code == -signal.SIGKILL
        assert code in (0, -signal.SIGKILL)
    return killed


def _check_kills(name, folder, kills, seed):
    path = folder / f"{name}-{seed}.ek"
    killed = _killed_until_done(name, path, kills, seed)
    with Stream(_make(name), path) as stream:
        assert stream.position == BATCHES - 1
        assert stream.n_rows == 11 * BATCHES  # none lost, none counted twice
    _same_bits(stream.estimator, _undisturbed(name))
    assert not list(folder.glob(".*.lock"))
    return killed


@pytest.mark.parametrize("name", slow_but(["lda", "star"], "star"))
def test_kills_lose_nothing_and_count_nothing_twice(name, tmp_path):
    assert _check_kills(name, tmp_path, 4, seed=1) > 0


@pytest.mark.slow
def test_many_kills(tmp_path, pytestconfig):
    wanted, killed, seed = pytestconfig.getoption("--kills"), 0, 0
    while killed < wanted:
        killed += _check_kills(NAMES[seed % len(NAMES)], tmp_path, 10, seed)
        seed += 1


@pytest.mark.parametrize("where", ["fsync", "chmod", "replace", "after"])
def test_a_kill_in_the_middle_of_a_checkpoint(where, tmp_path, monkeypatch):
    """At each step of writing: before the file is complete, before and after it is in place."""
    monkeypatch.setattr("eigenkit.files._writing._YOUNG", 0.0)
    path = tmp_path / "s.ek"
    _feed("lda", path, upto=3)

    def die(*args):
        os.kill(os.getpid(), signal.SIGKILL)

    def run():
        name = "replace" if where == "after" else where
        original = getattr(os, name)
        with Stream(LDA(), path, every=0.0) as stream:
            setattr(os, name, (lambda *a: (original(*a), die())) if where == "after" else die)
            stream.update(*_batch("lda", 3), position=3)

    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = context.Process(target=run)
        process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    with Stream(LDA(), path) as stream:
        assert stream.position == (3 if where == "after" else 2)
    _same_bits(_feed("lda", path), _undisturbed("lda"))
    assert [p.name for p in Path(tmp_path).iterdir()] == ["s.ek"]  # nothing is left behind


def _with_little_room(target, *arguments):
    """In a process that may not write files beyond some bytes; what it said."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()

    def run():
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
        try:
            target(*arguments)
        except FileError as error:
            theirs.send(str(error))
        except BaseException as error:
            theirs.send(repr(error))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = context.Process(target=run)
        process.start()
    process.join(60)
    assert mine.poll()
    return mine.recv()


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path):
    path = tmp_path / "s.ek"
    _feed("lda", path, upto=3)
    before = path.read_bytes()
    rng = np.random.default_rng(0)

    def run():
        with Stream(LDA(), tmp_path / "wide.ek", every=0.0) as stream:
            stream.update(rng.normal(size=(60, 50)), np.arange(60) % 3, position=0)

    assert "wide.ek: it cannot be written (File too large)" in _with_little_room(run)
    assert [p.name for p in tmp_path.iterdir()] == ["s.ek"]
    assert path.read_bytes() == before


def test_a_full_disk_for_parsed_rows_is_said(tmp_path):
    data = tmp_path / "data.csv"
    rows = np.random.default_rng(0).normal(size=(300, 4)).round(3)
    np.savetxt(data, np.column_stack([rows, np.arange(300) % 3]), delimiter=",", fmt="%g",
               header="a,b,c,d,y", comments="")  # fmt: skip

    def run():
        RowBlocks.from_files(str(data), "y", task="classes", scratch=str(tmp_path))

    said = _with_little_room(run)
    assert "the disk is full after" in said
    assert "set TMPDIR, or scratch=" in said
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


def test_expansions_of_one_stream(tmp_path):
    """A state is a stream like any other: another estimator takes it over by merge."""
    model = _feed("star", tmp_path / "s.ek")
    other = HypergraphSpectral(expansion="zhou").merge(model)
    np.testing.assert_allclose(other.eigenvalues_, _undisturbed("zhou").eigenvalues_, atol=1e-10)


STREAMING = [
    name
    for name in sorted(eigenkit.estimators.__all__)
    if hasattr(getattr(eigenkit, name, None), "merge") and name not in ("Projection", "Streaming")
]


@pytest.mark.parametrize("name", STREAMING)
def test_every_estimator_that_can_be_streamed_has_a_stream(name, tmp_path):
    make = getattr(eigenkit, name)
    try:
        estimator = make(groups=[0, 0, 1, 1]) if name == "MultiviewCCA" else make()
        assert hasattr(estimator, "partial_fit")
    except (TypeError, AssertionError):
        pytest.skip("needs a parameter, or has no stream")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    y = rng.normal(size=(60, 2)) if name in ("PLSCanonical", "PLSSVD") else y
    for _ in range(2):
        fresh = type(estimator)(**estimator.get_params(deep=False))
        with Stream(fresh, tmp_path / "state.ek", every=0.0) as stream:
            stream.update(X, y)
    assert stream.n_rows == 120


def test_a_closed_stream_takes_in_nothing(tmp_path):
    with Stream(LDA(), tmp_path / "state.ek") as stream:
        stream.update(*_batch("lda", 0))
    with pytest.raises(ValueError, match=r"is closed.*open the file again"):
        stream.update(*_batch("lda", 1))


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_has_no_copies(how, tmp_path):
    with (
        Stream(LDA(), tmp_path / "state.ek") as stream,
        pytest.raises(TypeError, match="only writer of its file"),
    ):
        how(stream)
