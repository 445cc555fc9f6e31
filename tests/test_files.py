"""Readers against what was written, writers against readers, and every bad file in one sentence."""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import os
import pickle
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from eigenkit.files import (
    Expected,
    FileError,
    Reading,
    TooLargeError,
    atomic,
    check_output,
    open_file,
    read,
    target_of,
    write_table,
)
from eigenkit.files._cells import written_with
from eigenkit.files._svmlight import read_pairs
from eigenkit.files._writing import safe_cell
from eigenkit.models import RowBlocks, fit_model
from eigenkit.models._features import complete

NUMBERS = np.array([[1.5, -2.0, 3e10], [0.0, 4.25, -1e-7], [7.0, 8.0, 9.0]])


def get(path: Path, **options: object):
    return read(open_file(str(path), Reading(**options)))


def fails(path: Path, message: str, **options: object) -> None:
    with pytest.raises(FileError) as caught:
        get(path, **options)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# -- CSV --------------------------------------------------------------------------------


def table(mark: str = ",", header: bool = True) -> str:
    rows = [mark.join(f"{v!r}" for v in row.tolist()) for row in NUMBERS]
    return "\n".join(([mark.join("abc")] if header else []) + rows) + "\n"


@pytest.mark.parametrize("mark", [",", "\t", ";", "|"])
@pytest.mark.parametrize("header", [True, False])
def test_delimiter_and_header_are_found_out(tmp_path: Path, mark: str, header: bool) -> None:
    data = get(write(tmp_path / "a.txt", table(mark, header)))
    assert np.array_equal(data.X, NUMBERS)
    assert data.found["delimiter"] == mark
    assert data.found["header"] is header
    assert data.source.feature_names == (["a", "b", "c"] if header else ["c1", "c2", "c3"])


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_compression_is_seen_from_the_content(tmp_path: Path, pack: object) -> None:
    assert np.array_equal(get(write(tmp_path / "a.csv", pack(table().encode()))).X, NUMBERS)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    data = get(write(tmp_path / "a.csv", "größe,x\n1,2\n3,4\n".encode(encoding)))
    assert data.source.feature_names == ["größe", "x"]
    assert np.array_equal(data.X, [[1, 2], [3, 4]])


def test_encoding_can_be_overridden(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "größe,x\n1,2\n3,4\n".encode("cp437"))
    assert get(path, encoding="cp437").source.feature_names == ["größe", "x"]
    fails(path, "it is not in utf-8: name another with --encoding", encoding="utf-8")
    fails(path, "encoding 'klingon' is not known", encoding="klingon")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (("t_*",), ["t_1", "t_2"]),
        (("t_2",), ["t_2"]),
        (("-1",), ["t_2"]),
        (("1", "3"), ["x", "t_1"]),
    ],
)
def test_label_columns_by_name_pattern_and_position(
    tmp_path: Path, wanted: tuple[str, ...], expected: list[str]
) -> None:
    path = write(tmp_path / "a.csv", "x,y,t_1,t_2\n1,2,0,1\n3,4,1,0\n")
    source = open_file(str(path), Reading(labels=wanted))
    assert source.label_names == expected
    assert source.feature_names == [n for n in ["x", "y", "t_1", "t_2"] if n not in expected]


@pytest.mark.parametrize("role", ["labels", "text", "categorical"])
def test_a_name_counts_more_than_a_pattern_and_to_leave_out_more_than_to_take(
    tmp_path: Path, role: str
) -> None:
    path = write(tmp_path / "a.csv", "x,t_1,t_2\n1,0,1\n2,1,0\n3,1,1\n")

    def taken(wanted: str, ignored: str) -> tuple[list[str], list[str] | None]:
        source = open_file(str(path), Reading(**{role: (wanted,)}, ignore=(ignored,)))
        return source.label_names + source.text_names, source.feature_names

    assert taken("t_*", "t_2") == (["t_1"], ["x"])
    assert taken("t_*", "?_2") == (["t_1"], ["x"])
    assert taken("t_1", "t_*") == (["t_1"], ["x"])
    twice = f"column 't_1' is named by --{role} and by --ignore: choose one."
    for ignored in ("t_1", "2"):
        fails(path, twice, ignore=(ignored,), **{role: ("t_1",)})
    fails(path, f"leaves out all columns that --{role} names", ignore=("t*",), **{role: ("t_*",)})


