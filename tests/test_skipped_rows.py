"""Bad rows in files: refused by name, or left out, counted and told, alike in every pass."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse

from eigenkit import LDA, RowBlocks
from eigenkit.cli import app
from eigenkit.files import FileError, Reading, open_file, read
from eigenkit.models import load
from eigenkit.models._dask_fit import local_cluster

N, CUT = 60, 31  # rows, and after which of them bad ones stand


def _run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def frame(rng):
    y = np.arange(N) % 3
    X = (rng.normal(size=(N, 3)) + 2 * np.eye(3)[y]).round(4)
    return pd.DataFrame(X, columns=["u", "v", "w"]).assign(c=[*np.array([*"abc"])[y]])


def _lines(frame, **more):
    return frame.to_csv(index=False, **more).splitlines(keepends=True)


def _with(lines, bad, at=CUT):
    return "".join([*lines[: at + 1], *bad, *lines[at + 1 :]])


def _write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


LINE = f"line {CUT + 2}"
BAD = {
    "1,2,a\n": f"{LINE}: 3 cells, where the first row has 4.",
    "1,2,3,a,5\n": f"{LINE}: 5 cells, where the first row has 4.",
    '"1,2,3,a\n': f"{LINE}: 1 cells, where the first row has 4.",  # a quote that is never closed
    "1,x,3,a\n": f"{LINE}, column 'v': 'x' is not a number.",
    "1,nan,3,a\n": f"{LINE}, column 'v': the value is missing.",
    "1,,3,a\n": f"{LINE}, column 'v': the value is missing.",
    "1,-inf,3,a\n": f"{LINE}, column 'v': the value is infinite.",
    "1,2,3,\n": f"{LINE}: the row has no class.",
    "1,2\0,3,a\n": f"{LINE}: it holds a byte that is not text.",
}


def _same(blocks, others):
    for (X, y), (X_, y_) in zip(blocks, others, strict=True):
        np.testing.assert_array_equal(X, X_)
        np.testing.assert_array_equal(y, y_)


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_row_is_refused_or_skipped_by_its_line(bad, frame, tmp_path):
    lines = _lines(frame)
    clean = RowBlocks.from_files(_write(tmp_path / "clean.csv", "".join(lines)), "c")
    path = _write(tmp_path / "bad.csv", _with(lines, [bad]))
    with pytest.raises(FileError):
        RowBlocks.from_files(path, "c")
    blocks = RowBlocks.from_files(path, "c", on_error="skip")
    _same(blocks, clean)
    told = blocks.skipped_
    assert (told["n"], told["files"]) == (1, {"bad.csv": 1})
    assert told["first"] == [f"{path}, {BAD[bad]}"]
    assert "1 bad row skipped" in repr(blocks)
    assert "skipped" not in repr(clean)


def test_many_bad_rows_are_counted_by_reason(frame, tmp_path):
    lines, bad = _lines(pd.concat([frame] * 10)), ["1,x,3,a\n", "1,2\n", "1,y,3,b\n"] * 100
    path = _write(tmp_path / "bad.csv", _with(lines, bad, at=300))
    told = RowBlocks.from_files(path, "c", on_error="skip").skipped_
    assert told["n"] == 300
    assert [(each["n"], each["reason"]) for each in told["reasons"]] == [
        (200, "… is not a number"),
        (100, "… cells, where the first row has …"),
    ]
    assert told["reasons"][0]["first"] == "bad.csv, line 302, column 'v'"
    assert len(told["first"]) == 100


def test_bad_rows_are_told_in_their_order(frame, tmp_path):
    path = _write(tmp_path / "bad.csv", _with(_lines(frame), BAD))
    told = RowBlocks.from_files(path, "c", on_error="skip").skipped_
    lines = [int(re.search(r", line (\d+)", message)[1]) for message in told["first"]]
    assert lines == list(range(CUT + 2, CUT + 2 + len(BAD)))


def test_bad_rows_among_the_first_ones_mislead_nobody(frame, tmp_path):
    frame["day"] = [f"2024-01-{1 + i % 28:02}" for i in range(N)]
    frame["yes"] = np.where(np.arange(N) % 2, "yes", "no")
    lines = _lines(frame[["u", "day", "yes", "v", "w", "c"]])
    clean = RowBlocks.from_files(_write(tmp_path / "clean.csv", "".join(lines)), "c")
    bad = ["x\n", "1;2;3\n", "1,2024-99-01,yes,1,1,a\n", "1,2024-01-01,maybe,1,1,a\n"]
    path = _write(tmp_path / "bad.csv", _with(lines, bad, at=1))
    blocks = RowBlocks.from_files(path, "c", on_error="skip")
    _same(blocks, clean)
    assert blocks.skipped_["n"] == 4


def test_cells_of_several_lines_stay_whole(frame, tmp_path):
    frame.insert(0, "note", ['one\ntwo, "three"' if i % 7 == 0 else "plain" for i in range(N)])
    lines = _lines(frame)
    clean = RowBlocks.from_files(
        _write(tmp_path / "clean.csv", "".join(lines)), "c", ignore=("note",)
    )
    bad = ['"a\nb",1,x,3,a\n', '"never closed,1,2,3,a\n', "plain,1,2,a\n"]
    text = "".join([lines[0], bad[0], *lines[1:], *bad[1:]])
    path = _write(tmp_path / "bad.csv", text + "".join(lines[1:]))
    blocks = RowBlocks.from_files(path, "c", ignore=("note",), on_error="skip")
    assert blocks.skipped_["n"] == 3
    _same([tuple(part[:N] for part in block) for block in blocks], clean)
    _same([tuple(part[N:] for part in block) for block in blocks], clean)


def test_a_line_of_another_encoding(frame, tmp_path):
    frame["c"] = frame["c"].replace({"a": "grün"})
    frame = pd.concat([frame] * 200)  # the encoding is found by the first 256 kB
    lines = _lines(frame)
    clean = RowBlocks.from_files(_write(tmp_path / "clean.csv", "".join(lines)), "c")
    text = "".join(lines).encode() + "1,2,3,grün\n".encode("latin-1")
    path = _write(tmp_path / "bad.csv", text)
    with pytest.raises(FileError, match="it is not in utf-8"):
        RowBlocks.from_files(path, "c")
    blocks = RowBlocks.from_files(path, "c", on_error="skip")
    _same(blocks, clean)
    assert "not text" in blocks.skipped_["first"][0]


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_damaged_line_does_not_change_the_encoding_of_the_others(on_error, tmp_path):
    lines = ["u,v,c\n", *(f"{i},{i % 3},{'rot' if i % 3 else 'grün'}\n" for i in range(30))]
    lines = [line.encode() for line in lines]
    lines.insert(10, "1,2,grün\n".encode("latin-1"))
    path = _write(tmp_path / "a.csv", b"".join(lines))
    if on_error == "raise":
        with pytest.raises(FileError, match="it is not in utf-8"):
            RowBlocks.from_files(path, "c")
        return
    blocks = RowBlocks.from_files(path, "c", on_error="skip")
    assert blocks.classes().tolist() == ["grün", "rot"]
    assert blocks.skipped_["first"] == [f"{path}, line 11: it holds a byte that is not text."]


# -- labels ------------------------------------------------------------------------------


def test_labels_that_are_none_of_their_kind(frame, rng, tmp_path):
    frame["c"] = rng.normal(size=N).round(3)
    lines = _lines(frame)
    clean = RowBlocks.from_files(_write(tmp_path / "clean.csv", "".join(lines)), "c")
    bad = ["1,2,3,high\n", "1,2,3,\n", "1,2,3,inf\n"]
    path = _write(tmp_path / "bad.csv", _with(lines, bad))
    blocks = RowBlocks.from_files(path, "c", on_error="skip", task="numbers")
    _same(blocks, clean)
    assert blocks.skipped_["n"] == 3


def test_words_among_more_numbers_than_there_may_be_classes(tmp_path):
    rows = [f"{i % 7},{i % 11},{i}\n" for i in range(500)]
    lines = ["u,v,c\n", *rows]
    clean = RowBlocks.from_files(_write(tmp_path / "clean.csv", "".join(lines)), "c")
    path = _write(tmp_path / "bad.csv", "".join([*lines[:400], "1,2,oops\n", *lines[400:]]))
    blocks = RowBlocks.from_files(path, "c", on_error="skip")
    _same(blocks, clean)
    assert blocks.skipped_["first"] == [f"{path}, line 401, column 'c': 'oops' is not a number."]


def test_marks_that_are_neither_0_nor_1(frame, rng, tmp_path):
    labels = pd.DataFrame(rng.integers(0, 2, (N, 2)), columns=["t1", "t2"])
    lines = _lines(pd.concat([frame[["u", "v"]], labels], axis=1))
    clean = RowBlocks.from_files(_write(tmp_path / "clean.csv", "".join(lines)), "t*")
    path = _write(tmp_path / "bad.csv", _with(lines, ["1,2,0,3\n"]))
    blocks = RowBlocks.from_files(path, "t*", on_error="skip", task="labels")
    _same(blocks, clean)
    assert blocks.skipped_["first"] == [f"{path}, {LINE}: the row has the label 3."]


# -- other formats -----------------------------------------------------------------------


def _as_pairs(frame):
    return [f"{c} 1:{u} 2:{v} 3:{w}\n" for u, v, w, c in frame.itertuples(index=False)]


@pytest.mark.parametrize("stream", [False, True])
def test_pairs(stream, frame, tmp_path):
    lines = ["# first\n", *_as_pairs(frame)]
    bad = ["a 1:x 2:3\n", "a 1:1 1:2\n", "a 2\n", "a,b 9:1\n", "9:1\n"]
    options = Reading(stream=stream, on_error="skip", task="classes", words=True)
    clean = read(open_file(_write(tmp_path / "clean.svm", "".join(lines)), options))
    path = _write(tmp_path / "bad.svm", _with(lines, bad))
    dirty = read(open_file(path, options))
    assert dirty.X.shape == clean.X.shape == (N, 3)
    assert (dirty.X != clean.X).nnz == 0
    assert dirty.labels == clean.labels
    found = dirty.source.skipped
    assert [error.line for error in found.first] == list(range(CUT + 2, CUT + 7))


ARFF = ["@relation r\n", *(f"@attribute {n} numeric\n" for n in "uvw"), "@attribute c {a,b,c}\n"]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_arff(kind, frame, tmp_path):
    rows = [",".join(map(str, row)) for row in frame.itertuples(index=False)]
    bad = ["1,2,a", "1,x,3,a", "1,?,3,a"]
    if kind == "sparse":
        rows = [f"{{0 {u},1 {v},2 {w},3 {c}}}" for u, v, w, c in frame.itertuples(index=False)]
        bad = ["1,2,3,a", "{0 1,9 2}", "{0 ?,3 a}"]
    lines = [*ARFF, "@data\n", *(row + "\n" for row in rows)]
    bad = [row + "\n" for row in bad]
    clean = RowBlocks.from_files(_write(tmp_path / "clean.arff", "".join(lines)), "c")
    path = _write(tmp_path / "bad.arff", _with(lines, bad))
    blocks = RowBlocks.from_files(path, "c", on_error="skip")
    (X, y), (X_, y_) = next(iter(blocks)), next(iter(clean))
    assert abs(X - X_).max() == 0
    assert y.tolist() == y_.tolist()
    assert blocks.skipped_["n"] == 3
    assert blocks.skipped_["first"][0].startswith(f"{path}, {LINE}: ")


@pytest.mark.parametrize("kind", ["npz", "csr", "parquet"])
def test_files_that_are_no_text_lose_rows_without_a_value_or_a_label(kind, frame, tmp_path):
    wrong = frame.copy()
    wrong.loc[CUT, "v"], wrong.loc[CUT + 1, "w"] = np.nan, np.inf
    wrong.loc[CUT + 2, "c"] = ""
    path = tmp_path / "bad.npz"
    X, y = wrong[["u", "v", "w"]].to_numpy(), wrong["c"].to_numpy(dtype=str)
    if kind == "npz":
        np.savez(path, X=X, y=y)
    elif kind == "csr":
        A = sparse.csr_array(X)
        parts = {"X_data": A.data, "X_indices": A.indices, "X_indptr": A.indptr}
        np.savez(path, **parts, X_shape=A.shape, y=y)
    else:
        path = tmp_path / "bad.parquet"
        wrong.to_parquet(path)
    labels = "c" if kind == "parquet" else ()
    with pytest.raises(FileError, match=f"row {CUT + 3}"):
        RowBlocks.from_files(path, labels)
    blocks = RowBlocks.from_files(path, labels, on_error="skip")
    ((X_, y_),) = blocks
    keep = np.delete(np.arange(N), [CUT, CUT + 1, CUT + 2])
    np.testing.assert_array_equal(X_.toarray() if kind == "csr" else X_, X[keep])
    assert y_.tolist() == y[keep].tolist()
    names = ["column 'v'", "column 'w'"] if kind == "parquet" else ["column 2", "column 3"]
    assert blocks.skipped_["first"] == [
        f"{path}: the value in row {CUT + 1}, {names[0]} is missing.",
        f"{path}: the value in row {CUT + 2}, {names[1]} is infinite.",
        f"{path}: row {CUT + 3} has no class.",
    ]


# -- the command -------------------------------------------------------------------------


def _fit(path, out, *more, code=0):
    words = "--labels", "c", "--method", "lda", "--no-quality", "--out", out, "--force"
    return _run("fit", path, *words, *more, code=code)


WAYS = {
    "in memory": (),
    "in blocks": ("--stream",),
    "scaled": ("--stream", "--scale", "standard"),
    "filled": ("--missing", "mean", "--scale", "standard"),
    "dropped": ("--missing", "drop", "--stream"),
    "chosen": ("--alpha", "cv", "--stream"),
    "a checkpoint": ("--checkpoint",),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_fit_has_the_bits_of_the_cleaned_file(way, frame, tmp_path):
    more, lines = list(WAYS[way]), _lines(frame)
    given = (("--missing" in more) and ["1,nan,3,a\n"]) or []
    clean = _write(tmp_path / "clean.csv", _with(lines, given))
    path = _write(tmp_path / "bad.csv", _with(lines, [*given, "1,2,a\n", "1,inf,3,a\n"]))
    states = [[tmp_path / name] if way == "a checkpoint" else [] for name in ("a.st", "b.st")]
    _fit(clean, tmp_path / "clean.ek", *more, *states[0])
    assert "line" in _fit(path, tmp_path / "bad.ek", *more, *states[1], code=1)
    told = _fit(path, tmp_path / "bad.ek", "--on-error", "skip", *more, *states[1])
    assert "bad rows skipped: 2 of 62" in told.replace("63", "62")
    a, b = (load(tmp_path / f"{name}.ek") for name in ("clean", "bad"))
    np.testing.assert_array_equal(a.estimator.coef_, b.estimator.coef_)
    assert a.how["n_rows"] == b.how["n_rows"]
    assert b.how["skipped"]["n"] == 2
    assert "skipped" not in a.how


def test_what_was_skipped_stands_in_the_record_and_the_report(frame, tmp_path):
    path = _write(tmp_path / "bad.csv", _with(_lines(frame), ["1,secret,3,a\n", "1,2,a\n"]))
    told = json.loads(_fit(path, tmp_path / "m.ek", "--on-error", "skip", "--json"))
    assert told["n_skipped"] == 2
    assert told["skipped"][0] == f"{path}, {LINE}, column 'v': 'secret' is not a number."
    assert told["fitted"]["skipped"]["files"] == {"bad.csv": 2}
    assert b"secret" not in (tmp_path / "m.ek").read_bytes()  # a model keeps no cells of bad rows
    lines = " ".join(_run("inspect", tmp_path / "m.ek", "--report", tmp_path / "m.html").split())
    assert (
        "bad rows skipped: 2 (1 … is not a number, 1 … cells, where the first row has …)" in lines
    )
    assert "bad rows skipped" in (tmp_path / "m.html").read_text()


def test_sites_add_up_what_they_skipped(frame, tmp_path):
    for name, bad in (("a", ["1,2\n", "1,x,3,a\n"]), ("b", ["1,2,3\n"]), ("c", None)):
        path, out = _write(tmp_path / f"{name}.csv", _with(_lines(frame), bad or [])), f"{name}.ek"
        skip = ("--on-error", "skip") if bad else ()
        _fit(path, tmp_path / out, "--checkpoint", tmp_path / f"{name}.st", *skip)
        frame = frame.assign(u=frame["u"] + 1)
    _run("merge", *(tmp_path / f"{name}.ek" for name in "abc"), "--out", tmp_path / "all.ek")
    told = load(tmp_path / "all.ek").how["skipped"]
    assert (told["n"], told["files"]) == (3, {"a.csv": 2, "b.csv": 1})
    assert [each["n"] for each in told["reasons"]] == [2, 1]


def test_a_pattern_of_files_says_how_many_rows_of_which(frame, tmp_path):
    lines = _lines(frame)
    for name, bad in (("a", ["1,2\n"]), ("b", []), ("c", ["1,x,3,a\n"] * 2)):
        _write(tmp_path / f"{name}.csv", _with(lines, bad))
    _write(tmp_path / "d.csv", lines[0] + "1,2\n")  # none of its rows can be used
    pattern = str(tmp_path / "*.csv")
    told = RowBlocks.from_files(pattern, "c", on_error="skip").skipped_
    assert told["files"] == {"a.csv": 1, "c.csv": 2, "d.csv": 1}
    for way in ((), ("--stream",)):
        said = json.loads(_fit(pattern, tmp_path / "m.ek", "--on-error", "skip", "--json", *way))
        assert said["n_skipped"] == 4
        assert said["fitted"]["n_rows"] == 3 * N


def test_an_error_that_one_could_skip_says_so(frame, tmp_path):
    for bad in BAD:
        if "\0" in bad:  # which is taken for binary data
            continue
        path, way = _write(tmp_path / "bad.csv", _with(_lines(frame), [bad])), "on-error skip"
        if bad == "1,2,3,\n":  # says already how to leave such rows out
            way = "missing drop"
        told = " ".join(_fit(path, tmp_path / "m.ek", code=1).split())
        assert f"leave such rows out with --{way}" in told
        word = way.replace("-", "_").replace(" ", "='")
        with pytest.raises(FileError, match=f"leave such rows out with {word}'"):
            RowBlocks.from_files(path, "c")


@pytest.mark.parametrize("way", [(), ("--stream",)])
def test_nothing_but_bad_rows(way, frame, tmp_path):
    path = _write(tmp_path / "bad.csv", _lines(frame)[0] + "1,2,3,\n" * 3)
    told = " ".join(_fit(path, tmp_path / "m.ek", "--on-error", "skip", *way, code=1).split())
    assert "all of its 3 rows are bad, the first at line 2: the row has a label that is" in told
    with pytest.raises(FileError, match="all of its 3 rows are bad"):
        RowBlocks.from_files(path, "c", on_error="skip")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("", "it holds a header and no rows."),
        ("1,2\n" * 3, "all of its 3 rows are bad, the first at line 2: 2 cells, where the first"),
    ],
)
def test_no_row_at_all(rows, problem, tmp_path):
    path = _write(tmp_path / "a.csv", "u,v,c\n" + rows)
    with pytest.raises(FileError, match=problem):
        RowBlocks.from_files(path, "c", on_error="skip")
    told = " ".join(_fit(path, tmp_path / "m.ek", "--on-error", "skip", code=1).split())
    assert problem in told


def test_other_columns_are_no_bad_rows(frame, tmp_path):
    _write(tmp_path / "a.csv", "".join(_lines(frame)))
    _write(tmp_path / "b.csv", "".join(_lines(frame.rename(columns={"v": "other"}))))
    with pytest.raises(FileError, match="its columns are not those of"):
        RowBlocks.from_files(str(tmp_path / "*.csv"), "c", on_error="skip")


def test_a_checkpoint_of_other_cuts_is_refused(frame, tmp_path, monkeypatch):
    """The same rows in other blocks: to go on would count some twice."""
    monkeypatch.setattr("eigenkit.models._blocks.rows_per_block", lambda source: 20)
    lines, state = _lines(frame), tmp_path / "s.st"
    path = _write(tmp_path / "bad.csv", _with(lines, ["1,2,a\n"] * 5))
    _fit(path, tmp_path / "m.ek", "--on-error", "skip", "--checkpoint", state)
    _write(tmp_path / "bad.csv", "".join(lines))
    told = _fit(path, tmp_path / "m.ek", "--checkpoint", state, code=1)
    assert "give the same value, or use another file" in told


def test_what_to_do_about_errors_is_one_of_two_words(frame, tmp_path):
    path = _write(tmp_path / "a.csv", "".join(_lines(frame)))
    with pytest.raises(ValueError, match="on_error='ignore'"):
        RowBlocks.from_files(path, "c", on_error="ignore")
    assert "--on-error" in _fit(path, tmp_path / "m.ek", "--on-error", "ignore", code=2)


@pytest.mark.slow
def test_on_a_cluster(frame, tmp_path):
    pytest.importorskip("distributed")
    lines = _lines(frame)
    for name, bad in (("a", ["1,2\n"]), ("b", []), ("c", ["1,x,3,a\n"] * 2)):
        _write(tmp_path / f"{name}.csv", _with(lines, bad))
    pattern, out = str(tmp_path / "*.csv"), tmp_path / "m.ek"
    told = " ".join(_fit(pattern, out, "--dask", "local", code=1).split())
    assert "a.csv, line 33: 2 cells, where the first row has 4: complete the row, or" in told
    assert "leave such rows out with --on-error skip." in told
    said = json.loads(_fit(pattern, out, "--dask", "local", "--on-error", "skip", "--json"))
    assert said["n_skipped"] == 3
    assert said["fitted"]["skipped"]["files"] == {"a.csv": 1, "c.csv": 2}
    blocks = RowBlocks.from_files(pattern, "c", on_error="skip")
    with local_cluster(1) as client:
        there = RowBlocks.from_dask(client, pattern, labels="c", on_error="skip")
        assert there.skipped_ == blocks.skipped_
        with pytest.raises(FileError, match="leave such rows out with on_error='skip'"):
            RowBlocks.from_dask(client, pattern, labels="c")
        with pytest.raises(ValueError, match="on_error='ignore'"):
            RowBlocks.from_dask(client, pattern, labels="c", on_error="ignore")
    whole = LDA().fit(blocks)
    np.testing.assert_allclose(load(out).estimator.coef_, whole.coef_, rtol=1e-9)
