"""Notebooks that run in the browser: ``python docs/lite.py docs/_build/html`` adds the folder lite.

The site is JupyterLite's with the notebooks of the gallery and a wheel of eigenkit in it. Python
itself (Pyodide, with numpy, scipy, scikit-learn and matplotlib) is loaded by the reader's browser
from Pyodide's servers: this is the one part of the pages that needs a network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# Its workers are processes, which a browser does not have.
NOT_THERE = ("plot_dask",)
FIRST = "%pip install -q eigenkit\n%matplotlib inline"


def build_wheel(folder: Path) -> Path:
    """A wheel for every platform: without the compiled product, as a browser has no use for it.

    It is built from the sdist, so that the product in the source tree stays.
    """
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, env={**os.environ, "CC": "false"})
    (wheel,) = folder.glob("*-py3-none-any.whl")
    return wheel


def for_browser(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with a first cell that installs eigenkit from the site itself."""
    first, *others = notebook["cells"]
    return {**notebook, "cells": [{**first, "source": [FIRST]}, *others]}


def copy_notebooks(pages: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    for path in sorted(pages.glob("_downloads/*/plot_*.ipynb")):
        if path.stem not in NOT_THERE:
            notebook = for_browser(json.loads(path.read_text(encoding="utf-8")))
            (folder / path.name).write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def main(pages: Path) -> None:
    """Build the site into ``lite`` below the pages."""
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        copy_notebooks(pages, work / "contents")
        command = [sys.executable, "-m", "jupyter", "lite", "build", "--no-sourcemaps"]
        command += ["--contents", str(work / "contents"), "--output-dir", str(pages / "lite")]
        command += ["--piplite-wheels", str(build_wheel(work / "wheel")), "--lite-dir", place]
        shutil.rmtree(pages / "lite", ignore_errors=True)
        subprocess.run(command, check=True, cwd=work)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