def test_the_column_of_names_is_no_other(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,x,c\n1,2,a\n2,5,b\n")
    fails(
        path, "'id' is named by --index and by --ignore", index="id", ignore=("id",), labels=("c",)
    )
    fails(path, "column 'c' is named by --labels and by --index", index="c", labels=("c",))


def test_quoted_cells_with_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    text = 'x,doc,c\n1,"one, ""two""\nthree",a\n2,"four\u2028five\x0bsix",b\n'
    data = get(write(tmp_path / "a.csv", text), text=("doc",), labels=("c",))
    assert data.text["doc"] == ['one, "two"\nthree', "four\u2028five\x0bsix"]
    assert data.labels == ["a", "b"]


def test_blocks_do_not_cut_quoted_cells(tmp_path: Path) -> None:
    rows = [f'{i},"line {i}\nmore {i}",{"ab"[i % 2]}' for i in range(20)]
    path = write(tmp_path / "a.csv", "\n".join(["x,doc,c", *rows]))
    source = open_file(str(path), Reading(text=("doc",), labels=("c",)))
    blocks = list(source.blocks(3))
    assert len(blocks) > 3
    assert [t for b in blocks for t in b.text["doc"]] == [f"line {i}\nmore {i}" for i in range(20)]


def test_missing_cells_are_nan(tmp_path: Path) -> None:
    data = get(write(tmp_path / "a.csv", "x,y\n1,NA\n,2\n?,nan\nnull,3\n"))
    assert np.array_equal(np.isnan(data.X), [[0, 1], [1, 0], [1, 1], [1, 0]])


def test_several_labels_in_one_column(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,tags\n1,red; big\n2,\n3,big\n")
    data = get(path, labels=("tags",), label_separator=";")
    assert data.labels == [("red", "big"), (), ("big",)]
    target = target_of(path, data.labels, ["tags"])
    assert np.array_equal(target.encode(path, data.labels), [[1, 1], [0, 0], [1, 0]])


def test_fast_and_slow_path_agree(tmp_path: Path) -> None:
    fast = get(write(tmp_path / "a.csv", table()))
    slow = get(write(tmp_path / "b.csv", table().replace("1.5", '"1.5"')))
    assert np.array_equal(fast.X, slow.X)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty."),
        ("\n\n", "it holds no rows."),
        ("a,b\n", "it holds a header and no rows."),
        (
            "a,b\n1,2\n3\n",
            ", line 3: 1 cells, where the first row has 2: complete the row, or remove it.",
        ),
        (
            "a,b\n1,2\n3,4,5\n",
            ", line 3: 3 cells, where the first row has 2: complete the row, or remove it.",
        ),
        ("a,b\n1,2\n3,x\n4,5\n", ", line 3, column 'b': 'x' is not a number: correct that cell."),
        (
            "a,b\n1,2\n3,1_0\n4,5\n",
            ", line 3, column 'b': '1_0' is not a number: correct that cell.",
        ),
        ("a,b\n1,u\n3,v\n", "column 'b' holds text ('u'): add --text b, name it with --labels"),
        ("a,a\n1,2\n", "two columns are named 'a': rename one."),
        ("a,b\n1,\x1b[31m" + "x" * 10000 + "\n2,3\n4,5\n", "'\\x1b[31mxxx"),
        (b"\x00\x01\x02" * 100, "it holds binary data, not text"),
        (b"\x1f\x8b" + b"nonsense" * 10, "the gzip data are damaged."),
        (gzip.compress(table().encode() * 100, mtime=0)[:-20], "the gzip data are damaged."),
        (pickle.dumps({"a": 1}), "it is a Python pickle, which can run code: it is not read."),
    ],
)
def test_bad_csv(tmp_path: Path, text: str | bytes, message: str) -> None:
    fails(write(tmp_path / "a.csv", text), message)


def test_an_index_column_is_no_feature(tmp_path: Path) -> None:
    for text in (",a,b\n0,1,2\n1,3,4\n", "a,b\nr1,1,2\nr2,3,4\n", "Unnamed: 0,a,b\n0,1,2\n1,3,4\n"):
        data = get(write(tmp_path / "a.csv", text))
        assert data.source.feature_names == ["a", "b"], text
        assert np.array_equal(data.X, [[1, 2], [3, 4]])
    data = get(write(tmp_path / "a.csv", "id,a\nx,1\ny,2\n"), index="id")
    assert data.source.feature_names == ["a"]
    assert data.found["index"] == "id"


