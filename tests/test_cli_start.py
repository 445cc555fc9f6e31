"""A command imports what it needs: what must not be there when it has ended."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from eigenkit.cli._start import stand_ins

# Nothing of this is needed to list, look at, fit or use a model.
HEAVY = (
    "pandas",
    "scipy.optimize",
    "scipy.stats",
    "numpy.f2py",
    "plotly",
    "rich.progress",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.neighbors",
    "sklearn.svm",
)
_RUN = """
import sys
from eigenkit.cli import app, run
sys.argv[0] = "eigenkit"
try:
    run()
except SystemExit as end:
    print("exit", end.code, file=sys.stderr)
print("loaded", *(name for name in {names} if name in sys.modules), file=sys.stderr)
"""


def _loaded(folder, arguments, names=HEAVY, code=0):
    """Which of the modules a command of its own process has imported."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN.format(names=names), *arguments.split()],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    *_, end, loaded = done.stderr.splitlines()
    assert end == f"exit {code}", done.stderr
    return loaded.split()[1:]


@pytest.mark.parametrize(
    ("arguments", "code"), [("--help", 0), ("methods", 0), ("fit --help", 0), ("fit --nonsense", 2)]
)
def test_help_and_lists_need_no_numbers(tmp_path, arguments, code):
    assert _loaded(tmp_path, arguments, ("numpy", "scipy", "sklearn"), code) == []


def test_commands_import_nothing_that_they_do_not_use(tmp_path):
    _loaded(tmp_path, "example tags.csv")
    _loaded(tmp_path, "example new.csv")
    for arguments in (
        "fit tags.csv --labels tag_* --method star --out model.ek",
        "predict model.ek new.csv --out labels.csv",
        "transform model.ek new.csv --out scores.csv",
        "explain model.ek new.csv",
        "inspect model.ek",
    ):
        assert _loaded(tmp_path, arguments) == [], arguments
    assert _loaded(tmp_path, "predict model.ek no.csv --out labels.csv", code=1) == []


def test_a_stand_in_is_the_module_as_soon_as_it_is_used(tmp_path, monkeypatch):
    (tmp_path / "late_module.py").write_text("number = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    with stand_ins("late_module"):
        import late_module
    assert "late_module" not in sys.modules
    assert late_module.number == 7  # whoever got the stand-in gets what it stands for
    assert isinstance(sys.modules.pop("late_module"), ModuleType)
    with stand_ins("late_module"):
        from late_module import number
    assert number == sys.modules.pop("late_module").number
