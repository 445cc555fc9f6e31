"""What fit was told about its file holds for the files that its model is used on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from eigenkit.cli import app
from eigenkit.files import FileError, open_file
from eigenkit.files._common import REMEMBERED, Reading
from eigenkit.models import load, save
from test_cli import run, run_json

LDA = ["--labels", "class", "-m", "lda", "--no-quality"]
NAMES = ["left", "right", "class"]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Cells of a small table, whose classes are easy to tell."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + 3 * (np.arange(40) % 2)[:, None]
    return [[f"{a:.3f}", f"{b:.3f}", "uv"[i % 2]] for i, (a, b) in enumerate(X)]


def write(name: str, rows: list[list[str]], mark: str = ",", encoding: str = "utf-8") -> None:
    Path(name).write_text("".join(f"{mark.join(row)}\n" for row in rows), encoding=encoding)


def noted(rows: list[list[str]]) -> list[list[str]]:
    """The same with notes above the names and among the rows."""
    return [["# made by hand", "in, a, hurry"], NAMES, *rows[:30], ["# a pause"], *rows[30:]]


def below(*names: str) -> Callable[[list[list[str]]], list[list[str]]]:
    return lambda rows: [list(names), *rows]


# By name: the options, the cells in the file, its delimiter and its encoding.
KINDS = {
    "comment": (["--comment", "#"], noted, ",", "utf-8"),
    "delimiter": (["--delimiter", ":"], below(*NAMES), ":", "utf-8"),
    "space": (["--delimiter", "space"], below(*NAMES), " ", "utf-8"),
    "header": (["--header"], below("2001", "2002", "2003"), ",", "utf-8"),
    "encoding": (["--encoding", "cp437"], below("länge", "right", "class"), ",", "cp437"),
    "utf-16": (["--encoding", "utf-16-le"], below(*NAMES), ",", "utf-16-le"),
    "format": (["--format", "tsv"], below("left,m", "right", "class"), "\t", "utf-8"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_fit_was_told_is_remembered_and_may_be_overridden(
    rows: list[list[str]], kind: str
) -> None:
    options, cells, mark, encoding = KINDS[kind]
    write("a.txt", cells(rows), mark, encoding)
    run("fit", "a.txt", "--labels", "-1", *LDA[2:], *options, "-o", "m.ek", "--no-quality")
    told = run("predict", "m.ek", "a.txt")
    assert len(told.splitlines()) == 41
    assert run("predict", "m.ek", "a.txt", *options) == told
    assert run_json("score", "m.ek", "a.txt")["scores"]["accuracy"] > 0.9
    run("explain", "m.ek", "a.txt", "--row", "40")
    run("transform", "m.ek", "a.txt")
    wrong = {"encoding": "utf-8", "utf-16": "utf-8"}.get(kind)
    if wrong:
        run("predict", "m.ek", "a.txt", "--encoding", wrong, code=1)
    if kind == "comment":
        assert "not there" in run("predict", "m.ek", "a.txt", "--comment", "", code=1)


def test_a_file_of_another_kind_is_read_by_what_it_shows(rows: list[list[str]]) -> None:
    write("a.txt", [NAMES, *rows], ":")
    run(
        "fit",
        "a.txt",
        *LDA,
        "--delimiter",
        ":",
        "--format",
        "csv",
        "--comment",
        "#",
        "-o",
        "m.ek",
        "--no-quality",
    )
    told = run("predict", "m.ek", "a.txt")
    write("b.csv", [NAMES, *rows], ";")
    assert run("predict", "m.ek", "b.csv") == told
    frame = pd.DataFrame(rows, columns=NAMES).astype({"left": float, "right": float})
    frame.to_parquet("c.parquet")
    assert run("predict", "m.ek", "c.parquet") == told
    # What is missing in both readings is said by that of the model.
    write("d.txt", [["left", "class"], *[[a, c] for a, _, c in rows]], ":")
    assert (
        "1 of the 2 columns that the model was fitted on are not there: 'right'; it has 'left'"
        in (run("predict", "m.ek", "d.txt", code=1))
    )


def test_bytes_that_are_clearly_utf8_are_no_other_encoding(rows: list[list[str]]) -> None:
    names = ["länge", "right", "class"]
    write("old.csv", [names, *rows], encoding="cp437")
    run("fit", "old.csv", *LDA, "--encoding", "cp437", "-o", "m.ek", "--no-quality")
    told = run("predict", "m.ek", "old.csv")
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        write("new.csv", [names, *rows], encoding=encoding)
        assert run("predict", "m.ek", "new.csv") == told


def test_follow_reads_as_the_model_was_told(rows: list[list[str]]) -> None:
    write("a.csv", noted(rows[:20]))
    run("fit", "a.csv", *LDA, "--comment", "#", "--checkpoint", "s", "-o", "m.ek")
    write("b.csv", noted(rows[20:]))
    words = ["follow", "b.csv", "--model", "m.ek", "--checkpoint", "t", "--once"]
    assert run_json(*words)["rows"] == 40
    with open("b.csv", "a") as file:
        file.write("# only a note\n")
    assert run_json(*words)["rows"] == 40
    with open("b.csv", "a") as file:
        file.write("# a note\n\n0.1,0.2,u\n3,3,v\n1.0,broken,u\n")
    lines = len(Path("b.csv").read_text().splitlines())
    assert f"b.csv, line {lines}, column 'right': 'broken' is not a number" in run(*words, code=1)
    assert run_json(*words, "--on-error", "skip")["n_skipped"] == 1


def test_limits_of_features_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.svm").write_text("".join(f"{i % 2} {1 + i % 2}:1 9:{i}\n" for i in range(20)))
    options = ["-m", "cca", "--alpha", "1", "--no-quality", "--max-features", "9"]
    run("fit", "a.svm", *options, "-o", "m.ek", "--no-quality")
    assert load("m.ek").expected().told == {"max_features": 9}
    assert len(run("predict", "m.ek", "a.svm").splitlines()) == 21


def test_a_forged_memory_is_forgotten(rows: list[list[str]]) -> None:
    write("a.csv", [NAMES, *rows])
    run("fit", "a.csv", *LDA, "-o", "m.ek", "--no-quality")
    model = load("m.ek")
    assert model.how["told"] == {}
    told = run("predict", "m.ek", "a.csv")
    forged = {"header": "no", "comment": 7, "encoding": [], "max_bytes": 1, "path": "/"}
    save(replace(model, how={**model.how, "told": forged}), "n.ek")
    assert run("predict", "n.ek", "a.csv") == told
    assert REMEMBERED.keys() <= Reading.__dataclass_fields__.keys()


def test_decimal_commas_tell_a_header_from_rows(tmp_path: Path) -> None:
    """Names are no numbers and rows are, by whichever marks; labels may be named by position."""
    rows = "".join(f"1,{i};2,{i % 7};{'ab'[i % 2]}\n" for i in range(20))
    named, bare = tmp_path / "named.csv", tmp_path / "bare.csv"
    named.write_text("größe;gewicht;art\n" + rows, encoding="utf-8")
    bare.write_text(rows, encoding="utf-8")
    assert open_file(str(named), Reading(labels=("-1",))).names == ["größe", "gewicht", "art"]
    assert open_file(str(bare), Reading(labels=("-1",))).names == ["c1", "c2", "c3"]
    with pytest.raises(FileError, match="did you mean 'art'"):
        open_file(str(named), Reading(labels=("ar",)))


def test_categories_given_as_text_are_pointed_out(tmp_path: Path) -> None:
    place = tmp_path / "data.csv"
    colours = ["dark red", "light red", "red"]
    rows = [f"{i % 5},{colours[i % 3]},note {i},{'ab'[i % 2]}\n" for i in range(60)]
    place.write_text("size,colour,remark,class\n" + "".join(rows), encoding="utf-8")
    words = ["fit", str(place), *LDA, "--text", "colour,remark", "--out", str(tmp_path / "m.ek")]
    answer = CliRunner().invoke(app, words)
    told = " ".join(answer.stderr.split())
    assert "column 'colour' has only 3 distinct values" in told
    assert "--categorical colour would make each of them a category" in told
    assert "'remark'" not in told


WAVES = ["1100.0", "1107.5", "1115.0", "1122.5"]


@pytest.fixture
def spectra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Columns named by numbers, of one order of magnitude with what they hold."""
    monkeypatch.chdir(tmp_path)
    X = 1000 + 100 * np.random.default_rng(0).normal(size=(40, 4))
    found = pd.DataFrame(X.round(2), columns=WAVES).assign(protein=(X @ [1, -2, 3, 4]).round(1))
    found.to_csv("a.csv", index=False)
    run("fit", "a.csv", "--labels", "protein", "-m", "cca", "--no-quality", "-o", "m.ek")
    return found


