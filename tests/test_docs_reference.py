"""Every name of the reference says what it is, takes and gives, shows it, and what is beside it."""

from __future__ import annotations

import dataclasses
import inspect
import re
import runpy
from pathlib import Path

import pytest

import eigenkit

DOCS = Path(__file__).parents[1] / "docs"
RELATED = runpy.run_path(str(DOCS / "related.py"))
DESCRIBED = runpy.run_path(str(DOCS / "face.py"))["described"]
# Told, not made by the user: what they hold is enough.
TOLD = (
    *("analysis.PermutationTest", "analysis.Bootstrap", "analysis.Intervals", "datasets.Dataset"),
    *("images.Explanation", "images.Evidence", "images.TermReport"),
    *("images.comparison.Comparison", "images.Picture", "pencil.Report", "solvers.Choice"),
)
# Shown where they are used: in the doctests of these pages, as they need files.
ON_PAGES = {"images.read_sets", "images.read_labels", "images.Plan", "images.comparison.compare"}


# Raised and caught, not called: their first sentence is enough.
RAISED = {"images.ImageWarning"}


def names() -> list[str]:
    """Every class and function that the reference documents, without the leading eigenkit."""
    found = [name for page in RELATED["reference_pages"]() for name in RELATED["documented"](page)]
    assert len(found) == len(set(found)), "described twice"
    return sorted(name for name in set(found) - RAISED if not name.startswith("exceptions."))


NAMES = names()
EACH = pytest.mark.parametrize("name", NAMES)


@EACH
def test_it_has_a_page_and_names_beside_it(name):
    assert RELATED["page_of"](name) is not None
    assert RELATED["beside"](name)


@EACH
def test_it_says_what_it_is(name):
    summary = RELATED["summary"](name)
    assert re.match(r"[A-Z:`].{15,}[.:]$", summary), summary


@EACH
def test_it_says_what_it_takes_and_gives(name):
    found = RELATED["find"](name)
    text = inspect.getdoc(found)
    if name in TOLD:
        assert "Attributes\n" in text or "Parameters\n" in text or dataclasses.is_dataclass(found)
        return
    taken = {
        p.name
        for p in inspect.signature(found).parameters.values()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }
    assert taken <= DESCRIBED(found, "Parameters")
    gives = not inspect.isclass(found) and inspect.signature(found).return_annotation != "None"
    assert not gives or re.search(r"^(Returns|Yields)\n-", text, re.MULTILINE)


@EACH
def test_it_shows_it(name):
    found = RELATED["find"](name)
    shown = ">>> " in inspect.getdoc(found)
    assert shown or name in TOLD or name in ON_PAGES


def test_nothing_else_is_listed():
    listed = {name for names in RELATED["PAGES"].values() for name in names}
    assert listed == set(NAMES)
    assert all((DOCS / f"{page}.md").exists() for page in RELATED["PAGES"])


@pytest.mark.parametrize("name", eigenkit.__all__)
def test_public_names_are_in_the_reference(name):
    assert name in NAMES


def test_every_page_of_the_reference_is_in_its_table_of_contents():
    assert set(RELATED["reference_pages"]()) == set((DOCS / "reference").glob("*.md"))


def test_the_overview_has_every_name_once():
    linked = re.findall(r"\{py:obj\}`~eigenkit\.(\S+)`", RELATED["overview"]())
    assert len(linked) == len(set(linked))
    assert set(NAMES) <= set(linked)


@EACH
def test_see_also_is_short_and_names_the_nearest(name):
    links = [line for line in RELATED["see_also"](name) if ":py:obj:" in line]
    assert 1 <= len(links) <= RELATED["MOST"]


@EACH
def test_every_part_of_a_docstring_is_filled_in(name):
    found = RELATED["find"](name)
    inside = [getattr(found, verb) for verb in dir(found) if not verb.startswith("_")]
    for documented in (found, *filter(callable, inside)):
        assert not re.search(r"^ *\{\w+\}$", documented.__doc__ or "", re.MULTILINE)
