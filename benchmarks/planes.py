"""ReGEC and GEPSVM on sparse data too large for matrices: ``python -m benchmarks.planes``.

news20, whole (15935 x 62061), its twenty groups as two (the first ten and the others), beside
LinearSVC: seconds of a fit on all rows, their ratio, accuracy on a quarter left out of another
fit, and what the fit says of its own residual. Counts as they come, and rows of unit length.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from eigenkit import GEPSVM, ReGEC
from eigenkit.datasets import DatasetNotFound, load_dataset

MODELS: dict[str, Any] = {
    "LinearSVC()": LinearSVC(),
    "ReGEC()": ReGEC(),
    "GEPSVM()": GEPSVM(),
    "ReGEC(alpha=0.1)": ReGEC(alpha=0.1),
    "GEPSVM(alpha=0.1)": GEPSVM(alpha=0.1),
}


def row(model: Any, X: Any, y: np.ndarray) -> tuple[float, float, str]:
    """Seconds, accuracy, and the first words of a warning."""
    A, T, a, t = train_test_split(X, y, random_state=0, stratify=y)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        begin = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - begin
        score = model.fit(A, a).score(T, t)
    return seconds, score, str(said[0].message)[:78] if said else ""


def main() -> None:
    try:
        data = load_dataset("news20")
    except DatasetNotFound as error:
        print(error)
        return
    groups = np.asarray(data.target)
    y = (groups > np.median(np.unique(groups))).astype(int)
    for title, X in (("counts", data.X), ("rows of unit length", normalize(data.X))):
        print(f"\nnews20, two groups, {X.shape[0]} x {X.shape[1]}, {title}")
        reference = 0.0
        for name, model in MODELS.items():
            seconds, score, said = row(model, X, y)
            reference = reference or seconds
            ratio = seconds / reference
            print(f"  {name:20s} {seconds:6.2f} s  {ratio:5.1f} x  accuracy {score:.3f}  {said}")


if __name__ == "__main__":
    main()
