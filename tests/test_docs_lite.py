"""Notebooks for the browser install eigenkit first, and are otherwise those of the gallery."""

from __future__ import annotations

import json
import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LITE = runpy.run_path(str(ROOT / "docs" / "lite.py"))
# What Pyodide 314 has, by the lock file that comes with it.
PYODIDE = {
    "joblib": (1, 5, 3),
    "numpy": (2, 4, 6),
    "scikit-learn": (1, 8, 0),
    "scipy": (1, 18, 0),
    "threadpoolctl": (3, 6, 0),
}


def test_notebooks_install_eigenkit_and_keep_everything_else(tmp_path):
    cells = [{"cell_type": "code", "source": ["# pip install eigenkit"]}, {"source": ["1 + 1"]}]
    folder = tmp_path / "_downloads" / "0"
    folder.mkdir(parents=True)
    for name in ("plot_a", "plot_dask"):
        (folder / f"{name}.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    LITE["copy_notebooks"](tmp_path, tmp_path / "contents")
    (found,) = (tmp_path / "contents").iterdir()
    notebook = json.loads(found.read_text())
    assert notebook["cells"][0]["source"] == [LITE["FIRST"]]
    assert notebook["cells"][1:] == cells[1:]
    assert notebook["nbformat"] == 4


def test_our_bounds_allow_what_the_browser_has():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in project["dependencies"]:
        name, lowest = line.split(">=")
        assert PYODIDE[name] >= tuple(map(int, lowest.split("."))), line