def test_decimal_commas_and_thousands(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a;b\n1,5;2\n-0,25;3,125\n")
    assert np.array_equal(get(path).X, [[1.5, 2], [-0.25, 3.125]])
    assert get(path).found["decimal"] == ","
    path = write(tmp_path / "a.csv", 'a,b\n"1.234,5",2\n"7,25",3\n')
    told = "if '1.234,5' is a number, give --decimal comma --thousands point."
    fails(path, f"column 'a' holds text ('1.234,5'): {told}")
    assert np.array_equal(get(path, decimal=",", thousands=".").X, [[1234.5, 2], [7.25, 3]])
    path = write(tmp_path / "a.csv", "a;b\n1,000;2\n2,000;3\n")
    fails(path, "if '1,000' is a number, give --thousands comma or --decimal comma.")
    assert np.array_equal(get(path, thousands=",").X, [[1000, 2], [2000, 3]])
    fails(path, "are the same mark", decimal=",", thousands=",")
    path = write(tmp_path / "a.csv", "a;b\n0,418;2\n2,041;3\n")  # no thousand begins with 0
    assert np.array_equal(get(path).X, [[0.418, 2], [2.041, 3]])
    fails(path, "so it cannot be --thousands: leave that out", thousands=",")


def test_points_where_commas_were_promised_are_named(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("a,b,y\n2.5,1,u\n3.5,2,v\n4.5,3,u\n")
    fails(path, "column 'a' holds text ('2.5')", decimal=",", labels=["y"])


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u202f"])
def test_blanks_between_thousands(tmp_path: Path, blank: str) -> None:
    path = write(tmp_path / "a.csv", f"a;b\n1{blank}234,5;2\n12{blank}000,25;3\n")
    fails(path, "is a number, give --decimal comma --thousands space.")
    found = get(path, decimal="comma", thousands="space").X
    assert np.array_equal(found, [[1234.5, 2], [12000.25, 3]])
    path = write(tmp_path / "b.csv", f"a;b\n1{blank}234;2\n12{blank}000;3\n")
    fails(path, "is a number, give --thousands space.")


def test_marks_have_names_and_are_suggested(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'a,b\n"2,040.92",1\n-5.5,2\n7.5,3\n')
    fails(path, "'2,040.92' is not a number: correct that cell, or give --thousands comma if")
    assert np.array_equal(get(path, thousands="comma").X, [[2040.92, 1], [-5.5, 2], [7.5, 3]])
    path = write(tmp_path / "a.csv", 'a,b\n"1,5",1\n2,2\n3,3\n')
    fails(path, "'1,5' is not a number: correct that cell, or give --decimal comma if")
    assert np.array_equal(get(path, decimal="comma").X, [[1.5, 1], [2, 2], [3, 3]])
    fails(path, "give one, or comma, point", decimal="commas")
    path = write(tmp_path / "a.csv", "a,b\nred,1\n2,2\n3,3\n")
    fails(path, "'red' is not a number: correct that cell.")
    path = write(tmp_path / "a.csv", 'a,b\n"2,040.92",1\n-5.5,2\n7.5,3\n')
    with pytest.raises(FileError, match="give thousands='comma' if numbers are written like that"):
        RowBlocks.from_files(path)


@pytest.mark.parametrize("way", ["quick", "slow"])
@pytest.mark.parametrize("names", ["a", "a,b"])
def test_lines_of_blanks_are_empty(tmp_path: Path, monkeypatch: Any, names: str, way: str) -> None:
    if way == "slow":
        monkeypatch.setattr("eigenkit.files._delimited.Delimited._quickly", lambda *given: None)
    rows = [",".join("12"[: len(names.split(","))]), ",".join("34"[: len(names.split(","))])]
    path = write(tmp_path / "a.csv", "  \n" + "\n".join([names, rows[0], " \t ", *rows[1:], "   "]))
    data = get(path)
    assert data.source.feature_names == names.split(",")
    assert data.X.tolist() == [[1.0, 2.0][: data.X.shape[1]], [3.0, 4.0][: data.X.shape[1]]]


@pytest.mark.parametrize("cell", ["418,10", "0,418", "1,2345", "1,234.5,6", "1234,567"])
def test_marks_between_thousands_stand_before_three_digits(cell: str) -> None:
    convert = written_with(".", ",")
    assert convert("1,234,567.25") == 1234567.25
    assert convert("-12,34,567") == -1234567  # as in India
    with pytest.raises(ValueError):
        convert(cell)


def test_booleans_dates_and_comments(tmp_path: Path) -> None:
    text = (
        "# made today\na,d,e\nTrue,1970-01-02,yes\n# between\nfalse,1970-01-03 12:00,no\nNA,,no\n"
    )
    data = get(write(tmp_path / "a.csv", text), comment="#")
    np.testing.assert_array_equal(data.X, [[1, 1, 1], [0, 2.5, 0], [np.nan, np.nan, 0]])
    fails(write(tmp_path / "b.csv", "a\nyes\nno\nperhaps\n"), "'perhaps' is not yes or no")


def test_all_columns_that_cannot_be_used_are_named_at_once(tmp_path: Path) -> None:
    rows = "".join(f"{i},{'uv'[i % 2]},word {i}\n" for i in range(6))
    path = write(tmp_path / "a.csv", "a,city,notes\n" + rows)
    fails(path, "2 columns hold text ('city', 'notes'): add --categorical city --text notes")


@pytest.mark.parametrize(
    ("cells", "marks"),
    [
        (("7.631,34", "12.004,5"), "--decimal comma --thousands point"),
        (("7 631,34", "12 004,5"), "--decimal comma --thousands space"),
        (("7\u202f631,34", "12\u202f004,5"), "--decimal comma --thousands space"),
        (("7'631.34", "12'004.5"), "--thousands apostrophe"),
    ],
)
def test_numbers_and_names_of_rows_are_not_taken_for_text(
    tmp_path: Path, cells: tuple[str, str], marks: str
) -> None:
    rows = "".join(f"R{i:03};{'uv'[i % 2]};{cells[i % 2]}\n" for i in range(8))
    told = f"add --categorical city --index id, if {cells[0]!r} is a number, give {marks}, name"
    path = write(tmp_path / "a.csv", "id;city;price\n" + rows)
    fails(path, f"3 columns hold text ('id', 'city', 'price'): {told}")
    two = "".join(f"R{i};S{i};{i}\n" for i in range(8))
    fails(write(tmp_path / "b.csv", "id;key;x\n" + two), "add --ignore id,key, name them")


@pytest.mark.parametrize("marks", [",", ",,", ",,,"])
@pytest.mark.parametrize("above", [True, False])
def test_columns_without_name_and_content_are_none(tmp_path: Path, marks: str, above: bool) -> None:
    rows = [f"{i},{2 * i},{'uv'[i % 2]}{marks}\n" for i in range(6)]
    path = write(tmp_path / "a.csv", f"a,b,class{marks if above else ''}\n{''.join(rows)}")
    for label in ("class", "-1"):
        data = get(path, labels=(label,))
        assert data.source.feature_names == ["a", "b"]
        assert data.labels == [*"uvuvuv"]
    write(path, f"a,b,class,,\n{rows[0].strip(chr(10) + ',')},7,8\n")
    fails(path, "two columns are named ''")


def test_columns_that_look_like_labels_are_told(tmp_path: Path) -> None:
    text = "a,b,c,tag_u,tag_v\n1,2,3,0,1\n3,4,5,1,0\n"
    data = get(write(tmp_path / "a.csv", text), labels=("tag_u",))
    assert data.found["like_labels"] == ["tag_v"]
    assert get(tmp_path / "a.csv", labels=("tag_*",)).found["like_labels"] == []


def test_line_numbers_hold_far_into_a_file(tmp_path: Path) -> None:
    rows = ["1,2"] * 200_000
    rows[150_000] = "1,oops"
    fails(write(tmp_path / "a.csv", "\n".join(["a,b", *rows])), "line 150002, column 'b': 'oops'")


def test_unknown_columns_get_a_suggestion(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", table())
    fails(
        path, "no column is named 'zz' (--labels): the columns are 'a', 'b', 'c'.", labels=("zz",)
    )


def test_missing_file_and_folder(tmp_path: Path) -> None:
    fails(tmp_path / "no.csv", "there is no such file.")
    fails(tmp_path, "this is a folder: give a file.")


def test_size_limit(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", table() + "1,2,3\n" * 10000)
    with pytest.raises(TooLargeError, match="raise it with --max-memory"):
        get(path, max_bytes=10000)


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [66, 160])
def test_an_expanding_line_is_refused_in_little_memory(tmp_path: Path, megabytes: int) -> None:
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(megabytes):
            stream.write(b"1" * 2**20)
    tracemalloc.start()
    try:
        fails(path, "it holds a line of more than 64 MB")
        assert tracemalloc.get_traced_memory()[1] < 400 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_reading_does_not_hold_the_numbers_twice(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30_000, 50))
    path = tmp_path / "a.csv"
    np.savetxt(path, X, delimiter=",", fmt="%.6g")
    tracemalloc.start()
    try:
        data = get(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert data.X.shape == X.shape
    assert peak < 2 * X.nbytes + 64 * 2**20


def test_float32_stays(tmp_path: Path) -> None:
    assert get(write(tmp_path / "a.csv", table()), dtype="float32").X.dtype == np.float32


def test_expected_columns_are_found_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", table())
    data = get(path, expected=Expected(("c", "a"), 2))
    assert np.array_equal(data.X, NUMBERS[:, [2, 0]])
    fails(path, "1 of the 2 columns that the model was fitted on are not there: 'z'; it has 'a'",
          expected=Expected(("a", "z"), 2))  # fmt: skip


# -- svmlight ---------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 30),
    d=st.integers(1, 40),
    zero_based=st.booleans(),
)
def test_svmlight_agrees_with_scikit_learn(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n: int, d: int, zero_based: bool
) -> None:
    X = sparse.random_array((n, d), density=0.3, random_state=seed).tolil()
    X[0, d - 1] = 1.0
    path = tmp_path_factory.mktemp("svm") / "a.svm"
    y = np.random.default_rng(seed).integers(0, 5, n)
    dump_svmlight_file(sparse.csr_matrix(X), y, str(path), zero_based=zero_based)
    data = get(path, index_base=0 if zero_based else 1)
    theirs, classes = load_svmlight_file(str(path), zero_based=zero_based)
    assert np.array_equal(data.X.toarray(), theirs.toarray())
    assert [float(label) for (label,) in data.labels] == classes.tolist()


def test_svmlight_labels_comments_and_queries(tmp_path: Path) -> None:
    text = "# first\n1,3 1:0.5 3:2 # why\n\t 2:1\n2 qid:7 1:1\n\n4\t2:3\t3:1\r\n5\n"
    data = get(write(tmp_path / "a.svm", text))
    assert data.labels == [("1", "3"), (), ("2",), ("4",), ("5",)]
    expected = [[0.5, 0, 2], [0, 1, 0], [1, 0, 0], [0, 3, 1], [0, 0, 0]]
    assert np.array_equal(data.X.toarray(), expected)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1 2:nan", "line 2, column '2': 'nan' is not a finite number."),
        ("1 2:1e400", "line 2, column '2': '1e400' is not a finite number."),
        ("1 2000000000:1", "line 2: feature '2000000000' is beyond the limit of 50000000"),
        ("1 " + "9" * 30 + ":1", "is beyond the limit"),
        ("1 -2:1", "line 2: '-2:1' is not a pair index:value of numbers."),
        ("1 1.5:1", "line 2: '1.5:1' is not a pair"),
        ("1 2:3:4 5", "line 2"),
        ("1 2", "line 2: '2' is not a pair"),
        ("1 2:x", "line 2, column '2': 'x' is not a finite number."),
        ("1 2: 3", "line 2, column '2': '' is not a finite number."),
        ("1 :3", "line 2: ':3' is not a pair"),
        ("1 1:", "line 2, column '1': '' is not a finite number."),
        ("1 2:1_0", "line 2, column '2': '1_0' is not a finite number."),
        ("1 1:1 1:2", "line 2: the row holds feature 1 twice: give every feature one value."),
        ("1 3:1 1:2 03:2", "line 2: the row holds feature 3 twice"),
        ("1 qid:4 2:0 1:2 2:0", "line 2: the row holds feature 2 twice"),
    ],
)
def test_bad_svmlight(tmp_path: Path, row: str, message: str) -> None:
    fails(write(tmp_path / "a.svm", f"1 1:1 2:2\n{row}\n3 3:1\n"), message)


