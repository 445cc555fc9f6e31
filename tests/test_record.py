"""A record is read back as it was written, or refused with a sentence."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenkit.evaluation.record import (
    RecordError,
    from_dict,
    read_record,
    to_dict,
    write_atomically,
    write_record,
)
from eigenkit.files import FileError
from report_records import classes, hostile, many, numbers


def _with(place: Any, value: Any) -> dict[str, Any]:
    """A record with a value put somewhere."""
    record: Any = hostile()
    part = record
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return record


@pytest.mark.parametrize(
    "make", [hostile, classes, numbers, pytest.param(many, marks=pytest.mark.slow)]
)
def test_round_trip_through_json_and_dataclasses(make, tmp_path):
    record = make()
    assert to_dict(from_dict(record)) == record
    path = write_record(record, tmp_path / "run.json")
    assert read_record(path) == record
    json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_numbers_that_json_lacks_become_none():
    assert to_dict({"a": np.nan, "b": [np.inf, np.float32(1.5)], 3: np.arange(2)}) == {
        "a": None,
        "b": [None, 1.5],
        "3": [0, 1],
    }


@pytest.mark.parametrize("version", [0, 2, "1", None, True])
def test_another_schema_version_is_refused(version):
    with pytest.raises(RecordError, match="this eigenkit reads version 1: run the comparison"):
        from_dict({**hostile(), "version": version})


@pytest.mark.parametrize("thing", [None, [], "text", {}, {"schema": "other"}])
def test_something_else_is_refused(thing):
    with pytest.raises(RecordError, match=r"not a record of a run: expected an object with schema"):
        from_dict(thing)


def test_damage_is_named_with_its_place():
    record = hostile()
    record["methods"][0]["scores"]["auc"]["mean"] = "high"
    with pytest.raises(
        RecordError, match=r"record\.methods\[0\]\.scores\.auc\.mean is 'high', exp"
    ):
        from_dict(record)
    record = hostile()
    del record["data"]["labels"]
    with pytest.raises(RecordError, match=r"record\.data lacks 'labels'"):
        from_dict(record)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("data", "shown"), [99]),
        (("data", "co_occurrence"), [[1]]),
        (("points", "held_out"), []),
        (("points", "labels", 0), [-1]),
        (("data", "hypergraph", "label_positions", 0), [0.5]),
        (("methods", 0, "model", "coordinates"), [[1.0, 2.0]]),
        (("methods", 0, "roc", 0, "label"), 7),
        (("methods", 0, "labels", 0, "label"), 7),
        (("methods", 0, "worst", 0, "told"), [7]),
        (("methods", 0, "confusion"), [[1]]),
        (("methods", 0, "predicted"), [[1.0]]),
        (("methods", 0, "model", "correlated"), [0]),
        (("methods", 0, "by_components", "mean"), []),
        (("points", "observed"), [[1.0]]),
        (("methods", 0, "scores"), {}),
        (("methods", 0, "alpha", "alphas"), []),
        (("protocol", "n_train"), 0),
    ],
)
def test_indices_must_point_inside(where, value):
    with pytest.raises(RecordError, match="do not belong together"):
        from_dict(_with(where, value))


def _places(value: Any, path: tuple = ()) -> list[tuple]:
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in [(*path, k), *_places(v, (*path, k))]]
    if isinstance(value, list):
        some = list(enumerate(value))[:2]
        return [p for i, v in some for p in [(*path, i), *_places(v, (*path, i))]]
    return []


PLACES = _places(hostile())
STRANGE = [None, True, -1, 10**400, 1e308, float("nan"), "x", [], {}, [[]], {"a": [1]}]


@given(st.sampled_from(PLACES), st.sampled_from(STRANGE))
@settings(max_examples=40, deadline=None)
def test_whatever_is_put_anywhere_is_read_or_refused(place, value):
    from eigenkit.report import render_text

    record = _with(place, value)
    try:
        from_dict(record)
    except RecordError:
        return
    render_text(record)


@pytest.mark.parametrize("text", ["", "{", "\x00", "[" * 100_000, "pickle", "9" * 5000])
def test_a_file_that_is_no_json_is_refused(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(RecordError, match=r"run\.json is no record of a run"):
        read_record(path)


def test_a_file_of_other_bytes_is_refused(tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(b"\xff\xfe\x80\x04")
    with pytest.raises(RecordError, match=r"run\.json is no record of a run"):
        read_record(path)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "out.html"
    path.write_text("old")

    def full(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match=r"cannot be written \(no space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.html"]


def test_a_written_file_has_the_rights_of_any_new_file(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    written = write_atomically(tmp_path / "written", "text")
    assert written.stat().st_mode == plain.stat().st_mode
