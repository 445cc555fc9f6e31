"""The picture and the text of the page that helps to choose come from one tree, and are true."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import eigenkit
from eigenkit.estimators.registry import METHODS

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def flowchart():
    spec = importlib.util.spec_from_file_location("flowchart", DOCS / "flowchart.py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    import sys

    sys.modules["flowchart"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["flowchart"]


def test_picture_and_text_are_up_to_date(flowchart):
    again = "run python docs/flowchart.py"
    assert flowchart.PICTURE.read_text(encoding="utf-8") == flowchart.picture(), again
    page = (DOCS / "choosing.md").read_text(encoding="utf-8")
    assert all(flowchart.text(tree) in page for tree in flowchart.TREES), again


def test_every_answer_is_an_estimator_or_a_command_with_a_page(flowchart):
    found = "\n".join(flowchart.text(tree) for tree in flowchart.TREES)
    ends = re.findall(r"\[(.+?)\]\((.+?)\)", found)
    assert len(ends) > 15
    for names, page in ends:
        assert (DOCS / page).exists(), page
        for name in names.split(", "):
            assert name in eigenkit.__all__ or name.startswith("eigenkit "), name
    assert set(re.findall(r"--method (\w+)", found)) <= set(METHODS)