def test_svmlight_without_features(tmp_path: Path) -> None:
    fails(write(tmp_path / "a.svm", "1\n2\n"), "it holds no features.")


def test_svmlight_beyond_the_model(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", "1 1:1 7:2\n")
    fails(path, "it holds the feature 7, but the model was fitted on features 1 to 5.",
          expected=Expected(None, 5))  # fmt: skip


def test_svmlight_streams_what_it_reads(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", "".join(f"{i % 3} {i % 7 + 1}:{i}.5\n" for i in range(500)))
    whole = get(path)
    parts = list(open_file(str(path), Reading(stream=True)).blocks(64))
    assert len(parts) > 5
    assert (sparse.vstack([p.X for p in parts]) != whole.X).nnz == 0
    assert [label for p in parts for label in p.labels] == whole.labels


# -- ARFF -------------------------------------------------------------------------------

ARFF = """% comment
@relation 'toy: -C 1'
@attribute 'a b' numeric
@attribute c REAL
@attribute kind {yes, 'no way'}
@data
1, 2.5, yes
% in between
?, 3, 'no way'
"""


@pytest.mark.parametrize("n", [3, 199, 200, 1000])
def test_many_comments_above_the_names(n, tmp_path):
    path = write(tmp_path / "a.csv", "# a comment\n" * n + "u,v,c\n1,2,x\n3,4,y\n")
    options = Reading(labels=("c",), comment="#")
    for size in (1, 16, 5000):
        blocks = [*open_file(str(path), options).blocks(size)]
        assert np.vstack([block.X for block in blocks]).tolist() == [[1, 2], [3, 4]]
        assert [label for block in blocks for label in block.labels] == ["x", "y"]


def test_dense_arff(tmp_path: Path) -> None:
    data = get(write(tmp_path / "a.arff", ARFF), labels=("kind",))
    assert data.source.feature_names == ["a b", "c"]
    assert data.labels == ["yes", "no way"]
    assert np.isnan(data.X[1, 0])
    assert data.X[0].tolist() == [1, 2.5]


@pytest.mark.parametrize("line", ['% a 5" disk', "@attribute 'size in \"' numeric"])
def test_a_quote_in_the_header_of_arff_ends_with_its_line(line, tmp_path):
    path = tmp_path / "a.arff"
    own = line.startswith("@")
    header = ["@relation r", line, "@attribute b numeric", "@attribute c {x,y}", "@data"]
    rows = [f"{'7,' * own}{i},{'xy'[i % 2]}" for i in range(4)]
    path.write_text("\n".join([*header, *rows]))
    data = read(open_file(str(path), Reading(labels=("c",))))
    assert data.X[:, -1].tolist() == [0, 1, 2, 3]
    assert data.labels == ["x", "y", "x", "y"]


def test_meka_counts_labels_in_the_relation(tmp_path: Path) -> None:
    assert open_file(str(write(tmp_path / "a.arff", ARFF)), Reading(ignore=("kind",))).label_names \
        == ["a b"]  # fmt: skip


SPARSE_ARFF = """@relation toy
@attribute x numeric
@attribute y numeric
@attribute l1 {0,1}
@attribute l2 {0,1}
@data
{0 1.5, 2 1}
{}
{1 -2,3 1}
"""


def test_sparse_arff_with_mulan_labels(tmp_path: Path) -> None:
    write(
        tmp_path / "a.xml", '<labels xmlns="u"><label name="l1"></label><label name="l2"/></labels>'
    )
    data = get(write(tmp_path / "a.arff", SPARSE_ARFF))
    assert data.X.toarray().tolist() == [[1.5, 0], [0, 0], [0, -2]]
    assert data.labels.tolist() == [[1, 0], [0, 0], [0, 1]]
    assert get(tmp_path / "a.arff", ignore=("l1",)).labels.tolist() == [[0], [0], [1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@relation a\n@attribute x numeric\n", "it has no @data"),
        ("@relation a\n@attribute x numeric\n@data\n", "it holds a header and no rows."),
        ("@relation a\n@attribute x date\n@data\n1\n", "it is of type 'date', not numeric"),
        ("@relation a\nhello\n@data\n1\n", "line 2: 'hello' is not a header."),
        (SPARSE_ARFF + "{9 1}\n", "line 10: '9 1' is not a new attribute number below 4"),
        (SPARSE_ARFF + "{0 1, 0 2}\n", "line 10"),
        (SPARSE_ARFF + "{0 x}\n", "line 10, column 'x': 'x' is not a number: correct that cell."),
        (SPARSE_ARFF + "0,1\n", "line 10: '0,1' is not a sparse row in braces."),
    ],
)
def test_bad_arff(tmp_path: Path, text: str, message: str) -> None:
    fails(write(tmp_path / "a.arff", text), message)


def test_label_lists_with_entities_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.xml", '<!DOCTYPE l [<!ENTITY a "x">]><labels><label name="&a;"/></labels>')
    path = write(tmp_path / "a.arff", SPARSE_ARFF)
    with pytest.raises(FileError, match="document types are not read"):
        get(path)


# -- NPZ --------------------------------------------------------------------------------


def test_dense_npz_in_both_orders(tmp_path: Path) -> None:
    for order in "CF":
        np.savez(tmp_path / "a.npz", X=np.array(NUMBERS, order=order), y=np.array(["a", "b", "a"]))
        data = get(tmp_path / "a.npz")
        assert np.array_equal(data.X, NUMBERS)
        assert data.labels == ["a", "b", "a"]


@pytest.mark.parametrize("prefix", ["X_", ""])
def test_csr_npz(tmp_path: Path, prefix: str) -> None:
    X = sparse.csr_array(np.eye(4)[:, :3])
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    np.savez(tmp_path / "a.npz", **{prefix + k: v for k, v in parts.items()}, Y=np.eye(4, 2))
    data = get(tmp_path / "a.npz")
    assert np.array_equal(data.X.toarray(), X.toarray())
    assert data.source.label_names == ["Y1", "Y2"]


def csr_parts(**changes: object) -> dict[str, object]:
    X = sparse.csr_array(np.eye(3))
    parts = {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": X.shape}
    return {**parts, **changes}


@pytest.mark.parametrize(
    "parts",
    [
        csr_parts(X_indices=np.array([0, 1, 9])),
        csr_parts(X_indices=np.array([0, 1, -1])),
        csr_parts(X_indptr=np.array([0, 3, 1, 3])),
        csr_parts(X_indptr=np.array([0, 1, 2, 99])),
        csr_parts(X_indices=np.array([0.0, 1.0, 2.0])),
        csr_parts(X_shape=np.array([3, 3, 3])),
        csr_parts(X_shape=np.array([-3, 3])),
        csr_parts(X_shape=np.array([3, 2**40])),
        {"Z": np.eye(2)},
        {"X": np.zeros((2, 2, 2))},
        {"X": np.array([["a", "b"]])},
        {"X": np.eye(3), "Y": np.eye(2)},
    ],
)
def test_bad_npz(tmp_path: Path, parts: dict[str, object]) -> None:
    np.savez(tmp_path / "a.npz", **parts)
    fails(tmp_path / "a.npz", "")


def test_npz_with_objects_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.array([[object()]]), allow_pickle=True)
    fails(tmp_path / "a.npz", "holds Python objects, which can run code: it is not read.")


def npz_with_header(path: Path, shape: tuple[int, ...], body: bytes) -> None:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", head.getvalue() + body)


def test_a_header_that_claims_terabytes(tmp_path: Path) -> None:
    npz_with_header(tmp_path / "a.npz", (10**6, 10**6), b"\0" * 80)
    fails(tmp_path / "a.npz", "claims 8000000000000 bytes, but 80 are stored: it is damaged.")


def test_an_archive_that_expands_a_thousandfold(tmp_path: Path) -> None:
    npz_with_header(tmp_path / "a.npz", (5 * 10**5, 8), b"\0" * (32 * 10**6))
    assert (tmp_path / "a.npz").stat().st_size < 50_000
    tracemalloc.start()
    try:
        fails(tmp_path / "a.npz", "the limit is", max_bytes=10 * 2**20)
        assert tracemalloc.get_traced_memory()[1] < 40 * 2**20
    finally:
        tracemalloc.stop()


def test_every_truncation_of_an_npz_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", X=NUMBERS)
    whole = (tmp_path / "a.npz").read_bytes()
    for n in range(0, len(whole), 7):
        with pytest.raises(FileError):
            get(write(tmp_path / "b.npz", whole[:n]))


# -- Parquet ----------------------------------------------------------------------------


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"x": [1.0, None, 3.0], "n": [1, 2, 3], "tags": [["a"], [], ["a", "b"]]}
    parquet.write_table(arrow.table(columns), tmp_path / "a.parquet")
    data = get(tmp_path / "a.parquet", labels=("tags",))
    assert data.labels == [("a",), (), ("a", "b")]
    assert np.isnan(data.X[1, 0])
    fails(tmp_path / "a.parquet", "column 'tags': it holds list<")
    whole = (tmp_path / "a.parquet").read_bytes()
    fails(write(tmp_path / "b.parquet", whole[:-9]), "the Parquet data are damaged.")


@pytest.mark.parametrize("kind", ["npz", "parquet"])
@pytest.mark.parametrize("packed", [False, True])
def test_archives_come_by_standard_input_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, packed: bool
) -> None:
    stream = io.BytesIO()
    write_table(stream, kind, ["a", "b"], [[np.arange(9.0), np.ones(9)]])
    given = io.BytesIO(gzip.compress(stream.getvalue()) if packed else stream.getvalue())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(given))
    source = open_file("-", Reading(stream=True))
    gc.collect()
    for _ in range(2):
        assert np.vstack([block.X for block in source.blocks(4)]).T.tolist()[0] == list(range(9))


