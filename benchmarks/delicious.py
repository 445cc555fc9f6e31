"""Delicious, published split: P@1, P@3, P@5, time and memory beside what people use.

    python -m benchmarks.delicious [--only NAME ...] [--json FILE]

12920 web pages to learn from and 3185 to judge by, 500 words, 983 tags. Everything is chosen inside
the training part: settings by a validation part of it (one page in five), then fitted on all of it.
Time is what the processor spent on the last fit and on ranking the test part, memory the peak of
what both allocate.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from benchmarks.race import RESULTS, machine
from eigenkit import ManyLabelClassifier, OrthonormalizedPLS
from eigenkit.datasets import load_dataset
from eigenkit.evaluation import precision_at_k

FILE = RESULTS / "delicious.json"


class Neighbors:
    """Ours: its labels stay sparse, and its scores too."""

    def __init__(self, n_components: int, n_neighbors: int) -> None:
        self.settings = f"{n_components} components, {n_neighbors} neighbours"
        self.model = ManyLabelClassifier(
            OrthonormalizedPLS(n_components), n_neighbors=n_neighbors, cv=1
        )

    def fit(self, X: Any, Y: Any) -> None:
        self.model.fit(X, Y)

    def scores(self, X: Any) -> Any:
        return self.model.decision_function(X)


class Regression:
    """Ridge regression of the labels."""

    def __init__(self, alpha: float) -> None:
        self.settings = f"alpha {alpha:g}"
        self.model = Ridge(alpha=alpha, solver="cholesky")

    def fit(self, X: Any, Y: Any) -> None:
        self.model.fit(X.toarray(), Y.toarray())

    def scores(self, X: Any) -> Any:
        return self.model.predict(X.toarray())


class OneVsRest:
    """A linear classifier for every label."""

    def __init__(self, kind: Callable[..., Any], C: float) -> None:
        self.settings = f"C {C:g}"
        self.model = OneVsRestClassifier(kind(C=C))

    def fit(self, X: Any, Y: Any) -> None:
        self.model.fit(X, Y)

    def scores(self, X: Any) -> Any:
        return self.model.decision_function(X)


def svm(C: float) -> LinearSVC:
    return LinearSVC(C=C, random_state=0)


def logistic(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, solver="liblinear", random_state=0)


# For each method the settings that are tried on the validation part.
METHODS: dict[str, list[Callable[[], Any]]] = {
    "eigenkit, neighbours": [
        lambda l=l, m=m: Neighbors(l, m) for l in (50, 100, 200) for m in (20, 50)
    ],
    "ridge": [lambda a=a: Regression(a) for a in (1.0, 10.0, 100.0)],
    "LinearSVC": [lambda C=C: OneVsRest(svm, C) for C in (0.01, 0.1)],
    "logistic regression": [lambda C=C: OneVsRest(logistic, C) for C in (0.1, 1.0)],
}


def measured(method: Any, train: Any, test: Any, *, memory: bool = False) -> dict[str, Any]:
    """P@k on ``test``, processor seconds, and with ``memory`` (in a run of its own) the peak."""
    begun = time.process_time()
    method.fit(*train)
    scores = method.scores(test[0])
    seconds = time.process_time() - begun
    found = {f"P@{k}": 100 * precision_at_k(test[1], scores, k) for k in (1, 3, 5)}
    if memory:
        tracemalloc.start()
        method.fit(*train)
        method.scores(test[0])
        found["MB"] = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    return {**found, "seconds": seconds, "settings": method.settings}


def chosen(candidates: list[Callable[[], Any]], X: Any, Y: Any) -> Callable[[], Any]:
    """The settings with the best P@1 on every fifth sample, learned from the others."""
    held_out = np.random.default_rng(0).permutation(X.shape[0]) % 5 == 0
    train, test = (X[~held_out], Y[~held_out]), (X[held_out], Y[held_out])
    return max(candidates, key=lambda make: measured(make(), train, test)["P@1"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=METHODS, default=list(METHODS), metavar="NAME")
    parser.add_argument("--json", type=Path, default=FILE, help="where the figures are kept")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    data = load_dataset("delicious")
    X, Y = sparse.csr_array(data.X, dtype=np.float64), sparse.csr_array(data.target, dtype=float)
    train, test = data.splits[0]
    found = json.loads(given.json.read_text())["rows"] if given.json.exists() else {}
    for name in given.only:
        make = chosen(METHODS[name], X[train], Y[train])
        found[name] = measured(make(), (X[train], Y[train]), (X[test], Y[test]), memory=True)
        print(name, found[name], flush=True)
        given.json.parent.mkdir(exist_ok=True)
        given.json.write_text(json.dumps({"machine": machine(), "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
