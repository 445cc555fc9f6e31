"""The tool that changes the core: every change is one, and none is counted on failing tests."""

from __future__ import annotations

import ast
import gc
import importlib.util
import re
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "mutants.py"


@pytest.fixture
def tool():
    if not TOOL.exists():
        pytest.skip("the tools are not part of this copy")
    spec = importlib.util.spec_from_file_location("mutants", TOOL)
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["mutants"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_every_mutant_changes_the_program(tool) -> None:
    path = Path("src/eigenkit/targets.py")
    text = (tool.ROOT / path).read_text()
    for mutant in tool.mutants_of(path):
        assert text[mutant.start : mutant.stop] == mutant.old
        changed = text[: mutant.start] + mutant.new + text[mutant.stop :]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), str(mutant)


def test_constants_become_others(tool) -> None:
    for value in (0, 1, 2, 99, 100, 5000, 0.0, 1.0, 1e-12, -0.5, 5e10, 1e60, 1e305, True):
        other = ast.literal_eval(tool._other(value))
        assert type(other) is type(value)
        assert abs(other - value) > 0.009 * abs(value)


def test_what_changes_nothing_is_not_tried(tool, tmp_path, monkeypatch) -> None:
    code = "def f(A, sign):\n    return [a * sign for a, _ in zip(A, A, strict=True)]\n"
    (tmp_path / "f.py").write_text(code)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    assert tool.mutants_of(Path("f.py")) == []
    (tmp_path / "f.py").write_text(code.replace("sign", "size"))
    assert [m.new for m in tool.mutants_of(Path("f.py"))] == ["/"]


def test_sizes_that_only_steer_speed_are_not_tried(tool, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    (tmp_path / "f.py").write_text("BLOCK_BYTES = 2**18\nway = size <= BLOCK_BYTES\n")
    assert tool.mutants_of(Path("f.py")) == []
    code = "step = min(n, max(1, BLOCK_BYTES // (8 * d)))\nroom = n + BLOCK_BYTES\n"
    (tmp_path / "f.py").write_text(code)
    assert [m.new for m in tool.mutants_of(Path("f.py"))] == ["max", "-"]


def test_functions_take_the_code_of_a_changed_file(tool) -> None:
    text = "def f(x, y=2):\n    return [x + i for i in range(y)]\n\nclass C:\n    k = 3\n"
    place: dict = {}
    exec(compile(text, "f.py", "exec", dont_inherit=True), place)
    new = tool.changed_code(text, text.replace("+", "-"))
    gc.freeze()
    functions = tool.existing_functions()
    ((old, changed),) = ((old, code) for old, code in new.items() if old in functions)
    assert functions[old] == [place["f"]]
    place["f"].__code__ = changed
    assert place["f"](10) == [10, 9]
    for part in ("y=2", "k = 3"):  # evaluated when the file is imported, not when a function runs
        assert tool.changed_code(text, text.replace(part, part[:-1] + "9")) == {}


def test_the_list_of_survivors_names_what_there_is(tool) -> None:
    """Places are file.function, file.Class.method or file.CONSTANT; files by their stems."""
    sources: dict[str, str] = {}
    for path in (tool.ROOT / "src" / "eigenkit").rglob("*.py"):
        sources[path.stem] = sources.get(path.stem, "") + path.read_text(encoding="utf-8")
    listed = (TOOL.parent / "survivors.md").read_text(encoding="utf-8")
    places = re.findall(r"`([a-z_]+)\.([\w.]+)`", listed)
    assert places
    for file, names in places:
        for name in names.split("."):
            defined = rf"^\s*(def|class) {name}\b|^([A-Z]+, )*{name}\b"
            assert re.search(defined, sources.get(file, ""), re.MULTILINE), f"{file}.{names}"