def test_a_zip_of_a_table_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
    fails(tmp_path / "a.zip", "it is a zip archive, which is not read: unpack it first.")


# -- targets ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array([[1.0], [2.0], [1.0]]), "classes"),
        (np.array([[1.5], [2.0], [1.0]]), "numbers"),
        (np.array([[1.0, 0], [0, 1], [1, 1]]), "labels"),
        (np.array([[1.0, 0], [0, 2], [1, 1]]), "numbers"),
        (["a", "b"], "classes"),
        ([("a",), ("b",)], "classes"),
        ([("1",), ("2.5",)], "numbers"),
        ([("a",), ()], "labels"),
    ],
)
def test_what_the_labels_are(labels: object, kind: str) -> None:
    assert target_of("a", labels, ["l"] * 2 if kind == "labels" else ["l"]).kind == kind


@pytest.mark.parametrize(
    ("labels", "task", "message"),
    [
        (None, None, "no labels: say with --labels which columns hold them."),
        (["a", "a"], None, "every row has the same labels ('a'): nothing to learn."),
        (
            ["a", ""],
            None,
            "row 2 has no class: fill it in, leave such rows out with --missing",
        ),
        (np.array([[1.0], [np.nan]]), "classes", "row 2 has a label that is missing"),
        (["a", "b"], "numbers", "row 1 has the label 'a': give a number."),
        (np.array([[0.0, 2], [1, 1]]), "labels", "row 1 has the label 2: give 0 or 1."),
    ],
)
def test_bad_labels(labels: object, task: str | None, message: str) -> None:
    with pytest.raises(FileError) as caught:
        target_of("a.csv", labels, ["l"], task)
    assert message in str(caught.value)


