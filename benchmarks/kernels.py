"""Kernel projections beside the linear ones, and the time of 50,000 samples.

Run as ``python -m benchmarks.kernels``; writes results/kernels.json.

AUC: on the stored splits of yeast and scene, for every method, alpha (and for the Gaussian kernel
gamma) are chosen by three-fold cross-validation on the training part; then mean AUC over the
labels on the test part, with a ridge regression of the labels on the projection as scores.
Time: fit and transform with landmarks on random data, and the most memory the process took.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

from benchmarks.race import RESULTS, keep
from eigenkit import (
    CCA,
    HypergraphSpectral,
    KernelCCA,
    KernelHypergraphSpectral,
    KernelOrthonormalizedPLS,
    OrthonormalizedPLS,
    alpha_path,
)
from eigenkit.datasets import load_dataset
from eigenkit.evaluation.classifiers import decide_by_ridge
from eigenkit.kernels import Kernel

ALPHAS = [0.01, 0.1, 1.0, 10.0, 100.0]
METHODS: dict[str, tuple[Any, Any]] = {
    "star": (HypergraphSpectral(), KernelHypergraphSpectral()),
    "clique": (
        HypergraphSpectral(expansion="clique"),
        KernelHypergraphSpectral(expansion="clique"),
    ),
    "CCA": (CCA(), KernelCCA()),
    "OPLS": (OrthonormalizedPLS(), KernelOrthonormalizedPLS()),
}


def load(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test samples and their labels."""
    data = load_dataset(name)
    train, test = data.splits[0]
    X, Y = data.X, data.target.astype(float)
    return X[train], Y[train], X[test], Y[test]


def auc(model: Any, X: np.ndarray, Y: np.ndarray, X_new: np.ndarray, Y_new: np.ndarray) -> float:
    """Mean AUC over labels, of a ridge regression on the standardized projection."""
    S, _ = decide_by_ridge(model.transform(X), Y, model.transform(X_new), single=False)
    return float(roc_auc_score(Y_new, S, average="macro"))


def chosen(estimators: list[Any], X: np.ndarray, Y: np.ndarray) -> Any:
    """The estimator and alpha of the best mean AUC in three folds."""
    results: dict[tuple[int, float], list[float]] = {}
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        for i, estimator in enumerate(estimators):
            for model in alpha_path(estimator, X[train], Y[train], ALPHAS):
                value = auc(model, X[train], Y[train], X[test], Y[test])
                results.setdefault((i, model.alpha), []).append(value)
    i, alpha = max(results, key=lambda key: np.mean(results[key]))
    return clone(estimators[i]).set_params(alpha=alpha)


def accuracy(names: list[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Mean AUC of linear and kernel methods on every data set."""
    table: dict[str, dict[str, dict[str, float]]] = {}
    for name in names:
        X, Y, X_new, Y_new = load(name)
        middle = Kernel("rbf", "scale").fitted(X).gamma
        for method, (linear, kernel) in METHODS.items():
            widths = [clone(kernel).set_params(gamma=middle * f) for f in (0.3, 1.0, 3.0)]
            row = {}
            for kind, candidates in (("linear", [linear]), ("rbf", widths)):
                model = chosen(candidates, X, Y).fit(X, Y)
                row[kind] = auc(model, X, Y, X_new, Y_new)
                row[f"{kind} alpha"] = model.alpha
            table.setdefault(name, {})[method] = row
            print(
                f"{name:6s} {method:7s} mean AUC: linear {row['linear']:.4f}, rbf {row['rbf']:.4f}",
                flush=True,
            )
    return table


def large(n: int) -> dict[str, dict[str, float]]:
    """Seconds and memory of n samples with 500 landmarks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 50))
    Y = (np.sin(X[:, :10]) + 0.3 * rng.normal(size=(n, 10)) > 0.2).astype(float)
    table = {}
    for how in ("nystroem", "cholesky"):
        model = KernelHypergraphSpectral(gamma=0.02, approximation=how, random_state=0)
        start = time.perf_counter()
        model.fit(X, Y)
        fitted = time.perf_counter()
        model.transform(X)
        table[how] = {
            "fit": fitted - start,
            "transform": time.perf_counter() - fitted,
            "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        }
        print(
            f"{n} samples, {how}: fit {table[how]['fit']:.1f} s, transform "
            f"{table[how]['transform']:.1f} s, at most {table[how]['peak_gb']:.1f} GB so far"
        )
    return table


def main() -> None:
    """Print and store all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=["yeast", "scene"])
    parser.add_argument("--samples", type=int, default=50_000)
    args = parser.parse_args()
    keep({"large": large(args.samples), "auc": accuracy(args.sets)}, RESULTS / "kernels.json")


if __name__ == "__main__":
    main()
