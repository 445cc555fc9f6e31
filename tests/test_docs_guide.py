"""Every page of the user guide has its parts, and its examples give what they show."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
# A page for each family, with the picture that shows its idea.
FAMILIES = {
    "cca_family": "guide-cca",
    "pls": "guide-pls",
    "lda": "guide-lda",
    "hypergraph": "guide-hypergraph",
    "pca": "guide-pca",
    "sparse": "guide-sparse",
    "kernels": "guide-kernels",
    "planes": "guide-planes",
    "streams": "guide-streams",
    "multilabel": "guide-many-labels",
    "probabilistic": "guide-probabilistic",
    "unlabelled": "guide-unlabelled",
    "images": "images-sets",
}
PARTS = (
    "The equation",
    "When to use it, and when not",
    "Example",
    "What the output means",
    "References",
)
WITH_EXAMPLES = sorted(
    page.stem for page in DOCS.glob("*.md") if ">>> " in page.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("page", FAMILIES)
def test_a_page_of_the_guide_has_all_its_parts(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [part for part in PARTS if part not in headings] == []
    assert headings[-1] == "References"
    assert f"/{FAMILIES[page]}.png)" in text
    assert re.search(r"^- .+\(.*\d{4}\)", text.split("## References")[1], re.MULTILINE)
    assert page in WITH_EXAMPLES


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_EXAMPLES)
@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.EigenkitWarning")
def test_examples_give_what_they_show(page):
    pytest.importorskip("matplotlib").use("Agg")
    found = doctest.testfile(str(DOCS / f"{page}.md"), module_relative=False)
    assert found.attempted > 3
    assert found.failed == 0


def test_every_picture_is_drawn_and_shown():
    drawn = runpy.run_path(str(DOCS / "guide_pictures.py"))["PICTURES"]
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    assert set(drawn) == set(re.findall(r"generated/guide-([\w-]+)\.png", pages))
