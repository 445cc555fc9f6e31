"""The pages about the command line: their commands run, their reference is that of the program."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eigenkit.cli import app

DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    "files.md",
    "tasks_alpha.md",
    "tasks_compare.md",
    "tasks_images.md",
    "tasks_stream.md",
    "tasks_text.md",
]


def test_the_reference_is_that_of_the_program() -> None:
    spec = importlib.util.spec_from_file_location("commands", DOCS / "commands.py")
    commands = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(commands)
    assert commands.PAGE.read_text() == commands.page(), "run python docs/commands.py"


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / page).read_text()
    if "eigenkit compare" in text or "--alpha cv" in text:
        pytest.importorskip("eigenkit.evaluation")
        pytest.importorskip("plotly")
    monkeypatch.chdir(tmp_path)
    for kind, code in FENCE.findall(text):
        if kind == "python":
            exec(compile(code, page, "exec"), {})
            continue
        for line in code.splitlines():
            arguments = shlex.split(line.removeprefix("$ eigenkit "))
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, f"{line}\n{result.output}"
