"""The frame of the papers' experiments: cells that resume, tables beside theirs, one page."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import papers
from eigenkit.datasets import DatasetNotFound
from papers import (
    EXPERIMENTS,
    Claim,
    Experiment,
    Figure,
    Note,
    Result,
    Table,
    page,
    provenance,
    run_papers,
)
from papers.__main__ import main
from papers.drawing import lines, slope, svg
from papers.study import Cells, Mode, Study, measured
from papers.words import CLAIMS, LACKING, MODES

NASTY = "<script>alert(1)</script> | *x* \x1b[31m"


def curve(canvas):
    lines(canvas.subplots(), [1, 2], {"one": [1.0, None], "two": [2.0, 3.0]}, title="a curve")


# -- cells -------------------------------------------------------------------------------


def test_a_cell_is_computed_once_and_survives_in_its_file(tmp_path):
    calls = []

    def work():
        calls.append(1)
        return {"values": (1, 2.5)}

    place = tmp_path / "new" / "cells.json"
    first = Cells(place, {"seed": 0}).get("a", work)
    assert first == {"values": [1, 2.5]}  # as JSON gives it back, also the first time
    assert Cells(place, {"seed": 0}).get("a", work) == first
    assert len(calls) == 1
    again = Cells(place, {"seed": 0})
    assert again.seconds() == 0.0  # nothing asked for yet
    again.get("a", work)
    assert again.seconds() == json.loads(place.read_text())["cells"]["a"]["seconds"]


@pytest.mark.parametrize("what", ["other settings", "fresh", "damaged"])
def test_a_cell_is_computed_again_when_it_must_be(tmp_path, what):
    place = tmp_path / "cells.json"
    Cells(place, {"seed": 0}).get("a", lambda: 1)
    if what == "damaged":
        place.write_text(place.read_text()[:-9])
    cells = Cells(place, {"seed": int(what == "other settings")}, fresh=what == "fresh")
    assert cells.get("a", lambda: 2) == 2


def test_times_are_measured_again_and_nothing_else(tmp_path):
    study = Study(Cells(tmp_path / "cells.json", {}))
    study.cell("a", lambda: 1)
    study.timing("a", lambda: 1.0)
    again = Study(Cells(tmp_path / "cells.json", {}, times=True))
    assert again.cell("a", lambda: 2) == 1
    assert again.timing("a", lambda: 2.0) == 2.0
    kept = Study(Cells(tmp_path / "cells.json", {}))
    assert (kept.cell("a", lambda: 3), kept.timing("a", lambda: 3.0)) == (1, 2.0)


def test_what_is_no_number_is_refused_and_not_stored(tmp_path):
    cells = Cells(tmp_path / "cells.json", {})
    with pytest.raises(ValueError, match="JSON compliant"):
        cells.get("a", lambda: float("nan"))
    assert not (tmp_path / "cells.json").exists()


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_was(tmp_path, monkeypatch):
    done = []

    def run(study):
        for i in range(3):
            study.cell(f"part {i}", lambda i=i: step(i))
        yield Note("all parts")

    def step(i):
        if i == 2 and not fixed:
            raise KeyboardInterrupt
        done.append(i)
        return i

    fixed = False
    monkeypatch.setitem(EXPERIMENTS, "parts", Experiment("parts", "Parts", "nobody", run))
    with pytest.raises(KeyboardInterrupt):
        run_papers(["parts"], out=tmp_path)
    fixed = True
    run_papers(["parts"], out=tmp_path)
    assert done == [0, 1, 2]
    assert "all parts" in (tmp_path / "papers.md").read_text()


# -- data --------------------------------------------------------------------------------


def test_a_set_that_is_not_to_be_had_is_told_once_and_the_rest_goes_on(tmp_path, monkeypatch):
    def load(name, **options):
        if name == "absent":
            raise DatasetNotFound("absent is not to be had: no network.")
        return name

    monkeypatch.setattr("papers.study.load_dataset", load)
    study = Study(Cells(tmp_path / "c.json", {}))
    assert study.datasets(["absent", "there", "absent"]) == {"there": "there"}
    assert study.missing == ["absent is not to be had: no network."]


# -- tables and pages --------------------------------------------------------------------


def table(**changes):
    fields = {
        "title": "T",
        "heads": ("set",),
        "rows": [("a",), ("b",)],
        "columns": ["auc"],
        "ours": [[0.75], [None]],
        "paper": [[0.5], [0.25]],
        "form": ".2f",
    }
    return Table(**{**fields, **changes})


def test_a_cell_shows_ours_the_papers_and_how_they_compare():
    assert table().cell(0, 0) == ("0.75", "0.50", "+0.25")
    assert table(compare="ratio").cell(0, 0) == ("0.75", "0.50", "1.5x")
    assert table(compare="").cell(0, 0) == ("0.75", "0.50", "")
    assert table().cell(1, 0) == ("", "0.25", "")
    assert table(paper=None, ours=[["refused"], [1]]).cell(0, 0) == ("refused", "", "")


def shown():
    blocks = [Note(NASTY), table(note=NASTY, rows=[(NASTY,), ("b",)]), Figure("f", NASTY, curve)]
    return [
        Result(
            *("name", NASTY, "paper", "python -m papers --only name", 0, blocks, [NASTY]),
            claims=[Claim(NASTY, NASTY, "holds")],
        )
    ]


def test_text_is_harmless_on_both_pages():
    pictures = {"f": svg(Figure("f", "c", curve))}
    html = page.html(shown(), pictures, Mode(quick=True), {"eigenkit": NASTY}, NASTY)
    markdown = page.markdown(shown(), Mode(quick=True), {"eigenkit": "1"}, NASTY)
    assert "<script>" not in html
    assert "\x1b" not in html + markdown
    assert r"\<script\>" in markdown
    assert re.search(r"default-src 'none'", html)
    assert MODES["quick"].split("'")[0] in html
    assert MODES["quick"] in markdown
    row = next(line for line in markdown.splitlines() if "0.75 (0.50" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == 3  # two columns, whatever the text holds


def test_a_remark_on_the_run_stands_on_both_pages():
    said = "The machine did other work."
    pictures = {"f": svg(Figure("f", "c", curve))}
    assert said in page.html(shown(), pictures, Mode(), {"eigenkit": "1"}, said)
    assert said in page.markdown(shown(), Mode(), {"eigenkit": "1"}, said)


@pytest.mark.parametrize(
    ("ours", "rule"),
    [([[0.75], [None]], "---:"), ([["refused"], [1]], "---"), ([["Table 5.2"], ["x"]], "---")],
)
def test_numbers_stand_on_the_right_and_words_on_the_left(ours, rule):
    result = Result("name", "t", "paper", "command", 0, [table(paper=None, ours=ours)])
    assert f"| --- | {rule} |" in page.markdown([result], Mode(quick=True), {"eigenkit": "1"})


@pytest.mark.slow
def test_a_figure_is_the_same_text_every_time():
    figure = Figure("f", "c", curve)
    assert svg(figure) == svg(figure)
    assert svg(figure) != svg(Figure("g", "c", curve))


def test_slope_is_the_exponent():
    x = np.array([1.0, 2.0, 5.0])
    assert slope(x, 3 * x**1.5) == pytest.approx(1.5)


def test_measured_sees_what_is_held_at_once():
    value, seconds, megabytes = measured(lambda: np.ones(1_000_000).sum())
    assert value == 1e6
    assert seconds > 0
    assert 7.9 < megabytes < 20


# -- running -----------------------------------------------------------------------------


def test_an_unknown_experiment_is_refused_with_the_closest_name(tmp_path):
    with pytest.raises(ValueError, match="did you mean 'shrinkage'"):
        run_papers(["shrinkag"], out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_every_experiment_says_which_paper_it_is_of():
    for name, experiment in EXPERIMENTS.items():
        assert name == experiment.name
        assert re.fullmatch(r"[a-z0-9-]+", name)
        assert re.search("[Tt]hesis|Sun|Guarracino", experiment.source)


def test_a_reduced_run_has_few_partitions(tmp_path):
    cells = Cells(tmp_path / "c.json", {})
    assert Study(cells).partitions(10) == 3
    assert Study(cells, full=True).partitions(10) == 10
    assert Study(cells).partitions(2) == 2


def test_the_page_begins_with_the_claims_and_ends_with_what_it_lacks():
    text = page.markdown(shown(), Mode(), {"eigenkit": "1"})
    assert MODES["reduced"] in text
    places = [text.index(words) for words in (CLAIMS, "| holds |", "## \\<script", LACKING)]
    assert places == sorted(places)


def test_every_experiment_has_a_test_of_its_quick_version():
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_papers_*.py"))
    assert [name for name in EXPERIMENTS if f'"{name}"' not in tests] == []


@pytest.mark.slow
def test_the_page_grows_while_experiments_run(tmp_path, monkeypatch):
    def first(study):
        yield Figure("f", "caption", curve)

    def second(study):
        assert (tmp_path / "figures" / "f.svg").exists()
        assert "First" in (tmp_path / "papers.md").read_text()
        yield table()

    two = {
        "one": Experiment("one", "First", "p", first),
        "two": Experiment("two", "S", "p", second),
    }
    monkeypatch.setattr(papers, "EXPERIMENTS", two)
    told = []
    results = run_papers(out=tmp_path, seed=3, progress=lambda *step: told.append(step))
    assert [r.command for r in results] == [f"python -m papers --only {n} --seed 3" for n in two]
    assert told[-1] == (2, 2, "done")
    assert "0.75 (0.50, +0.25)" in (tmp_path / "papers.md").read_text()
    assert "data:image/svg+xml" in (tmp_path / "papers.html").read_text()


@pytest.mark.slow
def test_cells_of_a_quick_run_are_kept_apart(tmp_path, monkeypatch):
    def run(study):
        yield Note(str(study.cell("quick", lambda: study.quick)))

    monkeypatch.setattr(papers, "EXPERIMENTS", {"e": Experiment("e", "E", "p", run)})
    run_papers(out=tmp_path)
    run_papers(out=tmp_path, quick=True)
    stored = {p.name: json.loads(p.read_text()) for p in (tmp_path / "cells").iterdir()}
    assert {name: s["cells"]["quick"]["value"] for name, s in stored.items()} == {
        "e-reduced.json": False,
        "e-quick.json": True,
    }


# -- code that made a number -------------------------------------------------------------


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A package ``sketch`` of two modules, one imported by the other, to be edited."""
    package = tmp_path / "sketch"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "work.py").write_text("def value():\n    return 1\n")
    (package / "show.py").write_text("from sketch.work import value\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(provenance, "PACKAGES", ("sketch",))
    known = provenance._imports, provenance._is_module  # as PACKAGES and the path were
    for found in known:
        found.cache_clear()
    yield package
    for found in known:
        found.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "sketch"]:
        del sys.modules[name]  # the next ones are in another place


