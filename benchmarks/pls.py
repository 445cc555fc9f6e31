"""PLS regression and its cross-validation against scikit-learn and ikpls, side by side.

Run ``python -m benchmarks.pls`` (add ``--quick`` for a small check). Contestants take turns,
and the best of several runs counts. Ratios say how many times as long a peer takes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from functools import partial

import numpy as np
from ikpls.fast_cross_validation.numpy import PLS as FastCV
from ikpls.numpy import PLS as IKPLS
from sklearn.cross_decomposition import PLSRegression as TheirPLS
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks.race import RESULTS
from benchmarks.table import Table, at_least
from eigenkit import PLSRegression, PLSRegressionCV


def data(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features, and responses that depend on all of them, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 10)) @ rng.normal(size=(10, d))
    return X, X @ rng.normal(size=(d, k)) / np.sqrt(d) + rng.normal(size=(n, k))


def fit(table: Table, n: int, d: int, k: int, l: int) -> None:
    """One fit with l components; the answers are compared first."""
    X, Y = data(n, d, k)
    ours, ikpls = PLSRegression(l).fit(X, Y), IKPLS(algorithm=2)
    ikpls.fit(X, Y, A=l)
    np.testing.assert_allclose(ours.predict(X[:50]), ikpls.predict(X[:50], l), rtol=1e-6)
    peers = {
        "ikpls 2": (lambda: IKPLS(algorithm=2).fit(X, Y, A=l), at_least(1)),
        "scikit-learn": (lambda: TheirPLS(l).fit(X, Y), at_least(50)),
    }
    work = f"fit {n} x {d}, {k} responses, {l} components"
    table.race(work, lambda: PLSRegression(l).fit(X, Y), peers, once=["scikit-learn"])


def cross_validation(table: Table, n: int, d: int, k: int, l: int) -> None:
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
    peers = {"ikpls fast": (theirs, at_least(1)), "scikit-learn grid": (grid, at_least(20))}
    work = f"CV {n} x {d}, {k} responses, {l} components"
    ours = partial(PLSRegressionCV(l, cv=10).fit, X, Y)
    table.race(work, ours, peers, once=["scikit-learn grid"])


def main() -> None:
    """Run both races, print them, and keep them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small data, for a check")
    quick = parser.parse_args().quick
    shape = (2000, 50, 5, 5) if quick else (20000, 500, 20, 20)
    cv_shape = (500, 20, 2, 8) if quick else (2000, 100, 5, 30)
    parts = {
        "fit": lambda table: fit(table, *shape),
        "CV": lambda table: cross_validation(table, *cv_shape),
    }
    Table(RESULTS / "pls.json").measure(parts, parts)


if __name__ == "__main__":
    main()