def _classes(path: Path, classes: list[str], x: float = 0.0) -> str:
    """A table of one feature and these classes, over and over."""
    rows = [f"{x + i % 7},{classes[i % len(classes)]}\n" for i in range(30)]
    path.write_text("x,class\n" + "".join(rows))
    return str(path)


@pytest.mark.parametrize(
    "classes", [["007", "7", "x"], ["01", "1", "2"], ["9007199254740993", "9007199254740992"]]
)
def test_digits_that_are_names_stay_as_they_are(tmp_path: Path, classes: list[str]) -> None:
    data = get(Path(_classes(tmp_path / "a.csv", classes)), labels=("class",))
    assert set(target_of("a.csv", data.labels, ["class"]).names) == set(classes)


def _late_name(path: Path, name: str) -> str:
    """A table with a class that comes after the rows by which a file is judged."""
    classes = [*(["7", "8"] * 200), name, "8"]
    rows = [f"{i % 7},{name}\n" for i, name in enumerate(classes)]
    path.write_text("x,class\n" + "".join(rows))
    return str(path)


@pytest.mark.parametrize("name", ["007", "n"])
@pytest.mark.parametrize("way", ["compiled", "numpy", "slow"])
def test_names_are_seen_in_all_rows(tmp_path: Path, monkeypatch: Any, way: str, name: str) -> None:
    if way == "numpy":
        monkeypatch.setattr("eigenkit.files._delimited.read_table", lambda *given: None)
    options = Reading(labels=("class",), thousands="'" if way == "slow" else None)
    data = read(open_file(_late_name(tmp_path / "a.csv", name), options))
    assert (set(data.labels), data.X.shape) == ({"7", "8", name}, (402, 1))
    _classes(tmp_path / "b.csv", ["7", "8"])
    many = read(open_file(str(tmp_path / "*.csv"), options))
    assert (set(many.labels), many.X.shape) == ({"7", "8", name}, (432, 1))


@pytest.mark.parametrize("name", ["007", "n"])
def test_names_are_seen_in_all_blocks(tmp_path: Path, name: str) -> None:
    path = _late_name(tmp_path / "a.csv", name)
    assert set(RowBlocks.from_files(path, labels="class").classes()) == {"7", "8", name}
    source = open_file(path, Reading(labels=("class",), stream=True))
    assert set(fit_model(source, "lda", stream=True).target.names) == {"7", "8", name}


