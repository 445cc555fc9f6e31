"""Every public name has a place in the reference, and the code in the README runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import eigenkit

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", eigenkit.__all__)
def test_public_names_are_in_the_reference(name):
    reference = (ROOT / "docs" / "reference.md").read_text()
    assert re.search(rf"auto(class|function):: (eigenkit\.)?{name}\b", reference), name


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_code_on_the_page_runs(page, capsys):
    text = (ROOT / page).read_text()
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, page, "exec"), scope)
    assert scope["Z"].shape[0] == len(scope["Y"])