@pytest.mark.parametrize(
    ("edited", "same"),
    [
        ("def value():\n    return 2\n", False),
        ("# why\ndef value():\n    return 1\n", True),
        ('"""What."""\ndef value():\n    """One."""\n    return 1\n', True),
    ],
)
def test_the_digest_follows_imports_and_sees_code_only(sources, edited, same):
    before = provenance.digest("sketch.show")
    (sources / "work.py").write_text(edited)
    assert (provenance.digest("sketch.show") == before) is same


def test_an_experiment_reaches_the_library_it_runs():
    reached = provenance.reached("papers.regularization")
    assert {"papers.equivalence", "eigenkit.targets", "eigenkit.solvers.stages"} <= reached
    assert "eigenkit.estimators.cca" in reached  # by the stub of a package that imports it late
    assert not any(name.startswith(("eigenkit.cli", "papers.drawing")) for name in reached)


def test_edited_code_never_shows_old_numbers(tmp_path, monkeypatch):
    values = iter([1, 2])

    def run(study):
        yield Note(f"value {study.cell('a', lambda: next(values))}")

    monkeypatch.setattr(papers, "EXPERIMENTS", {"e": Experiment("e", "E", "p", run)})
    for code, shown in (("one", 1), ("one", 1), ("other", 2)):
        monkeypatch.setattr(provenance, "digest", lambda module, code=code: code)
        run_papers(out=tmp_path)
        assert f"value {shown}" in (tmp_path / "papers.md").read_text()