@pytest.mark.parametrize(
    "names",
    [
        [*WAVES, "protein"],
        WAVES,
        WAVES[::-1],
        ["depth", *WAVES[::-1]],
        {"1100.0": "1100", "1115.0": "1115"},  # as a spreadsheet writes them
    ],
)
def test_names_that_are_numbers_are_matched_by_name(
    spectra: pd.DataFrame, names: list[str] | dict[str, str]
) -> None:
    told = predicted("a.csv", "--header")
    assert told.shape == (40,)
    new = spectra.assign(depth=1.0)
    new = new.rename(columns=names) if isinstance(names, dict) else new[names]
    new.to_csv("b.csv", index=False)
    new.to_parquet("b.parquet")
    for path in ("b.csv", "b.parquet"):
        np.testing.assert_allclose(predicted(path), told, rtol=1e-12)


def predicted(path: str, *more: str) -> np.ndarray:
    return np.array(run("predict", "m.ek", path, *more).split()[1:], dtype=float)


def test_every_command_with_a_model_sees_names_that_are_numbers(spectra: pd.DataFrame) -> None:
    assert run_json("score", "m.ek", "a.csv")["scores"]["R2"] > 0.99
    assert len(run("transform", "m.ek", "a.csv").splitlines()) == 41
    run("explain", "m.ek", "a.csv", "--row", "40")
    more = ["--labels", "protein", "-m", "cca", "--test", "a.csv"]
    assert run_json("compare", "a.csv", *more)["data"]["n_samples"] == 80


def test_rows_of_numbers_are_not_taken_for_names(spectra: pd.DataFrame) -> None:
    told = run("predict", "m.ek", "a.csv")
    spectra[WAVES].to_csv("b.csv", index=False, header=False)
    assert run("predict", "m.ek", "b.csv") == told
    spectra.to_csv("c.csv", index=False, header=False)
    assert "if its first row holds names, give --header" in run("predict", "m.ek", "c.csv", code=1)
    spectra.rename(columns={"1115.0": "1116"})[[*WAVES[:2], "1116", "1122.5"]].to_csv(
        "d.csv", index=False
    )
    problem = run("predict", "m.ek", "d.csv", code=1)
    assert "1 of the 4 columns that the model was fitted on are not there: '1115.0'" in problem
    assert "if its first row holds no names, give --no-header" in problem


def test_a_number_that_can_be_no_position_is_a_name(spectra: pd.DataFrame) -> None:
    spectra[WAVES].to_csv("b.csv", index=False)
    for label in ("1107.5", "1115.0"):
        found = open_file("b.csv", Reading(labels=(label,)))
        assert found.label_names == [label]
    assert open_file("b.csv", Reading(labels=("2",))).label_names == ["c2"]
