"""A command imports what it needs: what must not be there when it has ended."""

from __future__ import annotations

import contextlib
import gc
import platform
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

from conftest import slow_but
from eigenkit.cli import app
from eigenkit.cli._start import stand_ins

# Nothing of this is needed to look at, fit, use or measure a model, or to compare a few.
HEAVY = (
    "pandas",
    "scipy.optimize",
    "scipy.stats",
    "numpy.f2py",
    "plotly",
    "pydantic",
    "rich.progress",
    "sklearn.decomposition",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.neighbors",
    "sklearn.svm",
)
_RUN = """
import sys
from eigenkit.cli import app, run
for arguments in sys.argv[1:]:
    sys.argv = ["eigenkit", *arguments.split()]
    try:
        run()
    except SystemExit as end:
        print("exit", end.code, arguments, file=sys.stderr)
print("loaded", *(name for name in {names} if name in sys.modules), file=sys.stderr)
"""


def _loaded(folder, commands, names=HEAVY):
    """Which of the modules the commands have imported, in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN.format(names=names), *commands],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    said = done.stderr.splitlines()
    for arguments, code in commands.items():
        assert f"exit {code} {arguments}" in said, done.stderr
    return said[-1].split()[1:]


def test_help_and_lists_need_no_numbers(tmp_path):
    commands = {"--help": 0, "methods": 0, "fit --help": 0, "fit --nonsense": 2}
    assert _loaded(tmp_path, commands, ("numpy", "scipy", "sklearn")) == []


def test_a_command_does_without_the_others(tmp_path):
    others = ("eigenkit.cli._fit", "eigenkit.cli._annotate")
    assert (
        _loaded(tmp_path, {"methods": 0, "example tags.csv": 0, "score no.ek no.csv": 1}, others)
        == []
    )


def test_examples_and_records_need_no_scikit_learn(tmp_path):
    commands = {"example tags.csv": 0, "example flowers.csv": 0, "report no.json": 1}
    assert _loaded(tmp_path, commands, ("sklearn",)) == []


def test_the_irises_are_those_of_scikit_learn(tmp_path):
    from sklearn.datasets import load_iris

    from eigenkit.cli._example import FILES

    names, (*columns, species) = FILES["flowers.csv"][1]()
    iris = load_iris()
    assert [name.replace("_", " ") + " (cm)" for name in names[:-1]] == iris.feature_names
    assert np.array_equal(np.transpose(columns), iris.data)
    assert np.array_equal(species, iris.target_names[iris.target])


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The examples and a model of one of them."""
    found = tmp_path_factory.mktemp("start")
    with contextlib.chdir(found):
        for arguments in (
            "example tags.csv",
            "example new.csv",
            "example flowers.csv",
            "fit tags.csv --labels tag_* --method star --out model.ek",
        ):
            assert CliRunner().invoke(app, arguments.split()).exit_code == 0
    return found


@pytest.mark.parametrize(
    "arguments",
    slow_but(
        [
            "example sensors.csv",
            "fit tags.csv --labels tag_* --method star --out star.ek",
            "fit flowers.csv --labels species --method lda --out lda.ek",
            "fit flowers.csv --labels species --method regec --out regec.ek",
            "predict model.ek new.csv --out labels.csv",
            "transform model.ek new.csv --out scores.csv",
            "score model.ek tags.csv",
            "explain model.ek new.csv",
            "inspect model.ek",
            "inspect model.ek --report page.html",
            "export model.ek --csv weights.csv",
            "compare tags.csv --labels tag_* --methods cca --cv 2",
            "compare flowers.csv --labels species --methods lda --cv 2",
            "test tags.csv --labels tag_* --method cca --permutations 3",
        ],
        "fit flowers.csv --labels species --method lda --out lda.ek",
    ),
)
def test_a_command_imports_nothing_that_it_does_not_use(folder, arguments):
    assert _loaded(folder, {arguments: 0}) == []


@pytest.mark.parametrize(
    "arguments",
    slow_but(
        [
            "predict model.ek no.csv --out labels.csv",
            "fit no.csv --labels tag_* --method star --alpha cv --out model.ek --force",
            "compare no.csv --labels fat --task numbers --methods pls --report page.html",
            "test no.csv --labels tag_*",
            "follow no.csv --model model.ek --checkpoint state",
            "merge no.ek nothing.ek --out both.ek",
            "report no.json",
            "annotate predict no.ek no_folder",
        ],
        "merge no.ek nothing.ek --out both.ek",
    ),
)
def test_work_that_needs_more_imports_it_after_the_start(folder, arguments):
    later = (*HEAVY, "scipy.fft", "scipy.ndimage", "scipy.spatial", "scipy.special")
    assert _loaded(folder, {arguments: 1}, later) == []


_FAULTS = """
import resource, sys
from eigenkit.cli._start import keep_memory
if sys.argv[1] == "kept":
    keep_memory()
for _ in range(10):
    [b"x" * n for n in (2**22, 2**22 + 1, 2**22 + 2, 2**22 + 3)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_memory_is_used_again():
    """Pages that the system had to give out."""
    kept, plain = (
        int(subprocess.check_output([sys.executable, "-c", _FAULTS, word]))
        for word in ("kept", "plain")
    )
    assert kept < plain / 2


_COLLECTED = """
import gc
from eigenkit.__main__ import main
try:
    main()
except SystemExit:
    print(gc.isenabled(), gc.get_freeze_count() > 0)
"""


def test_a_program_looks_for_garbage_as_soon_as_it_works():
    out = subprocess.check_output([sys.executable, "-c", _COLLECTED, "methods"], text=True)
    assert out.splitlines()[-1] == "True True"


def test_a_command_inside_another_program_leaves_its_memory_alone():
    before = gc.get_freeze_count()
    assert CliRunner().invoke(app, ["methods"]).exit_code == 0
    assert gc.isenabled()
    assert gc.get_freeze_count() <= before  # what other tests froze may be released meanwhile


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
