"""Tables are read at once where they can be, and then as they are row by row."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from eigenkit.files import Expected, FileError, Reading, open_file, read
from eigenkit.files._delimited import Delimited
from eigenkit.files._streams import Origin
from eigenkit.files._targets import distinct
from eigenkit.numerics import compiled


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100])
def test_lines_are_counted_wherever_pieces_and_blocks_end(tmp_path, monkeypatch, n):
    monkeypatch.setattr("eigenkit.files._streams._CHUNK", 16)
    path = tmp_path / "a.csv"
    rows = [f"{i},{10 ** (i % 7)}" for i in range(40)]
    path.write_text("\n".join(["a,b", *rows]))
    blocks = list(open_file(str(path)).blocks(n))
    assert {len(block) for block in blocks[1:-1]} <= {n}
    assert all(len(block) <= n for block in blocks)
    found = np.vstack([block.X for block in blocks])
    np.testing.assert_array_equal(found, [[float(c) for c in row.split(",")] for row in rows])


@pytest.mark.parametrize(
    "column",
    [[3.0, -1.0, 3.0], [0.0, 1e9, 2.0], [0.5, 0.0, 0.5], [7.0], [-2.0, -0.0, 0.0]],
)
def test_distinct_numbers_are_those_of_numpy(column):
    values, place = distinct(np.array(column))
    expected, where = np.unique(column, return_inverse=True)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(place, where)


_MIXED = {
    "id": ["r1", "r2", "r3", "r4"],
    "x": ["1", "NA", " 2.5", "-3e2"],
    "ok": ["True", "false", "", "yes"],
    "day": ["2024-01-01", "2024-02-29", "NA", "1970-01-01"],
    "color": ["red", '"dark; blue"', "grün", ""],
    "y": ["spam", " ham", "spam", "eggs"],
}


def _mixed(path, mark=";", **cells):
    columns = {**_MIXED, **cells}
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([mark.join(columns), *(mark.join(row) for row in rows)]) + "\n")
    return str(path)


@pytest.mark.parametrize("labels", [("y",), ("x",), ()])
@pytest.mark.parametrize(
    "cells",
    [
        {},
        {"x": ["1", "0,5", "-,2", "1"]},
        {"color": ["a", '"say ""a"""', '"two\nlines"', "b"]},
        {"y": ["a|b", "", "b", "c|a"]},
        {"x": ["1", "inf", "1e400", "12345678901234567890"]},
    ],
)
def test_a_block_read_at_once_is_the_block_read_row_by_row(tmp_path, monkeypatch, cells, labels):
    options = Reading(
        labels=labels,
        categorical=("color",),
        ignore=("id",) if labels else ("id", "y"),
        text=() if labels == ("y",) else ("y",) if labels else (),
        label_separator="|" if labels == ("y",) and "y" in cells else None,
    )
    source = open_file(_mixed(tmp_path / "a.csv", **cells), options)
    quick = [*source.blocks(100)]
    monkeypatch.setattr(Delimited, "_quickly", lambda self, lines: None)
    (slow,) = source.blocks(100)
    np.testing.assert_array_equal(quick[0].X, slow.X)
    assert quick[0].text == slow.text
    assert repr(quick[0].labels) == repr(slow.labels)  # lists, tuples or numbers with gaps


def test_tables_as_people_have_them_are_not_read_row_by_row(tmp_path, monkeypatch):
    if not compiled.available():
        pytest.skip("without compiled code they are")
    monkeypatch.delattr(Delimited, "_slowly")
    options = Reading(labels=("y",), categorical=("color",))
    (block,) = open_file(_mixed(tmp_path / "a.csv", id=["1", "2", "3", "4"]), options).blocks(100)
    assert block.labels == ["spam", "ham", "spam", "eggs"]
    assert block.text == {"color": ["red", "dark; blue", "grün", ""]}
    np.testing.assert_array_equal(block.X[:, 0], [1, 2, 3, 4])
    np.testing.assert_array_equal(block.X[:, 2], [1, 0, np.nan, 1])