def test_a_word_among_many_numbers_is_refused(tmp_path: Path) -> None:
    """A typing error in what is to be predicted does not make classes of numbers."""
    for numbers in ([str(i % 300) for i in range(600)], [f"{i / 7:.3f}" for i in range(600)]):
        numbers[500] = "n"
        rows = [f"{i % 7},{y}\n" for i, y in enumerate(numbers)]
        path = write(tmp_path / "a.csv", "x,y\n" + "".join(rows))
        problem = "line 502, column 'y': 'n' is not a number: correct that cell, or give --task"
        fails(path, problem, labels=("y",))
    path = write(tmp_path / "a.csv", "x,y,z\n" + "1,2,3\n" * 300 + "1,n,3\n")
    fails(path, "'n' is not a number: correct that cell.", labels=("y", "z"))


def test_classes_that_are_asked_for_are_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"{x},{c}\n" for x, c in zip(range(40), ["1", "1.0", "01", "2"] * 10, strict=True)]
    path.write_text("x,class\n" + "".join(rows))
    names = ("1", "01", "2", "1.0")
    for stream in (False, True):
        source = open_file(str(path), Reading(labels=("class",), stream=stream))
        assert set(fit_model(source, "lda", task="classes", stream=stream).target.names) == {*names}
    blocks = RowBlocks.from_files(path, labels="class", task="classes")
    assert set(blocks.classes()) == {*names}
    head = "@relation a\n@attribute x numeric\n@attribute class {007,7}\n@data\n"
    data = get(write(tmp_path / "a.arff", head + "1,007\n2,7\n"), labels=("class",))
    assert data.labels == ["007", "7"]


def test_labels_of_a_file_to_predict_are_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y\n" + "1,2\n" * 300 + "1,pending\n")
    model = Expected(("x",), 1, labels=("y",))
    assert read(open_file(str(path), Reading(expected=model))).labels is None


def test_large_numbers_that_do_not_repeat_are_numbers(tmp_path: Path) -> None:
    times = [str(1_700_000_000_000_000_000 + i) for i in range(30)]
    data = get(Path(_classes(tmp_path / "a.csv", times)), labels=("class",))
    assert isinstance(data.labels, np.ndarray)


def test_labels_of_another_file_are_read_as_those_of_the_model(tmp_path: Path) -> None:
    first = get(Path(_classes(tmp_path / "a.csv", ["1e3", "1000", "x"])), labels=("class",))
    target = target_of("a.csv", first.labels, ["class"])
    again = _classes(tmp_path / "b.csv", ["1e3", "1000"])
    options = target.as_read(Reading(labels=("class",)))
    labels = read(open_file(again, options)).labels
    assert set(target.encode(again, labels)) == {"1e3", "1000"}
    numbers = target_of("c.csv", np.array([[1.0], [2.0], [1.5]]), ["class"], "classes")
    assert not numbers.as_read(Reading()).words


def test_classes_are_words_in_all_files_or_in_none(tmp_path: Path) -> None:
    _classes(tmp_path / "p1.csv", ["1e3", "1000"])
    _classes(tmp_path / "p2.csv", ["1e3", "x"])
    pattern = str(tmp_path / "p*.csv")
    labels = get(Path(pattern), labels=("class",)).labels
    assert set(labels) == {"1e3", "1000", "x"}
    blocks = RowBlocks.from_files(pattern, labels="class")
    assert set(blocks.classes()) == {"1e3", "1000", "x"}


def test_several_columns_of_yes_and_no_are_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,a,b\n1,True,no\n2,False,yes\n3,True,yes\n")
    data = get(path, labels=("a", "b"))
    np.testing.assert_array_equal(data.labels, [[1, 0], [0, 1], [1, 1]])
    write(path, "x,a,b\n1,1,red\n2,0,blue\n")
    fails(path, "column 'b': several label columns", labels=("2", "3"))


def test_truth_of_other_labels_than_the_model_has_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,a\n1,1\n2,0\n")
    model = Expected(("x",), 1, labels=("a", "b"))
    fails(
        path, "1 of the 2 labels are not there: 'b'; it has 'x', 'a'.", expected=model, truth=True
    )
    target = target_of("a.csv", np.array([[0.0, 1], [1, 0]]), ["a", "b"])
    with pytest.raises(FileError, match=r"row 2 has the label 0\.5: give 0 or 1"):
        target.encode("b.csv", np.array([[0.0, 1], [0.5, 0]]))
    with pytest.raises(FileError, match="it has 1 labels, but the model has 2"):
        target.encode("b.csv", np.array([[0.0]]))


@pytest.mark.parametrize("word", ["NA", "nan", "null", "?", "n/a", " "])
def test_a_missing_class_is_no_class(tmp_path: Path, word: str) -> None:
    path = Path(_classes(tmp_path / "a.csv", ["a", "b", word, "none"]))
    data = get(path, labels=("class",))
    with pytest.raises(FileError, match="row 3 has no class"):
        target_of(path, data.labels, ["class"])
    (left,) = complete(lambda: [data.block()], "drop", ())
    assert set(left.labels) == {"a", "b", "none"}
    assert len(left) == 23


def test_a_missing_number_is_dropped_with_its_row(tmp_path: Path) -> None:
    path = Path(_classes(tmp_path / "a.csv", ["1.5", "2.5", "NA"]))
    block = get(path, labels=("class",)).block()
    assert [len(left) for left in complete(lambda: [block], "drop", ())] == [20]


