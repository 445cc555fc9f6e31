"""An installed eigenkit does its main job: fit, predict, the command line, a model file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sklearn.datasets import load_iris

from eigenkit import LDA
from eigenkit.numerics import compiled


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "eigenkit", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


X, y = load_iris(return_X_y=True)
assert LDA().fit(X, y).score(X, y) > 0.95
table = [f"{a},{b},{c},{d},{k}" for (a, b, c, d), k in zip(X, y, strict=True)]
Path("iris.csv").write_text("\n".join(["a,b,c,d,kind", *table]))
assert "star" in run("methods")
run("fit", "iris.csv", "--labels", "kind", "--method", "lda", "--out", "iris.ek")
run("predict", "iris.ek", "iris.csv", "--out", "told.csv")
assert len(Path("told.csv").read_text().splitlines()) == 151
print(f"works; compiled products: {compiled.available()}")
