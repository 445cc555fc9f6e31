"""The pages about the command line: their commands run, their reference is that of the program."""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

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


@pytest.mark.slow
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
        for line in typed(code):
            run_line(line)


def typed(block: str) -> list[str]:
    """The lines of a block, those that go on after a backslash as one."""
    return [line.removeprefix("$ ") for line in block.replace("\\\n", " ").splitlines()]


def run_line(line: str) -> None:
    """What a reader would type: commands of ours, one after the other."""
    for command in line.split(" && "):
        program, *arguments = shlex.split(command, comments=True)
        assert program == "eigenkit", line
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}"


SHELL = re.compile(
    r"^```(?:{code-block} )?(?:sh|bash|shell|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
ROOT = DOCS.parent
TYPED = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
TYPED += [page for page in sorted(DOCS.rglob("*.md")) if page.name not in PAGES]


@pytest.mark.slow
@pytest.mark.parametrize("page", TYPED, ids=[page.name for page in TYPED])
def test_every_shell_block_runs_as_typed(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("plotly")
    monkeypatch.chdir(tmp_path)
    for block in SHELL.findall(page.read_text()):
        for line in typed(block):
            if not is_set_up(line):
                run_line(line)


def is_set_up(line: str) -> bool:
    """Whether a line installs something or makes all of it: too long to run, but not to check."""
    program, *arguments = shlex.split(line, comments=True)
    if program == "make":
        makefile = (ROOT / "Makefile").read_text()
        assert all(re.search(rf"^{a}:", makefile, re.MULTILINE) for a in arguments), line
    elif program == "pip":
        extras = re.fullmatch(r"\.\[(.*)\]", arguments[-1])
        known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert extras, line
        assert {*extras[1].split(",")} <= known["optional-dependencies"].keys(), line
    return program in ("make", "pip")


def test_a_line_that_is_not_understood_is_an_error() -> None:
    for line in ("make nothing", "pip install '.[nothing]'"):
        with pytest.raises(AssertionError, match="nothing"):
            is_set_up(line)
    with pytest.raises(AssertionError, match="python"):
        run_line("python -m nothing")