# -- writing ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "tsv", "npz", "parquet"])
def test_what_is_written_is_read(tmp_path: Path, kind: str) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"a.{kind}"
    with atomic(path) as stream:
        n = write_table(stream, kind, ["a", "b", "c"], [list(NUMBERS[:2].T), list(NUMBERS[2:].T)])
    assert n == 3
    data = get(path)
    assert np.array_equal(data.X, NUMBERS)
    assert data.source.feature_names == ["a", "b", "c"]


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_no_cell_is_a_formula(text: str) -> None:
    safe = safe_cell(text)
    assert safe.lstrip("'") == text.lstrip("'")
    if safe[:1] in tuple("=+-@\t\r"):
        float(safe)


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "old")

    def work() -> None:
        with atomic(path) as stream:
            stream.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "a[1].csv"
    stale = write(tmp_path / ".a[1].csv.0123.part", "half")
    other = write(tmp_path / ".b.csv.0123.part", "half")
    young = write(tmp_path / ".a[1].csv.4567.part", "half")
    for left in (stale, other):
        os.utime(left, (0, 0))
    with atomic(path) as stream:
        stream.write(b"new")
    assert sorted(tmp_path.iterdir()) == sorted([path, other, young])


def test_a_save_that_is_under_way_keeps_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with atomic(path) as first:
        first.write(b"first")
        first.flush()
        (part,) = tmp_path.glob(".a.csv.*.part")
        os.utime(part, (0, 0))
        with atomic(path) as second:
            second.write(b"second")
        assert part.exists()
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_outputs_are_checked_first(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "old")
    with pytest.raises(FileError, match="the file exists: give --force to replace it"):
        check_output(path)
    assert check_output(path, force=True) == path
    with pytest.raises(FileError, match="its folder does not exist"):
        check_output(tmp_path / "no" / "a.csv")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False).map(repr),
            st.decimals(allow_nan=False, allow_infinity=False, places=4).map(str),
            st.from_regex(r"[+-]?[0-9]{1,18}\.?[0-9]{0,18}", fullmatch=True),
            st.from_regex(r"[+-]?\.[0-9]{1,18}", fullmatch=True),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_numbers_are_read_to_the_last_bit(words: list[str]) -> None:
    text = " ".join(f"1:{word}" for word in words).encode()
    assert read_pairs(text).tolist() == [[1.0, float(word)] for word in words]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ignore": ("f1",)}, "--ignore has no effect on a file in svmlight format"),
        ({"text": ("f1",)}, "--text has no effect"),
        ({"header": True}, "--header has no effect on a file in svmlight format, only on csv"),
        ({"encoding": "latin-1"}, "--encoding has no effect on a file in svmlight format"),
        ({"labels": ("c",)}, "--labels has no effect on a file in svmlight format"),
        ({"label_separator": "|"}, "--label-separator has no effect"),
        ({"label_list": "labels.xml"}, "--label-list has no effect .* only on arff: leave it out"),
    ],
)
def test_options_that_a_format_does_not_know_are_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    path = write(tmp_path / "a.svm", "1 1:2\n2 2:5\n")
    with pytest.raises(FileError, match=message):
        open_file(str(path), Reading(**options))
    path = write(tmp_path / "a.csv", "a,b\n1,2\n2,3\n")
    fails(
        path, "it has 2 columns of features: raise --max-features if that is right", max_features=1
    )


@pytest.mark.parametrize("mark", ["", "ab", "7", "-", "x"])
@pytest.mark.parametrize("name", ["decimal", "thousands"])
def test_marks_in_numbers_are_one_character(tmp_path: Path, name: str, mark: str) -> None:
    path = write(tmp_path / "a.csv", "a;b\n1;2\n3;4\n")
    with pytest.raises(FileError, match=f"--{name} "):
        open_file(str(path), Reading(**{name: mark}))


def test_sparse_archives_of_other_widths_are_one_source(tmp_path: Path) -> None:
    parts = [sparse.csr_array([[1.0, 0.0, 2.0]]), sparse.csr_array([[0.0, 3.0]])]
    for i, X in enumerate(parts):
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
        named = {f"X_{name}": np.array(value) for name, value in arrays.items()}
        np.savez(tmp_path / f"p{i}.npz", y=np.array([i]), **named)
    whole = get(tmp_path / "p*.npz")
    assert whole.X.toarray().tolist() == [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]
    blocks = RowBlocks.from_files([tmp_path / "p0.npz", tmp_path / "p1.npz"], task="classes")
    assert [X.shape for X, _ in blocks] == [(1, 3), (1, 3)]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", ""], "row 12 has no class"),
        (np.array([[1.0], [np.nan]]), "row 12 has a label that is missing"),
        ([("a",), ("a", "b")], "row 12 has 2 labels, not one class"),
    ],
)
def test_labels_in_a_later_block_are_named_by_their_row_of_the_file(
    labels: Any, message: str
) -> None:
    target = target_of("a.csv", ["a", "b"], ["class"])
    with pytest.raises(FileError, match=message):
        target.encode("a.csv", labels, 10)


def test_a_table_that_fails_leaves_its_stream_open() -> None:
    def blocks():
        yield [[1, 2]]
        raise ValueError("the second block is bad")

    stream = io.BytesIO()
    with pytest.raises(ValueError, match="second block"):
        write_table(stream, "csv", ["a"], blocks())
    gc.collect()
    assert stream.getvalue() == b"a\n1\n2\n"


def test_comments_that_nobody_named_are_hinted_at(tmp_path: Path) -> None:
    text = "# made by hand\na,b,class\n1,2,u\n3,4,v\n"
    hint = "; if lines that begin with # are comments, give --comment '#'."
    fails(write(tmp_path / "a.csv", text), hint, labels=("class",))
    data = get(write(tmp_path / "a.csv", text), labels=("class",), comment="#")
    assert np.array_equal(data.X, [[1, 2], [3, 4]])


def test_an_error_travels():
    for error in (FileError("a.csv", "no.", line=3, column="x"), TooLargeError("b.csv", "large.")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.line) == (type(error), str(error), error.line)
