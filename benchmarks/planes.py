"""ReGEC and GEPSVM on sparse data too large for matrices: ``python -m benchmarks.planes``.

news20, whole (15935 x 62061), its twenty groups as two (the first ten and the others), beside
LinearSVC, with counts as they come and with rows of unit length. For every ridge, in units of the
mean squared length of a row: seconds of a fit on three quarters of the rows and its ratio to a
LinearSVC fitted just before (medians of three), steps, accuracy in 3-fold cross-validation inside
those rows and on the quarter left out, and what the fit says of its own residual. GEPSVM has
the ridge that cross-validation takes for ReGEC.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from benchmarks.race import load, seconds
from eigenkit import GEPSVM, ReGEC

RIDGES = (0.001, 0.1, 1.0, 10.0, 100.0)
REPEATS = 3


def timed(model: Any, X: Any, y: np.ndarray) -> tuple[float, float]:
    """Seconds, and how many times as long as LinearSVC, in turns."""
    peer = LinearSVC(random_state=0)
    pairs = [[seconds(partial(m.fit, X, y)) for m in (peer, model)] for _ in range(REPEATS)]
    theirs, ours = np.median(pairs, axis=0)
    return float(ours), float(ours / theirs)


def row(model: Any, X: Any, y: np.ndarray, T: Any, t: np.ndarray) -> tuple[float, str]:
    """The accuracy in cross-validation, and the line."""
    inside = float(cross_val_score(clone(model), X, y, cv=3).mean())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        taken, ratio = timed(model, X, y)
    told = f"  {str(said[0].message)[:72]}" if said else ""
    steps = int(np.max(model.n_iter_))
    return inside, (
        f"{taken:6.2f} s {ratio:5.1f} x {steps:5d} steps"
        f"  accuracy {inside:.3f} inside {model.score(T, t):.3f} left out{told}"
    )


def table(title: str, X: Any, y: np.ndarray) -> None:
    print(f"\nnews20, two groups, {X.shape[0]} x {X.shape[1]}, {title}")
    A, T, a, t = train_test_split(X, y, random_state=0, stratify=y)
    print(f"  {'LinearSVC()':22s} {row(LinearSVC(random_state=0), A, a, T, t)[1]}")
    length = float(A.multiply(A).sum() / A.shape[0])
    inside = []
    for ridge in RIDGES:
        accuracy, line = row(ReGEC(alpha=ridge * length), A, a, T, t)
        inside.append(accuracy)
        print(f"  {f'ReGEC, ridge {ridge:g}':22s} {line}", flush=True)
    best = RIDGES[int(np.argmax(inside))]
    print(f"  cross-validation takes the ridge {best:g}; with it:")
    print(f"  {'GEPSVM':22s} {row(GEPSVM(alpha=best * length), A, a, T, t)[1]}", flush=True)


def main() -> None:
    data = load("news20")
    if data is None:
        return
    warnings.simplefilter("ignore")
    groups = np.asarray(data.target)
    y = (groups > np.median(np.unique(groups))).astype(int)
    table("rows of unit length", normalize(data.X), y)
    table("counts", data.X, y)


if __name__ == "__main__":
    main()
