"""PLS regression and its cross-validation against scikit-learn and ikpls, side by side.

Run ``python -m benchmarks.pls`` (add ``--quick`` for a small check). Contestants take turns,
and the best of several runs counts. Ratios say how many times as long a peer takes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from ikpls.fast_cross_validation.numpy import PLS as FastCV
from ikpls.numpy import PLS as IKPLS
from sklearn.cross_decomposition import PLSRegression as TheirPLS
from sklearn.model_selection import GridSearchCV, KFold

from eigenkit import PLSRegression, PLSRegressionCV

RESULTS = Path(__file__).parent / "results" / "pls.json"


def data(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features, responses that hang on all of them, noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 10)) @ rng.normal(size=(10, d))
    return X, X @ rng.normal(size=(d, k)) / np.sqrt(d) + rng.normal(size=(n, k))


def race(runs: dict[str, tuple[Callable[[], object], int]]) -> dict[str, float]:
    """Best time of every contestant, in turns; the number says in how many rounds it runs."""
    best = dict.fromkeys(runs, np.inf)
    for turn in range(max(rounds for _, rounds in runs.values())):
        for name, (run, rounds) in runs.items():
            if turn < rounds:
                start = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def fit(n: int, d: int, k: int, l: int, rounds: int) -> dict[str, float]:
    """One fit with l components; the answers are compared first."""
    X, Y = data(n, d, k)
    ours, ikpls = PLSRegression(l).fit(X, Y), IKPLS(algorithm=2)
    ikpls.fit(X, Y, A=l)
    np.testing.assert_allclose(ours.predict(X[:50]), ikpls.predict(X[:50], l), rtol=1e-6)
    return race(
        {
            "eigenkit": (lambda: PLSRegression(l).fit(X, Y), rounds),
            "ikpls 2": (lambda: IKPLS(algorithm=2).fit(X, Y, A=l), rounds),
            "scikit-learn": (lambda: TheirPLS(l).fit(X, Y), 1),
        }
    )


def cross_validation(n: int, d: int, k: int, l: int, rounds: int) -> dict[str, float]:
    """Ten folds, 1 to l components; errors are compared first."""
    X, Y = data(n, d, k)
    folds = np.empty(n, dtype=int)
    for i, (_, test) in enumerate(KFold(10).split(X)):
        folds[test] = i

    def theirs() -> dict:
        with contextlib.redirect_stdout(io.StringIO()):  # it talks whatever verbose says
            return FastCV(algorithm=2).cross_validate(
                X, Y, l, folds, lambda Y, P: np.mean((Y - P) ** 2, axis=(1, 2)), n_jobs=1, verbose=0
            )

    def grid() -> None:
        search = GridSearchCV(
            TheirPLS(), {"n_components": range(1, l + 1)}, cv=10, scoring="neg_mean_squared_error"
        )
        search.fit(X, Y)

    errors = PLSRegressionCV(l, cv=10).fit(X, Y).fold_errors_
    reference = theirs()
    np.testing.assert_allclose(errors[:, 1:], [reference[i] for i in range(10)], rtol=1e-6)
    return race(
        {
            "eigenkit": (lambda: PLSRegressionCV(l, cv=10).fit(X, Y), rounds),
            "ikpls fast": (theirs, rounds),
            "scikit-learn grid": (grid, 1),
        }
    )


def report(title: str, times: dict[str, float]) -> None:
    """Times and ratios, one line a contestant."""
    print(title)
    for name, seconds in times.items():
        print(f"  {name:18} {seconds:9.3f} s  {seconds / times['eigenkit']:8.1f} x")


def main() -> None:
    """Run both races, print them, and keep them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small data, for a check")
    quick = parser.parse_args().quick
    shape = (2000, 50, 5, 5) if quick else (20000, 500, 20, 20)
    cv_shape = (500, 20, 2, 8) if quick else (2000, 100, 5, 30)
    results = {}
    for name, run, size in (("fit", fit, shape), ("cross-validation", cross_validation, cv_shape)):
        n, d, k, l = size
        times = run(*size, rounds=5)
        report(f"{name}: {n} x {d}, {k} responses, {l} components", times)
        results[name] = {"shape": size, "seconds": times}
    RESULTS.parent.mkdir(exist_ok=True)
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
    RESULTS.write_text(json.dumps({"blas_threads": threads, **results}, indent=1))


if __name__ == "__main__":
    main()