@pytest.mark.slow
def test_the_page_says_its_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "commit", lambda: "abc123")
    monkeypatch.setattr(papers, "EXPERIMENTS", {"e": Experiment("e", "E", "p", lambda study: [])})
    run_papers(out=tmp_path)
    for name in ("papers.md", "papers.html"):
        assert "Measured at commit abc123, eigenkit" in (tmp_path / name).read_text()


# -- the command -------------------------------------------------------------------------


def test_the_command_lists_runs_and_refuses(tmp_path, monkeypatch, capsys):
    assert main(["--list"]) == 0
    assert "two-stage-equivalence" in capsys.readouterr().out
    run = {"e": Experiment("e", "E", "p", lambda study: [Note(str(study.dataset("nonesuch")))])}
    monkeypatch.setattr(papers, "EXPERIMENTS", run)
    monkeypatch.setattr(
        "papers.study.load_dataset", lambda name, **options: _raise(DatasetNotFound(name))
    )
    assert main(["--out", str(tmp_path)]) == 0
    assert "not run, e: nonesuch" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "x", "--out", str(tmp_path)])
    assert "there is no experiment 'x'" in capsys.readouterr().err


def test_an_interrupted_command_says_what_is_kept(tmp_path, monkeypatch, capsys):
    def run(study):
        study.cell("first", lambda: 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(papers, "EXPERIMENTS", {"e": Experiment("e", "E", "p", run)})
    assert main(["--out", str(tmp_path)]) == 130
    assert "interrupted: what was computed is kept in" in capsys.readouterr().err
    assert "first" in (tmp_path / "cells" / "e-reduced.json").read_text()


def test_the_papers_are_no_part_of_the_library():
    packed = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    assert packed["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["src/eigenkit"]
    assert find_spec("eigenkit.papers") is None


def _raise(error):
    raise error