def test_a_column_that_is_kept_may_be_a_feature_too(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\n07,1\n08,2\n")
    expected = Expected(features=("id", "x"), n_features=2, text=())
    options = Reading(keep=("id",), expected=expected)
    (block,) = open_file(str(tmp_path / "a.csv"), options).blocks(10)
    np.testing.assert_array_equal(block.X, [[7, 1], [8, 2]])
    assert block.kept == {"id": ["07", "08"]}


def test_files_that_are_read_in_turns_leave_the_limit_of_csv_as_it_was(tmp_path):
    before, path = csv.field_size_limit(), tmp_path / "a.csv"
    path.write_text("u,v\n" + "1,2\n" * 500)
    one, other = (open_file(str(path), Reading()).blocks(100) for _ in range(2))
    assert len(next(one)) == len(next(other)) == 99
    assert csv.field_size_limit() == before
    assert sum(map(len, one)) == sum(map(len, other)) == 401
    assert csv.field_size_limit() == before


def test_decimal_commas_are_found_beside_dates_and_not_beside_points(tmp_path):
    path = _mixed(tmp_path / "a.csv", x=["1", "0,5", "-1,25", "1"])
    assert open_file(path, Reading(ignore=("id", "color", "y"))).found["decimal"] == ","
    other = _mixed(tmp_path / "b.csv", x=["1", "0.5", "2", "1"], y=["1,2", "3,7", "2", "1,3"])
    assert open_file(other, Reading(labels=("y",), ignore=("id", "color"))).found["decimal"] == "."


@pytest.mark.parametrize("header", ["a;b;y;", "a;b;y"])
def test_a_mark_at_the_end_of_every_line_is_no_column(tmp_path, header):
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n1;2;u;\n3;4;v;\n")
    source = open_file(str(path), Reading(labels=("y",)))
    (block,) = source.blocks(10)
    assert source.feature_names == ["a", "b"]
    np.testing.assert_array_equal(block.X, [[1, 2], [3, 4]])
    assert block.labels == ["u", "v"]
    path.write_text("a;b;y\nr1;1;2;u\nr2;3;;v\n")  # names of rows, as R writes them
    source = open_file(str(path), Reading(labels=("y",)))
    assert source.feature_names == ["a", "b"]
    assert source.found["index"] == ""


def test_dates_and_units_in_other_notations_are_no_text(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"02/{d}/2024,{d}%,$ {d},{'ab'[d % 2]},{d}" for d in range(10, 20)]
    path.write_text("\n".join(["when,share,price,kind,x", *rows]))
    with pytest.raises(FileError) as caught:
        open_file(str(path))
    assert (
        "4 columns hold text ('when', 'share', 'price', 'kind'): add --categorical kind, "
        "write dates as YYYY-MM-DD, write numbers without units, name them with --labels"
    ) in str(caught.value)
    path.write_text("\n".join(["when,x", *(row.split(",")[0] + ",1" for row in rows)]))
    with pytest.raises(FileError, match=r"holds text \('02/10/2024'\): write dates as YYYY-MM-DD,"):
        open_file(str(path))


def test_dates_with_the_day_first_are_dates(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("when;x\n31.12.1969;1,5\n3.1.1970;2,5\n01.01.1970 12:00;0,5\n;1,0\n")
    source = open_file(str(path))
    (block,) = source.blocks(10)
    assert source.found["decimal"] == ","
    assert source.found["kinds"] == {"when": "date"}
    np.testing.assert_array_equal(block.X[:, 0], [-1, 2, 0.5, np.nan])
    path.write_text("when;x\n31.12.1969;1\n31.02.1970;2\n01.01.1970;3\n")
    with pytest.raises(FileError, match=r"line 3, column 'when': '31.02.1970' is not a date"):
        list(open_file(str(path)).blocks(10))


def test_nothing_and_infinity_are_told_apart_like_anything_else() -> None:
    for column in ([], [np.inf], [np.inf, -np.inf, 1.0], [1.7e308, -1.7e308], [2.0, 0.5]):
        values, place = distinct(np.array(column))
        np.testing.assert_array_equal(values, np.unique(column))
        np.testing.assert_array_equal(values[place], column)
    assert compiled.read_table(b"1,2\n", ",", []) is None


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 8, 1000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "latin-1"])
def test_text_is_the_same_wherever_its_pieces_end(tmp_path, monkeypatch, chunk, encoding):
    monkeypatch.setattr("eigenkit.files._streams._CHUNK", chunk)
    text = "x,y\r\n1,größe\r2,b\n\r\n3,ä\r\n4,plain\n5,é"
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode(encoding))
    found = b"".join(Origin(str(path), 10**6).text(encoding)).decode()
    assert found == text.replace("\r\n", "\n").replace("\r", "\n")
    blocks = list(open_file(str(path), Reading(labels=("y",), encoding=encoding)).blocks(2))
    assert [cell for block in blocks for cell in block.labels] == ["größe", "b", "ä", "plain", "é"]


@pytest.mark.parametrize("end", [b"\xc3", b"\xc3(\n1,2\n", b"\xff\n"])
def test_bytes_that_are_no_text_are_refused_wherever_they_are(tmp_path, monkeypatch, end):
    monkeypatch.setattr("eigenkit.files._streams._CHUNK", 16)
    monkeypatch.setattr("eigenkit.files._streams._HEAD", 16)
    path = tmp_path / "a.csv"
    path.write_bytes(b"x,y\n" + b"1,2\n" * 50 + b"3," + end)
    with pytest.raises(FileError, match="it is not in utf-8: name another with --encoding"):
        read(open_file(str(path), Reading(encoding="utf-8")))


@pytest.mark.parametrize("widths", [(1, 12), (12, 1)])
def test_room_is_made_for_rows_of_any_length(tmp_path, monkeypatch, widths):
    """The number of rows is guessed from the length of the first ones."""
    monkeypatch.setattr("eigenkit.files._reading._BLOCK_BYTES", 64)
    rows = [f"{k % 7:0{widths[k >= 3000]}d},{k}" for k in range(6000)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["a,b", *rows]))
    data = read(open_file(str(path)))
    np.testing.assert_array_equal(data.X, [[k % 7, k] for k in range(6000)])
    assert data.X.flags.owndata
