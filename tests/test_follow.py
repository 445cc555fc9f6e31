"""Rows that keep arriving, and models of several sites."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import multiprocessing
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import clone

from eigenkit import LDA, ReGEC
from eigenkit.cli import app
from eigenkit.files import FileError, Reading
from eigenkit.files._writing import Lock
from eigenkit.models import _follow as module
from eigenkit.models import load, merge_models


def _frame(rng, n=200, classes="abc"):
    y = np.arange(n) % len(classes)
    X = rng.normal(size=(n, 3)) + np.eye(3)[y % 3]
    return pd.DataFrame(X.round(4), columns=["u", "v", "w"]).assign(c=[classes[i] for i in y])


def _run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


def _start(folder, frame, name="m.ek", method="lda"):
    frame.to_csv(folder / "first.csv", index=False)
    _run("fit", folder / "first.csv", "--labels", "c", "--method", method, "--no-quality",
         "--out", folder / name, "--force")  # fmt: skip
    return folder / name


def _follow(folder, data, model, *more, code=0):
    state = folder / f"{model.stem}.state"
    return _run("follow", data, "--model", model, "--checkpoint", state, "--once", *more, code=code)


def test_a_growing_file_is_taken_in_once(tmp_path, rng):
    frame = _frame(rng)
    model = _start(tmp_path, frame[:60])
    data = tmp_path / "data.csv"
    text = frame.to_csv(index=False).splitlines(keepends=True)
    for end in (50, 120, 201):  # and half a line, which waits for its rest
        data.write_text("".join(text[:end]) + (text[end][:4] if end < 201 else ""))
        _follow(tmp_path, data, model)
    assert "200 rows" in _follow(tmp_path, data, model)  # nothing new
    whole = LDA().fit(frame[["u", "v", "w"]].to_numpy(), frame["c"].to_numpy())
    np.testing.assert_allclose(load(model).estimator.coef_, whole.coef_, rtol=1e-9, atol=1e-11)
    assert load(model).how["n_rows"] == 200


def test_a_last_line_without_an_end_is_told_of(tmp_path, rng):
    frame, data = _frame(rng), tmp_path / "data.csv"
    model = _start(tmp_path, frame)
    data.write_text(frame.to_csv(index=False).rstrip("\n"))
    said = json.loads(_follow(tmp_path, data, model, "--json"))
    assert said["rows"] == 199
    assert any("the last line does not end with a newline" in note for note in said["notes"])
    with data.open("a") as file:
        file.write("\n")
    said = _follow(tmp_path, data, model)
    assert "200 rows" in said
    assert "does not end" not in said


def test_it_is_said_when_what_a_model_knew_does_not_count(tmp_path, rng):
    frame = _frame(rng)
    model = _start(tmp_path, frame[:60])
    data = tmp_path / "data.csv"
    frame[60:].to_csv(data, index=False)
    assert "keep the sums of its 60 rows, so these will not count" in _follow(tmp_path, data, model)
    assert "will not count" not in _follow(tmp_path, data, model)
    (tmp_path / "m.state").unlink()
    said = " ".join(_follow(tmp_path, data, model).split())  # the stream that follow has kept
    assert "will not count" not in said
    assert said.startswith("m.ek already has 140 rows; those of")  # before it adds
    assert "280 rows" in said


@pytest.mark.parametrize("chunk", [2**22, 50])
def test_names_below_comments_are_no_row(chunk, tmp_path, rng, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", chunk)
    frame = _frame(rng)
    model, data = _start(tmp_path, frame[:60]), tmp_path / "data.csv"
    data.write_text("# " + 40 * "x" + "\n\n" + frame.to_csv(index=False) + "1,2,x\n")
    command = ["follow", str(data), "--model", str(model), "--comment", "#", "--once"]
    words = ["--checkpoint", str(tmp_path / "s.ek"), "--on-error", "skip", "--json"]
    result = CliRunner().invoke(app, [*command, *words])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert (said["rows"], said["n_skipped"]) == (len(frame), 1)
    assert f"line {len(frame) + 4}" in said["skipped"][0]["problem"]


def test_standard_input(tmp_path, rng, monkeypatch):
    frame = _frame(rng)
    model = _start(tmp_path, frame[:60])
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(frame.to_csv(index=False).encode())))
    batches = list(module._from_input(stdin.buffer, 0))
    assert b"".join(text for _, text in batches) == frame.to_csv(index=False).encode()
    ends = [begin + len(text) for begin, text in batches]
    assert [begin for begin, _ in batches[1:]] == ends[:-1]
    result = CliRunner().invoke(
        app,
        ["follow", "-", "--model", str(model), "--checkpoint", str(tmp_path / "s.ek")],
        input=frame.to_csv(index=False),
    )
    assert result.exit_code == 0, result.output
    assert load(model).how["n_rows"] == 200
    assert sys.stdin is not None


def test_standard_input_that_goes_on(tmp_path, rng, monkeypatch):
    frame = _frame(rng)
    model = _start(tmp_path, frame[:60])
    monkeypatch.setattr(module, "_CHUNK", 300)  # every input comes in many pieces
    command = ["follow", "-", "--model", str(model), "--checkpoint", str(tmp_path / "s.ek")]
    for rows in (frame[:90], frame[90:]):
        result = CliRunner().invoke(app, command, input=rows.to_csv(index=False))
        assert result.exit_code == 0, result.output
    assert load(model).how["n_rows"] == 200
    whole = LDA().fit(frame[["u", "v", "w"]].to_numpy(), frame["c"].to_numpy())
    np.testing.assert_allclose(load(model).estimator.coef_, whole.coef_, rtol=1e-9, atol=1e-11)


def test_a_line_that_never_ends_is_named(tmp_path, rng, monkeypatch):
    frame = _frame(rng)
    model = _start(tmp_path, frame[:60])
    data = tmp_path / "data.csv"
    data.write_text(frame.to_csv(index=False) + 500 * "1")
    monkeypatch.setattr(module, "_CHUNK", 400)
    assert "the line after byte" in _follow(tmp_path, data, model, code=1)


def test_bad_rows_name_the_file_and_the_row(tmp_path, rng):
    frame = _frame(rng)
    model = _start(tmp_path, frame[:60])
    data = tmp_path / "data.csv"
    data.write_text(frame.to_csv(index=False))
    _follow(tmp_path, data, model)
    with data.open("a") as file:
        file.write("1.0,2.0,3.0,a\n1.0,,2.0,b\n")
    before = model.read_bytes()
    output = _follow(tmp_path, data, model, code=1)
    assert "data.csv, line 203, column 'v': the value is missing" in output
    assert load(model).how["n_rows"] == 200
    assert len(before)
    skipped = _follow(tmp_path, data, model, "--on-error", "skip")
    assert "skipped" in skipped
    with data.open("a") as file:
        file.write("1.0,2.0,3.0,a\n")
    _follow(tmp_path, data, model, "--on-error", "skip")
    assert load(model).how["n_rows"] == 202


def _with_bad_rows(frame):
    """The lines of a frame with one more bad one in some places, and blank ones."""
    lines = frame.to_csv(index=False).splitlines(keepends=True)
    bad = {
        1: "1,2,3,z\n",
        41: "2020-01-02,2,3,a\n",
        42: ",2,3,a\n",
        90: "1,2,3,4,a\n",
        201: "1,2,3,\n\n\n",
    }
    return "".join(bad.get(k, "") + line for k, line in enumerate([*lines, ""]))


@pytest.mark.parametrize("chunk", [2**22, 400])
def test_only_the_bad_rows_are_skipped(chunk, tmp_path, rng, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", chunk)
    frame, data = _frame(rng), tmp_path / "data.csv"
    model = _start(tmp_path, frame[:60])
    data.write_text(_with_bad_rows(frame))
    said = json.loads(_follow(tmp_path, data, model, "--on-error", "skip", "--json"))
    assert (said["rows"], said["n_skipped"]) == (200, 5)
    problems = [each["problem"] for each in said["skipped"]]
    for place, problem in zip(
        ("line 2:", "column 'u'", "line 45,", "data.csv", "line 206:"), problems, strict=True
    ):
        assert place in problem
        assert "--" not in problem  # no remedy for what was asked to be skipped
    whole = LDA().fit(frame[["u", "v", "w"]].to_numpy(), frame["c"].to_numpy())
    np.testing.assert_allclose(load(model).estimator.coef_, whole.coef_, rtol=1e-9, atol=1e-11)
    assert "bad rows skipped: 5" in _follow(tmp_path, data, model, "--on-error", "skip")


@pytest.mark.parametrize("written", [1, 2, 5])
def test_an_interrupt_amid_bad_rows_loses_none(written, tmp_path, rng, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 400)
    frame, data = _frame(rng), tmp_path / "data.csv"
    model = _start(tmp_path, frame[:60])
    data.write_text(_with_bad_rows(frame))
    skip = ("--on-error", "skip", "--every", "0", "--json")
    checkpoint, count = module.Stream.checkpoint, []

    def stop(self):
        checkpoint(self)
        count.append(self.position)
        if len(count) == written:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module.Stream, "checkpoint", stop)
        _follow(tmp_path, data, model, *skip)
    assert 0 < count[-1] < data.stat().st_size
    said = json.loads(_follow(tmp_path, data, model, *skip))
    assert (said["rows"], said["n_skipped"]) == (200, 5)


def test_blank_lines_leave_no_gap(tmp_path, rng, monkeypatch):
    frame, data = _frame(rng), tmp_path / "data.csv"
    model = _start(tmp_path, frame[:60])
    lines = frame.to_csv(index=False)
    monkeypatch.setattr(module, "_CHUNK", 60)
    data.write_text(lines + 200 * "\n" + "1,2,3,a\n")
    assert "201 rows" in _follow(tmp_path, data, model)


def test_a_file_that_was_cut_is_refused(tmp_path, rng):
    frame = _frame(rng)
    model = _start(tmp_path, frame[:60])
    data = tmp_path / "data.csv"
    data.write_text(frame.to_csv(index=False))
    _follow(tmp_path, data, model)
    data.write_text(frame[:20].to_csv(index=False))
    said = " ".join(_follow(tmp_path, data, model, code=1).split())
    assert "it was truncated or replaced, and the model has counted its old rows" in said


@pytest.mark.parametrize("longer", [False, True])
def test_another_file_under_the_same_name_is_refused(tmp_path, rng, longer):
    frame = _frame(rng)
    model = _start(tmp_path, frame[:60])
    data = tmp_path / "data.csv"
    data.write_text(frame[:60].to_csv(index=False))
    _follow(tmp_path, data, model)
    before = load(model).how["n_rows"]
    text = frame[60:].to_csv(index=False) if longer else frame.to_csv(index=False)
    data.write_text(text if longer else text.replace("a\n", "b\n", 1))
    said = " ".join(_follow(tmp_path, data, model, code=1).split())
    assert "are not those that were read before" in said
    assert "the model has counted its old rows" in said
    assert load(model).how["n_rows"] == before


def test_a_correction_in_the_middle_is_refused_at_the_next_start(tmp_path, rng):
    frame, data = _frame(rng, n=600), tmp_path / "data.csv"
    frame.to_csv(data, index=False)
    assert data.stat().st_size > 2 * module._MARKED + 100
    model = _start(tmp_path, frame[:60])
    _follow(tmp_path, data, model)
    _follow(tmp_path, data, model)  # nothing changed, nothing came
    text = bytearray(data.read_bytes())
    place = text.index(b"0.", len(text) // 2)
    text[place : place + 2] = b"7."
    data.write_bytes(text)
    said = " ".join(_follow(tmp_path, data, model, code=1).split())
    assert "are not those that were read before" in said


@pytest.mark.parametrize("bad", [[], [7], [0, 7, 8, 150]])
def test_the_checksum_of_a_file_goes_on(tmp_path, rng, bad, monkeypatch):
    """Over header, blank lines, skipped rows and several runs."""
    monkeypatch.setattr(module, "_CHUNK", 400)
    frame, data = _frame(rng), tmp_path / "data.csv"
    model = _start(tmp_path, frame)
    lines = frame.to_csv(index=False).splitlines(keepends=True)
    for i in bad:
        lines[1 + i] = "x,\n"
    for stop in (50, 120, len(lines)):
        data.write_text("".join([*lines[:30], "\n", *lines[30:stop]]))
        _follow(tmp_path, data, model, "--on-error", "skip")
    assert load(model).how["n_rows"] == len(frame) - len(bad)


def test_what_is_refused_leaves_no_lock_and_a_model_is_no_state(tmp_path, rng):
    model = _start(tmp_path, _frame(rng))
    _follow(tmp_path, tmp_path / "nowhere.csv", model, code=1)
    assert not list(tmp_path.glob(".*.lock"))
    model.rename(tmp_path / "m.state")
    other = _start(tmp_path, _frame(rng))
    said = _follow(tmp_path, tmp_path / "first.csv", other, code=1)
    assert "m.state: it holds a model: use another file" in " ".join(said.split())


def test_a_model_has_one_follower(tmp_path, rng):
    frame, data = _frame(rng), tmp_path / "data.csv"
    frame.to_csv(data, index=False)
    model = _start(tmp_path, frame)
    with Lock(model):
        said = " ".join(_follow(tmp_path, data, model, code=1).split())
    assert f"another process ({os.getpid()}) is writing it" in said
    _follow(tmp_path, data, model)
    assert not list(tmp_path.glob(".*.lock"))


def test_nothing_is_written_while_nothing_comes(tmp_path, rng, monkeypatch):
    frame, data = _frame(rng), tmp_path / "data.csv"
    frame.to_csv(data, index=False)
    model = _start(tmp_path, frame)
    naps = []

    def nap(seconds):
        naps.append(seconds)
        if len(naps) % 4 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(module.time, "sleep", nap)
    added = f"m.ek already has 200 rows; those of {data} are added."
    for state, expected in (("s", "200 rows in m.ek"), ("t", added)):
        if state == "t":  # which has nothing to add
            data.write_text("")
        reading, said = Reading(labels=("c",)), []
        follower = module.Follower(load(model), model, tmp_path / state, reading, every=0.0)
        with pytest.raises(KeyboardInterrupt), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            follower.follow(str(data), once=False, say=said.append)
        assert said == [expected]
        assert follower.stream.n_rows == 200


def test_the_quality_of_the_model_before_is_forgotten(tmp_path, rng):
    frame, models = _frame(rng), []
    for name in "ab":
        model, data = tmp_path / f"{name}.ek", tmp_path / f"{name}.csv"
        frame.to_csv(data, index=False)
        _run("fit", data, "--labels", "c", "--method", "lda", "--out", model)
        quality = load(model).how["quality"]
        assert "in 5-fold cross-validation" in _run("inspect", model)
        _follow(tmp_path, data, model)
        assert "the quality was not measured" in _run("inspect", model)
        models.append((name, load(model)))
    # as files of earlier versions may hold one
    models[0][1].how["quality"] = quality
    assert merge_models(models).how["quality"] is None


@pytest.mark.parametrize(
    ("kind", "begin"),
    [
        ("gzip", gzip.compress(b"u,v,w,c\n1,2,3,a\n")),
        ("bz2", bz2.compress(b"u,v,w,c\n1,2,3,a\n")),
        ("NPZ", b"PK\x03\x04\n"),
        ("Parquet", b"PAR1\n"),
        ("ARFF", b"% about\n\n@RELATION iris\n@attribute u numeric\n"),
    ],
    ids=["gzip", "bz2", "npz", "parquet", "arff"],
)
@pytest.mark.parametrize("given", ["file", "-"])
def test_only_lines_can_be_followed(given, kind, begin, tmp_path, rng):
    model, data = _start(tmp_path, _frame(rng)), tmp_path / "data"
    data.write_bytes(begin)
    name = str(data) if given == "file" else "-"
    command = ["follow", name, "--model", model, "--checkpoint", tmp_path / "s.ek", "--once"]
    result = CliRunner().invoke(app, [str(word) for word in command], input=begin)
    assert result.exit_code == 1
    assert f"{kind} files cannot be followed" in result.output


def test_tables_of_tabs_are_followed(tmp_path, rng):
    frame, data = _frame(rng), tmp_path / "data.tsv"
    frame.to_csv(data, index=False, sep="\t")
    model = _start(tmp_path, frame)
    assert "200 rows" in _follow(tmp_path, data, model, "--format", "tsv")
    assert "arff files cannot be followed" in _follow(
        tmp_path, data, model, "--format", "arff", code=1
    )


@pytest.mark.parametrize(
    ("label", "numbers", "problem"),
    [
        ("", False, "line 202: the row has no class"),
        ("", True, "line 202: the row has a label that is missing or not finite"),
        ("inf", True, "line 202: the row has a label that is missing or not finite"),
    ],
)
def test_a_label_that_is_missing_is_named(label, numbers, problem, tmp_path, rng):
    frame, data = _frame(rng), tmp_path / "data.csv"
    frame = frame.assign(c=frame["u"] + 0.5) if numbers else frame
    model = _start(tmp_path, frame, method="pls" if numbers else "lda")
    frame.to_csv(data, index=False)
    _follow(tmp_path, data, model)
    with data.open("a") as file:
        file.write(f"1.0,2.0,3.0,{label}\n1.0,2.0,3.0,{frame['c'][0]}\n")
    said = " ".join(_follow(tmp_path, data, model, code=1).split())
    remedy = "correct it, or leave such rows out with --on-error skip."
    assert f"{problem}: {remedy}" in said
    assert "201 rows" in _follow(tmp_path, data, model, "--on-error", "skip")


def test_dates_are_followed_by_dates(tmp_path, rng):
    frame, data = _frame(rng), tmp_path / "data.csv"
    frame["u"] = pd.date_range("2024-01-01", periods=len(frame)).strftime("%Y-%m-%d")
    model = _start(tmp_path, frame)
    frame.to_csv(data, index=False)
    assert "200 rows" in _follow(tmp_path, data, model)
    with data.open("a") as file:
        file.write("20240101,2.0,3.0,a\n")
    said = " ".join(_follow(tmp_path, data, model, code=1).split())
    assert "line 202, column 'u': '20240101' is not a date (YYYY-MM-DD)" in said
    frame.assign(u=20240101).to_csv(data, index=False)
    (tmp_path / "m.state").unlink()
    assert "line 2, column 'u'" in " ".join(_follow(tmp_path, data, model, code=1).split())


# -- sites ------------------------------------------------------------------------------


def test_sites_with_other_classes_are_united_by_name(tmp_path, rng):
    frames = [_frame(rng, 90, "abe"), _frame(rng, 120, "bc")]
    models = []
    for i, frame in enumerate(frames):
        model = _start(tmp_path, frame, f"m{i}.ek")
        frame.to_csv(tmp_path / f"d{i}.csv", index=False)
        _follow(tmp_path, tmp_path / f"d{i}.csv", model)
        models.append(model)
    out = tmp_path / "all.ek"
    _run("merge", *models, "--out", out)
    both = pd.concat(frames)
    whole = LDA().fit(both[["u", "v", "w"]].to_numpy(), both["c"].to_numpy())
    merged = load(out)
    assert merged.target.names == ("a", "b", "c", "e")
    np.testing.assert_allclose(merged.estimator.coef_, whole.coef_, rtol=1e-9, atol=1e-11)
    predictions = tmp_path / "p.csv"
    _run("predict", out, tmp_path / "d0.csv", "--out", predictions)
    assert set(pd.read_csv(predictions).iloc[:, -1]) <= set("abce")


def test_a_model_is_not_merged_with_itself(tmp_path, rng):
    frame, data = _frame(rng), tmp_path / "data.csv"
    model = _start(tmp_path, frame)
    frame.to_csv(data, index=False)
    _follow(tmp_path, data, model)
    copy, link = tmp_path / "copy.ek", tmp_path / "link.ek"
    copy.write_bytes(Path(model).read_bytes())
    link.symlink_to(model)
    for other in (model, copy, link):
        said = _run("merge", model, other, "--out", tmp_path / "x", code=2)
        assert "its rows would count twice" in " ".join(said.split())


def test_a_model_is_not_merged_with_what_was_made_from_it(tmp_path, rng):
    model, other = (_start(tmp_path, _frame(rng), f"{name}.ek") for name in "ab")
    for each in (model, other):
        data = tmp_path / f"{each.stem}.csv"
        _frame(rng).to_csv(data, index=False)
        _follow(tmp_path, data, each)
    sums, both = tmp_path / "sums.ek", tmp_path / "both.ek"
    _run("merge", model, "--no-rows", "--out", sums)
    _run("merge", sums, other, "--out", both)
    for pair in ((sums, model), (model, sums), (both, model), (other, both), (sums, both)):
        said = _run("merge", *pair, "--out", tmp_path / "x", code=2)
        assert "its rows would count twice" in " ".join(said.split())


@pytest.mark.parametrize("method", ["lda", "regec"])
def test_sums_hold_no_rows(method, tmp_path, rng):
    frame, models = _frame(rng), []
    for name, rows in (("a", frame[:100]), ("b", frame[100:])):
        model, data = _start(tmp_path, frame[:60], f"{name}.ek", method), tmp_path / f"{name}.csv"
        rows.to_csv(data, index=False)
        _follow(tmp_path, data, model)
        models.append(tmp_path / f"{name}-sums.ek")
        _run("merge", model, "--no-rows", "--out", models[-1])
        _run("merge", models[-1], "--no-rows", "--out", tmp_path / "again.ek", "--force")
        row = rows.iloc[7][["u", "v", "w"]].to_numpy(dtype=float).tobytes()
        assert row in model.read_bytes()
        assert row not in models[-1].read_bytes()
        summed, kept = load(models[-1]), load(model)
        assert summed.how["n_rows"] == 100
        np.testing.assert_allclose(summed.estimator.coef_, kept.estimator.coef_, rtol=1e-9)
    _run("merge", *models, "--out", tmp_path / "all.ek")
    merged = load(tmp_path / "all.ek").estimator
    whole = clone(merged).fit(frame[["u", "v", "w"]].to_numpy(), frame["c"].to_numpy())
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("n", "half_life"), [(6, None), (60, 0.05)])
def test_few_rows_are_not_hidden_in_sums(n, half_life, rng):
    model = LDA()
    for i in range(n):  # most of which have faded in the end, where there is a half-life
        model.partial_fit(rng.normal(size=(1, 3)), [i % 3], classes=range(3), half_life=half_life)
    with pytest.raises(ValueError, match=f"{n} rows cannot be hidden in sums of 6 columns"):
        model._intake_.moments.without_rows(*model._kind())


def test_columns_in_another_order_are_not_merged(tmp_path, rng):
    models = []
    for order in ("uvw", "wvu"):
        frame, data = _frame(rng)[[*order, "c"]], tmp_path / f"{order}.csv"
        models.append(_start(tmp_path, frame, f"{order}.ek"))
        frame.to_csv(data, index=False)
        _follow(tmp_path, data, models[-1])
    said = " ".join(_run("merge", *models, "--out", tmp_path / "x", code=1).split())
    assert "in another order" in said


def _of_numbers(folder, frame, response):
    path = folder / f"{response}.csv"
    frame.drop(columns="c").assign(**{response: frame["u"] - frame["v"]}).to_csv(path, index=False)
    _run("fit", path, "--labels", response, "--method", "opls", "--no-quality",
         "--checkpoint", folder / f"{response}.st", "--out", folder / f"{response}.ek")  # fmt: skip
    return folder / f"{response}.ek"


def test_what_differs_between_models_is_named(tmp_path, rng):
    frame = _frame(rng)
    price, weight = (_of_numbers(tmp_path, frame, name) for name in ("price", "weight"))
    told = _run("merge", price, weight, "--out", tmp_path / "all.ek", code=1)
    assert "its response is 'weight', that of" in " ".join(told.split())

    def site(name, rows, *more):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        words = ("--labels", "c", "--method", "lda", "--no-quality", *more)
        state, out = tmp_path / f"{name}.st", tmp_path / f"{name}.ek"
        _run("fit", tmp_path / f"{name}.csv", *words, "--checkpoint", state, "--out", out)
        return out

    here = site("here", frame)
    for other, said in (
        (site("ridge", frame, "--alpha", "5"), "its alpha is 5.0, that of"),
        (
            site("renamed", frame.rename(columns={"v": "x"})),
            "its set of columns is another, with 'x'",
        ),
        (site("fewer", frame.drop(columns="v")), "its set of columns is another, with none"),
    ):
        told = " ".join(_run("merge", here, other, "--out", tmp_path / "all.ek", code=1).split())
        assert said in told
        assert "fit both alike" in told


def test_a_state_of_other_rows_is_refused(tmp_path, rng):
    frame = _frame(rng)
    frame.to_csv(tmp_path / "data.csv", index=False)
    model = _start(tmp_path, frame[:60])
    _follow(tmp_path, tmp_path / "data.csv", model)
    renamed = frame.rename(columns={"v": "x"})
    other = _start(tmp_path, renamed[:60], "other.ek")
    renamed.to_csv(tmp_path / "other.csv", index=False)
    said = _run("follow", tmp_path / "other.csv", "--model", other, "--checkpoint",
                tmp_path / "m.state", "--once", code=1)  # fmt: skip
    assert "this stream was started with source=" in said


def test_a_file_that_was_rotated_is_taken_in_to_its_end(tmp_path, rng):
    frame, data = _frame(rng), tmp_path / "data.csv"
    lines = frame.to_csv(index=False).splitlines(keepends=True)
    model = _start(tmp_path, frame[:60])
    data.write_text("".join(lines[:90]))
    _follow(tmp_path, data, model)
    with data.open("a") as file:
        file.writelines(lines[90:120])
    data.rename(tmp_path / "data.1")
    said = " ".join(_follow(tmp_path, data, model, code=1).split())
    assert "the file is gone: if it was rotated, follow it under its new name" in said
    _follow(tmp_path, tmp_path / "data.1", model)
    data.write_text(lines[0] + "".join(lines[120:]))
    command = ("follow", data, "--model", model, "--checkpoint", tmp_path / "new.state", "--once")
    assert "200 rows" in _run(*command)
    whole = LDA().fit(frame[["u", "v", "w"]].to_numpy(), frame["c"].to_numpy())
    np.testing.assert_allclose(load(model).estimator.coef_, whole.coef_, rtol=1e-9, atol=1e-11)


def test_what_cannot_be_merged_is_said(tmp_path, rng):
    a, b = (_start(tmp_path, _frame(rng), f"{name}.ek") for name in "ab")
    assert "it keeps no stream to merge" in _run("merge", a, b, "--out", tmp_path / "x", code=1)
    assert "at least two models" in _run("merge", a, "--out", tmp_path / "x", code=2)
    with pytest.raises(FileError, match="keeps no stream"):
        merge_models([("a", load(a)), ("b", load(b))])


@pytest.mark.parametrize("small", [False, True], ids=["rows", "factor"])
def test_moments_find_the_places_of_their_labels(small, rng, monkeypatch):
    from eigenkit import HypergraphSpectral

    if small:
        monkeypatch.setattr("eigenkit.moments.stream.BLOCK_BYTES", 0)
    X, Y = rng.normal(size=(300, 3)), (rng.random((300, 2)) < 0.5).astype(float)
    place = np.array([2, 0])
    wide = np.zeros((300, 4))
    wide[:, place] = Y
    for expansion in ("zhou", "star"):
        narrow = HypergraphSpectral(expansion=expansion).partial_fit(X, Y)
        model = HypergraphSpectral(expansion=expansion).partial_fit(X, wide)
        moved = narrow._intake_.moments.relabelled(place, 4)
        kind = model._target, 1.0
        mine, theirs = (m.problem(*kind, 1.0) for m in (moved, model._intake_.moments))
        C, C2 = mine.pencil.C, theirs.pencil.C
        np.testing.assert_allclose(C @ C.T, C2 @ C2.T, rtol=1e-9, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["regec", "gepsvm", "plsda", "ls_lda"])
def test_all_that_predict_by_themselves_follow_and_merge(method, tmp_path, rng):
    frame = _frame(rng)
    for name, rows in (("a", slice(0, 100)), ("b", slice(100, 200))):
        model = _start(tmp_path, frame[:60], f"{name}.ek", method)
        data = tmp_path / f"{name}.csv"
        frame[rows].to_csv(data, index=False)
        assert "100 rows" in _follow(tmp_path, data, model)
    _run("merge", tmp_path / "a.ek", tmp_path / "b.ek", "--out", tmp_path / "all.ek")
    merged = load(tmp_path / "all.ek").estimator
    X, y = frame[["u", "v", "w"]].to_numpy(), frame["c"].to_numpy()
    whole = clone(merged).fit(X, y)
    np.testing.assert_allclose(np.abs(merged.coef_), np.abs(whole.coef_), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(merged.predict(X), whole.predict(X))


@pytest.mark.slow
def test_a_class_that_one_site_has_never_seen(tmp_path, rng):
    frame, other = _frame(rng), _frame(rng, classes="abx")
    for name, rows in (("a", frame), ("b", other)):
        model = _start(tmp_path, rows, f"{name}.ek", "regec")
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        _follow(tmp_path, tmp_path / f"{name}.csv", model)
    _run("merge", tmp_path / "a.ek", tmp_path / "b.ek", "--out", tmp_path / "all.ek")
    merged, both = load(tmp_path / "all.ek").estimator, pd.concat([frame, other])
    whole = ReGEC().fit(both[["u", "v", "w"]].to_numpy(), both["c"].to_numpy())
    assert merged.classes_.tolist() == list("abcx")
    np.testing.assert_allclose(np.abs(merged.coef_), np.abs(whole.coef_), rtol=1e-8, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("1,2,3,4,a", "data.csv, line 152: 5 cells, where the first row has 4"),
        ("x,2,3,a", "data.csv, line 152, column 'u': 'x' is not a number"),
        (",2,3,a", "data.csv, line 152, column 'u': the value is missing"),
        ("1,2,3,z", "data.csv, line 152: the class 'z' is not one that the model knows"),
    ],
)
@pytest.mark.parametrize("chunk", [2**22, 400])
def test_bad_rows_are_named_wherever_they_come(bad, message, chunk, tmp_path, rng, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", chunk)
    frame = _frame(rng)
    model, data = _start(tmp_path, frame[:60]), tmp_path / "data.csv"
    text = frame.to_csv(index=False).splitlines()
    text[151] = bad
    data.write_text("\n".join(text) + "\n")
    said = " ".join(_follow(tmp_path, data, model, code=1).split())
    assert message in said
    said = _follow(tmp_path, data, model, "--on-error", "skip")
    where = message.partition(", column 'u': 'x'")[0]  # alone it is text, not a bad number
    assert where in " ".join(said.split())
    assert load(model).how["n_rows"] == 199


# -- kills ------------------------------------------------------------------------------


def _follow_all(data, model, state):
    """In a process of its own: follow to the end, with a checkpoint after every few lines."""
    warnings.simplefilter("ignore")
    follower = module.Follower(load(model), model, state, Reading(labels=("c",)), every=0.0)
    follower.follow(str(data), once=True, say=lambda line: None)


def _killed_until_done(kills, window, *arguments):
    """How many were killed, each within so many seconds, before one came to the end."""
    chance, context = random.Random(0), multiprocessing.get_context("fork")
    killed, code = 0, None
    while code != 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # fork in a threaded process
            process = context.Process(target=_follow_all, args=arguments)
            process.start()
        if killed < kills:
            time.sleep(chance.uniform(0.0, window))
            os.kill(process.pid, signal.SIGKILL)
        process.join(60)
        code = process.exitcode
        killed += code == -signal.SIGKILL
        assert code in (0, -signal.SIGKILL)
        load(arguments[1])  # the model file is whole at every moment
    return killed


def _followed(kills, window, frame, data, folder):
    """What a follower found that was killed so often; None where it ended too soon for that."""
    folder.mkdir()
    model = _start(folder, frame[:60], "model.ek")
    killed = _killed_until_done(kills, window, data, model, folder / "state")
    fitted = load(model)
    assert fitted.how["n_rows"] == 300  # none lost, none counted twice
    return fitted.estimator.coef_ if killed == kills else None


@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_a_follower_that_is_killed_goes_on(kills, tmp_path, rng, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 400)
    frame = _frame(rng, 300)
    data = tmp_path / "data.csv"
    frame.to_csv(data, index=False)
    begun = time.monotonic()
    quiet = _followed(0, 0.0, frame, data, tmp_path / "quiet")
    window = (time.monotonic() - begun) / kills
    # Where the machine has become faster meanwhile, some come too late: once more, and sooner.
    tries = (
        _followed(kills, window / 2**k, frame, data, tmp_path / f"killed{k}") for k in range(20)
    )
    killed = next(coef for coef in tries if coef is not None)
    np.testing.assert_array_equal(killed, quiet)
