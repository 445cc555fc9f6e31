"""What Python in a browser lacks is not needed: threads, processes, a compiler, some modules.

A process stands in for Pyodide, whose numpy and scipy cannot be had without a network. It lacks
what Pyodide 314 lacks, found by asking its core in node: there is one processor and no
``os.sched_getaffinity``, a thread or a process that is started raises these errors, and these
modules are not there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# numpy, scipy and scikit-learn are built for it there; what they import is none of our concern.
LIKE_A_BROWSER = """
import os, subprocess, sys, threading
import matplotlib, sklearn, sklearn.datasets, sklearn.svm
matplotlib.use("Agg")

def no_thread(*args, **kwargs):
    raise RuntimeError("can't start new thread")

def no_process(*args, **kwargs):
    raise OSError(138, "emscripten does not support processes.")

os.cpu_count = lambda: 1
if hasattr(os, "sched_getaffinity"):
    del os.sched_getaffinity
threading.Thread.start = no_thread
subprocess.Popen.__init__ = no_process
for name in ("_multiprocessing", "curses", "grp", "pwd", "resource"):
    sys.modules[name] = None
assert not any(name.partition(".")[0] == "eigenkit" for name in sys.modules)
"""

EVERYTHING_ELSE = """
import numpy as np
from scipy import sparse
import eigenkit, eigenkit.images, eigenkit.datasets, eigenkit.models, eigenkit.report
from eigenkit.numerics import compiled, threads

assert threads.available() == 1
assert not compiled.available()
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(300, 200)), (rng.random((300, 6)) < 0.3).astype(float)
for data in (X, sparse.csr_array(X * (X > 1))):
    fitted = eigenkit.HypergraphSpectral().fit(data, Y)
    print(fitted.report_)
blocks = eigenkit.RowBlocks.from_arrays([(X[:150], Y[:150]), (X[150:], Y[150:])])
whole = eigenkit.CCA(2).fit(X, Y).components_
assert np.allclose(np.abs(eigenkit.CCA(2).fit(blocks).components_), np.abs(whole))
eigenkit.KernelLDA(1).fit(X, Y[:, 0])
"""


def run(code: str, folder: Path) -> str:
    environment = {**os.environ, "EIGENKIT_COMPILED": "0", "PYTHONPATH": str(ROOT / "src")}
    environment.pop("OMP_NUM_THREADS", None)  # which would forbid threads by itself
    command = [sys.executable, "-W", "error", "-c", LIKE_A_BROWSER + code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_estimators_fit_where_nothing_can_be_started(tmp_path):
    pytest.importorskip("matplotlib")
    assert run(EVERYTHING_ELSE, tmp_path).count("residual") >= 2


@pytest.mark.slow
def test_the_tutorial_runs_where_nothing_can_be_started(tmp_path):
    pytest.importorskip("matplotlib")
    place = ROOT / "examples" / "plot_00_tutorial.py"
    found = run(f"exec(compile(open({str(place)!r}).read(), 'tutorial', 'exec'))", tmp_path)
    assert "accuracy on new wines" in found
