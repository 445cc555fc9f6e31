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
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from benchmarks.race import RESULTS, keep, machine
from eigenkit import ManyLabelClassifier, OrthonormalizedPLS
from eigenkit.datasets import load_dataset
from eigenkit.evaluation import precision_at_k

FILE = RESULTS / "delicious.json"


def ranked(model: Any, train: Any, X: Any) -> Any:
    """Scores of new rows after a fit; ridge regression takes its rows dense."""
    if isinstance(model, Ridge):
        return model.fit(*(A.toarray() for A in train)).predict(X.toarray())
    return model.fit(*train).decision_function(X)


def neighbors(n_components: int, n_neighbors: int) -> ManyLabelClassifier:
    """Ours: its labels stay sparse, and its scores too."""
    return ManyLabelClassifier(OrthonormalizedPLS(n_components), n_neighbors=n_neighbors, cv=1)


def svm(C: float) -> OneVsRestClassifier:
    return OneVsRestClassifier(LinearSVC(C=C, random_state=0))


def logistic(C: float) -> OneVsRestClassifier:
    return OneVsRestClassifier(LogisticRegression(C=C, solver="liblinear", random_state=0))


# For each method the settings that are tried on the validation part, in words.
METHODS: dict[str, dict[str, Any]] = {
    "eigenkit, neighbours": {
        f"{l} components, {m} neighbours": neighbors(l, m) for l in (50, 100, 200) for m in (20, 50)
    },
    "ridge": {f"alpha {a:g}": Ridge(alpha=a, solver="cholesky") for a in (1.0, 10.0, 100.0)},
    "LinearSVC": {f"C {C:g}": svm(C) for C in (0.01, 0.1)},
    "logistic regression": {f"C {C:g}": logistic(C) for C in (0.1, 1.0)},
}


def measured(model: Any, train: Any, test: Any, *, memory: bool = False) -> dict[str, Any]:
    """P@k on ``test``, processor seconds, and with ``memory`` (in a run of its own) the peak."""
    begun = time.process_time()
    scores = ranked(model, train, test[0])
    seconds = time.process_time() - begun
    found = {f"P@{k}": 100 * precision_at_k(test[1], scores, k) for k in (1, 3, 5)}
    if memory:
        tracemalloc.start()
        ranked(model, train, test[0])
        found["MB"] = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    return {**found, "seconds": seconds}


def chosen(candidates: dict[str, Any], X: Any, Y: Any) -> str:
    """The settings with the best P@1 on every fifth sample, learned from the others."""
    held_out = np.random.default_rng(0).permutation(X.shape[0]) % 5 == 0
    train, test = (X[~held_out], Y[~held_out]), (X[held_out], Y[held_out])
    return max(candidates, key=lambda words: measured(candidates[words], train, test)["P@1"])


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
        settings = chosen(METHODS[name], X[train], Y[train])
        model = clone(METHODS[name][settings])
        figures = measured(model, (X[train], Y[train]), (X[test], Y[test]), memory=True)
        found[name] = {**figures, "settings": settings}
        print(name, found[name], flush=True)
        keep({"machine": machine(), "rows": found}, given.json)


if __name__ == "__main__":
    main()
